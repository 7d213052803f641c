"""The topic critic's numbers and lists by hand, on a Gaussian over two logits."""

import math

import numpy as np
import pytest

from longform.critics.topics import model as models
from longform.critics.topics import own_texts, score
from longform.critics.topics.model import (
    RELEASED_INFERENCE,
    STOP_WORDS,
    Progress,
    TermCounts,
    TopicModel,
    TopicSettings,
    build_vocabulary,
    count_terms,
    from_rows,
)
from longform.critics.topics.score import RandomTopicCritic, TopicPosterior, Topics
from longform.documents import Document, Predictions, Section
from longform.statistics.random_streams import generator
from longform.text.rendering import pack
from tests.refusals import refuses

# Covariance 2 and 0.5 with 0.6 between them; its determinant is 0.64.
MEAN, COVARIANCE = np.array([1.0, -1.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
PRECISION = np.array([[0.5, -0.6], [-0.6, 2.0]]) / 0.64
CONSTANT = math.log(2 * math.pi) + 0.5 * math.log(0.64)


def unit(name, logits, variances=(0.5, 0.25), tokens=3, **more):
    return TopicPosterior(name, "test", np.array(logits), np.array(variances), tokens, **more)


AT_MEAN, OFF = unit("a", [1.0, -1.0]), unit("b", [2.0, 1.0], (1.0, 2.0), 7)
MUTE = unit("c", [9.0, 9.0], tokens=0, valid=False)
# Deviation 1 and 2: half of (0.5 - 2.4 + 8) / 0.64; half the variances' share of the precision
DISTANCE, SPREAD = 6.1 / 2 / 0.64, {"a": 0.75 / 2 / 0.64, "b": 4.5 / 2 / 0.64}


@pytest.mark.parametrize("full", [False, True])
def test_nats_and_their_parts_are_those_of_the_gaussian(full):
    critic = Topics(full).with_prior(MEAN.tolist(), COVARIANCE)
    assert critic.mean.dtype == np.float64 and critic.precision == pytest.approx(PRECISION)
    statistics = critic.sufficient_statistics([AT_MEAN, OFF, MUTE])
    assert statistics.columns == (
        "nats_at_mean", "nats_of_spread", "documents", "tokens", "excluded"
    )  # fmt: skip
    expected = [[CONSTANT, SPREAD["a"], 1, 3, 0], [CONSTANT + DISTANCE, SPREAD["b"], 1, 7, 0], [0, 0, 0, 0, 1]]  # fmt: skip
    assert statistics.values == pytest.approx(np.array(expected))
    spread = (SPREAD["a"] + SPREAD["b"]) / 2 if full else 0.0
    assert critic.score_of(statistics) == pytest.approx(CONSTANT + DISTANCE / 2 + spread)
    assert critic.attributed == statistics.columns[: 1 + full]
    at_mean, off, mute = critic.part_values([AT_MEAN, OFF, MUTE])
    half = np.full(2, CONSTANT / 2)
    assert at_mean == pytest.approx(half + full * np.array([0.25, 0.5]) / 2 / 0.64)
    # deviations times pulls: 1 (0.5 - 1.2) and 2 (-0.6 + 4)
    parts = half + np.array([-0.7, 6.8]) / 2 / 0.64 + full * np.array([0.5, 4.0]) / 2 / 0.64
    assert off == pytest.approx(parts) and mute.shape == (0,)
    assert math.isnan(critic.score_of(critic.sufficient_statistics([MUTE])))
    refuses(r"'d' has 1 logits, the critic was fitted on 2", critic.sufficient_statistics, [unit("d", [1.0])])  # fmt: skip


def test_a_fit_has_the_posteriors_mean_and_their_covariance_with_variances():
    """Logits 1 -1 and 2 1: mean 1.5 and 0, covariance 1/4 1/2 1/2 1, mean variances 3/4 and 9/8."""
    fitted = Topics().fit_units([AT_MEAN, OFF, MUTE])
    assert fitted.mean.tolist() == [1.5, 0.0]
    assert fitted.precision == pytest.approx(np.array([[2.125, -0.5], [-0.5, 1.0]]) / 1.875)
    released = Topics(own_prior=False)
    assert released.fit_units([AT_MEAN]) is released
    refuses("1 document without a known word", Topics().fit_units, [MUTE])
    assert Topics() == Topics(False, True, topics=0, seed=1234, model=None)
    arrays = {"prior_mean_names": MEAN, "prior_covariance_names": COVARIANCE}
    for full in (False, True):
        made = score.released(real=Predictions((), (), arrays), full_expectation=full)
        assert (made.full_expectation, made.own_prior) == (full, False)
        assert made.mean.tolist() == MEAN.tolist() and made.precision == pytest.approx(PRECISION)
    assert not score.released(real=Predictions((), (), arrays)).full_expectation


def test_a_description_lists_the_least_probable_texts_first():
    far = unit("z", [2.0, 1.0], (1.0, 2.0), text="z" * 700)
    critic = Topics().with_prior(MEAN, COVARIANCE)
    plain = critic.describe([AT_MEAN, OFF, MUTE])
    nats = pytest.approx(CONSTANT + DISTANCE)
    assert plain == {"outliers": [("b", nats), ("a", pytest.approx(CONSTANT))],
                     "covariance_of_means": [[0.25, 0.5], [0.5, 1.0]]}  # fmt: skip
    third = unit("t", [1.0 + 1 / 3, -1.0], text="short")
    units = [third, far, OFF, MUTE]
    found = critic.describe(units, count=2)
    assert found["outliers"] == [("z", nats), ("b", nats)]
    assert found["outlier_texts"] == ["z" * 600]
    assert found["covariance_of_means"] == [[0.098765, 0.296296], [0.296296, 0.888889]]
    assert critic.describe([third, MUTE]) == {
        "outliers": [("t", pytest.approx(CONSTANT + 0.5 * 0.5 / 9 / 0.64))],
        "covariance_of_means": [], "outlier_texts": ["short"],
    }  # fmt: skip
    assert len(critic.describe([OFF] * 11)["outliers"]) == 10
    # the spread outweighs the distance where it is scored
    wide = unit("w", [1.0, -1.0], (99.0, 99.0))
    full = Topics(True).with_prior(MEAN, COVARIANCE)
    assert [c.describe([OFF, wide])["outliers"][0][0] for c in (critic, full)] == ["b", "w"]


def test_random_topics_are_those_of_any_training_document_each():
    train = [unit(str(n), [n, 10.0 + n], (n + 0.1, n + 0.2)) for n in range(5)]
    critic = RandomTopicCritic().fit_units([*train, MUTE])
    assert critic.logits.tolist() == [[n, 10.0 + n] for n in range(5)]
    (judged, mute) = critic.judged([unit("u", [0.0, 0.0], text="gone"), MUTE])
    first, second = generator("random topics", "u").integers(0, 5, 2)
    assert judged.logits.tolist() == [first, 10.0 + second]
    assert judged.variances.tolist() == [first + 0.1, second + 0.2]
    assert (judged.text, judged.tokens, judged.valid, mute.valid) == ("", 3, True, False)
    assert critic.mean.tolist() == [2.0, 12.0]
    refuses("nothing to draw from", RandomTopicCritic().judged, [])


def test_topics_are_named_by_their_three_likeliest_words(monkeypatch):
    words = ("ash", "birch", "cedar", "elm")
    beta = np.array([[0.1, 0.4, 0.1, 0.4], [0.25] * 4, [1.0, 0, 0, 0]])
    model = TopicModel(words, beta, MEAN, COVARIANCE, PRECISION)
    assert Topics(model=model).part_names(np.zeros(2)) == ["birch elm ash", "ash birch cedar"]
    assert Topics().part_names(np.zeros(2)) == ["topic 1", "topic 2"]
    assert model.topics == 3 and model.log_det_precision == pytest.approx(-math.log(0.64))
    monkeypatch.setattr(own_texts, "fitted_model", lambda *given: given)
    made = Topics(topics=4, seed=9).prepare(["text"])
    assert made.model == (["text"], 4, 9)
    refuses("not fitted yet", Topics().read_texts, [])
    arrays = {"lambda": np.array([[1.0]]), "nu": np.array([[2.0]]), "tokens": np.array([4.0]),
              "valid": np.array([1])} | pack(["page"])  # fmt: skip
    asked = []
    read = Predictions(("u",), ("s",), arrays)
    monkeypatch.setattr(own_texts, "topics_of", lambda *given: asked.append(given) or read)
    (found,) = made.read_texts(["t"])
    assert asked == [(["t"], made.model)]
    assert found == TopicPosterior("u", "s", found.logits, found.variances, 4, True, "page")
    assert (found.logits.tolist(), found.variances.tolist()) == ([1.0], [2.0])
    assert type(found.tokens) is int and type(found.valid) is bool


def document(*sections):
    return Document("d", "train", tuple(Section(None, text) for text in sections))


def test_words_are_frequent_specific_and_of_content_most_frequent_first():
    """Of four documents half is two; ``The`` stops in any case, and formulas are no words."""
    documents = [document("Rare ash ash oak", "The the oak oak xmath12 xmath12 \\Alpha \\Alpha"),
                 document("birch ash birch wide wide"), document("birch wide"), document("ivy ivy")]  # fmt: skip
    assert build_vocabulary(documents, min_count=2, max_share=0.75) == ("ash", "oak", "birch", "wide", "ivy")  # fmt: skip
    assert build_vocabulary(documents, min_count=2) == ("oak", "ivy")
    assert build_vocabulary(documents, min_count=3, max_share=0.51, stop_words={"oak"}) == ("ash", "birch", "wide")  # fmt: skip
    refuses(r"0 of 10 words of 4 documents pass \(at least 5 times, in less than 50%",
            build_vocabulary, documents)  # fmt: skip
    refuses("1 of 10 words", build_vocabulary, documents, min_count=3)
    assert {"the", "a", "z"} <= STOP_WORDS
    counts, outside = count_terms(documents[:2], ("ash", "wide"))
    expected = from_rows(
        [(np.array([0]), np.array([2.0])), (np.array([0, 1]), np.array([1.0, 2]))], 2
    )
    for name in ("starts", "terms", "counts"):
        found, wanted = getattr(counts, name), getattr(expected, name)
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()
    assert expected.starts.tolist() == [0, 1, 3] and outside.tolist() == [10, 2]
    assert outside.dtype == np.int64 and counts.size == 2 and len(counts) == 2
    empty = TermCounts(np.array([0, 2, 2]), np.array([0, 1]), np.array([1.0, 2.0]), 2)
    assert empty.tokens.tolist() == [3.0, 0.0] and len(empty.take(np.array([1, 0, 1]))) == 3
    assert from_rows([], 5).starts.dtype == np.int64


def test_settings_are_the_programs_and_each_is_checked():
    assert TopicSettings() == TopicSettings(1000, 20, 1e-3, 1e-6, 10, "float32", 1)
    for fields in (
        {"em_iterations": 1},
        {"rounds": -1},
        {"rounds": 1},
        {"lag": 1},
        {"floats": "float64"},
    ):
        assert TopicSettings(**fields)
    for name in ("em_iterations", "lag", "threads"):
        refuses(f"{name} is 0, allowed is 1 or more", TopicSettings, **{name: 0})
    refuses("rounds is 0", TopicSettings, rounds=0)
    refuses("floats is 'float16'", TopicSettings, floats="float16")
    assert TopicSettings(1000, -1, 1e-5, 1e-6, 1, "float32", 1) == RELEASED_INFERENCE


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_best_gaussian_adds_variances_to_the_covariance(monkeypatch, rows):
    """Deviations -2 -2, 0 -2, -2 0, 0 0 and 4 4; their products add up to 24, 20 and 24."""
    monkeypatch.setattr(models, "ROWS_AT_ONCE", rows)
    points = np.array([[0.0, 1], [2, 1], [0, 3], [2, 3], [6, 7]])
    variances = np.array([[1.0, 0.2]] * 4 + [[2.0, 0.2]])
    mean, covariance, precision = models.gaussian(points, variances)
    assert mean.tolist() == [2.0, 3.0]
    assert covariance == pytest.approx(np.array([[6.0, 4.0], [4.0, 5.0]]))
    assert precision == pytest.approx(np.array([[5.0, -4.0], [-4.0, 6.0]]) / 14)
    assert precision.tolist() == precision.T.tolist()


def test_a_saved_model_is_its_arrays_and_a_record_of_words_and_history(tmp_path):
    beta, one = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([3.0])
    arrays = {"beta": beta, "mean": one, "covariance": np.array([[4.0]]), "precision": np.array([[0.25]])}  # fmt: skip
    model = TopicModel(("é", "b"), **arrays, history=(Progress(0, -2.5, math.inf, 1.5, 0.5),), facts={"seed": 1})  # fmt: skip
    model.save(tmp_path / "new")
    step = '  {\n   "bound": -2.5,\n   "change": Infinity,\n   "converged": 0.5,\n   "iteration": 0,\n   "rounds": 1.5\n  }'  # fmt: skip
    record = '{\n "facts": {\n  "seed": 1\n },\n "history": [\n' + step + '\n ],\n "vocabulary": [\n  "é",\n  "b"\n ]\n}\n'  # fmt: skip
    assert (tmp_path / "new" / "topics.json").read_text(encoding="utf-8") == record
    with np.load(tmp_path / "new" / "topics.npz") as saved:
        assert {name: saved[name].tolist() for name in saved} == {name: row.tolist() for name, row in arrays.items()}  # fmt: skip
    found = TopicModel.load(tmp_path / "new")
    assert (found.vocabulary, found.history, found.facts) == (model.vocabulary, model.history, {"seed": 1})  # fmt: skip
    assert all(getattr(found, name).tolist() == row.tolist() for name, row in arrays.items())
    bare = TopicModel((), **arrays)
    assert (bare.history, bare.facts) == ((), {})
    (tmp_path / "new" / "topics.json").write_text("{}")
    refuses("not of one topic model .KeyError", TopicModel.load, tmp_path / "new")
    # each refusal in its words; two topics and two words are enough
    for changed, sentence in (
        ({"mean": np.zeros(2)}, r"2 topics need a Gaussian of 1 dimensions, got shapes \(\(2,\), \(1, 1\), \(1, 1\)\)"),
        ({"covariance": np.eye(2)}, r"got shapes \(\(1,\), \(2, 2\), \(1, 1\)\)"),
        ({"precision": np.eye(2)}, r"got shapes \(\(1,\), \(1, 1\), \(2, 2\)\)"),
        ({"precision": -np.eye(1)}, r"the precision is singular or not positive definite \(smallest eigenvalue -1\)"),
        ({"precision": np.full((1, 1), np.inf)}, "smallest eigenvalue nan"),
        ({"beta": np.ones((1, 2))}, r"got 1 topic\(s\), allowed is 2 or more"),
        ({"beta": np.ones((2, 1))}, r"vocabulary of 1 word\(s\), 2 are needed"),
    ):  # fmt: skip
        refuses(sentence, TopicModel, (), **{**arrays, **changed})
    refuses("3 words for 2 terms; give one word per term", TopicModel, ("a", "b", "c"), **arrays)
    refuses("the covariance is singular .*eigenvalue -2", models.inverse, np.diag([-2.0, 5.0]))
