"""Compiled loops of the 5-gram critics: the key of the window that ends at each token, and n-grams
in a table by hash.

A key holds n codes side by side, the latest lowest
(:class:`~longform.critics.coreference.score.Packing`): masking drops the earliest
symbol, which is the next lower order, and shifting drops the latest, which is the context. Both
loops add in the same order as the
definition, so that a score has the same bits however many windows are scored at once.
"""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

EMPTY = -1  # key of a free slot
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, volume 3, section 6.4)


@numba.njit(cache=True, nogil=True)
def window_keys(forms, entities, starts, order, stride, bits, begin, padding, nobody):
    """(tokens,) keys: entities are numbered by first appearance in each window, ``padding`` begin
    symbols stand before a chain.
    """
    keys, seen = np.empty(len(forms), dtype=np.int64), np.empty(order, dtype=np.int64)
    for i in range(len(forms)):
        key, met = np.int64(0), 0
        for place in range(i - order + 1, i + 1):
            code = begin if place < starts[i] and starts[i] - place <= padding else 0
            if place >= starts[i]:
                label = 0
                if entities[place] != nobody:
                    while label < met and seen[label] != entities[place]:
                        label += 1
                    seen[label] = entities[place]
                    label += 1
                    met = max(met, label)
                if forms[place] >= 0:
                    code = 1 + forms[place] * stride + label
            key = key << bits | code
        keys[i] = key
    return keys


@numba.njit(cache=True, nogil=True)
def _slot(table, key):
    """The slot of a key, or the free one where it belongs: the upper half of its hash scaled to the
    table (Lemire 2019).
    """
    slot: Any = np.int64(
        (((np.uint64(key) * GOLDEN) >> np.uint64(32)) * np.uint64(len(table))) >> np.uint64(32)
    )
    while table[slot, 0] != EMPTY and table[slot, 0] != key:
        slot = slot + 1 if slot + 1 < len(table) else 0
    return slot


@numba.njit(cache=True, nogil=True)
def _insert(table, keys, column, numbers):
    values = table.view(np.float64)
    for i in range(len(keys)):
        slot = _slot(table, keys[i])
        if table[slot, 0] == EMPTY:
            table[slot, 0], values[slot, 1], values[slot, 2] = keys[i], np.inf, 0.0
        values[slot, column] = numbers[i]


def hashed(orders: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """(slots, 3) key, log probability (infinite for a context that is no n-gram) and log back-off
    weight of fitted orders.
    """
    table = np.full(
        (3 * sum(len(own[0]) + len(own[2]) for own in orders) // 2 + 16, 3), EMPTY, dtype=np.int64
    )
    for keys, log_probs, context_keys, log_weights in orders:
        _insert(table, keys, 1, log_probs)
        _insert(table, context_keys, 2, log_weights)
    return table


@numba.njit(cache=True, nogil=True)
def scores(table, keys, order, bits, unknown):
    """(windows,) log probability of each window's last symbol: the longest n-gram met, after the
    weights of the contexts above it.
    """
    values, found = table.view(np.float64), np.empty(len(keys))
    for i in range(len(keys)):
        total, last = 0.0, unknown
        for n in range(order, 0, -1):
            key = keys[i] & ((np.int64(1) << np.int64(bits * n)) - 1)
            if n > 1 and key >> (bits * (n - 1)) == 0:
                continue  # nothing stands in the first place: the same n-gram as one order below
            slot = _slot(table, key)
            if table[slot, 0] == key and values[slot, 1] != np.inf:
                last = values[slot, 1]
                break
            if n > 1:
                slot = _slot(table, key >> bits)
                total += values[slot, 2] if table[slot, 0] != EMPTY else 0.0
        found[i] = total + last
    return found
