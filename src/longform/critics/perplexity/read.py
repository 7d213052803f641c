"""What a language model says of each document's tokens: log-probabilities in nats, document by document."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from longform.documents import Document, Predictions, in_splits, ragged
from longform.errors import BadInput
from longform.hsmm import HSMM
from longform.language_models import capacity
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


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    titles: bool,
    splits: Sequence[str],
    batch: int = 16,  # full windows that are read at a time, as long as memory for them is bounded (``open_reader``)
    preset: str
    | None = None,  # "paper" for disjoint blocks of all documents' stream, None for overlapping windows
    window: int | None = None,  # most tokens that the model sees; None for all its positions
) -> Predictions:
    """Log-probability of each scored token, ragged over tokens: float32 ``token_logprob``, ``token_logprob_lengths``.

    Where titles are part of the text, bool ``in_title``, ragged likewise, says which tokens are theirs. A text stands between
    the tokenizer's begin and end token (``start_ids``, ``end_ids``): its last log-probability is that of its end, unless the
    tokenizer has no end token; then ``end_scored`` is there and false.

    Raises BadInput: an unknown preset, a window that the model does not have, or no causal language model.
    """
    if preset not in (None, "paper"):
        raise BadInput(
            f"infer {name}: preset is {preset!r}, allowed are 'paper' and null; fix the entry"
        )
    tokenizer, network = open_language_model(reader)
    positions = capacity.window_size(network)
    size = positions if window is None else window
    if not 2 <= size <= positions:
        raise BadInput(
            f"infer {name}: window is {size!r}, allowed is 2 to {positions}; fix the entry"
        )
    chosen = in_splits(documents, splits)
    log_probs = open_reader(network, batch * size, share=False, label=f"infer {name}").read
    if preset == "paper":
        rows = [article_ids(document, tokenizer, titles) for document in chosen]
        stream = list(chain.from_iterable(rows))
        blocks = [
            tuple(stream[start : start + size]) for start in range(0, len(stream) - size + 1, size)
        ]
        places = np.arange(len(stream))
        counted = (places % size > 0) & (
            places < len(blocks) * size
        )  # nothing predicts a block's first token
        values = np.zeros(len(stream), dtype=np.float32)
        values[counted] = np.concatenate([values[:0], *log_probs(blocks)])
        ends = np.cumsum([len(ids) for ids in rows])[:-1]
        places_of = np.split(counted, ends)
        scored = [part[kept] for part, kept in zip(np.split(values, ends), places_of, strict=True)]
    else:
        rows = document_rows(chosen, tokenizer, titles, 10**9)
        cuts = [windows(len(row), size) for row in rows]
        pieces = [
            tuple(row[start:stop])
            for row, own in zip(rows, cuts, strict=True)
            for start, stop, _ in own
        ]
        found = iter(log_probs(pieces))
        scored = [
            np.concatenate([next(found)[first - start - 1 :] for start, _, first in own])
            for own in cuts
        ]
        places_of = [np.arange(len(row)) > 0 for row in rows]
    arrays = ragged("token_logprob", scored, np.float32)
    if titles:
        before = len(start_ids(tokenizer))
        marked = []
        for document, row, kept in zip(chosen, rows, places_of, strict=True):
            whole = np.zeros(
                len(row), dtype=bool
            )  # what stands around the body, and a newline, are in no title
            inside = in_titles(document, tokenizer)
            whole[before : before + len(inside)] = inside
            marked.append(whole[kept])
        arrays |= ragged("in_title", marked, np.bool_)
    if not end_ids(tokenizer):
        arrays["end_scored"] = np.zeros(len(chosen), dtype=bool)
    return Predictions.of(chosen, arrays)


def read_segments(
    *, documents: Sequence[Document], reader: Path, splits: Sequence[str]
) -> Predictions:
    """A text's log-likelihood (sum over segmentations and states) stands at its last token, zero before it."""
    chosen = in_splits(documents, splits)
    texts = [document.text.split() for document in chosen]
    totals = HSMM.load(reader).log_prob(texts)
    rows = [
        [0.0] * (len(text) - 1) + [total] if text else []
        for text, total in zip(texts, totals, strict=True)
    ]
    return Predictions.of(chosen, ragged("token_logprob", rows, np.float64))
