"""Token rows packed into prefix trees, so that what minimal pairs share is read once.

Nodes lie in order of insertion; a branch is a run of nodes that hangs on an earlier node. Under a mask that shows each
node its ancestors, with its depth as position, a causal model reads every row of the tree as if it stood alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

LEAST_SHARE = 0.2  # of a row: below this, mask and bookkeeping cost more than the tokens saved (measured on CPU)
TREE_NODES = 512  # attention is quadratic in the nodes of a tree


@dataclass(frozen=True)
class Tree:
    """Rows that share a prefix.

    Attributes:
        tokens: int64, shape (nodes,).
        runs: (first node, parent of that node) of every branch; the first run hangs on nothing, parent -1.
        rows: (row number, its nodes from the root on), one per row.
    """

    tokens: np.ndarray
    runs: tuple[tuple[int, int], ...]
    rows: tuple[tuple[int, np.ndarray], ...]

    @property
    def parents(self) -> np.ndarray:
        """Parent of every node, int64, -1 at the root."""
        parents = np.arange(-1, len(self.tokens) - 1)
        for first, parent in self.runs:
            parents[first] = parent
        return parents

    def depths(self) -> np.ndarray:
        """Distance of every node from the root: its position in its row."""
        depths = np.arange(len(self.tokens))
        for first, parent in self.runs[1:]:
            depths[first:] += depths[parent] + 1 - depths[first]
        return depths

    def ancestors(self) -> np.ndarray:
        """Boolean (nodes, nodes): whether the column is the row's node or one of its ancestors."""
        size = len(self.tokens)
        seen = np.tri(size, dtype=bool)
        stops = [first for first, _ in self.runs[1:]] + [size]
        for (first, parent), stop in zip(self.runs[1:], stops[1:], strict=True):
            seen[first:stop, :first] = seen[parent, :first]
        return seen


def grow(rows: Sequence[tuple[int, ...]], share: bool) -> list[Tree]:
    """Every row in one tree; equal rows always share, others only if ``share`` is true and it pays.

    Rows are taken in lexicographic order, in which the longest common prefix with any earlier row is the one with
    the row just before.
    """
    order = sorted(range(len(rows)), key=lambda index: rows[index])
    trees: list[_Growing] = []
    for index in order:
        row = rows[index]
        if not trees or not trees[-1].takes(row, share):
            trees.append(_Growing())
        trees[-1].add(index, row)
    return [tree.done() for tree in trees]


def common_prefix(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """How many leading tokens two rows share."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(np.asarray(first[:length]) != np.asarray(second[:length]))
    return int(differ[0]) if len(differ) else length


class _Growing:
    """A tree to which rows are still added."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.runs: list[tuple[int, int]] = []
        self.rows: list[tuple[int, np.ndarray]] = []
        self.last: tuple[int, ...] = ()
        self.longest = 0

    def takes(self, row: tuple[int, ...], share: bool) -> bool:
        """Whether the row belongs here: equal to the last one, or similar enough and the tree not too large."""
        if row == self.last or not share:
            return row == self.last
        common = common_prefix(row, self.last)
        nodes = len(self.tokens) + len(row) - common
        return common >= max(1, LEAST_SHARE * len(row)) and nodes <= max(TREE_NODES, 2 * self.longest)

    def add(self, index: int, row: tuple[int, ...]) -> None:
        common = common_prefix(row, self.last) if self.rows else 0
        shared = self.rows[-1][1][:common] if self.rows else np.zeros(0, dtype=np.int64)
        first = len(self.tokens)
        self.tokens += row[common:]
        if len(row) > common:
            self.runs.append((first, int(shared[-1]) if common else -1))
        fresh = np.arange(first, len(self.tokens))
        self.rows.append((index, np.concatenate([shared, fresh])))
        self.last, self.longest = row, max(self.longest, len(row))

    def done(self) -> Tree:
        return Tree(np.array(self.tokens, dtype=np.int64), tuple(self.runs), tuple(self.rows))


def batches(trees: Sequence[Tree], budget: int) -> Iterator[list[Tree]]:
    """Trees of similar size together, at most ``budget`` padded tokens a batch; plain rows apart from branched ones."""
    plain = sorted((t for t in trees if len(t.runs) <= 1), key=lambda t: len(t.tokens))
    branched = sorted((t for t in trees if len(t.runs) > 1), key=lambda t: len(t.tokens))
    for kind in (plain, branched):
        batch: list[Tree] = []
        for tree in kind:
            if batch and len(tree.tokens) * (len(batch) + 1) > budget:
                yield batch
                batch = []
            batch.append(tree)
        if batch:
            yield batch
