"""How a printed ordering of several systems came out: all of it, or how many of its pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Group = str | Sequence[str]


def numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Value and interval as numbers: nan where a score file has null."""
    return {key: math.nan if record.get(key) is None else float(record[key]) for key in ("value", "low", "high")}


def ordering(claim: str, order: Sequence[Group], records: Mapping[str, Mapping[str, Any]]) -> str:
    """One sentence with the verdict on an ordering, highest first; systems that tie in print stand in one group.

    Every pair of systems from different groups is compared; a pair is apart where the intervals do not touch.
    """
    known_records = {name: numbers(record) for name, record in records.items()}
    groups = [[one] if isinstance(one, str) else list(one) for one in order]
    known = [[name for name in group if name in known_records] for group in groups]
    pairs = [(a, b) for i, high in enumerate(known) for low in known[i + 1 :] for a in high for b in low]
    right = [(a, b) for a, b in pairs if known_records[a]["value"] > known_records[b]["value"]]
    apart = sum(known_records[a]["low"] > known_records[b]["high"] for a, b in right)
    against = sum(known_records[a]["high"] < known_records[b]["low"] for a, b in pairs)
    if any(math.isnan(known_records[name]["value"]) for group in known for name in group):
        return f"{claim}: not runnable here (a score is not a number: nothing was verified)"
    verdict = "ordering holds" if len(right) == len(pairs) else "differs"
    ranked = sorted((name for group in known for name in group), key=lambda name: -known_records[name]["value"])
    measured = " > ".join(f"{name} {known_records[name]['value']:.2f}" for name in ranked)
    counts = f"{len(right)} of {len(pairs)} pairs as printed, {apart} with intervals apart, {against} clearly against"
    return f"{claim}: {verdict} ({counts}); measured: {measured}"
