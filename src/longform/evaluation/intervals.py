"""Intervals of shares and of differences of shares, from counts alone."""

from __future__ import annotations

import math

from longform.core.documents import BadInput

NORMAL_95 = 1.959963984540054  # standard normal quantile of a two-sided 95 % interval


def wilson(correct: float, items: float, quantile: float = NORMAL_95) -> tuple[float, float]:
    r"""Wilson's (1927) score interval of a share $\hat p = k/n$; not a number where nothing was tried.

    It takes trials as independent: answers about one article, or one text's items, are not.

    .. math:: \frac{\hat p + z^2/2n \pm z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}}{1 + z^2/n}

    Raises:
        BadInput: fewer than none correct, or more than all.
    """
    if items <= 0:
        return math.nan, math.nan
    if not 0 <= correct <= items:
        raise BadInput(f"Wilson interval of {correct} out of {items}; allowed are 0 to all of them")
    share, ratio = correct / items, quantile**2 / items
    middle = share + ratio / 2
    spread = quantile * math.sqrt(share * (1 - share) / items + ratio / (4 * items))
    low, high = (middle - spread) / (1 + ratio), (middle + spread) / (1 + ratio)
    return min(max(low, 0.0), share), max(min(high, 1.0), share)  # rounding must not put the share outside


def newcombe(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    r"""Interval of a difference of two independent shares, each given as (share, trials) (Newcombe 1998, method 10).

    .. math:: d - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2},\quad d + \sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2}

    with Wilson's limits :math:`l_i, u_i` of each share.
    """
    (one, one_trials), (two, two_trials) = first, second
    one_low, one_high = wilson(one * one_trials, one_trials)
    two_low, two_high = wilson(two * two_trials, two_trials)
    difference = one - two
    return difference - math.hypot(one - one_low, two_high - two), difference + math.hypot(
        one_high - one, two - two_low
    )
