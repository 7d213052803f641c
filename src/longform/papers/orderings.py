"""How a printed ordering of several systems came out: all of it, or how many of its pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Group = str | Sequence[str]


def ordering(claim: str, order: Sequence[Group], records: Mapping[str, Mapping[str, Any]]) -> str:
    """One sentence with the verdict on an ordering, highest first; systems that tie in print stand in one group.

    Every pair of systems from different groups is compared; a pair is apart where the intervals do not touch.
    """
    groups = [[one] if isinstance(one, str) else list(one) for one in order]
    known = [[name for name in group if name in records] for group in groups]
    pairs = [(a, b) for i, high in enumerate(known) for low in known[i + 1 :] for a in high for b in low]
    right = [(a, b) for a, b in pairs if records[a]["value"] > records[b]["value"]]
    apart = sum(records[a]["low"] > records[b]["high"] for a, b in right)
    against = sum(records[a]["high"] < records[b]["low"] for a, b in pairs)
    verdict = "ordering holds" if len(right) == len(pairs) else "differs"
    ranked = sorted((name for group in known for name in group), key=lambda name: -records[name]["value"])
    measured = " > ".join(f"{name} {records[name]['value']:.2f}" for name in ranked)
    counts = f"{len(right)} of {len(pairs)} pairs as printed, {apart} with intervals apart, {against} clearly against"
    return f"{claim}: {verdict} ({counts}); measured: {measured}"
