"""Tables that are records laid out: rows by some of their fields; columns by critic, metric and variant, or by the values of one field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput
from longform.core.results import Record, Results
from longform.reporting.estimates import FEWEST_UNITS, of_records
from longform.reporting.printed import Expected, Printed
from longform.reporting.selection import ANY, DEFAULTS, Facts, select
from longform.reporting.table import Cell, cell, exact

SYSTEM = ("corpus", "system", "titles")


def pivot(
    results: Iterable[Record],
    expected: Expected,
    data: Path,
    columns: Mapping[str, Mapping[str, Any]],
    *,
    printed: str = "",
    rows: tuple[str, ...] = SYSTEM,
    where: Mapping[str, Any] | None = None,
    factor: float = 1.0,
) -> list[Cell]:
    """Cells in reading order, with the printed numbers of a table beside them.

    Records that differ by seed alone make one cell, their mean, and cells of their own in the CSV.

    Args:
        columns: column -> the filter of its records.
        printed: the table of ``expected.yaml``.
        rows: fields whose labels name a row; rows stand in the order of ``labels``.
        where: a filter of all columns.
        factor: what our numbers are multiplied by, 100 for percent.

    Raises:
        BadInput: several records of one seed in one place.
    """
    facts = Facts(data)
    found: list[tuple[tuple[int, ...], int, Cell]] = []
    for number, (column, filters) in enumerate(columns.items()):
        for records in select(results, {**(where or {}), **filters}).groups(*rows).values():
            rank = place(records[0], expected, rows)
            row = expected.labels(records[0], *rows)
            whole = records[0] if len(records) == 1 else _over_seeds(records)
            found.append((rank, number, expected.cell(row, column, whole, printed, facts, factor=factor)))
            if len(records) > 1:
                single = [
                    cell(f"{row}, seed {r.seed}", column, r, detail=True).times(factor)
                    for r in records
                    if r.seed is not None
                ]
                found += [(rank, number, one) for one in single]
    return [one for _, _, one in sorted(found, key=lambda item: item[:2])]


def ordered(records: Iterable[Record], expected: Expected, *names: str) -> list[Record]:
    """Records in the order of the labels of the named fields: no value first, values without a label last."""
    return sorted(records, key=lambda record: place(record, expected, names))


def place(record: Record, expected: Expected, names: Sequence[str]) -> tuple[int, ...]:
    """The places of a record's values among the labels of the named fields: no value first, values without a label last."""
    labels = [list(expected.content.get("labels", {}).get(name, {})) for name in names]
    values = [getattr(record, name) for name in names]
    return tuple(
        known.index(value) if value in known else -1 if value in ("", None) else len(known)
        for known, value in zip(labels, values, strict=True)
    )


def _over_seeds(records: Results) -> Record:
    """The mean of records that differ by seed alone, as one record; the record without a seed where there is one."""
    if len({record.seed for record in records}) < len(records):
        raise BadInput(
            f"{len(records)} records of one seed stand in one cell: {records[0]}; name more fields in the filter"
        )
    if means := [record for record in records if record.seed is None]:
        return means[0]
    mean = of_records(list(records))
    value, low, high, units = (mean.value, mean.low, mean.high, mean.units) if mean else (None, None, None, None)
    excluded, signature = max(r.excluded or 0 for r in records), f"mean of {len(records)} seeds"
    return replace(
        records[0], seed=None, value=value, low=low, high=high, units=units, excluded=excluded, p_value=None, signature=signature
    )  # fmt: skip


def exact_rows(expected: Expected, data: Path, corpora: Iterable[str], fact: str, column: str) -> list[Cell]:
    """The exact value that a synthetic corpus states of itself, a row for each corpus that has it."""
    facts = Facts(data)
    values = {corpus: facts.number(corpus, fact) for corpus in dict.fromkeys(corpora)}
    return [exact(f"{expected.label('corpus', c)}, exact", column, v) for c, v in values.items() if v is not None]


def comparison_notes(results: Iterable[Record], expected: Expected, rows: tuple[str, ...] = SYSTEM) -> list[str]:
    """One sentence for each permutation test against held-out real text."""
    return [
        f"{expected.labels(r, *rows, 'variant')}: minus real text's own score {r.difference:+.2f}, p = {r.p_value:.4f}"
        for r in results
        if r.p_value is not None
        and r.difference is not None
        and not math.isnan(r.difference)
        and (r.units or 0) >= FEWEST_UNITS
    ]


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
