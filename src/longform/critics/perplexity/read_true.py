"""The true log-probabilities of the synthetic language's own texts, so that a model's word PPL has a floor beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Document, Readout
from longform.datasets.hsmm_language import language_from_truth


def read(
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
    arrays: dict[str, np.ndarray] = {
        "token_logprob": np.concatenate(values).astype(np.float32),
        "token_logprob_lengths": np.array([len(value) for value in values], dtype=np.int64),
    }
    return Readout(tuple(documents[r].id for r in rows), tuple(documents[r].split for r in rows), arrays)


def _log_probs(language: Any, states: np.ndarray, emitted: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Log-probability of each token of one document; its subsequences' draws stand at their delimiters."""
    previous = np.concatenate([[0], states[:-1]])
    values = np.zeros(lengths[emitted].sum())
    draws = language.transitions[previous, states] * language.emissions[states, emitted]
    values[np.cumsum(lengths[emitted]) - 1] = np.log(draws)
    return values
