"""Articles as pages.

With inferred section titles (Figure 1, Table 13), with mentions by entity (Figures 5, 10 to 13),
and with the sentences that the synthetic world could not have written.
"""

import html
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from experiments.deng2022.report.sections import generated_folder, texts_in
from longform.documents import SECTION_BREAK, Document
from longform.errors import BadInput
from longform.statistics.markov_chain import END, FAILURE_PROBABILITY
from longform.tables import GREY, TEXT_COLOURS, Cell, Drawing, Files, Listing, Table
from longform.text.sentences import sentences
from longform_lab.reporting.estimates import folder_of, select
from longform_lab.reporting.pivot import SYSTEM, ReportInputs

ENTITY_COLOURS = (*TEXT_COLOURS[:7], TEXT_COLOURS[9])  # without red, the colour of the improbable
OTHERS = GREY  # entities beyond the number of colours
ADVANCE = 0.602  # width of a character of DejaVu Sans Mono in units of its size
LINE_CHARACTERS, LINES = 92, 40  # of an article's figure, in a fixed-width face
PER_ROW, SYMBOLS = 9, 36  # symbols in a row of Figure 5, and in all of it
TEXT_WIDTH = 105
EXCERPT = 240  # characters of a section in the Markdown form
_HEAD = Path(__file__).with_name("page.html").read_text(encoding="utf-8")


Section = tuple[str, str, float, str]


def section_page(name: str, caption: str, unit: str, sections: Sequence[Section]) -> Files:
    """The files of one article with its inferred titles, improbable ones marked by a cross.

    They are HTML, a CSV of the probabilities, and Markdown with excerpts.

    Args:
        name: of the files.
        caption: the page's heading.
        unit: the article.
        sections: the title, the text, the critic's probability of the title after the one before,
            and the title likeliest there.
    """
    # 1. Each section: in HTML, as a row of the listing, as a number.
    body, rows, cells = "", [], []
    for number, (title, text, probability, likeliest) in enumerate(sections, 1):
        is_bad = probability < FAILURE_PROBABILITY
        heading = f"✗ {_shown(title)}" if is_bad else _shown(title)
        chance = f"P = {probability:.3g}"
        if likeliest != title:
            chance += f", likeliest {_shown(likeliest)}"
        body += _section_html(heading, chance, text, is_bad)
        rows.append([heading, probability, _shown(likeliest), _excerpt(text)])
        signature = f"likeliest: {likeliest}"
        column = "P(title | title before)"
        cells.append(Cell(f"{number} {title}", column, probability, signature=signature))
    # 2. The files.
    page = _HEAD.format(title=html.escape(f"{caption}: {unit}")) + body + "</html>\n"
    heading = f"{caption} ({unit}; titles as the classifier reads them, none is in the text)"
    listing = Listing(heading, ["inferred title", "P", "likeliest", "text"], rows)
    texts = {f"{name}.html": page, f"{name}.md": listing.markdown()}
    return Files(texts, Table(heading, cells))


def _shown(title: str) -> str:
    """A title as it is shown; the symbol of the end as "(end)"."""
    return "(end)" if title == END else title


def _section_html(heading: str, chance: str, text: str, is_bad: bool) -> str:
    """A section in HTML: its title, how probable that is, and its text.

    Args:
        heading: the title.
        chance: its probability, in words.
        text: of the section.
        is_bad: whether the title is marked as improbable.
    """
    kind = " class=bad" if is_bad else ""
    head = f'{html.escape(heading)} <span class="chance">{html.escape(chance)}</span>'
    return f"<h2{kind}>{head}</h2>\n<p>{html.escape(text)}</p>\n"


def _excerpt(text: str) -> str:
    """The beginning of a text on one line, cut between words."""
    words = " ".join(text.split())
    if len(words) <= EXCERPT:
        return words
    return words[:EXCERPT].rsplit(" ", 1)[0] + " …"


@dataclass(frozen=True)
class Mark:
    """One symbol of a chain of mentions, as a record of the mention critic lists it.

    Attributes:
        start, end: character offsets of the mention (half-open); equal for a stop.
        symbol: form and entity (``he:3``), or ``.``, the stop that opens each sentence (section 5).
        log_probability: after the four symbols before it, in nats.
        bad: whether that is below the threshold.
        best: of a bad symbol the likeliest successor met in training.
        best_log_probability: that of ``best``.
    """

    start: int
    end: int
    symbol: str
    log_probability: float
    bad: bool
    best: str = ""
    best_log_probability: float | None = None


def split_symbol(symbol: str) -> tuple[str, str]:
    """Form and entity of a symbol: ``("he", "12")`` of ``he:12``, ``(".", "")`` of a stop."""
    form, colon, entity = symbol.rpartition(":")
    return (form, entity) if colon and form and entity else (symbol, "")


def label(symbol: str) -> str:
    """A symbol as the paper prints it: ``[he]3``, ``[Male]3``, and the stop alone."""
    form, entity = split_symbol(symbol)
    if not entity:
        return symbol
    if form.isupper() and len(form) > 1:
        form = form.title()
    return f"[{form}]{entity}"


def entity_colours(marks: Sequence[Mark]) -> dict[str, str]:
    """A colour for each mark's entity, the most mentioned first.

    Entities beyond the palette share one, as do stops.
    """
    counts = Counter(_entity(mark) for mark in marks)
    del counts[""]
    colours = {"": OTHERS}
    for rank, (entity, _) in enumerate(counts.most_common()):
        colours[entity] = ENTITY_COLOURS[rank] if rank < len(ENTITY_COLOURS) else OTHERS
    return colours


def _entity(mark: Mark) -> str:
    """The entity of a symbol; empty for a stop."""
    _, entity = split_symbol(mark.symbol)
    return entity


def mention_page(title: str, text: str, marks: Sequence[Mark]) -> str:
    """A self-contained HTML page: the text with coloured mentions, and a table of bad symbols.

    Bad symbols are circled in the text.
    """
    # 1. The text; a mention inside the one before it is not marked.
    colours = entity_colours(marks)
    body, position = "", 0
    for mark in marks:
        if mark.start >= position:
            body += html.escape(text[position : mark.start]) + _marked(text, mark, colours)
            position = mark.end
    body += html.escape(text[position:])
    # 2. The table.
    rows = "".join([_row_of_bad(mark) for mark in marks if mark.bad])
    table = "<p>No 5-gram below the threshold.</p>\n"
    if rows:
        table = f"<table>\n<tr><th>symbol<th>log P<th>expected<th>log P\n{rows}</table>\n"
    return f"{_HEAD.format(title=html.escape(title))}<p>{body}</p>\n{table}</html>\n"


def _row_of_bad(mark: Mark) -> str:
    """A row of an HTML table: a bad symbol, its log P, its likeliest alternative, and that's."""
    row = f"<tr><td>{html.escape(mark.symbol)}<td>{mark.log_probability:.2f}"
    best = mark.best_log_probability
    shown = "" if best is None else f"{best:.2f}"
    return f"{row}<td>{html.escape(mark.best)}<td>{shown}\n"


def _marked(text: str, mark: Mark, colours: Mapping[str, str]) -> str:
    """The HTML of a symbol: a mention in its entity's colour, circled if it is bad.

    Its subscript is the entity, after the first letter of its form where that is not the word
    itself. Of stops only bad ones are shown; others are "".

    Args:
        text: of the article.
        mark: the symbol.
        colours: by entity.
    """
    note = _note(mark) if mark.bad else ""
    if mark.symbol == ".":
        return f'<span class="stop"{note}>.</span>' if mark.bad else ""
    form, entity = split_symbol(mark.symbol)
    words = text[mark.start : mark.end]
    initial = "" if form == words else html.escape(form[:1])
    sub = f"<sub>{initial}{html.escape(entity)}</sub>"
    inside = f'<mark style="color:{colours[entity]}">{html.escape(words)}{sub}</mark>'
    return f'<span class="bad"{note}>{inside}</span>' if mark.bad else inside


def _note(mark: Mark) -> str:
    """An HTML attribute, with a blank before it, for the tooltip of a bad symbol."""
    words = f"{mark.symbol}: log P = {mark.log_probability:.2f}"
    if mark.best:
        words += f"; expected {mark.best} at {mark.best_log_probability:.2f}"
    return f' title="{html.escape(words)}"'


def drawn_article(title: str, text: str, marks: Sequence[Mark]) -> Drawing:
    """A drawing of an article's first ``LINES`` lines with its mentions, and its size in inches.

    Mentions are coloured by entity and improbable symbols circled.
    """
    lines = wrap(text, LINE_CHARACTERS)[:LINES]
    draw = partial(_draw_article, title=title, text=text, marks=marks, lines=lines)
    return draw, (LINE_CHARACTERS * 0.085, 0.5 + 0.24 * len(lines))


def _draw_article(
    canvas: Any, title: str, text: str, marks: Sequence[Mark], lines: Sequence[tuple[int, int]]
) -> None:
    """Draw the title and the lines of an article.

    Args:
        canvas: of the figure.
        title, text, marks: of the article.
        lines: half-open character offsets of the lines.
    """
    # The axes' unit is the width of a character, so that circles fit; ``size`` is in points, of
    # which an inch has 72, and 0.98 is the axes' share of the canvas.
    axes = _bare(canvas, (-1, LINE_CHARACTERS + 1), (len(lines) + 0.5, -1.5))
    size = 0.98 * 72 * canvas.get_figwidth() / (LINE_CHARACTERS + 2) / ADVANCE
    font = {"family": "DejaVu Sans Mono", "size": size}
    axes.text(0, -0.8, title, weight="bold", **font)
    colours = entity_colours(marks)
    for row, (start, end) in enumerate(lines):
        # 1. A colour for each character of a mention; circles around bad ones.
        colour_of: list[str | None] = [None] * (end - start)
        for mark in marks:
            if start <= mark.start < end:
                first = mark.start - start
                length = min(mark.end, end) - mark.start
                colour_of[first : first + length] = [colours[_entity(mark)]] * length
                if mark.bad:
                    _circle(axes, first, row, length)
        # 2. The words.
        for first, words in _pieces(text[start:end], colour_of):
            colour = colour_of[first]
            style = {"color": colour or "#222222", "weight": "bold" if colour else "normal"}
            axes.text(first, row, words.replace("$", "\\$"), **style, **font)


def _circle(axes: Any, first: int, row: int, length: int) -> None:
    """Draw a circle around characters of a line; of a stop, which has none, at its position."""
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0.1,rounding_size=0.5"
    corner, width = (first, row - 0.55), max(length, 0.5)
    axes.add_patch(FancyBboxPatch(corner, width, 0.8, boxstyle=style, fill=False, ec="#d00"))


def _pieces(line: str, colour_of: Sequence[str | None]) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a line that have one colour and are words or blanks, with their offsets.

    Longer pieces would drift off the grid of characters, because fonts are hinted.

    Args:
        line: the text.
        colour_of: the colour of each character; None for that of plain text.
    """
    styles = [(colour, letter.isspace()) for colour, letter in zip(colour_of, line, strict=True)]
    first = 0
    for _, alike in groupby(styles):
        length = len(list(alike))
        yield first, line[first : first + length]
        first += length


def _bare(canvas: Any, x: tuple[float, float], y: tuple[float, float]) -> Any:
    """Axes without lines on the whole canvas.

    Args:
        canvas: of the figure.
        x, y: their limits.
    """
    canvas.set_layout_engine("none")
    axes = canvas.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=x, ylim=y)
    axes.axis("off")
    return axes


def chain(text: str, marks: Sequence[Mark]) -> Drawing:
    """A drawing of a chain of mentions (Figure 5): the text, and below it the first symbols.

    The text ends where the last shown symbol does; symbols have their log probabilities.
    """
    until = marks[SYMBOLS].start if len(marks) > SYMBOLS else len(text)
    lines = [text[start:end] for start, end in wrap(text[:until], TEXT_WIDTH)]
    shown = marks[:SYMBOLS]
    rows = [shown[first : first + PER_ROW] for first in range(0, len(shown), PER_ROW)]
    draw = partial(_draw_chain, lines=lines, rows=rows, colours=entity_colours(marks))
    return draw, (7.6, 0.4 + 0.2 * len(lines) + 0.55 * len(rows))


def _draw_chain(
    canvas: Any,
    lines: Sequence[str],
    rows: Sequence[Sequence[Mark]],
    colours: Mapping[str, str],
) -> None:
    """Draw lines of text, and below them rows of symbols, each above its log probability."""
    below_text = 0.4 * len(lines)
    axes = _bare(canvas, (-0.5, PER_ROW), (below_text + 1.1 * len(rows) + 0.2, -0.5))
    # 1. The text.
    for number, line in enumerate(lines):
        escaped_line = line.replace("$", r"\$")
        axes.text(-0.4, 0.4 * number, escaped_line, size=8, family="DejaVu Sans Mono")
    # 2. The chain.
    for row, marks in enumerate(rows):
        height = below_text + 1.1 * row + 0.5
        for x, mark in enumerate(marks):
            bold = {"ha": "center", "weight": "bold"}
            colour = colours[_entity(mark)]
            axes.text(x, height, label(mark.symbol), color=colour, size=8, **bold)
            style = {"color": "#666666"}
            if mark.bad:
                style = {"color": "#dd0000", "weight": "bold"}
            number_text = f"{mark.log_probability:.1f}"
            axes.text(x, height + 0.45, number_text, size=7, ha="center", **style)


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Break a text into lines of at most ``width`` characters, at spaces and line breaks.

    A longer word is cut. ``width`` is 1 or more.

    Returns:
        Half-open character offsets of the lines.
    """
    rows, start = [], 0
    while start < len(text):
        end = _end_of_line(text, start, width)
        rows.append((start, end))
        # The space or line break itself belongs to no line.
        start = end
        if end < len(text) and text[end] in " \n":
            start += 1
    return rows


def _end_of_line(text: str, start: int, width: int) -> int:
    """Where a line ends: at a line break, at the text's end, at a space, or inside a long word."""
    end = text.find("\n", start, start + width + 1)
    if end >= 0:
        return end
    if len(text) - start <= width:
        return len(text)
    end = text.rfind(" ", start, start + width + 1)
    return end if end > start else start + width


SHARE = {"critic": "world_grammar", "metric": "derivable_share"}
COLUMNS = {"derivable sentences": SHARE, "followed words": {**SHARE, "metric": "followed_share"}}
LEGEND = (
    "The first articles of each set, none left out. **Bold** is a sentence that the synthetic "
    "world could not have written; the share of the others stands in [the "
    "table](generated_articles.md). Section titles are in *italics* where the text has them."
)


def _article(head: str, document: Document, refused: Collection[int]) -> str:
    """An article in Markdown: titles in italics, sentences that the grammar refuses in bold.

    Args:
        head: its heading.
        document: the article.
        refused: indices of the refused sentences.
    """
    spans = sentences(document.text)
    num_derivable = len(spans) - len(refused)
    lines = [f"### {head}: {num_derivable} of {len(spans)} sentences derivable"]
    # Section by section, with the sentences that begin inside it.
    start = 0
    for section in document.sections:
        end = start + len(section.text) + len(SECTION_BREAK)
        inside = []
        for number, (first, last) in enumerate(spans):
            if start <= first < end:
                shown = escaped(document.text[first:last])
                inside.append(f"**{shown}**" if number in refused else shown)
        if section.title:
            lines.append(f"*{escaped(section.title)}*")
        if inside:
            lines.append(" ".join(inside))
        start = end
    return "\n\n".join(lines)


def escaped(text: str) -> str:
    """A text on one line with Markdown's special characters escaped."""
    text = re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))
    return re.sub(r"^(\d+)?([-+.)])", r"\1\\\2", text)  # these would open a list


def generated_articles(
    inputs: ReportInputs, corpus: str, systems: Sequence[str], generated: int = 5, real: int = 2
) -> Files:
    """A table of the share of derivable sentences of real text and of every system.

    With it come pages of the first articles of each model and of real ones.

    Args:
        inputs: the records.
        corpus: whose articles are shown.
        systems: the models, a page each; the first one's is ``articles.md``.
        generated: how many articles with titles, and how many without, of the first seed.
        real: how many of the corpus's test split.

    Raises:
        BadInput: no record of a system or of real text, or texts that are not there or are not
            those that were scored.
    """
    notes = [
        "shares of sentences and of words, intervals over articles; real text has 1 because the "
        "world wrote it",
        "a word is followed if its sentence up to it begins some sentence of the world",
    ]
    caption = (
        "Shares of sentences and of words that the synthetic world could have written, with 95 % "
        "intervals"
    )
    table = Table(caption, inputs.pivot(COLUMNS), [*notes, *inputs.notes])
    pages: dict[str, str] = {}
    links = ""
    scored = select(inputs.results, {**SHARE, "corpus": corpus}).values("system")
    for system in [name for name in systems if name in scored] or systems:
        name = f"articles_{system}.md" if pages else "articles.md"
        whose = f", {inputs.label('system', system)}" if pages else ""
        pages[name] = _page_of_articles(inputs, corpus, system, generated, real)
        links += f"\n[The first articles in full{whose}]({name})\n"
    return Files(pages, table, links)


def _page_of_articles(
    inputs: ReportInputs, corpus: str, system: str, generated: int, real: int
) -> str:
    """A Markdown page of a model's first articles with and without titles, and real ones."""
    shown: list[str] = []
    for titles, count in ((True, generated), (False, generated), (None, real)):
        writer = "data" if titles is None else system
        shown += _shown_articles(inputs, corpus, writer, titles, count)
    title = (
        f"# {2 * generated} articles of {inputs.label('system', system)} beside {real} real ones"
    )
    return "\n\n".join([title, LEGEND, *shown]) + "\n"


def _shown_articles(
    inputs: ReportInputs, corpus: str, system: str, titles: bool | None, count: int
) -> list[str]:
    """The first articles of a system in Markdown, with the sentences that the grammar refuses.

    Args:
        inputs: the records, and the data folder.
        corpus, system: of the articles; the system ``data`` is real text.
        titles: whether the system saw titles; None for real text.
        count: how many articles.

    Raises:
        BadInput: there is no record, or the texts are not those that were scored.
    """
    # 1. The record of the first training.
    fields = {**SHARE, "corpus": corpus, "system": system, "titles": titles}
    records = select(inputs.results, fields)
    if not records:
        raise BadInput(
            f"no record has {fields}; run the stage that scores it, or change the exhibit's "
            "settings"
        )
    record = min(records, key=lambda record: -1 if record.seed is None else record.seed)
    # 2. Its texts, which must be those that were scored.
    if titles is None:
        folder = folder_of(inputs.data / "corpora", corpus) or inputs.data / "corpora" / corpus
    else:
        folder = generated_folder(inputs.data, record)
    documents = []
    for document in texts_in(folder):
        if document.split in ("test", "generated"):
            documents.append(document)
    refused = record.details["refused"]
    for document in documents[:count]:
        if document.id not in refused:
            raise BadInput(
                f"{folder / 'documents.jsonl'}: {document.id!r} is not among the scored texts "
                f"{list(refused)}; score them, or show fewer"
            )
    # 3. In Markdown.
    seed = "" if record.seed is None else f", seed {record.seed}"
    name = inputs.labels(record, *SYSTEM) + seed
    articles = []
    for number, document in enumerate(documents[:count]):
        articles.append(_article(f"{name}, article {number}", document, refused[document.id]))
    return articles
