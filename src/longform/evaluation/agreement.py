"""Agreement of people with each other and of scores with people: correlations, leave-one-out, alpha, kappa, Williams.

Ratings are float64 (raters, items) with nan where a rater did not see an item. An undefined coefficient (constant
ratings, too few items) is nan and counted, never zero. Stepwise regression is in :mod:`longform.evaluation.human_ratings`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from longform.errors import BadInput
from longform.statistics.arithmetic import ratio
from longform.statistics.intervals import percentile_interval
from longform.statistics.resampling import occurrences, resampled_rows
from longform.statistics.sign_flips import sign_flip_test

KINDS = ("pearson", "spearman")
LEVEL = 0.95
FEWEST = 3  # paired values below which no coefficient is given


@dataclass(frozen=True)
class Correlation:
    """A coefficient with its interval and two-tailed p-value; pairs with a missing value are excluded."""

    value: float
    low: float
    high: float
    p_value: float
    items: int
    excluded: int


def value_of(kind: str, x: np.ndarray, y: np.ndarray) -> float:
    """The coefficient of complete pairs without SciPy's test, which takes nine tenths of its time; nan where undefined."""
    if _shapeless(x, y):
        return math.nan
    if kind == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x / np.linalg.norm(x)) @ (y / np.linalg.norm(y)), -1.0, 1.0))


def weighted_values(kind: str, x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """:func:`value_of` of resamples that take each pair so often as ``counts`` (resamples, pairs) says, (resamples,)."""
    total = counts.sum(axis=1)
    shapeless, centred = total < FEWEST, []
    for side in (x, y):
        low, high = (np.where(counts > 0, side, end) for end in (np.inf, -np.inf))
        shapeless = shapeless | (
            low.min(axis=1, initial=np.inf) == high.max(axis=1, initial=-np.inf)
        )
        if (
            kind == "spearman"
        ):  # ranks within each resample, the mean of the places that equal values take
            order = np.argsort(side, kind="stable")
            before = np.pad(np.cumsum(counts[:, order], axis=1), ((0, 0), (1, 0)))
            first, last = (np.searchsorted(side[order], side, end) for end in ("left", "right"))
            side = (before[:, first] + before[:, last] + 1) / 2
        centred.append(side - ratio((counts * side).sum(axis=1), total)[:, None])
    products = [
        (counts * one * other).sum(axis=1)
        for one, other in (centred, centred[:1] * 2, centred[1:] * 2)
    ]
    scale = np.where(shapeless, 1.0, np.sqrt(products[1] * products[2]))
    return np.where(shapeless, np.nan, np.clip(products[0] / scale, -1.0, 1.0))


def _shapeless(x: np.ndarray, y: np.ndarray) -> bool:
    return bool(len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0)


def correlate(kind: str, x: np.ndarray, y: np.ndarray) -> Correlation:
    """Pearson or Spearman with a 95 % interval on the Fisher scale (Fisher 1921; Bonett and Wright 2000).

    Pairs with a nan are left out and counted; fewer than three, or constant values, give nan. Raises BadInput: unknown kind,
    or sides of different length.
    """
    size = len(x)
    (x, y), _ = _paired(kind, x, y)
    items = len(x)
    if _shapeless(x, y):
        return Correlation(math.nan, math.nan, math.nan, math.nan, items, size - items)
    value, p_value = map(float, (stats.pearsonr if kind == "pearson" else stats.spearmanr)(x, y))
    error = (
        math.sqrt((1 + value**2 / 2 if kind == "spearman" else 1.0) / (items - 3))
        if items > 3
        else math.inf
    )
    reach = stats.norm.ppf((1 + LEVEL) / 2) * error
    middle = math.atanh(min(max(value, -1 + 1e-15), 1 - 1e-15))
    low, high = math.tanh(middle - reach), math.tanh(middle + reach)
    return Correlation(value, min(low, value), max(high, value), p_value, items, size - items)


def _paired(kind: str, *columns: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The items that have a value in every column, and which these are, bool."""
    if kind not in KINDS:
        raise BadInput(f"correlation {kind!r}; allowed are {list(KINDS)}")
    sides = [np.asarray(column, dtype=np.float64) for column in columns]
    shapes = [side.shape for side in sides]
    if len(set(shapes)) > 1 or sides[0].ndim != 1:
        raise BadInput(
            f"correlation of shapes {' and '.join(map(str, shapes))}; give two vectors of one length"
        )
    kept: Any = ~np.isnan(np.stack(sides)).any(axis=0)
    return [side[kept] for side in sides], kept


def clustered_interval(
    kind: str,
    x: np.ndarray,
    y: np.ndarray,
    clusters: Sequence,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> tuple[float, float]:
    """95 % percentile interval over whole clusters (source texts), since their items are not independent."""
    (x, y), kept = _paired(kind, x, y)
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    places = np.array([names[name] for name in clusters], dtype=np.int64)[kept]
    drawn = clustered_counts(places, len(names), rng, resamples)
    return percentile_interval(
        np.concatenate([weighted_values(kind, x, y, counts) for counts in drawn])
    )


def clustered_counts(
    places: np.ndarray, clusters: int, rng: Any, resamples: int
) -> Iterator[np.ndarray]:
    """How often each item, of the cluster ``places`` says, is in each resample of clusters, (resamples, items) by blocks."""
    for index in resampled_rows(clusters, rng, resamples, len(places)):
        yield occurrences(index, clusters)[:, places]


@dataclass(frozen=True)
class Agreement:
    """Mean over raters of the correlation of each with the mean of the others; 95 % percentile interval over items."""

    value: float
    low: float
    high: float
    raters: int
    excluded: int  # raters without a coefficient: constant, or fewer than three shared items


def _check_ratings(ratings: np.ndarray) -> None:
    if ratings.ndim != 2 or len(ratings) < 2:
        raise BadInput(
            f"ratings have shape {ratings.shape}; allowed is (raters, items) of two raters or more"
        )


def leave_one_out(
    ratings: np.ndarray, rng: np.random.Generator, resamples: int = 1000
) -> Agreement:
    """Leave-one-out agreement (Weiss and Kulikowski 1991; lapata2005 section 5.2): an upper bound for any model.

    Raises BadInput: fewer than two raters, or nobody has a coefficient (all ratings constant).
    """
    _check_ratings(ratings)

    def each(ratings: np.ndarray) -> np.ndarray:
        seen = ~np.isnan(ratings)
        filled = np.where(seen, ratings, 0.0)
        others = seen.sum(axis=0) - seen
        means = np.divide(
            filled.sum(axis=0) - filled,
            others,
            out=np.full(ratings.shape, np.nan),
            where=others > 0,
        )
        both = seen & (others > 0)
        return np.array(
            [value_of("pearson", r[k], m[k]) for r, m, k in zip(ratings, means, both, strict=True)]
        )

    per_rater, size = each(ratings), ratings.shape[1]
    kept = ~np.isnan(per_rater)
    if not kept.any():
        raise BadInput(
            f"agreement: of {len(ratings)} raters none has a correlation: constant, or no 3 shared items"
        )
    drawn = (each(ratings[:, rng.integers(0, size, size)]) for _ in range(resamples))
    draws = np.array(
        [math.nan if np.isnan(values).all() else np.nanmean(values) for values in drawn]
    )
    return Agreement(
        float(per_rater[kept].mean()),
        *percentile_interval(draws),
        int(kept.sum()),
        int((~kept).sum()),
    )


def krippendorff_alpha(ratings: np.ndarray, level: str = "interval") -> float:
    """Krippendorff's alpha (2011), ``nominal`` or ``interval``, of items that two saw; nan where all ratings are one value.

    Raises BadInput: unknown level, fewer than two raters, or no item that two rated.
    """
    _check_ratings(ratings)
    if level not in ("nominal", "interval"):
        raise BadInput(f"alpha level {level!r}; allowed are nominal and interval")
    shared = ratings[:, (~np.isnan(ratings)).sum(axis=0) >= 2]
    if not shared.size:
        raise BadInput("alpha: no item has two ratings; give items that raters share")
    values = np.unique(shared[~np.isnan(shared)])
    tables = np.stack([(shared == value).sum(axis=0) for value in values], axis=1).astype(float)
    scaled = tables / (tables.sum(axis=1) - 1)[:, None]
    coincidences = scaled.T @ tables - np.diag(scaled.sum(axis=0))
    totals = coincidences.sum(axis=0)
    apart = values[:, None] - values[None, :]
    distances = apart**2 if level == "interval" else (apart != 0).astype(float)
    expected = (np.outer(totals, totals) * distances).sum()
    return (
        float(1 - (totals.sum() - 1) * (coincidences * distances).sum() / expected)
        if expected
        else math.nan
    )


def cohen_kappa(first: Sequence, second: Sequence) -> float:
    """Cohen's kappa of two raters (1960) by scikit-learn; nan where chance agreement is complete (both constant and equal).

    Raises BadInput: lengths differ, or no item.
    """
    from sklearn.metrics import cohen_kappa_score  # a second to import

    if len(first) != len(second) or not len(first):
        raise BadInput(f"kappa of {len(first)} and {len(second)} ratings; give as many of both")
    if len(set(first)) == 1 and set(first) == set(second):
        return math.nan
    return float(cohen_kappa_score(np.asarray(first), np.asarray(second)))


def compare_correlations(
    first: np.ndarray,
    second: np.ndarray,
    ratings: np.ndarray,
    clusters: Sequence,
    rng: Any,
    flips: int = 2000,
) -> float:
    r"""Two-sided p that two scorers correlate differently with ratings: their z-scores exchanged cluster by cluster.

    The difference of Pearson's correlations is a sum over clusters of $\sum_i (z_{1i} - z_{2i}) z_{ri}$, and an exchange of
    a whole cluster (summaries of one article) turns its sign. nan where a correlation is undefined.

    Raises BadInput: sides of different length.
    """
    columns, kept = _paired("pearson", first, second, ratings)
    if any(_shapeless(column, column) for column in columns):
        return math.nan
    one, two, rated = (stats.zscore(column) for column in columns)
    _, places = np.unique(np.asarray(clusters)[kept], return_inverse=True)
    return sign_flip_test(np.bincount(places, (one - two) * rated), rng, flips)
