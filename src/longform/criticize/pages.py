"""What ``criticize`` writes: the table, the figure, and a page per text with its worst parts marked. Text is only ever text."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longform.criticize.panels import section_starts
from longform.papers.layout import Cell, Figure, short, write_csv
from longform.units import Document

if TYPE_CHECKING:
    from longform.criticize.judging import Criticism, Judged

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9", "#7A3E9D", "#B22222")  # Okabe and Ito 2008
_STYLE = """
body { max-width: 46em; margin: 2em auto; padding: 0 1em; font: 17px/1.7 Georgia, serif; color: #222; }
p { white-space: pre-wrap; } h2 { font-size: 1.05em; } li, td, th, .note { font: 14px/1.5 sans-serif; }
mark { background: none; border-bottom: 3px solid; } table { border-collapse: collapse; }
td, th { padding: .2em .8em; text-align: left; border-bottom: 1px solid #ddd; } b { font-weight: 600; }
"""


def table(found: Criticism) -> str:
    """Markdown: critic, real and generated with 95 % intervals, p-value, verdict; then what was left out and set aside."""
    lines = ["| critic | real | generated | p | |", "|---|---|---|---|---|"]
    for one in found.judged:
        p = f"{one.difference.p_value:.4f}"
        lines.append(f"| {one.panel.name} | {_shown(one.real)} | {_shown(one.generated)} | {p} | {one.verdict} |")
    return "\n".join([*lines, "", *(f"- {note}" for note in notes(found))]).rstrip() + "\n"


def _shown(one: Any) -> str:
    left = f", {one.excluded} left out" if one.excluded else ""
    return f"{short(one.value)} [{short(one.low)}, {short(one.high)}]{left}"


def notes(found: Criticism) -> list[str]:
    """What a reader must know beside the numbers."""
    from longform.criticize.judging import FEW, SIGNIFICANT

    told = []
    fitted, compared = len(found.real.documents) // 2, len(found.real.documents) - len(found.real.documents) // 2
    told.append(
        f"{fitted} real texts fit the critics, {compared} others are compared with {len(found.generated.documents)} "
        "generated ones; intervals are 95 % bootstraps over texts, p-values permutation tests"
    )
    if min(fitted, len(found.generated.documents)) < FEW:
        told.append(f"fewer than {FEW} texts on a side: intervals are rough, and small differences cannot be seen")
    if found.shared:
        told.append(f"{found.shared} generated texts stand among the real ones word for word: the sides are not apart")
    if len(found.judged) > 1:
        level = SIGNIFICANT / len(found.judged)
        told.append(
            f"{len(found.judged)} tests: corrected for their number (Bonferroni), p below {level:.4f} is a difference"
        )
    for one in found.judged:
        if any(one.unknown):
            told.append(
                f"{one.panel.name}: not scored are {one.panel.unknown}: {one.unknown[0]} real, {one.unknown[1]} generated"
            )
    told += [f"left out: {name}: {why}" for name, why in found.left_out]
    for side, texts in (("real", found.real), ("generated", found.generated)):
        told += [f"set aside ({side}) {place}: {why}" for place, why in texts.set_aside[:20]]
        if len(texts.set_aside) > 20:
            told.append(f"set aside ({side}): {len(texts.set_aside) - 20} more")
    return told


def save(found: Criticism, folder: Path) -> Path:
    """All files; returns the path of ``index.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.md").write_text(table(found), encoding="utf-8")
    cells = [cell for one in found.judged for cell in _cells(one)]
    write_csv(folder / "results.csv", cells)
    if found.judged:
        size = (6.5, 0.8 + 0.45 * len(found.judged))
        Figure("Generated against real texts", cells, lambda canvas: _draw(found.judged, canvas), size).save(
            folder, "critics"
        )
    (folder / "texts").mkdir(exist_ok=True)
    for old in (folder / "texts").glob("[0-9]*-*.html"):  # pages of an earlier report
        old.unlink()
    links = []
    for number, document in enumerate(found.generated.documents, 1):
        name = f"texts/{number:04d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', document.id)[:60]}.html"
        (folder / name).write_text(page(document, found.judged), encoding="utf-8")
        links.append((name, document.id))
    (folder / "index.html").write_text(_index(found, links), encoding="utf-8")
    return folder / "index.html"


def _cells(one: Judged) -> list[Cell]:
    sides = (("real", one.real, None), ("generated", one.generated, one.difference.p_value))
    return [
        Cell(one.panel.name, side, e.value, e.low, e.high, e.units, e.excluded, p, signature=e.signature)
        for side, e, p in sides
    ]


def _draw(judged: Sequence[Judged], canvas: Any) -> None:
    """Generated minus real in units of the real interval's half width, one critic a line."""
    axes = canvas.subplots()
    for row, one in enumerate(reversed(judged)):
        half = _half(one)
        at, low, high = (
            (v - one.real.value) / half for v in (one.generated.value, one.generated.low, one.generated.high)
        )
        far = one.difference.p_value < 0.05
        axes.plot([low, high], [row, row], color="black" if far else "0.6", linewidth=1.5)
        axes.plot([at], [row], "o", color="black" if far else "0.6", markerfacecolor="black" if far else "white")
    axes.axvspan(-1, 1, color="0.9", zorder=0)
    axes.set_yticks(range(len(judged)), [one.panel.name for one in reversed(judged)])
    axes.set_xlabel("generated minus real, in half widths\nof the real texts' 95 % interval (grey band)")
    axes.set_xscale("symlog", linthresh=1.0)


def _half(one: Judged) -> float:
    """Half the width of the real texts' interval; of the generated texts' where real texts do not differ; or one."""
    widths = [(side.high - side.low) / 2 for side in (one.real, one.generated)]
    return next((width for width in widths if width > 1e-9 * max(1.0, abs(one.real.value))), 1.0)


def marks(document: Document, judged: Sequence[Judged]) -> list[tuple[int, int, int, str]]:
    """(start, end, critic number, note) of the worst parts that are places in the text."""
    key, found = f"generated/{document.id}", []
    for number, one in enumerate(judged):
        found += [(*span, number, f"{one.panel.name}: {short(value)}") for value, span in one.blame.get(key, [])]
    return found


def page(document: Document, judged: Sequence[Judged]) -> str:
    """One text with its worst parts marked, and what each critic says of it."""
    found, text = marks(document, judged), document.text
    titles = {s: one.title for s, one in zip(section_starts(document), document.sections, strict=True) if one.title}
    cuts = sorted({0, len(text), *titles, *(edge for start, end, _, _ in found for edge in (start, end))})
    pieces = []
    for a, b in pairwise(cuts):
        if a in titles:
            pieces.append(f"</p><h2>{html.escape(titles[a])}</h2><p>")
        over = [(number, note) for start, end, number, note in found if start <= a and b <= end]
        piece = html.escape(text[a:b])
        if over:
            told = html.escape("; ".join(note for _, note in over), quote=True)
            piece = f'<mark style="border-color: {COLOURS[over[0][0] % len(COLOURS)]}" title="{told}">{piece}</mark>'
        pieces.append(piece)
    worst = "".join(_item(one, number, document, text) for number, one in enumerate(judged))
    body = f"<h1>{html.escape(document.id)}</h1><ul>{worst}</ul><p>{''.join(pieces)}</p>"
    return _html(document.id, body)


def _item(one: Judged, number: int, document: Document, text: str) -> str:
    places = [(start, end) for start, end, n, _ in marks(document, [one]) if n == 0]
    quoted = "; ".join(f"“{html.escape(_short(text[a:b]))}”" for a, b in places) or "no part stands out"
    if one.panel.places is None:
        quoted = f"{html.escape(one.panel.critic.parts)} are not places in the text"
    colour = COLOURS[number % len(COLOURS)]
    return f'<li><b style="color: {colour}">{html.escape(one.panel.name)}</b>: {quoted}</li>'


def _short(text: str, limit: int = 90) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _index(found: Criticism, links: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f"<tr><td><b>{html.escape(one.panel.name)}</b><br>{html.escape(one.panel.question)}</td><td>{_shown(one.real)}</td>"
        f"<td>{_shown(one.generated)}</td><td>{one.difference.p_value:.4f}</td><td>{html.escape(one.verdict)}</td></tr>"
        for one in found.judged
    )
    head = "<tr><th>critic</th><th>real</th><th>generated</th><th>p</th><th></th></tr>"
    told = "".join(f"<li>{html.escape(note)}</li>" for note in notes(found))
    pages = "".join(
        f'<li><a href="{html.escape(name, quote=True)}">{html.escape(title)}</a></li>' for name, title in links
    )
    figure = '<img src="critics.png" alt="critics" width="650">' if found.judged else ""
    body = f"<h1>Generated against real texts</h1><table>{head}{rows}</table>{figure}<ul>{told}</ul><h2>Texts</h2><ul>{pages}</ul>"
    return _html("longform criticize", body)


def _html(title: str, body: str) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}"><title>{html.escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{body}</body></html>\n'
