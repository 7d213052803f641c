"""Shuffle tasks: what an order may move, what counts as a copy, and how preferences are counted."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from longform.documents import BadInput
from longform.resampling import generator
from longform.text.permutations import (
    Discrimination,
    block_orders,
    distinct_orders,
    local_orders,
    numbered,
    preferences,
    shuffled_orders,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_block_orders_keep_every_sentence_and_the_order_inside_blocks():
    for sentences, block in ((11, 1), (11, 2), (11, 5), (23, 10), (4, 10)):
        orders = block_orders(sentences, block, 50, rng())
        assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(sentences), (50, 1)))
        for order in orders:
            places = np.argsort(order)
            for start in range(0, sentences, block):
                inside = places[start : start + block]
                assert np.array_equal(np.diff(inside), np.ones(len(inside) - 1))


def test_a_block_as_long_as_the_document_gives_no_copy():
    orders = block_orders(10, 10, 20, rng())
    assert len(distinct_orders(orders, np.arange(10))) == 0


def test_all_orders_of_three_blocks_come_equally_often():
    orders = block_orders(6, 2, 12000, rng(1))
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - 2000) ** 2 / 2000).sum() < 20.5  # chi-square, 5 degrees of freedom, p = .001


def test_local_orders_touch_only_disjoint_windows_of_three():
    for windows in (1, 2, 3):
        orders = local_orders(14, windows, 200, rng(windows))
        assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(14), (200, 1)))
        assert ((orders != np.arange(14)).sum(axis=1) <= 3 * windows).all()
        assert (np.abs(orders - np.arange(14)) <= 2).all()


def test_window_starts_are_uniform_over_all_disjoint_placements():
    sentences = 11
    placements = [s for s in itertools.combinations(range(sentences - 2), 2) if s[1] - s[0] >= 3]
    draws = 60000
    orders = local_orders(sentences, 2, draws, rng(7))
    reversed_windows = {}
    for start in placements:
        target = np.arange(sentences)
        for s in start:
            target[s : s + 3] = target[s : s + 3][::-1]
        reversed_windows[start] = (orders == target).all(axis=1).sum()
    counts = np.array(list(reversed_windows.values()))
    expected = draws / len(placements) / 36
    assert len(placements) == 21  # C(11 - 4, 2)
    assert ((counts - expected) ** 2 / expected).sum() < 45.3  # chi-square, 20 degrees of freedom, p = .001


def test_short_documents_have_no_local_copies():
    assert local_orders(10, 1, 20, rng()).shape == (0, 10)
    assert local_orders(11, 3, 20, rng()).shape == (20, 11)


def test_copies_are_compared_as_texts_against_each_other_and_the_original():
    orders = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2], [1, 0, 2, 3], [3, 1, 2, 0]])
    assert distinct_orders(orders, np.arange(4)).tolist() == [[1, 0, 2, 3], [0, 1, 3, 2], [3, 1, 2, 0]]
    assert distinct_orders(orders, np.array([0, 1, 2, 2])).tolist() == [[1, 0, 2, 3], [3, 1, 2, 0]]
    assert len(distinct_orders(orders, np.zeros(4, dtype=int))) == 0


def test_hashed_deduplication_equals_comparing_whole_texts():
    ids = np.array([0, 1, 2, 2, 1])
    orders = block_orders(5, 1, 300, rng(3))
    seen, kept = {tuple(ids)}, []
    for order in orders:
        if tuple(ids[order]) not in seen:
            seen.add(tuple(ids[order]))
            kept.append(order.tolist())
    assert distinct_orders(orders, ids).tolist() == kept


def test_blocks_and_windows_must_be_positive():
    with pytest.raises(BadInput, match="block is 0"):
        block_orders(5, 0, 1, rng())
    with pytest.raises(BadInput, match="windows is 0"):
        local_orders(15, 0, 1, rng())


def test_a_document_no_longer_than_a_block_has_no_shuffle():
    assert shuffled_orders("block", 5, range(5), 20, generator("x")).shape == (0, 5)
    assert shuffled_orders("block", 1, [], 20, generator("x")).shape == (0, 0)
    assert shuffled_orders("block", 1, ["a"], 20, generator("x")).shape == (0, 1)


def test_copies_of_the_text_are_dropped_even_when_sentences_repeat():
    orders = shuffled_orders("block", 1, ["a", "a", "b"], 200, generator("d"))
    texts = {tuple("aab"[i] for i in order) for order in orders}
    assert len(texts) == len(orders) == 2  # aba and baa


def test_equal_keys_have_equal_numbers_in_order_of_appearance():
    assert numbered(["b", "a", "b", ("c",)]).tolist() == [0, 1, 0, 2]


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
    with pytest.raises(BadInput, match="allowed are"):
        shuffled_orders("spiral", 1, range(5), 20, generator("x"))


def test_one_row_reports_several_tasks_with_intervals():
    units = [Unit(f"u{i}", "test", 12) for i in range(6)]
    critic = Discrimination(FirstPlace(), "block", 1, 5, also=(("window", 1),))
    tasks = critic.describe(units)["tasks"]
    assert list(tasks) == ["block_1", "window_1"]
    assert tasks["block_1"]["value"] == critic.score(critic.tally(units))
    assert tasks["window_1"]["low"] <= tasks["window_1"]["value"] <= tasks["window_1"]["high"]
    assert tasks["window_1"]["ties"] > 0
