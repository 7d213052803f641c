"""Grids as Barzilay and Lapata published them.

Printed, one entity a line: ``PINOCHET O S - O S -``; ``%`` begins a comment. Or collected as JSON
lines: ``doc``, ``perm`` (1 is the original) and ``grid`` = {entity: run of roles}.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from longform.errors import InputError
from longform.files.opening import field_of, records, typed
from longform.text.entity_grids import ROLES, Grid

ORIGINAL = 1


def read_grids(path: Path) -> list[Grid]:
    """Read the grids of a JSON lines file, gzipped or not, named ``document/permutation``.

    Grids without an entity are among them, so that they can be counted.
    """
    grids = []
    for where, record in records(path, ("doc", "perm", "grid")):
        entities = field_of(record, "grid", dict, where)
        for entity, roles in entities.items():
            typed(roles, str, f"{where}, entity {entity!r:.40}")
        name = f"{record['doc']}/{field_of(record, 'perm', int, where)}"
        grids.append(grid_of(name, entities, where))
    return grids


def parse_grid(text: str, where: str = "grid") -> Grid:
    """The grid of a printed text, named ``where``."""
    rows = {}
    for line in text.split("\n"):
        words = line.split()
        if words and not words[0].startswith("%"):
            rows[words[0]] = "".join(words[1:])
    return grid_of(where, rows, where)


def grid_of(name: str, rows: Mapping[str, str], where: str) -> Grid:
    """A grid from the roles of each entity.

    Args:
        name: of the grid.
        rows: by entity its run of roles, one letter a sentence.
        where: file and line, for errors.

    Raises:
        InputError: an unknown role, or entities of different length.
    """
    columns = []
    for entity, row in rows.items():
        roles = row.upper()
        if not roles or set(roles) - set(ROLES):
            raise InputError(
                f"{where}: entity {entity!r} has roles {roles!r}; allowed is one of S, O, X, - "
                "per sentence"
            )
        columns.append(list(map(ROLES.index, roles)))
    if len(set(map(len, columns))) > 1:
        raise InputError(
            f"{where}: entities span different numbers of sentences; every line needs one role a "
            "sentence"
        )
    cells = np.zeros((0, 0), dtype=np.uint8)
    if columns:
        cells = np.array(columns, dtype=np.uint8).T.copy()
    return Grid(name, "train", tuple(rows), cells)
