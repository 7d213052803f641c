"""Corrections for the number of tests."""

import math
from collections.abc import Sequence

from longform.errors import InputError


def holm(p_values: Sequence[float]) -> list[float]:
    r"""P-values corrected for their number, so that all are valid together (Holm 1979).

    Of m sorted p-values the k-th becomes $\max_{j \le k} \min(1, (m - j + 1) p_{(j)})$.

    Args:
        p_values: of any tests, dependent or not; nan where no test could be made.

    Returns:
        A corrected value for each, in the order given, never below its own. A nan stays one and
        counts as no test.

    Raises InputError: a number below 0 or above 1.
    """
    for p_value in p_values:
        if p_value < 0 or p_value > 1:
            raise InputError(f"p-value {p_value}; allowed are 0 to 1, and nan for no test")
    tests = [i for i, p_value in enumerate(p_values) if not math.isnan(p_value)]
    order = sorted(tests, key=p_values.__getitem__)
    corrected = [math.nan] * len(p_values)
    largest = 0.0
    for step, i in enumerate(order):
        remaining = len(order) - step
        largest = max(largest, min(1.0, remaining * p_values[i]))
        corrected[i] = largest
    return corrected
