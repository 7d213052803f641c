"""BBScore as a critic: how well sentences fit a Brownian bridge (sheng2024 section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.critics.bbscore.bridge import (
    BridgeFeatures,
    LatentPath,
    diffusion,
    identity,
    inner_gaps,
    order_terms,
)
from longform.critics.bbscore.bridge import units_from_predictions as units_from_predictions
from longform.documents import Document
from longform.errors import ConfigError, InputError
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.sentences import sentences

# Ours: sheng2024 section 5.5 resamples paths to a common length that it does not give.
COMMON_STEPS = 100
# Ours: sigma^2 over its estimate in Figure 9, whose grid is not stated.
SWEEP = np.logspace(-4, 4, 65).tolist()


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class _PathCritic(
    TextCritic,
    better="lower",
    divided=("score", "documents"),
    parts="sentences",
    blame=1,
    needs="three sentences",
):
    """A critic of paths: reads texts by an encoder and a trained head; its score is a mean.

    Attributes:
        encoder: folder of the frozen sentence encoder that reads texts.
        seed: of the head's training.
        head: weights of the trained head's linear maps, (outputs, inputs) each; set by fitting to
            texts.
    """

    objective: ClassVar[str]  # the loss that the head is trained with
    first_part: ClassVar[int]  # index of the first sentence with a part: 1 where the ends have none
    encoder: Path | str | None = field(default=None, kw_only=True, metadata=READING)
    seed: int = field(default=0, kw_only=True, metadata=READING)
    head: tuple[np.ndarray, ...] = field(default=(), kw_only=True, repr=False, metadata=FITTED)

    def prepare(self, documents: Sequence[Document]) -> Self:
        """Train the head on real texts.

        Raises ConfigError: no encoder was named. Raises InputError: too few texts.
        """
        from longform.critics.bbscore.own_texts import trained_head  # here: it brings torch along

        head = trained_head(documents, self._encoder(), self.objective, self.seed)
        return replace(self, head=head)

    def read_texts(self, documents: Sequence[Document]) -> list[LatentPath]:
        """The path of each text. Raises InputError: no head was trained on real texts."""
        encoder = self._encoder()
        if not self.head:
            raise InputError(
                f"{type(self).__name__}: not fitted to texts yet; call fit(real texts)"
            )
        from longform.critics.bbscore.own_texts import read_paths

        return read_paths(documents, encoder, self.head)

    def spans(self, document: Document, unit: LatentPath, values: np.ndarray) -> Spans:
        """The half-open character span in ``document.text`` of each sentence that has a part."""
        spans = []
        start = 0  # of the section in the text
        for section in document.sections:
            for begin, end in sentences(section.text):
                spans.append((start + begin, start + end))
            start += len(section.text) + 2  # sections are joined by a blank line
        return spans[self.first_part : self.first_part + len(values)]

    def _encoder(self) -> Path:
        """The encoder's folder. Raises ConfigError: none was named."""
        if self.encoder is None:
            raise ConfigError(
                f"{type(self).__name__} has no sentence encoder to read texts with; "
                f"name its folder: {type(self).__name__}(encoder=FOLDER)"
            )
        return Path(self.encoder)


@dataclass(frozen=True)
class BBScore(BridgeFeatures, _PathCritic, recorded_as="BridgeCritic"):
    """Mean global BBScore of documents; a scorer of orders too."""

    objective: ClassVar[str] = "paper"
    first_part: ClassVar[int] = 1
    windows: ClassVar[tuple[int, ...]] = (0,)

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The global score of each order, (orders,); nan where the path is unusable."""
        if not unit.usable:
            return np.full(len(orders), np.nan)
        return self.values(unit, orders)[:, 0]

    def swept(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        r"""The score of each order under each $\sigma_m^2$ of :meth:`variances` (Figure 9).

        Returns:
            (variances, orders); nan where the path is unusable.
        """
        if not unit.usable:
            return np.full((len(SWEEP), len(orders)), np.nan)
        # The terms do not depend on sigma.
        (terms,) = order_terms(unit.latents, orders, self.windows)
        sums = np.stack([terms.sums(sigma2) for sigma2 in self.variances()])
        return sums if self.signed else np.abs(sums)

    def variances(self) -> list[float]:
        r"""Variances over eight decades around the fitted $\sigma_m^2$, ascending."""
        assert self.sigma2 is not None
        return [self.sigma2 * factor for factor in SWEEP]

    def part_values(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        """What each inner sentence adds to the score, (sentences - 2,)."""
        parts = []
        for unit in units:
            parts.append(self._parts(unit) if unit.usable else np.zeros(0))
        return parts

    def _parts(self, unit: LatentPath) -> np.ndarray:
        r"""$(\ln 2 \pi v \sigma^2 + \lVert \cdot \rVert^2 / 2 v \sigma^2) / (T - 2)$, signed."""
        score = self.sums(unit, identity(unit))[0, 0]
        gaps, v = inner_gaps(unit.latents[None])
        scale = v * float(self.sigma2 or np.nan)
        values = np.log(2 * np.pi * scale) + (gaps[0] ** 2).sum(axis=1) / (2 * scale)
        sign = -1.0 if score < 0 and not self.signed else 1.0
        return sign * values / len(values)

    def sufficient_statistics(self, units: Sequence[LatentPath]) -> SufficientStatistics:
        """A row a document: its score and what is counted.

        Returns:
            Columns ``score``, ``documents``, ``negative`` (sums below zero) and ``excluded`` (too
            short, or not finite).
        """
        rows = [self.sums(unit, identity(unit))[0, 0] for unit in units]
        sums = np.array(rows, dtype=np.float64)
        finite = np.isfinite(sums)
        scores = np.where(finite, sums if self.signed else np.abs(sums), 0.0)
        return SufficientStatistics.of_columns(
            units,
            score=scores,
            documents=finite,
            negative=finite & (sums < 0),
            excluded=~finite,
        )


@dataclass(frozen=True)
class JointBridge(_PathCritic, recorded_as="JointBridgeCritic"):
    r"""Mean of $Q / n (T - 2)$ over documents, n dims and T sentences.

    It is 1 on real text, above 1 where sentences jump more than real ones do.
    $Q = \sum_i \lVert L^{-1} (s_{i+1} - s_i - (s_T - s_1) / (T - 1)) \rVert^2$, a sum over steps.

    Attributes:
        ridge: share of the mean variance that is added to the diagonal of the covariance.
        whitener: $L^{-1}$, the covariance's inverse Cholesky factor, (dims, dims).
    """

    objective: ClassVar[str] = "likelihood"
    first_part: ClassVar[int] = 0
    ridge: float = 1e-6
    whitener: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[LatentPath]) -> Self:
        r"""Estimate the covariance of steps by maximum likelihood.

        $\hat\Sigma = \sum_s S_s / \sum_s (T_s - 2)$ over usable paths, S the scatter of steps less
        the chord's.

        Raises InputError: no path is usable, or all sentences are alike.
        """
        paths = [unit.latents for unit in real if unit.usable]
        if not paths:
            raise InputError(
                f"joint bridge critic: 0 of {len(real)} paths have three finite sentences; "
                "check the reader"
            )
        # 1. Scatter of each path's steps around its chord.
        scatters = []
        for latents in paths:
            steps = np.diff(latents, axis=0)
            chord = latents[-1] - latents[0]
            scatters.append(steps.T @ steps - np.outer(chord, chord) / len(steps))
        degrees = sum(len(latents) - 2 for latents in paths)
        covariance = np.sum(scatters, axis=0) / degrees
        # 2. Its inverse Cholesky factor, with a ridge.
        level = float(np.trace(covariance)) / len(covariance)
        if not level > 0:
            raise InputError(
                "joint bridge critic: sigma is 0, all sentences of each path are alike; "
                "check the reader"
            )
        factor = np.linalg.cholesky(covariance + self.ridge * level * np.eye(len(covariance)))
        return replace(self, whitener=np.linalg.inv(factor))

    def _white(self, latents: np.ndarray) -> np.ndarray:
        """Latents whose steps are uncorrelated in real text."""
        if self.whitener is None:
            raise InputError(
                "joint bridge critic has no whitener yet; "
                "call fit(real paths) and use what it returns"
            )
        return latents @ self.whitener.T

    def scores(self, latents: np.ndarray) -> np.ndarray:
        """$Q / n (T - 2)$ of each order.

        Args:
            latents: (orders, sentences, dims).

        Returns:
            (orders,), nan below three sentences.
        """
        white = self._white(latents)
        orders, num_sentences, dims = latents.shape
        if num_sentences < 3:
            return np.full(orders, np.nan)
        # Squared steps less the squared chord, which the bridge takes away.
        steps = np.diff(white, axis=1)
        chord = white[:, -1] - white[:, 0]
        squared_steps = np.einsum("osd,osd->o", steps, steps)
        squared_chord = np.einsum("od,od->o", chord, chord)
        jumps = squared_steps - squared_chord / (num_sentences - 1)
        return jumps / (dims * (num_sentences - 2))

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The score of each order, (orders,); nan where the path is unusable."""
        if not unit.usable:
            return np.full(len(orders), np.nan)
        return self.scores(unit.latents[orders])

    def part_values(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        """Each sentence's share of its text's score, (sentences,); empty where not ``usable``.

        The score is a sum over steps from one sentence to the next; each step counts half for
        either of its sentences. So the first and the last have half a step, and a text's shares sum
        to its score. A path is usable with three or more sentences, all finite.
        """
        parts = []
        for unit in units:
            parts.append(self._parts(unit.latents) if unit.usable else np.zeros(0))
        return parts

    def _parts(self, latents: np.ndarray) -> np.ndarray:
        """The shares of :meth:`part_values` of one path (sentences, dims), (sentences,)."""
        white = self._white(latents)
        mean_step = (white[-1] - white[0]) / (len(white) - 1)
        deviations = np.diff(white, axis=0) - mean_step
        # half of each step's term of $Q / n (T - 2)$, (sentences - 1,)
        halves = (deviations**2).sum(axis=1) / (2 * latents.shape[1] * (len(latents) - 2))
        # of each sentence the step away from it, then the step to it; 0 where there is none
        return np.append(halves, 0.0) + np.append(0.0, halves)

    def sufficient_statistics(self, units: Sequence[LatentPath]) -> SufficientStatistics:
        """Columns ``score``, ``documents`` and ``excluded`` (too short, or not finite)."""
        rows = [self.scores(unit.latents[None])[0] for unit in units]
        scores = np.array(rows, dtype=np.float64)
        finite = np.isfinite(scores)
        return SufficientStatistics.of_columns(
            units, score=np.where(finite, scores, 0.0), documents=finite, excluded=~finite
        )


def text_diffusion(unit: LatentPath) -> float:
    r"""Variance $\hat\sigma^2(s)$ of one text's bridge, which tells sources apart (section 5.4).

    Returns:
        nan where the text cannot be read.
    """
    return diffusion(unit.latents) if unit.usable else float("nan")


def shuffled(unit: LatentPath) -> LatentPath:
    """The path with its sentences in a random order that depends on the unit alone."""
    rng = generator("trajectory shuffle", unit.unit_id)
    return replace(unit, latents=rng.permutation(unit.latents))


def trajectory(units: Sequence[LatentPath]) -> dict[str, list[float]]:
    """Mean absolute latent over dims, each path stretched to ``COMMON_STEPS``.

    Returns:
        ``mean`` and ``spread`` (standard deviation) over documents, (COMMON_STEPS,) each; empty
        without a usable path.
    """
    grid = np.linspace(0, 1, COMMON_STEPS)
    courses = []
    for unit in units:
        if unit.usable:
            values = np.abs(unit.latents).mean(axis=1)
            courses.append(np.interp(grid, np.linspace(0, 1, len(values)), values))
    if not courses:
        return {"mean": [], "spread": []}
    stacked = np.array(courses)
    return {"mean": stacked.mean(axis=0).tolist(), "spread": stacked.std(axis=0).tolist()}
