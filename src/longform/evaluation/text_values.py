"""A critic's number for every text by itself, kept for tables that hold several critics against people's marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from longform.critic import Better, Tally
from longform.evaluation.order_pairs import values_of


@dataclass(frozen=True)
class TextValues:
    """Any critic, with its number for each text in the details.

    Attributes:
        scorer: the critic, whose own score the row reports.
    """

    scorer: Any

    @property
    def better(self) -> Better:
        """The critic's."""
        return self.scorer.better

    def fit(self, real: Sequence[Any]) -> TextValues:
        """Fit the critic."""
        return replace(self, scorer=self.scorer.fit(real))

    def tally(self, units: Sequence[Any]) -> Tally:
        """The critic's."""
        return self.scorer.tally(units)

    def score(self, tally: Tally) -> float:
        """The critic's."""
        return self.scorer.score(tally)

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """Names of the texts and their values, None where the critic has none; and which way is better."""
        values = [float(v) if np.isfinite(v) else None for v in values_of(self.scorer, units)]
        return {"unit_ids": [unit.unit_id for unit in units], "values": values, "better": self.better}
