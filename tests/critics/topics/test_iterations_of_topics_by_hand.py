"""When EM over topics goes on, grants rounds, saves and ends, with a scripted bound; sizes by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from longform.critics.topics import train
from longform.critics.topics.model import Progress, TermCounts, TopicModel, TopicSettings
from longform.critics.topics.own_texts import TOPICS, fitted_model, topics_of
from longform.documents import Document, Section
from longform.errors import ConfigError
from tests.refusals import refuses


def model(*history):
    return TopicModel((), np.ones((2, 3)) / 3, np.zeros(1), np.eye(1), np.eye(1), history=history)


@pytest.fixture
def scripted(monkeypatch):
    """EM whose E-steps give these bounds; keeps what each began from and its settings."""

    def run(bounds, start=None, **given):
        steps, script = [], iter(bounds)

        def expectation(counts, model, settings, start):
            rounds = np.array([1, 2, 3, settings.rounds])
            made = SimpleNamespace(bound=next(script), rounds=rounds)
            steps.append((start, settings.rounds, settings.tolerance, made))
            return made

        monkeypatch.setattr(train, "columns_of", lambda counts: "columns")
        monkeypatch.setattr(train, "expectation", expectation)
        monkeypatch.setattr(train, "m_step", lambda posteriors, columns, model, threads: model)
        saved = []
        fitted = train.maximise(
            "counts",
            start or model(),
            settings=TopicSettings(**given),
            checkpoint=lambda model, step: saved.append((len(model.history), step)),
        )
        return fitted.history, steps, saved

    return run


def test_em_ends_when_the_bound_rises_by_no_more_than_the_tolerance(scripted):
    """Bounds are negative: from -100 to -80 is a rise by a fifth, from -80 to -76 by a twentieth."""
    history, steps, saved = scripted([-100.0, -80.0, -76.0, -1.0], em_tolerance=0.05, rounds=4)
    assert [(step.iteration, step.bound) for step in history] == [
        (0, -100.0),
        (1, -80.0),
        (2, -76.0),
    ]
    assert [step.change for step in history] == [float("inf"), pytest.approx(0.2), 0.05]
    assert {step.rounds for step in history} == {2.5} and {s.converged for s in history} == {0.75}
    assert saved == [(1, history[0]), (2, history[1]), (3, history[2])]
    assert [start for start, *_ in steps] == [None, None, None]


def test_em_ends_after_its_iterations_those_before_a_kill_included(scripted):
    history, *_ = scripted([-100.0, -80.0, -60.0], em_iterations=2)
    assert len(history) == 2
    begun = Progress(0, -100.0, float("inf"), 1.0, 1.0)
    history, steps, _ = scripted([-50.0, -1.0], start=model(begun), em_iterations=2)
    assert [(step.iteration, step.change) for step in history[1:]] == [(1, 0.5)] and len(steps) == 1
    history, steps, _ = scripted([-50.0], start=model(begun), em_iterations=1)
    assert history == (begun,) and steps == []


def test_a_bound_that_falls_gets_ten_rounds_more_from_where_they_ended(scripted):
    history, steps, saved = scripted(
        [-100.0, -120.0, -110.0, -90.0, -90.0], em_tolerance=0, rounds=4
    )
    assert [rounds for _, rounds, _, _ in steps] == [4, 4, 14, 24, 24]
    assert steps[2][0] is steps[1][3] and steps[3][0] is steps[2][3] and steps[4][0] is None
    assert [step.bound for step in history] == [-100.0, -90.0, -90.0] and len(saved) == 3
    _, steps, _ = scripted([-100.0, -120.0, -90.0, -90.0], em_tolerance=0, rounds=-1)
    assert [tolerance for *_, tolerance, _ in steps] == pytest.approx([1e-6, 1e-6, 1e-7, 1e-7])
    assert {rounds for _, rounds, _, _ in steps} == {-1}


def test_em_ends_after_eleven_falls_in_a_row(scripted):
    history, steps, _ = scripted([-100.0, *[-120.0] * 11, -50.0], em_tolerance=0)
    assert (len(history), len(steps)) == (1, 12)
    rises = [-100.0, *[-120.0] * 10, -80.0, *[-120.0] * 10, -80.0]
    history, steps, _ = scripted(rises, em_tolerance=0)
    assert [step.bound for step in history] == [-100.0, -80.0, -80.0]


def test_all_documents_converge_without_a_limit_of_rounds():
    posteriors = SimpleNamespace(rounds=np.array([1, 5, 6]))
    assert train._converged_share(posteriors, TopicSettings(rounds=5)) == pytest.approx(1 / 3)
    assert train._converged_share(posteriors, TopicSettings(rounds=-1)) == 1.0


def test_the_matrix_by_words_keeps_documents_in_order():
    """Three documents: words 2 and 0; word 2; words 0 and 3."""
    starts, terms = np.array([0, 2, 3, 5]), np.array([2, 0, 2, 0, 3])
    counts = TermCounts(starts, terms, np.ones(5), 5)
    starts, documents, entries = train.columns_of(counts)
    assert starts.tolist() == [0, 2, 2, 4, 5, 5] and starts.dtype == np.int64
    assert documents.tolist() == [0, 2, 0, 1, 2] and entries.tolist() == [1, 3, 0, 2, 4]


def test_spans_hold_256_each_and_the_last_the_rest():
    done = []
    train._in_spans(done.append, 600, 1)
    assert done == [(0, 256), (256, 512), (512, 600)]
    done.clear()
    train._in_spans(done.append, 512, 1)
    assert done == [(0, 256), (256, 512)]


def test_padding_stands_behind_the_last_axis():
    padded = train._padded(np.array([[1.5, 2.5]]), 4, -9.0, np.dtype("float32"))
    assert padded.tolist() == [[1.5, 2.5, -9.0, -9.0]] and padded.dtype == np.float32


def test_an_e_step_ascends_from_padded_arrays_and_gives_the_free_logits(monkeypatch):
    """Documents of words 0 2 2 and 1 1 1; the last of two topics is fixed, two more are padding."""
    calls = []

    def ascend(corpus, parameters, limits, state, results):
        calls.append([array.copy() for array in (*corpus[:3], *parameters, *state)])
        calls.append((corpus[3], limits, [array.dtype.name for array in (*state, *results)]))
        for array, value in zip((*state, *results), (1.5, 2.5, -3.5, 4, 5.5), strict=True):
            array[...] = value

    monkeypatch.setattr(train, "ascend_documents", ascend)
    monkeypatch.setattr(train, "LANES", 4)
    monkeypatch.setattr(train, "ABSENT", -99.0)
    counts = TermCounts(np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0]), 3)
    beta = np.array([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]])
    known = TopicModel((), beta, np.array([0.5]), np.eye(1) / 4, np.eye(1) * 4)
    found = train.expectation(counts, known, TopicSettings(rounds=7, tolerance=0.5))
    corpus_and_start, (span, limits, types) = calls
    assert [array.tolist() for array in corpus_and_start] == [
        [0, 2, 3], [0, 2, 1], [1, 2, 3], [[0.5, 0.25, 0, 0], [0.25, 0.75, 0, 0], [0.25, 0, 0, 0]],
        [[4, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], [0.5, 0, -99, -99],
        [[0, 0, -99, -99]] * 2, [[0.25, 0, 0, 0]] * 2,
    ]  # fmt: skip
    assert [array.dtype.name for array in corpus_and_start[2:]] == ["float32"] * 6
    assert span == (0, 2) and limits == (1, 7, 0.5, pytest.approx((np.log(4) + 1) / 2))
    assert types == ["float32", "float32", "float64", "int64", "float32"]
    assert (found.logits.tolist(), found.variances.tolist()) == ([[1.5]] * 2, [[2.5]] * 2)
    assert found.logits.dtype == found.variances.dtype == np.float64 and found.bound == -7.0
    assert (found.rounds.tolist(), found.ratios.tolist()) == ([4, 4], [5.5] * 3)
    # another begins where these ended, in the floats that are asked for and without a limit
    train.expectation(counts, known, TopicSettings(rounds=-1, floats="float64"), start=found)
    begun, (_, (_, rounds, _, _), types) = calls[2:]
    assert begun[6].tolist() == [[1.5, 0, -99, -99]] * 2 and begun[7].tolist() == [[2.5, 0, 0, 0]] * 2  # fmt: skip
    assert rounds == train.UNLIMITED and {*types} == {"float64", "int64"}
    wide = TopicModel((), beta, np.array([0.5]), np.eye(1) * 20, np.eye(1) / 20)
    train.expectation(counts, wide, TopicSettings())
    assert calls[4][7].tolist() == [[10, 0, 0, 0]] * 2
    unknown = TopicModel((), beta * [1, 0, 1], known.mean, known.covariance, known.precision)
    refuses("no topic gives term 1 any probability", train.expectation, counts, unknown, TopicSettings())  # fmt: skip
    more = TermCounts(counts.starts, counts.terms, counts.counts, 4)
    refuses("counts over 4 terms, the model has 3", train.expectation, more, known, TopicSettings())
    empty = TermCounts(np.array([0, 3, 3]), counts.terms, counts.counts, 3)
    refuses("document number 1 has no known word", train.expectation, empty, known, TopicSettings())


def texts(*words, split="train"):
    return [Document(f"d{i}", split, (Section(None, text),)) for i, text in enumerate(words)]


def test_only_training_documents_with_known_words_are_fitted_and_counted(
    monkeypatch, tmp_path, capsys
):
    """Words of two documents at least: three of six; one document has none of them."""
    given = {}

    def maximise(counts, start, *, settings, checkpoint):
        given.update(counts=counts, start=start, settings=settings)
        saved = []
        monkeypatch.setattr(
            TopicModel, "save", lambda self, folder: saved.append(folder.name) or folder.mkdir()
        )
        for iteration in (0, 1, 2, 3):
            checkpoint(start, Progress(iteration, -2.5, 0.5, 3.25, 0.5))
        given["saved"] = len(saved)
        return start

    monkeypatch.setattr(train, "maximise", maximise)
    monkeypatch.setattr(train, "seeded_model", lambda counts, topics, seed: model())
    documents = texts(
        "ash birch cedar xylem", "ash birch", "cedar cedar", "yarrow zinnia", "birch ash cedar"
    ) + texts("ash quince quince", split="test")
    fitted = train.fit(
        documents, seed=3, topics=2, name="t", min_count=2, max_share=1.0,
        settings={"lag": 2}, scratch=tmp_path,
    )  # fmt: skip
    assert fitted.vocabulary == ("cedar", "ash", "birch") and given["settings"] == TopicSettings(
        lag=2
    )
    assert fitted.facts == {
        "documents": 4, "tokens": 10, "seed": 3, "documents_without_terms": 1,
        "tokens_outside_vocabulary": 3,
    }  # fmt: skip
    assert len(given["counts"]) == 4 and given["saved"] == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "train t: iteration 1, ELBO -2.5, 3.2 rounds a document, 50% converged"
    given.clear()
    train.fit(documents, seed=3, topics=2, min_count=2, max_share=1.0)
    assert given["saved"] == 0 and given["settings"] == TopicSettings()
    refuses(
        "train topics: got zero documents of split train",
        train.fit,
        documents[5:],
        seed=1,
        topics=2,
    )


def test_a_seeded_topic_is_one_document_over_smoothed_words(monkeypatch):
    """Draws of topic 1: 0.9 for its document, the second of two; words 1.25 and 1.5 + 3."""
    uniform = np.array([0.0, 0.5, 0.5, 0.9, 0.25, 0.5])
    asked = []
    monkeypatch.setattr(
        train, "tausworthe", lambda seed, size: asked.append((seed, size)) or uniform
    )
    counts = TermCounts(np.array([0, 1, 2]), np.array([0, 1]), np.array([1.0, 3.0]), 2)
    made = train.seeded_model(counts, topics=2, seed=4)
    assert asked == [(4, 6)]
    np.testing.assert_allclose(made.beta, [[2.5 / 4, 1.5 / 4], [1.25 / 5.75, 4.5 / 5.75]])
    assert made.mean.tolist() == [0.0] and made.covariance.tolist() == [[1.0]]
    with pytest.raises(ConfigError):
        train.seeded_model(counts, topics=1)


@pytest.mark.parametrize(
    ("count", "asked", "topics"), [(6, 0, 2), (29, 0, 9), (60, 0, TOPICS), (30, 4, 4)]
)
def test_topics_of_own_texts_are_as_many_as_the_texts_allow(
    count, asked, topics, monkeypatch, capsys
):
    given = {}

    def fit(documents, **settings):
        given.update(settings, splits={document.split for document in documents})
        print("a line of progress")

    monkeypatch.setattr("longform.critics.topics.own_texts.fit", fit)
    fitted_model(texts(*["a"] * count, split="real"), asked, 9)
    assert (given["topics"], given["seed"], given["splits"]) == (topics, 9, {"train"})
    assert given["settings"] == {"em_iterations": 60} and capsys.readouterr().out == ""


def test_texts_of_any_split_are_read_as_the_predictions_that_are_named():
    known = TopicModel(("cedar", "ash"), np.ones((2, 2)) / 2, np.zeros(1), np.eye(1), np.eye(1))
    documents = [Document(split, split, ()) for split in ("real", "generated")]
    predictions = topics_of(documents, known, "completion")
    assert predictions.splits == ("real", "generated")
    assert "token_span" in predictions.arrays
    assert "lambda" in topics_of(documents, known).arrays
