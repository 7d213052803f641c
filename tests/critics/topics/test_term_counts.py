"""The document-term matrix, by hand."""

import numpy as np

from longform.critics.topics.model import TermCounts


def test_tokens_of_a_document_without_known_words_are_none():
    counts = TermCounts(
        np.array([0, 2, 2, 3, 3]), np.array([0, 3, 1]), np.array([1.0, 2.0, 4.0]), 5
    )
    assert counts.tokens.tolist() == [3.0, 0.0, 4.0, 0.0] and len(counts) == 4
    assert [(terms.tolist(), own.tolist()) for terms, own in counts.rows()] == [
        ([0, 3], [1.0, 2.0]), ([], []), ([1], [4.0]), ([], [])
    ]  # fmt: skip
