"""What a paper prints, which record of ours stands beside each number, and the ledger of all of them.

``experiments/<paper>/expected.yaml`` holds the numbers and the rules; ``experiments/README.md`` says how they are written.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_yaml
from longform.core.documents import BadInput
from longform.core.results import NAMES, Record, Results
from longform.reporting.claims import Judged, counts_markdown, judge
from longform.reporting.estimates import Estimate, Facts, contrast, of_records, select
from longform.reporting.table import Cell, cell, write_rows

WITHIN, DIFFERS, ABSENT = "within interval", "differs", "not measured here"
INCOMPARABLE, LOST = "not comparable at this size", "lost"
VERDICTS = (WITHIN, DIFFERS, INCOMPARABLE, ABSENT, LOST)
PRECISION = 0.005  # the papers print two decimals: half a unit of the last one
KEYS = {"printed", "where", "names", "fact", "times", "precision", "comparable", "cause"}
RESERVED = {"kinds", "records", "claims", "labels", "comparable", "exhibits"}  # of expected.yaml: no printed numbers
NO_RESULTS = ("setting", "quoted")  # kinds of tables


@dataclass(frozen=True)
class Printed:
    """One printed number; None is one that the paper's text lost.

    Attributes:
        path: leads to it inside its table.
        where: fields of the record that stands beside it; None where no rule leads to one.
        rule: that gave them.
    """

    table: str
    path: tuple[str, ...]
    value: float | None
    where: Mapping[str, Any] | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """One line of the ledger: the printed number, ours with its interval, the record's fields, the verdict and its cause."""

    paper: str
    table: str
    number: str
    printed: float | None
    ours: float | None
    low: float | None
    high: float | None
    units: int | None
    record: str
    verdict: str
    cause: str


@dataclass(frozen=True)
class Expected:
    """What a paper prints and claims, read from ``expected.yaml``.

    Attributes:
        content: of the file.
        scale: the name of the scale of experiment that the records come from.
    """

    paper: str
    content: Mapping[str, Any]
    scale: str = "default"

    def __getitem__(self, table: str) -> Any:
        return self.content[table]

    @property
    def claims(self) -> Sequence[Mapping[str, Any]]:
        """The paper's claims as data."""
        return self.content.get("claims", [])

    def label(self, name: str, value: Any) -> str:
        """How a field's value is shown: by the file's ``labels``, else its own name in words."""
        shown = self.content.get("labels", {}).get(name, {}).get(value)
        return str(shown) if shown is not None else str(value).replace("_", " ")

    def labels(self, record: Record, *names: str) -> str:
        """The labels of several fields of a record, fields without a value left out."""
        values = [(name, getattr(record, name)) for name in names]
        return ", ".join(self.label(name, value) for name, value in values if value not in (None, ""))

    @cached_property
    def numbers(self) -> Sequence[Printed]:
        """Every printed number in the file's order; tables whose kind is ``setting`` or ``quoted`` print no results."""
        kinds = self.content.get("kinds", {})
        return [
            self._resolved(table, path, value, words)
            for table, held in self.content.items()
            if table not in RESERVED and kinds.get(table) not in NO_RESULTS
            for path, value, words in _leaves(held, (), {})
            if value is not None or kinds.get(table) == "lost"
        ]

    @cached_property
    def _tables(self) -> Mapping[str, list[Printed]]:
        found: dict[str, list[Printed]] = {}
        for number in self.numbers:
            found.setdefault(number.table, []).append(number)
        return found

    def _resolved(self, table: str, path: tuple[str, ...], value: float | None, words: Mapping[str, str]) -> Printed:
        for rule in self.content.get("records", {}).get(table, ()):
            unknown = sorted(set(rule) - KEYS)
            if unknown or "printed" not in rule or not {"where", "fact", "cause"} & set(rule):
                told = f"keys are {sorted(KEYS)}, 'where' or 'fact' or 'cause' is needed"
                raise BadInput(f"experiments/{self.paper}: {table}: {rule}; {told}")
            steps = steps_of(rule["printed"], path)
            if steps is not None:
                named = {name: rule.get("names", {}).get(name, {}).get(step, step) for name, step in steps.items()}
                own = {name: step for name, step in named.items() if name in NAMES}
                wanted = rule.get("where", {}).items()
                filled = {k: v.format(**words, **named) if isinstance(v, str) else v for k, v in wanted}
                found = {**own, **filled} if "where" in rule or "fact" in rule else None
                fact = {"fact": rule["fact"].format(**named)} if "fact" in rule else {}
                return Printed(table, path, value, found, {**rule, **fact})
        return Printed(table, path, value)

    def cell(
        self, row: str, column: str, record: Record, table: str, facts: Facts, *, factor: float = 1.0, **more: Any
    ) -> Cell:
        """A cell from a record, times a factor, with the printed number that stands beside it and the verdict on it."""
        own = cell(row, column, record).times(factor)
        numbers = (n for n in self._tables.get(table, ()) if n.where is not None)
        beside = next((n for n in numbers if select([record], n.where)), None)  # type: ignore[arg-type]
        if beside is None or beside.value is None:
            return replace(own, **more)
        why = self.incomparable(beside, facts)
        estimate = None if own.value is None else Estimate(own.value, own.low, own.high, own.units)
        verdict = INCOMPARABLE if why else verdict_on(beside, estimate)
        return replace(own, **{"printed": beside.value, "verdict": verdict, "why": why, **more})

    def incomparable(self, number: Printed, facts: Facts) -> str:
        """Why our number cannot be held to a printed one; empty where it can."""
        rule = number.rule.get("comparable", self.content.get("comparable", {}))
        wanted = rule.get("facts", {})
        own = facts.of(str((number.where or {}).get("corpus", ""))) if wanted else {}
        differing = [
            f"{name} {own.get(name, 'unknown')} here, {value} in the paper"
            for name, value in wanted.items()
            if own.get(name) != value
        ]
        if differing or ("scales" in rule and self.scale not in rule["scales"]):
            return "; ".join([*differing, *([rule["why"]] if "why" in rule else [])]) or f"scale {self.scale}"
        return ""

    def notes(self, exhibit: str, results: Results, data: Path) -> list[str]:
        """The claims that belong to an exhibit, one sentence each with its verdict."""
        claims = [claim for claim in self.claims if claim.get("exhibit") == exhibit]
        return [judged.sentence() for judged in judge(self.paper, claims, results, data, self.scale)]

    def judged(self, results: Results, data: Path) -> list[Judged]:
        """Every claim of the paper."""
        return judge(self.paper, self.claims, results, data, self.scale)

    def ledger(self, results: Results, data: Path) -> list[Line]:
        """A line for each printed number."""
        facts = Facts(data)
        return [self._line(number, results, facts) for number in self.numbers]

    def _line(self, number: Printed, results: Results, facts: Facts) -> Line:
        ours = self._ours(number, results, facts)
        why, cause = self.incomparable(number, facts), number.rule.get("cause", "")
        if number.value is None:
            verdict = LOST
        elif ours is None:
            verdict = ABSENT
        else:
            verdict = INCOMPARABLE if why else verdict_on(number, ours)
        cause = why if verdict == INCOMPARABLE else cause or ("" if number.where else "no rule leads to a record")
        fields = {**(number.where or {}), **({"fact": number.rule["fact"]} if "fact" in number.rule else {})}
        record = " ".join(f"{key}={value}" for key, value in fields.items())
        value, low, high, units = (ours.value, ours.low, ours.high, ours.units) if ours else (None, None, None, None)
        name = ".".join(number.path)
        return Line(self.paper, number.table, name, number.value, value, low, high, units, record, verdict, cause)

    def _ours(self, number: Printed, results: Results, facts: Facts) -> Estimate | None:
        if number.where is None:
            return None
        factor = number.rule.get("times", 1.0)
        if "fact" in number.rule:
            value = facts.number(str(number.where.get("corpus", "")), number.rule["fact"])
            return None if value is None else Estimate(factor * value)
        records, systems = select(results, number.where), number.where.get("system")
        if isinstance(systems, list) and records:  # the ledger has one line for a number: the first system that was run
            records = select(records, {**number.where, "system": min(records.values("system"), key=systems.index)})
        if len({tuple(getattr(r, name) for name in NAMES[: NAMES.index("seed")]) for r in records}) > 1:
            place = f"experiments/{self.paper}: {number.table}.{'.'.join(number.path)}"
            raise BadInput(f"{place}: {len(records)} records have {dict(number.where)}; name more fields")
        found = of_records(list(records))
        return None if found is None else contrast((factor,), (found,))


def read_expected(
    folder: Path, scale: str = "default", overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> Expected:
    """``expected.yaml`` of a paper's folder.

    Args:
        overrides: blocks of ``exhibits``, ``labels`` or any other key that a scale of experiment has otherwise, key by key.
    """
    content = read_yaml(folder / "expected.yaml")
    for key, held in (overrides or {}).items():
        content[key] = {**content.get(key, {}), **held}
    return Expected(folder.name, content, scale)


def verdict_on(number: Printed, ours: Estimate | None) -> str:
    """Whether a printed number lies in our interval, or, where ours has none, equals ours to the printed precision."""
    if number.value is None:
        return LOST
    if ours is None:
        return ABSENT
    slack = number.rule.get("precision", PRECISION) * (1 + 1e-9)
    low, high = (ours.low, ours.high) if ours.low is not None and ours.high is not None else (ours.value, ours.value)
    return WITHIN if low - slack <= number.value <= high + slack else DIFFERS


def steps_of(pattern: str, path: Sequence[str]) -> dict[str, str] | None:
    """What the ``{names}`` of a pattern stand for in a path, or None where they do not agree."""
    found: dict[str, str] = {}
    wanted = pattern.split(".")
    for place, step in enumerate(wanted):
        if step == "**":
            return found
        if place >= len(path):
            return None
        name = re.fullmatch(r"\{(\w+)\}", step)
        if name:
            found[name.group(1)] = path[place]
        elif step not in ("*", path[place]):
            return None
    return found if len(path) == len(wanted) else None


def _leaves(
    held: Any, path: tuple[str, ...], words: Mapping[str, str], columns: Sequence[str] = ()
) -> Iterator[tuple[tuple[str, ...], float | None, Mapping[str, str]]]:
    """Numbers with their paths, and the words and lists of words of the block that each stands in.

    A list as long as the ``columns`` that stand above it takes its steps from them.
    """
    if isinstance(held, Mapping):
        columns = held.get("columns", columns)
        beside = {str(k): _words(v) for k, v in held.items() if isinstance(v, str | list)}
        for key, value in held.items():
            if key != "columns":
                yield from _leaves(value, (*path, str(key)), beside, columns)
    elif isinstance(held, list):
        names = columns if len(columns) == len(held) else range(len(held))
        for name, value in zip(names, held, strict=True):
            yield from _leaves(value, (*path, str(name)), words)
    elif held is None or (isinstance(held, int | float) and not isinstance(held, bool)):
        yield path, None if held is None else float(held), words


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def write_ledger(path: Path, lines: Sequence[Line]) -> None:
    """``ledger.csv``: a printed number a line."""
    names = [f.name for f in fields(Line)]
    write_rows(path, names, [[getattr(one, name) for name in names] for one in lines])


def ledger_markdown(lines: Sequence[Line]) -> str:
    """Printed numbers by paper and verdict."""
    return counts_markdown("printed", [(one.paper, one.verdict) for one in lines], VERDICTS)
