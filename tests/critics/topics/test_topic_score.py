"""The topic critic against SciPy's Gaussian, Monte Carlo, and the topic model's own M-step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from longform.core.documents import BadInput, Readout
from longform.core.resampling import generator
from longform.critics.topics.score import (
    LogisticNormalCritic,
    RandomTopicCritic,
    TopicReading,
    covariance_of_means,
    negative_log_density,
    units_from_readout,
)


def drawn(documents: int, seed: int = 0, dims: int = 3, scale: float = 1.0) -> list[TopicReading]:
    rng = generator("topic readings", seed)
    root = np.tril(np.ones((dims, dims)))
    rows = rng.normal(size=(documents, dims)) @ root * scale
    return [TopicReading(f"u{i}", "test", row, rng.uniform(0.05, 0.4, dims), 30) for i, row in enumerate(rows)]


def test_the_density_is_the_normal_density():
    rng = generator("normal density")
    root = rng.normal(size=(4, 4))
    covariance, mean, point = root @ root.T + np.eye(4), rng.normal(size=4), rng.normal(size=4)
    expected = -multivariate_normal.logpdf(point, mean, covariance)
    assert negative_log_density(point, mean, np.linalg.inv(covariance)) == pytest.approx(expected, rel=1e-12)


def test_a_hundred_topics_cost_ninety_one_nats_before_anything_else():
    nats = negative_log_density(np.zeros(99), np.zeros(99), np.eye(99))
    assert nats == pytest.approx(90.975, abs=1e-3)


def test_the_full_score_is_the_expectation_over_the_posterior():
    units = drawn(40)
    critic = LogisticNormalCritic(full_expectation=True).fit(units)
    rng = generator("expected density")
    reading = units[0]
    draws = reading.logits + rng.normal(size=(40_000, 3)) * np.sqrt(reading.variances)
    values = -multivariate_normal.logpdf(draws, critic.mean, np.linalg.inv(critic.precision))
    score = critic.score(critic.tally([reading]))
    assert score == pytest.approx(values.mean(), abs=5 * values.std() / 200)
    at_mean = LogisticNormalCritic(mean=critic.mean, precision=critic.precision)
    assert at_mean.score(at_mean.tally([reading])) < score


def test_the_fit_minimises_the_full_score_of_its_own_documents():
    units = drawn(30, seed=1)
    critic = LogisticNormalCritic(full_expectation=True).fit(units)
    best = critic.score(critic.tally(units))
    dims = 3
    assert best == pytest.approx(
        0.5 * (dims * np.log(2 * np.pi) - np.linalg.slogdet(critic.precision)[1] + dims), rel=1e-12
    )
    rng = generator("worse priors")
    for _ in range(10):
        shift = rng.normal(size=dims) * 0.05
        other = replace(critic, mean=critic.mean + shift, precision=critic.precision * rng.uniform(0.8, 1.2))
        assert other.score(other.tally(units)) > best


def test_topics_dealt_out_anew_between_documents_score_worse():
    real, fresh = drawn(300), drawn(300, seed=4)
    critic = LogisticNormalCritic().fit(real)
    rng = generator("dealt out")
    dealt = np.stack([rng.permutation(column) for column in np.array([u.logits for u in fresh]).T], axis=1)
    mixed = [replace(unit, logits=row) for unit, row in zip(fresh, dealt, strict=True)]
    assert critic.score(critic.tally(mixed)) > critic.score(critic.tally(fresh)) + 0.5


@pytest.mark.parametrize("full", [False, True])
def test_topics_at_random_score_the_prior_against_its_own_diagonal(full):
    real, fresh = drawn(2000), drawn(20_000, seed=4)
    own, chance = (kind(full_expectation=full).fit(real) for kind in (LogisticNormalCritic, RandomTopicCritic))
    spreads = np.var([unit.logits for unit in real], axis=0)
    spreads = spreads + np.mean([unit.variances for unit in real], axis=0) if full else spreads
    constant = negative_log_density(own.mean, own.mean, own.precision)
    wanted = constant + 0.5 * float(spreads @ np.diag(own.precision))
    found = chance.score(chance.tally(fresh))
    assert found == pytest.approx(wanted, rel=0.01)  # three standard errors
    assert found > own.score(own.tally(fresh)) + 0.5


def test_topics_at_random_are_described_by_what_was_drawn():
    units = [replace(unit, text="words") for unit in drawn(800)]
    critic = RandomTopicCritic().fit(units)
    described = critic.describe(units)
    covariance = np.array(described["covariance_of_means"])
    held = covariance_of_means(units)
    np.testing.assert_allclose(np.diag(covariance), np.diag(held), rtol=0.2)
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 0.3 < np.abs(np.tril(held, -1)).max()
    assert "outlier_texts" not in described
    with pytest.raises(BadInput, match="call fit"):
        RandomTopicCritic().judged(units)


def test_documents_without_known_words_are_excluded_and_counted():
    units = drawn(20)
    lost = TopicReading("lost", "test", np.zeros(3), np.zeros(3), 0, valid=False)
    critic = LogisticNormalCritic().fit([*units, lost])
    clean = LogisticNormalCritic().fit(units)
    assert np.array_equal(critic.precision, clean.precision)
    tally = critic.tally([*units, lost])
    assert tally.total("excluded") == 1
    assert tally.total("documents") == 20
    assert critic.score(tally) == critic.score(critic.tally(units))
    assert "lost" not in dict(critic.outliers(tally, 30))


def test_outliers_are_the_improbable_documents_with_their_nats():
    units = drawn(50)
    far = TopicReading("far", "generated", np.full(3, 25.0), np.full(3, 0.1), 9)
    critic = LogisticNormalCritic().fit(units)
    worst = critic.outliers(critic.tally([*units, far]), 3)
    assert worst[0][0] == "far"
    assert worst[0][1] > worst[1][1] >= worst[2][1]


def test_bad_input_is_refused_by_name():
    lost = TopicReading("lost", "test", np.zeros(3), np.zeros(3), 0, valid=False)
    with pytest.raises(BadInput, match="none of 1 documents"):
        LogisticNormalCritic().fit([lost])
    flat = [TopicReading(f"u{i}", "test", np.zeros(2), np.zeros(2), 3) for i in range(5)]
    with pytest.raises(BadInput, match="singular"):
        LogisticNormalCritic().fit(flat)
    with pytest.raises(BadInput, match="not fitted"):
        LogisticNormalCritic().tally(flat)
    with pytest.raises(BadInput, match="has 2 logits, the critic was fitted on 3"):
        LogisticNormalCritic().fit(drawn(9)).tally(flat)
    with pytest.raises(BadInput, match="lacks"):
        units_from_readout(Readout(("u",), ("test",), {}))
    with pytest.raises(BadInput, match="2 or more"):
        covariance_of_means(flat[:1])
    empty = LogisticNormalCritic().fit(drawn(9))
    assert np.isnan(empty.score(empty.tally([lost])))


def test_the_shown_covariance_is_of_means():
    units = drawn(200, dims=4)
    shown = covariance_of_means(units)
    np.testing.assert_allclose(shown, np.cov(np.array([u.logits for u in units]).T, bias=True))
