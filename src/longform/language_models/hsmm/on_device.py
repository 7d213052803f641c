r"""The factored forward-backward of :mod:`longform.language_models.hsmm.compiled` on a GPU, in PyTorch operations.

The mathematics is the same; the layout differs: sequences are padded to the longest, and a position's K
gathers are one batched product. Each sum is scaled by its largest product, so hard zeros are safe.
Counts are segmented sums over occurrences sorted by table row, so no atomics are used and a run repeats.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from longform.language_models.hsmm import compiled
from longform.language_models.hsmm.compiled import AGREEMENT, Expectation, blocks_of

OCCURRENCES_PER_CHUNK = 65_536  # ours: rows of C gathered at once while counting
ROWS_PER_BLOCK = 400_000  # ours: 1,000 texts of the synthetic language; 6 GB of vectors at 800 states


@dataclass
class Scan:
    """Scaled vectors (T + 1, B, C) with float64 log scales (T + 1, B): alpha and b, then e and beta.

    Attributes:
        lengths: (B,). index: table rows of the segments that start at each position, -1 if none, (T, B, K).
        log_partition: log P of each sequence in nats, (B,).
    """

    lengths: Tensor
    index: Tensor
    ended: Tensor
    before: Tensor
    forward_scales: Tensor
    begun: Tensor
    after: Tensor
    backward_scales: Tensor
    log_partition: Tensor

    @property
    def disagreement(self) -> Tensor:
        """Distance in nats between log P found forward and backward, (B,); infinite where either is zero."""
        back = self.after[0, :, 0].double().log() + self.backward_scales[0]
        gap = (back - self.log_partition).abs()
        return torch.where(torch.isnan(gap), torch.inf, gap)


def scan(indices: Sequence[np.ndarray], transitions: Tensor, joint: Tensor) -> Scan:
    """Forward and backward over sequences given by their index arrays (T_i, K), for tables (C, C) and (G, C)."""
    device, sizes = joint.device, [len(index) for index in indices]
    padded = np.full((max(sizes), len(indices), indices[0].shape[1]), -1, dtype=np.int64)
    for b, rows_of in enumerate(indices):
        padded[: len(rows_of), b] = rows_of
    index, lengths = torch.from_numpy(padded).to(device), torch.tensor(sizes, device=device)
    positions, batch, longest = index.shape
    shape = (positions + 1, batch, joint.shape[1])
    ended, before, begun, after = (joint.new_zeros(shape) for _ in range(4))
    forward_scales = torch.full(shape[:2], -torch.inf, dtype=torch.float64, device=device)
    backward_scales = forward_scales.clone()
    ended[0, :, 0], forward_scales[0] = 1, 0
    for t in range(positions + 1):
        if t:
            back = torch.arange(1, min(longest, t) + 1, device=device)
            rows = index[t - back, :, back - 1]
            ended[t], forward_scales[t] = _combined(rows, before[t - back], forward_scales[t - back], joint)
        before[t] = ended[t] @ transitions
    for t in range(positions, -1, -1):
        if t < positions:
            ahead = torch.arange(1, min(longest, positions - t) + 1, device=device)
            rows = index[t, :, : len(ahead)].t()
            begun[t], backward_scales[t] = _combined(rows, after[t + ahead], backward_scales[t + ahead], joint)
            after[t] = begun[t] @ transitions.t()
        last = lengths == t
        after[t] = torch.where(last[:, None], 1, after[t])
        backward_scales[t] = torch.where(last, 0, backward_scales[t])
    everyone = torch.arange(batch, device=device)
    total = ended[lengths, everyone].double().sum(dim=-1).log() + forward_scales[lengths, everyone]
    return Scan(lengths, index, ended, before, forward_scales, begun, after, backward_scales, total)


def _combined(rows: Tensor, vectors: Tensor, scales: Tensor, joint: Tensor) -> tuple[Tensor, Tensor]:
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


def transition_counts(found: Scan, transitions: Tensor) -> Tensor:
    """Expected transitions of a batch, (C, C) float64; sequences of probability zero add nothing."""
    steps, width = found.index.shape[0], found.ended.shape[-1]
    exponents = _exponents(found.forward_scales[:-1], found.backward_scales[:-1], found.log_partition)
    weighted = found.begun[:-1] * exponents.exp().to(found.begun.dtype)[..., None]
    pairs = found.ended[:steps].reshape(-1, width).t() @ weighted.reshape(-1, width)
    return pairs.double() * transitions


def add_segment_counts(found: Scan, joint: Tensor, counts: Tensor) -> None:
    """Add the expected segments of a batch to ``counts`` (G, C), chunk by chunk of the sorted occurrences."""
    batch, width = found.index.shape[1], found.ended.shape[-1]
    t, b, k = (found.index >= 0).nonzero(as_tuple=True)
    grams, order = torch.sort(found.index[t, b, k], stable=True)
    starts, ends = (t * batch + b)[order], ((t + k + 1) * batch + b)[order]
    before, after = found.before.view(-1, width), found.after.view(-1, width)
    left, right = found.forward_scales.view(-1)[starts], found.backward_scales.view(-1)[ends]
    factors = _exponents(left, right, found.log_partition[b[order]])
    for part in torch.arange(len(grams), device=grams.device).split(OCCURRENCES_PER_CHUNK):
        rows, sizes = torch.unique_consecutive(grams[part], return_counts=True)
        products = before[starts[part]] * factors[part].exp().to(before.dtype)[:, None] * after[ends[part]]
        counts[rows] += torch.segment_reduce(products, "sum", lengths=sizes, axis=0) * joint[rows]


def _exponents(left: Tensor, right: Tensor, log_partition: Tensor) -> Tensor:
    total = left + right - torch.where(torch.isfinite(log_partition), log_partition, torch.inf)
    return torch.where(torch.isnan(total), -torch.inf, total)


def expectation(
    transitions: Tensor,
    joint: Tensor,
    lengths: Sequence[int],
    index_of: Callable[[int], np.ndarray],
    *,
    tokens: Sequence[int] | None = None,
    rows_per_block: int = ROWS_PER_BLOCK,
) -> Expectation:
    """Expected counts over a corpus, as :func:`compiled.expectation`, on the device that holds the tables.

    A sequence that rounding lost a path of is scanned again by the compiled scan in float64.
    """
    pairs = torch.zeros(transitions.shape, dtype=torch.float64, device=joint.device)
    total, poor = Expectation(pairs, torch.zeros_like(joint)), []
    sizes = np.asarray(lengths if tokens is None else tokens)
    for members in blocks_of(lengths, rows_per_block):
        found = scan([index_of(i) for i in members], transitions, joint)
        kept = found.disagreement <= AGREEMENT
        found.log_partition[~kept] = -torch.inf
        poor += members[~kept.cpu().numpy()].tolist()
        total.log_likelihood += float(found.log_partition[kept].sum())
        total.tokens += int(sizes[members[kept.cpu().numpy()]].sum())
        total.transitions += transition_counts(found, transitions)
        add_segment_counts(found, joint, total.segments)
    for i in poor:
        block, doubled, rows = compiled.in_float64([index_of(i)], transitions, joint)
        again, counts = compiled.backward(compiled.forward(block, doubled)), np.zeros(doubled.joint.shape)
        pairs = torch.from_numpy(compiled.transition_counts(again)).to(joint.device)
        compiled.accumulate(total, again, pairs, counts, sizes[[i]])
        total.segments[torch.from_numpy(rows).to(joint.device)] += torch.from_numpy(counts).to(joint)
        total.lost += int(np.isneginf(again.log_partition[0]))
    return total
