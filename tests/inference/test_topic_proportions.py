"""Reading topic proportions: known topics come back, unknown words are counted, rows stay aligned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longform.critics.topics.fitting import fit
from longform.critics.topics.model import TopicModel, TopicSettings
from longform.critics.topics.read import read
from longform.critics.topics.score import LogisticNormalCritic, released, units_from_readout
from longform.datasets.synthetic_world import build
from longform.documents import BadInput, Document, Section
from longform.resampling import generator

WORDS = ("ash", "birch", "cod", "dace", "eel", "unspoken")


def model() -> TopicModel:
    beta = np.array([[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.4, 0.4, 0.2, 0], [0.25, 0.25, 0.2, 0.2, 0.1, 0]])
    return TopicModel(WORDS, beta, np.zeros(2), np.eye(2), np.eye(2))


def document(name: str, text: str) -> Document:
    return Document(name, "test", (Section("Title", text),))


def test_trees_read_as_trees_and_fish_as_fish():
    readout = read([document("t", "ash birch ash birch ash"), document("f", "cod dace eel cod cod")], reader=model())
    tree, fish = readout.arrays["lambda"]
    assert tree[0] > 0.5 > tree[1]
    assert fish[1] > 0.5 > fish[0]
    assert np.all(readout.arrays["nu"] > 0) and np.all(readout.arrays["nu"] <= 1)


def test_empty_unknown_and_unspoken_documents_keep_their_row_and_are_invalid():
    texts = {"a": "ash cod what", "b": "", "c": "what is this", "d": "unspoken unspoken", "e": "eel unspoken"}
    readout = read([document(name, text) for name, text in texts.items()], reader=model())
    assert readout.unit_ids == tuple("abcde")
    assert readout.arrays["valid"].tolist() == [True, False, False, False, True]
    assert readout.arrays["tokens"].tolist() == [2, 0, 0, 0, 1]
    assert readout.arrays["unknown"].tolist() == [1, 0, 3, 2, 1]
    critic = LogisticNormalCritic().with_prior(
        readout.arrays["prior_mean_names"], readout.arrays["prior_covariance_names"]
    )
    assert critic.tally(units_from_readout(readout)).total("excluded") == 3


def test_a_document_reads_the_same_in_any_company():
    together = read([document("a", "ash cod"), document("b", "eel eel dace"), document("c", "birch")], reader=model())
    alone = read([document("b", "eel eel dace")], reader=model())
    assert np.array_equal(together.arrays["lambda"][1], alone.arrays["lambda"][0])


def test_nothing_but_unknown_words_gives_a_readout_without_valid_rows():
    readout = read([document("a", "what")], reader=model())
    assert readout.arrays["lambda"].shape == (1, 2)
    assert not readout.arrays["valid"].any()


def test_only_the_asked_splits_are_read_and_a_folder_is_as_good_as_a_model(tmp_path):
    model().save(tmp_path / "m")
    train = replace(document("a", "ash"), split="train")
    readout = read([train, document("b", "cod")], reader=tmp_path / "m", splits=["train"])
    assert readout.unit_ids == ("a",)
    assert np.array_equal(readout.arrays["lambda"], read([train], reader=model()).arrays["lambda"])


def test_the_released_critic_keeps_the_topic_models_gaussian():
    readout = read([document("a", "ash birch"), document("b", "cod eel")], reader=model())
    critic = released(real=readout).fit(units_from_readout(readout))
    assert np.array_equal(critic.precision, np.eye(2))
    details = critic.describe(units_from_readout(readout))
    assert len(details["outliers"]) == 2 and len(details["covariance_of_means"]) == 2


def test_bad_input_is_refused_by_name():
    with pytest.raises(BadInput, match="got no document"):
        read([], reader=model())
    nameless = TopicModel((), model().beta, np.zeros(2), np.eye(2), np.eye(2))
    with pytest.raises(BadInput, match="names no words"):
        read([document("a", "ash")], reader=nameless)


def test_the_critic_fitted_on_training_posteriors_is_the_models_own_gaussian():
    rng = generator("topic documents")
    groups = (["oak", "elm", "ash", "fir"], ["cod", "eel", "ray", "bream"], ["iron", "tin", "zinc", "lead"])
    texts = []
    for _ in range(40):
        shares = rng.dirichlet(np.full(3, 0.5))
        texts.append(" ".join(groups[k][rng.integers(4)] for k in rng.choice(3, 40, p=shares)))
    documents = [replace(document(f"d{i}", text), split="train") for i, text in enumerate(texts)]
    words = [word for group in groups for word in group]
    settings = TopicSettings(rounds=-1, tolerance=1e-9, em_tolerance=1e-7, em_iterations=150)
    fitted = fit(documents, seed=5, topics=3, vocabulary=words, settings=settings)
    readout = read(documents, reader=fitted, settings=settings)
    critic = LogisticNormalCritic().fit(units_from_readout(readout))
    np.testing.assert_allclose(critic.mean, fitted.mean, atol=5e-3)
    np.testing.assert_allclose(np.linalg.inv(critic.precision), fitted.covariance, rtol=0.03, atol=3e-3)


def test_the_planted_topics_read_planted_text_and_find_its_proportions():
    corpus = build(name="wiki", seed=5, domain="wiki", documents={"test": 150})
    readout = read(corpus.documents, reader=Path("unread"), reader_truth=corpus.truth)
    valid, logits = readout.arrays["valid"], corpus.truth["topic_logits"]
    true, read_off = (np.exp(np.c_[x, np.zeros(len(x))][valid]) for x in (logits, readout.arrays["lambda"]))
    true, read_off = (x / x.sum(axis=1, keepdims=True) for x in (true, read_off))
    same = [np.corrcoef(true[:, k], read_off[:, k])[0, 1] for k in range(true.shape[1])]
    assert np.mean(same) > 0.5 and min(same) > 0.3  # sentences drift, and an article has some thirty topic words


def test_a_corpus_without_topics_is_no_reader():
    with pytest.raises(BadInput, match=r"lacks \['word_probabilities'"):
        read([document("a", "ash")], reader=Path("unread"), reader_truth={"topic_mean": np.zeros(2)})
