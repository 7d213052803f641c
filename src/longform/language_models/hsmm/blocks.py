"""Sequences grouped and packed for one scan: longest first, position by position, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

ROWS_PER_BLOCK = 24_000  # ours: 64 texts of the synthetic language per scan; 300 MB of vectors at 800 states


@dataclass(frozen=True)
class Block:
    """Sequences packed for the scan: longest first, position by position, without padding.

    Row ``first[t] + b`` is position t of the b-th longest sequence; positions run 0..T of each sequence.

    Attributes:
        order: place in the caller's list of each packed sequence, (B,).
        lengths: tokens of each packed sequence, descending, (B,).
        first: first row of each position, (T + 2,).
        index: row of the joint table for the segment of length k + 1 that starts at a row, -1 if none, (rows, K).
    """

    order: np.ndarray
    lengths: np.ndarray
    first: np.ndarray
    index: np.ndarray

    @property
    def rows(self) -> int:
        """Positions over all sequences, end positions included."""
        return int(self.first[-1])

    @cached_property
    def last_rows(self) -> np.ndarray:
        """Row of each packed sequence's end position, (B,)."""
        return self.first[self.lengths] + np.arange(len(self.lengths))

    @cached_property
    def sequence_of_row(self) -> np.ndarray:
        """Packed sequence that each row belongs to, (rows,)."""
        return np.arange(self.rows) - np.repeat(self.first[:-1], np.diff(self.first))

    def subset(self, members: np.ndarray) -> Block:
        """A block of some of the packed sequences, given by their packed places."""
        rows = [self.first[: self.lengths[b]] + b for b in members]
        again = pack([self.index[r] for r in rows])
        return Block(self.order[members][again.order], again.lengths, again.first, again.index)

    def renumbered(self) -> tuple[Block, np.ndarray]:
        """The block over the table rows that it uses, numbered afresh, and those rows, (U,)."""
        rows, place = np.unique(self.index, return_inverse=True)
        absent = int(rows[0] == -1)
        index = (place.reshape(self.index.shape) - absent).astype(np.int32)
        return Block(self.order, self.lengths, self.first, index), rows[absent:]

    @cached_property
    def occurrences(self) -> Occurrences:
        """Every in-vocabulary segment, sorted by table row."""
        return _occurrences(self)


@dataclass(frozen=True)
class Occurrences:
    """Segments of a block sorted by table row, then by place: the fixed order in which counts are summed.

    Attributes:
        grams: distinct table rows, ascending, (U,).
        bounds: occurrences of ``grams[i]`` are ``bounds[i]:bounds[i + 1]``, (U + 1,).
        starts, ends: block rows where each segment begins and ends, (N,).
    """

    grams: np.ndarray
    bounds: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def pack(indices: Sequence[np.ndarray]) -> Block:
    """Pack the index arrays (T_i, K) of several sequences into one block."""
    lengths = np.array([len(index) for index in indices], dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    lengths = lengths[order]
    reach = np.array([np.searchsorted(-lengths, -t, side="right") for t in range(lengths[0] + 1)])
    first = np.concatenate([[0], np.cumsum(reach)]).astype(np.int64)
    packed = np.full((first[-1], indices[0].shape[1]), -1, dtype=np.int32)
    for b, place in enumerate(order):
        packed[first[: lengths[b]] + b] = indices[place]
    return Block(order, lengths, first, packed)


def _occurrences(block: Block) -> Occurrences:
    places = np.flatnonzero(block.index.ravel() >= 0)
    keys = np.sort(block.index.ravel()[places].astype(np.int64) * block.index.size + places)
    sorted_grams, places = np.divmod(keys, block.index.size)
    starts, k = np.divmod(places, block.index.shape[1])
    position = np.searchsorted(block.first, starts, side="right") - 1
    ends = block.first[position + k + 1] + starts - block.first[position]
    grams, begins = np.unique(sorted_grams, return_index=True)
    return Occurrences(grams, np.append(begins, len(keys)), starts, ends)


def blocks_of(lengths: Sequence[int], rows_per_block: int) -> list[np.ndarray]:
    """Places of the sequences of each block: sorted by length, as many as fit ``rows_per_block``, at least one."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    blocks: list[np.ndarray] = []
    held: list[int] = []
    rows = 0
    for place in order:
        need = int(lengths[place]) + 1
        if held and rows + need > rows_per_block:
            blocks.append(np.array(held))
            held, rows = [], 0
        held.append(place)
        rows += need
    return [*blocks, np.array(held)] if held else blocks
