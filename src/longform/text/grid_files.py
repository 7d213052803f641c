"""Published entity grids: one line per entity, its name and its role in each sentence.

The grids of Barzilay and Lapata's corpora, as their permutation archives and the Brown coherence toolkit print them,
are text: ``PINOCHET O S - O S -``, roles apart or in one run, blank lines and ``%`` comments ignored. Collections of them travel
as JSON lines with ``doc``, ``perm`` (1 is the original) and ``grid`` = {entity: run of roles}.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import refusing

ORIGINAL = 1


@dataclass(frozen=True)
class PublishedGrid:
    """One supplied grid: entity -> its roles, one character of ``SOX-`` per sentence."""

    document: str
    permutation: int
    rows: Mapping[str, str]

    @property
    def empty(self) -> bool:
        """Whether the parser of the time found no entity."""
        return not self.rows


@refusing("a printed grid")
def parse_grid(text: str, where: str = "grid") -> dict[str, str]:
    """Entity -> roles of one printed grid.

    Raises:
        BadInput: a role is unknown, or lines differ in length.
    """
    rows: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.split()
        if fields and not fields[0].startswith("%"):
            rows[fields[0]] = "".join(fields[1:])
    return checked(rows, where)


def checked(rows: Mapping[str, str], where: str) -> dict[str, str]:
    """Roles in capitals, after the checks of :func:`parse_grid`."""
    upper = {entity: roles.upper() for entity, roles in rows.items()}
    for entity, roles in upper.items():
        if not roles or set(roles) - set("SOX-"):
            raise BadInput(f"{where}: entity {entity!r} has roles {roles!r}; allowed is one of S, O, X, - per sentence")
    if len({len(roles) for roles in upper.values()}) > 1:
        raise BadInput(f"{where}: entities span different numbers of sentences; every line needs one role a sentence")
    return upper


@refusing("JSON lines of grids in UTF-8")
def read_grids(path: Path) -> list[PublishedGrid]:
    """Read JSON lines of grids, gzipped or not; empty grids are kept, so that whoever scores can count them."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [_grid(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _grid(line: str, where: str) -> PublishedGrid:
    try:
        record = json.loads(line)
        document, permutation, rows = record["doc"], int(record["perm"]), record["grid"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{where}: not a grid record ({error!r}); needed are doc, perm and grid") from error
    return PublishedGrid(document, permutation, checked(rows, where))


def cells(rows: Mapping[str, str]) -> np.ndarray:
    """uint8 (sentences, entities) codes into ``SOX-``; (0, 0) for an empty grid."""
    if not rows:
        return np.zeros((0, 0), dtype=np.uint8)
    codes = [["SOX-".index(role) for role in roles] for roles in rows.values()]
    return np.array(codes, dtype=np.uint8).T.copy()


def build(*, raw: Path, file: str, split: str = "test") -> Corpus:
    """Published grids as documents whose text is the printed grid; ids read ``document/permutation``."""
    grids = read_grids(raw / file)
    documents = [
        Document(f"{grid.document}/{grid.permutation}", split, (Section(None, printed(grid.rows)),), _edit(grid))
        for grid in grids
    ]
    empty = sum(grid.empty for grid in grids)
    return Corpus(documents, {}, {"grids": len(grids), "empty": empty, "documents": len({g.document for g in grids})})


def _edit(grid: PublishedGrid) -> tuple[Mapping[str, object], ...]:
    return () if grid.permutation == ORIGINAL else ({"kind": "supplied_permutation", "of": grid.document},)


def printed(rows: Mapping[str, str]) -> str:
    """One entity a line; inverse of :func:`parse_grid`."""
    return "\n".join(f"{entity} {roles}" for entity, roles in rows.items()) or "% no entity"
