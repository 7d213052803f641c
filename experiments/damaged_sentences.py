"""Sentences of a Wikipedia dump from which the reader lost text, by what was lost.

    PYTHONPATH=src python experiments/damaged_sentences.py FOLDER/wikipedia_dump_sample

They are counted against the raw wikitext. A sentence is damaged if a template or tag that shows
text stands inside it in the page's wikitext, and the words before and after it follow each other in
what the reader gives. One with fewer than three words around it could be found anywhere and is not
judged. What shows text is decided here, from the names alone and with no rule of the reader: every
template that is not in ``SHOWS_NOTHING``. A sentence that the reader itself left out is counted as
struck, by what left the hole. ``--show N`` prints N random lines with such a template or tag, each
with what the reader makes of it, to be judged by eye. Nothing is written.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longform.datasets.wikipedia.dump import Page, parse_page, plan, raw_pages
from longform.datasets.wikipedia.wikitext import sections
from longform.text.sentences import sentences

# Templates of the English Wikipedia that add nothing to a sentence: notes, sources behind it,
# layout, marks of maintenance.
SHOWS_NOTHING = re.compile(
    r"(?:sfn|efn|harv|ref|r$|rp$|rma$|note|cite|citation|vcite|cn$|fact$|better|clarif|which|who"
    r"|whom|when|where|why|vague|dubious|page needed|full$|by whom|according|verif|failed"
    r"|not in|unreliable|weasel|pov|peacock|disputed|relevance|update|dead|wayback|webarchive"
    r"|qualify|synthesis|original research|specify|attribution|anchor|clear|br$|-$|flagicon"
    r"|flag icon|audio|listen|issn|isbn|oclc|doi|pmid|commons|wiki|portal|main|see|about"
    r"|further|details|for$|other|use |infobox|toc|defaultsort|#tag|inflation-fn|.* icon$"
    r"|.*needed.*|.*inline.*|coord|refimprove|italic|displaytitle|sister|pp-|nowrap (?:begin"
    r"|end)|div col|col|image|css|legend|shy|zwsp|wbr)"
)
SPACES = re.compile(r"nbsp|spaces?|thinsp|hair ?sp|emsp|ensp")
SIGNS = re.compile(
    r"['\" -]+|'s|n?dash|m?dash\w*|snds?|spaced .*|spnd.*|dot|·|eqm|bull|okina|hyphen|ndash|mdash"
    r"|!|=|pi|degree|music|clarify"
)
TAGS = "math|chem|ce|sub|sup|br|p|h3|td|nowiki|code|syntaxhighlight|hiero|score"
BLOCKS = ("<br>", "<p>", "<h3>", "<td>")  # what follows them begins a line
# Lines that are no prose: cells of tables, headings, pictures.
NO_PROSE = ("|", "!", "{|", "=", "[[File", "[[Image", "[[file")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_REFERENCE = re.compile(
    r"<ref\b[^<>]*/>|<ref\b[^<>]*>.*?</ref\s*>|<(gallery|timeline)\b.*?</\1\s*>",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(rf"<(?P<tag>{TAGS})\b[^<>]*>(?:(?P<inside>[^<>]*)</(?P=tag)\s*>)?", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
WORDS = 3  # on either side of an occurrence, by which it is found in the reader's text
WORDS_OF_ONE_SIDE = 10  # the same where it begins or ends its line and has words on one side
TOKENS = 4  # words and signs on either side of a tag whose content is signs alone
WHOLE_DUMP = 1 << 40  # bytes of a shard, more than any dump has: one shard for all


@dataclass(frozen=True)
class Span:
    """A template or tag in wikitext.

    Attributes:
        start, end: half-open range of characters of the wikitext.
        tag: its name in lower case; a template has none.
        is_quiet: whether it is a template that shows nothing.
    """

    start: int
    end: int
    tag: str
    is_quiet: bool


@dataclass(frozen=True)
class Occurrence:
    """A template or tag in a line of wikitext, with the words around it.

    Attributes:
        name: lower-case name of the template, or of the tag in angle brackets.
        line: the line of wikitext in which it stands.
        before, after: the words next to it, at most ``WORDS`` (``WORDS_OF_ONE_SIDE``) each.
        inside: words of its own content; of a template those of its longest argument.
        tokens: the words and signs next to it, ``TOKENS`` on either side.
    """

    name: str
    line: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    inside: tuple[str, ...]
    tokens: tuple[str, ...]


@dataclass
class Counts:
    """What a dump's sentences lost.

    Attributes:
        pages: articles.
        sentences: those in the reader's output.
        occurrences: templates and tags that show text, inside a line.
        damaged: sentences in the reader's output with text missing.
        damaged_pages: pages with such a sentence.
        damaged_by: templates and tags, by how many sentences each damaged.
        struck_by: the same of sentences that the reader left out.
        examples: page, line and name of every occurrence.
    """

    pages: int = 0
    sentences: int = 0
    occurrences: int = 0
    damaged: int = 0
    damaged_pages: int = 0
    damaged_by: Counter[str] = field(default_factory=Counter)
    struck_by: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, str, str]] = field(default_factory=list)


def pages(folder: Path) -> Iterator[Page]:
    """Articles of every dump in a folder, or of one dump."""
    dumps = sorted(folder.glob("*.bz2")) if folder.is_dir() else [folder]
    for dump in dumps:
        for shard in plan(dump, WHOLE_DUMP):
            for raw in raw_pages(dump, shard):
                # A string is the reason why there is no article here.
                page = parse_page(raw) if isinstance(raw, bytes) else raw
                if isinstance(page, Page):
                    yield page


def templates(text: str) -> list[tuple[int, int]]:
    """Half-open character ranges of wikitext's ``{{...}}`` that stand inside no other.

    After braces that are never closed no range is found.
    """
    spans, opened = [], []
    for brace in re.finditer(r"\{\{|\}\}", text):
        if brace[0] == "{{":
            opened.append(brace.start())
        elif opened:
            start = opened.pop()
            if not opened:
                spans.append((start, brace.end()))
    return spans


def words(wikitext: str) -> list[str]:
    """Words that a piece of wikitext without templates shows: of links their labels, no tags."""
    # Links to pages, then to other sites.
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]", r"\1", wikitext)
    text = re.sub(r"\[(?:https?:|//)\S+\s*([^\[\]]*)\]", r"\1", text)
    return _WORD.findall(html.unescape(re.sub(r"<[^<>]*>|'{2,}", "", text)))


def occurrences(wikitext: str) -> Iterator[Occurrence]:
    """Yield every template and tag that shows text and has enough words around it to be found."""
    text = _REFERENCE.sub("", _COMMENT.sub("", wikitext))
    text = re.sub(r"^[ :]*\{\|.*?^[ ]*\|\}", "", text, flags=re.DOTALL | re.MULTILINE)  # tables
    spans = spans_of(text)
    for number, span in enumerate(spans):
        if not span.is_quiet:
            occurrence = _occurrence(text, spans, number)
            if occurrence is not None:
                yield occurrence


def spans_of(text: str) -> list[Span]:
    """Outermost templates, and tags outside of them, in the order of the text."""
    spans = []
    for start, end in templates(text):
        name = template_name(text[start:end])
        spans.append(Span(start, end, "", SHOWS_NOTHING.match(name) is not None))
    outermost = list(spans)
    for tag in _TAG.finditer(text):
        if not any(span.start <= tag.start() < span.end for span in outermost):
            spans.append(Span(tag.start(), tag.end(), tag["tag"].lower(), False))
    return sorted(spans, key=lambda span: (span.start, span.end, span.tag))


def _occurrence(text: str, spans: Sequence[Span], number: int) -> Occurrence | None:
    """The template or tag ``spans[number]`` of a wikitext, with the words around it.

    None where it stands in no line of prose, or where there are too few words around it.
    """
    # Its line.
    span = spans[number]
    piece = text[span.start : span.end]
    first, last = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    if last < 0:
        last = len(text)
    line = text[first:last]
    if "\n" in piece or line.lstrip().startswith(NO_PROSE):
        return None
    # The words before and after it.
    before = _words_before(text, spans, number, limit=first)
    after = _words_after(text, spans, number, limit=last)
    if before is None or after is None or len(before) + len(after) < WORDS:
        return None
    num_words = WORDS if before and after else WORDS_OF_ONE_SIDE
    # Its name and content.
    if span.tag:
        name = f"<{span.tag}>"
        inside = words(_TAG.fullmatch(piece)["inside"] or "")  # type: ignore[index]
    else:
        name = template_name(piece)
        inside = words(max(piece[2:-2].split("|")[1:], key=len, default=""))
    left, right = text[first : span.start], text[span.end : last]
    tokens = (*_shown_tokens(left)[-TOKENS:], *_shown_tokens(right)[:TOKENS])
    return Occurrence(
        name,
        line,
        before=tuple(before[-num_words:]),
        after=tuple(after[:num_words]),
        inside=tuple(inside),
        tokens=tokens,
    )


def _shown_tokens(wikitext: str) -> tuple[str, ...]:
    """Words and single signs that a piece of wikitext shows, without links' brackets and tags."""
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?|\]\]|'{2,}|<[^<>]*>", "", wikitext)
    return tuple(_TOKEN.findall(html.unescape(text)))


def template_name(piece: str) -> str:
    """The name in lower case of a template in its braces: up to "|", a line's end or a colon.

    ``{{#tag:ref}}`` keeps the colon after its "#", whose name is "#tag:ref".
    """
    name, *_ = re.split(r"[|\n}]|(?<=[^#]):", piece[2:], maxsplit=1)
    return name.strip().lower().replace("_", " ")


def _words_before(text: str, spans: Sequence[Span], number: int, limit: int) -> list[str] | None:
    """Words between the last template or tag that shows text, or ``limit``, and ``spans[number]``.

    None if no word parts the two: then a loss could not be told from the other's. ``limit`` is the
    character at which the line starts.
    """
    # Backwards; templates that show nothing are skipped.
    end, shown = spans[number].start, ""
    for span in reversed(spans[:number]):
        if span.end <= limit:
            break
        shown = text[span.end : end] + shown
        end = span.start
        if not span.is_quiet:
            return words(shown) or None
    return words(text[limit:end] + shown)


def _words_after(text: str, spans: Sequence[Span], number: int, limit: int) -> list[str] | None:
    """Words between ``spans[number]`` and the next template or tag that shows text.

    As :func:`_words_before`, with the end of the line as ``limit``.
    """
    # Templates that show nothing are skipped.
    start, shown = spans[number].end, ""
    for span in spans[number + 1 :]:
        if span.start >= limit:
            break
        shown += text[start : span.start]
        start = span.end
        if not span.is_quiet:
            return words(shown) or None
    return words(shown + text[start:limit])


def lost(occurrence: Occurrence, text: str) -> int | None:
    """The character of the reader's text at which an occurrence's content is missing.

    There the words around the occurrence follow each other directly. None if they do so nowhere.
    """
    pattern = _pattern_of_loss(occurrence, text)
    match = re.search(pattern, text) if pattern else None
    return match.start() + len(match[0]) // 2 if match else None


def _pattern_of_loss(occurrence: Occurrence, text: str) -> str | None:
    """A regular expression that matches the reader's text where an occurrence's content was lost.

    None if a loss cannot be recognised.
    """
    before, after = _phrase(occurrence.before), _phrase(occurrence.after)
    has_both = bool(occurrence.before and occurrence.after)
    # A break whose next line begins without a gap.
    if occurrence.name in BLOCKS:
        following = occurrence.inside or occurrence.after
        if not occurrence.before or not following:
            return None
        return rf"{before}[^\w\s]*{re.escape(following[0])}"
    # A blank or a sign; the latter shows more than a blank.
    if SPACES.fullmatch(occurrence.name):
        return before + after if has_both else None
    if SIGNS.fullmatch(occurrence.name):
        return rf"{before}\s?{after}" if has_both else None
    # A tag whose content is signs alone.
    if occurrence.name.startswith("<") and not occurrence.inside and occurrence.name != "<math>":
        return r"\s*".join(map(re.escape, occurrence.tokens))
    # 10<sup>6</sup> as 106.
    if occurrence.name == "<sup>" and _joins_numbers(occurrence):
        return before + re.escape(occurrence.inside[0])
    # Words between words, or at an end of a line, unless they stand elsewhere as a block.
    if has_both:
        return rf"\b{before}\W*{after}\b"
    if occurrence.inside and re.search(_phrase(occurrence.inside[:WORDS]), text):
        return None
    if occurrence.before:
        return rf"\b{before}[^\w\n]*(?:\n|\Z)"
    return rf"(?:\n|\A)[^\w\n]*{after}\b"


def _joins_numbers(occurrence: Occurrence) -> bool:
    """Whether the last word before an occurrence and the first inside it are numbers.

    ``inside`` has a word: tags without words are judged earlier.
    """
    if not occurrence.before:
        return False
    return occurrence.before[-1].isdigit() and occurrence.inside[0].isdigit()


def _phrase(sequence: Sequence[str]) -> str:
    """A regular expression of words that follow each other, with signs and blanks between."""
    return r"\W+".join(map(re.escape, sequence))


def measure(folder: Path) -> Counts:
    """Count the sentences of a dump that lost text."""
    counts = Counts()
    for page in pages(folder):
        counts.pages += 1
        text = "\n".join(body for _, body in sections(page.text, counts.struck_by))
        spans = list(_sentences(text))
        counts.sentences += len(spans)
        # The first loss of each sentence, by the sentence's range of characters.
        damaged: dict[tuple[int, int], str] = {}
        for occurrence in occurrences(page.text):
            counts.occurrences += 1
            counts.examples.append((page.title, occurrence.line, occurrence.name))
            position = lost(occurrence, text)
            if position is not None:
                damaged.setdefault(_sentence_at(spans, position), occurrence.name)
        counts.damaged += len(damaged)
        counts.damaged_pages += bool(damaged)
        counts.damaged_by.update(damaged.values())
    return counts


def _sentence_at(spans: Sequence[tuple[int, int]], position: int) -> tuple[int, int]:
    """The half-open range of the sentence around a character or just before it.

    Between two sentences it is ``(position, position)``, which stands for the gap.
    """
    for start, end in spans:
        if start <= position <= end:
            return start, end
    return position, position


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield half-open character ranges of a text's sentences, paragraph by paragraph."""
    for line in re.finditer(r"[^\n]+", text):
        for start, end in sentences(line[0]):
            yield line.start() + start, line.start() + end


def report(counts: Counts) -> dict[str, Any]:
    """The printed numbers of a dump by name; percentages are of all sentences, struck ones too."""
    struck = sum(counts.struck_by.values())
    total = counts.sentences + struck
    return {
        "articles": counts.pages,
        "sentences": total,
        "templates_and_tags_in_lines": counts.occurrences,
        "with_a_hole_before_striking": counts.damaged + struck,
        "struck": struck,
        "struck_percent": round(100 * struck / total, 2),
        "struck_by": dict(counts.struck_by.most_common()),
        "damaged_left": counts.damaged,
        "damaged_percent": round(100 * counts.damaged / total, 2),
        "damaged_articles": counts.damaged_pages,
        "damaged_by": dict(counts.damaged_by.most_common()),
    }


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a dump, or a folder of dumps (.bz2)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    show = "print N random lines and what the reader makes of them"
    parser.add_argument("--show", type=int, default=0, metavar="N", help=show)
    parser.add_argument("--seed", type=int, default=0, help="of the random lines (0)")
    return parser


def main() -> None:
    """Print the numbers of a dump, and random lines beside what the reader makes of them."""
    options = arguments().parse_args()
    counts = measure(options.folder)
    numbers = report(counts)
    if options.json:
        print(json.dumps(numbers, indent=2, ensure_ascii=False))
    else:
        for name, value in numbers.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {count}" for key, count in value.items())
            print(f"{name.replace('_', ' '):>28}: {value}")
    for title, line, name in random.Random(options.seed).sample(counts.examples, options.show):
        shown = " ".join(text for _, text in sections(line))
        print(f"\n{title}, {name}\n  wikitext: {line}\n  reader:   {shown or '(struck)'}")


if __name__ == "__main__":
    main()
