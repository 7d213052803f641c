"""Any text and a reader -> ``data/inference/<row>.npz``."""

from __future__ import annotations

from longform.artefacts import read_arrays, read_corpus, write_readout
from longform.documents import SPLITS, BadInput
from longform.pipeline.rows import Row, call


def run(row: Row) -> None:
    """Call ``inference.<code>.read`` on the corpus or generations that ``texts`` names."""
    texts = read_corpus(row.slot("texts"))
    read = row.function("read")
    splits = row.settings.get("splits", list(SPLITS))
    if not isinstance(splits, list) or not splits or not set(splits) <= set(SPLITS):
        raise BadInput(f"row infer.{row.name}: splits is {splits!r}, allowed is a list out of {list(SPLITS)}")
    truth = row.slot("reader") / "truth.npz"
    given = {"truth": texts.truth, "reader": row.slot("reader"), "seed": row.seed, "name": row.name}
    given["reader_truth"] = read_arrays(truth) if truth.is_file() else {}
    readout = call(read, row, row.others("texts", "reader"), documents=list(texts.documents), **given)
    if not readout.unit_ids:
        raise BadInput(
            f"row infer.{row.name}: zero units of splits {splits} in {row.slot('texts')}; mend splits or texts"
        )
    write_readout(row.data / "inference" / f"{row.name}.npz", readout)
    print(f"infer {row.name}: {len(readout.unit_ids)} units")
