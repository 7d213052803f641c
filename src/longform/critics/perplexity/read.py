"""What a language model says of each document's tokens: log-probabilities in nats."""

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from longform.documents import Document, Predictions, in_splits, ragged
from longform.errors import ConfigError
from longform.hsmm import HSMM
from longform.language_models import capacity
from longform.language_models.checkpoints import load_tokenizer
from longform.language_models.log_probs import open_reader
from longform.language_models.tokenizers import (
    article_ids,
    document_rows,
    end_ids,
    in_titles,
    start_ids,
    windows,
)
from longform.language_models.trial import open_language_model
from longform.text.rendering import render

UNLIMITED = 10**9  # tokens of a document that is not cut
# From rows of token ids to the log-probabilities of each row's tokens from the second on.
LogProbReading = Callable[[Sequence[Any]], Sequence[np.ndarray]]


class Scored(NamedTuple):
    """The scored tokens of each document.

    Attributes:
        log_probs: float32 (scored tokens,) a document, nats.
        positions: bool (tokens,) a document: which tokens of its row are scored.
    """

    log_probs: list[np.ndarray]
    positions: list[np.ndarray]


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
) -> Predictions:
    """Log-probability of each scored token.

    A text stands between the tokenizer's begin and end token (``start_ids``, ``end_ids``): its last
    log-probability is that of its end, unless the tokenizer has no end token.

    Args:
        documents: the texts.
        splits: whose documents are read.
        reader: folder of a causal language model.
        name: of the stage, for messages.
        titles: whether titles of sections are part of the text.
        batch: full windows that are read at a time, as long as memory for them is bounded
            (``open_reader``).
        preset: "paper" for disjoint blocks of all documents' stream, None for overlapping windows.
        window: largest number of tokens that the model sees; None for all its positions.

    Returns:
        ``token_logprob`` float32, ragged over tokens. Where titles are part of the text, bool
        ``in_title``, ragged likewise, says which tokens are theirs. Where the tokenizer has no end
        token, ``end_scored`` is there and false.

    Raises ConfigError: an unknown preset, or a window that the model does not have.
    Raises BadInput: the folder holds no causal language model.
    """
    if preset not in (None, "paper"):
        raise ConfigError(
            f"infer {name}: preset is {preset!r}, allowed are 'paper' and null; fix the entry"
        )
    # 1. The model, and how many tokens it sees at once.
    tokenizer, network = open_language_model(reader)
    positions = capacity.window_size(network)
    size = positions if window is None else window
    if not 2 <= size <= positions:
        raise ConfigError(
            f"infer {name}: window is {size!r}, allowed is 2 to {positions}; fix the entry"
        )
    read_rows = open_reader(network, batch * size, share=False, label=f"infer {name}").read
    # 2. Log-probabilities of the documents' tokens.
    chosen = in_splits(documents, splits)
    if preset == "paper":
        rows = [article_ids(document, tokenizer, titles) for document in chosen]
        scored = in_disjoint_blocks(rows, size, read_rows)
    else:
        rows = document_rows(chosen, tokenizer, titles, UNLIMITED)
        scored = in_overlapping_windows(rows, size, read_rows)
    # 3. What the tokens are.
    arrays = ragged("token_logprob", scored.log_probs, np.float32)
    if titles:
        num_begin = len(start_ids(tokenizer))
        in_title = []
        for document, is_scored in zip(chosen, scored.positions, strict=True):
            # What stands around the body, and a newline, are in no title.
            is_title = np.zeros(len(is_scored), dtype=bool)
            in_body = in_titles(document, tokenizer)
            is_title[num_begin : num_begin + len(in_body)] = in_body
            in_title.append(is_title[is_scored])
        arrays |= ragged("in_title", in_title, np.bool_)
    if not end_ids(tokenizer):
        arrays["end_scored"] = np.zeros(len(chosen), dtype=bool)
    return Predictions.of(chosen, arrays)


def in_disjoint_blocks(
    rows: Sequence[Sequence[int]], size: int, read_rows: LogProbReading
) -> Scored:
    """Score the stream of all documents in blocks of ``size`` tokens, as the paper does.

    Nothing predicts a block's first token; the last, partial block is not read.

    Args:
        rows: token ids of each document.
        size: tokens of a block.
        read_rows: gives the log-probabilities of each block's tokens from the second on.

    Returns:
        The log-probabilities of the scored tokens of each document, and which of its tokens those
        are.
    """
    # 1. The blocks, and which tokens of the stream they score.
    stream = list(chain.from_iterable(rows))
    num_blocks = len(stream) // size
    blocks = []
    for number in range(num_blocks):
        blocks.append(tuple(stream[number * size : (number + 1) * size]))
    positions = np.arange(len(stream))
    is_scored = (positions % size > 0) & (positions < num_blocks * size)
    log_probs = np.zeros(len(stream), dtype=np.float32)
    # an empty array first: there may be no block
    log_probs[is_scored] = np.concatenate([log_probs[:0], *read_rows(blocks)])
    # 2. The stream, cut back into documents.
    ends = np.cumsum([len(row) for row in rows])[:-1]
    is_scored_by_document = np.split(is_scored, ends)
    log_probs_by_document = np.split(log_probs, ends)
    scored_log_probs = []
    for values, mask in zip(log_probs_by_document, is_scored_by_document, strict=True):
        scored_log_probs.append(values[mask])
    return Scored(scored_log_probs, is_scored_by_document)


def in_overlapping_windows(
    rows: Sequence[Sequence[int]], size: int, read_rows: LogProbReading
) -> Scored:
    """Score every token of each document but its first; a long document in windows that overlap.

    Args:
        rows: token ids of each document.
        size: tokens of a window.
        read_rows: gives the log-probabilities of each window's tokens from the second on.

    Returns:
        The log-probabilities of each document's tokens but the first, and the mask of these tokens.
    """
    # 1. All windows of all documents: where each begins and ends in its document, and the first
    #    token that no earlier window has scored.
    windows_of_rows = []
    token_windows = []
    for row in rows:
        windows_of_row = windows(len(row), size)
        windows_of_rows.append(windows_of_row)
        for start, stop, _ in windows_of_row:
            token_windows.append(tuple(row[start:stop]))
    # 2. Of each window, the log-probabilities that it is the first to give.
    log_probs_of_windows = iter(read_rows(token_windows))
    scored = []
    positions = []
    for row, windows_of_row in zip(rows, windows_of_rows, strict=True):
        parts = []
        for start, _, first_scored in windows_of_row:
            # A window's log-probabilities begin with that of its second token, start + 1.
            log_probs = next(log_probs_of_windows)
            parts.append(log_probs[first_scored - (start + 1) :])
        scored.append(np.concatenate(parts))
        positions.append(np.arange(len(row)) > 0)
    return Scored(scored, positions)


def token_spans(document: Document, reader: Path) -> list[tuple[int, int]] | None:
    """Where the tokens that :func:`read` scores without titles stand in ``document.text``.

    Returns:
        Half-open spans, that of the end token empty; None where the text is read in another form
        (blank lines in a section) or the tokenizer does not say where its tokens stand.
    """
    tokenizer = load_tokenizer(reader)
    if render(document, titles=False) != document.text or not tokenizer.is_fast:
        return None
    encoded = tokenizer(
        document.text, add_special_tokens=False, verbose=False, return_offsets_mapping=True
    )
    spans = [(int(start), int(end)) for start, end in encoded["offset_mapping"]]
    if not start_ids(tokenizer):
        spans = spans[1:]  # the first token is context only
    if end_ids(tokenizer):
        spans.append((len(document.text), len(document.text)))
    return spans


def read_segments(
    *, documents: Sequence[Document], reader: Path, splits: Sequence[str]
) -> Predictions:
    """What a hidden semi-Markov model says of each document, as one number.

    Returns:
        ``token_logprob`` float64, ragged: the log-likelihood in nats (summed over segmentations and
        states) at a text's last token, zero before it.
    """
    chosen = in_splits(documents, splits)
    texts = [document.text.split() for document in chosen]
    log_likelihoods = HSMM.load(reader).log_prob(texts)
    rows = []
    for text, log_likelihood in zip(texts, log_likelihoods, strict=True):
        row = np.zeros(len(text))
        row[-1:] = log_likelihood  # a slice, since a text may have no token
        rows.append(row)
    return Predictions.of(chosen, ragged("token_logprob", rows, np.float64))
