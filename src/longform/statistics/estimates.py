"""How sure is a score? A value with its 95 % interval over units, and over seeds of the fit."""

import math
from dataclasses import dataclass

import numpy as np

from longform.errors import InputError
from longform.statistics.intervals import percentile_interval, share_interval
from longform.statistics.protocols import (
    Centring,
    Metric,
    ParametricBootstrap,
    Reseeded,
    is_share,
)
from longform.statistics.resampling import resampled_rows, resampled_scores
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.trainings import two_level_interval


@dataclass(frozen=True)
class Estimate:
    """A score with its interval and everything that would change it.

    Attributes:
        value: the score.
        low, high: ends of its 95 % interval.
        units: how many units were scored.
        excluded: how many could not be scored.
        signature: the critic's class and settings.
    """

    value: float
    low: float
    high: float
    units: int
    excluded: int
    signature: str


def estimate(
    critic: Metric,
    statistics: SufficientStatistics,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> Estimate:
    """Score with a 95 % percentile-bootstrap interval over units.

    A mean over seeds (:class:`Reseeded`) has an interval over units and seeds. A share that is 0 or
    1 in every unit has Wilson's interval (:func:`longform.statistics.intervals.share_interval`).

    Args:
        critic: what scores.
        statistics: a row for each unit.
        rng: source of the resamples.
        resamples: how many there are.

    Raises InputError: the statistics have no rows.
    """
    # 1. The interval over units.
    low, high = percentile_interval(bootstrap_scores(critic, statistics, rng, resamples))
    # 2. Where the score is a mean over seeds, another seed's error is added.
    if isinstance(critic, Reseeded):
        seed_scores = critic.of_seeds(statistics)
        if len(seed_scores) > 1:
            bounds = (-math.inf, critic.upper_bound)
            low, high = two_level_interval((low, high), seed_scores, bounds)
    # 3. Where all units gave the same answer, resamples say nothing, and Wilson's interval stands.
    value = critic.score_of(statistics)
    excluded = int(statistics.total("excluded"))
    units = len(statistics.unit_ids) - excluded
    if is_share(critic):
        low, high = share_interval((low, high), value, units)
    return Estimate(value, low, high, units, excluded, signature(critic))


def bootstrap_scores(
    critic: Metric,
    statistics: SufficientStatistics,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> np.ndarray:
    """Scores of resamples of the units, drawn with replacement (Efron 1979).

    A :class:`ParametricBootstrap` critic has its own uncertain part redrawn for every resample. A
    :class:`Centring` one has its scores moved so that their mean is its score.

    Args:
        critic, statistics, rng, resamples: as for :func:`estimate`.

    Returns:
        float64 (resamples,).

    Raises InputError: the statistics have no rows.
    """
    rows = len(statistics.unit_ids)
    if rows == 0:
        raise InputError(
            f"{signature(critic)}: got zero units, at least one is needed; "
            "check the split and the reader"
        )
    # 1. Score each resample.
    blocks = [np.zeros(0)]
    if isinstance(critic, ParametricBootstrap):
        for _ in range(resamples):
            index = next(resampled_rows(rows, rng, 1))
            blocks.append(resampled_scores(critic.redrawn(rng), statistics, index))
    else:
        for index in resampled_rows(rows, rng, resamples):
            blocks.append(resampled_scores(critic, statistics, index))
    scores = np.concatenate(blocks)
    # 2. Remove the bias that repeated units have.
    if isinstance(critic, Centring) and resamples:
        bias = np.nanmean(scores) - critic.score_of(statistics)
        scores = np.minimum(scores - bias, critic.upper_bound)
    return scores
