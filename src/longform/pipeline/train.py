"""Documents -> ``data/models/<row>/``."""

from __future__ import annotations

from longform.artefacts import read_documents, whole
from longform.pipeline.rows import Row, call
from longform.pipeline.scratch import first_process, resumable


def run(row: Row) -> None:
    """Call ``models.<code>.fit`` and save what it returns; checkpoints of a killed run are taken up again."""
    documents = read_documents(row.slot("texts") / "documents.jsonl")
    settings = row.others("texts", "base")
    with resumable(row, row.slot("texts"), row.slot("base")) as scratch:
        fit = row.function("fit")
        given = {"name": row.name, "seed": row.seed, "base": row.slot("base"), "scratch": scratch}
        model = call(fit, row, settings, documents=documents, **given)
        if not first_process(row):
            return
        with whole(row.data / "models" / row.name) as folder:
            folder.mkdir()
            model.save(folder)
