"""Finished drafts on disk, one line each: what a killed run has done, and what several processes have done together.

Each process appends to its own file and whoever goes on reads them all, so the number of processes may change between
a kill and its continuation. A line is ``{"index", "attempt", "cut", "tokens", "sections"}``; sections are null where the
text was malformed and is drawn again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longform.documents import Corpus, Document, Section


@dataclass
class Draft:
    """A text in the making.

    Attributes:
        index, attempt: which document, and how often it was malformed before.
        key: names its noise.
        ids: token ids, the prefix first.
    """

    index: int
    attempt: int
    key: int
    ids: list[int] = field(default_factory=list)


def read(scratch: Path) -> dict[int, dict[str, Any]]:
    """The latest attempt at each document, from all files; a line on which a run was killed is drawn again."""
    latest: dict[int, dict[str, Any]] = {}
    for path in sorted(scratch.glob("drafts-*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record["attempt"] >= latest.get(record["index"], {"attempt": -1})["attempt"]:
                latest[record["index"]] = record
    return latest


def append(scratch: Path, rank: int, records: Sequence[Mapping[str, Any]]) -> None:
    """Add finished drafts to this process's file, on a fresh line even after a torn one."""
    with (scratch / f"drafts-{rank}.jsonl").open("ab+") as file:
        torn = file.tell() and (file.seek(-1, 2), file.read(1))[1] != b"\n"
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        file.write((b"\n" if torn else b"") + lines.encode())


def pending(done: Mapping[int, Mapping[str, Any]], documents: int, redraws: int) -> list[tuple[int, int]]:
    """(index, attempt) of every document without a well-formed text that may still be drawn."""
    attempts = {i: 0 if i not in done else done[i]["attempt"] + 1 for i in range(documents)}
    return [(i, n) for i, n in attempts.items() if n <= redraws and (i not in done or done[i]["sections"] is None)]


def corpus(done: Mapping[int, Mapping[str, Any]], documents: int, name: str) -> Corpus:
    """Documents in the order of their indices; facts count documents, redraws, cut and failed ones, and tokens."""
    rows = [done[index] for index in range(documents)]
    kept = [row for row in rows if row["sections"]]
    facts = {
        "documents": len(kept),
        "failed": len(rows) - len(kept),
        "redraws": sum(row["attempt"] for row in rows),
        "cut": sum(row["cut"] for row in kept),
        "tokens": sum(row["tokens"] for row in kept),
    }
    return Corpus([_document(row, name) for row in kept], {}, facts)


def _document(row: Mapping[str, Any], name: str) -> Document:
    return Document(f"{name}-{row['index']}", "generated", tuple(Section(t, x) for t, x in row["sections"]))
