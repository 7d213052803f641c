"""How a number of ours stands to the printed one, and how an ordering that a paper claims came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

Verdict = Literal[
    "equal", "within interval", "ordering holds", "differs", "not comparable", "not runnable here", "lost"
]
PRINTED_PRECISION = 0.005  # the papers print two decimals: half a unit of the last one


@dataclass(frozen=True)
class Finding:
    """One line of the ledger."""

    claim: str
    verdict: Verdict
    why: str


def judge_number(printed: float | None, value: float | None, low: float | None, high: float | None) -> Verdict:
    """Equal to the printed precision, inside our interval, or different; a number that was not printed is lost."""
    if printed is None:
        return "lost"
    if value is None or value != value:
        return "not runnable here"
    if abs(value - printed) <= PRINTED_PRECISION:
        return "equal"
    if low is not None and high is not None and low - PRINTED_PRECISION <= printed <= high + PRINTED_PRECISION:
        return "within interval"
    return "differs"


def judge_ordering(claim: str, records: Sequence[Mapping[str, Any]]) -> Finding:
    """Whether values rise strictly from record to record, and whether neighbouring intervals are apart."""
    values = [record["value"] for record in records]
    if any(value is None or value != value for value in values):
        return Finding(claim, "not runnable here", "a score is not finite: nothing of that kind could be read")
    rising = all(a < b for a, b in pairwise(values))
    apart = all(a["high"] < b["low"] for a, b in pairwise(records))
    numbers = (
        " < ".join(f"{value:.2f}" for value in values) if rising else ", ".join(f"{value:.2f}" for value in values)
    )
    if rising:
        return Finding(claim, "ordering holds", f"{numbers}; intervals {'apart' if apart else 'overlap'}")
    return Finding(claim, "differs", f"measured in the claimed order: {numbers}")
