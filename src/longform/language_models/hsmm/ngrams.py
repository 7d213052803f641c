"""The distinct n-grams of a corpus, numbered, and the fast way from a token sequence to their numbers.

An n-gram of token ids is packed into one unsigned 64-bit key, in base ``len(tokens)``, so that sorting
keys sorts n-grams lexicographically and counting n-grams is sorting integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from longform.core.documents import BadInput

RESERVED_ROWS = 2  # deng2022's released vocabularies count <pad> and <unk> inside their limit; here they hold no mass
WINDOWS_PER_CHUNK = 4_000_000  # ours: windows sorted at once while counting, 32 MB of keys


@dataclass(frozen=True)
class NgramTable:
    """Rows of n-grams: first those of length 1, then 2, ... ``max_duration``; inside a length lexicographic.

    Attributes:
        tokens: token types in lexicographic order; a token's id is its place.
        keys: packed n-grams, sorted inside each length (rows,), uint64.
        starts: rows of length n are ``starts[n - 1]:starts[n]``; (max_duration + 1,), int64.
        dropped: distinct n-grams of each length beyond ``max_ngrams``, which have no row; (max_duration,), int64.
    """

    tokens: tuple[str, ...]
    keys: np.ndarray
    starts: np.ndarray
    dropped: np.ndarray

    @property
    def max_duration(self) -> int:
        """The longest n-gram, in tokens."""
        return len(self.starts) - 1

    @property
    def rows(self) -> int:
        """How many n-grams there are, over all lengths."""
        return len(self.keys)

    @property
    def durations(self) -> np.ndarray:
        """Length of each row's n-gram, in tokens; (rows,), int64."""
        return np.repeat(np.arange(1, self.max_duration + 1), np.diff(self.starts))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    def encode(self, sequence: Sequence | np.ndarray, where: str = "sequence") -> np.ndarray:
        """Token ids of a sequence given as token strings or as ids; (T,), int64.

        Raises:
            BadInput: the sequence is empty, or holds a token or an id that the table does not know.
        """
        if len(sequence) == 0:
            raise BadInput(f"{where}: got no tokens, allowed is one or more; drop the empty document")
        if isinstance(sequence[0], str):
            place = self._places
            unknown = [token for token in sequence if token not in place]
            if unknown:
                raise BadInput(
                    f"{where}: token {unknown[0]!r} is not one of the {len(place)} of this table; refit or drop it"
                )
            return np.array([place[token] for token in sequence], dtype=np.int64)
        ids = np.asarray(sequence, dtype=np.int64)
        if ids.min() < 0 or ids.max() >= len(self.tokens):
            raise BadInput(
                f"{where}: token ids run {ids.min()}..{ids.max()}, allowed 0..{len(self.tokens) - 1}; re-encode"
            )
        return ids

    def index(self, ids: np.ndarray) -> np.ndarray:
        """Row of the n-gram that starts at each position, for each length; -1 where it is absent or does not fit.

        Args:
            ids: token ids of one sequence, (T,).

        Returns:
            (T, max_duration) int32; entry ``[t, n - 1]`` is the row of ``ids[t:t + n]``.
        """
        out = np.full((len(ids), self.max_duration), -1, dtype=np.int32)
        _lookup(np.asarray(ids, dtype=np.uint64), np.uint64(len(self.tokens)), self.keys, self.starts, out)
        return out

    def ngram(self, row: int) -> tuple[int, ...]:
        """Token ids of one row."""
        length = int(np.searchsorted(self.starts, row, side="right"))
        key, digits = int(self.keys[row]), []
        for _ in range(length):
            key, digit = divmod(key, len(self.tokens))
            digits.append(digit)
        return tuple(reversed(digits))

    def text(self, row: int) -> tuple[str, ...]:
        """Tokens of one row."""
        return tuple(self.tokens[i] for i in self.ngram(row))


def build_ngrams(sequences: Sequence[Sequence[str]], *, max_duration: int, max_ngrams: int = 250_000) -> NgramTable:
    """Count the windows of every length in a corpus and keep the most frequent of each.

    Args:
        sequences: tokens of each sequence.
        max_duration: longest window, in tokens (11 in deng2022, section 5.1).
        max_ngrams: rows per length, counting deng2022's two reserved ones, so ``max_ngrams - 2`` n-grams are kept;
            ties are broken lexicographically (released code).

    Raises:
        BadInput: no sequences, or n-grams that do not fit a 64-bit key.
    """
    if not len(sequences):
        raise BadInput("n-grams: got a corpus of 0 sequences, allowed is one or more; check the split")
    tokens = tuple(sorted({token for sequence in sequences for token in sequence}))
    if len(tokens) ** max_duration > 2**64:
        raise BadInput(
            f"n-grams: {len(tokens)} token types to the power {max_duration} exceed a 64-bit key; lower max_duration"
        )
    place = {token: i for i, token in enumerate(tokens)}
    encoded = [np.array([place[token] for token in sequence], dtype=np.uint64) for sequence in sequences]
    kept = [_frequent(encoded, n, len(tokens), max_ngrams - RESERVED_ROWS) for n in range(1, max_duration + 1)]
    starts = np.concatenate([[0], np.cumsum([len(keys) for keys, _ in kept])]).astype(np.int64)
    dropped = np.array([count for _, count in kept], dtype=np.int64)
    return NgramTable(tokens, np.concatenate([keys for keys, _ in kept]), starts, dropped)


def _frequent(sequences: Sequence[np.ndarray], length: int, base: int, limit: int) -> tuple[np.ndarray, int]:
    keys, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    for chunk in _window_chunks(sequences, length, base):
        keys, counts = _merge(keys, counts, *np.unique(chunk, return_counts=True))
    if len(keys) <= limit:
        return keys, 0
    best = np.argsort(-counts, kind="stable")[:limit]  # keys are sorted, so ties fall lexicographically
    return np.sort(keys[best]), len(keys) - limit


def _merge(keys: np.ndarray, counts: np.ndarray, more: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(keys):
        return more, times
    merged, place = np.unique(np.concatenate([keys, more]), return_inverse=True)
    total = np.bincount(place, weights=np.concatenate([counts, times]), minlength=len(merged))
    return merged, total.astype(np.int64)


def _window_chunks(sequences: Sequence[np.ndarray], length: int, base: int) -> Iterator[np.ndarray]:
    """Keys of all windows of one length, some millions at a time."""
    held, size = [], 0
    for ids in sequences:
        if len(ids) >= length:
            keys = np.zeros(len(ids) - length + 1, dtype=np.uint64)
            for offset in range(length):
                keys = keys * np.uint64(base) + ids[offset : offset + len(keys)]
            held.append(keys)
            size += len(keys)
            if size >= WINDOWS_PER_CHUNK:
                yield np.concatenate(held)
                held, size = [], 0
    if held:
        yield np.concatenate(held)


@njit(cache=True, nogil=True)
def _lookup(ids, base, keys, starts, out):  # pragma: no cover - compiled
    for t in range(len(ids)):
        key = np.uint64(0)
        for n in range(1, min(out.shape[1], len(ids) - t) + 1):
            key = key * base + ids[t + n - 1]
            low, high = starts[n - 1], starts[n]
            while low < high:
                middle = (low + high) // 2
                if keys[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            if low < starts[n] and keys[low] == key:
                out[t, n - 1] = low
