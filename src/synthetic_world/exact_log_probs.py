"""What the synthetic language's own probabilities say of each token of its texts: the exact values that models approach."""

from collections.abc import Mapping, Sequence

import numpy as np

from longform.documents import Document, Predictions, ragged
from longform.errors import BadInput
from synthetic_world.hsmm_language import language_from_truth


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader_truth: Mapping[str, np.ndarray],
    splits: Sequence[str],
) -> Predictions:
    r"""Token log-probabilities in the layout of a language model's predictions, without an end token.

    A subsequence is one draw: $\log A_{z_{m-1} z_m} + \log E_{z_m w_m}$ stands at its delimiter, zero at its
    letters, so sums over texts and token counts are exact.
    """
    known = len(truth.get("emitted", ()))
    if known != len(documents):
        raise BadInput(
            f"true log-probs: {known} rows of truth for {len(documents)} documents; read the corpus itself"
        )
    language = language_from_truth(dict(reader_truth))
    lengths = np.array([len(text.split()) for text in language.subsequences])
    chosen, rows = [], []
    for document, states, emitted in zip(documents, truth["states"], truth["emitted"], strict=True):
        if document.split in splits:
            previous = np.concatenate([[0], states[:-1]])
            values = np.zeros(lengths[emitted].sum())
            draws = language.transitions[previous, states] * language.emissions[states, emitted]
            values[np.cumsum(lengths[emitted]) - 1] = np.log(draws)
            chosen.append(document)
            rows.append(values)
    return Predictions.of(chosen, ragged("token_logprob", rows, np.float32))
