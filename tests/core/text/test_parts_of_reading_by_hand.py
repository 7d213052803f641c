"""Ends of blocks of reStructuredText, and stops that what follows does not let end a sentence."""

import pytest

from longform.text import restructured_text as r
from longform.text.sentences import _continues


@pytest.mark.parametrize(
    ("lines", "stop"),
    [
        (["== ==", "a b", "== ==", "c d", "== =="], 5),
        (["== ==", "a b", "== ==", "", "x"], 3),
        (["== ==", "a b", "== ==", "c d", "== ==", "", "x"], 5),
        (["== ==", "a b", "", "== ==", "x"], 2),  # behind no border stands a blank line
        (["== ==", "a b"], 2),
        (["== ==", "== =="], 2),
        (["== ==", "== ==", "", "== =="], 2),
        (["== ==", "a b", "", "c d", "== ==", ""], 5),  # a row may be blank
        (["== =="], 1),
        (["== ==", "a b", "  == ==  ", ""], 3),
    ],
)
def test_a_simple_table_ends_behind_a_border_and_a_blank_line(lines, stop):
    assert r._simple_table_stop(lines, 0) == stop


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (1, 1), (2, 4), (3, 4), (5, 6), (6, 6)])
def test_a_paragraph_ends_at_the_next_blank_line_or_the_end(start, stop):
    assert r._blank_line(["a", "", "b", "c", "", "d"], start) == stop


@pytest.mark.parametrize(("indent", "stop"), [(0, 4), (2, 2), (1, 4), (4, 0)])
def test_a_body_ends_where_a_line_is_indented_no_more(indent, stop):
    assert r._body_stop(["    a", "", "  b", "    c", "d"], 0, indent) == stop


@pytest.mark.parametrize(
    ("lines", "stop"),
    [
        (["", "    code", "", "    more", "text"], 4),
        (["", "> quoted", "> lines", "text"], 3),
        (["", "text"], 0),
        (["", ""], 2),
        (["> quoted"], 1),
        ([">"], 1),
    ],
)
def test_a_literal_block_is_indented_or_quoted(lines, stop):
    assert r._literal_stop(lines, 0, 0) == stop


def test_a_block_is_split_at_indents_and_markers_and_transitions_vanish():
    block = ["one", "line", "- item", "  goes on", "- next", "----", "=", "back"]
    assert r._split_block(block) == (["one line", "item goes on", "next", "= back"], 0)


@pytest.mark.parametrize(
    ("text", "end", "goes_on"),
    [
        ("He came. , she", 8, True),
        ("He came. She", 8, False),
        ("He came.", 8, False),
        ("He came.  ", 8, False),
        ("He came.\n\n, she", 8, False),
        ("「行く。」と言う", 5, True),
        ("『行く。』と言う", 5, True),
        ("「行く。」彼は", 5, False),
        ("行く。と言う", 3, False),
    ],
)
def test_a_stop_before_a_comma_or_a_quoting_particle_ends_no_sentence(text, end, goes_on):
    assert _continues(text, end) is goes_on
