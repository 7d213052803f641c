"""What a hidden semi-Markov model says of each text, in the layout of a language model's readout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longform.core.documents import Document, Readout
from longform.language_models.hsmm.model import SemiMarkovLM


def read(*, documents: Sequence[Document], reader: Path, splits: Sequence[str]) -> Readout:
    """A text's log-likelihood (sum over segmentations and states) stands at its last token, zero before it.

    A text to which the model gives probability zero (an n-gram it never met, say) keeps minus infinity, so that a
    perplexity over it is infinite rather than flattering.
    """
    chosen = [document for document in documents if document.split in splits]
    texts = [document.text.split() for document in chosen]
    totals = SemiMarkovLM.load(reader).log_likelihood(texts)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    values = np.zeros(lengths.sum(), dtype=np.float64)
    values[np.cumsum(lengths) - 1] = totals
    ids, splits_read = tuple(d.id for d in chosen), tuple(d.split for d in chosen)
    return Readout(ids, splits_read, {"token_logprob": values, "token_logprob_lengths": lengths})
