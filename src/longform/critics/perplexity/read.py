"""What a language model says of each document's tokens: log-probabilities in nats, document by document.

Each document is read as ``EOT body EOT`` in windows of the model's length; a window after the first repeats half a
window of context whose tokens are not counted again, so every token is scored once, with at least half a window of
left context where there is that much.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM

from longform.documents import Document, Readout
from longform.language_models.checkpoints import load_model, load_tokenizer
from longform.language_models.token_rows import document_rows
from longform.language_models.token_scores.log_probs import open_reader


def read(
    *, documents: Sequence[Document], reader: Path, name: str, titles: bool, splits: Sequence[str], batch: int = 16
) -> Readout:
    """Log-probability of each token after the first EOT (the closing EOT included), ragged over tokens.

    Arrays: ``token_logprob`` float32 flat with ``token_logprob_lengths``; ``count_end`` bool per unit.
    """
    tokenizer = load_tokenizer(reader)
    network = load_model(reader, AutoModelForCausalLM)
    chosen = [document for document in documents if document.split in splits]
    rows = document_rows(chosen, tokenizer, titles, 10**9)
    log_probs = score_rows(network, rows, batch, name)
    arrays = {
        "token_logprob": np.concatenate(log_probs) if log_probs else np.zeros(0, dtype=np.float32),
        "token_logprob_lengths": np.array([len(row) for row in log_probs], dtype=np.int64),
    }
    return Readout(tuple(d.id for d in chosen), tuple(d.split for d in chosen), arrays)


def windows(length: int, size: int) -> list[tuple[int, int, int]]:
    """(start, stop, first scored position) so that positions 1..length-1 are scored exactly once.

    ``abcdefg``, size 4: ``abcd`` scores b c d, ``cdef`` scores e f, ``efg`` scores g.
    """
    if length <= size:
        return [(0, length, 1)]
    cuts, scored = [], 1
    while scored < length:
        start = 0 if scored == 1 else scored - size // 2
        stop = min(start + size, length)
        cuts.append((start, stop, scored))
        scored = stop
    return cuts


def score_rows(network: Any, rows: Sequence[list[int]], batch: int, name: str) -> list[np.ndarray]:
    """Float32 log-probabilities of each row's tokens from the second on; ``batch`` full windows are read at a time."""
    size = network.config.max_position_embeddings
    cuts = [windows(len(row), size) for row in rows]
    pieces = [tuple(row[start:stop]) for row, places in zip(rows, cuts, strict=True) for start, stop, _ in places]
    read_pieces = iter(open_reader(network, batch * size, share=False, label=f"infer {name}").read(pieces))
    return [np.concatenate([next(read_pieces)[first - start - 1 :] for start, _, first in places]) for places in cuts]
