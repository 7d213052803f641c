"""Suites as records: intervals count texts, pools hold what their names say."""

import pytest
from scipy.stats import binomtest

from longform.evaluation.suite_accuracy import suite_accuracy_records


def described(**suites):
    names = ("items", "correct", "gained", "lost")
    return {
        suite: {"counts": dict(zip(names, counts, strict=True)), "token_bits": {}} for suite, counts in suites.items()
    }


FOUND = {
    r.task: r
    for r in suite_accuracy_records(
        described(
            N_all=(100, 96, 7, 1),
            connective_as_causal_as_since=(40, 30, 0, 0),
            connective_as_causal_as_yet=(40, 20, 0, 0),
            coreference_WSJ=(30, 15, 0, 0),
        ),
        corpus="suites",
        system="gpt2",
    )
}


def test_a_suite_has_wilsons_interval_and_mcnemars_test():
    record, interval = FOUND["N_all"], binomtest(96, 100).proportion_ci(method="wilson")
    assert (record.value, record.units, record.system) == (0.96, 100, "gpt2")
    assert (record.low, record.high) == pytest.approx((interval.low, interval.high))
    assert record.p_value == pytest.approx(binomtest(7, 8).pvalue) and FOUND["coreference_WSJ"].p_value is None


def test_two_replacements_of_one_connective_are_one_trial_a_text():
    pooled, interval = FOUND["connective_as_causal"], binomtest(25, 40).proportion_ci(method="wilson")
    assert (pooled.value, pooled.units) == (0.625, 40)
    assert (pooled.low, pooled.high) == pytest.approx((interval.low, interval.high))
    assert FOUND["connectives"].details["counts"]["items"] == 80 and FOUND["re-mention"].units == 30
    assert FOUND["all suites"].units == 170 and FOUND["all suites"].value == 161 / 210
