"""Tables of "Is Incoherence Surprising?" (Beyer, Loaiciga, Schlangen 2021), numbered as printed, and what it left open.

Every number is a share of items with Wilson's interval; the p-value (in the CSV) is McNemar's against the next smaller model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from longform.core.results import Results
from longform.reporting.pivot import COLOURS, Given, errors, panels
from longform.reporting.printed import Printed
from longform.reporting.selection import select
from longform.reporting.table import Cell, Figure, Table

CHANCE = 0.5  # a model that cannot tell two conditions apart prefers either
REPLACED = "connective_*_as_*"  # names of suites
FEW = 30  # texts below which a row's intervals are to be read
ACROSS = 4  # panels in a row of the sweep


def accuracies(given: Given, caption: str, tasks: Sequence[str], note: str = "") -> Table:
    """Models by suites, and beneath them the printed rows of models that are not here; the paper's tables but one."""

    def place(number: Printed) -> tuple[str, str] | None:
        where = number.where or {}
        named = given.label("system", where.get("system")), given.label("task", where.get("task"))
        return (f"{named[0]} (printed)", named[1]) if where.get("metric") == "accuracy" else None

    cells = given.crossed(_accuracies(given, *tasks), given.name, ("system",), "task")
    cells += given.printed_alone(given.name, place)
    return given.table(f"{caption}: share of items whose prediction holds", cells, [note] if note else [])


def other_suites(given: Given, caption: str, inside: Sequence[str]) -> Table:
    """Suites beyond the paper's, which ``inside`` names: other languages, and whatever SyntaxGym files the run read."""
    printed = [n.where["task"] for n in given.expected.numbers if n.where]
    pooled = {r.task.rpartition("_as_")[0] for r in _accuracies(given, REPLACED)}
    found = set(_accuracies(given, *inside, *printed).values("task")) | pooled
    return accuracies(given, caption, [task for task in _accuracies(given, "*").values("task") if task not in found])


def _accuracies(given: Given, *tasks: str) -> Results:
    """The records of suites by name or pattern."""
    return select(given.results, {"critic": "surprisal", "metric": "accuracy", "task": list(tasks)})


def table_4(given: Given, systems: Sequence[str]) -> Table:
    """Explicit connectives: a row for each connective and sense, a column for each connective put in its place."""
    block, cells = given.expected["table_4"], []
    for system in systems:
        found = {r.task: r for r in _accuracies(given, REPLACED).where(system=system)}
        for sense, printed in block["rows"].items():
            row = f"{given.label('system', system)}: {sense.replace('_', ', ', 1).lower()}"
            for other, value in zip(block["columns"], printed.get(system, [None] * len(block["columns"])), strict=True):
                record = found.get(f"connective_{sense}_as_{other}")
                alone = Cell(row, other, None, printed=value)
                cells.append(alone if record is None else given.cell(row, other, record, "table_4"))
    few = sorted({c.row for c in cells if c.value is not None and (c.units or 0) < FEW})
    notes = [f"fewer than {FEW} texts in {len(few)} of {len({c.row for c in cells})} rows: read their intervals"]
    caption = "Table 4. Explicit connectives: share of texts in which another connective (column) costs more"
    return given.table(caption, cells, notes if few else [])


def size_sweep(given: Given, tasks: Sequence[str]) -> Figure:
    """Accuracy of every phenomenon over the sizes of a model, which the paper left to future work."""
    cells = given.crossed(_accuracies(given, *tasks), "size_sweep", ("system",), "task")
    systems, shown = (list(dict.fromkeys(getattr(c, name) for c in cells)) for name in ("row", "column"))

    def draw(canvas: Any) -> None:
        for task, axes in zip(shown, panels(canvas, len(shown), ACROSS, sharex=True, sharey=True), strict=True):
            own = [c for c in cells if c.column == task and c.value is not None]
            places, values = [systems.index(c.row) for c in own], [c.value for c in own]
            axes.errorbar(places, values, errors(own), marker="o", markersize=3, lw=1, color=COLOURS[0], capsize=2)
            axes.axhline(CHANCE, color="0.6", linewidth=0.8, linestyle=":")
            axes.set_title(fill(task, 22), fontsize=7)
            axes.set_xticks(range(len(systems)), systems, rotation=60, ha="right", fontsize=7)
            axes.set_ylim(0, 1.03)
        canvas.supylabel("share of items whose prediction holds", fontsize=8)

    caption = "Accuracy on each phenomenon by model, with 95 % intervals; dotted: chance."
    return given.figure(caption, cells, draw, (7.5, 1.2 + 1.6 * max(-(-len(shown) // ACROSS), 1)))


def region_surprisal(given: Given, suites: Sequence[str], systems: Sequence[str]) -> Figure:
    """Mean bits a token in each region of each condition, a row of panels a suite, a column a system: the plots of the release."""
    records = _accuracies(given, *suites).where(system=list(systems))
    found = {(r.task, r.system): r.details["token_bits"] for r in records}
    cells = [
        Cell(
            f"{given.label('system', system)}: {suite}", f"{condition}, region {region}", mean, signature="bits a token"
        )
        for (suite, system), bits in found.items()
        for condition, regions in bits.items()
        for region, mean in regions.items()
    ]

    def draw(canvas: Any) -> None:
        grid = canvas.subplots(len(suites), len(systems), squeeze=False)
        for row, suite in enumerate(suites):
            for column, system in enumerate(systems):
                title = f"{given.label('task', suite)}\n{given.label('system', system)}"
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
    names = [f"region {region}" for region in regions]
    axes.set_xticks([place + 0.2 for place in range(len(regions))], names, fontsize=6)
    axes.set_ylim(0, 1.25 * max(mean for held in bits.values() for mean in held.values()))
    axes.set_ylabel("bits a token", fontsize=6)
    axes.set_title(title, fontsize=7)
    axes.legend(fontsize=5, ncols=2, loc="upper center")
