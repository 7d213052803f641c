"""What ``criticize`` shows: the table, and a page per text with its worst parts marked. Text is only ever text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from longform.core.documents import Document
from longform.criticize.panel import section_starts
from longform.criticize.texts import shortened
from longform.reporting.table import short
from longform.text.sentences import sentences

if TYPE_CHECKING:
    from longform.core.critic import Estimate
    from longform.criticize.judging import Criticism, Judged

COLOURS = (  # Okabe and Ito 2008, and four more
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9", "#7A3E9D", "#B22222", "#555555", "#1B5E20",
)  # fmt: skip
FEW = 20  # ours: texts a side below which the report warns that intervals are rough
SIGNIFICANT = 0.05
WITH_LENGTH = 0.5  # ours: rank correlation with the number of sentences from which a critic is said to follow length
LONGER = 1.25  # ours: ratio of the sides' median lengths from which they are said to differ
_STYLE = """
body { max-width: 46em; margin: 2em auto; padding: 0 1em; font: 17px/1.7 Georgia, serif; color: #222; }
p { white-space: pre-wrap; } h2 { font-size: 1.05em; } li, td, th, .note { font: 14px/1.5 sans-serif; }
mark { background: none; border-bottom: 3px solid; } table { border-collapse: collapse; }
td, th { padding: .2em .8em; text-align: left; border-bottom: 1px solid #ddd; } b { font-weight: 600; } a { color: inherit; }
"""


def table(found: Criticism) -> str:
    """Markdown: critic, real and generated with 95 % intervals, p-value, verdict; then what was left out and set aside."""
    lines = ["| critic | real | generated | p | |", "|---|---|---|---|---|"]
    for one in found.judged:
        p = f"{one.difference.p_value:.4f}"
        lines.append(
            f"| {one.panel.name} | {_shown(one.real)} | {_shown(one.generated)} | {p} | {one.verdict(found.level)} |"
        )
    return "\n".join([*lines, "", *(f"- {note}" for note in notes(found))]).rstrip() + "\n"


def _shown(one: Estimate) -> str:
    left = f", {one.excluded} left out" if one.excluded else ""
    return f"{short(one.value)} {f'[{short(one.low)}, {short(one.high)}]' if one.units > 1 else '(one text)'}{left}"


def notes(found: Criticism) -> list[str]:
    """What a reader must know beside the numbers."""
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
        told.append(
            f"{len(found.judged)} tests: corrected for their number (Bonferroni), p below {found.level:.4f} is a difference"
        )
    for one in found.judged:
        if one.panel.needs and one.real.excluded + one.generated.excluded:
            told.append(f"{one.panel.name}: left out are texts without {one.panel.needs}")
        if any(one.unknown):
            told.append(
                f"{one.panel.name}: not scored are {one.panel.unknown}: {one.unknown[0]} real, {one.unknown[1]} generated"
            )
    lengths = [median(len(sentences(d.text)) for d in side.documents) for side in (found.real, found.generated)]
    if max(lengths) >= LONGER * min(lengths):
        told += [
            f"{one.panel.name}: follows a text's length (rank correlation {one.length_correlation:.2f} with the number of "
            f"sentences), and the sides' medians are {lengths[0]:g} and {lengths[1]:g}: compare texts of one length"
            for one in found.judged
            if abs(one.length_correlation) >= WITH_LENGTH
        ]
    told += [f"left out: {name}: {why}" for name, why in found.left_out]
    for side, texts in (("real", found.real), ("generated", found.generated)):
        told += [f"set aside ({side}) {place}: {why}" for place, why in texts.set_aside[:20]]
        if len(texts.set_aside) > 20:
            told.append(f"set aside ({side}): {len(texts.set_aside) - 20} more")
    return told


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
            piece = f'<mark id="p{a}" style="border-color: {COLOURS[over[0][0] % len(COLOURS)]}" title="{told}">{piece}</mark>'
        pieces.append(piece)
    worst = "".join(_item(one, number, document, text) for number, one in enumerate(judged))
    body = f"<h1>{html.escape(document.id)}</h1><ul>{worst}</ul><p>{''.join(pieces)}</p>"
    return _html(document.id, body)


def _item(one: Judged, number: int, document: Document, text: str) -> str:
    places = [(start, end) for start, end, n, _ in marks(document, [one]) if n == 0]
    links = (f'<a href="#p{a}">“{html.escape(shortened(text[a:b], 90))}”</a>' for a, b in places)
    quoted = "; ".join(links) or "no part stands out"
    if one.panel.places is None:
        quoted = f"{html.escape(one.panel.critic.parts)} are not places in the text"
    colour = COLOURS[number % len(COLOURS)]
    return f'<li><b style="color: {colour}">{html.escape(one.panel.name)}</b>: {quoted}</li>'


def index(found: Criticism, links: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f"<tr><td><b>{html.escape(one.panel.name)}</b><br>{html.escape(one.panel.question)}</td><td>{_shown(one.real)}</td>"
        f"<td>{_shown(one.generated)}</td><td>{one.difference.p_value:.4f}</td><td>{html.escape(one.verdict(found.level))}</td></tr>"
        for one in found.judged
    )
    head = "<tr><th>critic</th><th>real</th><th>generated</th><th>p</th><th></th></tr>"
    told = "".join(f"<li>{html.escape(note)}</li>" for note in notes(found))
    pages = "".join(
        f'<li><a href="{html.escape(name, quote=True)}">{html.escape(title)}</a></li>' for name, title in links
    )
    figure = '<img src="results.png" alt="critics" width="650">' if found.judged else ""
    body = f"<h1>Generated against real texts</h1><table>{head}{rows}</table>{figure}<ul>{told}</ul><h2>Texts</h2><ul>{pages}</ul>"
    return _html("longform criticize", body)


def _html(title: str, body: str) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}"><title>{html.escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{body}</body></html>\n'
