"""Templates of dates, ages, numbers, measurements and formulas, as the reader sees them."""

import html
import re
from datetime import date

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
    """Year, month and day in three parameters as they are written out."""
    year, month, day = (arguments[start + place] for place in range(3))
    if not year.isdecimal():
        return year or None
    if not month:
        return year
    number = int(month) if month.isdecimal() else 0
    name = (
        _MONTHS[number - 1]
        if 1 <= number <= 12
        else month
        if month.capitalize() in _MONTHS
        else None
    )
    if name is None:
        return None
    if not day:
        return f"{name} {year}"
    if not day.isdecimal():
        return None
    if arguments.yes("df") or (not american and arguments["df"].lower() != "us"):
        return f"{int(day)} {name} {year}"
    return f"{name} {int(day)}, {year}"


def as_of(arguments: Arguments) -> str | None:
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
    parts = [arguments[start + place] for place in range(3)]
    if not parts[0].isdecimal():
        return None
    numbers = [int(part) if part.isdecimal() else 1 for part in parts]
    try:
        return date(*numbers)
    except ValueError:
        return None


def _years(begin: date, end: date) -> int:
    return end.year - begin.year - ((end.month, end.day) < (begin.month, begin.day))


def age(arguments: Arguments) -> str | None:
    """Years between two dates; with one date alone it depends on the day of reading."""
    begin, end = _calendar(arguments, 1), _calendar(arguments, 4)
    return str(_years(begin, end)) if begin and end else None


def age_in_days(arguments: Arguments) -> str | None:
    begin, end = _calendar(arguments, 1), _calendar(arguments, 4)
    return f"{(end - begin).days:,}" if begin and end else None


def age_in_years_and_days(arguments: Arguments) -> str | None:
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
    died, begin, end = written_date(arguments), _calendar(arguments, 4), _calendar(arguments, 1)
    return f"{died} (aged {_years(begin, end)})" if died and begin and end else died


def measurement(arguments: Arguments) -> str | None:
    named = {key: plain(value) for key, value in arguments.named.items() if not key.isdecimal()}
    if arguments.name == "cvt":
        named["cvt"] = "yes"
    positional = [arguments[place] for place in range(1, 40) if str(place) in arguments.named]
    return convert([html.unescape(plain(part)).replace("\xa0", " ") for part in positional], named)


def fraction(arguments: Arguments) -> str | None:
    parts = arguments.items()
    if not 1 <= len(parts) <= 3:
        return None
    upper = ["1", *parts][-2:] if len(parts) < 3 else parts[1:]
    simple = [part if re.fullmatch(r"[\w.,'√π−-]+", part) else f"({part})" for part in upper]
    return FRACTION + (f"{parts[0]} " if len(parts) == 3 else "") + "/".join(simple)


def measured(arguments: Arguments) -> str | None:
    """``{{val|1.5|0.2|e=6|u=km}}``: value, error, power of ten, unit."""
    value = arguments[1].replace("-", "−")
    if not value:
        return None
    error = arguments[2]
    if error.startswith("("):
        value += error
    elif error and arguments[3]:
        value += f" +{error.lstrip('+')}−{arguments[3].lstrip('-−')}"
    elif error:
        value += f"±{error}"
    if arguments["fmt"] == "commas":
        value = grouped(value)
    if arguments["e"]:
        value = (
            (f"({value})" if error and not error.startswith("(") else value)
            + "×10^"
            + arguments["e"].replace("-", "−")
        )
    measure = arguments.first("u", "ul")
    measure = _unit_powers(measure)
    per = arguments.first("up", "upl")
    whole = arguments["p"] + value + arguments["s"]
    joint = "" if measure in ("%", "°", "′", "″") else " "
    return (
        whole
        + (joint + measure if measure else "")
        + ("/" + _unit_powers(per) if per else "")
        + arguments["end"]
    )


def _unit_powers(measure: str) -> str:
    """``m2.s-1`` -> ``m^2⋅s^−1``."""
    if "[" in measure or "<" in measure or HOLE.search(measure):
        return measure
    parts = [
        re.sub(r"(?<=[A-Za-zμ])(-?\d)$", r"^\1", part).replace("^-", "^−")
        for part in measure.split(".")
    ]
    return "⋅".join(parts)


def chemical(arguments: Arguments) -> str | None:
    """``{{chem|Ge|9|2-}}``: symbols and counts in turn, a charge last."""
    text = ""
    for part in arguments.items():
        charge = re.fullmatch(r"(\d*)([+−-]+)", part)
        text += (
            raised(part.replace("-", "−"), "x")
            if charge
            else lowered(part, text)
            if part.isdecimal()
            else part
        )
    return text or None


def nuclide(arguments: Arguments) -> str | None:
    words = data()["elements"].split()
    symbols = {name: symbol for symbol, name in zip(words[::2], words[1::2], strict=True)}
    symbols |= {symbol.lower(): symbol for symbol in words[::2]} | {
        "aluminum": "Al",
        "sulphur": "S",
        "cesium": "Cs",
    }
    symbol = symbols.get(arguments.first(1, "element").lower())
    mass = arguments.first(2, "mass")
    return f"{mass}{symbol}" if symbol else None


GAUGES = {  # millimetres of a track gauge, which is defined in feet and inches or named by them
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
    """A track gauge in both units; in one with ``disp=1``."""
    millimetres = re.fullmatch(r"(\d+)(?:mm)?", arguments[1].replace(" ", "").replace(",", ""))
    if millimetres is None or int(millimetres[1]) not in GAUGES:
        return None
    size = int(millimetres[1])
    return f"{size:,} mm" if arguments["disp"] == "1" else f"{size:,} mm ({GAUGES[size]})"


def coordinates(arguments: Arguments) -> str | None:
    """Degrees, minutes and seconds, unless they stand in the page's title alone."""
    if arguments["display"].lower() in ("title", "t"):
        return GONE
    parts = [part for part in arguments.items() if ":" not in part]
    text, signs = "", iter("°′″")
    for part in parts:
        if part.upper() in ("N", "S", "E", "W"):
            text += part.upper() + " "
            signs = iter("°′″")
        elif re.fullmatch(r"[-−]?\d+(?:\.\d+)?", part):
            text += part + next(signs, "")
        else:
            return None
    if len(parts) == 2 and "." in "".join(parts):  # signed decimal degrees
        north, east = (float(part.replace("−", "-")) for part in parts)
        text = (
            f"{abs(north):g}°{'N' if north >= 0 else 'S'} {abs(east):g}°{'E' if east >= 0 else 'W'}"
        )
    return text.strip() or None


def circa(arguments: Arguments) -> str | None:
    first, second = arguments[1], arguments[2]
    return (f"c. {first} – c. {second}" if second else f"c. {first}" if first else "c.") or None


def period(word: str) -> Renderer:
    """``{{reign|1 |2}}`` -> "r. 1–2"."""
    return lambda arguments: f"{word} " + "–".join(arguments.items()[:2]) if arguments[1] else word


def old_style(arguments: Arguments) -> str | None:
    new, year, old = arguments[1], arguments[2], arguments[3]
    return f"{new} {literal('[')}O.S. {old}{literal(']')} {year}".strip() if new and old else None


def gaps(arguments: Arguments) -> str | None:
    return arguments["lhs"] + " ".join(arguments.items()) + arguments["rhs"] or None


def chem2(arguments: Arguments) -> str | None:
    shown = chemistry_text(plain(arguments[1])) if arguments[1] else None
    return literal(shown) if shown else None


def sortable(arguments: Arguments) -> str | None:
    return grouped(arguments.first(1, "1")) or None
