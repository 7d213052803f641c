"""Mixes of topics and of languages, and mixes from elsewhere."""

import numpy as np

from longform.critics.dirichlet import DirichletCritic, LanguageDispersion, MixtureReading
from longform.critics.logistic_normal import LogisticNormalCritic, TopicReading
from longform.numerics import generator


def topics(shift=0.0):
    """Logits about a mean; the fifth document has no known word."""
    rng = generator("topic sample")
    rows = rng.normal(shift, 1, (12, 3))
    return [TopicReading(f"d{i}", "test", row, np.full(3, 0.2), 30, valid=i != 4) for i, row in enumerate(rows)]


def languages(weight=(20, 1, 1)):
    """Sentences mostly in one language; the fifth has no known word."""
    rng = generator("language sample")
    made = []
    for i in range(12):
        posterior = 0.5 + rng.poisson(weight)
        made.append(MixtureReading(f"s{i}", "test", rng.dirichlet(posterior), posterior, valid=i != 4))
    return made


SAMPLES = {
    "LogisticNormalCritic": lambda: (LogisticNormalCritic(full_expectation=True), topics(), topics(3.0)),
    "DirichletCritic": lambda: (DirichletCritic(), languages(), languages((8, 8, 8))),
    "LanguageDispersion": lambda: (LanguageDispersion(), languages(), languages((8, 8, 8))),
}
