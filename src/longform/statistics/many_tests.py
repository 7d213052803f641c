"""Corrections for the number of tests."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    r"""P-values corrected for their number, so that all are valid together (Holm 1979).

    Of m sorted p-values the k-th becomes $\max_{j \le k} \min(1, (m - j + 1) p_{(j)})$.

    Args:
        p_values: of any tests, dependent or not.

    Returns:
        A corrected value for each, in the order given, never below its own.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for step, i in enumerate(order):
        remaining = len(p_values) - step
        largest = max(largest, min(1.0, remaining * p_values[i]))
        corrected[i] = largest
    return corrected
