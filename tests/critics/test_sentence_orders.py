"""Drawn orders are permutations of the right kind, uniformly placed, and distinct as texts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from longform.critics.sentence_orders import block_orders, distinct_orders, local_orders
from longform.units import BadInput


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
