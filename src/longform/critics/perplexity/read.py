"""What a language model says of each document's tokens: log-probabilities in nats, document by document."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM

from longform.core.documents import BadInput, Document, Readout, ragged
from longform.datasets.hsmm_language import language_from_truth
from longform.language_models.checkpoints import load_reader, load_tokenizer
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.log_probs import open_reader
from longform.language_models.tokenizers import article_ids, document_rows


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    titles: bool,
    splits: Sequence[str],
    batch: int = 16,
    preset: str | None = None,
    window: int | None = None,
) -> Readout:
    """Log-probability of each scored token, ragged over tokens: float32 ``token_logprob``, ``token_logprob_lengths``.

    Args:
        batch: full windows that are read at a time.
        preset: "paper", or None for overlapping windows.
        window: most tokens that the model sees; None for all its positions.

    Raises BadInput: an unknown preset, or a window that the model does not have.
    """
    if preset not in (None, "paper"):
        raise BadInput(f"infer {name}: preset is {preset!r}, allowed are 'paper' and null; fix the entry")
    tokenizer = load_tokenizer(reader)
    network = load_reader(reader, AutoModelForCausalLM)
    positions = network.config.max_position_embeddings
    size = positions if window is None else window
    if not 2 <= size <= positions:
        raise BadInput(f"infer {name}: window is {size!r}, allowed is 2 to {positions}; fix the entry")
    chosen = [document for document in documents if document.split in splits]
    if preset == "paper":
        articles = [article_ids(document, tokenizer, titles) for document in chosen]
        log_probs = score_stream(network, articles, batch, size, name)
    else:
        log_probs = score_rows(network, document_rows(chosen, tokenizer, titles, 10**9), batch, size, name)
    return Readout.of(chosen, ragged("token_logprob", log_probs, np.float32))


def windows(length: int, size: int) -> list[tuple[int, int, int]]:
    """(start, stop, first scored position) so that positions 1..length-1 are scored exactly once."""
    if length <= size:
        return [(0, length, 1)]
    cuts, scored = [], 1
    while scored < length:
        start = 0 if scored == 1 else scored - size // 2
        stop = min(start + size, length)
        cuts.append((start, stop, scored))
        scored = stop
    return cuts


def score_rows(network: Any, rows: Sequence[list[int]], batch: int, size: int, name: str) -> list[np.ndarray]:
    """Float32 log-probabilities of each row's tokens from the second on, by :func:`windows` of a size."""
    cuts = [windows(len(row), size) for row in rows]
    pieces = [tuple(row[start:stop]) for row, places in zip(rows, cuts, strict=True) for start, stop, _ in places]
    scored = iter(open_reader(network, batch * size, share=False, label=f"infer {name}").read(pieces))
    return [np.concatenate([next(scored)[first - start - 1 :] for start, _, first in places]) for places in cuts]


def score_stream(network: Any, articles: Sequence[list[int]], batch: int, size: int, name: str) -> list[np.ndarray]:
    """Float32 log-probabilities of each article's tokens, in disjoint blocks of the stream of all; unscored ones left out."""
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


def read_segments(*, documents: Sequence[Document], reader: Path, splits: Sequence[str]) -> Readout:
    """A text's log-likelihood (sum over segmentations and states) stands at its last token, zero before it."""
    chosen = [document for document in documents if document.split in splits]
    texts = [document.text.split() for document in chosen]
    totals = SemiMarkovLM.load(reader).log_likelihood(texts)
    rows = [[0.0] * (len(text) - 1) + [total] if text else [] for text, total in zip(texts, totals, strict=True)]
    return Readout.of(chosen, ragged("token_logprob", rows, np.float64))


def read_true(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader_truth: Mapping[str, np.ndarray],
    splits: Sequence[str],
) -> Readout:
    r"""Token log-probabilities in the layout of a language model's readout, without an end token.

    A subsequence is one draw: $\log A_{z_{m-1} z_m} + \log E_{z_m w_m}$ stands at its delimiter, zero at its
    letters, so sums over texts and token counts are exact.
    """
    if len(truth.get("emitted", ())) != len(documents):
        raise BadInput(
            f"true log-probs: {len(truth.get('emitted', ()))} rows of truth for {len(documents)} documents; read the corpus itself"
        )
    language = language_from_truth(dict(reader_truth))
    lengths = np.array([len(text.split()) for text in language.subsequences])
    rows = [row for row, document in enumerate(documents) if document.split in splits]
    values = [_log_probs(language, truth["states"][row], truth["emitted"][row], lengths) for row in rows]
    return Readout.of([documents[row] for row in rows], ragged("token_logprob", values, np.float32))


def _log_probs(language: Any, states: np.ndarray, emitted: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    previous = np.concatenate([[0], states[:-1]])
    values = np.zeros(lengths[emitted].sum())
    draws = language.transitions[previous, states] * language.emissions[states, emitted]
    values[np.cumsum(lengths[emitted]) - 1] = np.log(draws)
    return values
