"""Counts of packed n-grams by sorting, and an open-addressing table that scores windows (keys: ``ngram_windows``)."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

_HASH = np.uint64(0x9E3779B97F4A7C15)  # multiplicative hashing by 2^64 over the golden ratio (Knuth, volume 3, 6.4)


def count_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys, ascending, and how often each occurs."""
    ordered = np.sort(keys)
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    return ordered[first], np.diff(np.append(first, len(ordered)))


def shorten(keys: np.ndarray, mask: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys without their first symbol, and the row in them of each key."""
    short = keys & mask
    order = np.argsort(short)
    ordered = short[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
    rows = np.empty(len(keys), dtype=np.int64)
    rows[order] = np.cumsum(new) - 1
    return ordered[new], rows


def sum_shorter(counts: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Counts of ``size`` shorter n-grams: those of all n-grams that end in them."""
    return np.bincount(rows, counts, size).astype(np.int64)


def group_contexts(keys: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct contexts of ascending keys, and the row in them of each key."""
    context = keys >> bits
    new = np.concatenate([[True], context[1:] != context[:-1]])[: len(context)]
    return context[new], np.cumsum(new) - 1


@numba.njit(cache=True, nogil=True)
def _slot(key, size):
    """First slot of a key: the hash's upper 32 bits scaled to the table, whatever its size (Lemire 2019)."""
    upper = (np.uint64(key) * _HASH) >> np.uint64(32)
    return np.int64((upper * np.uint64(size)) >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _insert(table, key, column, number):
    values = table.view(np.float64)
    slot = _slot(key, len(table))
    while table[slot, 0] != 0 and table[slot, 0] != key:
        slot = slot + 1 if slot + 1 < len(table) else 0
    if table[slot, 0] == 0:
        table[slot, 0] = key
        values[slot, 1] = np.inf
        values[slot, 2] = 0.0
    values[slot, column] = number


@numba.njit(cache=True, nogil=True)
def _insert_all(table, keys, column, numbers):
    for i in range(len(keys)):
        _insert(table, keys[i], column, numbers[i])


def build_table(entries: Sequence[tuple[np.ndarray, int, np.ndarray]]) -> np.ndarray:
    """Open-addressing table (slots, 3) of int64, at most two thirds full: key, log probability, log back-off weight.

    ``entries`` are (keys, column, numbers), column 1 for log probabilities and 2 for back-off weights. The numbers
    are float64 in the same memory, so that one look-up touches one place.
    """
    size = sum(len(keys) for keys, _, _ in entries)
    table = np.zeros((3 * size // 2 + 16, 3), dtype=np.int64)
    for keys, column, numbers in entries:
        _insert_all(table, np.ascontiguousarray(keys), column, np.ascontiguousarray(numbers, dtype=np.float64))
    return table


@numba.njit(cache=True, nogil=True)
def _find(table, key):
    slot = _slot(key, len(table))
    while table[slot, 0] != 0:
        if table[slot, 0] == key:
            return slot
        slot = slot + 1 if slot + 1 < len(table) else 0
    return -1


@numba.njit(cache=True, nogil=True)
def _log_probability(table, values, key, order, bits, unknown):
    total = 0.0
    for n in range(order, 0, -1):
        key &= (np.int64(1) << np.int64(bits * n)) - 1
        if key >> (bits * (n - 1)) == 0 and n > 1:
            continue  # nothing stands in the first place: the same n-gram as one order below
        slot = _find(table, key)
        if slot >= 0 and values[slot, 1] != np.inf:
            return total + values[slot, 1]
        if n > 1:
            context = _find(table, key >> bits)
            if context >= 0:
                total += values[context, 2]
    return total + unknown


@numba.njit(cache=True, nogil=True)
def _score_keys(table, keys, order, bits, unknown):
    values = table.view(np.float64)
    scores = np.empty(len(keys), dtype=np.float64)
    for i in range(len(keys)):
        scores[i] = _log_probability(table, values, keys[i], order, bits, unknown)
    return scores


def score_keys(table: np.ndarray, keys: np.ndarray, order: int, bits: int, unknown: float) -> np.ndarray:
    """(tokens,) log probability of each window's last symbol given the ones before it.

    The longest n-gram in the table gives its value, plus the back-off weights of the longer contexts that
    are in the table; a context that is not adds nothing. A symbol never seen adds ``unknown``.
    """
    return _score_keys(table, np.ascontiguousarray(keys), order, bits, unknown)
