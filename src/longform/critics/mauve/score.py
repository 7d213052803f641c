r"""MAUVE: the area under the divergence curve of two sets of texts, quantised together.

Pillutla et al. 2021, 2023. For histograms $P$ and $Q$ over the clusters of both sides' features and
mixtures $R_\lambda = \lambda P + (1-\lambda) Q$ the curve is
$(e^{-c\,KL(Q\|R_\lambda)}, e^{-c\,KL(P\|R_\lambda)})$, and the score the mean of the areas seen
from both axes. Clusters depend on a seed, so several are drawn and their spread is part of the
result (deng2022 Table 4 prints one).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import rel_entr

from longform.critics.base import TextCritic
from longform.documents import Document, Predictions, Unit
from longform.errors import ConfigError, InputError
from longform.statistics.intervals import percentile_interval
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, sums_of
from longform.statistics.trainings import two_level_interval

SEEDS = (25, 26, 27, 28, 29)  # 25 is the published program's default; at least five show the spread
SCALE = 5.0  # Pillutla et al. 2021, section 4: c
MIXTURES = 25  # Pillutla et al. 2021, section 4
EDGE = 1e-6  # of the mixture weights, as in the published program
KEPT_VARIANCE = 0.9  # Pillutla et al. 2021, section 4
TEXTS_PER_CLUSTER = 10  # Pillutla et al. 2021, section 4
SMOOTHING = 0.5  # Krichevsky and Trofimov's, for the starred variant (Pillutla et al. 2023)
AT_ONCE = 256  # resamples whose curves are in memory together
GREATEST = 1.0  # MAUVE of equal histograms
NEARLY_ZERO = 1e-300  # a norm to divide by in place of 0


@dataclass(frozen=True)
class TextFeature(Unit):
    """One text's feature.

    Attributes:
        values: the feature, float (dims,).
        valid: False for an empty text, which has no feature and is counted.
    """

    values: np.ndarray
    valid: bool = True


def units_from_predictions(predictions: Predictions) -> list[TextFeature]:
    """The feature of each text, from predictions of :func:`longform.critics.mauve.read.read`."""
    units = []
    for unit_id, split, values, valid in predictions.rows("features", "valid"):
        units.append(TextFeature(unit_id, split, values, bool(valid)))
    return units


def shares(labels: np.ndarray, buckets: int, smoothing: float = 0.0) -> np.ndarray:
    """The histogram of texts over clusters: the share of texts in each, float64 (buckets,).

    Args:
        labels: the cluster of each text, int (texts,).
        buckets: how many clusters there are.
        smoothing: is added to the count of each cluster.
    """
    counts = np.bincount(labels, minlength=buckets) + smoothing
    return counts / counts.sum()


def buckets_for(texts: int) -> int:
    """How many clusters to use where the smaller side has so many texts: a tenth, at least 2."""
    return max(2, round(texts / TEXTS_PER_CLUSTER))


def quantise(
    real: np.ndarray, generated: np.ndarray, seed: int, buckets: int | None = None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Cluster both sides' features together.

    Unit length, principal components to 90 % of the variance, k-means.

    Args:
        real, generated: features, (texts, dims).
        seed: of the components and of k-means.
        buckets: clusters; by default :func:`buckets_for` the smaller side.

    Returns:
        The cluster of each real text and of each generated one, (texts,), and how many clusters
        there are.

    Raises:
        InputError: fewer than two texts on a side, a feature that is not finite, or fewer texts
            than clusters.
    """
    import faiss
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    smaller_side = min(len(real), len(generated))
    if smaller_side < 2:
        raise InputError(
            f"MAUVE: {len(real)} real and {len(generated)} generated texts; two of each are needed"
        )
    both = np.concatenate([generated, real])
    if not np.isfinite(both).all():
        raise InputError(
            "MAUVE: a feature is not finite; leave empty texts out, or name another model to read "
            "them: the weights of this one may hold nan or infinity"
        )
    buckets = buckets or buckets_for(smaller_side)
    if buckets > len(both):
        raise InputError(
            f"MAUVE: {buckets} clusters for {len(both)} texts; allowed is at most one per text"
        )
    # 1. Points of unit length, in the components that hold most of the variance.
    points = normalize(both, norm="l2")
    components = PCA(random_state=seed + 1).fit(points)
    explained = np.cumsum(components.explained_variance_ratio_)
    dims = int(np.argmax(explained >= KEPT_VARIANCE)) + 1
    points = np.ascontiguousarray(components.transform(points)[:, :dims], dtype=np.float32)
    # 2. k-means, as in the published program.
    means = faiss.Kmeans(
        dims,
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
    """The divergence curve of two histograms.

    Args:
        real, generated: shares of clusters, (..., buckets).

    Returns:
        Points of the curve with both its ends, float64 (..., MIXTURES + 2, 2).
    """
    # 1. Mixtures of both histograms, from nearly the generated one, p, to nearly the real one, q.
    weights = np.linspace(EDGE, 1 - EDGE, MIXTURES)[:, None]
    generated, real = np.broadcast_arrays(generated, real)
    p = np.asarray(generated, dtype=np.float64)[..., None, :]
    q = np.asarray(real, dtype=np.float64)[..., None, :]
    mixtures = weights * q + (1 - weights) * p
    # 2. The divergence of each histogram from each mixture; the curve's ends lie on the axes.
    divergences = np.empty((*p.shape[:-2], MIXTURES + 2, 2))
    divergences[..., 0, :] = (0.0, np.inf)
    divergences[..., -1, :] = (np.inf, 0.0)
    divergences[..., 1:-1, 0] = rel_entr(p, mixtures).sum(axis=-1)
    divergences[..., 1:-1, 1] = rel_entr(q, mixtures).sum(axis=-1)
    # (x, y) of each point: from (1, 0) to (0, 1)
    return np.exp(-SCALE * divergences)


def area(real: np.ndarray, generated: np.ndarray) -> np.ndarray:
    """MAUVE of two histograms (..., buckets): 1 for equal ones, near 0 for disjoint ones."""
    curve = divergence_curve(real, generated)
    # x and y exchanged, and the points in reverse
    reflected = curve[..., ::-1, ::-1]
    return (_area_below(curve) + _area_below(reflected)) / 2


def _area_below(curve: np.ndarray) -> np.ndarray:
    """Area between curves (..., points, 2) and the x axis, float64 (...,)."""
    x, y = curve[..., 0], curve[..., 1]
    # of equal x the upper end first, which belongs to the curve before it falls
    order = np.lexsort((-y, x))
    x = np.take_along_axis(x, order, axis=-1)
    y = np.take_along_axis(y, order, axis=-1)
    return np.asarray(np.trapezoid(y, x, axis=-1))


def mauve(
    real: np.ndarray,
    generated: np.ndarray,
    rng: np.random.Generator,
    *,
    seeds: Sequence[int] = SEEDS,
    buckets: int | None = None,
    resamples: int = 200,
) -> dict[str, Any]:
    """The published measure over seeds, ready for JSON.

    The interval is over texts and seeds (:mod:`longform.statistics.trainings`). That over texts is
    a bootstrap over each side of the mean over seeds, clusters held fixed, centred on the value: a
    resample is rougher than its sample, so every draw lies below it.

    Args:
        real, generated: features, (texts, dims).
        rng: draws the resamples.
        seeds: of the clusterings.
        buckets: as for :func:`quantise`.
        resamples: of the bootstrap over texts.

    Returns:
        ``mauve``, the mean over seeds, their ``spread`` (standard deviation), the interval ``low``
        and ``high``, the areas ``per_seed``, the mean of the ``smoothed`` ones, and ``buckets``.

    Raises:
        InputError: as :func:`quantise`.
    """
    # 1. Clusters of each seed, and the area under its curve, plain and smoothed.
    clusterings = [quantise(real, generated, seed, buckets) for seed in seeds]
    areas: list[float] = []
    smoothed_areas: list[float] = []
    for real_labels, generated_labels, size in clusterings:
        areas.append(_area_of_labels(real_labels, generated_labels, size))
        smoothed = _area_of_labels(real_labels, generated_labels, size, SMOOTHING)
        smoothed_areas.append(smoothed)
    # 2. The same resamples of texts under every seed's clusters.
    real_rows = []
    generated_rows = []
    for _ in range(resamples):
        real_rows.append(rng.integers(0, len(real), len(real)))
        generated_rows.append(rng.integers(0, len(generated), len(generated)))
    draws_by_seed = []
    for real_labels, generated_labels, size in clusterings:
        real_shares = _resampled_shares(real_labels, real_rows, size)
        generated_shares = _resampled_shares(generated_labels, generated_rows, size)
        draws_by_seed.append(area(real_shares, generated_shares))
    # 3. The interval over texts, centred on the value, and widened by the spread of seeds.
    value = np.mean(areas)
    draws = np.mean(draws_by_seed, axis=0)
    centred = draws + (value - draws.mean())
    low, high = percentile_interval(np.minimum(centred, GREATEST))
    spread = 0.0
    if len(areas) > 1:
        spread = float(np.std(areas, ddof=1))
        low, high = two_level_interval((low, high), areas, (0.0, GREATEST))
    return {
        "mauve": float(value),
        "spread": spread,
        "low": low,
        "high": high,
        "per_seed": areas,
        "smoothed": float(np.mean(smoothed_areas)),
        "buckets": clusterings[0][2],
    }


def _area_of_labels(
    real: np.ndarray, generated: np.ndarray, buckets: int, smoothing: float = 0.0
) -> float:
    """MAUVE of two sides by the cluster of each text."""
    real_shares = shares(real, buckets, smoothing)
    generated_shares = shares(generated, buckets, smoothing)
    return float(area(real_shares, generated_shares))


def _resampled_shares(labels: np.ndarray, rows: Sequence[np.ndarray], buckets: int) -> np.ndarray:
    """The histogram over clusters of each resample of texts, float64 (resamples, buckets)."""
    return np.array([shares(labels[row], buckets) for row in rows])


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class Mauve(TextCritic, better="higher", needs="a token of the model"):
    """MAUVE with clusters held fixed, so that it can be resampled and tested as every other metric.

    The clusters are those of the real texts alone (one k-means per seed), where the published
    program clusters both sides anew for every comparison; :func:`mauve` does that, and ``describe``
    reports it beside this score.

    Attributes:
        seeds: of the clusterings.
        buckets: clusters; 0 for a tenth of the real texts.
        model: folder of the language model whose last hidden state is a text's feature.
        real: features of the real texts, (texts, dims).
        centres: of each seed the mean feature of each cluster, (clusters, dims).
        shares: of each seed the clusters' shares among the real texts, (clusters,).
    """

    seeds: tuple[int, ...] = SEEDS
    buckets: int = 0
    upper_bound: ClassVar[float] = GREATEST
    model: Path | None = field(default=None, kw_only=True, metadata=READING)
    real: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED)
    centres: tuple[np.ndarray, ...] = field(default=(), repr=False, metadata=FITTED)
    shares: tuple[np.ndarray, ...] = field(default=(), repr=False, metadata=FITTED)

    def read_texts(self, documents: Sequence[Document]) -> list[TextFeature]:
        """The last hidden state of each text. Raises ConfigError: no model was named."""
        if self.model is None:
            raise ConfigError(
                "Mauve: no language model to read with; give a folder, Mauve(model=Path(...))"
            )
        from longform.critics.mauve.own_texts import features

        return units_from_predictions(features(documents, self.model))

    def fit_units(self, real: Sequence[TextFeature]) -> "Mauve":
        """Cluster the real texts' features once a seed. Raises InputError: fewer than two."""

        from sklearn.preprocessing import normalize

        points = _features(real)
        if len(points) < 2:
            raise InputError(
                f"MAUVE: {len(points)} of {len(real)} real texts have a feature; two are needed"
            )
        directions = normalize(points)
        buckets = self.buckets or buckets_for(len(points))
        all_centres = []
        all_shares = []
        for seed in self.seeds:
            # both sides are the real texts; a cluster without a text has no centre
            labels, _, _ = quantise(points, points, seed, buckets)
            cluster_shares = shares(labels, buckets)
            used_clusters = np.flatnonzero(cluster_shares)
            centres = []
            for cluster in used_clusters:
                centres.append(directions[labels == cluster].mean(axis=0))
            all_centres.append(np.array(centres))
            all_shares.append(cluster_shares[used_clusters])
        return replace(self, real=points, centres=tuple(all_centres), shares=tuple(all_shares))

    def sufficient_statistics(self, units: Sequence[TextFeature]) -> SufficientStatistics:
        """A column per seed and cluster, 1 where the text lies in it; and excluded (no feature)."""
        if not self.centres:
            raise InputError(
                "MAUVE has no clusters yet; call fit(real texts) and use what it returns"
            )
        # 1. The columns of each seed stand side by side.
        columns: list[str] = []
        first_columns = []
        for seed, centres in zip(self.seeds, self.centres, strict=True):
            first_columns.append(len(columns))
            for cluster in range(len(centres)):
                columns.append(f"seed_{seed}_cluster_{cluster}")
        # 2. Each text lies in the cluster of the nearest centre.
        values = np.zeros((len(units), len(columns) + 1))
        for row, unit in zip(values, units, strict=True):
            row[-1] = not unit.valid
            if not unit.valid:
                continue
            point = unit.values / max(float(np.linalg.norm(unit.values)), NEARLY_ZERO)
            for first, centres in zip(first_columns, self.centres, strict=True):
                distances = ((centres - point) ** 2).sum(axis=1)
                row[first + np.argmin(distances)] = 1
        return SufficientStatistics.of(units, (*columns, "excluded"), values)

    def of_sums(self, sums: Sums) -> Any:
        """Mean area over seeds, a number or one per resample; nan without a text."""
        return np.mean(self._areas(sums), axis=0)[()]

    def of_seeds(self, statistics: SufficientStatistics) -> list[float]:
        """The area under each seed's curve, for the texts of the rows."""
        return [float(value) for value in self._areas(sums_of(statistics))]

    def _areas(self, sums: Sums) -> list[np.ndarray]:
        """MAUVE under each seed's clusters.

        Args:
            sums: of :meth:`sufficient_statistics`, texts in each cluster, seed by seed.

        Returns:
            An array a seed: () for the sums of all texts, or (resamples,).
        """
        areas = []
        first = 0
        for real in self.shares:
            counts = sums.values[..., first : first + len(real)]
            first += len(real)
            # some resamples at a time
            rows = counts.reshape(-1, len(real))
            values = np.empty(len(rows))
            for start in range(0, len(rows), AT_ONCE):
                part = slice(start, start + AT_ONCE)
                values[part] = _areas_against(real, rows[part])
            areas.append(values.reshape(counts.shape[:-1]))
        return areas

    def describe(self, units: Sequence[TextFeature]) -> dict[str, Any]:
        """The published measure, both sides clustered together: its value and spread over seeds."""
        points = _features(units)
        if len(points) < 2:
            return {}
        rng = np.random.default_rng(0)
        return mauve(self.real, points, rng, seeds=self.seeds, buckets=self.buckets or None)


def _features(units: Sequence[TextFeature]) -> np.ndarray:
    """Features of the texts that have one, float64 (texts, dims)."""
    return np.array([unit.values for unit in units if unit.valid], dtype=np.float64)


def _areas_against(real: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The area of each row of counts (resamples, clusters); nan where it counts no text."""
    texts = counts.sum(axis=1)
    generated = counts / np.maximum(texts, 1)[:, None]
    return np.where(texts > 0, area(real, generated), np.nan)
