"""Markdown as its reader sees it: headings of both kinds, and no front matter, comments, or headings inside code.

The rules are CommonMark 0.31's (sections 4.2 to 4.6), as far as they decide what is a heading.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

LEAD = "(lead)"  # title of what stands before the first heading
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t].*)?")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_CODE = re.compile(r"(?: {4}| {0,3}\t)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})")
# what begins no paragraph, so that a line of dashes below it underlines nothing: lists, quotations, tables
_BLOCK = re.compile(r" {0,3}(?:[-+*][ \t]|\d{1,9}[.)][ \t]|>|\|)")
_KEY = re.compile(r"[\w\"'][^:=]*[:=](?:\s|$)")


@dataclass(frozen=True)
class _Heading:
    level: int
    title: str
    first: int  # lines from ``first`` to before ``after`` are the heading
    after: int


def sections_in(text: str) -> list[tuple[str | None, str]]:
    """(title, text) of each heading's section, and of the lead before them.

    The only first-level heading, where it comes first, is the text's own title and begins no section.
    """
    lines = _seen_lines(text)
    headings = _headings(lines)
    start = 0
    if headings and _is_own_title(headings, lines):
        start = headings[0].after
        headings = headings[1:]
    if not headings:
        return [(None, "\n".join(lines[start:]))]
    sections: list[tuple[str | None, str]] = []
    lead = "\n".join(lines[start : headings[0].first])
    if lead.strip():
        sections.append((LEAD, lead))
    stops = [heading.first for heading in headings[1:]] + [len(lines)]
    for heading, stop in zip(headings, stops, strict=True):
        sections.append((heading.title, "\n".join(lines[heading.after : stop])))
    return sections


def _is_own_title(headings: Sequence[_Heading], lines: Sequence[str]) -> bool:
    """Whether the first heading has nothing before it, and is the only one of the first level."""
    before = lines[: headings[0].first]
    tops = [heading for heading in headings if heading.level == 1]
    return tops == [headings[0]] and not any(line.strip() for line in before)


def _seen_lines(text: str) -> list[str]:
    """The lines that a reader sees: without front matter, and without comments outside code."""
    lines = text.split("\n")
    lines = lines[_front_matter(lines) :]
    runs: list[tuple[bool, list[str]]] = []
    for line, in_code in zip(lines, _in_code(lines), strict=True):
        if not runs or runs[-1][0] != in_code:
            runs.append((in_code, []))
        runs[-1][1].append(line)
    seen: list[str] = []
    for in_code, run in runs:
        seen += run if in_code else _without_comments("\n".join(run)).split("\n")
    return seen


def _without_comments(text: str) -> str:
    """The text without what stands between ``<!--`` and ``-->``; a comment that is never closed is text.

    Of the blanks on both sides of a comment those before it stay.
    """
    pieces, place = [], 0
    while (start := text.find("<!--", place)) >= 0 and (stop := text.find("-->", start)) >= 0:
        pieces.append(text[place:start])
        place = stop + len("-->")
        if text[:start].endswith((" ", "\t")):
            while text[place : place + 1] in (" ", "\t"):
                place += 1
    return "".join([*pieces, text[place:]])


def _front_matter(lines: Sequence[str]) -> int:
    """Number of lines of the settings that stand before a text, between two lines of ``---`` (YAML) or ``+++`` (TOML)."""
    mark = lines[0].rstrip()
    if mark not in ("---", "+++"):
        return 0
    closing = (mark, "...") if mark == "---" else (mark,)
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in closing:
            return number + 1 if number == 1 or any(map(_KEY.match, lines[1:number])) else 0
    return 0


def _in_code(lines: Sequence[str]) -> list[bool]:
    """Whether each line is in a fenced block of code, its fences included; an open block ends with the text."""
    inside: list[bool] = []
    fence = ""
    for line in lines:
        found = _FENCE.fullmatch(line)
        if fence:
            inside.append(True)
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            inside.append(True)
            fence = found[1]
        else:
            inside.append(False)
    return inside


def _headings(lines: Sequence[str]) -> list[_Heading]:
    """Headings of both kinds: behind ``#`` signs, and above a line of ``=`` or ``-``."""
    headings: list[_Heading] = []
    paragraph: int | None = None  # the first line of the paragraph that is going on
    in_block = False  # in a list, a quotation or a table, whose lines are underlined by nothing
    for number, (line, in_code) in enumerate(zip(lines, _in_code(lines), strict=True)):
        atx, underline = _ATX.fullmatch(line), _UNDERLINE.fullmatch(line)
        if in_code or not line.strip():
            paragraph, in_block = None, False
        elif atx:
            headings.append(_Heading(len(atx[1]), _bare_title(line), number, number + 1))
            paragraph, in_block = None, False
        elif underline and paragraph is not None:
            title = " ".join(part.strip() for part in lines[paragraph:number])
            headings.append(
                _Heading(1 if underline[1][0] == "=" else 2, title, paragraph, number + 1)
            )
            paragraph = None
        elif underline or _RULE.fullmatch(line):
            paragraph, in_block = None, False
        elif _BLOCK.match(line):
            paragraph, in_block = None, True
        elif paragraph is None and not in_block and not _CODE.match(line):
            paragraph = number
    return headings


def _bare_title(line: str) -> str:
    """A heading's words without the signs in front of them and those that close it, which stand behind a blank."""
    words = line.strip().lstrip("#").strip()
    open_end = words.rstrip("#")
    return open_end.rstrip() if not open_end or open_end[-1].isspace() else words
