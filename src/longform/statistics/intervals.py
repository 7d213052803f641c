"""Intervals of 95 %: of bootstrap scores, of shares, and of differences of shares."""

import math

import numpy as np

from longform.errors import InputError

NORMAL_95 = 1.959963984540054  # standard normal quantile of a two-sided 95 % interval
SAME_SHARE = 1e-9  # shares that differ by less are the same


def percentile_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The central part of bootstrap scores (Efron 1979).

    Args:
        values: scores of resamples; nan (a resample that scored nothing) is left out.
        level: share of the scores between the two ends.

    Returns:
        Both ends; nan where every score is nan.

    Raises InputError: the level is no share.
    """
    if not 0 <= level <= 1:
        raise InputError(f"interval of level {level}; allowed are 0 to 1")
    scored = values[~np.isnan(values)]
    if not len(scored):
        return math.nan, math.nan
    levels = [(1 - level) / 2, (1 + level) / 2]
    # An end is one of the scores: interpolation between infinite ones would give nan.
    low, high = np.quantile(scored, levels, method="inverted_cdf")
    return float(low), float(high)


def wilson(correct: float, items: float) -> tuple[float, float]:
    r"""Wilson's (1927) score interval of a share $\hat p = k/n$ of independent trials.

    .. math:: \frac{\hat p + z^2/2n \pm z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}}{1 + z^2/n}

    Args:
        correct: successful trials k.
        items: trials n.

    Returns:
        Both ends; nan where there were no trials.

    Raises InputError: fewer than none correct, or more than all.
    """
    if items <= 0:
        return math.nan, math.nan
    if not 0 <= correct <= items or math.isinf(items):
        raise InputError(
            f"Wilson interval of {correct} out of {items}; allowed are 0 to all of them"
        )
    share = correct / items
    z_squared_per_item = NORMAL_95**2 / items
    # Middle and half width of the fraction's numerator.
    middle = share + z_squared_per_item / 2
    variance = share * (1 - share) / items + z_squared_per_item / (4 * items)
    half_width = NORMAL_95 * math.sqrt(variance)
    low = (middle - half_width) / (1 + z_squared_per_item)
    high = (middle + half_width) / (1 + z_squared_per_item)
    # Rounding must not put the share outside.
    return min(max(low, 0.0), share), max(min(high, 1.0), share)


def _is_none_or_all(share: float) -> bool:
    """Whether a share is 0 or 1 but for rounding; nan is neither."""
    return min(abs(share), abs(1 - share)) <= SAME_SHARE


def share_interval(resampled: tuple[float, float], share: float, units: int) -> tuple[float, float]:
    """95 % interval of a share of yes among answers of yes or no.

    Where no unit says yes, or every unit does, all resamples say the same, and their interval has
    no width however few units there are. There Wilson's stands, each unit one trial.

    Args:
        resampled: ends of the interval of the share's resamples.
        share: the share itself.
        units: how many were resampled (documents) and could be scored.
    """
    low, high = resampled
    if high - low > SAME_SHARE or not _is_none_or_all(share):
        return resampled
    return wilson(round(share) * units, units)


def share_difference_interval(
    resampled: tuple[float, float], first: float, second: float, units: int
) -> tuple[float, float]:
    r"""95 % interval of a difference of two shares of the same units.

    Where each share is none or all, resamples may all say the same; there Newcombe's (1998, method
    10) stands, from Wilson's :math:`[l, u]` of each share:
    :math:`p_1 - p_2 - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}` to
    :math:`p_1 - p_2 + \sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2}`.

    Args:
        resampled: ends of the interval of the difference's resamples.
        first, second: the shares.
        units: how many were resampled and could be scored.
    """
    low, high = resampled
    both_extreme = _is_none_or_all(first) and _is_none_or_all(second)
    if high - low > SAME_SHARE or not both_extreme:
        return resampled
    # Wilson's interval of each share.
    first, second = round(first), round(second)
    first_low, first_high = wilson(first * units, units)
    second_low, second_high = wilson(second * units, units)
    # Newcombe's arms: each share's distance to the end that moves the difference that way.
    difference = first - second
    below = math.hypot(first - first_low, second_high - second)
    above = math.hypot(first_high - first, second - second_low)
    return max(difference - below, -1.0), min(difference + above, 1.0)
