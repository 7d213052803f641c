"""The planted world's own sentence paths: bridges in topic space, as the critic would see them with a perfect encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from longform.core.documents import BadInput, Document, Readout


def read(
    *, documents: Sequence[Document], truth: Mapping[str, np.ndarray], splits: Sequence[str] | None = None
) -> Readout:
    """Ragged ``latents``, ``text_ids`` and ``token_counts`` (one a sentence) from ``bridge_path`` of the truth.

    Raises:
        BadInput: the corpus was not planted.
    """
    if "bridge_path" not in truth:
        raise BadInput("gold bridge paths: the corpus has no 'bridge_path' in its truth; use a planted corpus")
    ends = np.cumsum(truth["bridge_path_lengths"])
    rows = zip(documents, np.split(truth["bridge_path"], ends[:-1]), strict=True)
    kept = [(document, path) for document, path in rows if splits is None or document.split in splits]
    lengths = np.array([len(path) for _, path in kept], dtype=np.int64)
    arrays = {
        "latents": np.concatenate([path for _, path in kept]),
        "text_ids": np.concatenate([np.arange(n) for n in lengths]),
        "token_counts": np.ones(lengths.sum(), dtype=np.int64),
    }
    arrays |= {f"{name}_lengths": lengths for name in tuple(arrays)}
    return Readout(tuple(d.id for d, _ in kept), tuple(d.split for d, _ in kept), arrays)
