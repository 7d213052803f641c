r"""Exact forward-backward of a hidden semi-Markov model on the processor.

Factored, compiled, and run on many sequences at once.

With transitions A and the joint table $W[g, z] = P(\text{duration}, \text{n-gram } g \mid z)$,

$$ b_t = \alpha_t A, \quad \alpha_t(z) = \sum_k b_{t-k}(z) W[g(t-k, k), z], \quad
   e_t(z) = \sum_k W[g(t, k), z] \beta_{t+k}(z), \quad \beta_t = A e_t, $$

so a position costs $C^2 + KC$, not $KC^2$, and over a batch the $C^2$ part is one matrix product
(deng2022, section 5.1, factors its potentials the same way but materialises them). Vectors are kept
scaled, with float64 logarithms of the scales; no array of T C C entries exists.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from longform.hsmm import kernels

# Entries below these, relative to a vector's largest, become 0: they keep products out of the
# denormal range.
FLOORS = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-290}
# nats between forward and backward log P; float32 rounding alone stays below 1e-4 at T = 400
AGREEMENT = 1e-3
# exponents that still fit the type
LIMITS = {np.dtype(np.float32): 85.0, np.dtype(np.float64): 700.0}
# ours: table rows normalised at once, so that the M-step needs no third table
ROWS_PER_SLICE = 65_536
# ours: probabilities below it become 0, which keeps float32 products out of the denormals
MASS_FLOOR = 1e-30
# ours: 64 texts of the synthetic language per scan; 300 MB of vectors at 800 states
ROWS_PER_BLOCK = 24_000


@contextmanager
def without_denormals() -> Iterator[None]:
    """Flush denormal numbers to 0 in this thread, in compiled loops and in torch's products.

    A posterior of 1e-40 changes no sum, and on Intel's processors a product with many of them takes
    40 times as long.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@dataclass(frozen=True)
class Tables:
    """A model's probability tables in the form that the scan reads.

    Attributes:
        transitions: A, (C, C).
        joint: W, (G, C), of the same type.
        tops: logarithm of the largest entry of each row of ``joint``, float64 (G,).
    """

    transitions: np.ndarray
    joint: np.ndarray
    tops: np.ndarray

    @classmethod
    def of(cls, transitions: np.ndarray, joint: np.ndarray) -> "Tables":
        """Tables of A and W as arrays; computes the row maxima."""
        tops = np.empty(len(joint))
        kernels.log_tops(joint, tops)
        return cls(np.ascontiguousarray(transitions, dtype=joint.dtype), joint, tops)


@dataclass
class Expectation:
    """Expected counts over sequences, arrays or tensors of the device that scanned.

    Attributes:
        transitions: expected number of transitions between states, (C, C) float64.
        segments: expected number of segments of each n-gram and state, (G, C).
        log_likelihood: log-likelihood of the sequences of positive probability, nats.
        tokens: number of tokens of these sequences.
        lost: number of sequences of probability zero, left out of all of these.
        blocks: number of blocks of sequences summed so far; a killed pass resumes behind them.
    """

    transitions: Any
    segments: Any
    log_likelihood: float = 0.0
    tokens: int = 0
    lost: int = 0
    blocks: int = 0


def blocks_of(lengths: Sequence[int], rows_per_block: int) -> list[np.ndarray]:
    """Pack sequences, longest first, into blocks that are scanned at once.

    Args:
        lengths: tokens of each sequence.
        rows_per_block: most rows of a block; a longer sequence has a block of its own.

    Returns:
        For each block, the indices of its sequences, int64.
    """
    blocks: list[list[int]] = []
    rows = rows_per_block  # as of a full block, so that the first sequence opens one
    by_length = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    for i in by_length.tolist():
        # A scan has a row for each of the T + 1 boundaries of T tokens.
        new_rows = int(lengths[i]) + 1
        if rows + new_rows > rows_per_block:
            blocks.append([])
            rows = 0
        blocks[-1].append(i)
        rows += new_rows
    return [np.array(members) for members in blocks]


def renumbered(indices: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Index arrays over only those table rows that they use.

    Args:
        indices: index array (T_i, K) of each sequence; -1 where there is no segment.

    Returns:
        The arrays with rows numbered afresh, and the rows that they use, (U,).
    """
    rows = np.unique(np.concatenate([index.ravel() for index in indices]))
    rows = rows[rows >= 0]
    fresh = []
    for index in indices:
        numbers = np.where(index >= 0, np.searchsorted(rows, index), -1)
        fresh.append(numbers.astype(np.int32))
    return fresh, rows


class Workspace(threading.local):
    """Buffers of each thread, allocated once and used by one scan after another.

    A scan's vectors are valid until the thread's next scan with the same workspace.
    """

    def __init__(self) -> None:
        self.buffers: dict[str, np.ndarray] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An uninitialised array in the thread's buffer of that name."""
        size = math.prod(shape)
        buffer = self.buffers.get(name)
        if buffer is None or len(buffer) < size or buffer.dtype != dtype:
            buffer = np.empty(size, dtype)
            self.buffers[name] = buffer
        return buffer[:size].reshape(shape)


class Scan:
    """Forward-backward over the sequences of one block.

    Vectors are scaled: (rows, C), with the logarithms of the scales, nats, (rows,). Sequences are
    packed longest first, position by position, without padding: row ``first[t] + b`` is position t
    of the b-th longest one; positions run 0..T of each. The constructor packs and makes the forward
    pass; :meth:`backward` adds the rest.

    Attributes:
        order, ends: index in the caller's list of each packed sequence, and row of its end
            position, (B,).
        first, sequence: first row of each position, (T + 2,), and packed sequence that each row
            belongs to, (rows,).
        index: row of the joint table for the segment of length k + 1 that starts at a row, -1 if
            none, (rows, K).
        ended, before, begun, after: alpha (a segment ended here), b (one is about to begin), e (one
            begins here) and beta (all after one that ended); at a sequence's end e and beta are 0
            and 1.
        forward_scales, backward_scales, begun_scales: of alpha and b, of beta, and of e.
        log_partition: log P of each packed sequence in nats, (B,) float64, minus infinity where
            nothing explains it.
    """

    def __init__(
        self, indices: Sequence[np.ndarray], tables: Tables, workspace: Workspace | None = None
    ) -> None:
        """Pack the sequences and make the forward pass.

        Args:
            indices: index array (T_i, K) of each sequence, as :meth:`NgramTable.index` gives it.
            tables: the model's tables.
            workspace: buffers to use again.
        """
        self.tables = tables
        self.workspace = workspace or Workspace()
        self._pack(indices)
        self._forward()

    def _pack(self, indices: Sequence[np.ndarray]) -> None:
        """Set ``order``, ``first``, ``ends``, ``sequence`` and ``index``."""
        lengths = np.array([len(index) for index in indices], dtype=np.int64)
        self.order = np.argsort(-lengths, kind="stable")
        lengths = lengths[self.order]
        # How many sequences reach each position, and so where its rows begin.
        positions = range(lengths[0] + 1)
        reaching = np.array([np.searchsorted(-lengths, -t, side="right") for t in positions])
        first = np.concatenate([[0], np.cumsum(reaching)]).astype(np.int64)
        self.first = first
        self.ends = first[lengths] + np.arange(len(lengths))
        self.sequence = np.arange(first[-1]) - np.repeat(first[:-1], np.diff(first))
        self.index = np.full((first[-1], indices[0].shape[1]), -1, dtype=np.int32)
        for b, number in enumerate(self.order):
            self.index[first[: lengths[b]] + b] = indices[number]

    def _forward(self) -> None:
        """Compute alpha and b position by position, then log P from alpha at the ends.

        z_0 is state 0 and emits nothing (deng2022, released code).
        """
        tables, first = self.tables, self.first
        rows, dtype = first.tolist(), tables.joint.dtype
        shape = rows[-1], tables.joint.shape[1]
        ended = self.workspace.take("ended", shape, dtype)
        before = self.workspace.take("before", shape, dtype)
        scales = np.zeros(rows[-1])
        self.ended, self.before, self.forward_scales = ended, before, scales
        # z_0 is state 0.
        ended[: rows[1]] = 0
        ended[: rows[1], 0] = 1
        # Views for torch's product, in which the C^2 part of a position runs.
        alpha = torch.from_numpy(ended)
        b = torch.from_numpy(before)
        transitions = torch.from_numpy(tables.transitions)
        floor = FLOORS[dtype]
        for t in range(len(rows) - 1):
            if t:
                kernels.forward_step(
                    t, first, self.index, tables.joint, tables.tops, before, scales, ended, floor
                )
            torch.mm(alpha[rows[t] : rows[t + 1]], transitions, out=b[rows[t] : rows[t + 1]])
        last_scales = scales[self.ends]
        # Where nothing explains a sequence, alpha is zero at its end, and log 0 minus infinity.
        with np.errstate(divide="ignore"):
            log_sums = np.log(ended[self.ends].sum(axis=1, dtype=np.float64))
        self.log_partition = log_sums + last_scales

    def backward(self) -> "Scan":
        """Compute e and beta, from the last position to the first; returns the same scan."""
        tables, ended, first = self.tables, self.ended, self.first
        rows = first.tolist()
        self.begun = self.workspace.take("begun", ended.shape, ended.dtype)
        self.after = self.workspace.take("after", ended.shape, ended.dtype)
        self.backward_scales = np.zeros(len(ended))
        self.begun_scales = np.full(len(ended), kernels.DEAD)
        self.begun[self.ends] = 0
        self.after[self.ends] = 1
        # Copied once, since each product with a transposed view would copy it again.
        transposed = np.ascontiguousarray(tables.transitions.T)
        e = torch.from_numpy(self.begun)
        beta = torch.from_numpy(self.after)
        transitions = torch.from_numpy(transposed)
        floor = FLOORS[ended.dtype]
        for t in range(len(rows) - 3, -1, -1):
            kernels.backward_step(
                t,
                first,
                self.index,
                tables.joint,
                tables.tops,
                self.after,
                self.backward_scales,
                self.begun,
                self.begun_scales,
                floor,
            )
            # Only sequences that go beyond t; the others ended here, with beta 1.
            num_going_on = rows[t + 2] - rows[t + 1]
            going_on = slice(rows[t], rows[t] + num_going_on)
            torch.mm(e[going_on], transitions, out=beta[going_on])
            self.backward_scales[going_on] = self.begun_scales[going_on]
        return self

    @property
    def disagreement(self) -> np.ndarray:
        """Absolute difference of the forward and the backward log P, nats, (B,).

        Large where rounding lost a path; 0 where both are minus infinity.
        """
        # z_0 is state 0, so the backward log P is log beta_0(0), at the first row of each sequence.
        starts = slice(0, len(self.order))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_beta = np.log(self.after[starts, 0].astype(np.float64))
            gap = np.abs(log_beta + self.backward_scales[starts] - self.log_partition)
        return np.where(np.isnan(gap), 0.0, gap)


def scan_in_float64(
    indices: Sequence[np.ndarray], transitions: Any, joint: Any
) -> tuple[Scan, np.ndarray]:
    """Forward pass in float64 over the excerpt of the tables that sequences use.

    Args:
        indices: index array (T_i, K) of each sequence.
        transitions, joint: A and W as arrays or tensors.

    Returns:
        The scan, and the rows of ``joint`` that its excerpt holds, (U,).
    """
    fresh_indices, rows = renumbered(indices)
    excerpt = []
    for table in (transitions, joint[rows]):
        excerpt.append(torch.as_tensor(table).double().cpu().numpy())
    return Scan(fresh_indices, Tables.of(*excerpt)), rows


@without_denormals()
def log_partitions(
    indices: Sequence[np.ndarray], tables: Tables, workspace: Workspace | None = None
) -> np.ndarray:
    """log P of each sequence in nats, float64 (B,).

    Sequences that have no path in float32 are scanned again in float64.

    Args:
        indices: index array (T_i, K) of each sequence.
        tables: the model's tables.
        workspace: buffers to use again.
    """
    scan = Scan(indices, tables, workspace)
    log_probs = np.empty(len(indices))
    log_probs[scan.order] = scan.log_partition
    lost = np.flatnonzero(np.isneginf(log_probs))
    if tables.joint.dtype != np.float64 and len(lost):
        lost_indices = [indices[i] for i in lost.tolist()]
        rescan, _ = scan_in_float64(lost_indices, tables.transitions, tables.joint)
        log_probs[lost[rescan.order]] = rescan.log_partition
    return log_probs


@dataclass
class _ScannedBlock:
    """A block's scan, and a second one in float64 of the sequences that float32 lost a path of.

    Attributes:
        scan: of the whole block; ``log_partition`` is minus infinity for what is scanned again.
        pairs: its expected transitions, (C, C) float64.
        poor: packed indices of the sequences that are scanned again, (P,).
        rescan, rescan_rows, rescan_pairs: the second scan, rows of ``joint`` that its tables hold,
            and its expected transitions; None where nothing was scanned again.
    """

    scan: Scan
    pairs: np.ndarray
    poor: np.ndarray
    rescan: Scan | None = None
    rescan_rows: np.ndarray | None = None
    rescan_pairs: np.ndarray | None = None


def _scanned(
    indices: Sequence[np.ndarray], tables: Tables, workspace: Workspace | None
) -> _ScannedBlock:
    """Scan a block, and once more in float64 the sequences that lost a path to float32.

    ``indices`` are the index arrays (T_i, K) of its sequences.
    """
    scan = Scan(indices, tables, workspace).backward()
    is_poor = np.isneginf(scan.log_partition) | (scan.disagreement > AGREEMENT)
    poor = np.flatnonzero(is_poor)
    if tables.joint.dtype == np.float64 or not len(poor):
        return _ScannedBlock(scan, transition_counts(scan), poor)
    scan.log_partition[poor] = -np.inf
    poor_indices = [indices[i] for i in scan.order[poor]]
    rescan, rows = scan_in_float64(poor_indices, tables.transitions, tables.joint)
    rescan.backward()
    pairs = transition_counts(scan)
    return _ScannedBlock(scan, pairs, poor, rescan, rows, transition_counts(rescan))


def _add_block(total: Expectation, block: _ScannedBlock, tokens: np.ndarray) -> None:
    """Add a block's counts to the totals in place; ``tokens`` of each of its sequences, (B,)."""
    accumulate(total, block.scan, block.pairs, total.segments, tokens)
    if block.rescan is None or block.rescan_rows is None or block.rescan_pairs is None:
        return
    # The scan counted all poor sequences as lost; the rescan counts those that truly are.
    total.lost -= len(block.poor)
    counts = np.zeros(block.rescan.tables.joint.shape)
    poor_tokens = tokens[block.scan.order][block.poor]
    accumulate(total, block.rescan, block.rescan_pairs, counts, poor_tokens)
    total.segments[block.rescan_rows] += counts.astype(total.segments.dtype)


def expectation(
    tables: Tables,
    lengths: Sequence[int],
    index_of: Callable[[int], np.ndarray],
    *,
    tokens: Sequence[int] | None = None,
    threads: int = 1,
    rows_per_block: int | None = None,
    workspace: Workspace | None = None,
    begun: Expectation | None = None,
    on_block: Callable[[Expectation, int], None] | None = None,
) -> Expectation:
    """Exact expected counts over a corpus (E-step), block by block.

    The sums run in block order, so they do not depend on ``threads``, bit for bit. Sequences of
    which float32 loses a path are scanned again in float64 (:func:`_scanned`).

    Args:
        tables: the model: transitions of C states, and P(duration, n-gram | state), (G, C).
        lengths: length T of each sequence's index array.
        index_of: returns the index array (T, K) of the i-th sequence: at [t, k - 1] the row of G
            for the n-gram of k tokens from t on, -1 for none; K is the longest duration.
        tokens: number of tokens of each sequence, which the result counts; by default its length,
            from which it differs where index arrays leave positions out.
        threads: blocks that are scanned at once.
        rows_per_block: positions scanned at once; memory is 4 vectors of C states per row and
            thread.
        workspace: buffers to use again; each thread has its own in it.
        begun: sums over the first blocks, of a pass that was killed; it is added to in place.
        on_block: called after each block with the sums so far and the number of all blocks; sums
            that it saves can be ``begun``.

    Returns:
        Expected counts and log-likelihood, summed over all blocks.
    """
    total = begun or Expectation(np.zeros(tables.transitions.shape), np.zeros_like(tables.joint))
    blocks = blocks_of(lengths, rows_per_block or ROWS_PER_BLOCK)
    workspace = workspace or Workspace()
    num_tokens = np.asarray(lengths if tokens is None else tokens)
    remaining = range(total.blocks, len(blocks))
    added = [threading.Event() for _ in blocks]  # one for each block, set when it is summed

    @without_denormals()  # of the function, since each thread sets it for itself
    def add(number: int) -> None:
        """Scan a block and add it to the totals behind all blocks before it."""
        members = blocks[number]
        try:
            # Blocks are scanned side by side, and added in order: each waits for the one before it.
            block = _scanned([index_of(i) for i in members], tables, workspace)
            if number > remaining.start:
                added[number - 1].wait()
            if total.blocks != number:
                return  # the block before this one failed, and its error is on the way
            _add_block(total, block, num_tokens[members])
            total.blocks += 1
            if on_block:
                on_block(total, len(blocks))
        finally:
            added[number].set()

    if threads == 1:
        for number in remaining:
            add(number)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(add, remaining))
    return total


def accumulate(
    total: Expectation,
    scan: Scan,
    pairs: np.ndarray | torch.Tensor,
    segments: np.ndarray,
    tokens: np.ndarray,
) -> None:
    r"""Add a scan to the totals: log-likelihood, tokens, lost sequences and expected counts.

    Segments $\sum b_t(z) W[g, z] \beta_{t+k}(z) / P(x)$ are the gradient with respect to log W.
    They are summed in a fixed order: by table row, then by position. Sequences of probability zero
    only count as lost.

    Args:
        total: is added to in place, but for its segments.
        scan: ran forward and backward.
        pairs: its expected transitions, (C, C).
        segments: (G, C); the expected segments are added to it.
        tokens: number of tokens of each sequence, in the caller's order, (B,).
    """
    explained = np.isfinite(scan.log_partition)
    total.log_likelihood += float(scan.log_partition[explained].sum())
    total.tokens += int(tokens[scan.order][explained].sum())
    total.lost += int(np.isneginf(scan.log_partition).sum())
    total.transitions += pairs
    # 1. Sort the occurrences by table row, then by position: both share the bits of one integer.
    rows_of_table = scan.index.ravel()
    bits = scan.index.size.bit_length()
    occurrences = np.flatnonzero(rows_of_table >= 0)
    keys = np.sort(rows_of_table[occurrences].astype(np.int64) << bits | occurrences)
    grams = keys >> bits
    occurrences = keys & ((1 << bits) - 1)
    # 2. Find the rows at which each occurrence starts and ends.
    starts, k = np.divmod(occurrences, scan.index.shape[1])
    positions = np.repeat(np.arange(len(scan.first) - 1), np.diff(scan.first))
    ends = scan.first[positions[starts] + k + 1] + scan.sequence[starts]
    # 3. Sum the occurrences of each n-gram; those of the i-th are bounds[i] to bounds[i + 1].
    left, right = scan.forward_scales[starts], scan.backward_scales[ends]
    exponents = _exponents(left, right, scan.log_partition[scan.sequence[starts]])
    begins = np.flatnonzero(np.diff(grams, prepend=-1))
    bounds = np.append(begins, len(keys))
    vectors = scan.before, scan.after, scan.tables.joint
    kernels.add_counts(bounds, grams[begins], starts, ends, exponents, *vectors, segments)


def transition_counts(scan: Scan) -> np.ndarray:
    r"""Expected transitions $\xi(i, j) = A_{ij} \sum_t \alpha_t(i) e_t(j) / P(x)$ over the block.

    Equals the gradient of the summed log partition with respect to log A. Consumes ``scan.begun``.

    Returns:
        float64 (C, C).
    """
    log_partition = scan.log_partition[scan.sequence]
    exponents = _exponents(scan.forward_scales, scan.begun_scales, log_partition)
    kernels.weigh_rows(scan.begun, exponents, LIMITS[scan.begun.dtype])
    pairs = torch.mm(torch.from_numpy(scan.ended).t(), torch.from_numpy(scan.begun)).numpy()
    return pairs.astype(np.float64) * scan.tables.transitions


def _exponents(left: np.ndarray, right: np.ndarray, log_partition: np.ndarray) -> np.ndarray:
    """``left + right - log_partition``, ``DEAD`` where a scale is dead or nothing explains it.

    Args:
        left, right: scales of two vectors, nats, float64 (pairs,).
        log_partition: log P of the sequence that each pair lies in, nats, float64 (pairs,).
    """
    is_dead = (left <= kernels.DEAD) | (right <= kernels.DEAD) | ~np.isfinite(log_partition)
    return np.where(is_dead, kernels.DEAD, left + right - np.where(is_dead, 0.0, log_partition))
