"""Scores and printed values -> ``paper_figures/<paper>/<table or figure>/``."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from longform.artefacts import read_json, whole
from longform.stages.rows import Row, call
from longform.units import BadInput

EXPECTED = Path("experiments")


def run(row: Row) -> None:
    """Call ``papers.<code>.<table>`` on the paper's scores and save what it returns."""
    paper = row.settings["paper"]
    module = row.module("papers")
    draw = getattr(module, row.settings["table"], None)
    if draw is None:
        raise BadInput(f"row report.{row.name}: {module.__name__} has no {row.settings['table']!r}; mend the row")
    scores = {name: read_json(row.data / "scores" / paper / f"{name}.json") for name in row.settings["rows"]}
    expected = yaml.safe_load((EXPECTED / paper / "expected.yaml").read_text(encoding="utf-8"))
    sheet = call(draw, row, row.others("paper", "table", "rows"), scores=scores, expected=expected, data=row.data)
    with whole(row.home / "paper_figures" / paper / row.settings["table"]) as folder:
        os.mkdir(folder)
        sheet.save(folder, row.settings["table"])
