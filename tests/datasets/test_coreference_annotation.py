"""GAP and LitBank readers on files made here in the published forms."""

from __future__ import annotations

import io
import tarfile

import pytest

from longform.core.documents import BadInput
from longform.datasets.coreference import read_gap, read_litbank

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


def archive(tmp_path, rows: list[tuple[str, str]]):
    lines = ["#begin document (x); part 0"]
    lines += ["" if not word else f"x\t0\t0\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\t{mark}" for word, mark in rows]
    content = "\n".join([*lines, "#end document", ""]).encode()
    path = tmp_path / "litbank.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        entry = tarfile.TarInfo("x_brat.conll")
        entry.size = len(content)
        made.addfile(entry, io.BytesIO(content))
    return path


def test_litbank_mentions_nest_and_offsets_point_at_their_words(tmp_path):
    rows = [("The", "(1"), ("son", ""), ("of", ""), ("Ann", "(2)|1)"), ("", ""), ("He", "(1)"), ("ran", "")]
    (document,) = read_litbank(archive(tmp_path, rows))
    assert document.text == "The son of Ann\nHe ran"
    found = {(document.text[a:b], entity) for a, b, entity in document.mentions}
    assert found == {("The son of Ann", 1), ("Ann", 2), ("He", 1)}


@pytest.mark.parametrize("rows", [[("Ann", "1)")], [("Ann", "(x)")]])
def test_litbank_marks_that_do_not_fit_are_refused(tmp_path, rows):
    with pytest.raises(BadInput):
        read_litbank(archive(tmp_path, rows))
