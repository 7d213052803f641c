"""Scores that a model gave: the neural ranker's number for each text, and for each permutation that it was shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.documents import Predictions, Unit
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored


@dataclass(frozen=True)
class ScoredText(Unit):
    """One text and the one number that a model gave it, nan where it could not."""

    value: float


def units_from_predictions(predictions: Predictions) -> list[ScoredText]:
    return [
        ScoredText(unit, split, float(value))
        for unit, split, value in predictions.rows("text_score")
    ]


@dataclass(frozen=True)
class GivenScore(SumScored, better="higher", divided=("value", "texts")):
    """Mean of the numbers that a model gave; higher is more coherent."""

    def sufficient_statistics(self, units: Sequence[ScoredText]) -> SufficientStatistics:
        values = np.array([unit.value for unit in units], dtype=np.float64)
        there = ~np.isnan(values)
        return SufficientStatistics.of_columns(
            units, value=np.where(there, values, 0.0), texts=there, excluded=~there
        )
