"""What a paper claims, as data, judged in one place: each claim is a contrast of numbers with a 95 % interval.

``experiments/<paper>/expected.yaml`` lists claims; ``experiments/README.md`` says how one is written.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

from scipy import stats

from longform.core.documents import BadInput
from longform.core.results import NAMES, Record, Results
from longform.reporting.estimates import (
    ANY,
    FEWEST_UNITS,
    Estimate,
    Facts,
    constant,
    contrast,
    of_records,
    select,
    slope,
)
from longform.reporting.table import short, write_rows

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
ABSENT, UNTESTABLE = "not measured here", "not testable here"
VERDICTS = (HOLDS, CONTRADICTED, UNDECIDED, ABSENT, UNTESTABLE)
FORMS = ("order", "rising", "contains", "differ")
OPTIONS = {"id", "source", "says", "exhibit", "where", "for_each", "pairs", "margin", "scale", "needs", "not_testable"}
OPTIONS |= {"takes", "with"}
OPERATIONS = {"value", "fact", "ratio", "minus", "absolute", "reference", "change"}
NEEDS = ("all", "majority", "any")
ONCE = "one training"  # the interval covers documents, not trainings
SHOWN_ROWS, OURS = 6, "ours"  # rows of a claim in an exhibit's notes (claims.csv has all); the source of our own checks


@dataclass(frozen=True)
class Row:
    """One comparison of a claim: what is compared, the contrast with its interval, the verdict and its reason.

    ``once``: some side is a single training of a system that has a seed.
    """

    fields: str
    compared: str
    contrast: Estimate | None
    verdict: str
    why: str = ""
    once: bool = False


@dataclass(frozen=True)
class Judged:
    """A claim of a paper with its rows.

    Attributes:
        scale: ``ratio`` where the rows' numbers are ratios (no change is 1), else ``difference``.
    """

    paper: str
    claim: Mapping[str, Any]
    scale: str
    rows: Sequence[Row]

    @property
    def counts(self) -> Counter[str]:
        """Rows by verdict."""
        return Counter(row.verdict for row in self.rows)

    @property
    def verdict(self) -> str:
        """Of the claim as a whole, from those of its rows that were measured."""
        counts = self.counts
        held, against = counts[HOLDS], counts[CONTRADICTED]
        measured = held + against + counts[UNDECIDED]
        if not measured:
            return UNTESTABLE if counts[UNTESTABLE] else ABSENT
        needs, majority = self.claim.get("needs", "all"), (measured // 2 + 1, math.ceil(measured / 2))
        needed, refuting = {"all": (measured, 1), "any": (1, measured), "majority": majority}[needs]
        absent = {row.fields for row in self.rows if row.verdict == ABSENT and needs == "all"}
        if held >= needed:  # a chain with a link that was not measured does not hold
            return ABSENT if any(row.fields in absent for row in self.rows if row.verdict != ABSENT) else HOLDS
        return CONTRADICTED if against >= refuting else UNDECIDED

    def sentence(self) -> str:
        """For the notes of an exhibit: the claim, its verdict, and its rows or, where they are many, their counts."""
        counts = ", ".join(f"{self.counts[v]} {v}" for v in VERDICTS if self.counts[v])
        if len(self.rows) == 1 and self.rows[0].contrast is None:
            counts = self.rows[0].why
        elif len(self.rows) <= SHOWN_ROWS:
            rows = [f"{r.fields} {r.compared} {_interval(r.contrast)} {r.verdict}".strip() for r in self.rows]
            counts = f"{self.scale}s: {'; '.join(rows)}"
        once = sum(row.once for row in self.rows)
        if once:
            told = "" if once == len(self.rows) else f"{once} of {len(self.rows)}: "
            counts += f"; {told}one training of each system, so that intervals cover documents alone"
        source = f" ({self.claim['source']})" if self.claim.get("source") else ""
        return f"{self.claim['says']}{source} **{self.verdict}**" + (f"; {counts}" if counts else "")


def judge(
    paper: str, claims: Sequence[Mapping[str, Any]], results: Results, data: Path, scale: str = "default"
) -> list[Judged]:
    """Every claim with its rows.

    Args:
        claims: of the paper's ``expected.yaml``.
        data: the folder whose ``corpora/<corpus>/facts.json`` hold exact values.
        scale: the name of the scale of experiment, for claims that are not testable at it.

    Raises BadInput: a claim that is written wrongly.
    """
    facts = Facts(data)
    return [_judged(paper, _checked(paper, claim), results, facts, scale) for claim in claims]


def _checked(paper: str, claim: Mapping[str, Any]) -> Mapping[str, Any]:
    where = f"experiments/{paper}/expected.yaml: claim {claim.get('id', dict(claim))!r}"
    forms = [form for form in FORMS if form in claim]
    unknown = sorted(set(claim) - OPTIONS - set(FORMS))
    if unknown or not {"id", "says"} <= set(claim):
        raise BadInput(f"{where}: unknown keys {unknown} or no id or says; allowed are {sorted(OPTIONS)}")
    if len(forms) != 1 and not (claim.get("not_testable") and not forms):
        raise BadInput(f"{where}: forms {forms}; give one of {list(FORMS)}")
    if claim.get("needs", "all") not in NEEDS or claim.get("scale", "ratio") not in ("ratio", "difference"):
        raise BadInput(f"{where}: needs is one of {list(NEEDS)}, scale is ratio or difference")
    return claim


def _judged(paper: str, claim: Mapping[str, Any], results: Results, facts: Facts, at: str) -> Judged:
    reason = claim.get("not_testable", "")
    reason = reason.get(at or "default", "") if isinstance(reason, Mapping) else reason
    form = next((form for form in FORMS if form in claim), "")
    if reason or not form:
        return Judged(paper, claim, "difference", [Row("", "", None, UNTESTABLE, reason or "not at this scale")])
    scale = claim.get("scale") or _default_scale(claim, results)
    rows: list[Row] = []
    asked = "with" not in claim or select(results, {**claim.get("where", {}), **claim["with"]})
    for fields in _combinations(claim, form, results) if asked else ():
        numbers = [_Numbers(claim.get("where", {}), fields, results, facts, scale).of(step) for step in claim[form]]
        label = _label(fields)
        rows += _FORMS[form](label, claim, numbers, scale)
    takes = f"it takes {claim['takes']}" if "takes" in claim else ""
    if all(row.verdict == ABSENT for row in rows) and (takes or not rows):
        rows = [Row("", "", None, ABSENT, takes)]
    return Judged(paper, claim, scale, _beyond_chance(rows, claim, scale))


def _beyond_chance(rows: Sequence[Row], claim: Mapping[str, Any], scale: str) -> list[Row]:
    """The rows; contradictions that an interval at the family's level would not show are undecided."""
    judged = sum(row.verdict in (HOLDS, CONTRADICTED, UNDECIDED) for row in rows)
    measured = judged if claim.get("needs", "all") == "all" else 1
    wider, kept = float(stats.norm.isf(0.025 / max(measured, 1)) / stats.norm.isf(0.025)), []
    margin = claim.get("margin", 1.0 if scale == "ratio" else 0.0)
    for row in rows:
        if row.verdict == CONTRADICTED and measured > 1 and row.contrast is not None and row.contrast.known:
            found, border = (row.contrast.log(), math.log(margin)) if scale == "ratio" else (row.contrast, margin)
            nearer: Any = found.high if found.value < border else found.low
            if (found.value + wider * (nearer - found.value) - border) * (found.value - border) <= 0:
                row = replace(row, verdict=UNDECIDED, why=f"contradicted alone, not among {measured} comparisons")
        kept.append(row)
    return kept


def _default_scale(claim: Mapping[str, Any], results: Results) -> str:
    """Perplexities are compared by ratios, everything else by differences."""
    metrics = {step["metric"] for step in _filters(claim) if "metric" in step}
    return "ratio" if metrics and all(str(metric).endswith("ppl") for metric in metrics) else "difference"


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


def _combinations(claim: Mapping[str, Any], form: str, results: Results) -> list[dict[str, Any]]:
    """The rows: values of the ``for_each`` fields among the records that some number is free to take them from."""
    names = claim.get("for_each", [])
    if isinstance(names, Mapping):
        return [dict(zip(names, values, strict=True)) for values in product(*names.values())]
    found: dict[tuple[Any, ...], None] = {}
    for wanted in _filters(claim):
        if all(name not in wanted or name in claim.get("where", {}) for name in names):
            records = select(results, {**dict.fromkeys(names, ANY), **wanted})
            found |= dict.fromkeys(tuple(getattr(r, name) for name in names) for r in records)
    return [dict(zip(names, values, strict=True)) for values in found]


@dataclass(frozen=True)
class _Number:
    """What stands on one side of a comparison; ``once`` where it is one training of a system that has a seed."""

    label: str
    estimate: Estimate | None
    once: bool = False


@dataclass(frozen=True)
class _Numbers:
    """Looks up the numbers of one row."""

    where: Mapping[str, Any]
    fields: Mapping[str, Any]
    results: Results
    facts: Facts
    scale: str

    def of(self, step: Mapping[str, Any]) -> list[_Number]:
        """The numbers that a step of the claim stands for: several where its filter finds several records."""
        operations = sorted(OPERATIONS & set(step))
        if not operations:
            return self._records(step)
        operation, held = operations[0], step[operations[0]]
        if operation == "value":
            return [_Number(step.get("called", f"{held:g}"), self._scaled(constant(held)))]
        if operation == "fact":
            corpus = step.get("corpus") or self.fields.get("corpus") or self.where.get("corpus", "")
            value = self.facts.number(corpus, held)
            return [_Number(step.get("called", held), None if value is None else self._scaled(constant(value)))]
        if operation == "reference":
            records = select(self.results, {**self.where, **self.fields, **held})
            known = {r.reference for r in records if r.reference is not None}
            numbers: list[Estimate | None] = [self._scaled(constant(value)) for value in known] or [None]
            return [_Number(step.get("called", "reference"), number) for number in numbers]
        if operation == "change":
            changes = select(self.results, {**self.where, **self.fields, **held})
            found = [_Number(_label({name: getattr(r, name) for name in held}), _change(r)) for r in changes]
            return found or [_Number(_label(held), None)]
        if operation == "absolute":
            (inner,) = self.of(held)
            size = inner.estimate and inner.estimate.absolute()
            return [_Number(step.get("called", f"|{inner.label}|"), size, inner.once)]
        if (operation == "ratio") != (self.scale == "ratio"):
            raise BadInput(f"{operation} at scale {self.scale}; ratio is of scale ratio, minus of scale difference")
        (first,), (second,) = (self.of(part) for part in held)
        label = f"{first.label} {'/' if operation == 'ratio' else '-'} {second.label}"
        return [_Number(step.get("called", label), _less(first, second), first.once or second.once)]

    def _scaled(self, estimate: Estimate) -> Estimate:
        return estimate.log() if self.scale == "ratio" else estimate

    def _records(self, step: Mapping[str, Any]) -> list[_Number]:
        own = {k: v for k, v in step.items() if k != "called"}
        groups = select(self.results, {**self.where, **self.fields, **own}).groups(*_IDENTITY)
        if not groups:
            return [_Number(step.get("called", _label(own)), None)]
        columns = zip(_IDENTITY, zip(*groups, strict=True), strict=True)
        differing = [name for name, values in columns if len(set(values)) > 1]
        numbers = []
        for records in groups.values():
            label = _label({name: getattr(records[0], name) for name in differing or own})
            called = step.get("called", label) if len(groups) == 1 else label
            once = len(records) == 1 and records[0].seed is not None
            numbers.append(_Number(called, of_records(list(records), self.scale == "ratio"), once))
        return numbers


def _change(record: Record) -> Estimate | None:
    low, high = (record.details.get(f"difference_{end}") for end in ("low", "high"))
    return None if record.difference is None else Estimate(record.difference, low, high, record.units)


_IDENTITY = tuple(name for name in NAMES[: NAMES.index("seed")])  # records that agree in these differ by seed alone


def _label(values: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, (_named(name, value) for name, value in values.items())))


def _named(name: str, value: Any) -> str:
    if name == "titles":
        return "" if value is None else "with titles" if value else "without titles"
    if isinstance(value, list | tuple):
        return "/".join(_named(name, single) for single in value)
    return "" if value is None else f"{name} {value:g}" if isinstance(value, float) else str(value)


def _order(label: str, claim: Mapping[str, Any], numbers: Sequence[Sequence[_Number]], scale: str) -> Iterator[Row]:
    pairs = combinations(numbers, 2) if claim.get("pairs") == "all" else pairwise(numbers)
    for earlier, later in pairs:
        for a, b in product(earlier, later):
            yield _row(label, f"{a.label} < {b.label}", _less(b, a), claim, scale, (a, b))


def _rising(label: str, claim: Mapping[str, Any], numbers: Sequence[Sequence[_Number]], scale: str) -> Iterator[Row]:
    singles = [_single(claim, number) for number in numbers]
    estimates = [number.estimate for number in singles if number.estimate is not None]
    found = slope(estimates) if len(estimates) == len(singles) else None
    yield _row(label, "rising: " + ", ".join(number.label for number in singles), found, claim, scale, singles)


def _contains(label: str, claim: Mapping[str, Any], numbers: Sequence[Sequence[_Number]], scale: str) -> Iterator[Row]:
    first, second = (_single(claim, number) for number in numbers)
    row = _row(label, f"{first.label} covers {second.label}", _less(first, second), claim, scale, (first, second))
    if row.contrast is not None and row.contrast.low is not None and row.contrast.high is not None:
        inside = row.contrast.low <= (1.0 if scale == "ratio" else 0.0) <= row.contrast.high
        row = replace(row, verdict=HOLDS if inside else CONTRADICTED)
    yield row


def _differ(label: str, claim: Mapping[str, Any], numbers: Sequence[Sequence[_Number]], scale: str) -> Iterator[Row]:
    first, second = (_single(claim, number) for number in numbers)
    row = _row(label, f"{first.label} differs from {second.label}", _less(first, second), claim, scale, (first, second))
    yield replace(row, verdict=HOLDS if row.verdict == CONTRADICTED else row.verdict)


_FORMS = {"order": _order, "rising": _rising, "contains": _contains, "differ": _differ}


def _single(claim: Mapping[str, Any], numbers: Sequence[_Number]) -> _Number:
    if len(numbers) != 1:
        told = f"a filter finds {[n.label for n in numbers]}, one number is wanted"
        raise BadInput(f"claim {claim['id']}: {told}; name the fields in which they differ")
    return numbers[0]


def _less(first: _Number, second: _Number) -> Estimate | None:
    if first.estimate is None or second.estimate is None:
        return None
    return contrast((1, -1), (first.estimate, second.estimate))


def _row(
    label: str,
    compared: str,
    found: Estimate | None,
    claim: Mapping[str, Any],
    scale: str,
    numbers: Sequence[_Number],
) -> Row:
    """The verdict on a contrast that is claimed to be above the margin."""
    if found is None:
        return Row(label, compared, None, ABSENT)
    margin = claim.get("margin", 1.0 if scale == "ratio" else 0.0)
    shown = found.exp() if scale == "ratio" else found
    once = any(number.once for number in numbers)
    if shown.low is None or shown.high is None:
        few = found.units is not None and found.units < FEWEST_UNITS
        why = f"{found.units} units, fewer than {FEWEST_UNITS}" if few else "no interval"
        return Row(label, compared, shown, UNDECIDED, why, once)
    verdict = HOLDS if shown.low > margin else CONTRADICTED if shown.high < margin else UNDECIDED
    return Row(label, compared, shown, verdict, once=once)


def _interval(found: Estimate | None) -> str:
    if found is None or found.low is None or found.high is None:
        return "" if found is None else short(found.value)
    return f"{short(found.value)} [{short(found.low)}, {short(found.high)}]"


HEADER = ("paper", "claim", "source", "says", "row", "compared", "scale", "difference", "low", "high", "verdict", "why")


def write_claims(path: Path, judged: Sequence[Judged]) -> None:
    """``claims.csv``: a line for each claim, whose ``row`` is empty, and beneath it a line for each of its rows."""
    lines: list[list[Any]] = []
    for one in judged:
        head = [one.paper, one.claim["id"], one.claim.get("source", ""), one.claim["says"]]
        counts = ", ".join(f"{one.counts[v]} {v}" for v in VERDICTS if one.counts[v])
        lines.append([*head, "", "", one.scale, None, None, None, one.verdict, counts])
        for row in one.rows:
            found = row.contrast or Estimate(math.nan)
            numbers = [one.scale, found.value, found.low, found.high]
            why = "; ".join(filter(None, (row.why, ONCE if row.once else "")))
            lines.append([*head[:2], "", "", row.fields or "-", row.compared, *numbers, row.verdict, why])
    write_rows(path, HEADER, lines)


def claims_markdown(judged: Sequence[Judged]) -> str:
    """Claims by paper and verdict; our own checks, whose source is ``ours``, in rows of their own."""
    own = {True: ", our own checks", False: ""}
    named = [(one.paper + own[one.claim.get("source") == OURS], one.verdict) for one in judged]
    return counts_markdown("claims", named, VERDICTS)


def counts_markdown(what: str, named: Sequence[tuple[str, str]], verdicts: Sequence[str]) -> str:
    """(paper, verdict) pairs counted: a row for each paper."""
    counts = Counter(named)
    lines = [f"| | {what} | " + " | ".join(verdicts) + " |", "|---" * (len(verdicts) + 2) + "|"]
    for paper in dict.fromkeys(paper for paper, _ in named):
        cells = [str(counts[paper, verdict] or "") for verdict in verdicts]
        lines.append(f"| {paper} | {sum(counts[paper, v] for v in verdicts)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
