"""Templates of dates, ages, numbers, measurements and formulas, as the reader sees them."""

import html
import re
from datetime import date
from functools import cache

from longform.datasets.wikipedia.arguments import Arguments, Renderer, data, grouped
from longform.datasets.wikipedia.convert import convert
from longform.datasets.wikipedia.formulas import chemistry_text
from longform.datasets.wikipedia.marks import FRACTION, GONE, HOLE, literal, plain
from longform.datasets.wikipedia.tags import lowered, raised

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def written_date(arguments: Arguments, start: int = 1, american: bool = True) -> str | None:
    """``{{start date|1912|4|15}}``: "April 15, 1912".

    Args:
        arguments: year, month (a number or a name) and day in three parameters that follow each
            other; without month or day the rest of the date.
        start: place of the year among them.
        american: whether the month stands first unless ``df=y``; otherwise the day does unless
            ``df=US``.

    Returns:
        The date; what stands in the year's place where it is no number; None for a month or a day
        that is none.
    """
    year, month, day = _three(arguments, start)
    # 1. The year alone, and what is written in its place.
    if not year.isdecimal():
        return year or None
    if not month:
        return year
    # 2. The month, by its number or its name.
    number = int(month) if month.isdecimal() else 0
    if 1 <= number <= 12:
        month = _MONTHS[number - 1]
    elif month.capitalize() not in _MONTHS:
        return None
    # 3. The day, before the month or behind it.
    if not day:
        return f"{month} {year}"
    if not day.isdecimal():
        return None
    if arguments.yes("df") or (not american and arguments["df"].lower() != "us"):
        return f"{int(day)} {month} {year}"
    return f"{month} {int(day)}, {year}"


def _three(arguments: Arguments, start: int) -> tuple[str, str, str]:
    """Year, month and day: the parameters ``start``, ``start`` + 1 and ``start`` + 2."""
    return arguments[start], arguments[start + 1], arguments[start + 2]


def as_of(arguments: Arguments) -> str | None:
    """``{{as of|2010|5}}``: "As of May 2010"."""
    if arguments["alt"]:
        return arguments["alt"] + arguments["post"]
    when = written_date(arguments, american=False)
    if when is None:
        return None
    if arguments.yes("bare"):
        return when + arguments["post"]
    word = "Since" if arguments.yes("since") else "As of"
    word = word.lower() if arguments.yes("lc") else word
    before = f"{arguments['pre']} " if arguments["pre"] else ""
    return f"{word} {before}{when}{arguments['post']}"


def _calendar(arguments: Arguments, start: int) -> date | None:
    """The date in three parameters from ``start`` on; a missing month or day is the first."""
    parts = _three(arguments, start)
    if not parts[0].isdecimal():
        return None
    numbers = [int(part) if part.isdecimal() else 1 for part in parts]
    try:
        return date(*numbers)
    except ValueError:
        return None


def _years(begin: date, end: date) -> int:
    """Full years between two dates."""
    # One less where the last year's anniversary is still to come.
    return end.year - begin.year - ((end.month, end.day) < (begin.month, begin.day))


def age(arguments: Arguments) -> str | None:
    """Years between two dates; with one date alone it depends on the day of reading."""
    begin, end = _calendar(arguments, 1), _calendar(arguments, 4)
    return str(_years(begin, end)) if begin and end else None


def age_in_days(arguments: Arguments) -> str | None:
    """Days between two dates."""
    begin, end = _calendar(arguments, 1), _calendar(arguments, 4)
    return f"{(end - begin).days:,}" if begin and end else None


def age_in_years_and_days(arguments: Arguments) -> str | None:
    """Full years between two dates, and the days behind them."""
    begin, end = _calendar(arguments, 1), _calendar(arguments, 4)
    if not begin or not end:
        return None
    years = _years(begin, end)
    try:
        birthday = begin.replace(year=begin.year + years)
    except ValueError:  # 29 February
        birthday = date(begin.year + years, 3, 1)
    days = (end - birthday).days
    return f"{years} year{'s' * (years != 1)}, {days} day{'s' * (days != 1)}"


def death_and_age(arguments: Arguments) -> str | None:
    """``{{death date and age|1852|11|27|1815|12|10}}``: "November 27, 1852 (aged 36)".

    The date of death in three parameters, that of birth in the next three; the date of death alone
    where the other is missing.
    """
    died, begin, end = written_date(arguments), _calendar(arguments, 4), _calendar(arguments, 1)
    return f"{died} (aged {_years(begin, end)})" if died and begin and end else died


def measurement(arguments: Arguments) -> str | None:
    """``{{convert}}`` and ``{{cvt}}``, which asks for symbols."""
    named = {key: plain(value) for key, value in arguments.named.items() if not key.isdecimal()}
    if arguments.name == "cvt":
        named["cvt"] = "yes"
    positional = []
    for number in range(1, 40):
        if str(number) in arguments.named:
            text = html.unescape(plain(arguments[number]))
            positional.append(text.replace("\xa0", " "))
    return convert(positional, named)


def fraction(arguments: Arguments) -> str | None:
    """``{{frac|2}}``, ``{{frac|1|2}}`` and ``{{frac|3|1|2}}``: 1/2, 1/2, 3 1/2."""
    parts = arguments.items()
    if not 1 <= len(parts) <= 3:
        return None
    integer = f"{parts[0]} " if len(parts) == 3 else ""
    above, below = ["1", *parts][-2:]
    return f"{FRACTION}{integer}{_one_piece(above)}/{_one_piece(below)}"


def _one_piece(text: str) -> str:
    """A number or a name as it is, anything longer in parentheses."""
    return text if re.fullmatch(r"[\w.,'√π−-]+", text) else f"({text})"


def measured(arguments: Arguments) -> str | None:
    """``{{val|1.5|0.2|e=6|u=km}}``: value, error, power of ten, unit."""
    # 1. The value and its error.
    value = arguments[1].replace("-", "−")
    if not value:
        return None
    error = arguments[2]
    in_brackets = error.startswith("(")
    if in_brackets:
        value += error
    elif error and arguments[3]:
        value += f" +{error.lstrip('+')}−{arguments[3].lstrip('-−')}"
    elif error:
        value += f"±{error}"
    if arguments["fmt"] == "commas":
        value = grouped(value)
    # 2. The power of ten holds for both.
    if arguments["e"]:
        if error and not in_brackets:
            value = f"({value})"
        value += "×10^" + arguments["e"].replace("-", "−")
    # 3. The unit.
    text = arguments["p"] + value + arguments["s"]
    if measure := _unit_powers(arguments.first("u", "ul")):
        text += measure if measure in ("%", "°", "′", "″") else f" {measure}"
    if per := arguments.first("up", "upl"):
        text += "/" + _unit_powers(per)
    return text + arguments["end"]


def _unit_powers(measure: str) -> str:
    """``m2.s-1`` -> ``m^2⋅s^−1``."""
    if "[" in measure or "<" in measure or HOLE.search(measure):
        return measure
    factors = []
    for factor in measure.split("."):
        raised_power = re.sub(r"(?<=[A-Za-zμ])(-?\d)$", r"^\1", factor)
        factors.append(raised_power.replace("^-", "^−"))
    return "⋅".join(factors)


def chemical(arguments: Arguments) -> str | None:
    """``{{chem|Ge|9|2-}}``: symbols and counts in turn, a charge last."""
    text = ""
    for part in arguments.items():
        if re.fullmatch(r"\d*[+−-]+", part):
            text += raised(part.replace("-", "−"), "x")
        elif part.isdecimal():
            text += lowered(part, text)
        else:
            text += part
    return text or None


@cache
def _element_symbols() -> dict[str, str]:
    """The symbol of each chemical element, by its name or by itself in lower case."""
    symbols = {"aluminum": "Al", "sulphur": "S", "cesium": "Cs"}
    words = data()["elements"].split()
    for symbol, name in zip(words[::2], words[1::2], strict=True):
        symbols[name] = symbols[symbol.lower()] = symbol
    return symbols


def nuclide(arguments: Arguments) -> str | None:
    """``{{nuclide|uranium|238}}``: 238U."""
    symbol = _element_symbols().get(arguments.first(1, "element").lower())
    mass = arguments.first(2, "mass")
    return f"{mass}{symbol}" if symbol else None


# Millimetres of a track gauge, which is defined in feet and inches or named by them.
GAUGES = {
    600: "1 ft 11 5/8 in",
    610: "2 ft",
    750: "2 ft 5 1/2 in",
    760: "2 ft 5 15/16 in",
    762: "2 ft 6 in",
    914: "3 ft",
    1000: "3 ft 3 3/8 in",
    1067: "3 ft 6 in",
    1435: "4 ft 8 1/2 in",
    1520: "4 ft 11 27/32 in",
    1524: "5 ft",
    1600: "5 ft 3 in",
    1668: "5 ft 5 21/32 in",
    1676: "5 ft 6 in",
}


def gauge(arguments: Arguments) -> str | None:
    """``{{track gauge|1435mm}}``: "1,435 mm (4 ft 8 1/2 in)"; with ``disp=1`` millimetres alone."""
    millimetres = re.fullmatch(r"(\d+)(?:mm)?", arguments[1].replace(" ", "").replace(",", ""))
    if millimetres is None or int(millimetres[1]) not in GAUGES:
        return None
    size = int(millimetres[1])
    return f"{size:,} mm" if arguments["disp"] == "1" else f"{size:,} mm ({GAUGES[size]})"


def coordinates(arguments: Arguments) -> str | None:
    """``{{coord|51|30|N|0|7|W}}``: "51°30′N 0°7′W"; nothing where they are in the title alone.

    ``{{coord|51.5|-0.12}}``: "51.5°N 0.12°W". None for a part that is no number and no point of the
    compass.
    """
    if arguments["display"].lower() in ("title", "t"):
        return GONE
    parts = [part for part in arguments.items() if ":" not in part]
    # 1. Numbers with their signs in turn, up to a point of the compass.
    text = ""
    degrees = []
    signs = iter("°′″")
    for part in parts:
        if part.upper() in ("N", "S", "E", "W"):
            text += part.upper() + " "
            signs = iter("°′″")
        elif re.fullmatch(r"[-−]?\d+(?:\.\d+)?", part):
            text += part + next(signs, "")
            degrees.append(float(part.replace("−", "-")))
        else:
            return None
    # 2. Two numbers alone are decimal degrees, whose signs tell the points.
    if len(parts) == len(degrees) == 2 and "." in "".join(parts):
        north, east = degrees
        latitude = f"{abs(north):g}°{'N' if north >= 0 else 'S'}"
        longitude = f"{abs(east):g}°{'E' if east >= 0 else 'W'}"
        return f"{latitude} {longitude}"
    return text.strip() or None


def circa(arguments: Arguments) -> str | None:
    """``{{circa|1450|1460}}``: "c. 1450 – c. 1460"."""
    first, second = arguments[1], arguments[2]
    if second:
        return f"c. {first} – c. {second}"
    return f"c. {first}" if first else "c."


def period(word: str) -> Renderer:
    """A renderer of ``{{reign|1660|1685}}``: "r. 1660–1685"; the word alone without years.

    Args:
        word: before the years.
    """

    def text(arguments: Arguments) -> str:
        years = "–".join(arguments.items()[:2])
        return f"{word} {years}" if arguments[1] else word

    return text


def old_style(arguments: Arguments) -> str | None:
    """``{{OldStyleDate|5 July|1743|24 June}}``: "5 July [O.S. 24 June] 1743"."""
    new, year, old = arguments[1], arguments[2], arguments[3]
    if not new or not old:
        return None
    return f"{new} {literal('[')}O.S. {old}{literal(']')} {year}".strip()


def gaps(arguments: Arguments) -> str | None:
    """``{{gaps|12|345}}``, groups of digits: "12 345"."""
    return arguments["lhs"] + " ".join(arguments.items()) + arguments["rhs"] or None


def chem2(arguments: Arguments) -> str | None:
    """``{{chem2|SO4(2-)}}``."""
    shown = chemistry_text(plain(arguments[1])) if arguments[1] else None
    return literal(shown) if shown else None


def sortable(arguments: Arguments) -> str | None:
    """``{{nts|1234}}``: a number that tables sort."""
    return grouped(arguments.first(1, "1")) or None
