"""Shuffle tasks: every scorer on every task in one matrix, and the published grids of accident reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longform.documents import BadInput
from longform.reporting.lapata2005 import OTHER_NAMES, PRINTED_NAMES, members, shown_name
from longform.reporting.layout import Cell, Table, cell

Records = Mapping[str, Mapping[str, Any]]
TASK_NAMES = {"block": "blocks of {}", "window": "{} windows of 3", "section": "whole sections"}
SCORERS = {
    "titles": "section-title chain", "mentions": "mention chain (absolute discounting)",
    "mentions_kneser_ney": "mention chain (Kneser-Ney)", "topics": "topic proportions", "likelihood": "LM log-probability",
    "ranker": "neural ranker (ours)", "bridge": "BBScore (frozen features)", "joint_bridge": "joint bridge density (frozen features)",
}  # fmt: skip
MANY_TIES = 0.1  # share of ties from which a note says so
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
    found.sort(key=lambda pair: -max(len(details["tasks"]) for details in pair[1].values()))  # all columns at the top
    return [
        (texts, model, task, models[model]["tasks"][task])
        for texts, models in found
        for model in sorted(models, key=_place)
        for task in sorted(
            models[model]["tasks"], key=lambda task: (task.partition("_")[0], int(task.rpartition("_")[2]))
        )
    ]


def _place(model: str) -> int:
    known = [*PRINTED_NAMES, *OTHER_NAMES, *SCORERS]
    return known.index(model) if model in known else len(known)


def matrix(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """Every scorer of the repository on every shuffle task: pairwise accuracy, interval, and a test against chance.

    A scorer that ties on every pair is blind to order: it has a dash, and a note.
    """
    rows = task_rows(scores)
    cells = [_task_cell(*row) for row in rows]
    return Table("Pairwise accuracy of every scorer on every shuffle task (95 % intervals)", cells, _notes(rows))


def _name(model: str) -> str:
    return SCORERS.get(model) or shown_name(model)


def _task_cell(texts: str, model: str, task: str, record: Mapping[str, Any]) -> Cell:
    made = {"p_value": record["p_value"], "why": "p: sign test over documents against a coin"}
    if _blind(record):
        made |= {"value": None, "low": None, "high": None, "why": "every pair ties: blind to this order"}
    return cell(f"{texts}: {_name(model)}", task_name(task), record, **made)


def _notes(rows: Sequence[Row]) -> list[str]:
    """Pairs per task, documents above the mean of their whole shuffles, ties, and scorers below chance."""
    notes = ["a tie counts one half; p values (in the CSV) are sign tests over documents against a coin"]
    for texts in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == texts]
        pairs = {task: max(int(r["pairs"]) for _, _, other, r in own if other == task) for _, _, task, _ in own}
        above = [f"{_name(m)} {r['above_mean']:.1%}" for _, m, task, r in own if task == "block_1" and not _blind(r)]
        shown = ", ".join(f"{task_name(task)} {n}" for task, n in pairs.items())
        notes.append(f"{texts}: pairs by task, at most: {shown}")
        notes.append(f"{texts}: documents above the mean of their whole shuffles: {', '.join(above)}")
    return [*notes, *_ties(rows), *_below(rows)]


def _blind(record: Mapping[str, Any]) -> bool:
    return bool(record["pairs"]) and record["ties"] == record["pairs"]


def _by_scorer(rows: Sequence[Row], shown: Callable[[Mapping[str, Any]], str]) -> dict[str, str]:
    """Per scorer, the tasks of which ``shown`` says something."""
    found: dict[str, list[str]] = {}
    for texts, model, task, record in rows:
        if text := shown(record):
            found.setdefault(f"{texts}: {_name(model)}", []).append(f"{task_name(task)} {text}")
    return {name: ", ".join(parts) for name, parts in found.items()}


def _ties(rows: Sequence[Row]) -> list[str]:
    """Where ties are more than a tenth of the pairs."""

    def shown(record: Mapping[str, Any]) -> str:
        share = record["ties"] / record["pairs"] if record["pairs"] else 0.0
        return f"{share:.0%}" if share > MANY_TIES else ""

    return [f"ties of {name}: {text}" for name, text in _by_scorer(rows, shown).items()]


def _below(rows: Sequence[Row]) -> list[str]:
    """Where a scorer prefers the shuffles, more often than a coin would."""

    def shown(record: Mapping[str, Any]) -> str:
        wins = (record["value"] or 0.0) * record["pairs"]
        lost = record["pairs"] - record["ties"] - wins
        return f"(p = {record['p_value']:.4f})" if record["p_value"] < 0.05 and wins < lost else ""

    return [f"prefers the shuffles, {name}: {text}" for name, text in _by_scorer(rows, shown).items()]


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
