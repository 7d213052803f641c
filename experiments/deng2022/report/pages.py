"""Articles as pages: with inferred section titles (Figure 1, Table 13), with mentions by entity (Figures 5, 10 to 13), and with the sentences that the synthetic world could not have written."""

import html
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from experiments.deng2022.report.sections import generated_folder, texts_in
from longform.documents import SECTION_BREAK, Document
from longform.errors import BadInput
from longform.statistics.markov_chain import END, FAILURE_PROBABILITY
from longform.tables import Cell, Drawing, Files, Listing, Table
from longform.text.sentences import sentences
from longform_lab.reporting.estimates import folder_of, select
from longform_lab.reporting.pivot import SYSTEM, Given

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9", "#7A3E9D", "#B22222",
)  # after Okabe and Ito 2008  # fmt: skip
OTHERS = "#555555"  # entities beyond the number of colours
ADVANCE = 0.602  # width of a character of DejaVu Sans Mono in units of its size
LINE_CHARACTERS, LINES = 92, 40  # of an article's figure, in a fixed-width face
PER_ROW, SYMBOLS = 12, 36  # symbols in a row of Figure 5, and in all of it
TEXT_WIDTH = 105
EXCERPT = 240  # characters of a section in the Markdown form
_HEAD = Path(__file__).with_name("page.html").read_text(encoding="utf-8")


def section_page(
    name: str, caption: str, unit: str, sections: Sequence[tuple[str, str, float, str]]
) -> Files:
    """One article with inferred titles, improbable ones behind a cross: HTML, a CSV of the probabilities, Markdown with excerpts.

    ``sections``: the title, the text, the critic's probability of the title after the one before, and the title likeliest there.
    """
    body, rows, cells = "", [], []
    for place, (title, text, probability, likeliest) in enumerate(sections, 1):
        shown, expected = ("(end)" if one == END else one for one in (title, likeliest))
        bad = probability < FAILURE_PROBABILITY
        shown = f"✗ {shown}" if bad else shown
        chance = f"P = {probability:.3g}" + (
            "" if likeliest == title else f", likeliest {expected}"
        )
        head = f'{html.escape(shown)} <span class="chance">{html.escape(chance)}</span>'
        body += f"<h2{' class=bad' if bad else ''}>{head}</h2>\n<p>{html.escape(text)}</p>\n"
        words = " ".join(text.split())
        excerpt = words if len(words) <= EXCERPT else words[:EXCERPT].rsplit(" ", 1)[0] + " …"
        rows.append([shown, probability, expected, excerpt])
        signature = f"likeliest: {likeliest}"
        cells.append(
            Cell(f"{place} {title}", "P(title | title before)", probability, signature=signature)
        )
    page = _HEAD.format(title=html.escape(f"{caption}: {unit}")) + body + "</html>\n"
    told = f"{caption} ({unit}; titles as the classifier reads them, none is in the text)"
    listing = Listing(told, ["inferred title", "P", "likeliest", "text"], rows)
    return Files({f"{name}.html": page, f"{name}.md": listing.markdown()}, Table(told, cells))


@dataclass(frozen=True)
class Mark:
    """One symbol of a chain of mentions, as a record of the mention critic lists it: form and entity (``he:3``), or a sentence's stop.

    Its log probability is given the four symbols before it; where it is ``bad``, below the threshold, ``best`` is the likeliest
    successor met in training. A stop opens each sentence (section 5); its character offsets are equal.
    """

    start: int
    end: int
    symbol: str
    log_probability: float
    bad: bool
    best: str = ""
    best_log_probability: float | None = None


def split_symbol(symbol: str) -> tuple[str, str]:
    """``he:12`` is ``("he", "12")``, a stop is ``(".", "")``."""
    form, colon, entity = symbol.rpartition(":")
    return (form, entity) if colon and form and entity else (symbol, "")


def label(symbol: str) -> str:
    """A symbol as the paper prints it: ``[he]3``, ``[Male]3``, and the stop alone."""
    form, entity = split_symbol(symbol)
    if not entity:
        return symbol
    return f"[{form.title() if form.isupper() and len(form) > 1 else form}]{entity}"


def entity_colours(marks: Sequence[Mark]) -> dict[str, str]:
    """A colour for each mark's entity, the most mentioned first; entities beyond the palette share one, as do stops."""
    named = [split_symbol(mark.symbol)[1] for mark in marks]
    ranked = [entity for entity, _ in Counter(filter(None, named)).most_common()]
    return {"": OTHERS} | {
        entity: COLOURS[i] if i < len(COLOURS) else OTHERS for i, entity in enumerate(ranked)
    }


def mention_page(title: str, text: str, marks: Sequence[Mark]) -> str:
    """One page that needs nothing from outside: text with coloured mentions, bad symbols circled, and a table of them."""
    colours = entity_colours(marks)
    pieces, position = [], 0
    for mark in marks:
        if mark.start >= position:  # else it lies inside the mention before it
            pieces += [html.escape(text[position : mark.start]), _marked(text, mark, colours)]
            position = mark.end
    pieces.append(html.escape(text[position:]))
    rows = "".join(
        f"<tr><td>{html.escape(m.symbol)}<td>{m.log_probability:.2f}<td>{html.escape(m.best)}"
        f"<td>{'' if m.best_log_probability is None else f'{m.best_log_probability:.2f}'}\n"
        for m in marks
        if m.bad
    )
    head = "<table>\n<tr><th>symbol<th>log P<th>expected<th>log P\n"
    table = f"{head}{rows}</table>\n" if rows else "<p>No 5-gram below the threshold.</p>\n"
    return f"{_HEAD.format(title=html.escape(title))}<p>{''.join(pieces)}</p>\n{table}</html>\n"


def _marked(text: str, mark: Mark, colours: Mapping[str, str]) -> str:
    note, (form, entity) = "", split_symbol(mark.symbol)
    if mark.bad:
        expected = f"; expected {mark.best} at {mark.best_log_probability:.2f}" if mark.best else ""
        note = f' title="{html.escape(f"{mark.symbol}: log P = {mark.log_probability:.2f}{expected}")}"'
    if mark.symbol == ".":
        return f'<span class="stop"{note}>.</span>' if mark.bad else ""
    words = text[mark.start : mark.end]
    sub = f"<sub>{'' if form == words else html.escape(form[:1])}{html.escape(entity)}</sub>"
    inside = f'<mark style="color:{colours[entity]}">{html.escape(words)}{sub}</mark>'
    return f'<span class="bad"{note}>{inside}</span>' if mark.bad else inside


def drawn_article(title: str, text: str, marks: Sequence[Mark]) -> Drawing:
    """Lines of the text, mentions coloured, improbable symbols circled; a character is as wide as a unit of the grid, so circles fit."""
    lines = wrap(text, LINE_CHARACTERS)[:LINES]

    def draw(canvas: Any) -> None:
        from matplotlib.patches import FancyBboxPatch

        colours = entity_colours(marks)
        axes = _bare(canvas, (-1, LINE_CHARACTERS + 1), (len(lines) + 0.5, -1.5))
        size = 0.98 * 72 * canvas.get_figwidth() / (LINE_CHARACTERS + 2) / ADVANCE
        font = {"family": "DejaVu Sans Mono", "size": size}
        axes.text(0, -0.8, title, weight="bold", **font)
        for row, (start, end) in enumerate(lines):
            styles: list[str | None] = [None] * (end - start)
            for mark in (mark for mark in marks if start <= mark.start < end):
                at, length = mark.start - start, min(mark.end, end) - mark.start
                styles[at : at + length] = [colours[split_symbol(mark.symbol)[1]]] * length
                if mark.bad:
                    box = "round,pad=0.1,rounding_size=0.5"
                    corner, width = (at, row - 0.55), max(length, 0.5)
                    axes.add_patch(
                        FancyBboxPatch(corner, width, 0.8, boxstyle=box, fill=False, ec="#d00")
                    )
            for _, places in groupby(
                range(end - start), key=lambda at: (styles[at], text[start + at].isspace())
            ):
                held = list(places)  # a word: hinting makes longer stretches drift off the grid
                words, colour = text[start + held[0] : start + held[-1] + 1], styles[held[0]]
                style = {"color": colour or "#222222", "weight": "bold" if colour else "normal"}
                axes.text(held[0], row, words.replace("$", "\\$"), **style, **font)

    return draw, (LINE_CHARACTERS * 0.085, 0.5 + 0.24 * len(lines))


def _bare(canvas: Any, x: tuple[float, float], y: tuple[float, float]) -> Any:
    canvas.set_layout_engine("none")
    axes = canvas.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=x, ylim=y)
    axes.axis("off")
    return axes


def chain(text: str, marks: Sequence[Mark]) -> Drawing:
    """The text up to the last shown symbol, and below it the chain: each mention with its log probability (Figure 5)."""
    until = marks[SYMBOLS].start if len(marks) > SYMBOLS else len(text)
    lines = [text[a:b] for a, b in wrap(text[:until], TEXT_WIDTH)]
    rows = [marks[:SYMBOLS][i : i + PER_ROW] for i in range(0, min(len(marks), SYMBOLS), PER_ROW)]

    def draw(canvas: Any) -> None:
        axes = _bare(canvas, (-0.5, PER_ROW), (0.4 * len(lines) + 1.1 * len(rows) + 0.2, -0.5))
        for i, line in enumerate(lines):
            axes.text(-0.4, 0.4 * i, line.replace("$", r"\$"), size=8, family="DejaVu Sans Mono")
        colours = entity_colours(marks)
        for row, shown in enumerate(rows):
            height = 0.4 * len(lines) + 1.1 * row + 0.5
            for place, mark in enumerate(shown):
                colour = colours[split_symbol(mark.symbol)[1]]
                axes.text(
                    place,
                    height,
                    label(mark.symbol),
                    color=colour,
                    size=8,
                    ha="center",
                    weight="bold",
                )
                style = {"color": "#dd0000", "weight": "bold"} if mark.bad else {"color": "#666666"}
                axes.text(
                    place,
                    height + 0.45,
                    f"{mark.log_probability:.1f}",
                    size=7,
                    ha="center",
                    **style,
                )

    return draw, (9.0, 0.4 + 0.2 * len(lines) + 0.55 * len(rows))


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Half-open offsets of lines of at most ``width`` characters, broken at spaces and line breaks."""
    rows, start = [], 0
    while start < len(text):
        end = text.find("\n", start, start + width + 1)
        if end < 0:
            end = (
                len(text)
                if len(text) - start <= width
                else text.rfind(" ", start, start + width + 1)
            )
            end = end if end > start else start + width
        rows.append((start, end))
        start = end + 1 if end < len(text) and text[end] in " \n" else end
    return rows


SHARE = {"critic": "world_grammar", "metric": "derivable_share"}
COLUMNS = {"derivable sentences": SHARE, "followed words": {**SHARE, "metric": "followed_share"}}
LEGEND = (
    "The first articles of each set, none left out. **Bold** is a sentence that the synthetic world could not have written; the "
    "share of the others stands in [the table](generated_articles.md). Section titles are in *italics* where the text has them."
)


def _article(head: str, document: Document, refused: Collection[int]) -> str:
    """An article in Markdown: titles in italics, in bold the sentences that the grammar refuses, by their places."""
    spans = sentences(document.text)
    lines = [f"### {head}: {len(spans) - len(refused)} of {len(spans)} sentences derivable"]
    shown = [escaped(document.text[start:end]) for start, end in spans]
    shown = [f"**{text}**" if place in refused else text for place, text in enumerate(shown)]
    starts = [
        0,
        *accumulate(len(section.text) + len(SECTION_BREAK) for section in document.sections),
    ]
    for section, start, end in zip(document.sections, starts, starts[1:], strict=False):
        inside = [text for text, span in zip(shown, spans, strict=True) if start <= span[0] < end]
        lines += [f"*{escaped(section.title)}*"] if section.title else []
        lines += [" ".join(inside)] if inside else []
    return "\n\n".join(lines)


def escaped(text: str) -> str:
    """The text on one line, as Markdown shows it and not as Markdown reads it."""
    text = re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))
    return re.sub(r"^(\d+)?([-+.)])", r"\1\\\2", text)  # what opens a list


def generated_articles(
    given: Given, corpus: str, systems: Sequence[str], generated: int = 5, real: int = 2
) -> Files:
    """The share of derivable sentences of real text and of every system; the first articles of each model, beside real ones.

    Args:
        given: the records.
        corpus: whose articles are shown.
        systems: the models, a page each; the first one's is ``articles.md``.
        generated: how many articles with titles, and how many without, of the first seed.
        real: how many of the corpus's test split.

    Raises:
        BadInput: no record of a system or of real text, or texts that are not there or are not
            those that were scored.
    """
    notes = [
        "shares of sentences and of words, intervals over articles; real text has 1 because the world wrote it",
        "a word is followed if its sentence up to it begins some sentence of the world",
    ]
    caption = "Shares of sentences and of words that the synthetic world could have written, with 95 % intervals"
    table = Table(caption, given.pivot(COLUMNS), [*notes, *given.notes])
    pages: dict[str, str] = {}
    links = ""
    judged = select(given.results, {**SHARE, "corpus": corpus}).values("system")
    for system in [name for name in systems if name in judged] or systems:
        name = f"articles_{system}.md" if pages else "articles.md"
        whose = f", {given.label('system', system)}" if pages else ""
        pages[name] = _page_of_articles(given, corpus, system, generated, real)
        links += f"\n[The first articles in full{whose}]({name})\n"
    return Files(pages, table, links)


def _page_of_articles(given: Given, corpus: str, system: str, generated: int, real: int) -> str:
    """The first articles of a model with titles, without titles, and real ones, in Markdown."""
    shown: list[str] = []
    for titles, count in ((True, generated), (False, generated), (None, real)):
        writer = "data" if titles is None else system
        shown += _shown_articles(given, corpus, writer, titles, count)
    title = f"# {2 * generated} articles of {given.label('system', system)} beside {real} real ones"
    return "\n\n".join([title, LEGEND, *shown]) + "\n"


def _shown_articles(
    given: Given, corpus: str, system: str, titles: bool | None, count: int
) -> list[str]:
    """The first articles of a system, each with the sentences that the grammar refuses in bold."""
    # 1. The record of the first training.
    fields = {**SHARE, "corpus": corpus, "system": system, "titles": titles}
    found = select(given.results, fields)
    if not found:
        raise BadInput(
            f"no record has {fields}; run the stage that scores it, or change the exhibit's settings"
        )
    record = min(found, key=lambda record: -1 if record.seed is None else record.seed)
    # 2. Its texts, which must be those that were scored.
    if titles is None:
        folder = folder_of(given.data / "corpora", corpus) or given.data / "corpora" / corpus
    else:
        folder = generated_folder(given.data, record)
    documents = [d for d in texts_in(folder) if d.split in ("test", "generated")][:count]
    refused = record.details["refused"]
    if missing := [document.id for document in documents if document.id not in refused]:
        told = f"{missing[0]!r} is not among the scored texts {list(refused)}; score them, or show fewer"
        raise BadInput(f"{folder / 'documents.jsonl'}: {told}")
    # 3. In Markdown.
    seed = "" if record.seed is None else f", seed {record.seed}"
    name = given.labels(record, *SYSTEM) + seed
    return [
        _article(f"{name}, article {i}", document, refused[document.id])
        for i, document in enumerate(documents)
    ]
