"""Which texts, scorers and heads each question of sentence paths takes, with stand-ins for the scorers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from longform.critics.bbscore.bridge import LatentPath
from longform.evaluation import sentence_paths
from longform.evaluation.sentence_paths import LengthCorrelation
from longform.results import Record
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.permutations import ShuffleTask
from tests.refusals import refuses


def columns(scores, sentences, excluded):
    units = [SimpleNamespace(unit_id=str(i)) for i in range(len(scores))]
    return SufficientStatistics.of_columns(
        units, score=scores, sentences=sentences, excluded=excluded
    )


def test_the_correlation_is_that_of_ranks_over_scored_texts():
    """Ranks 1 2 3 against 1 3 2: one minus 6 * 2 / (3 * 8)."""
    metric = LengthCorrelation("s")
    statistics = columns([1.0, 2.0, 9.0, 0.0], [3, 7, 5, 100], [0, 0, 0, 1])
    assert metric.score_of(statistics) == pytest.approx(0.5)
    counts = np.array([[1, 1, 1, 5], [2, 0, 1, 0]])
    weighted = metric.weighted_scores(statistics, counts)
    assert weighted[0] == pytest.approx(0.5) and weighted[1] == pytest.approx(1.0)
    assert math.isnan(metric.score_of(columns([1.0, 2.0, 0.0], [1, 2, 3], [0, 0, 1])))


class Scorer:
    """Scores a text's number of sentences, or nothing."""

    better = "higher"

    def __init__(self, learnt=None):
        self.learnt = learnt

    def fit(self, units):
        return Scorer([unit.unit_id for unit in units])


@pytest.mark.parametrize("learns", [True, False])
def test_each_head_of_a_scorer_has_a_correlation_with_length(learns, monkeypatch):
    judges, heads = [], []

    def unit_scores(judge, units):
        judges.append(judge)
        return np.array(
            [math.nan if unit.unit_id == "c" else float(len(unit.sentence_keys)) for unit in units]
        )

    def under(units, head):
        heads.append(head)
        return units

    monkeypatch.setattr(sentence_paths, "unit_scores", unit_scores)
    monkeypatch.setattr(sentence_paths, "under", under)
    monkeypatch.setattr(sentence_paths, "signature", lambda judge: "sig")
    documents = [
        SimpleNamespace(unit_id=name, sentence_keys=range(size))
        for name, size in zip("abcde", (4, 2, 9, 5, 3), strict=True)
    ]
    train = documents[:1] if learns else ()
    records = sentence_paths.length_confound(
        {"s": Scorer()}, documents, train=train, heads=["h0", "h1"]
    )
    assert judges[0].learnt == (["a"] if learns else None) and len(judges) == 2
    assert heads == (["h0", "h0", "h1", "h1"] if learns else ["h0", "h1"])
    assert {(one.critic, one.metric) for one in records} == {("s", "length_correlation")}
    assert [one.variant for one in records] == ["", "h0", "h1"]
    assert all(one.value == pytest.approx(1.0) and one.excluded == 1 for one in records)


@pytest.fixture
def paths(monkeypatch):
    """Units stand for predictions; they have a split each."""

    def unit(name, split, **fields):
        return SimpleNamespace(unit_id=name, split=split, usable=True, rating=1, **fields)

    monkeypatch.setattr(
        sentence_paths.bbscore, "units_from_predictions", lambda predictions: predictions
    )
    monkeypatch.setattr(sentence_paths, "under", lambda units, head: (head, units))
    train = [unit("t0", "train"), unit("t1", "test")]
    texts = [unit("x0", "train"), unit("x1", "test"), unit("x2", "test")]
    return train, texts


@pytest.fixture
def shuffled(paths, monkeypatch):
    """Runs the tasks with stand-ins for what is asked of pairs and single texts."""
    calls = []

    class Critic:
        def fit(self, units):
            calls.append(("fit", units))
            return self

        def sufficient_statistics(self, units):
            calls.append(("statistics", units))
            return SimpleNamespace(total=lambda column: {"negative": 3.0}[column])

    def order_discrimination(scorers, documents, tasks, **given):
        calls.append(("pairs", list(scorers), documents, [task.name for task in tasks], given))
        kinds = [("bbscore", "pairwise_accuracy", "h0"), ("bbscore", "pairwise_accuracy", ""),
                 ("linear", "pairwise_accuracy", "h0"), ("bbscore", "other", "h0")]  # fmt: skip
        return [
            Record(critic, metric, variant=variant, details={"old": 1})
            for critic, metric, variant in kinds
        ]

    def order_areas(scorers, documents, tasks, **given):
        calls.append(("areas", list(scorers), documents, [task.name for task in tasks], given))
        return [
            Record("bbscore", "area", task=tasks[1].name, variant=variant)
            for variant in ("h0", "h1")
        ]

    monkeypatch.setattr(sentence_paths, "BBScore", Critic)
    monkeypatch.setattr(sentence_paths.orders, "order_discrimination", order_discrimination)
    monkeypatch.setattr(sentence_paths.orders, "order_areas", order_areas)
    monkeypatch.setattr(
        sentence_paths, "_course", lambda critic, units, task: {"course": (units, task.name)}
    )
    train, texts = paths

    def run(**given):
        calls.clear()
        return sentence_paths.shuffle_tasks(
            train=train, texts=texts, heads=["h0", "h1"], **given
        ), calls

    return run, train, texts


def test_block_and_window_shuffles_are_asked_of_test_texts(shuffled):
    run, train, texts = shuffled
    records, calls = run(judges=["bbscore", "linear"], learned=9)
    (pairs,) = [call for call in calls if call[0] == "pairs"]
    assert pairs[1:3] == (["bbscore", "linear"], texts[1:])
    assert pairs[4] == {"train": train[:1], "heads": ["h0", "h1"], "learn_from": 9}
    blocks = [
        sentence_paths.ShuffleTask("block", (size,), draws=("block shuffle", 0)).name
        for size in (1, 2, 5, 10)
    ]
    windows = [sentence_paths.ShuffleTask("window", sizes, draws=("local shuffle", 0)).name
               for sizes in ((1, 2, 3), (1,), (2,), (3,))]  # fmt: skip
    assert pairs[3] == [*blocks, *windows]
    assert ("fit", ("h0", train[:1])) in calls and ("statistics", ("h0", texts[1:])) in calls
    assert [one.details for one in records] == [
        {"old": 1, "negative": 3.0},
        {"old": 1},
        {"old": 1},
        {"old": 1},
    ]


def test_areas_of_the_first_head_have_their_course(shuffled):
    run, train, texts = shuffled
    records, calls = run(areas=True)
    (areas,) = [call for call in calls if call[0] == "areas"]
    assert areas[1:3] == (["bbscore"], texts[1:]) and len(areas[3]) == 4
    assert areas[4] == {"train": train[:1], "heads": ["h0", "h1"]}
    assert len(records) == 6 and records[5].details == {}
    assert records[4].details == {"course": (("h0", texts[1:]), areas[3][1])}


@pytest.mark.parametrize("judges", [[], ["bbscore", "x"]])
def test_judges_are_those_that_are_known(judges, shuffled):
    refuses("allowed are", shuffled[0], judges=judges)


def test_the_course_has_an_area_and_an_accuracy_at_each_variance(monkeypatch):
    """Two documents, two variances: at the first the original is better in both, then in one."""
    asked = []

    def drawn_orders(units, task):
        asked.append(task.copies)
        return ["orders of a", "orders of b"]

    class Critic:
        sigma2 = 0.5

        def swept(self, unit, orders):
            return [
                np.array([2.0, 1.0]),
                np.array([2.0, 3.0] if orders == "orders of b" else [2.0, 1.0]),
            ]

        def variances(self):
            return [0.1, 0.2]

    monkeypatch.setattr(sentence_paths.orders, "drawn_orders", drawn_orders)
    units = [SimpleNamespace(unit_id=name) for name in "ab"]
    task = sentence_paths.ShuffleTask("block", (1,), copies=7)
    course = sentence_paths._course(Critic(), units, task)
    assert asked == [1] and course["sigma2"] == 0.5 and course["sweep"]["sigma2"] == [0.1, 0.2]
    # lower scores are better: nobody, then one of two; of the four pairs of texts none, then two
    assert course["sweep"]["accuracy"] == [0.0, 0.5] and course["sweep"]["auc"] == [0.0, 0.5]


def test_length_is_asked_of_two_scorers_and_test_texts(paths, monkeypatch):
    given = []
    monkeypatch.setattr(
        sentence_paths, "length_confound", lambda *rest, **more: given.append((rest, more))
    )
    train, texts = paths
    sentence_paths.length(train=train, texts=texts, heads=["h"])
    (((scorers, documents), more),) = given
    assert list(scorers) == ["bbscore", "joint"] and documents == texts[1:]
    assert more == {"train": train[:1], "heads": ["h"]}


def test_sources_are_judged_whole_and_at_equal_length(monkeypatch):
    calls = []
    train, test = (
        [SimpleNamespace(split=split, human=f"human {split}")] for split in ("train", "test")
    )
    fake = sentence_paths.sides

    def human_vs_machine(scorers, documents, sources, *, train, matched=False):
        calls.append(("pairs", list(scorers), documents, sources, train, matched))
        return [Record("s", metric) for metric in ("pairwise_accuracy", "area")]

    def source_measurements(scorers, documents, sources, *, train, matched):
        calls.append(("measure", list(scorers), matched))
        return [SimpleNamespace(fields={"system": name}, matched=matched) for name in ("m", "n")]

    def source_classification(features_of, documents, sources, train, kind):
        calls.append(("single", features_of(SimpleNamespace(usable=False)), kind))
        calls.append(features_of(SimpleNamespace(usable=True, name="u")))
        return [Record("s", kind)]

    class Features:
        def fit_units(self, units):
            calls.append(("features", units))
            return self

        def values(self, unit, order):
            return [f"{order} of {unit.name}", "second"]

    def difference(of_cut, of_uncut, *names, **fields):
        calls.append((of_cut.matched, of_uncut.matched, names, fields))
        return Record("bbscore", "pairwise_accuracy_difference")

    monkeypatch.setattr(fake, "sides_of", lambda predictions: predictions)
    monkeypatch.setattr(
        sentence_paths.bbscore, "units_from_predictions", lambda predictions: predictions
    )
    monkeypatch.setattr(fake, "human_vs_machine", human_vs_machine)
    monkeypatch.setattr(fake, "source_measurements", source_measurements)
    monkeypatch.setattr(fake, "source_classification", source_classification)
    monkeypatch.setattr(sentence_paths, "BridgeFeatures", Features)
    monkeypatch.setattr(sentence_paths, "identity", lambda unit: "identity")
    monkeypatch.setattr(sentence_paths, "paired_difference", difference)
    both = [*train, *test]
    records = sentence_paths.machines(train=both, texts=both, sources=["m", "n"])
    kinds = [(one.metric, one.variant) for one in records]
    assert kinds == [
        ("pairwise_accuracy", ""), ("area", ""), ("pairwise_accuracy", "matched"), ("three_layer", ""),
        ("linear", ""), ("pairwise_accuracy_difference", ""), ("pairwise_accuracy_difference", ""),
    ]  # fmt: skip
    assert calls[0] == ("pairs", [*sentence_paths.JUDGES], test, ["m", "n"], train, False)
    assert calls[1] == ("pairs", ["bbscore"], test, ["m", "n"], train, True)
    assert calls[2] == ("features", ["human train"])
    assert calls[3:5] == [("single", None, "three_layer"), "identity of u"]
    assert calls[7:9] == [("measure", ["bbscore"], True), ("measure", ["bbscore"], False)]
    fields = {"critic": "bbscore", "variant": "matched", "metric": "pairwise_accuracy_difference"}
    assert calls[9] == (True, False, ("matched", "m"), {**fields, "system": "m"})


def test_profiles_hold_human_texts_their_shuffles_and_each_machine(monkeypatch):
    documents = [
        SimpleNamespace(
            split=split, human=f"{split} human", text=lambda name, split=split: f"{split} {name}"
        )
        for split in ("train", "test")
    ]
    given = []

    def profiles(value, texts, critic):
        given.append((value, texts, critic))
        return [
            Record(critic, "mean", system=name, details={"values": list(own)})
            for name, own in texts.items()
        ]

    monkeypatch.setattr(
        sentence_paths,
        "_sides",
        lambda predictions, split: [d for d in documents if d.split == split],
    )
    monkeypatch.setattr(sentence_paths.sides, "source_profiles", profiles)
    monkeypatch.setattr(sentence_paths.bbscore, "shuffled", lambda unit: f"shuffled {unit}")
    monkeypatch.setattr(sentence_paths.bbscore, "trajectory", lambda units: ["trajectory", *units])
    records = sentence_paths.profiles(train="p", texts="p", sources=["m"])
    names = {"human": "human", "shuffled": None, "m": "m"}
    assert [one.system for one in records] == list(names) and {one.metric for one in records} == {
        "trajectory"
    }
    assert records[0].details == {
        "train": ["train human"], "test": ["test human"], "trajectory": ["trajectory", "test human"],
    }  # fmt: skip
    assert records[1].details["test"] == ["shuffled test human"] and records[2].details[
        "train"
    ] == ["train m"]
    assert given[0][0] is sentence_paths.bbscore.text_diffusion and given[0][2] == "bbscore"


@pytest.mark.parametrize("only_length", [True, False])
def test_rated_texts_are_classified_by_five_features_or_their_length(only_length, monkeypatch):
    def unit(name, split, rating=1, usable=True):
        return SimpleNamespace(
            unit_id=name, split=split, rating=rating, usable=usable, latents=range(4)
        )

    train = [
        unit("a", "train", 0),
        unit("b", "train", -1),
        unit("c", "train", usable=False),
        unit("d", "test"),
    ]
    texts = [unit("e", "test", 0), unit("f", "train"), unit("g", "test", -1)]
    learnt, asked = [], []

    class Features:
        def fit_units(self, units):
            learnt.extend(one.unit_id for one in units)
            return self

        def values(self, unit, order):
            return ["five features"]

    def classify(features_of, rating_of, rated, tested, critic):
        asked.append(([one.unit_id for one in rated], [one.unit_id for one in tested], critic))
        assert [rating_of(one) for one in tested] == [0, None] and features_of(train[2]) is None
        return features_of(tested[0])

    monkeypatch.setattr(
        sentence_paths.bbscore, "units_from_predictions", lambda predictions: predictions
    )
    monkeypatch.setattr(sentence_paths, "BridgeFeatures", Features)
    monkeypatch.setattr(sentence_paths, "identity", lambda unit: None)
    monkeypatch.setattr(sentence_paths.sides, "text_classification", classify)
    (found,) = sentence_paths.classes(train=train, texts=texts, only_length=only_length)
    assert learnt == ["a"] and asked == [
        (["a"], ["e", "g"], "length" if only_length else "bbscore")
    ]
    assert found == (pytest.approx([math.log(4)]) if only_length else "five features")


def test_detection_takes_both_splits(monkeypatch):
    given = []
    monkeypatch.setattr(
        sentence_paths, "_sides", lambda predictions, split: f"{predictions} {split}"
    )
    monkeypatch.setattr(sentence_paths.sides, "source_detection", lambda *rest: given.append(rest))
    sentence_paths.detection(train="p", texts="q", sources=["m"])
    assert given == [(sentence_paths.bbscore.text_diffusion, "q test", ["m"], "p train")]


def walks(split, seed, sentences):
    """Paths of several lengths whose sentences follow each other."""
    rng = np.random.default_rng(seed)
    paths = []
    for number, length in enumerate(sentences):
        latents = rng.normal(0, 0.4, (length, 2)).cumsum(axis=0)
        paths.append(LatentPath(f"{split}{number}", split, latents, np.arange(length)))
    return paths


def area_by_hand(paths, variance):
    """Share of originals and shuffles, one of each text, in which the original scores lower."""
    originals, shuffles = [], []
    for path in paths:
        order = ShuffleTask("block", (1,), copies=1, draws=("block shuffle", 0)).orders(path)[0]
        for latents, scores in ((path.latents, originals), (path.latents[order], shuffles)):
            last = len(latents) - 1
            terms = []
            for place in range(1, last):
                time = place / last
                gap = latents[place] - (1 - time) * latents[0] - time * latents[-1]
                spread = place * (last - place) / last * variance
                terms.append(math.log(2 * math.pi * spread) + gap @ gap / (2 * spread))
            scores.append(abs(sum(terms)) / (len(latents) - 2))
    wins = [(a < b) + 0.5 * (a == b) for a in originals for b in shuffles]
    return sum(wins) / len(wins)


def test_the_variance_of_a_sweep_is_chosen_on_training_texts_alone(monkeypatch):
    monkeypatch.setattr(sentence_paths.bbscore, "units_from_predictions", lambda given: given)
    monkeypatch.setattr(sentence_paths.orders, "BLOCKS", (1,))
    train, texts = walks("train", 5, [24, 40, 21, 33]), walks("test", 2, [22, 37, 28])
    area, difference = sentence_paths.best_variance(train=train, texts=texts)
    estimate, chosen = area.details["sigma2"], area.details["best_sigma2"]
    sweep = [estimate * 10 ** (step / 8) for step in range(-32, 33)]
    best = max(area_by_hand(train, variance) for variance in sweep)
    assert area_by_hand(train, estimate) < area_by_hand(train, chosen) == best
    nearer = [
        one
        for one in sweep
        if abs(math.log(one / estimate)) < 0.99 * abs(math.log(chosen / estimate))
    ]
    assert nearer and max(area_by_hand(train, one) for one in nearer) < best
    assert (area.task, area.variant, area.metric) == ("block_1", "best_variance", "area")
    assert area.value == pytest.approx(area_by_hand(texts, chosen))
    gained = area_by_hand(texts, chosen) - area_by_hand(texts, estimate)
    assert difference.metric == "area_difference" and difference.value == pytest.approx(gained)
    # Of many that tell all training texts, the estimate is the nearest to itself.
    train = walks("train", 7, [24, 40, 21, 33])
    area, _ = sentence_paths.best_variance(train=train, texts=texts)
    assert area_by_hand(train, area.details["sigma2"]) == 1.0
    assert area.details["best_sigma2"] == pytest.approx(area.details["sigma2"])
    monkeypatch.setattr(sentence_paths.orders, "BLOCKS", (5,))
    short = walks("train", 1, [3, 3])
    refuses("block_5: 0 of 2", sentence_paths.best_variance, train=short, texts=texts)
