"""What each template shows of its parameters, by the template's own documentation on the English Wikipedia."""

import re
from collections.abc import Mapping
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


def _ship(arguments: Arguments) -> str | None:
    """``{{USS|Hornet|CV-12|6}}``: prefix, name and hull number as the format says."""
    if arguments.name == "ship":
        prefix, name, hull, form = (arguments[place] for place in range(1, 5))
    else:
        names = {
            "mv": "MV",
            "ms": "MS",
            "lé": "LÉ",
            "hnoms": "HNoMS",
            "hswms": "HSwMS",
            "hdms": "HDMS",
            "hnlms": "HNLMS",
        }
        prefix = names.get(arguments.name, arguments.name.upper())
        name, hull, form = (arguments[place] for place in range(1, 4))
    if not name:
        return None
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
    name, kind, form = arguments[1], arguments[2], arguments[3] or "0"
    return f"{name}-class {kind}" if name and kind and form in "0123" else None


def _list(arguments: Arguments) -> str | None:
    items = arguments.items()
    if arguments.name in ("hlist", "flat list"):
        return " · ".join(items) or None
    if arguments.name in ("cslist", "comma separated entries"):
        return ", ".join(items) or None
    return BREAK + BREAK.join(items) + BREAK if items else None


def _list_block(arguments: Arguments) -> str | None:
    """A list that is written with a star for each item; it begins a line, whatever stands before the template."""
    text = arguments.first("text", 1)
    return BREAK + text + BREAK if text else None


def _quotation(arguments: Arguments) -> str | None:
    """The words quoted in a block of their own, below them who said so."""
    start = 2 if arguments.name == "rquote" else 1
    text = arguments.first("text", "quote", start, "content")
    if not text:
        return None
    text = text.replace("\n", LINE) if "poem" in arguments.name else text
    by = [
        arguments.first(*keys)
        for keys in (("author", "sign", "cite", start + 1), ("title",), ("source", start + 2))
    ]
    if arguments.name in ("cquote", "centered pull quote", "pull quote"):  # two sizes come first
        by = [arguments.first("author", 4), "", arguments.first("source", 5)]
    credit = ", ".join(part for part in by if part)
    return f"{BREAK}{text}{BREAK}" + (f"— {credit}{BREAK}" if credit else "")


def _address(arguments: Arguments) -> str | None:
    shown = arguments[2] or re.sub(r"^https?://(?:www\.)?|/$", "", arguments[1])
    return shown.replace("[", "").replace("]", "") or None


def _interlanguage(arguments: Arguments) -> str | None:
    return arguments.first("lt", "display", "text", 1) or None


def _script_pair(arguments: Arguments) -> str | None:
    """``{{su|p=2|b=3}}``."""
    return (
        raised(arguments["p"], "x").replace(GONE, "")
        + lowered(arguments["b"], ")").replace(GONE, "")
        or None
    )


def _sic(arguments: Arguments) -> str | None:
    """Words as they were written, ``[sic]`` behind them."""
    words = (
        "".join(arguments.items()[:2])
        if arguments[2] and not arguments[1].endswith(" ")
        else " ".join(arguments.items()[:2])
    )
    if arguments.yes("hide"):
        return words or GONE
    marker = literal("[sic]")
    return f"{words} {marker}" if words else marker


def _keys(arguments: Arguments) -> str | None:
    return "+".join(arguments.items()) or None


def _part(*keys: int | str) -> Renderer:
    """The first of some parameters that is there."""
    return lambda arguments: arguments.first(*keys) or None


def _wrapped(before: str, after: str = "") -> Renderer:
    """The first parameter between signs."""
    return lambda arguments: (
        f"{literal(before)}{arguments[1]}{literal(after)}" if arguments[1] else None
    )


def _constant(text: str) -> Renderer:
    return lambda arguments: literal(text)


def _name_of_person(arguments: Arguments) -> str | None:
    return (
        " ".join(part for part in (arguments.first("first", 1), arguments.first("last", 2)) if part)
        or None
    )


def _verse(arguments: Arguments) -> str | None:
    """A place in the Bible: book (with or without a number before it) and verses."""
    parts = arguments.items()
    if arguments.name.startswith("bibleverse"):
        place = " ".join(part for part in (arguments[1], arguments[2], arguments[3]) if part)
        return place or None
    return " ".join(parts[:2]) or None


def _money(symbol: str) -> Renderer:
    return lambda arguments: symbol + grouped(arguments[1]) if arguments[1] else symbol.strip()


def _music(arguments: Arguments) -> str | None:
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


def _second(arguments: Arguments) -> str | None:
    return arguments.first("text", 2) or None


def _section_link(arguments: Arguments) -> str | None:
    return " § ".join(part for part in (arguments[1], arguments[2]) if part) or None


def _anchor_text(arguments: Arguments) -> str | None:
    return arguments.first("text", 1) or None


def _spaced(arguments: Arguments) -> str | None:
    return " "


def _template_link(arguments: Arguments) -> str | None:
    return literal("{{") + "|".join(arguments.items()).replace("|", literal("|")) + literal("}}")


def _people(arguments: Arguments, last: str, first: str, whole: str) -> str:
    """Names of authors or editors: "Last, First; Last, First"."""
    names = []
    for number in ("", *map(str, range(1, 10))):
        surname, given = arguments.first(last + number), arguments.first(first + number)
        name = (
            f"{surname}, {given}"
            if surname and given
            else surname or arguments.first(whole + number)
        )
        if name:
            names.append(name)
    return "; ".join(names)


def _citation(arguments: Arguments) -> str | None:
    """A source as Citation Style 1 shows it, without identifiers: who (when). What. Where. Who published it."""
    authors = _people(arguments, "last", "first", "author") or arguments.first(
        "authors", "vauthors"
    )
    editors = _people(arguments, "editor-last", "editor-first", "editor")
    who = authors or (f"{editors}, ed." if editors else "")
    when = arguments.first("date", "year")
    title, chapter = arguments["title"], arguments.first("chapter", "contribution")
    work = arguments.first(
        "journal", "work", "newspaper", "magazine", "website", "encyclopedia", "periodical"
    )
    title = (
        f'"{title}"'
        if title and (work or arguments.name not in ("cite book", "citation"))
        else title
    )
    edition = f" ({arguments['edition']} ed.)" if arguments["edition"] else ""
    volume = arguments["volume"] + (f" ({arguments['issue']})" if arguments["issue"] else "")
    place = ": ".join(part for part in (arguments["location"], arguments["publisher"]) if part)
    pages = arguments.first("pages", "page")
    head = f"{who} ({when})" if who and when else who
    parts = [
        head,
        f'"{chapter}"' if chapter else "",
        title + edition,
        " ".join(part for part in (work, volume) if part),
        place,
        f"p{'p' * ('–' in pages or '-' in pages)}. {pages}" if pages else "",
        when if not who else "",
    ]
    shown = ". ".join(part.rstrip(".") for part in parts if part)
    return f"{ASIDE}{shown}.{ASIDE_END}" if title else None


@cache
def renderers() -> Mapping[str, Renderer]:
    """How each template that carries text is shown, by its name."""
    known: dict[str, Renderer] = {}
    listed_names = data()
    for name in names_in(listed_names["first"]):
        known[name] = _anchor_text
    for name in names_in(listed_names["second"]):
        known[name] = _second
    for sign, listed in listed_names["signs"].items():
        for name in str(listed).split("|"):
            known[name] = _constant(sign)
    known |= {"!": _constant("|"), "|": _constant("|")}
    for name in names_in(listed_names["quotes"]):
        known[name] = _quotation
    for name in names_in(listed_names["lists"]):
        known[name] = _list
    for name in names_in(listed_names["columns"]):
        known[name] = lambda arguments: arguments.first("content", "text", 2, 1) or None
    for name in names_in(listed_names["ships"]):
        known[name] = _ship
    for name, symbol in listed_names["currencies"].items():
        known[name] = _money(symbol)
    groups: list[tuple[Renderer, str]] = [
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
        (
            lambda arguments: "×10^" + arguments[1].replace("-", "−") if arguments[1] else None,
            "e|e-notation|10^|x10^",
        ),
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
            "birth date|birth-date|birth date and age|bda|birth year and age|death date|death-date|death year|start date|end date|dob"
            "|start date and age|end date and age|dts|dtsh|start-date|end-date|release date|film date|launch date|date table sorting",
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
            "bibleref|bibleref2|bibleverse|bibleverse with invisible space|bibleverse-nb|bible verse",
        ),
        (_music, "music"),
        (_section_link, "section link|slink|see section"),
        (_template_link, "tl|tlx|tlc|template link|tld|tnull"),
        (_part(1), "xt|!xt|mxt"),
        (_spaced, "nbsp|spaces|space"),
        (lambda arguments: arguments[1].upper() or None, "uc|upper"),
        (lambda arguments: arguments[1].lower() or None, "lc|lower"),
    ]
    for renderer, listed in groups:
        known |= dict.fromkeys(listed.split("|"), renderer)
    return known


def family(name: str) -> Renderer | None:
    """How a template with a code in its name is shown: ``{{lang-fr|...}}``, ``{{IPA-de|...}}``, ``{{script/Hebrew|...}}``."""
    if name.startswith("lang-"):
        return language_text
    if name.startswith("ipa-"):
        return sounds
    if name.startswith("script/"):
        return _anchor_text
    if name == "citation" or name.startswith(("cite ", "vcite ")):
        return _citation
    return None
