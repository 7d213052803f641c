"""A checkpoint and prefixes -> ``data/generations/<row>/``, in the corpora's own schema."""

from __future__ import annotations

from longform.artefacts import read_documents, write_corpus
from longform.pipeline.rows import Row, call
from longform.pipeline.scratch import first_process, resumable


def run(row: Row) -> None:
    """Call ``generations.<code>.generate``; each document depends on (model, seed, row name, index) alone."""
    prefixes = read_documents(row.slot("prefixes") / "documents.jsonl")
    with resumable(row, row.slot("model"), row.slot("prefixes")) as scratch:
        given = {"name": row.name, "seed": row.seed, "model": row.slot("model"), "scratch": scratch}
        generate = row.function("generate")
        corpus = call(generate, row, row.others("model", "prefixes"), prefixes=prefixes, **given)
        if not first_process(row):
            return
        count = write_corpus(row.data / "generations" / row.name, corpus)
    print(f"generate {row.name}: {count} documents")
