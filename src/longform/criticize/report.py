"""What ``criticize`` shows: the table, a page per text with its worst parts marked, and the folder of a report, written whole or not at all.

Text is only ever text. A report never replaces files that are not a report's own.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from longform import __version__
from longform.core.artefacts import read_json, whole, write_json
from longform.core.critic import Comparison, Estimate
from longform.core.documents import BadInput, Document
from longform.core.text.sentences import sentences
from longform.criticize.panels import Panel, section_starts
from longform.criticize.texts import Texts, shortened
from longform.reporting.table import Cell, Figure, short

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
img { max-width: 100%; } @media (max-width: 30em) { td, th { padding: .2em; font-size: 12px; } }
"""


Blame = dict[str, list[tuple[float, tuple[int, int]]]]


@dataclass(frozen=True)
class Judged:
    """One critic's word on both sides."""

    panel: Panel
    real: Estimate  # of the held-out half of the real texts
    generated: Estimate
    difference: Comparison  # generated minus real, with the p-value of a permutation test
    blame: Blame  # document id -> (value, character span) of its worst places, worst first; generated texts only
    unknown: tuple[int, int]  # parts of real and generated texts that are not scored, if the panel says what they are
    length_correlation: float  # of a real text's score with its number of sentences, by rank; nan below ``FEW`` texts

    def verdict(self, level: float = SIGNIFICANT) -> str:
        """In words; ``level`` is what the p-value must stay below, corrected for the number of tests."""
        if not math.isfinite(self.difference.difference):
            return "not decided: a score is not finite"
        if self.difference.p_value >= SIGNIFICANT:
            return "no difference found"
        side = "higher than real text" if self.difference.difference > 0 else "lower than real text"
        return side if self.difference.p_value < level else f"{side}, were this the only test"


def _shown(one: Judged, level: float) -> list[str]:
    """Name, both numbers, p-value and verdict, in words."""
    sides = []
    for side in (one.real, one.generated):
        left = f", {side.excluded} left out" if side.excluded else ""
        interval = f"[{short(side.low)}, {short(side.high)}]" if side.units > 1 else "(one text)"
        sides.append(f"{short(side.value)} {interval}{left}")
    return [one.panel.name, *sides, f"{one.difference.p_value:.4f}", one.verdict(level)]


def notes(found: "Criticism") -> list[str]:
    """What a reader must know beside the numbers."""
    real, generated = len(found.real.documents), len(found.generated.documents)
    told = [
        f"{real // 2} real texts fit the critics, {real - real // 2} others are compared with those generated "
        f"({generated}); intervals are 95 % bootstraps over texts, p-values permutation tests"
    ]
    if min(real // 2, generated) < FEW:
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
            pieces.append(f"</p><h2>{escape(titles[a])}</h2><p>")
        over = [(number, note) for start, end, number, note in found if start <= a and b <= end]
        piece = escape(text[a:b])
        if over:
            told = escape("; ".join(note for _, note in over))
            piece = f'<mark id="p{a}" style="border-color: {COLOURS[over[0][0] % len(COLOURS)]}" title="{told}">{piece}</mark>'
        pieces.append(piece)
    worst = []
    for number, one in enumerate(judged):
        places = [(start, end) for start, end, n, _ in found if n == number]
        links = (f'<a href="#p{a}">“{escape(shortened(text[a:b], 90))}”</a>' for a, b in places)
        quoted = "; ".join(links) or "no part stands out"
        if one.panel.places is None:
            quoted = f"{escape(one.panel.critic.parts)} are not places in the text"
        colour = COLOURS[number % len(COLOURS)]
        worst.append(f'<li><b style="color: {colour}">{escape(one.panel.name)}</b>: {quoted}</li>')
    return _html(document.id, f"<h1>{escape(document.id)}</h1><ul>{''.join(worst)}</ul><p>{''.join(pieces)}</p>")


def index(found: "Criticism", links: Sequence[tuple[str, str]]) -> str:
    rows = ""
    for one in found.judged:
        name, *cells = map(escape, _shown(one, found.level))
        rows += f"<tr><td><b>{name}</b><br>{escape(one.panel.question)}</td><td>{'</td><td>'.join(cells)}</td></tr>"
    head = "<tr><th>critic</th><th>real</th><th>generated</th><th>p</th><th></th></tr>"
    told = "".join(f"<li>{escape(note)}</li>" for note in notes(found))
    pages = "".join(f'<li><a href="{escape(name)}">{escape(title)}</a></li>' for name, title in links)
    figure = '<img src="results.png" alt="critics" width="650">' if found.judged else ""
    body = f"<h1>Generated against real texts</h1><table>{head}{rows}</table>{figure}<ul>{told}</ul><h2>Texts</h2><ul>{pages}</ul>"
    return _html("longform criticize", body)


def _html(title: str, body: str) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{body}</body></html>\n'


RECORD = "results.json"
MAKER = "longform criticize"


def check(folder: Path, inputs: Sequence[Any] = ()) -> None:
    """Before any work. Raises BadInput: the folder holds files that no report wrote, lies in an input, or cannot be written."""
    try:
        place = folder.resolve()
        for given in inputs:
            if isinstance(given, Path) and given.is_dir() and place.is_relative_to(given.resolve()):
                raise BadInput(f"--out {folder}: lies in {given}, whose texts are read; name a folder outside")
        base = next(parent for parent in (place, *place.parents) if parent.exists())
        if not base.is_dir():
            raise BadInput(f"--out {folder}: {base} is a file; name a folder")
        if base == place and (foreign := _foreign(place)):
            raise BadInput(f"--out {folder}: holds {foreign!r}, which no report wrote; name a new or an empty folder")
        beside = place.parent if place.parent.is_dir() else base  # a report is written there, then moved to its place
        for trial in [beside / f".{place.name}.attempt", *([place / ".attempt"] if base == place else [])]:
            trial.mkdir(exist_ok=True)
            trial.rmdir()
    except OSError as error:
        raise BadInput(f"--out {folder}: no folder can be written there ({error.strerror}); name another") from error


def _foreign(folder: Path) -> str:
    """The first file that no report wrote, if there is one; a folder without a report's record may be a large one."""
    try:
        record = read_json(folder / RECORD)
    except (BadInput, OSError):
        record = None
    made = isinstance(record, dict) and record.get("made_by") == MAKER
    own = set(map(str, record.get("files", []))) if made else set()
    there = _files(folder) if own else {path.name for path in folder.iterdir()}
    return min(there - own, default="")


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def _draw(found: "Criticism", canvas: Any) -> None:
    """Generated minus real in units of the real interval's half width, one critic a line."""
    axes = canvas.subplots()
    for row, one in enumerate(reversed(found.judged)):
        half, made = _half(one), one.generated
        at, low, high = ((v - one.real.value) / half for v in (made.value, made.low, made.high))
        alone, sure = one.difference.p_value < SIGNIFICANT, one.difference.p_value < found.level
        axes.plot([low, high], [row, row], color="black" if alone else "0.6", linewidth=1.5)
        axes.plot([at], [row], "o", color="black" if alone else "0.6", markerfacecolor="black" if sure else "white")
    axes.axvspan(-1, 1, color="0.9", zorder=0)
    axes.set_yticks(range(len(found.judged)), [one.panel.name for one in reversed(found.judged)])
    axes.set_xlabel(
        "generated minus real, in half widths of the real texts' 95 % interval (grey band;\nof the generated texts' where real ones do not vary)"
        f"\nfilled: p < {found.level:.2g} (corrected); black: p < 0.05 alone; grey: no difference"
    )
    axes.set_xscale("symlog", linthresh=1.0)
    axes.xaxis.set_major_formatter("{x:g}")


def _half(one: Judged) -> float:
    """Half the width of the real texts' interval; of the generated texts' where real texts do not differ; or one."""
    widths = [(side.high - side.low) / 2 for side in (one.real, one.generated)]
    return next((width for width in widths if width > 1e-9 * abs(one.real.value)), 1.0)


@dataclass(frozen=True)
class Criticism:
    """What came out, and its report."""

    judged: tuple[Judged, ...]  # the critics that apply
    left_out: tuple[tuple[str, str], ...]  # (critic, why) of those that do not
    real: Texts
    generated: Texts

    @property
    def level(self) -> float:
        """What a p-value must stay below: 0.05 over the number of tests (Bonferroni)."""
        return SIGNIFICANT / max(1, len(self.judged))

    @property
    def shared(self) -> int:
        """Generated texts that stand among the real ones word for word."""
        known = {document.text for document in self.real.documents}
        return sum(document.text in known for document in self.generated.documents)

    def table(self) -> str:
        """Markdown: critic, real and generated with 95 % intervals, p-value, verdict; then what was left out and set aside."""
        lines = ["| critic | real | generated | p | |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(_shown(one, self.level))} |" for one in self.judged]
        return "\n".join([*lines, "", *(f"- {note}" for note in notes(self))]).rstrip() + "\n"

    def save(self, folder: Path | str) -> Path:
        """``results`` as ``.md``, ``.csv``, ``.json``, ``.pdf`` and ``.png``, and a page per generated text; returns that of ``index.html``.

        The folder is replaced as a whole when everything is written. Raises BadInput: as :func:`check`.
        """
        folder = Path(folder)
        check(folder)
        with whole(folder.resolve()) as partial:
            (partial / "texts").mkdir(parents=True)
            cells, critics = [], []
            for one in self.judged:
                name, p = one.panel.name, one.difference.p_value
                for side, e, p_value in (("real", one.real, None), ("generated", one.generated, p)):
                    numbers = (e.value, e.low, e.high, e.units, e.excluded, p_value)
                    cells.append(Cell(name, side, *numbers, signature=e.signature))
                critic = {"name": name, "question": one.panel.question, "verdict": one.verdict(self.level)}
                estimates: dict[str, Any] = {"real": one.real, "generated": one.generated, "comparison": one.difference}
                critics.append(critic | {what: asdict(made) for what, made in estimates.items()})
            if self.judged:
                size = (6.5, 1.0 + 0.45 * len(self.judged))
                Figure("", cells, lambda canvas: _draw(self, canvas), size).save(partial, "results")
            (partial / "results.md").write_text(self.table(), encoding="utf-8")
            links = []
            for number, document in enumerate(self.generated.documents, 1):
                name = f"texts/{number:04d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', document.id)[:60]}.html"
                (partial / name).write_text(page(document, self.judged), encoding="utf-8")
                links.append((name, document.id))
            (partial / "index.html").write_text(index(self, links), encoding="utf-8")
            record = {
                "made_by": MAKER,
                "version": __version__,
                "critics": critics,
                "left_out": self.left_out,
                "set_aside": {"real": self.real.set_aside, "generated": self.generated.set_aside},
                "files": sorted({*_files(partial), RECORD}),
            }
            write_json(partial / RECORD, record)
        return folder / "index.html"
