"""Arithmetic in float64 that neither overflows nor warns: log-space sums, ratios, perplexity."""

from typing import Any

import numpy as np

LARGEST_EXPONENT = 700.0  # exp of more overflows float64


def logsumexp(values: np.ndarray, axis: int = -1) -> np.ndarray:
    r"""$\log \sum_i e^{v_i}$ along an axis; nothing, or minus infinities, give minus infinity."""
    largest = np.max(values, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    total = np.sum(np.exp(values - shift), axis=axis)
    with np.errstate(divide="ignore"):
        return np.squeeze(shift, axis) + np.log(total)


def ratio(numerator: Any, denominator: Any) -> Any:
    """A quotient of numbers or of arrays, nan where the denominator is 0."""
    defined = np.not_equal(denominator, 0)
    # A quotient may be too large for float64, or one of infinities.
    with np.errstate(over="ignore", invalid="ignore"):
        quotient = numerator / np.where(defined, denominator, 1.0)
    return np.where(defined, quotient, np.nan)[()]


def perplexity(logprob: Any, count: Any) -> Any:
    r"""$\exp(-\sum \log p / n)$ from a sum and a count, numbers or arrays.

    Args:
        logprob: sum of log probabilities, in nats.
        count: number n of events that it sums over.

    Returns:
        The perplexity; infinite where an event was impossible, nan where n is 0 or the sum nan.
    """
    with np.errstate(invalid="ignore"):
        exponent = -ratio(logprob, np.maximum(count, 0))
        finite = np.exp(np.minimum(exponent, LARGEST_EXPONENT))
    value = np.where(np.isfinite(logprob), finite, np.inf)
    defined = np.greater(count, 0) & ~np.isnan(logprob)
    return np.where(defined, value, np.nan)[()]
