"""Templates of a page as its reader sees them: one pass over the brackets, and parser functions.

What each template shows is in :mod:`.template_text`. A template that is not known, or whose text
needs the day of reading or other pages, leaves a hole of its name.
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

NESTING = 40  # MediaWiki itself stops expanding templates at depth 40 ($wgMaxTemplateDepth)
_MARKS = re.compile(r"\{{2,}|\}{2,}|^[ \t:\uf080]*\{\||^[ \t\uf080]*\|\}(?!\})", re.MULTILINE)
_SEPARATORS = re.compile(r"\[\[|\]\]|\|")
_SPACES = re.compile(r"[\s_]+")
_PREFIX = re.compile(r"^(?:(?:subst|safesubst|template|msgnw|msg)\s*:\s*)+", re.IGNORECASE)

_ENDLESS = re.compile(r"\d{300}")  # digits of a number that no page shows and that is no float


class _Opening(NamedTuple):
    """Brackets that are open."""

    kind: str  # of a table or of templates
    braces: int  # how many
    start: int  # number of pieces of text before it


def without_templates(text: str, holes: Holes) -> str:
    """Templates rendered, innermost first, and tables cut; an opening that never closes stays.

    One pass over the brackets with a stack, so a page costs linear time.
    """
    pieces: list[str] = []
    opened: list[_Opening] = []
    position = 0
    for mark in _MARKS.finditer(text):
        pieces.append(text[position : mark.start()])
        position = mark.end()
        symbol = mark[0].strip(" \t:" + GONE)
        # tables
        if symbol == "{|":
            opened.append(_Opening("{|", 0, len(pieces)))
            pieces.append(mark[0])
        elif symbol == "|}":
            nearest = _nearest(opened, "{|")
            if nearest is None:
                pieces.append(mark[0])
            else:
                del pieces[opened[nearest].start :]
                del opened[nearest:]
                pieces.append(BREAK)
        # templates
        elif symbol[0] == "{":
            opened.append(_Opening("{{", len(symbol), len(pieces)))
            pieces.append(symbol)
        else:
            left = _close_braces(len(symbol), opened, pieces, holes)
            pieces.append("}" * left)
    pieces.append(text[position:])
    return re.sub(rf"(?<=\d){FRACTION}", " ", "".join(pieces)).replace(FRACTION, "")


def _nearest(opened: list[_Opening], kind: str) -> int | None:
    """Index of the nearest opening of a kind; those above it were never closed."""
    for index in range(len(opened) - 1, max(-1, len(opened) - NESTING), -1):
        if opened[index].kind == kind:
            return index
    return None


def _close_braces(count: int, opened: list[_Opening], pieces: list[str], holes: Holes) -> int:
    """Close as many templates as ``count`` braces end; returns the braces that are left over."""
    while count >= 2:
        nearest = _nearest(opened, "{{")
        if nearest is None:
            break
        # 1. What stands between the braces: three are a parameter, two a template.
        _, braces, start = opened[nearest]
        used = 3 if count >= 3 and braces >= 3 else 2
        inside = "".join(pieces[start + 1 :])
        if used == 2 and count == 3 and inside.count("{") > inside.count("}"):
            inside, count = inside + "}", 2  # the first brace is the parameter's own
        # 2. What it shows, behind the braces that stay open.
        shown = _default(inside) if used == 3 else render(inside, holes)
        del pieces[start:]
        del opened[nearest:]
        rest = braces - used
        if rest >= 2:
            opened.append(_Opening("{{", rest, len(pieces)))
        if rest:
            pieces.append("{" * rest)
        pieces.append(shown)
        count -= used
    return count


def _default(inside: str) -> str:
    """``{{{1|text}}}`` outside a template: its default."""
    name, *defaults = split_arguments(inside)
    return defaults[0] if defaults else literal("{{{" + name + "}}}")


def split_arguments(inside: str) -> list[str]:
    """The parts between the bars that stand outside links."""
    parts, start, depth = [], 0, 0
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
    """What the reader sees of a template: text, nothing, or a hole.

    Args:
        inside: what stands between its braces.
        holes: of the page.
    """
    parts = [inside] if "|" not in inside and ":" not in inside else split_arguments(inside)
    name = template_name(parts[0])
    try:
        shown = None if _ENDLESS.search(inside) else _shown(name, parts, holes)
    except OverflowError:  # a number beyond those of floats, which no page shows
        shown = None
    # what is not known is a box beside the text where it is set over several lines, else a hole
    if shown is None and "\n" in inside.strip():
        return BREAK
    if shown is None:
        return holes.mark(name if len(name) <= 60 else name[:60])
    return (shown or GONE).replace("=", literal("=")).replace("\n|", "\n" + literal("|"))


def _shown(name: str, parts: list[str], holes: Holes) -> str | None:
    """What a parser function or a known template shows; None where it is not known."""
    if ":" in name or name.startswith("#"):
        shown = _parser_function(parts, holes)
        if shown is not None:
            return shown
    renderer = renderers().get(name)
    if renderer is None and hidden(name):
        return GONE
    renderer = renderer or family(name)
    return None if renderer is None else renderer(_arguments(name, parts))


def _arguments(name: str, parts: list[str]) -> Arguments:
    return Arguments(name, [part.replace(GONE, "") for part in parts[1:]])


@lru_cache(maxsize=4096)
def template_name(part: str) -> str:
    """The name as it is compared: lower case, one blank for any blanks or underscores."""
    bare = plain(HOLE.sub("", part))
    return _PREFIX.sub("", _SPACES.sub(" ", bare).strip()).lower()


# Parser functions and variables


def _remainder(left: float, right: float) -> float:
    """Of whole numbers, with the sign of the left one: MediaWiki cuts decimals off first."""
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
    """The value of sums, products, quotients and remainders of numbers; None for anything else."""
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
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    raise KeyError(type(node).__name__)


def _number(value: float) -> str:
    return f"{value:.14g}".replace("-", "−")


def _are_equal(left: str, right: str) -> bool:
    """Whether two texts are equal as parser functions see it: as numbers where both are numbers."""
    left, right = left.replace(GONE, ""), right.replace(GONE, "")
    if _NUMERIC.fullmatch(left) and _NUMERIC.fullmatch(right):
        return float(left) == float(right)
    return left == right


_NUMERIC = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


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


_SILENT = frozenset(("defaultsort", "displaytitle", "defaultsortkey", "defaultcategorysort"))


def _parser_function(parts: list[str], holes: Holes) -> str | None:
    """``{{#if: ...}}``, ``{{formatnum: ...}}`` and their kin.

    "" where nothing is shown, None where it is none of these.
    """
    function, _, first = _PREFIX.sub("", parts[0].strip()).partition(":")
    function = template_name(function)
    first, rest = first.strip(), [part.strip() for part in parts[1:]]
    branches = [*rest, "", "", ""]
    # functions that choose or compute
    if function in _SILENT:
        return GONE
    if function == "#tag":
        return GONE if first.lower() in ("ref", "references", "gallery") else None
    if function == "#if":
        return branches[0] if first.replace(GONE, "") else branches[1]
    if function == "#ifeq":
        return branches[1] if _are_equal(first, branches[0]) else branches[2]
    if function == "#switch":
        return _switch([first, *rest])
    if function == "#expr":
        value = calculated(plain(first))
        return None if value is None else _number(value)
    if function == "formatnum":
        raw = "r" in [part.lower() for part in rest]
        return first.replace(",", "") if raw else grouped(first)
    # functions of a single text
    simple: dict[str, Callable[[str], str]] = {
        "lc": str.lower,
        "uc": str.upper,
        "ucfirst": lambda text: text[:1].upper() + text[1:],
        "lcfirst": lambda text: text[:1].lower() + text[1:],
        "nowrap": str,
    }
    return simple[function](first) if function in simple else None
