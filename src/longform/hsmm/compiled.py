r"""Exact forward-backward of a hidden semi-Markov model on the processor: factored, compiled, many sequences at once.

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

# Entries below these, relative to a vector's largest, become 0: they keep products out of the denormal range.
FLOORS = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-290}
AGREEMENT = 1e-3  # nats between forward and backward log P; float32 rounding alone stays below 1e-4 at T = 400
LIMITS = {
    np.dtype(np.float32): 85.0,
    np.dtype(np.float64): 700.0,
}  # exponents that still fit the type
ROWS_PER_SLICE = (
    65_536  # ours: table rows normalised at once, so that the M-step needs no third table
)
MASS_FLOOR = 1e-30  # ours: probabilities below it become 0, which keeps float32 products out of the denormals
ROWS_PER_BLOCK = (
    24_000  # ours: 64 texts of the synthetic language per scan; 300 MB of vectors at 800 states
)


@contextmanager
def without_denormals() -> Iterator[None]:
    """Denormal numbers become 0 in this thread's arithmetic, compiled loops and torch's products alike.

    A posterior of 1e-40 changes no sum, and on Intel's processors a product with many of them takes 40 times as long.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@dataclass(frozen=True)
class Tables:
    """What the scan reads: ``transitions`` (C, C), ``joint`` (G, C), and the logarithm of each joint row's largest entry."""

    transitions: np.ndarray
    joint: np.ndarray
    tops: np.ndarray

    @classmethod
    def of(cls, transitions: np.ndarray, joint: np.ndarray) -> "Tables":
        """Tables with the row maxima computed."""
        tops = np.empty(len(joint))
        kernels.log_tops(joint, tops)
        return cls(np.ascontiguousarray(transitions, dtype=joint.dtype), joint, tops)


@dataclass
class Expectation:
    """Expected counts over sequences, arrays or tensors of the device that scanned."""

    transitions: Any  # (C, C) float64
    segments: Any  # (G, C)
    log_likelihood: float = 0.0  # nats of the sequences that the model explains
    tokens: int = 0  # of these sequences
    lost: int = 0  # sequences of probability zero, left out of all of these
    blocks: int = 0  # blocks of sequences summed so far; a pass that was killed goes on behind them


def blocks_of(lengths: Sequence[int], rows_per_block: int) -> list[np.ndarray]:
    """Places of the sequences of each block: sorted by length, as many as fit ``rows_per_block``, at least one."""
    blocks: list[list[int]] = []
    rows = rows_per_block
    for place in np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable").tolist():
        need = int(lengths[place]) + 1
        if rows + need > rows_per_block:
            blocks.append([])
            rows = 0
        blocks[-1].append(place)
        rows += need
    return [np.array(members) for members in blocks]


def renumbered(indices: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """The index arrays of sequences over only those table rows that they use, numbered afresh, and these rows, (U,)."""
    rows = np.unique(np.concatenate([index.ravel() for index in indices]))
    rows = rows[rows >= 0]
    return [
        np.where(index >= 0, np.searchsorted(rows, index), -1).astype(np.int32) for index in indices
    ], rows


class Workspace(threading.local):
    """Each thread's buffers, claimed once, not once per block: a scan's vectors are valid until the thread's next scan in it."""

    def __init__(self) -> None:
        self.held: dict[str, np.ndarray] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An uninitialised array, carved from the buffer of that name."""
        size, buffer = math.prod(shape), self.held.get(name)
        if buffer is None or len(buffer) < size or buffer.dtype != dtype:
            buffer = self.held[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)


class Scan:
    """Scaled vectors of the sequences of one block, (rows, C) with scales (rows,).

    Sequences are packed longest first, position by position, without padding: row ``first[t] + b`` is position t of the b-th
    longest one; positions run 0..T of each. The constructor packs and makes the forward pass; :meth:`backward` adds the rest.

    Attributes:
        order, ends: place in the caller's list of each packed sequence, and row of its end position, (B,).
        first, sequence: first row of each position, (T + 2,), and packed sequence that each row belongs to, (rows,).
        index: row of the joint table for the segment of length k + 1 that starts at a row, -1 if none, (rows, K).
        ended, before, begun, after: alpha, b, e and beta; at a sequence's end the last two are 0 and 1.
        log_partition: log P of each packed sequence in nats, (B,) float64, minus infinity where nothing explains it.
    """

    def __init__(
        self, indices: Sequence[np.ndarray], tables: Tables, workspace: Workspace | None = None
    ) -> None:
        """Alpha and b at every position, given index arrays (T_i, K). z_0 is state 0 and emits nothing (deng2022, released code)."""
        lengths = np.array([len(index) for index in indices], dtype=np.int64)
        self.order = np.argsort(-lengths, kind="stable")
        lengths = lengths[self.order]
        reach = np.array(
            [np.searchsorted(-lengths, -t, side="right") for t in range(lengths[0] + 1)]
        )
        self.first = first = np.concatenate([[0], np.cumsum(reach)]).astype(np.int64)
        self.ends = first[lengths] + np.arange(len(lengths))
        self.sequence = np.arange(first[-1]) - np.repeat(first[:-1], np.diff(first))
        self.index = np.full((first[-1], indices[0].shape[1]), -1, dtype=np.int32)
        for b, place in enumerate(self.order):
            self.index[first[: lengths[b]] + b] = indices[place]
        self.tables, self.workspace = tables, workspace or Workspace()
        rows, dtype = first.tolist(), tables.joint.dtype
        shape = rows[-1], tables.joint.shape[1]
        self.ended, self.before = ended, before = [
            self.workspace.take(n, shape, dtype) for n in ("ended", "before")
        ]
        self.forward_scales = scales = np.zeros(rows[-1])
        ended[: rows[1]] = 0
        ended[: rows[1], 0] = 1
        alpha, moved, transitions = (
            torch.from_numpy(part) for part in (ended, before, tables.transitions)
        )
        for t in range(len(rows) - 1):
            if t:
                kernels.forward_step(
                    t,
                    first,
                    self.index,
                    tables.joint,
                    tables.tops,
                    before,
                    scales,
                    ended,
                    FLOORS[dtype],
                )
            torch.mm(alpha[rows[t] : rows[t + 1]], transitions, out=moved[rows[t] : rows[t + 1]])
        with np.errstate(divide="ignore"):
            total = np.log(ended[self.ends].sum(axis=1, dtype=np.float64)) + scales[self.ends]
        self.log_partition = np.where(scales[self.ends] <= kernels.DEAD, -np.inf, total)

    def backward(self) -> "Scan":
        """The same scan with e and beta."""
        tables, ended, first, rows = self.tables, self.ended, self.first, self.first.tolist()
        self.begun, self.after = (
            self.workspace.take(n, ended.shape, ended.dtype) for n in ("begun", "after")
        )
        self.backward_scales, self.begun_scales = (
            np.zeros(len(ended)),
            np.full(len(ended), kernels.DEAD),
        )
        self.begun[self.ends] = 0
        self.after[self.ends] = 1
        transposed = np.ascontiguousarray(
            tables.transitions.T
        )  # a view is packed more slowly, at each position
        e, beta, transitions = (
            torch.from_numpy(part) for part in (self.begun, self.after, transposed)
        )
        for t in range(len(rows) - 3, -1, -1):
            kernels.backward_step(
                t, first, self.index, tables.joint, tables.tops, self.after, self.backward_scales, self.begun,
                self.begun_scales, FLOORS[ended.dtype],
            )  # fmt: skip
            going = slice(rows[t], rows[t] + rows[t + 2] - rows[t + 1])
            torch.mm(e[going], transitions, out=beta[going])
            self.backward_scales[going] = self.begun_scales[going]
        return self

    @property
    def disagreement(self) -> np.ndarray:
        """Distance in nats between log P found forward and found backward, (B,); large where rounding lost a path."""
        starts = slice(0, len(self.order))
        with np.errstate(divide="ignore", invalid="ignore"):
            back = np.log(self.after[starts, 0].astype(np.float64)) + self.backward_scales[starts]
            gap = np.abs(back - self.log_partition)
        return np.where(np.isnan(gap), 0.0, gap)


def scan_in_float64(
    indices: Sequence[np.ndarray], transitions: Any, joint: Any
) -> tuple[Scan, np.ndarray]:
    """Forward pass over the excerpt of the tables (arrays or tensors) that sequences use, and the rows that it holds."""
    again, rows = renumbered(indices)
    excerpt = [
        torch.as_tensor(table).double().cpu().numpy() for table in (transitions, joint[rows])
    ]
    return Scan(again, Tables.of(*excerpt)), rows


@without_denormals()
def log_partitions(
    indices: Sequence[np.ndarray], tables: Tables, workspace: Workspace | None = None
) -> np.ndarray:
    """log P of each sequence given by its index array (T_i, K), in nats; paths that float32 lost are found again."""
    scan, out = Scan(indices, tables, workspace), np.empty(len(indices))
    out[scan.order] = scan.log_partition
    lost = np.flatnonzero(np.isneginf(out))
    if tables.joint.dtype != np.float64 and len(lost):
        again, _ = scan_in_float64(
            [indices[i] for i in lost.tolist()], tables.transitions, tables.joint
        )
        out[lost[again.order]] = again.log_partition
    return out


def expectation(
    tables: Tables,
    lengths: Sequence[int],
    index_of: Callable[[int], np.ndarray],
    *,
    tokens: Sequence[int] | None = None,  # of each sequence, where index arrays leave places out
    threads: int = 1,
    rows_per_block: int
    | None = None,  # positions scanned at once; memory is 4 vectors of C per row and thread
    workspace: Workspace | None = None,
    begun: Expectation | None = None,  # what the first blocks gave; it is added to in place
    on_block: Callable[[Expectation, int], None] | None = None,
) -> Expectation:
    """Exact expected counts over a corpus, block by block.

    The sums run in block order, so they do not depend on ``threads``, bit for bit. A sequence that float32 lost a path
    of is scanned again in float64: mass that underflows in one direction only is missing from that direction's total,
    so totals that agree vouch for the counts.

    Args:
        lengths, index_of: length T of each sequence's index array, and that array (T, K) of the sequence of some number.
        on_block: called after each block with the sums so far and the number of blocks; what it saves can be ``begun``.
    """
    total = begun or Expectation(np.zeros(tables.transitions.shape), np.zeros_like(tables.joint))
    blocks, workspace = (
        blocks_of(lengths, rows_per_block or ROWS_PER_BLOCK),
        workspace or Workspace(),
    )
    sizes = np.asarray(lengths if tokens is None else tokens)
    left, done = range(total.blocks, len(blocks)), [threading.Event() for _ in blocks]

    @without_denormals()
    def add(place: int) -> None:
        try:
            indices = [index_of(i) for i in blocks[place]]
            scan = Scan(indices, tables, workspace).backward()
            again: Scan | None = None
            poor = np.flatnonzero(np.isneginf(scan.log_partition) | (scan.disagreement > AGREEMENT))
            if tables.joint.dtype != np.float64 and len(poor):
                scan.log_partition[poor] = -np.inf
                again, rows = scan_in_float64(
                    [indices[i] for i in scan.order[poor]], tables.transitions, tables.joint
                )
                again.backward()
            pairs = [transition_counts(one) for one in (scan, again) if one]
            if place > left.start:
                done[place - 1].wait()
            if total.blocks != place:
                return  # the block before this one failed, and its error is on the way
            accumulate(total, scan, pairs[0], total.segments, sizes[blocks[place]])
            if again:
                total.lost -= len(poor)
                counts = np.zeros(again.tables.joint.shape)
                accumulate(total, again, pairs[1], counts, sizes[blocks[place]][scan.order[poor]])
                total.segments[rows] += counts.astype(total.segments.dtype)
            total.blocks += 1
            if on_block:
                on_block(total, len(blocks))
        finally:
            done[place].set()

    if threads == 1:
        for place in left:
            add(place)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(add, left))
    return total


def accumulate(
    total: Expectation,
    scan: Scan,
    pairs: np.ndarray | torch.Tensor,
    segments: np.ndarray,
    tokens: np.ndarray,
) -> None:
    r"""Add a scan to the totals: the explained sequences' nats and tokens, how many are lost, ``pairs``, and the expected segments.

    Segments $\sum b_t(z) W[g, z] \beta_{t+k}(z) / P(x)$, the gradient with respect to log W, go to ``segments`` (G, C), summed in
    a fixed order: by table row, then by place. ``tokens`` counts those of each sequence, in the order in which they were given.
    """
    explained = np.isfinite(scan.log_partition)
    total.log_likelihood += float(scan.log_partition[explained].sum())
    total.tokens += int(tokens[scan.order][explained].sum())
    total.lost += int(np.isneginf(scan.log_partition).sum())
    total.transitions += pairs
    flat, bits = scan.index.ravel(), scan.index.size.bit_length()
    places = np.flatnonzero(flat >= 0)
    keys = np.sort(flat[places].astype(np.int64) << bits | places)
    grams, places = keys >> bits, keys & ((1 << bits) - 1)
    starts, k = np.divmod(places, scan.index.shape[1])
    positions = np.repeat(np.arange(len(scan.first) - 1), np.diff(scan.first))
    ends = scan.first[positions[starts] + k + 1] + scan.sequence[starts]
    left, right = scan.forward_scales[starts], scan.backward_scales[ends]
    exponents = _exponents(left, right, scan.log_partition[scan.sequence[starts]])
    begins = np.flatnonzero(np.diff(grams, prepend=-1))
    kernels.add_counts(
        np.append(begins, len(keys)), grams[begins], starts, ends, exponents, scan.before, scan.after, scan.tables.joint,
        segments,
    )  # fmt: skip


def transition_counts(scan: Scan) -> np.ndarray:
    r"""Expected transitions $\xi(i, j) = A_{ij} \sum_t \alpha_t(i) e_t(j) / P(x)$ over the block, (C, C) float64.

    Equals the gradient of the summed log partition with respect to log A. Consumes ``scan.begun``.
    """
    exponents = _exponents(
        scan.forward_scales, scan.begun_scales, scan.log_partition[scan.sequence]
    )
    kernels.weigh_rows(scan.begun, exponents, LIMITS[scan.begun.dtype])
    pairs = torch.mm(torch.from_numpy(scan.ended).t(), torch.from_numpy(scan.begun)).numpy()
    return pairs.astype(np.float64) * scan.tables.transitions


def _exponents(left: np.ndarray, right: np.ndarray, log_partition: np.ndarray) -> np.ndarray:
    dead = (left <= kernels.DEAD) | (right <= kernels.DEAD) | ~np.isfinite(log_partition)
    return np.where(dead, kernels.DEAD, left + right - np.where(dead, 0.0, log_partition))
