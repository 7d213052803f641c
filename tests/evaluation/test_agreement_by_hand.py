"""Agreement of raters on small tables whose coefficients are counted by hand."""

import math

import pytest

from longform.evaluation.agreement import cohen_kappa


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        ([0, 1, 1, 0], [0, 1, 0, 0], 0.5),  # agreement 3/4, by chance 1/2 * 3/4 + 1/2 * 1/4
        ([1, 0], [0, 1], -1.0),
        (["a", "b", "c"], ["a", "b", "c"], 1.0),
        ([1, 1], [2, 2], 0.0),  # each constant, never agreeing
    ],
)
def test_kappa_of_two_raters_is_agreement_beyond_chance(first, second, kappa):
    assert cohen_kappa(first, second) == pytest.approx(kappa)


def test_kappa_is_undefined_where_both_say_one_thing():
    assert math.isnan(cohen_kappa(["x", "x"], ["x", "x"]))
