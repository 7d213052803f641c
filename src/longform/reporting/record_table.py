"""Tables of result records: a row and a column for each, named by the labels of their fields, the printed number beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.reporting.printed import Expected, Printed
from longform.reporting.selection import Facts, select
from longform.reporting.table import Cell
from longform.results import Record, Results

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito (2008)


def crossed(
    records: Iterable[Record],
    expected: Expected,
    table: str,
    data: Path,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    factor: float = 1.0,
    named: Callable[[str], str] = str,
) -> list[Cell]:
    """A cell for each record, in the order in which ``expected.yaml`` lists the labels of its fields.

    A record of one seed, or of a variant that has no label (one head of an encoder), is in the CSV alone.

    Args:
        table: of the paper, whose printed numbers stand beside ours.
        rows, columns: the fields that name them.
        factor: 100 for shares in percent.
        named: what a column is called, from its labels.
    """
    facts, variants = Facts(data), ["", *expected.content.get("labels", {}).get("variant", {})]
    cells = []
    for r in ordered(records, expected, *rows, *columns):
        row = expected.labels(r, *rows) + ("" if r.seed is None else f", seed {r.seed}")
        single = r.seed is not None or r.variant not in variants
        made = expected.cell(row, named(expected.labels(r, *columns)), r, table, facts, factor=factor)
        cells.append(replace(made, detail=single))
    return cells


def ordered(records: Iterable[Record], expected: Expected, *names: str) -> list[Record]:
    """Records in the order of the labels of the named fields; values without a label come last."""
    labels = {name: list(expected.content.get("labels", {}).get(name, {})) for name in names}

    def place(record: Record) -> list[int]:
        values = [(name, getattr(record, name)) for name in names]
        return [labels[name].index(value) if value in labels[name] else len(labels[name]) for name, value in values]

    return sorted(records, key=place)


def printed_alone(
    expected: Expected, table: str, results: Results, place: Callable[[Printed], tuple[str, str] | None]
) -> list[Cell]:
    """The printed numbers of a table beside which none of our records stands.

    Args:
        place: row and column of a printed number; None leaves it out.
    """
    alone = [n for n in expected.numbers if n.table == table and n.value is not None and not _measured(n, results)]
    places = [(number, place(number)) for number in alone]
    return [Cell(*at, None, printed=number.value) for number, at in places if at is not None]


def _measured(number: Printed, results: Results) -> bool:
    return number.where is not None and len(select(results, number.where)) > 0


def errors(cells: Sequence[Cell]) -> list[list[float]]:
    """Arms of error bars, downward and upward: none on a side where a percentile interval leaves its value out."""
    ends: list[tuple[Any, Any, Any]] = [(c.value, c.low, c.high) for c in cells]
    return [
        [0.0 if low is None else max(value - low, 0.0) for value, low, _ in ends],
        [0.0 if high is None else max(high - value, 0.0) for value, _, high in ends],
    ]
