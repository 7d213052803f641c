"""The tables and figures of massarelli2020 from scores made by hand."""

import csv
import json
from pathlib import Path

import pytest
import yaml

from longform.documents import BadInput
from longform.evaluation.decoder_tables import MEASURES
from longform.reporting import massarelli2020 as tables
from longform.reporting import massarelli2020_figures as figures
from longform.reporting.massarelli2020_people import CHOICES, read_answers, table_2
from longform.reporting.orderings import ordering
from longform.study.items import CLAIM_LABELS

EXPECTED = yaml.safe_load((Path(__file__).parents[2] / "experiments/massarelli2020/expected.yaml").read_text())
PRINTED = dict(zip(EXPECTED["table_1"], EXPECTED["table_1"].values(), strict=True))


def measures(uspg=0.1, **over):
    values = dict.fromkeys(MEASURES, 0.5) | {"USPG": uspg} | over
    return {k: {"value": v, "low": None if v is None else v - 0.01, "high": None if v is None else v + 0.01, "units": 9,
                "excluded": 0, "signature": "x"} for k, v in values.items()}  # fmt: skip


def record(settings, **details):
    return {"value": 0.1, "details": {"settings": settings, **details}}


def as_printed():
    """A test run with the paper's own numbers."""
    made = {}
    for name, row in PRINTED.items():
        if name != "columns":
            shares = [row[0], *(value / 100 for value in row[1:])]
            made[name] = measures(**dict(zip(PRINTED["columns"], shares, strict=True)))
    made["human"] = made.pop("human_wikipedia")
    return made


SWEEP = {"top_k_10": measures(0.3), "top_k_2": measures(0.3), "greedy": measures(0.2), "beam_15": measures(0.1),
         "beam_6": measures(0.4), "delayed_100_6_1": measures(0.2), "delayed_100_6_20": measures(0.1), "delayed_5_6_1": measures(0.2),
         "beam_blocked_15_3": measures(0.1), "beam_blocked_15_20": measures(0.2), "top_p_10": measures(0.1), "top_p_04": measures(0.2)}  # fmt: skip


def test_the_papers_own_numbers_hold_every_printed_ordering():
    table = tables.table_1(scores={"verifiability-test-table": record(as_printed())}, expected=EXPECTED)
    orders = [note for note in table.notes if "as printed" in note]
    assert len(orders) == 5 and all("ordering holds" in note for note in orders)
    by_name = {(c.row, c.column): c for c in table.cells}
    assert by_name["beam", "SPG"].value == pytest.approx(25.50) == by_name["beam", "SPG"].printed
    assert by_name["human", "proportion_4grams"].printed == 100 and by_name["beam", "planted SPG"].value == 50
    assert next(iter(by_name))[0] == "human"
    claims = [note for note in table.notes if "holds" in note or "differs" in note]
    assert sum("differs" in note for note in claims) == 0


def test_a_swapped_pair_is_told():
    run = as_printed()
    run["beam"], run["top_k"] = run["top_k"], run["beam"]
    notes = tables.table_1(scores={"verifiability-test-table": record(run)}, expected=EXPECTED).notes
    assert any("SPG, highest first as printed: differs" in note for note in notes)
    assert any(note.startswith("beam search has the most support") and "differs" in note for note in notes)


def test_scores_that_are_no_numbers_decide_nothing():
    run = as_printed()
    run["beam"]["USPV"] = {"value": None, "low": None, "high": None}
    notes = tables.table_1(scores={"verifiability-test-table": record(run)}, expected=EXPECTED).notes
    assert sum("not runnable here" in note for note in notes) == 2


def test_ties_in_print_may_stand_either_way():
    records = {name: {"value": v, "low": v, "high": v} for name, v in {"a": 3.0, "b": 1.0, "c": 2.0}.items()}
    assert "ordering holds" in ordering("x", ["a", ["b", "c"]], records)
    assert "2 of 3 pairs" in ordering("x", ["a", "b", "c"], records)


def test_validation_chooses_the_highest_uspg_and_of_equals_the_smaller_setting():
    found = tables.chosen(tables.settings({"verifiability-sweep-table": record(SWEEP)}, "sweep"))
    assert found["top_k"] == "top_k_2" and found["beam"] == "beam_6" and found["beam_blocked"] == "beam_blocked_15_20"
    assert found["delayed_beam"] == "delayed_5_6_1"
    scores = {"verifiability-sweep-table": record(SWEEP), "verifiability-test-table": record(as_printed())}
    scores["verifiability-grid-table"] = record({**SWEEP, "beam_6": measures(0.6)})
    made = tables.table_1(scores=scores, expected=EXPECTED)
    assert "beam: validation chooses beam_6, where the paper has beam_15" in made.notes
    assert "top_k: validation chooses top_k_2, the paper's own setting" in made.notes
    found = {(c.row, c.column): c.value for c in made.cells}
    assert found["small model, chosen: beam_6", "USPG"] == pytest.approx(60)
    table = tables.table_3(scores={"verifiability-sweep-table": record(SWEEP)}, expected=EXPECTED)
    assert {c.row for c in table.cells if "chosen" in c.row} >= {"top_k_2 (chosen) (the paper's)", "beam_6 (chosen)"}


def test_printed_cells_of_table_4_meet_their_decoders():
    table = tables.table_4(scores={"verifiability-sweep-table": record(SWEEP)}, expected=EXPECTED)
    printed = {c.row: c.printed for c in table.cells if c.column == "tfidf"}
    assert printed["top_p_10"] == 162.95 and printed["beam_6"] == 510.17 and printed["beam_blocked_15_3"] is None
    assert printed["delayed_100_6_1"] == 399.91 and printed["top_k_10"] == 246.18
    holes = {**SWEEP, "greedy": measures(link_grammar_percent=None)}
    only = {"greedy": holes["greedy"]}
    assert any(
        "not installed" in n
        for n in tables.table_4(scores={"verifiability-sweep-table": record(only)}, expected=EXPECTED).notes
    )


def test_the_checker_table_has_accuracy_and_corrected_support():
    one = {"value": 0.9, "low": 0.8, "high": 1.0, "units": 5, "excluded": 0, "signature": "c"}
    labels = ("supported", "refuted", "not_enough_info")
    details = {"accuracy": one, "evidence retrieved": 0.5, "majority": 0.4}
    details |= {f"{kind} of {label}": one for kind in ("precision", "recall") for label in labels}
    corrected = {"beam": {"given": 0.2, "value": 0.3, "low": 0.2, "high": 0.4, "true": 0.25, "units": 9}}
    scores = {
        "verifiability-claims-accuracy": {"details": details},
        "verifiability-test-corrected_by_claims": {"details": corrected},
    }
    made = {(c.row, c.column): c for c in tables.checker(scores=scores, expected=EXPECTED).cells}
    assert made["checker on claims", "recall of refuted"].printed == 5.78
    assert (
        made["beam", "SPG corrected by claims"].value == pytest.approx(30) and made["beam", "planted SPG"].value == 25
    )


@pytest.mark.parametrize("name", ["figure_2", "figure_3", "figure_5", "trade_off"])
def test_figures_are_drawn_with_their_numbers(name, tmp_path):
    small = {"top_k": measures(0.05), "beam": measures(0.3, USPV=None)}
    scores = {f"verifiability-{run}-table": record(small) for run in ("web-small", "books-small", "news-large")}
    scores["verifiability-sweep-table"] = record(SWEEP)
    figure = getattr(figures, name)(scores=scores)
    figure.save(tmp_path, name)
    assert (tmp_path / f"{name}.pdf").stat().st_size > 1000 and len(figure.cells) > 3
    if name == "figure_3":
        assert [c.value for c in figure.cells if c.row == "delay length L 20" and c.column == "SPG"] == [50]


def test_the_correlation_figure_reads_signs(tmp_path):
    one = {"value": 0.2, "low": 0.1, "high": 0.3, "units": 9, "excluded": 0}
    found = {"nats-verified": one, "tfidf-supported": {**one, "value": -0.2}, "linked-verified": {**one, "value": None}}
    figure = figures.figure_4(scores={"verifiability-test-table": record({}, correlations=found)})
    figure.save(tmp_path, "figure_4")
    assert "verified (holds here)" in figure.caption and "supported (differs here)" in figure.caption


def test_the_study_sheet_is_saved_without_its_key_and_answers_come_back(tmp_path):
    key = {"decoder": "beam", "page": "p", "generation": "g", "sentence": 0}
    items = [{"item": "s0", "before": "Z.", "claim": 'A, "b".', "evidence": "P: A.", "key": key}]
    scores = {"row": {"details": {"items": items, "exact_repeats": {"beam": 0.5}, "prefixes": 1}}}
    sheet = table_2(scores=scores, expected=EXPECTED, data=tmp_path)
    sheet.save(tmp_path, "table_2")
    (row,) = csv.DictReader((tmp_path / "sheet.csv").open())
    assert row["claim"] == 'A, "b".' and "beam" not in (tmp_path / "sheet.csv").read_text()
    shown = json.loads((tmp_path / "sheet.jsonl").read_text())
    assert shown == {"item_id": "s0", "claim": 'A, "b".', "evidence": "P: A. Said before: Z."}
    assert {c.column: c.printed for c in sheet.table.cells}["SPG"] == 44.6
    form = (tmp_path / "answers.csv").read_text()
    (tmp_path / "answers.csv").write_text(form + "s0,x,supported,0,0,0\ns0,y,supported,1,0,0\n")
    done = table_2(scores=scores, expected=EXPECTED, data=tmp_path, answers="answers.csv").table
    assert {c.column: c.value for c in done.cells}["SPG"] == 20 and any("2 annotators" in n for n in done.notes)
    with pytest.raises(BadInput, match="no such file"):
        table_2(scores=scores, expected=EXPECTED, data=tmp_path, answers="other.csv")
    (tmp_path / "bad.csv").write_text("x\n1\n")
    with pytest.raises(BadInput, match="are missing"):
        table_2(scores=scores, expected=EXPECTED, data=tmp_path, answers="bad.csv")


def test_the_study_apps_export_is_read_as_answers(tmp_path):
    head = "annotator,item,source,phase,check,question,answer,gold,at,last\n"
    lines = [
        "x,s0,,testing,,label,refuted,,1,False",
        "x,s0,,testing,,label,supported,,2,True",
        "y,s0,,testing,,label,repetition,,2,True",
    ]
    (tmp_path / "export.csv").write_text(head + "\n".join(lines) + "\n")
    found = read_answers(tmp_path / "export.csv")
    assert [(row["annotator"], row["label"], row.get("repetition", "")) for row in found] == [
        ("x", "supported", ""),
        ("y", "not_enough_info", "1"),
    ]
    (tmp_path / "export.csv").write_text(head + "x,s0,,testing,,label,perhaps,,2,True\n")
    with pytest.raises(BadInput, match="'perhaps'"):
        read_answers(tmp_path / "export.csv")


def test_the_choices_are_those_of_the_study_app():
    assert tuple(CHOICES) == CLAIM_LABELS
