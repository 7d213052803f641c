"""Tables from score records: values, intervals, McNemar, printed rows, and what happens where a suite is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.stats import binomtest

from longform.reporting import beyer2021

EXPECTED = yaml.safe_load(
    (Path(__file__).parents[2] / "experiments" / "beyer2021" / "expected.yaml").read_text(encoding="utf-8")
)


def record(real: str, **suites: tuple[int, int, int, int]) -> dict:
    bits = {"original": {"1": 3.0, "2": 2.0}, "shuffled": {"1": 3.5, "2": 2.5}}
    names = ("items", "correct", "gained", "lost")
    details = {
        name: {"counts": dict(zip(names, map(float, counts), strict=True)), "token_bits": bits}
        for name, counts in suites.items()
    }
    return {"signature": "SuiteAccuracy()", "inputs": {"real": real}, "details": details}


SCORES = {
    "suites-small": record("suites-none", N_all=(100, 90, 30, 4), N_context=(100, 50, 0, 0), connective_as_causal_as_since=(25, 7, 0, 0), zu_all=(9, 9, 0, 0)),
    "suites-large": record("suites-small", story_cloze=(300, 300, 0, 0), N_all=(100, 96, 7, 1), N_context=(100, 52, 5, 3), connective_as_causal_as_since=(25, 8, 1, 0), zu_all=(9, 3, 0, 6)),
}  # fmt: skip


def at(table, row, column):
    return next(cell for cell in table.cells if (cell.row, cell.column) == (row, column))


def test_a_cell_has_wilsons_interval_and_mcnemars_test():
    cell = at(beyer2021.table_1(scores=SCORES, expected=EXPECTED), "large", "N_all")
    interval = binomtest(96, 100).proportion_ci(method="wilson")
    assert (cell.value, cell.units) == (0.96, 100)
    assert (cell.low, cell.high) == pytest.approx((interval.low, interval.high))
    assert cell.p_value == pytest.approx(binomtest(7, 8).pvalue)


def test_printed_rows_stand_beneath_and_beside_only_when_the_row_says_so():
    table = beyer2021.table_1(scores=SCORES, expected=EXPECTED)
    assert at(table, "large", "N_all").printed is None
    assert at(table, "GPT-2 117M (printed)", "D_all").printed == 0.96
    mapped = beyer2021.table_1(scores=SCORES, expected=EXPECTED, published={"large": "gpt2"})
    assert at(mapped, "large", "N_context").printed == 0.5
    assert at(mapped, "large", "N_context").verdict == "within interval"
    assert not any(cell.row.startswith("GPT-2") for cell in mapped.cells)


def test_a_suite_that_the_run_lacks_is_an_empty_cell_with_its_reason():
    cell = at(beyer2021.table_1(scores=SCORES, expected=EXPECTED), "small", "D_all")
    assert (cell.value, cell.why) == (None, "no such suite in this run")


def test_connectives_are_rows_of_senses_and_columns_of_replacements():
    table = beyer2021.table_4(scores=SCORES, expected=EXPECTED, published={"small": "gpt2"})
    cell = at(table, "as_causal", "small: since")
    assert (cell.value, cell.printed, cell.units) == (7 / 25, 0.28, 25)
    assert cell.verdict == "equal"
    assert any("fewer than 30 items in 1 of 1 rows" in note for note in table.notes)


def test_notes_say_which_systems_are_above_chance_and_what_is_compared():
    notes = beyer2021.table_1(scores=SCORES, expected=EXPECTED).notes
    assert "small: above chance (interval over 0.5) in N_all, zu_all" in notes
    assert "large: above chance (interval over 0.5) in N_all, story_cloze" in notes
    assert any("large: suites-small" in note for note in notes)


def test_other_suites_are_those_that_the_paper_has_not():
    table = beyer2021.other_suites(scores=SCORES, expected=EXPECTED)
    assert {cell.column for cell in table.cells} == {"zu_all"}


def test_the_sweep_pools_all_connectives():
    figure = beyer2021.size_sweep(scores=SCORES, expected=EXPECTED)
    assert {cell.column for cell in figure.cells} == {"N_all", "N_context", "connectives", "story_cloze", "zu_all"}


def test_figures_and_tables_can_be_drawn(tmp_path):
    sheets = [
        beyer2021.size_sweep(scores=SCORES, expected=EXPECTED),
        beyer2021.region_surprisal(scores=SCORES, expected=EXPECTED, suites=["N_all", "zu_all"]),
        *(getattr(beyer2021, f"table_{i}")(scores=SCORES, expected=EXPECTED) for i in range(1, 6)),
    ]
    for place, sheet in enumerate(sheets):
        sheet.save(tmp_path, f"sheet_{place}")
        assert (tmp_path / f"sheet_{place}.csv").read_text(encoding="utf-8").count("\n") > 1


def test_the_expected_file_holds_every_printed_number():
    rows = EXPECTED["table_4"]["rows"]
    assert len(rows) == 22
    for name, row in rows.items():
        connective = name.split("_")[0]
        missing = EXPECTED["table_4"]["columns"].index(connective)
        for model in ("gpt2", "dialogpt"):
            assert [i for i, value in enumerate(row[model]) if value is None] == [missing], name
    values = [value for row in rows.values() for value in row["gpt2"] if value is not None]
    assert min(values) == EXPECTED["text_claims"]["lowest_score"]
    temporal = [v for name, row in rows.items() if name.endswith("_temporal") for v in row["gpt2"] if v is not None]
    assert np.mean(temporal) == pytest.approx(EXPECTED["text_claims"]["temporal_senses_average_gpt2"], abs=0.02)
