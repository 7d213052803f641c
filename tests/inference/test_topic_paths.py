"""Sentence topics as a path: each sentence is read alone, a silent one is left out."""

from __future__ import annotations

import numpy as np
import pytest

from longform.critics.bbscore.joint import JointBridgeCritic
from longform.critics.bbscore.score import units_from_readout
from longform.critics.topics import read as topic_proportions
from longform.critics.topics.model import TopicModel
from longform.critics.topics.planted import planted_words
from longform.critics.topics.read_paths import read
from longform.documents import BadInput, Document, Section


def model() -> TopicModel:
    beta = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25]])
    return TopicModel(("ash", "birch", "cod", "eel"), beta, np.zeros(2), np.eye(2), np.eye(2))


def document(name: str, *sections: str) -> Document:
    return Document(name, "test", tuple(Section(None, text) for text in sections))


TEXTS = [
    document("a", "We saw ash here. Then cod came up. Nobody said more.", "We saw ash here. The eel and cod swam on."),
    document("b", "Nobody said more."),
    document("c", "The birch stood there."),
]


def test_every_sentence_is_read_as_a_document_of_its_own():
    readout = read(TEXTS, reader=model())
    first, silent, short = units_from_readout(readout)
    assert [len(first.latents), len(silent.latents), len(short.latents)] == [4, 0, 1]
    assert readout.arrays["silent"].tolist() == [1, 1, 0]
    assert next(readout.ragged("sentence")).tolist() == [0, 1, 3, 4]
    assert first.text_ids[0] == first.text_ids[2] and np.array_equal(first.latents[0], first.latents[2])
    alone = topic_proportions.read([document("x", "The eel and cod swam on.")], reader=model())
    assert np.array_equal(first.latents[3], alone.arrays["lambda"][0])
    assert first.latents[0, 0] > 0 > first.latents[0, 1] and first.token_counts.tolist() == [1, 1, 1, 2]


def test_too_few_topical_sentences_are_excluded_and_no_document_is_refused():
    units = units_from_readout(read(TEXTS, reader=model()))
    tally = JointBridgeCritic().fit([units[0]]).tally(units)
    assert tally.column("excluded").tolist() == [0, 1, 1]
    with pytest.raises(BadInput, match="no document of splits"):
        read(TEXTS, reader=model(), splits=["train"])


def test_planted_words_are_met_in_any_shape():
    words = planted_words(("canal", "baker", "lily"))
    text = "The Bakers dug a canal, two canals (and lilies)."
    assert words(document("d", text)) == ["the", "baker", "dug", "a", "canal", "two", "canal", "and", "lily"]
