r"""The bridge's exact joint density: a score that is comparable between documents of different length.

BBScore multiplies the bridge's marginal densities as if sentences were independent, and its $\overline{\ln\alpha}$ grows
with $T$. The joint density of the $T - 2$ inner latents given both ends has a closed form, since the inverse of the
bridge's covariance is tridiagonal:

$$Q = \sum_i \lVert L^{-1} (s_{i+1} - s_i) \rVert^2 - \lVert L^{-1} (s_T - s_1) \rVert^2 / (T - 1), \quad \Sigma = L L^\top$$

is $\chi^2$ with $n (T - 2)$ degrees of freedom on a true bridge, whatever $T$ is. Source of the idea: the successor of
sheng2024 (BBScoreV2, whose encoder is trained by this likelihood); the standardisation by degrees of freedom is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from longform.core.critic import Better, Tally
from longform.core.documents import BadInput
from longform.critics.bbscore.bridge import FITTED, LatentPath, units_from_readout

__all__ = ["JointBridgeCritic", "bridge_quadratic", "bridge_scatter", "units_from_readout"]


def bridge_scatter(latents: np.ndarray) -> np.ndarray:
    r"""$\sum_i \Delta_i \Delta_i^\top - (s_T - s_1)(s_T - s_1)^\top / (T - 1)$ of one path, (dims, dims)."""
    steps = np.diff(latents, axis=0)
    chord = latents[-1] - latents[0]
    return steps.T @ steps - np.outer(chord, chord) / max(1, len(steps))


def bridge_quadratic(latents: np.ndarray, whitener: np.ndarray) -> np.ndarray:
    """$Q$ of (orders, sentences, dims); ``whitener`` is the inverse of $L$. Shape (orders,)."""
    white = latents @ whitener.T
    steps = np.diff(white, axis=1)
    chord = white[:, -1] - white[:, 0]
    return np.einsum("osd,osd->o", steps, steps) - np.einsum("od,od->o", chord, chord) / (latents.shape[1] - 1)


@dataclass(frozen=True)
class JointBridgeCritic:
    r"""Mean of $Q / n (T - 2)$ over documents: 1 on real text, above 1 where sentences jump more than real ones do.

    Attributes:
        ridge: share of the mean variance that is added to the diagonal of $\Sigma$ before it is inverted.
        whitener: fitted inverse Cholesky factor of $\Sigma$, (dims, dims).
    """

    better: ClassVar[Better] = "lower"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("score",)
    blame: ClassVar[int] = 1
    ridge: float = 1e-6
    whitener: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[LatentPath]) -> JointBridgeCritic:
        r"""Maximum likelihood: $\hat\Sigma = \sum_s S_s / \sum_s (T_s - 2)$ over usable paths.

        Raises:
            BadInput: no usable path, or latents that never leave their bridge.
        """
        kept = [unit.latents for unit in real if unit.usable]
        if not kept:
            raise BadInput(f"joint bridge critic: 0 of {len(real)} paths have three finite sentences; check the reader")
        covariance = np.sum([bridge_scatter(z) for z in kept], axis=0) / sum(len(z) - 2 for z in kept)
        level = float(np.trace(covariance)) / len(covariance)
        if not level > 0:
            raise BadInput("joint bridge critic: sigma is 0, all sentences of each path are alike; check the reader")
        factor = np.linalg.cholesky(covariance + self.ridge * level * np.eye(len(covariance)))
        return replace(self, whitener=np.linalg.inv(factor))

    def scores(self, latents: np.ndarray) -> np.ndarray:
        """$Q / n (T - 2)$ of (orders, sentences, dims); nan below three sentences."""
        whitener = self._fitted()
        orders, sentences, dims = latents.shape
        if sentences < 3:
            return np.full(orders, np.nan)
        return bridge_quadratic(latents, whitener) / (dims * (sentences - 2))

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """$Q / n (T - 2)$ of a document under each order, (orders,); nan where it is too short or not finite."""
        return self.scores(unit.latents[orders]) if unit.usable else np.full(len(orders), np.nan)

    def attribute(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        r"""What each sentence adds, (sentences,): half of the step that leads to it and half of the one that leaves it.

        $Q = \sum_i \lVert L^{-1} (s_{i+1} - s_i - (s_T - s_1) / (T - 1)) \rVert^2$, a sum over steps.
        """
        return [self._parts(unit.latents) if unit.usable else np.zeros(0) for unit in units]

    def _parts(self, latents: np.ndarray) -> np.ndarray:
        white = latents @ self._fitted().T
        steps = np.diff(white, axis=0) - (white[-1] - white[0]) / (len(white) - 1)
        halves = (steps**2).sum(axis=1) / (2 * latents.shape[1] * (len(latents) - 2))
        return np.append(halves, 0.0) + np.append(0.0, halves)

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """Columns score, documents and excluded."""
        each = np.array([self.scores(unit.latents[None])[0] for unit in units], dtype=np.float64)
        kept = np.isfinite(each)
        values = np.stack([np.where(kept, each, 0.0), kept, ~kept], axis=1).astype(np.float64)
        return Tally(tuple(unit.unit_id for unit in units), ("score", "documents", "excluded"), values)

    def score(self, tally: Tally) -> float:
        """Mean over documents; nan where all were excluded."""
        count = tally.total("documents")
        return tally.total("score") / count if count else float("nan")

    def _fitted(self) -> np.ndarray:
        if self.whitener is None:
            raise BadInput("joint bridge critic has no whitener yet; call fit(real paths) and use what it returns")
        return self.whitener
