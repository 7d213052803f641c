"""Checked sentences, generations and token texts, and texts as the world's grammar follows them."""

import numpy as np

from longform.critics.repetition.score import DistinctGrams, GramProportion, Repetition
from longform.critics.verifiability import checks as packing
from longform.critics.verifiability import score
from longform.critics.verifiability.checks import LABELS, CheckedGeneration, CheckedText
from longform.critics.verifiability.reliability import CheckerAccuracy
from longform.evaluation.human_study import CoherentShare, Judged
from longform.evaluation.verified_texts import GenerationMean, SentenceMean
from longform.statistics.random_streams import generator
from longform.text.rendering import TokenText
from synthetic_world.world_grammar.score import REFUSED, DerivableShare, DerivedText, FollowedShare


def checked(shift=0):
    made = []
    for i in range(10):
        draws = generator("checked", i).integers(0, 3, 1 + i % 5)
        labels = tuple(
            ("supported", "refuted", "not_enough_info")[min(draw + shift, 2)] for draw in draws
        )
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


def generated(name, labels):
    evidence = tuple(frozenset({("Page", place)}) for place in range(len(labels)))
    return CheckedText(name, "generated", tuple(labels), evidence)


def generations(worse=False):
    made = []
    for i in range(9):
        rng, name = generator("generation", i), f"g{i}"
        truth = [LABELS[k] for k in rng.integers(0, 3, i % 5 + 1)] if i != 4 else []
        said = [LABELS[2]] * len(truth) if worse else truth
        table = rng.random((len(truth), len(packing.SENTENCE_COLUMNS))) + 3 * worse
        table[:, packing.SENTENCE_COLUMNS.index("same_as")] = 0 if worse else np.arange(len(truth))
        about = rng.random(len(packing.UNIT_COLUMNS)) + worse
        tokens = TokenText(name, "generated", rng.integers(0, 9, 12), rng.integers(0, 9, 12))
        checks = (generated(name, said), generated(name, truth))
        made.append(
            CheckedGeneration(
                name, "generated", "beam", f"p{i // 2}", *checks, tokens, table, about
            )
        )
    return made


def followed(share, count=24):
    """Texts of six to nine sentences, of which a share is derived; the others are followed half way."""
    made = []
    for number in range(count):
        rng = generator("derived", share, number)
        words = rng.integers(6, 14, rng.integers(6, 10))
        good = rng.random(len(words)) < share
        frames, read = np.where(good, 3, REFUSED), np.where(good, words, words // 2)
        made.append(
            DerivedText(f"text{number}", "train" if number % 2 else "test", frames, words, read)
        )
    return made


SAMPLES = {
    "CoherentShare": lambda: (CoherentShare(), judged(4), judged(1)),
    "SupportedPerGeneration": lambda: (
        score.SupportedPerGeneration(unique=True),
        checked(),
        checked(shift=1),
    ),
    "SupportedPerVerified": lambda: (score.SupportedPerVerified(), checked(), checked(shift=1)),
    "DistinctGrams": lambda: (DistinctGrams(), texts(), texts(words=2)),
    "Repetition": lambda: (Repetition(), texts(), texts(words=2)),
    "GramProportion": lambda: (GramProportion(), texts(), texts(words=2)),
    "SentenceMean": lambda: (SentenceMean("words"), generations(), generations(worse=True)),
    "GenerationMean": lambda: (GenerationMean("tfidf"), generations(), generations(worse=True)),
    "CheckerAccuracy": lambda: (CheckerAccuracy(), generations(), generations(worse=True)),
    "DerivableShare": lambda: (DerivableShare(), followed(0.9), followed(0.3)),
    "FollowedShare": lambda: (FollowedShare(), followed(0.9), followed(0.3)),
}
