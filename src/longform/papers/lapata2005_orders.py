"""Shuffle tasks: every scorer on every task in one matrix, and the published grids of accident reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.papers.lapata2005 import members, shown_name
from longform.papers.layout import Cell, Table, cell
from longform.units import BadInput

Records = Mapping[str, Mapping[str, Any]]
TASK_NAMES = {"block": "blocks of {}", "window": "{} windows of 3", "section": "whole sections"}
SCORERS = {
    "titles": "section-title chain", "mentions": "mention chain (absolute discounting)",
    "mentions_kneser_ney": "mention chain (Kneser-Ney)", "topics": "topic proportions", "likelihood": "LM log-probability",
    "ranker": "neural ranker (ours)", "bridge": "BBScore", "joint_bridge": "joint bridge density",
}  # fmt: skip
MANY_TIES = 0.1  # share of ties from which a note says so, as ties count as errors
Row = tuple[str, str, str, Mapping[str, Any]]  # texts, model, task, record


def task_name(task: str) -> str:
    """``block_5`` as a table's column."""
    kind, _, size = task.rpartition("_")
    return TASK_NAMES.get(kind, kind + " {}").format(size)


def task_rows(scores: Records) -> list[Row]:
    """Every model on every task that panels of the rows named ``<texts>-<shuffles|pairs>-<what>`` report.

    Raises:
        BadInput: there is no such row.
    """
    named = [task for task in ("shuffles", "pairs") if any(f"-{task}-" in name for name in scores)]
    if not named:
        raise BadInput(
            f"no score row named <texts>-<shuffles|pairs>-<what> among {sorted(scores)}; mend the row's list"
        )
    found = [(texts, models) for task in named for texts, models in members(scores, task).items()]
    return [
        (texts, model, task, record)
        for texts, models in found
        for model, details in models.items()
        for task, record in details["tasks"].items()
    ]


def matrix(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """Every scorer of the repository on every shuffle task: pairwise accuracy, interval, and a test against chance.

    A scorer that ties on every pair is blind to order: it has a dash, and a note.
    """
    rows = task_rows(scores)
    cells = [_task_cell(*row) for row in rows]
    return Table("Pairwise accuracy of every scorer on every shuffle task (95 % intervals)", cells, _notes(rows))


def _name(texts: str, model: str) -> str:
    return f"{texts}: {SCORERS.get(model) or shown_name(model)}"


def _task_cell(texts: str, model: str, task: str, record: Mapping[str, Any]) -> Cell:
    made = {"p_value": record["p_value"], "why": "p: sign test over documents against a coin"}
    if record["pairs"] and record["ties"] == record["pairs"]:
        made |= {"value": None, "low": None, "high": None, "why": "every pair ties: blind to this order"}
    return cell(_name(texts, model), task_name(task), record, **made)


def _notes(rows: Sequence[Row]) -> list[str]:
    """Pairs per task, documents above the mean of their whole shuffles, ties, and scorers below chance."""
    pairs: dict[tuple[str, str], int] = {}
    for texts, _, task, record in rows:
        pairs[texts, task] = max(int(record["pairs"]), pairs.get((texts, task), 0))
    notes = []
    for texts in dict.fromkeys(row[0] for row in rows):
        shown = ", ".join(f"{task_name(task)} {n}" for (other, task), n in pairs.items() if other == texts)
        notes.append(f"{texts}: pairs by task, at most: {shown}")
    notes += [
        f"{_name(texts, model)}: {r['above_mean']:.1%} of the documents lie above the mean of their whole shuffles"
        for texts, model, task, r in rows
        if task == "block_1" and r["ties"] < r["pairs"]
    ]
    return [*notes, *ties(rows), *_below(rows)]


def ties(rows: Sequence[Row]) -> list[str]:
    """Where ties, which count as errors, are more than a tenth of the pairs."""
    return [
        f"{_name(texts, model)}, {task_name(task)}: {r['ties'] / r['pairs']:.0%} of the pairs tie and count as errors"
        for texts, model, task, r in rows
        if r["pairs"] and r["ties"] / r["pairs"] > MANY_TIES
    ]


def _below(rows: Sequence[Row]) -> list[str]:
    return [
        f"{_name(texts, model)}, {task_name(task)}: prefers the shuffle, p = {r['p_value']:.4f}"
        for texts, model, task, r in rows
        if r["p_value"] < 0.05 and r["value"] is not None and 2 * r["value"] * r["pairs"] < r["pairs"] - r["ties"]
    ]


def accidents(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """Pairwise accuracy on the published accident grids, cross-validated over documents.

    Score rows are named ``accidents-orders-<model>``.
    """
    cited = expected["accuracy_cited_by_others"]["accidents_2008"] / 100
    cells = []
    for name, record in scores.items():
        printed = cited if name.split("-")[-1].startswith("ranking") else None
        why = "half of the documents here, cross-validated; the number is cited by others" if printed else ""
        verdict = "not comparable" if printed else ""
        cells.append(cell(name.split("-")[-1], "accuracy", record, printed=printed, verdict=verdict, why=why))
    empty = {int(record["totals"]["empty"]) for record in scores.values()}
    return Table(
        "Accident reports: original against permutation", cells, [f"empty permutations without a pair: {empty}"]
    )
