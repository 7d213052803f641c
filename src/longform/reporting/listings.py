"""Sheets that are no tables of numbers with intervals: rows of words, figures drawn elsewhere, and pages of an article."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure as Canvas

from longform.reporting.layout import Cell, write_csv

PDF_FACTS = {"CreationDate": None, "Producer": None, "Creator": None}  # no clock in a file
PNG_FACTS = {"Software": None}
RESOLUTION = 150


@dataclass(frozen=True)
class Listing:
    """Rows of words and numbers, a caption, and notes that must be read with them.

    Attributes:
        header: column names.
        rows: as many entries each; numbers are written to twelve digits in the CSV and to three in the Markdown.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` and ``stem.md``."""
        with (folder / f"{stem}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.header)
            writer.writerows([[_written(value, 12) for value in row] for row in self.rows])
        (folder / f"{stem}.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """The rows as a Markdown table."""
        lines = [f"**{self.caption}**", "", f"| {' | '.join(self.header)} |", "|---" * len(self.header) + "|"]
        for row in self.rows:
            lines.append(f"| {' | '.join(_written(value, 3).replace('|', '∣') for value in row)} |")
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]).rstrip() + "\n"


def _written(value: Any, digits: int) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.{digits}g}" if isinstance(value, float) else " ".join(str(value).split())


@dataclass(frozen=True)
class Drawing:
    """A finished matplotlib figure and the numbers in it."""

    caption: str
    cells: Sequence[Cell]
    canvas: Canvas
    notes: Sequence[str] = ()

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv``, ``stem.pdf``, ``stem.png``, ``stem.md``; equal numbers give equal bytes."""
        write_csv(folder / f"{stem}.csv", self.cells)
        save_canvas(self.canvas, folder / stem)
        lines = [f"![{stem}]({stem}.png)", "", self.caption, "", *(f"- {note}" for note in self.notes)]
        (folder / f"{stem}.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Pages:
    """Articles, each as a page of HTML and a figure, with one listing of what is marked in them.

    Attributes:
        pages: HTML and figure by name; the names become file names.
    """

    listing: Listing
    pages: Mapping[str, tuple[str, Canvas]]

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` and ``stem.md`` with links, and per page ``name.html``, ``name.pdf``, ``name.png``."""
        self.listing.save(folder, stem)
        links = [f"- {name}: [HTML]({name}.html), [PDF]({name}.pdf)\n\n![{name}]({name}.png)" for name in self.pages]
        text = self.listing.markdown() + "\n" + "\n".join(links) + "\n"
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")
        for name, (page, canvas) in self.pages.items():
            (folder / f"{name}.html").write_text(page, encoding="utf-8")
            save_canvas(canvas, folder / name)


def save_canvas(canvas: Canvas, path: Path) -> None:
    """``path.pdf`` and ``path.png``."""
    with rc_context({"svg.hashsalt": "longform", "pdf.fonttype": 42}):
        canvas.savefig(f"{path}.pdf", metadata=PDF_FACTS)
        canvas.savefig(f"{path}.png", dpi=RESOLUTION, metadata=PNG_FACTS)
