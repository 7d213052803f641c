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


def convert(positional: list[str], options: Mapping[str, str]) -> str | None:
    """The text of ``{{convert|...}}`` or None: a unit, number or option that is not known.

    Args:
        positional: its parameters without a name: values, codes of units, digits.
        options: its parameters with a name, such as ``abbr``, ``disp`` and ``adj``.
    """
    if options.get("sing") == "on":  # an older name
        options = {**options, "adj": "on"}
    # 1. The input.
    parsed = _input(positional, options)
    if parsed is None:
        return None
    source, rest = parsed
    source = _with_thousands(source, options)
    # 2. Behind it stand codes of output units, words for the middle, and digits after the point;
    # of several codes and digits the first counts.
    codes, decimals = [], []
    for part in rest:
        if re.fullmatch(r"-?\d+", part):
            decimals.append(int(part))
        elif part:
            codes.append(part)
    middle = _take_middle(codes, source, options)  # which removes it from codes
    targets = _targets(codes[0] if codes else source.unit.default, source.unit)
    if targets is None:
        return None
    # 3. Input and outputs as they are shown.
    precision = decimals[0] if decimals else None
    outputs = [_output(source, target, options, precision) for target in targets]
    first = _shown_input(source, options, middle)
    if first is None:
        return None
    second = "; ".join(text for _, text in outputs)
    # 4. One beside the other.
    show = options.get("disp", "")
    if options.get("order") == "flip" or show == "flip":  # the output first
        first, second = _flipped(source, targets[0], outputs, options)
    if show in ("number", "output number only"):
        return outputs[0][0][0]  # the first number of the first (numbers, text)
    return _side_by_side(first, second, show)


def _with_thousands(source: _Input, options: Mapping[str, str]) -> _Input:
    """The input with the commas that the option ``comma`` asks for; that of a range stays."""
    values = []
    for value in source.values:
        values.append(replace(value, shown=_thousands(value.shown, options)))
    shown = None if source.shown is None else _thousands(source.shown, options)
    return replace(source, values=tuple(values), shown=shown)


def _thousands(shown: str, options: Mapping[str, str]) -> str:
    """A number without commas (``comma=off``), or with them from five digits on (``comma=5``)."""
    commas = options.get("comma")
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


def _take_middle(codes: list[str], source: _Input, options: Mapping[str, str]) -> str:
    """The word that stands between value and unit, or behind them; it is taken off ``codes``."""
    if options.get("adj") not in ("mid", "pre"):
        return ""
    if codes and unit(codes[-1]) is None:
        return codes.pop()
    if len(codes) == 1 and _targets(codes[0], source.unit) is None:
        return codes.pop()
    return ""


def _flipped(
    source: _Input, target: Unit, outputs: list[_Output], options: Mapping[str, str]
) -> tuple[str, str]:
    """The texts of ``order=flip``: the first output; and the input with the other outputs.

    ``target`` is the first output's unit.
    """
    numbers, text = outputs[0]
    first = _named_output(numbers, target, options, text)
    if source.shown is not None:
        shown_input = source.shown
    elif options.get("abbr") == "values":
        shown_input = _values(source, side=1)
    elif options.get("abbr") in ("off", "none") and "cvt" not in options:
        name = _name(source.unit, source.values[-1], options, several=source.several)
        shown_input = _values(source, side=1, name=name)
    else:
        shown_input = f"{_values(source, side=1)} {_symbol(source.unit)}"
    further = [text for _, text in outputs[1:]]
    return first, "; ".join([shown_input, *further])


def _input(positional: list[str], options: Mapping[str, str]) -> tuple[_Input, list[str]] | None:
    """Parse values and unit of the input.

    Returns:
        The input and the parameters behind it; None where a value or the unit is not known.
    """
    parts = [part.strip() for part in positional]
    # 1. A range in one parameter: "5-10".
    inside = _INSIDE_RANGE.search(parts[0]) if parts else None
    if inside and number(parts[0]) is None:
        before, after = parts[0][: inside.start()], parts[0][inside.end() :]
        parts[:1] = [before, inside[1].strip(), after]
    # 2. Values with the words of a range between them, up to the unit, at ``parts[1]``.
    values: list[Value] = []
    range_words: list[str] = []
    while True:
        value = number(parts[0]) if len(parts) > 1 else None
        if value is None:
            return None
        values.append(value)
        if parts[1] not in _RANGES:
            break
        range_words.append(parts[1])
        parts = parts[2:]
    # 3. Their unit; a second value with a smaller unit belongs to a single one.
    source = unit(parts[1])
    if source is None:
        return None
    rest = parts[2:]
    if len(values) == 1 and len(rest) > 1:
        in_two = _in_two_units(values[0], source, rest[0], rest[1], options)
        if in_two is not None:
            return in_two, rest[2:]
    return _Input(tuple(values), tuple(range_words), source), rest


def _in_two_units(
    value: Value, larger: Unit, text: str, code: str, options: Mapping[str, str]
) -> _Input | None:
    """An input such as 5 feet 3 inches; None if the second part is none of its kind.

    Args:
        value, larger: the first value and its unit.
        text, code: the second value and its unit, as they are written.
        options: parameters of the template.
    """
    smaller, second = unit(code), number(text)
    if smaller is None or second is None or (larger.code, smaller.code) not in _SECONDARY:
        return None
    times = _SECONDARY[larger.code, smaller.code]
    total = Value(value.number * times + second.number, max(0, second.precision), "")
    # 1. Symbols, names, or names with hyphens.
    brief = options.get("abbr") in ("on", "in", "mos") or "cvt" in options
    hyphened = options.get("adj") == "on" and not brief
    texts = []
    for part, measure in ((value, larger), (second, smaller)):
        if hyphened:
            texts.append(f"{part.shown}-{measure.singular}")
        elif brief:
            texts.append(f"{part.shown} {measure.symbol}")
        else:
            texts.append(f"{part.shown} {_name(measure, part, options)}")
    shown = "-".join(texts) if hyphened else " ".join(texts)
    # 2. The whole counts in the smaller unit.
    default = {"length": "m", "mass": "kg"}[larger.kind]
    if larger.code == "st":
        default = "lb kg"
    return _Input(
        values=(total,),
        words=(),
        unit=replace(smaller, default=default),
        shown=shown,
        composite=smaller.code == "in",
    )


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
    if code not in _COMPOSITE_OUTPUT:
        return None
    larger = unit(_COMPOSITE_OUTPUT[code][0])
    return replace(larger, code=code) if larger else None


def _output(
    source: _Input, target: Unit, options: Mapping[str, str], decimals: int | None
) -> _Output:
    """Numbers in a unit, and their text with its symbol, or its name if abbreviations are off.

    Args:
        source: the input.
        target: the unit.
        options: parameters of the template.
        decimals: digits after the point, where the template names them.
    """
    if target.code in _COMPOSITE_OUTPUT:
        return _two_units(source, target, options)
    # 1. Values, rounded.
    outputs = [converted(value.number, source.unit, target) for value in source.values]
    precisions = _precisions(source, target, outputs, options, decimals)
    step = {"5": 5, "10": 10, "25": 25, "50": 50, "0.5": 0.5}.get(options.get("round", ""))
    if step is not None and decimals is None:
        outputs = [math.floor(output / step + 0.5) * step for output in outputs]
        precisions = [1 if step < 1 else 0] * len(outputs)
    numbers = []
    for output, precision in zip(outputs, precisions, strict=True):
        numbers.append(_thousands(rounded(output, precision), options))
    # 2. The unit.
    if options.get("abbr") == "values":
        return numbers, _joined(numbers, source.words, side=1, name="")
    name = _symbol(target)
    by_name = options.get("abbr") in ("off", "none", "in") or (
        options.get("disp") == "or" and "abbr" not in options and not _is_temperature(target)
    )
    if by_name and "cvt" not in options:
        last = number(numbers[-1].replace("−", "-"))
        if last is not None:
            name = _name(target, last, options, several=len(numbers) > 1)
    return numbers, _joined(numbers, source.words, side=1, name=name)


def _precisions(
    source: _Input,
    target: Unit,
    outputs: list[float],
    options: Mapping[str, str],
    decimals: int | None,
) -> list[int]:
    """Digits after the point of each output; negative ones round tens and hundreds.

    The first of these decides: significant digits, digits after the point, and the precision of
    the input.

    Args:
        source: the input.
        target: the unit of the outputs.
        outputs: values in it.
        options: parameters of the template.
        decimals: digits after the point, where the template names them.
    """
    if re.fullmatch(r"[1-9]\d?", options.get("sigfig", "")):
        digits = int(options["sigfig"])
        precisions = []
        for output in outputs:
            magnitude = math.floor(math.log10(abs(output) or 1) + 1e-14)
            precisions.append(digits - 1 - magnitude)
        return precisions
    if decimals is not None:
        return [decimals] * len(outputs)
    precisions = []
    for value, output in zip(source.values, outputs, strict=True):
        precisions.append(default_precision(value, source.unit, target, output, source.composite))
    if options.get("round") == "each":
        return precisions
    # A range has one precision, that of its most precise value.
    return [max(precisions)] * len(precisions)


def _two_units(source: _Input, target: Unit, options: Mapping[str, str]) -> _Output:
    """The output in two units, such as "5 ft 3 in", the smaller one rounded to whole numbers."""
    larger, smaller = (unit(code) for code in _COMPOSITE_OUTPUT[target.code])
    assert larger is not None and smaller is not None
    times = round(larger.scale / smaller.scale)
    texts = []
    for value in source.values:
        num_smaller = math.floor(converted(abs(value.number), source.unit, smaller) + 0.5)
        num_larger, rest = divmod(num_smaller, times)
        shown = _thousands(f"{num_larger:,}", options)
        text = f"{rest} {smaller.symbol}"
        texts.append(f"{shown} {larger.symbol} {text}" if num_larger else text)
    return texts, _joined(texts, source.words, side=1, name="")


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
    """The input's values as they were written; arguments as of :func:`_joined`."""
    return _joined([value.shown for value in source.values], source.words, side=side, name=name)


def _is_temperature(measure: Unit) -> bool:
    """Whether a unit measures temperature: it is shown by its symbol where ``abbr`` is unset."""
    return measure.kind.startswith("temperature")


def _symbol(measure: Unit) -> str:
    """The unit's symbol, behind the power of ten that it is counted in: "×10^6 m"."""
    if measure.multiple:
        return f"×10^{measure.multiple} {measure.symbol}"
    return measure.symbol


def _name(
    measure: Unit,
    value: Value,
    options: Mapping[str, str],
    several: bool = False,
    adjective: bool = False,
) -> str:
    """The unit's name in the singular or plural.

    Args:
        measure: the unit.
        value: the number before it; fractions below one take the singular.
        options: of the template; ``sp=us`` asks for American spelling.
        several: whether there are several numbers.
        adjective: whether it stands before a noun: "a 5-metre wall".
    """
    is_one = abs(value.number) == 1 and not several
    is_fraction = "/" in value.shown and abs(value.number) < 1
    name = measure.singular if adjective or is_one or is_fraction else measure.plural
    if options.get("sp") == "us":
        name = american(name)
    multiple = _MULTIPLES.get(measure.multiple, "")
    return f"{multiple} {name}" if multiple else name


def _shown_input(source: _Input, options: Mapping[str, str], middle: str) -> str | None:
    """The input as it is shown before the brackets.

    Args:
        source: the input.
        options: parameters of the template.
        middle: word between value and unit (``adj=pre``) or behind both (``adj=mid``), or empty.

    Returns:
        None where ``spell`` asks for a number in words that is a range, a fraction or too large.
    """
    if source.shown is not None:
        return source.shown + middle
    # 1. Its values, perhaps in words.
    values = _values(source, side=0)
    if options.get("spell") in ("in", "on", "In", "On"):
        words = None if source.several else spelt(source.values[0])
        if words is None:
            return None
        values = words.capitalize() if options["spell"][0].isupper() else words
    # 2. Its unit's symbol.
    abbreviation = options.get("abbr", "")
    if abbreviation == "values":
        return values
    if _is_brief(source.unit, options):
        return _values(source, side=1, name=_symbol(source.unit))
    # 3. Its unit's name.
    adjective = options.get("adj", "")
    name = _name(
        source.unit,
        source.values[-1],
        options,
        several=source.several,
        adjective=adjective in ("on", "mid", "1"),
    )
    if adjective in ("on", "mid"):
        hyphened = name.replace(" ", "-")
        joint = re.sub(r" (to|by|or|and) ", r"-\1-", values)
        return f"{joint}-{hyphened}{middle}"
    if adjective == "pre" and middle:
        return f"{values} {middle} {name}"
    return f"{values}{'' if name.startswith('/') else ' '}{name}"


def _is_brief(measure: Unit, options: Mapping[str, str]) -> bool:
    """Whether the input's unit is shown by its symbol ("km") instead of its name.

    The option ``abbr`` says which units are abbreviated: ``on`` all, ``in`` the input's, ``out``
    the outputs', ``off`` and ``none`` no unit, ``mos`` those of a value in two units. ``cvt``
    stands for the template ``{{cvt}}``, which abbreviates unless ``abbr`` says otherwise.
    """
    abbreviation = options.get("abbr", "")
    if abbreviation in ("on", "in", "mos"):
        return True
    if "cvt" in options and abbreviation not in ("off", "out"):
        return True
    return _is_temperature(measure) and abbreviation not in ("off", "none", "out")


def _named_output(
    numbers: list[str], target: Unit, options: Mapping[str, str], symbols: str
) -> str:
    """The text of an output before the brackets: with the unit's name, unless ``abbr`` is on.

    Args:
        numbers: of the output.
        target: its unit.
        options: parameters of the template.
        symbols: the output with the unit's symbol.
    """
    abbreviation = options.get("abbr", "")
    brief = abbreviation in ("on", "in", "values") or "cvt" in options
    brief = brief or (_is_temperature(target) and abbreviation not in ("off", "none", "out"))
    if brief or target.code in _COMPOSITE_OUTPUT:
        return symbols
    last = number(numbers[-1].replace("−", "-"))
    if last is None:
        return symbols
    adjective = options.get("adj") == "on"
    name = _name(target, last, options, several=len(numbers) > 1, adjective=adjective)
    if len(numbers) == 1 and len(symbols) > len(numbers[0]):
        return f"{numbers[0]}-{name.replace(' ', '-')}" if adjective else f"{numbers[0]} {name}"
    return symbols.replace(_symbol(target), name)
