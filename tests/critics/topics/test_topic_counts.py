"""Which words are terms: the released rules on sentences where each rule decides once."""

from __future__ import annotations

import numpy as np
import pytest

from longform.core.documents import BadInput, Document, Section
from longform.critics.topics.model import build_vocabulary, count_terms


def document(number: int, *sections: str) -> Document:
    return Document(f"d{number}", "train", tuple(Section(None, text) for text in sections))


CORPUS = [
    document(0, "the river river\nBridge bridge .", "river lake @xmath0 \\alpha"),
    document(1, "The lake lake common bridge , @xmath0 \\alpha"),
    document(2, "river common lake bridge, @xmath0 \\alpha"),
    document(3, "common harbour harbour"),
    document(4, "valley"),
    document(5, "valley"),
    document(6, "x"),
]


def test_terms_are_frequent_specific_and_no_function_words_or_formulas():
    found = build_vocabulary(CORPUS, min_count=2, max_share=0.5)
    assert found == ("river", "lake", "common", "bridge", "harbour", "valley")


def test_case_and_attached_punctuation_make_other_words():
    found = build_vocabulary(CORPUS, min_count=1, max_share=0.5)
    assert {"Bridge", "bridge", "bridge,", "."} <= set(found)
    assert "The" not in found and "x" not in found


def test_a_word_in_half_of_the_documents_is_left_out():
    two = [document(0, "fig date"), document(1, "date plum"), document(2, "plum elm"), document(3, "kiwi")]
    assert build_vocabulary(two, min_count=1, max_share=0.5) == ("fig", "elm", "kiwi")


def test_counts_cover_all_sections_and_unknown_tokens_are_counted():
    counts, unknown = count_terms(CORPUS, ("river", "lake"))
    assert counts.starts.tolist() == [0, 2, 3, 5, 5, 5, 5, 5]
    assert dict(zip(counts.terms[:2].tolist(), counts.counts[:2].tolist(), strict=True)) == {0: 3.0, 1: 1.0}
    assert unknown.tolist() == [6, 6, 4, 3, 1, 1, 1]
    assert counts.tokens.tolist() == [4, 2, 2, 0, 0, 0, 0]
    assert np.array_equal(counts.take(np.array([2, 0])).tokens, [2, 4])


def test_a_vocabulary_of_one_word_or_none_is_refused():
    with pytest.raises(BadInput, match="1 of 15 words"):
        build_vocabulary(CORPUS, min_count=4, max_share=0.3, stop_words=())
    with pytest.raises(BadInput, match="0 of 0 words of 0 documents"):
        build_vocabulary([])
