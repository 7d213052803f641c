"""BBScore as a critic: the mean over documents of how well their latents fit a Brownian bridge (sheng2024 section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import FITTED, Better, SumScored, Tally
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.critics.bbscore.bridge import (
    BridgeFeatures,
    LatentPath,
    OrderedGram,
    Terms,
    diffusion,
    identity,
    inner_gaps,
    signed_scores,
)
from longform.critics.bbscore.bridge import units_from_readout as units_from_readout


@dataclass(frozen=True)
class BridgeCritic(SumScored):
    r"""Mean BBScore of documents, absolute as printed; a scorer of orders too, from one matrix of inner products per document.

    Attributes:
        sigma2: fitted $\sigma_m^2$.
        signed: fitted; most real documents' sums are negative, so the sum is taken as it is: its absolute value would turn
            the order round. Negative sums are counted.
    """

    better: ClassVar[Better] = "lower"
    divided: ClassVar[tuple[str, str]] = ("score", "documents")
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("score",)
    blame: ClassVar[int] = 1
    sigma2: float | None = field(default=None, repr=False, metadata=FITTED)
    signed: bool = field(default=False, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.sigma2 is not None and not (np.isfinite(self.sigma2) and self.sigma2 > 0):
            raise BadInput(f"sigma2 is {self.sigma2}; allowed is a finite variance above 0; fit it on real paths")

    def fit(self, real: Sequence[LatentPath]) -> "BridgeCritic":
        r"""Estimate $\sigma_m^2$ on unshuffled real paths."""
        fitted = BridgeFeatures((0,)).fit(real)
        return replace(self, sigma2=fitted.sigma2, signed=fitted.signed)

    def sums(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Scores of ``orders`` before their absolute value, (orders,); nan where the document is too short."""
        return self._sums_of(OrderedGram(unit.latents, orders).terms(0))

    def scores_of(self, terms: Terms) -> np.ndarray:
        """Scores of the orders whose terms are given, (orders,)."""
        return self._valued(self._sums_of(terms))

    def _sums_of(self, terms: Terms) -> np.ndarray:
        if self.sigma2 is None:
            raise BadInput("bridge critic has no sigma2 yet; call fit(real paths) and use what it returns")
        return signed_scores(terms, self.sigma2)

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """BBScore of a document under each order of its sentences, (orders,); nan where it is too short or not finite."""
        return self._valued(self.sums(unit, orders)) if unit.usable else np.full(len(orders), np.nan)

    def _valued(self, sums: np.ndarray) -> np.ndarray:
        return sums if self.signed else np.abs(sums)

    def attribute(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        return [self._parts(unit) if len(unit.latents) > 2 else np.zeros(0) for unit in units]

    def _parts(self, unit: LatentPath) -> np.ndarray:
        sums = self.sums(unit, identity(unit))
        if not np.isfinite(sums).all():
            return np.nan_to_num(self._valued(sums))
        gaps, v = inner_gaps(unit.latents[None])
        scale = v * float(self.sigma2 or np.nan)
        each = np.log(2 * np.pi * scale) + (gaps[0] ** 2).sum(axis=1) / (2 * scale)
        return (-1.0 if not self.signed and sums[0] < 0 else 1.0) * each / len(each)

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """Columns score, documents, negative (sums below zero) and excluded (too short, or not finite)."""
        sums = np.array([self.sums(unit, identity(unit))[0] for unit in units], dtype=np.float64)
        kept = np.isfinite(sums)
        score = np.where(kept, self._valued(sums), 0.0)
        return Tally.of_columns(units, score=score, documents=kept, negative=kept & (sums < 0), excluded=~kept)


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
class JointBridgeCritic(SumScored):
    r"""Mean of $Q / n (T - 2)$ over documents: 1 on real text, above 1 where sentences jump more than real ones do.

    Attributes:
        ridge: share of the mean variance that is added to the diagonal of $\Sigma$ before it is inverted.
        whitener: fitted inverse Cholesky factor of $\Sigma$, (dims, dims).
    """

    better: ClassVar[Better] = "lower"
    divided: ClassVar[tuple[str, str]] = ("score", "documents")
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("score",)
    blame: ClassVar[int] = 1
    ridge: float = 1e-6
    whitener: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[LatentPath]) -> "JointBridgeCritic":
        r"""Maximum likelihood: $\hat\Sigma = \sum_s S_s / \sum_s (T_s - 2)$ over usable paths."""
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
        return Tally.of_columns(units, score=np.where(kept, each, 0.0), documents=kept, excluded=~kept)

    def _fitted(self) -> np.ndarray:
        if self.whitener is None:
            raise BadInput("joint bridge critic has no whitener yet; call fit(real paths) and use what it returns")
        return self.whitener


COMMON_STEPS = 100  # sheng2024 section 5.5 resamples paths to a common length it does not give; ours
SWEEP = np.logspace(-4, 4, 65).tolist()  # of sigma^2 over its estimate; ours, the figure's grid is not stated


def text_diffusion(unit: LatentPath) -> float:
    r"""$\hat\sigma^2(s)$ of one text, nan where it cannot be read; the texts of a source are known by it (section 5.4)."""
    return diffusion(unit.latents) if unit.usable else float("nan")


def shuffled(unit: LatentPath) -> LatentPath:
    """The path with its sentences in a random order that depends on the unit alone."""
    return replace(unit, latents=generator("trajectory shuffle", unit.unit_id).permutation(unit.latents))


def trajectory(units: Sequence[LatentPath], steps: int = COMMON_STEPS) -> dict[str, list[float]]:
    """Mean absolute latent over dims, each path stretched to a common length; its mean and spread over documents."""
    grid = np.linspace(0, 1, steps)
    each = [np.abs(unit.latents).mean(axis=1) for unit in units if unit.usable]
    bent = np.array([np.interp(grid, np.linspace(0, 1, len(values)), values) for values in each])
    if not len(bent):
        return {"mean": [], "spread": []}
    return {"mean": bent.mean(axis=0).tolist(), "spread": bent.std(axis=0).tolist()}


def variances(critic: BridgeCritic) -> list[BridgeCritic]:
    r"""The fitted critic with $\sigma_m^2$ over eight decades around its estimate (Figure 9), each as good a scorer of orders."""
    assert critic.sigma2 is not None
    return [replace(critic, sigma2=critic.sigma2 * factor) for factor in SWEEP]


@dataclass(frozen=True)
class VarianceSweep:
    r"""A fitted critic under each of :func:`variances`: an order is looked at once, as its terms do not depend on $\sigma_m^2$."""

    better: ClassVar[Better] = "lower"
    critic: BridgeCritic

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Scores under each variance, (variances, orders); nan where the document is too short or not finite."""
        if not unit.usable:
            return np.full((len(SWEEP), len(orders)), np.nan)
        terms = OrderedGram(unit.latents, orders).terms(0)
        return np.stack([one.scores_of(terms) for one in variances(self.critic)])


def describe_sweep(critic: BridgeCritic, areas: Sequence[float], accuracies: Sequence[float]) -> dict[str, Any]:
    """What Figure 9 draws: area and pairwise accuracy at each variance."""
    grid = [one.sigma2 for one in variances(critic)]
    return {"sigma2": critic.sigma2, "sweep": {"sigma2": grid, "auc": list(areas), "accuracy": list(accuracies)}}
