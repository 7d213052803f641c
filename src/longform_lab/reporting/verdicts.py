"""Verdicts on claims: what intervals decide, for rows and for whole claims, and how it is shown."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import special

from longform.tables import interval, write_rows
from longform_lab.reporting.estimates import Estimate

if TYPE_CHECKING:
    from longform_lab.reporting.claims import Claim

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
ABSENT, UNTESTABLE = "not measured here", "not testable here"
VERDICTS = (HOLDS, CONTRADICTED, UNDECIDED, ABSENT, UNTESTABLE)
LEVEL = 0.95  # of the interval that gives the verdict
OTHER_LEVELS = (0.90, 0.99)  # of intervals that show whether the verdict hangs on a hair
BORDERLINE = "borderline"
ONE_TRAINING = "one training"  # the interval covers documents, not trainings
SHOWN_ROWS = 6  # of a claim in the notes of a table or figure; claims.csv has all
OURS = "ours"  # the source of our own checks
COMPARED = ("row", "compared", "scale", "difference", "low", "high")
HEADER = ("paper", "claim", "source", "says", *COMPARED, "verdict", "why", BORDERLINE)


@dataclass(frozen=True)
class Row:
    """One comparison of a claim.

    Attributes:
        fields: the fields of the records by which the claim's rows differ.
        compared: the labels of the numbers, with what is claimed of them.
        contrast: their difference, or their ratio; None where one of them is missing.
        verdict: one of ``VERDICTS``.
        why: the reason of a verdict that no interval gave.
        once: whether some side is a single training of a system that has a seed.
        others: the verdicts that intervals of ``OTHER_LEVELS`` would give, by level; empty without
            an interval.
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
        """``undecided at 99 %`` where an interval of another level says otherwise, else empty."""
        return _other_verdicts(self.verdict, self.others)

    @property
    def text(self) -> str:
        """The comparison with its interval and verdict."""
        numbers = ""
        if self.contrast is not None:
            numbers = interval(self.contrast.value, self.contrast.low, self.contrast.high)
        return f"{self.fields} {self.compared} {numbers} {self.verdict}".strip()


@dataclass(frozen=True)
class Judged:
    """A claim of a paper with its rows and verdict.

    Attributes:
        paper: the name of its folder below ``experiments``.
        claim: the claim.
        scale: how numbers are compared: ``ratio``, where no change is 1, or ``difference``.
        rows: its comparisons.
    """

    paper: str
    claim: "Claim"
    scale: str
    rows: Sequence[Row]

    @property
    def counts(self) -> Counter[str]:
        """The number of rows with each verdict."""
        return Counter(row.verdict for row in self.rows)

    @property
    def counts_text(self) -> str:
        """``3 holds, 1 undecided``: verdicts that occur, in the order of ``VERDICTS``."""
        words = []
        for verdict in VERDICTS:
            if self.counts[verdict]:
                words.append(f"{self.counts[verdict]} {verdict}")
        return ", ".join(words)

    @property
    def is_ours(self) -> bool:
        """Whether the claim is a check of our own, and no paper's."""
        return self.claim.source == OURS

    @property
    def verdict(self) -> str:
        """The verdict on the claim as a whole, from those of its rows that were measured."""
        return self._verdict_at(LEVEL)

    @property
    def borderline(self) -> str:
        """``undecided at 99 %`` where another level gives the claim another verdict, else empty."""
        others = {}
        for level in OTHER_LEVELS:
            others[level] = self._verdict_at(level)
        return _other_verdicts(self.verdict, others)

    def _verdict_at(self, level: float) -> str:
        """The claim's verdict if intervals of a certain level decide its rows."""
        # 1. Rows that were measured; without any there is nothing to decide.
        verdicts = [row.others.get(level, row.verdict) for row in self.rows]
        counts = Counter(verdicts)
        measured = counts[HOLDS] + counts[CONTRADICTED] + counts[UNDECIDED]
        if not measured:
            return UNTESTABLE if counts[UNTESTABLE] else ABSENT
        # 2. How many rows must hold, and how many refute the claim.
        needs = self.claim.needs
        if needs == "all":
            needed, refuting = measured, 1
        elif needs == "any":
            needed, refuting = 1, measured
        else:
            needed, refuting = measured // 2 + 1, math.ceil(measured / 2)
        # 3. A chain with a link that was not measured does not hold.
        if counts[HOLDS] >= needed:
            return ABSENT if needs == "all" and self._lacks_a_link(verdicts) else HOLDS
        return CONTRADICTED if counts[CONTRADICTED] >= refuting else UNDECIDED

    def _lacks_a_link(self, verdicts: Sequence[str]) -> bool:
        """Whether some fields have both a row that was measured and one that was not."""
        absent: set[str] = set()
        measured: set[str] = set()
        for row, verdict in zip(self.rows, verdicts, strict=True):
            side = absent if verdict == ABSENT else measured
            side.add(row.fields)
        return not absent.isdisjoint(measured)

    def sentence(self) -> str:
        """For the notes of a table or figure: the claim, its verdict, and what it rests on."""
        claim = self.claim
        source = f" ({claim.source})" if claim.source else ""
        reasons = self._reasons()
        ending = f"; {reasons}" if reasons else ""
        return f"{claim.says}{source} **{self.verdict}**{ending}"

    def _reasons(self) -> str:
        """The rows in words (where they are many, their counts), and the limits of the verdict."""
        # 1. What was compared.
        if len(self.rows) == 1 and self.rows[0].contrast is None:
            reasons = self.rows[0].why
        elif len(self.rows) <= SHOWN_ROWS:
            reasons = f"{self.scale}s: {'; '.join(row.text for row in self.rows)}"
        else:
            reasons = self.counts_text
        # 2. Intervals that say nothing of another training.
        single = sum(row.once for row in self.rows)
        if single:
            share = "" if single == len(self.rows) else f"{single} of {len(self.rows)}: "
            reasons += (
                f"; {share}one training of each system, so that intervals cover documents alone"
            )
        # 3. Another level, which comes first.
        if self.borderline:
            first = f"{BORDERLINE}, {self.borderline}"
            reasons = f"{first}; {reasons}" if reasons else first
        # 4. The margin of an equality.
        within = self.claim.within
        if within is not None and any(row.contrast for row in self.rows):
            sign = "" if self.scale == "ratio" else "±"
            reasons += f"; equivalent within {sign}{within.margin:g}: {within.why}"
        return reasons


def _other_verdicts(verdict: str, others: Mapping[float, str]) -> str:
    """The verdicts of other levels that differ from ``verdict``, in words with their levels."""
    differing = []
    for level, other in others.items():
        if other != verdict:
            differing.append(f"{other} at {100 * level:.0f} %")
    return ", ".join(differing)


def decide(
    form: str, contrast: Estimate, margin: float, level: float = LEVEL, comparisons: int = 1
) -> str:
    """The verdict on a contrast: whether its interval shows what the form of claim says.

    Args:
        form: one of ``FORMS`` of :mod:`longform_lab.reporting.claims`.
        contrast: with its 95 % interval; logarithms where numbers are compared by ratios.
        margin: the value that ``order`` and ``rising`` must exceed, and the distance from zero
            within which ``contains`` must lie; on the same scale as the contrast.
        level: the level of the interval that decides.
        comparisons: the number of comparisons to correct for (Bonferroni).
    """
    low, high = stretched(contrast, level, comparisons)
    if form == "differ":
        return HOLDS if low > 0 or high < 0 else UNDECIDED
    if form == "contains":
        if -margin <= low and high <= margin:
            return HOLDS
        outside = low > margin or high < -margin
        return CONTRADICTED if outside else UNDECIDED
    if low > margin:
        return HOLDS
    return CONTRADICTED if high < margin else UNDECIDED


def stretched(contrast: Estimate, level: float, comparisons: int = 1) -> tuple[float, float]:
    """The low and high end of an interval of another level than 95 %.

    Both arms of the 95 % interval are lengthened by the ratio of normal quantiles.

    Args:
        contrast: with its 95 % interval.
        level: of the interval that is returned.
        comparisons: the number of comparisons to correct for (Bonferroni).

    Raises:
        ValueError: the contrast has no interval.
    """
    if contrast.low is None or contrast.high is None:
        raise ValueError(f"{contrast} has no interval to stretch")
    tail = (1 - level) / 2 / comparisons
    factor = _normal_quantile(tail) / _normal_quantile((1 - LEVEL) / 2)
    down = contrast.value - contrast.low
    up = contrast.high - contrast.value
    return contrast.value - factor * down, contrast.value + factor * up


def _normal_quantile(tail: float) -> float:
    """The value that a standard normal variable exceeds with probability ``tail``."""
    return float(-special.ndtri(tail))


def write_claims(path: Path, judgements: Sequence[Judged]) -> None:
    """Write ``claims.csv``: a line for each claim, whose ``row`` is empty, then one for each row.

    If nothing of a claim was measured, its rows without a reason are left out; the claim's line
    counts them.
    """
    lines: list[dict[str, Any]] = []
    for judgement in judgements:
        # 1. The claim as a whole.
        claim = judgement.claim
        name: dict[str, Any] = {"paper": judgement.paper, "claim": claim.id}
        name["scale"] = judgement.scale
        line = {**name, "source": claim.source, "says": claim.says}
        line |= {"verdict": judgement.verdict, "why": judgement.counts_text}
        lines.append({**line, BORDERLINE: judgement.borderline})
        # 2. Its rows.
        for row in judgement.rows:
            if judgement.verdict == ABSENT and not row.why:
                continue
            contrast = row.contrast or Estimate(math.nan)
            reasons = filter(None, (row.why, ONE_TRAINING if row.once else ""))
            line = {**name, "row": row.fields or "-", "compared": row.compared}
            line |= {"difference": contrast.value, "low": contrast.low, "high": contrast.high}
            line |= {"verdict": row.verdict, "why": "; ".join(reasons)}
            lines.append({**line, BORDERLINE: row.borderline})
    write_rows(path, HEADER, [list(map(line.get, HEADER)) for line in lines])


def claims_markdown(judgements: Sequence[Judged]) -> str:
    """A Markdown table that counts claims by paper and verdict, our own checks in separate rows.

    Borderline verdicts are listed below the table.
    """
    pairs = []
    borderline = []
    for judgement in judgements:
        group = f"{judgement.paper}, our own checks" if judgement.is_ours else judgement.paper
        pairs.append((group, judgement.verdict))
        if judgement.borderline:
            reasons = f"{judgement.verdict}; {judgement.borderline}"
            borderline.append(f"{judgement.paper} {judgement.claim.id} ({reasons})")
    text = counts_markdown("claims", pairs, VERDICTS)
    if borderline:
        names = ", ".join(borderline)
        text += f"\nBorderline, since a 90 % or a 99 % interval says otherwise: {names}.\n"
    return text


def counts_markdown(what: str, pairs: Sequence[tuple[str, str]], verdicts: Sequence[str]) -> str:
    """A Markdown table of counts: a row for each paper, a column for each verdict.

    Args:
        what: is counted; the heading of the column of totals.
        pairs: (paper, verdict) of each thing that is counted.
        verdicts: the columns, in order.
    """
    counts: dict[str, Counter[str]] = {}
    for paper, verdict in pairs:
        counts.setdefault(paper, Counter())[verdict] += 1
    lines = [f"| | {what} | {' | '.join(verdicts)} |", "|---" * (len(verdicts) + 2) + "|"]
    for paper, by_verdict in counts.items():
        cells = [str(by_verdict[verdict] or "") for verdict in verdicts]
        lines.append(f"| {paper} | {by_verdict.total()} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
