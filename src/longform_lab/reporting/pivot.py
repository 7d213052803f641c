"""What an exhibit is drawn from, and the one builder of tables: records laid out by their fields, printed numbers beside ours."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from longform.errors import BadInput
from longform.results import ANY, FEWEST_UNITS, Record, Results
from longform.tables import Cell, cell, exact
from longform_lab.reporting.estimates import DEFAULTS, IDENTITY, Estimate, Facts, of_records, select
from longform_lab.reporting.printed import INCOMPARABLE, Expected, Printed, verdict_on

SYSTEM = ("corpus", "system", "titles")
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)  # Okabe and Ito (2008)


@dataclass(frozen=True)
class Given:
    """What an exhibit is drawn from: complete records, what its paper prints, the data folder, and settings of decoders by name.

    Under its ``name`` ``expected.yaml`` lists its claims and ``params.yaml`` the records that it shows.
    """

    results: Results
    expected: Expected
    data: Path
    name: str = ""
    decoders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def where(self) -> dict[str, Any]:
        """Fields of records to which the exhibit is restricted."""
        return dict(self.expected.content.get("exhibits", {}).get(self.name, {}))

    @cached_property
    def facts(self) -> Facts:
        """What the corpora say of themselves."""
        return Facts(self.data)

    @property
    def notes(self) -> list[str]:
        """The exhibit's claims, one sentence each with its verdict."""
        return [
            judged.sentence() for judged in self.expected.judged(self.results, self.data, self.name)
        ]

    def label(self, name: str, value: Any) -> str:
        """How a field's value is shown."""
        return self.expected.label(name, value)

    def labels(self, record: Record, *names: str) -> str:
        """The labels of several fields of a record, fields without a value left out."""
        values = [(name, getattr(record, name)) for name in names]
        return ", ".join(
            self.label(name, value) for name, value in values if value not in (None, "")
        )

    def select(self, *filters: Mapping[str, Any], **more: Any) -> Results:
        """Records within the exhibit's choice that agree with filters; a later filter of a field replaces an earlier one."""
        return select(
            self.results,
            {name: v for one in (self.where, *filters, more) for name, v in one.items()},
        )

    def pivot(
        self,
        columns: Mapping[str, Mapping[str, Any]],
        printed: str = "",
        rows: tuple[str, ...] = SYSTEM,
        where: Mapping[str, Any] | None = None,
        factor: float = 1.0,
        records: Iterable[Record] | None = None,
    ) -> list[Cell]:
        """Cells in reading order; records that differ by seed alone make one, their mean, and one each in the CSV.

        ``columns`` are filters by name, ``rows`` fields whose labels name a row and order the rows; ``where``, the exhibit's choice
        by default, is a filter of all; numbers of the table ``printed`` stand beside ours, times ``factor``, 100 for percent.
        Raises BadInput: several records of one seed in one place.
        """
        where = self.where if where is None else where
        found: list[tuple[tuple[int, ...], int, Cell]] = []
        for number, (column, filters) in enumerate(columns.items()):
            chosen = select(self.results if records is None else records, {**where, **filters})
            for own in chosen.groups(*rows).values():
                row, place = self.labels(own[0], *rows), (self._place(own[0], rows), number)
                found.append(
                    (*place, self.cell(row, column, mean_over_seeds(own), printed, factor))
                )
                seeds = [r for r in own if len(own) > 1 and r.seed is not None]
                single = [
                    cell(f"{row}, seed {r.seed}", column, r, detail=True).times(factor)
                    for r in seeds
                ]
                found += [(*place, one) for one in single]
        return [one for *_, one in sorted(found, key=lambda item: item[:2])]

    def crossed(
        self,
        records: Iterable[Record],
        table: str,
        rows: tuple[str, ...],
        column: str,
        factor: float = 1.0,
    ) -> list[Cell]:
        """A cell for each record, rows and columns in the order of the labels of their fields.

        Records of one seed, and of a variant that has no label (one head of an encoder), are in the CSV alone.
        """
        found = self.ordered(records, column)
        values = dict.fromkeys(getattr(r, column) for r in found)
        columns = {
            self.label(column, v): {**dict.fromkeys(DEFAULTS, ANY), column: v} for v in values
        }
        known = ["", *self.expected.labels("variant")]
        heads = {
            self.labels(r, *rows) for r in found if r.variant not in known and "variant" in rows
        }
        cells = self.pivot(columns, table, rows, {}, factor, found)
        return [replace(c, detail=True) if c.row in heads else c for c in cells]

    def cell(self, row: str, column: str, record: Record, table: str, factor: float = 1.0) -> Cell:
        """A cell from a record, times a factor, with the printed number that stands beside it and the verdict on it."""
        own, beside = cell(row, column, record).times(factor), self.expected.beside(table, record)
        if beside is None or beside.value is None:
            return own
        why = self.expected.incomparable(beside, self.facts)
        ours = None if own.value is None else Estimate(own.value, own.low, own.high, own.units)
        return replace(
            own,
            printed=beside.value,
            verdict=INCOMPARABLE if why else verdict_on(beside, ours),
            why=why,
        )

    def printed_alone(
        self, table: str, where: Callable[[Printed], tuple[str, str] | None]
    ) -> list[Cell]:
        """The printed numbers of a table beside which none of our records stands, at the row and column of ``where``, if any."""
        printed = [n for n in self.expected.numbers if n.table == table and n.value is not None]
        alone = [n for n in printed if n.where is None or not select(self.results, n.where)]
        return [
            Cell(*at, None, printed=number.value)
            for number in alone
            if (at := where(number)) is not None
        ]

    def exact_rows(self, corpora: Iterable[str], fact: str, column: str) -> list[Cell]:
        """The exact value that a synthetic corpus states of itself, a row for each corpus that has it."""
        values = {corpus: self.facts.number(corpus, fact) for corpus in dict.fromkeys(corpora)}
        return [
            exact(f"{self.label('corpus', c)}, exact", column, v)
            for c, v in values.items()
            if v is not None
        ]

    def comparisons(self, results: Iterable[Record]) -> list[str]:
        """One sentence for each permutation test against held-out real text."""
        return [
            f"{self.labels(r, *SYSTEM, 'variant')}{'' if r.seed is None else f', seed {r.seed}'}: minus real text's own score {r.difference:+.2f}, p = {r.p_value:.4f}"
            for r in results
            if r.p_value is not None and r.difference is not None and not math.isnan(r.difference)
            if (r.units or 0) >= FEWEST_UNITS
        ]

    def ordered(self, records: Iterable[Record], *names: str) -> list[Record]:
        """Records in the order of the labels of the named fields: no value first, values without a label last."""
        return sorted(records, key=lambda record: self._place(record, names))

    def _place(self, record: Record, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(
            known.index(value) if value in known else -1 if value in ("", None) else len(known)
            for known, value in (
                (list(self.expected.labels(name)), getattr(record, name)) for name in names
            )
        )


def beside(record: Record, metric: str, value: float | None, **more: Any) -> Record:
    """A number of the same system, seed and critic."""
    same = {name: getattr(record, name) for name in ("critic", *SYSTEM, "seed")}
    return Record(metric=metric, value=value, **same, **more)


def mean_over_seeds(records: Results) -> Record:
    """The mean of records that differ by seed alone, of perplexities the geometric one; the record without a seed where there is one."""
    if len({record.seed for record in records}) < len(records):
        raise BadInput(
            f"{len(records)} records of one seed in one cell: {records[0]}; name more fields in the filter"
        )
    means = [record for record in records if record.seed is None]
    if means or len(records) == 1:
        return [*means, *records][0]
    logs = records[0].metric.endswith("ppl")
    mean = of_records(list(records), logs)
    mean = mean.exp() if logs and mean is not None else mean
    numbers: dict[str, Any] = {
        name: getattr(mean, name, None) for name in ("value", "low", "high", "units")
    }
    same = {
        name: getattr(records[0], name) for name in ("better", *IDENTITY)
    }  # what no seed says alone
    numbers |= {
        "excluded": max(r.excluded or 0 for r in records),
        "signature": f"mean of {len(records)} seeds",
    }
    return Record(**same, **numbers)


def training_notes(records: Iterable[Record]) -> list[str]:
    """What an interval of a mean over trainings means, if there is one among the records."""
    counts = sorted({int(r.details["trainings"]) for r in records if "trainings" in r.details})
    if not counts:
        return []
    few = " and ".join(map(str, counts))
    return [
        f"Numbers of {few} trainings are their mean; each training is in the CSV. Their intervals cover documents and "
        f"trainings (Student's t with {' and '.join(str(count - 1) for count in counts)} degrees of freedom): of so few "
        "trainings they say where the mean of many would lie, not where the next training will."
    ]


def errors(cells: Iterable[Cell | Estimate]) -> list[list[float]]:
    """Arms of error bars, downward and upward: none on a side where a percentile interval leaves its value out."""
    ends: list[tuple[Any, Any, Any]] = [(c.value, c.low, c.high) for c in cells]
    return [
        [0.0 if low is None else max(value - low, 0.0) for value, low, _ in ends],
        [0.0 if high is None else max(high - value, 0.0) for value, _, high in ends],
    ]


def panels(canvas: Any, count: int, across: int, **shared: Any) -> list[Any]:
    """Axes of a grid for so many panels; those that are left over are hidden."""
    axes = canvas.subplots(max(-(-count // across), 1), across, squeeze=False, **shared).ravel()
    for one in axes[count:]:
        one.set_axis_off()
    return list(axes[:count])
