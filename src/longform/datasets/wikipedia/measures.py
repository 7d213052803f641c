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
_AMERICAN = {"metre": "meter", "litre": "liter"}
FINER_FROM_WHOLE = ("ft", "lb")  # units of which a whole number of another unit shows more digits

_SMALL = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
)
_TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")


@dataclass(frozen=True)
class Unit:
    """A unit of measurement.

    Attributes:
        code: what the template calls it.
        symbol, singular, plural: how it is written.
        kind: what it measures.
        scale: how many of the basic unit of its kind it is; of temperatures how many kelvins.
        default: codes of the units that it is converted to, unless others are named.
        multiple: the power of ten of "e6acre".
    """

    code: str
    symbol: str
    singular: str
    plural: str
    kind: str
    scale: float
    default: str
    multiple: str = ""

    @property
    def offset(self) -> float:
        """The unit's reading at zero kelvins."""
        return {"C": -273.15, "°C": -273.15, "F": -459.67, "°F": -459.67}.get(self.code, 0.0)


@dataclass(frozen=True)
class Value:
    """A number as it was written.

    Attributes:
        number: its value.
        precision: digits after the point; negative for zeros before it.
        shown: its own spelling.
    """

    number: float
    precision: float
    shown: str


@cache
def units() -> Mapping[str, Unit]:
    """All units of ``units.csv``, by their code in the template."""
    table = {}
    with _UNITS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            scale = float(row.pop("scale"))
            table[row["code"]] = Unit(**row, scale=scale)
    return table


@cache
def _names() -> Mapping[str, str]:
    """Other spellings -> code: names in British and American, squares and cubes with a digit."""
    names: dict[str, str] = {}
    for code, measure in units().items():
        for name in (measure.singular, measure.plural):
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
    """A unit's British name as Americans spell it."""
    for british, spelling in _AMERICAN.items():
        name = name.replace(british, spelling)
    return name


@cache
def unit(code: str) -> Unit | None:
    """The unit of a code or name, ``e6acre`` (million acres) included."""
    single = units().get(code) or units().get(_names().get(code, ""))
    multiple = _MULTIPLE.match(code)
    if single is not None or multiple is None:
        return single
    single = units().get(code[multiple.end() :])
    if single is None:
        return None
    default = " ".join(multiple[0] + part for part in single.default.split())
    return replace(
        single,
        code=code,
        scale=single.scale * 10 ** int(multiple[1]),
        multiple=multiple[1],
        default=default,
    )


def number(text: str) -> Value | None:
    """A number or fraction as the template accepts it; None for anything else."""
    text = text.strip()
    for sign, fraction in _VULGAR.items():
        text = re.sub(rf"(?<=\d)\s*{sign}", f"+{fraction}", text).replace(sign, fraction)
    if match := _FRACTION.fullmatch(text):
        return _fraction(match)
    if match := _NUMBER.fullmatch(text):
        return _decimal(match)
    return None


def _fraction(match: re.Match[str]) -> Value | None:
    """The value of a match of ``_FRACTION``, such as ``1+1/2``; None where it divides by zero.

    Groups: a minus or "", whole part or None, numerator, denominator, all in plain digits. Its
    precision, digits after the point, is log10 of the denominator, at least 1.
    """
    sign, integer, numerator, denominator = match.groups()
    if int(denominator) == 0:
        return None
    size = int(integer or 0) + int(numerator) / int(denominator)
    shown = f"{numerator}/{denominator}"
    if integer:
        shown = f"{int(integer):,}+{shown}"
    precision = max(math.log10(int(denominator)), 1)
    return Value(-size, precision, "−" + shown) if sign else Value(size, precision, shown)


def _decimal(match: re.Match[str]) -> Value | None:
    """The value of a match of ``_NUMBER``, such as ``-1,234.5e6``.

    None for a sign, a point or an exponent alone.
    """
    sign, integer, decimals, exponent = match.groups(default="")  # decimals: with their point
    if not integer and len(decimals) < 2:
        return None
    integer = (integer or "0").replace(",", "")
    size = float(integer + decimals)
    num_zeros = len(integer) - len(integer.rstrip("0"))
    precision = len(decimals) - 1 if decimals else -num_zeros
    shown = f"{int(integer):,}{decimals}"
    if exponent:
        power = int(exponent.replace("−", "-"))
        size *= 10.0**power
        precision -= power
        shown += f"×10^{str(power).replace('-', '−')}"
    negative = sign in ("-", "−")
    return Value(-size, precision, "−" + shown) if negative else Value(size, precision, shown)


def converted(value: float, source: Unit, target: Unit) -> float:
    """A number of the unit ``source`` as a number of ``target``, a unit of the same kind."""
    if source.kind == "temperature":
        return (value - source.offset) * source.scale / target.scale + target.offset
    return value * source.scale / target.scale


def default_precision(
    value: Value, source: Unit, target: Unit, output: float, composite: bool = False
) -> int:
    """Digits after the point for an output: as precise as the input, two significant ones at least.

    Args:
        value: the input.
        source: its unit.
        target: the unit of the output.
        output: the input's value in that unit, not rounded.
        composite: the input is in feet and inches; then metres have two digits (centimetres).
    """
    fudge = 1e-14  # a logarithm just below a whole number counts as that number
    if source.kind == "temperature":  # three significant digits of the kelvins
        kelvin = max(abs((value.number - source.offset) * source.scale), 1e-8)
        three_digits = 2 - math.floor(math.log10(kelvin) + fudge)
        return max(math.floor(value.precision), three_digits)
    if value.number == 0 or output == 0:
        return 0
    # How many digits the output needs more than the input, at the same relative precision.
    if target.code in FINER_FROM_WHOLE and value.number == math.floor(value.number):
        adjust = -math.log10(source.scale)
    elif composite:
        adjust = math.log10(target.scale) + 2
    else:
        adjust = math.log10(abs(value.number / output))
    two_digits = 1 - math.floor(math.log10(abs(output)) + fudge)
    return max(math.floor(value.precision + adjust + math.log10(2)), two_digits)


def rounded(value: float, precision: int) -> str:
    """A number as text: commas between groups of three digits, and a true minus sign.

    Args:
        value: halves are rounded away from zero.
        precision: digits after the point; -2 rounds to hundreds.
    """
    factor = 10.0**precision
    # 1e-9: a half that floating point makes a little smaller is still rounded up.
    size = math.floor(abs(value) * factor + 0.5 + 1e-9) / factor
    sign = "−" if value < 0 and size > 0 else ""
    return f"{sign}{size:,.{max(0, precision)}f}"


def spelt(value: Value) -> str | None:
    """A whole number from 0 to 99 in words ("twenty-one"); None for any other value."""
    size = int(value.number)
    if size != value.number or not 0 <= size < 100:
        return None
    if size < 20:
        return _SMALL[size]
    tens, units_digit = divmod(size, 10)
    return f"{_TENS[tens - 2]}-{_SMALL[units_digit]}" if units_digit else _TENS[tens - 2]
