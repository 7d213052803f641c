"""Articles in files: one JSON object a line, or Parquet in row groups; written and read without holding a file in memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longform.documents import BadInput, Document, Section

ROW_GROUP = 500  # articles per Parquet row group, and per batch read


@contextmanager
def _jsonl_writer(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    with path.open("w", encoding="utf-8", errors="replace") as lines:
        yield lambda record: print(json.dumps(record, sort_keys=True, ensure_ascii=False), file=lines)


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Row groups of 500 articles, so that a shard never lies in memory whole."""
    import pyarrow
    from pyarrow import parquet

    section = pyarrow.struct([("title", pyarrow.string()), ("text", pyarrow.string())])
    schema = pyarrow.schema(
        [("id", pyarrow.string()), ("title", pyarrow.string()), ("sections", pyarrow.list_(section))]
    )
    rows: list[dict[str, Any]] = []
    with parquet.ParquetWriter(path, schema, compression="zstd") as table:

        def write(record: dict[str, Any]) -> None:
            rows.append(record)
            if len(rows) == ROW_GROUP:
                flush()

        def flush() -> None:
            table.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            rows.clear()

        yield write
        flush()


WRITERS: Mapping[str, Callable[[Path], Any]] = {"jsonl": _jsonl_writer, "parquet": _parquet_writer}


class Shards:
    """The articles of a folder of shards, in plan order; can be iterated any number of times.

    Raises:
        BadInput: the folder has no shards, or one of them lacks its record (an unfinished run).
    """

    def __init__(self, folder: Path) -> None:
        self.files = sorted(path for form in WRITERS for path in folder.glob(f"shard-*.{form}"))
        unfinished = [path.name for path in self.files if not path.with_suffix(".json").is_file()]
        if not self.files or unfinished:
            what = f"unfinished {unfinished[:3]}" if unfinished else "no shard-*.jsonl or shard-*.parquet"
            raise BadInput(f"{folder}: {what}; run the extraction again, it redoes only what is missing")

    def __iter__(self) -> Iterator[Document]:
        for path in self.files:
            for record in _parquet_records(path) if path.suffix == ".parquet" else _jsonl_records(path):
                sections = tuple(Section(section["title"], section["text"]) for section in record["sections"])
                yield Document(record["id"], "train", sections)

    @property
    def counts(self) -> Counter[str]:
        """Pages by outcome over all shards."""
        records = (json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) for path in self.files)
        return sum((Counter(record["counts"]) for record in records), Counter())


def _jsonl_records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def _parquet_records(path: Path) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    for batch in parquet.ParquetFile(path).iter_batches(batch_size=ROW_GROUP):
        yield from batch.to_pylist()
