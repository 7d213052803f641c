"""The entity grid at one length: a text is read in blocks of as many sentences, so that long texts are no other texts.

A grid of a whole text grows with it: the more sentences, the more of its cells are empty, and an empty cell is the most
probable one. On real articles the mean log-probability of a cell correlates 0.96 with the number of sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from longform.core.critic import Better, Tally
from longform.critics.entity_grid.score import RoleTransitions
from longform.text.entity_grids import ABSENT, Grid

BLOCK = 4  # ours: sentences of a block


@dataclass(frozen=True)
class BlockedRoles:
    """Role transitions over blocks of ``BLOCK`` sentences; sentences behind the last whole block are not scored."""

    roles: RoleTransitions = field(default_factory=RoleTransitions)
    better: ClassVar[Better] = "higher"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("logprob",)
    blame: ClassVar[int] = -1

    def fit(self, real: Sequence[Grid]) -> BlockedRoles:
        """Count the transitions within the blocks of coherent texts."""
        return replace(self, roles=self.roles.fit([block for grid in real for block in blocks(grid)]))

    def tally(self, units: Sequence[Grid]) -> Tally:
        """Columns logprob, cells and excluded (no block with nouns), a row per text."""
        rows = []
        for unit in units:
            own = self.roles.tally(blocks(unit))
            rows.append((own.total("logprob"), own.total("cells"), float(not own.total("cells"))))
        values = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
        return Tally(tuple(unit.unit_id for unit in units), ("logprob", "cells", "excluded"), values)

    def score(self, tally: Tally) -> float:
        """Mean log-probability of a cell over all texts, nats; nan without any cell."""
        return self.roles.score(tally)

    def attribute(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Log-probability of each scored sentence, the sum of its cells; nan in a block without nouns."""
        rows = []
        for unit in units:
            cells = self.roles.attribute(blocks(unit))
            rows.append(
                np.concatenate([c.sum(axis=1) if c.size else np.full(BLOCK, np.nan) for c in cells] or [np.zeros(0)])
            )
        return rows


def blocks(grid: Grid) -> list[Grid]:
    """Consecutive whole blocks, each with the columns that it mentions alone."""
    found = []
    for first in range(0, len(grid.cells) - BLOCK + 1, BLOCK):
        cells = grid.cells[first : first + BLOCK]
        kept = np.flatnonzero((cells != ABSENT).any(axis=0))
        names = tuple(grid.entities[column] for column in kept)
        found.append(replace(grid, unit_id=f"{grid.unit_id}@{first}", entities=names, cells=cells[:, kept]))
    return found
