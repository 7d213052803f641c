"""Resamples of units, and the score of each: rows drawn with replacement, in bounded blocks.

A resample is a count per unit. A score that is a function of its columns' sums is then one product
of counts and statistics for thousands of resamples; any other is computed resample by resample.
"""

from collections.abc import Callable, Iterator

import numpy as np

from longform.statistics.protocols import Metric, Weighing
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored

NUMBERS_AT_ONCE = 1 << 20  # drawn in one block


def blocks(draws: int, size: int) -> Iterator[int]:
    """Sizes of the blocks in which draws are made.

    Args:
        draws: how many are made in all.
        size: numbers that one draw consists of; a block holds at most ``NUMBERS_AT_ONCE``.

    Yields:
        The number of draws of each block; they sum to ``draws``.
    """
    largest = max(1, NUMBERS_AT_ONCE // max(1, size))
    for start in range(0, draws, largest):
        yield min(largest, draws - start)


def resampled_rows(
    rows: int, rng: np.random.Generator, resamples: int, size: int = 0
) -> Iterator[np.ndarray]:
    """Row indices drawn with replacement; the draws do not depend on the blocks.

    Args:
        rows: how many rows there are to draw from, and how many a resample has.
        rng: source of the draws.
        resamples: how many are drawn in all.
        size: numbers that the caller makes of one resample, where they are more than its rows.

    Yields:
        Row indices, int64 (resamples of the block, rows).
    """
    for count in blocks(resamples, max(rows, size)):
        yield rng.integers(0, rows, (count, rows))


def occurrences(index: np.ndarray, rows: int) -> np.ndarray:
    """How often each row stands in each list of row indices.

    Args:
        index: lists of row indices, int (lists, indices).
        rows: how many rows there are.

    Returns:
        float64 (lists, rows).
    """
    lists = len(index)
    # Each list counts in a range of its own, so that one pass counts them all.
    shifted = index + np.arange(lists)[:, None] * rows
    counts = np.bincount(shifted.ravel(), minlength=lists * rows)
    return counts.reshape(lists, rows).astype(np.float64)


def bootstrap(
    statistic: Callable[[np.ndarray], float],
    rows: int,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> np.ndarray:
    """The nonparametric bootstrap (Efron 1979) of any function of row indices.

    Args:
        statistic: a number from the row indices (rows,) of one resample; rows are documents, so
            that ratios of sums resample whole documents.
        rows, rng, resamples: as for :func:`resampled_rows`.

    Returns:
        The statistic of each resample, (resamples,).
    """
    values = []
    for block in resampled_rows(rows, rng, resamples):
        for index in block:
            values.append(statistic(index))
    return np.array(values)


def resampled_scores(
    critic: Metric, statistics: SufficientStatistics, index: np.ndarray
) -> np.ndarray:
    """Scores of resamples, each a list of rows of the statistics.

    Args:
        index: rows that each resample consists of, repeats allowed, int (resamples, rows drawn).

    Returns:
        float64 (resamples,).
    """
    counts = occurrences(index, len(statistics.unit_ids))
    return weighted_scores(critic, statistics, counts)


def weighted_scores(
    critic: Metric, statistics: SufficientStatistics, counts: np.ndarray
) -> np.ndarray:
    """Scores of resamples, each of which takes every unit a number of times.

    Args:
        counts: how often each resample takes each unit, float64 (resamples, units).

    Returns:
        float64 (resamples,).
    """
    if isinstance(critic, Weighing):
        return critic.weighted_scores(statistics, counts)
    # The sums of all resamples are one product; 0 times an infinite value would be no number.
    if isinstance(critic, SumScored) and np.isfinite(statistics.values).all():
        return critic.of_sums(Sums(statistics.columns, counts @ statistics.values))
    # Any other score sees the rows of each resample, without names: copying them takes long.
    units = np.arange(len(statistics.unit_ids))
    scores = []
    for times in counts.astype(np.int64):
        rows = np.repeat(units, times)
        resample = SufficientStatistics(
            ("",) * len(rows), statistics.columns, statistics.values[rows]
        )
        scores.append(critic.score_of(resample))
    return np.array(scores)
