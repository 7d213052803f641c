"""JSON lines: records of other people's files, and texts in this package's own form (an id, a split and sections)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput, Corpus


def build(*, raw: Path) -> Corpus:
    """The documents of a file, or of ``documents.jsonl`` in a folder, as they stand.

    Raises:
        BadInput: no such file, no document, or a line that is none.
    """
    return Corpus(read_documents(raw / "documents.jsonl" if raw.is_dir() else raw))


def records(path: Path, needed: Iterable[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """``file:line`` and the object of every line of a file, packed (``.gz``) or plain, in UTF-8.

    Raises:
        BadInput: a line that is no JSON object, or one without a needed field.
    """
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path}:{number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{where}: not JSON ({error}); fix or drop the line") from error
            if not isinstance(record, dict):
                raise BadInput(f"{where}: got {line[:40]!r}, allowed is a JSON object; fix or drop the line")
            if missing := sorted({*needed} - record.keys()):
                raise BadInput(f"{where}: lacks {missing}, got {sorted(record)}; add what is missing")
            yield where, record
