"""Growing a semi-Markov model while EM runs: drop the n-grams that nothing needs, skip the places where nothing ends, split states.

A model of few states already finds which n-grams are segments. The others' rows become zero and leave the table; places of a
text that no path over the rows left can reach leave the text; only then do states, whose number the time is quadratic in, grow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit

from longform.core.resampling import generator
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.hsmm.ngrams import NgramTable

UNLIKE = 0.5  # ours: copies of a state differ by a factor of up to 1 + this, from which EM pulls them apart


def compacted(model: SemiMarkovLM) -> SemiMarkovLM:
    """The same model without its n-grams of probability zero; single tokens stay, so that every text can get a path."""
    ngrams = model.ngrams
    kept = np.array(model.joint.any(axis=1))
    kept[: ngrams.starts[1]] = True
    starts = np.concatenate([[0], np.cumsum(kept)])[ngrams.starts]
    dropped = ngrams.dropped + np.diff(ngrams.starts) - np.diff(starts)
    return replace(model, ngrams=NgramTable(ngrams.tokens, ngrams.keys[kept], starts, dropped), joint=model.joint[kept])


def split(model: SemiMarkovLM, num_states: int, seed: int) -> SemiMarkovLM:
    """A model of more states, each a copy of one of the old ones, made unlike by noise; state 0 stays a copy of state 0."""
    draw, old = generator("semi-Markov split", seed, num_states), model.num_states
    parents = np.arange(num_states) % old
    shares = 1 / np.bincount(parents)[parents]
    transitions = model.transitions.astype(np.float64)[np.ix_(parents, parents)] * shares
    transitions *= 1 + UNLIKE * draw.uniform(-1, 1, transitions.shape)
    transitions /= transitions.sum(axis=1, keepdims=True)
    joint = np.ascontiguousarray(model.joint[:, parents])
    joint *= 1 + UNLIKE * draw.uniform(-1, 1, joint.shape).astype(joint.dtype)
    joint /= joint.sum(axis=0, dtype=np.float64).astype(joint.dtype)
    return replace(model, transitions=transitions.astype(joint.dtype), joint=joint)


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
