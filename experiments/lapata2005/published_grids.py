"""Grids as Barzilay and Lapata published them: printed, one entity a line, or collected as JSON lines.

Printed: ``PINOCHET O S - O S -``; ``%`` is a comment. JSON lines: ``doc``, ``perm`` (1 is the original) and ``grid`` = {entity: run of roles}.
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
    """Grids named ``document/permutation``, from a file packed or not; empty ones are kept, so that whoever scores can count them."""
    grids = []
    for where, record in records(path, ("doc", "perm", "grid")):
        entities = field_of(record, "grid", dict, where)
        for entity, roles in entities.items():
            typed(roles, str, f"{where}, entity {entity!r:.40}")
        name = f"{record['doc']}/{field_of(record, 'perm', int, where)}"
        grids.append(grid_of(name, entities, where))
    return grids


def parse_grid(text: str, where: str = "grid") -> Grid:
    """One printed grid."""
    lines = [line.split() for line in text.split("\n")]
    return grid_of(
        where,
        {row[0]: "".join(row[1:]) for row in lines if row and not row[0].startswith("%")},
        where,
    )


def grid_of(name: str, rows: Mapping[str, str], where: str) -> Grid:
    """A grid from the roles of each entity. Raises InputError: an unknown role, or entities of different length."""
    upper = {entity: roles.upper() for entity, roles in rows.items()}
    for entity, roles in upper.items():
        if not roles or set(roles) - set(ROLES):
            raise InputError(
                f"{where}: entity {entity!r} has roles {roles!r}; allowed is one of S, O, X, - per sentence"
            )
    if len({len(roles) for roles in upper.values()}) > 1:
        raise InputError(
            f"{where}: entities span different numbers of sentences; every line needs one role a sentence"
        )
    cells = np.array(
        [[ROLES.index(role) for role in roles] for roles in upper.values()], dtype=np.uint8
    )
    return Grid(
        name, "train", tuple(upper), cells.T.copy() if upper else np.zeros((0, 0), dtype=np.uint8)
    )
