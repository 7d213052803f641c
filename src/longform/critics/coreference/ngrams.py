"""Compiled loops of the 5-gram critics: keys of windows, and n-grams in a table by hash.

A key holds n codes side by side, the latest lowest
(:class:`~longform.critics.coreference.score.Packing`): masking drops the earliest symbol, which is
the next lower order, and shifting drops the latest, which is the context. Both loops add in the
same order as the definition, so that a score has the same bits however many windows are scored at
once.
"""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

EMPTY = -1  # key of a free slot
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, volume 3, section 6.4)
# Columns of a table.
KEY = 0
LOG_PROB = 1
LOG_WEIGHT = 2


@numba.njit(cache=True, nogil=True)
def window_keys(forms, entities, starts, order, stride, bits, begin, padding, nobody):
    """Key of the window that ends at each token.

    Entities are numbered by first appearance in each window.

    Args:
        forms: of each token, (tokens,); negative where unknown.
        entities: of each token, (tokens,); ``nobody`` for none.
        starts: index of the first token of each token's chain, (tokens,).
        order: symbols in a window.
        stride: codes of one form.
        bits: of a code.
        begin: code of the begin symbol.
        padding: begin symbols before a chain; places before these have code 0.
        nobody: the entity of a token that mentions none.

    Returns:
        int64 (tokens,).
    """
    keys = np.empty(len(forms), dtype=np.int64)
    met_entities = np.empty(order, dtype=np.int64)
    for token in range(len(forms)):
        key = np.int64(0)
        num_met = 0
        for position in range(token - order + 1, token + 1):
            code = 0
            if position < starts[token]:
                # 1. Before the chain: a begin symbol, or nothing.
                if starts[token] - position <= padding:
                    code = begin
            else:
                # 2. In the chain: 1 + the entity's place among those of this window; 0 for none.
                label = 0
                if entities[position] != nobody:
                    while label < num_met and met_entities[label] != entities[position]:
                        label += 1
                    met_entities[label] = entities[position]
                    label += 1
                    num_met = max(num_met, label)
                if forms[position] >= 0:
                    code = 1 + forms[position] * stride + label
            key = key << bits | code
        keys[token] = key
    return keys


@numba.njit(cache=True, nogil=True)
def _slot(table, key):
    """The row of a key in the table, or the free row where it would be inserted.

    Search begins at the upper half of the key's hash scaled to the table (Lemire 2019), and goes on
    row by row.

    Args:
        table: of :func:`hashed`, int64 (slots, 3), with a free row or more.
        key: int64, not negative.

    Returns:
        The row's number, int64.
    """
    upper_half = (np.uint64(key) * GOLDEN) >> np.uint64(32)
    slot: Any = np.int64((upper_half * np.uint64(len(table))) >> np.uint64(32))
    while table[slot, KEY] != EMPTY and table[slot, KEY] != key:
        slot += 1
        if slot == len(table):
            slot = 0
    return slot


@numba.njit(cache=True, nogil=True)
def _insert(table, keys, column, numbers):
    """Write the numbers of some keys into a column; new keys are no n-grams and weigh nothing.

    Args:
        table: of :func:`hashed`, int64 (slots, 3); changed in place.
        keys: int64 (keys,).
        column: ``LOG_PROB`` or ``LOG_WEIGHT``.
        numbers: of each key, nats, float64 (keys,).
    """
    values = table.view(np.float64)
    for i in range(len(keys)):
        slot = _slot(table, keys[i])
        if table[slot, KEY] == EMPTY:
            table[slot, KEY] = keys[i]
            values[slot, LOG_PROB] = np.inf
            values[slot, LOG_WEIGHT] = 0.0
        values[slot, column] = numbers[i]


def hashed(orders: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """A hash table of the fitted n-grams and contexts of all orders.

    Args:
        orders: keys, log probabilities, keys of contexts and their log back-off weights, by order.

    Returns:
        int64 (slots, 3): the key; the bits of two float64 numbers, the log probability (infinite
        for a context that is no n-gram) and the log back-off weight.
    """
    num_keys = 0
    for keys, _, context_keys, _ in orders:
        num_keys += len(keys) + len(context_keys)
    # at most two thirds full, and free slots even in a table of few keys
    slots = 3 * num_keys // 2 + 16
    table = np.full((slots, 3), EMPTY, dtype=np.int64)
    for keys, log_probs, context_keys, log_weights in orders:
        _insert(table, keys, LOG_PROB, log_probs)
        _insert(table, context_keys, LOG_WEIGHT, log_weights)
    return table


@numba.njit(cache=True, nogil=True)
def scores(table, keys, order, bits, unknown):
    """Log probability of each window's last symbol.

    It is that of the longest n-gram that was met, plus the log back-off weights of the longer
    contexts.

    Args:
        table: of :func:`hashed`.
        keys: of the windows, (windows,).
        order: symbols in a window.
        bits: of a code.
        unknown: log probability of a symbol that was never met, nats.

    Returns:
        Nats, float64 (windows,).
    """
    values = table.view(np.float64)
    log_probs = np.empty(len(keys))
    for i in range(len(keys)):
        # From the longest n-gram down; the contexts of those that were never met add their weights.
        log_weights = 0.0
        last = unknown
        for n in range(order, 0, -1):
            key = keys[i] & ((np.int64(1) << np.int64(bits * n)) - 1)
            if n > 1 and key >> (bits * (n - 1)) == 0:
                continue  # nothing stands in the first place: the same n-gram as one order below
            slot = _slot(table, key)
            if table[slot, KEY] == key and values[slot, LOG_PROB] != np.inf:
                last = values[slot, LOG_PROB]
                break
            if n > 1:
                slot = _slot(table, key >> bits)
                if table[slot, KEY] != EMPTY:
                    log_weights += values[slot, LOG_WEIGHT]
        log_probs[i] = log_weights + last
    return log_probs
