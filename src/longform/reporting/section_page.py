"""An article with its inferred section titles and its improbable transitions marked, as a page (deng2022 Figure 1)."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longform.markov_chain import END
from longform.reporting.layout import Cell, write_csv

_STYLE = """
body { max-width: 44em; margin: 2em auto; padding: 0 1em; font: 16px/1.6 Georgia, serif; color: #222; background: #fff; }
h1 { font-size: 1.2em; } h2 { font: bold 0.9em sans-serif; margin: 1.6em 0 0.3em; } p { white-space: pre-wrap; margin: 0; }
.bad { color: #c00; } .chance { font: 0.75em sans-serif; color: #777; } .bad .chance { color: #c00; }
"""
EXCERPT = 240  # characters of a section in the Markdown form


@dataclass(frozen=True)
class MarkedSection:
    """A section and the transition that leads to it.

    Attributes:
        title: inferred; the end symbol for the article's end, whose text is empty.
        probability: the critic's, of this title after the one before.
        expected: the title that the critic finds likeliest there.
        bad: whether the transition is improbable.
    """

    title: str
    text: str
    probability: float
    expected: str
    bad: bool


@dataclass(frozen=True)
class ArticlePage:
    """One article; nothing but a sentence where there was none to show."""

    caption: str
    unit: str
    sections: Sequence[MarkedSection]

    def save(self, folder: Path, stem: str) -> None:
        """``stem.html`` for reading, ``stem.csv`` with the probabilities, ``stem.md`` with excerpts."""
        (folder / f"{stem}.html").write_text(self.page(), encoding="utf-8")
        (folder / f"{stem}.md").write_text(self.markdown(), encoding="utf-8")
        cells = [
            Cell(f"{place} {s.title}", "P(title | title before)", s.probability, signature=f"likeliest: {s.expected}")
            for place, s in enumerate(self.sections, 1)
        ]
        write_csv(folder / f"{stem}.csv", cells)

    def page(self) -> str:
        """The whole article as HTML; a cross before each improbable title."""
        body = "".join(
            f"<h2{' class=bad' if s.bad else ''}>{'✗ ' if s.bad else ''}{html.escape(_name(s.title))} "
            f'<span class="chance">{html.escape(_chance(s))}</span></h2>\n<p>{html.escape(s.text)}</p>\n'
            for s in self.sections
        )
        title = html.escape(f"{self.caption}: {self.unit}")
        return (
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f"<style>{_STYLE}</style>\n<h1>{title}</h1>\n{body}</html>\n"
        )

    def markdown(self) -> str:
        """Inferred title, chance and the beginning of each section."""
        lines = [f"**{self.caption}** ({self.unit}; titles as the classifier reads them, none is in the text)", ""]
        lines += ["| inferred title | P | likeliest | text |", "|---|---|---|---|"]
        for s in self.sections:
            text = " ".join(s.text.split()).replace("|", "\\|")
            text = text if len(text) <= EXCERPT else text[:EXCERPT].rsplit(" ", 1)[0] + " …"
            lines.append(
                f"| {'✗ ' if s.bad else ''}{_name(s.title)} | {s.probability:.3g} | {_name(s.expected)} | {text} |"
            )
        return "\n".join(lines) + "\n"


def _name(title: str) -> str:
    return "(end)" if title == END else title


def _chance(section: MarkedSection) -> str:
    expected = "" if section.expected == section.title else f", likeliest {_name(section.expected)}"
    return f"P = {section.probability:.3g}{expected}"
