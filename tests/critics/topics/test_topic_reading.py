"""Topics read from text, and the critic of their logits."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from longform.critics.bbscore.score import JointBridge
from longform.critics.bbscore.score import units_from_predictions as paths_from_predictions
from longform.critics.perplexity.score import Perplexity
from longform.critics.perplexity.score import units_from_predictions as tokens_from_predictions
from longform.critics.topics import score as critics
from longform.critics.topics.model import TopicModel, TopicSettings
from longform.critics.topics.read import read
from longform.critics.topics.train import fit
from longform.documents import Document, Predictions, Section
from longform.statistics.comparisons import compare
from longform.statistics.random_streams import generator
from synthetic_world.corpora import build
from synthetic_world.planted_topics import read as read_planted
from synthetic_world.planted_topics import synthetic_words
from tests.refusals import refuses

LOST = critics.TopicPosterior("lost", "test", np.zeros(3), np.zeros(3), 0, valid=False)


def model(words=("ash", "birch", "cod", "eel", "unspoken")) -> TopicModel:
    """Trees, fish, and both."""
    beta = np.array([[0.7, 0.3, 0, 0, 0], [0, 0, 0.4, 0.6, 0], [0.25, 0.25, 0.25, 0.25, 0]])
    return TopicModel(words, beta, np.zeros(2), np.eye(2), np.eye(2))


def document(name: str, *texts: str) -> Document:
    return Document(name, "test", tuple(Section("Title", text) for text in texts))


def test_empty_and_unknown_documents_have_a_row_and_are_invalid():
    texts = {
        "a": "ash cod what",
        "b": "",
        "c": "what is this",
        "d": "unspoken unspoken",
        "e": "eel unspoken",
    }
    predictions = read([document(name, text) for name, text in texts.items()], reader=model())
    wanted = {
        "valid": [True, False, False, False, True],
        "tokens": [2, 0, 0, 0, 1],
        "unknown": [1, 0, 3, 2, 1],
    }
    assert predictions.unit_ids == tuple("abcde")
    assert {name: predictions.arrays[name].tolist() for name in wanted} == wanted
    prior = (predictions.arrays[f"prior_{name}_names"] for name in ("mean", "covariance"))
    critic = critics.Topics().with_prior(*prior)
    assert (
        critic.sufficient_statistics(critics.units_from_predictions(predictions)).total("excluded")
        == 3
    )


def test_a_document_reads_the_same_in_any_company_and_from_a_folder(tmp_path):
    together = read(
        [document("a", "ash cod"), document("b", "eel eel cod"), document("c", "birch")],
        reader=model(),
    )
    alone = read([document("b", "eel eel cod")], reader=model())
    assert np.array_equal(together.arrays["lambda"][1], alone.arrays["lambda"][0])
    model().save(tmp_path / "m")
    train = replace(document("a", "ash"), split="train")
    predictions = read([train, document("b", "cod")], reader=tmp_path / "m", splits=["train"])
    assert predictions.unit_ids == ("a",)
    assert np.array_equal(
        predictions.arrays["lambda"], read([train], reader=model()).arrays["lambda"]
    )


def test_the_critic_is_the_models_own_gaussian_released_or_fitted():
    predictions = read([document("a", "ash birch"), document("b", "cod eel")], reader=model())
    critic = critics.released(real=predictions).fit(critics.units_from_predictions(predictions))
    assert np.array_equal(critic.precision, np.eye(2))
    details = critic.describe(critics.units_from_predictions(predictions))
    assert len(details["outliers"]) == 2 and len(details["covariance_of_means"]) == 2
    rng = generator("topic documents")
    groups = (
        ["oak", "elm", "ash", "fir"],
        ["cod", "eel", "ray", "bream"],
        ["iron", "tin", "zinc", "lead"],
    )
    texts = []
    for _ in range(40):
        shares = rng.dirichlet(np.full(3, 0.5))
        texts.append(" ".join(groups[k][rng.integers(4)] for k in rng.choice(3, 40, p=shares)))
    documents = [replace(document(f"d{i}", text), split="train") for i, text in enumerate(texts)]
    settings = TopicSettings(rounds=-1, tolerance=1e-9, em_tolerance=1e-7, em_iterations=150)
    fitted = fit(documents, seed=5, topics=3, min_count=1, max_share=1.1, settings=settings)
    predictions = read(documents, reader=fitted)
    critic = critics.Topics().fit(critics.units_from_predictions(predictions))
    np.testing.assert_allclose(critic.mean, fitted.mean, atol=5e-3)
    np.testing.assert_allclose(
        np.linalg.inv(critic.precision), fitted.covariance, rtol=0.03, atol=3e-3
    )


def test_synthetic_words_are_met_in_any_shape_and_their_proportions_found():
    corpus = build(name="wiki", seed=5, domain="wiki", documents={"test": 150})
    predictions = read_planted(corpus.documents, reader_truth=corpus.truth)
    valid, logits = predictions.arrays["valid"], corpus.truth["topic_logits"]
    true, read_off = (
        np.exp(np.c_[x, np.zeros(len(x))][valid]) for x in (logits, predictions.arrays["lambda"])
    )
    true, read_off = (x / x.sum(axis=1, keepdims=True) for x in (true, read_off))
    same = [np.corrcoef(true[:, k], read_off[:, k])[0, 1] for k in range(true.shape[1])]
    # sentences drift, and an article has some thirty topic words
    assert np.mean(same) > 0.5 and min(same) > 0.3
    text = "The Bakers dug a canal, two canals (and lilies)."
    found = synthetic_words(("canal", "baker", "lily"))(document("d", text))
    assert found == ["the", "baker", "dug", "a", "canal", "two", "canal", "and", "lily"]


def test_bad_input_is_named():
    refuses("got no document", read, [], reader=model())
    refuses("no document of splits", read, [document("a", "ash")], reader=model(), splits=["train"])
    refuses("names no words", read, [document("a", "ash")], reader=model(words=()))
    refuses(
        "predictions are 'order', allowed is one of",
        read,
        [document("a", "ash")],
        reader=model(),
        predictions="order",
    )
    truth = {"topic_mean": np.zeros(2)}
    refuses(
        r"lacks \['word_probabilities'", read_planted, [document("a", "ash")], reader_truth=truth
    )
    refuses("1 document without a known word", critics.Topics().fit, [LOST])
    flat = [critics.TopicPosterior(f"u{i}", "test", np.zeros(2), np.zeros(2), 3) for i in range(5)]
    refuses("singular", critics.Topics().fit, flat)
    refuses("not fitted", critics.Topics().sufficient_statistics, flat)
    fitted = critics.Topics().fit(drawn(9))
    refuses("has 2 logits, the critic was fitted on 3", fitted.sufficient_statistics, flat)
    refuses("no array", critics.units_from_predictions, Predictions(("u",), ("test",), {}))
    refuses("call fit", critics.RandomTopicCritic().judged, drawn(9))
    assert np.isnan(fitted.score_of(fitted.sufficient_statistics([LOST])))


def test_each_word_has_the_probability_that_the_first_half_gives_it():
    text = "We met an ash here. The ash was old. An eel and a birch came."
    predictions = read([document("a", text)], reader=model(), predictions="completion")
    lam = read([document("x", "We met an ash here.")], reader=model()).arrays["lambda"][0]
    weights = np.exp([*lam, 0.0])
    by_hand = np.log(weights / weights.sum() @ model().beta[:, [0, 3, 1]])
    np.testing.assert_allclose(predictions.arrays["token_logprob"], by_hand, rtol=1e-12)
    assert [text[a:b] for a, b in next(predictions.ragged("token_span")).tolist()] == [
        "ash",
        "eel",
        "birch",
    ]


def test_halves_without_a_known_word_are_excluded():
    texts = {"nothing begun": "Nobody said more. An eel came.", "nothing ended": "An eel came. Nobody said more.",
             "one sentence": "An eel came.", "empty": "", "unspoken": "An ash stood. The unspoken eel came."}  # fmt: skip
    predictions = read(
        [document(name, text) for name, text in texts.items()],
        reader=model(),
        predictions="completion",
    )
    statistics = Perplexity().sufficient_statistics(tokens_from_predictions(predictions))
    assert statistics.column("excluded").tolist() == [1, 1, 1, 1, 0]
    assert statistics.column("tokens").tolist() == [0, 0, 0, 0, 1]


@pytest.mark.long  # corpora of the synthetic world; planted topics are found in the tests above
def test_synthetic_drift_and_nothing_like_repetition_moves_it():
    settings = {"name": "completion", "domain": "wiki"}
    known = build(seed=3, documents={"train": 5}, **settings)

    def statistics(corruption="", severity=0.0):
        made = build(
            seed=4, documents={"test": 40}, corruption=corruption, severity=severity, **settings
        )
        found = read_planted(made.documents, predictions="completion", reader_truth=known.truth)
        return Perplexity().sufficient_statistics(tokens_from_predictions(found))

    cases = [
        ("topic_drift", 0.2),
        ("topic_drift", 0.4),
        ("topic_drift", 1.0),
        ("repeated_sentence", 0.2),
    ]
    sound = statistics()
    *drift, repeated = (
        compare(Perplexity(), statistics(*case), sound, generator(*case), 999) for case in cases
    )
    assert all(one.paired and one.p_value < 0.01 for one in drift)
    assert 0 < drift[0].difference < drift[1].difference < drift[2].difference
    assert abs(repeated.difference) < drift[0].difference


def test_every_sentence_is_a_document_and_too_few_are_excluded():
    texts = (
        "We saw ash here. Then cod came up. Nobody said more.",
        "We saw ash here. The eel and cod swam on.",
    )
    others = [document("b", "Nobody said more."), document("c", "The birch stood there.")]
    predictions = read([document("a", *texts), *others], reader=model(), predictions="paths")
    first, silent, short = paths_from_predictions(predictions)
    assert [len(first.latents), len(silent.latents), len(short.latents)] == [4, 0, 1]
    assert predictions.arrays["silent"].tolist() == [1, 1, 0]
    assert next(predictions.ragged("sentence")).tolist() == [0, 1, 3, 4]
    assert first.text_ids[0] == first.text_ids[2] and np.array_equal(
        first.latents[0], first.latents[2]
    )
    alone = read([document("x", "The eel and cod swam on.")], reader=model())
    assert np.array_equal(first.latents[3], alone.arrays["lambda"][0])
    assert first.latents[0, 0] > 0 > first.latents[0, 1]
    statistics = JointBridge().fit([first]).sufficient_statistics([first, silent, short])
    assert statistics.column("excluded").tolist() == [0, 1, 1]


@cache
def drawn(
    documents: int, seed: int = 0, dims: int = 3, scale: float = 1.0
) -> list[critics.TopicPosterior]:
    rng = generator("topic readings", seed)
    root = np.tril(np.ones((dims, dims)))
    rows = rng.normal(size=(documents, dims)) @ root * scale
    return [
        critics.TopicPosterior(f"u{i}", "test", row, rng.uniform(0.05, 0.4, dims), 30)
        for i, row in enumerate(rows)
    ]


def test_the_score_is_the_normal_density_and_its_posterior_expectation():
    rng = generator("normal density")
    root = rng.normal(size=(4, 4))
    covariance, mean, point = root @ root.T + np.eye(4), rng.normal(size=4), rng.normal(size=4)
    expected = -multivariate_normal.logpdf(point, mean, covariance)
    assert critics.negative_log_density(point, mean, np.linalg.inv(covariance)) == pytest.approx(
        expected, rel=1e-12
    )
    units = drawn(40)
    critic = critics.Topics(full_expectation=True).fit(units)
    reading = units[0]
    draws = reading.logits + generator("expected density").normal(size=(40_000, 3)) * np.sqrt(
        reading.variances
    )
    values = -multivariate_normal.logpdf(draws, critic.mean, np.linalg.inv(critic.precision))
    score = critic.score_of(critic.sufficient_statistics([reading]))
    assert score == pytest.approx(values.mean(), abs=5 * values.std() / 200)
    at_mean = critics.Topics(mean=critic.mean, precision=critic.precision)
    assert at_mean.score_of(at_mean.sufficient_statistics([reading])) < score


def test_the_fit_minimises_the_full_score_of_its_own_documents():
    units = drawn(30, seed=1)
    critic = critics.Topics(full_expectation=True).fit(units)
    least = 0.5 * (3 * np.log(2 * np.pi) - np.linalg.slogdet(critic.precision)[1] + 3)
    assert critic.score_of(critic.sufficient_statistics(units)) == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("full", [pytest.param(False, marks=pytest.mark.long), True])
def test_topics_at_random_score_the_prior_against_its_own_diagonal(full):
    real, fresh = drawn(2000), drawn(20_000, seed=4)
    kinds = critics.Topics, critics.RandomTopicCritic
    own, chance = (kind(full_expectation=full).fit(real) for kind in kinds)
    spreads = np.var([unit.logits for unit in real], axis=0)
    spreads = spreads + np.mean([unit.variances for unit in real], axis=0) if full else spreads
    constant, found = (
        critics.negative_log_density(own.mean, own.mean, own.precision),
        chance.score_of(chance.sufficient_statistics(fresh)),
    )
    wanted = constant + 0.5 * float(spreads @ np.diag(own.precision))
    assert found == pytest.approx(wanted, rel=0.01)  # three standard errors
    assert found > own.score_of(own.sufficient_statistics(fresh)) + 0.5


def test_topics_at_random_are_described_by_what_was_drawn():
    units = [replace(unit, text="words") for unit in drawn(800)]
    critic = critics.RandomTopicCritic().fit(units)
    described = critic.describe(units)
    covariance = np.array(described["covariance_of_means"])
    logits = np.array([unit.logits for unit in units])
    held = critics.moments(logits)[1]
    np.testing.assert_allclose(held, np.cov(logits.T, bias=True))
    np.testing.assert_allclose(np.diag(covariance), np.diag(held), rtol=0.2)
    assert (
        np.abs(covariance - np.diag(np.diag(covariance))).max()
        < 0.3
        < np.abs(np.tril(held, -1)).max()
    )
    assert "outlier_texts" not in described


def test_documents_without_known_words_are_excluded_outliers_worst_first():
    units = drawn(20)
    critic, clean = (critics.Topics().fit(given) for given in ([*units, LOST], units))
    assert np.array_equal(critic.precision, clean.precision)
    statistics = critic.sufficient_statistics([*units, LOST])
    assert (statistics.total("excluded"), statistics.total("documents")) == (1, 20)
    assert critic.score_of(statistics) == critic.score_of(critic.sufficient_statistics(units))
    far = critics.TopicPosterior("far", "generated", np.full(3, 25.0), np.full(3, 0.1), 9)
    worst = critic.describe([*units, LOST, far], 30)["outliers"]
    assert "lost" not in dict(worst)
    assert worst[0][0] == "far"
    assert worst[0][1] > worst[1][1] >= worst[2][1]
