"""Texts in this package's own form: one JSON object a line, with an id, a split and sections."""

from __future__ import annotations

from pathlib import Path

from longform.core.artefacts import read_documents
from longform.core.documents import Corpus


def build(*, raw: Path) -> Corpus:
    """The documents of a file, or of ``documents.jsonl`` in a folder, as they stand.

    Raises:
        BadInput: no such file, no document, or a line that is none.
    """
    return Corpus(read_documents(raw / "documents.jsonl" if raw.is_dir() else raw))
