"""What each critic sees: every critic's answer to every planted failure, as a table and as one figure.

No paper has this table. A response is the paired difference from the sound text; in the figure it is in units of the
critic's median bootstrap spread, so that critics of different scales stand side by side. A critic sees a failure where the
paired permutation test says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from longform.documents import BadInput
from longform.reporting.layout import Cell, Figure, Table

Records = Mapping[str, Mapping[str, Any]]
SOUND = "sound"
LEVEL = 0.01  # at which a response counts as seen
LINEAR = 3.0  # spreads; beyond them the figure's scale is logarithmic
AT = 0.2  # the dose at which a critic must see its own failure


def table_matrix(
    *, scores: Records, critics: Mapping[str, str], own: Mapping[str, Sequence[str]], at: float = AT
) -> Table:
    """Paired difference at one dose, per critic and failure.

    Args:
        critics: score row -> the critic's name.
        own: failure -> names of the critics that are meant for it.
    """
    cells = [
        Cell(
            critics[row], _words(one["failure"]), one["difference"], one["low"], one["high"], one["units"],
            one["excluded"], one["p_value"], signature=record["signature"],
            verdict=_seen(one), why="its own failure" if critics[row] in own.get(one["failure"], ()) else "",
        )
        for row, record in scores.items()
        for one in record["responses"]
        if one["failure"] != SOUND and one["dose"] == at
    ]  # fmt: skip
    if not cells:
        raise BadInput(f"matrix: no response at dose {at}; the corpus of failures must hold that dose")
    caption = f"What each critic sees: score of damaged minus sound text at dose {at:g}, with 95 % intervals"
    return Table(caption, cells, [*_findings(cells, own, at), *_others(cells, own)])


def _seen(one: Mapping[str, Any]) -> str:
    if one["difference"] is None:
        return "not scored"
    return "seen" if one["p_value"] < LEVEL and one["difference"] != 0 else "not seen"


def _words(failure: str) -> str:
    return failure.replace("_", " ")


def _findings(cells: Sequence[Cell], own: Mapping[str, Sequence[str]], at: float) -> list[str]:
    """Whether each critic sees the failure that it is meant for."""
    found = {(cell.row, cell.column): cell for cell in cells}
    notes = []
    for failure, names in own.items():
        for name in names:
            cell = found.get((name, _words(failure)))
            if cell is not None:
                verdict = "ordering holds" if cell.verdict == "seen" else "differs"
                notes.append(f"{name} sees {_words(failure)} at dose {at:g}: {verdict} (p = {cell.p_value:.3f})")
    return notes


def _others(cells: Sequence[Cell], own: Mapping[str, Sequence[str]]) -> list[str]:
    meant = {(name, _words(failure)) for failure, names in own.items() for name in names}
    apart = [cell for cell in cells if (cell.row, cell.column) not in meant]
    seen = sum(cell.verdict == "seen" for cell in apart)
    return [f"off the diagonal {seen} of {len(apart)} responses are seen at p < {LEVEL:g}"]


@dataclass(frozen=True)
class Both:
    """The table with its figure, saved side by side."""

    table: Table
    figure: Figure

    def save(self, folder: Path, stem: str) -> None:
        """The table under the stem, the figure under ``responses``."""
        self.table.save(folder, stem)
        self.figure.save(folder, "responses")


def failure_matrix(
    *, scores: Records, critics: Mapping[str, str], own: Mapping[str, Sequence[str]], at: float = AT
) -> Both:
    """Table and figure of the whole matrix."""
    unknown = sorted({name for names in own.values() for name in names} - set(critics.values()))
    if unknown or set(scores) != set(critics):
        raise BadInput(f"matrix: own names {unknown} are no critics, or rows and critics differ; mend the row")
    table = table_matrix(scores=scores, critics=critics, own=own, at=at)
    cells = [
        Cell(critics[row], f"{_words(one['failure'])} {one['dose']:g}", *_effect(one, scale), p_value=one["p_value"])
        for row, record in scores.items()
        for scale in (_scale(record["responses"]),)
        for one in record["responses"]
        if one["failure"] != SOUND
    ]
    names, failures = list(critics.values()), list(dict.fromkeys(cell.column for cell in table.cells))
    rows = {critics[row]: record["responses"] for row, record in scores.items()}
    size = (1.6 + 0.78 * len(failures), 1.2 + 0.62 * len(names))
    caption = (
        "Each panel: a critic's difference from sound text against the share of places damaged (0 to 1), in units of its "
        f"median bootstrap spread (one scale a row, linear up to {LINEAR:g} spreads and logarithmic beyond), grey band its 95 % interval. A framed panel is the failure that the critic is meant for; a "
        f"dot marks doses at which the paired test has p < {LEVEL:g}."
    )
    figure = Figure(caption, cells, lambda canvas: _draw(canvas, rows, names, failures, own), size)
    return Both(table, figure)


def _scale(responses: Sequence[Mapping[str, Any]]) -> float:
    """The critic's median bootstrap spread over the responses that have one."""
    spreads = sorted(one["spread"] for one in responses if one["failure"] != SOUND and one["spread"])
    return spreads[len(spreads) // 2] if spreads else 1.0


def _effect(one: Mapping[str, Any], scale: float) -> tuple[float, float, float]:
    """Difference and interval on that scale; zero where nothing could be scored."""
    at, low, high = (one[key] or 0.0 for key in ("difference", "low", "high"))
    return at / scale, low / scale, high / scale


def _draw(
    canvas: Any,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    names: Sequence[str],
    failures: Sequence[str],
    own: Mapping[str, Sequence[str]],
) -> None:
    panels = canvas.subplots(len(names), len(failures), squeeze=False)
    for i, name in enumerate(names):
        scale = _scale(rows[name])
        effects = [abs(v) for one in rows[name] if one["failure"] != SOUND for v in _effect(one, scale)]
        limit = max([*effects, 3.0])
        for j, failure in enumerate(failures):
            axes = panels[i][j]
            found = sorted((o for o in rows[name] if _words(o["failure"]) == failure), key=lambda o: o["dose"])
            _panel(axes, found, limit, scale)
            framed = name in own.get(failure.replace(" ", "_"), ())
            for side in axes.spines.values():
                side.set_linewidth(1.8 if framed else 0.3)
                side.set_color("black" if framed else "0.7")
            if j == 0:
                axes.set_ylabel(name.replace(", ", ",\n"), rotation=0, ha="right", va="center", fontsize=7)
            if i == 0:
                axes.set_title("\n".join(wrap(failure, 11, break_long_words=False)), fontsize=7)


def _panel(axes: Any, found: Sequence[Mapping[str, Any]], limit: float, scale: float) -> None:
    from matplotlib.ticker import NullLocator

    doses = [0.0, *(one["dose"] for one in found)]
    at, low, high = ([0.0, *column] for column in zip(*(_effect(one, scale) for one in found), strict=True))
    axes.axhline(0, color="0.8", linewidth=0.5)
    axes.fill_between(doses, low, high, color="0.8", linewidth=0)
    axes.plot(doses, at, color="black", linewidth=0.9)
    seen = [(one["dose"], _effect(one, scale)[0]) for one in found if _seen(one) == "seen"]
    axes.plot([dose for dose, _ in seen], [value for _, value in seen], ".", color="black", markersize=4)
    axes.set_xlim(0, 1)
    axes.set_yscale("symlog", linthresh=LINEAR)
    axes.set_ylim(-1.5 * limit, 1.5 * limit)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xticks([])
    axes.set_yticks([])
