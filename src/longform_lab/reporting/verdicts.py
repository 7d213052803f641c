"""Verdicts of claims: what an interval decides, at which levels, rows and whole claims, and how they are written down."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy import special

from longform.tables import interval, write_rows
from longform_lab.reporting.estimates import Estimate

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
ABSENT, UNTESTABLE = "not measured here", "not testable here"
VERDICTS = (HOLDS, CONTRADICTED, UNDECIDED, ABSENT, UNTESTABLE)
LEVEL, OTHER_LEVELS = (
    0.95,
    (0.90, 0.99),
)  # of the verdict; and of those that show whether it hangs on a hair
BORDERLINE = "borderline"
ONCE = "one training"  # the interval covers documents, not trainings
SHOWN_ROWS, OURS = (
    6,
    "ours",
)  # rows of a claim in an exhibit's notes (claims.csv has all); the source of our own checks
HEADER = (
    *(
        "paper",
        "claim",
        "source",
        "says",
        "row",
        "compared",
        "scale",
        "difference",
        "low",
        "high",
        "verdict",
        "why",
    ),
    BORDERLINE,
)


@dataclass(frozen=True)
class Row:
    """One comparison of a claim; ``once`` where some side is a single training of a system that has a seed.

    ``others`` are the verdicts that intervals of the levels ``OTHER_LEVELS`` give; none where there is no interval.
    """

    fields: str
    compared: str
    contrast: Estimate | None
    verdict: str
    why: str = ""
    once: bool = False
    others: Mapping[float, str] = field(default_factory=dict)

    @property
    def borderline(self) -> str:
        """``undecided at 99 %`` where an interval of another level says otherwise; empty where none does."""
        return _other_verdicts(self.verdict, self.others)


@dataclass(frozen=True)
class Judged:
    """A claim of a paper with its rows; ``scale``: ``ratio`` where no change is 1, else ``difference``."""

    paper: str
    claim: Mapping[str, Any]
    scale: str
    rows: Sequence[Row]

    @property
    def counts(self) -> Counter[str]:
        """Rows by verdict."""
        return Counter(row.verdict for row in self.rows)

    @property
    def counted(self) -> str:
        """``3 holds, 1 undecided``."""
        return ", ".join(f"{self.counts[v]} {v}" for v in VERDICTS if self.counts[v])

    @property
    def verdict(self) -> str:
        """Of the claim as a whole, from those of its rows that were measured."""
        return self._whole([row.verdict for row in self.rows])

    @property
    def borderline(self) -> str:
        """``undecided at 99 %`` where intervals of another level give the claim another verdict; empty where none does."""
        others = {
            level: self._whole([r.others.get(level, r.verdict) for r in self.rows])
            for level in OTHER_LEVELS
        }
        return _other_verdicts(self.verdict, others)

    def _whole(self, verdicts: Sequence[str]) -> str:
        """The claim's verdict from one for each of its rows."""
        counts = Counter(verdicts)
        held, against = counts[HOLDS], counts[CONTRADICTED]
        measured = held + against + counts[UNDECIDED]
        if not measured:
            return UNTESTABLE if counts[UNTESTABLE] else ABSENT
        needs, majority = (
            self.claim.get("needs", "all"),
            (measured // 2 + 1, math.ceil(measured / 2)),
        )
        needed, refuting = {"all": (measured, 1), "any": (1, measured), "majority": majority}[needs]
        rows = list(zip(self.rows, verdicts, strict=True))
        absent = {row.fields for row, verdict in rows if verdict == ABSENT and needs == "all"}
        if held >= needed:  # a chain with a link that was not measured does not hold
            return (
                ABSENT
                if any(row.fields in absent for row, verdict in rows if verdict != ABSENT)
                else HOLDS
            )
        return CONTRADICTED if against >= refuting else UNDECIDED

    def sentence(self) -> str:
        """For the notes of an exhibit: the claim, its verdict, and its rows or, where they are many, their counts."""
        told = self.counted
        if len(self.rows) == 1 and self.rows[0].contrast is None:
            told = self.rows[0].why
        elif len(self.rows) <= SHOWN_ROWS:
            found = [
                (r, "" if (c := r.contrast) is None else interval(c.value, c.low, c.high))
                for r in self.rows
            ]
            rows = [f"{r.fields} {r.compared} {shown} {r.verdict}".strip() for r, shown in found]
            told = f"{self.scale}s: {'; '.join(rows)}"
        if once := sum(row.once for row in self.rows):
            of = "" if once == len(self.rows) else f"{once} of {len(self.rows)}: "
            told += f"; {of}one training of each system, so that intervals cover documents alone"
        if self.borderline:
            told = "; ".join(filter(None, (f"{BORDERLINE}, {self.borderline}", told)))
        if "within" in self.claim and any(row.contrast for row in self.rows):
            sign = "" if self.scale == "ratio" else "±"
            told += f"; equivalent within {sign}{self.claim['within']['margin']:g}: {self.claim['within']['why']}"
        source = f" ({self.claim['source']})" if self.claim.get("source") else ""
        return f"{self.claim['says']}{source} **{self.verdict}**" + (f"; {told}" if told else "")


def _other_verdicts(verdict: str, others: Mapping[float, str]) -> str:
    return ", ".join(
        f"{other} at {level:.0%}".replace("%", " %")
        for level, other in others.items()
        if other != verdict
    )


def decide(
    form: str, found: Estimate, margin: float, level: float = LEVEL, comparisons: int = 1
) -> str:
    """The verdict of a form of claim on a contrast, whose 95 % interval is stretched to another level.

    Args:
        form: one of ``FORMS``.
        found: the contrast with its 95 % interval, logarithms where numbers are compared by ratios.
        margin: what ``order`` and ``rising`` must exceed, and within which ``contains`` must lie on both sides of zero; on the
            same scale as ``found``.
        level: of the interval; both arms are stretched as those of a normal interval are.
        comparisons: so many comparisons of a claim that needs all share the level (Bonferroni).
    """
    quantiles = [
        float(-special.ndtri((1 - one) / 2 / many))
        for one, many in ((level, comparisons), (LEVEL, 1))
    ]
    stretch = quantiles[0] / quantiles[1]
    low = found.value - stretch * (found.value - float(found.low or 0.0))
    high = found.value + stretch * (float(found.high or 0.0) - found.value)
    if form == "differ":
        return HOLDS if low > 0 or high < 0 else UNDECIDED
    if form == "contains":
        if -margin <= low and high <= margin:
            return HOLDS
        return CONTRADICTED if low > margin or high < -margin else UNDECIDED
    return HOLDS if low > margin else CONTRADICTED if high < margin else UNDECIDED


def write_claims(path: Path, judged: Sequence[Judged]) -> None:
    """``claims.csv``: a line for each claim, whose ``row`` is empty, and beneath it a line for each of its rows."""
    lines: list[list[Any]] = []
    for one in judged:
        named = [one.paper, one.claim["id"]]
        told = [one.claim.get("source", ""), one.claim["says"], "", "", one.scale]
        lines.append([*named, *told, None, None, None, one.verdict, one.counted, one.borderline])
        for row in one.rows:
            found = row.contrast or Estimate(math.nan)
            why = "; ".join(filter(None, (row.why, ONCE if row.once else "")))
            numbers = [one.scale, found.value, found.low, found.high]
            lines.append(
                [
                    *named,
                    "",
                    "",
                    row.fields or "-",
                    row.compared,
                    *numbers,
                    row.verdict,
                    why,
                    row.borderline,
                ]
            )
    write_rows(path, HEADER, lines)


def claims_markdown(judged: Sequence[Judged]) -> str:
    """Claims by paper and verdict; our own checks, whose source is ``ours``, in rows of their own."""
    own = {True: ", our own checks", False: ""}
    named = [(one.paper + own[one.claim.get("source") == OURS], one.verdict) for one in judged]
    told = counts_markdown("claims", named, VERDICTS)
    hanging = [
        f"{one.paper} {one.claim['id']} ({one.verdict}; {one.borderline})"
        for one in judged
        if one.borderline
    ]
    if hanging:
        told += (
            f"\nBorderline, since a 90 % or a 99 % interval says otherwise: {', '.join(hanging)}.\n"
        )
    return told


def counts_markdown(what: str, named: Sequence[tuple[str, str]], verdicts: Sequence[str]) -> str:
    """(paper, verdict) pairs counted: a row for each paper."""
    counts = Counter(named)
    lines = [f"| | {what} | " + " | ".join(verdicts) + " |", "|---" * (len(verdicts) + 2) + "|"]
    for paper in dict.fromkeys(paper for paper, _ in named):
        cells = [str(counts[paper, verdict] or "") for verdict in verdicts]
        lines.append(
            f"| {paper} | {sum(counts[paper, v] for v in verdicts)} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines) + "\n"
