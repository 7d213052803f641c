r"""reStructuredText as far as a reader of its prose needs it: sections, and paragraphs of words.

The rules are those of docutils' specification (``docs/ref/rst/restructuredtext``). Paragraphs, list
items, terms and definitions, quotations, and what admonitions (``.. note::`` and its kin) say stay.
Literal and doctest blocks, tables, figures, footnotes, citations, targets, comments, every other
directive and the signs of markup are left out.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from longform.text.headings import Heading, top_sections

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_SHORT_LINE = 4  # docutils: a shorter line must be as long as its title
_MARKUP = re.compile(r"\.\.(?: |$)|__ ")  # the latter of a link without a name
_DIRECTIVE = re.compile(r"\.\. +([\w+:.-]+?) ?::(?: +(.*))?$")
_FIELD = re.compile(r":[A-Za-z][\w -]*:(?: +|$)")
_BULLET = re.compile(r"[-+*•‣⁃] +(?=\S)")
_NUMBER = re.compile(r"(?:#\.|\(?(?:\d+|[a-zA-Z#]|[ivxlcdm]+)[.)]) +(?=\S)")
_BAR = re.compile(r"\|(?: +|$)")  # before a line of a line block
# Of an option list: "-f FILE, --file=FILE  description".
_OPTION_NAME = r"(?:[-+][A-Za-z0-9](?: ?[A-Z]\w*)?|(?:--|/)[A-Za-z0-9][\w-]*(?:[ =]\S+)?)"
_OPTION = re.compile(rf"{_OPTION_NAME}(?:, {_OPTION_NAME})*(?: {{2,}}|$)")
_GRID_TABLE = re.compile(r"\+[-=+]+\+[ \t]*$")
_SIMPLE_TABLE = re.compile(r"=+(?: +=+)+[ \t]*$")
# Directives whose body is text that a reader meets where it stands; of notes the first line is text
# too.
_ADMONITIONS = frozenset(
    ["attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning"]
)
_NOTES = _ADMONITIONS | {"epigraph", "highlights", "pull-quote"}
_VERSIONS = frozenset(["versionadded", "versionchanged", "deprecated"])
_BOXES = _VERSIONS | {
    "admonition",
    "topic",
    "sidebar",
    "container",
    "compound",
    "class",
    "rst-class",
}

# What stands inside markup is at most so long, so that a text without its end takes no time.
_ROLE = re.compile(r"(?<!\w):(?P<role>[A-Za-z][\w:+.-]{0,60}):`(?P<text>[^`]{1,1000})`")
_LITERAL = re.compile(r"(?<!`)``(?P<text>.{1,1000}?)``(?!`)")
_FOOTNOTE = re.compile(r" ?\[(?:#?\w[\w.:+-]{0,100}|[#*])\]_(?!\w)")
_LINK = re.compile(r"`(?P<text>[^`<]{0,1000}?)(?: *<(?P<target>[^`>]{0,1000})>)?`__?(?!\w)")
_INTERPRETED = re.compile(
    r"(?<![`\w])_?`(?P<text>[^`\s](?:[^`]{0,1000}[^`\s])?)`(?::[A-Za-z][\w+.-]{0,60}:)?(?![`\w])"
)
_STRONG = re.compile(r"(?<![*\w\\])\*\*(?=\S)(?P<text>.{1,500}?)(?<=\S)\*\*(?![*\w])")
_EMPHASIS = re.compile(r"(?<![*\w\\])\*(?=[^\s*])(?P<text>[^*]{1,500}?)(?<=\S)\*(?![*\w])")
_SUBSTITUTION = re.compile(r"(?<![|\w])\|(?=\S)(?P<text>[^|]{1,200}?)(?<=\S)\|(?:__?)?(?![|\w])")
_DEFINITION = re.compile(
    r"\.\. +\|(?P<name>[^|\s](?:[^|]*[^|\s])?)\| +(?P<kind>[\w+.-]+)::(?: +(?P<text>.*))?$"
)
# The name of a link begins behind a blank, a bracket or a few other signs, and has no underscore at
# its ends nor two in a row: "__init__" is none.
_REFERENCE = re.compile(
    r"(?<![^\s\0'\"(\[{</:-])(?P<text>(?:(?!_)\w){1,100}(?:[-._+:](?:(?!_)\w){1,100}){0,20})"
    r"__?(?=$|[\s\0'\")\]}>/:.,;!?-])"
)
_ESCAPE = re.compile(r"\\(.)")
_PUT_ASIDE = re.compile("\0(\\d+)\0")  # no text holds NUL
_RAW = frozenset(["code", "math"])  # roles in which a backslash is itself
_NUMBERED = {"pep": "PEP", "rfc": "RFC"}  # roles whose text is a document's number


def sections_in(text: str) -> list[tuple[str, str]]:
    """Title and prose of each section of the highest level; see :func:`top_sections`.

    The prose has one paragraph a line.
    """
    lines = [line.expandtabs(8).rstrip() for line in text.split("\n")]
    text_of_name = substitutions(lines)
    sections = []
    for title, body in top_sections(lines, headings(lines)):
        sections.append((_plain(title, text_of_name), "\n".join(prose(body, text_of_name))))
    return sections


def substitutions(lines: Sequence[str]) -> dict[str, str]:
    """The text that each name between bars stands for, by ``.. |name| replace:: text``.

    It is empty for an image. Names that another directive defines, such as a date, are not in
    the table, and stand for themselves.
    """
    text_of_name: dict[str, str] = {}
    for number, line in enumerate(lines):
        indent = _indent(line)
        definition = _DEFINITION.match(line[indent:])
        if definition is None:
            continue
        name = _substitution_key(definition["name"])
        kind = definition["kind"]
        if kind == "image":
            text_of_name[name] = ""
        elif kind in ("replace", "unicode"):
            # The text may go on in further lines, up to a blank one.
            stop = min(_body_stop(lines, number + 1, indent), _blank_line(lines, number + 1))
            words = [definition["text"] or "", *map(str.strip, lines[number + 1 : stop])]
            text = " ".join(filter(None, words))
            text_of_name[name] = text if kind == "replace" else _characters(text)
    return text_of_name


def _substitution_key(name: str) -> str:
    """The name between bars without regard to capitals and repeated blanks, as docutils does."""
    return " ".join(name.split()).casefold()


def _characters(codes: str) -> str:
    """The characters of ``unicode::``, whose codes are written ``0xA9`` or ``U+00A9``.

    Other words are text.
    """
    characters = []
    for word in codes.partition(" .. ")[0].split():
        is_code = re.fullmatch(r"(?:0x|U\+)[0-9A-Fa-f]{1,5}", word, re.IGNORECASE)
        characters.append(chr(int(word[2:], 16)) if is_code else word)
    return "".join(characters).replace("\0", "")


def headings(lines: Sequence[str]) -> list[Heading]:
    """The headings of a text: titles with a line of punctuation below, or above and below.

    A style is the punctuation, and whether it stands above too; levels stand in the order in which
    their styles appear.
    """
    styles: list[tuple[str, bool]] = []
    titles: list[Heading] = []
    number = 0
    while number < len(lines):
        style = _heading_style(lines, number)
        if style is None:
            number += 1
            continue
        if style not in styles:
            styles.append(style)
        # The title stands in the first or second of two or three lines.
        overlined = style[1]
        title = lines[number + overlined].strip()
        after = number + 2 + overlined
        titles.append(Heading(styles.index(style) + 1, title, number, after))
        number = after
    return titles


def _heading_style(lines: Sequence[str], number: int) -> tuple[str, bool] | None:
    """The style of a title that begins at a line; None where none begins.

    Returns:
        The character of the line below the title, and whether the same stands above it.
    """
    first, second, third = [*lines[number : number + 3], "", ""][:3]
    starts_block = number == 0 or not lines[number - 1]
    if not first or not starts_block:
        return None
    # 1. A line above the title and one below it.
    above = _ADORNMENT.fullmatch(first)
    if above and second and third and _ADORNMENT.fullmatch(third):
        fits = third[0] == above[1] and len(first) == len(third)
        if fits and _long_enough(first, second.strip()):
            return above[1], True
        return None
    # 2. A line below it alone.
    below = _ADORNMENT.fullmatch(second)
    if above or not below or first[0] == " ":
        return None
    if _long_enough(second, first):
        return below[1], False
    return None


def _long_enough(adornment: str, title: str) -> bool:
    """Whether docutils takes a line for a title's; it may be shorter, if it is not very short."""
    return len(adornment) >= min(_SHORT_LINE, len(title))


def prose(lines: Sequence[str], shown: Mapping[str, str] | None = None) -> list[str]:
    """The paragraphs of a section's lines, on one line each and without markup.

    Headings of subsections are left out.

    Args:
        lines: of a text.
        shown: texts of names between bars, see :func:`substitutions`.
    """
    body = list(lines)
    for heading in headings(lines):
        for number in range(heading.first, heading.after):
            body[number] = ""
    texts = []
    for paragraph in _paragraphs(body):
        if plain := _plain(paragraph, shown or {}):
            texts.append(plain)
    return texts


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Paragraphs with their markup, in reading order."""
    paragraphs: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        indent = _indent(line)
        rest = line[indent:]
        if not rest:
            number += 1
        # What a directive says is text as well.
        elif _MARKUP.match(rest):
            stop = _body_stop(lines, number + 1, indent)
            paragraphs += _paragraphs(_spoken(lines[number:stop], indent))
            number = stop
        # Tables and doctests.
        elif _GRID_TABLE.match(rest) or rest.startswith(">>> "):
            number = _blank_line(lines, number)
        elif _SIMPLE_TABLE.match(rest):
            number = _simple_table_stop(lines, number)
        # Text, and the literal block that it may announce.
        else:
            stop = _blank_line(lines, number)
            block = lines[number:stop]
            texts, column = _split_block(block)
            paragraphs += texts
            number = stop
            if block[-1].endswith("::"):
                number = _literal_stop(lines, stop, column)
    return paragraphs


def _spoken(lines: Sequence[str], indent: int) -> list[str]:
    """The lines of a directive's body that a reader sees; none for other explicit markup.

    Args:
        lines: of the block, from ``..`` on.
        indent: of its first line.
    """
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


def _split_block(block: Sequence[str]) -> tuple[list[str], int]:
    """Paragraphs of lines without a blank one between them, and the column where the last begins.

    List items, fields, options, terms and definitions are paragraphs of their own. A number that
    begins a further line of a paragraph is text.
    """
    pieces: list[list[str]] = []
    column = -1  # where the lines of the current paragraph begin
    # Where the paragraph's sign stands, if its next line may begin anywhere behind that; else -1.
    sign_column = -1
    for number, line in enumerate(block):
        indent = _indent(line)
        rest = line[indent:]
        if _ADORNMENT.fullmatch(rest) and len(rest) >= _SHORT_LINE:
            continue  # a transition
        # 1. A line that goes on with the paragraph.
        begins = any(sign.match(rest) for sign in (_BULLET, _FIELD, _BAR))
        if pieces and indent == column and not begins:
            pieces[-1].append(rest)
            continue
        if 0 <= sign_column < indent:
            pieces[-1].append(rest)
            column, sign_column = indent, -1
            continue
        # 2. A line that begins one, behind its signs.
        sign_length, hanging_length = _signs(rest, indent, block[number + 1 : number + 2])
        column = indent + sign_length
        sign_column = column - hanging_length if hanging_length else -1
        pieces.append([rest if _OPTION.match(rest) else rest[sign_length:]])
    return [" ".join(piece) for piece in pieces], column


def _signs(rest: str, indent: int, following: Sequence[str]) -> tuple[int, int]:
    """Length of the signs with which a paragraph begins, as of an item in an item.

    Args:
        rest: its first line, behind the indent.
        indent: of that line.
        following: its second line, if there is one.

    Returns:
        The length of all signs, and that of the last if the paragraph's other lines may begin
        anywhere behind it; else 0.
    """
    length = 0
    while bullet := _BULLET.match(rest, length):
        length = bullet.end()
    for hanging in (_FIELD, _BAR, _OPTION):
        sign = hanging.match(rest, length)
        if sign:
            return sign.end(), sign.end() - length
    number = _NUMBER.match(rest, length)
    if number is None:
        return length, 0
    # "A. Smith" and a line below it that is neither indented nor numbered are text.
    for line in following:
        if _indent(line) <= indent + length and not _NUMBER.match(line.lstrip()):
            return length, 0
    # Behind the number an item of the item may begin.
    inside = rest[number.end() :]
    inner, hangs = _signs(inside, indent + number.end(), following)
    return number.end() + inner, hangs


def _indent(line: str) -> int:
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip(" "))


def _blank_line(lines: Sequence[str], start: int) -> int:
    """The first blank line from ``start`` on, or the end."""
    for number in range(start, len(lines)):
        if not lines[number]:
            return number
    return len(lines)


def _body_stop(lines: Sequence[str], start: int, indent: int) -> int:
    """The first line from ``start`` on that is not blank and indented by ``indent`` or less."""
    for number in range(start, len(lines)):
        if lines[number] and _indent(lines[number]) <= indent:
            return number
    return len(lines)


def _literal_stop(lines: Sequence[str], start: int, indent: int) -> int:
    """Where a literal block ends that may begin after ``start``.

    Its lines are indented, or begin with one quoting character.
    """
    first = start
    while first < len(lines) and not lines[first]:
        first += 1
    if first == len(lines):
        return first
    if _indent(lines[first]) > indent:
        return _body_stop(lines, first, indent)
    quote = lines[first][indent : indent + 1]
    if not _ADORNMENT.match(quote) or _indent(lines[first]) < indent:
        return start
    while first < len(lines) and lines[first][indent : indent + 1] == quote:
        first += 1
    return first


def _simple_table_stop(lines: Sequence[str], start: int) -> int:
    """The line after a simple table.

    It ends with its second or third border, behind which a blank line stands.
    """
    for number in range(start + 1, len(lines)):
        ends = number + 1 == len(lines) or not lines[number + 1]
        if ends and _SIMPLE_TABLE.match(lines[number].strip()):
            return number + 1
    return _blank_line(lines, start)


def _plain(text: str, shown: Mapping[str, str]) -> str:
    """A paragraph's words without inline markup; a literal's own characters stay as they are."""
    if text.endswith("::"):
        colon = "" if text == "::" or text.endswith(" ::") else ":"
        text = text[:-2].rstrip() + colon
    return " ".join(_without_markup(text.replace("\0", ""), shown).split())


def _without_markup(text: str, shown: Mapping[str, str]) -> str:
    """A paragraph without inline markup: the texts of links, roles and substitutions alone.

    A backslash goes; the character behind it stays, unless it is a blank, and is no markup. Nor is
    anything in a literal. Such spans are replaced by ``\\0number\\0`` until markup is removed.
    """
    literal_spans: list[str] = []  # the spans, each behind a backslash

    def put_aside(span: str) -> str:
        literal_spans.append(span)
        return f"\0{len(literal_spans) - 1}\0"

    def escaped(text: str) -> str:
        return _ESCAPE.sub(lambda escape: put_aside(escape[0]), text)

    def role_text(role: re.Match[str]) -> str:
        if role["role"] not in _RAW:
            return _role_text(role)
        written = _PUT_ASIDE.sub(lambda place: literal_spans[int(place[1])], role["text"])
        return put_aside("\\" + written)

    # 1. Literals and escaped characters are put aside, those of what names stand for as well.
    text = _LITERAL.sub(lambda literal: put_aside("\\" + literal["text"]), text)
    text = _SUBSTITUTION.sub(partial(_substituted, shown), escaped(text))
    text = escaped(text)
    # 2. Markup.
    text = _ROLE.sub(role_text, text)
    text = _FOOTNOTE.sub("", text)
    text = _LINK.sub(_link_text, text)
    for markup in (_STRONG, _EMPHASIS, _INTERPRETED, _REFERENCE):
        text = markup.sub(r"\g<text>", text)
    # 3. What was put aside.
    return _PUT_ASIDE.sub(lambda place: literal_spans[int(place[1])][1:].lstrip(" "), text)


def _substituted(shown: Mapping[str, str], name: re.Match[str]) -> str:
    """The text of a name between bars; the name itself where it has none."""
    return shown.get(_substitution_key(name["text"]), name["text"])


def _link_text(link: re.Match[str]) -> str:
    """The text of a link, else its target."""
    return link["text"] or link["target"] or ""


def _role_text(role: re.Match[str]) -> str:
    """The visible text of a role.

    ``:ref:`words <target>``` shows "words", ``:pep:`8``` "PEP 8", ``:func:`~a.b``` "b".
    """
    text = role["text"]
    titled = re.fullmatch(r"(.+?)\s*<[^<>]+>", text)
    if titled:
        return titled[1]
    name = role["role"].rpartition(":")[2]
    if name in _NUMBERED:
        return f"{_NUMBERED[name]} {text.partition('#')[0]}"
    if text.startswith("~"):
        return text.rpartition(".")[2]
    return text.lstrip("!")
