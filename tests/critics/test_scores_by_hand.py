"""Scores of topics and MAUVE on two or three small vectors, worked out by hand."""

import math

import numpy as np
import pytest

from longform.critics.mauve import score as mauve
from longform.critics.topics import own_texts
from longform.critics.topics.model import TopicModel
from longform.critics.topics.score import TopicPosterior, Topics
from longform.statistics.sufficient_statistics import sums_of
from tests.refusals import refuses

# Precision ((.5, -.5), (-.5, 1)), of determinant 1/4, and mean (1, 0)
COVARIANCE = np.array([[4.0, 2.0], [2.0, 2.0]])
CONSTANT = math.log(2 * math.pi) + math.log(2.0)


def posterior(name, logits, variances=(0.5, 0.25), **more):
    return TopicPosterior(name, "test", np.array(logits), np.array(variances), 3, **more)


FIRST = posterior("a", [2.0, 2.0])
UNKNOWN = posterior("b", [9.0, 9.0], valid=False)
AT_MEAN = posterior("c", [1.0, 0.0])


def prior(**settings):
    return Topics(**settings).with_prior(np.array([1.0, 0.0]), COVARIANCE)


@pytest.mark.parametrize(("full", "nats"), [(False, 1.25), (True, 1.5)])
def test_topic_nats_are_a_gaussian_density_and_the_spread(full, nats):
    critic = prior(full_expectation=full)
    found = critic.sufficient_statistics([FIRST, UNKNOWN, AT_MEAN])
    expected = [[1.25 + CONSTANT, 0.25, 1, 3, 0], [0, 0, 0, 0, 1], [CONSTANT, 0.25, 1, 3, 0]]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    mean = (nats + (0.25 if full else 0.0)) / 2 + CONSTANT
    assert critic.of_sums(sums_of(found)) == pytest.approx(mean, rel=1e-12)
    of_spread = np.array([0.125, 0.125]) if full else np.zeros(2)
    first, unknown, at_mean = critic.part_values([FIRST, UNKNOWN, AT_MEAN])
    np.testing.assert_allclose(first, np.array([-0.25, 1.5]) + CONSTANT / 2 + of_spread)
    np.testing.assert_allclose(at_mean, CONSTANT / 2 + of_spread)
    assert unknown.shape == (0,)
    columns = ("nats_at_mean", "nats_of_spread")
    assert critic.attributed == (columns if full else columns[:1])
    refuses("has 1 logits", critic.sufficient_statistics, [posterior("d", [1.0], [1.0])])


def test_a_topic_model_is_fitted_with_the_critics_topics_and_seed(monkeypatch):
    monkeypatch.setattr(own_texts, "fitted_model", lambda *given: given)
    assert Topics(topics=7, seed=9).prepare(["text"]).model == (["text"], 7, 9)


def test_topics_are_named_by_their_three_likeliest_words():
    beta = np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.3, 0.2], [0.7, 0.1, 0.1, 0.1]])
    two = np.eye(2)
    model = TopicModel(("a", "b", "c", "d"), beta, np.zeros(2), two, two)
    assert Topics(model=model).part_names(np.zeros(2)) == ["d c b", "c a b"]
    assert Topics().part_names(np.zeros(2)) == ["topic 1", "topic 2"]
    refuses("not fitted yet", Topics().read_texts, [])


def test_areas_of_many_histograms_are_those_of_each():
    real = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    generated = np.array([[0.25, 0.25, 0.5], [0.2, 0.3, 0.5]])
    curve = mauve.divergence_curve(real, generated)
    assert curve.shape == (2, mauve.MIXTURES + 2, 2) and curve.dtype == np.float64
    assert curve[0, 0].tolist() == [1, 0] and curve[0, -1].tolist() == [0, 1]
    # the middle mixture is half of each
    half = (real[0] + generated[0]) / 2
    p, q = generated[0], real[0]
    of_p = sum(x * math.log(x / y) for x, y in zip(p, half, strict=True))
    of_q = sum(x * math.log(x / y) for x, y in zip(q, half, strict=True) if x)
    assert curve[0, 13] == pytest.approx([math.exp(-5 * of_p), math.exp(-5 * of_q)])
    areas = mauve.area(real, generated)
    assert areas[1] == pytest.approx(1.0) and areas[0] == pytest.approx(
        float(mauve.area(real[0], generated[0]))
    )
    assert mauve.area(real[0], generated).tolist()[0] == pytest.approx(areas[0])
    assert mauve.area(np.array([1, 0]), np.array([0, 1])) == pytest.approx(0.0, abs=1e-2)
