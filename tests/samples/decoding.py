"""Checked generations, better and worse."""

import numpy as np

from longform.core.resampling import generator
from longform.core.text.rendering import TokenText
from longform.critics.verifiability.reliability import CheckerAccuracy
from longform.critics.verifiability.score import LABELS, SENTENCE_COLUMNS, UNIT_COLUMNS, CheckedGeneration, CheckedText
from longform.evaluation.verified_texts import GenerationMean, SentenceMean


def checked(name, split, labels):
    evidence = tuple(frozenset({("Page", place)}) for place in range(len(labels)))
    return CheckedText(name, split, tuple(labels), evidence)


def generations(worse=False):
    made = []
    for i in range(9):
        rng, name = generator("generation", i), f"g{i}"
        truth = [LABELS[k] for k in rng.integers(0, 3, i % 5 + 1)] if i != 4 else []
        said = [LABELS[2]] * len(truth) if worse else truth
        table = rng.random((len(truth), len(SENTENCE_COLUMNS))) + 3 * worse
        table[:, SENTENCE_COLUMNS.index("same_as")] = 0 if worse else np.arange(len(truth))
        about = rng.random(len(UNIT_COLUMNS)) + worse
        tokens = TokenText(name, "generated", rng.integers(0, 9, 12), rng.integers(0, 9, 12))
        checks = (checked(name, "generated", said), checked(name, "generated", truth))
        made.append(CheckedGeneration(name, "generated", "beam", f"p{i // 2}", *checks, tokens, table, about))
    return made


SAMPLES = {
    "SentenceMean": lambda: (SentenceMean("words"), generations(), generations(worse=True)),
    "GenerationMean": lambda: (GenerationMean("tfidf"), generations(), generations(worse=True)),
    "CheckerAccuracy": lambda: (CheckerAccuracy(), generations(), generations(worse=True)),
}
