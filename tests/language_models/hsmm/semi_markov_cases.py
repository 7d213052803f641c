"""Small semi-Markov models and the enumeration that they are checked against."""

from collections.abc import Iterator

import numpy as np

from longform.hsmm.compiled import Expectation
from longform.hsmm.model import SemiMarkovLM, build_ngrams


def random_case(seed: int, *, dtype: str = "float64"):
    """A random model of three states over three letters, with n-grams missing, and texts that it explains."""
    draw = np.random.default_rng(seed)
    texts = [["abc"[i] for i in draw.integers(0, 3, length)] for length in (7, 1, 4, 6, 2, 7)]
    ngrams = build_ngrams(texts, max_duration=3, max_ngrams=9)
    transitions = draw.dirichlet(np.ones(3), 3).astype(dtype)
    joint = np.ascontiguousarray(draw.dirichlet(np.ones(ngrams.rows), 3).T.astype(dtype))
    return SemiMarkovLM(ngrams, transitions, joint), texts


def without_unigrams(model: SemiMarkovLM) -> SemiMarkovLM:
    """The model with no segment of one token, so that a text of one token has probability zero."""
    joint = model.joint.copy()
    joint[: model.ngrams.starts[1]] = 0
    return SemiMarkovLM(model.ngrams, model.transitions, joint)


def lost_in_float32(model: SemiMarkovLM) -> SemiMarkovLM:
    """A model in float64 whose long segments, at 1e-29, are lost to float32; state 0 cannot write b alone."""
    joint = np.full_like(model.joint, 1e-29)
    joint[: model.ngrams.starts[1]] = model.joint[: model.ngrams.starts[1]]
    joint[model.ngrams.encode(["b"])[0]] = [0.0, 0.5, 0.5]
    return SemiMarkovLM(model.ngrams, np.eye(3), joint)


def steep(model: SemiMarkovLM) -> SemiMarkovLM:
    """The model with rows that lie 28 orders of magnitude apart."""
    factors = np.array([1e-28, 1.0, 1e-14])[np.arange(model.ngrams.rows) % 3, None]
    return SemiMarkovLM(
        model.ngrams, model.transitions, (factors * model.joint).astype(model.joint.dtype)
    )


def paths(
    model: SemiMarkovLM, text: list[str]
) -> Iterator[tuple[float, tuple[tuple[int, int, int], ...]]]:
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
                    yield from extend(
                        start + duration, z, probability * step, (*path, (start, duration, z))
                    )

    return extend(0, 0, 1.0, ())


def close(found: Expectation, want: Expectation, **near: float) -> None:
    """The expected counts are equal, or nearly so."""
    np.testing.assert_allclose(found.segments, want.segments, **near)
    np.testing.assert_allclose(found.transitions, want.transitions, **near)


def durations(model: SemiMarkovLM) -> np.ndarray:
    """P(duration | state), (K, C)."""
    lengths = model.ngrams.durations[:, None] == np.arange(1, model.max_duration + 1)
    return lengths.T @ model.joint.astype(np.float64)


def enumerated_log_likelihood(model: SemiMarkovLM, text: list[str]) -> float:
    return float(np.log(sum(probability for probability, _ in paths(model, text))))


WORDS = (("ab", "cab", "ba"), ("dd", "edc", "ce"))


def bursts(seed: int, *, texts: int = 40, segments: int = 12) -> list[list[str]]:
    """A tiny language with known structure: two moods, three words each, words of two or three tokens."""
    draw = np.random.default_rng(seed)
    out = []
    for _ in range(texts):
        mood, tokens = 0, []
        for _ in range(segments):
            mood = mood if draw.random() < 0.8 else 1 - mood
            tokens += list(WORDS[mood][draw.integers(3)])
        out.append(tokens)
    return out
