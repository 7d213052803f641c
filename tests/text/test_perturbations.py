"""Edits: one record each, undone by it, never the text as it was, every order equally likely."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longform.documents import BadInput
from longform.resampling import generator
from longform.text import edits

units = st.lists(st.sampled_from("abcdef"), min_size=4, max_size=15).filter(lambda u: len(set(u[:-1])) > 1)


@given(units, st.integers(0, 10**6))
def test_every_shuffle_differs_keeps_the_units_and_is_undone_by_its_record(text, seed):
    rng = generator("test", seed)
    for changed, edit in (edits.shuffled(text, rng), edits.context_shuffled(text, rng), edits.swapped(text, rng)):
        assert changed != text
        assert sorted(changed) == sorted(text)
        assert edits.restored(changed, edit) == text


def test_the_context_shuffle_leaves_the_last_unit():
    for seed in range(20):
        assert edits.context_shuffled("abcd", generator(seed))[0][-1] == "d"


def test_all_other_orders_are_equally_likely():
    rng = generator("uniform")
    counts = Counter("".join(edits.shuffled("abc", rng)[0]) for _ in range(5000))
    assert set(counts) == {"acb", "bac", "bca", "cab", "cba"}
    assert max(abs(count - 1000) for count in counts.values()) < 140  # 5 standard deviations


def test_blocks_keep_their_inner_order_and_only_the_last_is_short():
    for seed in range(50):
        order = edits.block_order(11, 3, generator(seed)).tolist()
        assert sorted(order) == list(range(11))
        blocks = {(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10)}
        starts = [i for i, place in enumerate(order) if place % 3 == 0]
        assert {tuple(order[a:b]) for a, b in zip(starts, [*starts[1:], 11], strict=True)} == blocks


def test_windows_are_disjoint_and_their_places_uniform():
    rng = generator("windows")
    places = Counter()
    for _ in range(6000):
        order = edits.window_order(8, 2, rng)
        fixed = order == np.arange(8)
        assert sorted(order) == list(range(8))
        moved = np.flatnonzero(~fixed)
        assert len(moved) <= 6
        if len(moved) == 6:
            places[(int(moved[0]), int(moved[3]))] += 1
    assert set(places) == {(a, b) for a in range(3) for b in range(a + 3, 6)}
    share = np.array(list(places.values())) / sum(places.values())
    assert np.abs(share - 1 / 6).max() < 0.05


def test_a_text_that_no_order_changes_is_refused():
    for text in (["a"], ["a", "a", "a"], []):
        with pytest.raises(BadInput, match="at least two must differ"):
            edits.shuffled(text, generator(0))
    with pytest.raises(BadInput, match="allowed are 1 to 2"):
        edits.blocks_shuffled("abc", 3, generator(0))
    with pytest.raises(BadInput, match="allowed are 1 to 1 windows"):
        edits.windows_shuffled("abcde", 2, generator(0))


def test_distinct_shuffles_drop_the_original_and_repeats_by_text():
    text = ["a", "a", "b"]
    orders = iter([[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [0, 2, 1]])
    kept, dropped = edits.distinct_shuffles(text, lambda: np.array(next(orders)), 5)
    assert kept == [[2, 0, 1], [0, 2, 1]]
    assert dropped == {"identical": 2, "repeated": 1}


def test_the_shuffle_sets_are_those_that_fit():
    assert [name for name, _ in edits.shuffle_sets(7, generator(0))] == ["b1", "b2", "b5", "w1", "w2"]
    for _, draw in edits.shuffle_sets(12, generator(0)):
        assert sorted(draw()) == list(range(12))


def test_same_seed_same_edit():
    assert edits.shuffled("abcdefgh", generator(1, "x")) == edits.shuffled("abcdefgh", generator(1, "x"))
    assert edits.shuffled("abcdefgh", generator(1, "x")) != edits.shuffled("abcdefgh", generator(1, "y"))


@pytest.mark.parametrize(
    ("text", "pronoun", "antecedent", "possessive", "result"),
    [
        (
            "you can't see him yet",
            "him",
            "a man at the top of the ladder",
            False,
            "you can't see the man at the top of the ladder yet",
        ),
        ("His dog barked", "His", "an old farmer", True, "The old farmer's dog barked"),
        ("and their dog barked", "their", "The farmers", True, "and the farmers' dog barked"),
        ("then she left", "she", "Ann Smith", False, "then Ann Smith left"),
    ],
)
def test_a_re_mention_puts_the_antecedent_in_the_pronouns_place(text, pronoun, antecedent, possessive, result):
    start = text.index(pronoun)
    changed, edit = edits.rementioned(text, start, start + len(pronoun), antecedent, possessive)
    assert changed == result
    assert changed[: edit["start"]] + edit["old"] + changed[edit["start"] + len(edit["new"]) :] == text


def test_an_edit_that_changes_nothing_is_refused():
    with pytest.raises(BadInput, match="must lie inside and change it"):
        edits.connective_replaced("a while b", 2, 7, "While")
