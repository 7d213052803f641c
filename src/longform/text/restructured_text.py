r"""reStructuredText as far as a reader of its prose needs it: sections, and paragraphs without code, tables and markup.

The rules are those of docutils' specification (``docs/ref/rst/restructuredtext``). Kept is what stands in running text:
paragraphs, list items, terms and definitions, quotations, and what admonitions (``.. note::`` and its kin) say. Left out
are literal and doctest blocks, tables, figures, footnotes, citations, targets, comments and every other directive.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from longform.text.headings import Heading, top_sections

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_SHORT_LINE = 4  # docutils: a shorter line must be as long as its title
_MARKUP = re.compile(r"\.\.(?: |$)")
_DIRECTIVE = re.compile(r"\.\. +([\w+:.-]+?) ?::(?: +(.*))?$")
_FIELD = re.compile(r":[A-Za-z][\w -]*:(?: +|$)")
_MARKER = re.compile(  # of a list item, a field, or a line of a line block
    r"[-+*•‣⁃] +(?=\S)|(?:#\.|\(?(?:\d+|[a-zA-Z#]|[ivxlcdm]+)[.)]) +(?=\S)|"
    + _FIELD.pattern
    + r"|\|(?: +|$)"
)
_GRID_TABLE = re.compile(r"\+[-=+]+\+[ \t]*$")
_SIMPLE_TABLE = re.compile(r"=+(?: +=+)+[ \t]*$")
# directives whose body is text that a reader meets where it stands; of the first kind the first line is text too
_NOTES = frozenset(
    [
        "attention",
        "caution",
        "danger",
        "error",
        "hint",
        "important",
        "note",
        "tip",
        "warning",
        "epigraph",
        "highlights",
        "pull-quote",
    ]
)
_BOXES = frozenset(
    [
        "admonition",
        "topic",
        "sidebar",
        "container",
        "compound",
        "class",
        "rst-class",
        "versionadded",
        "versionchanged",
        "deprecated",
    ]
)

# what stands inside markup is at most so long, so that a text without its end takes no time
_ROLE = re.compile(r"(?<!\w):(?P<role>[A-Za-z][\w:+.-]{0,60}):`(?P<text>[^`]{1,1000})`")
_LITERAL = re.compile(r"(?<!`)``(?P<text>.{1,1000}?)``(?!`)")
_FOOTNOTE = re.compile(r" ?\[(?:\d+|#[\w-]{0,100}|\*|[A-Za-z][\w.-]{0,100})\]_(?!\w)")
_LINK = re.compile(r"`(?P<text>[^`<]{0,1000}?)(?: *<(?P<target>[^`>]{0,1000})>)?`__?(?!\w)")
_INTERPRETED = re.compile(r"(?<![`\w])`(?P<text>[^`\s](?:[^`]{0,1000}[^`\s])?)`(?![`\w])")
_STRONG = re.compile(r"(?<![*\w\\])\*\*(?=\S)(?P<text>.{1,500}?)(?<=\S)\*\*(?![*\w])")
_EMPHASIS = re.compile(r"(?<![*\w\\])\*(?=[^\s*])(?P<text>[^*]{1,500}?)(?<=\S)\*(?![*\w])")
_SUBSTITUTION = re.compile(r"(?<![|\w])\|(?=\S)(?P<text>[^|]{1,200}?)(?<=\S)\|(?:__?)?(?![|\w])")
_DEFINITION = re.compile(
    r"\.\. +\|(?P<name>[^|\s](?:[^|]*[^|\s])?)\| +(?P<kind>[\w+.-]+)::(?: +(?P<text>.*))?$"
)
_REFERENCE = re.compile(r"(?<![\w`.+-])(?P<text>\w(?:[\w.+-]{0,100}\w)?)__?(?![\w_])")
_ESCAPE = re.compile(r"\\(.)")
_NUMBERED = {"pep": "PEP", "rfc": "RFC"}  # roles whose text is a document's number


def sections_in(text: str) -> list[tuple[str, str]]:
    """Title and prose of each section of the highest level, one paragraph a line; see :func:`top_sections`."""
    lines = [line.expandtabs(8).rstrip() for line in text.split("\n")]
    sections = top_sections(lines, headings(lines))
    shown = substitutions(lines)
    return [(_plain(title, shown), "\n".join(prose(body, shown))) for title, body in sections]


def substitutions(lines: Sequence[str]) -> dict[str, str]:
    """What is shown for each name between bars, by ``.. |name| replace:: text``; of an image nothing is text.

    Names that another directive defines, such as a date, are not known here, and stand for themselves.
    """
    shown: dict[str, str] = {}
    for number, line in enumerate(lines):
        indent = _indent(line)
        definition = _DEFINITION.match(line[indent:])
        if definition is None:
            continue
        name = _substitution_key(definition["name"])
        if definition["kind"] == "image":
            shown[name] = ""
        elif definition["kind"] in ("replace", "unicode"):
            stop = min(_body_stop(lines, number + 1, indent), _blank_line(lines, number + 1))
            words = [definition["text"] or "", *(part.strip() for part in lines[number + 1 : stop])]
            text = " ".join(part for part in words if part)
            shown[name] = text if definition["kind"] == "replace" else _characters(text)
    return shown


def _substitution_key(name: str) -> str:
    """Names are equal whatever their capitals and blanks, as docutils falls back to."""
    return " ".join(name.split()).casefold()


def _characters(codes: str) -> str:
    """The characters of ``unicode::``, whose codes are written ``0xA9`` or ``U+00A9``; other words are text."""
    words = codes.partition(" .. ")[0].split()
    return "".join(
        chr(int(word[2:], 16))
        if re.fullmatch(r"(?:0x|U\+)[0-9A-Fa-f]{1,5}", word, re.IGNORECASE)
        else word
        for word in words
    )


def headings(lines: Sequence[str]) -> list[Heading]:
    """Titles with a line of punctuation below, or above and below; levels in the order in which their styles appear."""
    styles: list[tuple[str, bool]] = []
    found: list[Heading] = []
    number = 0
    while number < len(lines):
        style = _heading_style(lines, number)
        if style is None:
            number += 1
            continue
        if style not in styles:
            styles.append(style)
        overlined = style[1]
        title = lines[number + overlined].strip()
        after = number + 2 + overlined
        found.append(Heading(styles.index(style) + 1, title, number, after))
        number = after
    return found


def _heading_style(lines: Sequence[str], number: int) -> tuple[str, bool] | None:
    """Character of the line below a title that begins here, and whether the same stands above it; None where none begins."""
    rows = [*lines[number : number + 3], "", "", ""][:3]
    first, second, third = rows
    starts_block = number == 0 or not lines[number - 1]
    if not first or not starts_block:
        return None
    above = _ADORNMENT.fullmatch(first)
    if above and second and third and _ADORNMENT.fullmatch(third):
        fits = third[0] == above[1] and len(first) == len(third)
        return (above[1], True) if fits and _long_enough(first, second.strip()) else None
    below = _ADORNMENT.fullmatch(second)
    if above or not below or first[0] == " ":
        return None
    return (below[1], False) if _long_enough(second, first) else None


def _long_enough(adornment: str, title: str) -> bool:
    """docutils takes a line that is too short for its title, with a warning, unless it is very short."""
    return len(adornment) >= min(_SHORT_LINE, len(title))


def prose(lines: Sequence[str], shown: Mapping[str, str] | None = None) -> list[str]:
    """The paragraphs of a section's lines, on one line each and without markup; headings of subsections are left out.

    Args:
        lines: lines of a text.
        shown: what stands for names between bars, see :func:`substitutions`.
    """
    titles = {
        number for heading in headings(lines) for number in range(heading.first, heading.after)
    }
    body = ["" if number in titles else line for number, line in enumerate(lines)]
    paragraphs = (_plain(paragraph, shown or {}) for paragraph in _paragraphs(body))
    return [plain for plain in paragraphs if plain]


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Paragraphs with their markup, in reading order."""
    found: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        indent = _indent(line)
        rest = line[indent:]
        if not rest:
            number += 1
        elif _MARKUP.match(rest):
            stop = _body_stop(lines, number + 1, indent)
            found += _paragraphs(_spoken(lines[number:stop], indent))
            number = stop
        elif _GRID_TABLE.match(rest) or rest.startswith(">>> "):
            number = _blank_line(lines, number)
        elif _SIMPLE_TABLE.match(rest):
            number = _simple_table_stop(lines, number)
        else:
            stop = _blank_line(lines, number)
            block = lines[number:stop]
            found += _split_block(block)
            literal = block[-1].endswith("::")
            number = _literal_stop(lines, stop, _indent(block[-1])) if literal else stop
    return found


def _spoken(lines: Sequence[str], indent: int) -> list[str]:
    """What an explicit markup block says to a reader: the body of a directive that speaks; else nothing."""
    directive = _DIRECTIVE.match(lines[0][indent:])
    if directive is None or directive[1] not in _NOTES | _BOXES:
        return []
    body = list(lines[1:])
    while body and _FIELD.match(body[0].strip()):
        body.pop(0)
    argument = directive[2] or ""
    if directive[1] in _NOTES and argument:
        first_line = next((line for line in body if line), "")
        body.insert(0, " " * _indent(first_line) + argument)
    return body


def _split_block(block: Sequence[str]) -> list[str]:
    """Paragraphs of lines without a blank one between them: list items, fields, terms and definitions apart."""
    pieces: list[list[str]] = []
    column = -1  # where the lines of the current paragraph begin
    for line in block:
        indent = _indent(line)
        rest = line[indent:]
        if _ADORNMENT.fullmatch(rest) and len(rest) >= _SHORT_LINE:
            continue  # a transition
        marker = _MARKER.match(rest)
        if marker:
            indent += marker.end()
            rest = rest[marker.end() :]
        if marker or indent != column:
            pieces.append([])
            column = indent
        pieces[-1].append(rest)
    return [" ".join(piece) for piece in pieces]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _blank_line(lines: Sequence[str], start: int) -> int:
    """The first blank line from ``start`` on, or the end."""
    for number in range(start, len(lines)):
        if not lines[number]:
            return number
    return len(lines)


def _body_stop(lines: Sequence[str], start: int, indent: int) -> int:
    """The first line from ``start`` on that is neither blank nor indented by more than ``indent``."""
    for number in range(start, len(lines)):
        if lines[number] and _indent(lines[number]) <= indent:
            return number
    return len(lines)


def _literal_stop(lines: Sequence[str], start: int, indent: int) -> int:
    """Where a literal block ends that may begin after ``start``: indented lines, or lines with one quoting character."""
    first = start
    while first < len(lines) and not lines[first]:
        first += 1
    if first == len(lines):
        return first
    if _indent(lines[first]) > indent:
        return _body_stop(lines, first, indent)
    quote = lines[first][indent]
    if not _ADORNMENT.match(quote):
        return start
    while first < len(lines) and lines[first][indent : indent + 1] == quote:
        first += 1
    return first


def _simple_table_stop(lines: Sequence[str], start: int) -> int:
    """The line after a simple table: after its second or third border, behind which a blank line stands."""
    for number in range(start + 1, len(lines)):
        ends = number + 1 == len(lines) or not lines[number + 1]
        if ends and _SIMPLE_TABLE.match(lines[number].strip()):
            return number + 1
    return _blank_line(lines, start)


def _plain(text: str, shown: Mapping[str, str]) -> str:
    """A paragraph's words without inline markup; a literal's own characters stay as they are."""
    if text.endswith("::"):
        text = text[:-2].rstrip() + ":" * (text != "::" and not text.endswith(" ::"))
    pieces, place = [], 0
    for literal in _LITERAL.finditer(text):
        pieces += [_without_markup(text[place : literal.start()], shown), literal["text"]]
        place = literal.end()
    pieces.append(_without_markup(text[place:], shown))
    return " ".join("".join(pieces).split())


def _without_markup(text: str, shown: Mapping[str, str]) -> str:
    text = _SUBSTITUTION.sub(partial(_substituted, shown), text)
    text = _ROLE.sub(_role_text, text)
    text = _FOOTNOTE.sub("", text)
    text = _LINK.sub(lambda found: found["text"] or found["target"] or "", text)
    for markup in (_STRONG, _EMPHASIS, _INTERPRETED, _REFERENCE):
        text = markup.sub(lambda found: found["text"], text)
    return _ESCAPE.sub(r"\1", text)


def _substituted(shown: Mapping[str, str], found: re.Match[str]) -> str:
    return shown.get(_substitution_key(found["text"]), found["text"])


def _role_text(found: re.Match[str]) -> str:
    """What a role shows: the words before its target, a document's number, or the last part of a ``~`` name."""
    shown = found["text"]
    name = found["role"].rpartition(":")[2]
    titled = re.fullmatch(r"(.+?)\s*<[^<>]+>", shown)
    if titled:
        return titled[1]
    if name in _NUMBERED:
        return f"{_NUMBERED[name]} {shown.partition('#')[0]}"
    return shown.rpartition(".")[2] if shown.startswith("~") else shown.lstrip("!")
