"""Estimates by hand: bounds on units, sums of independent numbers, means over seeds, slopes."""

import math

import numpy as np
import pytest
from scipy import stats

from longform.results import Record
from longform_lab.reporting import estimates
from longform_lab.reporting.estimates import Estimate
from tests.refusals import refuses


@pytest.mark.parametrize(("units", "known"), [(19, False), (20, True), (None, True)])
def test_an_interval_needs_twenty_units(units, known):
    made = Estimate(1.0, 0.5, 2.0, units)
    assert made.known is known and (made.low, made.high) == ((0.5, 2.0) if known else (None, None))


@pytest.mark.parametrize(("low", "high"), [(None, 2.0), (0.5, None), (None, None)])
def test_one_end_is_no_interval(low, high):
    assert not Estimate(1.0, low, high).known


def test_a_weighted_sum_adds_the_arms_that_point_its_way():
    first, second = Estimate(5.0, 4.0, 7.0, 30), Estimate(2.0, 1.5, 2.25, 40)
    difference = first - second
    assert difference.value == 3.0 and difference.units == 30
    assert difference.low == pytest.approx(3.0 - math.hypot(1.0, 0.25))
    assert difference.high == pytest.approx(3.0 + math.hypot(2.0, 0.5))
    weighted = estimates.contrast((2.0, -3.0, 0.5), (first, second, Estimate(1.0, 1.0, 1.0)))
    assert weighted.value == pytest.approx(4.5)
    assert weighted.low == pytest.approx(4.5 - math.hypot(2 * 1.0, 3 * 0.25))
    assert weighted.high == pytest.approx(4.5 + math.hypot(2 * 2.0, 3 * 0.5))


def test_a_sum_with_an_unknown_part_has_no_interval_and_the_fewest_units():
    made = estimates.contrast((1, 1), (Estimate(1.0, units=25), Estimate(2.0, 1.0, 3.0, 30)))
    assert made == Estimate(3.0, units=25)
    assert estimates.contrast((1,), (Estimate(1.0),)).units is None


def test_an_end_beyond_its_value_has_no_arm():
    made = estimates.contrast((1, -1), (Estimate(1.0, 1.5, 2.0), Estimate(0.0, -1.0, -0.5)))
    assert (made.low, made.high) == (1.0, 1.0 + math.hypot(1.0, 1.0))


def test_a_mean_over_seeds_adds_their_spread_to_that_over_documents():
    parts = [Estimate(1.0, 0.5, 1.25, 30), Estimate(2.0, 1.7, 2.5, 25), Estimate(3.0, 2.9, 3.5, 40)]
    made = estimates.over_seeds(parts)
    between = stats.t.ppf(0.975, 2) * np.std([1, 2, 3], ddof=1) / math.sqrt(3)
    assert made.value == 2.0 and made.units == 25
    assert made.low == pytest.approx(2.0 - math.hypot(np.mean([0.5, 0.3, 0.1]), between))
    assert made.high == pytest.approx(2.0 + math.hypot(np.mean([0.25, 0.5, 0.5]), between))
    assert estimates.over_seeds([Estimate(1.0), parts[0]]) == Estimate(1.0, units=30)


def test_a_slope_is_that_of_least_squares():
    values = [1.0, 3.0, 2.0, 5.0]
    made = estimates.slope([Estimate(value, value - 0.5, value + 1.0) for value in values])
    assert made.value == pytest.approx(np.polyfit(range(4), values, 1)[0])
    weights = np.array([-1.5, -0.5, 0.5, 1.5]) / 5
    arms = np.where(weights > 0, 0.5, 1.0)
    assert made.low == pytest.approx(made.value - np.sqrt(((weights * arms) ** 2).sum()))
    refuses("at least two numbers, got 1", estimates.slope, [Estimate(1.0)])


def record(value, seed=None, **more):
    return Record(
        "c", "m", value=value, seed=seed, **{"low": 0.5, "high": 4.0, "units": 30, **more}
    )


@pytest.mark.parametrize(
    ("records", "value"),
    [
        ([], None), ([record(None)], None), ([record(1.0, 1), record(None, 2)], None),
        ([record(float("nan"))], None), ([record(2.0)], 2.0), ([record(2.0, 1)], 2.0),
        ([record(1.0, 1), record(2.0, 2)], 1.5), ([record(7.0), record(1.0, 1), record(2.0, 2)], 7.0),
    ],
)  # fmt: skip
def test_records_of_seeds_are_one_estimate_unless_a_mean_is_there(records, value):
    found = estimates.of_records(records)
    assert (found and found.value) == value


def test_records_may_be_taken_on_the_log_scale():
    made = estimates.of_records([record(2.0)], log=True)
    assert (made.value, made.low, made.high) == pytest.approx(
        (math.log(2), math.log(0.5), math.log(4))
    )
    refuses("^0 has no logarithm", Estimate(0.0).log)
    twice = [Record(name, "m", value=1.0, seed=1) for name in ("first", "second")]
    refuses("^two records of first m are the same", estimates.of_records, twice)
    assert Estimate(1.0, -1.0, 2.0).log().low == pytest.approx(math.log(1e-300))
