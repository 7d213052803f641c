r"""Wikitext of one page -> its top-level sections as plain text, as a reader of the page sees it (deng2022 section 4).

What never shows (comments, references, tables, pictures) is cut and templates, formulas and tags are rendered by linear scanners
*before* mwparserfromhell builds the tree of what is left: links. A sentence that lacks a piece which the reader sees is left out and
counted. ``scanned_sections`` does without a tree: the counted fallback for pages on which the parser stalls or dies.
"""

import json
import math
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from longform.datasets.wikipedia.marks import (
    ASIDE,
    ASIDE_END,
    BREAK,
    GONE,
    HOLE,
    LINE,
    TEMPLATE_HOLES,
    Holes,
    decoded,
    hole_name,
    literal,
    plain,
    without_marks,
)
from longform.datasets.wikipedia.tags import without_extension_tags, without_html
from longform.datasets.wikipedia.templates import without_templates

ABSTRACT = "abstract"  # deng2022 section 4: the introduction becomes a section of this title
PARAGRAPH = "\n"  # between the paragraphs of a section

_HEADING = (
    re.compile(  # of unequal sides the shorter is the level, the other signs belong to the title
        rf"^[ \t{GONE}{BREAK}]*(?!=[=\s]*$)(={{1,6}})([^\n]+)\1[ \t{GONE}]*$", re.MULTILINE
    )
)
_UNCLOSED = re.compile(  # a table or template that never ends, and the rows or parameters below it
    rf"^[ \t:{GONE}]*(?:\{{\|.*(?:\n[ \t]*[|!].*)*|\{{\{{.*(?:\n[ \t]*[|!].*)+)", re.MULTILINE
)
_UNMATCHED = re.compile(r"\{\{+|\}\}+|^[ \t]*\|\}", re.MULTILINE)
_NO_TEXT_LINK = re.compile(r"\[\[\s*(?:file|image|category)\s*:", re.IGNORECASE)
_INTERLANGUAGE = re.compile(
    r"\[\[(?:(?!(?:wp|mw|doi|voy)\b)[a-z]{2,3}(?:-[a-z]+)+|(?!(?:wp|mw|doi|voy)\b)[a-z]{2,3}|simple)\s*:(?!//)[^\[\]\n]*\]\]"
)
_COLON_LINK = re.compile(r"\[\[\s*:\s*")
_PIPE_TRICK = re.compile(r"\[\[([^\[\]|\n]+)\|\s*\]\]")
_QUOTES = re.compile(r"'{2,}")
_LINK_BRACKETS = re.compile(r"\[\[|\]\]")
_PIPED = re.compile(  # single brackets may stand in the text, not in the target
    r"\[\[(?:[^\[\]|]*\|)?(?:(?:[^\[\]|]|\[(?!\[)|\](?!\]))*\|)*((?:[^\[\]|]|\[(?!\[)|\](?!\]))*)\]\]"
)
_OUTSIDE = re.compile(r"\[(?:https?:|ftp:|mailto:|//)[^\s\]]*\s*([^\]]*)\]")
_SWITCHES = re.compile(
    r"__(?:NOTOC|FORCETOC|TOC|NOEDITSECTION|NEWSECTIONLINK|NONEWSECTIONLINK|NOGALLERY|HIDDENCAT|EXPECTUNUSEDCATEGORY|INDEX|NOINDEX"
    r"|STATICREDIRECT|NOTITLECONVERT|NOTC|NOCONTENTCONVERT|NOCC|DISAMBIG|NOGLOBAL|START|END|EXPECTUNUSEDTEMPLATE)__"
)
_VARIANTS = re.compile(r"-\{(?:[a-zA-Z;-]*\|)?([^{}]*)\}-")
_NO_TEXT = re.compile(rf"(?:[\s*#:;.,{GONE}{TEMPLATE_HOLES}]|{ASIDE}[^{ASIDE_END}]*{ASIDE_END})*")
_NOTE = re.compile(rf"[{TEMPLATE_HOLES}]")
_FURNITURE = re.compile(
    rf"^[{GONE}{TEMPLATE_HOLES}]*[{TEMPLATE_HOLES}]{GONE}(?=\w)"
)  # {{Box}}'''Name''' is
_LIST_ITEM = re.compile(rf"[ \t{GONE}]*([*#:;]+)\s*")
_EMPTY_PAIR = re.compile(
    rf"[(\[][\s;,:–-]*{GONE}[\s;,:–{GONE}-]*[)\]]|\([\s;,:–{GONE}-]*{GONE}[\s;,:–-]*\)"
)
_BAD_OPENING = re.compile(rf"\((?=[\s;,:{GONE}]*{GONE})[\s{GONE}]*(?:[;,:]+[\s{GONE}]*)+")
_BAD_CLOSING = re.compile(rf"[\s;,:]*(?:[;,:][\s]*{GONE}|{GONE}[\s{GONE}]*[;,:])[\s{GONE}]*\)")
_BEFORE_STOP = re.compile(
    rf"[ \t]+{GONE}[ \t{GONE}]*(?=[,.;:](?:\s|$))|{GONE}[ \t{GONE}]+(?=[,.;:](?:\s|$))"
)
_SPACE = re.compile(r"[^\S\n]+")
_UNSEEN = re.compile(
    "[\u00ad\u200b\u200e\u200f\u2060\ufeff]"
)  # soft hyphens, zero widths, marks of direction
_HALVES = re.compile("[\ud800-\udfff]")  # of a character, as &#xD800; names one: no file holds it
_NO_MARKUP = "{}<>=_'~"  # the tree is to see links and entities alone
_LEADING = re.compile(r"^[-*#:;|!]+")
_RESIDUE = re.compile(r"\[\[|\]\]")
_OPEN_END = re.compile(
    rf"(?:[:,(–=/-]|\b(?:of|is|are|was|were|the|an?|and|or|by|in|at|to|with|from|as|for|about|than))[\s{GONE}]*$"
)
_SENTENCE_END = re.compile(rf"[.!?…](?:['\"”’)\]]|{GONE})*[\s{GONE}]*$")
_BOOT = "import sys; sys.path.insert(0, {!r}); from longform.datasets.wikipedia.wikitext import serve; serve({}, {}, {})"
Sections = list[tuple[str, str]]


def sections(wikitext: str, struck: Counter[str] | None = None) -> Sections:
    """Title and plain text of the introduction and of every level-two section, in order; the parser may raise anything.

    A sentence in which a template or tag shows text that is not known is left out; ``struck`` counts them by that name.
    """
    return without_holes(*marked_sections(wikitext, _by_tree), struck)


def scanned_sections(wikitext: str, struck: Counter[str] | None = None) -> Sections:
    """The same shape by regular expressions and a bracket scanner alone; linear in the page's length."""
    return without_holes(*marked_sections(wikitext, _by_scanner), struck)


def _by_tree(text: str) -> str:
    import mwparserfromhell

    return str(mwparserfromhell.parse(text).strip_code(collapse=False))


def _by_scanner(text: str) -> str:
    for _ in range(3):  # links inside links
        text, links = _PIPED.subn(r"\1", text)
        if not links:
            break
    text = _OUTSIDE.sub(r"\1", text)
    return decoded(text)


def marked_sections(wikitext: str, strip: Callable[[str], str]) -> tuple[Sections, list[str]]:
    """Sections in which a character stands for each text that is not known, and the names of these characters."""
    holes = Holes()
    text = seen_part(wikitext, holes)
    headings = [match for match in _HEADING.finditer(text) if len(match[1]) <= 2]
    starts = [0, *(match.end() for match in headings)]
    ends = [*(match.start() for match in headings), len(text)]
    titles = [ABSTRACT, *(match[2] for match in headings)]
    found: Sections = []
    for title, start, end in zip(titles, starts, ends, strict=True):
        body = _HEADING.sub(BREAK, text[start:end])
        heading = HOLE.sub("", title.replace(LINE, " ").replace(BREAK, " "))
        found.append(
            (
                " ".join(readable([heading], strip)),
                PARAGRAPH.join(readable(paragraphs(body), strip)),
            )
        )
    return found, holes.names


def without_holes(
    marked: Sections, names: list[str], struck: Counter[str] | None = None
) -> Sections:
    """Sections without the sentences that have a hole; ``struck`` counts them, under the name of their first hole."""
    if HOLE.search("".join(text for _, text in marked)) is None:
        return marked
    from longform.text.sentences import sentences

    found: Sections = []
    for title, text in marked:
        kept = []
        for paragraph in text.split(PARAGRAPH):
            if HOLE.search(paragraph):
                whole = []
                for start, end in sentences(paragraph):
                    hole = HOLE.search(paragraph, start, end)
                    if hole is None:
                        whole.append(paragraph[start:end])
                    elif struck is not None:
                        struck[hole_name(hole[0], names)] += 1
                paragraph = " ".join(whole)
            if paragraph:
                kept.append(paragraph)
        found.append((title, PARAGRAPH.join(kept)))
    return found


def seen_part(wikitext: str, holes: Holes | None = None) -> str:
    """The wikitext that is seen, with links and lines alone left as markup; the characters of :mod:`.marks` stand in it."""
    holes = Holes() if holes is None else holes
    text = without_extension_tags(without_marks(wikitext), holes)
    text = without_templates(text, holes)
    text = _UNMATCHED.sub(GONE, _UNCLOSED.sub(BREAK, text))
    text = without_html(text)
    text = _INTERLANGUAGE.sub(GONE, without_media(text))
    text = _PIPE_TRICK.sub(_without_qualifier, _COLON_LINK.sub("[[", text))
    text = _SWITCHES.sub(GONE, text)
    if "-{" in text:
        text = _VARIANTS.sub(_first_variant, text)
    return without_quotes(text)


def _without_qualifier(match: re.Match[str]) -> str:
    """``[[Foo (bar)|]]`` shows ``Foo``."""
    shown = re.sub(r"\s*\([^()]*\)$|,.*$", "", match[1].rsplit(":", 1)[-1]).strip()
    return f"[[{match[1]}|{shown}]]"


def _first_variant(match: re.Match[str]) -> str:
    """``-{zh-hans:a; zh-hant:b}-`` shows its first."""
    first = match[1].split(";")[0]
    return re.sub(r"^\s*[a-z]{2,3}(?:-[a-z]+)?\s*:\s*", "", first) if ";" in match[1] else match[1]


def without_quotes(text: str) -> str:
    """Cut the apostrophes of bold and italic line by line, before the tree: empty or unbalanced runs confuse it.

    The rules are MediaWiki's: of four apostrophes one is shown, of more than five all but five; where bold and italic are both
    unbalanced in a line one bold is an apostrophe and italic, the first one after a single letter, else after a word, else after a blank.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if "''" in line:
            lines[number] = _without_quotes(line)
    return "\n".join(lines)


def _without_quotes(line: str) -> str:
    runs = list(_QUOTES.finditer(line))
    shown = {
        run.start(): max(0, len(run[0]) - 5) if len(run[0]) > 5 else int(len(run[0]) == 4)
        for run in runs
    }
    lengths = {run.start(): len(run[0]) - shown[run.start()] for run in runs}
    bold = sum(length in (3, 5) for length in lengths.values())
    italic = sum(length in (2, 5) for length in lengths.values())
    if bold % 2 and italic % 2:
        candidates: dict[str, int] = {}
        for run in runs:
            if lengths[run.start()] == 3:
                before = line[: run.start()][-2:]
                kind = "blank" if before[-1:] == " " else "letter" if before[:-1] == " " else "word"
                candidates.setdefault(kind, run.start())
        for kind in ("letter", "word", "blank"):
            if kind in candidates:
                shown[candidates[kind]] += 1
                break
    return _QUOTES.sub(lambda run: "'" * shown[run.start()] or GONE, line)


def without_media(text: str) -> str:
    """Cut links to files and categories, captions and the links inside them included; one that never closes stays."""
    opened: list[tuple[int, bool]] = []
    spans: list[tuple[int, int]] = []
    for mark in _LINK_BRACKETS.finditer(text):
        if mark.group() == "[[":
            opened.append((mark.start(), bool(_NO_TEXT_LINK.match(text, mark.start()))))
        elif opened:
            start, media = opened.pop()
            spans += [(start, mark.end())] if media else []
    return _cut(text, spans)


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    kept, position = [], 0
    for start, end in sorted(spans):
        if start >= position:
            kept += [text[position:start], GONE]
        position = max(position, end)
    return "".join(kept) + text[position:]


def paragraphs(body: str) -> list[str]:
    """Paragraphs as MediaWiki makes them of lines: a list item or an indented line is one, a single line break is a blank."""
    found: list[str] = []
    running: list[str] = []

    def close() -> None:
        if running:
            found.append(" ".join(running))
            running.clear()

    for block in body.split(BREAK):
        for line in block.split("\n"):
            item = _LIST_ITEM.match(line)
            if _NO_TEXT.fullmatch(line) or re.fullmatch(r"\s*-{4,}.*", line):
                close()
            elif item:
                close()
                found.append(_without_note_at_end(line[item.end() :]))
            elif line.startswith(" "):  # shown line by line
                running.append((LINE if running else "") + line)
            else:
                running.append(line)
        close()
    return [_without_notes(paragraph) for paragraph in found]


def _without_notes(paragraph: str) -> str:
    """Without templates that are not known but only follow a sentence, or stand against its first word: notes and furniture."""
    paragraph = _FURNITURE.sub(GONE, paragraph)
    pieces, position = [], 0
    for hole in _NOTE.finditer(paragraph):
        pieces.append(paragraph[position : hole.start()])
        position = hole.end()
        after = paragraph[position:].lstrip(GONE)
        ends = not after or after[0].isspace() or _NOTE.match(after)
        pieces.append(GONE if ends and _SENTENCE_END.search("".join(pieces)[-20:]) else hole[0])
    return "".join([*pieces, paragraph[position:]])


def _without_note_at_end(item: str) -> str:
    """A list item without templates that are not known at its end, unless the words before ask for more."""
    bare = item.rstrip(f" \t{GONE}")
    while bare and _NOTE.fullmatch(bare[-1]):
        rest = bare[:-1].rstrip(f" \t{GONE}")
        if rest and not _NOTE.fullmatch(rest[-1]) and _OPEN_END.search(rest):
            return item
        bare = rest
    return bare + GONE


def readable(parts: list[str], strip: Callable[[str], str]) -> list[str]:
    """Paragraphs without links, entities and marks, those that are empty left out."""
    text = "\n\n".join(
        _LEADING.sub(lambda match: literal(match[0]), part) for part in parts if part
    )
    for sign in _NO_MARKUP:
        text = text.replace(sign, literal(sign))
    return [shown for paragraph in strip(text).split("\n\n") if (shown := tidy(paragraph))]


def tidy(text: str) -> str:
    """One blank between words, no traces of what was cut, nothing left of markup that never closed."""
    text = _RESIDUE.sub(GONE, text)
    if GONE in text:
        text = _EMPTY_PAIR.sub(GONE, text)
        text = _BAD_CLOSING.sub(")", _BAD_OPENING.sub("(", text))
        text = _BEFORE_STOP.sub("", text)
    text = _UNSEEN.sub("", plain(text.replace("\n", " ").replace(LINE, "\n")))
    text = _HALVES.sub("\ufffd", text)
    lines = (_SPACE.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


@dataclass
class GuardedParser:
    """Reads pages in a child process; a context manager, since the child must be ended.

    A page may cost ``page_seconds`` of CPU and the child ``memory`` bytes of address space, so that worker and parser stay under 1 GB;
    after ``wall_factor`` seconds per CPU second it counts as asleep: a crowded machine must not trip it.
    """

    page_seconds: int = 20
    memory: int = 800 * 2**20
    wall_factor: int = 30
    struck: Counter[str] = field(
        default_factory=Counter
    )  # sentences left out of all pages, by what left a hole
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _pipe: Any = field(default=None, repr=False)  # to the child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._end()

    def read(self, wikitext: str) -> tuple[Sections | None, str]:
        """Sections and ``parsed``; or the scanner's and why; or None and ``unreadable`` if the scanner fails, too."""
        marked, outcome = self._ask("parse", wikitext)
        if marked is not None:
            return without_holes(*marked, self.struck), "parsed"
        scanned, _ = self._ask("scan", wikitext)
        if scanned is None:
            return None, "unreadable"
        return without_holes(*scanned, self.struck), f"{outcome}: scanned"

    def _ask(self, mode: str, wikitext: str) -> tuple[tuple[Sections, list[str]] | None, str]:
        if self._child is None:
            self._pipe, theirs = Pipe()
            code = _BOOT.format(
                str(Path(__file__).parents[3]), theirs.fileno(), self.page_seconds, self.memory
            )
            command, null = [sys.executable, "-c", code], subprocess.DEVNULL
            self._child = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=null, stdout=null, stderr=null
            )
            theirs.close()
        try:
            self._pipe.send_bytes(json.dumps([mode, wikitext]).encode())
            if not self._pipe.poll(self.wall_factor * self.page_seconds):
                return None, self._end(stalled=True)
            answer, outcome = json.loads(self._pipe.recv_bytes())
        except (OSError, EOFError):
            return None, self._end()
        if answer is None:
            return None, outcome
        marked, names = answer
        return ([(title, text) for title, text in marked], names), outcome

    def _end(self, stalled: bool = False) -> str:
        if self._child is None:
            return "ended"
        child, self._child = self._child, None
        self._pipe.close()
        child.kill() if stalled else None
        try:
            child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return (
            "time-out" if stalled or child.returncode == -24 else "parser died"
        )  # 24: SIGXCPU, CPU seconds used up


def serve(pipe: int, page_seconds: int, memory: int) -> None:
    """The child's loop, until its parent is gone; the kernel ends it (SIGXCPU) after a page's CPU seconds, in C code as well."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    parent = Connection(pipe)
    with suppress(EOFError):
        while asked := parent.recv_bytes():
            mode, wikitext = json.loads(asked)
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = math.ceil(used.ru_utime + used.ru_stime) + page_seconds
            resource.setrlimit(
                resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1])
            )
            answer: tuple[tuple[Sections, list[str]] | None, str]
            try:
                answer = (
                    marked_sections(wikitext, _by_tree if mode == "parse" else _by_scanner),
                    "parsed",
                )
            except MemoryError:
                answer = None, "out of memory"
            except Exception as error:
                answer = None, f"parser raised {type(error).__name__}"
            parent.send_bytes(json.dumps(answer).encode())
