"""What a paper claims, as data, judged in one place: each claim is a contrast of numbers with a 95 % interval.

``experiments/<paper>/expected.yaml`` lists claims; ``experiments/README.md`` says how one is written.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

from scipy import stats

from longform.core.documents import BadInput
from longform.core.results import ANY, Results
from longform.reporting.estimates import FEWEST_UNITS, IDENTITY, Estimate, Facts, of_records, select, slope
from longform.reporting.table import interval, write_rows

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
ABSENT, UNTESTABLE = "not measured here", "not testable here"
VERDICTS = (HOLDS, CONTRADICTED, UNDECIDED, ABSENT, UNTESTABLE)
FORMS = ("order", "rising", "contains", "differ")
OPTIONS = {"id", "source", "says", "exhibit", "where", "for_each", "pairs", "margin", "scale", "needs", "not_testable"}
OPTIONS |= {"takes", "with", "within"}
LEVEL, OTHER_LEVELS = 0.95, (0.90, 0.99)  # of the verdict; and of those that show whether it hangs on a hair
BORDERLINE = "borderline"
OPERATIONS = {"value", "fact", "ratio", "minus", "absolute", "reference", "change"}
NEEDS = ("all", "majority", "any")
ONCE = "one training"  # the interval covers documents, not trainings
SHOWN_ROWS, OURS = 6, "ours"  # rows of a claim in an exhibit's notes (claims.csv has all); the source of our own checks
HEADER = (
    *("paper", "claim", "source", "says", "row", "compared", "scale", "difference", "low", "high", "verdict", "why"),
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
        others = {level: self._whole([r.others.get(level, r.verdict) for r in self.rows]) for level in OTHER_LEVELS}
        return _other_verdicts(self.verdict, others)

    def _whole(self, verdicts: Sequence[str]) -> str:
        """The claim's verdict from one for each of its rows."""
        counts = Counter(verdicts)
        held, against = counts[HOLDS], counts[CONTRADICTED]
        measured = held + against + counts[UNDECIDED]
        if not measured:
            return UNTESTABLE if counts[UNTESTABLE] else ABSENT
        needs, majority = self.claim.get("needs", "all"), (measured // 2 + 1, math.ceil(measured / 2))
        needed, refuting = {"all": (measured, 1), "any": (1, measured), "majority": majority}[needs]
        rows = list(zip(self.rows, verdicts, strict=True))
        absent = {row.fields for row, verdict in rows if verdict == ABSENT and needs == "all"}
        if held >= needed:  # a chain with a link that was not measured does not hold
            return ABSENT if any(row.fields in absent for row, verdict in rows if verdict != ABSENT) else HOLDS
        return CONTRADICTED if against >= refuting else UNDECIDED

    def sentence(self) -> str:
        """For the notes of an exhibit: the claim, its verdict, and its rows or, where they are many, their counts."""
        told = self.counted
        if len(self.rows) == 1 and self.rows[0].contrast is None:
            told = self.rows[0].why
        elif len(self.rows) <= SHOWN_ROWS:
            found = [(r, "" if (c := r.contrast) is None else interval(c.value, c.low, c.high)) for r in self.rows]
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
        f"{other} at {level:.0%}".replace("%", " %") for level, other in others.items() if other != verdict
    )


def decide(form: str, found: Estimate, margin: float, level: float = LEVEL, comparisons: int = 1) -> str:
    """The verdict of a form of claim on a contrast, whose 95 % interval is stretched to another level.

    Args:
        form: one of ``FORMS``.
        found: the contrast with its 95 % interval, logarithms where numbers are compared by ratios.
        margin: what ``order`` and ``rising`` must exceed, and within which ``contains`` must lie on both sides of zero; on the
            same scale as ``found``.
        level: of the interval; both arms are stretched as those of a normal interval are.
        comparisons: so many comparisons of a claim that needs all share the level (Bonferroni).
    """
    quantiles = [float(stats.norm.isf((1 - one) / 2 / many)) for one, many in ((level, comparisons), (LEVEL, 1))]
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


def judge(
    paper: str,
    claims: Sequence[Mapping[str, Any]],
    results: Results,
    data: Path,
    scale: str = "default",
    instruments: Sequence[Mapping[str, Any]] = (),
) -> list[Judged]:
    """Every claim of a paper's ``expected.yaml`` with its rows. Raises BadInput: a claim that is written wrongly.

    Below ``data`` corpora hold exact values; ``scale`` names that of experiment, at which some claims are not testable.
    ``instruments`` stand in the place of the paper's own (:class:`longform.reporting.printed.Expected`).
    """
    facts = Facts(data)
    return [_judged(paper, claim, results, facts, scale, instruments) for claim in claims]


def stands_in(where: Mapping[str, Any], instruments: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The first instrument in the place of the paper's own that a filter of records is about; None where it is the paper's."""
    for instrument in instruments:
        wanted = instrument["where"].items()
        if all(name in where and set(_listed(where[name])) & set(_listed(value)) for name, value in wanted):
            return instrument
    return None


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _judged(
    paper: str,
    claim: Mapping[str, Any],
    results: Results,
    facts: Facts,
    at: str,
    instruments: Sequence[Mapping[str, Any]] = (),
) -> Judged:
    where = f"experiments/{paper}/expected.yaml: claim {claim.get('id', dict(claim))!r}"
    forms = [form for form in FORMS if form in claim]
    unknown = sorted(set(claim) - OPTIONS - set(FORMS))
    if unknown or not {"id", "says"} <= set(claim):
        raise BadInput(f"{where}: unknown keys {unknown} or no id or says; allowed are {sorted(OPTIONS)}")
    if len(forms) != 1 and not (claim.get("not_testable") and not forms):
        raise BadInput(f"{where}: forms {forms}; give one of {list(FORMS)}")
    if claim.get("needs", "all") not in NEEDS or claim.get("scale", "ratio") not in ("ratio", "difference"):
        raise BadInput(f"{where}: needs is one of {list(NEEDS)}, scale is ratio or difference")
    if ("within" in claim) != ("contains" in claim):
        raise BadInput(f"{where}: contains needs within: {{margin: ..., why: ...}}, and no other form has it")
    reason = claim.get("not_testable", "")
    reason = reason.get(at or "default", "") if isinstance(reason, Mapping) else reason
    if not reason and claim.get("source") != OURS:
        others = (stands_in(filters, instruments) for filters in _filters(claim))
        reason = next((one["why"] for one in others if one is not None and not one.get("claims", True)), "")
    if reason or not forms:
        return Judged(paper, claim, "difference", [Row("", "", None, UNTESTABLE, reason or "not at this scale")])
    metrics = {step["metric"] for step in _filters(claim) if "metric" in step}
    perplexities = metrics and all(str(metric).endswith("ppl") for metric in metrics)  # they are compared by ratios
    scale = claim.get("scale") or ("ratio" if perplexities else "difference")
    asked = all(select(results, {**claim.get("where", {}), **one}) for one in _listed(claim.get("with", [])))
    combined = _combinations(claim, results) if asked else []
    margin = float(claim["within"]["margin"] if "within" in claim else claim.get("margin", scale == "ratio"))
    if "within" in claim and (margin <= float(scale == "ratio") or not claim["within"].get("why")):
        raise BadInput(f"{where}: within has margin {margin:g} and a why; a factor is above 1, a difference above 0")
    compared = [_Comparison(claim, fields, results, facts, scale, margin) for fields in combined]
    rows = [row for one in compared for row in one.rows(forms[0])]
    takes = f"it takes {claim['takes']}" if "takes" in claim else ""
    if all(row.verdict == ABSENT for row in rows) and (takes or not rows):
        rows = [Row("", "", None, ABSENT, takes)]
    measured = sum(row.verdict in (HOLDS, CONTRADICTED, UNDECIDED) for row in rows)
    if claim.get("needs", "all") == "all" and measured > 1:
        rows = [_among(row, forms[0], measured, margin, scale) for row in rows]
    return Judged(paper, claim, scale, rows)


def _among(row: Row, form: str, measured: int, margin: float, scale: str) -> Row:
    """The row; undecided where it contradicts, but an interval at the level of a family of so many would not show it."""
    if row.contrast is None or not row.contrast.known:
        return row
    found, border = (row.contrast.log(), math.log(margin)) if scale == "ratio" else (row.contrast, margin)

    def within_family(level: float, verdict: str) -> str:
        alone = verdict != CONTRADICTED or decide(form, found, border, level, measured) == CONTRADICTED
        return verdict if alone else UNDECIDED

    others = {level: within_family(level, verdict) for level, verdict in row.others.items()}
    verdict = within_family(LEVEL, row.verdict)
    why = row.why if verdict == row.verdict else f"contradicted alone, not among {measured} comparisons"
    return replace(row, verdict=verdict, others=others, why=why)


def _filters(claim: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every filter of a claim, merged over its ``where``."""
    pending = [step for form in FORMS for step in claim.get(form, ())]
    while pending:
        step = pending.pop(0)
        operation = next(iter(OPERATIONS & set(step)), None)
        if operation is None:
            yield {**claim.get("where", {}), **{k: v for k, v in step.items() if k != "called"}}
        elif operation not in ("value", "fact"):
            pending += step[operation] if isinstance(step[operation], list) else [step[operation]]


def _combinations(claim: Mapping[str, Any], results: Results) -> list[dict[str, Any]]:
    """The rows: values of the ``for_each`` fields among the records that some number is free to take them from."""
    names = claim.get("for_each", [])
    if isinstance(names, Mapping):
        return [dict(zip(names, values, strict=True)) for values in product(*names.values())]
    found: dict[tuple[Any, ...], None] = {}
    for wanted in _filters(claim):
        if all(name not in wanted or name in claim.get("where", {}) for name in names):
            found |= dict.fromkeys(select(results, {**dict.fromkeys(names, ANY), **wanted}).groups(*names))
    return [dict(zip(names, values, strict=True)) for values in found]


@dataclass(frozen=True)
class _Number:
    """What stands on one side of a comparison; ``once`` as in :class:`Row`."""

    label: str
    estimate: Estimate | None
    once: bool = False

    def less(self, other: "_Number") -> Estimate | None:
        return None if self.estimate is None or other.estimate is None else self.estimate - other.estimate


@dataclass(frozen=True)
class _Comparison:
    """A claim where the ``for_each`` fields have certain values: the numbers of its steps, and the rows that compare them."""

    claim: Mapping[str, Any]
    fields: Mapping[str, Any]
    results: Results
    facts: Facts
    scale: str
    margin: float

    def rows(self, form: str) -> Iterator[Row]:
        sides = [self._numbers(step) for step in self.claim[form]]
        if form == "order":
            pairs = combinations(sides, 2) if self.claim.get("pairs") == "all" else pairwise(sides)
            for a, b in (two for earlier, later in pairs for two in product(earlier, later)):
                yield self._row(form, f"{a.label} < {b.label}", b.less(a), a, b)
            return
        for numbers in sides:
            if len(numbers) != 1:
                told = f"a filter finds {[n.label for n in numbers]}, one number is wanted"
                raise BadInput(f"claim {self.claim['id']}: {told}; name the fields in which they differ")
        singles = [number for (number,) in sides]
        if form == "rising":
            estimates = [number.estimate for number in singles if number.estimate is not None]
            found = slope(estimates) if len(estimates) == len(singles) else None
            yield self._row(form, "rising: " + ", ".join(number.label for number in singles), found, *singles)
            return
        first, second = singles
        verb = "covers" if form == "contains" else "differs from"
        yield self._row(form, f"{first.label} {verb} {second.label}", first.less(second), first, second)

    def _row(self, form: str, compared: str, found: Estimate | None, *numbers: _Number) -> Row:
        """The verdict on a contrast, at the level of claims and at the others."""
        label = _label(self.fields)
        if found is None:
            return Row(label, compared, None, ABSENT)
        shown = found.exp() if self.scale == "ratio" else found
        once = any(number.once for number in numbers)
        if not found.known:
            few = found.units is not None and found.units < FEWEST_UNITS
            why = f"{found.units} units, fewer than {FEWEST_UNITS}" if few else "no interval"
            return Row(label, compared, shown, UNDECIDED, why, once)
        border = math.log(self.margin) if self.scale == "ratio" else self.margin
        others = {level: decide(form, found, border, level) for level in OTHER_LEVELS}
        return Row(label, compared, shown, decide(form, found, border), once=once, others=others)

    def _numbers(self, step: Mapping[str, Any]) -> list[_Number]:
        """The numbers that a step of the claim stands for: several where its filter finds several records."""
        operation = min(OPERATIONS & set(step), default="")
        held, called = step.get(operation, {}), step.get("called")
        if not operation:
            return self._records(step)
        if operation == "value":
            return [_Number(called or f"{held:g}", self._constant(held))]
        if operation == "fact":
            corpus = step.get("corpus") or self.fields.get("corpus") or self.claim.get("where", {}).get("corpus", "")
            return [_Number(called or held, self._constant(self.facts.number(corpus, held)))]
        if operation == "reference":
            known = {r.reference for r in self._select(held) if r.reference is not None}
            return [_Number(called or "reference", self._constant(value)) for value in known or [None]]
        if operation == "change":
            numbers = []
            for r in self._select(held):
                low, high = (r.details.get(f"difference_{end}") for end in ("low", "high"))
                found = None if r.difference is None else Estimate(r.difference, low, high, r.units)
                numbers.append(_Number(_label({name: getattr(r, name) for name in held}), found))
            return numbers or [_Number(_label(held), None)]
        if operation == "absolute":
            (inner,) = self._numbers(held)
            return [_Number(called or f"|{inner.label}|", inner.estimate and inner.estimate.absolute(), inner.once)]
        if (operation == "ratio") != (self.scale == "ratio"):
            raise BadInput(f"{operation} at scale {self.scale}; ratio is of scale ratio, minus of scale difference")
        (first,), (second,) = (self._numbers(part) for part in held)
        label = f"{first.label} {'/' if operation == 'ratio' else '-'} {second.label}"
        return [_Number(called or label, first.less(second), first.once or second.once)]

    def _select(self, wanted: Mapping[str, Any]) -> Results:
        return select(self.results, {**self.claim.get("where", {}), **self.fields, **wanted})

    def _constant(self, value: float | None) -> Estimate | None:
        if value is None:
            return None
        known = Estimate(float(value), float(value), float(value))
        return known.log() if self.scale == "ratio" else known

    def _records(self, step: Mapping[str, Any]) -> list[_Number]:
        own = {k: v for k, v in step.items() if k != "called"}
        groups = self._select(own).groups(*IDENTITY)
        if not groups:
            return [_Number(step.get("called", _label(own)), None)]
        columns = zip(IDENTITY, zip(*groups, strict=True), strict=True)
        differing = [name for name, values in columns if len(set(values)) > 1]
        numbers = []
        for records in groups.values():
            label = _label({name: getattr(records[0], name) for name in differing or own})
            called = step.get("called", label) if len(groups) == 1 else label
            once = len(records) == 1 and records[0].seed is not None
            numbers.append(_Number(called, of_records(list(records), self.scale == "ratio"), once))
        return numbers


def _label(values: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, (_named(name, value) for name, value in values.items())))


def _named(name: str, value: Any) -> str:
    if name == "titles":
        return "" if value is None else "with titles" if value else "without titles"
    if isinstance(value, list | tuple):
        return "/".join(_named(name, single) for single in value)
    return "" if value is None else f"{name} {value:g}" if isinstance(value, float) else str(value)


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
            lines.append([*named, "", "", row.fields or "-", row.compared, *numbers, row.verdict, why, row.borderline])
    write_rows(path, HEADER, lines)


def claims_markdown(judged: Sequence[Judged]) -> str:
    """Claims by paper and verdict; our own checks, whose source is ``ours``, in rows of their own."""
    own = {True: ", our own checks", False: ""}
    named = [(one.paper + own[one.claim.get("source") == OURS], one.verdict) for one in judged]
    told = counts_markdown("claims", named, VERDICTS)
    hanging = [f"{one.paper} {one.claim['id']} ({one.verdict}; {one.borderline})" for one in judged if one.borderline]
    if hanging:
        told += f"\nBorderline, since a 90 % or a 99 % interval says otherwise: {', '.join(hanging)}.\n"
    return told


def counts_markdown(what: str, named: Sequence[tuple[str, str]], verdicts: Sequence[str]) -> str:
    """(paper, verdict) pairs counted: a row for each paper."""
    counts = Counter(named)
    lines = [f"| | {what} | " + " | ".join(verdicts) + " |", "|---" * (len(verdicts) + 2) + "|"]
    for paper in dict.fromkeys(paper for paper, _ in named):
        cells = [str(counts[paper, verdict] or "") for verdict in verdicts]
        lines.append(f"| {paper} | {sum(counts[paper, v] for v in verdicts)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
