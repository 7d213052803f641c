"""Checked sentences and token texts."""

import numpy as np

from longform.core.resampling import generator
from longform.core.text.rendering import TokenText
from longform.critics.repetition.score import DistinctGrams, GramProportion, RepeatedGrams
from longform.critics.verifiability.score import CheckedText, SupportedPerGeneration, SupportedPerVerified
from longform.evaluation.human_study import CoherentShare, Judged


def checked(shift=0):
    made = []
    for i in range(10):
        draws = generator("checked", i).integers(0, 3, 1 + i % 5)
        labels = tuple(("supported", "refuted", "not_enough_info")[min(draw + shift, 2)] for draw in draws)
        labels = ("refuted", *labels) if i != 4 else ("not_enough_info",)
        evidence = tuple(frozenset({("Page", int(j % 3))}) for j in range(len(labels)))
        made.append(CheckedText(f"g{i}", "generated", labels, evidence))
    return made


def texts(words=30):
    made = []
    for i in range(9):
        rng = generator("texts", i)
        reference = rng.integers(0, 50, 40) if i != 3 else np.zeros(0, np.int64)
        made.append(TokenText(f"g{i}", "generated", rng.integers(0, words, 40 - i), reference))
    return made


def judged(coherent):
    made = []
    for i in range(10):
        votes = {f"p{j}": (i + j) % 5 < coherent for j in range(3)}
        labels = {name: ("a", "b") if vote else ("b", "a") for name, vote in votes.items()}
        kept = votes if i != 4 else {}
        made.append(Judged(f"d{i}", "lm", "test", kept, labels if kept else {}))
    return made


SAMPLES = {
    "CoherentShare": lambda: (CoherentShare(), judged(4), judged(1)),
    "SupportedPerGeneration": lambda: (SupportedPerGeneration(unique=True), checked(), checked(shift=1)),
    "SupportedPerVerified": lambda: (SupportedPerVerified(), checked(), checked(shift=1)),
    "DistinctGrams": lambda: (DistinctGrams(), texts(), texts(words=2)),
    "RepeatedGrams": lambda: (RepeatedGrams(), texts(), texts(words=2)),
    "GramProportion": lambda: (GramProportion(), texts(), texts(words=2)),
}
