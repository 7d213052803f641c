"""Tags of wikitext: those of extensions, whose content is no wikitext, and those of HTML."""

import re
from collections.abc import Callable

from longform.datasets.wikipedia.formulas import chemistry_text, tex_text
from longform.datasets.wikipedia.marks import BREAK, GONE, LINE, Holes, decoded, literal


def _set(names: str) -> frozenset[str]:
    """The set of names parted by blanks."""
    return frozenset(names.split())


# content that is no part of the running text: notes, pictures, and what the software reads
_UNSEEN = _set(
    "ref references gallery timeline imagemap templatedata templatestyles graph chart "
    "mapframe section indicator categorytree inputbox includeonly charinsert dynamicpagelist "
    "languages"
)
_SHOWN_AS_IT_STANDS = frozenset(("nowiki", "pre", "syntaxhighlight", "source"))
_NOT_KNOWN = frozenset(("score", "hiero", "maplink", "phonos"))
_FORMULAS: dict[str, Callable[[str], str | None]] = {
    "math": tex_text,
    "chem": chemistry_text,
    "ce": chemistry_text,
}
_OPAQUE = (
    _SHOWN_AS_IT_STANDS
    | _NOT_KNOWN
    | frozenset(_FORMULAS)
    | {"timeline", "templatedata", "graph", "imagemap"}
)
_EXTENSIONS = _UNSEEN | _OPAQUE
_NAMES = "|".join(sorted(_EXTENSIONS))
_TOKEN = re.compile(
    rf"<!--|</(?P<closed>{_NAMES})\s*>"
    rf"|<(?P<name>{_NAMES})\b(?P<attributes>[^<>]*?)(?P<empty>/?)\s*>",
    re.IGNORECASE,
)

_HTML = _set(
    "abbr b bdi bdo big br caption center cite code data dd del dfn div dl dt em font h1 h2 "
    "h3 h4 h5 h6 hr i ins kbd li mark noinclude ol onlyinclude p poem q rb rp rt rtc ruby s "
    "samp small span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var "
    "wbr blockquote"
)
_BLOCKS = _set(
    "blockquote caption center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p poem "
    "table tbody td tfoot th thead tr ul"
)
_HTML_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)\b([^<>]*)>")
_HIDDEN_SPAN = re.compile(
    r"<(span|div)\b[^<>]*display\s*:\s*none[^<>]*>(?:(?!</?\1\b).)*</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)
_SCRIPT = re.compile(
    r"<(su[bp])\b[^<>]*(?<!/)>((?:(?!</?su[bp]\b).)*)</\1\s*>", re.IGNORECASE | re.DOTALL
)
_POEM = re.compile(r"<poem\b[^<>]*>((?:(?!</?poem\b).)*)</poem\s*>", re.IGNORECASE | re.DOTALL)
_QUOTATION = re.compile(r"<q\b[^<>]*>((?:(?!</?q\b).)*)</q\s*>", re.IGNORECASE | re.DOTALL)
_SIMPLE = re.compile(r"[-+−±]?\w+(?:[.,/]\w+)*[-+−]?|[-+−±*′″]+|\([^()]*\)")
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|e|ème|o|a|º|ª|TM|SM|®|\(?tm\)?", re.IGNORECASE)


def without_extension_tags(text: str, holes: Holes) -> str:
    """Remove comments and notes, write formulas as text, keep the content of ``nowiki`` literally.

    A tag that is never closed stays; an opening that another one of its name follows was never
    closed.
    """
    # ``_TOKEN`` finds the begin of a comment (no name), or a tag: ``name`` of one that opens (or is
    # ``empty``, "/>"), ``closed`` of one that closes. GONE marks the place of what was removed.
    pieces: list[str] = []
    opened: list[tuple[str, int]] = []  # name of an open tag, number of pieces before it
    unclosed: set[str] = set()  # endings that do not occur in the rest of the text
    position = 0
    while token := _TOKEN.search(text, position):
        pieces.append(text[position : token.start()])
        position = token.end()
        name = (token["name"] or token["closed"] or "").lower()
        ending = "-->" if not name else f"</{name}"
        # 1. Comments.
        if not name:
            end = -1 if ending in unclosed else text.find(ending, position)
            if end < 0:  # a comment that never ends hides the rest
                position = len(text)
                break
            position = end + len(ending)
        elif token["empty"]:
            pieces.append(GONE)
        # 2. A closing tag takes everything from its opening on with it.
        elif token["closed"]:
            last = _last_open(opened, name)
            if last is None:
                pieces.append(token[0])
            else:
                _, start = opened[last]
                del pieces[start:]
                del opened[last:]
                pieces.append(GONE)
        # 3. Tags whose content is no wikitext, read to their end at once.
        elif name in _OPAQUE:
            closing = None
            if ending not in unclosed:
                closing = re.compile(rf"{ending}\s*>", re.IGNORECASE).search(text, position)
            if closing is None:
                unclosed.add(ending)
                continue  # the tag alone is dropped
            inside = text[position : closing.start()]
            before = text[text.rfind("\n", 0, token.start()) + 1 : token.start()]
            in_a_line = bool(before.strip(" \t:*#"))
            pieces.append(_shown(name, inside, token["attributes"], in_a_line, holes))
            position = closing.end()
        else:
            opened.append((name, len(pieces)))
            pieces.append(token[0])
    pieces.append(text[position:])
    return "".join(pieces)


def _last_open(opened: list[tuple[str, int]], name: str) -> int | None:
    """Index of the last open tag of a name.

    Only the last few are looked at, so that a page costs linear time.
    """
    for index in range(len(opened) - 1, max(-1, len(opened) - 8), -1):
        if opened[index][0] == name:
            return index
    return None


def _shown(name: str, inside: str, attributes: str, in_a_line: bool, holes: Holes) -> str:
    """The text of an extension's tag.

    Args:
        name: of the tag.
        inside: its content.
        attributes: as they stand in the tag.
        in_a_line: whether words stand before the tag in its line.
        holes: of the page.
    """
    if name in _FORMULAS:
        shown = _FORMULAS[name](inside)
        return holes.mark(f"<{name}>") if shown is None else literal(shown, entities=False)
    if name == "nowiki":
        return literal(decoded(inside), entities=False)
    if name == "pre":
        return BREAK + literal(decoded(inside), entities=False).replace("\n", LINE) + BREAK
    if name in _SHOWN_AS_IT_STANDS:
        within = re.search(r"\binline\b", attributes) or (in_a_line and "\n" not in inside.strip())
        return literal(inside, entities=False) if within else BREAK
    return holes.mark(f"<{name}>") if name in _NOT_KNOWN else GONE


def raised(inside: str, before: str) -> str:
    """A superscript in a line: ``10^6``, but ``19th`` and the mass number of ``238U``."""
    inside = inside.replace(GONE, "").strip()
    if not inside:
        return GONE
    base = before[-1:]
    if not base or not (base.isalnum() or base in ")]}'″′_²³\uf027\uf029\uf05d"):
        return inside
    if base.isdecimal() and _ORDINAL.fullmatch(inside) and not re.fullmatch(r"[aeo]", inside):
        return inside
    if base.isalpha() and (re.fullmatch(r"[^\W\d_]{2,}\.?", inside) or inside in "®™"):
        return inside
    return "^" + _one_piece(inside)


def _one_piece(inside: str) -> str:
    """A number or a name as it is, anything longer in brackets, unless it has some."""
    shown = re.sub(r"\[\[(?:[^\[\]|]*\|)?|\]\]", "", inside)
    return inside if _SIMPLE.fullmatch(shown) else f"({inside})"


def lowered(inside: str, before: str) -> str:
    """A subscript in a line: ``H2O``, but ``x_i``, ``a_(n+1)`` and ``101_2``."""
    inside = inside.replace(GONE, "").strip()
    if not inside:
        return GONE
    base = before[-1:]
    if re.fullmatch(r"\d+(?:\.\d+)?", inside) and (base.isalpha() or base in ")]'"):
        return inside
    if not base or not (base.isalnum() or base in ")]}'"):
        return inside
    return "_" + _one_piece(inside)


def without_html(text: str) -> str:
    """Replace tags of HTML by marks of lines and paragraphs, and by raised and lowered text.

    Anything else in ``<>`` is text.
    """
    if "<" not in text:
        return text
    text = _HIDDEN_SPAN.sub(GONE, text)
    for _ in range(3):  # innermost first
        text, scripts = _SCRIPT.subn(_script, text)
        if not scripts:
            break
    text = _POEM.sub(lambda match: BREAK + match[1].strip().replace("\n", LINE) + BREAK, text)
    text = _QUOTATION.sub(r'"\1"', text)
    return _HTML_TAG.sub(_tag, text).replace("<", literal("<")).replace(">", literal(">"))


def _script(match: re.Match[str]) -> str:
    """What a superscript or subscript shows behind what stands before it."""
    before = match.string[max(0, match.start() - 12) : match.start()].rstrip(GONE)
    before = re.sub(r"(?:'{2,}|</?\w+>)+$", "", before)  # ''x''<sup>2</sup>
    inside = re.sub(r"'{2,}|</?[a-zA-Z][^<>]*>", "", match[2])
    return raised(inside, before) if match[1].lower() == "sup" else lowered(inside, before)


def _tag(match: re.Match[str]) -> str:
    """What a tag of HTML leaves in the text: a line, a paragraph, nothing, or itself if unknown."""
    name = match[2].lower()
    if name == "br":
        return LINE
    if name in _BLOCKS:
        return BREAK
    if name in ("rp", "rt"):
        return ""
    if name in _HTML or name in _EXTENSIONS:
        return GONE
    return literal(match[0])
