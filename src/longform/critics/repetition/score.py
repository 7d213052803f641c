"""How much a generated text repeats itself: distinct 4-grams, and their proportion to the human
text (massarelli2020).

The text of the paper defines the proportion as an average of ratios, its Table 1 prints the ratio
of averages (143.52 / 222.48 = 64.51 %, and so on for all eight rows); both are here.
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
    """Per n-gram in reading order 1 where it has not been met before, else 0; a text shorter than n
    has none.
    """
    if len(tokens) < n:
        return np.zeros(0)
    windows = np.lib.stride_tricks.sliding_window_view(tokens, n)
    _, first_places = np.unique(windows, axis=0, return_index=True)
    is_first = np.zeros(len(windows))
    is_first[first_places] = 1
    return is_first


class _WordGrams(TextCritic, needs="four words with blanks between them"):
    """Critics of n-grams of words; the pipeline gives them n-grams of a language model's tokens."""

    def read_texts(self, documents: Sequence[Document]) -> list[TokenText]:
        return word_texts(documents)

    def spans(self, document: Document, unit: TokenText, values: np.ndarray) -> Spans:
        """Each n-gram stands for the sentence in which it begins."""
        sentence_spans = sentences(document.text)
        begins = [start for start, _ in sentence_spans]
        spans = []
        for word in list(re.finditer(r"\S+", document.text))[: len(values)]:
            spans.append(sentence_spans[bisect(begins, word.start()) - 1])
        return spans


@dataclass(frozen=True)
class DistinctGrams(
    _WordGrams, better="higher", divided=("distinct", "generations"), parts="n-grams", blame=-1
):
    """Mean number of different n-grams per generation; an empty generation counts with zero."""

    n: int = N

    def part_values(self, units: Sequence[TokenText]) -> list[np.ndarray]:
        return [first_grams(unit.tokens, self.n) for unit in units]

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        rows = [(values.sum(), 1, 0) for values in self.part_values(units)]
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
    """Share of n-grams that were met before in the same text, over all texts; unlike a count it
    does not grow with length.
    """

    n: int = N

    def part_values(self, units: Sequence[TokenText]) -> list[np.ndarray]:
        return [1 - first_grams(unit.tokens, self.n) for unit in units]

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
        rows = [(values.sum(), len(values), not len(values)) for values in self.part_values(units)]
        return SufficientStatistics.of(units, ("repeated", "grams", "excluded"), rows)


@dataclass(frozen=True)
class GramProportion(SumScored, better="higher"):
    """Different n-grams of the generations over those of the human texts; generations without a
    human text are counted out.
    """

    reading: Literal["ratio_of_averages", "average_of_ratios"] = "ratio_of_averages"
    n: int = N

    def sufficient_statistics(self, units: Sequence[TokenText]) -> SufficientStatistics:
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
        if self.reading == "average_of_ratios":
            return ratio(sums.total("ratio"), sums.total("generations"))
        return ratio(sums.total("distinct"), sums.total("reference"))


def units_from_predictions(predictions: Predictions) -> list[TokenText]:
    """Inverse of :func:`longform.text.rendering.texts_to_predictions`."""
    return [TokenText(*row) for row in predictions.rows("token", "reference")]


def word_texts(documents: Sequence[Document]) -> list[TokenText]:
    """Texts as numbers of their words, numbered in the order in which the texts bring them up; no
    reference text.
    """
    numbers: dict[str, int] = {}
    no_reference = np.zeros(0, dtype=np.int64)
    units = []
    for document in documents:
        tokens = [numbers.setdefault(word, len(numbers)) for word in document.text.split()]
        tokens_array = np.array(tokens, dtype=np.int64)
        units.append(TokenText(document.id, document.split, tokens_array, no_reference))
    return units


def read(*, documents: Sequence[Document], splits: Sequence[str]) -> Predictions:
    """As :func:`word_texts`, of the documents of some splits, as predictions."""
    return texts_to_predictions(word_texts(in_splits(documents, splits)))
