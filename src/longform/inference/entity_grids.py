"""Entity grids: sentences x entities with the role of each entity in each sentence (lapata2005 section 3.1).

Every noun is an entity of its own, known by its string: exact repetition is the only coreference, since resolvers are
trained on coherent text and fail on the other kind (section 3.1); merging coreferent columns is an option. All nouns
of a noun phrase bear the role of its head; of several mentions in a sentence the highest role counts, S > O > X;
passives enter their deep role.

Roles come from one of four places, which the readout names: the known truth of a made corpus, a published grid file,
a spaCy model where one is installed, or rules (:mod:`longform.inference.noun_rules`), which are no parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from longform.units import BadInput, Document, Readout

ROLES = "SOX-"  # cell codes 0..3, highest role first, so that the highest of several mentions is the minimum
ABSENT = ROLES.index("-")
Mention = tuple[int, str, str]  # sentence, entity, role


@dataclass(frozen=True)
class Grid:
    """One document's grid.

    Attributes:
        entities: (entities,) the strings that name the columns.
        cells: uint8 (sentences, entities), indices into ``ROLES``. A document without nouns has no column.
    """

    unit_id: str
    split: str
    entities: tuple[str, ...]
    cells: np.ndarray

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or self.cells.shape[1] != len(self.entities):
            raise BadInput(f"grid {self.unit_id!r}: cells {self.cells.shape}, {len(self.entities)} entities; make them agree")

    @property
    def empty(self) -> bool:
        """Whether nothing can be scored: no sentence or no entity."""
        return not self.cells.size

    @property
    def sentence_keys(self) -> list[bytes]:
        """One key per sentence; sentences with equal roles are alike to every scorer of grids."""
        return [row.tobytes() for row in self.cells]

    def nouns(self, sentence: int) -> list[str]:
        """Entities that a sentence mentions."""
        return [self.entities[j] for j in np.flatnonzero(self.cells[sentence] != ABSENT)]

    def reordered(self, order: Sequence[int]) -> Grid:
        """The grid of the same sentences in another order."""
        return replace(self, cells=self.cells[np.asarray(order, dtype=np.int64)])

    def merged(self, names: Mapping[str, str]) -> Grid:
        """Columns of coreferent entities joined under one name (the ``Coreference+`` option), highest role first."""
        renamed = [names.get(entity, entity) for entity in self.entities]
        rows, columns = np.nonzero(self.cells != ABSENT)
        mentions = [(int(i), renamed[j], ROLES[self.cells[i, j]]) for i, j in zip(rows, columns, strict=True)]
        return grid_from_mentions(self.unit_id, self.split, len(self.cells), mentions)


def grid_from_mentions(unit_id: str, split: str, sentences: int, mentions: Iterable[Mention]) -> Grid:
    """Columns in order of first mention; the highest role wins within a sentence.

    Raises:
        BadInput: a role is none of S, O, X, or a sentence lies outside the document.
    """
    mentions = list(mentions)
    entities = {entity: j for j, entity in enumerate(dict.fromkeys(entity for _, entity, _ in mentions))}
    cells = np.full((sentences, len(entities)), ABSENT, dtype=np.uint8)
    for sentence, entity, role in mentions:
        if role not in "SOX" or not 0 <= sentence < sentences:
            raise BadInput(f"grid {unit_id!r}: mention {(sentence, entity, role)}; roles are S, O, X, sentences 0..{sentences - 1}")
        column = entities[entity]
        cells[sentence, column] = min(cells[sentence, column], ROLES.index(role))
    return Grid(unit_id, split, tuple(entities), cells)


def grids_to_readout(grids: Sequence[Grid], extra: Mapping[str, np.ndarray] | None = None) -> Readout:
    """Arrays ``cells`` (row by row) with ``cells_lengths``, ``entity`` into ``entity_names``, and ``sentences``."""
    names = sorted({entity for grid in grids for entity in grid.entities})
    index = {name: i for i, name in enumerate(names)}
    flat = [index[entity] for grid in grids for entity in grid.entities]
    cells = [grid.cells.ravel() for grid in grids]
    arrays = {
        "cells": np.concatenate(cells) if cells else np.zeros(0, dtype=np.uint8),
        "cells_lengths": np.array([grid.cells.size for grid in grids], dtype=np.int64),
        "entity": np.array(flat, dtype=np.int32),
        "entity_lengths": np.array([len(grid.entities) for grid in grids], dtype=np.int64),
        "entity_names": np.array(names, dtype=np.str_),
        "sentences": np.array([len(grid.cells) for grid in grids], dtype=np.int64),
    }
    return Readout(tuple(g.unit_id for g in grids), tuple(g.split for g in grids), arrays | dict(extra or {}))


def grids_from_readout(readout: Readout) -> list[Grid]:
    """Inverse of :func:`grids_to_readout`."""
    names = readout.arrays["entity_names"].tolist()
    shapes = readout.arrays["sentences"].tolist()
    rows = zip(readout.unit_ids, readout.splits, readout.ragged("cells"), readout.ragged("entity"), shapes, strict=True)
    return [
        Grid(unit, split, tuple(names[i] for i in entity.tolist()), cells.reshape(sentences, len(entity)))
        for unit, split, cells, entity, sentences in rows
    ]
