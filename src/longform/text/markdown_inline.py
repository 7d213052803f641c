"""The words of a paragraph of Markdown, by markdown-it-py.

The rules are CommonMark's with GitHub's struck words; notes are left out.
"""

import functools
import re
from collections.abc import Collection

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_FOOTNOTE = re.compile(r"\[\^[^\]]{1,200}\]")
# What stands on both sides of such a tag is not one word.
_BLOCK_TAG = re.compile(
    r"</?(?:address|article|aside|blockquote|br|center|dd|details|div|dl|dt|fieldset|figcaption|"
    r"figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|option|p|pre|section|summary|table|tbody|"
    r"td|tfoot|th|thead|tr|ul)\b[^<>]*>",
    re.IGNORECASE,
)


class _Parser(MarkdownIt):
    """The parser of one paragraph; an address is shown as it is written, whatever it leads to."""

    def __init__(self) -> None:
        super().__init__("commonmark")
        self.enable("strikethrough")
        self.inline.ruler.before("link", "note", _skip_note)

    def validateLink(self, url: str) -> bool:
        return True

    def normalizeLinkText(self, link: str) -> str:
        return link


def _skip_note(state: StateInline, silent: bool) -> bool:
    """Rule: the sign of a footnote is no text, nor is a blank before it."""
    note = _FOOTNOTE.match(state.src, state.pos)
    if note is None:
        return False
    if not silent:
        state.pending = state.pending.removesuffix(" ")
    state.pos = note.end()
    return True


@functools.cache
def _parser() -> MarkdownIt:
    return _Parser()


def shown_words(paragraph: str, labels: Collection[str] = ()) -> str:
    """What a reader sees of a paragraph, with single blanks between the words.

    Left out are images, tags and the signs of footnotes; of a link its words stay.

    Args:
        paragraph: with its line breaks, which may be hard.
        labels: what its links are called by, so that ``[label]`` is one.
    """
    # Of a link's address nothing is shown.
    references = {normalizeReference(label): {"title": "", "href": ""} for label in labels}
    text = paragraph.replace("\x00", "")
    (line,) = _parser().parseInline(text, {"references": references})
    words = "".join(map(_shown, line.children or []))
    return " ".join(words.split())


def _shown(token: Token) -> str:
    """The characters of a token that a reader sees."""
    if token.type == "text":
        return token.content
    if token.type == "code_inline":
        return token.content.strip()
    is_break = token.type in ("softbreak", "hardbreak")
    if is_break or (token.type == "html_inline" and _BLOCK_TAG.fullmatch(token.content)):
        return " "
    return ""
