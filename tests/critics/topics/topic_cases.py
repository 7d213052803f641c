"""Small topic models, and counts drawn from known ones."""

import numpy as np
from scipy.special import logsumexp

from longform.core.resampling import generator
from longform.critics.topics.model import TopicModel, from_rows, inverse


def small_model(seed: int, topics: int = 3, terms: int = 5) -> TopicModel:
    rng = generator("topic test model", seed, topics, terms)
    root = rng.normal(size=(topics - 1, topics - 1))
    covariance = root @ root.T + 0.3 * np.eye(topics - 1)
    beta = rng.dirichlet(np.full(terms, 0.4), topics)
    return TopicModel((), beta, rng.normal(size=topics - 1), covariance, inverse(covariance))


def simulated(documents: int, seed: int = 0, length: int = 250):
    """Counts from a known model: six topics in two blocks that rise and fall together, ten words of its own each."""
    rng = generator("simulated topics", seed)
    block = np.kron(np.eye(2), np.full((3, 3), 1.5)) + np.eye(6)
    beta = np.kron(np.eye(6), np.full((1, 10), 0.09)) + 0.1 / 60
    logits = rng.multivariate_normal(np.zeros(6), block, documents)
    shares = np.exp(logits - logsumexp(logits, axis=1)[:, None])
    words = [rng.multinomial(length, share @ beta) for share in shares]
    return from_rows([(np.flatnonzero(w), w[w > 0].astype(float)) for w in words], 60), block, beta, shares
