"""EM on a sparse joint table: once n-grams have settled on states, only the pairs that carry mass are visited.

After some dense iterations nearly all expected mass sits in a small part of the table. Keeping those
(n-gram, state) pairs makes a position cost (states that may end here) x (states that may begin here)
instead of C^2. The support is chosen once and covers at least one path of every sequence; EM then only
changes the probabilities on it, so the likelihood does not fall.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from longform.language_models.hsmm.blocks import blocks_of
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.ngrams import NgramTable
from longform.language_models.hsmm.paths import viterbi
from longform.language_models.hsmm.sparse_kernels import sparse_backward, sparse_forward
from longform.language_models.hsmm.steps import Compute, Expectation

SPARSE_BLOCKS = 8  # ours: a sparse block is this many dense ones, because a block adds up a whole vector of pairs
LEAST_COUNT = 0.003  # expected segments; 0.001 to 0.005 lost no sequence in prototypes, 0.05 lost 2 % of them
ROWS_PER_SLICE = 65_536  # ours: table rows compared at once while choosing the support


@dataclass(frozen=True)
class SparseSemiMarkovLM:
    """A semi-Markov model whose joint table keeps some (n-gram, state) pairs; everything in float64.

    Attributes:
        ngrams: which n-gram each row is.
        transitions: (C, C).
        starts: pairs of row g are ``starts[g]:starts[g + 1]``, (G + 1,) int64.
        states: state of each pair, ascending inside a row, int32.
        values: P(duration, n-gram | state) of each pair.
    """

    ngrams: NgramTable
    transitions: np.ndarray
    starts: np.ndarray
    states: np.ndarray
    values: np.ndarray

    @property
    def num_states(self) -> int:
        """C."""
        return self.transitions.shape[0]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers without the n-gram table, by field name."""
        return {name: getattr(self, name) for name in ("transitions", "starts", "states", "values")}

    @property
    def density(self) -> float:
        """Share of the table's pairs that are kept."""
        return len(self.values) / (self.ngrams.rows * self.num_states)

    def dense(self, dtype: str = "float32") -> SemiMarkovLM:
        """The same model with the whole table."""
        joint = np.zeros((self.ngrams.rows, self.num_states), dtype)
        joint[np.repeat(np.arange(self.ngrams.rows), np.diff(self.starts)), self.states] = self.values
        return SemiMarkovLM(self.ngrams, self.transitions.astype(dtype), joint)

    def log_likelihood(self, encoded: Sequence[np.ndarray]) -> np.ndarray:
        """log P of each sequence of token ids in nats; minus infinity where the support explains nothing."""
        work, out = SparseWork.of(self, encoded), np.empty(len(encoded))
        for i, ids in enumerate(encoded):
            out[i] = work.forward(self, self.ngrams.index(ids))
            work.clear(len(ids))
        return out


@dataclass(frozen=True)
class SparseWork:
    """One thread's vectors for one sequence at a time; all zero between sequences, (T + 1, C) or (T + 1,)."""

    vectors: np.ndarray
    scales: np.ndarray
    active: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, model: SparseSemiMarkovLM, encoded: Sequence[np.ndarray]) -> SparseWork:
        """Vectors long enough for the longest of some sequences."""
        positions = max(map(len, encoded)) + 1
        shape = (positions, model.num_states)
        return cls(
            np.zeros((4, *shape)),
            np.zeros((2, positions)),
            np.zeros((2, *shape), np.int32),
            np.zeros((2, positions), np.int64),
        )

    def forward(self, model: SparseSemiMarkovLM, index: np.ndarray) -> float:
        """Fill the forward vectors; returns log P."""
        return sparse_forward(
            index, model.starts, model.states, model.values, model.transitions, self.vectors, self.scales,
            self.active, self.counts,
        )  # fmt: skip

    def backward(
        self, model: SparseSemiMarkovLM, index: np.ndarray, log_p: float, pairs: np.ndarray, moves: np.ndarray
    ) -> None:
        """Add the expected counts of the sequence that ``forward`` just read."""
        sparse_backward(
            index, model.starts, model.states, model.values, model.transitions, self.vectors, self.scales,
            self.active, self.counts, log_p, pairs, moves,
        )  # fmt: skip

    def clear(self, length: int) -> None:
        """Zero what a sequence of some length touched."""
        self.vectors[:, : length + 1] = 0


def sparse_expectation(
    model: SparseSemiMarkovLM,
    encoded: Sequence[np.ndarray],
    compute: Compute,
    on_block: Callable[[int, float], None] | None = None,
) -> Expectation:
    """Expected counts on the support, ``segments`` being one count per pair; block by block as the dense step."""
    total = Expectation(0.0, 0, 0, np.zeros(model.transitions.shape), np.zeros(len(model.values)))
    blocks = blocks_of([len(ids) for ids in encoded], compute.rows_per_block * SPARSE_BLOCKS)
    done = [threading.Event() for _ in blocks]

    def add(place: int) -> None:
        try:
            part = _sparse_block(model, [encoded[i] for i in blocks[place]])
            if place:
                done[place - 1].wait()  # sums run in block order, whatever the threads
            total.log_likelihood += part.log_likelihood
            total.tokens, total.lost = total.tokens + part.tokens, total.lost + part.lost
            total.transitions += part.transitions
            total.segments += part.segments
            if on_block:
                on_block(total.tokens, total.log_likelihood)
        finally:
            done[place].set()

    with ThreadPoolExecutor(compute.threads) as pool:
        list(pool.map(add, range(len(blocks))))
    return total


def _sparse_block(model: SparseSemiMarkovLM, encoded: Sequence[np.ndarray]) -> Expectation:
    part = Expectation(0.0, 0, 0, np.zeros(model.transitions.shape), np.zeros(len(model.values)))
    work = SparseWork.of(model, encoded)
    for ids in encoded:
        index = model.ngrams.index(ids)
        log_p = work.forward(model, index)
        if np.isneginf(log_p):
            part.lost += 1
        else:
            part.log_likelihood, part.tokens = part.log_likelihood + log_p, part.tokens + len(ids)
            work.backward(model, index, log_p, part.segments, part.transitions)
        work.clear(len(ids))
    return part


def sparse_maximise(model: SparseSemiMarkovLM, expected: Expectation) -> SparseSemiMarkovLM:
    """M-step on the support; a state without counts keeps its old probabilities."""
    sums = np.bincount(model.states, weights=expected.segments, minlength=model.num_states)
    fresh = expected.segments / np.where(sums > 0, sums, 1)[model.states]
    values = np.where(sums[model.states] > 0, fresh, model.values)
    moved = expected.transitions.sum(axis=1, keepdims=True)
    rows = np.where(moved > 0, expected.transitions / np.where(moved > 0, moved, 1), model.transitions)
    return replace(model, values=values, transitions=rows)


def sparsify(
    model: SemiMarkovLM, segments: np.ndarray, encoded: Sequence[np.ndarray], *, least: float = LEAST_COUNT
) -> SparseSemiMarkovLM:
    """Keep the pairs with at least ``least`` expected segments, and the best path of every sequence that this would lose.

    Args:
        model: the dense model after an M-step.
        segments: expected segments of each state in the E-step that it came from, (C,).
        encoded: token ids of the training sequences, each of which keeps positive probability.
        least: see ``LEAST_COUNT``.
    """
    kept = [
        (model.joint[i : i + ROWS_PER_SLICE] * segments >= least).nonzero()
        for i in range(0, model.ngrams.rows, ROWS_PER_SLICE)
    ]
    rows = np.concatenate([found[0] + ROWS_PER_SLICE * i for i, found in enumerate(kept)])
    states = np.concatenate([found[1] for found in kept])
    sparse = _from_pairs(model, rows, states)
    lost = np.flatnonzero(np.isneginf(sparse.log_likelihood(encoded)))
    if len(lost):
        paths = [viterbi(model, encoded[i]) for i in lost.tolist()]
        rows = np.concatenate([rows, *(path.rows for path in paths)])
        states = np.concatenate([states, *(path.states for path in paths)])
        sparse = _from_pairs(model, rows, states)
    return sparse


def _from_pairs(model: SemiMarkovLM, rows: np.ndarray, states: np.ndarray) -> SparseSemiMarkovLM:
    pairs = np.unique(rows.astype(np.int64) * model.num_states + states)
    rows, states = np.divmod(pairs, model.num_states)
    values = model.joint[rows, states].astype(np.float64)
    values /= np.bincount(states, weights=values, minlength=model.num_states).clip(min=1e-300)[states]
    starts = np.searchsorted(rows, np.arange(model.ngrams.rows + 1)).astype(np.int64)
    return SparseSemiMarkovLM(
        model.ngrams, model.transitions.astype(np.float64), starts, states.astype(np.int32), values
    )
