"""The numbers that a paper prints, the record of ours beside each, and the ledger of all.

``experiments/<paper>/expected.yaml`` holds the numbers and the rules; ``experiments/README.md``
says how they are written.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import model_validator

from longform.errors import BadInput
from longform.files.artefacts import read_yaml
from longform.results import NAMES, Record, Results
from longform.settings import Keys, Number, Settings, parameter, parse
from longform_lab.reporting.claims import (
    Claim,
    Instrument,
    expected_file,
    judge,
    read_claim,
    stands_in,
)
from longform_lab.reporting.estimates import (
    FILTERED,
    IDENTITY,
    Estimate,
    Facts,
    RecordFilter,
    contrast,
    of_records,
    select,
)
from longform_lab.reporting.verdicts import Judged, counts_markdown

WITHIN, DIFFERS, ABSENT = "within interval", "differs", "not measured here"
INCOMPARABLE, LOST = "not comparable at this size", "lost"
VERDICTS = (WITHIN, DIFFERS, INCOMPARABLE, ABSENT, LOST)
PRECISION = 0.005  # the papers print two decimals: half a unit of the last one
NO_RESULTS = ("setting", "quoted")  # kinds of tables
SCRATCH = "from scratch"  # added to the label of a system that was not pretrained
NumberPath = tuple[str, ...]  # the keys that lead to a number in its table


class Comparable(Settings):
    """The conditions under which our number can be compared with a printed one."""

    scales: list[str] | None = parameter("Scales of experiment at which it can; null is all.", None)
    facts: dict[str, Any] = parameter("What the corpus must say of itself.", {})
    why: str = parameter("Why it cannot elsewhere.", "")


class Rule(Settings):
    """Which record stands beside printed numbers, or why none of ours can."""

    printed: str = parameter(
        "The numbers' path in the table: {name} takes one step, * any, ** the rest."
    )
    where: RecordFilter | None = parameter(
        "Fields of the record; {name} is filled in from the path.", None
    )
    names: dict[str, dict[str, Any]] = parameter(
        "How our records call the steps of the path, by name.", {}
    )
    fact: str | None = parameter("A number of the corpus' facts.json in place of a record.", None)
    times: Number = parameter("What our number is multiplied by.", 1.0)
    precision: Number = parameter(
        "Half a unit of the last printed digit.", PRECISION, source="two decimals are printed"
    )
    comparable: Comparable | None = parameter("In place of that of the whole file.", None)
    cause: str = parameter("Why our number differs, or why there is none.", "")

    @property
    def leads_to_a_record(self) -> bool:
        """Whether a record or a fact of ours can stand beside the number."""
        return self.where is not None or self.fact is not None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        """Refuse a rule that has neither a record nor a fact nor a cause why there is none."""
        if not (self.leads_to_a_record or self.cause):
            raise ValueError("a rule needs 'where' or 'fact' or 'cause'")
        return self


Kind = Literal["trained", "exact", "sampled", "quoted", "lost", "setting"]
Labels = Annotated[dict[str, dict[Any, str]], Keys(*FILTERED)]


class Entries(Settings):
    """The keys of ``expected.yaml`` other than printed numbers and claims."""

    kinds: dict[str, Kind] = parameter(
        "What the numbers of a table are; settings and quoted ones are no results.", {}
    )
    labels: Labels = parameter(
        "How values of a field are shown, in the order in which tables list them.", {}
    )
    comparable: Comparable = parameter("When printed numbers are comparable.", Comparable())
    instruments: list[Instrument] = parameter(
        "What of ours stands in the place of instruments of the paper's.", []
    )
    records: dict[str, list[Rule]] = parameter(
        "By table, the rules that lead from a printed number to a record; the first decides.", {}
    )


RESERVED = {*Entries.model_fields, "claims"}  # keys of expected.yaml that are no tables


@dataclass(frozen=True)
class Printed:
    """One printed number.

    Attributes:
        table: the block of ``expected.yaml`` that it stands in.
        path: the keys that lead to it.
        value: None where the paper's text lost it.
        where: the fields of the record beside it; None if no rule leads to one.
        rule: the rule that its path agrees with.
    """

    table: str
    path: NumberPath
    value: float | None
    where: Mapping[str, Any] | None = None
    rule: Rule | None = None

    @property
    def name(self) -> str:
        """Its path with dots."""
        return ".".join(self.path)

    @property
    def times(self) -> float:
        """What our number is multiplied by."""
        return 1.0 if self.rule is None else self.rule.times

    @property
    def fact(self) -> str | None:
        """The fact of the corpus that stands beside it, None where a record does."""
        return None if self.rule is None else self.rule.fact

    @property
    def cause(self) -> str:
        """Why our number differs, or why there is none."""
        if self.rule is not None and self.rule.cause:
            return self.rule.cause
        return "" if self.where else "no rule leads to a record"


class Line(NamedTuple):
    """One line of the ledger: a printed number, ours with its interval, and the verdict."""

    paper: str
    table: str
    number: str
    printed: float | None
    ours: float | None
    low: float | None
    high: float | None
    units: int | None
    record: str  # its fields
    verdict: str
    cause: str


@dataclass(frozen=True)
class Expected:
    """The printed numbers and the claims of a paper.

    Attributes:
        paper: the name of its folder below ``experiments``.
        content: the parsed ``expected.yaml``.
        scale: the name of the scale that the records come from.
        choices: fields of records to which a table or figure is restricted, by its name.
        from_scratch: systems that were trained from scratch where others were finetuned; their
            labels say so.
    """

    paper: str
    content: Mapping[str, Any]
    scale: str = "default"
    choices: Mapping[str, Mapping[str, Any]] | None = None
    from_scratch: Collection[str] = frozenset()

    def __getitem__(self, table: str) -> Any:
        if table not in self.content:
            raise BadInput(f"{expected_file(self.paper)}: no table {table!r}; add it")
        return self.content[table]

    @cached_property
    def entries(self) -> Entries:
        """Rules, labels and the other settings. Raises ConfigError: a setting is malformed."""
        entries = {}
        for key in Entries.model_fields:
            if key in self.content:
                entries[key] = self.content[key]
        return parse(Entries, entries, self.paper, expected_file(self.paper))

    @cached_property
    def claims(self) -> Sequence[Claim]:
        """The paper's claims. Raises ConfigError: a claim is malformed."""
        return [read_claim(self.paper, entry) for entry in self.content.get("claims", [])]

    def labels(self, name: str) -> Mapping[Any, str]:
        """The labels of a field's values, in the order in which tables list them."""
        return self.entries.labels.get(name, {})

    def label(self, name: str, value: Any) -> str:
        """The label of a field's value: from the file's ``labels``, or else the value in words.

        A system that was trained from scratch beside finetuned ones is marked as such.
        """
        label = self.labels(name).get(value)
        if label is None:
            label = str(value).replace("_", " ")
        if name == "system" and value in self.from_scratch and SCRATCH not in label:
            return f"{label} ({SCRATCH})"
        return label

    @cached_property
    def numbers(self) -> Sequence[Printed]:
        """Every printed number in the file's order.

        Tables whose kind is ``setting`` or ``quoted`` print no results.
        """
        numbers = []
        for table, block in self.content.items():
            kind = self.entries.kinds.get(table)
            if table in RESERVED or kind in NO_RESULTS:
                continue
            for path, value, words in _leaves(block, (), {}):
                if value is not None or kind == "lost":
                    numbers.append(self._resolved(table, path, value, words))
        return numbers

    def _resolved(
        self, table: str, path: NumberPath, value: float | None, words: Mapping[str, str]
    ) -> Printed:
        """A printed number with the first rule whose pattern its path agrees with.

        Args:
            table: the block of ``expected.yaml``.
            path: the keys that lead to the number in the block, outermost first.
            value: None where the paper's text lost it.
            words: texts beside the number, which a rule's filter may insert by ``{key}``.
        """
        for rule in self.entries.records.get(table, ()):
            steps = steps_of(rule.printed, path)
            if steps is None:
                continue
            # Each named step of the path, as our records call it. A step whose name is that of a
            # field of records is part of the filter.
            names: dict[str, Any] = {}
            for name, step in steps.items():
                names[name] = rule.names.get(name, {}).get(step, step)
            where = None
            try:
                if rule.fact is not None:
                    rule = rule.model_copy(update={"fact": rule.fact.format(**names)})
                if rule.leads_to_a_record:
                    where = {name: step for name, step in names.items() if name in NAMES}
                    where |= _filled(rule.where, {**words, **names})
            except KeyError as error:
                raise BadInput(
                    f"{expected_file(self.paper)}: records of {table}: {rule.printed!r} has no "
                    f"step or word {error}; name it there"
                ) from error
            return Printed(table, path, value, where, rule)
        return Printed(table, path, value)

    def beside(self, table: str, record: Record) -> Printed | None:
        """The first printed number of a table whose filter selects a record; None without one."""
        for number in self.numbers:
            if number.table != table or number.where is None:
                continue
            if select([record], number.where):
                return number
        return None

    def incomparable(self, number: Printed, facts: Facts) -> str:
        """Why our number cannot be compared with a printed one; empty where it can."""
        where = number.where or {}
        # 1. Another instrument than the paper's.
        instrument = stands_in(where, self.instruments)
        if instrument is not None:
            return instrument.why
        # 2. A corpus that is not the paper's.
        rule = number.rule and number.rule.comparable
        comparable = rule or self.entries.comparable
        reasons = []
        for name, value in comparable.facts.items():
            ours = facts.of(str(where.get("corpus", ""))).get(name, "unknown")
            if ours != value:
                reasons.append(f"{name} {ours} here, {value} in the paper")
        # 3. A scale of experiment that is not.
        at_scale = comparable.scales is None or self.scale in comparable.scales
        if at_scale and not reasons:
            return ""
        if comparable.why:
            reasons.append(comparable.why)
        return "; ".join(reasons) or f"scale {self.scale}"

    @property
    def instruments(self) -> Sequence[Instrument]:
        """The instruments of ours that replace the paper's at this scale.

        Numbers measured with them are not compared with printed ones; where their ``claims`` is
        false, they decide no claim either.
        """
        return [one for one in self.entries.instruments if self.scale not in one.unless]

    def judged(self, results: Results, data: Path, exhibit: str | None = None) -> list[Judged]:
        """Decide every claim of the paper, or those that belong to one table or figure."""
        claims = [claim for claim in self.claims if exhibit in (None, claim.exhibit)]
        return judge(self.paper, claims, results, data, self.scale, self.instruments)

    def ledger(self, results: Results, data: Path) -> list[Line]:
        """A line for each printed number."""
        facts = Facts(data)
        return [self._line(number, results, facts) for number in self.numbers]

    def _line(self, number: Printed, results: Results, facts: Facts) -> Line:
        """The ledger's line of a printed number: ours beside it, and the verdict."""
        ours = self._ours(number, results, facts)
        verdict, cause = verdict_on(number, ours), number.cause
        if verdict in (WITHIN, DIFFERS):
            reason = self.incomparable(number, facts)
            if reason:
                verdict, cause = INCOMPARABLE, reason
        fields = dict(number.where or {})
        if number.fact is not None:
            fields["fact"] = number.fact
        return Line(
            paper=self.paper,
            table=number.table,
            number=number.name,
            printed=number.value,
            ours=ours.value if ours else None,
            low=ours.low if ours else None,
            high=ours.high if ours else None,
            units=ours.units if ours else None,
            record=" ".join(f"{name}={value}" for name, value in fields.items()),
            verdict=verdict,
            cause=cause,
        )

    def _ours(self, number: Printed, results: Results, facts: Facts) -> Estimate | None:
        """Our estimate beside a printed number; None where we have none.

        Raises:
            BadInput: several records agree with the number's filter.
        """
        if number.where is None:
            return None
        # 1. A fact of the corpus.
        if number.fact is not None:
            value = facts.number(str(number.where.get("corpus", "")), number.fact)
            return None if value is None else Estimate(number.times * value)
        # 2. A record, of the first system that was run: a number has one line.
        records = select(results, number.where)
        systems = number.where.get("system")
        for system in systems if isinstance(systems, list) else []:
            of_system = select(records, {**number.where, "system": system})
            if of_system:
                records = of_system
                break
        if len(records.groups(*IDENTITY)) > 1:
            raise BadInput(
                f"experiments/{self.paper}: {number.table}.{number.name}: {len(records)} records "
                f"have {dict(number.where)}; name more fields"
            )
        estimate = of_records(list(records))
        return None if estimate is None else contrast((number.times,), (estimate,))


def read_expected(
    folder: Path, scale: str = "default", choices: Mapping[str, Mapping[str, Any]] | None = None
) -> Expected:
    """``expected.yaml`` of a paper's folder.

    Args:
        folder: ``experiments/<paper>``.
        scale: names where the records come from.
        choices: fields of records to which a table or figure is restricted, by its name.

    Raises BadInput: no such file, or one without named tables and claims.
    """
    content = read_yaml(folder / "expected.yaml")
    if not isinstance(content, Mapping):
        raise BadInput(f"{folder / 'expected.yaml'}: no mapping of tables and claims; fix the file")
    return Expected(folder.name, content, scale, choices)


def _filled(where: RecordFilter | None, words: Mapping[str, Any]) -> dict[str, Any]:
    """A rule's filter with ``{name}`` in its texts replaced by words of these names."""
    filters = {} if where is None else where.fields
    for name, value in filters.items():
        if isinstance(value, str):
            filters[name] = value.format(**words)
    return filters


def verdict_on(number: Printed, ours: Estimate | None) -> str:
    """The verdict on a printed number: whether it lies in our interval.

    Without an interval it has to equal our number to the printed precision. The interval is
    widened by half a unit of the last printed digit.
    """
    if number.value is None:
        return LOST
    if ours is None:
        return ABSENT
    precision = PRECISION if number.rule is None else number.rule.precision
    slack = precision * (1 + 1e-9)  # so that rounding errors do not exclude an end
    low = high = ours.value
    if ours.low is not None and ours.high is not None:
        low, high = ours.low, ours.high
    return WITHIN if low - slack <= number.value <= high + slack else DIFFERS


def steps_of(pattern: str, path: Sequence[str]) -> dict[str, str] | None:
    """Match a path with a pattern: the steps that its ``{name}`` parts stand for, by name.

    None where they do not match.

    Args:
        pattern: steps with dots between them; ``*`` is any step, ``**`` all that follow.
        path: the keys that lead to a number.
    """
    names: dict[str, str] = {}
    expected = pattern.split(".")
    for position, step in enumerate(expected):
        if step == "**":
            return names
        if position >= len(path):
            return None
        name = re.fullmatch(r"\{(\w+)\}", step)
        if name:
            names[name.group(1)] = path[position]
        elif step not in ("*", path[position]):
            return None
    return names if len(path) == len(expected) else None


Leaf = tuple[NumberPath, float | None, Mapping[str, str]]  # path, number, words beside it


def _leaves(
    block: Any, path: NumberPath, words: Mapping[str, str], columns: Sequence[str] = ()
) -> Iterator[Leaf]:
    """Yield the numbers of a block with their paths and the texts beside each.

    Args:
        block: a table of ``expected.yaml``, or a part of it.
        path: the keys that lead to the block.
        words: the texts beside the block, by their keys.
        columns: the nearest list ``columns`` above the block; a list of numbers of the same length
            takes its steps from it, other lists count from 0.

    Raises BadInput: a number is nan.
    """
    # 1. Parts that hold numbers.
    if isinstance(block, Mapping):
        columns = block.get("columns", columns)
        words = _words_of(block)
        for key, value in block.items():
            if key != "columns":
                yield from _leaves(value, (*path, str(key)), words, columns)
    elif isinstance(block, list):
        steps = columns if len(columns) == len(block) else range(len(block))
        for step, value in zip(steps, block, strict=True):
            yield from _leaves(value, (*path, str(step)), words)
    # 2. A number, or the place of one.
    elif block is None:
        yield path, None, words
    elif isinstance(block, int | float) and not isinstance(block, bool):
        if math.isnan(block):
            raise BadInput(f"{'.'.join(path)}: nan is no printed number; leave it empty")
        yield path, float(block), words


def _words_of(block: Mapping[Any, Any]) -> dict[str, str]:
    """The texts of a block by their keys; a list as one text."""
    words = {}
    for key, value in block.items():
        if isinstance(value, str):
            words[str(key)] = value
        elif isinstance(value, list):
            words[str(key)] = " ".join(map(str, value))
    return words


def ledger_markdown(lines: Sequence[Line]) -> str:
    """A Markdown table that counts printed numbers by paper and verdict."""
    return counts_markdown("printed", [(line.paper, line.verdict) for line in lines], VERDICTS)
