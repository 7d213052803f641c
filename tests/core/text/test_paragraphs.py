"""Paragraphs inside sections: kept by cleaning, told from sections, and never crossed by a sentence."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longform.datasets.own_texts import read_texts
from longform.datasets.titles import Filters, piece_count, select
from longform.decoding.continuations import prefix_of
from longform.documents import Document, Section, section_starts
from longform.text.paragraphs import from_lines, one_blank_line, paragraphs, to_lines
from longform.text.rendering import parse, render
from longform.text.sentences import SPLITTERS, joined, sentence_texts, sentences

STORY = "Chapter One\n\nThe Storm\n\nIt was dark.  It\nrained."


def test_paragraphs_are_what_blank_lines_set_apart():
    assert paragraphs("One,\n  two.\n \n\n\tThree.  Four.\n") == ["One, two.", "Three.  Four."]
    assert paragraphs(" \n\n ") == paragraphs("") == []
    assert one_blank_line("\n\nOne,\n two.\n \n\n\tThree.\n\n") == "One,\n two.\n\nThree."
    assert to_lines(STORY) == "Chapter One\nThe Storm\nIt was dark.  It rained."
    assert from_lines("Chapter One\nThe Storm\n") == "Chapter One\n\nThe Storm"


@given(st.lists(st.text(alphabet="ab.:", min_size=1, max_size=5), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_lines_and_paragraphs_are_inverse_to_each_other(lines):
    text = "\n\n".join(lines)
    assert from_lines(to_lines(text)) == text and paragraphs(text) == lines


def test_a_heading_before_a_blank_line_is_a_sentence_for_each_reader(tmp_path: Path):
    (tmp_path / "story.txt").write_text(STORY.replace("\n", "\r\n"), encoding="utf-8")
    wanted = ["Chapter One", "The Storm", "It was dark.", "It\nrained."]
    for given_texts in (tmp_path, [STORY]):
        document = read_texts(given_texts).documents[0]
        assert sentence_texts(document.text) == wanted
    assert SPLITTERS["full_stops"]("Chapter One\n\nIt was dark. It rained.") == [
        "Chapter One", "It was dark.", "It rained.",
    ]  # fmt: skip


@pytest.mark.parametrize("titles", [True, False])
def test_paragraphs_survive_the_language_models_format_and_sections_too(titles):
    names = ("life", "work") if titles else (None, None)
    sections = (
        Section(names[0], "Born in\nUlm.\n\nShe left: for good."),
        Section(names[1], "Much.\n\n\n\nMore."),
    )
    body = render(Document("a", "test", sections), titles)
    head = ("life: ", "work: ") if titles else ("", "")
    assert body == f"{head[0]}Born in Ulm.\nShe left: for good.\n\n{head[1]}Much.\nMore."
    assert parse(body, titles) == (
        Section(names[0], "Born in Ulm.\n\nShe left: for good."), Section(names[1], "Much.\n\nMore."),
    )  # fmt: skip


def test_articles_keep_paragraphs_and_are_counted_as_models_read_them():
    lines = "One two.\n\n Three four.\n"
    articles = [
        Document(f"{i}", "train", tuple(Section(f"t{k}", lines) for k in range(2)))
        for i in range(3)
    ]
    selection = select(articles, Filters(2, 9, 1, 1, ()), piece_count)
    assert selection.documents[0].sections[0].text == "One two.\n\nThree four."
    # One, " two", ".", line break, Three, " four", "."
    assert selection.lengths[0].tolist() == [7, 7]


def test_sections_start_at_their_offsets_whatever_paragraphs_they_hold():
    document = Document("a", "test", (Section("x", STORY), Section("y", "Then. \n\nThe end.")))
    starts = section_starts(document)
    assert [document.text[start : start + 5] for start in starts] == ["Chapt", "Then."]
    inside = [[span for span in sentences(document.text) if span[0] < starts[1]], sentences(STORY)]
    assert inside[0] == inside[1]


def test_joined_sentences_are_cut_again_where_they_were_joined():
    pieces = [
        "The Storm",
        "It was dark.",
        "He met Mr. Smith Jr.",
        "Foxes ran.",
        "and, so on",
        "He left.",
    ]
    text = joined(pieces, "rules")
    assert sentence_texts(text) == pieces and text.count("\n\n") == 3
    assert joined(["It rained.", "We left."], "rules") == "It rained. We left."
    assert (
        joined(["Seen in the U.S.", "Census.", "End"], "full_stops")
        == "Seen in the U.S. Census. End"
    )
    assert joined([], "rules") == ""


def test_a_prefix_is_the_first_sentence_and_not_a_heading_with_it():
    document = Document("a", "test", (Section("Ulm", "Ulm\n\nUlm is a\ntown. It is old."),))
    assert prefix_of(document, "rules", "first_section") == (
        "Ulm",
        "Ulm",
        "\nUlm is a town. It is old.",
    )
