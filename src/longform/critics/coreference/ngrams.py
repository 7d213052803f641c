"""n-grams of mention tags: windows packed into 64-bit keys, counted by sorting, scored through a hash table.

A symbol is a small code; the n codes of an n-gram sit side by side in one integer, the latest lowest, so that
masking drops the earliest symbol (the next lower order) and shifting drops the latest (the context).
Code 0 is nobody's: it stands before a chain where nothing is padded, and for a symbol that was never seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from longform.core.documents import BadInput, Chain

_HASH = np.uint64(0x9E3779B97F4A7C15)  # multiplicative hashing by 2^64 over the golden ratio (Knuth, volume 3, 6.4)
NOBODY = -1  # entity of a token that mentions none
MAX_ORDER = 8  # windows longer than this have no room in a key, whatever the vocabulary


@dataclass(frozen=True)
class TokenStream:
    """Tokens of many chains, flat.

    Attributes:
        forms: (tokens,) row of each token's form in the vocabulary, -1 where unknown.
        entities: (tokens,) an integer per mentioned entity, ``NOBODY`` for none; comparable within a chain only.
        starts: (tokens,) position where the token's chain begins.
        lengths: (units,) tokens per chain.
    """

    forms: np.ndarray
    entities: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True)
class Packing:
    """How forms and relabelled entities become codes, and codes keys.

    Attributes:
        order: symbols in a window.
        forms: number of known forms.
        padding: begin symbols put before a chain; further places stay empty.
    """

    order: int
    forms: int
    padding: int

    def __post_init__(self) -> None:
        if not 2 <= self.order <= MAX_ORDER or self.bits * self.order > 62:
            raise BadInput(
                f"{self.forms} forms at order {self.order} need {self.bits * self.order} bits, 62 are there; "
                f"allowed is an order of 2 to {MAX_ORDER} with fewer forms: check that entity numbers follow a colon"
            )

    @property
    def stride(self) -> int:
        """Codes per form: no entity, or the first, second, ... entity of the window."""
        return self.order + 1

    @property
    def begin(self) -> int:
        """Code of the begin symbol, the largest, so that n-grams that begin a chain sort last within their order."""
        return self.forms * self.stride + 1

    @property
    def bits(self) -> int:
        """Bits per code."""
        return int(self.begin).bit_length()

    def mask(self, order: int) -> int:
        """Keeps the last ``order`` codes of a key."""
        return (1 << (self.bits * order)) - 1

    def names(self, key: int, forms: Sequence[str], begin: str, unknown: str) -> tuple[str, ...]:
        """The symbols of a key, earliest first."""
        codes = []
        while key:
            codes.append(key & self.mask(1))
            key >>= self.bits
        return tuple(self._name(code, forms, begin, unknown) for code in reversed(codes))

    def _name(self, code: int, forms: Sequence[str], begin: str, unknown: str) -> str:
        if code == self.begin:
            return begin
        if code == 0:
            return unknown
        form, label = divmod(code - 1, self.stride)
        return forms[form] if label == 0 else f"{forms[form]}:{label - 1}"


def split_symbol(symbol: str) -> tuple[str, str | None]:
    """Form and entity of a mention tag: ``"he:12"`` is ``("he", "12")``, ``"."`` is ``(".", None)``."""
    form, colon, entity = symbol.rpartition(":")
    return (form, entity) if colon and form and entity else (symbol, None)


def form_vocabulary(chains: Sequence[Chain]) -> tuple[str, ...]:
    """Forms in alphabetical order."""
    distinct = set(itertools.chain.from_iterable(chain.symbols for chain in chains))
    return tuple(sorted({split_symbol(symbol)[0] for symbol in distinct}))


def read_tokens(chains: Sequence[Chain], forms: Mapping[str, int]) -> TokenStream:
    """Flatten chains; invalid ones keep a length of zero. Distinct tags are split once, not once per token."""
    rows = [chain.symbols if chain.valid else () for chain in chains]
    distinct = dict.fromkeys(itertools.chain.from_iterable(rows))
    entities: dict[str | None, int] = {None: NOBODY}
    pairs = np.empty((len(distinct) + 1, 2), dtype=np.int32)
    for i, symbol in enumerate(distinct):
        distinct[symbol] = i
        form, entity = split_symbol(symbol)
        pairs[i] = forms.get(form, -1), entities.setdefault(entity, len(entities) - 1)
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    rank = np.fromiter(map(distinct.__getitem__, itertools.chain.from_iterable(rows)), np.int64, lengths.sum())
    ends = np.cumsum(lengths)
    return TokenStream(pairs[rank, 0], pairs[rank, 1], np.repeat(ends - lengths, lengths), lengths)


@numba.njit(cache=True, nogil=True)
def _label(seen, labels, entity):
    for earlier in range(labels):
        if seen[earlier] == entity:
            return earlier
    return labels


@numba.njit(cache=True, nogil=True)
def _window_key(forms, entities, start, position, seen, order, stride, bits, begin, padding):
    key: Any = np.int64(0)
    labels = 0
    for place in range(position - order + 1, position + 1):
        code: Any = np.int64(0)
        if place < start:
            code = begin if start - place <= padding else 0
        else:
            label = 0
            if entities[place] != NOBODY:
                label = _label(seen, labels, entities[place]) + 1
                seen[label - 1] = entities[place]
                labels = max(labels, label)
            if forms[place] >= 0:
                code = 1 + forms[place] * stride + label
        key = (key << bits) | code
    return key


@numba.njit(cache=True, nogil=True)
def _window_keys(forms, entities, starts, order, stride, bits, begin, padding):
    keys = np.empty(len(forms), dtype=np.int64)
    seen = np.empty(order, dtype=np.int64)
    for i in range(len(forms)):
        keys[i] = _window_key(forms, entities, starts[i], i, seen, order, stride, bits, begin, padding)
    return keys


def window_keys(tokens: TokenStream, packing: Packing) -> np.ndarray:
    """(tokens,) key of the window that ends at each token.

    Entities are renumbered 0, 1, ... by first appearance within each window (deng2022 section 5, released code),
    once, at the highest order: its lower orders are cut from it and not renumbered again.
    """
    p = packing
    return _window_keys(tokens.forms, tokens.entities, tokens.starts, p.order, p.stride, p.bits, p.begin, p.padding)


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
    """Open-addressing table (slots, 3) of int64, at most two thirds full: key, log probability, log back-off weight."""
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
    """(tokens,) log probability of each window's last symbol given the ones before it."""
    return _score_keys(table, np.ascontiguousarray(keys), order, bits, unknown)
