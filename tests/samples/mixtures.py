"""Mixes of topics and of languages, mixes from elsewhere, and items of suites."""

from dataclasses import replace

import numpy as np

from longform.core.resampling import generator
from longform.critics.code_mixing.score import DirichletCritic, LanguageDispersion, MixtureReading
from longform.critics.mauve.score import Mauve, TextFeature
from longform.critics.surprisal.score import ReadItem, SuiteAccuracy
from longform.critics.topics.score import LogisticNormalCritic, RandomTopicCritic, TopicReading
from longform.datasets.test_suites.prediction_formulas import parse


def topic_logits(scale=1.0):
    rng = generator("topic logits")
    rows = rng.normal(size=(12, 3)) @ np.tril(np.ones((3, 3))) * scale
    spreads = rng.uniform(0.1, 0.4, (12, 3))
    pairs = zip(rows, spreads, strict=True)
    return [TopicReading(f"d{i}", "test", mean, wide, 20, valid=i != 4) for i, (mean, wide) in enumerate(pairs)]


def logistic_normal():
    return LogisticNormalCritic(full_expectation=True), topic_logits(), topic_logits(scale=3.0)


def random_topics():
    other = [replace(unit, unit_id=f"other {unit.unit_id}") for unit in topic_logits()]
    return RandomTopicCritic(), topic_logits(), other


def mixes(pure=True):
    rng = generator("language mixes")
    made = []
    for i in range(10):
        posterior = np.full(3, 0.2) + (np.eye(3)[i % 3] * 9 if pure else 3)
        made.append(MixtureReading(f"d{i}", "test", rng.dirichlet(posterior), posterior, valid=i != 2))
    return made


def dirichlet():
    return DirichletCritic(), mixes(), mixes(pure=False)


def dispersion():
    return LanguageDispersion(), mixes(), mixes(pure=False)


def text_features(shift=0.0):
    rng = generator("text features", shift)
    points = rng.normal(size=(60, 6)) + shift * np.eye(6)[0]
    return [TextFeature(f"t{i}", "test", row, valid=i != 5) for i, row in enumerate(points)]


def mauve():
    return Mauve(), text_features(), text_features(shift=3.0)


def suite_items():
    """Items of one suite, and the same with both conditions' surprisals exchanged."""
    rng = generator("suite sample")
    real, other = [], []
    for i in range(8):
        a, b = 1 + rng.random(3), (3 if i % 4 else 0) + rng.random(2)
        for kept, bits in ((real, (a, b)), (other, (b, a))):
            regions = {("a", 1): bits[0], ("b", 1): bits[1]}
            kept.append(ReadItem(f"s/{i}", "test", "s", "mean", (parse("(1;%b%) > (1;%a%)"),), regions))
    return SuiteAccuracy(), real, other


SAMPLES = {"Mauve": mauve, "LogisticNormalCritic": logistic_normal, "RandomTopicCritic": random_topics,
           "DirichletCritic": dirichlet, "LanguageDispersion": dispersion,
           "SuiteAccuracy": suite_items}  # fmt: skip
