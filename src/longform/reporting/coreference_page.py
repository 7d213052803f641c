"""An article with its mentions coloured by entity and its improbable 5-grams circled (deng2022 Figures 10 to 13).

The same marks make one HTML page, for reading, and one figure, for the paper.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from longform.critics.coreference.attribution import Mark
from longform.critics.coreference.ngrams import split_symbol

STOP = "."  # opens each sentence of a chain (deng2022 section 5)

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#8C6D00",
    "#56B4E9",
    "#7A3E9D",
    "#B22222",
)  # after Okabe and Ito 2008
OTHERS = "#555555"  # entities beyond the number of colours
LINE_CHARACTERS = 92  # of the figure, in a fixed-width face
_STYLE = """
body { max-width: 44em; margin: 2em auto; padding: 0 1em; font: 17px/1.9 Georgia, serif; color: #222; background: #fff; }
h1 { font-size: 1.2em; } p { white-space: pre-wrap; }
mark { background: none; font-weight: bold; } sub { font: 0.65em sans-serif; }
.bad { border: 2px solid #d00; border-radius: 1em; padding: 0 0.25em; }
.stop { color: #d00; border: 2px solid #d00; border-radius: 1em; padding: 0 0.3em; font: 0.7em sans-serif; }
table { font: 0.8em sans-serif; border-collapse: collapse; } td, th { padding: 0.15em 0.8em; text-align: left; }
"""


def entity_colours(found: Sequence[Mark]) -> dict[str, str]:
    """A colour per entity, the most mentioned first; entities beyond the palette share one."""
    counts = Counter(entity for mark in found if (entity := split_symbol(mark.symbol)[1]) is not None)
    ranked = [entity for entity, _ in counts.most_common()]
    return {entity: COLOURS[i] if i < len(COLOURS) else OTHERS for i, entity in enumerate(ranked)}


def article_html(title: str, text: str, found: Sequence[Mark]) -> str:
    """One page that needs nothing from outside: text with coloured mentions, bad symbols circled, and a table of them."""
    colours = entity_colours(found)
    pieces, position = [], 0
    for mark in found:
        if mark.start < position:
            continue  # inside the mention before it
        pieces.append(html.escape(text[position : mark.start]))
        pieces.append(_marked(text, mark, colours))
        position = mark.end
    pieces.append(html.escape(text[position:]))
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n<h1>{html.escape(title)}</h1>\n<p>{''.join(pieces)}</p>\n{_bad_table(found)}</html>\n"
    )


def _marked(text: str, mark: Mark, colours: dict[str, str]) -> str:
    note = f' title="{html.escape(mark.note)}"' if mark.bad else ""
    if mark.symbol == STOP:
        return f'<span class="stop"{note}>.</span>' if mark.bad else ""
    form, entity = split_symbol(mark.symbol)
    tag = "" if form == text[mark.start : mark.end] else html.escape(form[:1])
    words = html.escape(text[mark.start : mark.end])
    inside = f'<mark style="color:{colours[entity or ""]}">{words}<sub>{tag}{html.escape(entity or "")}</sub></mark>'
    return f'<span class="bad"{note}>{inside}</span>' if mark.bad else inside


def _bad_table(found: Sequence[Mark]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(m.symbol)}<td>{m.log_probability:.2f}<td>{html.escape(m.best)}<td>{_nats(m)}\n"
        for m in found
        if m.bad
    )
    head = "<tr><th>symbol<th>log P<th>expected<th>log P\n"
    return f"<table>\n{head}{rows}</table>\n" if rows else "<p>No 5-gram below the threshold.</p>\n"


def _nats(mark: Mark) -> str:
    return "" if mark.best_log_probability is None else f"{mark.best_log_probability:.2f}"


def article_figure(title: str, text: str, found: Sequence[Mark], lines: int = 40) -> Figure:
    """The first ``lines`` lines of the same page as a figure (PDF, PNG); characters sit on a grid, so circles fit."""
    colours = entity_colours(found)
    rows = wrap(text, LINE_CHARACTERS)[:lines]
    figure = Figure(figsize=(LINE_CHARACTERS * 0.085, 0.5 + 0.24 * len(rows)))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=(-1, LINE_CHARACTERS + 1), ylim=(len(rows) + 0.5, -1.5))
    axes.axis("off")
    axes.text(0, -0.8, title, family="DejaVu Sans Mono", size=9, weight="bold")
    for row, (start, end) in enumerate(rows):
        inside = [mark for mark in found if start <= mark.start < end]
        _draw_line(axes, row, text[start:end], [(mark, mark.start - start) for mark in inside], colours)
    return figure


def _draw_line(axes: Axes, row: int, line: str, inside: Sequence[tuple[Mark, int]], colours: dict[str, str]) -> None:
    coloured = {}
    for mark, at in inside:
        shown = colours.get(split_symbol(mark.symbol)[1] or "", OTHERS)
        coloured.update(dict.fromkeys(range(at, at + mark.end - mark.start), shown))
        if mark.bad:
            width = max(mark.end - mark.start, 0.5)
            axes.add_patch(
                FancyBboxPatch(
                    (at, row - 0.55), width, 0.8, boxstyle="round,pad=0.1,rounding_size=0.5", fill=False, ec="#d00"
                )
            )
    for i, character in enumerate(line):
        colour, weight = (coloured[i], "bold") if i in coloured else ("#222222", "normal")
        shown = "\\$" if character == "$" else character
        axes.text(i + 0.5, row, shown, family="DejaVu Sans Mono", size=8, ha="center", color=colour, weight=weight)


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Half-open offsets of lines of at most ``width`` characters, broken at spaces and line breaks."""
    rows, start = [], 0
    while start < len(text):
        end = _line_end(text, start, width)
        rows.append((start, end))
        start = end + 1 if end < len(text) and text[end] in " \n" else end
    return rows


def _line_end(text: str, start: int, width: int) -> int:
    line_break = text.find("\n", start, start + width + 1)
    if line_break >= 0:
        return line_break
    if len(text) - start <= width:
        return len(text)
    space = text.rfind(" ", start, start + width + 1)
    return space if space > start else start + width
