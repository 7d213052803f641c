"""Orders and human against machine texts: preferences counted by document, permutations, learners per task, planted sides, lengths."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr

from longform.critics.bbscore.bridge import BridgeFeatures, LatentPath, identity, path
from longform.critics.bbscore.score import BBScore, JointBridge, text_diffusion
from longform.critics.entity_grid.score import GridRanker, TransitionFeatures
from longform.evaluation import human_vs_machine as sources
from longform.evaluation import order_discrimination as orders
from longform.evaluation.human_vs_machine import Sides, human_vs_machine, sides_of, source_detection
from longform.evaluation.order_discrimination import (
    order_areas,
    order_discrimination,
    order_measurements,
)
from longform.evaluation.sentence_paths import JUDGES, length_confound
from longform.statistics.random_streams import generator
from longform.statistics.resampling import resampled_scores
from longform.statistics.sign_flips import sign_flip_test
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.entity_grids import grid_from_mentions
from longform.text.permutations import ShuffleTask, permuted_documents
from tests.oracles.bridge_loops import bridges, loop_score
from tests.refusals import refuses

NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Text:
    unit_id: str
    value: float = 0.0
    split: str = "test"
    sentence_keys: tuple[int, ...] = tuple(range(12))
    heads: tuple[str, ...] = ()

    def under(self, head):
        return replace(self, value=float(head))


@dataclass(frozen=True)
class Cost:
    """A critic of one number a text, and a scorer of orders by where they put sentence 0."""

    better: str = "lower"

    def fit(self, real):
        return self

    def sufficient_statistics(self, units):
        values = np.array([unit.value for unit in units])
        rows = np.stack([np.nan_to_num(values), np.isnan(values).astype(float)], axis=1)
        return SufficientStatistics(
            tuple(unit.unit_id for unit in units), ("value", "excluded"), rows
        )

    def score_of(self, statistics):
        return statistics.total("value")

    def order_scores(self, unit, orders):
        return np.argmin(orders, axis=1) + unit.value


def texts(document, original, **shuffles):
    rows = [Text(f"{document}/original/0", original)]
    return rows + [
        Text(f"{document}/{t}/{i}", v) for t, row in shuffles.items() for i, v in enumerate(row)
    ]


DOCUMENTS = permuted_documents([
    *texts("a/b", 2.0, block_1=[3.0, 1.0, 2.0], window_2=[5.0]), *texts("c", 1.0, block_1=[4.0]),
    *texts("d", NAN, block_1=[4.0]), *texts("e", 1.0),
])  # fmt: skip


@pytest.mark.parametrize(("scores", "better", "counts"), [
    ([2, 3, 1, 2], "higher", (1, 1, 3, 0, 0, 0)), ([2, 3, 1, 2], "lower", (1, 1, 3, 0, 0, 0)),
    ([2, 3, 4], "reference_matched", (2, 0, 2, 0, 1, 0)),  # of two orders the more probable
    ([1, NAN, 0], "higher", (1, 0, 1, 1, 1, 0)), ([NAN, 1], "higher", (0, 0, 0, 0, 0, 1)),
    ([1], "higher", (0, 0, 0, 0, 0, 1)), ([1, NAN], "higher", (0, 0, 0, 1, 0, 1)),
    ([INF, INF, 1], "lower", (0, 1, 2, 0, 0, 0)),
    ([0.3, 0.1 + 0.2, 0.31, 0.29], "lower", (1, 1, 3, 0, 0, 0)),  # rounding alone is no preference
    ([1e6, 1e6 + 1e-5, 1e6 + 1], "lower", (1, 1, 2, 0, 1, 0)),
    ([1e-12, 2e-12, 3e-12], "lower", (2, 0, 2, 0, 1, 0)),  # nor is the unit of scores a tie
])  # fmt: skip
def test_preferences_of_one_document(scores, better, counts):
    beside = np.array([2.0, 3.0, 1.0, 4.0, 0.0]), np.zeros(0)  # a longer and an empty one
    found = orders.preference_statistics(
        [Text(name) for name in "abc"], [np.array(scores, dtype=float), *beside], better
    ).values
    assert tuple(found[0]) == counts and found[1:, [2, 5]].tolist() == [[4, 0], [0, 1]]


def test_every_scorer_meets_the_same_orders_and_scores_each_once():
    blind = SufficientStatistics(
        ("a", "b"),
        orders.COLUMNS,
        np.array([[0, 20, 20, 0, 0, 0], [0, 7, 7, 0, 0, 0]], dtype=float),
    )
    assert orders.PairAccuracy().score_of(blind) == 0.5
    assert orders.against_chance(blind, "blind") == {
        "reference": 0.5,
        "p_value": 1.0,
        "paired": True,
    }
    units = [Text(f"u{i}") for i in range(8)]
    cost, gain, difference = order_discrimination(
        {"cost": Cost(), "gain": Cost("higher")}, units, [ShuffleTask()]
    )
    assert cost.value + gain.value == pytest.approx(1) and cost.p_value < 0.05
    assert (difference.critic, difference.variant) == ("gain", "cost")
    assert difference.value == pytest.approx(gain.value - cost.value) and difference.paired
    assert difference.low <= difference.value <= difference.high and difference.p_value < 0.05
    (block, window) = order_discrimination({"cost": Cost()}, DOCUMENTS)
    assert (block.task, block.value, block.units, block.excluded) == (
        "block_1",
        (2 + 0.5) / 4,
        2,
        2,
    )
    assert {key: block.details[key] for key in ("wins", "ties", "pairs")} == {
        "wins": 2,
        "ties": 1,
        "pairs": 4,
    }
    assert block.details["above_mean"] == 0.5 and block.low <= block.value <= block.high
    assert (window.task, window.value, window.excluded) == ("window_2", 1.0, 3)


def test_heads_are_averaged_and_each_stands_by_itself():
    class Seeing(Cost):
        def order_scores(self, unit, orders):
            return unit.value * np.argmin(orders, axis=1)

    units = [Text(f"u{i}") for i in range(6)]
    mean, good, bad = order_discrimination(
        {"s": Seeing()}, units, [ShuffleTask()], heads=("1", "-1")
    )
    assert (mean.variant, good.variant, bad.variant) == ("", "1", "-1")
    assert mean.value == pytest.approx((good.value + bad.value) / 2) == pytest.approx(0.5)
    (one,) = order_measurements({"s": Seeing()}, units, [ShuffleTask()], heads=("1", "-1"))
    index = np.random.default_rng(0).integers(0, 6, (20, 6))
    one_by_one = [one.score_of(one.statistics.take(rows)) for rows in index]
    np.testing.assert_allclose(resampled_scores(one, one.statistics, index), one_by_one, rtol=1e-12)
    assert mean.details["spread"] == pytest.approx(np.std([good.value, bad.value], ddof=1))


def heads_of(*values, areas=False):
    """The mean and each of some heads that put sentence 0 early or late, or do not see it."""

    class Seeing(Cost):
        def order_scores(self, unit, orders):
            return unit.value * np.argmin(orders, axis=1)

    units = [Text(f"u{i}") for i in range(30)]
    ask = order_areas if areas else order_discrimination
    return ask({"s": Seeing()}, units, [ShuffleTask()], heads=values)


@pytest.mark.parametrize("areas", [False, True])
def test_a_mean_of_heads_carries_no_test_or_detail_of_one(areas):
    mean, *each = heads_of("1", "-1", "0", areas=areas)
    for record in (mean, *each):
        assert record.reference == 0.5 and record.difference == pytest.approx(record.value - 0.5)
    good, bad, blind = each
    assert good.p_value < 0.01 and bad.p_value < 0.01 and blind.p_value > 0.5
    assert good.difference > 0.3 and bad.difference < -0.3
    assert mean.p_value > 0.9  # the heads cancel
    assert mean.low < bad.value and mean.high > good.value
    assert "wins" not in mean.details and "roc" not in mean.details
    assert mean.details["trainings"] == 3
    assert all(("roc" if areas else "wins") in one.details for one in each)


def test_heads_of_one_opinion_agree_with_their_mean():
    mean, first, second = heads_of("1", "2")
    assert mean.value == first.value == second.value
    # what all have, the mean has
    assert mean.p_value < 0.05 and mean.details["wins"] == first.details["wins"]


def test_differences_of_scorers_over_heads_are_tested_over_heads():
    class Late(Cost):
        def order_scores(self, unit, orders):
            return unit.value * np.argmin(orders, axis=1)

    class Early(Cost):
        def order_scores(self, unit, orders):
            return -unit.value * np.argmin(orders, axis=1)

    units = [Text(f"u{i}") for i in range(30)]
    scorers = {"late": Late(), "early": Early()}
    difference = order_discrimination(scorers, units, [ShuffleTask()], heads=("1", "-1"))[-1]
    assert difference.metric == "pairwise_accuracy_difference"
    assert difference.value == pytest.approx(0) and difference.details["spread"] > 1
    assert (difference.low, difference.high) == (-1.0, 1.0) and difference.p_value == 1.0


def runs(count, seed=0):
    """Entities that come in runs: every shuffle breaks runs, each in its way."""
    made = []
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        starts = rng.integers(0, 12, 8)
        mentions = [
            (int(s), f"e{k}", "SO"[k % 2])
            for k, start in enumerate(starts)
            for s in range(start, start + 3)
        ]
        made.append(grid_from_mentions(f"{seed}-{i}", "test", 15, mentions))
    return made


def test_a_pair_learner_learns_every_task_anew():
    """A ranker of single sentences' shuffles is not the ranker of windows: each task has its own weights."""
    train, test, task = runs(30), runs(30, 1), ShuffleTask("window", (1,))
    ranker = GridRanker(TransitionFeatures((2,), 0))
    features = ranker.features
    own = ranker.fit_pairs(
        [(features.of_texts([g]), features.of_orders(g, task.orders(g))) for g in train]
    )
    assert np.array_equal(
        orders.learned(ranker, train, orders.drawn_orders(train, task), task.name).weights,
        own.weights,
    )
    assert not np.allclose(ranker.fit(train).weights, own.weights)
    assert orders.learned(own, (), (), task.name) is own  # fitted already
    both, alone = (order_measurements({"g": r}, test, tasks, train=t) for r, tasks, t in (
        (ranker, [ShuffleTask(), task], train), (own, [task], ())))  # fmt: skip
    assert np.array_equal(both[1].statistics.values, alone[0].statistics.values)
    refuses(
        "have a permutation",
        order_measurements,
        {"g": ranker},
        test,
        [ShuffleTask("block", (20,))],
        train=train,
    )


def test_areas_count_pairs_of_any_documents_and_the_curve_encloses_them():
    rng = np.random.default_rng(0)
    low, high = (rng.normal(shift, size=50).round(1) for shift in (0, 0.8))
    loop = sum((a < b) + 0.5 * (a == b) for a in low for b in high) / 2500
    sides = SufficientStatistics.of_columns(
        [Text(str(i)) for i in range(50)], low=low, high=high, excluded=np.zeros(50)
    )
    assert orders.Area("low", "high", lower=True).score_of(sides) == pytest.approx(loop)
    reached = [
        ((low > cut).sum(), (high > cut).mean()) for cut in low
    ]  # of 50; each rate's cut is one of 49 steps
    for rate, hits in list(zip(*orders.roc_points(low, high).values(), strict=True))[1:-1]:
        least, most = (
            max(o for wrong, o in reached if wrong <= 49 * rate + slack) for slack in (-1e-9, 1e-9)
        )
        assert least <= hits <= most
    statistics = SufficientStatistics(
        tuple("abcdefgh"),
        ("a", "b", "excluded"),
        np.c_[rng.normal(size=(8, 2)).round(1), np.arange(8) > 6],
    )
    metric, index = orders.Area("a", "b"), rng.integers(0, 8, (20, 8))
    assert resampled_scores(metric, statistics, index).tolist() == [
        metric.score_of(statistics.take(rows)) for rows in index
    ]
    units = [Text(f"u{i}") for i in range(9)]
    (found,) = order_areas({"cost": Cost()}, units, [ShuffleTask()])
    (turned,) = order_areas({"gain": Cost("higher")}, units, [ShuffleTask()])
    assert found.value > 0.8
    assert found.value + turned.value == pytest.approx(1)
    assert found.p_value < 0.05
    # the sign test is the enumeration of all signs
    margins = np.array([3.0, 3.0, 2.0, 1.0])
    exact = np.mean([abs(np.dot(signs, margins)) >= 9 for signs in product((-1, 1), repeat=4)])
    assert abs(sign_flip_test(margins, generator("signs"), 20000) - exact) < 0.01
    assert sign_flip_test(np.zeros(5), generator("signs")) == 1


def named(**sides):
    return sides_of(
        [path(z, f"{i}-{side}") for side, rows in sides.items() for i, z in enumerate(rows)]
    )


def both_sides(count, seed, human=20, machine=20):
    """Humans keep to a bridge, machines wander off it from sentence to sentence."""
    wandering = 2.0 * np.random.default_rng(seed).normal(size=(count, machine, 4))
    robots = bridges(count, machine, 4, 1.0, seed + 1) + wandering
    return named(human=bridges(count, human, 4, 1.0, seed), robot=robots)


def by_metric(records, metric):
    return {record.critic: record for record in records if record.metric == metric}


def test_pairs_equal_a_loop_and_ties_count_one_half():
    units = both_sides(6, 3)
    critic = BBScore().fit([unit.human for unit in units])
    scores = [
        [abs(loop_score(t.latents, critic.sigma2)) for t in (u.human, u.text("robot"))]
        for u in units
    ]
    won = [human < robot for human, robot in scores]
    found = human_vs_machine({"bbscore": critic}, units, ["robot"])
    assert by_metric(found, "pairwise_accuracy")["bbscore"].value == pytest.approx(np.mean(won))
    same = [Sides(u.unit_id, u.split, u.human, {"robot": u.human}) for u in units]
    found = human_vs_machine({"bbscore": critic}, same, ["robot"])
    assert (
        by_metric(found, "pairwise_accuracy")["bbscore"].value
        == 0.5
        == by_metric(found, "area")["bbscore"].value
    )


def test_wandering_machines_are_told_from_humans_by_every_judge():
    train, test = both_sides(40, 5), both_sides(30, 50)
    found = human_vs_machine(JUDGES, test, ["robot"], train=train)
    assert all(
        r.value > 0.9 and r.p_value < 0.01 for r in by_metric(found, "pairwise_accuracy").values()
    )
    assert all(record.value > 0.8 for record in by_metric(found, "area").values())
    assert set(by_metric(found, "pairwise_accuracy_difference")) == {
        "joint",
        "linear",
        "three_layer",
    }
    shown = by_metric(found, "pairwise_accuracy")["bbscore"]
    assert shown.system == "robot" and shown.details["mean_sentences"] == {
        "human": 20.0,
        "machine": 20.0,
    }
    long = both_sides(30, 70, human=12, machine=60)
    cut = human_vs_machine({"cut": BBScore()}, long, ["robot"], train=train, matched=True)
    assert by_metric(cut, "pairwise_accuracy")["cut"].details["mean_sentences"] == {
        "human": 12.0,
        "machine": 12.0,
    }


@pytest.mark.parametrize("classifier", ["linear", "three_layer"])
def test_single_texts_are_classified_and_a_documents_two_are_one_unit(classifier):
    train, test = both_sides(40, 9), both_sides(30, 90)
    features = BridgeFeatures().fit_units([unit.human for unit in train])
    given = (
        lambda unit: features.values(unit, identity(unit))[0],
        test,
        ["robot"],
        train,
        classifier,
    )
    (found,) = sources.source_classification(*given)
    assert found.value > 0.9
    assert found.units == 30
    assert found.reference == pytest.approx(0.5)
    assert found.p_value < 0.01


def test_classes_are_learnt_from_features_beside_the_commonest_class():
    rng = np.random.default_rng(0)
    texts = [
        LatentPath(str(i), "test", rng.normal(i % 3, 0.2, (4, 2)), np.arange(4), i % 3)
        for i in range(90)
    ]
    missing = [
        path(np.eye(2), "short"),
        LatentPath("unrated", "test", np.zeros((4, 2)), np.arange(4), -1),
    ]

    def seen(unit):
        return np.array([unit.latents.mean(), np.nan]) if unit.usable else None

    def rating(unit):
        return unit.rating if unit.rating >= 0 else None

    given = seen, rating, texts[:60], [*texts[60:], *missing]
    found = sources.text_classification(*given, classifier="linear", critic="x")
    assert found.value > 0.9 and found.reference == pytest.approx(1 / 3) and found.excluded == 2
    assert found.details["classes"] == {"0": 10, "1": 10, "2": 10}
    refuses("in 1 class", sources.text_classification, seen, lambda unit: 1, texts, texts)
    refuses("classifier 'forest'", sources.text_classification, *given, classifier="forest")


def three_sources(count: int, seed: int) -> list[Sides]:
    """Three sources that differ in how far they wander."""
    levels = (("human", 1.0), ("near", 2.0), ("far", 4.0))
    return named(
        **{side: bridges(count, 20, 4, level, seed + k) for k, (side, level) in enumerate(levels)}
    )


def test_sources_are_detected_by_their_own_training_texts():
    train, test = three_sources(40, 20), three_sources(30, 200)
    share, *distances = source_detection(text_diffusion, test, ("near", "far"), train)
    assert share.value == 1.0 and len(distances) == 9
    assert {(record.units, record.excluded) for record in distances} == {(30, 0)}
    table = np.array([record.value for record in distances]).reshape(3, 3)
    assert table.argmin(axis=1).tolist() == [0, 1, 2]
    scaled = np.array([record.details["scaled"] for record in distances]).reshape(3, 3)
    assert scaled.min(axis=1).tolist() == [1, 1, 1] and scaled.max(axis=1).tolist() == [2, 2, 2]
    assert distances[2].low <= distances[2].value <= distances[2].high
    one, other = (np.sort([text_diffusion(u.human) for u in units[:9]]) for units in (test, train))
    found = source_detection(text_diffusion, test[:9], (), train[:9])[1]
    assert found.value == pytest.approx(np.abs(one - other).mean())
    refuses("no usable training text", source_detection, text_diffusion, test, ("near",), [])


def test_broken_sides_are_excluded_and_missing_ones_named():
    (broken,) = sides_of([path(np.eye(2, 4), "x-human"), path(np.ones((9, 4)), "x-robot")])
    critic = BBScore().fit([unit.human for unit in both_sides(4, 13)])
    found = by_metric(human_vs_machine({"b": critic}, [broken], ["robot"]), "pairwise_accuracy")[
        "b"
    ]
    assert np.isnan(found.value) and found.excluded == 1
    refuses("no text of source 'nucleus'", broken.text, "nucleus")
    refuses("no pair", sides_of, [path(np.eye(5), "a-human"), path(np.eye(5), "b-machine")])
    refuses("no source", human_vs_machine, {"b": critic}, [broken], [])


def test_length_moves_bbscore_as_scipy_says_and_not_the_joint_density():
    train, test = (
        [path(bridges(1, n, 4, 1.0, seed + n)[0], f"{n}") for n in range(6, 61)]
        for seed in (0, 1000)
    )
    own, joint = length_confound({"bbscore": BBScore(), "joint": JointBridge()}, test, train=train)
    critic = BBScore().fit(train)
    values = [critic.score_of(critic.sufficient_statistics([unit])) for unit in test]
    assert own.value == pytest.approx(spearmanr(values, range(6, 61)).statistic) and own.low > 0.3
    assert joint.low < 0 < joint.high
    (found,) = length_confound({"": critic}, [path(np.eye(2), "two"), *train[:4]])
    assert (found.units, found.excluded) == (4, 1)
    alike = [path(np.eye(5, 4) * k, str(k)) for k in (1, 2, 3)]
    assert np.isnan(length_confound({"": critic}, alike)[0].value)


@pytest.mark.parametrize(
    ("wins", "ties", "pairs", "p_value"),
    [
        ([1, 2, 0], [0, 0, 1], [2, 4, 1], 1.0),  # as many won as lost: every margin is 0
        ([2] * 6, [0] * 6, [2] * 6, 2 / 64),
        ([0] * 6, [0] * 6, [3] * 6, 2 / 64),
        ([1, 1, 1], [1, 0, 0], [2, 1, 1], 2 / 8),
        ([2, 0], [0, 0], [2, 1], 1.0),  # one and another document against each other
    ],
)
def test_a_document_is_a_coin_of_its_wins_minus_losses(wins, ties, pairs, p_value):
    rows = np.zeros((len(wins), len(orders.COLUMNS)))
    rows[:, :3] = np.array([wins, ties, pairs]).T
    names = tuple(f"d{number}" for number in range(len(wins)))
    found = orders.against_chance(SufficientStatistics(names, orders.COLUMNS, rows), "x")
    assert found["reference"] == 0.5 and found["paired"] is True
    assert found["p_value"] == pytest.approx(p_value, abs=0.02)


@pytest.mark.parametrize(
    ("scores", "row"),
    [([1.0, 2.0, 9.0], (1.0, 2.0, 0.0)), ([1.0, 2.0], (1.0, 2.0, 0.0)), ([1.0], (0, 0, 1)), ([], (0, 0, 1)),
     ([NAN, 2.0], (0, 0, 1)), ([1.0, NAN], (0, 0, 1)), ([1.0, 2.0, NAN], (1.0, 2.0, 0.0))],
)  # fmt: skip
def test_an_original_and_its_first_permutation_are_a_pair_or_excluded(scores, row):
    found = orders.first_permutations([Text("a")], [np.array(scores)])
    assert found.columns == ("original", "permuted", "excluded") and tuple(found.values[0]) == row


@pytest.mark.parametrize(
    ("scores", "above"),
    [
        ([2.0, 1.0, 1.0], 1), ([2.0, 1.0, 4.0], 0), ([1.0, 1.0], 0), ([2.0, NAN, 1.0], 1),
        ([1e12, 1e12 - 1e-4, 1e12 + 1e-4], 0),
        ([1e6, 1e6 - 1e-4, NAN], 0),  # a margin within rounding of the scores says nothing
        ([1e6, 1e6 - 1e-2, NAN], 1),
    ],
)  # fmt: skip
def test_an_original_above_the_mean_of_its_permutations(scores, above):
    beside = np.array([1.0] + [2.0] * 9)  # a document of many permutations pads the others
    rows = [np.array(scores), beside]
    found = orders.preference_statistics([Text("a"), Text("b")], rows, "higher")
    assert found.column("above_mean").tolist() == [above, 0]
