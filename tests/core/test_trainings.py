"""Means over trainings: their interval and test by hand, and how often they cover the truth."""

import math

import numpy as np
import pytest

from longform.results import Record
from longform.statistics.random_streams import generator
from longform.statistics.trainings import student_arm, two_level_interval, two_level_p
from tests.refusals import refuses


def test_student_arm_is_that_of_the_tables():
    assert student_arm([1.0, 2.0, 3.0]) == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert student_arm([0.0, 2.0]) == pytest.approx(
        12.706205, rel=1e-6
    )  # t of one degree times sqrt(2) / sqrt(2)
    refuses("at least two are needed", student_arm, [1.0])


def test_an_interval_of_three_trainings_holds_all_three():
    values = [0.593, 0.407, 0.345]  # documents alone gave 0.41 to 0.49, which holds none of them
    low, high = two_level_interval((0.41, 0.49), values)
    arm = 4.302653 * np.std(values, ddof=1) / math.sqrt(3)
    mean = np.mean(values)
    assert low == pytest.approx(mean - math.hypot(mean - 0.41, arm), rel=1e-6)
    assert high == pytest.approx(mean + math.hypot(0.49 - mean, arm), rel=1e-6)
    assert low < 0.345 and high > 0.593


def test_equal_trainings_leave_the_interval_of_the_documents():
    assert two_level_interval((0.4, 0.7), [0.5, 0.5]) == pytest.approx((0.4, 0.7))


def test_an_interval_is_cut_at_the_bounds_of_its_number():
    low, high = two_level_interval((0.6, 0.8), [0.4, 1.0], (0.0, 1.0))
    assert (low, high) == (0.0, 1.0)


def test_without_an_interval_over_documents_there_is_none():
    nothing = (math.nan, math.nan)
    assert all(map(math.isnan, two_level_interval(nothing, [0.5, 0.6])))
    assert math.isnan(two_level_p(nothing, [0.5, 0.6], 0.5))
    assert math.isnan(two_level_p((0.4, 0.6), [math.nan, 0.6], 0.5))
    for half in ((math.nan, 0.7), (0.4, math.nan)):
        assert all(map(math.isnan, two_level_interval(half, [0.5, 0.6])))
        assert math.isnan(two_level_p(half, [0.5, 0.6], 0.5))


def test_p_is_the_normal_one_where_trainings_agree():
    p_value = two_level_p((0.55 - 1.959964 * 0.02, 0.55 + 1.959964 * 0.02), [0.55, 0.55], 0.5)
    assert p_value == pytest.approx(0.0124193, rel=1e-4)  # 2.5 standard errors


@pytest.mark.parametrize("reference", [0.5, 0.65])
def test_p_takes_the_arm_of_documents_on_the_references_side(reference):
    ends = (0.55 - 1.959964 * 0.02, 0.55 + 1.959964 * 0.04)  # 2.5 standard errors on both sides
    p_value = two_level_p(ends, [0.55, 0.55], reference)
    assert p_value == pytest.approx(0.0124193, rel=1e-4)


def test_an_interval_beside_the_mean_of_trainings_has_no_arm_there():
    assert two_level_p((0.6, 0.7), [0.55, 0.55], 0.5) < 1e-9
    assert two_level_p((0.4, 0.5), [0.55, 0.55], 0.6) < 1e-9
    assert two_level_p((0.4, 0.7), [0.5, 0.6], 0.55) == 1.0


def test_p_is_student_s_where_documents_are_sure():
    # t = 0.2 / (0.1 / sqrt(3)) with two degrees: 2 (1 - F(3.4641)) = 0.0741799
    assert two_level_p((0.7, 0.7), [0.6, 0.7, 0.8], 0.5) == pytest.approx(0.0741799, rel=1e-4)


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.2, 0.5])
def test_p_is_below_05_where_the_interval_leaves_the_reference_out(shift):
    values = [0.50, 0.52, 0.54]
    interval = two_level_interval((0.50, 0.54), values)
    reference = 0.52 - shift
    assert (two_level_p((0.50, 0.54), values, reference) < 0.05) == (
        not interval[0] <= reference <= interval[1]
    )


@pytest.mark.long  # a hundred cases with three thousand resamples each
def test_the_test_rejects_a_true_reference_in_at_most_5_of_100_cases():
    rejected = 0
    for trial in range(600):
        rng = generator("two levels", trial)
        documents, trainings = rng.normal(0, 0.02), rng.normal(0, 0.05, 3)
        values = (0.5 + documents + trainings).tolist()
        mean = float(np.mean(values))
        ends = (mean - 1.959964 * 0.02, mean + 1.959964 * 0.02)
        rejected += two_level_p(ends, values, 0.5) < 0.05
    assert rejected / 600 <= 0.06


def test_a_record_computes_its_difference_and_refuses_another():
    assert Record("c", "m", value=0.7, reference=0.5).difference == pytest.approx(0.2)
    assert Record("c", "m", value=0.7, reference=0.5, difference=0.2).difference == 0.2
    assert Record("c", "m", value=0.7).difference is None
    refuses(
        "a difference is value minus reference",
        Record,
        "c",
        "m",
        value=0.7,
        reference=0.5,
        difference=-0.2,
    )
