"""Finished work on disk, one JSON record a line: what a killed run goes on from.

A line is written when its work is done, so a kill tears at most the last one. A torn line is left out by the reader, and
its work is done again; the writer begins behind it on a line of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any


def append_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Add records to a file, which is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        torn = file.tell() and (file.seek(-1, 2), file.read(1))[1] != b"\n"
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        file.write((b"\n" if torn else b"") + lines.encode())


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file in order; none where there is no file."""
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue
