"""What a paper prints, which record of ours stands beside each number, and the ledger of all of them.

``experiments/<paper>/expected.yaml`` holds the numbers and the rules; ``experiments/README.md`` says how they are written.
"""

import re
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from longform.errors import BadInput
from longform.files.artefacts import read_yaml
from longform.results import NAMES, Record, Results
from longform_lab.reporting.claims import judge, stands_in
from longform_lab.reporting.estimates import IDENTITY, Estimate, Facts, contrast, of_records, select
from longform_lab.reporting.verdicts import Judged, counts_markdown

WITHIN, DIFFERS, ABSENT = "within interval", "differs", "not measured here"
INCOMPARABLE, LOST = "not comparable at this size", "lost"
VERDICTS = (WITHIN, DIFFERS, INCOMPARABLE, ABSENT, LOST)
PRECISION = 0.005  # the papers print two decimals: half a unit of the last one
KEYS = {"printed", "where", "names", "fact", "times", "precision", "comparable", "cause"}
RESERVED = {
    "kinds",
    "records",
    "claims",
    "labels",
    "comparable",
    "instruments",
    "exhibits",
}  # of expected.yaml: no printed numbers
NO_RESULTS = ("setting", "quoted")  # kinds of tables


@dataclass(frozen=True)
class Printed:
    """One printed number, None where the paper's text lost it; ``where``: of the record beside it, None if no ``rule`` leads to one."""

    table: str
    path: tuple[str, ...]
    value: float | None
    where: Mapping[str, Any] | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)


# one line of the ledger: the printed number, ours with its interval, the record's fields, the verdict and its cause
Line = namedtuple("Line", "paper table number printed ours low high units record verdict cause")


@dataclass(frozen=True)
class Expected:
    """What a paper prints and claims: the ``content`` of its ``expected.yaml``; ``scale`` names where the records come from."""

    paper: str
    content: Mapping[str, Any]
    scale: str = "default"

    def __getitem__(self, table: str) -> Any:
        return self.content[table]

    def labels(self, name: str) -> Mapping[Any, str]:
        """How values of a field are shown, in the order in which tables list them."""
        return self.content.get("labels", {}).get(name, {})

    def label(self, name: str, value: Any) -> str:
        """How a field's value is shown: by the file's ``labels``, else its own name in words."""
        shown = self.labels(name).get(value)
        return str(shown) if shown is not None else str(value).replace("_", " ")

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

    def _resolved(
        self, table: str, path: tuple[str, ...], value: float | None, words: Mapping[str, str]
    ) -> Printed:
        for rule in self.content.get("records", {}).get(table, ()):
            if (
                rule.keys() - KEYS
                or "printed" not in rule
                or not {"where", "fact", "cause"} & set(rule)
            ):
                told = f"keys are {sorted(KEYS)}, 'where' or 'fact' or 'cause' is needed"
                raise BadInput(f"experiments/{self.paper}: {table}: {rule}; {told}")
            steps = steps_of(rule["printed"], path)
            if steps is not None:
                named = {
                    name: rule.get("names", {}).get(name, {}).get(step, step)
                    for name, step in steps.items()
                }
                own = {name: step for name, step in named.items() if name in NAMES}
                wanted = rule.get("where", {}).items()
                filled = {
                    k: v.format(**words, **named) if isinstance(v, str) else v for k, v in wanted
                }
                found = {**own, **filled} if "where" in rule or "fact" in rule else None
                fact = {"fact": rule["fact"].format(**named)} if "fact" in rule else {}
                return Printed(table, path, value, found, {**rule, **fact})
        return Printed(table, path, value)

    def beside(self, table: str, record: Record) -> Printed | None:
        """The printed number of a table that stands beside a record."""
        printed = (n for n in self.numbers if n.table == table and n.where is not None)
        return next((n for n in printed if select([record], n.where or {})), None)

    def incomparable(self, number: Printed, facts: Facts) -> str:
        """Why our number cannot be held to a printed one; empty where it can."""
        instrument = stands_in(number.where or {}, self.instruments)
        if instrument is not None:
            return str(instrument["why"])
        rule = number.rule.get("comparable", self.content.get("comparable", {}))
        wanted = rule.get("facts", {})
        own = facts.of(str((number.where or {}).get("corpus", ""))) if wanted else {}
        differing = [
            f"{name} {own.get(name, 'unknown')} here, {value} in the paper"
            for name, value in wanted.items()
            if own.get(name) != value
        ]
        if differing or ("scales" in rule and self.scale not in rule["scales"]):
            return (
                "; ".join([*differing, *([rule["why"]] if "why" in rule else [])])
                or f"scale {self.scale}"
            )
        return ""

    @property
    def instruments(self) -> Sequence[Mapping[str, Any]]:
        """Instruments of ours in the place of the paper's: which records are theirs (``where``), and ``why`` levels differ.

        No printed number is held to theirs, at any scale; nor, where ``claims`` is false, is a claim judged by them.
        """
        return [
            one
            for one in self.content.get("instruments", ())
            if self.scale not in one.get("unless", ())
        ]

    def judged(self, results: Results, data: Path, exhibit: str | None = None) -> list[Judged]:
        """Every claim of the paper, or those that belong to an exhibit."""
        claims = self.content.get("claims", [])
        asked = [claim for claim in claims if exhibit is None or claim.get("exhibit") == exhibit]
        return judge(self.paper, asked, results, data, self.scale, self.instruments)

    def ledger(self, results: Results, data: Path) -> list[Line]:
        """A line for each printed number."""
        facts, lines = Facts(data), []
        for number in self.numbers:
            ours, why = self._ours(number, results, facts), self.incomparable(number, facts)
            verdict, cause = verdict_on(number, ours), number.rule.get("cause", "")
            if why and verdict in (WITHIN, DIFFERS):
                verdict, cause = INCOMPARABLE, why
            cause = cause or ("" if number.where else "no rule leads to a record")
            asked = {
                **(number.where or {}),
                **({"fact": number.rule["fact"]} if "fact" in number.rule else {}),
            }
            record = " ".join(f"{key}={value}" for key, value in asked.items())
            found = [ours.value, ours.low, ours.high, ours.units] if ours else [None] * 4
            name = ".".join(number.path)
            lines.append(
                Line._make(
                    (self.paper, number.table, name, number.value, *found, record, verdict, cause)
                )
            )
        return lines

    def _ours(self, number: Printed, results: Results, facts: Facts) -> Estimate | None:
        if number.where is None:
            return None
        factor = number.rule.get("times", 1.0)
        if "fact" in number.rule:
            value = facts.number(str(number.where.get("corpus", "")), number.rule["fact"])
            return None if value is None else Estimate(factor * value)
        records, systems = select(results, number.where), number.where.get("system")
        if (
            isinstance(systems, list) and records
        ):  # the ledger has one line for a number: the first system that was run
            records = select(
                records,
                {**number.where, "system": min(records.values("system"), key=systems.index)},
            )
        if len(records.groups(*IDENTITY)) > 1:
            place = f"experiments/{self.paper}: {number.table}.{'.'.join(number.path)}"
            raise BadInput(
                f"{place}: {len(records)} records have {dict(number.where)}; name more fields"
            )
        found = of_records(list(records))
        return None if found is None else contrast((factor,), (found,))


def read_expected(
    folder: Path, scale: str = "default", overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> Expected:
    """``expected.yaml`` of a paper's folder; ``overrides``: blocks that a scale of experiment has otherwise, key by key."""
    content = read_yaml(folder / "expected.yaml")
    content |= {key: {**content.get(key, {}), **held} for key, held in (overrides or {}).items()}
    return Expected(folder.name, content, scale)


def verdict_on(number: Printed, ours: Estimate | None) -> str:
    """Whether a printed number lies in our interval, or, where ours has none, equals ours to the printed precision."""
    if number.value is None:
        return LOST
    if ours is None:
        return ABSENT
    slack = number.rule.get("precision", PRECISION) * (1 + 1e-9)
    low, high = (
        (ours.low, ours.high)
        if ours.low is not None and ours.high is not None
        else (ours.value, ours.value)
    )
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
        if name := re.fullmatch(r"\{(\w+)\}", step):
            found[name.group(1)] = path[place]
        elif step not in ("*", path[place]):
            return None
    return found if len(path) == len(wanted) else None


def _leaves(
    held: Any, path: tuple[str, ...], words: Mapping[str, str], columns: Sequence[str] = ()
) -> Iterator[tuple[tuple[str, ...], float | None, Mapping[str, str]]]:
    """Numbers with their paths and the words of the block that each stands in; lists take their steps from ``columns`` above them."""
    if isinstance(held, Mapping):
        columns = held.get("columns", columns)
        listed = {
            str(k): [v] if isinstance(v, str) else v
            for k, v in held.items()
            if isinstance(v, str | list)
        }
        beside = {key: " ".join(map(str, value)) for key, value in listed.items()}
        for key, value in held.items():
            if key != "columns":
                yield from _leaves(value, (*path, str(key)), beside, columns)
    elif isinstance(held, list):
        for name, value in zip(
            columns if len(columns) == len(held) else range(len(held)), held, strict=True
        ):
            yield from _leaves(value, (*path, str(name)), words)
    elif held is None or (isinstance(held, int | float) and not isinstance(held, bool)):
        yield path, None if held is None else float(held), words


def ledger_markdown(lines: Sequence[Line]) -> str:
    """Printed numbers by paper and verdict."""
    return counts_markdown("printed", [(one.paper, one.verdict) for one in lines], VERDICTS)
