"""The title classifier's errors.

How many there are, whether the classifier knows of them, and the Latent PPL without them.
"""

import math
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
from longform.documents import Predictions, grouped
from longform.errors import ConfigError, InputError
from longform.statistics.arithmetic import perplexity, ratio
from longform.statistics.markov_chain import END
from longform.statistics.signatures import FITTED  # not in signatures
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored

PSEUDO_SECTIONS = 1.0  # ours: weight of the shared error profile in each title's row, in sections
# ours: share of misread sections up to which a corrected value can be relied on, as measured
RELIABLE = 0.07
NEARLY_ZERO = 1e-300
SMALLEST_WEIGHT = 1e-9  # a Dirichlet distribution wants weights above 0
CERTAIN = 0.9  # confidence above which a section is counted as certain
BIN_SUMS = ("sections", "confidence", "correct")  # of each bin of confidence


def correct_titles(unit: TitledArticle) -> np.ndarray:
    """Compare each section's predicted title with the gold one.

    Returns:
        (sections,): 1 where it is, 0 where it is not, nan where there is no gold title.
    """
    correct = []
    for predicted, gold in zip(unit.symbols, unit.gold, strict=True):
        correct.append(math.nan if gold is None else float(predicted == gold))
    return np.array(correct, dtype=np.float64)


# Class keywords: see SumScored.
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
        """1 or 0 for each section read correctly or not, nan without a gold title, (sections,)."""
        return list(map(correct_titles, units))

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        """A row a text: ``correct`` sections, ``titled`` ones, and ``excluded`` without any."""
        rows = []
        for correct in self.part_values(units):
            titled = ~np.isnan(correct)
            rows.append((np.nansum(correct), titled.sum(), not titled.any()))
        return SufficientStatistics.of(units, ("correct", "titled", "excluded"), rows)


@dataclass(frozen=True)
class CalibrationError(SumScored, better="lower"):
    r"""Expected calibration error: how far a classifier's confidence is from its accuracy.

    $\mathrm{ECE} = \sum_b \frac{n_b}{n} |\mathrm{acc}_b - \mathrm{conf}_b|$ over equal-width bins
    of the confidence in the predicted title (Naeini, Cooper and Hauskrecht 2015; 15 in Guo et al.
    2017, section 2), over sections with a gold title. Chance within a bin raises it; the details
    say how far for a calibrated reader of the same confidences.

    Attributes:
        bins: how many.
    """

    bins: int = 15

    def __post_init__(self) -> None:
        if not isinstance(self.bins, int) or self.bins < 1:
            raise ConfigError(
                f"bins is {self.bins!r}, allowed is a whole number from 1; 15 is usual"
            )

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        """A row a text: sections, sum of confidence and correct sections of each bin; ``excluded``.

        A document without a gold title is excluded.
        """
        values = np.zeros((len(units), len(BIN_SUMS) * self.bins + 1))
        for row, unit in zip(values, units, strict=True):
            correct = correct_titles(unit)
            titled = ~np.isnan(correct)
            confidence = unit.confidence[titled]
            # bin b holds confidences above b / bins, up to (b + 1) / bins
            bin_of_section = np.ceil(confidence * self.bins).astype(int) - 1
            bin_of_section = np.clip(bin_of_section, 0, self.bins - 1)
            sections = np.bincount(bin_of_section, minlength=self.bins)
            sum_of_confidence = np.bincount(bin_of_section, confidence, self.bins)
            num_correct = np.bincount(bin_of_section, correct[titled], self.bins)
            row[:-1] = np.concatenate([sections, sum_of_confidence, num_correct])
            row[-1] = not titled.any()
        columns: list[str] = []
        for kind in BIN_SUMS:
            columns.extend(f"{kind}_{number}" for number in range(self.bins))
        return SufficientStatistics.of(units, (*columns, "excluded"), values)

    def of_sums(self, sums: Sums) -> Any:
        """The calibration error; nan without a section."""
        sections, confidence, correct = self._bins(sums.values)
        errors = np.abs(confidence - correct).sum(axis=-1)
        return ratio(errors, sections.sum(axis=-1))

    def _bins(self, sums: np.ndarray) -> np.ndarray:
        """Sections, sum of confidence and correct sections of each bin, (3, ..., bins)."""
        values = sums[..., : len(BIN_SUMS) * self.bins]
        by_bin = values.reshape(*values.shape[:-1], len(BIN_SUMS), self.bins)
        return np.moveaxis(by_bin, -2, 0)

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """Bins of the reliability diagram, the share of certain sections, the error by chance."""
        statistics = self.sufficient_statistics(units)
        by_bin = self._bins(statistics.values.sum(axis=0))
        sections, confidence, _ = by_bin
        # 1. The bins that have sections.
        bins = []
        for number in np.flatnonzero(sections):
            low = number / self.bins
            high = (number + 1) / self.bins
            sums = by_bin[:, number].tolist()
            bins.append([low, high, *sums])
        # 2. Which sections with a gold title are read with certainty.
        confidences = [np.zeros(0)]
        for unit in units:
            confidences.append(unit.confidence[~np.isnan(correct_titles(unit))])
        is_certain = np.concatenate(confidences) > CERTAIN
        return {
            "bins": bins,
            "share_over_90": float(is_certain.mean()) if len(is_certain) else math.nan,
            "expected_by_chance": _error_by_chance(sections, confidence),
        }


def _error_by_chance(sections: np.ndarray, confidence: np.ndarray) -> float:
    """Expected calibration error of a calibrated reader; nan without a section.

    In a bin its accuracy differs from its confidence by chance alone: by sqrt(2/pi) standard
    deviations on average (normal approximation).

    Args:
        sections: of each bin, (bins,).
        confidence: their sum, (bins,).
    """
    has_sections = sections > 0
    if not has_sections.any():
        return math.nan
    mean = confidence[has_sections] / sections[has_sections]
    errors = np.sqrt(2 / np.pi * sections[has_sections] * mean * (1 - mean))
    return float(errors.sum() / sections.sum())


@dataclass(frozen=True)
class CorrectedTitleCritic(SectionOrder):
    r"""Latent PPL that the gold titles would have, from predicted ones and known confusions.

    Predicted titles are gold titles sent through a noisy channel
    $C_{a\hat a} = P(\hat a \mid a)$, section by section, begin and end untouched. The expected
    counts of predicted transitions are $\hat N = C^\top N C$, so with the table
    $\tilde L = C^{-1} L C^{-\top}$ of corrected log probabilities, $\sum \hat N \tilde L$ has the
    expectation $\sum N L$ (the corrected score of Nakamura 1990; backward correction in Patrini et
    al. 2017). $C$ comes from validation documents and is uncertain, so it is drawn anew for every
    resample of the interval.

    The channel is that of real text: where a model's sections are harder to read than real ones,
    some of its reading errors stay in its corrected value. In
    ``experiments/deng2022/correction_coverage.py``, on 41 synthetic worlds, 22 of 23 intervals
    cover with up to 7 % of sections misread; up to 23 %, 17 of 18 do but are 0.6 to 0.75 wide.
    Counts held above zero (maximum likelihood of N by expectation maximisation) do worse.

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
        """A critic with the transitions of gold titles and the channel of the confusion counts.

        That is the mean of those that :meth:`redrawn` draws.

        Raises:
            ConfigError: delta is 0.
        """
        if not self.delta > 0:
            raise ConfigError(
                f"delta is {self.delta}: an impossible transition cannot be corrected; "
                "use a delta above 0"
            )
        weights = self._weights()
        mean_rows = weights / weights.sum(axis=1, keepdims=True)
        return super().fit_units(real)._with_channel(mean_rows)

    def redrawn(self, rng: np.random.Generator) -> Self:
        """The critic with a channel drawn from its posterior, a Dirichlet for each gold title."""
        weights = np.maximum(self._weights(), SMALLEST_WEIGHT)
        rows = [rng.dirichlet(row) for row in weights]
        return self._with_channel(np.stack(rows))

    def _weights(self) -> np.ndarray:
        """Parameters of the Dirichlets of the channel's rows, (gold titles, predicted titles).

        Returns:
            Weights of predicted titles for each gold title, (titles, titles).
        """
        counts = self.confusion_counts
        num_titles = len(counts)
        identity = np.eye(num_titles)
        # 1. How often any title is misread, and for which title it is then taken.
        errors = counts.sum() - np.trace(counts) + 1.0
        error_rate = errors / (counts.sum() + 2.0)
        taken_for = (counts.sum(axis=0) - np.diag(counts) + 1.0 / num_titles) / errors
        # 2. A row of that profile for each title, without the title itself.
        others = np.where(identity > 0, 0.0, taken_for[None, :])
        others /= np.maximum(others.sum(axis=1, keepdims=True), NEARLY_ZERO)
        profile = (1.0 - error_rate) * identity + error_rate * others
        return counts + PSEUDO_SECTIONS * profile

    def _with_channel(self, rows: np.ndarray) -> Self:
        """The critic with other probabilities of misreading a title (a noisy channel).

        Begin and end are never misread.

        Args:
            rows: probability of each read title (column) given the true one (row), for the titles
                of the confusion matrix, (titles, titles); each row sums to one.
        """
        indices = self.rows_of(self.confusion_names)
        channel = np.eye(len(self.names))
        channel[np.ix_(indices, indices)] = rows
        return replace(self, channel=channel)

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        """The columns of :func:`~longform.critics.section_order.score.transition_statistics`."""
        return transition_statistics(self, units, self.corrected_table())

    def part_values(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        """Corrected log-probability of each transition, nats, (transitions,)."""
        corrected_critic = replace(self, log_transitions=self.corrected_table())
        return SectionOrder.part_values(corrected_critic, units)

    def of_sums(self, sums: Sums) -> Any:
        """Corrected Latent PPL under the channel in use, which a resample draws anew."""
        counts = transition_totals(self, sums)
        logprob = (counts * self.corrected_table()).sum(axis=(-2, -1))
        return perplexity(logprob, counts.sum(axis=(-2, -1)))

    def corrected_table(self) -> np.ndarray:
        r"""$\tilde L = C^{-1} L C^{-\top}$, float64 (states, states), nats."""
        left = np.linalg.solve(self.channel, self.log_transitions)
        return np.linalg.solve(self.channel, left.T).T

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """What the channel rests on, and whether so few errors can be corrected."""
        sections_of_title = self.confusion_counts.sum(axis=1)
        sections = float(self.confusion_counts.sum())
        errors = sections - float(np.trace(self.confusion_counts))
        return {
            "validation_sections": sections,
            "validation_errors": errors,
            "reliable": errors <= RELIABLE * sections,
            "titles_without_sections": int((sections_of_title == 0).sum()),
            "exact_latent_ppl": self.exact_latent_ppl(),
        }


def confusion(units: Sequence[TitledArticle], names: Sequence[str]) -> np.ndarray:
    """The confusion matrix: how many sections have each gold title and each predicted one.

    Args:
        units: articles as they were read; sections without a gold title are left out.
        names: the titles.

    Returns:
        Counts, (gold titles, predicted titles), both in the order of ``names``.

    Raises:
        InputError: a section was read as a title that is none of ``names``.
    """
    index = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for unit in units:
        for gold, predicted in zip(unit.gold, unit.symbols, strict=True):
            if gold not in index:
                continue
            if predicted not in index:
                raise InputError(
                    f"a section is read as {predicted!r}, which is none of the {len(names)} titles "
                    "of the training documents; train the reader on these documents"
                )
            counts[index[gold], index[predicted]] += 1
    return counts


def corrected(*, real: Predictions, deltas: Sequence[float]) -> CorrectedTitleCritic:
    """A corrected critic, not yet fitted, with the delta and the confusions of validation text.

    It is the twin of :func:`longform.critics.section_order.score.validated`.

    Args:
        real: predictions of real text with documents of the splits train and validation.
        deltas: the candidates.

    Raises:
        InputError: a split is empty, or no candidate has a finite score.
    """
    critic = with_validated_delta(CorrectedTitleCritic, real, deltas)
    by_split = grouped(units_from_predictions(real), lambda unit: unit.split)
    titles: set[str] = set()
    for unit in by_split["train"]:
        titles.update(unit.gold_chain().symbols)
    names = tuple(sorted(titles - {END}))
    counts = confusion(by_split["validation"], names)
    return replace(critic, confusion_names=names, confusion_counts=counts)
