"""The ledger: every number that the papers print, with ours beside it, how the two stand to each other, and why.

``experiments/<paper>/expected.yaml`` holds what is printed and ``ledger.yaml`` beside it the rules that lead from a printed
number to a cell of one of our tables. A rule::

    - printed: latent_ppl.{corpus}.{model}     # a path in the printed table; {name} takes one step, ** the rest
      table: table_2                           # our table, its row and column, filled in from the path
      row: planted_{corpus} {model}
      column: Latent PPL
      names: {model: {lm1: gpt2}}              # what a step is called here
      scale: planted                           # whose paper_figures/
      claims: "data < W/ Title"                # held to the claims of our table that contain this, not to the number
      cause: planted text, a small model

The first rule that matches and whose cell exists decides. A rule with ``table`` but without ``row`` takes the next cell of
that table which says that it stands beside this printed number, with that cell's own verdict, or with ``claims`` too the verdict
of the table's claims alone; a rule without ``table`` gives its ``verdict`` and ``cause`` outright.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from longform.documents import BadInput
from longform.reporting.ledger import judge_number
from longform.reporting.printed import RESERVED

VERDICTS = ("equal", "within interval", "ordering holds", "differs", "not comparable", "not runnable here", "lost")
KEYS = {"printed", "table", "row", "column", "names", "scale", "claims", "cause", "verdict"}
CLAIM = re.compile(r"^- (?P<claim>.+?): (?P<verdict>ordering holds|differs|not runnable here) \((?P<why>.*)\)$", re.M)


@dataclass(frozen=True)
class Printed:
    """One printed number; None is one that the paper's text lost. ``path`` leads to it inside its table."""

    paper: str
    table: str
    path: tuple[str, ...]
    value: float | None


@dataclass(frozen=True)
class Line:
    """One line of the ledger: the printed number, ours with its interval, where ours stands, the verdict and its cause."""

    paper: str
    table: str
    number: str
    printed: float | None
    ours: float | None
    low: float | None
    high: float | None
    scale: str
    cell: str
    verdict: str
    cause: str


@dataclass(frozen=True)
class Ours:
    """A table of ours as its report wrote it: cells by (row, column), and the claims below it with their verdicts."""

    cells: Mapping[tuple[str, str], Mapping[str, str]]
    claims: Sequence[Mapping[str, str]]

    def beside(self, number: float | None, used: set[int]) -> Mapping[str, str] | None:
        """The first cell, not used before, that says it stands beside a printed number; it is then used."""
        for cell in self.cells.values():
            if (
                cell["printed"]
                and id(cell) not in used
                and number is not None
                and abs(float(cell["printed"]) - number) < 1e-9
            ):
                used.add(id(cell))
                return cell
        return None

    @classmethod
    def read(cls, folder: Path) -> Ours:
        """From ``<folder>/<name>.csv`` and ``.md``."""
        with (folder / f"{folder.name}.csv").open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            named = {"row", "column", "printed"} <= set(rows.fieldnames or ())  # a listing has other columns, no cells
            cells = {(row["row"], row["column"]): row for row in rows} if named else {}
        notes = folder / f"{folder.name}.md"
        text = notes.read_text(encoding="utf-8") if notes.is_file() else ""
        return cls(cells, [match.groupdict() for match in CLAIM.finditer(text)])


def printed_numbers(paper: str, expected: Mapping[str, Any]) -> list[Printed]:
    """Every number of ``expected.yaml`` in its order; None only where the table's kind is ``lost``."""
    kinds = expected.get("kinds", {})
    return [
        Printed(paper, table, path, value)
        for table, held in expected.items()
        if table not in RESERVED
        for path, value in _leaves(held, ())
        if value is not None or kinds.get(table) == "lost"
    ]


def _leaves(held: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float | None]]:
    if isinstance(held, Mapping):
        for key, value in held.items():
            yield from _leaves(value, (*path, str(key)))
    elif isinstance(held, list):
        for i, value in enumerate(held):
            yield from _leaves(value, (*path, str(i)))
    elif held is None or (isinstance(held, int | float) and not isinstance(held, bool)):
        yield path, None if held is None else float(held)


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


def checked(rules: Mapping[str, Any], where: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The rules, if each has known keys and a known verdict.

    Raises:
        BadInput: naming the rule and what is wrong with it.
    """
    for table, held in rules.items():
        for rule in held:
            wrong = sorted(set(rule) - KEYS)
            outright = "table" not in rule
            if wrong or "printed" not in rule or (outright and rule.get("verdict") not in VERDICTS):
                what = f"unknown keys {wrong}" if wrong else "no 'printed', or neither 'table' nor a known 'verdict'"
                raise BadInput(f"{where}: {table}: {what} in {dict(rule)}; allowed are {sorted(KEYS)} and {VERDICTS}")
    return rules


def line(
    number: Printed,
    rules: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Mapping[str, Ours]],
    used: set[int] | None = None,
) -> Line:
    """The ledger's line of a printed number.

    Args:
        rules: of the number's table, first match first.
        figures: scale -> ``paper/table`` -> our table.
        used: cells that other numbers have been given.
    """
    used = set() if used is None else used
    for rule in rules:
        steps = steps_of(rule["printed"], number.path)
        if steps is None:
            continue
        if "table" not in rule:
            return _line(number, verdict=rule["verdict"], cause=rule.get("cause", ""))
        names = {k: rule.get("names", {}).get(k, {}).get(v, v) for k, v in steps.items()}
        place = (str(rule.get("row", "")).format(**names), str(rule.get("column", "")).format(**names))
        scale = rule.get("scale", "planted")
        table = figures.get(scale, {}).get(f"{number.paper}/{rule['table'].format(**names)}")
        if table and "row" not in rule and "claims" in rule:
            verdict, why = _claimed(table, rule["claims"])
            if verdict != "not comparable":
                cause = "; ".join(part for part in (rule.get("cause", ""), why) if part)
                return _line(number, verdict=verdict, cause=cause, scale=scale, cell=rule["table"])
        elif table and "row" not in rule:
            cell = table.beside(number.value, used)
            if cell is not None:
                return _said(number, rule, cell, scale)
        elif table and place in table.cells:
            return _compared(number, rule, table, place, scale)
    return _line(number, verdict="not runnable here", cause="no rule of ledger.yaml leads to a cell of ours")


def _line(number: Printed, *, verdict: str, cause: str, scale: str = "", cell: str = "", **ours: float | None) -> Line:
    value, low, high = (ours.get(key) for key in ("value", "low", "high"))
    name = ".".join(number.path)
    return Line(number.paper, number.table, name, number.value, value, low, high, scale, cell, verdict, cause)


def _said(number: Printed, rule: Mapping[str, Any], cell: Mapping[str, str], scale: str) -> Line:
    """What a cell of ours says itself of the printed number beside it."""
    value, low, high = (_number(cell[key]) for key in ("value", "low", "high"))
    verdict = cell["verdict"] if cell["verdict"] in VERDICTS else judge_number(number.value, value, low, high)
    cause = "; ".join(part for part in (cell["why"], rule.get("cause", "")) if part)
    where = f"{rule['table']}: {cell['row']} / {cell['column']}"
    return _line(number, verdict=verdict, cause=cause, scale=scale, cell=where, value=value, low=low, high=high)


def _compared(number: Printed, rule: Mapping[str, Any], table: Ours, place: tuple[str, str], scale: str) -> Line:
    value, low, high = (_number(table.cells[place][key]) for key in ("value", "low", "high"))
    cause = rule.get("cause", "")
    if "claims" in rule:
        verdict, why = _claimed(table, rule["claims"])
        cause = "; ".join(part for part in (cause, why) if part)
    else:
        verdict = judge_number(number.value, value, low, high)
    cell = f"{rule['table']}: {place[0]} / {place[1]}"
    return _line(number, verdict=verdict, cause=cause, scale=scale, cell=cell, value=value, low=low, high=high)


def _claimed(table: Ours, part: str) -> tuple[str, str]:
    """Whether all claims of a table that contain ``part`` hold; "not comparable" where it makes none."""
    held = [claim for claim in table.claims if part in claim["claim"]]
    if not held:
        return "not comparable", "our table makes no such claim"
    failed = [claim["claim"] for claim in held if claim["verdict"] != "ordering holds"]
    return ("differs", f"does not hold: {failed[0]}") if failed else ("ordering holds", "")


def _number(text: str) -> float | None:
    return float(text) if text else None


@dataclass(frozen=True)
class Ledger:
    """All lines, and the claims of all our tables: ``(scale, paper/table, claim, verdict, why)``."""

    lines: Sequence[Line]
    claims: Sequence[tuple[str, str, str, str, str]]

    def save(self, folder: Path) -> None:
        """``ledger.csv`` (a printed number a line), ``claims.csv`` and ``ledger.md`` (counts by paper and verdict)."""
        columns = [field.name for field in fields(Line)]
        rows = [[_plain(getattr(one, name)) for name in columns] for one in self.lines]
        _write(folder / "ledger.csv", columns, rows)
        _write(folder / "claims.csv", ["scale", "table", "claim", "verdict", "why"], self.claims)
        (folder / "ledger.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """Printed numbers by paper and verdict, then claims by paper."""
        papers = list(dict.fromkeys(one.paper for one in self.lines))
        counts = Counter((one.paper, one.verdict) for one in self.lines)
        shown = [v for v in VERDICTS if any(counts[p, v] for p in papers)]
        out = [f"**The ledger: {len(self.lines)} printed numbers and how ours stand to them**", ""]
        out += ["| | printed | " + " | ".join(shown) + " | claims that hold |", "|---" * (len(shown) + 3) + "|"]
        for paper in papers:
            cells = [str(counts[paper, v] or "") for v in shown]
            verdicts = [verdict for _, table, _, verdict, _ in self.claims if table.startswith(f"{paper}/")]
            held = f"{verdicts.count('ordering holds')} of {len(verdicts)}" if verdicts else ""
            total = sum(counts[paper, v] for v in VERDICTS)
            out.append(f"| {paper} | {total} | " + " | ".join(cells) + f" | {held} |")
        return "\n".join(out) + "\n"


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _plain(value: Any) -> Any:
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else value


def ledger(
    expected: Mapping[str, Mapping[str, Any]],
    rules: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    figures: Mapping[str, Mapping[str, Ours]],
) -> Ledger:
    """The whole ledger.

    Args:
        expected: paper -> its ``expected.yaml``.
        rules: paper -> its checked ``ledger.yaml``.
        figures: scale -> ``paper/table`` -> our table.
    """
    used: set[int] = set()
    lines = [
        line(number, rules.get(paper, {}).get(number.table, ()), figures, used)
        for paper, printed in expected.items()
        for number in printed_numbers(paper, printed)
    ]
    claims = [
        (scale, name, claim["claim"], claim["verdict"], claim["why"])
        for scale, tables in figures.items()
        for name, table in tables.items()
        for claim in table.claims
    ]
    return Ledger(lines, claims)
