"""Every table and figure is drawn from score records, keeps the printed numbers beside ours, and saves its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from longform.reporting import sheng2024, sheng2024_sources

ROOT = Path(__file__).parents[2]
EXPECTED = yaml.safe_load((ROOT / "experiments/sheng2024/expected.yaml").read_text(encoding="utf-8"))


def record(value: float, **more) -> dict:
    totals = {"pairs": 120.0, "wins": 120 * value, "negative": 1.0}
    spread = {"low": value - 0.02, "high": value + 0.02}
    return {"value": value, **spread, "units": 12, "excluded": 1, "signature": "S()", "totals": totals, **more}


def suite(cells: dict, tests=()) -> dict:
    return {"details": {"cells": cells, "tests": list(tests)}}


def shuffles() -> dict:
    heads = {"heads": {"paper_0": record(0.7), "paper_1": record(0.9)}, "spread": 0.141}
    tasks = sheng2024.GLOBAL + sheng2024.LOCAL
    cells = {f"{task}-bbscore": record(0.8, **heads) for task in tasks}
    cells |= {f"{task}-three_layer": record(0.95) for task in tasks} | {f"{task}-joint": record(0.97) for task in tasks}
    tests = [{"low": f"{t}-bbscore", "high": f"{t}-three_layer", "difference": 0.15, "p_value": 0.001} for t in tasks]
    return {"gpt2-shuffles": suite(cells, tests)}


def curve() -> dict:
    return {"false_positive": [0.0, 0.5, 1.0], "true_positive": [0.0, 0.8, 1.0]}


def areas() -> dict:
    sweep = {"sigma2": [0.1, 1.0, 10.0], "auc": [0.6, 0.8, 0.7], "accuracy": [0.9, 0.9, 0.9]}
    details = {"roc": curve(), "sweep": sweep, "sigma2": 0.5}
    return {"gpt2-shuffles": suite({f"auc_{b}": record(v, details=details) for b, v in (("b1", 0.75), ("b10", 0.6))})}


def sources() -> dict:
    judges = ("bbscore", "three_layer", "joint", "matched", "general_three_layer")
    cells = {f"greedy-{judge}": record(0.7, comparison={"p_value": 0.02}) for judge in judges}
    cells["greedy-area"] = record(0.65, details={"roc": curve()})
    tests = [{"low": "greedy-bbscore", "high": "greedy-three_layer", "difference": 0.0, "p_value": 1.0}]
    return {"sides-tasks": suite(cells, tests), "sides-ranking": suite({"greedy-grid_ranking": record(0.4)})}


def profiles() -> dict:
    flat, steep = ({"mean": np.linspace(0, top, 100).tolist(), "spread": [0.1] * 100} for top in (0.1, 1.0))
    paths = {"human": steep, "shuffled": flat, "greedy": steep}
    return {"sides-profiles": suite({name: record(1.0, details={"trajectory": p}) for name, p in paths.items()})}


def detection() -> dict:
    found = {
        "sources": ["human", "greedy"],
        "distances": [[0.1, 0.5], [0.4, 0.2]],
        "scaled": [[1.0, 2.0], [2.0, 1.0]],
        "bounds": [[[0.0, 0.2], [0.4, 0.6]], [[0.3, 0.5], [0.1, 0.3]]],
    }
    return {"sides-detection": record(1.0, details=found)}


def rated() -> dict:
    details = {"majority": 0.4, "against_majority": {"p_value": 0.01}, "classes": {"1": 3}}
    return {"planted-rated": record(0.6, details=details), "planted-rated-length": record(0.35, details=details)}


def test_printed_sums_of_the_joint_local_sets_hold():
    block = EXPECTED["table_1"]
    place = block["columns"].index
    for split in ("train", "test"):
        assert sum(block[split][place(w)] for w in ("w1", "w2", "w3")) == block[split][place("w123")]


@pytest.mark.parametrize("name", ["table_2", "table_3"])
def test_accuracies_stand_beside_the_printed_ones_in_percent(name):
    columns = EXPECTED[name]["columns"]
    table = getattr(sheng2024, name)(scores=shuffles(), expected=EXPECTED)
    at = {(c.row, c.column): c for c in table.cells}
    cell = at["gpt2: BBScore", columns[0]]
    assert cell.value == pytest.approx(80.0) and cell.printed == EXPECTED[name]["bbscore"]["test"][0]
    assert at["gpt2: joint density", columns[0]].printed is None
    assert any("ordering holds" in note and "p = 0.001" in note for note in table.notes)
    assert any("negative sum" in note for note in table.notes) and any("14.1" in note for note in table.notes)


def test_single_heads_are_in_the_csv_and_not_in_the_wide_table(tmp_path):
    table = sheng2024.table_2(scores=shuffles(), expected=EXPECTED)
    table.save(tmp_path, "table_2")
    row = "gpt2: BBScore, head paper_1"
    assert {c.value for c in table.cells if c.row == row} == {90.0}
    assert row in (tmp_path / "table_2.csv").read_text(encoding="utf-8")
    assert ", head " not in (tmp_path / "table_2.md").read_text(encoding="utf-8")


def test_counts_come_from_the_totals():
    table = sheng2024.table_1(scores=shuffles(), expected=EXPECTED)
    assert table.cells[0].value == 120 and table.cells[0].printed == 8600 and len(table.cells) == 8


def lengths() -> dict:
    heads = {"heads": {"paper_0": record(0.4)}, "spread": 0.1}
    return {"gpt2-length": suite({"length-bbscore": record(0.5, **heads), "length-joint": record(-0.1)})}


SHEETS = {
    "length": lengths(),
    "table_1": shuffles(),
    "table_2": shuffles(),
    "table_3": shuffles(),
    "figure_4": areas(),
    "figure_9": areas(),
    "table_4": sources(),
    "table_5": sources(),
    "figure_5": sources(),
    "figure_6": detection(),
    "figure_7": profiles(),
    "table_6": rated(),
}


@pytest.mark.parametrize("name", sorted(SHEETS))
def test_each_sheet_is_saved_with_its_numbers(name, tmp_path):
    make = getattr(sheng2024, name, None) or getattr(sheng2024_sources, name)
    given = {"scores": SHEETS[name], "expected": EXPECTED}
    sheet = make(**{key: given[key] for key in make.__annotations__ if key in given})
    sheet.save(tmp_path, name)
    assert (tmp_path / f"{name}.csv").read_text(encoding="utf-8").count("\n") == len(sheet.cells) + 1
    assert (tmp_path / f"{name}.md").is_file()
    assert (tmp_path / f"{name}.png").is_file() == name.startswith("figure")


def test_claims_about_sources_come_out_either_way():
    assert "2 of 2 sources" in sheng2024_sources.figure_6(scores=detection(), expected=EXPECTED).caption
    assert "ordering holds" in sheng2024_sources.figure_7(scores=profiles()).caption
    notes = sheng2024_sources.table_4(scores=sources(), expected=EXPECTED).notes
    assert any("lower BBScore in most pairs: ordering holds" in n and "p = 0.02" in n for n in notes)
    assert any("BBScore < BBScore + CLF: differs" in note for note in notes)
    table = sheng2024_sources.table_6(scores=rated(), expected=EXPECTED)
    values = {c.row: c.value for c in table.cells if c.column == "planted"}
    assert values == {"BBScore + CLF": 60.0, "majority class": 40.0, "length alone": 35.0}
