"""``{{convert}}``: a measurement in two units as the reader sees it.

The rules are those that Wikipedia documents for the template (Template:Convert, Help:Convert):
names for the first unit, symbols in brackets, and an output that is as precise as the input is,
with at least two significant digits. What is not known gives None.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from longform.datasets.wikipedia.measures import (
    Unit,
    Value,
    american,
    converted,
    default_precision,
    number,
    rounded,
    spelt,
    unit,
)

# Names of the powers of ten that a unit is counted in: e6m are million metres.
_MULTIPLES = {"3": "thousand", "6": "million", "9": "billion", "12": "trillion"}

# The words of a range, between values that stand first and between those in brackets.
_RANGES = {
    "-": ("–", "–"),
    "–": ("–", "–"),
    "to": (" to ", " to "),
    "to(-)": (" to ", "–"),
    "to-": (" to ", "–"),
    "and": (" and ", " and "),
    "and(-)": (" and ", "–"),
    "or": (" or ", " or "),
    "by": (" by ", " by "),
    "x": (" by ", " × "),
    "×": (" by ", " × "),
    "*": (" by ", " × "),
    "xx": (" × ", " × "),
    "+/-": (" ± ", " ± "),
    "±": (" ± ", " ± "),
    ",": (", ", ", "),
    "to about": (" to about ", " to about "),
    "and about": (" and about ", " and about "),
}
_BY = ("by", "x", "×", "*", "xx")  # between the sides of an area, each of which has its unit

# The words of a range inside one parameter: "5-10".
_INSIDE_RANGE = re.compile(
    r"(?<=[\d½¼¾])\s*(–|-| to | and | or | by |×| x |\bx\b|\+/-|±)\s*(?=[\d.])"
)

# How many smaller units there are in a larger one, of values that are said in two.
_SECONDARY = {
    ("ft", "in"): 12,
    ("yd", "ft"): 3,
    ("mi", "yd"): 1760,
    ("mi", "ch"): 80,
    ("lb", "oz"): 16,
    ("st", "lb"): 14,
    ("kg", "g"): 1000,
    ("m", "cm"): 100,
}

# Codes of outputs in two units: the larger one and the smaller one.
_COMPOSITE_OUTPUT = {
    "ftin": ("ft", "in"),
    "lboz": ("lb", "oz"),
    "stlb": ("st", "lb"),
    "ydft": ("yd", "ft"),
}

_FOUR_DIGITS = re.compile(r"(?<![\d,])(\d),(\d{3})(?![\d,])")  # before the point

# What stands between two measurements, by the option ``disp``.
_JOINTS = {
    "or": " or ",
    "comma": ", ",
    ",": ", ",
    "slash": "/",
    "/": "/",
    "x": " ",
}


@dataclass(frozen=True)
class _Input:
    """The measurement that is converted.

    Attributes:
        values: one, or those of a range.
        words: between the values, one less; keys of ``_RANGES``.
        unit: of the values; the smaller one of two units.
        shown: the text of a value in two units, such as 5 feet 3 inches; else None.
        composite: whether the value is in feet and inches.
    """

    values: tuple[Value, ...]
    words: tuple[str, ...]
    unit: Unit
    shown: str | None = None
    composite: bool = False

    @property
    def several(self) -> bool:
        """Whether it is a range."""
        return len(self.values) > 1


# An output: its numbers, and their text with the unit.
_Output = tuple[list[str], str]


def convert(positional: list[str], named: Mapping[str, str]) -> str | None:
    """The text of ``{{convert|...}}`` or None: a unit, number or option that is not known.

    Args:
        positional: its parameters without a name.
        named: the others.
    """
    if named.get("sing") == "on":  # an older name
        named = {**named, "adj": "on"}
    # 1. The input.
    parsed = _input(positional, named)
    if parsed is None:
        return None
    source, rest = parsed
    source = _with_thousands(source, named)
    # 2. Behind it stand codes of output units, words for the middle, and digits after the point.
    codes, places = [], []
    for part in rest:
        if re.fullmatch(r"-?\d+", part):
            places.append(int(part))
        elif part:
            codes.append(part)
    middle = _take_middle(codes, source, named)
    targets = _targets(codes[0] if codes else source.unit.default, source.unit)
    if targets is None:
        return None
    # 3. Input and outputs as they are shown.
    precision = places[0] if places else None
    outputs = [_output(source, target, named, precision) for target in targets]
    first = _first(source, named, middle)
    if first is None:
        return None
    second = "; ".join(text for _, text in outputs)
    # 4. One beside the other.
    show = named.get("disp", "")
    if named.get("order") == "flip" or show == "flip":  # the output first
        first, second = _flipped(source, targets[0], outputs, named)
    if show in ("number", "output number only"):
        return outputs[0][0][0]
    return _side_by_side(first, second, show)


def _with_thousands(source: _Input, named: Mapping[str, str]) -> _Input:
    """The input with the commas that the template asks for; the comma of a range stays."""
    values = []
    for value in source.values:
        values.append(replace(value, shown=_thousands(value.shown, named)))
    shown = None if source.shown is None else _thousands(source.shown, named)
    return replace(source, values=tuple(values), shown=shown)


def _thousands(shown: str, named: Mapping[str, str]) -> str:
    """A number without commas (``comma=off``), or with them from five digits on (``comma=5``)."""
    commas = named.get("comma")
    if commas == "off":
        return shown.replace(",", "")
    if commas == "5":
        return _FOUR_DIGITS.sub(r"\1\2", shown)
    return shown


def _side_by_side(first: str, second: str, show: str) -> str | None:
    """Two measurements as the option ``disp`` of the template asks; None for one not known.

    Args:
        first: the one that stands first, with its unit; the output where the order is flipped.
        second: the other one.
        show: the option; "" where it is missing. The line that "b" and "br" begin before the
            brackets is left out.
    """
    if show in ("output only", "out"):
        return second
    if show in ("b", "br", "", "flip"):
        return f"{first} ({second})"
    if show == "sqbr":
        return f"{first} [{second}]"
    return f"{first}{_JOINTS[show]}{second}" if show in _JOINTS else None


def _take_middle(codes: list[str], source: _Input, named: Mapping[str, str]) -> str:
    """The word that stands between value and unit, or behind them; it is taken off ``codes``."""
    if named.get("adj") not in ("mid", "pre"):
        return ""
    if codes and unit(codes[-1]) is None:
        return codes.pop()
    if len(codes) == 1 and _targets(codes[0], source.unit) is None:
        return codes.pop()
    return ""


def _flipped(
    source: _Input, target: Unit, outputs: list[_Output], named: Mapping[str, str]
) -> tuple[str, str]:
    """The first output before the brackets, the input within them."""
    numbers, text = outputs[0]
    first = _named(numbers, target, named, text)
    if source.shown is not None:
        shown_input = source.shown
    elif named.get("abbr") == "values":
        shown_input = _values(source, 1)
    elif named.get("abbr") in ("off", "none") and "cvt" not in named:
        name = _name(source.unit, source.values[-1], named, several=source.several)
        shown_input = _values(source, 1, name)
    else:
        shown_input = f"{_values(source, 1)} {_symbol(source.unit)}"
    further = [text for _, text in outputs[1:]]
    return first, "; ".join([shown_input, *further])


def _input(positional: list[str], named: Mapping[str, str]) -> tuple[_Input, list[str]] | None:
    """Values and unit of the input, and the parameters that are left."""
    parts = [part.strip() for part in positional]
    # 1. A range in one parameter: "5-10".
    inside = _INSIDE_RANGE.search(parts[0]) if parts else None
    if inside and number(parts[0]) is None:
        before, after = parts[0][: inside.start()], parts[0][inside.end() :]
        parts[:1] = [before, inside[1].strip(), after]
    # 2. Values with the words of a range between them.
    values: list[Value] = []
    words: list[str] = []
    while True:
        value = number(parts[0]) if len(parts) > 1 else None
        if value is None:
            return None
        values.append(value)
        if parts[1] not in _RANGES:
            break
        words.append(parts[1])
        parts = parts[2:]
    # 3. Their unit; a second value with a smaller unit belongs to a single one.
    source = unit(parts[1])
    if source is None:
        return None
    rest = parts[2:]
    if len(values) == 1 and len(rest) > 1:
        in_two = _in_two_units(values[0], source, rest[0], rest[1], named)
        if in_two is not None:
            return in_two, rest[2:]
    return _Input(tuple(values), tuple(words), source), rest


def _in_two_units(
    value: Value, larger: Unit, text: str, code: str, named: Mapping[str, str]
) -> _Input | None:
    """An input such as 5 feet 3 inches; None if the second part is none of its kind.

    Args:
        value, larger: the first value and its unit.
        text, code: the second value and its unit, as they are written.
        named: parameters of the template.
    """
    smaller, second = unit(code), number(text)
    if smaller is None or second is None or (larger.code, smaller.code) not in _SECONDARY:
        return None
    times = _SECONDARY[larger.code, smaller.code]
    total = Value(value.number * times + second.number, max(0, second.precision), "")
    # 1. Symbols, names, or names with hyphens.
    brief = named.get("abbr") in ("on", "in", "mos") or "cvt" in named
    hyphened = named.get("adj") == "on" and not brief
    texts = []
    for part, measure in ((value, larger), (second, smaller)):
        if hyphened:
            texts.append(f"{part.shown}-{measure.singular}")
        elif brief:
            texts.append(f"{part.shown} {measure.symbol}")
        else:
            texts.append(f"{part.shown} {_name(measure, part, named)}")
    shown = "-".join(texts) if hyphened else " ".join(texts)
    # 2. The whole counts in the smaller unit.
    default = {"length": "m", "mass": "kg"}[larger.kind]
    if larger.code == "st":
        default = "lb kg"
    return _Input((total,), (), replace(smaller, default=default), shown, smaller.code == "in")


def _targets(code: str, source: Unit) -> list[Unit] | None:
    """Output units of a code, several with blanks or plus signs between them.

    None: one is not known or of another kind than the input.
    """
    single = _composite(code) or unit(code)
    if single is not None:
        return [single] if single.kind == source.kind else None
    targets = []
    for part in re.split(r"[ +]+", code):
        target = unit(part) or _composite(part)
        if target is None or target.kind != source.kind:
            return None
        targets.append(target)
    return targets


def _composite(code: str) -> Unit | None:
    """The larger of two units that an output is said in, under the code of both."""
    larger = unit(_COMPOSITE_OUTPUT[code][0]) if code in _COMPOSITE_OUTPUT else None
    return replace(larger, code=code) if larger else None


def _output(source: _Input, target: Unit, named: Mapping[str, str], places: int | None) -> _Output:
    """Numbers in a unit, and their text with its symbol, or its name if abbreviations are off.

    Args:
        source: the input.
        target: the unit.
        named: parameters of the template.
        places: digits after the point, where the template names them.
    """
    if target.code in _COMPOSITE_OUTPUT:
        return _two_units(source, target, named)
    # 1. Values, rounded.
    outputs = [converted(value.number, source.unit, target) for value in source.values]
    precisions = _precisions(source, target, outputs, named, places)
    step = {"5": 5, "10": 10, "25": 25, "50": 50, "0.5": 0.5}.get(named.get("round", ""))
    if step is not None and places is None:
        outputs = [math.floor(output / step + 0.5) * step for output in outputs]
        precisions = [1 if step < 1 else 0] * len(outputs)
    numbers = []
    for output, precision in zip(outputs, precisions, strict=True):
        numbers.append(_thousands(rounded(output, precision), named))
    # 2. The unit.
    if named.get("abbr") == "values":
        return numbers, _joined(numbers, source.words, 1, "")
    name = _symbol(target)
    by_name = named.get("abbr") in ("off", "none", "in") or (
        named.get("disp") == "or" and "abbr" not in named and not _is_temperature(target)
    )
    if by_name and "cvt" not in named:
        last = number(numbers[-1].replace("−", "-"))
        if last is not None:
            name = _name(target, last, named, several=len(numbers) > 1)
    return numbers, _joined(numbers, source.words, 1, name)


def _precisions(
    source: _Input,
    target: Unit,
    outputs: list[float],
    named: Mapping[str, str],
    places: int | None,
) -> list[int]:
    """Digits after the point of each output; negative ones round tens and hundreds.

    The first of these decides: significant digits, digits after the point, and the precision of
    the input.

    Args:
        source: the input.
        target: the unit of the outputs.
        outputs: values in it.
        named: parameters of the template.
        places: digits after the point, where the template names them.
    """
    if re.fullmatch(r"[1-9]\d?", named.get("sigfig", "")):
        digits = int(named["sigfig"])
        precisions = []
        for output in outputs:
            magnitude = math.floor(math.log10(abs(output) or 1) + 1e-14)
            precisions.append(digits - 1 - magnitude)
        return precisions
    if places is not None:
        return [places] * len(outputs)
    precisions = []
    for value, output in zip(source.values, outputs, strict=True):
        precisions.append(default_precision(value, source.unit, target, output, source.composite))
    if named.get("round") == "each":
        return precisions
    # A range has one precision, that of its most precise value.
    return [max(precisions)] * len(precisions)


def _two_units(source: _Input, target: Unit, named: Mapping[str, str]) -> _Output:
    """Values in feet and inches and their kin, the smaller unit in whole numbers."""
    larger, smaller = (unit(code) for code in _COMPOSITE_OUTPUT[target.code])
    assert larger is not None and smaller is not None
    times = round(larger.scale / smaller.scale)
    texts = []
    for value in source.values:
        total = math.floor(converted(abs(value.number), source.unit, smaller) + 0.5)
        count, rest = divmod(total, times)
        shown = _thousands(f"{count:,}", named)
        text = f"{rest} {smaller.symbol}"
        texts.append(f"{shown} {larger.symbol} {text}" if count else text)
    return texts, _joined(texts, source.words, 1, "")


def _joined(numbers: list[str], words: tuple[str, ...], side: int, name: str) -> str:
    """Numbers with the words of a range between them and their unit behind.

    Such as ``5–10 km``, or within brackets of an area ``16 ft × 33 ft``.

    Args:
        numbers: as they are shown.
        words: of the template between two numbers each, keys of ``_RANGES``; one less than numbers.
        side: 0 before the brackets, 1 within them; there each side of an area has its unit.
        name: the unit's name or symbol; empty for none.
    """
    is_area = not set(_BY).isdisjoint(words)
    unit_each = is_area and side == 1
    text = ""
    for position, shown in enumerate(numbers):
        text += f"{shown} {name}" if unit_each and name else shown
        if position < len(words):
            text += " × " if unit_each else _RANGES[words[position]][side]
    if unit_each or not name:
        return text
    space = "" if name.startswith(("/", "×")) else " "
    return f"{text}{space}{name}"


def _values(source: _Input, side: int, name: str = "") -> str:
    """The input's values as they were written, with a unit behind them if one is named."""
    return _joined([value.shown for value in source.values], source.words, side, name)


def _is_temperature(measure: Unit) -> bool:
    """Whether a unit is shown by its symbol as long as ``abbr`` asks for nothing else."""
    return measure.kind.startswith("temperature")


def _symbol(measure: Unit) -> str:
    """The unit's symbol, behind the power of ten that it is counted in: "×10^6 m"."""
    if measure.multiple:
        return f"×10^{measure.multiple} {measure.symbol}"
    return measure.symbol


def _name(
    measure: Unit,
    value: Value,
    named: Mapping[str, str],
    several: bool = False,
    adjective: bool = False,
) -> str:
    """The unit's name as its number asks: in the singular or the plural."""
    is_one = abs(value.number) == 1 and not several
    is_fraction = "/" in value.shown and abs(value.number) < 1
    name = measure.singular if adjective or is_one or is_fraction else measure.plural
    if named.get("sp") == "us":
        name = american(name)
    multiple = _MULTIPLES.get(measure.multiple, "")
    return f"{multiple} {name}" if multiple else name


def _first(source: _Input, named: Mapping[str, str], middle: str) -> str | None:
    """The input as it is shown; None: it cannot be written in words."""
    if source.shown is not None:
        return source.shown + middle
    # 1. Its values, perhaps in words.
    values = _values(source, 0)
    if named.get("spell") in ("in", "on", "In", "On"):
        words = None if source.several else spelt(source.values[0])
        if words is None:
            return None
        values = words.capitalize() if named["spell"][0].isupper() else words
    # 2. Its unit's symbol.
    abbreviation = named.get("abbr", "")
    if abbreviation == "values":
        return values
    if _is_brief(source.unit, named):
        return _values(source, 1, _symbol(source.unit))
    # 3. Its unit's name.
    adjective = named.get("adj", "")
    name = _name(
        source.unit,
        source.values[-1],
        named,
        source.several,
        adjective in ("on", "mid", "1"),
    )
    if adjective in ("on", "mid"):
        hyphened = name.replace(" ", "-")
        joint = re.sub(r" (to|by|or|and) ", r"-\1-", values)
        return f"{joint}-{hyphened}{middle}"
    if adjective == "pre" and middle:
        return f"{values} {middle} {name}"
    return f"{values}{'' if name.startswith('/') else ' '}{name}"


def _is_brief(measure: Unit, named: Mapping[str, str]) -> bool:
    """Whether the input's unit is shown by its symbol."""
    abbreviation = named.get("abbr", "")
    if abbreviation in ("on", "in", "mos"):
        return True
    if "cvt" in named and abbreviation not in ("off", "out"):
        return True
    return _is_temperature(measure) and abbreviation not in ("off", "none", "out")


def _named(numbers: list[str], target: Unit, named: Mapping[str, str], symbols: str) -> str:
    """An output that stands first: with the unit's name, unless abbreviations are on.

    Args:
        numbers: of the output.
        target: its unit.
        named: parameters of the template.
        symbols: the output with the unit's symbol.
    """
    abbreviation = named.get("abbr", "")
    brief = abbreviation in ("on", "in", "values") or "cvt" in named
    brief = brief or (_is_temperature(target) and abbreviation not in ("off", "none", "out"))
    if brief or target.code in _COMPOSITE_OUTPUT:
        return symbols
    last = number(numbers[-1].replace("−", "-"))
    if last is None:
        return symbols
    adjective = named.get("adj") == "on"
    name = _name(target, last, named, len(numbers) > 1, adjective)
    if len(numbers) == 1 and len(symbols) > len(numbers[0]):
        return f"{numbers[0]}-{name.replace(' ', '-')}" if adjective else f"{numbers[0]} {name}"
    return symbols.replace(_symbol(target), name)
