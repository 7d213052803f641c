"""Markdown as its reader sees it: headings of both kinds, without front matter and comments.

What is a heading, code or HTML is markdown_blocks.py's; here is what is prose, with GitHub's tables
and footnotes.
"""

import re
from collections.abc import Collection, Sequence

from longform.text.headings import Heading, top_sections
from longform.text.markdown_blocks import CODE, blocks_of
from longform.text.markdown_inline import shown_words

LEAD = "(lead)"  # title of what stands before the first heading
_CODE = re.compile(r"(?: {4}| {0,3}\t)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})")
# A setting of the front matter, by the line that stands around it
_SETTING = {"---": re.compile(r"[\w\"'][^:=]*:(?:\s|$)"), "+++": re.compile(r"[\w\"'][^=]*=")}

_BULLET = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]+(?:\[[ xX]\][ \t]+)?|$)")
_LATER_NUMBER = re.compile(r"[ \t]*(?!1[.)])\d")
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
_DELIMITER_ROW = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_DEFINITION = re.compile(r" {0,3}\[([^\]]+)\]:")  # of a link's address, or of a footnote
# A tag alone on its line, which no address in such brackets is
_HTML_BLOCK = re.compile(
    r" {0,3}</?(?![A-Za-z][A-Za-z0-9+.-]{1,31}:|[^\s<>]+@)[A-Za-z][^<>]*>?[ \t]*$"
)

_SCRIPT = re.compile(
    r"<(script|style)\b[^<>]{0,1000}>.{0,100000}?</\1\s*>", re.IGNORECASE | re.DOTALL
)


def sections_in(text: str) -> list[tuple[str | None, str]]:
    """(title, text) of each heading's section, and of the lead before them.

    The only first-level heading, if it comes first, is the text's own title and begins no section.

    Returns:
        The text between headings as it is written; the title is None for a text without sections.
    """
    lines = _seen_lines(text)
    headings = blocks_of(lines).headings
    # 1. The text's own title is left out.
    start = 0
    if headings and _is_own_title(headings, lines):
        start = headings[0].after
        headings = headings[1:]
    if not headings:
        return [(None, "\n".join(lines[start:]))]
    # 2. What stands before the first section.
    sections: list[tuple[str | None, str]] = []
    lead = "\n".join(lines[start : headings[0].first])
    if lead.strip():
        sections.append((LEAD, lead))
    # 3. Each section reaches to the next heading of any level.
    stops = [heading.first for heading in headings[1:]] + [len(lines)]
    for heading, stop in zip(headings, stops, strict=True):
        sections.append((heading.title, "\n".join(lines[heading.after : stop])))
    return sections


def prose_sections(text: str) -> list[tuple[str, str]]:
    """Title and prose of each section of the highest level; see :func:`top_sections`.

    The prose has one paragraph a line.
    """
    lines = _seen_lines(text)
    labels = set()
    for line in lines:
        definition = _DEFINITION.match(line)
        if definition:
            labels.add(definition[1])
    sections = []
    for title, body in top_sections(lines, blocks_of(lines).headings):
        sections.append((shown_words(title, labels), "\n".join(prose(body, labels))))
    return sections


def prose(lines: Sequence[str], labels: Collection[str] = ()) -> list[str]:
    """The paragraphs of some lines, on one line each and without markup.

    A list item is a paragraph. Left out are headings, code, tables, images, HTML, rules, footnotes
    and addresses of links.

    Args:
        lines: of a text.
        labels: what its links are called by, so that ``[label]`` is one.
    """
    # 1. Lines by paragraph: a blank line and a list item's sign begin one.
    paragraphs: list[list[str]] = [[]]
    in_list = False
    for line in _prose_lines(lines):
        words = _behind_signs(line)
        begins_item = len(words) < len(line)
        if begins_item and paragraphs[-1] and not in_list:
            # Within other words a number is a list's sign only where the list begins with it.
            begins_item = not _LATER_NUMBER.match(line)
        if begins_item:
            in_list = True
        elif not paragraphs[-1] and line.strip():
            in_list = in_list and line[0] in " \t"
        if begins_item or not line.strip():
            paragraphs.append([])
        if line.strip():
            paragraphs[-1].append((words if begins_item else line).lstrip())
    # 2. Their words.
    texts = []
    for paragraph in paragraphs:
        if shown := shown_words("\n".join(paragraph).rstrip(), labels):
            texts.append(shown)
    return texts


def _behind_signs(line: str) -> str:
    """What stands behind the signs of a list item, and of the items that begin in it."""
    while bullet := _BULLET.match(line):
        line = line[bullet.end() :]
    return line


def _prose_lines(lines: Sequence[str]) -> list[str]:
    """The lines with a blank one in place of each that is no prose, without signs of quotations."""
    # 1. Headings, code between fences, and tables.
    left_out = _table_lines(lines)
    blocks = blocks_of(lines)
    for heading in blocks.headings:
        left_out.update(range(heading.first, heading.after))
    for number, kind in enumerate(blocks.kinds):
        if kind == CODE:
            left_out.add(number)
    # 2. What a line's own signs tell, behind those of a quotation.
    prose_lines: list[str] = []
    in_list = False
    for number, line in enumerate(lines):
        unquoted = _QUOTE.sub("", line, count=1) if _QUOTE.match(line) else line
        if _BULLET.match(unquoted):
            in_list = True
        elif unquoted.strip() and unquoted[0] not in " \t":
            in_list = False
        after_blank = not prose_lines or not prose_lines[-1].strip()
        indented_code = _CODE.match(unquoted) and after_blank and not in_list
        if number in left_out or indented_code or _is_markup(unquoted):
            unquoted = ""
        prose_lines.append(unquoted)
    return prose_lines


def _is_markup(line: str) -> bool:
    """Whether a line is a rule, a link's or a footnote's definition, or a tag alone."""
    if _RULE.fullmatch(line) or _DEFINITION.match(line) or _HTML_BLOCK.match(line):
        return bool(line.strip())
    return False


def _table_lines(lines: Sequence[str]) -> set[int]:
    """Numbers of the lines of tables: a row of names, one of dashes, rows up to a blank line."""
    inside: set[int] = set()
    for number in range(1, len(lines)):
        names = lines[number - 1]
        if "|" in names and "|" in lines[number] and _DELIMITER_ROW.fullmatch(lines[number]):
            stop = number + 1
            while stop < len(lines) and lines[stop].strip():
                stop += 1
            inside.update(range(number - 1, stop))
    return inside


def _is_own_title(headings: Sequence[Heading], lines: Sequence[str]) -> bool:
    """Whether the first heading has nothing before it, and is the only one of the first level."""
    before = lines[: headings[0].first]
    tops = [heading for heading in headings if heading.level == 1]
    return tops == [headings[0]] and not any(line.strip() for line in before)


def _seen_lines(text: str) -> list[str]:
    """The lines that a reader sees.

    Front matter is left out; so are, outside of code, comments and scripts.
    """
    lines = text.split("\n")
    lines = lines[_front_matter(lines) :]
    # 1. Runs of lines that are code, and of lines that are none.
    runs: list[tuple[bool, list[str]]] = []
    for line, kind in zip(lines, blocks_of(lines).kinds, strict=True):
        in_code = kind == CODE
        if not runs or runs[-1][0] != in_code:
            runs.append((in_code, []))
        runs[-1][1].append(line)
    # 2. Of the latter, what is seen.
    seen: list[str] = []
    for in_code, run in runs:
        if in_code:
            seen.extend(run)
        else:
            shown = _without_scripts(_without_comments("\n".join(run)))
            seen.extend(shown.split("\n"))
    return seen


def _without_comments(text: str) -> str:
    """The text without what stands between ``<!--`` and ``-->``; an unclosed comment is text.

    Of the blanks on both sides of a comment those before it stay.
    """
    pieces = []
    position = 0
    while True:
        start = text.find("<!--", position)
        stop = text.find("-->", start) if start >= 0 else -1
        if stop < 0:
            break
        pieces.append(text[position:start])
        position = stop + len("-->")
        if text[start - 1 : start] in (" ", "\t"):
            while text[position : position + 1] in (" ", "\t"):
                position += 1
    pieces.append(text[position:])
    return "".join(pieces)


def _without_scripts(text: str) -> str:
    """The text without programs and styles, which no reader sees."""
    small = text.lower()
    return _SCRIPT.sub("", text) if "</script" in small or "</style" in small else text


def _front_matter(lines: Sequence[str]) -> int:
    """Number of lines of the settings that stand before a text.

    They stand between two lines of ``---`` (YAML) or ``+++`` (TOML).
    """
    mark = lines[0].rstrip()
    if mark not in _SETTING:
        return 0
    closing = (mark, "...") if mark == "---" else (mark,)
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in closing:
            # Two rules around lines of which none is a setting are no front matter.
            settings = lines[1:number]
            if settings and not any(map(_SETTING[mark].match, settings)):
                return 0
            return number + 1
    return 0
