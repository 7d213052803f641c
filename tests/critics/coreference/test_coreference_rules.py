"""The rule-based resolver: who is whom in sentences with one reading, and input that is no English prose."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longform.critics.coreference.rules import RuleResolver

RESOLVER = RuleResolver()


def groups(text: str, resolver: RuleResolver = RESOLVER) -> set[frozenset[str]]:
    """Sets of words that corefer, each with its rank among equals: "he", "he/1"."""
    seen: dict[str, int] = {}
    found: dict[int, set[str]] = {}
    for m in resolver.resolve([text])[0]:
        words = text[m.start : m.end]
        rank = seen.setdefault(words, -1) + 1
        seen[words] = rank
        found.setdefault(m.entity, set()).add(f"{words}/{rank}" if rank else words)
    return {frozenset(words) for words in found.values() if len(words) > 1}


CASES = {
    "gender": ("Mary met John. She liked him.", {("Mary", "She"), ("John", "him")}),
    "surname": ("Mary Jones came. Jones sang.", {("Mary Jones", "Jones")}),
    "initials": ("George Bush spoke. G. Bush left.", {("George Bush", "G. Bush")}),
    "titles": ("Mr. Hale met Mrs. Hale. He saw her.", {("Mr. Hale", "He"), ("Mrs. Hale", "her")}),
    "reflexive": ("John hurt himself.", {("John", "himself")}),
    "object is not the subject": ("John came. Peter saw him.", {("John", "him")}),
    "possessive may be the subject": ("Peter sold his house.", {("Peter", "his")}),
    "family": ("The Lamberts came. They hid their money.", {("The Lamberts", "They", "their")}),
    "two joined": ("Mary and John came. They sang.", {("Mary and John", "They")}),
    "cataphora": ("After his death, Peter was mourned.", {("his", "Peter")}),
    "noun": ("A woman came in. The woman sat. She slept.", {("A woman", "The woman", "She")}),
    "title decides": ("Lady Sarn met Lord Vok. He bowed to her.", {("Lady Sarn", "her"), ("Lord Vok", "He")}),
    "pronoun makes a person of a name": ("Vanitha is an artist. She sings.", {("Vanitha", "She")}),
    "curly quotes": ("“Go,” said John. “I won’t,” he added.", {("John", "he")}),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_sentences_with_one_reading_are_read_so(text, expected):
    assert groups(text) == {frozenset(words) for words in expected}


def test_places_months_and_plain_words_are_no_persons():
    text = "In March, Oxford University moved to Paris. However, the River Thames rose. Rain fell."
    assert not [m for m in RESOLVER.resolve([text])[0] if m.named]


def test_pronouns_do_not_reach_beyond_their_window():
    near, far = "Mary sang. " + "It rained. " * 2 + "She left.", "Mary sang. " + "It rained. " * 6 + "She left."
    assert groups(near) and not groups(far)


def test_recency_alone_is_one_setting():
    text = "Peter saw John in his garden."
    assert groups(text) == {frozenset({"Peter", "his"})}
    assert groups(text, RuleResolver(subject=0.0, parallel=0.0)) == {frozenset({"John", "his"})}


def test_names_from_outside_decide_gender():
    names = {"anmund": "MALE", "belsia": "FEMALE"}
    text = "Anmund Balow met Belsia Dalick. She smiled at him."
    assert groups(text, RuleResolver(first_names=names)) == {
        frozenset({"Anmund Balow", "him"}),
        frozenset({"Belsia Dalick", "She"}),
    }


def test_offsets_point_at_the_words_and_names_carry_gender():
    text = "Yesterday Mrs. Mary O'Brien, 30, met Kofi."
    found = {text[m.start : m.end]: m.gender for m in RESOLVER.resolve([text])[0]}
    assert found["Mrs. Mary O'Brien"] == "FEMALE" and "Kofi" in found


@given(st.text(alphabet="aAMry heHim.,'\"“”’()\n-éЖ東0", max_size=120))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_ordered_spans_inside_it(text):
    found = RESOLVER.resolve([text])[0]
    assert all(0 <= m.start <= (m.root or 0) < m.end <= len(text) for m in found)
    assert [(m.start, m.end) for m in found] == sorted((m.start, m.end) for m in found)


def test_every_mention_of_a_long_text_with_many_people_is_found():
    text = " ".join(f"Mary Name{i} met John Other{i}. She saw him." for i in range(400))
    assert len(RESOLVER.resolve([text])[0]) >= 1600
