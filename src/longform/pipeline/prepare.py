"""Raw files or a seeded world -> ``data/corpora/<row>/``."""

from __future__ import annotations

from longform.artefacts import write_corpus
from longform.pipeline.rows import Row, call
from longform.pipeline.scratch import resumable


def run(row: Row) -> None:
    """Call ``corpora.<code>.build`` and write the corpus whole; a reader that keeps shards takes them up after a kill."""
    build = row.function("build")
    with resumable(row, row.slot("raw")) as scratch:
        given = {"name": row.name, "seed": row.seed, "raw": row.slot("raw"), "scratch": scratch}
        corpus = call(build, row, row.others("raw"), **given)
        count = write_corpus(row.data / "corpora" / row.name, corpus)
    print(f"prepare {row.name}: {count} documents")
