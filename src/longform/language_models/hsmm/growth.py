"""Growing a semi-Markov model while EM runs: drop the n-grams that nothing needs, skip the places where nothing ends, add states.

A model of few states already finds which n-grams are segments. The others' rows become zero and leave the table; places of a
text that no path over the rows left can reach leave the text; only then do states, whose number the time is quadratic in, grow.
They begin anew, each with its own uneven share of what the model knows of n-grams.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit

from longform.core.resampling import generator
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.hsmm.ngrams import NgramTable

SPELLING = (
    3  # ours: tokens of the n-grams that spell a subsequence which training text has not; with 1 its price doubles
)
UNEVENNESS = 0.1  # ours: 1.0 needed a quarter more iterations on a language of 16 states, 0.03 no fewer
LEAST_SHARE = 1e-4  # ours: no n-gram starts at zero, from which EM could not move it


def near_uniform(draw: np.random.Generator, num_states: int) -> np.ndarray:
    """Transitions within the Xavier bound, as in deng2022's code, (C, C)."""
    bound = np.sqrt(6 / (2 * num_states))
    transitions = np.exp(draw.uniform(-bound, bound, (num_states, num_states)))
    return transitions / transitions.sum(axis=1, keepdims=True)


def compacted(model: SemiMarkovLM) -> SemiMarkovLM:
    """The same model without its n-grams of probability zero; short ones stay, so that new text can be spelt in them."""
    ngrams = model.ngrams
    kept = np.array(model.joint.any(axis=1))
    kept[: ngrams.starts[min(SPELLING, ngrams.max_duration)]] = True
    starts = np.concatenate([[0], np.cumsum(kept)])[ngrams.starts]
    dropped = ngrams.dropped + np.diff(ngrams.starts) - np.diff(starts)
    return replace(model, ngrams=NgramTable(ngrams.tokens, ngrams.keys[kept], starts, dropped), joint=model.joint[kept])


def begun_anew(model: SemiMarkovLM, num_states: int, seed: int) -> SemiMarkovLM:
    """A random start of more states that keeps what the model knows of n-grams: each state's shares are its, made uneven."""
    draw = generator("semi-Markov growth", seed, num_states)
    joint = draw.standard_gamma(UNEVENNESS, (model.ngrams.rows, num_states), dtype=model.joint.dtype)
    joint += LEAST_SHARE
    joint *= model.joint.mean(axis=1, dtype=np.float64).astype(joint.dtype)[:, None]
    joint /= joint.sum(axis=0, dtype=np.float64).astype(joint.dtype)
    return replace(model, transitions=near_uniform(draw, num_states).astype(joint.dtype), joint=joint)


def squeezed(index: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """The index array (T, K) of a text over only those places that a path over rows ``alive`` can pass through.

    Between two such places lies at most one segment, so the scan over the shorter array finds the same likelihood and
    the same counts. (places - 1, K); no rows where no path exists.
    """
    places = _passed(index, alive)
    if not len(places):
        return np.empty((0, index.shape[1]), np.int32)
    out = np.full((len(places) - 1, index.shape[1]), -1, np.int32)
    _between(index, alive, places, out)
    return out


@njit(cache=True, nogil=True)
def _passed(index, alive):  # pragma: no cover - compiled
    """Places that lie on a path from the first to the last, in order."""
    length, longest = index.shape
    ahead, behind = np.zeros(length + 1, np.bool_), np.zeros(length + 1, np.bool_)
    ahead[0] = behind[length] = True
    for t in range(length):
        if ahead[t]:
            for k in range(min(longest, length - t)):
                g = index[t, k]
                if g >= 0 and alive[g]:
                    ahead[t + k + 1] = True
    for t in range(length - 1, -1, -1):
        for k in range(min(longest, length - t)):
            g = index[t, k]
            if g >= 0 and alive[g] and behind[t + k + 1]:
                behind[t] = True
    return np.flatnonzero(ahead & behind)


@njit(cache=True, nogil=True)
def _between(index, alive, places, out):  # pragma: no cover - compiled
    for i in range(len(out)):
        for j in range(i + 1, min(len(places), i + 1 + out.shape[1])):
            k = places[j] - places[i] - 1
            if k < index.shape[1]:
                g = index[places[i], k]
                if g >= 0 and alive[g]:
                    out[i, j - i - 1] = g
