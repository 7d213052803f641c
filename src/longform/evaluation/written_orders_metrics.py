"""The metrics at telling documents from their written-out shuffles: lexical cohesion, likelihood, a ranker's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.critics.perplexity import score as likelihood
from longform.documents import BadInput, Readout
from longform.evaluation.lexical_tasks import scorer as lexical_scorer
from longform.evaluation.order_pairs import Family, OrderPairs, families
from longform.evaluation.panels import Panel, Settings, panel
from longform.text.entity_grids import grids_from_readout


@dataclass(frozen=True)
class ScoredText:
    """One text and the one number that a model gave it, nan where it could not."""

    unit_id: str
    split: str
    value: float


def scored_texts(readout: Readout) -> list[ScoredText]:
    """Texts of an ``order_scores`` readout."""
    rows = zip(readout.unit_ids, readout.splits, readout.arrays["text_score"].tolist(), strict=True)
    return [ScoredText(unit, split, value) for unit, split, value in rows]


@dataclass(frozen=True)
class GivenScore:
    """Mean of the numbers that a model gave, as a neural ranker does; higher is more coherent."""

    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[ScoredText]) -> GivenScore:
        """Nothing is fitted."""
        return self

    def tally(self, units: Sequence[ScoredText]) -> Tally:
        """Columns value, texts, excluded."""
        values = np.array([unit.value for unit in units], dtype=np.float64)
        there = ~np.isnan(values)
        rows = np.stack([np.where(there, values, 0.0), there, ~there], axis=1).astype(np.float64)
        return Tally(tuple(unit.unit_id for unit in units), ("value", "texts", "excluded"), rows)

    def score(self, tally: Tally) -> float:
        """Mean over texts; nan without any."""
        texts = tally.total("texts")
        return tally.total("value") / texts if texts else float("nan")


READINGS: Mapping[str, Any] = {
    "token_logprob": likelihood.units_from_readout,
    "text_score": scored_texts,
    "cells": grids_from_readout,
}  # the array that tells what was read
OTHERS: Mapping[str, Any] = {"likelihood": likelihood.Perplexity, "ranker": GivenScore}


def units_from_readout(readout: Readout) -> list[Family]:
    """Originals with their shuffles, as whatever the readout holds.

    Raises:
        BadInput: it holds nothing that a metric reads.
    """
    for name, reading in READINGS.items():
        if name in readout.arrays:
            return families(reading(readout))
    raise BadInput(f"order pairs: the readout holds {sorted(readout.arrays)}, one of {sorted(READINGS)} is needed")


def accuracy(*, real: Readout, models: Settings, task: str = "block", size: int = 1) -> Panel:
    """Pairwise accuracy of several metrics; the details hold every task of the texts."""

    def make(model: str, **settings: Any) -> OrderPairs:
        made = OTHERS[model](**settings) if model in OTHERS else lexical_scorer(model, real, **settings)
        return OrderPairs(made, task, size)

    return panel(models, make)
