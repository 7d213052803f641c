"""The exhibits of lapata2005, and the matrix of critics and corruptions, from a few records made by hand."""

import pytest

from experiments.lapata2005 import report as lapata2005
from longform.results import Record, Results
from longform_lab.reporting.verdicts import CONTRADICTED, HOLDS, UNDECIDED, UNTESTABLE
from tests.refusals import refuses
from tests.reporting.papers.exhibits import at, draw, judged, printed, save

EXPECTED, AS_IN_THE_PAPER = printed("lapata2005"), printed("lapata2005", "paper")
MATRIX = printed("matrix")
BETTER = {"facts": "higher", "repetition": "reference_matched"}


def record(critic, metric, value, spread=0.05, corpus="summaries", **more):
    fields = {"low": value - spread, "high": value + spread, "units": 360, "p_value": 0.01}
    return Record(critic, metric, corpus, value=value, **{**fields, **more})


def correlation(critic, value, kind="pearson"):
    return record(
        critic, kind, value, task="text", better="lower" if critic == "jiang_conrath" else "higher"
    )


RESULTS = Results([correlation("hirst_st_onge", 0.5), correlation("grid_transitions", 0.3),
                   correlation("jiang_conrath", -0.4), correlation("latent_semantics", 0.3),
                   correlation("lesk_plain", 0.0), correlation("grid_transitions", 0.2, "spearman"),
                   correlation("likelihood", 0.1),
                   record("latent_semantics", "intercorrelation", 0.02, variant="grid_transitions"),
                   record("hirst_st_onge", "intercorrelation", -0.3, variant="grid_transitions"),
                   record("raters", "rater_agreement", 0.8, units=10),
                   record("hirst_st_onge", "pearson_difference", 0.2, variant="grid_transitions", p_value=0.001),
                   record("grid_transitions", "pearson_difference", -0.2, variant="latent_semantics", p_value=0.03),
                   record("combined", "held_out_correlation", 0.4, details={"fitted_on": 240}),
                   record("hirst_st_onge", "held_out_correlation", 0.3, details={"fitted_on": 240}),
                   record("hirst_st_onge", "weight", 0.2),
                   record("overlap", "pairwise_accuracy", 0.8, corpus="reports", task="block_1",
                          details={"pairs": 40, "ties": 12}),
                   record("topics", "pairwise_accuracy", 0.5, corpus="reports", task="block_1",
                          details={"pairs": 40, "ties": 40}),
                   record("topics", "pairwise_accuracy", 0.5, corpus="elsewhere", task="block_1",
                          details={"pairs": 40, "ties": 0})])  # fmt: skip


@pytest.mark.parametrize("name", ["correlations", "meta_evaluation", "regression", "matrix"])
def test_every_exhibit_is_saved_with_its_numbers(name, tmp_path):
    save(EXPECTED, name, RESULTS, tmp_path)


def test_the_papers_models_form_a_triangle_with_minus_signs_counted(tmp_path):
    table = draw(EXPECTED, "correlations", RESULTS, tmp_path)
    cells = at(table)
    assert cells["latent semantics (LSA)", "entity grid, role transitions"].value == 0.02
    assert "log-probability of a language model" not in {row for row, _ in cells}
    assert cells["10 raters, each against the others", "people"].value == 0.8
    assert any(
        "Hirst and St-Onge 1 (0)" in n and "Jiang and Conrath (a distance) 1 (2)" in n
        for n in table.notes
    )


def test_simulated_raters_are_told_and_say_nothing_of_people(tmp_path):
    assert lapata2005.SIMULATED in draw(EXPECTED, "correlations", RESULTS, tmp_path).notes
    found = judged(EXPECTED, RESULTS, tmp_path)
    assert found.pop("grid_and_lsa_are_complementary").verdict == HOLDS
    assert {one.verdict for one in found.values()} == {UNTESTABLE}
    assert (
        lapata2005.SIMULATED not in draw(AS_IN_THE_PAPER, "correlations", RESULTS, tmp_path).notes
    )
    found = judged(AS_IN_THE_PAPER, RESULTS, tmp_path)
    held = (
        "four_models_go_with_people",
        "the_distance_is_negative",
        "others_do_not",
        "hirst_st_onge_is_highest",
    )
    assert {found[name].verdict for name in held} == {HOLDS} and len(
        found["others_do_not"].rows
    ) == 4
    assert found["models_stay_below_raters"].verdict == UNDECIDED, (
        "ten raters are fewer than twenty"
    )
    swapped = Results(
        [r if r.critic != "jiang_conrath" else correlation("jiang_conrath", 0.4) for r in RESULTS]
    )
    assert (
        judged(AS_IN_THE_PAPER, swapped, tmp_path)["the_distance_is_negative"].verdict
        == CONTRADICTED
    )


def test_a_distance_is_turned_and_differences_are_corrected_for_number(tmp_path):
    table = draw(EXPECTED, "meta_evaluation", RESULTS, tmp_path)
    turned = next(c for c in table.cells if c.row.startswith("Jiang"))
    assert (turned.value, turned.low, turned.high) == pytest.approx((0.4, 0.35, 0.45))
    note = next(note for note in table.notes if "Holm" in note)
    assert "Hirst and St-Onge over entity grid, role transitions" in note
    assert "latent semantics (LSA) over entity grid, role transitions" in note, (
        "0.03 is the last of two"
    )
    assert "2 have an interval without 0" in note


def test_a_blind_scorer_has_no_value_and_the_ledger_says_why(tmp_path):
    table = draw(EXPECTED, "matrix", RESULTS, tmp_path)
    cells = {c.row: c for c in table.cells}
    assert cells["reports, topic proportions"].value is None
    assert cells["reports, noun overlap"].value == 0.8
    assert len(cells) == 2 and "ties: reports, noun overlap, blocks of 1 30%" in table.notes
    assert "reports: pairs by task, at most: blocks of 1 40" in table.notes
    lines = {line.number: line for line in EXPECTED.ledger(RESULTS, tmp_path)}
    assert lines["inter_subject_agreement_r.sibling"].ours == 0.8
    assert lines["accidents_2008"].verdict == "not measured here"
    assert "grids" in lines["accidents_2008"].cause
    assert not [line for line in lines.values() if "no rule" in line.cause]


def response(critic, corruption, difference, p_value=0.001, severity=0.2):
    ends = {
        "difference_low": difference - 0.1,
        "difference_high": difference + 0.1,
        "difference_spread": 0.05,
    }
    return Record(
        critic, "score", "corruptions", "data", task=corruption, severity=severity, value=2 + difference, units=40,
        better=BETTER.get(critic, "lower"),
        excluded=0, reference=2.0, difference=difference, p_value=p_value, details=ends,
    )  # fmt: skip


RESPONSES = Results([Record("facts", "score", "corruptions", "data", task="sound", severity=0.0, value=2.0, units=40),
                   response("facts", "false_fact", -0.5), response("facts", "false_fact", -0.9, severity=1.0),
                   response("repetition", "false_fact", 0.0, p_value=1.0),
                   response("repetition", "repeated_sentence", -0.4), response("unknown_critic", "false_fact", 3.0),
                   response("word_ppl", "mixed_language", 0.05, p_value=0.2)])  # fmt: skip


def test_a_cell_is_the_paired_difference_the_figure_in_each_critics_scale(tmp_path):
    table = draw(MATRIX, "corruption_matrix", RESPONSES, tmp_path)
    cells = at(table)
    own = cells["verified facts", "false fact"]
    assert (own.value, own.low, own.high, own.verdict) == (-0.5, -0.6, -0.4, "seen")
    assert own.why == "its own corruption"
    assert cells["repeated 4-grams", "false fact"].verdict == "not seen"
    assert {row for row, _ in cells} == {
        "verified facts",
        "repeated 4-grams",
        "word PPL",
        "unknown critic",
    }
    assert (
        "2 of 3 critics see a corruption that they are meant for, 1 of 2 one that they are not"
        in table.notes[0]
    )
    refuses(r"severity 0\.3", draw, MATRIX, "corruption_matrix", RESPONSES, tmp_path, severity=0.3)
    found = at(save(MATRIX, "corruption_responses", RESPONSES, tmp_path))
    turned = found["verified facts", "false fact 1"]  # of which higher is better
    assert (turned.value, turned.low, turned.high) == pytest.approx((18, 16, 20))
    either = found[
        "repeated 4-grams", "repeated sentence 0.2"
    ]  # near real text is better, whichever way
    assert (either.value, either.low, either.high) == pytest.approx((8, 6, 10))
    assert found["word PPL", "mixed language 0.2"].low == pytest.approx(-1)
