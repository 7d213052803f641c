r"""Decisions of a coarse reading that a fine one must confirm: pairs whose two sides lie closer than rounding reaches.

A comparison of values $l$ and $r$ has the margin $|l - r|$. Reading in 16 bits moves $l - r$ by an error that is not
known beforehand, so it is measured: the closest items are read again in full precision, the largest change of $l - r$
seen is the error, and everything closer than ``SAFETY`` times the error is read again, until nothing is left. Suites
of one metric share the error, since their margins have one unit. No decision is then the coarse reading's unless its
margin is more than ``SAFETY`` times any change that was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longform.datasets.test_suites.prediction_formulas import (
    COMPARISON,
    METRICS,
    Binary,
    Formula,
    RegionValue,
    evaluate,
)

FIRST = 16  # closest items of a metric that are always read again: what the error is first measured on
SAFETY = 2.0  # how far beyond the largest change seen a decision must be to stand


@dataclass(frozen=True)
class ConditionBits:
    """One condition of an item as a model read it: bits and region index of each counted token, and the regions' numbers."""

    bits: np.ndarray
    regions: np.ndarray
    numbers: tuple[int, ...]

    def by_region(self) -> list[np.ndarray]:
        """Bits of the tokens of each region; a region without tokens is empty."""
        return [self.bits[self.regions == index] for index in range(len(self.numbers))]

    def of(self, number: int | None) -> np.ndarray:
        """Bits of the region of that number; of all regions for None."""
        return self.bits if number is None else self.bits[self.regions == self.numbers.index(number)]


@dataclass(frozen=True)
class Judged:
    """One item: its suite's metric and predictions, and the place of each of its conditions among all that were read."""

    metric: str
    formulas: tuple[Formula, ...]
    places: Mapping[str, int]

    def differences(self, read: Mapping[int, ConditionBits] | Sequence[ConditionBits]) -> np.ndarray:
        """Left minus right of every comparison; NaN where a region has no tokens, which no reading changes."""

        def value(named: RegionValue) -> float:
            bits = read[self.places[named.condition]].of(named.region)
            return METRICS[self.metric](bits) if len(bits) or self.metric == "sum" else float("nan")

        sides = [pair for formula in self.formulas for pair in _comparisons(formula)]
        return np.array([evaluate(left, value) - evaluate(right, value) for left, right in sides])


def _comparisons(formula: Formula) -> Iterator[tuple[Formula, Formula]]:
    if isinstance(formula, Binary):
        if formula.symbol in COMPARISON:
            yield formula.left, formula.right
        else:
            yield from _comparisons(formula.left)
            yield from _comparisons(formula.right)


def confirmed(
    items: Sequence[Judged],
    coarse: Sequence[ConditionBits],
    reread: Callable[[list[int]], list[ConditionBits]],
) -> tuple[list[ConditionBits], int]:
    """The coarse reading with every close item in its place as the fine one reads it, and how many items those were.

    Args:
        reread: reads the conditions at the given places finely, in that order.
    """
    settled, again = list(coarse), 0
    for metric in dict.fromkeys(item.metric for item in items):
        members = [item for item in items if item.metric == metric]
        before = [item.differences(coarse) for item in members]
        margins = np.array([np.nanmin(np.abs(d), initial=np.inf) for d in before])
        order, done, error = np.argsort(margins, kind="stable"), 0, 0.0
        while done < (wanted := _reach(margins[order], error, done)):
            chosen = order[done:wanted]
            places = [place for index in chosen for place in members[index].places.values()]
            for place, bits in zip(places, reread(places), strict=True):
                settled[place] = bits
            changes = [np.abs(members[index].differences(settled) - before[index]) for index in chosen]
            error = max([error, *(float(np.nanmax(change, initial=0.0)) for change in changes)])
            done = wanted
        again += done
    return settled, again


def _reach(sorted_margins: np.ndarray, error: float, done: int) -> int:
    """How many of the closest items must have been read again."""
    if not done:
        return min(FIRST, len(sorted_margins))
    return max(done, int(np.searchsorted(sorted_margins, SAFETY * error, side="right")))
