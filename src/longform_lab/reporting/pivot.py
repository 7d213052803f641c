"""What a table or figure is drawn from, and the one builder of tables: records laid out by their
fields, printed numbers beside ours.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from longform.errors import BadInput
from longform.results import ANY, FEWEST_UNITS, Record, Results, bounds_of
from longform.tables import Cell, Several, cell, exact
from longform_lab.reporting.estimates import DEFAULTS, IDENTITY, Estimate, Facts, of_records, select
from longform_lab.reporting.printed import INCOMPARABLE, Expected, Printed, verdict_on

SYSTEM = ("corpus", "system", "titles")
REAL_TEXT = "0.3"  # the grey of what people wrote, in every figure


@dataclass(frozen=True)
class ReportInputs:
    """What a table or figure is drawn from.

    Attributes:
        results: complete records.
        expected: what its paper prints and claims.
        data: the data folder.
        name: under it ``expected.yaml`` lists its claims, ``params.yaml`` the records it shows.
        decoders: settings of decoders by name.
    """

    results: Results
    expected: Expected
    data: Path
    name: str = ""
    decoders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def where(self) -> dict[str, Any]:
        """Fields of records to which it is restricted."""
        choices = self.expected.choices or {}
        return dict(choices.get(self.name, {}))

    @cached_property
    def facts(self) -> Facts:
        """What the corpora say of themselves."""
        return Facts(self.data)

    @property
    def notes(self) -> list[str]:
        """Its claims, one sentence each with its verdict."""
        claims = self.expected.judged(self.results, self.data, self.name)
        return [claim.sentence() for claim in claims]

    def of_system(self, system: str) -> "ReportInputs":
        """The same, restricted to one system."""
        choices = {**(self.expected.choices or {}), self.name: {**self.where, "system": system}}
        return replace(self, expected=replace(self.expected, choices=choices))

    def models(self, *filters: Mapping[str, Any]) -> list[str]:
        """The systems among its own records that are no real text, in the order of their labels."""
        found = self.ordered(self.select(*filters), "system")
        names = [record.system for record in found if record.system != "data"]
        return list(dict.fromkeys(names))

    def label(self, name: str, value: Any) -> str:
        """How a field's value is shown."""
        return self.expected.label(name, value)

    def labels(self, record: Record, *names: str) -> str:
        """The labels of several fields of a record, fields without a value left out."""
        labels = []
        for name in names:
            value = getattr(record, name)
            if value not in (None, ""):
                labels.append(self.label(name, value))
        return ", ".join(labels)

    def select(self, *filters: Mapping[str, Any], **more: Any) -> Results:
        """The records among its own that agree with filters.

        Args:
            filters: a later one of a field replaces an earlier one.
            more: one more filter.
        """
        merged = self.where
        for one in (*filters, more):
            merged.update(one)
        return select(self.results, merged)

    def pivot(
        self,
        columns: Mapping[str, Mapping[str, Any]],
        printed: str = "",
        rows: tuple[str, ...] = SYSTEM,
        where: Mapping[str, Any] | None = None,
        factor: float = 1.0,
        records: Iterable[Record] | None = None,
    ) -> list[Cell]:
        """Records laid out as cells, in reading order.

        Records that differ by seed alone make one cell, their mean, and one each in the CSV.

        Args:
            columns: filters of records by the column's name.
            printed: the paper's table whose numbers stand beside ours.
            rows: fields whose labels name a row and order the rows.
            where: a filter of all; by default the fields to which the table is restricted.
            factor: what numbers are multiplied by: 100 for percent.
            records: by default all.

        Raises:
            BadInput: several records of one seed in one place.
        """
        if where is None:
            where = self.where
        pool = self.results if records is None else records
        # 1. The cells of each column with their positions: by row, then by column.
        placed: list[tuple[tuple[tuple[int, ...], int], Cell]] = []
        for number, (column, filters) in enumerate(columns.items()):
            chosen = select(pool, {**where, **filters})
            for trainings in chosen.groups(*rows).values():
                row = self.labels(trainings[0], *rows)
                position = self._position(trainings[0], rows), number
                mean = mean_over_seeds(trainings)
                placed.append((position, self.cell(row, column, mean, printed, factor)))
                for record in trainings if len(trainings) > 1 else ():
                    if record.seed is not None:
                        label = f"{row}, seed {record.seed}"
                        single = cell(label, column, record, detail=True).times(factor)
                        placed.append((position, single))
        # 2. In reading order; the sort is stable, so that seeds follow their mean.
        placed.sort(key=lambda pair: pair[0])
        return [one for _, one in placed]

    def crossed(
        self,
        records: Iterable[Record],
        table: str,
        rows: tuple[str, ...],
        column: str,
        factor: float = 1.0,
    ) -> list[Cell]:
        """A cell for each record, rows and columns in the order of the labels of their fields.

        Records of one seed, and of a variant that has no label (one head of an encoder), are in the
        CSV alone.

        Args:
            records: what is shown.
            table: the paper's table whose numbers stand beside ours.
            rows: fields whose labels name a row.
            column: the field whose labels name the columns.
            factor: what numbers are multiplied by.
        """
        ordered = Results(self.ordered(records, column))
        columns = {}
        for value in ordered.values(column):
            columns[self.label(column, value)] = {**dict.fromkeys(DEFAULTS, ANY), column: value}
        cells = self.pivot(columns, table, rows, {}, factor, ordered)
        if "variant" not in rows:
            return cells
        heads = set()
        for record in ordered:
            if record.variant and record.variant not in self.expected.labels("variant"):
                heads.add(self.labels(record, *rows))
        return [replace(one, detail=True) if one.row in heads else one for one in cells]

    def cell(self, row: str, column: str, record: Record, table: str, factor: float = 1.0) -> Cell:
        """A cell from a record, with the printed number beside it and the verdict on that.

        Args:
            row: its label.
            column: its label.
            record: the number.
            table: the paper's table in which the printed number stands.
            factor: what the record's number is multiplied by.
        """
        ours = cell(row, column, record).times(factor)
        printed = self.expected.beside(table, record)
        if printed is None or printed.value is None:
            return ours
        why = self.expected.incomparable(printed, self.facts)
        estimate = None
        if ours.value is not None:
            estimate = Estimate(ours.value, ours.low, ours.high, ours.units)
        verdict = INCOMPARABLE if why else verdict_on(printed, estimate)
        return replace(ours, printed=printed.value, verdict=verdict, why=why)

    def printed_alone(
        self, table: str, labels: Callable[[Printed], tuple[str, str] | None]
    ) -> list[Cell]:
        """The printed numbers of a table beside which none of our records stands.

        Args:
            table: the paper's.
            labels: the row and column of a printed number; None leaves it out.
        """
        cells = []
        for number in self.expected.numbers:
            if number.table != table or number.value is None:
                continue
            if number.where is not None and select(self.results, number.where):
                continue
            names = labels(number)
            if names is not None:
                cells.append(Cell(*names, None, printed=number.value))
        return cells

    def exact_rows(self, corpora: Iterable[str], fact: str, column: str) -> list[Cell]:
        """The exact value that a synthetic corpus states of itself, a row for each that has it."""
        cells = []
        for corpus in dict.fromkeys(corpora):
            value = self.facts.number(corpus, fact)
            if value is not None:
                cells.append(exact(f"{self.label('corpus', corpus)}, exact", column, value))
        return cells

    def comparisons(self, results: Iterable[Record]) -> list[str]:
        """One sentence for each permutation test against held-out real text."""
        sentences = []
        for record in results:
            difference, p_value = record.difference, record.p_value
            if p_value is None or difference is None or math.isnan(difference):
                continue
            if (record.units or 0) < FEWEST_UNITS:
                continue
            name = self.labels(record, *SYSTEM, "variant") + seed_suffix(record)
            numbers = f"{difference:+.2f}, p = {p_value:.4f}"
            sentences.append(f"{name}: minus real text's own score {numbers}")
        return sentences

    def ordered(self, records: Iterable[Record], *names: str) -> list[Record]:
        """Records in the order of the labels of the named fields.

        No value comes first, values without a label last.
        """
        return sorted(records, key=lambda record: self._position(record, names))

    def _position(self, record: Record, names: Sequence[str]) -> tuple[int, ...]:
        """The places of a record's fields among the labels of each."""
        position = []
        for name in names:
            value = getattr(record, name)
            labelled = list(self.expected.labels(name))
            if value in labelled:
                position.append(labelled.index(value))
            else:
                position.append(-1 if value in ("", None) else len(labelled))
        return tuple(position)


def for_each_system(
    inputs: ReportInputs, systems: Sequence[str], draw: Callable[[ReportInputs, str], Any]
) -> Any:
    """A sheet that shows one system, drawn for each of several.

    Args:
        inputs: the records.
        systems: the first of them has the exhibit's own folder.
        draw: draws the sheet of a system from its records alone.

    Returns:
        The sheet; of several systems their sheets as one. Without systems the sheet of nobody,
        whose drawing says what is missing.
    """
    if not systems:
        return draw(inputs, "")
    first, *others = systems
    sheet = draw(inputs.of_system(first), first)
    if not others:
        return sheet
    further = {}
    for system in others:
        further[system] = (inputs.label("system", system), draw(inputs.of_system(system), system))
    return Several(sheet, inputs.label("system", first), further)


def seed_suffix(record: Record) -> str:
    """``, seed 2``; empty where a record has no seed."""
    return "" if record.seed is None else f", seed {record.seed}"


def beside(record: Record, metric: str, value: float | None, **more: Any) -> Record:
    """A number of the same system, seed and critic."""
    same = {name: getattr(record, name) for name in ("critic", *SYSTEM, "seed")}
    return Record(metric=metric, value=value, **same, **more)


def mean_over_seeds(records: Results) -> Record:
    """The mean of records that differ by seed alone; of perplexities the geometric one.

    The record without a seed, where there is one, is that mean. The interval of a mean of shares is
    cut at 0 and 1, since Student's knows no bounds.

    Raises:
        BadInput: several records of one seed.
    """
    if len(records.values("seed")) < len(records):
        raise BadInput(
            f"{len(records)} records of one seed in one cell: {records[0]}; name more fields in "
            "the filter"
        )
    # 1. The mean may be a record already.
    for record in records:
        if record.seed is None or len(records) == 1:
            return record
    # 2. Else it is computed; no seed's own test or details are those of the mean.
    first = records[0]
    is_perplexity = first.metric.endswith("ppl")
    mean = of_records(list(records), log=is_perplexity)
    if is_perplexity and mean is not None:
        mean = mean.exp()
    numbers: dict[str, Any] = {}
    for name in ("value", "low", "high", "units"):
        numbers[name] = getattr(mean, name, None)
    smallest, largest = bounds_of(first.metric)
    if numbers["low"] is not None:
        numbers["low"] = max(numbers["low"], smallest)
        numbers["high"] = min(numbers["high"], largest)
    numbers["excluded"] = max(record.excluded or 0 for record in records)
    same = {name: getattr(first, name) for name in ("better", *IDENTITY)}
    return Record(**same, **numbers, signature=f"mean of {len(records)} seeds")


def training_notes(records: Iterable[Record]) -> list[str]:
    """What an interval of a mean over trainings means, if there is one among the records."""
    counts = {int(r.details["trainings"]) for r in records if "trainings" in r.details}
    if not counts:
        return []
    trainings = " and ".join(map(str, sorted(counts)))
    degrees = " and ".join(str(count - 1) for count in sorted(counts))
    return [
        f"Numbers of {trainings} trainings are their mean; each training is in the CSV. Their "
        f"intervals cover documents and trainings (Student's t with {degrees} degrees of freedom): "
        "of so few trainings they say where the mean of many would lie, not where the next "
        "training will."
    ]


def errors(cells: Iterable[Cell | Estimate]) -> list[list[float]]:
    """Arms of error bars, downward and upward.

    There is none on a side where a percentile interval leaves its value out.
    """
    down, up = [], []
    for one in cells:
        value: Any = one.value
        down.append(0.0 if one.low is None else max(value - one.low, 0.0))
        up.append(0.0 if one.high is None else max(one.high - value, 0.0))
    return [down, up]


def panels(canvas: Any, count: int, across: int, **shared: Any) -> list[Any]:
    """Axes of a grid for so many panels; those that are left over are hidden.

    Where panels share their horizontal axis, matplotlib labels its ticks in the last row alone;
    here a panel above a hidden one is labelled too.

    Args:
        canvas: the matplotlib figure.
        count: of panels.
        across: panels in a row.
        shared: ``sharex`` and the like.
    """
    down = max(-(-count // across), 1)
    axes = canvas.subplots(down, across, squeeze=False, **shared).ravel()
    for position in range(count, down * across):
        axes[position].set_axis_off()
        if position >= across:
            axes[position - across].tick_params(labelbottom=True)
    return list(axes[:count])
