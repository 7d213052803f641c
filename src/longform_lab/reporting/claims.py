"""What a paper claims, as data, judged in one place: each claim is a contrast of numbers with a 95 % interval.

``experiments/<paper>/expected.yaml`` lists claims; ``experiments/README.md`` says how one is written.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

from longform.errors import BadInput
from longform.results import ANY, FEWEST_UNITS, Results
from longform_lab.reporting.estimates import IDENTITY, Estimate, Facts, of_records, select, slope
from longform_lab.reporting.verdicts import (
    ABSENT,
    CONTRADICTED,
    HOLDS,
    LEVEL,
    OTHER_LEVELS,
    OURS,
    UNDECIDED,
    UNTESTABLE,
    Judged,
    Row,
    decide,
)

FORMS = ("order", "rising", "contains", "differ")
OPTIONS = {
    "id",
    "source",
    "says",
    "exhibit",
    "where",
    "for_each",
    "pairs",
    "margin",
    "scale",
    "needs",
    "not_testable",
}
OPTIONS |= {"takes", "with", "within"}
OPERATIONS = {"value", "fact", "ratio", "minus", "absolute", "reference", "change"}
NEEDS = ("all", "majority", "any")


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
    ``instruments`` stand in the place of the paper's own (:class:`longform_lab.reporting.printed.Expected`).
    """
    facts = Facts(data)
    return [_judged(paper, claim, results, facts, scale, instruments) for claim in claims]


def stands_in(
    where: Mapping[str, Any], instruments: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """The first instrument in the place of the paper's own that a filter of records is about; None where it is the paper's."""
    for instrument in instruments:
        wanted = instrument["where"].items()
        if all(
            name in where and set(_listed(where[name])) & set(_listed(value))
            for name, value in wanted
        ):
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
        raise BadInput(
            f"{where}: unknown keys {unknown} or no id or says; allowed are {sorted(OPTIONS)}"
        )
    if len(forms) != 1 and not (claim.get("not_testable") and not forms):
        raise BadInput(f"{where}: forms {forms}; give one of {list(FORMS)}")
    if claim.get("needs", "all") not in NEEDS or claim.get("scale", "ratio") not in (
        "ratio",
        "difference",
    ):
        raise BadInput(f"{where}: needs is one of {list(NEEDS)}, scale is ratio or difference")
    if ("within" in claim) != ("contains" in claim):
        raise BadInput(
            f"{where}: contains needs within: {{margin: ..., why: ...}}, and no other form has it"
        )
    reason = claim.get("not_testable", "")
    reason = reason.get(at or "default", "") if isinstance(reason, Mapping) else reason
    if not reason and claim.get("source") != OURS:
        others = (stands_in(filters, instruments) for filters in _filters(claim))
        reason = next(
            (one["why"] for one in others if one is not None and not one.get("claims", True)), ""
        )
    if reason or not forms:
        return Judged(
            paper,
            claim,
            "difference",
            [Row("", "", None, UNTESTABLE, reason or "not at this scale")],
        )
    metrics = {step["metric"] for step in _filters(claim) if "metric" in step}
    perplexities = metrics and all(
        str(metric).endswith("ppl") for metric in metrics
    )  # they are compared by ratios
    scale = claim.get("scale") or ("ratio" if perplexities else "difference")
    asked = all(
        select(results, {**claim.get("where", {}), **one}) for one in _listed(claim.get("with", []))
    )
    combined = _combinations(claim, results) if asked else []
    margin = float(
        claim["within"]["margin"] if "within" in claim else claim.get("margin", scale == "ratio")
    )
    if "within" in claim and (margin <= float(scale == "ratio") or not claim["within"].get("why")):
        raise BadInput(
            f"{where}: within has margin {margin:g} and a why; a factor is above 1, a difference above 0"
        )
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
    found, border = (
        (row.contrast.log(), math.log(margin)) if scale == "ratio" else (row.contrast, margin)
    )

    def within_family(level: float, verdict: str) -> str:
        alone = (
            verdict != CONTRADICTED or decide(form, found, border, level, measured) == CONTRADICTED
        )
        return verdict if alone else UNDECIDED

    others = {level: within_family(level, verdict) for level, verdict in row.others.items()}
    verdict = within_family(LEVEL, row.verdict)
    why = (
        row.why
        if verdict == row.verdict
        else f"contradicted alone, not among {measured} comparisons"
    )
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
            found |= dict.fromkeys(
                select(results, {**dict.fromkeys(names, ANY), **wanted}).groups(*names)
            )
    return [dict(zip(names, values, strict=True)) for values in found]


@dataclass(frozen=True)
class _Number:
    """What stands on one side of a comparison; ``once`` as in :class:`Row`."""

    label: str
    estimate: Estimate | None
    once: bool = False

    def less(self, other: "_Number") -> Estimate | None:
        return (
            None
            if self.estimate is None or other.estimate is None
            else self.estimate - other.estimate
        )


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
                raise BadInput(
                    f"claim {self.claim['id']}: {told}; name the fields in which they differ"
                )
        singles = [number for (number,) in sides]
        if form == "rising":
            estimates = [number.estimate for number in singles if number.estimate is not None]
            found = slope(estimates) if len(estimates) == len(singles) else None
            yield self._row(
                form, "rising: " + ", ".join(number.label for number in singles), found, *singles
            )
            return
        first, second = singles
        verb = "covers" if form == "contains" else "differs from"
        yield self._row(
            form, f"{first.label} {verb} {second.label}", first.less(second), first, second
        )

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
            corpus = (
                step.get("corpus")
                or self.fields.get("corpus")
                or self.claim.get("where", {}).get("corpus", "")
            )
            return [_Number(called or held, self._constant(self.facts.number(corpus, held)))]
        if operation == "reference":
            known = {r.reference for r in self._select(held) if r.reference is not None}
            return [
                _Number(called or "reference", self._constant(value)) for value in known or [None]
            ]
        if operation == "change":
            numbers = []
            for r in self._select(held):
                low, high = (r.details.get(f"difference_{end}") for end in ("low", "high"))
                found = None if r.difference is None else Estimate(r.difference, low, high, r.units)
                numbers.append(_Number(_label({name: getattr(r, name) for name in held}), found))
            return numbers or [_Number(_label(held), None)]
        if operation == "absolute":
            (inner,) = self._numbers(held)
            return [
                _Number(
                    called or f"|{inner.label}|",
                    inner.estimate and inner.estimate.absolute(),
                    inner.once,
                )
            ]
        if (operation == "ratio") != (self.scale == "ratio"):
            raise BadInput(
                f"{operation} at scale {self.scale}; ratio is of scale ratio, minus of scale difference"
            )
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
