"""Intervals of contrasts and of means over seeds: coverage against simulation, and cases worked by hand."""

import math

import pytest

from longform.core.resampling import generator
from longform.core.results import Record
from longform.evaluation.measurements import wilson
from longform.reporting.estimates import Estimate, constant, contrast, of_records, over_seeds, slope

Z = 1.959963984540054


def normal(values):
    """Mean with its normal interval."""
    half = Z * values.std(ddof=1) / math.sqrt(len(values))
    return Estimate(float(values.mean()), float(values.mean() - half), float(values.mean() + half), len(values))


def test_a_difference_of_two_shares_is_newcombes():
    """Newcombe (1998), Table II, case (a), method 10."""
    a, b = (Estimate(k / n, *wilson(k, n), units=n) for k, n in ((56, 70), (48, 80)))
    found = contrast((1, -1), (a, b))
    assert (found.low, found.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    assert found.units == 70


def covered(truth, draw, trials=800):
    """Share of drawn intervals that contain the truth."""
    found = [draw(generator("coverage", trial)) for trial in range(trials)]
    return sum(one.low <= truth <= one.high for one in found) / trials


def test_the_interval_of_a_log_ratio_of_two_perplexities_covers_the_truth_in_95_of_100_cases():
    def draw(rng):
        first, second = (normal(rng.gamma(4.0, scale, 200)) for scale in (0.3, 0.4))
        return contrast((1, -1), (first.exp().log(), second.exp().log()))

    assert 0.93 <= covered(4 * 0.3 - 4 * 0.4, draw) <= 0.97


def test_the_interval_of_a_slope_covers_the_truth_in_95_of_100_cases():
    def draw(rng):
        return slope([normal(rng.normal(0.5 * place, 1 + place, 80)) for place in range(4)])

    assert 0.93 <= covered(0.5, draw) <= 0.97


@pytest.mark.parametrize(("between", "seeds"), [(0.0, 3), (0.1, 3), (0.5, 2), (0.5, 3), (0.1, 8)])
def test_the_mean_over_seeds_covers_the_truth_where_the_documents_are_the_same_for_every_seed(between, seeds):
    def draw(rng):
        documents = rng.normal(0, 1, 100)
        return over_seeds([normal(2 + rng.normal(0, between) + documents) for _ in range(seeds)])

    assert 0.93 <= covered(2.0, draw) <= 0.99


def test_fewer_than_twenty_units_give_no_interval_anywhere():
    few = Estimate(1.0, 0.9, 1.1, 19)
    assert few.low is None and not few.known
    assert contrast((1, -1), (few, constant(0.5))) == Estimate(0.5, units=19)
    assert over_seeds([few, Estimate(2.0, 1.9, 2.1, 50)]).high is None


def test_records_of_several_seeds_are_one_number_and_a_missing_one_makes_it_unknown():
    records = [
        Record("c", "m", seed=seed, value=v, low=v - 0.1, high=v + 0.1, units=30) for seed, v in enumerate((1.0, 3.0))
    ]
    found = of_records(records)
    assert found.value == 2.0 and found.low < 1.0
    assert of_records(records, log=True).value == pytest.approx(math.log(3) / 2)
    assert of_records([*records, Record("c", "m", seed=2)]) is None
    assert of_records([]) is None and of_records([Record("c", "m", value=math.nan)]) is None


def test_absolute_values_reflect_an_interval_and_cut_one_around_zero():
    assert Estimate(-2.0, -3.0, -1.0).absolute() == Estimate(2.0, 1.0, 3.0)
    assert Estimate(-1.0, -3.0, 1.0).absolute() == Estimate(1.0, 0.0, 3.0)


def test_a_record_without_a_seed_is_the_mean_of_those_with_one():
    seeds = [Record("c", "m", seed=k, value=float(k), low=k - 1.0, high=k + 1.0, units=50) for k in (1, 2)]
    mean = Record("c", "m", value=1.4, low=1.2, high=1.6, units=50)
    assert of_records([mean, *seeds]) == Estimate(1.4, 1.2, 1.6, 50)
    assert of_records(seeds).value == 1.5
