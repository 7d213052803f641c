r"""The factored forward-backward of :mod:`longform.hsmm.compiled` on a GPU, in PyTorch operations.

The mathematics is the same; the layout differs: sequences are padded to the longest, and a position's K
gathers are one batched product. Each sum is scaled by its largest product, so hard zeros are safe.
Counts are segmented sums over occurrences sorted by table row, so no atomics are used and a run repeats.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from longform.hsmm import compiled
from longform.hsmm.compiled import AGREEMENT, MASS_FLOOR, ROWS_PER_SLICE, Expectation, blocks_of

OCCURRENCES_PER_CHUNK = 65_536  # ours: rows of C gathered at once while counting
ROWS_PER_BLOCK = (
    400_000  # ours: 1,000 texts of the synthetic language; 6 GB of vectors at 800 states
)


class Scan:
    """Forward and backward over sequences given by their index arrays (T_i, K), for tables (C, C) and (G, C).

    Scaled vectors (T + 1, B, C) with float64 log scales (T + 1, B): ``ended`` is alpha, ``before`` b, ``begun`` e, ``after``
    beta. ``index`` (T, B, K) are table rows of the segments that start at each position, ``log_partition`` (B,) is in nats.
    """

    def __init__(self, indices: Sequence[np.ndarray], transitions: Tensor, joint: Tensor) -> None:
        device, sizes = joint.device, [len(index) for index in indices]
        padded = np.full((max(sizes), len(indices), indices[0].shape[1]), -1, dtype=np.int64)
        for b, rows_of in enumerate(indices):
            padded[: len(rows_of), b] = rows_of
        self.index, lengths = (
            torch.from_numpy(padded).to(device),
            torch.tensor(sizes, device=device),
        )
        positions, batch, longest = self.index.shape
        shape = (positions + 1, batch, joint.shape[1])
        ended, before, begun, after = (joint.new_zeros(shape) for _ in range(4))
        forward = torch.full(shape[:2], -torch.inf, dtype=torch.float64, device=device)
        backward = forward.clone()
        ended[0, :, 0], forward[0] = 1, 0
        for t in range(positions + 1):
            if t:
                back = torch.arange(1, min(longest, t) + 1, device=device)
                rows = self.index[t - back, :, back - 1]
                ended[t], forward[t] = _combined(rows, before[t - back], forward[t - back], joint)
            before[t] = ended[t] @ transitions
        for t in range(positions, -1, -1):
            if t < positions:
                ahead = torch.arange(1, min(longest, positions - t) + 1, device=device)
                rows = self.index[t, :, : len(ahead)].t()
                begun[t], backward[t] = _combined(
                    rows, after[t + ahead], backward[t + ahead], joint
                )
                after[t] = begun[t] @ transitions.t()
            last = lengths == t
            after[t] = torch.where(last[:, None], 1, after[t])
            backward[t] = torch.where(last, 0, backward[t])
        self.ended, self.before, self.begun, self.after = ended, before, begun, after
        self.forward_scales, self.backward_scales, everyone = (
            forward,
            backward,
            torch.arange(batch, device=device),
        )
        self.log_partition = (
            ended[lengths, everyone].double().sum(dim=-1).log() + forward[lengths, everyone]
        )

    def transition_counts(self, transitions: Tensor) -> Tensor:
        """Expected transitions, (C, C) float64; sequences of probability zero add nothing."""
        width = self.ended.shape[-1]
        exponents = _exponents(
            self.forward_scales[:-1], self.backward_scales[:-1], self.log_partition
        )
        weighted = self.begun[:-1] * exponents.exp().to(self.begun.dtype)[..., None]
        return (
            self.ended[:-1].reshape(-1, width).t() @ weighted.reshape(-1, width)
        ).double() * transitions

    def add_segment_counts(self, joint: Tensor, counts: Tensor) -> None:
        """Add the expected segments to ``counts`` (G, C), chunk by chunk of the sorted occurrences."""
        batch, width = self.index.shape[1], self.ended.shape[-1]
        t, b, k = (self.index >= 0).nonzero(as_tuple=True)
        grams, order = torch.sort(self.index[t, b, k], stable=True)
        starts, ends = (t * batch + b)[order], ((t + k + 1) * batch + b)[order]
        before, after = self.before.view(-1, width), self.after.view(-1, width)
        left, right = self.forward_scales.view(-1)[starts], self.backward_scales.view(-1)[ends]
        factors = _exponents(left, right, self.log_partition[b[order]])
        for part in torch.arange(len(grams), device=grams.device).split(OCCURRENCES_PER_CHUNK):
            rows, sizes = torch.unique_consecutive(grams[part], return_counts=True)
            products = (
                before[starts[part]]
                * factors[part].exp().to(before.dtype)[:, None]
                * after[ends[part]]
            )
            counts[rows] += (
                torch.segment_reduce(products, "sum", lengths=sizes, axis=0) * joint[rows]
            )


def _combined(
    rows: Tensor, vectors: Tensor, scales: Tensor, joint: Tensor
) -> tuple[Tensor, Tensor]:
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
    rows_per_block: int | None = None,
) -> Expectation:
    """:func:`compiled.expectation` on the device that holds the tables; what rounding lost is scanned again in compiled float64."""
    pairs = torch.zeros(transitions.shape, dtype=torch.float64, device=joint.device)
    total, poor = Expectation(pairs, torch.zeros_like(joint)), []
    sizes = np.asarray(lengths if tokens is None else tokens)
    for members in blocks_of(lengths, rows_per_block or ROWS_PER_BLOCK):
        scan = Scan([index_of(i) for i in members], transitions, joint)
        back = scan.after[0, :, 0].double().log() + scan.backward_scales[0]
        kept = (
            back - scan.log_partition
        ).abs() <= AGREEMENT  # nan where both are zero, which is no agreement
        scan.log_partition[~kept] = -torch.inf
        poor += members[~kept.cpu().numpy()].tolist()
        total.log_likelihood += float(scan.log_partition[kept].sum())
        total.tokens += int(sizes[members[kept.cpu().numpy()]].sum())
        total.transitions += scan.transition_counts(transitions)
        scan.add_segment_counts(joint, total.segments)
    for i in poor:
        again, rows = compiled.scan_in_float64([index_of(i)], transitions, joint)
        counts = np.zeros(again.tables.joint.shape)
        pairs = torch.from_numpy(compiled.transition_counts(again.backward())).to(joint.device)
        compiled.accumulate(total, again, pairs, counts, sizes[[i]])
        total.segments[torch.from_numpy(rows).to(joint.device)] += torch.from_numpy(counts).to(
            joint
        )
    return total


def normalise(counts: Tensor, old: np.ndarray, mass: np.ndarray) -> None:
    """Scale the columns of ``counts`` (G, C), in place, to sums ``mass`` (C,); a column without counts becomes ``old``'s."""
    parts = counts.split(ROWS_PER_SLICE)
    sums = torch.zeros(counts.shape[1], dtype=torch.float64, device=counts.device)
    for part in parts:
        sums += part.sum(dim=0, dtype=torch.float64)
    factors = torch.from_numpy(mass).to(counts.device) / torch.where(sums > 0, sums, 1)
    empty = (sums <= 0).nonzero()[:, 0]
    for part in parts:
        part *= factors.to(counts.dtype)
        part[part < MASS_FLOOR] = 0
    counts[:, empty] = torch.from_numpy(old[:, empty.cpu().numpy()]).to(counts.device)
