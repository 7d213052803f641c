"""BBScore as a critic: the mean over documents of how well their latents fit a Brownian bridge (sheng2024 section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from longform.critics.bbscore.bridge import (
    BridgeFeatures,
    LatentPath,
    diffusion,
    identity,
    inner_gaps,
    order_terms,
)
from longform.critics.bbscore.bridge import units_from_predictions as units_from_predictions
from longform.errors import BadInput
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored

COMMON_STEPS = (
    100  # sheng2024 section 5.5 resamples paths to a common length it does not give; ours
)
SWEEP = np.logspace(
    -4, 4, 65
).tolist()  # of sigma^2 over its estimate; ours, the figure's grid is not stated


class _PathCritic(
    SumScored, better="lower", divided=("score", "documents"), parts="sentences", blame=1
):
    """A mean over documents that sums over sentences."""


@dataclass(frozen=True)
class BridgeCritic(BridgeFeatures, _PathCritic):
    """Mean global BBScore of documents; a scorer of orders too, from one matrix of inner products per document."""

    windows: ClassVar[tuple[int, ...]] = (0,)

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        return self.values(unit, orders)[:, 0] if unit.usable else np.full(len(orders), np.nan)

    def swept(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        r"""Scores with $\sigma_m^2$ over eight decades around its estimate (Figure 9), (variances, orders)."""
        if not unit.usable:
            return np.full((len(SWEEP), len(orders)), np.nan)
        (terms,) = order_terms(
            unit.latents, orders, self.windows
        )  # looked at once: they do not depend on sigma
        sums = np.stack([terms.sums(sigma2) for sigma2 in self.variances()])
        return sums if self.signed else np.abs(sums)

    def variances(self) -> list[float]:
        r"""Each $\sigma_m^2$ of :meth:`swept`."""
        assert self.sigma2 is not None
        return [self.sigma2 * factor for factor in SWEEP]

    def part_values(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        return [self._parts(unit) if unit.usable else np.zeros(0) for unit in units]

    def _parts(self, unit: LatentPath) -> np.ndarray:
        score = self.sums(unit, identity(unit))[0, 0]
        gaps, v = inner_gaps(unit.latents[None])
        scale = v * float(self.sigma2 or np.nan)
        each = np.log(2 * np.pi * scale) + (gaps[0] ** 2).sum(axis=1) / (2 * scale)
        return (-1.0 if not self.signed and score < 0 else 1.0) * each / len(each)

    def sufficient_statistics(self, units: Sequence[LatentPath]) -> SufficientStatistics:
        """Columns score, documents, negative (sums below zero) and excluded (too short, or not finite)."""
        sums = np.array([self.sums(unit, identity(unit))[0, 0] for unit in units], dtype=np.float64)
        kept = np.isfinite(sums)
        score = np.where(kept, sums if self.signed else np.abs(sums), 0.0)
        return SufficientStatistics.of_columns(
            units, score=score, documents=kept, negative=kept & (sums < 0), excluded=~kept
        )


@dataclass(frozen=True)
class JointBridgeCritic(_PathCritic):
    r"""Mean of $Q / n (T - 2)$ over documents: 1 on real text, above 1 where sentences jump more than real ones do.

    $Q = \sum_i \lVert L^{-1} (s_{i+1} - s_i - (s_T - s_1) / (T - 1)) \rVert^2$, a sum over steps.
    """

    ridge: float = (
        1e-6  # share of the mean variance that is added to the diagonal of the covariance
    )
    whitener: np.ndarray | None = field(
        default=None, repr=False, metadata=FITTED
    )  # its inverse Cholesky factor

    def fit_units(self, real: Sequence[LatentPath]) -> "JointBridgeCritic":
        r"""Maximum likelihood: $\hat\Sigma = \sum_s S_s / \sum_s (T_s - 2)$ over usable paths, S the scatter of steps less the chord's."""
        kept = [unit.latents for unit in real if unit.usable]
        if not kept:
            raise BadInput(
                f"joint bridge critic: 0 of {len(real)} paths have three finite sentences; check the reader"
            )
        scatters = []
        for latents in kept:
            steps, chord = np.diff(latents, axis=0), latents[-1] - latents[0]
            scatters.append(steps.T @ steps - np.outer(chord, chord) / len(steps))
        covariance = np.sum(scatters, axis=0) / sum(len(z) - 2 for z in kept)
        level = float(np.trace(covariance)) / len(covariance)
        if not level > 0:
            raise BadInput(
                "joint bridge critic: sigma is 0, all sentences of each path are alike; check the reader"
            )
        factor = np.linalg.cholesky(covariance + self.ridge * level * np.eye(len(covariance)))
        return replace(self, whitener=np.linalg.inv(factor))

    def _white(self, latents: np.ndarray) -> np.ndarray:
        if self.whitener is None:
            raise BadInput(
                "joint bridge critic has no whitener yet; call fit(real paths) and use what it returns"
            )
        return latents @ self.whitener.T

    def scores(self, latents: np.ndarray) -> np.ndarray:
        """$Q / n (T - 2)$ of (orders, sentences, dims); nan below three sentences."""
        white = self._white(latents)
        orders, sentences, dims = latents.shape
        if sentences < 3:
            return np.full(orders, np.nan)
        steps, chord = np.diff(white, axis=1), white[:, -1] - white[:, 0]
        jumps = np.einsum("osd,osd->o", steps, steps) - np.einsum("od,od->o", chord, chord) / (
            sentences - 1
        )
        return jumps / (dims * (sentences - 2))

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        return self.scores(unit.latents[orders]) if unit.usable else np.full(len(orders), np.nan)

    def part_values(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        """What each sentence adds, (sentences,): half of the step that leads to it and half of the one that leaves it."""
        return [self._parts(unit.latents) if unit.usable else np.zeros(0) for unit in units]

    def _parts(self, latents: np.ndarray) -> np.ndarray:
        white = self._white(latents)
        steps = np.diff(white, axis=0) - (white[-1] - white[0]) / (len(white) - 1)
        halves = (steps**2).sum(axis=1) / (2 * latents.shape[1] * (len(latents) - 2))
        return np.append(halves, 0.0) + np.append(0.0, halves)

    def sufficient_statistics(self, units: Sequence[LatentPath]) -> SufficientStatistics:
        each = np.array([self.scores(unit.latents[None])[0] for unit in units], dtype=np.float64)
        kept = np.isfinite(each)
        return SufficientStatistics.of_columns(
            units, score=np.where(kept, each, 0.0), documents=kept, excluded=~kept
        )


def text_diffusion(unit: LatentPath) -> float:
    r"""$\hat\sigma^2(s)$ of one text, nan where it cannot be read; the texts of a source are known by it (section 5.4)."""
    return diffusion(unit.latents) if unit.usable else float("nan")


def shuffled(unit: LatentPath) -> LatentPath:
    """The path with its sentences in a random order that depends on the unit alone."""
    return replace(
        unit, latents=generator("trajectory shuffle", unit.unit_id).permutation(unit.latents)
    )


def trajectory(units: Sequence[LatentPath]) -> dict[str, list[float]]:
    """Mean absolute latent over dims, each path stretched to ``COMMON_STEPS``; its mean and spread over documents."""
    each = [np.abs(unit.latents).mean(axis=1) for unit in units if unit.usable]
    if not each:
        return {"mean": [], "spread": []}
    grid = np.linspace(0, 1, COMMON_STEPS)
    bent = np.array([np.interp(grid, np.linspace(0, 1, len(values)), values) for values in each])
    return {"mean": bent.mean(axis=0).tolist(), "spread": bent.std(axis=0).tolist()}
