"""What a report writes: a table of numbers with intervals as CSV and Markdown, a figure as PDF, PNG and CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIELDS = (
    "row",
    "column",
    "value",
    "low",
    "high",
    "units",
    "excluded",
    "p_value",
    "printed",
    "verdict",
    "why",
    "signature",
)


@dataclass(frozen=True)
class Cell:
    """One number of a table, with everything that is known about it.

    Attributes:
        row, column: where it stands.
        value, low, high: the number and its 95 % interval; None where there is none.
        units, excluded: documents scored and set aside.
        p_value: permutation test against real text, where there was one.
        printed: the paper's number, or None.
        verdict, why: how ours compares with the printed one, and the reason.
        signature: the critic with its settings, or the name of the closed form.
    """

    row: str
    column: str
    value: float | None
    low: float | None = None
    high: float | None = None
    units: int | None = None
    excluded: int | None = None
    p_value: float | None = None
    printed: float | None = None
    verdict: str = ""
    why: str = ""
    signature: str = ""


def cell(row: str, column: str, record: Mapping[str, Any], **more: Any) -> Cell:
    """A cell from a score record."""
    comparison = record.get("comparison") or {}
    kept = {key: record.get(key) for key in ("value", "low", "high", "units", "excluded", "signature")}
    return Cell(row, column, **{**kept, "p_value": comparison.get("p_value"), **more})


@dataclass(frozen=True)
class Table:
    """Cells in reading order, a caption, and notes that must be read with them."""

    caption: str
    cells: Sequence[Cell]
    notes: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` (one number a line, full precision) and ``stem.md`` (the paper's layout)."""
        write_csv(folder / f"{stem}.csv", self.cells)
        (folder / f"{stem}.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """The wide table: value [low, high], the printed number in parentheses."""
        rows = list(dict.fromkeys(c.row for c in self.cells))
        columns = list(dict.fromkeys(c.column for c in self.cells))
        at = {(c.row, c.column): c for c in self.cells}
        lines = [f"**{self.caption}**", "", "| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for row in rows:
            texts = [shown(at[row, column]) if (row, column) in at else "" for column in columns]
            lines.append(f"| {row} | " + " | ".join(texts) + " |")
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]).rstrip() + "\n"


@dataclass(frozen=True)
class Figure:
    """A drawing and the numbers in it.

    Attributes:
        draw: takes a matplotlib figure and draws on it.
        size: inches.
    """

    caption: str
    cells: Sequence[Cell]
    draw: Callable[[Any], None]
    size: tuple[float, float] = (6.0, 4.0)

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv``, ``stem.pdf``, ``stem.png``, ``stem.md``; equal numbers give equal bytes."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure as Canvas

        write_csv(folder / f"{stem}.csv", self.cells)
        with matplotlib.rc_context({"svg.hashsalt": "longform", "font.size": 9, "pdf.fonttype": 42}):
            canvas = Canvas(figsize=self.size, layout="constrained")
            self.draw(canvas)
            canvas.savefig(folder / f"{stem}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
            canvas.savefig(folder / f"{stem}.png", dpi=150, metadata={"Software": None})
        (folder / f"{stem}.md").write_text(f"![{stem}]({stem}.png)\n\n{self.caption}\n", encoding="utf-8")


def write_csv(path: Path, cells: Sequence[Cell]) -> None:
    """One cell a line, all fields; numbers to twelve significant digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for one in cells:
            writer.writerow([_plain(getattr(one, field)) for field in FIELDS])


def shown(one: Cell) -> str:
    """``2.31 [2.28, 2.34] (paper 2.28)``; an unknown number is a dash."""
    if one.value is None or math.isnan(one.value):
        text = "–"
    elif one.low is None or one.high is None:
        text = short(one.value)
    else:
        text = f"{short(one.value)} [{short(one.low)}, {short(one.high)}]"
    return text + (f" (paper {short(one.printed)})" if one.printed is not None else "")


def short(value: float) -> str:
    """Two decimals, or three significant digits below 0.1; whole numbers stay whole."""
    if isinstance(value, int) or abs(value) >= 1e5:
        return f"{value:,.0f}"
    if value and abs(value) < 0.1:
        return f"{value:.3g}"
    return f"{value:.2f}"


def _plain(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else value
