"""Scores of parts of the data: of each unit by itself, and of resamples of the units.

A resample is a count per unit. A score that is a function of its columns' sums is then one product
of counts and statistics for thousands of resamples; any other is computed resample by resample.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from longform.statistics.protocols import Metric, TextScorer, Weighing
from longform.statistics.resampling import occurrences
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored


def unit_scores(critic: Any, units: Sequence[Any]) -> np.ndarray:
    """A fitted critic's score of each unit by itself.

    Args:
        critic: any :class:`Critic`, or a :class:`TextScorer`.
        units: what its reader makes of texts.

    Returns:
        float64 (units,), nan where the critic excludes the unit or has no score of it.
    """
    if isinstance(critic, TextScorer):
        return np.asarray(critic.coherence(units), dtype=np.float64)
    statistics = critic.sufficient_statistics(units)
    excluded = statistics.excluded()
    if isinstance(critic, SumScored):
        scores = critic.of_sums(Sums(statistics.columns, statistics.values))
        return np.where(excluded, math.nan, scores)
    scores = np.full(len(units), math.nan)
    for row in np.flatnonzero(~excluded):
        scores[row] = critic.score_of(statistics.take(np.array([row])))
    return scores


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
