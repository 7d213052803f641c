"""Token rows packed into prefix trees, so that what minimal pairs share is read once.

Nodes lie in order of insertion; a branch is a run of nodes that hangs on an earlier node. Under a mask that shows each
node its ancestors, with its depth as position, a causal model reads every row of the tree as if it stood alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

MIN_SHARED = 0.2  # of a row: below this, mask and bookkeeping cost more than the tokens saved (measured on CPU)
TREE_NODES = 512  # attention is quadratic in the nodes of a tree


@dataclass
class Tree:
    """Rows that share a prefix.

    Attributes:
        tokens: of each node.
        runs: (first node, parent of that node) of every branch; the first run hangs on nothing, parent -1.
        rows: (row number, its nodes from the root on), one per row.
    """

    tokens: list[int] = field(default_factory=list)
    runs: list[tuple[int, int]] = field(default_factory=list)
    rows: list[tuple[int, np.ndarray]] = field(default_factory=list)

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

    def add(self, index: int, row: tuple[int, ...], common: int) -> None:
        """Hang on a row that shares its first ``common`` tokens with the row added last."""
        shared = self.rows[-1][1][:common] if self.rows else np.zeros(0, dtype=np.int64)
        first = len(self.tokens)
        self.tokens += row[common:]
        if len(row) > common:
            self.runs.append((first, int(shared[-1]) if common else -1))
        self.rows.append((index, np.concatenate([shared, np.arange(first, len(self.tokens))])))


def grow(rows: Sequence[tuple[int, ...]], share: bool) -> list[Tree]:
    """Every row in one tree; equal rows always share, others only if ``share`` is true and it pays.

    Rows are taken in lexicographic order, in which the longest common prefix with any earlier row is the one with
    the row just before.
    """
    trees: list[Tree] = []
    last: tuple[int, ...] = ()
    longest = 0
    for index in sorted(range(len(rows)), key=lambda index: rows[index]):
        row = rows[index]
        common = common_prefix(row, last)
        nodes = len(trees[-1].tokens) + len(row) - common if trees else 0
        pays = common >= max(1, MIN_SHARED * len(row)) and nodes <= max(TREE_NODES, 2 * longest)
        if not trees or not (row == last or (share and pays)):
            trees.append(Tree())
            common = longest = 0
        trees[-1].add(index, row, common)
        last, longest = row, max(longest, len(row))
    return trees


def common_prefix(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """How many leading tokens two rows share."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(np.asarray(first[:length]) != np.asarray(second[:length]))
    return int(differ[0]) if len(differ) else length


def batches(trees: Sequence[Tree], budget: int) -> Iterator[list[Tree]]:
    """Trees of similar size together, at most ``budget`` padded tokens a batch; plain rows apart from branched ones."""
    for branched in (False, True):
        batch: list[Tree] = []
        for tree in sorted((t for t in trees if (len(t.runs) > 1) == branched), key=lambda t: len(t.tokens)):
            if batch and len(tree.tokens) * (len(batch) + 1) > budget:
                yield batch
                batch = []
            batch.append(tree)
        if batch:
            yield batch
