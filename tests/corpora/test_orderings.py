"""Shuffle tasks: what an order may move, what counts as a copy, and how preferences are counted."""

from dataclasses import dataclass

import numpy as np
import pytest

from longform.corpora.orderings import Discrimination, block_shuffle, distinct_orders, preferences, window_shuffle
from longform.numerics import generator
from longform.units import BadInput


@pytest.mark.parametrize("size", [1, 2, 5])
def test_blocks_move_and_their_inside_does_not(size):
    for i in range(20):
        order = block_shuffle(size)(11, generator("b", i))
        assert sorted(order) == list(range(11))
        blocks = [list(range(k, min(k + size, 11))) for k in range(0, 11, size)]
        text = ",".join(map(str, order)) + ","
        assert all(",".join(map(str, block)) + "," in text for block in blocks)


def test_a_document_no_longer_than_a_block_has_no_shuffle():
    assert len(distinct_orders(block_shuffle(5), range(5), 20, generator("x"))) == 0


@pytest.mark.parametrize("windows", [1, 2, 3])
def test_windows_are_disjoint_and_the_rest_stays(windows):
    starts = set()
    for i in range(200):
        order = window_shuffle(windows)(12, generator("w", i))
        moved = np.flatnonzero(order != np.arange(12))
        assert sorted(order) == list(range(12))
        assert len(moved) <= 3 * windows
        assert np.abs(order - np.arange(12)).max() <= 2
        starts.update(moved[:1].tolist())
    assert len(starts) >= 5
    assert window_shuffle(windows)(10, generator("w")) is None


def test_copies_of_the_text_are_dropped_even_when_sentences_repeat():
    orders = distinct_orders(block_shuffle(1), ["a", "a", "b"], 200, generator("d"))
    texts = {tuple("aab"[i] for i in order) for order in orders}
    assert len(texts) == len(orders) == 2  # aba and baa


@dataclass(frozen=True)
class Unit:
    unit_id: str
    split: str
    sentences: int


@dataclass(frozen=True)
class FirstPlace:
    """Scores an order by where it puts sentence 0."""

    better: str = "higher"

    def fit(self, real):
        return self

    def order_scores(self, unit, orders):
        return -np.argmin(orders, axis=1).astype(float)


ORDERS = np.array([[1, 0, 2], [0, 2, 1], [2, 1, 0]])


def test_wins_and_ties_are_counted_apart():
    assert preferences(FirstPlace(), Unit("u", "test", 3), ORDERS) == (2, 1, 3, 1, 0)


def test_lower_is_better_turns_the_preference():
    assert preferences(FirstPlace(better="lower"), Unit("u", "test", 3), ORDERS) == (0, 1, 3, 0, 0)


def test_a_unit_without_pairs_or_score_is_excluded():
    class Unable(FirstPlace):
        def order_scores(self, unit, orders):
            return np.full(len(orders), np.nan)

    assert preferences(Unable(), Unit("u", "test", 3), ORDERS) == (0, 0, 0, 0, 1)
    task = Discrimination(FirstPlace(), "block", 1, 5).fit([])
    tally = task.tally([Unit("one", "test", 1), Unit("six", "test", 6)])
    assert tally.column("excluded").tolist() == [1, 0]
    assert 0 < task.score(tally) <= 1


def test_every_scorer_meets_the_same_orders():
    unit = Unit("u", "test", 8)
    first, second = (Discrimination(scorer) for scorer in (FirstPlace(), FirstPlace("lower")))
    np.testing.assert_array_equal(first.orders(unit), second.orders(unit))


def test_an_unknown_task_is_named():
    with pytest.raises(BadInput, match="allowed are"):
        Discrimination(FirstPlace(), "spiral")


def test_one_row_reports_several_tasks_with_intervals():
    units = [Unit(f"u{i}", "test", 12) for i in range(6)]
    critic = Discrimination(FirstPlace(), "block", 1, 5, also=(("window", 1),))
    tasks = critic.describe(units)["tasks"]
    assert list(tasks) == ["block_1", "window_1"]
    assert tasks["block_1"]["value"] == critic.score(critic.tally(units))
    assert tasks["window_1"]["low"] <= tasks["window_1"]["value"] <= tasks["window_1"]["high"]
    assert tasks["window_1"]["ties"] > 0
