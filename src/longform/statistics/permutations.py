"""Orders of pooled units that a permutation test draws, in blocks that bound the memory.

The units of both sides stand one after another, first side first. Each row of a block is an order:
its first places are the first side after the permutation, the others the second.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from longform.statistics.resampling import blocks


def swapped(pairs: int, rng: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Orders after swaps within pairs, each pair swapped with probability one half.

    Args:
        pairs: units of a side; unit i of one side is paired with unit i of the other.

    Yields:
        Rows of the pooled units, int (draws of the block, 2 * pairs).
    """
    rows = np.arange(pairs)
    for count in blocks(draws, 2 * pairs):
        offset = rng.integers(0, 2, (count, pairs)) * pairs
        yield np.concatenate([rows + offset, rows + (pairs - offset)], axis=1)


def exchanged(units: int, rng: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Random orders of all pooled units.

    Args:
        units: of both sides together.

    Yields:
        Rows of the pooled units, int (draws of the block, units).
    """
    for count in blocks(draws, units):
        yield np.array([rng.permutation(units) for _ in range(count)])


def swapped_and_exchanged(
    first: Sequence[str], second: Sequence[str], rng: np.random.Generator, draws: int
) -> Iterator[np.ndarray]:
    """Orders in which two versions of one text are swapped and all other units are exchanged.

    Args:
        first, second: unit ids of a side; an id on both sides names two versions.

    Yields:
        Rows of the pooled units, int (draws of the block, units of both sides).
    """
    # 1. Rows of the versions of one text, and rows of the units on one side only.
    row_of_second = {name: len(first) + row for row, name in enumerate(second)}
    left_rows = [row for row, name in enumerate(first) if name in row_of_second]
    right_rows = [row_of_second[first[row]] for row in left_rows]
    left = np.array(left_rows, dtype=np.int64)
    right = np.array(right_rows, dtype=np.int64)
    units = np.arange(len(first) + len(second))
    unmatched = np.setdiff1d(units, np.concatenate([left, right]))
    # 2. Swap the former, permute the latter.
    for count in blocks(draws, len(units)):
        rows = np.tile(units, (count, 1))
        swap = rng.integers(0, 2, (count, len(left))) > 0
        rows[:, left] = np.where(swap, right, left)
        rows[:, right] = np.where(swap, left, right)
        rows[:, unmatched] = rng.permuted(np.tile(unmatched, (count, 1)), axis=1)
        yield rows
