r"""The title classifier's errors: how many, whether it knows of them, and the Latent PPL without
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from longform.critics.section_order.score import (
    SectionOrder,
    TitledArticle,
    transition_statistics,
    transition_totals,
    with_validated_delta,
)
from longform.critics.section_order.score import units_from_predictions as units_from_predictions
from longform.documents import Predictions
from longform.errors import ConfigError
from longform.statistics.arithmetic import perplexity, ratio
from longform.statistics.markov_chain import END, UNKNOWN
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored

PSEUDO_SECTIONS = 1.0  # ours: weight of the shared error profile in each title's row, in sections
# ours: share of misread sections up to which a corrected value can be relied on, as measured
RELIABLE = 0.07
NEARLY_ZERO = 1e-300
SMALLEST_WEIGHT = 1e-9  # a Dirichlet distribution wants weights above 0
CERTAIN = 0.9  # confidence above which a section is counted as certain


def correct_titles(unit: TitledArticle) -> np.ndarray:
    """Per section 1 where the predicted title is the gold one, 0 where not, nan without a gold
    title.
    """
    correct = np.full(len(unit.gold), np.nan)
    for section, (predicted, gold) in enumerate(zip(unit.symbols, unit.gold, strict=True)):
        if gold is not None:
            correct[section] = predicted == gold
    return correct


@dataclass(frozen=True)
class TitleAccuracy(
    SumScored,
    better="higher",
    share=True,
    divided=("correct", "titled"),
    parts="sections",
    blame=-1,
):
    """Share of titled sections whose predicted title is the gold one.

    deng2022 appendix E prints 89.48, 72.52 and 88.15 %.
    """

    def part_values(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        return [correct_titles(unit) for unit in units]

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        rows = []
        for correct in self.part_values(units):
            titled = ~np.isnan(correct)
            rows.append((np.nansum(correct), titled.sum(), not titled.any()))
        return SufficientStatistics.of(units, ("correct", "titled", "excluded"), rows)


@dataclass(frozen=True)
class CalibrationError(SumScored, better="lower"):
    r"""Whether a classifier's confidence is its accuracy: expected calibration error of the arg
    max.

    $\mathrm{ECE} = \sum_b \frac{n_b}{n} |\mathrm{acc}_b - \mathrm{conf}_b|$ over equal-width bins
    of
    the confidence (Naeini, Cooper and Hauskrecht 2015; 15 in Guo et al. 2017, section 2), over
    sections with a gold title. Chance within a bin raises it; the details say how far for a
    calibrated reader of the same confidences.
    """

    bins: int = 15

    def __post_init__(self) -> None:
        if not isinstance(self.bins, int) or self.bins < 1:
            raise ConfigError(
                f"bins is {self.bins!r}, allowed is a whole number from 1; 15 is usual"
            )

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        """Per bin: sections, sum of confidence, correct ones; excluded are documents without a gold
        title.
        """
        values = np.zeros((len(units), 3 * self.bins + 1))
        for row, unit in zip(values, units, strict=True):
            correct = correct_titles(unit)
            titled = ~np.isnan(correct)
            confidence = unit.confidence[titled]
            bins = np.clip(np.ceil(confidence * self.bins).astype(int) - 1, 0, self.bins - 1)
            row[: self.bins] = np.bincount(bins, minlength=self.bins)
            row[self.bins : 2 * self.bins] = np.bincount(bins, confidence, self.bins)
            row[2 * self.bins : -1] = np.bincount(bins, correct[titled], self.bins)
            row[-1] = float(not titled.any())
        columns: list[str] = []
        for kind in ("sections", "confidence", "correct"):
            columns.extend(f"{kind}_{number}" for number in range(self.bins))
        return SufficientStatistics.of(units, (*columns, "excluded"), values)

    def of_sums(self, sums: Sums) -> Any:
        sections, confidence, correct = self._bins(sums.values)
        return ratio(np.abs(confidence - correct).sum(axis=-1), sections.sum(axis=-1))

    def _bins(self, sums: np.ndarray) -> np.ndarray:
        """Sections, confidence and correct ones of each bin, (3, ..., bins)."""
        values = sums[..., : 3 * self.bins]
        return np.moveaxis(values.reshape(*values.shape[:-1], 3, self.bins), -2, 0)

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """The reliability diagram's bins, the share of certain sections, and the error by chance
        alone.
        """
        sections, confidence, correct = self._bins(
            self.sufficient_statistics(units).values.sum(axis=0)
        )
        # 1. The bins that have sections: ends, sections, confidence, correct ones.
        bins = []
        for number in np.flatnonzero(sections):
            sums = (float(values[number]) for values in (sections, confidence, correct))
            bins.append([number / self.bins, (number + 1) / self.bins, *sums])
        # 2. How many sections with a gold title are read with certainty.
        titled = [np.zeros(0)]
        for unit in units:
            titled.append(unit.confidence[~np.isnan(correct_titles(unit))])
        confidences = np.concatenate(titled)
        # 3. By chance E|acc_b - conf_b| of a calibrated reader is sqrt(2/pi) standard deviations a
        #    bin (normal approximation).
        met = sections > 0
        mean = confidence[met] / sections[met]
        by_chance = np.sqrt(2 / np.pi * sections[met] * mean * (1 - mean)).sum()
        nothing = float("nan")
        return {
            "bins": bins,
            "share_over_90": float((confidences > CERTAIN).mean()) if len(confidences) else nothing,
            "expected_by_chance": float(by_chance / sections.sum()) if met.any() else nothing,
        }


@dataclass(frozen=True)
class CorrectedTitleCritic(SectionOrder):
    r"""Latent PPL that the gold titles would have, from predicted ones and the classifier's
    confusions.

    Predicted titles are gold titles sent through a noisy channel
    $C_{a\hat a} = P(\hat a \mid a)$, section by section, begin and end untouched. The expected
    counts of predicted transitions are $\hat N = C^\top N C$, so with the table
    $\tilde L = C^{-1} L C^{-\top}$ of corrected log probabilities, $\sum \hat N \tilde L$ has the
    expectation $\sum N L$ (the corrected score of Nakamura 1990; backward correction in Patrini et
    al. 2017). $C$ comes from validation documents and is uncertain, so it is drawn anew for every
    resample of the interval.

    The channel is that of real text: where a model's sections are harder to read than real ones,
    some of its reading errors stay in its corrected value. Measured by
    ``experiments/deng2022/correction_coverage.py`` on 41 synthetic worlds: with up to 7 % of
    sections misread it is 0.97 to 1.00 of the exact value and 22 of 23 intervals cover; up to 23 %
    it is 0.90 to 1.02, 17 of 18 cover but are 0.6 to 0.75 wide, and a third reach below 1, which no
    text can have. Counts held above zero (maximum likelihood of N by expectation maximisation) do
    worse: 1.03 to 1.37, 7 of 41 cover.

    Attributes:
        confusion_names: the titles of the confusion matrix.
        confusion_counts: validation sections by gold (rows) and predicted title, (titles, titles).
        channel: the confusion matrix in use, (states, states), rows sum to one.
    """

    confusion_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    confusion_counts: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )
    channel: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )

    def fit_units(self, real: Sequence[TitledArticle]) -> Self:
        if not self.delta > 0:
            raise ConfigError(
                f"delta is {self.delta}: an impossible transition cannot be corrected; "
                "use a delta above 0"
            )
        weights = self._weights()
        rows = weights / weights.sum(axis=1, keepdims=True)
        return super().fit_units(real)._through(rows)

    def redrawn(self, rng: np.random.Generator) -> Self:
        weights = np.maximum(self._weights(), SMALLEST_WEIGHT)
        return self._through(np.stack([rng.dirichlet(row) for row in weights]))

    def _weights(self) -> np.ndarray:
        """The counts, and in each row ``PSEUDO_SECTIONS`` of the errors that all titles share."""
        counts = self.confusion_counts
        titles = len(counts)
        # how often any title is misread, and for which title it is then taken
        errors = counts.sum() - np.trace(counts) + 1.0
        rate = errors / (counts.sum() + 2.0)
        taken_for = (counts.sum(axis=0) - np.diag(counts) + 1.0 / titles) / errors
        # a row of that profile for each title, without the title itself
        others = np.where(np.eye(titles) > 0, 0.0, taken_for[None, :])
        others /= np.maximum(others.sum(axis=1, keepdims=True), NEARLY_ZERO)
        profile = (1.0 - rate) * np.eye(titles) + rate * others
        return counts + PSEUDO_SECTIONS * profile

    def _through(self, rows: np.ndarray) -> Self:
        """The critic with a channel; symbols without a row in it, begin and end, stay as they are."""
        indices = [self.names.index(name) for name in self.confusion_names]
        channel = np.eye(len(self.names))
        channel[np.ix_(indices, indices)] = rows
        return replace(self, channel=channel)

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        return transition_statistics(self, units, self.corrected_table())

    def part_values(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        corrected_critic = replace(self, log_transitions=self.corrected_table())
        return SectionOrder.part_values(corrected_critic, units)

    def of_sums(self, sums: Sums) -> Any:
        counts = transition_totals(self, sums)
        logprob = (counts * self.corrected_table()).sum(axis=(-2, -1))
        return perplexity(logprob, counts.sum(axis=(-2, -1)))

    def corrected_table(self) -> np.ndarray:
        r"""$\tilde L = C^{-1} L C^{-\top}$, float64 (states, states), nats."""
        left = np.linalg.solve(self.channel, self.log_transitions)
        return np.linalg.solve(self.channel, left.T).T

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """What the channel rests on, and whether so few errors can be corrected."""
        total = float(self.confusion_counts.sum())
        errors = total - float(np.trace(self.confusion_counts))
        return {
            "validation_sections": total,
            "validation_errors": errors,
            "reliable": errors <= RELIABLE * total,
            "titles_without_sections": int((self.confusion_counts.sum(axis=1) == 0).sum()),
            "exact_latent_ppl": self.exact_latent_ppl(),
        }


def confusion(units: Sequence[TitledArticle], names: Sequence[str]) -> np.ndarray:
    """Sections by gold (rows) and predicted title (columns), both among ``names``.

    Sections without a gold title among them are left out.
    """
    index = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for unit in units:
        for gold, predicted in zip(unit.gold, unit.symbols, strict=True):
            if gold in index:
                counts[index[gold], index.get(predicted, UNKNOWN)] += 1
    return counts


def corrected(*, real: Predictions, deltas: Sequence[float]) -> CorrectedTitleCritic:
    """The corrected twin of :func:`longform.critics.section_order.score.validated`.

    Its channel is counted on validation text.
    """
    units = units_from_predictions(real)
    titles = {END}
    for unit in units:
        if unit.split == "train":
            titles.update(unit.gold_chain().symbols)
    names = tuple(sorted(titles - {END}))
    validation = [unit for unit in units if unit.split == "validation"]
    critic = with_validated_delta(CorrectedTitleCritic, real, deltas)
    return replace(critic, confusion_names=names, confusion_counts=confusion(validation, names))
