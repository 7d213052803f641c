"""Mixes of topics and of languages, mixes from elsewhere, items of suites; sentences on Brownian bridges, and the same in disorder."""

from dataclasses import replace

import numpy as np

from longform.critics.bbscore.bridge import path
from longform.critics.bbscore.score import BBScore, JointBridge
from longform.critics.code_mixing.score import CodeMixing, LanguageDispersion, MixtureReading
from longform.critics.mauve.score import Mauve, TextFeature
from longform.critics.order_and_repetition.score import OrderAndRepetition, TextMeasures
from longform.critics.surprisal.score import ReadItem, SuiteAccuracy
from longform.critics.topics.score import RandomTopicCritic, TopicPosterior, Topics
from longform.datasets.test_suites.prediction_formulas import parse
from longform.statistics.random_streams import generator
from tests.oracles.bridge_loops import bridges


def topic_logits(scale=1.0):
    rng = generator("topic logits")
    rows = rng.normal(size=(12, 3)) @ np.tril(np.ones((3, 3))) * scale
    spreads = rng.uniform(0.1, 0.4, (12, 3))
    pairs = zip(rows, spreads, strict=True)
    return [
        TopicPosterior(f"d{i}", "test", mean, wide, 20, valid=i != 4)
        for i, (mean, wide) in enumerate(pairs)
    ]


def random_topics():
    other = [replace(unit, unit_id=f"other {unit.unit_id}") for unit in topic_logits()]
    return RandomTopicCritic(), topic_logits(), other


def mixes(pure=True):
    rng = generator("language mixes")
    made = []
    for i in range(10):
        posterior = np.full(3, 0.2) + (np.eye(3)[i % 3] * 9 if pure else 3)
        made.append(
            MixtureReading(f"d{i}", "test", rng.dirichlet(posterior), posterior, valid=i != 2)
        )
    return made


def text_features(shift=0.0):
    rng = generator("text features", shift)
    points = rng.normal(size=(60, 6)) + shift * np.eye(6)[0]
    return [TextFeature(f"t{i}", "test", row, valid=i != 5) for i, row in enumerate(points)]


def paths(count=12, noise=0.1, seed=0):
    """Paths of fourteen sentences that climb, so that even neighbours have an order; the fifth is too short for any."""
    climb = np.arange(14.0)[:, None] * np.ones(3)
    drawn = (
        climb
        + bridges(count, 14, 3, 0.1, seed)
        + noise * generator("noise", seed).normal(size=(count, 14, 3))
    )
    return [path(z[:2] if i == 4 else z, f"d{i}") for i, z in enumerate(drawn)]


def suite_items():
    """Items of one suite, and the same with both conditions' surprisals exchanged."""
    rng = generator("suite sample")
    real, other = [], []
    for i in range(8):
        a, b = 1 + rng.random(3), (3 if i % 4 else 0) + rng.random(2)
        for kept, bits in ((real, (a, b)), (other, (b, a))):
            regions = {("a", 1): bits[0], ("b", 1): bits[1]}
            kept.append(
                ReadItem(f"s/{i}", "test", "s", "mean", (parse("(1;%b%) > (1;%a%)"),), regions)
            )
    return SuiteAccuracy(), real, other


def disordered(units):
    """The sentences of each document in random order."""
    orders = [generator("disorder", unit.unit_id).permutation(len(unit.latents)) for unit in units]
    return [
        replace(unit, latents=unit.latents[order])
        for unit, order in zip(units, orders, strict=True)
    ]


def text_measures(better=0.0):
    """Measures of twelve texts, one of which has none."""
    values = generator("text measures").normal(better, 1, (12, 4))
    values[4] = np.nan
    return [TextMeasures(f"d{i}", "test", *row.tolist()) for i, row in enumerate(values)]


SAMPLES = {
    "OrderAndRepetition": lambda: (
        OrderAndRepetition(),
        text_measures(),
        text_measures(better=-1.0),
    ),
    "Mauve": lambda: (Mauve(), text_features(), text_features(shift=3.0)),
    "Topics": lambda: (Topics(full_expectation=True), topic_logits(), topic_logits(3.0)),
    "RandomTopicCritic": random_topics,
    "CodeMixing": lambda: (CodeMixing(), mixes(), mixes(pure=False)),
    "LanguageDispersion": lambda: (LanguageDispersion(), mixes(), mixes(pure=False)),
    "SuiteAccuracy": suite_items,
    "BBScore": lambda: (BBScore(), paths(), disordered(paths())),
    "JointBridge": lambda: (JointBridge(), paths(), disordered(paths())),
}
