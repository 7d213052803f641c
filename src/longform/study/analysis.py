"""Exported answers of a section study -> the tables of deng2022's human study: shares, agreement, mixed effects, organisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.core.critic import compare, estimate
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.core.results import Record, Results
from longform.evaluation.human_study import CoherentShare, Judged, judged_items, organisations
from longform.reporting.papers.deng2022.human import human_study
from longform.reporting.pivot import Given
from longform.reporting.printed import Expected
from longform.reporting.table import Cell, Table
from longform.study.items import sheet

NEEDED = ("annotator", "item", "source", "phase", "check", "question", "answer", "gold", "last")
MARKS = ("check", "last")  # true or false
EXPECTED = Expected("study", {})  # nothing is printed about other people's studies


def read_export(path: Path) -> list[dict[str, Any]]:
    """Rows of ``export``, CSV or JSON lines, also as a spreadsheet saves them: a byte-order mark, TRUE for True.

    Raises BadInput: no such file, a line that is no row, a missing column, or a mark neither true nor false.
    """
    try:
        rows = sheet(path)
    except BadInput as error:
        raise BadInput(f"{path}: not an export ({error}); write it with `export`") from error
    lacking = sorted({name for row in rows for name in NEEDED if row.get(name) is None})
    if lacking or not rows:
        raise BadInput(f"{path}: {f'rows without {lacking}' if rows else 'no row'}; write it with `export`")
    return [row | {name: _mark(path, place, name, row[name]) for name in MARKS} for place, row in enumerate(rows, 1)]


def _mark(path: Path, place: int, name: str, value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in ("true", "false"):
        raise BadInput(f"{path}: row {place}: {name} is {value!r:.40}; allowed are True and False, so export anew")
    return word == "true"


def analyse(rows: Sequence[Mapping[str, Any]], seed: int = 1234) -> list[Table]:
    """The table of shares, agreement, mixed effects and tests, and that of the organisations called incoherent.

    Raises BadInput: no verdict on any article, as in a study of claims or pairs.
    """
    judged = [row for row in rows if row["question"] == "coherent" or str(row["question"]).startswith("section_")]
    told = [{**row, "gold": row["gold"] if str(row["check"]) == "True" else ""} for row in judged]
    by_source: dict[str, list[Judged]] = {}
    for unit in judged_items(told, splits={}, simulated=False):
        by_source.setdefault(unit.source, []).append(unit)
    if not any(unit.verdicts for units in by_source.values() for unit in units):
        raise BadInput("study: no verdict on an article; only studies of sections have them")
    records = Results(_record(source, units, seed) for source, units in by_source.items())
    table = human_study(Given(records, EXPECTED, Path()))
    return [replace(table, cells=[*table.cells, *_tests(by_source, seed)]), _organisations(by_source)]


def _tests(by_source: Mapping[str, Sequence[Judged]], seed: int) -> list[Cell]:
    """Each system's share of coherent judgements minus the first's, tested by exchanging whole articles."""
    critic, (first, *others) = CoherentShare(), by_source
    tallies = {source: critic.tally(units) for source, units in by_source.items()}
    cells = []
    for source in others:
        found = compare(
            critic, tallies[source], tallies[first], generator("study", source, "against", first, str(seed))
        )
        rest = {
            "units": min(len(tallies[name].unit_ids) for name in (source, first)),
            "p_value": found.p_value,
            "signature": "permutation of articles",
        }
        row = " minus ".join(EXPECTED.label("system", name) for name in (source, first))
        cells.append(Cell(row, "share, articles exchanged", found.difference, **rest))
    return cells


def _record(source: str, units: Sequence[Judged], seed: int) -> Record:
    critic = CoherentShare()
    found = estimate(critic, critic.tally(units), generator("study", source, str(seed)))
    held = {name: getattr(found, name) for name in ("value", "low", "high", "units", "excluded", "signature")}
    details = critic.describe(units)
    return Record("human_study", "coherent_share", system=source, details=details, **held)


def _organisations(by_source: Mapping[str, Sequence[Judged]]) -> Table:
    """Chains of section types, as labelled, of the articles called incoherent (Table 18): judgements by system."""
    cells = [
        Cell(" → ".join(chain), source, count, signature="judgements")
        for source, units in by_source.items()
        for chain, count in organisations(units)
    ]
    caption = "Organisations of the articles called incoherent, most common first in each system"
    return Table(caption, cells, [] if cells else ["nobody called an article incoherent"])
