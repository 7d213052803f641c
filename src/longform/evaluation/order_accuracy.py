"""Pairwise accuracy from scores of orders that a model has already given (:mod:`longform.critics.neural_ranker.read`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.documents import BadInput, Readout
from longform.text.permutations import COLUMNS, accuracy, described, preferred


@dataclass(frozen=True)
class ScoredOrders:
    """One text's scores by task: the original's first, then its shuffles'."""

    unit_id: str
    split: str
    scores: Mapping[str, np.ndarray]


def units_from_readout(readout: Readout) -> list[ScoredOrders]:
    """One unit per document."""
    tasks = [name.removesuffix("_lengths") for name in readout.arrays if name.endswith("_lengths")]
    rows = zip(*(readout.ragged(task) for task in tasks), strict=True) if tasks else [()] * len(readout.unit_ids)
    ids = zip(readout.unit_ids, readout.splits, rows, strict=True)
    return [ScoredOrders(unit, split, dict(zip(tasks, row, strict=True))) for unit, split, row in ids]


@dataclass(frozen=True)
class OrderAccuracy:
    """Share of (original, shuffle) pairs in which the original scores higher; ties are errors, counted apart.

    Attributes:
        task, size: which shuffles.
    """

    task: str = "block"
    size: int = 1
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[ScoredOrders]) -> OrderAccuracy:
        """Nothing: the scores are there."""
        return self

    def tally(self, units: Sequence[ScoredOrders]) -> Tally:
        """Wins, ties, pairs, above the mean of the shuffles, and texts without a pair.

        Raises:
            BadInput: the readout lacks the task.
        """
        rows = [self._row(unit) for unit in units]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))
        return Tally(tuple(unit.unit_id for unit in units), COLUMNS, values)

    def score(self, tally: Tally) -> float:
        """Wins over pairs; nan without a pair."""
        return accuracy(tally)

    def describe(self, units: Sequence[ScoredOrders]) -> dict[str, Any]:
        """Every task of the readout, as :func:`longform.text.permutations.described`."""
        names = units[0].scores if units else {}
        critics = {
            name: replace(self, task=name.rpartition("_")[0], size=int(name.rpartition("_")[2])) for name in names
        }
        return {"tasks": {name: described(critic, critic.tally(units)) for name, critic in critics.items()}}

    def _row(self, unit: ScoredOrders) -> tuple[int, int, int, int, int]:
        key = f"{self.task}_{self.size}"
        if key not in unit.scores:
            raise BadInput(f"order accuracy: no scores of {key!r}, the readout has {sorted(unit.scores)}; mend the row")
        return preferred(unit.scores[key], 1)
