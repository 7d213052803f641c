"""Compiled forward-backward over one sequence when each n-gram belongs to few states.

``vectors`` are alpha, b, e and beta, each (T + 1, C), zero on entry and dense in storage; only the
states listed in ``active`` are touched: those in which a segment may end at a position, and those in
which one may begin. Vectors are divided by their largest entry, whose logarithms are in ``scales``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from longform.language_models.hsmm.kernels import DEAD

ENDED, BEFORE, BEGUN, AFTER = 0, 1, 2, 3
FORWARD, BACKWARD = 0, 1
ENDS, BEGINS = 0, 1


@njit(cache=True, nogil=True)
def _pull_ends(t, index, starts, states, values, vectors, scales, active, counts):  # pragma: no cover - compiled
    """alpha at t, from the segments that end there; its states go to ``active[ENDS, t]``."""
    bound = DEAD
    for k in range(1, min(index.shape[1], t) + 1):
        if index[t - k, k - 1] >= 0 and counts[BEGINS, t - k] > 0:
            bound = max(bound, scales[FORWARD, t - k])
    found, top = 0, 0.0
    for k in range(1, min(index.shape[1], t) + 1):
        g = index[t - k, k - 1]
        if g >= 0 and counts[BEGINS, t - k] > 0 and scales[FORWARD, t - k] > DEAD:
            factor = math.exp(scales[FORWARD, t - k] - bound)
            for j in range(starts[g], starts[g + 1]):
                z = states[j]
                mass = factor * vectors[BEFORE, t - k, z] * values[j]
                if mass > 0:
                    if vectors[ENDED, t, z] == 0:
                        active[ENDS, t, found] = z
                        found += 1
                    vectors[ENDED, t, z] += mass
                    top = max(top, vectors[ENDED, t, z])
    counts[ENDS, t] = found
    for i in range(found):
        vectors[ENDED, t, active[ENDS, t, i]] /= top
    scales[FORWARD, t] = bound + math.log(top) if found else DEAD


@njit(cache=True, nogil=True)
def _push_begins(t, index, starts, states, transitions, vectors, active, counts, stamp):  # pragma: no cover - compiled
    """b at t, in the states that some segment starting at t may have; they go to ``active[BEGINS, t]``."""
    found = 0
    for k in range(1, min(index.shape[1], len(index) - t) + 1):
        g = index[t, k - 1]
        if g >= 0:
            for j in range(starts[g], starts[g + 1]):
                if stamp[states[j]] != t + 1:
                    stamp[states[j]] = t + 1
                    active[BEGINS, t, found] = states[j]
                    found += 1
    counts[BEGINS, t] = found
    for i in range(counts[ENDS, t]):
        left = active[ENDS, t, i]
        mass = vectors[ENDED, t, left]
        for j in range(found):
            right = active[BEGINS, t, j]
            vectors[BEFORE, t, right] += mass * transitions[left, right]


@njit(cache=True, nogil=True)
def sparse_forward(index, starts, states, values, transitions, vectors, scales, active, counts):  # pragma: no cover
    """log P of one sequence with (T, K) n-gram rows; fills alpha, b, their scales and the active states."""
    length = len(index)
    stamp = np.zeros(transitions.shape[0], np.int64)
    vectors[ENDED, 0, 0] = 1.0  # z_0 is state 0
    active[ENDS, 0, 0], counts[ENDS, 0], scales[FORWARD, 0] = 0, 1, 0.0
    for t in range(length + 1):
        if t:
            _pull_ends(t, index, starts, states, values, vectors, scales, active, counts)
        if t < length:
            counts[BEGINS, t] = 0
            if counts[ENDS, t]:
                _push_begins(t, index, starts, states, transitions, vectors, active, counts, stamp)
    total = 0.0
    for i in range(counts[ENDS, length]):
        total += vectors[ENDED, length, active[ENDS, length, i]]
    return scales[FORWARD, length] + math.log(total) if total > 0 else -np.inf


@njit(cache=True, nogil=True)
def _pull_begins(t, index, starts, states, values, vectors, scales, active, counts):  # pragma: no cover - compiled
    """e at t, from beta where the segments that start at t end; returns its scale, leaves beta's alone."""
    bound = DEAD
    for k in range(1, min(index.shape[1], len(index) - t) + 1):
        if index[t, k - 1] >= 0 and counts[ENDS, t + k] > 0:
            bound = max(bound, scales[BACKWARD, t + k])
    top = 0.0
    if bound > DEAD:
        for k in range(1, min(index.shape[1], len(index) - t) + 1):
            g = index[t, k - 1]
            if g >= 0 and counts[ENDS, t + k] > 0 and scales[BACKWARD, t + k] > DEAD:
                factor = math.exp(scales[BACKWARD, t + k] - bound)
                for j in range(starts[g], starts[g + 1]):
                    z = states[j]
                    vectors[BEGUN, t, z] += factor * values[j] * vectors[AFTER, t + k, z]
                    top = max(top, vectors[BEGUN, t, z])
    if top <= 0:
        return DEAD
    for i in range(counts[BEGINS, t]):
        vectors[BEGUN, t, active[BEGINS, t, i]] /= top
    return bound + math.log(top)


@njit(cache=True, nogil=True)
def _count(t, index, starts, states, values, vectors, scales, counts, log_p, pairs):  # pragma: no cover - compiled
    """Expected segments that start at t, added to ``pairs``."""
    for k in range(1, min(index.shape[1], len(index) - t) + 1):
        g = index[t, k - 1]
        if g >= 0 and counts[ENDS, t + k] > 0 and scales[BACKWARD, t + k] > DEAD:
            factor = math.exp(min(scales[FORWARD, t] + scales[BACKWARD, t + k] - log_p, 700.0))
            for j in range(starts[g], starts[g + 1]):
                z = states[j]
                pairs[j] += factor * vectors[BEFORE, t, z] * values[j] * vectors[AFTER, t + k, z]


@njit(cache=True, nogil=True)
def sparse_backward(
    index, starts, states, values, transitions, vectors, scales, active, counts, log_p, pairs, moves
):  # pragma: no cover - compiled
    """Expected counts of the sequence that ``sparse_forward`` read: ``pairs`` (one per kept pair) and ``moves`` (C, C)."""
    length = len(index)
    for i in range(counts[ENDS, length]):
        vectors[AFTER, length, active[ENDS, length, i]] = 1.0
    scales[BACKWARD, length] = 0.0
    for t in range(length - 1, -1, -1):
        scales[BACKWARD, t] = DEAD
        if counts[ENDS, t] and counts[BEGINS, t]:
            scale = _pull_begins(t, index, starts, states, values, vectors, scales, active, counts)
            scales[BACKWARD, t] = scale
            if scale > DEAD:
                _count(t, index, starts, states, values, vectors, scales, counts, log_p, pairs)
                factor = math.exp(min(scales[FORWARD, t] + scale - log_p, 700.0))
                for i in range(counts[ENDS, t]):
                    left = active[ENDS, t, i]
                    mass = 0.0
                    for j in range(counts[BEGINS, t]):
                        right = active[BEGINS, t, j]
                        step = transitions[left, right] * vectors[BEGUN, t, right]
                        mass += step
                        moves[left, right] += factor * vectors[ENDED, t, left] * step
                    vectors[AFTER, t, left] = mass
