"""Articles with gold titles, titles as a noisy reader finds them, and the reader's posterior."""

from dataclasses import replace
from functools import partial

import numpy as np

from longform.critics.section_order import classifier_errors, posterior, score
from longform.critics.section_order.score import TitledArticle
from longform.statistics.random_streams import generator

TITLES = ("abstract", "career", "history", "people")
CHAIN = np.array([[0.9, 0.0, 0.1, 0.0, 0.0],  # begin, then each title; to each title, then the end
                  [0.0, 0.5, 0.4, 0.0, 0.1],
                  [0.0, 0.0, 0.2, 0.6, 0.2],
                  [0.0, 0.3, 0.0, 0.6, 0.1],
                  [0.0, 0.2, 0.0, 0.0, 0.8]])  # fmt: skip


def channel(error):
    """The reader confuses each title with the next one."""
    return (1 - error) * np.eye(4) + error * np.roll(np.eye(4), 1, axis=1)


def drawn(rng, shares):
    """What ``rng.choice`` draws, ten times as fast."""
    return int((shares.cumsum() / shares.sum()).searchsorted(rng.random(), side="right"))


def article(rng, number, split="test", error=0.0, transitions=CHAIN):
    gold, row = [], 0
    while (step := drawn(rng, transitions[row])) < 4:
        gold.append(step)
        row = step + 1
    gold = gold or [0]
    noisy = channel(error)
    predicted = [drawn(rng, noisy[z]) for z in gold]
    # the exact posterior of a reader that knows its channel and the shares of the titles, all equal
    log_posterior = np.log(
        (noisy[:, predicted] + 1e-6) / (noisy[:, predicted] + 1e-6).sum(axis=0)
    ).T
    symbols, titles = (tuple(TITLES[z] for z in chain) for chain in (predicted, gold))
    confidence = np.exp(log_posterior.max(axis=1))
    return TitledArticle(f"{split}-{number}", split, symbols, gold=titles, log_posterior=log_posterior,
                         title_names=TITLES, confidence=confidence)  # fmt: skip


def articles(count, name, split="test", error=0.0, transitions=CHAIN):
    rng = generator("titled", name, split)
    return [article(rng, i, split, error, transitions) for i in range(count)]


def pair(critic, error=0.05):
    real = articles(40, "real", error=error)
    real[7] = replace(real[7], symbols=(), gold=(), log_posterior=np.zeros((0, 4)), valid=False)
    return critic, real, articles(40, "worse", transitions=np.full((5, 5), 0.2))


def corrected():
    counts = classifier_errors.confusion(articles(60, "validation", "validation", 0.1), TITLES)
    return pair(
        classifier_errors.CorrectedTitleCritic(confusion_names=TITLES, confusion_counts=counts)
    )


def read(critic):
    real = articles(40, "real", error=0.05)
    real[7] = replace(real[7], gold=(None,) * len(real[7].gold))
    return (
        critic,
        real,
        [
            replace(unit, symbols=unit.symbols[::-1], confidence=unit.confidence**0.1)
            for unit in real
        ],
    )


PAIRS = {score: ("SectionOrder", "GoldTitleCritic", "RandomTitleCritic"),
         posterior: ("ExpectedTitleCritic", "LikelihoodTerm", "EntropyTerm", "ChainEntropy")}  # fmt: skip
SAMPLES = {
    name: partial(pair, getattr(module, name)())
    for module, names in PAIRS.items()
    for name in names
}
SAMPLES |= {
    name: partial(read, getattr(classifier_errors, name)())
    for name in ("CalibrationError", "TitleAccuracy")
}
SAMPLES |= {"CorrectedTitleCritic": corrected}
