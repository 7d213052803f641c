"""The exhibits of massarelli2020 from a few decoders made by hand, named so that their names say nothing."""

import csv
from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import pytest

from experiments.massarelli2020.report import (
    HUES,
    MARKS,
    TABLE_1,
    chosen,
    in_order,
    label,
    strategy,
)
from longform.critics.verifiability.reliability import CHOICES, read_answers
from longform.results import Record, Results
from longform_lab.reporting.pivot import ReportInputs
from longform_lab.reporting.verdicts import HOLDS, UNTESTABLE
from longform_lab.study.items import TEXTS
from tests.refusals import refuses
from tests.reporting.papers.exhibits import at, draw, judged, printed, save

EXPECTED = printed("massarelli2020")
DECODERS = {"human": {"kind": "human"}, "wide": {"kind": "top_k", "k": 100}, "narrow": {"kind": "top_k", "k": 2},
            "fifteen": {"kind": "beam", "beams": 15}, "top_k": {"kind": "top_k", "k": 2},
            "beam": {"kind": "beam", "beams": 15}, "loose": {"kind": "beam", "beams": 15, "blocking": 20},
            "tight": {"kind": "beam", "beams": 15, "blocking": 3},
            "late": {"kind": "delayed_beam", "top_k": 100, "beams": 6, "delay": 20},
            "early": {"kind": "delayed_beam", "top_k": 100, "beams": 6, "delay": 1}}  # fmt: skip
MEASURES = (*TABLE_1, "distinct_supported", "entities", "link_grammar_percent")


def record(run, decoder, metric="USPG", value=0.3, **more):
    shown = {"low": value - 0.05, "high": value + 0.05, "units": 24}
    return Record("verifiability", metric, run, decoder, value=value, **{**shown, **more})


def run(name, *decoders):
    return [
        record(name, d, m, 0.2 + 0.02 * place) for place, d in enumerate(decoders) for m in MEASURES
    ]


def sheet():
    key = {"decoder": "beam", "page": "p", "generation": "g"}
    items = [{"item": "s0", "claim": "A.", "evidence": 0, "key": {**key, "sentence": 1}},
             {"item": "s1", "claim": "B.", "evidence": 1, "key": {**key, "sentence": 0}}]  # fmt: skip
    details = {"items": items, "evidence": ["", "P: B."], "prefixes": 1,
               "exact_repeats": {"beam": 0.25, "top_k": None}}  # fmt: skip
    return record("test", "", "exact_repeats", 0.2, details=details)


RECORDS = [
    *run("test", "human", "top_k", "beam"),
    *[record("test", "beam", m, 0.5, variant="gold") for m in TABLE_1[2:]],
    *run("sweep", "wide", "narrow", "fifteen", "loose", "tight", "late", "early"),
    *run("grid", "wide", "narrow", "fifteen"),
    *[
        r
        for name in ("web", "books", "pages", "medium", "large")
        for r in run(name, "top_k", "beam")
    ],
    *[
        record("test", "", "correlation", 0.4, task="nats", variant=side)
        for side in ("supported", "verified")
    ],
    record("test", "", "checker_accuracy", 0.9, details={"retrieved": 1.0, "majority": 0.7}),
    record("test", "", "checker_recall", 0.6, task="supported"),
    record("claims", "", "checker_accuracy", 0.95, details={"retrieved": 0.9, "majority": 0.5}),
    record(
        "test",
        "beam",
        "SPG",
        0.6,
        variant="corrected_by_claims",
        details={"unknown_labels": ["refuted"]},
    ),
    sheet(),
]
RESULTS = Results(RECORDS)
GIVEN = ReportInputs(RESULTS, EXPECTED, Path(), decoders=DECODERS)
EXHIBITS = [
    "checker",
    "trade_off",
    *(f"figure_{n}" for n in range(2, 6)),
    *(f"table_{n}" for n in range(1, 5)),
]


def exhibit(name, data):
    return draw(EXPECTED, name, RESULTS, data, DECODERS)


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_exhibit_is_saved_with_its_numbers(name, tmp_path):
    save(EXPECTED, name, RESULTS, tmp_path, DECODERS)


def test_strategies_come_from_settings_and_validation_picks_the_best(tmp_path):
    assert strategy(DECODERS["tight"]) == "beam_blocked" and strategy(DECODERS["fifteen"]) == "beam"
    assert label("late", GIVEN) == "delayed beam search (top k 100, beams 6, delay 20)"
    assert label("top_p", GIVEN) == "top-p sampling"
    ordered = in_order([record("sweep", d) for d in ("wide", "fifteen", "narrow", "human")], GIVEN)
    assert [r.system for r in ordered] == ["human", "narrow", "wide", "fifteen"]
    best = chosen(GIVEN)
    assert best == {
        "top_k": "narrow",
        "beam": "fifteen",
        "beam_blocked": "tight",
        "delayed_beam": "early",
    }
    tied = Results([record("sweep", "wide"), record("sweep", "narrow")])
    assert chosen(replace(GIVEN, results=tied)) == {"top_k": "wide"}
    rows = {c.row for c in exhibit("table_3", tmp_path).cells}
    assert "top-k sampling (k 2) (chosen) (the paper's)" in rows
    rows = {c.row for c in exhibit("table_1", tmp_path).cells}
    assert "small model, chosen on validation: top-k sampling (k 2)" in rows


def test_ours_and_printed_numbers_meet_by_place(tmp_path):
    cells = at(exhibit("table_1", tmp_path))
    for column, value, told in (("SPG", 20, 36.56), ("different 4-grams", 0.2, 222.48)):
        assert (cells["human text", column].value, cells["human text", column].printed) == (
            value,
            told,
        )
    assert cells["beam search (beams 15)", "SPG by exact rules"].printed is None
    lines = {(line.table, line.number): line for line in EXPECTED.ledger(RESULTS, tmp_path)}
    assert lines["table_1", "beam.USPV"].ours == pytest.approx(24)
    assert lines["table_2", "checker_against_people.recall.supported"].ours == 60
    assert lines["table_2", "beam.REP"].ours is None
    assert "nobody was asked" in lines["table_2", "beam.REP"].cause
    assert not [key for key in lines if key[0] in ("protocol", "table_3")]


def test_figures_2_and_5_show_shared_decoders_with_a_panel_a_size(tmp_path):
    rows = {c.row for c in exhibit("figure_2", tmp_path).cells}
    assert "news, small: top-k sampling (k 2)" in rows and not [
        row for row in rows if "delay" in row or "k 100" in row
    ]
    rows = [c.row for c in exhibit("figure_5", tmp_path).cells]
    assert rows == [
        "delayed, top-100, delay 1",
        "delayed, top-100, delay 20",
        "plain top-2",
        "plain top-100",
    ]

    def panels(results):
        figure, canvas = (
            draw(EXPECTED, "figure_2", results, tmp_path, DECODERS),
            matplotlib.figure.Figure(),
        )
        figure.draw(canvas)
        return [axes.get_title() for axes in canvas.axes], "(b)" in figure.caption

    assert panels(RESULTS) == (["(a) training corpora", "(b) sizes"], True)
    small = Results(r for r in RESULTS if r.corpus not in ("medium", "large"))
    assert panels(small) == (["(a) training corpora"], False)


def test_figure_3_has_a_row_for_each_setting_run_and_cuts_no_point(tmp_path):
    """Of the human text's 4-grams the last delay has 120 %, its interval up to 125 %."""
    high = record("sweep", "late", "proportion_4grams", 1.2)
    others = [r for r in RESULTS if (r.system, r.metric) != ("late", "proportion_4grams")]

    def drawn(results):
        figure = draw(EXPECTED, "figure_3", results, tmp_path, DECODERS)
        figure.draw(canvas := matplotlib.figure.Figure())
        return figure, canvas.axes

    figure, axes = drawn(Results([*others, high]))
    assert len(axes) == 6 and figure.size == (7.2, 4.4)
    low, top = axes[0].get_ylim()
    assert low == 0 and 125 < top < 140
    delays = Results(r for r in RESULTS if r.system not in ("loose", "tight"))
    figure, axes = drawn(delays)
    assert len(axes) == 3 and figure.size == (7.2, 2.4) and axes[0].get_ylim() == (0, 105)
    assert "by delay length (top-100, six beams), small model" in figure.caption


def test_claims_about_people_and_retold_news_are_not_testable_here(tmp_path):
    found = judged(EXPECTED, RESULTS, tmp_path)
    untestable = {"news_model_has_best_recall", "people_find_beam_search_repetitive"}
    assert {found[name].verdict for name in untestable} == {UNTESTABLE}
    assert found["probability_goes_with_verified"].verdict == HOLDS


def test_the_study_files_keep_the_key_apart_and_answers_are_read(tmp_path):
    exhibit("table_2", tmp_path).save(tmp_path, "table_2")
    with (tmp_path / "sheet.csv").open() as file:
        line = next(csv.DictReader(file))
    assert line == {
        "item_id": "s0",
        "claim": "A.",
        "evidence": "No page was found. Said before: B.",
    }
    with (tmp_path / "key.csv").open() as file:
        assert next(csv.DictReader(file))["decoder"] == "beam"
    answers = tmp_path / "answers.csv"
    answers.write_text("item,annotator,answer\ns0,ann,repetition\n")
    assert read_answers(answers)[0]["repetition"] == "1"
    assert set(CHOICES) == set(TEXTS["claim"]["labels"])
    answers.write_text("item,annotator,answer\ns0,ann,perhaps\n")
    refuses("allowed are", read_answers, answers)
    answers.write_text("item,annotator,answer\ns0,ann,supported\ns0,ben,\n")
    assert len(read_answers(answers)) == 1
    answers.write_text("item,annotator,label\ns0,ann,supported\ns0,ben,supported\ns1,ben,\n")
    table = draw(EXPECTED, "table_2", RESULTS, tmp_path, answers="answers.csv").table
    assert {c.column: c.value for c in table.cells if c.row == "beam search"}["SPG"] == 20


def test_people_are_grey_and_no_decoder_is():
    assert HUES["human"] == "0.3" and list(HUES.values()).count("0.3") == 1


def test_a_decoder_has_the_colour_of_its_family_and_a_mark_of_its_own():
    assert HUES.keys() == MARKS.keys()
    assert len(set(MARKS.values())) == len(MARKS)
    assert HUES["top_k"] == HUES["top_p"] == HUES["min_p"] == HUES["typical"]
    assert HUES["greedy"] == HUES["beam"] == HUES["group_beam"] == HUES["beam_blocked"]
    assert len({HUES["top_k"], HUES["beam"], HUES["delayed_beam"], HUES["human"]}) == 4
