"""Scores that a model gave: the neural ranker's number for each text, and for each permutation that it was shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from longform.core.critic import Better, SumScored, Tally
from longform.core.documents import Readout


@dataclass(frozen=True)
class ScoredText:
    """One text and the one number that a model gave it, nan where it could not."""

    unit_id: str
    split: str
    value: float


def units_from_readout(readout: Readout) -> list[ScoredText]:
    """Texts of the ranker's readings."""
    return [ScoredText(unit, split, float(value)) for unit, split, value in readout.rows("text_score")]


@dataclass(frozen=True)
class GivenScore(SumScored):
    """Mean of the numbers that a model gave; higher is more coherent."""

    better: ClassVar[Better] = "higher"
    divided: ClassVar[tuple[str, str]] = ("value", "texts")

    def tally(self, units: Sequence[ScoredText]) -> Tally:
        """Columns value, texts, excluded."""
        values = self.coherence(units)
        there = ~np.isnan(values)
        return Tally.of_columns(units, value=np.where(there, values, 0.0), texts=there, excluded=~there)

    def coherence(self, units: Sequence[ScoredText]) -> np.ndarray:
        """The number of each text, float64 (units,)."""
        return np.array([unit.value for unit in units], dtype=np.float64)
