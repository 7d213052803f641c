"""Human texts against machines', by hand on a few sides: what is compared, learnt, counted and left out."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from longform.evaluation import human_vs_machine as sides
from longform.evaluation.human_vs_machine import (
    SIDES,
    Sides,
    SourceDetection,
    sides_of,
    text_classification,
)
from longform.statistics.protocols import PairLearner
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.refusals import refuses


class Text(SimpleNamespace):
    """A text with a number and so many sentences."""

    @property
    def sentence_keys(self):
        return tuple(range(self.sentences))

    def first(self, count):
        return Text(**{**vars(self), "sentences": count})


def text(name, value=1.0, sentences=2, split="test"):
    return Text(unit_id=name, value=value, sentences=sentences, split=split)


def both(name, value, other, **lengths):
    own = {
        key: text(f"{name}-{key}", value, lengths.get(key, 2))
        for key, value in (("human", value), ("m", other))
    }
    return Sides(name, "test", own["human"], {"m": own["m"]})


def test_documents_have_a_human_text_and_another():
    units = [text("a-human", split="train"), text("a-m"), text("b-human"), text("c-m"), text("c-n"), text("x-y-n"),
             text("x-y-human")]  # fmt: skip
    first, second = sides_of(units)
    assert (first.unit_id, first.split, first.human, first.machines) == (
        "a",
        "train",
        units[0],
        {"m": units[1]},
    )
    assert second.unit_id == "x-y" and list(second.machines) == ["n"]
    assert first.text("human") is units[0] and first.text("m") is units[1]
    refuses("^a: no text of source 'n'; there are", first.text, "n")
    refuses("got 3 units but no pair", sides_of, units[2:5])


NETWORK = "alpha=0.001, hidden_layer_sizes=(64, 32), max_iter=400, random_state=0, tol=0.001"


@pytest.mark.parametrize(
    ("kind", "model"),
    [("linear", "LogisticRegression(max_iter=1000)"), ("three_layer", f"MLPClassifier({NETWORK})")],
)
def test_a_classifier_has_the_sizes_and_limits_that_are_ours(kind, model, monkeypatch):
    steps = []
    pipeline = SimpleNamespace(fit=lambda *given: None)
    monkeypatch.setattr(
        "sklearn.pipeline.make_pipeline", lambda *given: steps.extend(given) or pipeline
    )
    sides._trained(np.ones_like, max, [[0.0], [1.0]], kind)
    assert [" ".join(repr(step).split()) for step in steps] == ["StandardScaler()", model]


def test_both_sides_are_cut_to_the_shorter_where_lengths_are_matched():
    for lengths in ({"human": 5, "m": 3}, {"human": 3, "m": 5}):
        document = both("a", 1.0, 2.0, **lengths)
        assert [one.sentences for one in sides._pair(document, "m", True)] == [3, 3]
        assert [one.sentences for one in sides._pair(document, "m", False)] == [*lengths.values()]


class Scorer:
    """Scores a text's value; lower is better."""

    better = "lower"

    def __init__(self, learnt=()):
        self.learnt = [unit.unit_id for unit in learnt]

    def fit(self, units):
        return Scorer(units)


@pytest.fixture
def values(monkeypatch):
    """Scores are the texts' own values; what scored is kept."""
    judges = []

    def unit_scores(judge, units):
        judges.append(judge)
        return np.array([unit.value for unit in units])

    monkeypatch.setattr(sides, "unit_scores", unit_scores)
    monkeypatch.setattr(sides, "signature", lambda judge: "sig")
    return judges


def test_wins_and_scores_are_counted_by_source_and_scorer(values):
    """Lower is better: a win, a tie, a loss, and a text without a score."""
    documents = [
        both("a", 1.0, 2.0),
        both("b", 2.0, 2.0),
        both("c", 3.0, 2.0),
        both("d", math.nan, 2.0, human=6),
    ]
    (one,) = sides.source_measurements({"s": Scorer()}, documents, ["m"])
    statistics = one.all_statistics[""]
    assert statistics.columns == ("wins", "ties", "pairs", "human", "machine", "excluded")
    assert statistics.values.tolist() == [
        [1, 0, 1, 1, 2, 0], [0, 1, 1, 2, 2, 0], [0, 0, 1, 3, 2, 0], [0, 0, 0, 0, 0, 1],
    ]  # fmt: skip
    assert one.fields == {
        "critic": "s", "metric": "pairwise_accuracy", "system": "m",
        "details": {"mean_sentences": {"human": 3.0, "machine": 2.0}, "lower": True},
    }  # fmt: skip
    assert one.metrics[""] == sides.PairAccuracy("sig", "human against m")
    assert one.metrics[""].score_of(statistics) == pytest.approx(0.5) and values[0].learnt == []
    cut = sides.source_measurements({"s": Scorer()}, documents, ["m"], matched=True)
    assert cut[0].fields["details"]["mean_sentences"]["human"] == 2.0
    higher = Scorer()
    higher.better = "higher"
    (other,) = sides.source_measurements({"s": higher}, documents, ["m"])
    assert other.fields["details"]["lower"] is False
    assert other.all_statistics[""].column("wins").tolist() == [0, 0, 1, 0]


def test_scorers_learn_from_human_texts(values):
    train = [both("t", 1.0, 2.0), both("u", 1.0, 2.0)]
    found = sides.source_measurements({"a": Scorer(), "b": Scorer()}, train, ["m"], train=train)
    assert [one.fields["critic"] for one in found] == ["a", "b"]
    assert values[0].learnt == ["t-human", "u-human"]
    refuses("no source or no scorer", sides.source_measurements, {"a": Scorer()}, train, [])
    refuses("no source or no scorer", sides.source_measurements, {}, train, ["m"])


def test_pair_learners_see_both_sides_of_documents_that_have_features():
    class Learner:
        def order_features(self, one, orders):
            assert orders.tolist() == [[0, 1, 2]]
            return np.full((0 if one.value == 0 else 1, 2), one.value)

    train = [
        both("a", 1.0, 2.0, human=3, m=4),
        both("b", 0.0, 2.0, human=3, m=3),
        both("c", 1.0, 0.0, human=3, m=3),
    ]
    ((human, machine),) = sides._training_pairs(Learner(), train, "m", True)
    assert (human.tolist(), machine.tolist()) == ([[1.0, 1.0]], [[2.0, 2.0]])


def test_records_of_a_source_are_pairs_area_and_differences(values, monkeypatch):
    documents = [both(name, 1.0, 2.0 + i) for i, name in enumerate("abcd")]
    records = sides.human_vs_machine({"x": Scorer(), "y": Scorer()}, documents, ["m"])
    metrics = [
        "pairwise_accuracy",
        "area",
        "pairwise_accuracy",
        "area",
        "pairwise_accuracy_difference",
    ]
    assert [one.metric for one in records] == metrics
    assert [one.critic for one in records] == ["x", "x", "y", "y", "y"]
    assert {one.system for one in records} == {"m"} and records[4].variant == "x"
    assert (records[0].value, records[0].reference, records[1].value) == (1.0, 0.5, 1.0)
    assert (records[2].value, records[4].value) == (1.0, 0.0)


def test_a_text_is_put_into_its_class_against_the_commonest(monkeypatch):
    """Of five texts one has no class, one no features; the commonest class of training is "b"."""
    monkeypatch.setattr(
        sides,
        "_trained",
        lambda features, label, train, classifier: (lambda v: "ab"[int(v[0])], "b"),
    )
    tests = []

    def compare(metric, statistics, baseline, rng):
        tests.append((statistics, baseline))
        return SimpleNamespace(p_value=0.25)

    monkeypatch.setattr(sides, "compare", compare)
    units = [SimpleNamespace(unit_id=f"{i}-x", values=v, kind=k) for i, (v, k) in enumerate(
        [([0], "a"), ([1], "a"), ([1], "b"), (None, "b"), ([1], None)])]  # fmt: skip
    record = text_classification(
        lambda unit: unit.values, lambda unit: unit.kind, [], units, critic="c", system="m"
    )
    ((statistics, baseline),) = tests
    assert statistics.columns == ("right", "texts", "majority", "excluded")
    assert statistics.values.tolist() == [
        [1, 1, 0, 0],
        [0, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 1],
    ]
    assert baseline.column("right").tolist() == [0, 0, 1, 0, 0]
    assert baseline.column("texts").tolist() == [1, 1, 1, 0, 0]
    assert (record.value, record.reference, record.p_value) == (
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
        0.25,
    )
    assert record.details["classes"] == {"a": 2, "b": 2} and record.metric == "class_accuracy"
    assert (record.critic, record.system, record.paired, record.excluded) == ("c", "m", True, 2)
    together = text_classification(
        lambda unit: unit.values, lambda unit: unit.kind, [], units[:2], document=lambda unit: "one"
    )
    assert tests[1][0].unit_ids == ("one",) and together.value == 0.5
    assert text_classification(lambda u: None, lambda u: "a", [], units).reference is None


@pytest.mark.parametrize("classifier", ["linear", "three_layer"])
def test_a_missing_feature_is_its_mean_over_the_texts_that_have_it(classifier):
    """Two features, the second of which is missing in some texts; classes by the first."""
    rows = [
        ([-1.0, 1.0], "a"),
        ([-1.0, math.nan], "a"),
        ([-1.0, 3.0], "a"),
        ([1.0, math.nan], "b"),
        ([1.0, 2.0], "b"),
    ]
    units = [SimpleNamespace(values=np.array(v), kind=k) for v, k in rows * 4]
    units += [
        SimpleNamespace(values=None, kind="b"),
        SimpleNamespace(values=np.zeros(2), kind=None),
    ] * 9
    predict, commonest = sides._trained(lambda u: u.values, lambda u: u.kind, units, classifier)
    assert commonest == "a"
    assert [predict(np.array(v)) for v in ([-1.0, 2.0], [1.0, 2.0], [1.0, math.nan])] == [
        "a",
        "b",
        "b",
    ]
    assert predict(np.array([-1.0, math.nan])) == predict(np.array([-1.0, 2.0]))
    one = [unit for unit in units if unit.kind == "a"]
    refuses(
        "12 texts in 1 class; give two",
        sides._trained,
        lambda u: u.values,
        lambda u: u.kind,
        one,
        classifier,
    )
    refuses(
        "classifier 'x'; allowed", sides._trained, lambda u: u.values, lambda u: u.kind, units, "x"
    )


def test_texts_of_a_source_are_classified_with_the_human_ones(monkeypatch):
    given = []

    def classify(features, label, train, evaluate, **more):
        given.append((features, [label(one) for one in evaluate], [one.unit_id for one in train]))
        given.append(([one.unit_id for one in evaluate], more.pop("document")(evaluate[0]), more))
        return len(given)

    monkeypatch.setattr(sides, "text_classification", classify)
    assert sides.source_classification(
        "f", [both("a", 1, 2)], ["m"], [both("t", 1, 2)], "linear"
    ) == [2]
    assert given[0] == ("f", [False, True], ["t-human", "t-m"])
    fields = {"classifier": "linear", "critic": "linear", "system": "m", "variant": "linear"}
    assert given[1] == (["a-human", "a-m"], "a", fields)


def test_a_profile_is_the_mean_of_the_numbers_that_are_finite():
    texts = {"m": [text("a", 1.0), text("b", 4.0), text("c", math.inf)], "n": [text("d", 2.0)]}
    first, second = sides.source_profiles(lambda one: one.value, texts, critic="c")
    assert (first.value, first.units, first.excluded, first.metric) == (2.5, 2, 1, "mean")
    assert (first.system, first.critic, first.details["values"]) == ("m", "c", [1.0, 4.0])
    assert (second.value, second.system) == (2.0, "n")


def columns(**values):
    size = len(next(iter(values.values())))
    units = [SimpleNamespace(unit_id=str(i)) for i in range(size)]
    return SufficientStatistics.of_columns(units, **{**{"excluded": np.zeros(size)}, **values})


def test_sources_are_told_by_the_distance_of_their_values():
    """Means 0, 1 and 5 of known values. Tested "c" lies nearer to both others than to itself."""
    known = {"a": np.array([0.0]), "b": np.array([1.0]), "c": np.array([5.0])}
    detector = SourceDetection(known)
    tested = columns(a=[0.0, 9.0], b=[5.0, 9.0], c=[0.0, 9.0], excluded=[0.0, 1.0])
    distances = detector.distances(tested)
    assert distances.tolist() == [[0.0, 1.0, 5.0], [5.0, 4.0, 0.0], [0.0, 1.0, 5.0]]
    assert detector.score_of(tested) == pytest.approx(2 / 3)
    nothing = columns(a=[0.0], b=[0.0], c=[0.0], excluded=[1.0])
    assert math.isnan(detector.score_of(nothing)) and np.isnan(detector.distances(nothing)).all()


def test_distances_are_scaled_from_one_to_two_and_stand_for_each_pair(monkeypatch):
    """Human 1 and 3, machine 5 and 5; a document without a number is excluded, and a resample of it
    alone has no distance."""
    monkeypatch.setattr(sides, "RESAMPLES", 40)
    train = [both("t", 1.0, 5.0), both("u", 3.0, 5.0), both("v", math.nan, 5.0)]
    tested = [both("a", 2.0, 6.0), both("b", 2.0, 6.0), both("c", 2.0, math.inf)]
    first, *distances = sides.source_detection(
        lambda one: one.value, tested, ["m"], train, critic="c"
    )
    assert (first.metric, first.value, first.units, first.excluded, first.critic) == (
        "own_top_two",
        1.0,
        2,
        1,
        "c",
    )
    found = [(one.system, one.variant, one.value, one.details["scaled"]) for one in distances]
    assert found == [
        ("human", "human", 1.0, 1.0), ("human", "m", 3.0, 2.0), ("m", "human", 4.0, 2.0), ("m", "m", 1.0, 1.0),
    ]  # fmt: skip
    assert {(one.metric, one.better, one.units, one.excluded, one.critic) for one in distances} == {
        ("distance", "lower", 2, 1, "c")
    }
    assert all(one.low <= one.value <= one.high for one in distances)
    _, *distances = sides.source_detection(
        lambda one: one.value, [both("a", 2.0, 9.0)], ["m"], [both("t", 2.0, 5.0)]
    )
    found = [(one.value, one.details["scaled"]) for one in distances]
    assert found == [(0, 1), (3, 2), (7, 2), (4, 1)]  # each row by its own nearest
    refuses("source 'm' has no usable training text", sides.source_detection, lambda one: one.value, tested, ["m"],
            [both("t", 1.0, math.nan)])  # fmt: skip
    (alone,) = sides.source_detection(
        lambda one: one.value, [both("a", math.nan, 1.0)], ["m"], train
    )
    assert math.isnan(alone.value)


def test_sides_have_their_names():
    assert SIDES == ("human", "machine") and sides.TOP == 2 and sides.RESAMPLES == 200
    assert isinstance(PairLearner, type)
