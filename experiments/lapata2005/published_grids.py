"""Grids as Barzilay and Lapata published them: printed, one entity a line, or collected as JSON lines.

Printed: ``PINOCHET O S - O S -``; ``%`` is a comment. JSON lines: ``doc``, ``perm`` (1 is the original) and ``grid`` = {entity: run of roles}.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput
from longform.core.malformed import records, refusing
from longform.core.text.entity_grids import ROLES, Grid

ORIGINAL = 1


@refusing("JSON lines of grids in UTF-8")
def read_grids(path: Path) -> list[Grid]:
    """Grids named ``document/permutation``, from a file packed or not; empty ones are kept, so that whoever scores can count them."""
    found = records(path, ("doc", "perm", "grid"))
    return [grid_of(f"{one['doc']}/{int(one['perm'])}", one["grid"], where) for where, one in found]


@refusing("a printed grid")
def parse_grid(text: str, where: str = "grid") -> Grid:
    """One printed grid."""
    lines = [line.split() for line in text.splitlines()]
    return grid_of(where, {row[0]: "".join(row[1:]) for row in lines if row and not row[0].startswith("%")}, where)


def grid_of(name: str, rows: Mapping[str, str], where: str) -> Grid:
    """A grid from the roles of each entity. Raises BadInput: an unknown role, or entities of different length."""
    upper = {entity: roles.upper() for entity, roles in rows.items()}
    for entity, roles in upper.items():
        if not roles or set(roles) - set(ROLES):
            raise BadInput(f"{where}: entity {entity!r} has roles {roles!r}; allowed is one of S, O, X, - per sentence")
    if len({len(roles) for roles in upper.values()}) > 1:
        raise BadInput(f"{where}: entities span different numbers of sentences; every line needs one role a sentence")
    cells = np.array([[ROLES.index(role) for role in roles] for roles in upper.values()], dtype=np.uint8)
    return Grid(name, "train", tuple(upper), cells.T.copy() if upper else np.zeros((0, 0), dtype=np.uint8))
