"""Exhibits of beyer2021 from small hand-made records, and its suites as files."""

import json
from pathlib import Path

import matplotlib.figure
import numpy as np
import pytest
import yaml

from experiments.beyer2021 import report as beyer2021
from longform.cli import main
from longform.datasets.test_suites.items import Suite, pair, suites_to_corpus
from longform.evaluation.suite_accuracy import suite_accuracy_records
from longform.files.artefacts import write_corpus
from longform.results import Results
from longform_lab.reporting.pivot import ReportInputs
from longform_lab.reporting.printed import Expected
from longform_lab.reporting.verdicts import ABSENT, HOLDS, UNDECIDED, UNTESTABLE
from tests.refusals import refuses
from tests.reporting.papers.exhibits import at, draw, judged, printed, save

EXPECTED = printed("beyer2021")
FORMULA = ("(2;%b%) > (2;%a%)",)
SUITES = [
    Suite(name, "sum", FORMULA, (pair(1, {"a": ["x", "good"], "b": ["x", "bad"]}),))
    for name in ("one", "two")
]
BITS = {"(2;%original%)": {"all": [30.0, 5.0]}, "(2;%shuffled%)": {"all": [50.0, 5.0]}}


def answers(system, **suites):
    names = ("items", "correct", "gained", "lost")
    told = {
        s: {"counts": dict(zip(names, counts, strict=True)), "formula_bits": BITS}
        for s, counts in suites.items()
    }
    return suite_accuracy_records(told, corpus="suite_texts", system=system)


GPT2 = {"N_all": (100, 90, 30, 4), "N_context": (100, 50, 0, 0), "D_all": (100, 50, 0, 0),
        "D_context": (100, 55, 0, 0), "coreference_WSJ": (100, 95, 0, 0), "zu_all": (9, 9, 0, 0),
        "connective_as_causal_as_since": (25, 7, 0, 0), "connective_as_causal_as_yet": (25, 20, 0, 0)}  # fmt: skip
XL = {"N_all": (100, 96, 7, 1), "N_context": (100, 99, 5, 3), "story_cloze": (300, 300, 0, 0)}
UNTRAINED = dict.fromkeys(("N_all", "N_context"), (100, 50, 0, 0))
RESULTS = Results(
    [*answers("untrained", **UNTRAINED), *answers("gpt2", **GPT2), *answers("gpt2_xl", **XL)]
)


def test_printed_numbers_stand_beside_their_model_or_alone(tmp_path):
    cells = at(draw(EXPECTED, "table_1", RESULTS, tmp_path))
    shuffled = "narration: all sentences shuffled"
    assert (cells["GPT-2 small", shuffled].value, cells["GPT-2 small", shuffled].printed) == (
        0.9,
        0.86,
    )
    assert cells["GPT-2 small", shuffled].verdict == "not comparable at this size"
    assert cells["GPT-2 XL", shuffled].printed is None
    assert cells["DialoGPT medium (printed)", shuffled].printed == 0.78
    assert not [row for row, _ in cells if "items" in row]


def test_table_4_and_the_other_suites(tmp_path):
    table = draw(EXPECTED, "table_4", RESULTS, tmp_path, systems=["gpt2"])
    cells = at(table)
    assert list(dict.fromkeys(c.column for c in table.cells)) == EXPECTED["table_4"]["columns"]
    own = cells["GPT-2 small: as, causal", "since"]
    assert (own.value, own.printed, own.units) == (7 / 25, 0.28, 25)
    assert (
        cells["GPT-2 small: as, causal", "as"].value
        is cells["GPT-2 small: as, causal", "as"].printed
        is None
    )
    assert cells["GPT-2 small: yet, contrast", "though"].printed == 0.92
    assert "fewer than 30 texts in 1 of 22 rows" in table.notes[0]
    table = draw(EXPECTED, "other_suites", RESULTS, tmp_path)
    assert {c.column for c in table.cells} == {"zu all"}


def test_claims_are_judged_over_models_unless_a_suite_is_missing(tmp_path):
    found = judged(EXPECTED, RESULTS, tmp_path)
    harder = found[
        "context_is_harder_in_narration"
    ]  # holds for the small model, not for the large one
    assert harder.verdict == UNDECIDED and [row.verdict for row in harder.rows] == [
        HOLDS,
        UNDECIDED,
    ]
    assert found["re_mention_is_at_chance"].verdict == UNTESTABLE
    assert found["temporal_as_is_easier"].verdict == ABSENT
    assert [round(row.contrast.value, 3) for row in found["untrained_is_at_chance"].rows[:2]] == [
        0,
        0,
    ]
    assert not [row for row in found["above_chance"].rows if "untrained" in row.compared]


def test_the_ledger_has_a_line_for_every_printed_number(tmp_path):
    lines = EXPECTED.ledger(RESULTS, tmp_path)
    found = {(line.table, line.number): line for line in lines}
    assert found["table_4", "rows.as_causal.gpt2.since"].ours == 0.28
    assert found["text_claims", "as_causal_average"].ours == 27 / 50
    assert found["table_1", "n_items.N_all"].verdict == "not measured here"
    assert not [line for line in lines if "no rule" in line.cause]


@pytest.mark.parametrize(
    "name", ["table_2", "table_3", "table_5", "size_sweep", "region_surprisal"]
)
def test_every_other_exhibit_is_saved(name, tmp_path):
    save(EXPECTED, name, RESULTS, tmp_path)


def test_the_sweep_has_a_mark_a_model_in_each_row_and_joins_none_by_a_line(tmp_path):
    """Phenomena are no ordered quantity, and models of several kinds are none either."""
    figure = draw(EXPECTED, "size_sweep", RESULTS, tmp_path)
    figure.draw(canvas := matplotlib.figure.Figure())
    (axes,) = canvas.axes
    rows = [text.get_text() for text in axes.get_yticklabels()]
    assert rows == list(dict.fromkeys(cell.column for cell in figure.cells))
    marks = {bars.get_label(): bars.lines[0] for bars in axes.containers}
    assert marks.keys() == {cell.row for cell in figure.cells}
    for system, mark in marks.items():
        own = {cell.column: cell.value for cell in figure.cells if cell.row == system}
        shown = {rows[round(y)]: x for x, y in zip(*mark.get_data(), strict=True)}
        assert shown == own and mark.get_linestyle() == "None"


def test_regions_are_of_the_first_system_with_the_predicted_side_apart(tmp_path):
    figure = draw(
        EXPECTED, "region_surprisal", RESULTS, tmp_path, systems=["gpt2_large", "gpt2_xl"]
    )
    assert "GPT-2 XL" in figure.caption
    less, more = (c for c in figure.cells if c.row == "narration: all sentences shuffled")
    assert (less.column, less.value) == ("predicted less surprising", 30.0)
    assert (more.column, more.value) == ("predicted more surprising", 50.0)
    assert (less.low, less.high) == (
        pytest.approx(30 - 0.98, abs=1e-3),
        pytest.approx(30 + 0.98, abs=1e-3),
    )
    assert draw(EXPECTED, "region_surprisal", RESULTS, tmp_path, systems=["gpt2_large"]).cells == []


def test_every_suite_is_a_task_of_the_group_and_on_the_human_sheet(tmp_path, capsys):
    (tmp_path / "corpora").mkdir()
    write_corpus(tmp_path / "corpora" / "toy", suites_to_corpus(SUITES))
    given = ReportInputs(Results([]), Expected("beyer2021", {}), tmp_path)
    tasks = tmp_path / "tasks"
    command = ["export", "harness", str(tasks), str(tmp_path / "corpora" / "toy")]
    assert main(command) == 0
    group = yaml.safe_load((tasks / "_coherencegym.yaml").read_text(encoding="utf-8"))
    assert group["task"] == ["coherencegym_one", "coherencegym_two"]
    for suite in SUITES:
        task = yaml.safe_load((tasks / f"{suite.name}.yaml").read_text(encoding="utf-8"))
        assert task["task"] == f"coherencegym_{suite.name}"
        data = Path(task["dataset_kwargs"]["data_files"]["test"])
        line = json.loads(data.read_text(encoding="utf-8"))
        assert line == {"context": "x", "choices": ["good", "bad"], "target": 0}
    asked = {"texts": "corpora/toy", "suites": ["one"], "per_suite": 5, "seed": 1}
    files = beyer2021.human_sheet(given, **asked)
    assert files.texts["sheet.csv"].count("\n") == 2
    assert "left" not in files.texts["sheet.csv"].splitlines()[1]
    refuses("no suites", beyer2021.human_sheet, given, **asked | {"suites": ["three"]})
    refuses("per_suite is 0", beyer2021.human_sheet, given, **asked | {"per_suite": 0})
    np.savez(tmp_path / "corpora" / "toy" / "truth.npz", other=np.zeros(1))
    assert main(command) == 2
    assert "no suite_heads" in capsys.readouterr().err
