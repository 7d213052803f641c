"""Characters that stand in the wikitext of a page while it is read, and never in what comes of it.

All are of Unicode's private use; a page's own characters from there are replaced before anything
else, since no font tells what they are.
"""

import html
import re
from collections.abc import Sequence

GONE = "\uf080"  # something that shows nothing stood here
BREAK = "\uf081"  # a new paragraph begins
LINE = "\uf082"  # a new line in the same paragraph: <br>
# Around text that is cut where it is all of its line: a source.
ASIDE, ASIDE_END = "\uf083", "\uf084"
FRACTION = "\uf085"  # a fraction begins: a number before it is a whole number of its own
_FIRST_LITERAL = 0xF000  # a character of markup that is shown as it stands
_FIRST_HOLE, _LAST_HOLE = 0xF100, 0xF8FF  # something that shows text, which is not known
# Tags whose holes come first.
TAGS = ("<math>", "<chem>", "<ce>", "<score>", "<hiero>", "<maplink>", "<phonos>")

_LITERALS = {ord(sign): _FIRST_LITERAL + ord(sign) for sign in "{}[]|=<>'*#:;_-~!&"}
_PLAIN = {mark: sign for sign, mark in _LITERALS.items()} | {
    ord(mark): None for mark in (GONE, BREAK, LINE, ASIDE, ASIDE_END, FRACTION)
}
_NO_ENTITY = {sign: mark for sign, mark in _LITERALS.items() if chr(sign) not in "&#;"}
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_FOREIGN = re.compile("[\uf000-\uf8ff]")
HOLE = re.compile(f"[{chr(_FIRST_HOLE)}-{chr(_LAST_HOLE)}]")
TEMPLATE_HOLES = f"{chr(_FIRST_HOLE + len(TAGS))}-{chr(_LAST_HOLE)}"  # a range of a character class


def without_marks(text: str) -> str:
    """The wikitext of a page with its own private-use characters replaced by U+FFFD."""
    return _FOREIGN.sub("\ufffd", text)


def literal(text: str, entities: bool = True) -> str:
    """Text that is shown as it stands: none of its characters is markup.

    Args:
        text: of a page.
        entities: whether entities in it are still read.
    """
    return text.translate(_NO_ENTITY if entities else _LITERALS)


def decoded(text: str) -> str:
    """The text with entities as their characters; like MediaWiki none without its semicolon."""
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def plain(text: str) -> str:
    """The reader's text: literal characters themselves, other marks gone; holes stay."""
    return text.translate(_PLAIN) if _FOREIGN.search(text) else text


class Holes:
    """Names of the templates and tags of one page whose text is not known, one character each."""

    def __init__(self) -> None:
        self.names: list[str] = list(TAGS)
        self._numbers = {name: number for number, name in enumerate(TAGS)}

    def mark(self, name: str) -> str:
        """The character for a name; beyond some 2,000 names on a page the last one is shared."""
        number = self._numbers.get(name)
        if number is None:
            number = min(len(self.names), _LAST_HOLE - _FIRST_HOLE)
            self.names[number:] = [*self.names[number:], name]
            self._numbers[name] = number
        return chr(_FIRST_HOLE + number)


def hole_name(hole: str, names: Sequence[str]) -> str:
    """The name that a hole's character stands for."""
    return names[ord(hole) - _FIRST_HOLE]
