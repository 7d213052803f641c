"""Decide the claims of papers: each claim is data, a contrast of numbers with a 95 % interval.

``experiments/<paper>/expected.yaml`` lists claims; ``experiments/README.md`` says how one is
written.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product, starmap
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from longform.errors import BadInput, counted, did_you_mean
from longform.results import ANY, FEWEST_UNITS, Record, Results
from longform.settings import Number, Settings, parameter, parse
from longform_lab.reporting.estimates import (
    FILTERED,
    IDENTITY,
    Estimate,
    Facts,
    RecordFilter,
    of_records,
    select,
    slope,
)
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
OPERATIONS = ("value", "fact", "ratio", "minus", "absolute", "reference", "change")
MEASURED = (HOLDS, CONTRADICTED, UNDECIDED)
RATIO, DIFFERENCE = "ratio", "difference"  # how the numbers of a claim are compared


def expected_file(paper: str) -> str:
    """The path of the file with a paper's claims and printed numbers."""
    return f"experiments/{paper}/expected.yaml"


class Instrument(Settings):
    """An instrument of ours, such as a resolver, that replaces one of the paper's."""

    where: RecordFilter = parameter("Its records.")
    why: str = parameter("Why its level is not the paper's.")
    claims: bool = parameter("Whether claims of the paper are judged by it.", True)
    unless: list[str] = parameter("Scales whose instrument is the paper's own.", [])


class Within(Settings):
    """How near two numbers must be to count as equal."""

    margin: Number = parameter(
        "A factor above 1 where numbers are compared by ratios, else a number."
    )
    why: str = parameter("Why a difference of this size does not matter.")


class Quantity(RecordFilter):
    """A number of a claim: a filter of records, merged over the claim's own, or one operation."""

    called: str | None = parameter("What the ledger calls it.", None)
    value: Number = parameter("A constant.", None)
    fact: str = parameter("A number of the corpus' facts.json, with dots where they nest.", None)
    ratio: "list[Quantity]" = parameter("The first over the second.", None)
    minus: "list[Quantity]" = parameter("The first less the second.", None)
    absolute: "Quantity" = parameter("The absolute value of a number.", None)
    reference: RecordFilter = parameter("What the filter's record was compared with.", None)
    change: RecordFilter = parameter("The difference of the filter's record from that.", None)

    @property
    def operations(self) -> list[str]:
        """The names of the operations that the entry has: none for a filter, otherwise one."""
        return [name for name in OPERATIONS if name in self.model_fields_set]

    @property
    def operation(self) -> str:
        """The operation; empty for a filter."""
        return self.operations[0] if self.operations else ""

    @property
    def parts(self) -> Sequence[RecordFilter]:
        """The filters or numbers that its operation takes."""
        parts = self.ratio or self.minus or self.absolute or self.reference or self.change
        if parts is None:
            return []
        return [parts] if isinstance(parts, RecordFilter) else parts

    @model_validator(mode="after")
    def _has_one_meaning(self) -> Self:
        """Refuse a quantity that is both operation and filter, and a pair that is not of two."""
        operations = self.operations
        allowed = ("corpus",) if operations == ["fact"] else ()
        others = [name for name in self.fields if name not in allowed]
        if len(operations) > 1 or (operations and others):
            raise ValueError(f"{[*operations, *others]} beside each other, allowed is one of them")
        pair = self.ratio or self.minus
        if pair is not None and len(pair) != 2:
            raise ValueError(f"{operations[0]} of {len(pair)} numbers, allowed are two")
        _check_finite("value", self.value)
        return self


def _check_finite(name: str, number: float | None) -> None:
    """Raise ValueError where a number is infinite or nan."""
    if number is not None and not math.isfinite(number):
        raise ValueError(f"{name} is {number}, allowed is a finite number")


def _check_fields(entry: Any) -> Any:
    """Check ``for_each`` and return it unchanged.

    Raises:
        ValueError: it is neither a list of fields of records nor a mapping from fields to values.
    """
    if not isinstance(entry, list | dict):
        raise ValueError(f"got {entry!r:.60}, allowed is a list of fields, or a mapping to values")
    for name in entry:
        if name not in FILTERED:
            close = did_you_mean(str(name), FILTERED)
            raise ValueError(f"got {name!r}{close}, allowed are {list(FILTERED)}")
        if isinstance(entry, dict) and not isinstance(entry[name], list):
            raise ValueError(f"{name} is {entry[name]!r:.60}, allowed is a list of its values")
    return entry


FIELD_NAME = {"enum": list(FILTERED)}
VALUES = {"propertyNames": FIELD_NAME, "additionalProperties": {"type": "array"}}
FOR_EACH = {"anyOf": [{"type": "array", "items": FIELD_NAME}, {"type": "object", **VALUES}]}
ForEach = Annotated[
    list[str] | dict[str, list[Any]], BeforeValidator(_check_fields), WithJsonSchema(FOR_EACH)
]


class Claim(Settings):
    """What a paper claims, as a contrast of numbers."""

    id: str = parameter("Its name.")
    source: str = parameter("Where the paper says so; ``ours`` for a check of our own.", "")
    says: str = parameter("The claim in a sentence.")
    exhibit: str | None = parameter("The table or figure below which its verdict stands.", None)
    where: RecordFilter = parameter("A filter of all its records.", RecordFilter())
    for_each: ForEach = parameter(
        "A row for each combination of values that occurs, or of those that are listed.", []
    )
    order: list[Quantity] | None = parameter("Rising: each against the next.", None)
    rising: list[Quantity] | None = parameter("Their slope per step is above zero.", None)
    contains: list[Quantity] | None = parameter("The first equals the second.", None)
    differ: list[Quantity] | None = parameter("The first is not the second.", None)
    pairs: Literal["all"] | None = parameter("Of ``order``: against every later one.", None)
    margin: Number | None = parameter(
        "What the later number must exceed the earlier by: a factor where they are compared by "
        "ratios, else a difference.",
        None,
    )
    scale: Literal["ratio", "difference"] | None = parameter(
        "How numbers are compared; by default perplexities by ratios, others by differences.", None
    )
    needs: Literal["all", "majority", "any"] = parameter("Which rows must hold.", "all")
    not_testable: str | dict[str, str] = parameter(
        "Why it cannot be tested, at every scale or by scale.", ""
    )
    takes: str = parameter("What a run must have so that it is measured.", "")
    with_records: list[RecordFilter] = parameter(
        "Filters that must each find a record.", [], alias="with"
    )
    within: Within | None = parameter("How near ``contains`` wants the two.", None)

    @property
    def forms(self) -> list[str]:
        """Those of ``FORMS`` that the entry has: one, or none where it is not testable."""
        return [form for form in FORMS if getattr(self, form) is not None]

    @property
    def form(self) -> str:
        """The form; empty where it is not testable and has none."""
        return self.forms[0] if self.forms else ""

    @property
    def quantities(self) -> Sequence[Quantity]:
        """The numbers of its form."""
        return getattr(self, self.form) if self.form else []

    @property
    def filters(self) -> Iterator[dict[str, Any]]:
        """Yield the filter of every number, merged over ``where``.

        Filters inside operations come last.
        """
        pending: deque[RecordFilter] = deque(self.quantities)
        while pending:
            item = pending.popleft()
            if isinstance(item, Quantity) and item.operation:
                pending.extend(item.parts)
            else:
                yield {**self.where.fields, **item.fields}

    def reason(self, scale: str) -> str:
        """Why it is not testable at a scale; empty where it is."""
        if isinstance(self.not_testable, str):
            return self.not_testable
        return self.not_testable.get(scale or "default", "")

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        """Refuse several forms, none without ``not_testable``, and what does not fit the form."""
        if len(self.forms) > 1 or not (self.forms or self.not_testable):
            raise ValueError(f"forms {self.forms}; give one of {list(FORMS)}")
        if (self.within is None) != (self.contains is None):
            raise ValueError(
                "contains needs within: {margin: ..., why: ...}, and no other form has it"
            )
        count = len(self.quantities)
        fits = count >= 2 if self.form in ("order", "rising") else count == 2
        if self.form and not fits:
            raise ValueError(f"{self.form} of {counted(count, 'number')}; two are compared")
        _check_finite("margin", self.margin)
        if self.within is not None:
            _check_finite("margin", self.within.margin)
        return self


def read_claim(paper: str, entry: Any) -> Claim:
    """A claim of a paper's ``expected.yaml``. Raises ConfigError: it is written wrongly."""
    name = entry.get("id") if isinstance(entry, Mapping) else entry
    return parse(Claim, entry, f"claim {name!r}", expected_file(paper))


def judge(
    paper: str,
    claims: Sequence[Claim],
    results: Results,
    data: Path,
    scale: str = "default",
    instruments: Sequence[Instrument] = (),
) -> list[Judged]:
    """Decide the claims of a paper, each with its rows (single comparisons) and their verdicts.

    Args:
        paper: its folder below ``experiments``.
        claims: those of its ``expected.yaml``.
        results: the records that numbers are taken from.
        data: the data folder, with the facts of corpora.
        scale: the name of the scale that was run; some claims are not testable at some scales.
        instruments: instruments of ours in place of the paper's own.

    Raises:
        BadInput: a claim whose numbers cannot be compared as it says.
    """
    facts = Facts(data)
    verdicts = []
    for claim in claims:
        reason = claim.reason(scale) or _replaced(claim, instruments)
        if reason or not claim.form:
            row = Row("", "", None, UNTESTABLE, reason or "not at this scale")
            verdicts.append(Judged(paper, claim, DIFFERENCE, [row]))
        else:
            verdicts.append(_judged(paper, claim, results, facts))
    return verdicts


def stands_in(where: Mapping[str, Any], instruments: Sequence[Instrument]) -> Instrument | None:
    """The first instrument of ours, such as a resolver, behind the records that a filter selects.

    Args:
        where: field -> the value, or the list of values, that the filter allows.
        instruments: those of ours that replace one of the paper's; each has a filter of its own.

    Returns:
        The first whose every field ``where`` restricts to a value in common; None where the filter
        leaves a field of each open, or the paper's own instruments made the records.
    """
    for instrument in instruments:
        if _overlap(where, instrument.where.fields):
            return instrument
    return None


def _overlap(where: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a filter allows, for each field of another filter, a value that the other allows."""
    for name, values in other.items():
        if name not in where or _as_set(where[name]).isdisjoint(_as_set(values)):
            return False
    return True


def _as_set(value: Any) -> set[Any]:
    """The values that a filter allows for a field, which may be one value or a list."""
    return set(value) if isinstance(value, list | tuple) else {value}


def _replaced(claim: Claim, instruments: Sequence[Instrument]) -> str:
    """Why a claim cannot be tested with our replaced instruments; empty where it can."""
    if claim.source == OURS:
        return ""
    for filters in claim.filters:
        instrument = stands_in(filters, instruments)
        if instrument is not None and not instrument.claims:
            return instrument.why
    return ""


def _judged(paper: str, claim: Claim, results: Results, facts: Facts) -> Judged:
    """Decide a testable claim: one row for each comparison, with its verdict."""
    # 1. The scale on which numbers are compared, and by how much they must differ.
    scale = claim.scale or (RATIO if _of_perplexities(claim) else DIFFERENCE)
    margin = _margin(paper, claim, scale)
    # 2. A row or more for each combination of values.
    rows: list[Row] = []
    if _has_records(claim, results):
        for fields in _combinations(claim, results):
            comparison = _Comparison(
                claim, fields=fields, results=results, facts=facts, scale=scale, margin=margin
            )
            rows += comparison.rows()
    # 3. Where nothing was measured, one row that says what a run needs.
    takes = f"it takes {claim.takes}" if claim.takes else ""
    if all(row.verdict == ABSENT for row in rows) and (takes or not rows):
        rows = [Row("", "", None, ABSENT, takes)]
    # 4. Where any of several rows would refute the claim, correct for their number.
    num_measured = sum(row.verdict in MEASURED for row in rows)
    if claim.needs == "all" and num_measured > 1:
        corrected = []
        for row in rows:
            corrected.append(
                _corrected(row, claim.form, comparisons=num_measured, margin=margin, scale=scale)
            )
        rows = corrected
    return Judged(paper, claim, scale, rows)


def _of_perplexities(claim: Claim) -> bool:
    """Whether some number of a claim names a metric, and every metric named is a perplexity."""
    names_one = False
    for filters in claim.filters:
        if "metric" in filters:
            names_one = True
            if not str(filters["metric"]).endswith("ppl"):
                return False
    return names_one


def _margin(paper: str, claim: Claim, scale: str) -> float:
    """The claim's margin; by default the value of no change: 1 for ratios, 0 for differences.

    Raises:
        BadInput: a margin of equality that does not exceed the value of no change, or a factor that
            is not above 0.
    """
    no_change = float(scale == RATIO)
    if claim.within is None:
        margin = no_change if claim.margin is None else float(claim.margin)
        if scale == RATIO and margin <= 0:
            raise BadInput(
                f"{expected_file(paper)}: claim {claim.id!r}: margin {margin:g} of ratios; "
                "a factor is above 0"
            )
        return margin
    margin = float(claim.within.margin)
    if margin <= no_change:
        raise BadInput(
            f"{expected_file(paper)}: claim {claim.id!r}: within has margin {margin:g}; "
            "a factor is above 1, a difference above 0"
        )
    return margin


def _has_records(claim: Claim, results: Results) -> bool:
    """Whether each filter of the claim's ``with`` selects a record."""
    for needed in claim.with_records:
        if not select(results, {**claim.where.fields, **needed.fields}):
            return False
    return True


def _combinations(claim: Claim, results: Results) -> list[dict[str, Any]]:
    """The combinations of values of the ``for_each`` fields, for each of which rows are made.

    They are all combinations of the listed values; without lists, those that occur in the records
    of the claim's numbers.
    """
    names = list(claim.for_each)
    groups: dict[tuple[Any, ...], None] = {}
    if isinstance(claim.for_each, Mapping):
        groups = dict.fromkeys(product(*claim.for_each.values()))
    else:
        for filters in claim.filters:
            # A number that fixes a field for itself alone does not say which values occur.
            fixed = filters.keys() - claim.where.fields.keys()
            if fixed.isdisjoint(names):
                records = select(results, {**dict.fromkeys(names, ANY), **filters})
                groups |= dict.fromkeys(records.groups(*names))
    return [dict(zip(names, values, strict=True)) for values in groups]


def _corrected(row: Row, form: str, *, comparisons: int, margin: float, scale: str) -> Row:
    """A row with its verdict corrected for several comparisons (Bonferroni).

    A contradiction becomes undecided where the wider interval of the whole family of comparisons
    does not show it. Other verdicts stay, since only a contradiction refutes the claim.

    Args:
        row: one comparison.
        form: one of ``FORMS``.
        comparisons: the number of comparisons.
        margin: the claim's, on its scale.
        scale: ``RATIO`` or ``DIFFERENCE``.
    """
    if row.contrast is None or not row.contrast.known:
        return row
    contrast = row.contrast.log() if scale == RATIO else row.contrast
    border = math.log(margin) if scale == RATIO else margin

    def within_family(level: float, verdict: str) -> str:
        """The verdict that replaces one of an interval of this level."""
        if verdict != CONTRADICTED:
            return verdict
        stricter = decide(form, contrast, border, level, comparisons)
        return CONTRADICTED if stricter == CONTRADICTED else UNDECIDED

    # The same for the claims' level and for others.
    verdict = within_family(LEVEL, row.verdict)
    others = {}
    for level, other in row.others.items():
        others[level] = within_family(level, other)
    why = row.why
    if verdict != row.verdict:
        why = f"contradicted alone, not among {comparisons} comparisons"
    return replace(row, verdict=verdict, others=others, why=why)


@dataclass(frozen=True)
class _Number:
    """One side of a comparison.

    Attributes:
        label: what it is, in words.
        estimate: its value and interval, logarithms where the claim compares ratios; None where
            there is no record.
        once: whether it is a single training of a system that has a seed.
    """

    label: str
    estimate: Estimate | None
    once: bool = False

    def less(self, other: "_Number") -> Estimate | None:
        """The difference from another number; None where one of them is missing."""
        if self.estimate is None or other.estimate is None:
            return None
        return self.estimate - other.estimate


@dataclass(frozen=True)
class _Comparison:
    """A claim for one combination of values of its ``for_each`` fields.

    Attributes:
        fields: these values, by field.
        scale: ``RATIO`` or ``DIFFERENCE``.
        margin: the claim's, on that scale.
    """

    claim: Claim
    fields: Mapping[str, Any]
    results: Results
    facts: Facts
    scale: str
    margin: float

    def rows(self) -> Iterator[Row]:
        """Yield a row for each pair of numbers that the claim compares, or one for all."""
        sides = list(map(self._numbers, self.claim.quantities))
        if self.claim.form == "order":
            pairs = combinations(sides, 2) if self.claim.pairs == "all" else pairwise(sides)
            for earlier, later in pairs:
                for a, b in product(earlier, later):
                    yield self._row(f"{a.label} < {b.label}", b.less(a), a, b)
            return
        numbers = list(map(self._single, sides))
        if self.claim.form == "rising":
            labels = ", ".join(number.label for number in numbers)
            yield self._row(f"rising: {labels}", _slope_of(numbers), *numbers)
            return
        first, second = numbers
        verb = "covers" if self.claim.form == "contains" else "differs from"
        yield self._row(f"{first.label} {verb} {second.label}", first.less(second), first, second)

    def _single(self, numbers: Sequence[_Number]) -> _Number:
        """The one number of a list. Raises BadInput: there are several."""
        if len(numbers) != 1:
            labels = [number.label for number in numbers]
            raise BadInput(
                f"claim {self.claim.id}: a filter finds {labels}, one number is wanted; name the "
                "fields in which they differ"
            )
        return numbers[0]

    def _row(self, compared: str, contrast: Estimate | None, *numbers: _Number) -> Row:
        """A row with the verdict on a contrast, at the level of claims and at other levels.

        Args:
            compared: what is compared, in words.
            contrast: of logarithms where the claim compares ratios; None: a number is missing.
            numbers: those that are compared.
        """
        label = _label(self.fields)
        if contrast is None:
            return Row(label, compared, None, ABSENT)
        # 1. Without an interval nothing is decided.
        shown = contrast.exp() if self.scale == RATIO else contrast
        once = any(number.once for number in numbers)
        if not contrast.known:
            why = "no interval"
            if contrast.units is not None and contrast.units < FEWEST_UNITS:
                why = f"{contrast.units} units, fewer than {FEWEST_UNITS}"
            return Row(label, compared, shown, UNDECIDED, why, once)
        # 2. The verdict, and those of other levels.
        form = self.claim.form
        border = math.log(self.margin) if self.scale == RATIO else self.margin
        verdict = decide(form, contrast, border)
        others = {}
        for level in OTHER_LEVELS:
            others[level] = decide(form, contrast, border, level)
        return Row(label, compared, shown, verdict, once=once, others=others)

    def _numbers(self, quantity: Quantity) -> list[_Number]:
        """Evaluate a number of the claim; several where its filter selects several records."""
        operations: dict[str, Callable[[Quantity], list[_Number]]] = {
            "": self._records,
            "value": self._value,
            "fact": self._fact,
            "reference": self._references,
            "change": self._changes,
            "absolute": self._absolute,
            "ratio": self._difference,
            "minus": self._difference,
        }
        return operations[quantity.operation](quantity)

    def _value(self, quantity: Quantity) -> list[_Number]:
        """A constant."""
        label = quantity.called or f"{quantity.value:g}"
        return [_Number(label, self._constant(quantity.value))]

    def _fact(self, quantity: Quantity) -> list[_Number]:
        """A number from the ``facts.json`` of the quantity's corpus or else the row's."""
        corpus = quantity.corpus or self._with_fields({}).get("corpus", "")
        value = self.facts.number(str(corpus), quantity.fact)
        return [_Number(quantity.called or quantity.fact, self._constant(value))]

    def _references(self, quantity: Quantity) -> list[_Number]:
        """The references that records were compared with, each as an exact number."""
        label = quantity.called or "reference"
        numbers: dict[float, _Number] = {}
        for record in self._select(quantity.reference.fields):
            value = record.reference
            if value is not None:
                numbers[value] = _Number(label, self._constant(value))
        return list(numbers.values()) or [_Number(label, None)]

    def _changes(self, quantity: Quantity) -> list[_Number]:
        """Differences of records from their references, with the paired intervals."""
        filters = quantity.change.fields
        numbers = []
        for record in self._select(filters):
            low = record.details.get("difference_low")
            high = record.details.get("difference_high")
            change = None
            if record.difference is not None:
                change = Estimate(record.difference, low, high, record.units)
            numbers.append(_Number(_label_of(record, filters), change))
        return numbers or [_Number(_label(filters), None)]

    def _absolute(self, quantity: Quantity) -> list[_Number]:
        """The absolute value of a number."""
        inner = self._single(self._numbers(quantity.absolute))
        absolute = None if inner.estimate is None else inner.estimate.absolute()
        return [_Number(quantity.called or f"|{inner.label}|", absolute, inner.once)]

    def _difference(self, quantity: Quantity) -> list[_Number]:
        """The difference of two numbers; on the scale of ratios, of their logarithms.

        Raises:
            BadInput: a difference where the claim compares ratios, or a ratio where it does not.
        """
        operation = quantity.operation
        if (operation == RATIO) != (self.scale == RATIO):
            raise BadInput(
                f"claim {self.claim.id}: {operation} at scale {self.scale}; ratio is of scale "
                "ratio, minus of scale difference"
            )
        parts = quantity.ratio or quantity.minus
        first = self._single(self._numbers(parts[0]))
        second = self._single(self._numbers(parts[1]))
        sign = "/" if operation == RATIO else "-"
        label = quantity.called or f"{first.label} {sign} {second.label}"
        return [_Number(label, first.less(second), first.once or second.once)]

    def _records(self, quantity: Quantity) -> list[_Number]:
        """A number for each record of a filter; records that differ by seed alone are averaged."""
        filters = quantity.fields
        groups = self._select(filters).groups(*IDENTITY)
        if not groups:
            return [_Number(quantity.called or _label(filters), None)]
        names = _differing(groups) or filters
        numbers = []
        for records in groups.values():
            label = _label_of(records[0], names)
            if quantity.called is not None and len(groups) == 1:
                label = quantity.called
            estimate = of_records(list(records), log=self.scale == RATIO)
            once = len(records) == 1 and records[0].seed is not None
            numbers.append(_Number(label, estimate, once))
        return numbers

    def _select(self, filters: Mapping[str, Any]) -> Results:
        """The records of a filter, merged over the claim's and the row's fields."""
        return select(self.results, self._with_fields(filters))

    def _with_fields(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        """A filter merged over the claim's own and the row's fields."""
        return {**self.claim.where.fields, **self.fields, **filters}

    def _constant(self, value: float | None) -> Estimate | None:
        """An exact number as an estimate, its logarithm where the claim compares ratios."""
        if value is None:
            return None
        exact = Estimate(float(value), float(value), float(value))
        return exact.log() if self.scale == RATIO else exact


def _slope_of(numbers: Sequence[_Number]) -> Estimate | None:
    """Least-squares slope per place in the sequence; None where the results lack a number.

    Raises BadInput: fewer than two numbers.
    """
    estimates = []
    for number in numbers:
        if number.estimate is None:
            return None
        estimates.append(number.estimate)
    return slope(estimates)


def _differing(groups: Mapping[tuple[Any, ...], Any]) -> list[str]:
    """The fields of ``IDENTITY`` in which groups of records differ.

    Args:
        groups: records by their values of these fields.
    """
    names = []
    for name, values in zip(IDENTITY, zip(*groups, strict=True), strict=True):
        if len(set(values)) > 1:
            names.append(name)
    return names


def _label_of(record: Record, names: Iterable[str]) -> str:
    """The named fields of a record in words, for a label."""
    return _label({name: getattr(record, name) for name in names})


def _label(values: Mapping[str, Any]) -> str:
    """Fields in words, those without a value left out."""
    words = starmap(_in_words, values.items())
    return ", ".join(filter(None, words))


def _in_words(name: str, value: Any) -> str:
    """A field's value in words; empty where it has none."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return "/".join(_in_words(name, single) for single in value)
    if name == "titles":
        return "with titles" if value else "without titles"
    return f"{name} {value:g}" if isinstance(value, float) else str(value)
