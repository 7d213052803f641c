"""Where a person's texts may lie beside a folder and a ``.jsonl`` file.

- ``stories.csv:story``, ``stories.tsv:story``, ``stories.parquet:story``: a text a row, of one
  column; without a column that of the name ``text``. A column ``id`` names the texts.
- ``-``: JSON lines on standard input.
- ``hub:OWNER/NAME@COMMIT:PATH``: a file of a data set on the Hugging Face hub, at a pinned commit;
  what follows the path is a column, as above. ``HF_HUB_OFFLINE`` is respected.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longform import extras
from longform.errors import ConfigError, InputError, did_you_mean
from longform.files.opening import columns_of, numbered_rows, text_lines

STANDARD_INPUT = "-"
DELIMITERS = {".csv": ",", ".tsv": "\t"}
# Tried where the usual delimiter gives no column: spreadsheets write semicolons into a ``.csv``.
OTHER_DELIMITERS = (";", "\t", "|", ",")
TABLES = (*DELIMITERS, ".parquet")
TEXT, ID = "text", "id"  # columns
_HUB = re.compile(r"hub:(?P<name>[^@:]+/[^@:]+)@(?P<commit>[^:]+):(?P<path>.+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# Where it stands in its file, "LINE" or "row NUMBER"; its ``text``, and ``id`` if it has one.
Row = tuple[str, dict[str, Any]]


def split_column(source: str) -> tuple[Path, str | None]:
    """Split ``stories.csv:story`` into path and column; a source without a column has None."""
    for suffix in TABLES:
        head, separator, column = source.rpartition(f"{suffix}:")
        if separator and column:
            return Path(head + suffix), column
    return Path(source), None


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return path.suffix.lower() in TABLES


def table_rows(path: Path, column: str | None) -> Iterator[Row]:
    """The texts of one column of a table, with their ids where it has such a column.

    Raises:
        InputError: no such column, or the file cannot be read as a table.
        BadInput: a ``.parquet`` file, and pyarrow is not installed.
    """
    text_column = column or TEXT
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        yield from _parquet_rows(path, text_column)
        return
    delimiter = delimiter_of(path, (text_column,))
    # No column is demanded by numbered_rows: _check_column names the columns that are there. Its
    # ``where`` is "PATH:LINE", of which callers want the line.
    for number, (where, row) in enumerate(numbered_rows(path, (), delimiter)):
        if number == 0:
            _check_column(path, text_column, list(row))
        yield where.removeprefix(str(path)).lstrip(":"), _id_and_text(row, text_column)


def delimiter_of(path: Path, columns: Sequence[str]) -> str:
    """The sign between a table's fields: by its name, or else one that gives it a column.

    Args:
        path: a ``.csv`` or ``.tsv`` file.
        columns: names, one of which its header should have.
    """
    usual = DELIMITERS[path.suffix.lower()]
    header = next((line for line in text_lines(path) if line.strip()), "")
    for delimiter in (usual, *OTHER_DELIMITERS):
        if not set(columns).isdisjoint(columns_of(header, delimiter)):
            return delimiter
    return usual


def _parquet_rows(path: Path, column: str) -> Iterator[Row]:
    """The rows of a ``.parquet`` file, read batch by batch."""
    # BadInput where pyarrow, of the extra ``longform[parquet]``, is not installed.
    extras.check("parquet", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        names = file.schema_arrow.names
        _check_column(path, column, names)
        columns = [name for name in (ID, column) if name in names]
        number = 0
        for batch in file.iter_batches(columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", _id_and_text(row, column)
    except pyarrow.ArrowException as error:
        raise InputError(
            f"{path}: cannot be read as a .parquet file ({error}); write it again"
        ) from error


def _check_column(path: Path, column: str, names: list[str]) -> None:
    """Check that a table has a column. Raises InputError: it has not."""
    if column not in names:
        close = did_you_mean(column, names)
        raise InputError(
            f"{path}: has no column {column!r}{close}, its columns are {names}; "
            f"name one: {path.name}:COLUMN"
        )


def _id_and_text(row: dict[str, Any], column: str) -> dict[str, Any]:
    """The text of a row and its id, if it has one."""
    record = {TEXT: row[column]}
    if row.get(ID) not in (None, ""):
        record[ID] = str(row[ID])
    return record


def standard_input() -> Iterator[tuple[int, bytes]]:
    """Lines of standard input with their line ends, each with its offset in bytes for errors."""
    offset = 0
    for line in sys.stdin.buffer:
        yield offset, line
        offset += len(line)


def from_hub(source: str) -> str | None:
    """The local path (with its column) of a file of a hub's data set.

    Args:
        source: what a person named; None is returned where it names no hub.

    Raises:
        BadInput: huggingface_hub is not installed.
        ConfigError: no full commit is named, or the file cannot be had.
    """
    if not source.startswith("hub:"):
        return None
    match = _HUB.fullmatch(source)
    if match is None or not _COMMIT.fullmatch(match["commit"]):
        raise ConfigError(
            f"{source}: allowed is hub:OWNER/NAME@COMMIT:PATH with a commit of 40 digits, "
            "so that the texts stay the same"
        )
    extras.check("models", "huggingface_hub")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    path, column = split_column(match["path"])
    try:
        local = hf_hub_download(
            match["name"], path.as_posix(), repo_type="dataset", revision=match["commit"]
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ConfigError(
            f"{source}: cannot be had ({type(error).__name__}); "
            "check name, commit and path, or download it and give the file"
        ) from error
    return f"{local}:{column}" if column else local
