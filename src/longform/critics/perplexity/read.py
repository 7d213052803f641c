"""What a language model says of each document's tokens: log-probabilities in nats, document by document.

Two ways to cut texts that are longer than the model's window:

- by default each document is read as ``EOT body EOT`` by itself; a window after the first repeats half a window of
  context whose tokens are not counted again, so every token is scored once, with at least half a window of left context
  where there is that much;
- ``preset: paper`` (deng2022 Tables 2, 4 and 5, as its script evaluates): one stream of all documents in disjoint
  blocks of a window. The first token of a block and the last, partial block are not scored, and the tokens of a block
  see nothing of the block before, so their mean is the mean over blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM

from longform.core.documents import BadInput, Document, Readout
from longform.language_models.checkpoints import load_reader, load_tokenizer
from longform.language_models.log_probs import open_reader
from longform.language_models.token_rows import article_ids, document_rows


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    titles: bool,
    splits: Sequence[str],
    batch: int = 16,
    preset: str | None = None,
) -> Readout:
    """Log-probability of each scored token, ragged over tokens: float32 ``token_logprob``, ``token_logprob_lengths``.

    Args:
        batch: full windows that are read at a time.
        preset: "paper", or None for overlapping windows.

    Raises:
        BadInput: an unknown preset.
    """
    if preset not in (None, "paper"):
        raise BadInput(f"infer {name}: preset is {preset!r}, allowed are 'paper' and null; fix the row")
    tokenizer = load_tokenizer(reader)
    network = load_reader(reader, AutoModelForCausalLM)
    chosen = [document for document in documents if document.split in splits]
    if preset == "paper":
        articles = [article_ids(document, tokenizer, titles) for document in chosen]
        log_probs = score_stream(network, articles, batch, name)
    else:
        log_probs = score_rows(network, document_rows(chosen, tokenizer, titles, 10**9), batch, name)
    arrays = {
        "token_logprob": np.concatenate([np.zeros(0, dtype=np.float32), *log_probs]),
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
    """Float32 log-probabilities of each row's tokens from the second on, by :func:`windows`."""
    size = network.config.max_position_embeddings
    cuts = [windows(len(row), size) for row in rows]
    pieces = [tuple(row[start:stop]) for row, places in zip(rows, cuts, strict=True) for start, stop, _ in places]
    scored = iter(open_reader(network, batch * size, share=False, label=f"infer {name}").read(pieces))
    return [np.concatenate([next(scored)[first - start - 1 :] for start, _, first in places]) for places in cuts]


def score_stream(network: Any, articles: Sequence[list[int]], batch: int, name: str) -> list[np.ndarray]:
    """Float32 log-probabilities of each article's tokens, in disjoint blocks of the stream of all; unscored ones left out."""
    size = network.config.max_position_embeddings
    stream = [token for ids in articles for token in ids]
    blocks = [tuple(stream[start : start + size]) for start in range(0, len(stream) - size + 1, size)]
    values, scored = np.zeros(len(stream), dtype=np.float32), np.zeros(len(stream), dtype=bool)
    for block, log_probs in enumerate(
        open_reader(network, batch * size, share=False, label=f"infer {name}").read(blocks)
    ):
        places = slice(block * size + 1, (block + 1) * size)
        values[places], scored[places] = log_probs, True
    ends = np.cumsum([len(ids) for ids in articles])[:-1]
    return [part[counted] for part, counted in zip(np.split(values, ends), np.split(scored, ends), strict=True)]
