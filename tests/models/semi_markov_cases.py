"""Small semi-Markov models and the enumeration that they are checked against."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.ngrams import build_ngrams


def random_case(seed: int, *, states: int = 3, duration: int = 3, cap: int = 9, dtype: str = "float64"):
    """A random model over three letters, with n-grams missing, and texts of different lengths that it explains."""
    draw = np.random.default_rng(seed)
    texts = [["abc"[i] for i in draw.integers(0, 3, length)] for length in (7, 1, 4, 6, 2, 7)]
    encoded = [np.array(["abc".index(t) for t in text]) for text in texts]
    ngrams = build_ngrams(encoded, tokens="abc", max_duration=duration, cap=cap)
    transitions = draw.dirichlet(np.ones(states), states).astype(dtype)
    joint = np.ascontiguousarray(draw.dirichlet(np.ones(ngrams.rows), states).T.astype(dtype))
    return SemiMarkovLM(ngrams, transitions, joint), texts


def paths(model: SemiMarkovLM, text: list[str]) -> Iterator[tuple[float, tuple[tuple[int, int, int], ...]]]:
    """Every (probability, segments) of a text, a segment being (start, duration, state)."""
    index = {model.ngrams.text(row): row for row in range(model.ngrams.rows)}

    def extend(start: int, state: int, probability: float, path: tuple):
        if start == len(text):
            yield probability, path
        for duration in range(1, min(model.max_duration, len(text) - start) + 1):
            row = index.get(tuple(text[start : start + duration]))
            if row is not None:
                for z in range(model.num_states):
                    step = float(model.transitions[state, z]) * float(model.joint[row, z])
                    yield from extend(start + duration, z, probability * step, (*path, (start, duration, z)))

    return extend(0, 0, 1.0, ())


def enumerated_log_likelihood(model: SemiMarkovLM, text: list[str]) -> float:
    """log of the sum over every path."""
    return float(np.log(sum(probability for probability, _ in paths(model, text))))


def bursts(seed: int, *, texts: int = 40, segments: int = 12) -> list[list[str]]:
    """A tiny language with known structure: two moods, three words each, words of two or three tokens."""
    draw = np.random.default_rng(seed)
    words = (("ab", "cab", "ba"), ("dd", "edc", "ce"))
    out = []
    for _ in range(texts):
        mood, tokens = 0, []
        for _ in range(segments):
            mood = mood if draw.random() < 0.8 else 1 - mood
            tokens += list(words[mood][draw.integers(3)])
        out.append(tokens)
    return out
