"""How much a generated text repeats itself: distinct 4-grams, and their proportion to the human text (massarelli2020).

The text of the paper defines the proportion as an average of ratios, its Table 1 prints the ratio of averages
(143.52 / 222.48 = 64.51 %, and so on for all eight rows); both are here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from longform.documents import Document, Predictions, in_splits
from longform.statistics.arithmetic import ratio
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored
from longform.text.rendering import TokenText, texts_to_predictions

N = 4  # massarelli2020, section 5


def first_grams(tokens: np.ndarray, n: int) -> np.ndarray:
    """Per n-gram in reading order 1 where it has not been met before, else 0; a text shorter than n has none."""
    if len(tokens) < n:
        return np.zeros(0)
    windows = np.lib.stride_tricks.sliding_window_view(tokens, n)
    fresh = np.zeros(len(windows))
    fresh[np.unique(windows, axis=0, return_index=True)[1]] = 1
    return fresh


@dataclass(frozen=True)
class DistinctGrams(
    SumScored, better="higher", divided=("distinct", "generations"), parts="n-grams", blame=-1
):
    """Mean number of different n-grams per generation; an empty generation counts with zero."""

    n: int = N

    def part_values(self, units: Sequence[TokenText]) -> list[np.ndarray]:
        return [first_grams(unit.tokens, self.n) for unit in units]

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        rows = [(part.sum(), 1, 0) for part in self.part_values(units)]
        return SufficientStatistics.of(units, ("distinct", "generations", "excluded"), rows)


@dataclass(frozen=True)
class RepeatedGrams(
    SumScored, better="reference_matched", divided=("repeated", "grams"), parts="n-grams", blame=1
):
    """Share of n-grams that were met before in the same text, over all texts; unlike a count it does not grow with length."""

    n: int = N

    def part_values(self, units: Sequence[TokenText]) -> list[np.ndarray]:
        return [1 - first_grams(unit.tokens, self.n) for unit in units]

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        rows = [(part.sum(), len(part), not len(part)) for part in self.part_values(units)]
        return SufficientStatistics.of(units, ("repeated", "grams", "excluded"), rows)


@dataclass(frozen=True)
class GramProportion(SumScored, better="higher"):
    """Different n-grams of the generations over those of the human texts; generations without a human text are counted out."""

    reading: Literal["ratio_of_averages", "average_of_ratios"] = "ratio_of_averages"
    n: int = N

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        rows = []
        for unit in units:
            machine, human = (
                first_grams(text, self.n).sum() for text in (unit.tokens, unit.reference)
            )
            rows.append((machine, human, machine / human, 1, 0) if human else (0, 0, 0, 0, 1))
        return SufficientStatistics.of(
            units, ("distinct", "reference", "ratio", "generations", "excluded"), rows
        )

    def of_sums(self, sums: Sums) -> Any:
        top, bottom = (
            ("ratio", "generations")
            if self.reading == "average_of_ratios"
            else ("distinct", "reference")
        )
        return ratio(sums.total(top), sums.total(bottom))


def units_from_predictions(predictions: Predictions) -> list[TokenText]:
    """Inverse of :func:`longform.text.rendering.texts_to_predictions`."""
    return [TokenText(*row) for row in predictions.rows("token", "reference")]


def read(*, documents: Sequence[Document], splits: Sequence[str]) -> Predictions:
    """One number per different word, in the order in which the texts bring them up; no reference text."""
    numbers: dict[str, int] = {}
    nothing = np.zeros(0, dtype=np.int64)
    units = []
    for document in in_splits(documents, splits):
        row = [numbers.setdefault(word, len(numbers)) for word in document.text.split()]
        units.append(TokenText(document.id, document.split, np.array(row, dtype=np.int64), nothing))
    return texts_to_predictions(units)
