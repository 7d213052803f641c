"""Document completion: words of the second half under the topics of the first, and planted drift is what moves it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from longform.critic import compare
from longform.critics.perplexity.score import Perplexity, units_from_readout
from longform.critics.topics import read as topic_proportions
from longform.critics.topics.model import TopicModel
from longform.critics.topics.read_completion import read
from longform.datasets.synthetic_world import build
from longform.documents import BadInput, Document, Section
from longform.resampling import generator

WORDS = ("ash", "birch", "cod", "eel", "unspoken")


def model() -> TopicModel:
    beta = np.array([[0.7, 0.3, 0, 0, 0], [0, 0, 0.4, 0.6, 0], [0.25, 0.25, 0.25, 0.25, 0]])
    return TopicModel(WORDS, beta, np.zeros(2), np.eye(2), np.eye(2))


def document(name: str, text: str) -> Document:
    return Document(name, "test", (Section(None, text),))


def test_each_word_has_the_probability_that_the_first_half_gives_it():
    text = "We met an ash here. The ash was old. An eel and a birch came."
    readout = read([document("a", text)], reader=model())
    lam = topic_proportions.read([document("x", "We met an ash here.")], reader=model()).arrays["lambda"][0]
    weights = np.exp(np.append(lam, 0.0))
    by_hand = np.log(weights / weights.sum() @ model().beta[:, [0, 3, 1]])
    np.testing.assert_allclose(readout.arrays["token_logprob"], by_hand, rtol=1e-12)
    assert [text[a:b] for a, b in next(readout.ragged("token_span")).tolist()] == ["ash", "eel", "birch"]


def test_halves_without_a_known_word_are_excluded_and_unspoken_words_are_no_words():
    texts = {
        "nothing begun": "Nobody said more. An eel came.",
        "nothing ended": "An eel came. Nobody said more.",
        "one sentence": "An eel came.",
        "empty": "",
        "unspoken": "An ash stood. The unspoken eel came.",
    }
    readout = read([document(name, text) for name, text in texts.items()], reader=model())
    tally = Perplexity().tally(units_from_readout(readout))
    assert tally.column("excluded").tolist() == [1, 1, 1, 1, 0]
    assert tally.column("tokens").tolist() == [0, 0, 0, 0, 1]
    with pytest.raises(BadInput, match="no document of splits"):
        read([document("a", "An ash.")], reader=model(), splits=["train"])


def test_planted_drift_and_nothing_like_repetition_moves_it():
    known = build(name="completion", seed=3, domain="wiki", documents={"train": 5})

    def tally(corruption: str, severity: float):
        made = build(
            name="completion", seed=4, domain="wiki", documents={"test": 40}, corruption=corruption, severity=severity
        )
        return Perplexity().tally(units_from_readout(read(made.documents, reader=Path(), reader_truth=known.truth)))

    sound = tally("", 0.0)
    found = [
        compare(Perplexity(), tally("topic_drift", severity), sound, generator(severity), 999)
        for severity in (0.2, 0.4, 1.0)
    ]
    assert all(one.paired and one.p_value < 0.01 for one in found)
    assert 0 < found[0].difference < found[1].difference < found[2].difference
    repeated = compare(Perplexity(), tally("repeated_sentence", 0.2), sound, generator("repeated"), 999)
    assert abs(repeated.difference) < found[0].difference
