r"""MAUVE: the area under the divergence curve of two sets of texts, quantised together (Pillutla et al. 2021, 2023).

For histograms $P$ and $Q$ over the clusters of both sides' features and mixtures $R_\lambda = \lambda P + (1-\lambda) Q$
the curve is $(e^{-c\,KL(Q\|R_\lambda)}, e^{-c\,KL(P\|R_\lambda)})$, and the score the mean of the areas seen from both axes.
Clusters depend on a seed, so several are drawn and their spread is part of the result (deng2022 Table 4 prints one).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import rel_entr
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from longform.documents import Predictions, Unit
from longform.errors import BadInput
from longform.statistics.intervals import percentile_interval
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, sums_of
from longform.statistics.sum_scored import SumScored
from longform.statistics.trainings import two_level_interval

SEEDS = (25, 26, 27, 28, 29)  # 25 is the published program's default; at least five show the spread
SCALE = 5.0  # Pillutla et al. 2021, section 4: c
MIXTURES = 25  # Pillutla et al. 2021, section 4
EDGE = 1e-6  # of the mixture weights, as in the published program
KEPT_VARIANCE = 0.9  # Pillutla et al. 2021, section 4
SMOOTHING = 0.5  # Krichevsky and Trofimov's, for the starred variant (Pillutla et al. 2023)
AT_ONCE = 256  # resamples whose curves are in memory together
MOST = 1.0  # MAUVE of equal histograms


@dataclass(frozen=True)
class TextFeature(Unit):
    """One text's feature, float (dims,); an empty text has no feature and is counted."""

    values: np.ndarray
    valid: bool = True


def units_from_predictions(predictions: Predictions) -> list[TextFeature]:
    rows = predictions.rows("features", "valid")
    return [TextFeature(unit, split, values, bool(valid)) for unit, split, values, valid in rows]


def shares(labels: np.ndarray, buckets: int, smoothing: float = 0.0) -> np.ndarray:
    """Shares of the clusters (buckets,) among labels."""
    counts = np.bincount(labels, minlength=buckets) + smoothing
    return counts / counts.sum()


def quantise(
    real: np.ndarray, generated: np.ndarray, seed: int, buckets: int | None = None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Cluster both sides' features (texts, dims) together: unit length, principal components to 90 % of the variance, k-means.

    ``buckets`` is a tenth of the smaller side by default, 2 at least. Returns both sides' clusters, and how many there are.
    """
    import faiss

    if min(len(real), len(generated)) < 2:
        raise BadInput(
            f"MAUVE: {len(real)} real and {len(generated)} generated texts; two of each are needed"
        )
    both = np.concatenate([generated, real])
    if not np.isfinite(both).all():
        raise BadInput(
            "MAUVE: a feature is not finite; leave empty texts out, or name another model to read them: the weights of this "
            "one may hold nan or infinity"
        )
    buckets = buckets or max(2, round(min(len(real), len(generated)) / 10))
    if buckets > len(both):
        raise BadInput(
            f"MAUVE: {buckets} clusters for {len(both)} texts; allowed is at most one per text"
        )
    points = normalize(both, norm="l2")
    parts = PCA(random_state=seed + 1).fit(points)
    kept = int(np.argmax(np.cumsum(parts.explained_variance_ratio_) >= KEPT_VARIANCE)) + 1
    points = np.ascontiguousarray(parts.transform(points)[:, :kept], dtype=np.float32)
    means = faiss.Kmeans(
        kept,
        buckets,
        niter=500,
        nredo=5,
        update_index=True,
        seed=seed + 2,
        min_points_per_centroid=1,
    )
    means.train(points)
    labels = means.index.search(points, 1)[1].ravel()
    return labels[len(generated) :], labels[: len(generated)], buckets


def divergence_curve(real: np.ndarray, generated: np.ndarray) -> np.ndarray:
    """Points of the curve with both its ends, (..., MIXTURES + 2, 2), from histograms (..., buckets)."""
    weights = np.linspace(EDGE, 1 - EDGE, MIXTURES)[:, None]
    sides = [
        np.asarray(side, dtype=np.float64)[..., None, :]
        for side in np.broadcast_arrays(generated, real)
    ]
    mixtures = weights * sides[1] + (1 - weights) * sides[0]
    points = np.empty((*sides[0].shape[:-2], MIXTURES + 2, 2))
    points[..., 0, :], points[..., -1, :] = (0.0, np.inf), (np.inf, 0.0)
    for column, side in enumerate(sides):
        points[..., 1:-1, column] = rel_entr(side, mixtures).sum(axis=-1)
    return np.exp(-SCALE * points)


def area(real: np.ndarray, generated: np.ndarray) -> np.ndarray:
    """MAUVE of two histograms (..., buckets): 1 for equal ones, near 0 for disjoint ones."""
    curve = divergence_curve(real, generated)
    sides = []
    for axes in (curve, curve[..., ::-1, ::-1]):
        x, y = axes[..., 0], axes[..., 1]
        order = np.lexsort(
            (-y, x)
        )  # of equal x the upper end first, which belongs to the curve before it falls
        x, y = (np.take_along_axis(values, order, axis=-1) for values in (x, y))
        sides.append(np.asarray(np.trapezoid(y, x, axis=-1)))
    return (sides[0] + sides[1]) / 2


def mauve(
    real: np.ndarray,
    generated: np.ndarray,
    rng: np.random.Generator,
    *,
    seeds: Sequence[int] = SEEDS,
    buckets: int | None = None,
    resamples: int = 200,
) -> dict[str, Any]:
    """MAUVE over seeds, ready for JSON: its mean and spread, each seed's, their mean smoothed, clusters.

    The interval is over texts and seeds (:mod:`longform.statistics.trainings`). That over texts is a bootstrap over each side of
    the mean over seeds, clusters held fixed, centred on the value: a resample is rougher than its sample, so every draw
    lies below it.
    """
    found = [quantise(real, generated, seed, buckets) for seed in seeds]
    plain, smoothed = (
        [float(area(shares(own, size, s), shares(other, size, s))) for own, other, size in found]
        for s in (0.0, SMOOTHING)
    )
    index = [
        [rng.integers(0, len(side), len(side)) for side in (real, generated)]
        for _ in range(resamples)
    ]
    drawn = [
        area(
            *(
                np.array([shares(side[rows[k]], size) for rows in index])
                for k, side in enumerate(sides)
            )
        )
        for *sides, size in found
    ]
    draws = np.mean(drawn, axis=0)
    low, high = percentile_interval(np.minimum(draws + (np.mean(plain) - draws.mean()), MOST))
    spread = 0.0
    if len(plain) > 1:
        spread = float(np.std(plain, ddof=1))
        low, high = two_level_interval((low, high), plain, (0.0, MOST))
    made = {
        "mauve": float(np.mean(plain)),
        "spread": spread,
        "low": low,
        "high": high,
        "per_seed": plain,
    }
    return {**made, "smoothed": float(np.mean(smoothed)), "buckets": found[0][2]}


@dataclass(frozen=True)
class Mauve(SumScored, better="higher"):
    """MAUVE with clusters held fixed, so that it can be resampled and tested as every other metric.

    The clusters are those of the real texts alone (one k-means per seed), where the published program clusters both
    sides anew for every comparison; :func:`mauve` does that, and ``describe`` reports it beside this score.
    """

    seeds: tuple[int, ...] = SEEDS
    buckets: int = 0  # clusters; 0 for a tenth of the real texts
    upper_bound: ClassVar[float] = MOST
    real: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED)
    centres: tuple[np.ndarray, ...] = field(default=(), repr=False, metadata=FITTED)
    shares: tuple[np.ndarray, ...] = field(default=(), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[TextFeature]) -> "Mauve":
        points = np.array([unit.values for unit in real if unit.valid], dtype=np.float64)
        if len(points) < 2:
            raise BadInput(
                f"MAUVE: {len(points)} of {len(real)} real texts have a feature; two are needed"
            )
        unit, centres, parts = normalize(points), [], []
        for seed in self.seeds:
            labels, _, buckets = quantise(
                points, points, seed, self.buckets or max(2, round(len(points) / 10))
            )
            held = shares(labels, buckets)
            kept = np.flatnonzero(held)
            centres.append(np.array([unit[labels == k].mean(axis=0) for k in kept]))
            parts.append(held[kept])
        return replace(self, real=points, centres=tuple(centres), shares=tuple(parts))

    def sufficient_statistics(self, units: Sequence[TextFeature]) -> SufficientStatistics:
        """A column per seed and cluster, 1 where the text lies in it; and excluded (no feature)."""
        if not self.centres:
            raise BadInput(
                "MAUVE has no clusters yet; call fit(real texts) and use what it returns"
            )
        sizes = [len(centres) for centres in self.centres]
        columns = [
            f"seed_{s}_cluster_{k}"
            for s, size in zip(self.seeds, sizes, strict=True)
            for k in range(size)
        ]
        values = np.zeros((len(units), len(columns) + 1))
        for row, unit in zip(values, units, strict=True):
            row[-1] = not unit.valid
            if unit.valid:
                point = unit.values / max(float(np.linalg.norm(unit.values)), 1e-300)
                nearest = [
                    np.argmin(((centres - point) ** 2).sum(axis=1)) for centres in self.centres
                ]
                row[np.cumsum([0, *sizes[:-1]]) + nearest] = 1
        return SufficientStatistics.of(units, (*columns, "excluded"), values)

    def of_sums(self, sums: Sums) -> Any:
        """Mean area over seeds, a number or one per resample; nan without a text."""
        return np.mean(self._areas(sums), axis=0)[()]

    def of_seeds(self, statistics: SufficientStatistics) -> list[float]:
        """The area under each seed's clusters."""
        return [float(found) for found in self._areas(sums_of(statistics))]

    def _areas(self, sums: Sums) -> list[np.ndarray]:
        """Of each seed the area, a number or one per resample; nan without a text."""
        ends, areas = np.cumsum([len(real) for real in self.shares])[:-1], []
        for real, part in zip(
            self.shares, np.split(sums.values[..., :-1], ends, axis=-1), strict=True
        ):
            rows, found = part.reshape(-1, len(real)), []
            for chunk in np.array_split(rows, range(AT_ONCE, len(rows), AT_ONCE)):
                texts = chunk.sum(axis=1)
                found.append(
                    np.where(texts > 0, area(real, chunk / np.maximum(texts, 1)[:, None]), np.nan)
                )
            areas.append(np.concatenate(found).reshape(part.shape[:-1]))
        return areas

    def describe(self, units: Sequence[TextFeature]) -> dict[str, Any]:
        """The published measure, both sides clustered together: its value and spread over seeds, and its starred kin."""
        points = np.array([unit.values for unit in units if unit.valid], dtype=np.float64)
        if len(points) < 2:
            return {}
        return mauve(
            self.real,
            points,
            np.random.default_rng(0),
            seeds=self.seeds,
            buckets=self.buckets or None,
        )
