"""What a report writes: tables of numbers with intervals, listings of words, figures; each as CSV and Markdown, figures as PDF and PNG."""

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from longform.core.results import Record
from longform.reporting.estimates import FEWEST_UNITS

RESOLUTION = 150  # dots per inch of a PNG
STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 7, "legend.title_fontsize": 7, "legend.frameon": False, "lines.linewidth": 1.2, "figure.labelsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42, "svg.hashsalt": "longform",
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One number of a table, with everything that is known about it.

    Attributes:
        row, column: where it stands.
        value, low, high: the number and its 95 % interval; None where there is none. A number from fewer than
            ``FEWEST_UNITS`` units loses its interval and its p-value.
        units, excluded: documents scored and set aside.
        p_value: permutation test against real text, where there was one.
        printed: the paper's number, or None.
        verdict, why: how ours compares with the printed one, and the reason.
        signature: the critic with its settings, or the name of the closed form.
        detail: whether only the CSV has it, not the wide table (single seeds, totals).
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
    detail: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.units is not None and self.units < FEWEST_UNITS:
            for name in ("low", "high", "p_value"):
                object.__setattr__(self, name, None)

    def times(self, factor: float) -> "Cell":
        """Value and interval times a factor: shares in percent."""
        value, low, high = (None if end is None else factor * end for end in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)


FIELDS = tuple(f.name for f in fields(Cell) if f.name != "detail")


def cell(row: str, column: str, record: Record, **more: Any) -> Cell:
    """A cell from a record; ``more`` sets or replaces fields of the cell."""
    names = ("value", "low", "high", "units", "excluded", "p_value", "signature")
    return Cell(row, column, **{**{name: getattr(record, name) for name in names}, **more})


def exact(row: str, column: str, value: float, signature: str = "closed form", **more: Any) -> Cell:
    """A cell of a number that is known exactly, or counted."""
    return Cell(row, column, value, signature=signature, **more)


@dataclass(frozen=True)
class Table:
    """Cells in reading order, a caption, and notes that must be read with them.

    ``columns`` come first in the wide form, others follow in the order of the cells.
    """

    caption: str
    cells: Sequence[Cell]
    notes: Sequence[str] = ()
    columns: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` (one number a line, full precision) and ``stem.md`` (the paper's layout)."""
        write_cells(folder / f"{stem}.csv", self.cells)
        (folder / f"{stem}.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """The wide table: value [low, high], the printed number in parentheses."""
        cells = [c for c in self.cells if not c.detail]
        rows = list(dict.fromkeys(c.row for c in cells))
        named = {c.column for c in cells}
        ordered = [column for column in self.columns if column in named]
        columns = list(dict.fromkeys([*ordered, *(c.column for c in cells)]))
        at = {(c.row, c.column): c for c in cells}
        lines = [[row, *(shown(at[row, k]) if (row, k) in at else "" for k in columns)] for row in rows]
        return _markdown(self.caption, ["", *columns], lines, self.notes)


@dataclass(frozen=True)
class Listing:
    """Rows of words and numbers below the names of their columns, a caption, and notes that must be read with them."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` and ``stem.md``."""
        write_rows(folder / f"{stem}.csv", self.header, self.rows)
        (folder / f"{stem}.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """The rows as a Markdown table."""
        return _markdown(self.caption, self.header, [[_word(v) for v in row] for row in self.rows], self.notes)


@dataclass(frozen=True)
class Figure:
    """A drawing and the numbers in it; ``draw`` draws on a matplotlib figure of ``size`` inches."""

    caption: str
    cells: Sequence[Cell]
    draw: Callable[[Any], None]
    size: tuple[float, float] = (6.0, 4.0)
    notes: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv``, ``stem.pdf``, ``stem.png``, ``stem.md``; equal numbers give equal bytes."""
        write_cells(folder / f"{stem}.csv", self.cells)
        save_drawing(self.draw, self.size, folder / stem)
        notes = "".join(f"- {note}\n" for note in self.notes)
        text = f"![{stem}]({stem}.png)\n\n{self.caption}\n" + (f"\n{notes}" if notes else "")
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")


def save_drawing(draw: Callable[[Any], None], size: tuple[float, float], path: Path) -> None:
    """``path.pdf`` and ``path.png``, without a clock in either."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=size, layout="constrained")
        draw(canvas)
        canvas.savefig(f"{path}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
        canvas.savefig(f"{path}.png", dpi=RESOLUTION, metadata={"Software": None})


def write_cells(path: Path, cells: Sequence[Cell]) -> None:
    """One cell a line, all fields."""
    write_rows(path, FIELDS, [[getattr(c, name) for name in FIELDS] for c in cells])


def write_rows(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A CSV file; numbers to nine significant digits, nothing for None and for what is not a number."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([_plain(value) for value in row] for row in rows)


def shown(c: Cell) -> str:
    """``2.31 [2.28, 2.34] (paper 2.28)``; an unknown number is a dash."""
    if c.value is None or math.isnan(c.value):
        text = "–"
    elif c.low is None or c.high is None:
        text = short(c.value)
    else:
        text = f"{short(c.value)} [{short(c.low)}, {short(c.high)}]"
    return text + (f" (paper {short(c.printed)})" if c.printed is not None else "")


def short(value: float) -> str:
    """Two decimals, or three significant digits below 0.1; whole numbers stay whole."""
    if isinstance(value, int) or abs(value) >= 1e5:
        return f"{value:,.0f}"
    if value and abs(value) < 0.1:
        return f"{value:.3g}"
    return f"{value:.2f}"


def _markdown(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    lines = [f"**{caption}**", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]).rstrip() + "\n"


def _word(value: Any) -> str:
    if value is None or value != value:
        return ""
    return short(value) if isinstance(value, float) else " ".join(str(value).split()).replace("|", "∣")


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    return " ".join(value.split()) if isinstance(value, str) else value
