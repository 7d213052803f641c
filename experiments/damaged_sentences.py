"""Sentences of a Wikipedia dump from which the reader lost text: counted against the raw wikitext, by what was lost.

    PYTHONPATH=src python experiments/damaged_sentences.py ../shared/data/wikipedia_dump_sample [--json] [--show 60]

A sentence is damaged if a template or tag that shows text stands inside it in the page's wikitext, and the words before and after it
follow each other in what the reader gives. A place with fewer than three words around it is too common to be found and is not judged. What shows text is decided here, from the names alone and with no rule of the reader: every
template that is not in ``SHOWS_NOTHING``. A sentence that the reader itself left out is counted as struck, by what left the hole.
``--show N`` prints N lines drawn at random among the places, each with what the reader makes of it, to be judged by eye.
Nothing is written.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longform.datasets.wikipedia.dump import Page, parse_page, plan, raw_pages
from longform.datasets.wikipedia.wikitext import sections
from longform.text.sentences import sentences

# Templates of the English Wikipedia that add nothing to a sentence: notes, sources behind it, layout, marks of maintenance.
SHOWS_NOTHING = re.compile(
    r"(?:sfn|efn|harv|ref|r$|rp$|rma$|note|cite|citation|vcite|cn$|fact$|better|clarif|which|who|whom|when|where|why|vague|dubious"
    r"|page needed|full$|by whom|according|verif|failed|not in|unreliable|weasel|pov|peacock|disputed|relevance|update|dead|wayback|webarchive"
    r"|qualify|synthesis|original research|specify|attribution|anchor|clear|br$|-$|flagicon|flag icon|audio|listen|issn|isbn|oclc|doi|pmid"
    r"|commons|wiki|portal|main|see|about|further|details|for$|other|use |infobox|toc|defaultsort|#tag|inflation-fn|.* icon$|.*needed.*"
    r"|.*inline.*|coord|refimprove|italic|displaytitle|sister|pp-|nowrap (?:begin|end)|div col|col|image|css|legend|shy|zwsp|wbr)"
)
SPACES = re.compile(r"nbsp|spaces?|thinsp|hair ?sp|emsp|ensp")
SIGNS = re.compile(
    r"['\" -]+|'s|n?dash|m?dash\w*|snds?|spaced .*|spnd.*|dot|·|eqm|bull|okina|hyphen|ndash|mdash|!|=|pi|degree|music|clarify"
)
TAGS = "math|chem|ce|sub|sup|br|p|h3|td|nowiki|code|syntaxhighlight|hiero|score"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_REFERENCE = re.compile(
    r"<ref\b[^<>]*/>|<ref\b[^<>]*>.*?</ref\s*>|<(gallery|timeline)\b.*?</\1\s*>",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(rf"<(?P<tag>{TAGS})\b[^<>]*>(?:(?P<inside>[^<>]*)</(?P=tag)\s*>)?", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
WORDS = 3  # before and after, to find the place in the reader's text
WORDS_OF_ONE_SIDE = 10  # where the line begins or ends with the template


@dataclass(frozen=True)
class Place:
    """A template or tag in a line of wikitext, with the words around it."""

    name: str
    line: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    inside: tuple[str, ...]  # words of its own content
    tokens: tuple[
        tuple[str, ...], tuple[str, ...]
    ]  # words and signs on both sides, for a tag that holds signs alone


@dataclass
class Counts:
    """What a dump's sentences lost."""

    pages: int = 0
    sentences: int = 0  # given by the reader
    places: int = 0  # templates and tags that show text, inside a line
    damaged: int = 0  # sentences given with text missing
    damaged_pages: int = 0
    damaged_by: Counter[str] = field(default_factory=Counter)
    struck_by: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, str, str]] = field(default_factory=list)


def pages(folder: Path) -> Iterator[Page]:
    """Articles of every dump in a folder, or of one dump."""
    dumps = sorted(folder.glob("*.bz2")) if folder.is_dir() else [folder]
    for dump in dumps:
        for shard in plan(dump, 1 << 40):
            for raw in raw_pages(dump, shard):
                page = parse_page(raw) if isinstance(raw, bytes) else raw
                if isinstance(page, Page):
                    yield page


def templates(text: str) -> list[tuple[int, int]]:
    """Spans of the outermost pairs of double braces."""
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
    """Words of a piece of wikitext without templates: what links show, no tags."""
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]", r"\1", wikitext)
    text = re.sub(r"\[(?:https?:|//)\S+\s*([^\[\]]*)\]", r"\1", text)
    return _WORD.findall(html.unescape(re.sub(r"<[^<>]*>|'{2,}", "", text)))


def places(wikitext: str) -> Iterator[Place]:
    """Templates and tags that show text, with other words on their line."""
    text = _REFERENCE.sub("", _COMMENT.sub("", wikitext))
    text = re.sub(r"^[ :]*\{\|.*?^[ ]*\|\}", "", text, flags=re.DOTALL | re.MULTILINE)  # tables
    spans = [(start, end, "") for start, end in templates(text)]
    spans += [
        (tag.start(), tag.end(), tag["tag"].lower())
        for tag in _TAG.finditer(text)
        if not any(start <= tag.start() < end for start, end, _ in spans)
    ]
    spans.sort()
    quiet = [_quiet(text[start:end], tag) for start, end, tag in spans]
    for number, (start, end, tag) in enumerate(spans):
        if quiet[number]:
            continue
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        last = len(text) if last < 0 else last
        line = text[first:last]
        if "\n" in text[start:end] or line.lstrip().startswith(
            ("|", "!", "{|", "=", "[[File", "[[Image", "[[file")
        ):
            continue
        before = _beside(text, spans, quiet, number, first, -1)
        after = _beside(text, spans, quiet, number, last, 1)
        if before is None or after is None or not (before or after):
            continue
        if len(before) + len(after) < WORDS:
            continue
        if tag:
            inside = words(_TAG.fullmatch(text[start:end])["inside"] or "")  # type: ignore[index]
        else:
            inside = words(max(text[start + 2 : end - 2].split("|")[1:], key=len, default=""))
        limit = WORDS if before and after else WORDS_OF_ONE_SIDE
        tokens = (_shown_tokens(text[first:start])[-4:], _shown_tokens(text[end:last])[:4])
        name = f"<{tag}>" if tag else template_name(text[start:end])
        yield Place(name, line, tuple(before[-limit:]), tuple(after[:limit]), tuple(inside), tokens)


def _shown_tokens(wikitext: str) -> tuple[str, ...]:
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?|\]\]|'{2,}|<[^<>]*>", "", wikitext)
    return tuple(_TOKEN.findall(html.unescape(text)))


def _quiet(piece: str, tag: str) -> bool:
    return not tag and SHOWS_NOTHING.match(template_name(piece)) is not None


def template_name(piece: str) -> str:
    """The name in lower case of a template given with its braces."""
    return (
        re.split(r"[|\n}]|(?<=[^#]):", piece[2:], maxsplit=1)[0].strip().lower().replace("_", " ")
    )


def _beside(
    text: str,
    spans: list[tuple[int, int, str]],
    quiet: list[bool],
    number: int,
    limit: int,
    step: int,
) -> list[str] | None:
    """Words on one side up to the next template or tag that shows text; None if that one touches."""
    pieces: list[str] = []
    at = spans[number][1] if step > 0 else spans[number][0]
    other = number + step
    while 0 <= other < len(spans) and (
        spans[other][0] < limit if step > 0 else spans[other][1] > limit
    ):
        start, end, _ = spans[other]
        piece = text[at:start] if step > 0 else text[end:at]
        pieces.append(piece)
        at = end if step > 0 else start
        if not quiet[other]:
            around = words("".join(pieces if step > 0 else pieces[::-1]))
            return around or None
        other += step
    pieces.append(text[at:limit] if step > 0 else text[limit:at])
    return words("".join(pieces if step > 0 else pieces[::-1]))


def lost(place: Place, text: str) -> int | None:
    """Where in the reader's text the words around a place follow each other with nothing between; None if nowhere."""
    before, after = (r"\W+".join(map(re.escape, side)) for side in (place.before, place.after))
    if place.name in ("<br>", "<p>", "<h3>", "<td>"):
        following = place.inside or place.after
        if not place.before or not following:
            return None
        match = re.search(rf"{before}[^\w\s]*{re.escape(following[0])}", text)
    elif SPACES.fullmatch(place.name) or SIGNS.fullmatch(place.name):
        gap = "" if SPACES.fullmatch(place.name) else r"\s?"  # a sign shows more than a blank
        match = re.search(rf"{before}{gap}{after}", text) if place.before and place.after else None
    elif place.name.startswith("<") and not place.inside and place.name != "<math>":
        match = re.search(
            r"\s*".join(re.escape(token) for side in place.tokens for token in side), text
        )
    elif (
        place.name == "<sup>"
        and place.before
        and place.before[-1].isdigit()
        and place.inside[0].isdigit()
    ):
        match = re.search(before + re.escape(place.inside[0]), text)  # 10<sup>6</sup> as 106
    elif place.before and place.after:
        match = re.search(rf"\b{before}\W*{after}\b", text)
    elif place.inside and re.search(r"\W+".join(map(re.escape, place.inside[:WORDS])), text):
        match = None  # a block of its own
    elif place.before:
        match = re.search(rf"\b{before}[^\w\n]*(?:\n|\Z)", text)
    else:
        match = re.search(rf"(?:\n|\A)[^\w\n]*{after}\b", text)
    return match.start() + len(match[0]) // 2 if match else None


def measure(folder: Path) -> Counts:
    """Count the sentences of a dump that lost text."""
    counts = Counts()
    for page in pages(folder):
        counts.pages += 1
        text = "\n".join(body for _, body in _sections(page.text, counts.struck_by))
        spans = list(_sentences(text))
        counts.sentences += len(spans)
        damaged: dict[tuple[int, int], str] = {}
        for place in places(page.text):
            counts.places += 1
            position = lost(place, text)
            if position is not None:
                span = next(
                    ((start, end) for start, end in spans if start <= position <= end),
                    (position, position),
                )
                damaged.setdefault(span, place.name)
            counts.examples.append((page.title, place.line, place.name))
        counts.damaged += len(damaged)
        counts.damaged_pages += bool(damaged)
        counts.damaged_by.update(damaged.values())
    return counts


def _sections(wikitext: str, struck: Counter[str]) -> list[tuple[str, str]]:
    """The reader's sections; one from before sentences were struck takes the text alone."""
    try:
        return sections(wikitext, struck)
    except TypeError:
        return sections(wikitext)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Sentences of a text, paragraph by paragraph."""
    for line in re.finditer(r"[^\n]+", text):
        for start, end in sentences(line[0]):
            yield line.start() + start, line.start() + end


def report(counts: Counts) -> dict[str, Any]:
    """The numbers of a dump."""
    struck = sum(counts.struck_by.values())
    total = counts.sentences + struck
    return {
        "articles": counts.pages,
        "sentences": total,
        "templates_and_tags_in_lines": counts.places,
        "with_a_hole_before_striking": counts.damaged + struck,
        "struck": struck,
        "struck_percent": round(100 * struck / total, 2),
        "struck_by": dict(counts.struck_by.most_common()),
        "damaged_left": counts.damaged,
        "damaged_percent": round(100 * counts.damaged / total, 2),
        "damaged_articles": counts.damaged_pages,
        "damaged_by": dict(counts.damaged_by.most_common()),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a dump, or a folder of dumps (.bz2)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        metavar="N",
        help="print N random lines and what the reader makes of them",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sentences that are shown")
    options = parser.parse_args()
    counts = measure(options.folder)
    numbers = report(counts)
    if options.json:
        print(json.dumps(numbers, indent=2, ensure_ascii=False))
    else:
        for name, value in numbers.items():
            shown = (
                ", ".join(f"{key} {count}" for key, count in value.items())
                if isinstance(value, dict)
                else value
            )
            print(f"{name.replace('_', ' '):>28}: {shown}")
    for title, line, name in random.Random(options.seed).sample(counts.examples, options.show):
        read = " ".join(text for _, text in sections(line))
        print(f"\n{title}, {name}\n  wikitext: {line}\n  reader:   {read or '(struck)'}")


if __name__ == "__main__":
    main()
