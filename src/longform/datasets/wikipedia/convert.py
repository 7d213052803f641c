"""``{{convert}}``: a measurement in two units as the reader sees it.

The rules are those that Wikipedia documents for the template (Template:Convert, Help:Convert): names for the first unit, symbols in
brackets, and an output that is as precise as the input is, with at least two significant digits. What is not known gives None.
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

_MULTIPLES = {"3": "thousand", "6": "million", "9": "billion", "12": "trillion"}


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


_INSIDE_RANGE = re.compile(
    r"(?<=[\d½¼¾])\s*(–|-| to | and | or | by |×| x |\bx\b|\+/-|±)\s*(?=[\d.])"
)


_SECONDARY = {  # units of a value that is said in two: larger, smaller -> smaller ones in a larger one
    ("ft", "in"): 12,
    ("yd", "ft"): 3,
    ("mi", "yd"): 1760,
    ("mi", "ch"): 80,
    ("lb", "oz"): 16,
    ("st", "lb"): 14,
    ("kg", "g"): 1000,
    ("m", "cm"): 100,
}


_COMPOSITE_OUTPUT = {
    "ftin": ("ft", "in"),
    "lboz": ("lb", "oz"),
    "stlb": ("st", "lb"),
    "ydft": ("yd", "ft"),
}


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
    """What stands before the output: values, the words between them, their unit."""

    values: tuple[Value, ...]
    words: tuple[str, ...]
    unit: Unit
    shown: str | None = None  # of a value that is said in two units
    composite: bool = False


def convert(positional: list[str], named: Mapping[str, str]) -> str | None:
    """The text of ``{{convert|...}}`` or None: a unit, number or option that is not known."""
    if named.get("sing") == "on":  # an older name
        named = {**named, "adj": "on"}
    read = _input(positional, named)
    if read is None:
        return None
    source, rest = read
    words = [part for part in rest if part and not re.fullmatch(r"-?\d+", part)]
    places = [int(part) for part in rest if re.fullmatch(r"-?\d+", part)]
    middle = (
        words.pop()
        if named.get("adj") in ("mid", "pre") and words and unit(words[-1]) is None
        else ""
    )
    if (
        named.get("adj") in ("mid", "pre")
        and not middle
        and len(words) == 1
        and _targets(words[0], source.unit) is None
    ):
        middle = words.pop()
    targets = _targets(words[0] if words else source.unit.default, source.unit)
    if targets is None:
        return None
    outputs = [_output(source, target, named, places[0] if places else None) for target in targets]
    first = _first(source, named, middle)
    if first is None:
        return None
    second = "; ".join(text for _, text in outputs)
    show = named.get("disp", "")
    if named.get("order") == "flip" or show == "flip":
        values, target = outputs[0][0], targets[0]
        first = _named(values, target, named, outputs[0][1])
        if source.shown is not None:
            symbols = source.shown
        elif named.get("abbr") in ("off", "none") and "cvt" not in named:
            name = _name(source.unit, source.values[-1], named, several=len(source.values) > 1)
            symbols = _joined([value.shown for value in source.values], source.words, 1, name)
        else:
            symbols = f"{_values(source, 1)} {_symbol(source.unit)}"
        second = "; ".join([symbols, *(text for _, text in outputs[1:])])
    if show in ("output only", "out"):
        return second
    if show in ("number", "output number only"):
        return outputs[0][0][0]
    if show in ("b", "br", "", "flip"):
        return f"{first} ({second})"
    if show == "sqbr":
        return f"{first} [{second}]"
    return f"{first}{_JOINTS[show]}{second}" if show in _JOINTS else None


def _input(positional: list[str], named: Mapping[str, str]) -> tuple[_Input, list[str]] | None:
    """Values and unit of the input, and the parameters that are left."""
    parts = [part.strip() for part in positional]
    if parts and (inside := _INSIDE_RANGE.search(parts[0])) and number(parts[0]) is None:
        before, after = parts[0][: inside.start()], parts[0][inside.end() :]
        parts[:1] = [before, inside[1].strip(), after]
    values, words = list[Value](), list[str]()
    while parts:
        value = number(parts[0])
        if value is None:
            return None
        values.append(value)
        if len(parts) < 2:
            return None
        if parts[1] not in _RANGES:
            break
        words.append(parts[1])
        parts = parts[2:]
    if not values or (source := unit(parts[1])) is None:
        return None
    rest = parts[2:]
    smaller = unit(rest[1]) if len(rest) > 1 else None
    pair = (source.code, smaller.code) if smaller else ("", "")
    if len(values) == 1 and pair in _SECONDARY and (second := number(rest[0])) and smaller:
        times = _SECONDARY[pair]
        total = Value(values[0].number * times + second.number, max(0, second.precision), "")
        brief = named.get("abbr") in ("on", "in", "mos") or "cvt" in named
        names = [(values[0], source), (second, smaller)]
        if named.get("adj") == "on" and not brief:
            shown = "-".join(f"{value.shown}-{one.singular}" for value, one in names)
        else:
            shown = " ".join(
                f"{value.shown} {one.symbol if brief else _name(one, value, named)}"
                for value, one in names
            )
        default = {"length": "m", "mass": "kg"}[source.kind]
        inner = replace(smaller, default="lb kg" if source.code == "st" else default)
        return _Input((total,), (), inner, shown, smaller.code == "in"), rest[2:]
    return _Input(tuple(values), tuple(words), source), rest


def _targets(code: str, source: Unit) -> list[Unit] | None:
    """Output units of a code, several with blanks or plus signs between them; None where one is not known or of another kind."""
    if code in _COMPOSITE_OUTPUT:
        large = unit(_COMPOSITE_OUTPUT[code][0])
        return [replace(large, code=code)] if large and large.kind == source.kind else None
    known = (
        [unit(code)]
        if unit(code)
        else [unit(part) or _composite(part) for part in re.split(r"[ +]+", code)]
    )
    targets = [one for one in known if one is not None and one.kind == source.kind]
    return targets if targets and len(targets) == len(known) else None


def _composite(code: str) -> Unit | None:
    large = unit(_COMPOSITE_OUTPUT[code][0]) if code in _COMPOSITE_OUTPUT else None
    return replace(large, code=code) if large else None


def _output(
    source: _Input, target: Unit, named: Mapping[str, str], places: int | None
) -> tuple[list[str], str]:
    """Numbers in a unit, and their text with the unit's symbol (its name where abbreviations are off)."""
    if target.code in _COMPOSITE_OUTPUT:
        return _two_units(source, target, named)
    outputs = [converted(value.number, source.unit, target) for value in source.values]
    precisions = [
        default_precision(value, source.unit, target, output, source.composite)
        for value, output in zip(source.values, outputs, strict=True)
    ]
    if named.get("round") != "each":  # a range has one precision, that of its most precise value
        precisions = [max(precisions)] * len(precisions)
    if places is not None:
        precisions = [places] * len(outputs)
    if re.fullmatch(r"[1-9]\d?", named.get("sigfig", "")):
        digits = int(named["sigfig"])
        precisions = [
            digits - 1 - math.floor(math.log10(abs(output) or 1) + 1e-14) for output in outputs
        ]
    step = {"5": 5, "10": 10, "25": 25, "50": 50, "0.5": 0.5}.get(named.get("round", ""))
    if step is not None and places is None:
        outputs = [math.floor(output / step + 0.5) * step for output in outputs]
        precisions = [1 if step < 1 else 0] * len(outputs)
    numbers = [
        rounded(output, precision) for output, precision in zip(outputs, precisions, strict=True)
    ]
    if named.get("comma") == "off":
        numbers = [shown.replace(",", "") for shown in numbers]
    name = _symbol(target)
    names_wanted = named.get("abbr") in ("off", "none", "in") or (
        named.get("disp") == "or" and "abbr" not in named and not _is_temperature(target)
    )
    if names_wanted and "cvt" not in named:
        last = number(numbers[-1].replace("−", "-"))
        name = _name(target, last, named, several=len(numbers) > 1) if last else name
    text = _joined(numbers, source.words, 1, name)
    return numbers, text


def _two_units(source: _Input, target: Unit, named: Mapping[str, str]) -> tuple[list[str], str]:
    """Values in feet and inches and their kin, the smaller unit in whole numbers."""
    large, small = (unit(code) for code in _COMPOSITE_OUTPUT[target.code])
    assert large is not None and small is not None
    times = round(large.scale / small.scale)
    texts = []
    for value in source.values:
        total = math.floor(converted(abs(value.number), source.unit, small) + 0.5)
        whole, rest = divmod(total, times)
        pieces = [f"{whole:,} {large.symbol}"] if whole else []
        texts.append(" ".join([*pieces, f"{rest} {small.symbol}"]))
    return texts, _joined(texts, source.words, 1, "")


def _joined(numbers: list[str], words: tuple[str, ...], side: int, name: str) -> str:
    """Numbers with the words of a range between them and their unit behind; two sides of an area have a unit each."""
    each = side == 1 and any(word in ("by", "x", "×", "*", "xx") for word in words)
    space = "" if name.startswith(("/", "×")) else " "
    text = ""
    for place, shown in enumerate(numbers):
        text += shown + (f" {name}" if each and name else "")
        if place < len(words):
            text += " × " if each else _RANGES[words[place]][side]
    return text if each or not name else f"{text}{space}{name}"


def _values(source: _Input, side: int) -> str:
    return _joined([value.shown for value in source.values], source.words, side, "")


def _is_temperature(one: Unit) -> bool:
    """Whether a unit is shown by its symbol as long as ``abbr`` asks for nothing else."""
    return one.kind.startswith("temperature")


def _symbol(one: Unit) -> str:
    return f"×10^{one.multiple} {one.symbol}" if one.multiple else one.symbol


def _name(
    one: Unit,
    value: Value,
    named: Mapping[str, str],
    several: bool = False,
    adjective: bool = False,
) -> str:
    """The unit's name as its number asks."""
    single = (
        adjective
        or (abs(value.number) == 1 and not several)
        or ("/" in value.shown and abs(value.number) < 1)
    )
    name = one.singular if single else one.plural
    if named.get("sp") == "us":
        name = american(name)
    multiple = _MULTIPLES.get(one.multiple, "")
    return f"{multiple} {name}" if multiple else name


def _first(source: _Input, named: Mapping[str, str], middle: str) -> str | None:
    """The input as it is shown."""
    if source.shown is not None:
        return source.shown + middle
    values = _values(source, 0)
    if named.get("comma") == "off":
        values = values.replace(",", "")
    if named.get("spell") in ("in", "on", "In", "On"):
        if len(source.values) > 1 or (values_in_words := spelt(source.values[0])) is None:
            return None
        values = values_in_words.capitalize() if named["spell"][0].isupper() else values_in_words
    brief = named.get("abbr") in ("on", "in", "mos") or (
        "cvt" in named and named.get("abbr") not in ("off", "out")
    )
    named_temperature = named.get("abbr") in ("off", "none", "out")
    brief = brief or (_is_temperature(source.unit) and not named_temperature)
    if named.get("abbr") == "values":
        return values
    adjective = named.get("adj", "")
    if brief:
        return _joined(
            [value.shown for value in source.values], source.words, 1, _symbol(source.unit)
        )
    name = _name(
        source.unit,
        source.values[-1],
        named,
        len(source.values) > 1,
        adjective in ("on", "mid", "1"),
    )
    if adjective in ("on", "mid"):
        hyphened = name.replace(" ", "-")
        joint = re.sub(r" (to|by|or|and) ", r"-\1-", values)
        return f"{joint}-{hyphened}{middle}"
    if adjective == "pre" and middle:
        return f"{values} {middle} {name}"
    return f"{values}{'' if name.startswith('/') else ' '}{name}"


def _named(numbers: list[str], target: Unit, named: Mapping[str, str], symbols: str) -> str:
    """An output that stands first: with the unit's name, unless abbreviations are on."""
    brief = named.get("abbr") in ("on", "in") or "cvt" in named
    brief = brief or (_is_temperature(target) and named.get("abbr") not in ("off", "none", "out"))
    if brief or target.code in _COMPOSITE_OUTPUT:
        return symbols
    last = number(numbers[-1].replace("−", "-"))
    if last is None:
        return symbols
    adjective = named.get("adj") == "on"
    name = _name(target, last, named, len(numbers) > 1, adjective)
    tail = symbols[len(numbers[0]) :] if len(numbers) == 1 else ""
    if len(numbers) == 1 and tail:
        return f"{numbers[0]}-{name.replace(' ', '-')}" if adjective else f"{numbers[0]} {name}"
    return symbols.replace(_symbol(target), name)
