r"""Topic weights of documents and the drift of their sentences: a logistic normal, and a Brownian bridge within it.

A document's main idea is $\eta \sim N(\mu, \Sigma)$ with $\Sigma$ in blocks, the last topic's logit being zero
(deng2022 section 5.2). Its sentences' logits follow a Brownian bridge from $\eta$ back to $\eta$ with variance
$\sigma_m^2 (i-1)(T-i)/(T-1)$ per dimension at sentence $i$ of $T$ (sheng2024 equations 1-3, canonical indices);
a sentence's one topic is drawn from the softmax of its logits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class TopicPrior:
    """Logistic-normal prior and bridge of one domain.

    Attributes:
        topics: number of topics, one more than the free logits.
        block: topics of a block share ``correlation``; other pairs are independent.
        variance: of each logit over documents.
        sigma_m2: variance of the bridge per sentence step.
    """

    topics: int
    block: int = 3
    variance: float = 2.5
    correlation: float = 0.6
    sigma_m2: float = 0.05

    @cached_property
    def mean(self) -> np.ndarray:
        """Prior mean of the free logits: float64, (topics - 1,)."""
        return np.linspace(0.5, -0.5, self.topics - 1)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Prior covariance: float64, (topics - 1, topics - 1), in blocks."""
        blocks = np.arange(self.topics - 1) // self.block
        same = blocks[:, None] == blocks[None, :]
        return self.variance * np.where(same, self.correlation + (1 - self.correlation) * np.eye(len(blocks)), 0.0)

    @cached_property
    def _factor(self) -> np.ndarray:
        return np.linalg.cholesky(self.covariance)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One document's main idea: float64, (topics - 1,)."""
        return self.mean + (self._factor * rng.standard_normal(self.topics - 1)).sum(axis=1)

    def path(self, eta: np.ndarray, sentences: int, rng: np.random.Generator) -> np.ndarray:
        """A bridge from ``eta`` to ``eta``: float64, (sentences, topics - 1)."""
        steps = rng.standard_normal((sentences, self.topics - 1)) * math.sqrt(self.sigma_m2)
        steps[0] = 0.0
        walk = np.cumsum(steps, axis=0)
        time = np.arange(sentences)[:, None] / max(sentences - 1, 1)
        return eta + walk - time * walk[-1]

    def weights(self, logits: np.ndarray) -> np.ndarray:
        """Topic proportions: float64, (rows, topics); the last topic's logit is zero."""
        full = np.concatenate([logits, np.zeros((len(logits), 1))], axis=1)
        full = np.exp(full - full.max(axis=1, keepdims=True))
        return full / full.sum(axis=1, keepdims=True)

    def assign(self, logits: np.ndarray, rng: np.random.Generator) -> list[int]:
        """One topic per row of logits."""
        cumulative = np.cumsum(self.weights(logits), axis=1)
        cumulative[:, -1] = 1.0
        return np.argmax(rng.random((len(logits), 1)) < cumulative, axis=1).tolist()

    def latent_nll(self) -> float:
        r"""Expected $-\log N(\eta; \mu, \Sigma)$ in nats: $\frac{K-1}{2}(1 + \log 2\pi) + \frac12 \log|\Sigma|$."""
        size = self.topics - 1
        return 0.5 * size * (1 + math.log(2 * math.pi)) + 0.5 * float(np.linalg.slogdet(self.covariance)[1])

    def expected_variance_estimate(self) -> float:
        r"""Expected printed estimate of $\sigma_m^2$ (sheng2024 section 4): $n\sigma_m^2/2$ for $n$ dimensions.

        Each $\beta_i = \lVert s_i - \mu_i \rVert^2 / (2 v_i)$ has expectation $n \sigma_m^2 / 2$.
        """
        return 0.5 * (self.topics - 1) * self.sigma_m2

    def expected_bridge_score(self, sentences: Sequence[int]) -> float:
        r"""Expected mean BBScore (lower is more coherent) of gold paths with these sentence counts.

        With $\hat\sigma^2$ at its expectation the mean of $\beta_i/\hat\sigma^2$ is one; the sum inside the absolute
        value is taken as positive, which holds when the mean of $\log(2\pi v_i \hat\sigma^2)$ exceeds minus one.
        """
        sigma, means = self.expected_variance_estimate(), []
        for count in sentences:
            inner = np.arange(1, count - 1)
            variances = inner * (count - 1 - inner) / (count - 1)
            means.append(1.0 + np.log(2 * np.pi * variances * sigma).mean())
        return float(np.mean(means))
