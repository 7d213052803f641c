r"""The factored forward-backward of ``semi_markov_scan`` in PyTorch operations, for any torch device.

The mathematics is the same; the layout differs: sequences are padded to the longest, and a position's K
gathers are one batched product. Each sum is scaled by its largest product, so hard zeros are safe.
Counts are segmented sums over occurrences sorted by table row, so no atomics are used and a run repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from longform.language_models.hsmm.blocks import blocks_of, pack
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.scan import AGREEMENT, backward, forward, in_float64
from longform.language_models.hsmm.scan import transition_counts as scan_transition_counts
from longform.language_models.hsmm.steps import Compute, Expectation, accumulate

OCCURRENCES_PER_CHUNK = 65_536  # ours: rows of C gathered at once while counting
BFLOAT16_ERROR = 1e-4  # nats per token that bfloat16 products may cost before they are refused


@dataclass(frozen=True)
class DeviceTables:
    """Tables on a device, and the type in which the C x C products take their operands.

    Attributes:
        transitions: (C, C).
        joint: (G, C).
        product_dtype: the tables' own type, or bfloat16 where :func:`product_dtype` has measured it to be harmless.
    """

    transitions: torch.Tensor
    joint: torch.Tensor
    product_dtype: torch.dtype

    @classmethod
    def of(cls, transitions: np.ndarray, joint: np.ndarray, device: str) -> DeviceTables:
        """Copies of NumPy tables on a device."""
        table = torch.tensor(joint, device=device)
        return cls(torch.tensor(transitions, device=device, dtype=table.dtype), table, table.dtype)

    def product(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Matrix product with operands in ``product_dtype``."""
        return torch.mm(left.to(self.product_dtype), right.to(self.product_dtype)).to(self.joint.dtype)


@dataclass(frozen=True)
class DeviceBlock:
    """Padded sequences: lengths (B,) and table rows (T, B, K) of the segments that start at each position, -1 if none."""

    lengths: torch.Tensor
    index: torch.Tensor

    @classmethod
    def of(cls, indices: Sequence[np.ndarray], device: str) -> DeviceBlock:
        """Pad the (T_i, K) index arrays of several sequences."""
        lengths = [len(index) for index in indices]
        padded = np.full((max(lengths), len(indices), indices[0].shape[1]), -1, dtype=np.int64)
        for b, index in enumerate(indices):
            padded[: len(index), b] = index
        return cls(torch.tensor(lengths, device=device), torch.from_numpy(padded).to(device))


@dataclass
class DeviceScan:
    """Scaled vectors (T + 1, B, C) with float64 log scales (T + 1, B): alpha and b, then e and beta."""

    block: DeviceBlock
    tables: DeviceTables
    ended: torch.Tensor
    before: torch.Tensor
    forward_scales: torch.Tensor
    begun: torch.Tensor
    after: torch.Tensor
    backward_scales: torch.Tensor
    log_partition: torch.Tensor

    @property
    def disagreement(self) -> torch.Tensor:
        """Distance in nats between log P found forward and backward, (B,); infinite where either is zero."""
        back = self.after[0, :, 0].double().log() + self.backward_scales[0]
        gap = (back - self.log_partition).abs()
        return torch.where(torch.isnan(gap), torch.inf, gap)


def _combined(rows: torch.Tensor, vectors: torch.Tensor, scales: torch.Tensor, joint: torch.Tensor):
    r"""Normalised $\sum_k e^{s_k} v_k W[g_k]$ and its scale, for rows (k, B), vectors (k, B, C) and scales (k, B)."""
    products = vectors * joint[rows.clamp(min=0)]
    tops = torch.where(rows >= 0, products.amax(dim=-1), 0)
    levels = scales + tops.double().log()
    bound = levels.amax(dim=0)
    alive = torch.isfinite(bound)
    factors = torch.where(torch.isfinite(levels), (scales - torch.where(alive, bound, 0)).exp(), 0)
    # Each product is divided by its own top before the factor multiplies it: the factor alone may exceed float32.
    weights = (factors * tops.double()).to(joint.dtype)
    total = (products / torch.where(tops > 0, tops, 1)[..., None] * weights[..., None]).sum(dim=0)
    top = torch.where(alive, total.amax(dim=-1), 1)
    return total / top[:, None], torch.where(alive, bound + top.double().log(), -torch.inf)


def scan(block: DeviceBlock, tables: DeviceTables) -> DeviceScan:
    """Forward and backward over a block."""
    positions, batch, longest = block.index.shape
    shape = (positions + 1, batch, tables.joint.shape[1])
    ended, before, begun, after = (tables.joint.new_zeros(shape) for _ in range(4))
    forward_scales = torch.full(shape[:2], -torch.inf, dtype=torch.float64, device=tables.joint.device)
    backward_scales = forward_scales.clone()
    ended[0, :, 0], forward_scales[0] = 1, 0
    for t in range(positions + 1):
        if t:
            back = torch.arange(1, min(longest, t) + 1, device=block.index.device)
            rows = block.index[t - back, :, back - 1]
            ended[t], forward_scales[t] = _combined(rows, before[t - back], forward_scales[t - back], tables.joint)
        before[t] = tables.product(ended[t], tables.transitions)
    for t in range(positions, -1, -1):
        if t < positions:
            ahead = torch.arange(1, min(longest, positions - t) + 1, device=block.index.device)
            rows = block.index[t, :, : len(ahead)].t()
            begun[t], backward_scales[t] = _combined(rows, after[t + ahead], backward_scales[t + ahead], tables.joint)
            after[t] = tables.product(begun[t], tables.transitions.t())
        last = block.lengths == t
        after[t] = torch.where(last[:, None], 1, after[t])
        backward_scales[t] = torch.where(last, 0, backward_scales[t])
    everyone = torch.arange(batch, device=block.index.device)
    total = ended[block.lengths, everyone].double().sum(dim=-1).log() + forward_scales[block.lengths, everyone]
    return DeviceScan(block, tables, ended, before, forward_scales, begun, after, backward_scales, total)


def transition_counts(found: DeviceScan) -> torch.Tensor:
    """Expected transitions of a block, (C, C) float64; sequences of probability zero add nothing."""
    steps, width = found.block.index.shape[0], found.ended.shape[-1]
    exponents = _exponents(found.forward_scales[:-1], found.backward_scales[:-1], found.log_partition)
    weighted = found.begun[:-1] * exponents.exp().to(found.begun.dtype)[..., None]
    pairs = found.tables.product(found.ended[:steps].reshape(-1, width).t(), weighted.reshape(-1, width))
    return pairs.double() * found.tables.transitions


def _exponents(left: torch.Tensor, right: torch.Tensor, log_partition: torch.Tensor) -> torch.Tensor:
    total = left + right - torch.where(torch.isfinite(log_partition), log_partition, torch.inf)
    return torch.where(torch.isnan(total), -torch.inf, total)


def add_segment_counts(found: DeviceScan, counts: torch.Tensor) -> None:
    """Add the expected segments of a block to ``counts`` (G, C), chunk by chunk of the sorted occurrences."""
    index, batch = found.block.index, found.block.index.shape[1]
    t, b, k = (index >= 0).nonzero(as_tuple=True)
    grams, order = torch.sort(index[t, b, k], stable=True)
    starts, ends = (t * batch + b)[order], ((t + k + 1) * batch + b)[order]
    width, sequence = found.ended.shape[-1], b[order]
    before, after = found.before.view(-1, width), found.after.view(-1, width)
    left, right = found.forward_scales.view(-1)[starts], found.backward_scales.view(-1)[ends]
    factors = _exponents(left, right, found.log_partition[sequence])
    for part in torch.arange(len(grams), device=grams.device).split(OCCURRENCES_PER_CHUNK):
        rows, sizes = torch.unique_consecutive(grams[part], return_counts=True)
        products = before[starts[part]] * factors[part].exp().to(before.dtype)[:, None] * after[ends[part]]
        counts[rows] += torch.segment_reduce(products, "sum", lengths=sizes, axis=0) * found.tables.joint[rows]


def bfloat16_error(tables: DeviceTables, indices: Sequence[np.ndarray]) -> float:
    """Largest change in log P per token, in nats, when the C x C products take bfloat16 operands."""
    block = DeviceBlock.of(indices, str(tables.joint.device))
    exact = scan(block, tables).log_partition
    rough = scan(block, replace(tables, product_dtype=torch.bfloat16)).log_partition
    return float(((exact - rough).abs() / block.lengths).max())


def in_bfloat16(tables: DeviceTables, indices: Sequence[np.ndarray]) -> DeviceTables:
    """The tables with bfloat16 products if their error on these sequences stays below ``BFLOAT16_ERROR``, else as given."""
    small = bfloat16_error(tables, indices) < BFLOAT16_ERROR
    return replace(tables, product_dtype=torch.bfloat16) if small else tables


def device_expectation(
    model: SemiMarkovLM,
    encoded: Sequence[np.ndarray],
    compute: Compute,
    on_block: Callable[[int, float], None] | None = None,
) -> Expectation:
    """Expected counts over a corpus with the scan on ``compute.device``; the tables stay there meanwhile.

    A sequence that rounding lost a path of is scanned again by the compiled scan in float64.
    """
    tables = DeviceTables.of(model.transitions, model.joint, compute.device or "cpu")
    counts = torch.zeros_like(tables.joint)
    pairs = torch.zeros(model.transitions.shape, dtype=torch.float64, device=compute.device)
    total, poor = Expectation(0.0, 0, 0, np.zeros(0), np.zeros(0)), []
    for members in blocks_of([len(ids) for ids in encoded], compute.rows_per_block):
        indices = [model.ngrams.index(encoded[i]) for i in members]
        found = scan(DeviceBlock.of(indices, compute.device or "cpu"), tables)
        lost = found.disagreement > AGREEMENT
        found.log_partition[lost] = -torch.inf
        poor += members[lost.cpu().numpy()].tolist()
        kept = ~lost
        total.log_likelihood += float(found.log_partition[kept].sum())
        total.tokens += int(found.block.lengths[kept].sum())
        pairs += transition_counts(found)
        add_segment_counts(found, counts)
        if on_block:
            on_block(total.tokens, total.log_likelihood)
    total.transitions, total.segments = pairs.cpu().numpy(), counts.cpu().numpy()
    for i in poor:
        again = in_float64(pack([model.ngrams.index(encoded[i])]), np.zeros(1, np.int64), model.tables)
        rescued = backward(forward(*again))
        accumulate(total, rescued, scan_transition_counts(rescued))
        total.lost += int(np.isneginf(rescued.log_partition[0]))
    return total
