"""Readers of other people's files: whatever a malformed file makes a parser trip over becomes one sentence."""

import csv
import functools
import gzip
import inspect
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import ParseError

from longform.core.documents import BadInput

# ValueError: JSON, numbers and UTF-8; LookupError: fields that are not there; OSError: absent, or no gzip
TRIPPED = (
    ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, OSError, EOFError,
    csv.Error, zlib.error, lzma.LZMAError, ParseError,
)  # fmt: skip

Reader = TypeVar("Reader", bound=Callable[..., Any])


def refusing(form: str) -> Callable[[Reader], Reader]:
    """Decorate a function or generator whose first argument is a path or record that should have the form.

    The reader's own checks say more and pass through; this catches what they did not foresee, with its cause.
    """

    def wrap(reader: Reader) -> Reader:
        def guarded(place: Any, *more: Any, **settings: Any) -> Any:
            with _refused(place, form):
                return reader(place, *more, **settings)

        def guarded_generator(place: Any, *more: Any, **settings: Any) -> Any:
            with _refused(place, form):
                yield from reader(place, *more, **settings)

        wrapper = guarded_generator if inspect.isgeneratorfunction(reader) else guarded
        return functools.wraps(reader)(wrapper)  # type: ignore[return-value]

    return wrap


@contextmanager
def _refused(place: Any, form: str) -> Iterator[None]:
    try:
        yield
    except BadInput:
        raise
    except TRIPPED as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        advice = "fetch or export it again, or fix the entry that names it"
        raise BadInput(f"{str(place)[:200]}: not {form} ({told}); {advice}") from error


def records(path: Path, needed: Iterable[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """``file:line`` and the object of every line of a file, packed (``.gz``) or plain, in UTF-8.

    Raises BadInput: a line that is no JSON object, or one without a needed field.
    """
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path}:{number}"
            try:
                record = json.loads(line.decode("utf-8-sig"))  # a spreadsheet writes a byte-order mark
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{where}: not JSON in UTF-8 ({error}); fix or drop the line") from error
            if not isinstance(record, dict):
                raise BadInput(f"{where}: got {record!r:.40}, allowed is a JSON object; fix or drop the line")
            if missing := sorted({*needed} - record.keys()):
                raise BadInput(f"{where}: lacks {missing}, got {sorted(record)}; add what is missing")
            yield where, record


@refusing("a CSV file in UTF-8 with a header")
def rows(path: Path, needed: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises BadInput: its header lacks a needed column."""
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if missing := [name for name in needed if name not in (reader.fieldnames or ())]:
            raise BadInput(f"{path}: header {reader.fieldnames} lacks {missing}; needed are {list(needed)}")
        return list(reader)
