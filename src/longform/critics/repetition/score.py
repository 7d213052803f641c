"""How much a generated text repeats itself: distinct 4-grams, and their proportion to human ones.

The text of massarelli2020, section 5, defines the proportion as an average of ratios, its Table 1
prints the ratio of averages (143.52 / 222.48 = 64.51 %, and so on for all eight rows); both are
here.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.documents import Document, Predictions, in_splits
from longform.statistics.arithmetic import ratio
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored
from longform.text.rendering import TokenText, texts_to_predictions
from longform.text.sentences import sentences

N = 4  # massarelli2020, section 5


def first_grams(tokens: np.ndarray, n: int) -> np.ndarray:
    """Mark each n-gram of a text that has not occurred before in it.

    Args:
        tokens: numbers of the words or tokens, int64 (tokens,).
        n: how many make an n-gram.

    Returns:
        1 at an n-gram's first occurrence, else 0, float64 (tokens - n + 1,); empty for a shorter
        text.
    """
    if len(tokens) < n:
        return np.zeros(0)
    windows = np.lib.stride_tricks.sliding_window_view(tokens, n)
    _, first_indices = np.unique(windows, axis=0, return_index=True)
    is_first = np.zeros(len(windows))
    is_first[first_indices] = 1
    return is_first


# Class keywords: see TextCritic.
class _WordGrams(TextCritic, needs="four words with blanks between them"):
    """Critics of n-grams of words; the pipeline gives them n-grams of a language model's tokens."""

    def read_texts(self, documents: Sequence[Document]) -> list[TokenText]:
        """The words of each text as numbers."""
        return word_texts(documents)

    def spans(self, document: Document, unit: TokenText, values: np.ndarray) -> Spans:
        """The sentence in which each n-gram begins; word i of the text begins n-gram i."""
        sentence_spans = sentences(document.text)
        sentence_starts = [start for start, _ in sentence_spans]
        words = list(re.finditer(r"\S+", document.text))
        spans = []
        for word in words[: len(values)]:
            sentence = bisect(sentence_starts, word.start()) - 1
            spans.append(sentence_spans[sentence])
        return spans


@dataclass(frozen=True)
class DistinctGrams(
    _WordGrams, better="higher", divided=("distinct", "generations"), parts="n-grams", blame=-1
):
    """Mean number of different n-grams per generation; an empty generation counts with zero."""

    n: int = N

    def part_values(self, units: Sequence[TokenText]) -> list[np.ndarray]:
        """1 for each n-gram at its first occurrence in the text, else 0, (n-grams,)."""
        return [first_grams(unit.tokens, self.n) for unit in units]

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        """Different n-grams of each text; none is excluded."""
        rows = []
        for is_first in self.part_values(units):
            rows.append((is_first.sum(), 1, 0))
        return SufficientStatistics.of(units, ("distinct", "generations", "excluded"), rows)


@dataclass(frozen=True)
class Repetition(
    _WordGrams,
    better="reference_matched",
    divided=("repeated", "grams"),
    parts="n-grams",
    blame=1,
    recorded_as="RepeatedGrams",
):
    """Share of n-grams that were met before in the same text, over all texts.

    Unlike a count it does not grow with length.
    """

    n: int = N

    def part_values(self, units: Sequence[TokenText]) -> list[np.ndarray]:
        """1 for each n-gram that occurred before in the text, else 0, (n-grams,)."""
        values = []
        for unit in units:
            values.append(1 - first_grams(unit.tokens, self.n))
        return values

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        """A row a text: ``repeated`` and all ``grams``; one without n-grams is ``excluded``."""
        rows = []
        for repeated in self.part_values(units):
            rows.append((repeated.sum(), len(repeated), not len(repeated)))
        return SufficientStatistics.of(units, ("repeated", "grams", "excluded"), rows)


@dataclass(frozen=True)
class GramProportion(SumScored, better="higher"):
    """Different n-grams of the generations over those of the human texts.

    A generation without a human text is excluded.

    Attributes:
        reading: which definition: the paper's text says an average of ratios, its Table 1 prints
            the ratio of averages.
        n: how many words make an n-gram.
    """

    reading: Literal["ratio_of_averages", "average_of_ratios"] = "ratio_of_averages"
    n: int = N

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        """Different n-grams of each generation and of its human text, and their ratio."""
        rows = []
        for unit in units:
            machine = first_grams(unit.tokens, self.n).sum()
            human = first_grams(unit.reference, self.n).sum()
            if human:
                rows.append((machine, human, machine / human, 1, 0))
            else:
                rows.append((0, 0, 0, 0, 1))
        return SufficientStatistics.of(
            units, ("distinct", "reference", "ratio", "generations", "excluded"), rows
        )

    def of_sums(self, sums: Sums) -> Any:
        """The proportion by the definition of ``reading``."""
        if self.reading == "average_of_ratios":
            return ratio(sums.total("ratio"), sums.total("generations"))
        return ratio(sums.total("distinct"), sums.total("reference"))


def units_from_predictions(predictions: Predictions) -> list[TokenText]:
    """Inverse of :func:`longform.text.rendering.texts_to_predictions`."""
    units = []
    for unit_id, split, tokens, reference in predictions.rows("token", "reference"):
        units.append(TokenText(unit_id, split, tokens, reference))
    return units


def word_texts(documents: Sequence[Document]) -> list[TokenText]:
    """The words of each text as numbers, without a reference text.

    A word has the same number in all texts; numbers are in the order of first occurrence.
    """
    number_of: dict[str, int] = {}
    no_reference = np.zeros(0, dtype=np.int64)
    units = []
    for document in documents:
        words = document.text.split()
        numbers = [number_of.setdefault(word, len(number_of)) for word in words]
        tokens = np.array(numbers, dtype=np.int64)
        units.append(TokenText(document.id, document.split, tokens, no_reference))
    return units


def read(*, documents: Sequence[Document], splits: Sequence[str]) -> Predictions:
    """Predictions with the words of the documents of some splits, as :func:`word_texts`."""
    return texts_to_predictions(word_texts(in_splits(documents, splits)))
