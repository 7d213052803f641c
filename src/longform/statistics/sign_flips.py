"""Are margins of pairs symmetric around zero? The randomisation test for pairs."""

import math

import numpy as np

SAME_SUM = 1e-9  # share of the largest margin within which two sums of margins are the same


def sign_flip_test(margins: np.ndarray, rng: np.random.Generator, flips: int = 2000) -> float:
    r"""Two-sided p that independent margins are symmetric around zero (Fisher 1935).

    $(1 + \#\{|m^*| \ge |m|\}) / (1 + \text{flips})$ over random signs, where m is the sum of the
    margins. Sums within ``SAME_SUM`` of the largest margin count as equal, so that neither rounding
    nor the unit of the margins moves p.

    Args:
        margins: better minus worse of each pair, float64 (pairs,).
        rng: source of the signs.
        flips: how many assignments of signs are drawn.

    Returns:
        p, never 0; 1 where every margin is 0 or their sum is infinite, nan where they have none.
    """
    # No sum of signs is smaller than an infinite one, and none compares with nan.
    with np.errstate(invalid="ignore"):
        total = abs(margins.sum())
    if not math.isfinite(total):
        return math.nan if math.isnan(total) else 1.0
    signs = rng.integers(0, 2, (flips, len(margins))) * 2 - 1
    tolerance = SAME_SUM * float(np.abs(margins).max(initial=0.0))
    threshold = total - tolerance
    as_large = (np.abs(signs @ margins) >= threshold).sum()
    return float((1 + as_large) / (1 + flips))
