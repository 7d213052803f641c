"""What the study's commands read and write: corpora, sheets, outputs; whatever fails says which file, and which line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput, Document


def documents(folder: Path) -> list[Document]:
    """Documents of a corpus or of a system's folder, or of a file of them.

    Raises BadInput: no such file, or a line that is no document.
    """
    path = folder / "documents.jsonl" if folder.is_dir() else folder
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name a folder of data/corpora or data/generations")
    return read_documents(path)


def sheet(path: Path) -> list[dict[str, Any]]:
    """Rows of a sheet, CSV (by commas, semicolons or tabs, as its first line has them) or JSON lines.

    Raises BadInput: no such file, or a line that is not UTF-8 or no row.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name a .jsonl or .csv sheet")
    held = path.read_bytes()
    try:
        text = held.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}:{number}: not UTF-8 ({error.reason}); save the sheet as UTF-8") from error
    return _table(path, text) if path.suffix == ".csv" else _lines(path, text)


def _table(path: Path, text: str) -> list[dict[str, Any]]:
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)  # spreadsheets of many countries write semicolons
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return list(rows)
    except csv.Error as error:
        raise BadInput(f"{path}:{rows.reader.line_num}: no row of a table ({error}); fix it") from error


def _lines(path: Path, text: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path}:{number}: not JSON ({error}); fix or drop the line") from error
        if not isinstance(row, dict):
            raise BadInput(f"{path}:{number}: got {type(row).__name__}, a row is a JSON object; fix or drop the line")
        rows.append(row)
    return rows


def write(path: Path, text: str) -> None:
    """Write UTF-8, parent folders too; nothing is touched where the text cannot be encoded.

    Raises BadInput: the place cannot be written, or the text has half a surrogate pair.
    """
    try:
        held = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(f"{path}: half a surrogate pair in what is written, which is no text; fix its source") from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(held)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror}); name another --out") from error
