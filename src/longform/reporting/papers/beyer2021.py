"""Tables of "Is Incoherence Surprising?" (Beyer, Loaiciga, Schlangen 2021), numbered as printed, and what it left open.

Every number is a share of items with Wilson's interval; the p-value (in the CSV) is McNemar's against the next smaller model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from longform.core.results import Results
from longform.reporting.pivot import COLOURS, crossed, errors, printed_alone
from longform.reporting.printed import Expected, Printed
from longform.reporting.selection import Facts, select
from longform.reporting.table import Cell, Figure, Table

CHANCE = 0.5  # a model that cannot tell two conditions apart prefers either
SHUFFLES = ("N_all", "N_context", "D_all", "D_context")
CHOICES = ("story_cloze", "winograd_full", "winograd_partial")
COMMITMENT = "speaker_commitment"
GENRES, REPLACED = "coreference_*", "connective_*_as_*"  # names of suites
POOLS = ("connectives", "re-mention", "all suites")
FEW = 30  # texts below which a row's intervals are to be read
ACROSS = 4  # panels in a row of the sweep


def table_1(results: Results, expected: Expected, *, data: Path) -> Table:
    """Sentence order: all units shuffled, or all but the last; narration and dialogue."""
    return _table("Table 1. Sentence order", "table_1", SHUFFLES, results, expected, data)


def table_2(results: Results, expected: Expected, *, data: Path) -> Table:
    """Story cloze and Winograd schemas."""
    return _table("Table 2. Story cloze and Winograd schemas", "table_2", CHOICES, results, expected, data)


def table_3(results: Results, expected: Expected, *, data: Path) -> Table:
    """Entity re-mention, by genre."""
    note = "about one half is what the paper's hypothesis predicts here: it is no failure"
    return _table("Table 3. Entity re-mention", "table_3", (GENRES, "re-mention"), results, expected, data, note)


def table_5(results: Results, expected: Expected, *, data: Path) -> Table:
    """Speaker commitment; for models without a sign for a change of speaker both conditions are one text, so nothing can hold."""
    note = "meaningful only for models that have met the sign for a change of speaker in training"
    return _table("Table 5. Speaker commitment", "table_5", (COMMITMENT,), results, expected, data, note)


def other_suites(results: Results, expected: Expected, *, data: Path) -> Table:
    """Suites beyond the paper: order in other languages, and whatever SyntaxGym files the run read."""
    inside = [*SHUFFLES, *CHOICES, COMMITMENT, GENRES, *POOLS, *(n.where["task"] for n in expected.numbers if n.where)]
    pooled = {r.task.rpartition("_as_")[0] for r in _accuracies(results, REPLACED)}
    found = set(_accuracies(results, *inside).values("task")) | pooled
    tasks = [task for task in _accuracies(results, "*").values("task") if task not in found]
    return _table("Suites beyond the paper", "other_suites", tasks, results, expected, data)


def _accuracies(results: Results, *tasks: str) -> Results:
    """The records of suites by name or pattern."""
    return select(results, {"critic": "surprisal", "metric": "accuracy", "task": list(tasks)})


def _table(
    caption: str, table: str, tasks: Sequence[str], results: Results, expected: Expected, data: Path, *notes: str
) -> Table:
    """Models by suites, and beneath them the printed rows of models that are not here."""

    def place(number: Printed) -> tuple[str, str] | None:
        where = number.where or {}
        named = expected.label("system", where.get("system")), expected.label("task", where.get("task"))
        return (f"{named[0]} (printed)", named[1]) if where.get("metric") == "accuracy" else None

    found = _accuracies(results, *tasks)
    cells = crossed(found, expected, table, data, rows=("system",), column="task")
    cells += printed_alone(expected, table, results, place)
    caption = f"{caption}: share of items whose prediction holds"
    return Table(caption, cells, [*notes, *expected.notes(table, results, data)])


def table_4(results: Results, expected: Expected, *, data: Path, systems: Sequence[str] = ("gpt2",)) -> Table:
    """Explicit connectives: a row for each connective and sense, a column for each connective put in its place.

    Args:
        systems: whose rows are shown, one model after the other.
    """
    facts, block, cells = Facts(data), expected["table_4"], []
    for system in systems:
        found = {r.task: r for r in _accuracies(results, REPLACED).where(system=system)}
        for sense, printed in block["rows"].items():
            row = f"{expected.label('system', system)}: {sense.replace('_', ', ', 1).lower()}"
            for other, value in zip(block["columns"], printed.get(system, [None] * len(block["columns"])), strict=True):
                record = found.get(f"connective_{sense}_as_{other}")
                alone = Cell(row, other, None, printed=value)
                cells.append(alone if record is None else expected.cell(row, other, record, "table_4", facts))
    few = sorted({c.row for c in cells if c.value is not None and (c.units or 0) < FEW})
    notes = [f"fewer than {FEW} texts in {len(few)} of {len({c.row for c in cells})} rows: read their intervals"]
    caption = "Table 4. Explicit connectives: share of texts in which another connective (column) costs more"
    return Table(caption, cells, [*(notes if few else []), *expected.notes("table_4", results, data)])


def size_sweep(results: Results, expected: Expected, *, data: Path) -> Figure:
    """Accuracy of every phenomenon over the sizes of a model, which the paper left to future work."""
    found = _accuracies(results, *SHUFFLES, *CHOICES, COMMITMENT, *POOLS)
    cells = crossed(found, expected, "size_sweep", data, rows=("system",), column="task")
    systems, tasks = (list(dict.fromkeys(getattr(c, name) for c in cells)) for name in ("row", "column"))
    rows = max(-(-len(tasks) // ACROSS), 1)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(rows, ACROSS, sharex=True, sharey=True, squeeze=False).ravel()
        for task, axes in zip(tasks, panels, strict=False):
            own = [c for c in cells if c.column == task and c.value is not None]
            places, values = [systems.index(c.row) for c in own], [c.value for c in own]
            axes.errorbar(places, values, errors(own), marker="o", markersize=3, lw=1, color=COLOURS[0], capsize=2)
            axes.axhline(CHANCE, color="0.6", linewidth=0.8, linestyle=":")
            axes.set_title(fill(task, 22), fontsize=7)
            axes.set_xticks(range(len(systems)), systems, rotation=60, ha="right", fontsize=7)
            axes.set_ylim(0, 1.03)
        for axes in panels[len(tasks) :]:
            axes.set_axis_off()
        canvas.supylabel("share of items whose prediction holds", fontsize=8)

    caption = "Accuracy on each phenomenon by model, with 95 % intervals; dotted: chance."
    return Figure(caption, cells, draw, (7.5, 1.2 + 1.6 * rows), expected.notes("size_sweep", results, data))


def region_surprisal(
    results: Results, expected: Expected, *, data: Path, suites: Sequence[str], systems: Sequence[str] = ("gpt2",)
) -> Figure:
    """Mean bits a token in each region of each condition: the plots of the paper's repository.

    Args:
        suites: a row of panels each.
        systems: a column each.
    """
    found = {
        (r.task, r.system): r.details["token_bits"] for r in _accuracies(results, *suites).where(system=list(systems))
    }
    cells = [
        Cell(
            f"{expected.label('system', system)}: {suite}",
            f"{condition}, region {region}",
            mean,
            signature="bits a token",
        )
        for (suite, system), bits in found.items()
        for condition, regions in bits.items()
        for region, mean in regions.items()
    ]

    def draw(canvas: Any) -> None:
        grid = canvas.subplots(len(suites), len(systems), squeeze=False)
        for row, suite in enumerate(suites):
            for column, system in enumerate(systems):
                title = f"{expected.label('task', suite)}\n{expected.label('system', system)}"
                _bars(grid[row][column], found.get((suite, system), {}), title)

    caption = "Mean surprisal in bits a token, by region of the text and condition."
    return Figure(caption, cells, draw, (2.8 * len(systems) + 0.6, 2.1 * len(suites) + 0.4))


def _bars(axes: Any, bits: Mapping[str, Mapping[str, float]], title: str) -> None:
    if not bits:
        axes.set_axis_off()
        return
    regions = sorted({int(region) for held in bits.values() for region in held})
    for index, (condition, held) in enumerate(bits.items()):
        places = [regions.index(int(region)) + 0.4 * index for region in held]
        axes.bar(places, list(held.values()), width=0.38, label=condition, color=COLOURS[index % len(COLOURS)])
    axes.set_xticks(
        [place + 0.2 for place in range(len(regions))], [f"region {region}" for region in regions], fontsize=6
    )
    axes.set_ylim(0, 1.25 * max(mean for held in bits.values() for mean in held.values()))
    axes.set_ylabel("bits a token", fontsize=6)
    axes.set_title(title, fontsize=7)
    axes.legend(fontsize=5, ncols=2, loc="upper center")
