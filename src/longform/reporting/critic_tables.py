"""What the tables of one critic over data and generations share: cells, planted exact values, claims and tests.

Score rows are named ``<corpus>-<system>-<kind>`` with the system ``data`` or ``<family>-<w_title|wo_title>``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longform.documents import BadInput
from longform.reporting.layout import Cell, cell
from longform.reporting.ledger import Finding, judge_ordering

Records = Mapping[str, Mapping[str, Any]]


def parts(name: str) -> tuple[str, str, str]:
    """Corpus, system and kind of a score row.

    Raises:
        BadInput: fewer than three parts.
    """
    corpus, _, rest = name.partition("-")
    system, _, kind = rest.rpartition("-")
    if not system:
        raise BadInput(f"score row {name!r}: want <corpus>-<system>-<kind>; mend the rows of the report")
    return corpus, system, kind


def cells_of(
    scores: Records, columns: Mapping[str, str], printed: Mapping[tuple[str, str], float], why: str
) -> list[Cell]:
    """One cell per score row; ``columns`` names a kind's column, ``printed[system, kind]`` is what the paper prints.

    Raises:
        BadInput: a kind without a column.
    """
    cells = []
    for name, record in scores.items():
        corpus, system, kind = parts(name)
        if kind not in columns:
            raise BadInput(
                f"score row {name!r}: kind is {kind!r}, allowed are {sorted(columns)}; mend the report's rows"
            )
        paper = printed.get((system, kind))
        held = {"printed": paper, "verdict": "not comparable", "why": why} if paper is not None else {}
        cells.append(cell(f"{corpus} {system.replace('-', ' ')}", columns[kind], record, **held))
    return cells


def exact_cells(scores: Records, data: Path, fact: str, column: str) -> list[Cell]:
    """The closed form of each planted corpus, in a row of its own; a corpus without that fact has none."""
    cells = []
    for corpus in dict.fromkeys(parts(name)[0] for name in scores):
        facts = json.loads((data / "corpora" / corpus / "facts.json").read_text(encoding="utf-8"))
        if fact in facts:
            value = facts[fact]
            cells.append(Cell(f"{corpus} truth (exact)", column, value, value, value, signature="closed form"))
    return cells


def orderings(scores: Records, columns: Mapping[str, str], title: str, *systems: str, source: str) -> list[str]:
    """One sentence per corpus and kind that has all of ``systems``: whether their scores rise in that order."""
    lines = []
    for corpus in dict.fromkeys(parts(name)[0] for name in scores):
        for kind, column in columns.items():
            names = [f"{corpus}-{system}-{kind}" for system in systems]
            if all(name in scores for name in names):
                claim = f"{corpus}, {column}: {title} ({source})"
                lines.append(_sentence(_judge(claim, [scores[name] for name in names])))
    return lines


def _judge(claim: str, records: Sequence[Mapping[str, Any]]) -> Finding:
    if any(record[key] is None for record in records for key in ("value", "low", "high")):
        return Finding(claim, "not runnable here", "a score is not finite")
    return judge_ordering(claim, records)


def _sentence(finding: Finding) -> str:
    return f"{finding.claim}: {finding.verdict} ({finding.why})"


def comparison_lines(scores: Records) -> list[str]:
    """One sentence per permutation test against held-out real text."""
    tested = {name: record["comparison"] for name, record in scores.items() if record.get("comparison")}
    return [
        f"{name}: minus real text's own score {_signed(c['difference'])}, p = {c['p_value']:.4f}"
        for name, c in tested.items()
    ]


def _signed(difference: float | None) -> str:
    return "not finite" if difference is None else f"{difference:+.2f}"


def left_out(scores: Records) -> int:
    """Documents that some row set aside, the most over all rows."""
    return max((int(record.get("excluded") or 0) for record in scores.values()), default=0)
