"""Results as records: one number with its interval, its test, and the fields by which tables, figures and claims pivot it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_json, write_json
from longform.core.documents import BadInput

ANY = "*"  # what a filter wants of a field that may have any value
DIGITS = 12  # significant digits of a stored number: the last bits depend on the processor


@dataclass(frozen=True)
class Record:
    """One measured number.

    Attributes:
        critic: the folder of ``critics/`` or the module of ``evaluation/`` that gave it.
        metric: what is measured, in words that a table can show (``latent_ppl``, ``accuracy``).
        corpus: the entry of ``corpora`` that the texts belong to.
        system: ``data`` for real text, else the entry of ``models`` or the decoder that wrote the text.
        titles: whether the system saw section titles; None where the question does not arise.
        task: a shuffle task, a suite, a decoder, a corruption; empty where there is only one.
        variant: which of several readers, rules or heads; empty for the default one.
        severity: share of places that a corruption damaged.
        seed: of training, where a system was trained more than once.
        value, low, high: the number and its 95 % interval, None where it is not finite.
        units, excluded: documents (or items) scored and set aside.
        better: ``higher``, ``lower`` or ``nearer_real``.
        reference: real text's own score under the same critic.
        difference, p_value, paired: permutation test against ``reference``.
        signature: the critic with its settings.
        details: what a figure or a page needs beside the number.
    """

    critic: str
    metric: str
    corpus: str = ""
    system: str = ""
    titles: bool | None = None
    task: str = ""
    variant: str = ""
    severity: float | None = None
    seed: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    units: int | None = None
    excluded: int | None = None
    better: str = ""
    reference: float | None = None
    difference: float | None = None
    p_value: float | None = None
    paired: bool | None = None
    signature: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults, numbers to twelve significant digits."""
        blank = Record("", "")
        return {key: rounded(value) for key, value in asdict(self).items() if value != getattr(blank, key)}


NAMES = tuple(one.name for one in fields(Record))


class Results(Sequence[Record]):
    """Records in the order in which they were written."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = tuple(records)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __getitem__(self, index: Any) -> Any:
        return self._records[index]

    def where(self, **wanted: Any) -> "Results":
        """Records that have the wanted values, any of a list, or fit a pattern with ``*``. Raises BadInput: no such field."""
        unknown = sorted(wanted.keys() - set(NAMES))
        if unknown:
            raise BadInput(f"records have no field {unknown[0]!r}; allowed are {list(NAMES)}")
        tests = [(name, _test(wanted[name])) for name in NAMES if name in wanted and wanted[name] != ANY]
        return Results(r for r in self if all(agrees(getattr(r, name)) for name, agrees in tests))

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
        found: dict[tuple[Any, ...], list[Record]] = {}
        for record in self:
            found.setdefault(tuple(getattr(record, name) for name in names), []).append(record)
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
    """A JSON list, one object a record, written whole or not at all."""
    write_json(path, [record.to_json() for record in records])


def read_results(*paths: Path) -> Results:
    """The records of files and of whole folders in alphabetical order. Raises BadInput: no such file, or no list of records."""
    files = [file for path in paths for file in (sorted(path.rglob("*.json")) if path.is_dir() else [path])]
    return Results(record for file in files for record in _records(file))


def _records(path: Path) -> Iterator[Record]:
    found = read_json(path)
    if not isinstance(found, list) or not all(isinstance(one, dict) and one.keys() <= set(NAMES) for one in found):
        raise BadInput(f"{path}: not a list of records; run the stage that writes it again")
    for one in found:
        try:
            yield Record(**one)
        except TypeError as error:
            raise BadInput(f"{path}: {error}; run the stage that writes it again") from error


def rounded(value: Any) -> Any:
    """Floats to twelve significant digits."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def with_fields(records: Iterable[Record], **changed: Any) -> list[Record]:
    """The same records with some fields set."""
    return [replace(record, **changed) for record in records]
