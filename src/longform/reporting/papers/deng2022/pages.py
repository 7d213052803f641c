"""Articles as pages: with inferred section titles (Figure 1, Table 13), with mentions by entity (Figures 5, 10 to 13), and with the sentences that the synthetic world could not have written."""

import html
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput, Document
from longform.core.markov_chain import END
from longform.core.results import Record
from longform.core.text.rendering import SECTION_BREAK
from longform.core.text.sentences import sentences
from longform.reporting.estimates import folder_of, select
from longform.reporting.papers.deng2022.sections import generated_folder
from longform.reporting.pivot import SYSTEM, Given
from longform.reporting.table import Cell, Listing, Table, save_drawing, write_cells

STOP = "."  # opens each sentence of a chain (deng2022 section 5)
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9", "#7A3E9D", "#B22222",
)  # after Okabe and Ito 2008  # fmt: skip
OTHERS = "#555555"  # entities beyond the number of colours
ADVANCE = 0.602  # width of a character of DejaVu Sans Mono in units of its size
LINE_CHARACTERS = 92  # of an article's figure, in a fixed-width face
PER_ROW = 12  # symbols in a row of Figure 5
TEXT_WIDTH = 105
EXCERPT = 240  # characters of a section in the Markdown form
_HEAD = Path(__file__).with_name("page.html").read_text(encoding="utf-8")


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

    @property
    def name(self) -> str:
        """The title in words, with a cross before it where the transition is improbable."""
        return ("✗ " if self.bad else "") + _title(self.title)


@dataclass(frozen=True)
class SectionPage:
    """One article; nothing but a sentence where there was none to show."""

    caption: str
    unit: str
    sections: Sequence[MarkedSection]

    def save(self, folder: Path, stem: str) -> None:
        """``stem.html`` for reading, ``stem.csv`` with the probabilities, ``stem.md`` with excerpts."""
        (folder / f"{stem}.html").write_text(self.page(), encoding="utf-8")
        rows = [[s.name, s.probability, _title(s.expected), _excerpt(s.text)] for s in self.sections]
        caption = f"{self.caption} ({self.unit}; titles as the classifier reads them, none is in the text)"
        listing = Listing(caption, ["inferred title", "P", "likeliest", "text"], rows)
        (folder / f"{stem}.md").write_text(listing.markdown(), encoding="utf-8")
        cells = [
            Cell(f"{place} {s.title}", "P(title | title before)", s.probability, signature=f"likeliest: {s.expected}")
            for place, s in enumerate(self.sections, 1)
        ]
        write_cells(folder / f"{stem}.csv", cells)

    def page(self) -> str:
        """The whole article as HTML; a cross before each improbable title."""
        body = ""
        for s in self.sections:
            chance = f"P = {s.probability:.3g}" + ("" if s.expected == s.title else f", likeliest {_title(s.expected)}")
            head = f'{html.escape(s.name)} <span class="chance">{html.escape(chance)}</span>'
            body += f"<h2{' class=bad' if s.bad else ''}>{head}</h2>\n<p>{html.escape(s.text)}</p>\n"
        return _HEAD.format(title=html.escape(f"{self.caption}: {self.unit}")) + body + "</html>\n"


def _title(title: str) -> str:
    return "(end)" if title == END else title


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= EXCERPT else words[:EXCERPT].rsplit(" ", 1)[0] + " …"


@dataclass(frozen=True)
class Mark:
    """One symbol of a chain of mentions, as a record of the mention critic lists it.

    Attributes:
        start, end: character offsets; equal for a sentence stop.
        symbol: form and entity, e.g. ``he:3``.
        log_probability: given the four symbols before it.
        bad: whether that is below the threshold.
        best, best_log_probability: the likeliest successor met in training, for a bad symbol.
    """

    start: int
    end: int
    symbol: str
    log_probability: float
    bad: bool
    best: str = ""
    best_log_probability: float | None = None

    @property
    def parts(self) -> tuple[str, str]:
        """Form and entity; a stop has no entity."""
        return split_symbol(self.symbol)

    @property
    def note(self) -> str:
        """What the page says when the pointer rests on a bad symbol."""
        expected = f"; expected {self.best} at {self.best_log_probability:.2f}" if self.best else ""
        return f"{self.symbol}: log P = {self.log_probability:.2f}{expected}"


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


@dataclass(frozen=True)
class MentionPages:
    """Articles whose mentions are coloured by entity and whose improbable symbols are circled, and a list of these.

    ``articles`` has title, text and marks by file name.
    """

    listing: Listing
    articles: Mapping[str, tuple[str, str, Sequence[Mark]]]

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` and ``stem.md`` with links, and per page ``name.html``, ``name.pdf``, ``name.png``."""
        self.listing.save(folder, stem)
        links = [f"- {name}: [HTML]({name}.html), [PDF]({name}.pdf)\n\n![{name}]({name}.png)" for name in self.articles]
        text = self.listing.markdown() + "\n" + "\n".join(links) + "\n"
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")
        for name, article in self.articles.items():
            (folder / f"{name}.html").write_text(mention_page(*article), encoding="utf-8")
            rows = min(len(wrap(article[1], LINE_CHARACTERS)), 40)
            size = (LINE_CHARACTERS * 0.085, 0.5 + 0.24 * rows)
            save_drawing(lambda canvas, a=article: _draw_article(canvas, *a), size, folder / name)  # type: ignore[misc]


def entity_colours(marks: Sequence[Mark]) -> dict[str, str]:
    """A colour per entity, the most mentioned first; entities beyond the palette share one."""
    counts = Counter(mark.parts[1] for mark in marks if mark.parts[1])
    ranked = [entity for entity, _ in counts.most_common()]
    return {entity: COLOURS[i] if i < len(COLOURS) else OTHERS for i, entity in enumerate(ranked)}


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
    note = f' title="{html.escape(mark.note)}"' if mark.bad else ""
    if mark.symbol == STOP:
        return f'<span class="stop"{note}>.</span>' if mark.bad else ""
    form, entity = mark.parts
    tag = "" if form == text[mark.start : mark.end] else html.escape(form[:1])
    words = html.escape(text[mark.start : mark.end])
    inside = f'<mark style="color:{colours.get(entity, OTHERS)}">{words}<sub>{tag}{html.escape(entity)}</sub></mark>'
    return f'<span class="bad"{note}>{inside}</span>' if mark.bad else inside


def _draw_article(canvas: Any, title: str, text: str, marks: Sequence[Mark], lines: int = 40) -> None:
    """The first lines of the page as a figure; a character is as wide as a unit of the grid, so circles fit."""
    from matplotlib.patches import FancyBboxPatch

    colours, rows = entity_colours(marks), wrap(text, LINE_CHARACTERS)[:lines]
    canvas.set_layout_engine("none")
    axes = canvas.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=(-1, LINE_CHARACTERS + 1), ylim=(len(rows) + 0.5, -1.5))
    axes.axis("off")
    size = 0.98 * 72 * canvas.get_figwidth() / (LINE_CHARACTERS + 2) / ADVANCE
    font = {"family": "DejaVu Sans Mono", "size": size}
    axes.text(0, -0.8, title, weight="bold", **font)
    for row, (start, end) in enumerate(rows):
        styles: list[str | None] = [None] * (end - start)
        for mark in (mark for mark in marks if start <= mark.start < end):
            at, length = mark.start - start, min(mark.end, end) - mark.start
            styles[at : at + length] = [colours.get(mark.parts[1], OTHERS)] * length
            if mark.bad:
                box = "round,pad=0.1,rounding_size=0.5"
                corner, width = (at, row - 0.55), max(length, 0.5)
                axes.add_patch(FancyBboxPatch(corner, width, 0.8, boxstyle=box, fill=False, ec="#d00"))
        for _, places in groupby(range(end - start), key=lambda at: (styles[at], text[start + at].isspace())):
            held = list(places)  # a word: hinting makes longer stretches drift off the grid
            words, colour = text[start + held[0] : start + held[-1] + 1], styles[held[0]]
            style = {"color": colour or "#222222", "weight": "bold" if colour else "normal"}
            axes.text(held[0], row, words.replace("$", "\\$"), **style, **font)


def chain_size(text: str, marks: Sequence[Mark], symbols: int) -> tuple[float, float]:
    """Inches of :func:`draw_chain`."""
    lines, rows = _chain_rows(text, marks, symbols)
    return 9.0, 0.4 + 0.2 * len(lines) + 0.55 * len(rows)


def _chain_rows(text: str, marks: Sequence[Mark], symbols: int) -> tuple[list[str], list[Sequence[Mark]]]:
    until = marks[symbols].start if len(marks) > symbols else len(text)
    lines = [text[a:b] for a, b in wrap(text[:until], TEXT_WIDTH)]
    shown = marks[:symbols]
    return lines, [shown[i : i + PER_ROW] for i in range(0, len(shown), PER_ROW)]


def draw_chain(canvas: Any, text: str, marks: Sequence[Mark], symbols: int) -> None:
    """The text up to the last shown symbol, and below it the chain: each mention with its log probability (Figure 5)."""
    lines, rows = _chain_rows(text, marks, symbols)
    canvas.set_layout_engine("none")
    axes = canvas.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=(-0.5, PER_ROW), ylim=(0.4 * len(lines) + 1.1 * len(rows) + 0.2, -0.5))
    axes.axis("off")
    for i, line in enumerate(lines):
        axes.text(-0.4, 0.4 * i, line.replace("$", r"\$"), size=8, family="DejaVu Sans Mono")
    colours = entity_colours(marks)
    for row, shown in enumerate(rows):
        height = 0.4 * len(lines) + 1.1 * row + 0.5
        for place, mark in enumerate(shown):
            colour = colours.get(mark.parts[1], OTHERS)
            axes.text(place, height, label(mark.symbol), color=colour, size=8, ha="center", weight="bold")
            style = {"color": "#dd0000", "weight": "bold"} if mark.bad else {"color": "#666666"}
            axes.text(place, height + 0.45, f"{mark.log_probability:.1f}", size=7, ha="center", **style)


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


SHARE = {"critic": "world_grammar", "metric": "derivable_share"}
COLUMNS = {"derivable sentences": SHARE, "followed words": {**SHARE, "metric": "followed_share"}}
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")
_FIRST_MARKS = re.compile(r"^(\d+)?([-+.)])")  # what opens a list


@dataclass(frozen=True)
class Article:
    """One article and the places of its sentences that the grammar refuses."""

    head: str
    document: Document
    refused: Collection[int]

    def markdown(self) -> str:
        """Titles in italics, refused sentences in bold."""
        spans = sentences(self.document.text)
        lines = [f"### {self.head}: {len(spans) - len(self.refused)} of {len(spans)} sentences derivable"]
        lengths = (len(section.text) + len(SECTION_BREAK) for section in self.document.sections)
        starts = [0, *accumulate(lengths)]
        for section, start, end in zip(self.document.sections, starts, starts[1:], strict=False):
            inside = [(place, span) for place, span in enumerate(spans) if start <= span[0] < end]
            lines += [f"*{escaped(section.title)}*"] if section.title else []
            lines += [" ".join(self._shown(place, *span) for place, span in inside)] if inside else []
        return "\n\n".join(lines)

    def _shown(self, place: int, start: int, end: int) -> str:
        text = escaped(self.document.text[start:end])
        return f"**{text}**" if place in self.refused else text


def escaped(text: str) -> str:
    """The text on one line, as Markdown shows it and not as Markdown reads it."""
    return _FIRST_MARKS.sub(r"\1\\\2", _MARKS.sub(r"\\\1", " ".join(text.split())))


@dataclass(frozen=True)
class ArticlePages:
    """The table of shares, and a page of articles in full."""

    table: Table
    caption: str
    articles: Sequence[Article]

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` and ``stem.md`` with a link to ``articles.md``."""
        self.table.save(folder, stem)
        text = self.table.markdown() + "\n[The first articles in full](articles.md)\n"
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")
        page = "\n\n".join([f"# {self.caption}", LEGEND, *(article.markdown() for article in self.articles)])
        (folder / "articles.md").write_text(page + "\n", encoding="utf-8")


LEGEND = (
    "The first articles of each set, none left out. **Bold** is a sentence that the synthetic world could not have written; the "
    "share of the others stands in [the table](generated_articles.md). Section titles are in *italics* where the text has them."
)


def generated_articles(given: Given, corpus: str, system: str, generated: int = 5, real: int = 2) -> ArticlePages:
    """The share of derivable sentences of real text and of every system; the first articles of one, beside real ones.

    Args:
        corpus, system: whose articles are shown, of the first seed where there are several.
        generated: how many with titles, and how many without.
        real: how many of the corpus's test split.

    Raises BadInput: no record of the system or of real text, or texts that are not there or are not those that were scored.
    """
    notes = [
        "shares of sentences and of words, intervals over articles; real text has 1 because the world wrote it",
        "a word is followed if its sentence up to it begins some sentence of the world",
    ]
    caption = "Shares of sentences and of words that the synthetic world could have written, with 95 % intervals"
    table = given.table(caption, given.pivot(COLUMNS), notes)
    shown: list[Article] = []
    for titles, count in ((True, generated), (False, generated), (None, real)):
        fields = {**SHARE, "corpus": corpus, "system": "data" if titles is None else system, "titles": titles}
        found = select(given.results, fields)
        if not found:
            raise BadInput(f"no record has {fields}; run the stage that scores it, or change the exhibit's settings")
        record = min(found, key=lambda record: -1 if record.seed is None else record.seed)
        folder = folder_of(given.data / "corpora", corpus) if titles is None else generated_folder(given.data, record)
        shown += _articles(record, folder or given.data / "corpora" / corpus, count, given)
    label = given.label("system", system)
    return ArticlePages(table, f"{2 * generated} articles of {label} beside {real} real ones", shown)


def _articles(record: Record, folder: Path, count: int, given: Given) -> list[Article]:
    """The first articles of a record's texts, in the order of their file."""
    path = folder / "documents.jsonl"
    if not path.is_file():
        raise BadInput(f"{path}: no such file; generate the texts that the scores were read from")
    documents = [d for d in read_documents(path) if d.split in ("test", "generated")][:count]
    refused = record.details["refused"]
    if missing := [document.id for document in documents if document.id not in refused]:
        raise BadInput(
            f"{path}: {missing[0]!r} is not among the scored texts {list(refused)}; score them, or show fewer"
        )
    seed = "" if record.seed is None else f", seed {record.seed}"
    name = given.labels(record, *SYSTEM) + seed
    return [Article(f"{name}, article {i}", document, refused[document.id]) for i, document in enumerate(documents)]
