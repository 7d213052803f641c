"""What each template shows of its parameters.

The templates' own documentation on the English Wikipedia says it.
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

# How prefixes are written that are not in capitals, or not as their template is called.
_PREFIXES = {
    "mv": "MV",
    "ms": "MS",
    "lé": "LÉ",
    "hnoms": "HNoMS",
    "hswms": "HSwMS",
    "hdms": "HDMS",
    "hnlms": "HNLMS",
}


def _ship(arguments: Arguments) -> str | None:
    """``{{USS|Hornet|CV-12|6}}``: prefix, name and hull number as the format says."""
    # 1. The prefix is a parameter, or the template's own name.
    if arguments.name in ("ship", "ship1"):
        prefix, shift = arguments[1], 1
    else:
        prefix, shift = _PREFIXES.get(arguments.name, arguments.name.upper()), 0
    name, hull, form = (arguments[shift + number] for number in (1, 2, 3))
    if not name:
        return None
    # 2. The format.
    start = f"{prefix} " if prefix else ""
    forms = {
        "": f"{start}{name} ({hull})" if hull else f"{start}{name}",
        "1": hull,
        "2": name,
        "3": f"{name} ({hull})",
        "5": f"{start}{hull}",
        "6": f"{start}{name}",
    }
    return forms.get(form) or None


def _ship_class(arguments: Arguments) -> str | None:
    """``{{sclass|Essex|aircraft carrier}}``: "Essex-class aircraft carrier"."""
    name, kind, form = arguments[1], arguments[2], arguments[3] or "0"
    return f"{name}-class {kind}" if name and kind and form in "0123" else None


def _list(arguments: Arguments) -> str | None:
    """Items in one line, or each in its own."""
    items = arguments.items()
    if arguments.name in ("hlist", "flat list"):
        return " · ".join(items) or None
    if arguments.name in ("cslist", "comma separated entries"):
        return ", ".join(items) or None
    return BREAK + BREAK.join(items) + BREAK if items else None


def _list_block(arguments: Arguments) -> str | None:
    """A list that is written with a star for each item.

    It begins a line, whatever stands before the template.
    """
    text = arguments.first("text", 1)
    return BREAK + text + BREAK if text else None


def _quotation(arguments: Arguments) -> str | None:
    """The words quoted in a block of their own, below them who said so."""
    # 1. The words.
    start = 2 if arguments.name == "rquote" else 1
    text = arguments.first("text", "quote", start, "content")
    if not text:
        return None
    if "poem" in arguments.name:
        text = text.replace("\n", LINE)
    # 2. Author, title and source; in some templates two sizes come before them.
    if arguments.name in ("cquote", "centered pull quote", "pull quote"):
        credit = [arguments.first("author", 4), arguments.first("source", 5)]
    else:
        author = arguments.first("author", "sign", "cite", start + 1)
        credit = [author, arguments["title"], arguments.first("source", start + 2)]
    shown = ", ".join(filter(None, credit))
    below = f"— {shown}{BREAK}" if shown else ""
    return f"{BREAK}{text}{BREAK}{below}"


def _address(arguments: Arguments) -> str | None:
    """An address on the web, without what all of them begin with."""
    shown = arguments[2] or re.sub(r"^https?://(?:www\.)?|/$", "", arguments[1])
    return shown.replace("[", "").replace("]", "") or None


def _interlanguage(arguments: Arguments) -> str | None:
    """A link to a page of a Wikipedia in another language."""
    return arguments.first("lt", "display", "text", 1) or None


def _script_pair(arguments: Arguments) -> str | None:
    """``{{su|p=2|b=3}}``."""
    upper = raised(arguments["p"], "x")
    lower = lowered(arguments["b"], ")")
    return (upper + lower).replace(GONE, "") or None


def _sic(arguments: Arguments) -> str | None:
    """Words as they were written, ``[sic]`` behind them."""
    parts = arguments.items()[:2]
    # The second part ends the first one's word, unless a blank stands between.
    ends_word = arguments[2] and not arguments[1].endswith(" ")
    words = "".join(parts) if ends_word else " ".join(parts)
    if arguments.yes("hide"):
        return words or GONE
    marker = literal("[sic]")
    return f"{words} {marker}" if words else marker


def _keys(arguments: Arguments) -> str | None:
    """Keys that are pressed together."""
    return "+".join(arguments.items()) or None


def _part(*keys: int | str) -> Renderer:
    """The first of some parameters that is there."""
    return lambda arguments: arguments.first(*keys) or None


def _wrapped(before: str, after: str = "") -> Renderer:
    """The first parameter between signs."""

    def text(arguments: Arguments) -> str | None:
        if not arguments[1]:
            return None
        return f"{literal(before)}{arguments[1]}{literal(after)}"

    return text


def _constant(text: str) -> Renderer:
    """The same text always."""
    return lambda arguments: literal(text)


def _name_of_person(arguments: Arguments) -> str | None:
    """``{{sortname|Ada|Lovelace}}``."""
    names = (arguments.first("first", 1), arguments.first("last", 2))
    return " ".join(filter(None, names)) or None


def _verse(arguments: Arguments) -> str | None:
    """A place in the Bible: book (with or without a number before it) and verses."""
    if arguments.name.startswith(("bibleverse", "bible verse")):
        return " ".join(filter(None, (arguments[1], arguments[2], arguments[3]))) or None
    return " ".join(arguments.items()[:2]) or None


def _money(symbol: str) -> Renderer:
    """A sum behind the currency's sign."""
    return lambda arguments: symbol + grouped(arguments[1]) if arguments[1] else symbol.strip()


def _music(arguments: Arguments) -> str | None:
    """A sign of musical notation."""
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
    """``{{section link|Page|Section}}``: "Page § Section"."""
    return " § ".join(filter(None, (arguments[1], arguments[2]))) or None


def _template_link(arguments: Arguments) -> str | None:
    """``{{tl|name}}``: the template's name in braces."""
    inside = "|".join(arguments.items()).replace("|", literal("|"))
    return literal("{{") + inside + literal("}}")


def _power_of_ten(arguments: Arguments) -> str | None:
    """``{{e|-6}}``."""
    return "×10^" + arguments[1].replace("-", "−") if arguments[1] else None


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


def _citation(arguments: Arguments) -> str | None:
    """A source as Citation Style 1 shows it, without identifiers.

    It is: Who (when). What. Where. Who published it.
    """
    title, chapter = arguments["title"], arguments.first("chapter", "contribution")
    if not title:
        return None
    # 1. Who and when.
    who = _people(arguments, "last", "first", "author") or arguments.first("authors", "vauthors")
    editors = _people(arguments, "editor-last", "editor-first", "editor")
    if editors and not who:
        who = f"{editors}, ed."
    when = arguments.first("date", "year")
    head = f"{who} ({when})" if who and when else who
    # 2. What: a book's title stands without quotation marks.
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
    pages = arguments.first("pages", "page")
    several = "–" in pages or "-" in pages
    parts = [
        head,
        f'"{chapter}"' if chapter else "",
        title,
        " ".join(filter(None, (work, volume))),
        publisher,
        f"{'pp' if several else 'p'}. {pages}" if pages else "",
        "" if who else when,
    ]
    shown = ". ".join(part.rstrip(".") for part in parts if part)
    return f"{ASIDE}{shown}.{ASIDE_END}"


# Renderers and the names of their templates; ``templates.yaml`` lists those that have many names.
_TEMPLATES: tuple[tuple[Renderer, str], ...] = (
    (measurement, "convert|cvt"),
    (language_text, "langx|lang-x"),
    (chinese_text, "zh|zh-all|lang-zh"),
    (_part(3, 2, 1), "transl|transliteration|translit"),
    (nihongo, "nihongo|nihongo3|nihongo foot|nihongo krt|nihongo title"),
    (korean, "korean|ko-hhrm|lang-ko-hhrm"),
    (english_sounds, "ipac-en"),
    (sounds, "ipa"),
    (_wrapped("/", "/"), "ipaslink|ipa link slash|ipas"),
    (_wrapped("[", "]"), "ipablink|ipab|brackets|bracket|square brackets"),
    (_wrapped("⟨", "⟩"), "angbr|angbr ipa|angle bracket|angle brackets|grapheme|angle"),
    (_wrapped("", ""), "ipalink|ipa link"),
    (_wrapped("√"), "sqrt|radic|√"),
    (_wrapped("|", "|"), "abs|pipes|mabs"),
    (_wrapped("'", "'"), "gloss|single quotes"),
    (_wrapped('"', '"'), "double quotes|quote inline|qi|\"'-quote|inline quote"),
    (_wrapped("(", ")"), "parentheses|in parentheses"),
    (_wrapped("{", "}"), "brace|braces|mset"),
    (_power_of_ten, "e|e-notation|10^|x10^"),
    (_wrapped("No. "), "no.|number sign|numero"),
    (_wrapped("b. "), "b."),
    (_wrapped("d. "), "d."),
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
    (_part(1), "xt|!xt|mxt"),
    (_constant(" "), "nbsp|spaces|space"),
    (lambda arguments: arguments[1].upper() or None, "uc|upper"),
    (lambda arguments: arguments[1].lower() or None, "lc|lower"),
)


@cache
def renderers() -> Mapping[str, Renderer]:
    """How each template that carries text is shown, by its name."""
    lists = data()
    table: dict[str, Renderer] = {}

    def add(names: Iterable[str], renderer: Renderer) -> None:
        table.update(dict.fromkeys(names, renderer))

    # 1. Those that are listed beside this module.
    add(names_in(lists["first"]), _part("text", 1))
    add(names_in(lists["second"]), _part("text", 2))
    for sign, names in lists["signs"].items():
        add(str(names).split("|"), _constant(sign))
    add(names_in(lists["quotes"]), _quotation)
    add(names_in(lists["lists"]), _list)
    add(names_in(lists["columns"]), _part("content", "text", 2, 1))
    add(names_in(lists["ships"]), _ship)
    for name, symbol in lists["currencies"].items():
        add([name], _money(symbol))
    # 2. Those above.
    for renderer, names in _TEMPLATES:
        add(names.split("|"), renderer)
    return table


def family(name: str) -> Renderer | None:
    """How a template with a code in its name is shown.

    ``{{lang-fr|...}}``, ``{{IPA-de|...}}`` and ``{{script/Hebrew|...}}`` are such templates.
    """
    if name.startswith("lang-"):
        return language_text
    if name.startswith("ipa-"):
        return sounds
    if name.startswith("script/"):
        return _part("text", 1)
    if name == "citation" or name.startswith(("cite ", "vcite ")):
        return _citation
    return None
