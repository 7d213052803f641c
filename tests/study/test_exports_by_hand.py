"""Rows of answers, their export, and what an analysis makes of them, by hand."""

import csv
import json
from types import SimpleNamespace

import pytest

from longform.statistics.estimates import Estimate
from longform.tables import Table
from longform_lab.study import __main__ as command
from longform_lab.study.items import Item, questions
from tests.refusals import refuses

SECTIONS = Item(
    "i", "sections", "testing", {"sections": ["a", "b"]}, ("x", "y"), ("x", "y"), False, "gpt2"
)
CLAIM = Item("c", "claim", "training", {"claim": "c", "evidence": "e"}, ("x",), ("x",), True, "")


def answers():
    return [
        {
            "item": "i",
            "annotator": "ann",
            "answer": {"section_0": "x", "coherent": "yes"},
            "at": "t1",
            "last": True,
        },
        {"item": "c", "annotator": "bob", "answer": {"label": "y"}, "at": "t2", "last": False},
    ]


def exported():
    study = SimpleNamespace(item={"i": SECTIONS, "c": CLAIM}.__getitem__)
    return command.exported(study, SimpleNamespace(answers=answers))


def test_testing_asks_for_coherence_beside_each_section():
    assert [name for name, _ in questions(SECTIONS)] == ["section_0", "section_1", "coherent"]
    assert [name for name, _ in questions(CLAIM)] == ["label"]


def test_a_row_is_an_answered_question_with_its_right_answer():
    rows = exported()
    assert [(row["question"], row["answer"], row["gold"]) for row in rows] == [
        ("section_0", "x", "x"), ("section_1", "", "y"), ("coherent", "yes", ""), ("label", "y", "x"),
    ]  # fmt: skip
    assert rows[0] == {
        "annotator": "ann", "item": "i", "source": "gpt2", "phase": "testing", "check": False,
        "question": "section_0", "answer": "x", "gold": "x", "at": "t1", "last": True,
    }  # fmt: skip
    assert (rows[3]["annotator"], rows[3]["phase"], rows[3]["check"], rows[3]["last"]) == (
        "bob",
        "training",
        True,
        False,
    )


@pytest.fixture
def options(monkeypatch, tmp_path):
    def given(name):
        (tmp_path / "answers").write_text("")
        return SimpleNamespace(out=tmp_path / name, study="s", answers=tmp_path / "answers")

    exported_rows = exported()
    monkeypatch.setattr(command, "load_study", lambda path: "study")
    monkeypatch.setattr(command, "Store", lambda path: "store")
    monkeypatch.setattr(
        command,
        "exported",
        lambda study, store: exported_rows if (study, store) == ("study", "store") else [],
    )
    return given


def test_an_export_is_a_table_or_lines(options, capsys):
    table = options("out.csv")
    command._export(table)
    with table.out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*command.COLUMNS] and len(rows) == 4 and rows[3]["check"] == "True"
    assert b"\r" not in table.out.read_bytes()
    assert capsys.readouterr().out == f"{table.out}: 4 answers\n"
    lines = options("out.jsonl")
    command._export(lines)
    assert json.loads(lines.out.read_text().splitlines()[1])["question"] == "section_1"
    refuses("an export is .csv or .jsonl", command._export, options("out.txt"))
    missing = SimpleNamespace(out=lines.out, study="s", answers=lines.out.with_name("none"))
    refuses("none: no such file; name the --answers", command._export, missing)


@pytest.mark.parametrize("word", ["TRUE", "true", " True ", True])
def test_an_export_is_read_as_spreadsheets_save_it(word, monkeypatch):
    row = dict.fromkeys(command.COLUMNS, "x") | {"check": word, "last": "FALSE", "at": None}
    monkeypatch.setattr(command.items, "sheet", lambda path: [dict(row)])
    (found,) = command.read_export("e")
    assert (found["check"], found["last"]) == (True, False)
    monkeypatch.setattr(command.items, "sheet", lambda path: [dict(row), {**row, "last": "no"}])
    refuses("e: row 2: last is 'no'", command.read_export, "e")
    monkeypatch.setattr(command.items, "sheet", lambda path: [{**row, "gold": None}])
    refuses("e: rows without .'gold'.", command.read_export, "e")
    monkeypatch.setattr(command.items, "sheet", lambda path: [])
    refuses("e: no row; write it with `export`", command.read_export, "e")


def test_systems_are_compared_with_the_first_one(monkeypatch):
    """Sixty articles of the first system, forty and nineteen of the others, too few for a p-value."""
    calls = []
    units = [
        SimpleNamespace(source=name, verdicts=["yes"] if name == "real" else [])
        for name in ["real", "m", "real"]
        + 18 * ["n", "real", "m"]
        + ["n"]
        + 21 * ["m"]
        + 40 * ["real"]
    ]

    def judged_items(rows, *, splits, simulated):
        calls.append(([(row["question"], row["gold"]) for row in rows], splits, simulated))
        return units

    class Share:
        def sufficient_statistics(self, members):
            return SimpleNamespace(unit_ids=[one.source for one in members])

        def describe(self, members):
            return {"described": len(members)}

    def compare(critic, one, other, rng):
        calls.append((one.unit_ids, other.unit_ids, rng))
        return SimpleNamespace(difference=0.25, p_value=0.5)

    def estimate(critic, statistics, rng):
        calls.append((statistics.unit_ids, rng))
        return Estimate(0.5, 0.25, 0.75, len(statistics.unit_ids), 0, "sig")

    shown = []
    monkeypatch.setattr(command, "judged_items", judged_items)
    monkeypatch.setattr(command, "CoherentShare", Share)
    monkeypatch.setattr(command, "compare", compare)
    monkeypatch.setattr(command, "estimate", estimate)
    monkeypatch.setattr(command, "generator", lambda *names: names)
    monkeypatch.setattr(
        command, "human_study", lambda given: shown.append(given.results) or Table("t", [], [])
    )
    monkeypatch.setattr(
        command,
        "organisations",
        lambda members: [(("a", "b"), len(members))] if len(members) < 60 else [],
    )
    shares, chains = command.analyse(exported(), seed=9)
    assert calls[0] == ([("section_0", ""), ("section_1", ""), ("coherent", "")], {}, False)
    assert calls[1:4] == [
        (["real"] * 60, ("study", "real", "9")),
        (["m"] * 40, ("study", "m", "9")),
        (["n"] * 19, ("study", "n", "9")),
    ]
    assert calls[4] == (["m"] * 40, ["real"] * 60, ("study", "m", "against", "real", "9"))
    assert [cell.value for cell in shares.cells] == [0.25, 0.25] and [
        cell.units for cell in shares.cells
    ] == [40, 19]
    assert (shares.cells[0].p_value, shares.cells[1].p_value) == (0.5, None)
    assert shares.cells[0].row.endswith(" minus " + command.EXPECTED.label("system", "real"))
    assert [(cell.row, cell.column, cell.value) for cell in chains.cells] == [
        ("a → b", "m", 40),
        ("a → b", "n", 19),
    ]
    (records,) = shown
    assert [(one.system, one.details["described"], one.value) for one in records] == [
        ("real", 60, 0.5),
        ("m", 40, 0.5),
        ("n", 19, 0.5),
    ]
    monkeypatch.setattr(command, "judged_items", lambda rows, **more: units[1:2])
    refuses("study: no verdict on an article", command.analyse, [])
    checks = [{**row, "check": True} for row in exported()]
    monkeypatch.setattr(command, "judged_items", judged_items)
    calls.clear()
    command.analyse(checks)
    assert calls[0][0] == [("section_0", "x"), ("section_1", "y"), ("coherent", "")] and calls[1][
        1
    ] == ("study", "real", "1234")
