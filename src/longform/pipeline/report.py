"""Scores and printed values -> ``paper_figures/<paper>/<table or figure>/``."""

from __future__ import annotations

import os

from longform.artefacts import read_json, read_yaml, whole
from longform.pipeline.rows import EXPERIMENTS, Row, call


def run(row: Row) -> None:
    """Call ``papers.<code>.<table>`` on the paper's scores and save what it returns."""
    row.require("table", "rows", "code")
    paper = row.paper
    draw = row.function(row.settings["table"])
    scores = {name: read_json(row.data / "scores" / paper / f"{name}.json") for name in row.settings["rows"]}
    expected = read_yaml(EXPERIMENTS / paper / "expected.yaml")
    sheet = call(draw, row, row.others("paper", "table", "rows"), scores=scores, expected=expected, data=row.data)
    with whole(row.home / "paper_figures" / paper / row.settings["table"]) as folder:
        os.mkdir(folder)
        sheet.save(folder, row.settings["table"])
