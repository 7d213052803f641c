"""What a language model says of each document's tokens: log-probabilities in nats, document by document.

Each document is read as ``EOT body EOT`` in windows of the model's length; a window after the first repeats half a
window of context whose tokens are not counted again, so every token is scored once, with at least half a window of
left context where there is that much.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from longform.models.causal_lm import document_rows
from longform.models.checkpoints import load_model, load_tokenizer
from longform.units import Document, Readout


def read(
    *, documents: Sequence[Document], reader: Path, name: str, titles: bool, splits: Sequence[str], batch: int = 16
) -> Readout:
    """Log-probability of each token after the first EOT (the closing EOT included), ragged over tokens.

    Arrays: ``token_logprob`` float32 flat with ``token_logprob_lengths``; ``count_end`` bool per unit.
    """
    tokenizer = load_tokenizer(reader)
    network = load_model(reader, AutoModelForCausalLM).eval()
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


@torch.no_grad()
def score_rows(network: torch.nn.Module, rows: Sequence[list[int]], batch: int, name: str) -> list[np.ndarray]:
    """Float32 log-probabilities of each row's tokens from the second on; windows are batched by length."""
    size = network.config.max_position_embeddings
    pieces = [(unit, *cut) for unit, row in enumerate(rows) for cut in windows(len(row), size)]
    pieces.sort(key=lambda piece: (piece[2] - piece[1], piece[0], piece[1]))
    found: dict[tuple[int, int], np.ndarray] = {}
    reported = time.monotonic()
    for start in range(0, len(pieces), batch):
        for key, values in _score_batch(network, rows, pieces[start : start + batch]):
            found[key] = values
        if time.monotonic() - reported > 10:
            reported = time.monotonic()
            print(f"infer {name}: {start}/{len(pieces)} windows", flush=True)
    return [
        np.concatenate([found[unit, first] for _, _, first in windows(len(row), size)]) for unit, row in enumerate(rows)
    ]


def _score_batch(network, rows, pieces):
    width = max(stop - start for _, start, stop, _ in pieces)
    ids = torch.zeros((len(pieces), width), dtype=torch.long)
    for place, (unit, start, stop, _) in enumerate(pieces):
        ids[place, : stop - start] = torch.tensor(rows[unit][start:stop])
    log_probs = (
        network(input_ids=ids).logits[:, :-1].float().log_softmax(-1)
    )  # padding is on the right: causal, so unseen
    chosen = log_probs.gather(-1, ids[:, 1:, None])[..., 0].numpy()
    for place, (unit, start, stop, first) in enumerate(pieces):
        yield (unit, first), chosen[place, first - start - 1 : stop - start - 1]
