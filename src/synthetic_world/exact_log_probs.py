"""Exact log probabilities of the tokens of synthetic texts under the language that wrote them.

They are the values that models approach.
"""

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
    r"""Log-probabilities of texts with their true states, in a language model's layout.

    A text of the synthetic language (deng2022 section 3, appendix D) is a row of subsequences, each
    of letters and a closing delimiter, and each of these is a token. A subsequence is one draw, so
    its $\log A_{z_{m-1} z_m} + \log E_{z_m w_m}$ stands at its delimiter and zero at its letters:
    sums over texts and numbers of tokens are exact. State $z_0 = 0$ comes before a
    text's first; there is no end token.

    Args:
        documents: of the corpus, in the order of the truth's rows.
        truth: of the corpus: ``states`` $z$ and ``emitted`` $w$, integers (documents, steps).
        reader_truth: of the language that reads, whose A and E are taken. Its states and
            subsequences must be numbered as those of ``truth``; the path is the true one, also
            where another language reads.
        splits: whose documents are scored.

    Returns:
        ``token_logprob`` in nats, float32, for each document of the splits a row (tokens,); minus
        infinity where the reading language cannot make a step, which the language that wrote a
        text always can.

    Raises:
        BadInput: the truth has another number of documents; their identity is not checked.
    """
    num_rows = len(truth.get("emitted", ()))
    if num_rows != len(documents):
        raise BadInput(
            f"true log-probs: {num_rows} rows of truth for {len(documents)} documents; "
            "read the corpus itself"
        )
    language = language_from_truth(dict(reader_truth))
    lengths = np.array([len(text.split()) for text in language.subsequences])
    chosen, rows = [], []
    for document, states, emitted in zip(documents, truth["states"], truth["emitted"], strict=True):
        if document.split not in splits:
            continue
        # z_0 = 0 stands before the first state.
        previous = np.concatenate([[0], states[:-1]])
        transitions = language.transitions[previous, states]
        emissions = language.emissions[states, emitted]
        # The probability of a subsequence stands at its last token, the delimiter.
        token_counts = lengths[emitted]
        values = np.zeros(token_counts.sum())
        values[np.cumsum(token_counts) - 1] = np.log(transitions * emissions)
        chosen.append(document)
        rows.append(values)
    return Predictions.of(chosen, ragged("token_logprob", rows, np.float32))
