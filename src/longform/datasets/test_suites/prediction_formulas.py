"""SyntaxGym's region metrics and prediction language.

A prediction is an inequality between region values of two conditions:

    formula := comparison (("&" | "|") comparison)*        same precedence, left to right
    comparison := sum (("<" | ">" | "=") sum)?              < and > are strict; = has a tolerance
    sum     := atom (("+" | "-") atom)*                     left to right
    atom    := region | number | "(" formula ")" | "[" formula "]"
    region  := "(" (digits | "*") ";%" name "%" ")"         name: letters, digits, _ and -

``(2;%shuffled%) > (2;%original%)`` says that region 2 is more surprising in the condition
"shuffled". A formula is checked as a whole when it is read: arithmetic takes numbers, ``&`` and
``|`` take comparisons, a prediction is true or false. The released tool ignores the tail of ``a < b
< c``; here that is an error.

Source: cpllab/syntaxgym-core, prediction.py (commit ab6b1f8); Hu et al. (2020), section 3;
beyer2021 equation 2.
"""

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from longform.errors import BadInput

# how the surprisals of a region's tokens become its value
METRICS: dict[str, Callable[[np.ndarray], float]] = {
    "sum": lambda bits: float(bits.sum()),
    "mean": lambda bits: float(bits.mean()),
    "median": lambda bits: float(np.median(bits)),
    "range": lambda bits: float(np.ptp(bits)),
    "max": lambda bits: float(bits.max()),
    "min": lambda bits: float(bits.min()),
}
RELATIVE, ABSOLUTE = 1e-5, 1e-3  # of "=": syntaxgym-core passes these to numpy.isclose


@dataclass(frozen=True)
class RegionValue:
    """The suite's metric of one region (None: of all regions, written ``*``) of one condition."""

    region: int | None
    condition: str

    def __str__(self) -> str:
        return f"({'*' if self.region is None else self.region};%{self.condition}%)"


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:f}"  # as the released tool writes it


@dataclass(frozen=True)
class Binary:
    """Two operands and one of ``+ - < > = & |``."""

    symbol: str
    left: "Formula"
    right: "Formula"

    def __str__(self) -> str:
        return f"({self.left} {self.symbol} {self.right})"


Formula = RegionValue | Number | Binary
OPERATIONS: dict[str, Callable[[float, float], float | bool]] = {
    "+": operator.add,
    "-": operator.sub,
    "<": operator.lt,
    ">": operator.gt,
    "=": lambda left, right: abs(left - right) <= ABSOLUTE + RELATIVE * abs(right),
    "&": lambda left, right: bool(left and right),
    "|": lambda left, right: bool(left or right),
}
LEVELS = LOGIC, COMPARISON, ARITHMETIC = "&|", "<>=", "+-"


def parse(text: str, where: str = "formula") -> Formula:
    """Parse one prediction.

    Args:
        text: such as ``(2;%shuffled%) > (2;%original%)``.
        where: file and place of the formula, for errors.

    Raises BadInput: no formula, or one that is a number; it names what is allowed at which place.
    """
    reader = _Reader(text, where)
    formula = reader.formula()
    if not reader.ended:
        raise reader.error("the end or an operator (brackets must match; join comparisons with &)")
    if _kind(formula, where) != "truth":
        raise BadInput(
            f"{where}: {text!r} is a number, a prediction is true or false; "
            "compare it with <, > or ="
        )
    return formula


def evaluate(formula: Formula, value: Callable[[RegionValue], float]) -> float | bool:
    """The truth (or number) of a formula.

    Args:
        formula: of :func:`parse`.
        value: returns the value of a region that the formula names.
    """
    if isinstance(formula, RegionValue):
        return value(formula)
    if isinstance(formula, Number):
        return formula.value
    return OPERATIONS[formula.symbol](evaluate(formula.left, value), evaluate(formula.right, value))


def region_values(formula: Formula) -> Iterator[RegionValue]:
    """Every region that a formula names, from left to right."""
    if isinstance(formula, RegionValue):
        yield formula
    if isinstance(formula, Binary):
        yield from region_values(formula.left)
        yield from region_values(formula.right)


def _kind(formula: Formula, where: str) -> str:
    """Whether a formula is a "number" or a "truth"; operands of the wrong kind are refused."""
    if not isinstance(formula, Binary):
        return "number"
    needed = "truth" if formula.symbol in LOGIC else "number"
    for operand in (formula.left, formula.right):
        if _kind(operand, where) != needed:
            raise BadInput(
                f"{where}: {formula.symbol!r} takes a {needed} on both sides, got {operand}; "
                "fix brackets"
            )
    return "number" if formula.symbol in ARITHMETIC else "truth"


TOKEN = re.compile(
    r"\s*(?:(?P<region>\(\s*(?P<number>\d+|\*)\s*;\s*%(?P<name>[^%]*)%\s*\))"
    r"|(?P<constant>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<symbol>[-+<>=&|()\[\]])|(?P<end>$))"
)
NAME = re.compile(r"[A-Za-z0-9_-]+")
CLOSING = {"(": ")", "[": "]"}


class _Reader:
    """A recursive-descent parser over one formula, with the next token in view.

    Attributes:
        text, where: the formula, and its place for errors.
        match, start: the next token's match of ``TOKEN``, and its offset in the text.
        symbol, ended: the next token's symbol (a blank for a region or number), and whether the
            text ends there.
        place: offset behind the next token.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where, self.place = text.rstrip(), where, 0
        self.take()

    def take(self) -> None:
        """Go to the next token."""
        rest = self.text[self.place :]
        self.start = self.place + len(rest) - len(rest.lstrip())
        match = TOKEN.match(self.text, self.place)
        if match is None:
            raise self.error(
                "a region such as (2;%original%), a number, a bracket or one of + - < > = & |"
            )
        self.match, self.place = match, match.end()
        self.symbol, self.ended = match["symbol"] or " ", match["end"] is not None

    def taken(self) -> str:
        """Go to the next token and return the symbol before it."""
        symbol = self.symbol
        self.take()
        return symbol

    def error(self, allowed: str) -> BadInput:
        """The error that the next token is not among the allowed ones."""
        rest = self.text[self.start :]
        got = f"{rest[:20]!r} at character {self.start + 1}" if rest else "the end"
        return BadInput(f"{self.where}: got {got} of {self.text!r}, allowed there is {allowed}")

    def formula(self, binding: int = 0) -> Formula:
        """Parse operations of a level and those that bind tighter, left to right.

        Args:
            binding: index of the level in ``LEVELS``.
        """
        if binding == len(LEVELS):
            return self.atom()
        formula = self.formula(binding + 1)
        while self.symbol in LEVELS[binding]:
            formula = Binary(self.taken(), formula, self.formula(binding + 1))
            if LEVELS[binding] == COMPARISON and self.symbol in COMPARISON:
                raise self.error("& or |: a < b < c must be written (a < b) & (b < c)")
        return formula

    def atom(self) -> Formula:
        """Parse a region, a number, or a formula in brackets."""
        if self.match["region"] is not None:
            number, name = self.match["number"], self.match["name"]
            if not NAME.fullmatch(name):
                raise self.error(
                    f"a condition name of letters, digits, _ and -, not {name!r}; put _ for blanks"
                )
            self.take()
            return RegionValue(None if number == "*" else int(number), name)
        # a number may have a sign, a formula in brackets not
        sign = self.taken() if self.symbol in ARITHMETIC else ""
        if self.match["constant"] is not None:
            value = float(sign + self.match["constant"])
            self.take()
            return Number(value)
        if sign or self.symbol not in CLOSING:
            allowed = "a region such as (2;%a%), a number or a bracket"
            raise self.error("a number after a sign" if sign else allowed)
        closing = CLOSING[self.taken()]
        formula = self.formula()
        if self.symbol != closing:
            raise self.error(f"{closing!r} or an operator")
        self.take()
        return formula
