r"""Wikitext of one page -> its top-level sections as a reader of the page sees them.

(deng2022 section 4.) What never shows (comments, references, tables, pictures) is cut and
templates, formulas and tags are rendered by linear scanners *before* mwparserfromhell builds the
tree of what is left: links. A sentence that lacks a piece which the reader sees is left out and
counted. ``scanned_sections`` does without a tree: the counted fallback for pages on which the
parser stalls or dies.
"""

import json
import math
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
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

# Of unequal sides the shorter is the level, the other signs belong to the title.
_HEADING = re.compile(
    rf"^[ \t{GONE}{BREAK}]*(?!=[=\s]*$)(={{1,6}})([^\n]+)\1[ \t{GONE}]*$", re.MULTILINE
)
# A table or template that never ends, and the rows or parameters below it.
_UNCLOSED = re.compile(
    rf"^[ \t:{GONE}]*(?:\{{\|.*(?:\n[ \t]*[|!].*)*|\{{\{{.*(?:\n[ \t]*[|!].*)+)", re.MULTILINE
)
_UNMATCHED = re.compile(r"\{\{+|\}\}+|^[ \t]*\|\}", re.MULTILINE)
_NO_TEXT_LINK = re.compile(r"\[\[\s*(?:file|image|category)\s*:", re.IGNORECASE)
_INTERLANGUAGE = re.compile(
    r"\[\[(?:(?!(?:wp|mw|doi|voy)\b)[a-z]{2,3}(?:-[a-z]+)*|simple)\s*:(?!//)[^\[\]\n]*\]\]"
)
_COLON_LINK = re.compile(r"\[\[\s*:\s*")
_PIPE_TRICK = re.compile(r"\[\[([^\[\]|\n]+)\|\s*\]\]")
_QUOTES = re.compile(r"'{2,}")
_LINK_BRACKETS = re.compile(r"\[\[|\]\]")
# Single brackets may stand in a link's text, not in its target.
_LINK_TEXT = r"(?:[^\[\]|]|\[(?!\[)|\](?!\]))*"
_PIPED = re.compile(rf"\[\[(?:[^\[\]|]*\|)?(?:{_LINK_TEXT}\|)*({_LINK_TEXT})\]\]")
# Bold, italic, a tag or a quotation mark ends a link's address as a blank does.
_ADDRESS_END = re.compile(r"(\[(?:https?:|ftp:|//)(?:(?!'')[^\s\[\]<\"]){1,2000})(?=''|[<\"])")
_OUTSIDE = re.compile(r"\[(?:https?:|ftp:|mailto:|//)[^\s\]]*\s*([^\]]*)\]")
_SWITCHES = re.compile(
    r"__(?:NOTOC|FORCETOC|TOC|NOEDITSECTION|NEWSECTIONLINK|NONEWSECTIONLINK|NOGALLERY|HIDDENCAT"
    r"|EXPECTUNUSEDCATEGORY|INDEX|NOINDEX|STATICREDIRECT|NOTITLECONVERT|NOTC|NOCONTENTCONVERT|NOCC"
    r"|DISAMBIG|NOGLOBAL|START|END|EXPECTUNUSEDTEMPLATE)__"
)
_VARIANTS = re.compile(r"-\{(?:[a-zA-Z;-]*\|)?([^{}]*)\}-")
_NO_TEXT = re.compile(rf"(?:[\s*#:;.,{GONE}{TEMPLATE_HOLES}]|{ASIDE}[^{ASIDE_END}]*{ASIDE_END})*")
_NOTE = re.compile(rf"[{TEMPLATE_HOLES}]")
# {{Box}}'''Name''' is
_FURNITURE = re.compile(rf"^[{GONE}{TEMPLATE_HOLES}]*[{TEMPLATE_HOLES}]{GONE}(?=\w)")
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
# Soft hyphens, zero widths, marks of direction.
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff]")
_HALVES = re.compile("[\ud800-\udfff]")  # of a character, as &#xD800; names one: no file holds it
_NO_MARKUP = "{}<>=_'~"  # the tree is to see links and entities alone
_LEADING = re.compile(r"^[-*#:;|!]+")
_RESIDUE = re.compile(r"\[\[|\]\]")
_OPEN_WORDS = "of|is|are|was|were|the|an?|and|or|by|in|at|to|with|from|as|for|about|than"
_OPEN_END = re.compile(rf"(?:[:,(–=/-]|\b(?:{_OPEN_WORDS}))[\s{GONE}]*$")
_SENTENCE_END = re.compile(rf"[.!?…](?:['\"”’)\]]|{GONE})*[\s{GONE}]*$")
_BOOT = (
    "import sys; sys.path.insert(0, {!r}); "
    "from longform.datasets.wikipedia.wikitext import serve; serve({}, {}, {})"
)
Sections = list[tuple[str, str]]
Marked = tuple[Sections, list[str]]  # sections with holes in them, and the names of the holes


def sections(wikitext: str, struck: Counter[str] | None = None) -> Sections:
    """Title and plain text of the introduction and of every level-two section, in order.

    A sentence in which a template or tag shows text that is not known is left out. The parser may
    raise anything.

    Args:
        wikitext: of a page.
        struck: counts the sentences that are left out, by the name of the template or tag; added
            to.
    """
    return without_holes(*marked_sections(wikitext, _by_tree), struck)


def scanned_sections(wikitext: str, struck: Counter[str] | None = None) -> Sections:
    """As :func:`sections` by regular expressions alone; linear in the page's length."""
    return without_holes(*marked_sections(wikitext, _by_scanner), struck)


def _by_tree(text: str) -> str:
    """Text without its links, by a parser."""
    import mwparserfromhell

    return str(mwparserfromhell.parse(text).strip_code(collapse=False))


def _by_scanner(text: str) -> str:
    """Text without its links, by regular expressions."""
    for _ in range(3):  # links inside links
        text, links = _PIPED.subn(r"\1", text)
        if not links:
            break
    text = _OUTSIDE.sub(r"\1", text)
    return decoded(text)


def marked_sections(wikitext: str, strip: Callable[[str], str]) -> Marked:
    """Sections in which a hole, a private-use character, stands for each text that is not known.

    Args:
        wikitext: of a page.
        strip: removes the markup of links from a text, and decodes entities.

    Returns:
        The sections, and the templates or tags that left the holes, by the holes' numbers.
    """
    holes = Holes()
    text = seen_part(wikitext, holes)
    # 1. Where sections begin and end.
    headings = [match for match in _HEADING.finditer(text) if len(match[1]) <= 2]
    starts = [0, *(match.end() for match in headings)]
    ends = [*(match.start() for match in headings), len(text)]
    titles = [ABSTRACT, *(match[2] for match in headings)]
    # 2. Their titles and texts, in which headings of subsections are ends of paragraphs.
    marked: Sections = []
    for title, start, end in zip(titles, starts, ends, strict=True):
        body = _HEADING.sub(BREAK, text[start:end])
        heading = HOLE.sub("", title.replace(LINE, " ").replace(BREAK, " "))
        shown = " ".join(readable([heading], strip))
        marked.append((shown, PARAGRAPH.join(readable(paragraphs(body), strip))))
    return marked, holes.names


def without_holes(
    marked: Sections, names: list[str], struck: Counter[str] | None = None
) -> Sections:
    """Sections without the sentences that have a hole.

    Args:
        marked: sections of :func:`marked_sections`.
        names: of the holes' templates, of the same function.
        struck: counts the sentences that are left out, under the name of their first hole; added
            to.
    """
    if HOLE.search("".join(text for _, text in marked)) is None:
        return marked
    sections: Sections = []
    for title, text in marked:
        filled = []
        for paragraph in text.split(PARAGRAPH):
            if HOLE.search(paragraph):
                paragraph = _sentences_without_holes(paragraph, names, struck)
            if paragraph:
                filled.append(paragraph)
        sections.append((title, PARAGRAPH.join(filled)))
    return sections


def _sentences_without_holes(paragraph: str, names: list[str], struck: Counter[str] | None) -> str:
    """The sentences of a paragraph that have no hole; arguments as of :func:`without_holes`."""
    from longform.text.sentences import sentences

    complete = []
    for start, end in sentences(paragraph):
        hole = HOLE.search(paragraph, start, end)
        if hole is None:
            complete.append(paragraph[start:end])
        elif struck is not None:
            struck[hole_name(hole[0], names)] += 1
    return " ".join(complete)


def seen_part(wikitext: str, holes: Holes | None = None) -> str:
    """What a reader of the page sees of wikitext; only links and lines are left as markup.

    Args:
        wikitext: of a page.
        holes: texts that are not known; added to.

    Returns:
        The text with the characters of :mod:`.marks` in it.
    """
    holes = Holes() if holes is None else holes
    # 1. Tags and templates, those that are never closed as well.
    text = without_extension_tags(without_marks(wikitext), holes)
    text = without_templates(text, holes)
    text = _UNCLOSED.sub(BREAK, text)
    text = _UNMATCHED.sub(GONE, text)
    text = without_html(_ADDRESS_END.sub(r"\1 ", text))
    # 2. Links that are not seen where they stand, and short forms of others.
    text = without_media(text)
    text = _INTERLANGUAGE.sub(GONE, text)
    text = _COLON_LINK.sub("[[", text)
    text = _PIPE_TRICK.sub(_without_qualifier, text)
    # 3. Switches, variants of a language, bold and italic.
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
    first, semicolon, _ = match[1].partition(";")
    if not semicolon:
        return match[1]
    return re.sub(r"^\s*[a-z]{2,3}(?:-[a-z]+)?\s*:\s*", "", first)


def without_quotes(text: str) -> str:
    """Cut the apostrophes of bold and italic line by line, before the tree.

    Empty or unbalanced runs confuse it. The rules are MediaWiki's: of four apostrophes one is
    shown, of more than five all but five; where bold and italic are both unbalanced in a line one
    bold is an apostrophe and italic, the first one after a single letter, else after a word, else
    after a blank.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if "''" in line:
            lines[number] = _without_quotes(line)
    return "\n".join(lines)


def _without_quotes(line: str) -> str:
    """A line without the apostrophes that make words bold and italic.

    Of a run of apostrophes two are italic, three bold, five both; what is over is shown.
    """
    # 1. Apostrophes of each run that are shown, and how many are markup.
    shown: dict[int, int] = {}
    markup: dict[int, int] = {}
    for run in _QUOTES.finditer(line):
        length = len(run[0])
        shown[run.start()] = 1 if length == 4 else max(0, length - 5)
        markup[run.start()] = length - shown[run.start()]
    # 2. Bold and italic, of which five apostrophes are both, are closed.
    bold = sum(length in (3, 5) for length in markup.values())
    italic = sum(length in (2, 5) for length in markup.values())
    if bold % 2 and italic % 2:
        apostrophe = _bold_with_apostrophe(line, shown, markup)
        if apostrophe is not None:
            shown[apostrophe] += 1
    return _QUOTES.sub(lambda run: "'" * shown[run.start()] or GONE, line)


def _bold_with_apostrophe(
    line: str, shown: Mapping[int, int], markup: Mapping[int, int]
) -> int | None:
    """Which bold of an unbalanced line is an apostrophe and italic, as in ``l'''amour''``.

    The rule is that of ``doQuotes`` in MediaWiki's parser, which looks at two bytes before each
    bold: a blank; one byte after a blank, which is a word of one letter; or anything else, a word.
    So "é" is no letter alone, nor is one at the start of a line, which is no blank; and the first
    of four apostrophes, which is shown, is one after a blank.

    Args:
        line: with its apostrophes.
        shown: of each run of apostrophes its start and how many of them are shown.
        markup: how many are markup.

    Returns:
        The start of the run, the first after a letter, else after a word, else after a blank; None
        where no run is bold alone.
    """
    candidates: dict[str, int] = {}
    for start, length in markup.items():
        if length != 3:
            continue
        visible = line[:start][-2:] + "'" * shown[start]
        before = visible.encode("utf-8", "surrogatepass")[-2:]  # fewer at the start of the line
        if before.endswith(b" "):
            candidates.setdefault("after a blank", start)
        elif before[:-1] == b" ":
            candidates.setdefault("after a letter", start)
        else:
            candidates.setdefault("after a word", start)
    for kind in ("after a letter", "after a word", "after a blank"):
        if kind in candidates:
            return candidates[kind]
    return None


def without_media(text: str) -> str:
    """Cut links to files and categories, with their captions and the links in these.

    A link that never closes stays.
    """
    opened: list[tuple[int, bool]] = []
    spans: list[tuple[int, int]] = []
    for mark in _LINK_BRACKETS.finditer(text):
        if mark.group() == "[[":
            opened.append((mark.start(), bool(_NO_TEXT_LINK.match(text, mark.start()))))
        elif opened:
            start, media = opened.pop()
            if media:
                spans.append((start, mark.end()))
    return _cut(text, spans)


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    """The text without some spans, of which one may lie in another."""
    pieces = []
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            pieces.extend([text[position:start], GONE])
        position = max(position, end)
    pieces.append(text[position:])
    return "".join(pieces)


def paragraphs(body: str) -> list[str]:
    """Paragraphs as MediaWiki makes them of lines.

    A list item or an indented line is one, a single line break is a blank.
    """
    texts: list[str] = []
    for block in body.split(BREAK):
        running: list[str] = []  # lines of the paragraph that is going on
        for line in block.split("\n"):
            # An empty line, a rule and an item end what is going on.
            item = _LIST_ITEM.match(line)
            ends = _NO_TEXT.fullmatch(line) or re.fullmatch(r"\s*-{4,}.*", line)
            if running and (ends or item):
                texts.append(" ".join(running))
                running = []
            if ends:
                continue
            if item:
                texts.append(_without_note_at_end(line[item.end() :]))
            elif line.startswith(" ") and running:  # shown line by line
                running.append(LINE + line)
            else:
                running.append(line)
        if running:
            texts.append(" ".join(running))
    return [_without_notes(paragraph) for paragraph in texts]


def _without_notes(paragraph: str) -> str:
    """A paragraph without the holes of templates that can show no words of its sentences.

    These are notes, which stand behind the end of a sentence, and furniture such as boxes, which
    stands directly before the paragraph's first word.
    """
    paragraph = _FURNITURE.sub(GONE, paragraph)
    pieces = []
    position = 0
    for hole in _NOTE.finditer(paragraph):
        pieces.append(paragraph[position : hole.start()])
        position = hole.end()
        after = paragraph[position:].lstrip(GONE)
        at_end = not after or after[0].isspace() or _NOTE.match(after)
        follows_sentence = at_end and _SENTENCE_END.search("".join(pieces)[-20:])
        pieces.append(GONE if follows_sentence else hole[0])
    pieces.append(paragraph[position:])
    return "".join(pieces)


def _without_note_at_end(item: str) -> str:
    """A list item without the holes of templates at its end.

    They stay where the words before them cannot end an item ("born in", "born:").
    """
    bare = item.rstrip(f" \t{GONE}")
    while bare and _NOTE.fullmatch(bare[-1]):
        rest = bare[:-1].rstrip(f" \t{GONE}")
        if rest and not _NOTE.fullmatch(rest[-1]) and _OPEN_END.search(rest):
            return item
        bare = rest
    return bare + GONE


def readable(parts: list[str], strip: Callable[[str], str]) -> list[str]:
    """Plain text of paragraphs: no links, entities and marks. Empty ones are left out.

    Args:
        parts: paragraphs, in which no other markup is left.
        strip: removes the markup of links from a text, and decodes entities.
    """
    # 1. Signs that are no markup here.
    plain_parts = []
    for part in filter(None, parts):
        plain_parts.append(_LEADING.sub(lambda signs: literal(signs[0]), part))
    text = "\n\n".join(plain_parts)
    for sign in _NO_MARKUP:
        text = text.replace(sign, literal(sign))
    # 2. Links and marks.
    texts = map(tidy, strip(text).split("\n\n"))
    return list(filter(None, texts))


def tidy(text: str) -> str:
    """Clean a text: one blank between words, no empty brackets where something was cut."""
    text = _RESIDUE.sub(GONE, text)
    if GONE in text:
        text = _EMPTY_PAIR.sub(GONE, text)
        text = _BAD_CLOSING.sub(")", _BAD_OPENING.sub("(", text))
        text = _BEFORE_STOP.sub("", text)
    text = _UNSEEN.sub("", plain(text.replace("\n", " ").replace(LINE, "\n")))
    text = _HALVES.sub("\ufffd", text)
    lines = [_SPACE.sub(" ", line).strip() for line in text.split("\n")]
    return "\n".join(filter(None, lines))


@dataclass
class GuardedParser:
    """Parses pages in a child process, with limits on time and memory.

    It is a context manager, which ends the child.

    Attributes:
        page_seconds: CPU seconds that a page may cost.
        memory: bytes of address space that the child may have; worker and parser stay under 1 GB.
        wall_factor: the child is ended after ``wall_factor * page_seconds`` seconds on the clock,
            so many that other work on the machine does not cause it.
        struck: sentences left out of all pages so far, by the template or tag that left a hole.
    """

    page_seconds: int = 20
    memory: int = 800 * 2**20
    wall_factor: int = 30
    struck: Counter[str] = field(default_factory=Counter)
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _pipe: Any = field(default=None, repr=False)  # to the child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._end()

    def read(self, wikitext: str) -> tuple[Sections | None, str]:
        """Parse a page, or scan it where the parser fails.

        Returns:
            The sections, and the outcome: ``parsed``, or why the parser failed and ``: scanned``;
            None and ``unreadable`` where the scanner failed too.
        """
        marked, outcome = self._ask("parse", wikitext)
        if marked is not None:
            return without_holes(*marked, self.struck), "parsed"
        scanned, _ = self._ask("scan", wikitext)
        if scanned is None:
            return None, "unreadable"
        return without_holes(*scanned, self.struck), f"{outcome}: scanned"

    def _ask(self, mode: str, wikitext: str) -> tuple[Marked | None, str]:
        """Send the child a page; returns its sections with holes and ``parsed``, or None and why.

        Args:
            mode: ``parse``, or ``scan`` for regular expressions alone.
            wikitext: of the page.
        """
        if self._child is None:
            self._child = self._started()
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
        # JSON has lists in place of tuples.
        return ([(title, text) for title, text in marked], names), outcome

    def _started(self) -> subprocess.Popen[bytes]:
        """Start the child, with a pipe to it."""
        self._pipe, child_end = Pipe()
        packages = str(Path(__file__).parents[3])
        code = _BOOT.format(packages, child_end.fileno(), self.page_seconds, self.memory)
        child = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[child_end.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        child_end.close()
        return child

    def _end(self, stalled: bool = False) -> str:
        """End the child.

        Args:
            stalled: whether it did not answer in time; then it is killed.

        Returns:
            ``time-out`` or ``parser died``; ``ended`` where there is no child.
        """
        if self._child is None:
            return "ended"
        child, self._child = self._child, None
        self._pipe.close()
        if stalled:
            child.kill()
        try:
            child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        out_of_time = stalled or child.returncode == -signal.SIGXCPU
        return "time-out" if out_of_time else "parser died"


def serve(pipe: int, page_seconds: int, memory: int) -> None:
    """The child's loop, until its parent is gone.

    The kernel ends it (SIGXCPU) after a page's seconds of CPU, in C code as well.

    Args:
        pipe: number of the file that leads to the parent.
        page_seconds: of CPU that a page may cost.
        memory: bytes of address space.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    parent = Connection(pipe)
    with suppress(EOFError):
        while request := parent.recv_bytes():
            mode, wikitext = json.loads(request)
            # 1. The limit counts what the child has used so far.
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = math.ceil(used.ru_utime + used.ru_stime) + page_seconds
            _, hard_limit = resource.getrlimit(resource.RLIMIT_CPU)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, hard_limit))
            # 2. The page.
            strip = _by_tree if mode == "parse" else _by_scanner
            answer: tuple[Marked | None, str]
            try:
                answer = marked_sections(wikitext, strip), "parsed"
            except MemoryError:
                answer = None, "out of memory"
            except Exception as error:
                answer = None, f"parser raised {type(error).__name__}"
            parent.send_bytes(json.dumps(answer).encode())
