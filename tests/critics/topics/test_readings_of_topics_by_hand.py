"""Topics of texts, sentences and halves, by hand on a model of two topics and three words."""

import numpy as np
import pytest

from longform.critics.topics import read
from longform.critics.topics.model import TermCounts, TopicModel
from longform.critics.topics.read import TopicReader
from longform.documents import Document, Section
from longform.errors import ConfigError
from tests.refusals import refuses

WORDS = ("ash", "birch", "cedar", "elm")
BETA = np.array([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.5, 0.0]])
MODEL = TopicModel(WORDS, BETA, np.array([0.25]), np.eye(1) * 4, np.eye(1) / 4)


def document(name, text):
    return Document(name, "test", (Section(None, text),))


def test_terms_without_a_topic_are_tokens_outside():
    """Documents: ash twice and elm three times; elm; nothing; cedar."""
    counts = TermCounts(
        np.array([0, 2, 3, 3, 4]), np.array([0, 3, 3, 2]), np.array([2.0, 3.0, 1.0, 5.0]), 4
    )
    usable, outside = read._with_a_topic(counts, MODEL)
    assert usable.starts.tolist() == [0, 1, 1, 1, 2] and usable.terms.tolist() == [0, 2]
    assert usable.counts.tolist() == [2.0, 5.0] and outside.tolist() == [3, 1, 0, 0]
    assert usable.starts.dtype == outside.dtype == np.int64


def test_rows_of_valid_documents_stand_among_zeros():
    rows = read._with_zeros(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([True, False, True]))
    assert rows.tolist() == [[1, 2], [0, 0], [3, 4]]
    assert read._with_zeros(np.array([5.0]), np.array([False, True])).tolist() == [0, 5]


def words(document):
    return document.text.lower().replace(".", "").split()


@pytest.fixture
def reader(monkeypatch):
    """Posteriors by a stand-in: a document's logit is how many known tokens it has."""

    class Posterior:
        def __init__(self, counts):
            self.logits = counts.tokens[:, None]
            self.variances = counts.tokens[:, None] / 8
            self.bounds = -counts.tokens

    settings = []
    monkeypatch.setattr(
        read,
        "expectation",
        lambda counts, model, given: settings.append(given) or Posterior(counts),
    )
    made = TopicReader(MODEL, words)
    yield made
    assert set(settings) == {read.RELEASED_INFERENCE}


def test_documents_without_a_known_word_are_invalid_zeros(reader):
    found = reader.proportions(
        [document("a", "ash ash fir"), document("b", "elm fir"), document("c", "cedar")]
    )
    assert found["lambda"].tolist() == [[2], [0], [1]] and found["nu"].tolist() == [
        [0.25],
        [0],
        [0.125],
    ]
    assert found["bound"].tolist() == [-2, 0, -1] and found["tokens"].tolist() == [2, 0, 1]
    assert found["unknown"].tolist() == [1, 2, 0] and found["valid"].tolist() == [True, False, True]
    assert found["prior_mean_names"].tolist() == [0.25] and found[
        "prior_covariance_names"
    ].tolist() == [[4.0]]


def test_equal_sentences_are_read_once_and_silent_ones_left_out(reader):
    documents = [
        document("a", "Ash ash. Fir. Cedar."),
        document("b", "Cedar. Ash ash."),
        document("c", "Fir."),
    ]
    found = read.paths(reader, documents)
    assert found["text_ids"].tolist() == [0, 2, 2, 0] and found["sentence"].tolist() == [0, 2, 0, 1]
    assert found["sentence_lengths"].tolist() == found["latents_lengths"].tolist() == [2, 2, 0]
    assert found["latents"].tolist() == [[2], [1], [1], [2]] and found["silent"].tolist() == [
        1,
        0,
        1,
    ]
    assert found["silent"].dtype == np.int64


def test_words_of_the_second_half_are_as_likely_as_the_first_halfs_topics(reader):
    """Two known tokens before: weights exp(2) and 1. Of three sentences two are the second half."""
    text = "Ash ash. Birch  fir. Cedar elm."
    found = read.completion(
        reader, [document("a", text), document("b", "Fir. Ash."), document("c", "")]
    )
    share = np.exp(2.0) / (1 + np.exp(2.0))
    expected = np.log([share * 0.5 + (1 - share) * 0.25, (1 - share) * 0.5])
    assert found["token_logprob"] == pytest.approx(expected)
    assert found["token_logprob_lengths"].tolist() == [2, 0, 0]
    assert [text[start:end] for start, end in found["token_span"].tolist()] == ["Birch", "Cedar"]


def test_spans_of_words_are_those_in_the_text():
    assert read._word_spans("ab  cd e. f", [(0, 9), (10, 11)]) == [(0, 2), (4, 6), (7, 9), (10, 11)]
    excerpt = read._excerpt(document("a", "One. Two. Three."), [(0, 4), (10, 16)])
    assert (excerpt.text, excerpt.id, len(excerpt.sections)) == ("One. Three.", "a", 1)
    assert read._softmax(
        np.array([[0.0, 0.0], [np.log(3.0), 0.0], [1000.0, 0.0]])
    ) == pytest.approx(np.array([[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]]))


def test_predictions_have_three_names_and_may_keep_the_text(reader, monkeypatch):
    texts = [document("a", "Ash."), Document("b", "train", (Section(None, "Cedar."),))]
    found = read.read(texts, reader=reader, splits=["test"])
    assert found.unit_ids == ("a",) and "text" not in " ".join(found.arrays)
    kept = read.read(texts, reader=reader, keep_text=True)
    assert kept.unit_ids == ("a", "b") and len(kept.arrays) > len(found.arrays)
    assert "latents" in read.read(texts, reader=reader, predictions="paths").arrays
    assert "token_logprob" in read.read(texts, reader=reader, predictions="completion").arrays
    with pytest.raises(ConfigError, match="predictions are 'x', allowed is one of"):
        read.read(texts, reader=reader, predictions="x")


def test_a_model_is_opened_from_its_folder_and_needs_words(monkeypatch):
    own = TopicReader(MODEL, words)
    assert read.open_topics(own) is own and read.open_topics(MODEL).words is read.words_of
    monkeypatch.setattr(
        read.TopicModel, "load", lambda folder: MODEL if folder == "folder" else None
    )
    assert read.open_topics("folder").model is MODEL
    nameless = TopicModel((), BETA, MODEL.mean, MODEL.covariance, MODEL.precision)
    refuses("the model names no words", read.open_topics, nameless)
