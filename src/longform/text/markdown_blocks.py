"""Which lines of Markdown are code between fences, and which are HTML.

The rules are CommonMark 0.31's (sections 4.5, 4.6, 5.1 and 5.2). A fence may stand within
quotations, within list items, and within list items of a quotation.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

CODE, HTML = "code", "html"
MOST_NESTED = 50  # ours: marks of quotations, and of list items, that are read on one line
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_QUOTE_MARK = re.compile(r" {0,3}> ?")
_ITEM_MARK = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})")
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
# HTML up to the end of a comment or a closing tag, blank lines included.
_COMMENT_START = re.compile(r" {0,3}<!--")
_COMMENT_END = re.compile(r"-->")
_RAW_START = re.compile(r" {0,3}<(?:pre|script|style|textarea)(?:[\s>]|$)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
# HTML up to a blank line: these tags wherever a line begins with one, ...
_BLANK_LINE = re.compile(r"\s*$")
_BLOCK_TAG = re.compile(
    r" {0,3}</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|"
    r"dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|"
    r"head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|"
    r"p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|/?>|$)",
    re.IGNORECASE,
)
# ... and any other tag that is alone on a line, where no paragraph is going on.
_ATTRIBUTE = r"""\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?"""
_LONE_TAG = re.compile(
    rf" {{0,3}}(?:<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>)\s*"
)


@dataclass(frozen=True)
class _Fence:
    """The fence at which a block of code begins.

    Attributes:
        signs: of which a closing fence has as many or more.
        quotes: signs of quotation before it.
        margin: columns before the words of its list item, 0 outside of lists.
    """

    signs: str
    quotes: int
    margin: int


@dataclass
class _Scanner:
    """What is going on before a line.

    Attributes:
        fence: of the code.
        html: what ends the HTML.
        quotes: signs of quotation on the line before.
        margins: columns before the words of each list item, the outermost first.
        in_paragraph: whether the line before may be a paragraph's.
    """

    fence: _Fence | None = None
    html: re.Pattern[str] | None = None
    quotes: int = 0
    margins: list[int] = field(default_factory=list)
    in_paragraph: bool = False

    def kind(self, line: str, closes: bool) -> str:
        """``CODE``, ``HTML`` or nothing: what the next line is.

        Args:
            line: of the text.
            closes: whether a comment that begins here would be closed; else it is text.
        """
        # 1. What goes on.
        line = line.expandtabs(4)
        if self.fence and self._goes_on(line, self.fence):
            return CODE
        if self.html:
            return self._html_goes_on(line, self.html)
        # 2. Code that begins, perhaps behind signs of quotation and of items.
        content = self._content(line)
        opening = _FENCE.fullmatch(content)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            margin = self.margins[-1] if self.margins else 0
            self.fence = _Fence(opening[1], self.quotes, margin)
            self.in_paragraph = False
            return CODE
        # 3. HTML that begins, or neither.
        if not self.quotes and not self.margins and self._begins_html(line, closes):
            return HTML
        self.in_paragraph = bool(content.strip()) and not _ATX.match(content)
        return ""

    def _goes_on(self, line: str, fence: _Fence) -> bool:
        """Whether a line belongs to the code; code ends with its fence, quotation or list item."""
        quotes, content = _unquoted(line, fence.quotes)
        indent = len(content) - len(content.lstrip())
        if quotes < fence.quotes or (content.strip() and indent < fence.margin):
            self.fence = None
            return False
        closing = _FENCE.fullmatch(content[fence.margin :])
        if closing and closing[1].startswith(fence.signs) and not closing[2].strip():
            self.fence = None
        return True

    def _html_goes_on(self, line: str, end: re.Pattern[str]) -> str:
        """``HTML`` for the lines of a block; nothing for the blank line behind it."""
        if end is _BLANK_LINE:
            if line.strip():
                return HTML
            self.html = None
            return ""
        if end.search(line):
            self.html = None
        return HTML

    def _begins_html(self, line: str, closes: bool) -> bool:
        """Whether a line outside of quotations and lists begins a block of HTML."""
        if closes and _COMMENT_START.match(line):
            self.html = None if _COMMENT_END.search(line) else _COMMENT_END
        elif _RAW_START.match(line):
            self.html = None if _RAW_END.search(line) else _RAW_END
        elif _BLOCK_TAG.match(line) or (not self.in_paragraph and _LONE_TAG.fullmatch(line)):
            self.html = _BLANK_LINE
        else:
            return False
        self.in_paragraph = False
        return True

    def _content(self, line: str) -> str:
        """A line behind its signs of quotation and of list items, whose margins are noted."""
        # 1. List items end with their quotation, and where a line stands further left.
        quotes, content = _unquoted(line)
        if quotes != self.quotes:
            self.quotes, self.margins = quotes, []
        if not content.strip():
            return content
        indent = len(content) - len(content.lstrip())
        while self.margins and indent < self.margins[-1]:
            self.margins.pop()
        # 2. Items that begin here: one mark may stand behind another.
        position = self.margins[-1] if self.margins else 0
        for _ in range(MOST_NESTED):
            mark = _ITEM_MARK.match(content[position:])
            if mark is None or _RULE.fullmatch(content[position:]):
                break
            words = content[position + mark.end() :]
            blanks = len(words) - len(words.lstrip())
            # Five blanks are one and code behind four.
            position += mark.end() + (blanks if words.strip() and blanks < 5 else 1)
            self.margins.append(position)
        return content[position:]


def _unquoted(line: str, most: int = MOST_NESTED) -> tuple[int, str]:
    """How many signs of quotation begin a line, at most so many, and what stands behind them."""
    quotes = 0
    position = 0
    while quotes < most:
        mark = _QUOTE_MARK.match(line, position)
        if mark is None:
            break
        quotes += 1
        position = mark.end()
    return quotes, line[position:]


def kinds_of_lines(lines: Sequence[str]) -> list[str]:
    """``CODE``, ``HTML`` or nothing for each line; fences are code, tags are HTML.

    A block of code that is never closed ends with the text.
    """
    last_end = max((number for number, line in enumerate(lines) if "-->" in line), default=-1)
    scanner = _Scanner()
    kinds = []
    for number, line in enumerate(lines):
        kinds.append(scanner.kind(line, number <= last_end))
    return kinds
