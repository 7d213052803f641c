"""Exported answers become tables: shares as planted, a careless annotator set aside, other studies refused by name."""

import csv

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.evaluation.simulated_annotators import Annotator, ChainRule, answer_rows
from longform.study.__main__ import COLUMNS, main
from longform.study.analysis import analyse, read_export

TYPES = ("one", "two")
RULE = ChainRule(TYPES, np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]], dtype=float), 0.05)
PEOPLE = [
    Annotator("ada", 0.05, 0.05),
    Annotator("ben", 0.1, 0.1),
    Annotator("cy", 0.05, 0.1),
    Annotator("lazy", 0.5, 0.5, 1.0),
]


def rows():
    found = []
    for system, share in (("data", 0.9), ("gpt2-w title", 0.3)):
        chains = {f"{system}/{i}": ("one", "two") if i < 60 * share else ("two", "one") for i in range(60)}
        found += answer_rows(chains, rule=RULE, annotators=PEOPLE, system=system, seed=2, checks=8)
    return found


def write_csv(path, held):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(held)
    return path


def test_an_export_is_analysed_and_says_what_was_planted(tmp_path, capsys):
    path = write_csv(tmp_path / "e.csv", rows())
    assert main(["analyse", str(path), "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out
    assert "set aside by the attention checks, with every answer: lazy" in said and "SIMULATED" not in said
    table = analyse(read_export(path))[0]
    at = {(cell.row, cell.column): cell for cell in table.cells}
    for system, planted in (("data", 0.9), ("gpt2-w title", 0.3)):
        share = at[system, "coherent, articles resampled"]
        expected = planted * (1 - 0.25 / 3) + (1 - planted) * 0.25 / 3
        assert share.low < share.value < share.high and share.units == 60
        assert abs(share.value - expected) < 4 * np.sqrt(expected * (1 - expected) / 180)
    effect = at["gpt2-w title minus data", "logit"]
    assert effect.high < 0 and effect.p_value is None
    tested = at["gpt2-w title minus data", "share, articles exchanged"]
    assert tested.value == pytest.approx(
        at["gpt2-w title", "coherent, articles resampled"].value - at["data", "coherent, articles resampled"].value
    )
    assert tested.p_value < 0.001
    assert {p.name for p in (tmp_path / "a").iterdir()} == {
        "human_study.csv", "human_study.md", "organisations.csv", "organisations.md",
    }  # fmt: skip


def test_other_files_are_refused_by_name(tmp_path, capsys):
    claims = [row | {"question": "label", "answer": "refuted"} for row in rows()[:1]]
    cases = {
        "claims.csv": (lambda p: write_csv(p, claims), "only studies of sections"),
        "empty.csv": (lambda p: p.write_text(""), "no row"),
        "other.csv": (lambda p: p.write_text("a,b\n1,2\n"), "rows without"),
        "broken.jsonl": (lambda p: p.write_text("{\n"), "not an export"),
        "list.jsonl": (lambda p: p.write_text("[1]\n"), "not an export"),
        "bytes.csv": (lambda p: p.write_bytes(b"\xff\xfe\x00"), "not an export"),
    }
    for name, (write, why) in cases.items():
        write(tmp_path / name)
        assert main(["analyse", str(tmp_path / name)]) == 2 and why in capsys.readouterr().err
    with pytest.raises(BadInput, match="not an export"):
        read_export(tmp_path / "absent.csv")


@pytest.mark.parametrize("word", [str.upper, str.lower])
def test_an_export_saved_by_a_spreadsheet_says_the_same(tmp_path, word):
    marked = [row | {name: word(str(row[name])) for name in ("check", "last")} for row in rows()]
    saved = write_csv(tmp_path / "saved.csv", marked)
    saved.write_bytes(b"\xef\xbb\xbf" + saved.read_bytes())
    both = [analyse(read_export(path)) for path in (saved, write_csv(tmp_path / "e.csv", rows()))]
    assert [t.markdown() for t in both[0]] == [t.markdown() for t in both[1]]


def test_a_mark_that_is_neither_true_nor_false_is_refused(tmp_path, capsys):
    path = write_csv(tmp_path / "e.csv", [row | {"last": "WAHR"} for row in rows()])
    assert main(["analyse", str(path)]) == 2 and "row 1: last is 'WAHR'" in capsys.readouterr().err
