"""World grammar: the share of sentences that the synthetic world could have written.

Its own articles have exactly 1. Weak models hardly write one whole sentence of the world, so there
is a finer number beside it: the share of words up to where each sentence leaves the grammar.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.documents import Predictions, Unit, cut_texts
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored

REFUSED = -1  # in place of a frame's index: the grammar does not derive the sentence
LISTED = 5  # texts whose refused sentences a record lists


@dataclass(frozen=True)
class DerivedText(Unit):
    """One text, with a number for each sentence in every array: int32 (sentences,).

    Attributes:
        frames: index of the frame of the sentence's main clause; ``REFUSED`` where the grammar does
            not derive the sentence.
        words: number of words and marks in the sentence.
        followed: how many of these, from the first on, begin some sentence of the world.
    """

    frames: np.ndarray
    words: np.ndarray
    followed: np.ndarray


# Class keywords: see SumScored.
@dataclass(frozen=True)
class DerivableShare(
    SumScored,
    better="higher",
    share=True,
    divided=("derivable", "sentences"),
    parts="sentences",
    blame=-1,
):
    """Share of derivable sentences, over all texts; a text without a sentence is excluded."""

    def part_values(self, units: Sequence[DerivedText]) -> list[np.ndarray]:
        """1 for each sentence that the world can have written, else 0, (sentences,)."""
        return [(unit.frames != REFUSED).astype(np.float64) for unit in units]

    def sufficient_statistics(self, units: Sequence[DerivedText]) -> SufficientStatistics:
        rows = []
        for derivable in self.part_values(units):
            rows.append((derivable.sum(), len(derivable), not len(derivable)))
        return SufficientStatistics.of(units, ("derivable", "sentences", "excluded"), rows)

    def describe(self, units: Sequence[DerivedText]) -> Mapping[str, Any]:
        """The indices of the underivable sentences in each of the first ``LISTED`` texts."""
        refused = {}
        for unit in units[:LISTED]:
            refused[unit.unit_id] = np.flatnonzero(unit.frames == REFUSED).tolist()
        return {"refused": refused}


@dataclass(frozen=True)
class FollowedShare(
    SumScored,
    better="higher",
    share=True,
    divided=("followed", "words"),
    parts="sentences",
    blame=-1,
):
    """Share of words up to which each sentence begins like one of the world, over all texts.

    A text without words is excluded.
    """

    def part_values(self, units: Sequence[DerivedText]) -> list[np.ndarray]:
        """How many words of each sentence, from the first on, begin one of the world."""
        return [unit.followed.astype(np.float64) for unit in units]

    def sufficient_statistics(self, units: Sequence[DerivedText]) -> SufficientStatistics:
        rows = []
        for unit in units:
            rows.append((unit.followed.sum(), unit.words.sum(), not len(unit.words)))
        return SufficientStatistics.of(units, ("followed", "words", "excluded"), rows)


def units_from_predictions(predictions: Predictions) -> list[DerivedText]:
    """One unit for each text, with its arrays per sentence as :func:`recogniser.read` gives them.

    A text that was cut at a length limit loses its last sentence, which is unfinished.
    """
    units = []
    rows = predictions.rows("frame", "words", "followed")
    for (name, split, frames, words, followed), cut in zip(
        rows, cut_texts(predictions), strict=True
    ):
        whole_sentences = slice(0, -1) if cut else slice(None)
        units.append(
            DerivedText(
                name,
                split,
                frames[whole_sentences],
                words[whole_sentences],
                followed[whole_sentences],
            )
        )
    return units
