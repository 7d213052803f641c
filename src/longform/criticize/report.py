"""What ``criticize`` shows: the table, a page per text with its worst parts marked, and the folder of a report, written whole or not at all.

Text is only ever text. A report never replaces files that are not a report's own.
"""

import json
import math
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from longform import __version__
from longform.criticize.lengths import MEASURES
from longform.criticize.panels import Panel
from longform.datasets.own_texts import Texts, shortened
from longform.documents import Document, section_starts
from longform.errors import BadInput
from longform.files.artefacts import atomic_write, read_json, write_json
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from longform.tables import Cell, Figure, short
from longform.text.languages import looks_english
from longform.text.sentences import sentences

COLOURS = (  # Okabe and Ito 2008, and four more
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9", "#7A3E9D", "#B22222", "#555555", "#1B5E20",
)  # fmt: skip
FEW = 20  # ours: texts a side below which the report warns that intervals are rough
SIGNIFICANT = 0.05
ENGLISH = 0.9  # ours: share of a side's texts in English from which nothing is said of its language
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
    unknown: tuple[
        int, int
    ]  # parts of real and generated texts that are not scored, if the panel says what they are
    p_values: tuple[
        float, ...
    ]  # of each halving of the real texts; ``difference`` has what they say together
    cut: tuple[int, int]  # real and generated texts that were cut to equal lengths
    words: tuple[float, float]  # their median words when they were compared

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
    nothing = (
        []
        if found.judged
        else [
            "no critic could judge these texts: nothing is said of a difference; why stands below"
        ]
    )
    told = [*nothing, *_sides(found), *_lengths(found), *_copies(found), *_languages(found)]
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
    told += [f"failed: {name}: {why}" for name, why in found.failed]
    told += [f"left out: {name}: {why}" for name, why in found.left_out]
    for side, texts in (("real", found.real), ("generated", found.generated)):
        told += [f"set aside ({side}) {place}: {why}" for place, why in texts.set_aside[:20]]
        if len(texts.set_aside) > 20:
            told.append(f"set aside ({side}): {len(texts.set_aside) - 20} more")
    return told


def _sides(found: "Criticism") -> list[str]:
    """How many texts there are, which of them teach the critics, and what the numbers are."""
    real, generated = len(found.real.documents), len(found.generated.documents)
    told = [
        f"{real} real and {generated} generated texts; a critic that learns is taught by half of the real ones and compares the "
        "others; intervals are 95 % bootstraps over texts, p-values permutation tests"
    ]
    halvings = sorted({len(one.p_values) for one in found.judged if one.panel.learns != "nothing"})
    if halvings:
        named = [
            one.panel.name
            for one in found.judged
            if one.panel.learns != "nothing" and len(one.p_values) == 1
        ]
        once = (
            f" ({', '.join(named)}: one halving, its share of the chance is not in the interval)"
            if named
            else ""
        )
        told.append(
            f"the real texts are halved at random {halvings[-1]} times{once}: intervals hold all halvings, p is the middle "
            "p-value times the number of halvings over its rank (Rüschendorf 1982)"
        )
    if min(real // 2, generated) < FEW:
        told.append(
            f"fewer than {FEW} texts on a side: intervals are rough, and small differences cannot be seen"
        )
    return told


def _lengths(found: "Criticism") -> list[str]:
    """Median lengths of both sides, and what was cut so that they could be compared."""
    medians = []
    for side in (found.real, found.generated):
        words = median(len(document.text.split()) for document in side.documents)
        medians.append(
            (median(len(sentences(document.text)) for document in side.documents), words)
        )
    told = [
        f"median length: real {medians[0][0]:g} sentences ({medians[0][1]:g} words), generated {medians[1][0]:g} "
        f"({medians[1][1]:g})"
    ]
    for measure in MEASURES:
        judged = [one for one in found.judged if one.panel.measure == measure]
        if judged and any(judged[0].cut):
            one = judged[0]
            told.append(
                f"compared at equal numbers of {measure} ({', '.join(each.panel.name for each in judged)}): each text is cut to "
                f"the length of the text of its rank on the other side, {one.cut[0]} real and {one.cut[1]} generated texts to "
                f"medians of {one.words[0]:g} and {one.words[1]:g} words"
            )
    return told


def _copies(found: "Criticism") -> list[str]:
    real, generated, across = found.copies
    told = []
    if across:
        told.append(
            f"{across} generated texts are near copies of real ones, {found.shared} word for word: no critic that learnt from a "
            "text judges its copies, and the test exchanges a copy with its original alone"
        )
    for side, copies in (("real", real), ("generated", generated)):
        if copies:
            told.append(
                f"{copies} {side} texts are near copies of other {side} ones: copies count as one text in scores, intervals and "
                "tests"
            )
    return told


def _languages(found: "Criticism") -> list[str]:
    """Which side is not in English, for which the rules for sentences, nouns and persons are made."""
    shares = found.english
    told = [
        f"{1 - share:.0%} of the {side} texts do not look like English: rules for sentences, nouns and persons are for English, "
        "and numbers on these texts mean little"
        for side, share in zip(("real", "generated"), shares, strict=True)
        if share < ENGLISH
    ]
    if max(shares) >= ENGLISH and min(shares) < 1 - ENGLISH:
        told.append(
            "the sides are in different languages: differences between them say nothing of how texts hang together"
        )
    return told


def marks(document: Document, judged: Sequence[Judged]) -> list[tuple[int, int, int, str]]:
    """(start, end, critic number, note) of the worst parts that are places in the text."""
    key, found = f"generated/{document.id}", []
    for number, one in enumerate(judged):
        found += [
            (*span, number, f"{one.panel.name}: {short(value)}")
            for value, span in one.blame.get(key, [])
        ]
    return found


def page(document: Document, judged: Sequence[Judged]) -> str:
    """One text with its worst parts marked, and what each critic says of it."""
    found, text = marks(document, judged), document.text
    titles = {
        s: one.title
        for s, one in zip(section_starts(document), document.sections, strict=True)
        if one.title
    }
    cuts = sorted(
        {0, len(text), *titles, *(edge for start, end, _, _ in found for edge in (start, end))}
    )
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
    return html_page(
        document.id,
        f"<h1>{escape(document.id)}</h1><ul>{''.join(worst)}</ul><p>{''.join(pieces)}</p>",
    )


def index(found: "Criticism", links: Sequence[tuple[str, str]]) -> str:
    rows = ""
    for one in found.judged:
        name, *cells = map(escape, _shown(one, found.level))
        rows += f"<tr><td><b>{name}</b><br>{escape(one.panel.question)}</td><td>{'</td><td>'.join(cells)}</td></tr>"
    for name, _ in found.failed:
        rows += f"<tr><td><b>{escape(name)}</b></td><td></td><td></td><td></td><td>failed, see below</td></tr>"
    head = "<tr><th>critic</th><th>real</th><th>generated</th><th>p</th><th></th></tr>"
    told = "".join(f"<li>{escape(note)}</li>" for note in notes(found))
    pages = "".join(
        f'<li><a href="{escape(name)}">{escape(title)}</a></li>' for name, title in links
    )
    figure = '<img src="results.png" alt="critics" width="650">' if found.judged else ""
    body = f"<h1>Generated against real texts</h1><table>{head}{rows}</table>{figure}<ul>{told}</ul><h2>Texts</h2><ul>{pages}</ul>"
    return html_page("longform criticize", body)


def html_page(title: str, body: str) -> str:
    """A page that loads nothing from elsewhere."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{body}</body></html>\n'


RECORD = "results.json"
SO_FAR = "results.jsonl"  # each critic's result, written as it is done
MAKER = "longform criticize"


def check(folder: Path, inputs: Sequence[Any] = ()) -> None:
    """Before any work. Raises BadInput: the folder holds files that no report wrote, lies in an input, or cannot be written."""
    try:
        place = folder.resolve()
        for given in inputs:
            if isinstance(given, Path) and given.is_dir() and place.is_relative_to(given.resolve()):
                raise BadInput(
                    f"--out {folder}: lies in {given}, whose texts are read; name a folder outside"
                )
        base = next(parent for parent in (place, *place.parents) if parent.exists())
        if not base.is_dir():
            raise BadInput(f"--out {folder}: {base} is a file; name a folder")
        if base == place and (foreign := _foreign(place)):
            raise BadInput(
                f"--out {folder}: holds {foreign!r}, which no report wrote; name a new or an empty folder"
            )
        beside = (
            place.parent if place.parent.is_dir() else base
        )  # a report is written there, then moved to its place
        for trial in [
            beside / f".{place.name}.attempt",
            *([place / ".attempt"] if base == place else []),
        ]:
            trial.mkdir(exist_ok=True)
            trial.rmdir()
    except OSError as error:
        raise BadInput(
            f"--out {folder}: no folder can be written there ({error.strerror}); name another"
        ) from error


def _foreign(folder: Path) -> str:
    """The first file that no report wrote, if there is one; a folder without a report's record may be a large one."""
    try:
        record = read_json(folder / RECORD)
    except (BadInput, OSError):
        record = None
    made = isinstance(record, dict) and record.get("made_by") == MAKER
    own = set(map(str, record.get("files", []))) if made else set()
    there = files_of(folder) if own else {path.name for path in folder.iterdir()}
    if _is_results_so_far(folder / SO_FAR):
        own.add(SO_FAR)
    return min(there - own, default="")


def _is_results_so_far(path: Path) -> bool:
    """Whether each line of a file is a result that ``criticize`` wrote while it ran."""
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return False
    return bool(records) and all(
        isinstance(one, dict) and one.get("made_by") == MAKER for one in records
    )


def files_of(folder: Path) -> set[str]:
    """Paths of all files below a folder."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }


def _draw(found: "Criticism", canvas: Any) -> None:
    """Generated minus real in units of the real interval's half width, one critic a line."""
    axes = canvas.subplots()
    for row, one in enumerate(reversed(found.judged)):
        half, made = _half(one), one.generated
        at, low, high = ((v - one.real.value) / half for v in (made.value, made.low, made.high))
        alone, sure = one.difference.p_value < SIGNIFICANT, one.difference.p_value < found.level
        axes.plot([low, high], [row, row], color="black" if alone else "0.6", linewidth=1.5)
        axes.plot(
            [at],
            [row],
            "o",
            color="black" if alone else "0.6",
            markerfacecolor="black" if sure else "white",
        )
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
    failed: tuple[tuple[str, str], ...] = ()  # (critic, why) of those that began and could not end
    copies: tuple[int, int, int] = (
        0,
        0,
        0,
    )  # near copies among real, among generated, generated of real texts

    @property
    def level(self) -> float:
        """What a p-value must stay below: 0.05 over the number of tests (Bonferroni)."""
        return SIGNIFICANT / max(1, len(self.judged))

    @cached_property
    def english(self) -> tuple[float, float]:
        """Shares of the real and of the generated texts that look like English."""
        shares = []
        for side in (self.real, self.generated):
            english = sum(looks_english(document.text) for document in side.documents)
            shares.append(english / len(side.documents))
        return shares[0], shares[1]

    @property
    def shared(self) -> int:
        """Generated texts that stand among the real ones word for word."""
        known = {document.text for document in self.real.documents}
        return sum(document.text in known for document in self.generated.documents)

    def table(self) -> str:
        """Markdown: critic, real and generated with 95 % intervals, p-value, verdict; then what was left out and set aside."""
        lines = ["| critic | real | generated | p | |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(_shown(one, self.level))} |" for one in self.judged]
        lines += [f"| {name} | | | | failed, see below |" for name, _ in self.failed]
        return "\n".join([*lines, "", *(f"- {note}" for note in notes(self))]).rstrip() + "\n"

    def save(self, folder: Path | str) -> Path:
        """``results`` as ``.md``, ``.csv``, ``.json`` and ``.png``, and a page per generated text; returns that of ``index.html``.

        The folder is replaced as a whole when everything is written. Raises BadInput: as :func:`check`.
        """
        folder = Path(folder)
        check(folder)
        with atomic_write(folder.resolve()) as partial:
            (partial / "texts").mkdir(parents=True)
            cells, critics = [], []
            for one in self.judged:
                name, p = one.panel.name, one.difference.p_value
                for side, e, p_value in (("real", one.real, None), ("generated", one.generated, p)):
                    numbers = (e.value, e.low, e.high, e.units, e.excluded, p_value)
                    cells.append(Cell(name, side, *numbers, signature=e.signature))
                verdict = one.verdict(self.level)
                critic: dict[str, Any] = {
                    "name": name,
                    "question": one.panel.question,
                    "verdict": verdict,
                }
                estimates: dict[str, Any] = {
                    "real": one.real,
                    "generated": one.generated,
                    "comparison": one.difference,
                }
                critic |= {"p_values": one.p_values, "cut": one.cut, "words": one.words}
                critics.append(critic | {what: asdict(made) for what, made in estimates.items()})
            if self.judged:
                size = (6.5, 1.0 + 0.45 * len(self.judged))
                Figure("", cells, lambda canvas: _draw(self, canvas), size).save(partial, "results")
            (partial / "results.md").write_text(self.table(), encoding="utf-8")
            if (folder / SO_FAR).is_file():
                shutil.copyfile(folder / SO_FAR, partial / SO_FAR)
            links = []
            for number, document in enumerate(self.generated.documents, 1):
                name = (
                    f"texts/{number:04d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', document.id)[:60]}.html"
                )
                (partial / name).write_text(page(document, self.judged), encoding="utf-8")
                links.append((name, document.id))
            (partial / "index.html").write_text(index(self, links), encoding="utf-8")
            record = {
                "made_by": MAKER,
                "version": __version__,
                "critics": critics,
                "left_out": self.left_out,
                "failed": self.failed,
                "set_aside": {"real": self.real.set_aside, "generated": self.generated.set_aside},
                "files": sorted({*files_of(partial), RECORD}),
            }
            write_json(partial / RECORD, record)
        return folder / "index.html"
