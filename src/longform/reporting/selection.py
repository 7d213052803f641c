"""Which records a claim or a printed number is about: filters as ``expected.yaml`` writes them, and the corpora's own facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_json
from longform.core.documents import BadInput
from longform.core.results import NAMES, Record, Results

DEFAULTS: Mapping[str, Any] = {"variant": "", "task": "", "severity": None}  # of fields that a filter does not name
ANY = "*"


def select(results: Iterable[Record], filters: Mapping[str, Any]) -> Results:
    """Records that agree with a filter.

    Args:
        filters: field -> the wanted value, a list of values, or a pattern with ``*``. A filter that does not name
            ``variant``, ``task`` or ``severity`` wants the default reader, no task and undamaged text.

    Raises:
        BadInput: no such field.
    """
    unknown = sorted(filters.keys() - set(NAMES))
    if unknown:
        raise BadInput(f"records have no field {unknown[0]!r}; allowed are {list(NAMES)}")
    wanted = {**DEFAULTS, **filters}
    tests = [(name, _test(wanted[name])) for name in NAMES if name in wanted and wanted[name] != ANY]
    return Results(r for r in results if all(agrees(getattr(r, name)) for name, agrees in tests))


def _test(wanted: Any) -> Callable[[Any], bool]:
    if isinstance(wanted, list | tuple):
        tests = [_test(single) for single in wanted]
        return lambda value: any(agrees(value) for agrees in tests)
    if isinstance(wanted, str) and ANY in wanted:
        return lambda value: isinstance(value, str) and fnmatchcase(value, wanted)
    truth = isinstance(wanted, bool)  # True is no 1
    return lambda value: value == wanted and isinstance(value, bool) == truth


class Facts:
    """What a corpus says of itself, ``data/corpora/<study>/<corpus>/facts.json``, read once; nothing where it has no such file."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._read: dict[str, Mapping[str, Any]] = {}

    def of(self, corpus: str) -> Mapping[str, Any]:
        """All facts of a corpus."""
        if corpus not in self._read:
            folder = folder_of(self._data / "corpora", corpus)
            path = folder / "facts.json" if folder else None
            self._read[corpus] = read_json(path) if path and path.is_file() else {}
        return self._read[corpus]

    def number(self, corpus: str, name: str) -> float | None:
        """One fact, its name with dots where facts are nested; None where the corpus has no such number."""
        held: Any = self.of(corpus)
        for step in name.split("."):
            held = held.get(step) if isinstance(held, Mapping) else None
        return float(held) if isinstance(held, int | float) and not isinstance(held, bool) else None


def folder_of(kind: Path, name: str) -> Path | None:
    """A corpus' folder below ``data/corpora`` or ``data/generations``, in whichever study it is; None where there is none."""
    return next(iter(sorted(kind.glob(f"*/{name}"))), None)
