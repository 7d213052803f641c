r"""Means over trainings: an interval and a test that cover the trainings as well as the documents.

A mean over :math:`k` trainings (seeds, or heads of an encoder) that were all scored on the same
:math:`n` documents has two sources of error. Documents alone are bootstrapped; what a further
training would have given is not in that interval. Here the two are added as independent errors,
each at its own quantile (Zou and Donner 2008, eq. 4), where the trainings' error of the mean is
Student's (1908): :math:`t_{k-1}\, s / \sqrt k` with the standard deviation :math:`s` of the k
numbers.

Resampling trainings instead (a nested bootstrap) covers too little when they are few: the mean of k
draws from k numbers has the variance :math:`s^2 (k-1) / k^2` in place of :math:`s^2 / k`, and
normal in place of Student's tails. What two or three trainings allow is a wide interval:
:math:`t_1 = 12.7` and :math:`t_2 = 4.3`, so that the ends are at least 9.0 and 2.5 standard
deviations of the trainings away from their mean. It holds every training, and says little more.
"""

import math
from collections.abc import Sequence

import numpy as np

from longform.errors import InputError, counted

LEVEL = 0.95
BISECTIONS = 60  # of the bracket of a p-value
Interval = tuple[float, float]  # lower and upper end


def student_arm(values: Sequence[float], level: float = LEVEL) -> float:
    """Half the length of Student's interval of a mean.

    Args:
        values: the number of each training, two or more.
        level: of the interval.

    Returns:
        The half; nan where a value is not finite.

    Raises InputError: fewer than two values.
    """
    count = len(values)
    if count < 2:
        raise InputError(
            f"a mean over trainings: {counted(count, 'training')}, at least two are needed for "
            "their spread"
        )
    if not np.isfinite(values).all():
        return math.nan
    from scipy import special  # here, since a critic of plain texts should start in half a second

    quantile = float(special.stdtrit(count - 1, (1 + level) / 2))
    deviation = float(np.std(values, ddof=1))
    return quantile * deviation / math.sqrt(count)


def two_level_interval(
    documents: Interval, values: Sequence[float], bounds: Interval = (-math.inf, math.inf)
) -> Interval:
    """95 % interval of the mean of several trainings over documents and trainings.

    Args:
        documents: the mean's interval over documents alone; nan where there is none.
        values: the number of each training, two or more.
        bounds: smallest and largest number there can be (0 and 1 of a share), at which the interval
            is cut.

    Returns:
        Both ends; nan where documents give no interval, or a training no finite number.

    Raises InputError: fewer than two values.
    """
    low, high = documents
    mean = float(np.mean(values))
    trainings_arm = student_arm(values)
    if math.isnan(low) or math.isnan(high) or math.isnan(trainings_arm):
        return math.nan, math.nan
    # The arms of documents and of trainings are independent errors, added in quadrature.
    below = math.hypot(max(mean - low, 0.0), trainings_arm)
    above = math.hypot(max(high - mean, 0.0), trainings_arm)
    return max(mean - below, bounds[0]), min(mean + above, bounds[1])


def two_level_p(documents: Interval, values: Sequence[float], reference: float) -> float:
    """Two-sided p that the mean over all trainings and documents is ``reference``.

    It is the level at which the interval of :func:`two_level_interval` ends at the reference, the
    documents' arm taken for a normal one, so that p < .05 says that the 95 % interval leaves
    ``reference`` out.

    Args:
        documents, values: as for :func:`two_level_interval`.
        reference: what the mean is tested against.

    Returns:
        p, 1 where the mean is the reference; nan where documents give no interval, or a number is
        not finite.

    Raises InputError: fewer than two values.
    """
    from scipy import special

    low, high = documents
    mean = float(np.mean(values))
    distance = abs(mean - reference)
    if math.isnan(low) or math.isnan(high) or not math.isfinite(distance):
        return math.nan
    if distance == 0:
        return 1.0
    # 1. The documents' standard error, from the arm on the reference's side.
    documents_arm = max(mean - low, 0.0) if mean > reference else max(high - mean, 0.0)
    standard_error = documents_arm / float(special.ndtri((1 + LEVEL) / 2))
    # 2. Bisect for the p at which both arms together reach the reference.
    smallest, largest = 0.0, 1.0
    for _ in range(BISECTIONS):
        p_value = (smallest + largest) / 2
        normal_arm = standard_error * float(special.ndtri(1 - p_value / 2))
        arm = math.hypot(normal_arm, student_arm(values, 1 - p_value))
        if arm > distance:
            smallest = p_value
        else:
            largest = p_value
    return largest
