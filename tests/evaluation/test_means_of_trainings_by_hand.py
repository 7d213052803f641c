"""Records of means over trainings of which some have no value, by hand."""

import math

import pytest

from longform.evaluation.measurements import difference_of_trainings, mean_of_trainings
from longform.results import Record

MEAN = Record("c", "area", value=math.nan, low=0.4, high=0.6)


def trainings(*values):
    return [Record("c", "area", value=value, variant=str(i)) for i, value in enumerate(values)]


@pytest.mark.parametrize("absent", [None, math.nan])
def test_a_training_without_a_value_is_not_counted_and_leaves_no_interval(absent):
    mean = mean_of_trainings(MEAN, trainings(0.5, absent, 0.7))
    assert mean.details["trainings"] == 2
    assert mean.details["spread"] == pytest.approx(0.02**0.5)
    assert math.isnan(mean.low) and math.isnan(mean.high)
    assert (mean.details["documents_low"], mean.details["documents_high"]) == (0.4, 0.6)


@pytest.mark.parametrize(("values", "number"), [((math.nan, 0.5), 1), ((math.nan, math.nan), 0)])
def test_fewer_than_two_values_have_no_spread(values, number):
    for mean in (
        mean_of_trainings(MEAN, trainings(*values)),
        difference_of_trainings(MEAN, values),
    ):
        assert mean.details["trainings"] == number
        assert math.isnan(mean.details["spread"]) and math.isnan(mean.low)


def test_all_trainings_with_values_are_counted_and_give_an_interval():
    """Arms 0.1 of documents and t_1 0.1 of trainings: 12.706 (0.141 / sqrt 2) is above the bounds."""
    mean = mean_of_trainings(Record("c", "area", value=0.6, low=0.5, high=0.7), trainings(0.5, 0.7))
    assert (mean.details["trainings"], mean.low, mean.high) == (2, 0.0, 1.0)
