"""Role transitions within blocks of a few sentences, for texts of different lengths."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.critics.entity_grid.score import EntityGrid
from longform.documents import Document, Unit
from longform.errors import InputError
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.entity_grids import ABSENT, Grid
from longform.text.sentences import sentences

BLOCK = 4  # ours: sentences of a block


@dataclass(frozen=True)
class BlockedGrid(Unit):
    """A text's grid in blocks of ``BLOCK`` sentences, each with the entities that it mentions.

    Attributes:
        blocks: how many there are.
        cells: the roles in a block of one entity that it mentions, a column for each such pair:
            uint8 (BLOCK, columns).
        owners: the number of each column's block in the text, int64 (columns,).
    """

    blocks: int
    cells: np.ndarray
    owners: np.ndarray


def in_blocks(grid: Grid) -> BlockedGrid:
    """Cut a grid (sentences, entities) into blocks, without sentences after the last whole one."""
    blocks = len(grid.cells) // BLOCK
    cells = grid.cells[: blocks * BLOCK].reshape(blocks, BLOCK, len(grid.entities))
    # each entity that each block mentions becomes a column
    is_mentioned = (cells != ABSENT).any(axis=1)
    owners, entities = np.nonzero(is_mentioned)
    columns = cells[owners, :, entities].T
    return BlockedGrid(grid.unit_id, grid.split, blocks, columns, owners)


# Class keywords: see TextCritic.
@dataclass(frozen=True)
class BlockedEntityGrid(
    TextCritic,
    better="higher",
    divided=("logprob", "cells"),
    parts="sentences",
    blame=-1,
    needs=f"{BLOCK} sentences with nouns",
):
    """Role transitions over blocks of ``BLOCK`` sentences, so that texts of any length compare.

    The more sentences a text has, the more cells of its grid are empty, and an empty cell is the
    most probable one: on real articles the mean log-probability of a cell correlates 0.96 with the
    number of sentences. What is left over after the last block is not scored.

    Attributes:
        roles: the critic that scores the blocks' columns.
    """

    roles: EntityGrid = field(default_factory=EntityGrid)

    def read_texts(self, documents: Sequence[Document]) -> list[BlockedGrid]:
        """The grid of each text, cut into blocks."""
        return [in_blocks(grid) for grid in self.roles.read_texts(documents)]

    def spans(self, document: Document, unit: BlockedGrid, values: np.ndarray) -> Spans:
        """The spans of the sentences in blocks, which are the text's first ones."""
        return sentences(document.text)[: len(values)]

    def fit_units(self, real: Sequence[BlockedGrid]) -> "BlockedEntityGrid":
        """Count the transitions within the blocks of coherent texts.

        Raises InputError: no text has a block with nouns.
        """
        if not any(len(grid.owners) for grid in real):
            raise InputError(
                f"none of the {len(real)} real texts that teach it has {BLOCK} sentences with nouns"
            )
        return replace(self, roles=self.roles.fit_units([_side_by_side(real)]))

    def sufficient_statistics(self, units: Sequence[BlockedGrid]) -> SufficientStatistics:
        """A row a text: sum ``logprob`` (nats), ``cells``, ``excluded`` (no block with nouns)."""
        columns = np.array([len(unit.owners) for unit in units], dtype=np.int64)
        text_of_column = np.repeat(np.arange(len(units)), columns)
        column_log_probs = self._log_probs(units).sum(axis=0)
        return SufficientStatistics.of_columns(
            units,
            logprob=np.bincount(text_of_column, column_log_probs, len(units)),
            cells=columns * float(BLOCK),
            excluded=columns == 0,
        )

    def part_values(self, units: Sequence[BlockedGrid]) -> list[np.ndarray]:
        """Log-probability of each sentence of the blocks, the sum of its cells, nats.

        Returns:
            For each text float64 (sentences,), nan in a block without nouns.
        """
        values = []
        for unit in units:
            sentence_values = np.full((unit.blocks, BLOCK), np.nan)
            sentence_values[unit.owners] = 0.0
            np.add.at(sentence_values, unit.owners, self._log_probs([unit]).T)
            values.append(sentence_values.ravel())
        return values

    def _log_probs(self, units: Sequence[BlockedGrid]) -> np.ndarray:
        """Log-probability of the role in each cell, nats, float64 (BLOCK, columns).

        Args:
            units: whose columns stand side by side, text after text.
        """
        grid = _side_by_side(units)
        if grid.empty:
            return np.zeros((BLOCK, 0))
        return self.roles.part_values([grid])[0]


def _side_by_side(units: Sequence[BlockedGrid]) -> Grid:
    """The columns of all texts as those of one."""
    cells = [np.zeros((BLOCK, 0), dtype=np.uint8)]
    for unit in units:
        cells.append(unit.cells)
    columns = np.concatenate(cells, axis=1)
    nameless = ("",) * columns.shape[1]
    return Grid("blocks", "", nameless, columns)
