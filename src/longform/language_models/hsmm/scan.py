r"""Exact forward-backward for a hidden semi-Markov model, factored and batched over sequences.

With transitions A and the joint table $W[g, z] = P(\text{duration}, \text{n-gram } g \mid z)$,

$$ b_t = \alpha_t A, \quad \alpha_t(z) = \sum_k b_{t-k}(z) W[g(t-k, k), z], \quad
   e_t(z) = \sum_k W[g(t, k), z] \beta_{t+k}(z), \quad \beta_t = A e_t, $$

so a position costs $C^2 + KC$, not $KC^2$, and over a batch the $C^2$ part is one matrix product
(deng2022, section 5.1, factors its potentials the same way but materialises them). Vectors are kept
scaled, with float64 logarithms of the scales; no array of T C C entries exists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from longform.language_models.hsmm import kernels
from longform.language_models.hsmm.blocks import Block

# Entries below these, relative to a vector's largest, become 0: they keep products out of the denormal range.
FLOORS = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-290}
AGREEMENT = 1e-3  # nats between forward and backward log P; float32 rounding alone stays below 1e-4 at T = 400
LIMITS = {np.dtype(np.float32): 85.0, np.dtype(np.float64): 700.0}  # exponents that still fit the type


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


@dataclass(frozen=True)
class Workspace:
    """Buffers that scans of one thread take turns to use, so that memory is claimed once, not once per block.

    A scan's vectors are valid until the next scan in the same workspace.
    """

    held: dict[str, np.ndarray] = field(default_factory=dict)

    def take(self, name: str, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
        """An uninitialised array, carved from the buffer of that name."""
        size, buffer = shape[0] * shape[1], self.held.get(name)
        if buffer is None or len(buffer) < size or buffer.dtype != dtype:
            buffer = self.held[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)


@dataclass
class Scan:
    """Scaled forward vectors of one block, (rows, C) with scales (rows,): ``ended`` is alpha, ``before`` is b."""

    block: Block
    tables: Tables
    workspace: Workspace
    ended: np.ndarray
    before: np.ndarray
    forward_scales: np.ndarray

    @cached_property
    def log_partition(self) -> np.ndarray:
        """log P of each packed sequence in nats, (B,) float64; minus infinity where nothing explains it."""
        rows = self.block.last_rows
        with np.errstate(divide="ignore"):
            total = np.log(self.ended[rows].sum(axis=1, dtype=np.float64)) + self.forward_scales[rows]
        return np.where(self.forward_scales[rows] <= kernels.DEAD, -np.inf, total)

    @property
    def in_order(self) -> np.ndarray:
        """``log_partition`` in the caller's order of sequences."""
        out = np.empty(len(self.block.order))
        out[self.block.order] = self.log_partition
        return out


@dataclass
class FullScan(Scan):
    """Forward and backward vectors: ``begun`` is e, ``after`` is beta; at a sequence's end beta is 1 and e is 0."""

    begun: np.ndarray
    after: np.ndarray
    backward_scales: np.ndarray
    begun_scales: np.ndarray

    @property
    def disagreement(self) -> np.ndarray:
        """Distance in nats between log P found forward and found backward, (B,); large where rounding lost a path."""
        starts = slice(0, len(self.block.lengths))
        with np.errstate(divide="ignore", invalid="ignore"):
            back = np.log(self.after[starts, 0].astype(np.float64)) + self.backward_scales[starts]
            gap = np.abs(back - self.log_partition)
        return np.where(np.isnan(gap), 0.0, gap)


def forward(block: Block, tables: Tables, workspace: Workspace | None = None) -> Scan:
    """Forward pass: alpha and b at every position. z_0 is state 0 and emits nothing (deng2022, released code)."""
    shape, dtype = (block.rows, tables.joint.shape[1]), tables.joint.dtype
    workspace = workspace or Workspace()
    ended, before = (workspace.take(name, shape, dtype) for name in ("ended", "before"))
    scan = Scan(block, tables, workspace, ended, before, np.zeros(block.rows))
    scan.ended[: block.first[1]] = 0
    scan.ended[: block.first[1], 0] = 1
    alpha, b = torch.from_numpy(ended), torch.from_numpy(before)
    transitions = torch.from_numpy(tables.transitions)
    first, rows = block.first, block.first.tolist()
    for t in range(len(rows) - 1):
        if t:
            kernels.forward_step(
                t, first, block.index, tables.joint, tables.tops, scan.before, scan.forward_scales, scan.ended,
                FLOORS[dtype],
            )  # fmt: skip
        torch.mm(alpha[rows[t] : rows[t + 1]], transitions, out=b[rows[t] : rows[t + 1]])
    return scan


def backward(found: Scan) -> FullScan:
    """Add the backward pass, e and beta, to a forward scan."""
    block, tables, dtype = found.block, found.tables, found.tables.joint.dtype
    begun, after = (found.workspace.take(name, found.ended.shape, dtype) for name in ("begun", "after"))
    scales = np.zeros(block.rows), np.full(block.rows, kernels.DEAD)
    forwards = (found.ended, found.before, found.forward_scales)
    scan = FullScan(block, tables, found.workspace, *forwards, begun, after, *scales)
    scan.begun[block.last_rows] = 0
    scan.after[block.last_rows] = 1
    e, beta = torch.from_numpy(begun), torch.from_numpy(after)
    back = torch.from_numpy(tables.transitions).t()
    first, rows = block.first, block.first.tolist()
    for t in range(len(rows) - 3, -1, -1):
        kernels.backward_step(
            t, first, block.index, tables.joint, tables.tops, scan.after, scan.backward_scales, scan.begun,
            scan.begun_scales, FLOORS[dtype],
        )  # fmt: skip
        going = slice(rows[t], rows[t] + rows[t + 2] - rows[t + 1])
        torch.mm(e[going], back, out=beta[going])
        scan.backward_scales[going] = scan.begun_scales[going]
    return scan


def in_float64(block: Block, members: np.ndarray, tables: Tables) -> tuple[Block, Tables]:
    """Some packed sequences of a block with the excerpt of the tables that they use, for a scan in float64."""
    again, rows = block.subset(members).renumbered()
    return again, Tables.of(tables.transitions.astype(np.float64), tables.joint[rows].astype(np.float64), rows)


def log_partitions(block: Block, tables: Tables, workspace: Workspace | None = None) -> np.ndarray:
    """log P of each sequence in the order in which the block was packed from; lost float32 paths are found again."""
    scan = forward(block, tables, workspace)
    lost = np.flatnonzero(np.isneginf(scan.log_partition))
    if tables.joint.dtype != np.float64 and len(lost):
        again, doubled = in_float64(block, lost, tables)
        found = forward(again, doubled)
        out = scan.in_order
        out[again.order] = found.log_partition
        return out
    return scan.in_order


def full_scans(block: Block, tables: Tables, workspace: Workspace | None = None) -> list[FullScan]:
    """Forward and backward over a block, and again in float64 for the sequences that float32 lost paths of.

    Mass that underflows in one direction only is missing from that direction's total, so totals that
    agree vouch for the counts. Sequences scanned again have log P = minus infinity in the first scan.
    """
    scan = backward(forward(block, tables, workspace))
    poor = np.flatnonzero(np.isneginf(scan.log_partition) | (scan.disagreement > AGREEMENT))
    if tables.joint.dtype == np.float64 or not len(poor):
        return [scan]
    scan.log_partition[poor] = -np.inf
    return [scan, backward(forward(*in_float64(block, poor, tables)))]


def _exponents(left: np.ndarray, right: np.ndarray, log_partition: np.ndarray) -> np.ndarray:
    dead = (left <= kernels.DEAD) | (right <= kernels.DEAD) | ~np.isfinite(log_partition)
    return np.where(dead, kernels.DEAD, left + right - np.where(dead, 0.0, log_partition))


def transition_counts(scan: FullScan) -> np.ndarray:
    r"""Expected transitions $\xi(i, j) = A_{ij} \sum_t \alpha_t(i) e_t(j) / P(x)$ over the block, (C, C) float64.

    Equals the gradient of the summed log partition with respect to log A. Consumes ``scan.begun``.
    """
    exponents = _exponents(scan.forward_scales, scan.begun_scales, scan.log_partition[scan.block.sequence_of_row])
    kernels.weigh_rows(scan.begun, exponents, LIMITS[scan.begun.dtype])
    pairs = torch.mm(torch.from_numpy(scan.ended).t(), torch.from_numpy(scan.begun)).numpy()
    return pairs.astype(np.float64) * scan.tables.transitions


def add_segment_counts(scan: FullScan, counts: np.ndarray) -> None:
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


def segment_posteriors(scan: FullScan) -> np.ndarray:
    """P(a segment of length k + 1 starts at t in state z | x) of a block of one sequence, (T, K, C) float64."""
    block, joint = scan.block, scan.tables.joint
    out = np.zeros((int(block.lengths[0]), block.index.shape[1], joint.shape[1]))
    t, k = np.nonzero(block.index[:-1] >= 0)
    exponents = _exponents(scan.forward_scales[t], scan.backward_scales[t + k + 1], scan.log_partition[0])
    vectors = scan.before[t].astype(np.float64) * joint[block.index[t, k]] * scan.after[t + k + 1]
    with np.errstate(divide="ignore"):
        out[t, k] = np.exp(np.log(vectors) + exponents[:, None])
    return out
