"""Results as records: one number with its interval and its test.

Tables, figures and claims pivot records by their fields.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from longform.documents import grouped
from longform.errors import ArtefactError, BadInput
from longform.files.artefacts import atomic_write, json_line, read_json

ANY = "*"  # in a filter: the field may have any value
ROUNDING = 1e-9  # share of a number by which a stored difference may be off
# Fields of strings by which records are looked up.
INDEXED = ("metric", "critic", "system", "task", "corpus")
WORTH_AN_INDEX = 50  # records; fewer are looked through
FEWEST_UNITS = 20  # below this many documents or items neither an interval nor a p-value is given
AGAIN = "run the stage that writes it again"
DIGITS = 12  # significant digits of a stored number: the last bits depend on the processor
SHARES = (
    "SPV",
    "SPV_pooled",
    "USPV",
    "accuracy",
    "area",
    "checker_accuracy",
    "checker_precision",
    "checker_recall",
    "class_accuracy",
    "coherent_share",
    "conflicts",
    "derivable_share",
    "followed_share",
    "named",
    "own_top_two",
    "pairwise_accuracy",
    "parse_rate",
    "pronouns",
    "title_accuracy",
    "true_SPV",
    "true_USPV",
)  # metrics between 0 and 1
BOUNDS = {
    **dict.fromkeys(SHARES, (0.0, 1.0)),
    "pairwise_accuracy_difference": (-1.0, 1.0),
    "length_correlation": (-1.0, 1.0),
}


def bounds_of(metric: str) -> tuple[float, float]:
    """The smallest and the largest possible value of a metric, which bound its interval."""
    return BOUNDS.get(metric, (-math.inf, math.inf))


@dataclass(frozen=True)
class Record:
    """One measured number."""

    # The folder of ``critics/`` or the module of ``evaluation/`` that gave it.
    critic: str
    # What is measured, in words that a table can show (``latent_ppl``, ``accuracy``).
    metric: str
    # The entry of ``corpora`` that the texts belong to.
    corpus: str = ""
    # ``data`` for real text, else the entry of ``models`` or the decoder that wrote the text.
    system: str = ""
    # Whether the system saw section titles; None where the question does not arise.
    titles: bool | None = None
    # A shuffle task, a suite, a decoder, a corruption; empty where there is only one.
    task: str = ""
    # Which of several readers, rules or heads; empty for the default one.
    variant: str = ""
    # Share of places that a corruption damaged.
    severity: float | None = None
    # Of training, where a system was trained more than once.
    seed: int | None = None
    # With its 95 % interval; None where it is nan.
    value: float | None = None
    low: float | None = None
    high: float | None = None
    # Documents (or items) scored, and set aside.
    units: int | None = None
    excluded: int | None = None
    # ``higher``, ``lower`` or ``reference_matched``.
    better: str = ""
    # Real text's own score under the same critic, and the permutation test against it. The
    # difference is value minus reference; leave it out and it is computed here.
    reference: float | None = None
    difference: float | None = None
    p_value: float | None = None
    paired: bool | None = None
    # The critic with its settings.
    signature: str = ""
    # What a figure or a page needs beside the number.
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compute the difference where it was left out.

        Raises:
            BadInput: it was passed and is not ``value - reference``.
        """
        if self.reference is None or self.value is None:
            return
        difference = self.value - self.reference
        if self.difference is None:
            object.__setattr__(self, "difference", difference)
            return
        size = max(1.0, abs(self.value), abs(self.reference))
        if abs(self.difference - difference) > ROUNDING * size:
            names = (self.critic, self.metric, self.corpus, self.system, self.task, self.variant)
            place = " ".join(" ".join(names).split())
            numbers = f"value {self.value:g}, reference {self.reference:g}, "
            numbers += f"difference {self.difference:g}"
            raise BadInput(f"record {place}: {numbers}; a difference is value minus reference")

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults, numbers to twelve significant digits."""
        blank = Record(critic="", metric="")
        fields_written = {}
        for name, value in asdict(self).items():
            if value != getattr(blank, name):
                fields_written[name] = rounded(value)
        return fields_written


NAMES = tuple(spec.name for spec in fields(Record))
NEEDED = tuple(
    spec.name
    for spec in fields(Record)
    if spec.default is MISSING and spec.default_factory is MISSING
)
IDENTIFYING = NAMES[: NAMES.index("value")]  # fields that say what was measured
NUMBERS = ("severity", "value", "low", "high", "reference", "difference", "p_value")
COUNTS = ("seed", "units", "excluded")
TRUTHS = ("titles", "paired")


class Results(tuple[Record, ...]):
    """Records in the order in which they were written."""

    def where(self, **values_by_field: Any) -> "Results":
        """Records whose fields have the given values: ``where(metric="ppl", task=["a", "b"])``.

        A list accepts any of its values, a string with ``*`` whatever fits the pattern, and ``"*"``
        alone any value.

        Raises:
            BadInput: records have no such field.
        """
        if unknown := sorted(values_by_field.keys() - set(NAMES)):
            raise BadInput(f"records have no field {unknown[0]!r}; allowed are {list(NAMES)}")
        tests = []
        for name in NAMES:
            if name in values_by_field and values_by_field[name] != ANY:
                tests.append((name, _test(values_by_field[name])))
        matching = []
        for record in self._candidates(values_by_field):
            if all(agrees(getattr(record, name)) for name, agrees in tests):
                matching.append(record)
        return Results(matching)

    def _candidates(self, values_by_field: Mapping[str, Any]) -> "Sequence[Record]":
        """Few records among which all that :meth:`where` returns are.

        For each indexed field they are listed by value; this is the shortest list that applies.
        """
        if len(self) < WORTH_AN_INDEX:
            return self
        shortest: Sequence[Record] = self
        for name in INDEXED:
            value = values_by_field.get(name)
            if isinstance(value, str) and ANY not in value:
                having_value = self._index[name].get(value, ())
                if len(having_value) < len(shortest):
                    shortest = having_value
        return shortest

    @cached_property
    def _index(self) -> Mapping[str, Mapping[str, Sequence[Record]]]:
        """Field -> value -> records. A report looks up a few of many records thousands of times."""
        return {name: grouped(self, attrgetter(name)) for name in INDEXED}

    def find(self, **values_by_field: Any) -> Record | None:
        """The only record that :meth:`where` returns, or None.

        Raises BadInput: there are several.
        """
        matching = self.where(**values_by_field)
        if len(matching) > 1:
            differing = {}
            for name in IDENTIFYING:
                values = sorted({str(getattr(record, name)) for record in matching})
                if len(values) > 1:
                    differing[name] = values
            raise BadInput(
                f"{len(matching)} records have {values_by_field}; name one of {differing} too"
            )
        return matching[0] if matching else None

    def one(self, **values_by_field: Any) -> Record:
        """The only record that :meth:`where` returns.

        Raises BadInput: there is none, or several.
        """
        record = self.find(**values_by_field)
        if record is None:
            raise BadInput(f"no record has {values_by_field}; run the stage that measures it")
        return record

    def values(self, name: str) -> list[Any]:
        """The different values of one field, in order of appearance."""
        return list(dict.fromkeys(getattr(record, name) for record in self))

    def groups(self, *names: str) -> "dict[tuple[Any, ...], Results]":
        """Records by the values of some fields, in order of appearance."""
        by_values = grouped(self, lambda record: tuple(getattr(record, name) for name in names))
        return {values: Results(records) for values, records in by_values.items()}


def _test(accepted: Any) -> Callable[[Any], bool]:
    """A function that says whether a field's value is accepted.

    Args:
        accepted: a value, a pattern with ``*``, or a list of either.
    """
    if isinstance(accepted, list | tuple):
        tests = [_test(single) for single in accepted]
        return lambda value: any(agrees(value) for agrees in tests)
    if isinstance(accepted, str) and ANY in accepted:
        return lambda value: isinstance(value, str) and fnmatchcase(value, accepted)
    is_bool = isinstance(accepted, bool)  # in Python True equals 1; here it does not
    return lambda value: value == accepted and isinstance(value, bool) == is_bool


def write_results(path: Path, records: Iterable[Record]) -> None:
    """Write records as a JSON list, a line each; the file is replaced whole or not at all."""
    lines = [json_line(record.to_json()) for record in records]
    with atomic_write(path) as partial:
        partial.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def read_results(*paths: Path | str) -> Results:
    """The records of files and of whole folders, in alphabetical order.

    Raises:
        BadInput: no such file, or no list of records.
    """
    records: list[Record] = []
    for path in map(Path, paths):
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        for file in files:
            records += _records_in(file)
    return Results(records)


def _records_in(path: Path) -> list[Record]:
    """The records of one file. Raises BadInput: no such file, or no list of records."""
    # 1. A list of objects with the fields of records, and no others.
    content = read_json(path)
    if not isinstance(content, list):
        raise BadInput(f"{path}: not a list of records; {AGAIN}")
    for entry in content:
        if not isinstance(entry, dict) or not entry.keys() <= set(NAMES):
            raise BadInput(f"{path}: not a list of records; {AGAIN}")
    # 2. Each with the fields that it needs, and with numbers where numbers belong.
    for entry in content:
        fault = fault_of(entry)
        if fault:
            raise ArtefactError(f"{path}: a record {fault}; {AGAIN}")
    # 3. Numbers that agree with each other.
    try:
        return [Record(**entry) for entry in content]
    except BadInput as error:
        raise ArtefactError(f"{path}: {error}; {AGAIN}") from error


def fault_of(entry: Mapping[str, Any]) -> str:
    """What is wrong with a stored record, in words; empty where nothing is.

    Args:
        entry: its fields, all of them fields of :class:`Record`.
    """
    # 1. Its fields, one by one.
    missing = [name for name in NEEDED if name not in entry]
    if missing:
        return f"lacks {missing}"
    wrong = [name for name, value in entry.items() if not _is_of_its_kind(name, value)]
    if wrong:
        return f"has values of another kind for {wrong}"
    # 2. Fields that limit each other.
    p_value, low, high = (entry.get(name) for name in ("p_value", "low", "high"))
    if p_value is not None and not 0 <= p_value <= 1:
        return f"has the p-value {p_value:g}"
    if low is not None and high is not None and low > high:
        return f"has an interval from {low:g} to {high:g}"
    return ""


def _is_of_its_kind(name: str, value: Any) -> bool:
    """Whether a value fits the type of a record's field; nan fits none."""
    kind: Any = str
    if name in (*NUMBERS, *COUNTS, *TRUTHS):
        if value is None:
            return True
        kind = bool if name in TRUTHS else int if name in COUNTS else int | float
    elif name == "details":
        kind = Mapping
    # In Python truths are whole numbers; here they are not.
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool) and value == value


def rounded(value: Any) -> Any:
    """Plain data with its floats rounded to twelve significant digits."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
