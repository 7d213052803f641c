r"""Wikitext of one page -> its top-level sections as plain text (deng2022 section 4: mwparserfromhell, markup stripped).

A linear scanner cuts what never shows (comments, references, templates, tables) *before* the tree is built: most of a page.
``scanned_sections`` does without a tree: the counted fallback for pages on which the parser stalls or dies."""

import html
import json
import math
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

ABSTRACT = "abstract"  # deng2022 section 4: the introduction becomes a section of this title
NESTING = 40  # MediaWiki itself stops expanding templates at depth 40 ($wgMaxTemplateDepth)

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNSEEN_TAGS = (
    "ref|gallery|math|chem|ce|score|timeline|imagemap|templatedata|graph|mapframe|hiero|syntaxhighlight|source"
)
_EMPTY_TAG = re.compile(rf"<(?:{_UNSEEN_TAGS}|references|section|nowiki)\b[^<>]*/>", re.IGNORECASE)
_UNSEEN_TAG = re.compile(
    # a lookahead and its backreference stand for a possessive repeat, which Python 3.11.2 gets wrong beside groups
    rf"<(?P<name>{_UNSEEN_TAGS}|references)\b[^<>]*(?<!/)>(?=(?P<inside>(?:(?!</?(?P=name)\b).)*))(?P=inside)</(?P=name)\s*>",
    re.IGNORECASE | re.DOTALL,
)
_BRACKETS = re.compile(r"\{{2,}|\}{2,}|^[ \t:]*\{\||^[ \t]*\|\}(?!\})", re.MULTILINE)
_HEADING = re.compile(r"^(={1,6})([^\n]+?)(?<!=)\1[ \t]*$", re.MULTILINE)
_NO_TEXT_LINK = re.compile(r"\[\[\s*:?(?:file|image|media|category)\s*:", re.IGNORECASE)
_INTERLANGUAGE = re.compile(r"\[\[[a-z]{2,3}(?:-[a-z]+)*:[^\[\]|\n]*\]\]")
_QUOTES = re.compile(r"'{2,}")
_FOUR = re.compile(r"(?<=\w)'{4}(?=\w)")  # elsewhere four are two pairs around a template that is gone
_LINK_BRACKETS = re.compile(r"\[\[|\]\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|__[A-Z]+__")
_PIPED = re.compile(r"\[\[(?:[^\[\]|]*\|)*([^\[\]|]*)\]\]")
_OUTSIDE = re.compile(r"\[(?:https?:|ftp:|mailto:|//)[^\s\]]*\s*([^\[\]]*)\]")
_LIST = re.compile(r"^[*#:;]+\s*", re.MULTILINE)
_EMPTY_PAIR = re.compile(r"\(\s*(?:[;,:–-]\s*)*\)")
_BAD_OPENING = re.compile(r"\(\s*(?:[;,:]\s*)+")
_SPACE = re.compile(r"[^\S\n]+")
_MAGIC = re.compile(r"__[A-Z]+__")
_RESIDUE = re.compile(r"\[\[|\]\]|\{\{+|\}\}+|^\s*\{\|.*$|^\s*\|.*$|</?[a-zA-Z][^<>\n]*>", re.MULTILINE)
_BOOT = (
    "import sys; sys.path.insert(0, {!r}); from longform.datasets.wikipedia.wikitext import serve; serve({}, {}, {})"
)
Sections = list[tuple[str, str]]


def sections(wikitext: str) -> Sections:
    """Title and plain text of the introduction and of every level-two section, in order; the parser may raise anything."""
    import mwparserfromhell

    return _split(wikitext, lambda body: str(mwparserfromhell.parse(body).strip_code(keep_template_params=False)))


def scanned_sections(wikitext: str) -> Sections:
    """The same shape by regular expressions and a bracket scanner alone; linear in the page's length."""

    def strip(text: str) -> str:
        for _ in range(3):  # links inside links
            text, links = _PIPED.subn(r"\1", text)
            if not links:
                break
        text = _TAG.sub("", _OUTSIDE.sub(r"\1", text))
        return html.unescape(_LIST.sub("", text))

    return _split(wikitext, strip)


def _split(wikitext: str, strip: Callable[[str], str]) -> Sections:
    text = seen_part(wikitext)
    headings = [match for match in _HEADING.finditer(text) if len(match[1]) <= 2]
    starts = [0, *(match.end() for match in headings)]
    ends = [*(match.start() for match in headings), len(text)]
    titles = [ABSTRACT, *(match[2].strip() for match in headings)]
    bodies = [_HEADING.sub("", text[start:end]) for start, end in zip(starts, ends, strict=True)]
    return [(tidy(strip(title)), tidy(strip(body))) for title, body in zip(titles, bodies, strict=True)]


def seen_part(wikitext: str) -> str:
    """The wikitext without comments, references, templates, tables, files and categories."""
    text = _EMPTY_TAG.sub("", _COMMENT.sub("", wikitext))
    for _ in range(4):  # innermost pairs first; four rounds undo deeper nesting than any tag of the list allows
        text = _UNSEEN_TAG.sub("", text)
    return without_quotes(_INTERLANGUAGE.sub("", without_media(without_brackets(text))))


def without_quotes(text: str) -> str:
    """Cut the apostrophes of bold and italic line by line, before the tree: empty or unbalanced runs confuse it.

    Four inside a word are one and bold. If bold and italic are both unbalanced, one bold is ``'`` and italic.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if "''" in line:
            lengths = [len(run) for run in _QUOTES.findall(line)]
            bold, italic = (sum(length in kinds for length in lengths) for kinds in ((3, 4, 5), (2, 5)))
            if bold % 2 and italic % 2:
                line = re.sub(r"(?<=\w)'''(?=s?\b|\s)", "'", line, count=1)
            lines[number] = _QUOTES.sub("", _FOUR.sub("'", line))
    return "\n".join(lines)


def without_brackets(text: str) -> str:
    """Cut ``{{...}}``, ``{{{...}}}`` and ``{|...|}`` with all that nests inside; an opening that never closes stays."""
    opened: list[tuple[str, int]] = []
    spans: list[tuple[int, int]] = []
    for mark in _BRACKETS.finditer(text):
        symbol, start = mark.group().strip(" \t:"), mark.start()
        pairs = 1 if "|" in symbol else len(symbol) // 2
        for pair in range(pairs):
            if symbol[0] == "{":
                opened.append((symbol[:2], start + 2 * pair))
                continue
            # a closing mark belongs to the nearest opening of its kind; openings above it were never closed
            kind = "{|" if symbol[:2] == "|}" else "{{"
            end = mark.end() if pair == pairs - 1 else start + 2 * pair + 2
            for depth in range(len(opened) - 1, max(-1, len(opened) - NESTING), -1):
                if opened[depth][0] == kind:
                    spans.append((opened[depth][1], end))
                    del opened[depth:]
                    break
    return _cut(text, spans)


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
            kept.append(text[position:start])
        position = max(position, end)
    return "".join(kept) + text[position:]


def tidy(text: str) -> str:
    """One blank between words, one line break between paragraphs, nothing left of markup that never closed."""
    text = _MAGIC.sub("", _RESIDUE.sub("", text))
    text = _BAD_OPENING.sub("(", _EMPTY_PAIR.sub("", text))
    lines = (_SPACE.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(re.sub(r" (?=[,.;:](?:\s|$))", "", line) for line in lines if line)


@dataclass
class GuardedParser:
    """Reads pages in a child process; a context manager, since the child must be ended.

    A page may cost ``page_seconds`` of CPU and the child ``memory`` bytes of address space, so that worker and parser stay under 1 GB;
    after ``wall_factor`` seconds per CPU second it counts as asleep: a crowded machine must not trip it.
    """

    page_seconds: int = 20
    memory: int = 800 * 2**20
    wall_factor: int = 30
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _pipe: Any = field(default=None, repr=False)  # to the child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._end()

    def read(self, wikitext: str) -> tuple[Sections | None, str]:
        """Sections and ``parsed``; or the scanner's and why; or None and ``unreadable`` if the scanner fails, too."""
        found, outcome = self._ask("parse", wikitext)
        if found is not None:
            return found, "parsed"
        scanned, _ = self._ask("scan", wikitext)
        return (scanned, f"{outcome}: scanned") if scanned is not None else (None, "unreadable")

    def _ask(self, mode: str, wikitext: str) -> tuple[Sections | None, str]:
        if self._child is None:
            self._pipe, theirs = Pipe()
            code = _BOOT.format(str(Path(__file__).parents[3]), theirs.fileno(), self.page_seconds, self.memory)
            command, null = [sys.executable, "-c", code], subprocess.DEVNULL
            self._child = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=null, stdout=null, stderr=null)
            theirs.close()
        try:
            self._pipe.send_bytes(json.dumps([mode, wikitext]).encode())
            if not self._pipe.poll(self.wall_factor * self.page_seconds):
                return None, self._end(stalled=True)
            answer, outcome = json.loads(self._pipe.recv_bytes())
        except (OSError, EOFError):
            return None, self._end()
        return None if answer is None else [(title, text) for title, text in answer], outcome

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
        return "time-out" if stalled or child.returncode == -24 else "parser died"  # 24: SIGXCPU, CPU seconds used up


def serve(pipe: int, page_seconds: int, memory: int) -> None:
    """The child's loop, until its parent is gone; the kernel ends it (SIGXCPU) after a page's CPU seconds, in C code as well."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    parent = Connection(pipe)
    with suppress(EOFError):
        while asked := parent.recv_bytes():
            mode, wikitext = json.loads(asked)
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = math.ceil(used.ru_utime + used.ru_stime) + page_seconds
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            answer: tuple[Sections | None, str]
            try:
                answer = sections(wikitext) if mode == "parse" else scanned_sections(wikitext), "parsed"
            except MemoryError:
                answer = None, "out of memory"
            except Exception as error:
                answer = None, f"parser raised {type(error).__name__}"
            parent.send_bytes(json.dumps(answer).encode())
