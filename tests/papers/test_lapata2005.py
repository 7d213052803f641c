"""Tables: what stands in which cell, what is said to be lost, and rows that do not fit together."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from longform.documents import BadInput
from longform.reporting.lapata2005 import correlations, regression
from longform.reporting.lapata2005_orders import accidents, matrix
from longform.resampling import generator

EXPECTED = yaml.safe_load((Path(__file__).parents[2] / "experiments/lapata2005/expected.yaml").read_text())


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr("longform.reporting.lapata2005.RESAMPLES", 40)


def rating_rows():
    rng = generator("papers", "lapata2005")
    truth = rng.normal(size=60)
    marks = (truth[:, None] + rng.normal(size=(60, 5))).tolist()
    values = {"transitions": truth + 0.5 * rng.normal(size=60), "jiang_conrath": -truth, "overlap": rng.normal(size=60)}
    shared = {"unit_ids": [f"u{i}" for i in range(60)], "marks": marks, "clusters": [str(i // 6) for i in range(60)]}
    models = {name: {"values": v.tolist()} for name, v in values.items()}
    grids = {"transitions": models.pop("transitions")}
    return {
        "s-ratings-grids": {"details": {"shared": {**shared, **grids["transitions"]}, "models": {"transitions": {}}}},
        "s-ratings-lexical": {"details": {"shared": shared, "models": models}},
    }


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "corpora" / "planted"
    folder.mkdir(parents=True)
    rng = generator("raters")
    truth = rng.normal(size=300)
    np.savez(folder / "truth.npz", raw_marks=truth[:, None] + rng.normal(size=(300, 5)))
    (folder / "facts.json").write_text(json.dumps({"rater_agreement": 1 / np.sqrt(2 * 1.25)}))
    other = tmp_path / "corpora" / "found"
    other.mkdir()
    (other / "facts.json").write_text("{}")
    return tmp_path


def cells(table):
    return {(c.row, c.column): c for c in table.cells}


def shown(data, rows=None, corpus="found"):
    return correlations(scores=rows or rating_rows(), expected=EXPECTED, data=data, corpus=corpus)


def test_correlations_show_people_and_the_lower_triangle(data):
    found = cells(shown(data))
    assert set(found) == {
        ("Egrid", "Humans"), ("JCon", "Humans"), ("Overlap", "Humans"), ("agreement of people", "Humans"),
        ("Overlap", "Egrid"), ("JCon", "Egrid"), ("JCon", "Overlap"),
    }  # fmt: skip
    assert found["JCon", "Humans"].value < -0.7 < 0.7 < found["Egrid", "Humans"].value
    assert found["Egrid", "Humans"].verdict == "lost" and found["Egrid", "Humans"].printed is None


def test_its_notes_give_agreement_claims_and_williams_tests(data):
    notes = shown(data).notes
    assert "over 5 raters" in notes[0] and "0.768 in a sibling paper" in notes[0]
    assert any(note.startswith("negative with people: JCon: ") for note in notes)
    assert any("highest absolute correlation with people: HStO: differs (here JCon)" in note for note in notes)
    assert any("JCon against Overlap" in note for note in notes)


def test_planted_agreement_is_told_where_raters_were_planted(data):
    assert not any("was planted" in note for note in shown(data).notes)
    note = next(note for note in shown(data, corpus="planted").notes if "was planted" in note)
    assert "within interval" in note and "closed form 0.632" in note


def test_regression_keeps_what_explains_the_marks_and_is_judged_held_out():
    table = regression(scores=rating_rows(), expected=EXPECTED)
    combined = cells(table)["combined", "held-out correlation"]
    assert combined.value > 0.6 and combined.low <= combined.value <= combined.high
    assert any("JCon" in note for note in table.notes)
    assert any(row.startswith("best single model") for row, _ in cells(table))


def test_models_outside_the_paper_are_shown_and_not_offered_to_the_regression(data):
    rows = rating_rows()
    rows["s-ratings-lexical"]["details"]["models"]["ranking"] = rows["s-ratings-lexical"]["details"]["models"].pop(
        "jiang_conrath"
    )
    assert ("ranking grid", "Humans") in cells(shown(data, rows))
    assert not any("ranking" in row for row, _ in cells(regression(scores=rows, expected=EXPECTED)))


def test_rows_about_different_texts_are_refused(data):
    rows = rating_rows()
    rows["s-ratings-lexical"]["details"]["shared"]["unit_ids"] = ["other"] * 60
    with pytest.raises(BadInput, match="different texts"):
        shown(data, rows)
    with pytest.raises(BadInput, match="no score row"):
        regression(scores={"s-shuffles-overlap": {}}, expected=EXPECTED)


def task(value, ties=0.0, p_value=0.5):
    made = {"value": value, "low": value, "high": value, "units": 9, "excluded": 0, "above_mean": 1.0}
    return {**made, "pairs": 100, "ties": ties, "p_value": p_value}


def task_rows(**models):
    return {"details": {"shared": {}, "models": {name: {"tasks": tasks} for name, tasks in models.items()}}}


def test_the_matrix_has_a_row_a_scorer_and_names_ties():
    rows = {
        "r-shuffles-lexical": task_rows(overlap={"window_2": task(0.5, 40), "block_1": task(0.9)}),
        "w-orders-pairs-topics": task_rows(topics={"block_1": task(0.0, 100)}),
        "w-orders-pairs-words": task_rows(likelihood={"block_1": task(0.3, 0, 0.001)}),
    }
    table = matrix(scores=rows, expected=EXPECTED)
    found = cells(table)
    assert found["r: Overlap", "2 windows of 3"].value == 0.5
    assert found["w-orders: topic proportions", "blocks of 1"].value is None
    assert any("ties of r: Overlap: 2 windows of 3 40%" in note for note in table.notes)
    assert any("prefers the shuffles, w-orders: LM log-probability" in note for note in table.notes)
    with pytest.raises(BadInput, match="no score row"):
        matrix(scores={"r-ratings-x": {}}, expected=EXPECTED)


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
