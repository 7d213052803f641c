"""World grammar: the share of sentences that the synthetic world could have written. Its own articles have exactly 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, Tally
from longform.core.documents import Readout

REFUSED = -1  # in place of a frame
LISTED = 5  # texts whose refused sentences a record lists


@dataclass(frozen=True)
class DerivedText:
    """One text: the frame of each sentence, ``REFUSED`` for one that the grammar does not derive."""

    unit_id: str
    split: str
    frames: np.ndarray


@dataclass(frozen=True)
class DerivableShare:
    """Share of derivable sentences, over all texts; a text without a sentence is excluded."""

    better: ClassVar[Better] = "higher"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("derivable",)
    blame: ClassVar[int] = -1

    def attribute(self, units: Sequence[DerivedText]) -> list[np.ndarray]:
        """Per sentence 1 where the grammar derives it, else 0."""
        return [(unit.frames != REFUSED).astype(np.float64) for unit in units]

    def fit(self, real: Sequence[DerivedText]) -> DerivableShare:
        """Nothing is learned: the grammar is the world's own."""
        return self

    def tally(self, units: Sequence[DerivedText]) -> Tally:
        """Columns derivable, sentences, excluded."""
        rows = [(part.sum(), len(part), not len(part)) for part in self.attribute(units)]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
        return Tally(tuple(unit.unit_id for unit in units), ("derivable", "sentences", "excluded"), values)

    def score(self, tally: Tally) -> float:
        """A share; nan where no text has a sentence."""
        sentences = tally.total("sentences")
        return tally.total("derivable") / sentences if sentences else math.nan

    def describe(self, units: Sequence[DerivedText]) -> Mapping[str, Any]:
        """The places of the refused sentences in each of the first texts."""
        return {"refused": {u.unit_id: np.flatnonzero(u.frames == REFUSED).tolist() for u in units[:LISTED]}}


def units_from_readout(readout: Readout) -> list[DerivedText]:
    """What ``read`` wrote, one unit per text."""
    rows = zip(readout.unit_ids, readout.splits, readout.ragged("frame"), strict=True)
    return [DerivedText(*row) for row in rows]
