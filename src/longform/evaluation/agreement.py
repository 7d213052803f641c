"""Agreement of people with each other, and of scores with people.

Correlations, leave-one-out agreement, alpha, kappa, and a test of two correlations. Ratings are
float64 (raters, items) with nan where a rater did not see an item. An undefined coefficient
(constant ratings, too few items) is nan and counted, never zero. Stepwise regression is in
:mod:`longform.evaluation.human_ratings`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from longform.errors import ConfigError, InputError
from longform.statistics.arithmetic import ratio
from longform.statistics.intervals import percentile_interval
from longform.statistics.resampling import occurrences, resampled_rows
from longform.statistics.sign_flips import sign_flip_test

KINDS = ("pearson", "spearman")
LEVEL = 0.95
FEWEST = 3  # paired values below which no coefficient is given
SAME_ORDER = 1 - 1e-12  # Spearman's coefficient of one order of both sides, but for rounding
NEARLY_ONE = 1 - 1e-15  # the largest correlation that has a place on the Fisher scale


@dataclass(frozen=True)
class Correlation:
    """A coefficient with its interval and two-tailed p-value.

    Attributes:
        value: the coefficient; nan where it is undefined.
        low, high: its 95 % interval.
        p_value: two-tailed, of the hypothesis that there is no correlation.
        items: number of pairs of values.
        excluded: number of pairs with a missing value, which are left out.
    """

    value: float
    low: float
    high: float
    p_value: float
    items: int
    excluded: int


def value_of(kind: str, x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's or Spearman's coefficient, without the p-value: nine tenths of SciPy's time.

    Args:
        kind: one of ``KINDS``.
        x, y: pairs without nan, (pairs,).

    Returns:
        The coefficient; nan for fewer than ``FEWEST`` pairs, a constant side, or Pearson's of an
        infinite value.
    """
    if _is_undefined(kind, x, y):
        return math.nan
    if kind == "spearman":
        x = stats.rankdata(x)
        y = stats.rankdata(y)
    x = _near_one(x)
    y = _near_one(y)
    x = x - x.mean()
    y = y - y.mean()
    cosine = (x / np.linalg.norm(x)) @ (y / np.linalg.norm(y))
    return float(np.clip(cosine, -1.0, 1.0))


def _is_undefined(kind: str, *sides: np.ndarray) -> bool:
    """Whether complete pairs have no coefficient: too few, a constant side, or no finite mean."""
    for side in sides:
        if len(side) < FEWEST or side.min() == side.max():
            return True
        if kind == "pearson" and not np.isfinite(side).all():
            return True
    return False


def _near_one(values: np.ndarray) -> np.ndarray:
    """Values times the power of two that brings the largest below 1.

    So their squares neither overflow nor vanish, and no digit changes.
    """
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -exponent)


def weighted_values(kind: str, x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The coefficients of many resamples at once, as :func:`value_of` computes one.

    Args:
        kind: one of ``KINDS``.
        x, y: complete pairs, (pairs,).
        counts: how often each pair is in each resample, float64 (resamples, pairs).

    Returns:
        float64 (resamples,); nan where undefined.
    """
    if kind == "pearson" and not (np.isfinite(x).all() and np.isfinite(y).all()):
        return np.full(len(counts), np.nan)
    # 1. Deviations from the mean of each resample, by values or by ranks.
    totals = counts.sum(axis=1)
    centred = []
    for side in (x, y):
        values = _weighted_ranks(side, counts) if kind == "spearman" else _near_one(side)
        means = ratio((counts * values).sum(axis=1), totals)
        centred.append(values - means[:, None])
    x_deviations, y_deviations = centred
    # 2. Their products.
    covariances = (counts * x_deviations * y_deviations).sum(axis=1)
    x_squares = (counts * x_deviations * x_deviations).sum(axis=1)
    y_squares = (counts * y_deviations * y_deviations).sum(axis=1)
    # 3. Too few pairs, or a constant side, have no coefficient.
    undefined = (totals < FEWEST) | _is_constant(x, counts) | _is_constant(y, counts)
    scale = np.where(undefined, 1.0, np.sqrt(x_squares * y_squares))
    return np.where(undefined, np.nan, np.clip(covariances / scale, -1.0, 1.0))


def _is_constant(side: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Whether all values of a resample are equal, bool (resamples,)."""
    smallest = np.where(counts > 0, side, np.inf).min(axis=1, initial=np.inf)
    largest = np.where(counts > 0, side, -np.inf).max(axis=1, initial=-np.inf)
    return smallest == largest


def _weighted_ranks(side: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Ranks within each resample, equal values sharing the mean of their ranks.

    Args:
        side: values, (pairs,).
        counts: as for :func:`weighted_values`.

    Returns:
        float64 (resamples, pairs).
    """
    order = np.argsort(side, kind="stable")
    ascending = side[order]
    # in each resample, the number of values before each rank, in ascending order
    before = np.pad(np.cumsum(counts[:, order], axis=1), ((0, 0), (1, 0)))
    first = np.searchsorted(ascending, side, "left")
    last = np.searchsorted(ascending, side, "right")
    return (before[:, first] + before[:, last] + 1) / 2


def correlate(kind: str, x: np.ndarray, y: np.ndarray) -> Correlation:
    """Pearson's or Spearman's coefficient with a 95 % interval on the Fisher scale.

    Fisher 1921; the variance of Spearman's by Bonett and Wright 2000.

    Args:
        kind: one of ``KINDS``.
        x, y: (pairs,); pairs with a nan are left out and counted.

    Returns:
        The coefficient; fewer than three pairs, constant values, or infinite ones of Pearson's give
        nan.

    Raises:
        ConfigError: unknown kind.
        InputError: sides of different length.
    """
    size = len(x)
    (x, y), _ = _complete(kind, x, y)
    items = len(x)
    excluded = size - items
    if _is_undefined(kind, x, y):
        return Correlation(math.nan, math.nan, math.nan, math.nan, items, excluded)
    test = stats.pearsonr if kind == "pearson" else stats.spearmanr
    coefficient, p_value = test(x, y)
    value = float(coefficient)
    if kind == "spearman" and abs(value) > SAME_ORDER:
        p_value = _p_of_same_order(x)
    # the standard error on the Fisher scale; three pairs have none
    variance = 1 + value**2 / 2 if kind == "spearman" else 1.0
    error = math.sqrt(variance / (items - 3)) if items > 3 else math.inf
    reach = stats.norm.ppf((1 + LEVEL) / 2) * error
    middle = math.atanh(min(max(value, -NEARLY_ONE), NEARLY_ONE))
    low = min(math.tanh(middle - reach), value)
    high = max(math.tanh(middle + reach), value)
    return Correlation(value, low, high, float(p_value), items, excluded)


def _p_of_same_order(side: np.ndarray) -> float:
    """Two-tailed p of two sides in the same or the opposite order: their share of all orders.

    The approximation by Student's t would say 0, even of three pairs.

    Args:
        side: values of either side, (pairs,); equal ones may change places.
    """
    _, sizes = np.unique(side, return_counts=True)
    same = math.prod(map(math.factorial, sizes.tolist()))
    # The opposite order is among them where it has ties at the same places.
    opposite = same if sizes.tolist() == sizes[::-1].tolist() else 0
    return (same + opposite) / math.factorial(len(side))


def _complete(kind: str, *columns: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The items that have a value in every column, and which these are, bool (items,).

    Raises ConfigError: unknown kind of correlation. Raises InputError: other shapes, or no numbers.
    """
    if kind not in KINDS:
        raise ConfigError(f"correlation {kind!r}; allowed are {list(KINDS)}")
    try:
        sides = [np.asarray(column, dtype=np.float64) for column in columns]
    except ValueError as error:
        raise InputError(f"correlation of what is no number ({error}); give numbers") from error
    shapes = [side.shape for side in sides]
    if len(set(shapes)) > 1 or sides[0].ndim != 1:
        shown = " and ".join(map(str, shapes))
        raise InputError(f"correlation of shapes {shown}; give two vectors of one length")
    is_complete = np.asarray(~np.isnan(np.stack(sides)).any(axis=0))
    return [side[is_complete] for side in sides], is_complete


def clustered_interval(
    kind: str,
    x: np.ndarray,
    y: np.ndarray,
    clusters: Sequence,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> tuple[float, float]:
    """95 % percentile interval of a correlation; its resamples draw whole clusters.

    Args:
        kind, x, y: as for :func:`correlate`.
        clusters: cluster of each pair, also of incomplete ones. Pairs of one cluster, such as
            summaries of one text, are not independent.
        rng: random generator of the resamples.
        resamples: number of resamples.

    Raises:
        InputError: ``x`` and ``y`` of different length, or a pair without a cluster.
    """
    (x, y), is_complete = _complete(kind, x, y)
    _check_clusters(clusters, is_complete)
    number_of = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    numbers = np.array([number_of[name] for name in clusters], dtype=np.int64)
    draws = []
    for counts in clustered_counts(numbers[is_complete], len(number_of), rng, resamples):
        draws.append(weighted_values(kind, x, y, counts))
    return percentile_interval(np.concatenate(draws))


def _check_clusters(clusters: Sequence, items: np.ndarray) -> None:
    """Raise InputError where there are more or fewer clusters than items."""
    if len(clusters) != len(items):
        raise InputError(f"{len(items)} items and {len(clusters)} clusters; name that of each item")


def clustered_counts(
    cluster_of_item: np.ndarray, clusters: int, rng: Any, resamples: int
) -> Iterator[np.ndarray]:
    """How often each item is in each resample of clusters.

    Args:
        cluster_of_item: number of the cluster of each item, int64 (items,).
        clusters: number of clusters.
        rng: random generator of the resamples.
        resamples: number of resamples.

    Yields:
        float64 (resamples of the block, items).
    """
    for index in resampled_rows(clusters, rng, resamples, len(cluster_of_item)):
        yield occurrences(index, clusters)[:, cluster_of_item]


@dataclass(frozen=True)
class Agreement:
    """Mean over raters of the correlation of each with the mean of the others.

    Attributes:
        value: the mean.
        low, high: of its 95 % percentile interval over items.
        raters: number of raters with a coefficient.
        excluded: number of raters without one: constant, or fewer than three shared items.
    """

    value: float
    low: float
    high: float
    raters: int
    excluded: int


def _check_ratings(ratings: np.ndarray) -> None:
    """Raise InputError where ratings are no table of two raters or more, or one is infinite."""
    if ratings.ndim != 2 or len(ratings) < 2:
        raise InputError(
            f"ratings have shape {ratings.shape}; allowed is (raters, items) of two raters or more"
        )
    if np.isinf(ratings).any():
        raise InputError("a rating is infinite; allowed are numbers, and nan for none")


def leave_one_out(
    ratings: np.ndarray, rng: np.random.Generator, resamples: int = 1000
) -> Agreement:
    """Leave-one-out agreement, an upper bound for any model.

    Weiss and Kulikowski 1991; lapata2005 section 5.2.

    Args:
        ratings: float64 (raters, items).
        rng: random generator of the resamples of items.
        resamples: number of resamples.

    Raises:
        InputError: fewer than two raters, or nobody has a coefficient (all ratings constant).
    """
    _check_ratings(ratings)
    correlations = _with_the_others(ratings)
    is_defined = ~np.isnan(correlations)
    if not is_defined.any():
        raise InputError(
            f"agreement: of {len(ratings)} raters none has a correlation: "
            "constant, or no 3 shared items"
        )
    # the same of resampled items; nan where nobody has a coefficient
    size = ratings.shape[1]
    draws = np.full(resamples, math.nan)
    for draw in range(resamples):
        of_resample = _with_the_others(ratings[:, rng.integers(0, size, size)])
        if not np.isnan(of_resample).all():
            draws[draw] = np.nanmean(of_resample)
    low, high = percentile_interval(draws)
    value = float(correlations[is_defined].mean())
    return Agreement(value, low, high, int(is_defined.sum()), int((~is_defined).sum()))


def _with_the_others(ratings: np.ndarray) -> np.ndarray:
    """Pearson's correlation of each rater with the mean of the others, (raters,); nan for none."""
    seen = ~np.isnan(ratings)
    filled = np.where(seen, ratings, 0.0)
    # for each rater and item, the number of others who rated it, and their mean
    others = seen.sum(axis=0) - seen
    sums = filled.sum(axis=0) - filled
    means = sums / np.maximum(others, 1)
    shared = seen & (others > 0)
    values = []
    for rater, is_shared in enumerate(shared):
        values.append(value_of("pearson", ratings[rater][is_shared], means[rater][is_shared]))
    return np.array(values)


def krippendorff_alpha(ratings: np.ndarray, level: str = "interval") -> float:
    """Krippendorff's alpha (2011) of the items that two raters saw.

    Args:
        ratings: float64 (raters, items).
        level: ``nominal`` or ``interval``.

    Returns:
        Alpha; nan where all ratings are one value.

    Raises:
        ConfigError: unknown level.
        InputError: fewer than two raters, or no item that two rated.
    """
    _check_ratings(ratings)
    if level not in ("nominal", "interval"):
        raise ConfigError(f"alpha level {level!r}; allowed are nominal and interval")
    shared = ratings[:, (~np.isnan(ratings)).sum(axis=0) >= 2]
    if not shared.size:
        raise InputError("alpha: no item has two ratings; give items that raters share")
    # 1. Number of ratings of each value that each item has, (items, values).
    values = np.unique(shared[~np.isnan(shared)])
    tables = np.stack([(shared == value).sum(axis=0) for value in values], axis=1).astype(float)
    # 2. Krippendorff's coincidences of two values on one item, (values, values), and their sums.
    scaled = tables / (tables.sum(axis=1) - 1)[:, None]
    coincidences = scaled.T @ tables - np.diag(scaled.sum(axis=0))
    totals = coincidences.sum(axis=0)
    # 3. Disagreement as observed, over that of ratings given to items at random.
    gaps = values[:, None] - values[None, :]
    distances = gaps**2 if level == "interval" else (gaps != 0).astype(float)
    expected = (np.outer(totals, totals) * distances).sum()
    if not expected:
        return math.nan
    observed = (coincidences * distances).sum()
    return float(1 - (totals.sum() - 1) * observed / expected)


def cohen_kappa(first: Sequence, second: Sequence) -> float:
    """Cohen's kappa of two raters (1960) by scikit-learn.

    Returns:
        Kappa; nan where chance agreement is complete (both constant and equal).

    Raises:
        InputError: lengths differ, no item, or a rating that is nan.
    """
    from sklearn.metrics import cohen_kappa_score  # a second to import

    if len(first) != len(second) or not len(first):
        raise InputError(f"kappa of {len(first)} and {len(second)} ratings; give as many of both")
    if len(set(first)) == 1 and set(first) == set(second):
        return math.nan
    # Categories by number: scikit-learn takes 2.5 for a measurement.
    ratings = np.concatenate([np.asarray(first), np.asarray(second)])
    categories, numbers = np.unique(ratings, return_inverse=True)
    if any(category != category for category in categories.tolist()):
        raise InputError("kappa of a rating that is nan; leave out items that one did not rate")
    return float(cohen_kappa_score(numbers[: len(first)], numbers[len(first) :]))


def compare_correlations(
    first: np.ndarray,
    second: np.ndarray,
    ratings: np.ndarray,
    clusters: Sequence,
    rng: Any,
    flips: int = 2000,
) -> float:
    r"""Test whether two scorers correlate differently with ratings.

    Their z-scores are exchanged cluster by cluster: the difference of Pearson's correlations is a
    sum over clusters of $\sum_i (z_{1i} - z_{2i}) z_{ri}$, and an exchange of a whole cluster
    (summaries of one article) flips its sign.

    Args:
        first, second, ratings: (items,); items with a nan are left out.
        clusters: cluster of each item.
        rng: random generator of the exchanges.
        flips: number of random exchanges.

    Returns:
        Two-sided p; nan where a correlation is undefined.

    Raises:
        InputError: sides of different length, or an item without a cluster.
    """
    columns, is_complete = _complete("pearson", first, second, ratings)
    _check_clusters(clusters, is_complete)
    if _is_undefined("pearson", *columns):
        return math.nan
    first_z, second_z, rating_z = (stats.zscore(_near_one(column)) for column in columns)
    _, cluster_of_item = np.unique(np.asarray(list(clusters))[is_complete], return_inverse=True)
    sums = np.bincount(cluster_of_item, (first_z - second_z) * rating_z)
    return sign_flip_test(sums, rng, flips)
