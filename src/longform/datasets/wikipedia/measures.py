"""Units of measurement and numbers as ``{{convert}}`` takes them, with its rule of precision."""

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

_UNITS = Path(__file__).with_name("data") / "units.csv"


_MULTIPLE = re.compile(r"e(3|6|9|12)(?=\D)")


_NUMBER = re.compile(r"([-−+]?)(\d[\d,]*)?(\.\d*)?(?:e([-+−]?\d+))?", re.IGNORECASE)


_FRACTION = re.compile(r"([-−]?)(?:(\d+)\s*[+ -]\s*)?(\d+)\s*(?:/|⁄|//)\s*(\d+)")


_VULGAR = {
    "½": "1/2",
    "¼": "1/4",
    "¾": "3/4",
    "⅓": "1/3",
    "⅔": "2/3",
    "⅛": "1/8",
    "⅜": "3/8",
    "⅝": "5/8",
    "⅞": "7/8",
}
# a word of a range -> between input values, between output values; a unit follows each value where "each" is set


_AMERICAN = (("metre", "meter"), ("litre", "liter"))


FINER_FROM_WHOLE = ("ft", "lb")  # units of which a whole number of another unit shows more digits

_SMALL = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
)


_TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")


@dataclass(frozen=True)
class Unit:
    """A unit of measurement; ``scale`` is in the basic unit of its kind (for temperatures in kelvins)."""

    code: str
    symbol: str
    singular: str
    plural: str
    kind: str
    scale: float
    default: str
    multiple: str = ""  # of "e6acre"

    @property
    def offset(self) -> float:
        """The unit's reading at zero kelvins."""
        return {"C": -273.15, "°C": -273.15, "F": -459.67, "°F": -459.67}.get(self.code, 0.0)


@dataclass(frozen=True)
class Value:
    """A number as it was written: its value, digits after the point (negative for zeros before it), its own spelling."""

    number: float
    precision: float
    shown: str


@cache
def units() -> Mapping[str, Unit]:
    """Units by their code in the template."""
    with _UNITS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["code"]: Unit(**{**row, "scale": float(row["scale"])}) for row in rows}  # type: ignore[arg-type]


@cache
def _names() -> Mapping[str, str]:
    """Other spellings of a code: the unit's name in British and American, squares and cubes with a digit."""
    names = dict[str, str]()
    for code, one in units().items():
        for name in (one.singular, one.plural):
            names.setdefault(name, code)
            names.setdefault(american(name), code)
    for length in ("mi", "ft", "in", "yd", "nmi"):
        names |= {
            f"{length}2": f"sq{length}",
            f"{length}3": f"cu{length}",
            f"sq {length}": f"sq{length}",
            f"cu {length}": f"cu{length}",
        }
    return names


def american(name: str) -> str:
    for british, american in _AMERICAN:
        name = name.replace(british, american)
    return name


@cache
def unit(code: str) -> Unit | None:
    """The unit of a code or name, ``e6acre`` (million acres) included."""
    known = units().get(code) or units().get(_names().get(code, ""))
    multiple = _MULTIPLE.match(code)
    if known is None and multiple and (single := units().get(code[multiple.end() :])):
        scale = single.scale * 10 ** int(multiple[1])
        default = " ".join(multiple[0] + part for part in single.default.split())
        return replace(single, code=code, scale=scale, multiple=multiple[1], default=default)
    return known


def number(text: str) -> Value | None:
    """A number or fraction as the template accepts it; None for anything else."""
    text = text.strip()
    for sign, spelt in _VULGAR.items():
        text = re.sub(rf"(?<=\d)\s*{sign}", f"+{spelt}", text).replace(sign, spelt)
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        sign, whole, above, below = fraction.groups()
        if int(below) == 0:
            return None
        size = int(whole or 0) + int(above) / int(below)
        shown = (f"{int(whole):,}+" if whole else "") + f"{above}/{below}"
        return Value(
            -size if sign else size, max(math.log10(int(below)), 1), ("−" if sign else "") + shown
        )
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or (match[3] and len(match[3]) > 1)):
        return None
    sign, integer, decimals, exponent = (
        match[1],
        (match[2] or "0").replace(",", ""),
        match[3] or "",
        match[4],
    )
    size = float(integer + decimals)
    precision = len(decimals) - 1 if decimals else -(len(integer) - len(integer.rstrip("0")))
    shown = f"{int(integer):,}{decimals}"
    if exponent:
        power = int(exponent.replace("−", "-"))
        size *= 10.0**power
        precision -= power
        shown += f"×10^{str(power).replace('-', '−')}"
    negative = sign in ("-", "−")
    return Value(-size if negative else size, precision, ("−" if negative else "") + shown)


def converted(value: float, source: Unit, target: Unit) -> float:
    """The value in another unit of the same kind."""
    if source.kind == "temperature":
        return (value - source.offset) * source.scale / target.scale + target.offset
    return value * source.scale / target.scale


def default_precision(
    value: Value, source: Unit, target: Unit, output: float, composite: bool = False
) -> int:
    """Digits after the point for an output: as precise as the input, at least two significant digits.

    Args:
        value: The input.
        source: Its unit.
        target: The unit of the output.
        output: The input's value in that unit, not rounded.
        composite: The input has inches as its smaller unit, which asks for centimetres of a metre.
    """
    fudge = 1e-14
    if source.kind == "temperature":  # three significant digits of the kelvins
        kelvin = max(abs((value.number - source.offset) * source.scale), 1e-8)
        least = 2 - math.floor(math.log10(kelvin) + fudge)
        return max(math.floor(value.precision), least)
    if value.number == 0 or output == 0:
        return 0
    if target.code in FINER_FROM_WHOLE and value.number == math.floor(value.number):
        adjust = -math.log10(source.scale)
    elif composite:
        adjust = math.log10(target.scale) + 2
    else:
        adjust = math.log10(abs(value.number / output))
    least = 1 - math.floor(math.log10(abs(output)) + fudge)
    return max(math.floor(value.precision + adjust + math.log10(2)), least)


def rounded(value: float, precision: int) -> str:
    """A number with so many digits after the point, in groups of three, halves away from zero, with a true minus sign."""
    factor = 10.0**precision
    size = math.floor(abs(value) * factor + 0.5 + 1e-9) / factor
    sign = "−" if value < 0 and size > 0 else ""
    return f"{sign}{size:,.{max(0, precision)}f}"


def spelt(value: Value) -> str | None:
    """A whole number below one hundred in words."""
    size = int(value.number)
    if size != value.number or not 0 <= size < 100:
        return None
    if size < 20:
        return _SMALL[size]
    return _TENS[size // 10 - 2] + (f"-{_SMALL[size % 10]}" if size % 10 else "")
