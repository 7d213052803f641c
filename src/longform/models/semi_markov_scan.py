r"""Exact forward-backward for a hidden semi-Markov model, factored and batched over sequences.

With transitions A and the joint table $W[g, z] = P(\text{duration}, \text{n-gram } g \mid z)$,

$$ b_t = \alpha_t A, \quad \alpha_t(z) = \sum_k b_{t-k}(z) W[g(t-k, k), z], \quad
   e_t(z) = \sum_k W[g(t, k), z] \beta_{t+k}(z), \quad \beta_t = A e_t, $$

so a position costs $C^2 + KC$, not $KC^2$, and over a batch the $C^2$ part is one matrix product
(deng2022, section 5.1, factors its potentials the same way but materialises them). Vectors are kept
scaled, with float64 logarithms of the scales; no array of T C C entries exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from longform.models import semi_markov_kernels as kernels

# Entries below these, relative to a vector's largest, become 0: they keep products out of the denormal range.
FLOORS = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-290}
AGREEMENT = 1e-3  # nats between forward and backward log P; float32 rounding alone stays below 1e-4 at T = 400
LIMITS = {np.dtype(np.float32): 85.0, np.dtype(np.float64): 700.0}  # exponents that still fit the type


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


@dataclass(frozen=True)
class Tables:
    """What the scan reads.

    Attributes:
        transitions: (C, C).
        joint: (G, C).
        tops: logarithm of each joint row's largest entry, (G,) float64.
        rows: where ``joint`` is an excerpt, the rows of the whole table that it holds.
    """

    transitions: np.ndarray
    joint: np.ndarray
    tops: np.ndarray
    rows: np.ndarray | None = None

    @classmethod
    def of(cls, transitions: np.ndarray, joint: np.ndarray, rows: np.ndarray | None = None) -> Tables:
        """Tables with the row maxima computed."""
        tops = np.empty(len(joint))
        kernels.log_tops(joint, tops)
        return cls(np.ascontiguousarray(transitions, dtype=joint.dtype), joint, tops, rows)


@dataclass
class Scan:
    """Scaled vectors of one block, each (rows, C) with scales (rows,); backward ones are None until asked for.

    ``ended`` is alpha, ``before`` is b, ``begun`` is e, ``after`` is beta; alpha and b share scales, e and beta too
    (except that a final position has beta = 1 and no e).
    """

    block: Block
    tables: Tables
    ended: np.ndarray
    before: np.ndarray
    forward_scales: np.ndarray
    begun: np.ndarray | None = None
    after: np.ndarray | None = None
    backward_scales: np.ndarray | None = None
    begun_scales: np.ndarray | None = None

    @cached_property
    def log_partition(self) -> np.ndarray:
        """log P of each packed sequence in nats, (B,) float64; minus infinity where nothing explains it."""
        rows = self.block.last_rows
        with np.errstate(divide="ignore"):
            total = np.log(self.ended[rows].sum(axis=1, dtype=np.float64)) + self.forward_scales[rows]
        return np.where(self.forward_scales[rows] <= kernels.DEAD, -np.inf, total)

    @property
    def disagreement(self) -> np.ndarray:
        """Distance in nats between log P found forward and found backward, (B,); large where rounding lost a path."""
        starts = slice(0, len(self.block.lengths))
        with np.errstate(divide="ignore", invalid="ignore"):
            back = np.log(self.after[starts, 0].astype(np.float64)) + self.backward_scales[starts]
            gap = np.abs(back - self.log_partition)
        return np.where(np.isnan(gap), 0.0, gap)

    @property
    def in_order(self) -> np.ndarray:
        """``log_partition`` in the caller's order of sequences."""
        out = np.empty(len(self.block.order))
        out[self.block.order] = self.log_partition
        return out


def forward(block: Block, tables: Tables) -> Scan:
    """Forward pass: alpha and b at every position. z_0 is state 0 and emits nothing (deng2022, released code)."""
    shape, dtype = (block.rows, tables.joint.shape[1]), tables.joint.dtype
    scan = Scan(block, tables, np.empty(shape, dtype), np.empty(shape, dtype), np.zeros(block.rows))
    scan.ended[: block.first[1]] = 0
    scan.ended[: block.first[1], 0] = 1
    ended, before = torch.from_numpy(scan.ended), torch.from_numpy(scan.before)
    transitions = torch.from_numpy(tables.transitions)
    first, rows = block.first, block.first.tolist()
    for t in range(len(rows) - 1):
        if t:
            kernels.forward_step(
                t, first, block.index, tables.joint, tables.tops, scan.before, scan.forward_scales, scan.ended,
                FLOORS[dtype],
            )  # fmt: skip
        torch.mm(ended[rows[t] : rows[t + 1]], transitions, out=before[rows[t] : rows[t + 1]])
    return scan


def backward(scan: Scan) -> Scan:
    """Add the backward pass, e and beta, to a forward scan."""
    block, tables, dtype = scan.block, scan.tables, scan.tables.joint.dtype
    scan.begun, scan.after = np.empty_like(scan.ended), np.empty_like(scan.ended)
    scan.backward_scales, scan.begun_scales = np.zeros(block.rows), np.full(block.rows, kernels.DEAD)
    scan.begun[block.last_rows] = 0
    scan.after[block.last_rows] = 1
    begun, after = torch.from_numpy(scan.begun), torch.from_numpy(scan.after)
    back = torch.from_numpy(tables.transitions).t()
    first, rows = block.first, block.first.tolist()
    for t in range(len(rows) - 3, -1, -1):
        kernels.backward_step(
            t, first, block.index, tables.joint, tables.tops, scan.after, scan.backward_scales, scan.begun,
            scan.begun_scales, FLOORS[dtype],
        )  # fmt: skip
        going = slice(rows[t], rows[t] + rows[t + 2] - rows[t + 1])
        torch.mm(begun[going], back, out=after[going])
        scan.backward_scales[going] = scan.begun_scales[going]
    return scan


def in_float64(block: Block, members: np.ndarray, tables: Tables) -> tuple[Block, Tables]:
    """Some packed sequences of a block with the excerpt of the tables that they use, for a scan in float64."""
    again, rows = block.subset(members).renumbered()
    return again, Tables.of(tables.transitions.astype(np.float64), tables.joint[rows].astype(np.float64), rows)


def log_partitions(block: Block, tables: Tables) -> np.ndarray:
    """log P of each sequence in the order in which the block was packed from; lost float32 paths are found again."""
    scan = forward(block, tables)
    lost = np.flatnonzero(np.isneginf(scan.log_partition))
    if tables.joint.dtype != np.float64 and len(lost):
        again, doubled = in_float64(block, lost, tables)
        found = forward(again, doubled)
        out = scan.in_order
        out[again.order] = found.log_partition
        return out
    return scan.in_order


def full_scans(block: Block, tables: Tables) -> list[Scan]:
    """Forward and backward over a block, and again in float64 for the sequences that float32 lost paths of.

    Mass that underflows in one direction only is missing from that direction's total, so totals that
    agree vouch for the counts. Sequences scanned again have log P = minus infinity in the first scan.
    """
    scan = backward(forward(block, tables))
    poor = np.flatnonzero(np.isneginf(scan.log_partition) | (scan.disagreement > AGREEMENT))
    if tables.joint.dtype == np.float64 or not len(poor):
        return [scan]
    scan.log_partition[poor] = -np.inf
    return [scan, backward(forward(*in_float64(block, poor, tables)))]


def _exponents(left: np.ndarray, right: np.ndarray, log_partition: np.ndarray) -> np.ndarray:
    dead = (left <= kernels.DEAD) | (right <= kernels.DEAD) | ~np.isfinite(log_partition)
    return np.where(dead, kernels.DEAD, left + right - np.where(dead, 0.0, log_partition))


def transition_counts(scan: Scan) -> np.ndarray:
    r"""Expected transitions $\xi(i, j) = A_{ij} \sum_t \alpha_t(i) e_t(j) / P(x)$ over the block, (C, C) float64.

    Equals the gradient of the summed log partition with respect to log A. Consumes ``scan.begun``.
    """
    exponents = _exponents(scan.forward_scales, scan.begun_scales, scan.log_partition[scan.block.sequence_of_row])
    kernels.weigh_rows(scan.begun, exponents, LIMITS[scan.begun.dtype])
    pairs = torch.mm(torch.from_numpy(scan.ended).t(), torch.from_numpy(scan.begun)).numpy()
    return pairs.astype(np.float64) * scan.tables.transitions


def add_segment_counts(scan: Scan, counts: np.ndarray) -> None:
    r"""Add expected segments $\sum b_t(z) W[g, z] \beta_{t+k}(z) / P(x)$ of the block to ``counts`` (G, C).

    Equals the gradient of the summed log partition with respect to log W.
    """
    found = scan.block.occurrences
    left, right = scan.forward_scales[found.starts], scan.backward_scales[found.ends]
    exponents = _exponents(left, right, scan.log_partition[scan.block.sequence_of_row[found.starts]])
    kernels.add_counts(
        found.bounds, found.grams, found.starts, found.ends, exponents, scan.before, scan.after,
        scan.tables.joint, counts,
    )  # fmt: skip


def segment_posteriors(scan: Scan) -> np.ndarray:
    """P(a segment of length k + 1 starts at t in state z | x) of a block of one sequence, (T, K, C) float64."""
    block, joint = scan.block, scan.tables.joint
    out = np.zeros((int(block.lengths[0]), block.index.shape[1], joint.shape[1]))
    t, k = np.nonzero(block.index[:-1] >= 0)
    exponents = _exponents(scan.forward_scales[t], scan.backward_scales[t + k + 1], scan.log_partition[0])
    vectors = scan.before[t].astype(np.float64) * joint[block.index[t, k]] * scan.after[t + k + 1]
    with np.errstate(divide="ignore"):
        out[t, k] = np.exp(np.log(vectors) + exponents[:, None])
    return out
