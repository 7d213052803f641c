"""What a report writes, each as CSV and Markdown.

These are tables of numbers with intervals, listings of words, figures, and files beside them.
"""

import csv
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from longform.results import FEWEST_UNITS, Record

RESOLUTION = 150  # dots per inch of a PNG
# Lines, bands and smoothed letters need no more; a file has a quarter of the bytes.
COLOURS_OF_A_PNG = 32
PDF = "LONGFORM_PDF"  # with this variable set, every drawing has a PDF beside its PNG
# Of points, lines and areas in figures: most readers tell them apart (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Of words and of lines below them: ochre in place of orange, and three more.
TEXT_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#8C6D00",
    "#56B4E9",
    "#7A3E9D",
    "#B22222",
    "#555555",
    "#1B5E20",
)
GREY = TEXT_COLOURS[8]
STYLE: dict[Any, Any] = {
    # Sizes of letters, in points.
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "figure.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    # Lines and frames.
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Letters that can be searched in a PDF, and equal bytes for equal drawings.
    "pdf.fonttype": 42,
    "svg.hashsalt": "longform",
}
# A function that draws on a matplotlib figure, and the figure's (width, height) in inches.
Drawing = tuple[Callable[[Any], None], tuple[float, float]]


@dataclass(frozen=True)
class Cell:
    """One number of a table with its 95 % interval.

    From fewer than ``FEWEST_UNITS`` units it has no interval and no p-value.

    Attributes:
        row, column: where it stands.
        value, low, high: the number and its interval.
        units, excluded: documents scored and set aside.
        p_value: of a test against real text.
        printed: the paper's number.
        verdict, why: how the two compare.
        signature: of the critic.
        detail: whether it is in the CSV alone (single seeds, totals).
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
        """The cell with value and interval multiplied; by 100, a share becomes percent."""
        products: dict[str, Any] = {}
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            products[name] = None if number is None else factor * number
        return replace(self, **products)


FIELDS = tuple(f.name for f in fields(Cell) if f.name != "detail")


def cell(row: str, column: str, record: Record, **more: Any) -> Cell:
    """The cell of a record's number; ``more`` sets or replaces fields of the cell."""
    of_record = {}
    for name in ("value", "low", "high", "units", "excluded", "p_value", "signature"):
        of_record[name] = getattr(record, name)
    return Cell(row, column, **{**of_record, **more})


def exact(row: str, column: str, value: float, signature: str = "closed form", **more: Any) -> Cell:
    """The cell of a number without an interval: computed exactly, or counted."""
    return Cell(row, column, value, signature=signature, **more)


@dataclass(frozen=True)
class Table:
    """Cells in reading order, a caption, and notes that must be read with them.

    The named ``columns`` come first in the wide form.
    """

    caption: str
    cells: Sequence[Cell]
    notes: Sequence[str] = ()
    columns: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """Write ``stem.csv`` (a number a line, nine digits) and ``stem.md`` (the wide table)."""
        write_rows(folder / f"{stem}.csv", FIELDS, map(attrgetter(*FIELDS), self.cells))
        (folder / f"{stem}.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """The wide table: value [low, high], and the paper's number in parentheses.

        A dash stands for an unknown number.
        """
        cell_at = {(cell.row, cell.column): cell for cell in self.cells if not cell.detail}
        # Columns that have a cell: those of ``self.columns`` first, others as they appear.
        # ``dict.fromkeys`` drops repeats and keeps the order.
        filled = dict.fromkeys(column for _, column in cell_at)
        first = [column for column in self.columns if column in filled]
        columns = list(dict.fromkeys([*first, *filled]))
        lines = []
        for row in dict.fromkeys(row for row, _ in cell_at):
            line = [row]
            for column in columns:
                cell = cell_at.get((row, column))
                line.append("" if cell is None else _shown(cell))
            lines.append(line)
        return markdown_table(self.caption, ["", *columns], lines, self.notes)


@dataclass(frozen=True)
class Listing:
    """A table of words and numbers, with a caption and notes that must be read with it."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """Write ``stem.csv`` and ``stem.md``."""
        write_rows(folder / f"{stem}.csv", self.header, self.rows)
        (folder / f"{stem}.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """The rows as a Markdown table."""
        rows = [list(map(_word, row)) for row in self.rows]
        return markdown_table(self.caption, self.header, rows, self.notes)


@dataclass(frozen=True)
class Figure:
    """A drawing and the numbers in it; ``draw`` draws on a matplotlib figure of ``size`` inches."""

    caption: str
    cells: Sequence[Cell]
    draw: Callable[[Any], None]
    size: tuple[float, float] = (6.0, 4.0)
    notes: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """Write ``stem.csv``, ``stem.png``, ``stem.md``; equal numbers give equal bytes."""
        write_rows(folder / f"{stem}.csv", FIELDS, map(attrgetter(*FIELDS), self.cells))
        save_drawing((self.draw, self.size), folder / stem)
        text = f"![{stem}]({stem}.png)\n\n{self.caption}\n"
        if self.notes:
            text += "\n" + "".join(f"- {note}\n" for note in self.notes)
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Files:
    """Text files and drawings that one sheet of a report writes, perhaps beside a table.

    Attributes:
        texts: contents by file name.
        table: the table or listing that they belong to.
        more: Markdown that follows the table's own.
        drawings: by file name without its ending.
    """

    texts: Mapping[str, str]
    table: Table | Listing | None = None
    more: str = ""
    drawings: Mapping[str, Drawing] = field(default_factory=dict)

    def save(self, folder: Path, stem: str) -> None:
        """Write the table under ``stem``, everything else under its own name."""
        if self.table:
            self.table.save(folder, stem)
            (folder / f"{stem}.md").write_text(self.table.markdown() + self.more, encoding="utf-8")
        for name, text in self.texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, drawing in self.drawings.items():
            save_drawing(drawing, folder / name)


@dataclass(frozen=True)
class Several:
    """One sheet of a report for several systems; each Markdown page links to the others.

    Attributes:
        first: the sheet that lies in the folder itself.
        label: the first system's.
        others: label and sheet of each other system, by the name of its folder inside that one.
    """

    first: Table | Listing | Figure | Files
    label: str
    others: Mapping[str, tuple[str, Table | Listing | Figure | Files]]

    def save(self, folder: Path, stem: str) -> None:
        """Save the first sheet as if alone, the others in their folders, all under ``stem``."""
        self.first.save(folder, stem)
        links = []
        for name, (label, _) in self.others.items():
            links.append(f"[{label}]({name}/{stem}.md)")
        _append(folder / f"{stem}.md", f"\nHere: {self.label}. Also: {', '.join(links)}.\n")
        for name, (label, sheet) in self.others.items():
            (folder / name).mkdir()
            sheet.save(folder / name, stem)
            back = f"\nHere: {label}. Also: [{self.label}](../{stem}.md).\n"
            _append(folder / name / f"{stem}.md", back)


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def save_drawing(drawing: Drawing, path: Path) -> None:
    """Write ``path.png`` in few colours, and ``path.pdf`` where ``LONGFORM_PDF`` is set.

    Neither file holds a date, so equal drawings are equal files.
    """
    # Here, since they take long to import.
    import matplotlib
    from PIL import Image

    matplotlib.use("Agg")
    from matplotlib.figure import Figure as Canvas

    # 1. Draw it.
    draw, size = drawing
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=size, layout="constrained")
        draw(canvas)
        _show_dollars(canvas)
        # 2. Write it without dates and versions.
        if os.environ.get(PDF):
            undated = {"CreationDate": None, "Producer": None, "Creator": None}
            canvas.savefig(f"{path}.pdf", metadata=undated)
        png = io.BytesIO()
        canvas.savefig(png, dpi=RESOLUTION)
    with Image.open(png) as picture:
        write_png(picture, Path(f"{path}.png"))


# The formulas that labels hold: powers of ten, Matplotlib's own among them, and Greek letters.
_FORMULA = re.compile(r"\$(?:10\^|\\mathdefault\{|\\sigma)[^$]*\$")


def _show_dollars(canvas: Any) -> None:
    """Show dollar signs of names and titles as they are.

    Matplotlib would typeset the words between two of them as a formula.
    """
    from matplotlib.text import Text

    for text in canvas.findobj(Text):
        words = text.get_text()
        if words.count("$") > words.count(r"\$") and not _FORMULA.search(words):
            text.set_parse_math(False)


def write_png(picture: Any, path: Path) -> None:
    """Write a Pillow image as a PNG of ``COLOURS_OF_A_PNG`` colours at most.

    The palette covers the image's colours evenly, however few pixels have one; k-means then moves
    each colour to the mean of its pixels until none changes. A median cut would weigh colours by
    their pixels: it turns coloured words grey.
    """
    from PIL import Image

    evenly, no_dither = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    picture = picture.convert("RGB")
    few = picture.quantize(COLOURS_OF_A_PNG, method=evenly, kmeans=1, dither=no_dither)
    few.save(path, format="PNG", optimize=True)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file: floats with nine significant digits, None and nan as empty fields."""
    lines = [list(map(_plain, row)) for row in rows]
    path.write_text(csv_text(header, lines), encoding="utf-8")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A header and rows as CSV text; values as ``str`` shows them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON lines, their keys in alphabetical order."""
    lines = []
    for record in records:
        lines.append(json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n")
    return "".join(lines)


def _shown(cell: Cell) -> str:
    """A cell's text in the wide table; a dash where it has no value."""
    if cell.value is None or math.isnan(cell.value):
        text = "–"
    else:
        text = interval(cell.value, cell.low, cell.high)
    if cell.printed is not None:
        text += f" (paper {short(cell.printed)})"
    return text


def interval(value: float, low: float | None, high: float | None) -> str:
    """``2.31 [2.28, 2.34]``, or the number alone."""
    if low is None or high is None:
        return short(value)
    return f"{short(value)} [{short(low)}, {short(high)}]"


def short(value: float) -> str:
    """Two decimals, or three significant digits below 0.1; whole numbers stay whole."""
    if isinstance(value, int) or abs(value) >= 1e5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value and abs(value) < 0.1 else f"{value:.2f}"


def markdown_table(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
) -> str:
    """Markdown of a caption, a table (``header`` over ``rows``) and a list of notes."""
    lines = [f"**{caption}**", "", _line(header), "|---" * len(header) + "|"]
    lines += map(_line, rows)
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]).rstrip() + "\n"


def _line(cells: Sequence[str]) -> str:
    """A line of a Markdown table; a bar or a line break inside a cell would end the cell."""
    return f"| {' | '.join(map(_one_cell, cells))} |"


def _one_cell(text: str) -> str:
    return " ".join(text.splitlines()).replace("|", "∣")


def _word(value: Any) -> str:
    """A value of a listing in Markdown; nothing for None and nan (which differs from itself)."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return short(value)
    return " ".join(str(value).split())


def _plain(value: Any) -> Any:
    """A value of a CSV file; nothing for None and nan (which differs from itself)."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    return " ".join(value.split()) if isinstance(value, str) else value
