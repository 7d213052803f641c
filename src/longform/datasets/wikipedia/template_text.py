"""What each template shows of its parameters, after its documentation on the English Wikipedia.

A renderer takes the parameters of a template and returns the text that stands in its place; None
where nothing is known of such parameters, so that the template leaves a hole. ``renderers`` has one
for each name, ``family`` for names that contain a code, such as ``lang-fr``.

Some of the text is marks (:mod:`.marks`): ``BREAK`` begins a paragraph, ``LINE`` a line, ``GONE``
stands for what shows nothing, and a source lies between ``ASIDE`` and ``ASIDE_END``. ``literal``
keeps brackets from being taken for wikitext.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from longform.datasets.wikipedia.arguments import Arguments, Renderer, data, grouped, names_in
from longform.datasets.wikipedia.marks import ASIDE, ASIDE_END, BREAK, GONE, LINE, literal
from longform.datasets.wikipedia.tags import lowered, raised
from longform.datasets.wikipedia.template_speech import (
    chinese_text,
    english_sounds,
    korean,
    language_text,
    nihongo,
    respelling,
    sounds,
)
from longform.datasets.wikipedia.template_values import (
    age,
    age_in_days,
    age_in_years_and_days,
    as_of,
    chem2,
    chemical,
    circa,
    coordinates,
    death_and_age,
    fraction,
    gaps,
    gauge,
    measured,
    measurement,
    nuclide,
    old_style,
    period,
    sortable,
    written_date,
)

# Prefixes of ships that are not written in capitals alone, by the name of their template.
_PREFIXES = {"hnoms": "HNoMS", "hswms": "HSwMS"}


def _ship(arguments: Arguments) -> str | None:
    """A ship: prefix, name and hull number, or those of them that a format asks for.

    ``{{USS|Hornet|CV-12}}``, or ``{{ship|USS|Hornet|CV-12}}``, is "USS Hornet (CV-12)". Behind the
    hull number the format may stand: 1 hull number, 2 name, 3 name and hull number, 5 prefix and
    hull number, 6 prefix and name. A ship without a hull number has no brackets.
    """
    # 1. The prefix is the first parameter, or the template's own name.
    if arguments.name in ("ship", "ship1"):
        prefix, name_at = arguments[1], 2
    else:
        prefix, name_at = _PREFIXES.get(arguments.name, arguments.name.upper()), 1
    name = arguments[name_at]
    hull = arguments[name_at + 1]
    format_number = arguments[name_at + 2]
    if not name:
        return None
    # 2. The text in each format.
    start = f"{prefix} " if prefix else ""
    whole = f"{name} ({hull})" if hull else name
    texts = {
        "": f"{start}{whole}",
        "1": hull,
        "2": name,
        "3": whole,
        "5": f"{start}{hull}" if hull else "",
        "6": f"{start}{name}",
    }
    return texts.get(format_number) or None


def _ship_class(arguments: Arguments) -> str | None:
    """``{{sclass|Essex|aircraft carrier}}``: "Essex-class aircraft carrier".

    Formats 0 to 3, the third parameter, differ in their links alone; of the others nothing is
    known.
    """
    name, kind = arguments[1], arguments[2]
    format_number = arguments[3] or "0"
    if not name or not kind or format_number not in ("0", "1", "2", "3"):
        return None
    return f"{name}-class {kind}"


def _list(arguments: Arguments) -> str | None:
    """Items in one line or each in a paragraph of its own, as the template's name says.

    ``{{hlist|a|b}}``: "a · b"; ``{{cslist|a|b}}``: "a, b"; ``{{ubl|a|b}}``: two paragraphs.
    """
    items = arguments.items()
    if arguments.name in ("hlist", "flat list"):
        return " · ".join(items) or None
    if arguments.name in ("cslist", "comma separated entries"):
        return ", ".join(items) or None
    return BREAK + BREAK.join(items) + BREAK if items else None


def _list_block(arguments: Arguments) -> str | None:
    """``{{plainlist|* a ...}}``: wikitext of a list, a star before each item.

    It is a paragraph of its own, whatever stands before and behind the template.
    """
    text = arguments.first("text", 1)
    return BREAK + text + BREAK if text else None


def _quotation(arguments: Arguments) -> str | None:
    """``{{quote|text|author|source}}``: a block of the text, below it "— author, source".

    Before the text ``{{rquote}}`` has a side of the page; behind it ``{{cquote}}`` has two sizes.
    """
    # 1. The words; each line of a poem is a line.
    text_at = 2 if arguments.name == "rquote" else 1
    text = arguments.first("text", "quote", text_at, "content")
    if not text:
        return None
    if "poem" in arguments.name:
        text = text.replace("\n", LINE)
    # 2. Author, title and source.
    if arguments.name in ("cquote", "centered pull quote", "pull quote"):
        credit = [arguments.first("author", 4), arguments.first("source", 5)]
    else:
        author = arguments.first("author", "sign", "cite", text_at + 1)
        credit = [author, arguments["title"], arguments.first("source", text_at + 2)]
    credit_line = ", ".join(filter(None, credit))
    below = f"— {credit_line}{BREAK}" if credit_line else ""
    return f"{BREAK}{text}{BREAK}{below}"


def _address(arguments: Arguments) -> str | None:
    """``{{url|address|text}}``: the text, else the address without scheme, www. and last slash.

    Without square brackets, which would begin or end a link.
    """
    shown = arguments[2] or re.sub(r"^https?://(?:www\.)?|/$", "", arguments[1])
    return shown.replace("[", "").replace("]", "") or None


def _interlanguage(arguments: Arguments) -> str | None:
    """``{{ill|page|language|...}}``: the page's name, or the words that stand for it.

    The link leads to a Wikipedia in another language until there is a page in English.
    """
    return arguments.first("lt", "display", "text", 1) or None


def _script_pair(arguments: Arguments) -> str | None:
    """``{{su|p=a|b=i+1}}``, an exponent over an index: "^a_(i+1)".

    What stands before the template is not known here: an exponent is taken to follow a letter, an
    index a closing bracket.
    """
    upper = raised(arguments["p"], "x")
    lower = lowered(arguments["b"], ")")
    return (upper + lower).replace(GONE, "") or None


def _sic(arguments: Arguments) -> str | None:
    """``{{sic|recie|ved}}``: "recieved [sic]", with ``hide=y`` the words alone."""
    parts = arguments.items()[:2]
    # The second part ends the first one's word, unless a blank stands between.
    is_one_word = arguments[2] and not arguments.named.get("1", "").endswith(" ")
    words = "".join(parts) if is_one_word else " ".join(parts)
    if arguments.yes("hide"):
        return words or GONE
    marker = literal("[sic]")
    return f"{words} {marker}" if words else marker


def _keys(arguments: Arguments) -> str | None:
    """``{{key press|Ctrl|C}}``, keys that are pressed together: "Ctrl+C"."""
    return "+".join(arguments.items()) or None


def _parameter(*keys: int | str) -> Renderer:
    """A renderer that shows one parameter: the first of ``keys`` that is not empty.

    Args:
        keys: names, or places (from 1) among the parameters without a name.
    """
    return lambda arguments: arguments.first(*keys) or None


def _between(before: str, after: str = "") -> Renderer:
    """A renderer that shows the first parameter with signs before and after it."""

    def text(arguments: Arguments) -> str | None:
        if not arguments[1]:
            return None
        return f"{literal(before)}{arguments[1]}{literal(after)}"

    return text


def _constant(text: str) -> Renderer:
    """A renderer that always shows the same text."""
    return lambda arguments: literal(text)


def _name_of_person(arguments: Arguments) -> str | None:
    """``{{sortname|Ada|Lovelace}}``: "Ada Lovelace"."""
    names = (arguments.first("first", 1), arguments.first("last", 2))
    return " ".join(filter(None, names)) or None


def _verse(arguments: Arguments) -> str | None:
    """``{{bibleverse|1|Kings|2:3}}`` and ``{{bibleref|1 Kings|2:3}}``: "1 Kings 2:3".

    What follows is the code of a translation.
    """
    if arguments.name.startswith(("bibleverse", "bible verse")):
        return " ".join(filter(None, (arguments[1], arguments[2], arguments[3]))) or None
    return " ".join(arguments.items()[:2]) or None


def _money(symbol: str) -> Renderer:
    """A renderer of ``{{US$|1000}}``: "US$1,000"; without a sum the sign alone."""
    return lambda arguments: symbol + grouped(arguments[1]) if arguments[1] else symbol.strip()


def _music(arguments: Arguments) -> str | None:
    """``{{music|flat}}``: "♭"; None for a sign that is not listed."""
    signs = {
        "flat": "♭",
        "b": "♭",
        "sharp": "♯",
        "#": "♯",
        "natural": "♮",
        "doubleflat": "𝄫",
        "doublesharp": "𝄪",
    }
    return signs.get(arguments[1].lower())


def _section_link(arguments: Arguments) -> str | None:
    """``{{section link|Page|Section}}``: "Page § Section"; the page alone without a section."""
    return " § ".join(filter(None, (arguments[1], arguments[2]))) or None


def _template_link(arguments: Arguments) -> str | None:
    """``{{tl|name|part}}``: a template as it is written, "{{name|part}}"."""
    inside = "|".join(arguments.items()).replace("|", literal("|"))
    return literal("{{") + inside + literal("}}")


def _power_of_ten(arguments: Arguments) -> str | None:
    """``{{e|-6}}``: "×10^−6"."""
    exponent = arguments[1].replace("-", "−")
    return f"×10^{exponent}" if exponent else None


def _people(arguments: Arguments, last: str, first: str, full: str) -> str:
    """Names of authors or editors: "Last, First; Last, First".

    Args:
        arguments: of a citation, whose parameters are numbered if there are several people.
        last: what the parameter of surnames is called.
        first: what that of first names is called.
        full: what that of undivided names is called.
    """
    names = []
    for number in ("", *map(str, range(1, 10))):
        surname, first_name = arguments[last + number], arguments[first + number]
        if surname and first_name:
            names.append(f"{surname}, {first_name}")
        else:
            names.append(surname or arguments[full + number])
    return "; ".join(filter(None, names))


def _place_in_source(arguments: Arguments) -> str:
    """The pages of a citation: "p. 5", "pp. 3, 7", or what ``at`` says; empty for none.

    As in Citation Style 1 ``page`` is one page whatever it holds, and so is a bare number in
    ``pages``; ``nopp`` leaves the abbreviation out.
    """
    page, pages = arguments["page"], arguments["pages"]
    if not page and not pages:
        return arguments["at"]
    if arguments["nopp"]:
        return page or pages
    return f"p. {page or pages}" if page or pages.isdecimal() else f"pp. {pages}"


def _citation(arguments: Arguments) -> str | None:
    """A source, much as Citation Style 1 shows it, without identifiers; None without a title.

    Its parts are, each with a full stop and all but the title optional: author (date); "chapter";
    title (edition); work volume (issue); place: publisher; pages. Editors stand for authors where
    there are none; without either the date comes last.
    """
    title = arguments["title"]
    if not title:
        return None
    # 1. Who, and when.
    people = _people(arguments, "last", "first", "author") or arguments.first("authors", "vauthors")
    editors = _people(arguments, "editor-last", "editor-first", "editor")
    if editors and not people:
        people = f"{editors}, ed."
    date = arguments.first("date", "year")
    head = f"{people} ({date})" if people and date else people
    # 2. What: a book's title stands without quotation marks.
    chapter = arguments.first("chapter", "contribution")
    work = arguments.first(
        "journal", "work", "newspaper", "magazine", "website", "encyclopedia", "periodical"
    )
    if work or arguments.name not in ("cite book", "citation"):
        title = f'"{title}"'
    if arguments["edition"]:
        title += f" ({arguments['edition']} ed.)"
    # 3. Where.
    volume = arguments["volume"]
    if arguments["issue"]:
        volume += f" ({arguments['issue']})"
    publisher = ": ".join(filter(None, (arguments["location"], arguments["publisher"])))
    # 4. All of it in a row.
    parts = [
        head,
        f'"{chapter}"' if chapter else "",
        title,
        " ".join(filter(None, (work, volume))),
        publisher,
        _place_in_source(arguments),
        "" if people else date,
    ]
    sentence = ". ".join(part.rstrip(".") for part in parts if part)
    return f"{ASIDE}{sentence}.{ASIDE_END}"


# Renderers and the names of their templates, in lower case. ``data/templates.yaml`` has those with
# many names.
_TEMPLATES: tuple[tuple[Renderer, str], ...] = (
    (measurement, "convert|cvt"),
    (language_text, "langx|lang-x"),
    (chinese_text, "zh|zh-all|lang-zh"),
    (_parameter(3, 2, 1), "transl|transliteration|translit"),
    (nihongo, "nihongo|nihongo3|nihongo foot|nihongo krt|nihongo title"),
    (korean, "korean|ko-hhrm|lang-ko-hhrm"),
    (english_sounds, "ipac-en"),
    (sounds, "ipa"),
    (_between("/", "/"), "ipaslink|ipa link slash|ipas"),
    (_between("[", "]"), "ipablink|ipab|brackets|bracket|square brackets"),
    (_between("⟨", "⟩"), "angbr|angbr ipa|angle bracket|angle brackets|grapheme|angle"),
    (_between("", ""), "ipalink|ipa link"),
    (_between("√"), "sqrt|radic|√"),
    (_between("|", "|"), "abs|pipes|mabs"),
    (_between("'", "'"), "gloss|single quotes"),
    (_between('"', '"'), "double quotes|quote inline|qi|\"'-quote|inline quote"),
    (_between("(", ")"), "parentheses|in parentheses"),
    (_between("{", "}"), "brace|braces|mset"),
    (_power_of_ten, "e|e-notation|10^|x10^"),
    (_between("No. "), "no.|number sign|numero"),
    (_between("b. "), "b."),
    (_between("d. "), "d."),
    (respelling, "respell|pronunciation respelling|respelling"),
    (as_of, "as of|asof|as of?"),
    (circa, "circa|c.|ca.|ca"),
    (period("fl."), "floruit|fl|fl."),
    (period("r."), "reign|r."),
    (age, "age|age as of date|age at date|age in years"),
    (age_in_days, "age in days"),
    (age_in_years_and_days, "age in years and days|ayd"),
    (
        written_date,
        "birth date|birth-date|birth date and age|bda|birth year and age|dob"
        "|death date|death-date|death year|start date|end date|start-date|end-date"
        "|start date and age|end date and age|release date|film date|launch date"
        "|dts|dtsh|date table sorting",
    ),
    (death_and_age, "death date and age|death-date and age|dda"),
    (old_style, "oldstyledate|old style date|oldstyledatenyd"),
    (fraction, "frac|fraction|sfrac|fract|tfrac|xfrac|cfrac"),
    (measured, "val"),
    (gaps, "gaps"),
    (lambda arguments: "".join(arguments.items()) or None, "linktext|link text"),
    (lambda arguments: grouped(arguments[1]) or None, "formatnum|number|format price|num|fnum"),
    (sortable, "nts|number table sorting|number sort"),
    (chemical, "chem|chemical formula"),
    (chem2, "chem2|ce|chem link"),
    (nuclide, "nuclide|nuclide2|simplenuclide|simplenuclide2|simple nuclide"),
    (gauge, "railgauge|track gauge|rail gauge"),
    (coordinates, "coord|coords|coor dms|coor dm|coor d"),
    (lambda arguments: f"<sup>{arguments[1]}</sup>", "sup|superscript"),
    (lambda arguments: f"<sub>{arguments[1]}</sub>", "sub|subscript"),
    (_script_pair, "su|subsup"),
    (_ship, "ship|ship1"),
    (_ship_class, "sclass|sclass-|sclass2|sclass2-"),
    (_address, "url|url2|official url"),
    (
        lambda arguments: arguments.first("name", 2) or "Official website",
        "official website|official|official site",
    ),
    (
        _interlanguage,
        "ill|interlanguage link|interlanguage link multi|link-interwiki|ill2|illm|red link",
    ),
    (_sic, "sic"),
    (_list_block, "plainlist|plain list|flatlist"),
    (_keys, "key press|keypress|key|button"),
    (_name_of_person, "sortname|sort name"),
    (
        _verse,
        "bibleref|bibleref2|bible verse|bibleverse|bibleverse with invisible space|bibleverse-nb",
    ),
    (_music, "music"),
    (_section_link, "section link|slink|see section"),
    (_template_link, "tl|tlx|tlc|template link|tld|tnull"),
    (_parameter(1), "xt|!xt|mxt"),
    (_constant(" "), "nbsp|spaces|space"),
    (lambda arguments: arguments[1].upper() or None, "uc|upper"),
    (lambda arguments: arguments[1].lower() or None, "lc|lower"),
)


@cache
def renderers() -> Mapping[str, Renderer]:
    """The renderer of each template that carries text, by the template's name in lower case."""
    lists = data()
    table: dict[str, Renderer] = {}

    def add(names: Iterable[str], renderer: Renderer) -> None:
        table.update(dict.fromkeys(names, renderer))

    # 1. Templates listed in data/templates.yaml.
    add(names_in(lists["first"]), _parameter("text", 1))
    add(names_in(lists["second"]), _parameter("text", 2))
    for sign, names in lists["signs"].items():
        add(names_in(names), _constant(sign))
    add(names_in(lists["quotes"]), _quotation)
    add(names_in(lists["lists"]), _list)
    add(names_in(lists["columns"]), _parameter("content", "text", 2, 1))
    add(names_in(lists["ships"]), _ship)
    for name, symbol in lists["currencies"].items():
        add([name], _money(symbol))
    # 2. Templates of _TEMPLATES, whose renderer replaces one of the same name.
    for renderer, names in _TEMPLATES:
        add(names.split("|"), renderer)
    return table


def family(name: str) -> Renderer | None:
    """The renderer of templates whose names begin alike; None for a name of no such family.

    ``{{lang-fr|...}}``, ``{{IPA-de|...}}``, ``{{script/Hebrew|...}}`` and ``{{cite book|...}}`` are
    examples.
    """
    if name.startswith("lang-"):
        return language_text
    if name.startswith("ipa-"):
        return sounds
    if name.startswith("script/"):
        return _parameter("text", 1)
    if name == "citation" or name.startswith(("cite ", "vcite ")):
        return _citation
    return None
