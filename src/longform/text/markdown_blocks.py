"""Blocks of Markdown: its headings, and which lines are code or HTML, by markdown-it-py.

The rules are CommonMark's with GitHub's tables. Only blocks are parsed: what stands within a line
is markdown.py's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from longform.text.headings import Heading

CODE, HTML = "code", "html"
_KINDS = {"fence": CODE, "html_block": HTML}  # by type of token
# What the parser takes for no comment; the mark between, of private use, is taken out of titles.
_COMMENT, _NO_COMMENT = "<!--", "<\ue000!--"
_FOOTNOTE_TEXT = re.compile(r" {0,3}\[\^[^\]]+\]:")


@dataclass(frozen=True)
class Blocks:
    """The blocks of some lines.

    Attributes:
        kinds: ``CODE`` (between fences), ``HTML`` or nothing for each line.
        headings: outside of lists and quotations, in reading order.
    """

    kinds: list[str]
    headings: list[Heading]


def blocks_of(lines: Sequence[str]) -> Blocks:
    """Parse lines into blocks; a comment that is never closed is text."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse("\n".join(_with_comments_that_end(lines)))
    kinds = [""] * len(lines)
    headings = []
    for number, token in enumerate(tokens):
        if token.map is None:  # it ends a block
            continue
        first, after = token.map
        kind = _KINDS.get(token.type)
        if kind:
            kinds[first:after] = [kind] * (after - first)
        # A footnote's text is underlined by nothing.
        is_heading = token.type == "heading_open" and token.level == 0
        if is_heading and not _FOOTNOTE_TEXT.match(lines[first]):
            title = " ".join(tokens[number + 1].content.split("\n"))
            title = title.replace(_NO_COMMENT, _COMMENT)
            headings.append(Heading(int(token.tag[1:]), title, first, after))
    return Blocks(kinds[: len(lines)], headings)


def _with_comments_that_end(lines: Sequence[str]) -> list[str]:
    """The lines for the parser, which takes a comment to the end of the text if nothing ends it.

    A carriage return within a line would be a line's end to it, too.
    """
    last_end = max((number for number, line in enumerate(lines) if "-->" in line), default=-1)
    parsed = []
    for number, line in enumerate(lines):
        if number > last_end:
            line = line.replace(_COMMENT, _NO_COMMENT)
        parsed.append(line.replace("\r", " "))
    return parsed
