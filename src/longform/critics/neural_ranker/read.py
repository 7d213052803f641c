"""What a coherence ranker thinks of a text: one score, higher is more coherent. Shuffles are documents of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from longform.core.documents import Document, Readout
from longform.critics.neural_ranker.train import document_features, open_ranker


@torch.no_grad()
def read(*, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str]) -> Readout:
    """``text_score`` float64 (units,): nan for a text of fewer than two sentences."""
    ranker = open_ranker(reader)
    chosen = [document for document in documents if document.split in splits]
    features = document_features(chosen, ranker.frozen.encoder, ranker.splitter, f"infer {name}")
    scores = [
        ranker.network(torch.from_numpy(rows[None])).double().item() if len(rows) > 1 else np.nan
        for rows in features.rows
    ]
    return Readout(
        tuple(d.id for d in chosen), tuple(d.split for d in chosen), {"text_score": np.array(scores, dtype=np.float64)}
    )
