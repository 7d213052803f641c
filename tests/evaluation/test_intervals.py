"""Intervals of shares against SciPy and printed examples."""

import pytest
from scipy.stats import binomtest

from longform.core.documents import BadInput
from longform.evaluation.measurements import wilson


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_equals_newcombes_printed_examples(hits, trials, low, high):
    """Newcombe (1998), Statistics in Medicine 17:857, Table I, method 3."""
    assert wilson(hits, trials) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("correct", "items"), [(0, 3), (3, 3), (7, 25), (272, 279)])
def test_wilson_equals_scipys(correct, items):
    found = binomtest(correct, items).proportion_ci(method="wilson")
    assert wilson(correct, items) == pytest.approx((found.low, found.high), abs=1e-12)


def test_more_right_than_there_were_is_an_error():
    with pytest.raises(BadInput, match="3 out of 2"):
        wilson(3, 2)
