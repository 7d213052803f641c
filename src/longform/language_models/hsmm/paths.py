"""Single best segmentation and random texts of a hidden semi-Markov language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from longform.documents import BadInput

if TYPE_CHECKING:
    from longform.language_models.hsmm.lm import SemiMarkovLM


@dataclass(frozen=True)
class Segmentation:
    """One path through the model: states, n-gram rows and lengths of its segments, each (M,)."""

    states: np.ndarray
    rows: np.ndarray
    durations: np.ndarray
    log_probability: float


def viterbi(model: SemiMarkovLM, sequence: Sequence | np.ndarray) -> Segmentation:
    """The most probable states and segmentation of one sequence, jointly; ties go to the lower state, then length.

    Raises:
        BadInput: no segmentation has positive probability.
    """
    index = model.ngrams.index(model.ngrams.encode(sequence))
    with np.errstate(divide="ignore"):
        transitions = np.log(model.transitions.astype(np.float64))
    length, states = len(index), model.num_states
    best = np.full((length + 1, states), -np.inf)
    best[0, 0] = 0.0
    entered = np.full((length + 1, states), -np.inf)
    came, spent = np.zeros((length + 1, states), np.int64), np.zeros((length + 1, states), np.int64)
    for t in range(length + 1):
        if t:
            best[t], spent[t] = _best_segment(model, index, entered, t)
        moves = best[t][:, None] + transitions
        came[t], entered[t] = moves.argmax(axis=0), moves.max(axis=0)
    if not np.isfinite(best[length].max()):
        raise BadInput("viterbi: got a sequence of probability 0, allowed is one that the model explains; smooth it")
    return _trace(index, best, came, spent)


def _best_segment(model: SemiMarkovLM, index: np.ndarray, entered: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
    scores = np.full((min(t, model.max_duration), model.num_states), -np.inf)
    with np.errstate(divide="ignore"):
        for k in range(1, len(scores) + 1):
            if index[t - k, k - 1] >= 0:
                scores[k - 1] = entered[t - k] + np.log(model.joint[index[t - k, k - 1]].astype(np.float64))
    return scores.max(axis=0), scores.argmax(axis=0) + 1


def _trace(index: np.ndarray, best: np.ndarray, came: np.ndarray, spent: np.ndarray) -> Segmentation:
    t, path = len(index), []
    state = int(best[t].argmax())
    score = float(best[t, state])
    while t > 0:
        k = int(spent[t, state])
        t -= k
        path.append((state, int(index[t, k - 1]), k))
        state = int(came[t, state])
    states, rows, durations = (np.array(column, dtype=np.int64) for column in zip(*reversed(path), strict=True))
    return Segmentation(states, rows, durations, score)


def draw(model: SemiMarkovLM, num_segments: int, generators: Sequence[np.random.Generator]) -> list[Segmentation]:
    """Draw one text per generator, each of exactly ``num_segments`` segments (50 in deng2022).

    States do not depend on what is emitted, so all paths are drawn first, then the n-grams of one state
    at a time, duration and wording together. A text depends on its own generator only, never on the batch.
    """
    uniforms = np.stack([rng.random((2, num_segments)) for rng in generators])
    states = _chains(np.cumsum(model.transitions, axis=1, dtype=np.float64), uniforms[:, 0])
    rows, scores = np.empty_like(states), np.empty(states.shape)
    for state in np.unique(states):
        here = states == state
        column = model.joint[:, state].astype(np.float64)
        rows[here] = _inverse(np.cumsum(column), uniforms[:, 1][here])
        scores[here] = np.log(column[rows[here]])
    before = np.hstack([np.zeros((len(states), 1), np.int64), states[:, :-1]])
    scores += np.log(model.transitions[before, states].astype(np.float64))
    durations = model.ngrams.durations
    return [Segmentation(z, g, durations[g], float(s.sum())) for z, g, s in zip(states, rows, scores, strict=True)]


def _chains(cumulated: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    states = np.zeros(uniforms.shape, dtype=np.int64)
    current = np.zeros(len(uniforms), dtype=np.int64)
    for m in range(uniforms.shape[1]):
        for state in np.unique(current):
            here = np.flatnonzero(current == state)
            states[here, m] = _inverse(cumulated[state], uniforms[here, m])
        current = states[:, m]
    return states


def _inverse(cumulated: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """First place whose cumulative mass exceeds u times the total; never a place without mass."""
    return np.searchsorted(cumulated, uniforms * cumulated[-1], side="right").clip(
        max=np.searchsorted(cumulated, cumulated[-1])
    )


def tokens_of(model: SemiMarkovLM, path: Segmentation) -> tuple[str, ...]:
    """The text of a path: its n-grams one after another."""
    return tuple(token for row in path.rows for token in model.ngrams.text(int(row)))
