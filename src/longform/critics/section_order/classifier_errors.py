r"""The title classifier's errors: how many, whether it knows of them, and the Latent PPL with them taken out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from longform.critics.section_order.score import (
    TitleCritic,
    TitledArticle,
    counted,
    totals,
    with_validated_delta,
)
from longform.critics.section_order.score import units_from_predictions as units_from_predictions
from longform.documents import Predictions
from longform.errors import BadInput
from longform.statistics.arithmetic import perplexity, ratio
from longform.statistics.markov_chain import END, UNKNOWN
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored

PSEUDO_SECTIONS = 1.0  # ours: weight of the shared error profile in each title's row, in sections
RELIABLE = 0.07  # ours: share of misread sections up to which a corrected value can be relied on, as measured


def correct_titles(unit: TitledArticle) -> np.ndarray:
    """Per section 1 where the predicted title is the gold one, 0 where not, nan where there is no gold title."""
    return np.array(
        [np.nan if g is None else p == g for p, g in zip(unit.symbols, unit.gold, strict=True)],
        np.float64,
    )


@dataclass(frozen=True)
class TitleAccuracy(
    SumScored,
    better="higher",
    share=True,
    divided=("correct", "titled"),
    parts="sections",
    blame=-1,
):
    """Share of titled sections whose predicted title is the gold one (deng2022 appendix E: 89.48, 72.52, 88.15 %)."""

    def part_values(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        return [correct_titles(unit) for unit in units]

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        rows = [
            (np.nansum(row), np.sum(~np.isnan(row)), np.isnan(row).all())
            for row in self.part_values(units)
        ]
        return SufficientStatistics.of(units, ("correct", "titled", "excluded"), rows)


@dataclass(frozen=True)
class CalibrationError(SumScored, better="lower"):
    r"""Whether a classifier's confidence is its accuracy: expected calibration error of the arg max.

    $\mathrm{ECE} = \sum_b \frac{n_b}{n} |\mathrm{acc}_b - \mathrm{conf}_b|$ over equal-width bins of the confidence
    (Naeini, Cooper and Hauskrecht 2015; 15 in Guo et al. 2017, section 2), over sections with a gold title. Chance within
    a bin raises it; the details say how far for a calibrated reader of the same confidences.
    """

    bins: int = 15

    def __post_init__(self) -> None:
        if not isinstance(self.bins, int) or self.bins < 1:
            raise BadInput(f"bins is {self.bins!r}, allowed is a whole number from 1; 15 is usual")

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        """Per bin: sections, sum of confidence, correct ones; excluded are documents without a gold title."""
        values = np.zeros((len(units), 3 * self.bins + 1))
        for row, unit in zip(values, units, strict=True):
            correct = correct_titles(unit)
            titled = ~np.isnan(correct)
            correct, confidence = correct[titled], unit.confidence[titled]
            place = np.clip(np.ceil(confidence * self.bins).astype(int) - 1, 0, self.bins - 1)
            sums = [
                np.bincount(place, weights, self.bins) for weights in (None, confidence, correct)
            ]
            row[:] = np.concatenate([*sums, [float(not titled.any())]])
        names = [
            f"{kind}_{b}"
            for kind in ("sections", "confidence", "correct")
            for b in range(self.bins)
        ]
        return SufficientStatistics.of(units, (*names, "excluded"), values)

    def of_sums(self, sums: Sums) -> Any:
        sections, confidence, correct = self._bins(sums.values)
        return ratio(np.abs(confidence - correct).sum(axis=-1), sections.sum(axis=-1))

    def _bins(self, sums: np.ndarray) -> np.ndarray:
        parts = sums[..., : 3 * self.bins]
        return np.moveaxis(parts.reshape(*parts.shape[:-1], 3, self.bins), -2, 0)

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """The reliability diagram's bins, the share above 90 % certain, and the error that chance alone would give."""
        sections, confidence, correct = self._bins(
            self.sufficient_statistics(units).values.sum(axis=0)
        )
        rows = enumerate(zip(sections, confidence, correct, strict=True))
        bins = [[b / self.bins, (b + 1) / self.bins, *map(float, row)] for b, row in rows if row[0]]
        titled = np.concatenate(
            [np.zeros(0), *(u.confidence[~np.isnan(correct_titles(u))] for u in units)]
        )
        # by chance E|acc_b - conf_b| of a calibrated reader is sqrt(2/pi) standard deviations a bin (normal approximation)
        met, mean = sections > 0, confidence[sections > 0] / sections[sections > 0]
        spread = np.sqrt(2 / np.pi * sections[met] * mean * (1 - mean)).sum()
        return {
            "bins": bins,
            "share_over_90": float((titled > 0.9).mean()) if len(titled) else float("nan"),
            "expected_by_chance": float(spread / sections.sum()) if met.any() else float("nan"),
        }


@dataclass(frozen=True)
class CorrectedTitleCritic(TitleCritic):
    r"""Latent PPL that the gold titles would have, estimated from predicted ones by the classifier's confusion matrix.

    Predicted titles are gold titles sent through a noisy channel $C_{a\hat a} = P(\hat a \mid a)$, section by section,
    begin and end untouched. The expected counts of predicted transitions are $\hat N = C^\top N C$, so with the table
    $\tilde L = C^{-1} L C^{-\top}$ of corrected log probabilities, $\sum \hat N \tilde L$ has the expectation
    $\sum N L$ (the corrected score of Nakamura 1990; backward correction in Patrini et al. 2017). $C$ comes from
    validation documents and is uncertain, so it is drawn anew for every resample of the interval.

    The channel is that of real text: where a model's sections are harder to read than real ones, some of its reading
    errors stay in its corrected value. Measured by ``experiments/deng2022/correction_coverage.py`` on 41 synthetic worlds:
    with up to 7 % of sections misread it is 0.97 to 1.00 of the exact value and 22 of 23 intervals cover; up to 23 % it is
    0.90 to 1.02, 17 of 18 cover but are 0.6 to 0.75 wide, and a third reach below 1, which no text can have. Counts held
    above zero (maximum likelihood of N by expectation maximisation) do worse: 1.03 to 1.37, 7 of 41 cover.
    """

    confusion_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    # validation sections by gold (rows) and predicted title, and the confusion matrix in use (states, states)
    confusion_counts: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )
    channel: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )

    def fit_units(self, real: Sequence[TitledArticle]) -> Self:
        if not self.delta > 0:
            raise BadInput(
                f"delta is {self.delta}: an impossible transition cannot be corrected; use a delta above 0"
            )
        weights = self._weights()
        return super().fit_units(real)._through(weights / weights.sum(axis=1, keepdims=True))

    def redrawn(self, rng: np.random.Generator) -> Self:
        weights = np.maximum(self._weights(), 1e-9)  # a Dirichlet wants them > 0
        return self._through(np.stack([rng.dirichlet(row) for row in weights]))

    def _weights(self) -> np.ndarray:
        """The counts, and in each row ``PSEUDO_SECTIONS`` of the errors that all titles share."""
        counts, size = self.confusion_counts, len(self.confusion_counts)
        wrong = counts.sum() - np.trace(counts) + 1.0
        rate = wrong / (counts.sum() + 2.0)
        column = (counts.sum(axis=0) - np.diag(counts) + 1.0 / size) / wrong
        others = np.where(np.eye(size) > 0, 0.0, column[None, :])
        others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
        return counts + PSEUDO_SECTIONS * ((1.0 - rate) * np.eye(size) + rate * others)

    def _through(self, rows: np.ndarray) -> Self:
        place = [self.names.index(name) for name in self.confusion_names]
        channel = np.eye(len(self.names))
        channel[np.ix_(place, place)] = rows
        return replace(self, channel=channel)

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        return counted(self, units, self.corrected_table())

    def part_values(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        return TitleCritic.part_values(replace(self, log_transitions=self.corrected_table()), units)

    def of_sums(self, sums: Sums) -> Any:
        counts = totals(self, sums)
        return perplexity(
            (counts * self.corrected_table()).sum(axis=(-2, -1)), counts.sum(axis=(-2, -1))
        )

    def corrected_table(self) -> np.ndarray:
        r"""$\tilde L = C^{-1} L C^{-\top}$, float64 (states, states), nats."""
        return np.linalg.solve(
            self.channel, np.linalg.solve(self.channel, self.log_transitions).T
        ).T

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """What the channel rests on, and whether so few errors can be corrected."""
        total = float(self.confusion_counts.sum())
        wrong = total - float(np.trace(self.confusion_counts))
        return {
            "validation_sections": total,
            "validation_errors": wrong,
            "reliable": wrong <= RELIABLE * total,
            "titles_without_sections": int((self.confusion_counts.sum(axis=1) == 0).sum()),
            "exact_latent_ppl": self.exact_latent_ppl(),
        }


def confusion(units: Sequence[TitledArticle], names: Sequence[str]) -> np.ndarray:
    """Sections by gold (rows) and predicted title (columns); sections without a gold title among ``names`` left out."""
    index = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for unit in units:
        for gold, predicted in zip(unit.gold, unit.symbols, strict=True):
            if gold in index:
                counts[index[gold], index.get(predicted, UNKNOWN)] += 1
    return counts


def corrected(*, real: Predictions, deltas: Sequence[float]) -> CorrectedTitleCritic:
    """The corrected twin of :func:`longform.critics.section_order.score.validated`, its channel counted on validation text."""
    units = units_from_predictions(real)
    titles = {
        title for unit in units if unit.split == "train" for title in unit.gold_chain().symbols
    }
    names = tuple(sorted(titles - {END}))
    counts = confusion([unit for unit in units if unit.split == "validation"], names)
    critic = with_validated_delta(CorrectedTitleCritic, real, deltas)
    return replace(critic, confusion_names=names, confusion_counts=counts)
