"""Every table and figure is drawn from score records, keeps the printed numbers beside ours, and saves its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from longform.papers import sheng2024

ROOT = Path(__file__).parents[2]
EXPECTED = yaml.safe_load((ROOT / "experiments/sheng2024/expected.yaml").read_text(encoding="utf-8"))


def record(value: float, **details) -> dict:
    totals = {"pairs": 120.0, "wins": 120 * value, "negative": 1.0}
    spread = {"low": value - 0.02, "high": value + 0.02}
    return {
        "value": value,
        **spread,
        "units": 12,
        "excluded": 1,
        "signature": "S()",
        "totals": totals,
        "details": details,
    }


def discrimination(columns) -> dict:
    kinds = {"": 0.80, "-clf": 0.95, "-joint": 0.97}
    return {f"gpt2-{column}{kind}": record(value) for column in columns for kind, value in kinds.items()}


def test_printed_sums_of_the_joint_local_sets_hold():
    block = EXPECTED["table_1"]
    place = block["columns"].index
    for split in ("train", "test"):
        assert sum(block[split][place(w)] for w in ("w1", "w2", "w3")) == block[split][place("w123")]


@pytest.mark.parametrize("name", ["table_2", "table_3"])
def test_accuracies_stand_beside_the_printed_ones_in_percent(name):
    columns = EXPECTED[name]["columns"]
    table = getattr(sheng2024, name)(scores=discrimination(columns), expected=EXPECTED)
    at = {(c.row, c.column): c for c in table.cells}
    cell = at["gpt2: BBScore", columns[0]]
    assert cell.value == pytest.approx(80.0) and cell.printed == EXPECTED[name]["bbscore"]["test"][0]
    assert at["gpt2: joint density", columns[0]].printed is None
    assert any("ordering holds" in note for note in table.notes)
    assert any("negative sum" in note for note in table.notes)


def test_counts_come_from_the_totals():
    table = sheng2024.table_1(scores=discrimination(("b1",)), expected=EXPECTED)
    assert table.cells[0].value == 120 and table.cells[0].printed == 8600


def curve() -> dict:
    return {"false_positive": [0.0, 0.5, 1.0], "true_positive": [0.0, 0.8, 1.0]}


def sheets() -> dict:
    sweep = {"sigma2": [0.1, 1.0, 10.0], "auc": [0.6, 0.8, 0.7], "accuracy": [0.9, 0.9, 0.9]}
    rng = np.random.default_rng(0)
    path = {"mean": np.linspace(0, 1, 100).tolist(), "spread": [0.1] * 100}
    profiles = {
        f"{name}-profile": record(
            level, train=rng.normal(level, 1, 30).tolist(), test=rng.normal(level, 1, 30).tolist(), trajectory=path
        )
        for name, level in (("human", 1.0), ("greedy", 4.0))
    }
    pairs = {f"greedy-pairs{kind}": record(0.7, auc=0.65, roc=curve()) for kind in ("", "-clf", "-joint", "-matched")}
    auc = {"gpt2-auc_b1": record(0.8, roc=curve(), sweep=sweep, sigma2=0.5)}
    return {
        "table_1": discrimination(("b1", "w123")),
        "table_2": discrimination(("b1", "b10")),
        "table_3": discrimination(("w123",)),
        "table_4": pairs,
        "table_5": {"greedy-general": record(0.75)},
        "table_6": {"planted-rated": record(0.6, majority=0.4, classes={"1": 3})},
        "figure_4": auc,
        "figure_5": {"greedy-pairs": pairs["greedy-pairs"]},
        "figure_6": profiles,
        "figure_7": profiles,
        "figure_9": auc,
    }


@pytest.mark.parametrize("name", sorted(sheets()))
def test_each_sheet_is_saved_with_its_numbers(name, tmp_path):
    make = getattr(sheng2024, name)
    given = {"scores": sheets()[name], "expected": EXPECTED}
    sheet = make(**{key: given[key] for key in make.__annotations__ if key in given})
    sheet.save(tmp_path, name)
    assert (tmp_path / f"{name}.csv").read_text(encoding="utf-8").count("\n") == len(sheet.cells) + 1
    assert (tmp_path / f"{name}.md").is_file()
    assert (tmp_path / f"{name}.png").is_file() == name.startswith("figure")


def test_sources_in_their_own_top_two_are_counted():
    assert "2 of 2 sources" in sheng2024.figure_6(scores=sheets()["figure_6"], expected=EXPECTED).caption
    table = sheng2024.table_6(scores=sheets()["table_6"], expected=EXPECTED)
    assert {c.row: c.value for c in table.cells if c.column == "planted"} == {
        "BBScore + CLF": 60.0,
        "majority class": 40.0,
    }
