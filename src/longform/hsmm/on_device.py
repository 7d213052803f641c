r"""The factored forward-backward of :mod:`longform.hsmm.compiled` on a GPU, in PyTorch operations.

The mathematics is the same; the layout differs: sequences are padded to the longest, and a
position's K gathers are one batched product. Each sum is scaled by its largest product, so hard
zeros are safe. Counts are segmented sums over occurrences sorted by table row, so no atomics are
used and a run repeats.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from longform.hsmm import compiled
from longform.hsmm.compiled import AGREEMENT, MASS_FLOOR, ROWS_PER_SLICE, Expectation, blocks_of

# ours: rows of C gathered at once while counting
OCCURRENCES_PER_CHUNK = 65_536
# ours: 1,000 texts of the synthetic language; 6 GB of vectors at 800 states
ROWS_PER_BLOCK = 400_000


class Scan:
    """Forward and backward over sequences given by their index arrays (T_i, K).

    Attributes:
        index: table rows of the segments that start at each position, -1 if none, (T, B, K).
        ended, before, begun, after: alpha, b, e and beta, scaled, (T + 1, B, C).
        forward_scales, backward_scales: logarithms of the scales of ``ended`` and ``before``, and
            of ``begun`` and ``after``, float64 (T + 1, B).
        log_partition: log P in nats, float64 (B,).
    """

    def __init__(self, indices: Sequence[np.ndarray], transitions: Tensor, joint: Tensor) -> None:
        """Scan both ways.

        Args:
            indices: of each sequence the table rows of the segments that start at each position, -1
                if none, int (T_i, K).
            transitions: A, (C, C), on the device of the scan.
            joint: W, (G, C), of the same type and on the same device.
        """
        # Sequences are padded to the longest, with no segment in the padding.
        sizes = [len(index) for index in indices]
        padded = np.full((max(sizes), len(indices), indices[0].shape[1]), -1, dtype=np.int64)
        for b, index in enumerate(indices):
            padded[: len(index), b] = index
        self.index = torch.from_numpy(padded).to(joint.device)
        self.lengths = torch.tensor(sizes, device=joint.device)
        positions, batch, _ = self.index.shape
        shape = (positions + 1, batch, joint.shape[1])
        self.ended = joint.new_zeros(shape)
        self.before = joint.new_zeros(shape)
        self.begun = joint.new_zeros(shape)
        self.after = joint.new_zeros(shape)
        self.forward_scales = torch.full(
            shape[:2], -torch.inf, dtype=torch.float64, device=joint.device
        )
        self.backward_scales = self.forward_scales.clone()
        self._forward(transitions, joint)
        self._backward(transitions, joint)
        # Each sequence ends at the position of its own length.
        sequences = torch.arange(batch, device=joint.device)
        mass_at_end = self.ended[self.lengths, sequences].double().sum(dim=1)
        self.log_partition = mass_at_end.log() + self.forward_scales[self.lengths, sequences]

    def _forward(self, transitions: Tensor, joint: Tensor) -> None:
        r"""$\alpha_t(z) = \sum_k b_{t-k}(z) W[g(t-k, k), z]$ and $b_t = \alpha_t A$.

        They start from $z_0$, which is state 0. Sets ``ended``, ``before`` and ``forward_scales``.

        Args:
            transitions, joint: A and W, as of :meth:`__init__`.
        """
        positions, _, longest = self.index.shape
        self.ended[0, :, 0] = 1
        self.forward_scales[0] = 0
        for t in range(positions + 1):
            if t:
                # Segments of 1, 2, ... tokens that end here started so many positions before.
                back = torch.arange(1, min(longest, t) + 1, device=joint.device)
                rows = self.index[t - back, :, back - 1]
                self.ended[t], self.forward_scales[t] = _combined(
                    rows, self.before[t - back], self.forward_scales[t - back], joint
                )
            self.before[t] = self.ended[t] @ transitions

    def _backward(self, transitions: Tensor, joint: Tensor) -> None:
        r"""$e_t(z) = \sum_k W[g(t, k), z] \beta_{t+k}(z)$ and $\beta_t = A e_t$.

        They start from $\beta = 1$ at the end of each sequence. Sets ``begun``, ``after`` and
        ``backward_scales``.

        Args:
            transitions, joint: A and W, as of :meth:`__init__`.
        """
        positions, _, longest = self.index.shape
        for t in range(positions, -1, -1):
            if t < positions:
                ahead = torch.arange(1, min(longest, positions - t) + 1, device=joint.device)
                rows = self.index[t, :, : len(ahead)].t()
                self.begun[t], self.backward_scales[t] = _combined(
                    rows, self.after[t + ahead], self.backward_scales[t + ahead], joint
                )
                self.after[t] = self.begun[t] @ transitions.t()
            is_end = self.lengths == t
            self.after[t] = torch.where(is_end[:, None], 1, self.after[t])
            self.backward_scales[t] = torch.where(is_end, 0, self.backward_scales[t])

    def transition_counts(self, transitions: Tensor) -> Tensor:
        r"""Expected transitions $A_{ij} \sum_t \alpha_t(i) e_t(j) / P(x)$ over all sequences.

        Sequences of probability zero add nothing.

        Args:
            transitions: A, (C, C).

        Returns:
            float64 (C, C).
        """
        width = self.ended.shape[-1]
        exponents = _exponents(
            self.forward_scales[:-1], self.backward_scales[:-1], self.log_partition
        )
        factors = exponents.exp().to(self.begun.dtype)
        begun = (self.begun[:-1] * factors[..., None]).reshape(-1, width)
        ended = self.ended[:-1].reshape(-1, width)
        return (ended.t() @ begun).double() * transitions

    def add_segment_counts(self, joint: Tensor, counts: Tensor) -> None:
        r"""Add the expected segments $W[g, z] \sum b_t(z) \beta_{t+k}(z) / P(x)$ to ``counts``.

        The sum runs over the places at which g stands in the sequences.

        Args:
            joint: W, (G, C).
            counts: is added to, (G, C), of the type of W.
        """
        batch, width = self.index.shape[1], self.ended.shape[-1]
        # 1. Sort the occurrences by table row.
        t, b, k = (self.index >= 0).nonzero(as_tuple=True)
        grams, order = torch.sort(self.index[t, b, k], stable=True)
        # 2. Find the rows of the flattened vectors at which each one starts and ends.
        starts = (t * batch + b)[order]
        ends = ((t + k + 1) * batch + b)[order]
        before = self.before.view(-1, width)
        after = self.after.view(-1, width)
        left = self.forward_scales.view(-1)[starts]
        right = self.backward_scales.view(-1)[ends]
        factors = _exponents(left, right, self.log_partition[b[order]])
        # 3. Sum those of each n-gram, chunk by chunk.
        everything = torch.arange(len(grams), device=grams.device)
        for chunk in everything.split(OCCURRENCES_PER_CHUNK):
            rows, sizes = torch.unique_consecutive(grams[chunk], return_counts=True)
            products = before[starts[chunk]] * factors[chunk].exp().to(before.dtype)[:, None]
            products = products * after[ends[chunk]]
            sums = torch.segment_reduce(products, "sum", lengths=sizes, axis=0)
            counts[rows] += sums * joint[rows]


def _combined(
    rows: Tensor, vectors: Tensor, scales: Tensor, joint: Tensor
) -> tuple[Tensor, Tensor]:
    r"""Normalised $\sum_k e^{s_k} v_k W[g_k]$ and its scale.

    Args:
        rows: g, rows of the joint table, -1 where there is none, (k, B).
        vectors: v, (k, B, C).
        scales: s, float64 (k, B).
        joint: W, (G, C).

    Returns:
        The sum divided by its largest entry, (B, C), and the logarithm of what it was divided by,
        float64 (B,); zeros and minus infinity where there is no path.
    """
    # 1. The logarithm of each product's largest entry; the largest of these sets the scale.
    products = vectors * joint[rows.clamp(min=0)]
    tops = torch.where(rows >= 0, products.amax(dim=-1), 0)
    levels = scales + tops.double().log()
    bound = levels.amax(dim=0)
    alive = torch.isfinite(bound)
    shifted = (scales - torch.where(alive, bound, 0)).exp()
    factors = torch.where(torch.isfinite(levels), shifted, 0)
    # 2. The sum. Each product is divided by its own top before the factor multiplies it: the factor
    # alone may exceed float32.
    weights = (factors * tops.double()).to(joint.dtype)
    relative = products / torch.where(tops > 0, tops, 1)[..., None]
    total = (relative * weights[..., None]).sum(dim=0)
    # 3. Divided by its largest entry.
    top = torch.where(alive, total.amax(dim=-1), 1)
    scale = torch.where(alive, bound + top.double().log(), -torch.inf)
    return total / top[:, None], scale


def _exponents(left: Tensor, right: Tensor, log_partition: Tensor) -> Tensor:
    """``left + right - log_partition``; minus infinity where a scale is or nothing explains it.

    Args:
        left, right: logarithms of the scales of two vectors, nats, float64 of any shape.
        log_partition: log P of the sequence that each pair lies in, nats, float64 of a shape that
            broadcasts to theirs.
    """
    # Finite or -inf scales give no nan: only a scale of nan or +inf could, which adds nothing.
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
    """Expected counts as :func:`compiled.expectation`, on the device that holds the tables.

    Sequences that lost a path to rounding are scanned again by the compiled float64 scan.

    Args:
        transitions, joint: A and W, (C, C) and (G, C).
        lengths, index_of, tokens, rows_per_block: as of :func:`compiled.expectation`.
    """
    pairs = torch.zeros(transitions.shape, dtype=torch.float64, device=joint.device)
    total = Expectation(pairs, torch.zeros_like(joint))
    sizes = np.asarray(lengths if tokens is None else tokens)
    # 1. Sequences that float32 is enough for, block by block.
    poor: list[int] = []
    for members in blocks_of(lengths, rows_per_block or ROWS_PER_BLOCK):
        scan = Scan([index_of(i) for i in members], transitions, joint)
        # Forward and backward agree; nan, where both are zero, is no agreement.
        backward = scan.after[0, :, 0].double().log() + scan.backward_scales[0]
        agrees = (backward - scan.log_partition).abs() <= AGREEMENT
        is_sound = agrees.cpu().numpy()
        scan.log_partition[~agrees] = -torch.inf
        poor += members[~is_sound].tolist()
        total.log_likelihood += float(scan.log_partition[agrees].sum())
        total.tokens += int(sizes[members[is_sound]].sum())
        total.transitions += scan.transition_counts(transitions)
        scan.add_segment_counts(joint, total.segments)
    # 2. The others in float64, each with the rows of the table that it uses.
    for i in poor:
        rescan, rows = compiled.scan_in_float64([index_of(i)], transitions, joint)
        counts = np.zeros(rescan.tables.joint.shape)
        pairs = torch.from_numpy(compiled.transition_counts(rescan.backward())).to(joint.device)
        compiled.accumulate(total, rescan, pairs, counts, sizes[[i]])
        device_rows = torch.from_numpy(rows).to(joint.device)
        total.segments[device_rows] += torch.from_numpy(counts).to(joint)
    return total


def normalise(counts: Tensor, old: np.ndarray, mass: np.ndarray) -> None:
    """Scale each column of ``counts`` to a sum, in place; one of zeros becomes that of ``old``.

    Args:
        counts: expected segments, (G, C), on any device; changed.
        old: the table before, (G, C), of the same type.
        mass: sum of each column afterwards, float64 (C,).
    """
    slices = counts.split(ROWS_PER_SLICE)
    sums = torch.zeros(counts.shape[1], dtype=torch.float64, device=counts.device)
    for part in slices:
        sums += part.sum(dim=0, dtype=torch.float64)
    factors = torch.from_numpy(mass).to(counts.device) / torch.where(sums > 0, sums, 1)
    empty = (sums <= 0).nonzero()[:, 0]
    for part in slices:
        part *= factors.to(counts.dtype)
        part[part < MASS_FLOOR] = 0
    counts[:, empty] = torch.from_numpy(old[:, empty.cpu().numpy()]).to(counts.device)
