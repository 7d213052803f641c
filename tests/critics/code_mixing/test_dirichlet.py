"""The code-mixing critic against SciPy, Monte Carlo and its own maximum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import dirichlet

from longform.core.critic import estimate
from longform.core.documents import BadInput, Readout
from longform.core.resampling import generator
from longform.critics.code_mixing.score import (
    DirichletCritic,
    LanguageDispersion,
    MixtureReading,
    dirichlet_from_logs,
    expected_logs,
    inverse_digamma,
    units_from_readout,
)

ALPHA = np.array([0.4, 0.7, 1.5])


def sentences(counts: np.ndarray, alpha: np.ndarray = ALPHA) -> list[MixtureReading]:
    rng = generator("mixtures", len(counts))
    rows = alpha + np.asarray(counts, float)
    return [MixtureReading(f"u{i}", "test", rng.dirichlet(row), row) for i, row in enumerate(rows)]


def test_the_score_is_the_expectation_of_the_dirichlet_density():
    unit = sentences(np.array([[3, 1, 6]]))[0]
    critic = DirichletCritic().with_prior(ALPHA)
    draws = generator("draws of a mix").dirichlet(unit.posterior, 20_000)
    values = -dirichlet.logpdf(draws.T, ALPHA)
    score = critic.score(critic.tally([unit]))
    assert score == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(20_000))


def test_a_flat_prior_scores_every_sentence_alike():
    critic = DirichletCritic().with_prior(np.ones(3))
    column = critic.tally(sentences(np.array([[9, 0, 0], [3, 3, 3]]))).column("nats")
    np.testing.assert_allclose(column, -np.log(2.0))


def test_the_fit_has_the_expected_logs_of_real_sentences_and_is_best():
    counts = generator("counts of languages").multinomial(8, [0.8, 0.1, 0.1], size=40)
    real = sentences(counts)
    critic = DirichletCritic().fit(real)
    means = expected_logs(np.array([unit.posterior for unit in real])).mean(axis=0)
    np.testing.assert_allclose(digamma(critic.alpha) - digamma(critic.alpha.sum()), means, atol=1e-8)
    best = critic.score(critic.tally(real))
    for factor in ([1.1, 1, 1], [1, 0.9, 1], [1, 1, 1.05]):
        other = critic.with_prior(critic.alpha * factor)
        assert other.score(other.tally(real)) > best


def test_the_fixed_point_finds_known_parameters():
    np.testing.assert_allclose(dirichlet_from_logs(expected_logs(ALPHA)), ALPHA, rtol=1e-6)
    points = np.array([1e-3, 0.2, 1.0, 7.0, 300.0])
    np.testing.assert_allclose(inverse_digamma(digamma(points)), points, rtol=1e-9)


def test_mixed_sentences_score_worse_under_a_prior_of_pure_ones():
    critic = DirichletCritic().with_prior(np.full(3, 0.05))
    pure = sentences(np.array([[12, 0, 0], [0, 12, 0]]), np.full(3, 0.05))
    mixed = sentences(np.array([[4, 4, 4], [6, 3, 3]]), np.full(3, 0.05))
    assert critic.score(critic.tally(mixed)) > critic.score(critic.tally(pure)) + 3


def test_dispersion_is_zero_in_corners_and_two_thirds_at_the_centre():
    corner = MixtureReading("a", "test", np.array([1.0, 0, 0]), ALPHA)
    centre = MixtureReading("b", "test", np.full(3, 1 / 3), ALPHA)
    lost = MixtureReading("c", "test", np.zeros(3), ALPHA, valid=False)
    metric = LanguageDispersion()
    tally = metric.tally([corner, centre, lost])
    np.testing.assert_allclose(tally.column("dispersion"), [0, 2 / 3, 0])
    assert metric.score(tally) == pytest.approx(1 / 3)
    assert LanguageDispersion(corners=True).score(tally) == 0.5
    assert estimate(metric, tally, generator("dispersion"), 20).excluded == 1
    assert metric.fit([corner]) is metric


def test_bad_input_is_refused_by_name():
    lost = MixtureReading("c", "test", np.zeros(3), ALPHA, valid=False)
    with pytest.raises(BadInput, match="none of 1 sentences"):
        DirichletCritic().fit([lost])
    with pytest.raises(BadInput, match="not fitted"):
        DirichletCritic().tally([lost])
    with pytest.raises(BadInput, match="positive numbers"):
        DirichletCritic().with_prior(np.array([1.0, 0.0]))
    with pytest.raises(BadInput, match="mixes 3 languages, the critic knows 2"):
        DirichletCritic().with_prior(np.ones(2)).tally(sentences(np.array([[1, 1, 1]])))
    with pytest.raises(BadInput, match="lacks"):
        units_from_readout(Readout(("u",), ("test",), {}))
    with pytest.raises(BadInput, match="finite negative"):
        dirichlet_from_logs(np.array([-1.0, 0.0]))
    critic = DirichletCritic().with_prior(ALPHA)
    assert critic.tally([lost]).total("excluded") == 1
    assert np.isnan(critic.score(critic.tally([lost])))
