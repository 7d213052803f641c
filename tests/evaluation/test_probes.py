"""Responses to corruptions are paired differences from sound texts; accuracy on suites by hand, as SciPy's intervals and tests."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.critics.surprisal.score import ReadItem, SuiteAccuracy, mcnemar
from longform.datasets.test_suites.prediction_formulas import RegionValue, parse
from longform.documents import Chain
from longform.evaluation.corruption_response import corruption_response, of_failure, of_severity
from longform.evaluation.suite_accuracy import suite_accuracy_records
from longform.statistics.markov_chain import BigramCritic
from longform.statistics.random_streams import generator
from tests.refusals import refuses


def units(corruption, severity, harm):
    rows = [generator("response", i).normal(-2, 0.3, 20) - harm for i in range(30)]
    return [LogProbs(f"{corruption}@{severity:g}/d{i}", "test", row) for i, row in enumerate(rows)]


FORMULA = parse("(2;%b%) > (2;%a%)")
CASES = [
    ("sound", 0.0, 0.0),
    ("hurt", 0.2, 0.1),
    ("hurt", 1.0, 0.5),
    ("idle", 0.2, 0.0),
    ("idle", 1.0, 0.0),
]


def test_a_response_is_the_paired_difference_with_its_interval():
    records = corruption_response(
        Perplexity(), [unit for case in CASES for unit in units(*case)], name="ppl"
    )
    found = {(record.task, record.severity): record for record in records}
    sound, hurt, idle = found["sound", 0.0], found["hurt", 1.0], found["idle", 1.0]
    assert (
        hurt.difference
        == pytest.approx(hurt.value - sound.value)
        == pytest.approx(sound.value * (np.exp(0.5) - 1))
    )
    assert hurt.details["difference_low"] < hurt.difference < hurt.details["difference_high"]
    assert hurt.p_value == 0.001
    assert (
        hurt.low < hurt.value < hurt.high and hurt.reference == sound.value and hurt.critic == "ppl"
    )
    assert found["hurt", 0.2].p_value < 0.01 and (idle.difference, idle.p_value) == (0, 1)
    # severities stand in ids, and bad ids and unlike documents are refused
    titles = [
        Chain(f"d{i}@{s}", "test", ("a", "b", "ac"[i % 2])) for s in (0, 1) for i in range(20)
    ]
    critic = BigramCritic().fit([Chain(str(i), "train", ("a", "b", "a")) for i in range(9)])
    zero, one = corruption_response(critic, titles, case=of_severity)
    assert zero.value == critic.score_of(critic.sufficient_statistics(titles[:20]))
    assert one.severity == 1 and one.difference == 0 and one.p_value == 1
    for case, name in ((of_failure, "no-severity"), (of_severity, "a@much")):
        refuses("is no severity", case, name)
    refuses("nothing to compare with", corruption_response, Perplexity(), units("hurt", 0.2, 0))
    refuses(
        "same articles",
        corruption_response,
        Perplexity(),
        [*units("sound", 0, 0), *units("hurt", 0.2, 0)[:9]],
    )


def item(number, first, second, suite="s"):
    regions = {("a", 1): [1.0], ("a", 2): first, ("b", 1): [1.0], ("b", 2): second}
    regions = {place: np.array(bits) for place, bits in regions.items()}
    return ReadItem(f"{suite}/{number}", "test", suite, "mean", (FORMULA,), regions)


ITEMS = [item(1, [1, 2], [4]), item(2, [5], [4, 4, 4]), item(3, [3], [3]), item(4, [0], [9], "t")]
SUITES = SuiteAccuracy()


def test_an_inequality_is_strict_and_a_star_is_over_tokens():
    assert SUITES.score_of(SUITES.sufficient_statistics(ITEMS)) == 2 / 4
    found = SUITES.describe(ITEMS)
    counts = {
        name: (suite["counts"]["items"], suite["counts"]["correct"])
        for name, suite in found.items()
    }
    assert counts == {"s": (3, 1), "t": (1, 1)}
    assert not SUITES.succeeds(ITEMS[1]) and SUITES.succeeds(replace(ITEMS[1], metric="sum"))
    bits, place = item(1, [1, 5, 2], [0]), RegionValue(2, "a")
    for name, value in {
        "sum": 8,
        "mean": 8 / 3,
        "median": 2,
        "range": 4,
        "max": 5,
        "min": 1,
    }.items():
        assert SUITES.value(replace(bits, metric=name), place) == value
    bits = item(1, [4, 4, 4], [0])
    assert SUITES.value(bits, RegionValue(None, "a")) == 13 / 4
    assert SUITES.value(replace(bits, metric="sum"), RegionValue(None, "a")) == 13
    empty = item(1, [], [4])
    assert SUITES.succeeds(replace(empty, metric="sum"))
    refuses(
        "s/1: region 2 of condition 'a' has no token, so it has no mean",
        SUITES.sufficient_statistics,
        [empty],
    )


def test_all_predictions_must_hold_and_gains_and_losses_are_counted():
    both = ReadItem("s/1", "test", "s", "sum", (FORMULA, parse("(2;%a%) > 100")), ITEMS[0].regions)
    assert SUITES.succeeds(ITEMS[0]) and not SUITES.succeeds(both)
    other = [item(1, [9], [4]), item(2, [5], [6]), item(3, [3], [3]), item(4, [0], [9], "t")]
    statistics = SUITES.against(other).sufficient_statistics(ITEMS)
    assert (statistics.total("gained"), statistics.total("lost")) == (1, 1)
    counts = SUITES.against(other).describe(ITEMS)["s"]["counts"]
    assert counts == {"items": 3, "correct": 1, "gained": 1, "lost": 1}
    found = SUITES.describe(ITEMS)["s"]  # sums over all, right and wrong items
    assert found["formula_bits"]["(2;%b%)"]["all"] == [
        pytest.approx(19 / 3),
        pytest.approx(np.std([4, 12, 3])),
    ]
    assert found["formula_bits"]["(2;%b%)"]["true"] == [4.0, 0.0]
    assert found["formula_bits"]["(2;%a%)"]["false"] == [4.0, 1.0]
    assert found["token_bits"]["a"] == {"1": 1.0, "2": pytest.approx(11 / 4)}


def test_records_have_wilsons_interval_and_mcnemars_exact_test():
    for gained, lost in [(0, 0), (1, 0), (9, 2), (5, 5), (0, 12)]:
        expected = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
        assert mcnemar(gained, lost) == pytest.approx(expected)
    counts = {"N_all": (100, 96, 7, 1), "connective_as_causal_as_since": (40, 30, 0, 0),
              "connective_as_causal_as_yet": (40, 20, 0, 0), "coreference_WSJ": (30, 15, 0, 0)}  # fmt: skip
    names = ("items", "correct", "gained", "lost")
    told = {
        s: {"counts": dict(zip(names, row, strict=True)), "token_bits": {}}
        for s, row in counts.items()
    }
    found = {
        record.task: record
        for record in suite_accuracy_records(told, corpus="suites", system="gpt2")
    }
    record, interval = found["N_all"], binomtest(96, 100).proportion_ci(method="wilson")
    assert (record.value, record.units, record.system) == (0.96, 100, "gpt2")
    assert (record.low, record.high) == pytest.approx((interval.low, interval.high))
    assert record.p_value == pytest.approx(binomtest(7, 8).pvalue)
    assert found["coreference_WSJ"].p_value is None
    pooled, interval = (
        found["connective_as_causal"],
        binomtest(25, 40).proportion_ci(method="wilson"),
    )
    assert (pooled.value, pooled.units) == (0.625, 40)
    assert (pooled.low, pooled.high) == pytest.approx((interval.low, interval.high))
    assert found["connectives"].details["counts"]["items"] == 80 and found["re-mention"].units == 30
    assert found["all suites"].units == 170 and found["all suites"].value == 161 / 210
