"""Raw files or a seeded world -> ``data/corpora/<row>/``."""

from __future__ import annotations

from longform.artefacts import write_corpus
from longform.stages.rows import Row, call


def run(row: Row) -> None:
    """Call ``corpora.<code>.build`` and write the corpus whole."""
    build = row.module("corpora").build
    corpus = call(build, row, row.others("raw"), name=row.name, seed=row.seed, raw=row.slot("raw"))
    count = write_corpus(row.data / "corpora" / row.name, corpus)
    print(f"prepare {row.name}: {count} documents")
