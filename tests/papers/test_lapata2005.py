"""Tables: what stands in which cell, what is said to be lost, and rows that do not fit together."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from longform.numerics import generator
from longform.papers.lapata2005 import accidents, correlations, regression, sheng2024_rows, shuffles
from longform.units import BadInput

EXPECTED = yaml.safe_load((Path(__file__).parents[2] / "experiments/lapata2005/expected.yaml").read_text())


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr("longform.papers.lapata2005.RESAMPLES", 40)


def rating_rows():
    rng = generator("papers", "lapata2005")
    truth = rng.normal(size=60)
    marks = (truth[:, None] + rng.normal(size=(60, 5))).tolist()
    values = {"transitions": truth + 0.5 * rng.normal(size=60), "jiang_conrath": -truth, "overlap": rng.normal(size=60)}
    common = {"unit_ids": [f"u{i}" for i in range(60)], "marks": marks, "clusters": [str(i // 6) for i in range(60)]}
    return {f"s-ratings-{name}": {"details": {**common, "values": v.tolist()}} for name, v in values.items()}


def cells(table):
    return {(c.row, c.column): c for c in table.cells}


def test_correlations_show_people_and_the_lower_triangle():
    rows = rating_rows()
    found = cells(correlations(scores=rows, expected=EXPECTED))
    assert set(found) == {
        ("Egrid", "Humans"), ("JCon", "Humans"), ("Overlap", "Humans"),
        ("JCon", "Egrid"), ("Overlap", "Egrid"), ("Overlap", "JCon"),
    }  # fmt: skip
    assert found["JCon", "Humans"].value < -0.7 < 0.7 < found["Egrid", "Humans"].value
    assert found["Egrid", "Humans"].verdict == "lost" and found["Egrid", "Humans"].printed is None


def test_its_notes_give_agreement_and_williams_tests():
    notes = correlations(scores=rating_rows(), expected=EXPECTED).notes
    assert "over 5 raters" in notes[0] and "0.768 in a sibling paper" in notes[0]
    assert any("JCon against Overlap" in note for note in notes)


def test_regression_keeps_what_explains_the_marks_and_is_judged_held_out():
    table = regression(scores=rating_rows(), expected=EXPECTED)
    assert cells(table)["combined", "held-out correlation"].value > 0.6
    assert any("JCon" in note for note in table.notes)


def test_rows_about_different_texts_are_refused():
    rows = rating_rows()
    rows["s-ratings-overlap"]["details"]["unit_ids"] = ["other"] * 60
    with pytest.raises(BadInput, match="different texts"):
        correlations(scores=rows, expected=EXPECTED)
    with pytest.raises(BadInput, match="no score row"):
        regression(scores={"s-shuffles-overlap": {}}, expected=EXPECTED)


def task(value, ties=0.0):
    return {"value": value, "low": value, "high": value, "units": 9, "pairs": 100, "ties": ties, "above_mean": 1.0}


def test_shuffles_has_a_row_a_scorer_and_names_ties():
    rows = {"r-shuffles-overlap": {"details": {"tasks": {"block_1": task(0.9), "window_2": task(0.5, 40)}}}}
    table = shuffles(scores=rows, expected=EXPECTED)
    assert cells(table)["r: Overlap", "2 windows of 3"].value == 0.5
    assert any("40% of the pairs tie" in note for note in table.notes)


def test_sheng2024_rows_stand_beside_the_printed_ones():
    rows = {"c-shuffles-ranking": {"details": {"tasks": {"block_2": task(0.8), "window_3": task(0.6)}}}}
    found = list(cells(sheng2024_rows(scores=rows, expected=EXPECTED)).values())
    assert [(c.value, c.printed, c.verdict) for c in found] == [
        (pytest.approx(80), 82.79, "not comparable"), (pytest.approx(60), 66.67, "not comparable"),
    ]  # fmt: skip


def test_accidents_cite_the_number_only_for_the_ranking_model():
    record = {"value": 0.9, "low": 0.8, "high": 0.95, "units": 100, "totals": {"empty": 4.0}}
    rows = {"accidents-orders-ranking": record, "accidents-orders-transitions": record}
    found = cells(accidents(scores=rows, expected=EXPECTED))
    assert found["ranking", "accuracy"].printed == pytest.approx(0.904)
    assert found["transitions", "accuracy"].printed is None


def test_no_magnitude_of_the_paper_is_filled_in():
    assert all(row["magnitudes"] is None for row in EXPECTED["table_correlations"].values())
    assert EXPECTED["regression"] == {"procedure": None, "predictors": None, "correlation": None}
    assert np.isclose(EXPECTED["human_study"]["inter_subject_agreement_r"]["sibling"], 0.768)
