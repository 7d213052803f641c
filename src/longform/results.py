"""Results as records: one number with its interval, its test, and the fields by which tables, figures and claims pivot it."""

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

ANY = "*"  # what a filter wants of a field that may have any value
ROUNDING = 1e-9  # share of a number by which a stored difference may be off
INDEXED = (
    "metric",
    "critic",
    "system",
    "task",
    "corpus",
)  # fields of strings by which records are looked up
WORTH_AN_INDEX = 50  # records; fewer are looked through
FEWEST_UNITS = 20  # below this many documents or items neither an interval nor a p-value is given
DIGITS = 12  # significant digits of a stored number: the last bits depend on the processor


@dataclass(frozen=True)
class Record:
    """One measured number."""

    critic: str  # the folder of ``critics/`` or the module of ``evaluation/`` that gave it
    metric: str  # what is measured, in words that a table can show (``latent_ppl``, ``accuracy``)
    corpus: str = ""  # the entry of ``corpora`` that the texts belong to
    system: str = ""  # ``data`` for real text, else the entry of ``models`` or the decoder that wrote the text
    titles: bool | None = (
        None  # whether the system saw section titles; None where the question does not arise
    )
    task: str = (
        ""  # a shuffle task, a suite, a decoder, a corruption; empty where there is only one
    )
    variant: str = ""  # which of several readers, rules or heads; empty for the default one
    severity: float | None = None  # share of places that a corruption damaged
    seed: int | None = None  # of training, where a system was trained more than once
    value: float | None = None  # with its 95 % interval; None where it is not finite
    low: float | None = None
    high: float | None = None
    units: int | None = None  # documents (or items) scored, and set aside
    excluded: int | None = None
    better: str = ""  # ``higher``, ``lower`` or ``reference_matched``
    reference: float | None = (
        None  # real text's own score under the same critic, and the permutation test against it
    )
    difference: float | None = None  # value minus reference; leave it out and it is computed here
    p_value: float | None = None
    paired: bool | None = None
    signature: str = ""  # the critic with its settings
    details: Mapping[str, Any] = field(
        default_factory=dict
    )  # what a figure or a page needs beside the number

    def __post_init__(self) -> None:
        """Fill the difference from this very record. Raises BadInput: it is given and is not ``value - reference``."""
        if self.reference is None or self.value is None:
            return
        difference = self.value - self.reference
        if self.difference is None:
            object.__setattr__(self, "difference", difference)
        elif abs(self.difference - difference) > ROUNDING * max(
            1.0, abs(self.value), abs(self.reference)
        ):
            place = f"{self.critic} {self.metric} {self.corpus} {self.system} {self.task} {self.variant}"
            numbers = f"value {self.value:g}, reference {self.reference:g}, difference {self.difference:g}"
            raise BadInput(
                f"record {' '.join(place.split())}: {numbers}; a difference is value minus reference"
            )

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults, numbers to twelve significant digits."""
        blank = Record("", "")
        return {
            key: rounded(value)
            for key, value in asdict(self).items()
            if value != getattr(blank, key)
        }


NAMES = tuple(one.name for one in fields(Record))
NEEDED = tuple(
    one.name for one in fields(Record) if one.default is MISSING and one.default_factory is MISSING
)
NUMBERS = ("severity", "value", "low", "high", "reference", "difference", "p_value")


class Results(tuple[Record, ...]):
    """Records in the order in which they were written."""

    def where(self, **wanted: Any) -> "Results":
        """Records that have the wanted values, any of a list, or fit a pattern with ``*``. Raises BadInput: no such field."""
        if unknown := sorted(wanted.keys() - set(NAMES)):
            raise BadInput(f"records have no field {unknown[0]!r}; allowed are {list(NAMES)}")
        tests = [
            (name, _test(wanted[name])) for name in NAMES if name in wanted and wanted[name] != ANY
        ]
        return Results(
            r
            for r in self._candidates(wanted)
            if all(agrees(getattr(r, name)) for name, agrees in tests)
        )

    def _candidates(self, wanted: Mapping[str, Any]) -> "Sequence[Record]":
        """Fewer records among which all wanted ones are: the shortest list of one indexed field's wanted value."""
        if len(self) < WORTH_AN_INDEX:
            return self
        shortest: Sequence[Record] = self
        for name in INDEXED:
            value = wanted.get(name)
            if isinstance(value, str) and ANY not in value:
                found = self._index[name].get(value, ())
                shortest = found if len(found) < len(shortest) else shortest
        return shortest

    @cached_property
    def _index(self) -> Mapping[str, Mapping[str, Sequence[Record]]]:
        """Records by the value of each indexed field: a ledger asks thousands of times for a few of many records."""
        return {name: grouped(self, attrgetter(name)) for name in INDEXED}

    def find(self, **wanted: Any) -> Record | None:
        """The only record with these fields, or None. Raises BadInput: there are several."""
        found = self.where(**wanted)
        if len(found) > 1:
            fields_ = {name: sorted({str(getattr(r, name)) for r in found}) for name in NAMES[:9]}
            differing = {name: values for name, values in fields_.items() if len(values) > 1}
            raise BadInput(f"{len(found)} records have {wanted}; name one of {differing} too")
        return found[0] if found else None

    def one(self, **wanted: Any) -> Record:
        """The only record with these fields. Raises BadInput: there is none, or there are several."""
        found = self.find(**wanted)
        if found is None:
            raise BadInput(f"no record has {wanted}; run the stage that measures it")
        return found

    def values(self, name: str) -> list[Any]:
        """The different values of one field, in order of appearance."""
        return list(dict.fromkeys(getattr(record, name) for record in self))

    def groups(self, *names: str) -> "dict[tuple[Any, ...], Results]":
        """Records by the values of some fields, in order of appearance."""
        found = grouped(self, lambda record: tuple(getattr(record, name) for name in names))
        return {key: Results(records) for key, records in found.items()}


def _test(wanted: Any) -> Callable[[Any], bool]:
    if isinstance(wanted, list | tuple):
        tests = [_test(single) for single in wanted]
        return lambda value: any(agrees(value) for agrees in tests)
    if isinstance(wanted, str) and ANY in wanted:
        return lambda value: isinstance(value, str) and fnmatchcase(value, wanted)
    truth = isinstance(wanted, bool)  # True is no 1
    return lambda value: value == wanted and isinstance(value, bool) == truth


def write_results(path: Path, records: Iterable[Record]) -> None:
    """A JSON list, one line a record, written whole or not at all."""
    lines = [json_line(record.to_json()) for record in records]
    with atomic_write(path) as partial:
        partial.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def read_results(*paths: Path | str) -> Results:
    """The records of files and of whole folders in alphabetical order. Raises BadInput: no such file, or no list of records."""
    records: list[Record] = []
    for path in (
        file
        for one in map(Path, paths)
        for file in (sorted(one.rglob("*.json")) if one.is_dir() else [one])
    ):
        found = read_json(path)
        if not isinstance(found, list) or not all(
            isinstance(one, dict) and one.keys() <= set(NAMES) for one in found
        ):
            raise BadInput(f"{path}: not a list of records; run the stage that writes it again")
        for one in found:
            if missing := [name for name in NEEDED if name not in one]:
                raise ArtefactError(
                    f"{path}: a record lacks {missing}; run the stage that writes it again"
                )
            if wrong := [
                name for name in NUMBERS if not isinstance(one.get(name), int | float | None)
            ]:
                raise ArtefactError(
                    f"{path}: {wrong} are no numbers in a record; run the stage that writes it again"
                )
        try:
            records += [Record(**one) for one in found]
        except BadInput as error:
            raise ArtefactError(f"{path}: {error}; run the stage that writes it again") from error
    return Results(records)


def rounded(value: Any) -> Any:
    """Floats to twelve significant digits."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
