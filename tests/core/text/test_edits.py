"""Edits: one record each, undone by it, never the text as it was, every order equally likely."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.core.text import permutations as edits

units = st.lists(st.sampled_from("abcdef"), min_size=4, max_size=15).filter(lambda u: len(set(u[:-1])) > 1)


@given(units, st.integers(0, 10**6))
def test_every_shuffle_differs_keeps_the_units_and_is_undone_by_its_record(text, seed):
    rng = generator("test", seed)
    for changed, edit in (edits.shuffled(text, rng), edits.context_shuffled(text, rng)):
        assert changed != text
        assert sorted(changed) == sorted(text)
        assert edits.restored(changed, edit) == text


def test_all_other_orders_are_equally_likely():
    rng = generator("uniform")
    counts = Counter("".join(edits.shuffled("abc", rng)[0]) for _ in range(5000))
    assert set(counts) == {"acb", "bac", "bca", "cab", "cba"}
    assert max(abs(count - 1000) for count in counts.values()) < 140  # 5 standard deviations


def test_a_text_that_no_order_changes_is_refused():
    for text in (["a"], ["a", "a", "a"], []):
        with pytest.raises(BadInput, match="at least two must differ"):
            edits.shuffled(text, generator(0))


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


@pytest.mark.parametrize(("match_case", "new"), [(False, "while"), (True, "While")])
def test_a_connective_is_put_in_in_lower_case_or_in_the_case_of_the_place(match_case, new):
    assert edits.connective_replaced("He left. However, she", 9, 16, "while", match_case)[0] == f"He left. {new}, she"
    assert edits.connective_replaced("He left, yet she", 9, 12, "while", match_case)[0] == "He left, while she"
