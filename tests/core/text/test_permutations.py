"""Permutations and other edits: what an order may move, what counts as a copy, which texts belong together; one record each, undone by it."""

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longform.statistics.random_streams import generator
from longform.text import permutations
from tests.refusals import refuses


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_block_orders_move_blocks_and_local_ones_disjoint_windows():
    for sentences, block in ((11, 1), (11, 2), (11, 5), (23, 10), (4, 10)):
        orders = permutations.block_orders(sentences, block, 50, rng())
        assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(sentences), (50, 1)))
        for order in orders:
            places = np.argsort(order)
            for start in range(0, sentences, block):
                inside = places[start : start + block]
                assert np.array_equal(np.diff(inside), np.ones(len(inside) - 1))
    for windows in (1, 2, 3):
        orders = permutations.local_orders(14, windows, 200, rng(windows))
        assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(14), (200, 1)))
        assert ((orders != np.arange(14)).sum(axis=1) <= 3 * windows).all()
        assert (np.abs(orders - np.arange(14)) <= 2).all()


def test_window_starts_are_uniform_over_all_disjoint_placements():
    sentences = 11
    placements = [s for s in itertools.combinations(range(sentences - 2), 2) if s[1] - s[0] >= 3]
    draws = 60000
    orders = permutations.local_orders(sentences, 2, draws, rng(7))
    reversed_windows = {}
    for start in placements:
        target = np.arange(sentences)
        for s in start:
            target[s : s + 3] = target[s : s + 3][::-1]
        reversed_windows[start] = (orders == target).all(axis=1).sum()
    counts = np.array(list(reversed_windows.values()))
    expected = draws / len(placements) / 36
    assert len(placements) == 21  # C(11 - 4, 2)
    assert (
        (counts - expected) ** 2 / expected
    ).sum() < 45.3  # chi-square, 20 degrees of freedom, p = .001


def test_texts_too_short_or_repetitive_have_fewer_copies_or_none():
    assert permutations.local_orders(10, 1, 20, rng()).shape == (0, 10)
    assert permutations.local_orders(11, 3, 20, rng()).shape == (20, 11)
    assert permutations.shuffled_orders("block", 5, range(5), 20, generator("x")).shape == (0, 5)
    assert permutations.shuffled_orders("block", 1, [], 20, generator("x")).shape == (0, 0)
    assert permutations.shuffled_orders("block", 1, ["a"], 20, generator("x")).shape == (0, 1)
    orders = permutations.shuffled_orders("block", 1, ["a", "a", "b"], 200, generator("d"))
    texts = {tuple("aab"[i] for i in order) for order in orders}
    assert len(texts) == len(orders) == 2  # aba and baa


def test_hashed_deduplication_equals_comparing_whole_texts():
    ids = np.array([0, 1, 2, 2, 1])
    orders = permutations.block_orders(5, 1, 300, rng(3))
    seen, kept = {tuple(ids)}, []
    for order in orders:
        if tuple(ids[order]) not in seen:
            seen.add(tuple(ids[order]))
            kept.append(order.tolist())
    assert permutations.distinct_orders(orders, ids).tolist() == kept


def test_all_other_orders_of_seven_sentences_are_told_apart():
    orders = np.array(list(itertools.permutations(range(7))))
    assert len(permutations.distinct_orders(orders, np.arange(7))) == 5039  # 7! - 1


@dataclass(frozen=True)
class Unit:
    unit_id: str
    sentence_keys: tuple[int, ...] = tuple(range(14))
    split: str = "test"


def test_orders_depend_on_document_and_draws_and_several_sizes_are_joined():
    task = permutations.ShuffleTask("block", (2,))
    assert np.array_equal(
        task.orders(Unit("a")), permutations.ShuffleTask("block", (2,)).orders(Unit("a"))
    )
    assert not np.array_equal(task.orders(Unit("a")), task.orders(Unit("b")))
    other = permutations.ShuffleTask("block", (2,), draws=("x",))
    assert not np.array_equal(task.orders(Unit("a")), other.orders(Unit("a")))
    joint = permutations.ShuffleTask("window", (1, 2, 3))
    parts = [permutations.ShuffleTask("window", (size,)).orders(Unit("a")) for size in joint.sizes]
    assert joint.name == "window_1_2_3" and np.array_equal(
        joint.orders(Unit("a")), np.concatenate(parts)
    )


def test_the_published_shuffles_are_drawn_from_their_named_streams():
    """Orders that numbers in git were measured on: other names, or none, would draw others."""
    unit = Unit("doc-1", sentence_keys=tuple(range(7)))
    task = permutations.ShuffleTask("block", (2,), copies=2)
    assert task.orders(unit).tolist() == [[6, 2, 3, 0, 1, 4, 5], [2, 3, 0, 1, 4, 5, 6]]
    other = permutations.ShuffleTask("block", (2,), copies=2, draws=("other",))
    assert other.orders(unit).tolist() == [[0, 1, 4, 5, 2, 3, 6], [6, 2, 3, 0, 1, 4, 5]]


def test_permuted_documents_are_read_from_ids_and_want_one_original():
    names = ["plain", "a/b/original/0", "a/b/block_1/0", "a/b/block_1/1", "a/b/window_2/0"]
    plain, both = permutations.permuted_documents([Unit(name) for name in names])
    assert (plain.unit_id, plain.permutations) == ("plain", {})
    assert both.unit_id == "a/b"
    assert {task: len(rows) for task, rows in both.permutations.items()} == {
        "block_1": 2,
        "window_2": 1,
    }
    for wrong in (["c/block_1/0"], ["c/original/0", "c/original/1"]):
        refuses("'c' has", permutations.permuted_documents, [Unit(name) for name in wrong])


units = st.lists(st.sampled_from("abcdef"), min_size=4, max_size=15).filter(
    lambda u: len(set(u[:-1])) > 1
)


@given(units, st.integers(0, 10**6))
def test_every_shuffle_differs_keeps_the_units_and_is_undone_by_its_record(text, seed):
    rng = generator("test", seed)
    for changed, edit in (
        permutations.shuffled(text, rng),
        permutations.context_shuffled(text, rng),
    ):
        assert changed != text
        assert sorted(changed) == sorted(text)
        assert permutations.restored(changed, edit) == text


def test_all_other_orders_are_equally_likely():
    rng = generator("uniform")
    counts = Counter("".join(permutations.shuffled("abc", rng)[0]) for _ in range(5000))
    assert set(counts) == {"acb", "bac", "bca", "cab", "cba"}
    assert max(abs(count - 1000) for count in counts.values()) < 140  # 5 standard deviations


@pytest.mark.parametrize(("text", "pronoun", "antecedent", "possessive", "result"),
                         [("you can't see him yet", "him", "a man at the top of the ladder", False,
                           "you can't see the man at the top of the ladder yet"),
                          ("His dog barked", "His", "an old farmer", True, "The old farmer's dog barked"),
                          ("and their dog barked", "their", "The farmers", True, "and the farmers' dog barked"),
                          ("then she left", "she", "Ann Smith", False, "then Ann Smith left")])  # fmt: skip
def test_a_re_mention_puts_the_antecedent_in_the_pronouns_place(
    text, pronoun, antecedent, possessive, result
):
    start = text.index(pronoun)
    changed, edit = permutations.rementioned(
        text, start, start + len(pronoun), antecedent, possessive
    )
    assert changed == result
    assert (
        changed[: edit["start"]] + edit["old"] + changed[edit["start"] + len(edit["new"]) :] == text
    )


def test_bad_input_is_named():
    refuses("block is 0", permutations.block_orders, 5, 0, 1, rng())
    refuses("windows is 0", permutations.local_orders, 15, 0, 1, rng())
    for task in (("spiral", (1,)), ("block", ()), ("block", (0,)), ("block", (1,), 0)):
        refuses("allowed are", permutations.ShuffleTask, *task)
    refuses("allowed are", permutations.shuffled_orders, "spiral", 1, range(5), 20, generator("x"))
    for text in (["a"], ["a", "a", "a"], []):
        refuses("at least two must differ", permutations.shuffled, text, generator(0))
    refuses(
        "must lie inside and change it",
        permutations.connective_replaced,
        "a while b",
        2,
        7,
        "While",
    )
