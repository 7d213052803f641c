"""The matrix of critics and corruptions from a few responses made by hand."""

import pytest

from longform.core.results import Record, Results
from tests.refusals import refuses
from tests.reporting.papers.exhibits import at, draw, printed, save

EXPECTED = printed("matrix")
BETTER = {"facts": "higher", "repetition": "nearer_real"}


def response(critic, corruption, difference, p_value=0.001, severity=0.2):
    ends = {"difference_low": difference - 0.1, "difference_high": difference + 0.1, "difference_spread": 0.05}
    return Record(
        critic, "score", "corruptions", "data", task=corruption, severity=severity, value=2 + difference, units=40,
        better=BETTER.get(critic, "lower"),
        excluded=0, reference=2.0, difference=difference, p_value=p_value, details=ends,
    )  # fmt: skip


RESULTS = Results([Record("facts", "score", "corruptions", "data", task="sound", severity=0.0, value=2.0, units=40),
                   response("facts", "false_fact", -0.5), response("facts", "false_fact", -0.9, severity=1.0),
                   response("repetition", "false_fact", 0.0, p_value=1.0),
                   response("repetition", "repeated_sentence", -0.4), response("unknown_critic", "false_fact", 3.0),
                   response("word_ppl", "mixed_language", 0.05, p_value=0.2)])  # fmt: skip


def test_a_cell_is_the_paired_difference_and_the_figure_on_the_scale_of_each_critic(tmp_path):
    table = draw(EXPECTED, "corruption_matrix", RESULTS, tmp_path)
    cells = at(table)
    own = cells["verified facts", "false fact"]
    assert (own.value, own.low, own.high, own.verdict) == (-0.5, -0.6, -0.4, "seen")
    assert own.why == "its own corruption" and cells["repeated 4-grams", "false fact"].verdict == "not seen"
    assert {row for row, _ in cells} == {"verified facts", "repeated 4-grams", "word PPL", "unknown critic"}
    assert "2 of 3 critics see a corruption that they are meant for, 1 of 2 one that they are not" in table.notes[0]
    refuses(r"severity 0\.3", draw, EXPECTED, "corruption_matrix", RESULTS, tmp_path, severity=0.3)
    found = at(save(EXPECTED, "corruption_responses", RESULTS, tmp_path))
    turned = found["verified facts", "false fact 1"]  # of which higher is better
    assert (turned.value, turned.low, turned.high) == pytest.approx((18, 16, 20))
    either = found["repeated 4-grams", "repeated sentence 0.2"]  # near real text is better, whichever way
    assert (either.value, either.low, either.high) == pytest.approx((8, 6, 10))
    assert found["word PPL", "mixed language 0.2"].low == pytest.approx(-1)
