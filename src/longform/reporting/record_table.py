"""Tables whose columns are the values of one field of result records, and printed numbers that no record stands beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.core.results import Record, Results
from longform.reporting.pivot import ordered, pivot
from longform.reporting.printed import Expected, Printed
from longform.reporting.selection import ANY, DEFAULTS, select
from longform.reporting.table import Cell

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito (2008)


def crossed(
    records: Iterable[Record],
    expected: Expected,
    table: str,
    data: Path,
    *,
    rows: tuple[str, ...],
    column: str,
    factor: float = 1.0,
) -> list[Cell]:
    """A cell for each record, rows and columns in the order in which ``expected.yaml`` lists the labels of their fields.

    Records of one seed, and of a variant that has no label (one head of an encoder), are in the CSV alone.

    Args:
        table: of the paper, whose printed numbers stand beside ours.
        rows, column: the fields that name them.
        factor: 100 for shares in percent.
    """  # fmt: skip
    found = ordered(records, expected, column)
    values = dict.fromkeys(getattr(r, column) for r in found)
    columns = {expected.label(column, v): {**dict.fromkeys(DEFAULTS, ANY), column: v} for v in values}
    known = ["", *expected.content.get("labels", {}).get("variant", {})]
    heads = {expected.labels(r, *rows) for r in found if r.variant not in known and "variant" in rows}
    cells = pivot(found, expected, data, columns, printed=table, rows=rows, factor=factor)
    return [replace(c, detail=True) if c.row in heads else c for c in cells]


def printed_alone(
    expected: Expected, table: str, results: Results, where: Callable[[Printed], tuple[str, str] | None]
) -> list[Cell]:
    """The printed numbers of a table beside which none of our records stands.

    Args:
        where: row and column of a printed number; None leaves it out.
    """
    printed = [n for n in expected.numbers if n.table == table and n.value is not None]
    alone = [n for n in printed if n.where is None or not select(results, n.where)]
    places = [(number, where(number)) for number in alone]
    return [Cell(*at, None, printed=number.value) for number, at in places if at is not None]


def errors(cells: Sequence[Cell]) -> list[list[float]]:
    """Arms of error bars, downward and upward: none on a side where a percentile interval leaves its value out."""
    ends: list[tuple[Any, Any, Any]] = [(c.value, c.low, c.high) for c in cells]
    return [
        [0.0 if low is None else max(value - low, 0.0) for value, low, _ in ends],
        [0.0 if high is None else max(high - value, 0.0) for value, _, high in ends],
    ]
