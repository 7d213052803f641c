"""What each of several language models says of the same documents: one readout, the system's name before the id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longform.critics.perplexity import read as token_readout
from longform.documents import Document, Readout
from longform.language_models.system_set import systems_of


def read(*, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str], batch: int = 16) -> Readout:
    """Arrays of :func:`longform.critics.perplexity.read.read`, system after system, with ids ``<system>/<document>``."""
    parts = [
        (
            system,
            token_readout.read(
                documents=documents, reader=reader / system, name=f"{name} {system}", titles=titles, splits=splits,
                batch=batch,
            ),
        )
        for system, titles in systems_of(reader, f"infer {name}").items()
    ]  # fmt: skip
    ids = tuple(f"{system}/{unit}" for system, part in parts for unit in part.unit_ids)
    arrays = {key: np.concatenate([part.arrays[key] for _, part in parts]) for key in parts[0][1].arrays}
    return Readout(ids, tuple(split for _, part in parts for split in part.splits), arrays)
