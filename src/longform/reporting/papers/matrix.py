"""What each critic sees: every critic's response to every corruption of the synthetic world. No paper has this table.

A response is the paired difference of damaged text from sound text. A critic sees a corruption where the paired permutation test
says so; in the figure responses are in units of the critic's median standard error, so that scales stand side by side.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from textwrap import wrap
from typing import Any

from longform.core.documents import BadInput
from longform.core.results import Record, Results
from longform.reporting.pivot import Given
from longform.reporting.table import Cell, Figure, Table, cell

LEVEL = 0.01  # at which a response counts as seen
LINEAR = 3.0  # standard errors, beyond which the figure's scale is logarithmic


def seen(r: Record) -> bool:
    """Whether a critic answers to a corruption."""
    return r.p_value is not None and r.p_value < LEVEL and bool(r.difference)


def corruption_matrix(given: Given, severity: float = 0.2) -> Table:
    """Responses at one severity, a row for each critic, a column for each corruption.

    Raises BadInput: no response at that severity, a share of the eligible places.
    """
    found = _responses(given).where(severity=severity)
    if not len(found):
        raise BadInput(f"no response at severity {severity:g}; the corpus of corruptions must hold that severity")
    cells = []
    for r in found:
        meant = "its own corruption" if r.critic in given.expected["meant_for"].get(r.task, ()) else ""
        verdict = "not scored" if r.value is None else "seen" if seen(r) else "not seen"
        row, column = given.label("critic", r.critic), given.label("task", r.task)
        cells.append(cell(row, column, r, verdict=verdict, why=meant))
    tally = Counter((bool(c.why), c.verdict == "seen") for c in cells)
    notes = [
        f"p < {LEVEL:g}: {tally[True, True]} of {tally[True, True] + tally[True, False]} critics see a corruption that they are "
        f"meant for, {tally[False, True]} of {tally[False, True] + tally[False, False]} one that they are not"
    ]
    caption = f"What each critic sees: score of damaged minus sound text at severity {severity:g}, with 95 % intervals"
    return given.table(caption, cells, notes)


def corruption_responses(given: Given) -> Figure:
    """Responses over severity: a panel for each critic and corruption."""
    own = given.expected["meant_for"]
    found = _responses(given)
    critics, corruptions = found.values("critic"), found.values("task")
    rows = {critic: _Row.of(found.where(critic=critic)) for critic in critics}
    cells = []
    for r in found:
        row, column = given.label("critic", r.critic), f"{given.label('task', r.task)} {r.severity:g}"
        cells.append(Cell(row, column, *rows[r.critic].scaled(r), r.units, r.excluded, r.p_value))

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(max(len(critics), 1), max(len(corruptions), 1), squeeze=False)
        for i, critic in enumerate(critics):
            for j, corruption in enumerate(corruptions):
                axes = panels[i][j]
                _panel(axes, found.where(critic=critic, task=corruption), rows[critic])
                framed = critic in own.get(corruption, ())
                for side in axes.spines.values():
                    side.set(linewidth=1.8 if framed else 0.3, color="black" if framed else "0.7")
            name = "\n".join(wrap(given.label("critic", critic), 18))
            panels[i][0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=7)
        for j, corruption in enumerate(corruptions):
            words = wrap(given.label("task", corruption), 11, break_long_words=False)
            panels[0][j].set_title("\n".join(words), fontsize=7)
        canvas.supxlabel("share of the eligible places that are damaged, 0 to 1", fontsize=8)

    caption = (
        "Each panel: a critic's difference from sound text over severity, in units of its median standard error (one scale a row, "
        f"linear up to {LINEAR:g} and logarithmic beyond), grey band its 95 % interval. A framed panel is a corruption that the critic "
        f"is meant for; a dot marks severities at which the paired test has p < {LEVEL:g}. With as many cells as these some pass by "
        "chance: a lone dot says little."
    )
    return Figure(caption, cells, draw, (1.8 + 0.78 * len(corruptions), 1.4 + 0.62 * len(critics)))


def _responses(given: Given) -> Results:
    """The differences from sound text with their paired intervals, in the places of value and interval."""
    found = given.results.where(metric="score", corpus="corruptions")
    return Results(
        replace(r, value=r.difference, low=r.details.get("difference_low"), high=r.details.get("difference_high"))
        for r in given.ordered(found, "critic", "task")
        if r.task in given.expected["labels"]["task"]
    )


@dataclass(frozen=True)
class _Row:
    """The scale of one critic's panels: its median standard error, and the largest response on that scale."""

    unit: float
    limit: float

    @classmethod
    def of(cls, records: Results) -> _Row:
        spreads = [float(r.details["difference_spread"]) for r in records if r.details.get("difference_spread")]
        unit = median(spreads) if spreads else 1.0
        ends = [abs(end) / unit for r in records for end in (r.value, r.low, r.high) if end is not None]
        return cls(unit, max([*ends, LINEAR]))

    def scaled(self, r: Record) -> tuple[float, float, float]:
        """Value and interval; zero where nothing could be scored."""
        value, low, high = ((end or 0.0) / self.unit for end in (r.value, r.low, r.high))
        return value, low, high


def _panel(axes: Any, records: Results, row: _Row) -> None:
    from matplotlib.ticker import NullLocator

    found = sorted(records, key=lambda r: r.severity or 0.0)
    places = [0.0, *(r.severity for r in found)]
    value, low, high = (
        ([0.0, *column] for column in zip(*map(row.scaled, found), strict=True)) if found else ([0.0],) * 3
    )
    axes.axhline(0, color="0.8", linewidth=0.5)
    axes.fill_between(places, low, high, color="0.8", linewidth=0)
    axes.plot(places, value, color="black", linewidth=0.9)
    dots = [(r.severity, row.scaled(r)[0]) for r in found if seen(r)]
    axes.plot([at for at, _ in dots], [at for _, at in dots], ".", color="black", markersize=4)
    axes.set(xlim=(0, 1), ylim=(-1.5 * row.limit, 1.5 * row.limit))
    axes.set_yscale("symlog", linthresh=LINEAR)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set(xticks=[], yticks=[])
