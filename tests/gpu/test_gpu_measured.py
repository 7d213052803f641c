"""What one H100 measured: the committed files agree with each other."""

import csv
import json
from pathlib import Path

import pytest

from longform.results import read_results

FOLDER = Path(__file__).parents[2] / "experiments/gpu/measured"
CALLS = json.loads((FOLDER / "calls.json").read_text(encoding="utf-8"))["calls"]
RECORDS = read_results(FOLDER / "records.json")
CURVES = list(csv.DictReader((FOLDER / "curves.csv").open(encoding="utf-8")))
MOST = 300_000  # bytes of the folder
WITHOUT_RECORDS = [("transformer", "30000")]  # the call was cut off before it wrote them


def rows(*calls):
    """Rows of the reports of these calls, all where none is named."""
    return [
        row
        for call in CALLS
        if not calls or call["call"] in calls
        for process in call["processes"]
        for row in process["report"]["measured"]
    ]


def row(part, *calls):
    """The one row of that name."""
    (only,) = [one for one in rows(*calls) if one["part"] == part]
    return only


def record(system, update, metric, variant=""):
    return RECORDS.one(system=system, task=f"update {update}", metric=metric, variant=variant)


def test_the_folder_is_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST


def test_curves_and_reports_have_the_values_of_the_records():
    measured = [curve for curve in CURVES if curve["word_ppl"]]
    assert len(measured) == 7
    for curve in measured:
        name, update = curve["run"], curve["update"]
        reported = row(f"measure {name}, seed 1: update {update}")
        for column in ("word_ppl", "latent_ppl", "latent_ppl_strict"):
            reported_value = reported[column]
            if curve[column]:
                assert reported_value == pytest.approx(float(curve[column]), rel=1e-9)
            else:
                assert reported_value is None  # no sample that the rule can read
            if (name, update) not in WITHOUT_RECORDS:
                metric, variant = (
                    column.removesuffix("_strict"),
                    "strict" if column.endswith("strict") else "",
                )
                assert record(name, update, metric, variant).value == reported_value


def test_curves_have_the_losses_of_the_reports():
    for curve in CURVES:
        reported = row(f"train {curve['run']}, seed 1: update {curve['update']}")
        for column in ("loss", "validation_loss", "seconds"):
            assert float(curve[column]) == pytest.approx(reported[column], rel=1e-9)
