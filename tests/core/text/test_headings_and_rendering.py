"""Sections by their headings, paragraphs, what language models read and write, and the script of a text."""

import numpy as np
import pytest

from longform.documents import Document, Predictions, Section
from longform.text import languages, paragraphs, rendering
from longform.text.headings import Heading, top_sections

LINES = [f"line {number}" for number in range(10)]


@pytest.mark.parametrize(
    ("headings", "sections"),
    [
        ([], []),
        ([(1, 2, 3)], [(3, 10)]),
        ([(1, 0, 1), (1, 4, 6)], [(1, 4), (6, 10)]),
        ([(1, 0, 1), (2, 2, 3), (2, 5, 6)], [(3, 5), (6, 10)]),
        ([(1, 0, 1), (2, 2, 3), (1, 5, 6)], [(1, 5), (6, 10)]),
        ([(2, 1, 2), (1, 3, 4), (2, 6, 7)], [(2, 6), (7, 10)]),
        ([(1, 0, 1), (3, 2, 3), (2, 5, 6), (2, 7, 8)], [(6, 7), (8, 10)]),
    ],
)
def test_sections_are_those_of_the_highest_level_but_for_the_texts_title(headings, sections):
    made = [Heading(level, f"{first}", first, after) for level, first, after in headings]
    found = top_sections(LINES, made)
    assert [lines for _, lines in found] == [LINES[start:end] for start, end in sections]
    titles = {after: f"{first}" for _, first, after in headings}
    assert [title for title, _ in found] == [titles[start] for start, _ in sections]


TEXT = " one\n two \n\n\n three \n \n four\n"


def test_paragraphs_are_parted_by_blank_lines_and_lie_on_a_line_each():
    assert paragraphs.paragraphs(TEXT) == ["one two", "three", "four"]
    assert paragraphs.paragraphs(" \n\n ") == []
    assert paragraphs.one_blank_line(TEXT) == "one\n two \n\nthree \n\nfour"
    assert paragraphs.to_lines(TEXT) == "one two\nthree\nfour"
    assert paragraphs.from_lines(" one \n\ntwo\n") == "one\n\ntwo"
    assert paragraphs.single_spaced("a  b\n\n\nc\td\ne") == "a b\n\nc d e"


ARTICLE = Document("d", "test", (Section("A", "one\n\ntwo"), Section("Long b", "three")))


def test_an_article_is_rendered_with_titles_or_without_and_parsed_back():
    assert rendering.render(ARTICLE, True) == "A: one\ntwo\n\nLong b: three"
    assert rendering.render(ARTICLE, False) == "one\ntwo\n\nthree"
    for titles in (True, False):
        sections = rendering.parse(f"\n{rendering.render(ARTICLE, titles)}\n", titles)
        assert [section.text for section in sections] == ["one\n\ntwo", "three"]
        assert [section.title for section in sections] == (
            ["A", "Long b"] if titles else [None] * 2
        )
    body = rendering.render(ARTICLE, True)
    assert [body[a:b] for a, b in rendering.title_spans(ARTICLE)] == ["A:", "Long b:"]


@pytest.mark.parametrize(
    ("body", "titles"), [("", False), (" \n", True), ("no title", True), ("A:", True), ("A: b\n\nC: ", True)]
)  # fmt: skip
def test_a_body_that_is_malformed_is_none(body, titles):
    assert rendering.parse(body, titles) is None


def test_a_title_may_be_empty_and_a_text_may_hold_colons():
    assert rendering.parse(": a: b", True) == (Section("", "a: b"),)


def test_texts_are_kept_as_bytes_or_not_at_all():
    texts = ["aä", "", "\ud800"]
    packed = rendering.pack(texts)
    assert packed["text_lengths"].tolist() == [3, 0, 3] and packed["text"].dtype == np.uint8
    made = Predictions(("a", "b", "c"), ("test",) * 3, packed)
    assert rendering.unpack(made) == texts
    assert rendering.unpack(Predictions(("a", "b"), ("test",) * 2, {})) == ["", ""]


def test_tokens_of_a_text_stand_beside_those_of_the_human_one():
    units = [
        rendering.TokenText("a", "test", np.array([1, 2]), np.array([3])),
        rendering.TokenText("b", "test", np.array([4]), np.array([5, 6])),
    ]
    made = rendering.texts_to_predictions(units)
    assert made.arrays["token"].tolist() == [1, 2, 4] and made.arrays["reference"].tolist() == [
        3,
        5,
        6,
    ]
    assert [len(row) for row in made.ragged("reference")] == [1, 2] and made.unit_ids == ("a", "b")


@pytest.mark.parametrize(
    ("text", "share"), [("", 1.0), ("12 !", 1.0), ("abc", 1.0), ("аб", 0.0), ("ab аб", 0.5), ("abc а", 0.75)]
)  # fmt: skip
def test_the_share_of_latin_letters(text, share):
    assert languages.latin_share(text) == share


def test_the_share_of_english_words_is_of_words_and_letters():
    assert languages.english_share("the owl") == 0.5
    assert languages.english_share("The dogs’ owl") == pytest.approx(1 / 3)
    assert languages.english_share("the аб о") == pytest.approx(0.5)  # three of six letters
    assert languages.english_share("аб") == languages.english_share("1 2") == 0.0


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("owl " * 29, True), ("owl " * 30, False), ("owl " * 28 + "the the", False),
        ("owl " * 27 + "the the the", True), ("аб", False), ("ab аб", True), ("a аб", False), ("", True),
    ],
)  # fmt: skip
def test_thirty_words_of_which_seven_in_a_hundred_speak_for_english(text, english):
    assert languages.looks_english(text) is english
