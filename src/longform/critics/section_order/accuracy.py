"""How often a classifier's titles are the gold ones: the reader's own error, to be read beside every Latent PPL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.documents import Readout


@dataclass(frozen=True)
class ReadTitles:
    """Predicted and gold titles of one document, one entry a section; gold is None where the section has no title."""

    unit_id: str
    split: str
    predicted: tuple[str, ...]
    gold: tuple[str | None, ...]


@dataclass(frozen=True)
class TitleAccuracy:
    """Share of titled sections whose predicted title is the gold one (deng2022 appendix E: 89.48, 72.52, 88.15 %)."""

    better: ClassVar[Better] = "higher"
    parts: ClassVar[str] = "sections"
    attributed: ClassVar[tuple[str, ...]] = ("correct",)
    blame: ClassVar[int] = -1

    def attribute(self, units: Sequence[ReadTitles]) -> list[np.ndarray]:
        """Per section 1 where the predicted title is the gold one, 0 where not, nan where there is no gold title."""
        return [
            np.array([np.nan if g is None else p == g for p, g in zip(u.predicted, u.gold, strict=True)], np.float64)
            for u in units
        ]

    def fit(self, real: Sequence[ReadTitles]) -> TitleAccuracy:
        """Nothing is fitted."""
        return self

    def tally(self, units: Sequence[ReadTitles]) -> Tally:
        """Columns correct, titled, excluded (documents without any gold title)."""
        values = np.array([self._row(parts) for parts in self.attribute(units)]).reshape(len(units), 3)
        return Tally(tuple(unit.unit_id for unit in units), ("correct", "titled", "excluded"), values)

    @staticmethod
    def _row(parts: np.ndarray) -> tuple[float, float, float]:
        titled = float(np.sum(~np.isnan(parts)))
        return float(np.nansum(parts)), titled, float(not titled)

    def score(self, tally: Tally) -> float:
        """A share between 0 and 1; nan without any gold title."""
        titled = tally.total("titled")
        return tally.total("correct") / titled if titled else float("nan")


def units_from_readout(readout: Readout) -> list[ReadTitles]:
    """One unit per document of a section-title readout."""
    names, gold_names = readout.arrays["symbol_names"].tolist(), [*readout.arrays["gold_names"].tolist(), None]
    rows = zip(readout.unit_ids, readout.splits, readout.ragged("chain"), readout.ragged("gold"), strict=True)
    return [
        ReadTitles(unit, split, tuple(names[i] for i in predicted), tuple(gold_names[i] for i in gold))
        for unit, split, predicted, gold in rows
    ]
