r"""Named noise: token v at position t of a draft has one number, whatever is computed beside it.

A token is drawn by the Gumbel-max rule, $\arg\max_v (\log p_v + g_v)$ with $g_v = -\log(-\log(1 - u_v))$, which draws
from the softmax exactly (Gumbel 1954). $u_v$ is a hash of (draft, position, v), so there is no stream of random
numbers whose order could matter, and CPU and GPU make the same integers. The rule is chosen for its robustness: an
error of $\epsilon$ in the scores can change the draw with probability below $2 \epsilon$, at any size of vocabulary,
while inverting a cumulative sum goes wrong wherever a token is rarer than the error.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from longform.resampling import derived_seed

# Integer mixer "lowbias32" found by Wellons' hash-prospector search; the step between tokens is 2^32 / golden ratio.
FIRST, SECOND, STEP = 0x7FEB352D, 0x846CA68B - 2**32, 0x9E3779B9 - 2**32
ROWS_ON_CPU = 1  # rows hashed at once: one row of 50,000 stays in the cache (0.3 ms; 0.4 in fours, measured)


def keys(draft_keys: Sequence[int], position: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Two 32-bit words for each draft at a position; int32 (draft, 2)."""
    seeds = [derived_seed(key, position) for key in draft_keys]
    words = [[seed & 0xFFFFFFFF, seed >> 32] for seed in seeds]
    return torch.tensor(words, dtype=torch.int64).to(torch.int32).to(device)


def gumbel(position_keys: torch.Tensor, vocabulary: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Standard Gumbel numbers (draft, vocabulary); float32 and float64 differ by rounding alone."""
    rows = ROWS_ON_CPU if position_keys.device.type == "cpu" else max(1, len(position_keys))
    tokens = torch.arange(vocabulary, dtype=torch.int32, device=position_keys.device) * STEP
    return torch.cat([_gumbel(tokens, part, dtype) for part in position_keys.split(rows)])


def _gumbel(tokens: torch.Tensor, words: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    bits = _mixed(tokens[None] + words[:, :1])
    bits = _mixed(bits ^ words[:, 1:])
    tail = bits.to(dtype).abs_().add_(0.5).mul_(2.0**-32)  # distance of u from 0 or, where bits are negative, from 1
    waiting = torch.where(bits >= 0, tail.neg().log1p_(), tail.log_()).neg_()  # -log(1 - u), exact at both ends
    return waiting.log_().neg_()


def _mixed(bits: torch.Tensor) -> torch.Tensor:
    """Mix 32-bit words in place; the masks make arithmetic shifts logical."""
    bits ^= (bits >> 16) & 0xFFFF
    bits *= FIRST
    bits ^= (bits >> 15) & 0x1FFFF
    bits *= SECOND
    bits ^= (bits >> 16) & 0xFFFF
    return bits
