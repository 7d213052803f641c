"""GAP and bracket readers on files made here in the published forms."""

from __future__ import annotations

import pytest

from longform.core.documents import BadInput
from longform.datasets.coreference import read_brackets, read_gap

HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap_rows_become_spans_and_labels(tmp_path):
    path = tmp_path / "gap.tsv"
    path.write_text(
        HEADER + 'd-1\tAnn met "Bea. She left.\tShe\t14\tAnn\t0\tFALSE\tBea\t9\tTRUE\thttp://x\n', encoding="utf-8"
    )
    (item,) = read_gap(path)
    assert item.text[slice(*item.pronoun)] == "She" and item.labels == (False, True)
    assert [item.text[slice(*span)] for span in item.names] == ["Ann", "Bea"]


def test_a_gap_offset_that_misses_its_words_is_refused(tmp_path):
    path = tmp_path / "gap.tsv"
    path.write_text(HEADER + "d-1\tAnn ran.\tShe\t1\tAnn\t0\tTRUE\tAnn\t0\tTRUE\tx\n", encoding="utf-8")
    with pytest.raises(BadInput, match="line 2"):
        read_gap(path)


def brackets(rows):
    lines = ["#begin document (x); part 0"]
    return read_brackets(lines + ["" if not word else f"x\t0\t0\t{word}\t_\t{mark}" for word, mark in rows], "x")


def test_brackets_nest_and_point_at_their_words():
    rows = [("The", "(1"), ("son", ""), ("of", ""), ("Ann", "(2)|1)"), ("", ""), ("He", "(1)"), ("ran", "")]
    texts, found = brackets(rows)
    assert texts == [["The", "son", "of", "Ann"], ["He", "ran"]]
    assert {(m.first, m.last, m.chain) for m in found} == {
        ((0, 0), (0, 3), "1"),
        ((0, 3), (0, 3), "2"),
        ((1, 0), (1, 0), "1"),
    }


@pytest.mark.parametrize("rows", [[("Ann", "1)")], [("Ann", "(1))")]])
def test_brackets_that_do_not_fit_are_refused(rows):
    with pytest.raises(BadInput, match="x:2"):
        brackets(rows)
