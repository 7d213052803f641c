"""Templates of a page as its reader sees them: one pass over the brackets, and parser functions.

What each template shows is in :mod:`.template_text`. A template that is not known, or whose text
needs the day of reading or other pages, leaves a hole of its name. The marks in the text
(``BREAK``, ``GONE``, ``FRACTION``, holes, literal characters) are those of :mod:`.marks`.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from longform.datasets.wikipedia.arguments import Arguments, grouped, hidden
from longform.datasets.wikipedia.marks import BREAK, FRACTION, GONE, HOLE, Holes, literal, plain
from longform.datasets.wikipedia.template_text import family, renderers

# MediaWiki nests templates no deeper ($wgMaxTemplateDepth): an opening is sought among fewer than
# these last ones, and templates around as many others leave a hole.
NESTING = 40
TOO_DEEP = "templates nested too deeply"  # the name of that hole
# Braces of templates, and the lines that begin and end a table.
_BRACKETS = re.compile(r"\{{2,}|\}{2,}|^[ \t:\uf080]*\{\||^[ \t\uf080]*\|\}(?!\})", re.MULTILINE)
_SEPARATORS = re.compile(r"\[\[|\]\]|\|")
_SPACES = re.compile(r"[\s_]+")
_PREFIX = re.compile(r"^(?:(?:subst|safesubst|template|msgnw|msg)\s*:\s*)+", re.IGNORECASE)
_MAX_HOLE_NAME = 60  # characters
_ENDLESS = re.compile(r"\d{300}")  # digits of a number that no page shows and that is no float


class _Opening(NamedTuple):
    """Brackets that are open.

    Attributes:
        kind: ``{|`` of a table, ``{{`` of templates and parameters.
        braces: how many there are; 0 of a table.
        start: index of the opening among the pieces of text.
        height: how many templates and parameters are nested in what stands behind them so far.
    """

    kind: str
    braces: int
    start: int
    height: int = 0


def without_templates(text: str, holes: Holes) -> str:
    """The wikitext of a page with its templates rendered, innermost first, and its tables cut.

    An opening that never closes stays. The brackets are passed over once, with a stack of those
    that are open. Each closing joins the text behind its opening, at most ``NESTING`` times over
    until a hole takes its place, so that the time grows with the length of the page alone.

    Args:
        text: wikitext with neither comments nor tags of extensions.
        holes: of the page.
    """
    pieces: list[str] = []
    opened: list[_Opening] = []
    position = 0
    for bracket in _BRACKETS.finditer(text):
        pieces.append(text[position : bracket.start()])
        position = bracket.end()
        symbol = bracket[0].strip(" \t:" + GONE)
        # tables
        if symbol == "{|":
            opened.append(_Opening("{|", 0, len(pieces)))
            pieces.append(bracket[0])
        elif symbol == "|}":
            nearest = _nearest(opened, "{|")
            if nearest is None:
                pieces.append(bracket[0])
            else:
                del pieces[opened[nearest].start :]
                del opened[nearest:]
                pieces.append(BREAK)
        # templates
        elif symbol[0] == "{":
            opened.append(_Opening("{{", len(symbol), len(pieces)))
            pieces.append(symbol)
        else:
            unpaired = _close_braces(len(symbol), opened, pieces, holes)
            pieces.append("}" * unpaired)
    pieces.append(text[position:])
    # A blank parts a whole number from the fraction behind it: 3 1/2.
    rendered = re.sub(rf"(?<=\d){FRACTION}", " ", "".join(pieces))
    return rendered.replace(FRACTION, "")


def _nearest(opened: list[_Opening], kind: str) -> int | None:
    """Index of the last opening of a kind, or None; those behind it were never closed.

    Only the last ones are looked at, so that many that never close cost no more time.
    """
    last = len(opened) - 1
    for index in range(last, max(-1, len(opened) - NESTING), -1):
        if opened[index].kind == kind:
            return index
    return None


def _close_braces(count: int, opened: list[_Opening], pieces: list[str], holes: Holes) -> int:
    """Render the templates and parameters that a row of closing braces ends.

    Args:
        count: how many closing braces there are.
        opened: the brackets that are open; those that are closed are taken off.
        pieces: the text so far; what the braces enclose is replaced by what it shows.
        holes: of the page.

    Returns:
        How many of the closing braces have no opening.
    """
    while count >= 2:
        nearest = _nearest(opened, "{{")
        if nearest is None:
            break
        # 1. What stands between the braces: three are a parameter, two a template.
        _, braces, start, _ = opened[nearest]
        used = 3 if count >= 3 and braces >= 3 else 2
        inside = "".join(pieces[start + 1 :])
        if used == 2 and count == 3 and inside.count("{") > inside.count("}"):
            # {{name|{text}}}: the first brace closes the single one inside
            inside += "}"
            count = 2
        # 2. What it shows takes its place, behind the braces that stay open.
        height = 1 + max(opening.height for opening in opened[nearest:])
        if height > NESTING:
            height = 0
            shown = holes.mark(TOO_DEEP)
        else:
            shown = _default(inside) if used == 3 else render(inside, holes)
        del pieces[start:]
        del opened[nearest:]
        still_open = braces - used
        if still_open >= 2:
            opened.append(_Opening("{{", still_open, len(pieces)))
        if opened:
            opened[-1] = opened[-1]._replace(height=max(opened[-1].height, height))
        if still_open:
            pieces.append("{" * still_open)
        pieces.append(shown)
        count -= used
    return count


def _default(inside: str) -> str:
    """What ``{{{1|text}}}`` shows outside a template: its default, else itself.

    Args:
        inside: what stands between its braces.
    """
    name, *defaults = split_arguments(inside)
    return defaults[0] if defaults else literal("{{{" + name + "}}}")


def split_arguments(inside: str) -> list[str]:
    """The parts of a template between the bars that stand outside links.

    Args:
        inside: what stands between the template's braces.
    """
    parts = []
    start = depth = 0
    for mark in _SEPARATORS.finditer(inside):
        if mark[0] == "[[":
            depth += 1
        elif mark[0] == "]]":
            depth = max(0, depth - 1)
        elif depth == 0:
            parts.append(inside[start : mark.start()])
            start = mark.end()
    if depth:  # a link that never closes hides no bar
        return inside.split("|")
    return [*parts, inside[start:]]


def render(inside: str, holes: Holes) -> str:
    """What the reader sees of a template, as text with the marks of :mod:`.marks`.

    Args:
        inside: what stands between its braces.
        holes: of the page.

    Returns:
        Its text; ``GONE`` where it shows nothing. What is not known is a hole, or a ``BREAK`` where
        the template is set over several lines, as a box beside the text is.
    """
    parts = split_arguments(inside)
    name = template_name(parts[0])
    try:
        shown = None if _ENDLESS.search(inside) else _shown(name, parts)
    except OverflowError:  # a number beyond those of floats, which no page shows
        shown = None
    if shown is None:
        return BREAK if "\n" in inside.strip() else holes.mark(name[:_MAX_HOLE_NAME])
    # A sign in it neither names a parameter of the template around it nor begins a row of a table.
    return (shown or GONE).replace("=", literal("=")).replace("\n|", "\n" + literal("|"))


def _shown(name: str, parts: list[str]) -> str | None:
    """The text of a parser function or a known template; None where it is not known."""
    if ":" in name or name.startswith("#"):
        shown = _parser_function(parts)
        if shown is not None:
            return shown
    renderer = renderers().get(name)
    if renderer is None and hidden(name):
        return GONE
    renderer = renderer or family(name)
    if renderer is None:
        return None
    return renderer(Arguments(name, [part.replace(GONE, "") for part in parts[1:]]))


@lru_cache(maxsize=4096)
def template_name(part: str) -> str:
    """A template's name in one spelling: lower case, one blank for any blanks or underscores."""
    bare = plain(HOLE.sub("", part))
    return _PREFIX.sub("", _SPACES.sub(" ", bare).strip()).lower()


# Parser functions and variables


def _remainder(left: float, right: float) -> float:
    """The remainder of whole numbers, with the sign of the left one.

    MediaWiki cuts decimals off first.

    Raises:
        ZeroDivisionError: the right number is zero without its decimals.
    """
    if not int(right):
        raise ZeroDivisionError
    return math.fmod(int(left), int(right))


_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: _remainder,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def calculated(expression: str) -> float | None:
    """The value of sums, products, quotients and remainders of numbers; None for anything else.

    Args:
        expression: of ``{{#expr: ...}}``, such as ``7 mod 3 + (1 div 2)``.
    """
    text = expression.replace("−", "-")
    text = re.sub(r"\bdiv\b", "/", text)
    text = re.sub(r"\bmod\b", "%", text)
    text = re.sub(r"(?<![\d.])0+(?=\d)", "", text)  # 08 is a number there, and none in Python
    if len(text) > 200 or re.search(r"[^\d\s.+*/%()-]|\*\*|//", text):
        return None
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, KeyError, OverflowError):
        return None


def _value(node: ast.expr) -> float:
    """The value of a Python expression of numbers.

    Raises:
        KeyError: something else stands in it.
    """
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    raise KeyError(type(node).__name__)


def _number(value: float) -> str:
    """A value as ``{{#expr: ...}}`` shows it: 14 digits, a minus sign for a hyphen."""
    return f"{value:.14g}".replace("-", "−")


_NUMERIC = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def _are_equal(left: str, right: str) -> bool:
    """Whether two texts are equal as parser functions see it: as numbers where both are numbers."""
    left, right = left.replace(GONE, ""), right.replace(GONE, "")
    if _NUMERIC.fullmatch(left) and _NUMERIC.fullmatch(right):
        return float(left) == float(right)
    return left == right


def _switch(parts: list[str]) -> str:
    """The branch of ``{{#switch: value | a | b = text | #default = text}}``.

    A case without text falls through to the next text. The last part, without a case, is the
    default too.
    """
    value, default = parts[0].strip(), ""
    is_chosen = is_default = False
    for part in parts[1:]:
        case, equals, text = part.partition("=")
        is_chosen = is_chosen or _are_equal(case.strip(), value)
        is_default = is_default or case.strip() == "#default"
        if equals and is_chosen:
            return text.strip()
        if equals and is_default:
            default, is_default = text.strip(), False
    last = parts[-1]
    return last.strip() if len(parts) > 1 and "=" not in last else default


# Functions that show nothing, and functions of a single text.
_SILENT = frozenset(("defaultsort", "displaytitle", "defaultsortkey", "defaultcategorysort"))
_OF_A_TEXT: dict[str, Callable[[str], str]] = {
    "lc": str.lower,
    "uc": str.upper,
    "ucfirst": lambda text: text[:1].upper() + text[1:],
    "lcfirst": lambda text: text[:1].lower() + text[1:],
    "nowrap": str,
}


def _parser_function(parts: list[str]) -> str | None:
    """What ``{{#if: ...}}``, ``{{formatnum: ...}}`` and their kin show.

    Args:
        parts: name and first argument with a colon between them, then the other arguments.

    Returns:
        Its text, which may be empty; None where it is none of these functions or not known.
    """
    function, _, first = _PREFIX.sub("", parts[0].strip()).partition(":")
    function = template_name(function)
    first = first.strip()
    rest = [part.strip() for part in parts[1:]]
    branches = [*rest, "", "", ""]
    # 1. Functions that show nothing.
    if function in _SILENT:
        return GONE
    if function == "#tag":
        return GONE if first.lower() in ("ref", "references", "gallery") else None
    # 2. Functions that choose one of their arguments.
    if function == "#if":
        return branches[0] if first.replace(GONE, "") else branches[1]
    if function == "#ifeq":
        return branches[1] if _are_equal(first, branches[0]) else branches[2]
    if function == "#switch":
        return _switch([first, *rest])
    # 3. Functions of numbers; "R" asks for one without commas.
    if function == "#expr":
        value = calculated(plain(first))
        return None if value is None else _number(value)
    if function == "formatnum":
        is_raw = "r" in [part.lower() for part in rest]
        return first.replace(",", "") if is_raw else grouped(first)
    # 4. Functions of a single text.
    return _OF_A_TEXT[function](first) if function in _OF_A_TEXT else None
