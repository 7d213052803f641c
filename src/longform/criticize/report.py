"""What ``criticize`` shows of one system.

The table, a page per text with its worst parts marked, and the folder of a report, written whole or
not at all. Text is only ever text. A report never replaces files that are not a report's own.
"""

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
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
from longform.critics.catalogue import CATALOGUE
from longform.datasets.own_texts import Texts, shortened
from longform.documents import Document, section_starts
from longform.errors import BadInput, counted
from longform.files.artefacts import atomic_write, read_json, write_json
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from longform.tables import TEXT_COLOURS, save_drawing, short, write_rows
from longform.text.languages import looks_english
from longform.text.sentences import sentences

FEW = 20  # ours: texts a side below which the report warns that intervals are rough
SIGNIFICANT = 0.05
ENGLISH = 0.9  # ours: share of a side's texts in English from which nothing is said of its language
# What a critic's direction means, in a report's words.
BETTER = {
    "higher": "higher is better",
    "lower": "lower is better",
    "reference_matched": "nearer to real text is better",
}
_DRAW = re.compile(r"(?P<prompt>.+)/[0-9]+")
LISTED = 20  # ours: records set aside that a report lists of each side
_STYLE = (
    "\nbody { max-width: 46em; margin: 2em auto; padding: 0 1em; "
    "font: 17px/1.7 Georgia, serif; color: #222; }\n"
    "p { white-space: pre-wrap; } h2 { font-size: 1.05em; } "
    "li, td, th, .note { font: 14px/1.5 sans-serif; }\n"
    "mark { background: none; border-bottom: 3px solid; } table { border-collapse: collapse; }\n"
    "td, th { padding: .2em .8em; text-align: left; border-bottom: 1px solid #ddd; } "
    "b { font-weight: 600; } a { color: inherit; }\n"
    "img { max-width: 100%; min-width: 540px; } "  # a narrow screen moves along it
    "@media (max-width: 30em) { td, th { padding: .2em; font-size: 12px; } }\n"
)
_HOW_MARKED = (
    '<p class="note">Underlined are the places that each critic finds worst, three at most, in its '
    'colour; point at one for its score. <a href="../index.html">All texts</a></p>'
)

# Document id -> (value, character span) of its worst places, worst first.
Blame = dict[str, list[tuple[float, tuple[int, int]]]]


@dataclass(frozen=True)
class CriticResult:
    """One critic's scores of both sides, and its test between them.

    Attributes:
        panel: the critic.
        real: its score of the real texts, over the halves that it was not fitted to.
        generated: its score of the generated texts.
        difference: generated minus real, with the p-value of a permutation test.
        blame: the worst places of generated texts.
        unknown: numbers of parts of real and generated texts that are not scored, where the panel
            says what these are.
        p_values: one for each halving of the real texts; ``difference`` has them combined.
        cut: numbers of real and generated texts that were cut to equal lengths.
        words: median words of real and generated texts as they were compared.
    """

    panel: Panel
    real: Estimate
    generated: Estimate
    difference: Comparison
    blame: Blame
    unknown: tuple[int, int]
    p_values: tuple[float, ...]
    cut: tuple[int, int]
    words: tuple[float, float]

    def verdict(self, level: float = SIGNIFICANT) -> str:
        """What the test shows, in words.

        Args:
            level: significance level, corrected for the number of tests.
        """
        if not math.isfinite(self.difference.difference):
            return "not decided: a score is not finite"
        if self.difference.p_value >= SIGNIFICANT:
            return "no difference found"
        side = "higher than real text" if self.difference.difference > 0 else "lower than real text"
        return side if self.difference.p_value < level else f"{side}, were this the only test"


def fewest_if_more(panel: Panel, num_real: int) -> int:
    """How many real texts a critic needs by the catalogue, where fewer teach it; else 0.

    Args:
        panel: the critic.
        num_real: all real texts, half of which teach.
    """
    for entry in CATALOGUE.values():
        if entry.class_name == type(panel.critic).__name__ and num_real // 2 < entry.fewest_real:
            return entry.fewest_real
    return 0


def row_name(panel: Panel, num_real: int) -> str:
    """A critic's name in its row of scores, with a warning where too few real texts teach it."""
    return f"{panel.name} (too few real texts)" if fewest_if_more(panel, num_real) else panel.name


def few_real_lines(critics: Iterable[Panel], num_real: int) -> list[str]:
    """A note for each critic that :func:`row_name` warns of."""
    lines = []
    for panel in critics:
        fewest = fewest_if_more(panel, num_real)
        if fewest:
            taught = counted(num_real // 2, "real text teaches", "real texts teach")
            lines.append(f"{panel.name}: {taught} it, and it needs {fewest}: its row says little")
    return lines


def _shown(result: CriticResult, level: float, num_real: int) -> list[str]:
    """Cells of a critic's row: name, scores of both sides, p-value, verdict at ``level``."""
    sides = []
    for side in (result.real, result.generated):
        left_out = f", {side.excluded} left out" if side.excluded else ""
        interval = f"[{short(side.low)}, {short(side.high)}]" if side.units > 1 else "(one text)"
        sides.append(f"{short(side.value)} {interval}{left_out}")
    p_value = f"{result.difference.p_value:.4f}"
    name = row_name(result.panel, num_real)
    return [name, *sides, p_value, result.verdict(level)]


def notes(criticism: "Criticism") -> list[str]:
    """The notes below the table, a line each."""
    lines = []
    if not criticism.results:
        lines.append(
            "no critic could judge these texts: nothing is said of a difference; why stands below"
        )
    # 1. The texts.
    lines += _sides(criticism)
    lines += _lengths(criticism)
    lines += _copies(criticism)
    lines += _languages(criticism)
    # 2. The critics.
    if len(criticism.results) > 1:
        lines.append(
            f"{len(criticism.results)} tests: corrected for their number (Bonferroni), "
            f"p below {criticism.level:.4f} is a difference"
        )
    lines += _directions(criticism.results)
    for result in criticism.results:
        lines += _exclusions(result)
    # 3. What is not judged.
    lines += reason_lines("failed", criticism.failed)
    lines += reason_lines("left out", criticism.left_out)
    lines += set_aside_lines("real", criticism.real)
    lines += set_aside_lines("generated", criticism.generated)
    return lines


def _directions(results: Sequence[CriticResult]) -> list[str]:
    """Which scores are better, in one line for each direction."""
    lines = []
    for better, meaning in BETTER.items():
        names = []
        for result in results:
            if result.panel.critic.better == better:
                names.append(result.panel.name)
        if names:
            lines.append(f"{meaning}: {', '.join(names)}")
    return lines


def _exclusions(result: CriticResult) -> list[str]:
    """Notes on the texts and parts that a critic did not score."""
    panel = result.panel
    lines = []
    if panel.needs and result.real.excluded + result.generated.excluded:
        lines.append(f"{panel.name}: left out are texts without {panel.needs}")
    if any(result.unknown):
        real, generated = result.unknown
        lines.append(
            f"{panel.name}: not scored are {panel.unknown}: {real} real, {generated} generated"
        )
    return lines


def reason_lines(outcome: str, reasons: Iterable[tuple[str, str]]) -> list[str]:
    """A note for each critic that has no result.

    Args:
        outcome: "failed" or "left out".
        reasons: (critic, reason) pairs.
    """
    lines = []
    for name, reason in reasons:
        lines.append(f"{outcome}: {name}: {reason}")
    return lines


def set_aside_lines(side: str, texts: Texts) -> list[str]:
    """Notes on the first ``LISTED`` records of a side that hold no text, and on how many follow."""
    lines = []
    for where, reason in texts.set_aside[:LISTED]:
        lines.append(f"set aside ({side}) {where}: {reason}")
    if len(texts.set_aside) > LISTED:
        lines.append(f"set aside ({side}): {len(texts.set_aside) - LISTED} more")
    return lines


def _sides(criticism: "Criticism") -> list[str]:
    """Notes on the numbers of texts, on what is estimated how, and on the halvings."""
    # 1. Texts.
    num_real = len(criticism.real.documents)
    num_generated = len(criticism.generated.documents)
    lines = [
        f"{num_real} real and {counted(num_generated, 'generated text')}; a critic that learns is "
        "taught by half of the real ones and compares the others; intervals are 95 % bootstraps "
        "over texts, p-values permutation tests"
    ]
    # 2. Halvings of the real texts by the critics that learn.
    halvings: list[int] = []
    once: list[str] = []  # names of critics whose real texts are halved once
    for result in criticism.results:
        if result.panel.learns != "nothing":
            halvings.append(len(result.p_values))
            if len(result.p_values) == 1:
                once.append(result.panel.name)
    if halvings:
        exceptions = ""
        if once:
            names = ", ".join(once)
            exceptions = f" ({names}: one halving, its share of the chance is not in the interval)"
        lines.append(
            f"the real texts are halved at random {counted(max(halvings), 'time')}{exceptions}: "
            "intervals hold all halvings, p is the middle p-value times the number of halvings "
            "over its rank (Rüschendorf 1982)"
        )
    # 3. What so few texts can show.
    if min(num_real // 2, num_generated) < FEW:
        lines.append(
            f"fewer than {FEW} texts on a side (half of the real ones teach): "
            "intervals are rough, and small differences cannot be seen"
        )
    critics = [result.panel for result in criticism.results]
    return lines + few_real_lines(critics, num_real)


def _lengths(criticism: "Criticism") -> list[str]:
    """Notes on the median lengths of both sides, and on what was cut to equal lengths."""
    # 1. As the texts came.
    lengths = []  # (sentences, words) of each side
    for side in (criticism.real, criticism.generated):
        num_words = median(len(document.text.split()) for document in side.documents)
        num_sentences = median(len(sentences(document.text)) for document in side.documents)
        lengths.append((num_sentences, num_words))
    (real_sentences, real_words), (generated_sentences, generated_words) = lengths
    lines = [
        f"median length: real {counted(real_sentences, 'sentence', form='g')} "
        f"({counted(real_words, 'word', form='g')}), "
        f"generated {generated_sentences:g} ({generated_words:g})"
    ]
    # 2. As they are compared, a line for each measure of length.
    for measure in MEASURES:
        results = [result for result in criticism.results if result.panel.measure == measure]
        if not results or not any(results[0].cut):
            continue
        names = ", ".join(result.panel.name for result in results)
        # All critics of a measure see the same texts.
        num_real, num_generated = results[0].cut
        real_words, generated_words = results[0].words
        lines.append(
            f"compared at equal numbers of {measure} ({names}): each text is cut to the length of "
            f"the text of its rank on the other side, {num_real} real and "
            f"{counted(num_generated, 'generated text')} to medians of {real_words:g} and "
            f"{counted(generated_words, 'word', form='g')}"
        )
    return lines


def _copies(criticism: "Criticism") -> list[str]:
    """Notes on near copies across the sides, and within each of them."""
    real, generated, across = criticism.copies
    lines = []
    if across:
        near_copies = counted(
            across,
            "generated text is a near copy of a real one",
            "generated texts are near copies of real ones",
        )
        lines.append(
            f"{near_copies}, {criticism.shared} word for word: no critic that learnt from a text "
            "judges its copies (one of several real texts, where none of them taught), and "
            "the test exchanges a copy with its original alone"
        )
    for side, copies in (("real", real), ("generated", generated)):
        if copies:
            near_copies = counted(
                copies,
                f"{side} text is a near copy of another {side} one",
                f"{side} texts are near copies of other {side} ones",
            )
            lines.append(f"{near_copies}: copies count as one text in scores, intervals and tests")
    return lines + draws_lines("generated", criticism.generated)


def draws_lines(side: str, texts: Texts) -> list[str]:
    """A warning where several texts of a side continue one prompt, as ``longform generate`` writes.

    Their ids are the prompt's with a stroke and the number of the draw: ``a/1``, ``a/2``.

    Args:
        side: its name as the warning shows it.
        texts: the side's texts.
    """
    num_draws: Counter[str] = Counter()
    for document in texts.documents:
        draw = _DRAW.fullmatch(document.id)
        if draw:
            num_draws[draw["prompt"]] += 1
    # Ids that all begin alike, or of which no two do, number texts and not draws.
    if len(num_draws) < 2 or max(num_draws.values()) < 2:
        return []
    return [
        f"{num_draws.total()} {side} texts are draws of {len(num_draws)} prompts by their ids "
        f"({next(iter(num_draws))}/1): draws of one prompt are no independent texts, so intervals "
        "are too narrow and p-values too small; compare one draw a prompt (--repeats 1)"
    ]


def _languages(criticism: "Criticism") -> list[str]:
    """Warnings where a side is not in English, for which the rules of the critics are made."""
    lines = []
    shares = criticism.english
    for side, share in zip(("real", "generated"), shares, strict=True):
        if share < ENGLISH:
            lines.append(
                f"{1 - share:.0%} of the {side} texts do not look like English: rules for "
                "sentences, nouns and persons are for English, and numbers on these texts mean "
                "little"
            )
    if max(shares) >= ENGLISH and min(shares) < 1 - ENGLISH:
        lines.append(
            "the sides are in different languages: differences between them say nothing of how "
            "texts hang together"
        )
    return lines


Mark = tuple[int, int, int, str]  # start, end, number of the critic, note


def marks(document: Document, results: Sequence[CriticResult]) -> list[Mark]:
    """The places of a generated text that each critic scores worst, critic by critic.

    A place that begins or ends within a word is widened to all of it.
    """
    text_marks: list[Mark] = []
    for number, result in enumerate(results):
        for value, span in result.blame.get(f"generated/{document.id}", []):
            start, end = _whole_words(document.text, *span)
            text_marks.append((start, end, number, f"{result.panel.name}: {short(value)}"))
    return text_marks


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen (start, end) to the beginning of its first word and the end of its last one."""
    while 0 < start < end and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while start < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


def page(document: Document, results: Sequence[CriticResult]) -> str:
    """The HTML page of a text: a list of each critic's worst places, then the text with marks."""
    text_marks = marks(document, results)
    critics = []
    for number, result in enumerate(results):
        quoted = _quoted(document.text, text_marks, number)
        if result.panel.spans is None:
            quoted = f"{escape(result.panel.critic.parts)} are not places in the text"
        name = f'<b style="color: {_colour(number)}">{escape(result.panel.name)}</b>'
        critics.append(f"<li>{name}: {quoted}</li>")
    title = f"<h1>{escape(document.id)}</h1>{_HOW_MARKED}"
    marked = _marked_text(document, text_marks)
    return html_page(document.id, f"{title}<ul>{''.join(critics)}</ul><p>{marked}</p>")


def _quoted(text: str, text_marks: Sequence[Mark], critic: int) -> str:
    """HTML links to the places that the critic of this number marks, with their first words."""
    links = []
    for start, end, number, _ in text_marks:
        if number == critic:
            quote = escape(shortened(text[start:end], 90))
            links.append(f'<a href="#p{start}">“{quote}”</a>')
    return "; ".join(links) or "no part stands out"


def _marked_text(document: Document, text_marks: Sequence[Mark]) -> str:
    """The text as HTML, sections under their titles, marked places underlined by critic."""
    text = document.text
    # 1. Cut where a titled section begins, and where a mark begins or ends.
    titles: dict[int, str] = {}
    for start, section in zip(section_starts(document), document.sections, strict=True):
        if section.title:
            titles[start] = section.title
    cuts = {0, len(text), *titles}
    for start, end, _, _ in text_marks:
        cuts |= {start, end}
    # 2. Each piece between two cuts names all marks that cover it, in the colour of the first.
    pieces = []
    for start, end in pairwise(sorted(cuts)):
        if start in titles:
            pieces.append(f"</p><h2>{escape(titles[start])}</h2><p>")
        covering = [mark for mark in text_marks if mark[0] <= start and end <= mark[1]]
        piece = escape(text[start:end])
        if covering:
            colour = _colour(covering[0][2])
            note = escape("; ".join(mark[3] for mark in covering))
            attributes = f'id="p{start}" style="border-color: {colour}" title="{note}"'
            piece = f"<mark {attributes}>{piece}</mark>"
        pieces.append(piece)
    return "".join(pieces)


def _colour(number: int) -> str:
    """The colour of a critic or a system by its number."""
    return TEXT_COLOURS[number % len(TEXT_COLOURS)]


def index(criticism: "Criticism", links: Sequence[tuple[str, str]]) -> str:
    """The first page of a report: table, figure, notes and links.

    Args:
        criticism: what came out.
        links: (file, title) of each generated text's page.
    """
    # 1. A row for each critic.
    rows = ["<tr><th>critic</th><th>real</th><th>generated</th><th>p</th><th></th></tr>"]
    num_real = len(criticism.real.documents)
    for result in criticism.results:
        name, *numbers = map(escape, _shown(result, criticism.level, num_real))
        question = escape(result.panel.question)
        cells = "</td><td>".join([f"<b>{name}</b><br>{question}", *numbers])
        rows.append(f"<tr><td>{cells}</td></tr>")
    for name, _ in criticism.failed:
        cells = "</td><td>".join([f"<b>{escape(name)}</b>", "", "", "", "failed, see below"])
        rows.append(f"<tr><td>{cells}</td></tr>")
    # 2. All in one page; on a narrow screen a table moves in a box of its own.
    table = f'<div style="overflow-x: auto"><table>{"".join(rows)}</table></div>'
    figure = html_figure("critics") if criticism.results else ""
    page_items = []
    for file, title in links:
        page_items.append(f'<li><a href="{escape(file)}">{escape(title)}</a></li>')
    body = (
        f"<h1>Generated against real texts</h1>{table}{figure}"
        f"{html_list(notes(criticism))}<h2>Texts</h2><ul>{''.join(page_items)}</ul>"
    )
    return html_page("longform criticize", body)


def html_figure(alternative: str) -> str:
    """The report's figure, in a box of its own on a narrow screen, where its letters stay legible.

    ``alternative`` says what it shows, as HTML.
    """
    image = f'<img src="results.png" alt="{alternative}" width="650">'
    return f'<div style="overflow-x: auto">{image}</div>'


def html_list(lines: Iterable[str]) -> str:
    """Lines of plain text as a list."""
    items = [f"<li>{escape(line)}</li>" for line in lines]
    return f"<ul>{''.join(items)}</ul>"


def html_page(title: str, body: str) -> str:
    """A page that loads nothing from elsewhere; ``body`` is HTML."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


TICKS = 7  # ours: at most, of the scale of a figure
RECORD = "results.json"
SO_FAR = "results.jsonl"  # each critic's result, written as it is done
MAKER = "longform criticize"
RESULT_COLUMNS = (
    *("critic", "side", "value", "low", "high", "units", "excluded"),
    *("p", "p_corrected", "signature"),
)


def check(folder: Path, inputs: Sequence[Any] = ()) -> None:
    """Check that a report can be written, before any work.

    Args:
        folder: of the report.
        inputs: where texts are read from; those that are folders may not hold the report.

    Raises:
        BadInput: the folder holds files that no report wrote, lies in an input, or cannot be
            written.
    """
    try:
        _check_place(folder, folder.resolve(), inputs)
    except OSError as error:
        raise BadInput(
            f"--out {folder}: no folder can be written there ({error.strerror}); name another"
        ) from error


def _check_place(folder: Path, target: Path, inputs: Sequence[Any]) -> None:
    """As :func:`check`; ``target`` is the absolute path. Raises OSError: nothing can be written."""
    # 1. It lies in no input, and holds nothing but a report.
    for texts in inputs:
        if isinstance(texts, Path) and texts.is_dir() and target.is_relative_to(texts.resolve()):
            raise BadInput(
                f"--out {folder}: lies in {texts}, whose texts are read; name a folder outside"
            )
    base = next(parent for parent in (target, *target.parents) if parent.exists())
    if not base.is_dir():
        raise BadInput(f"--out {folder}: {base} is a file; name a folder")
    if base == target and (foreign := _foreign(target)):
        raise BadInput(
            f"--out {folder}: holds {foreign!r}, which no report wrote; "
            "name a new or an empty folder"
        )
    # 2. A report is written beside its place, then moved there.
    beside = target.parent if target.parent.is_dir() else base
    trials = [beside / f".{target.name}.attempt"]
    if base == target:
        trials.append(target / ".attempt")
    for trial in trials:
        trial.mkdir(exist_ok=True)
        trial.rmdir()


def _foreign(folder: Path) -> str:
    """Name of the first file in a folder that no report wrote; empty if there is none.

    Without a report's record only the top level is listed, since the folder may be large.
    """
    try:
        record = read_json(folder / RECORD)
    except (BadInput, OSError):
        record = None
    files_of_report: set[str] = set()
    if isinstance(record, dict) and record.get("made_by") == MAKER:
        files_of_report.update(map(str, record.get("files", [])))
    present = files_of(folder) if files_of_report else {path.name for path in folder.iterdir()}
    if _is_results_so_far(folder / SO_FAR):
        files_of_report.add(SO_FAR)
    return min(present - files_of_report, default="")


def _is_results_so_far(path: Path) -> bool:
    """Whether each line of a file is a result that ``criticize`` wrote while it ran."""
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return False
    for record in records:
        if not isinstance(record, dict) or record.get("made_by") != MAKER:
            return False
    return bool(records)


def files_of(folder: Path) -> set[str]:
    """Paths of all files below a folder; a link is one, whatever it leads to."""
    files = set()
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_dir():
            files.add(path.relative_to(folder).as_posix())
    return files


def _draw(criticism: "Criticism", canvas: Any) -> None:
    """Draw the figure: generated minus real, in half widths of real text's interval.

    One critic a line.
    """
    axes = canvas.subplots()
    # 1. An interval with its middle for each critic, the first at the top.
    names = []
    for row, result in enumerate(reversed(criticism.results)):
        names.append(result.panel.name)
        generated = result.generated
        middle, low, high = (
            (value - result.real.value) / _half_width(result)
            for value in (generated.value, generated.low, generated.high)
        )
        p_value = result.difference.p_value
        colour = "black" if p_value < SIGNIFICANT else "0.6"
        face = "black" if p_value < criticism.level else "white"
        axes.plot([low, high], [row, row], color=colour, linewidth=1.5)
        axes.plot([middle], [row], "o", color=colour, markerfacecolor=face)
    # 2. The band of real text, and what the marks mean.
    beside_band(axes, names)
    canvas.supxlabel(
        "generated minus real, in half widths of the real texts' 95 % interval (grey band;\n"
        "of the generated texts' where real ones do not vary)\n"
        f"filled: p < {criticism.level:.2g} (corrected); black: p < 0.05 alone; "
        "grey: no difference"
    )


def beside_band(axes: Any, names: Sequence[str]) -> None:
    """Draw real text's band from -1 to 1, name a row for each critic, and set the scale.

    The scale is linear in the band and logarithmic beyond, with so few ticks that their labels have
    room.
    """
    from matplotlib.ticker import SymmetricalLogLocator

    axes.axvspan(-1, 1, color="0.9", zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_xscale("symlog", linthresh=1.0)
    locator = SymmetricalLogLocator(base=10.0, linthresh=1.0)
    locator.set_params(numticks=TICKS)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter("{x:g}")


def _half_width(result: CriticResult) -> float:
    """Half the width of the real texts' interval, else of the generated texts', else 1."""
    return half_width(result.real.value, (result.real, result.generated))


def half_width(real: float, estimates: Iterable[Estimate]) -> float:
    """Half the width of the first interval that is no point; 1 where all are.

    Args:
        real: real text's score; a width of a billionth of it is rounding.
        estimates: their intervals are tried in order.
    """
    for estimate in estimates:
        half = (estimate.high - estimate.low) / 2
        if half > 1e-9 * abs(real):
            return half
    return 1.0


@dataclass(frozen=True)
class Criticism:
    """The comparison of generated with real texts by all critics, and its report.

    Attributes:
        results: of the critics that apply.
        left_out: (critic, reason) of those that do not.
        real, generated: the texts of both sides.
        failed: (critic, reason) of those that raised an error.
        copies: numbers of near copies among real texts, among generated texts, and of generated
            texts that are near copies of real ones.
    """

    results: tuple[CriticResult, ...]
    left_out: tuple[tuple[str, str], ...]
    real: Texts
    generated: Texts
    failed: tuple[tuple[str, str], ...] = ()
    copies: tuple[int, int, int] = (0, 0, 0)

    @property
    def level(self) -> float:
        """Significance level of one test: 0.05 over the number of tests (Bonferroni)."""
        return SIGNIFICANT / max(1, len(self.results))

    @cached_property
    def english(self) -> tuple[float, float]:
        """Shares of the real and of the generated texts that look like English."""
        shares = []
        for side in (self.real, self.generated):
            num_english = sum(looks_english(document.text) for document in side.documents)
            shares.append(num_english / len(side.documents))
        return shares[0], shares[1]

    @property
    def shared(self) -> int:
        """Number of generated texts that equal a real one word for word, whatever their blanks."""
        real = {tuple(document.text.split()) for document in self.real.documents}
        return sum(tuple(document.text.split()) in real for document in self.generated.documents)

    def table(self) -> str:
        """Markdown: a row for each critic, then notes.

        A row has the scores of real and generated texts with 95 % intervals, p-value and verdict.
        """
        lines = ["| critic | real | generated | p | |", "|---|---|---|---|---|"]
        for result in self.results:
            cells = _shown(result, self.level, len(self.real.documents))
            lines.append(f"| {' | '.join(cells)} |")
        for name, _ in self.failed:
            lines.append(f"| {name} | | | | failed, see below |")
        lines.append("")
        lines += [f"- {note}" for note in notes(self)]
        return "\n".join(lines).rstrip() + "\n"

    def save(self, folder: Path | str) -> Path:
        """Write the report; the folder is replaced as a whole when everything is written.

        It holds ``results`` as ``.md``, ``.csv``, ``.json`` and ``.png``, and a page per generated
        text.

        Returns:
            The path of ``index.html``.

        Raises:
            BadInput: as :func:`check`.
        """
        folder = Path(folder)
        check(folder)
        with atomic_write(folder.resolve()) as partial:
            (partial / "texts").mkdir(parents=True)
            if self.results:
                size = (6.5, 1.0 + 0.45 * len(self.results))  # inches
                save_drawing((lambda canvas: _draw(self, canvas), size), partial / "results")
                write_rows(partial / "results.csv", RESULT_COLUMNS, _result_rows(self))
            (partial / "results.md").write_text(self.table(), encoding="utf-8")
            keep_results_so_far(folder, partial)
            links = self._write_pages(partial)
            (partial / "index.html").write_text(index(self, links), encoding="utf-8")
            write_record(partial, self._record())
        return folder / "index.html"

    def _write_pages(self, folder: Path) -> list[tuple[str, str]]:
        """Write a page for each generated text; returns the (file, title) of each."""
        links = []
        for number, document in enumerate(self.generated.documents, 1):
            safe_name = re.sub(r"[^A-Za-z0-9._-]+", "-", document.id)[:60]
            file = f"texts/{number:04d}-{safe_name}.html"
            (folder / file).write_text(page(document, self.results), encoding="utf-8")
            links.append((file, document.id))
        return links

    def _record(self) -> dict[str, Any]:
        """The whole comparison as plain data for JSON."""
        critics = []
        for result in self.results:
            critics.append(
                {
                    "name": result.panel.name,
                    "question": result.panel.question,
                    "verdict": result.verdict(self.level),
                    "p_values": result.p_values,
                    "cut": result.cut,
                    "words": result.words,
                    "real": asdict(result.real),
                    "generated": asdict(result.generated),
                    "comparison": asdict(result.difference),
                }
            )
        return {
            "made_by": MAKER,
            "version": __version__,
            "critics": critics,
            "left_out": self.left_out,
            "failed": self.failed,
            "set_aside": {"real": self.real.set_aside, "generated": self.generated.set_aside},
        }


def _result_rows(criticism: Criticism) -> list[list[Any]]:
    """Two rows for each critic; corrected p-values are Bonferroni's."""
    rows = []
    for result in criticism.results:
        name = result.panel.name
        p_value = result.difference.p_value
        corrected = min(1.0, p_value * len(criticism.results))
        rows.append(result_row(name, "real", result.real))
        rows.append(result_row(name, "generated", result.generated, p_value, corrected))
    return rows


def result_row(
    critic: str,
    side: str,
    estimate: Estimate,
    p_value: float | None = None,
    corrected_p: float | None = None,
) -> list[Any]:
    """A side's score as ``RESULT_COLUMNS`` names its numbers.

    The p-values are those of its difference from real text, which itself has none.
    """
    numbers = [estimate.value, estimate.low, estimate.high, estimate.units, estimate.excluded]
    return [critic, side, *numbers, p_value, corrected_p, estimate.signature]


def keep_results_so_far(folder: Path, partial: Path) -> None:
    """Copy results that were saved while critics ran into the folder that replaces the report's."""
    if (folder / SO_FAR).is_file():
        shutil.copyfile(folder / SO_FAR, partial / SO_FAR)


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write a report's record with the names of all its files; call it when these are written."""
    files = sorted({*files_of(folder), RECORD})
    write_json(folder / RECORD, {**record, "files": files})
