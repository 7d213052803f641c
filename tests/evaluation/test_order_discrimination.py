"""Order discrimination: preferences counted by document, ties one half, permutations drawn or written out, learners per task."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from longform.core.critic import Tally, resampled_scores
from longform.core.resampling import generator, sign_flip_test
from longform.core.text.entity_grids import grid_from_mentions
from longform.core.text.permutations import ShuffleTask, permuted_documents
from longform.critics.entity_grid.score import GridRanker, TransitionFeatures
from longform.evaluation import order_discrimination as orders
from longform.evaluation.order_discrimination import order_areas, order_discrimination, order_measurements
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

    def tally(self, units):
        values = np.array([unit.value for unit in units])
        rows = np.stack([np.nan_to_num(values), np.isnan(values).astype(float)], axis=1)
        return Tally(tuple(unit.unit_id for unit in units), ("value", "excluded"), rows)

    def score(self, tally):
        return tally.total("value")

    def order_scores(self, unit, orders):
        return np.argmin(orders, axis=1) + unit.value


def texts(document, original, **shuffles):
    rows = [Text(f"{document}/original/0", original)]
    return rows + [Text(f"{document}/{t}/{i}", v) for t, row in shuffles.items() for i, v in enumerate(row)]


DOCUMENTS = permuted_documents([
    *texts("a/b", 2.0, block_1=[3.0, 1.0, 2.0], window_2=[5.0]), *texts("c", 1.0, block_1=[4.0]),
    *texts("d", NAN, block_1=[4.0]), *texts("e", 1.0),
])  # fmt: skip


@pytest.mark.parametrize(("scores", "better", "counts"), [
    ([2, 3, 1, 2], "higher", (1, 1, 3, 0, 0, 0)), ([2, 3, 1, 2], "lower", (1, 1, 3, 0, 0, 0)),
    ([2, 3, 4], "nearer_real", (2, 0, 2, 0, 1, 0)),  # of two orders the more probable
    ([1, NAN, 0], "higher", (1, 0, 1, 1, 1, 0)), ([NAN, 1], "higher", (0, 0, 0, 0, 0, 1)),
    ([1], "higher", (0, 0, 0, 0, 0, 1)), ([1, NAN], "higher", (0, 0, 0, 1, 0, 1)),
    ([INF, INF, 1], "lower", (0, 1, 2, 0, 0, 0)),
    ([0.3, 0.1 + 0.2, 0.31, 0.29], "lower", (1, 1, 3, 0, 0, 0)),  # rounding alone is no preference
    ([1e6, 1e6 + 1e-5, 1e6 + 1], "lower", (1, 1, 2, 0, 1, 0)),
])  # fmt: skip
def test_preferences_of_one_document(scores, better, counts):
    beside = np.array([2.0, 3.0, 1.0, 4.0, 0.0]), np.zeros(0)  # a longer and an empty one
    found = orders.preference_tally(
        [Text(name) for name in "abc"], [np.array(scores, dtype=float), *beside], better
    ).values
    assert tuple(found[0]) == counts and found[1:, [2, 5]].tolist() == [[4, 0], [0, 1]]


def test_every_scorer_meets_the_same_orders_and_a_blind_one_stands_at_one_half():
    blind = Tally(("a", "b"), orders.COLUMNS, np.array([[0, 20, 20, 0, 0, 0], [0, 7, 7, 0, 0, 0]], dtype=float))
    assert orders.PairAccuracy().score(blind) == 0.5
    assert orders.against_chance(blind, "blind") == {
        "reference": 0.5,
        "difference": 0.0,
        "p_value": 1.0,
        "paired": True,
    }
    units = [Text(f"u{i}") for i in range(8)]
    cost, gain, difference = order_discrimination({"cost": Cost(), "gain": Cost("higher")}, units, [ShuffleTask()])
    assert cost.value + gain.value == pytest.approx(1) and cost.p_value < 0.05
    assert (difference.critic, difference.variant) == ("gain", "cost")
    assert difference.value == pytest.approx(gain.value - cost.value) and difference.paired
    assert difference.low <= difference.value <= difference.high and difference.p_value < 0.05


def test_written_out_permutations_are_scored_once_and_counted_by_document_and_task():
    (block, window) = order_discrimination({"cost": Cost()}, DOCUMENTS)
    assert (block.task, block.value, block.units, block.excluded) == ("block_1", (2 + 0.5) / 4, 2, 2)
    assert {key: block.details[key] for key in ("wins", "ties", "pairs")} == {"wins": 2, "ties": 1, "pairs": 4}
    assert block.details["above_mean"] == 0.5 and block.low <= block.value <= block.high
    assert (window.task, window.value, window.excluded) == ("window_2", 1.0, 3)


def test_heads_are_averaged_and_each_stands_by_itself():
    class Seeing(Cost):
        def order_scores(self, unit, orders):
            return unit.value * np.argmin(orders, axis=1)

    units = [Text(f"u{i}") for i in range(6)]
    mean, good, bad = order_discrimination({"s": Seeing()}, units, [ShuffleTask()], heads=("1", "-1"))
    assert (mean.variant, good.variant, bad.variant) == ("", "1", "-1")
    assert mean.value == pytest.approx((good.value + bad.value) / 2) == pytest.approx(0.5)
    (one,) = order_measurements({"s": Seeing()}, units, [ShuffleTask()], heads=("1", "-1"))
    index = np.random.default_rng(0).integers(0, 6, (20, 6))
    one_by_one = [one.score(one.tally.take(rows)) for rows in index]
    np.testing.assert_allclose(resampled_scores(one, one.tally, index), one_by_one, rtol=1e-12)
    assert mean.details["spread"] == pytest.approx(np.std([good.value, bad.value], ddof=1))


def runs(count, seed=0):
    """Entities that come in runs: every shuffle breaks runs, each in its way."""
    made = []
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        starts = rng.integers(0, 12, 8)
        mentions = [(int(s), f"e{k}", "SO"[k % 2]) for k, start in enumerate(starts) for s in range(start, start + 3)]
        made.append(grid_from_mentions(f"{seed}-{i}", "test", 15, mentions))
    return made


def test_a_pair_learner_learns_every_task_anew():
    """A ranker of single sentences' shuffles is not the ranker of windows: each task has its own weights."""
    train, test, task = runs(30), runs(30, 1), ShuffleTask("window", (1,))
    ranker = GridRanker(TransitionFeatures((2,), 0))
    features = ranker.features
    own = ranker.fit_pairs([(features.of_texts([g]), features.of_orders(g, task.orders(g))) for g in train])
    assert np.array_equal(
        orders.learned(ranker, train, orders.drawn_orders(train, task), task.name).weights, own.weights
    )
    assert not np.allclose(ranker.fit(train).weights, own.weights)
    assert orders.learned(own, (), (), task.name) is own  # fitted already
    both, alone = (order_measurements({"g": r}, test, tasks, train=t) for r, tasks, t in (
        (ranker, [ShuffleTask(), task], train), (own, [task], ())))  # fmt: skip
    assert np.array_equal(both[1].tally.values, alone[0].tally.values)
    refuses("have a permutation", order_measurements, {"g": ranker}, test, [ShuffleTask("block", (20,))], train=train)


def test_areas_count_pairs_of_any_documents_and_the_curve_encloses_them():
    rng = np.random.default_rng(0)
    low, high = (rng.normal(shift, size=50).round(1) for shift in (0, 0.8))
    loop = sum((a < b) + 0.5 * (a == b) for a in low for b in high) / 2500
    sides = Tally.of_columns([Text(str(i)) for i in range(50)], low=low, high=high, excluded=np.zeros(50))
    assert orders.Area("low", "high", lower=True).score(sides) == pytest.approx(loop)
    curve = orders.roc_points(low, high)
    assert np.trapezoid(curve["true_positive"], curve["false_positive"]) == pytest.approx(loop, abs=0.03)
    tally = Tally(tuple("abcdefgh"), ("a", "b", "excluded"), np.c_[rng.normal(size=(8, 2)).round(1), np.arange(8) > 6])
    metric, index = orders.Area("a", "b"), rng.integers(0, 8, (20, 8))
    assert resampled_scores(metric, tally, index).tolist() == [metric.score(tally.take(rows)) for rows in index]
    units = [Text(f"u{i}") for i in range(9)]
    (found,) = order_areas({"cost": Cost()}, units, [ShuffleTask()])
    (turned,) = order_areas({"gain": Cost("higher")}, units, [ShuffleTask()])
    assert found.value > 0.8 and found.value + turned.value == pytest.approx(1) and found.p_value < 0.05


def test_the_sign_test_is_the_enumeration_of_all_signs():
    margins = np.array([3.0, 3.0, 2.0, 1.0])
    exact = np.mean([abs(np.dot(signs, margins)) >= 9 for signs in product((-1, 1), repeat=4)])
    assert abs(sign_flip_test(margins, generator("signs"), 20000) - exact) < 0.01
    assert sign_flip_test(np.zeros(5), generator("signs")) == 1
