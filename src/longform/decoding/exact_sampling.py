r"""Exact sampling: a text is defined by float64 passes over each draw's context alone.

float32 only finds it sooner. A float32 batch decides a draw if its winner leads by more than a
measured margin $m$, else float64 does. The Gumbel-max rule,
$\arg\max_v (\log p_v - \log(-\log(1 - u_v)))$ with $u_v$ a hash of (draft, position, v), samples
the softmax exactly (Gumbel 1954). A lead is at most $m$ with probability
$1 - \sum_v p_v / (p_v + (1 - p_v) e^m) < m$, at any size of vocabulary: about the share of draws
that float64 decides. An error of $\epsilon$ in each score shifts a lead by $2 \epsilon$ at most, so
it changes a draw with probability below $2 \epsilon$.

A *draft* is a text that is being written. Its *words* at a position are two random 32-bit integers
(:func:`keys`), from which the noise of all tokens there is hashed.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from longform.errors import BadInput
from longform.statistics.random_streams import derived_seed

SAFETY = 8.0  # ours: margin over the largest difference measured in calibration
ARITHMETIC = 2e-5  # float32 rounding of scores below 64 (4e-6 a step, five steps)
POSITIONS = 64  # last positions of a context whose logits are compared in calibration
ROWS = 8  # rows of the batch in calibration
DECODED = 8  # last positions that calibration also reads token by token through the cache
# Integer mixer "lowbias32" of Wellons' hash-prospector search.
FIRST, SECOND = 0x7FEB352D, 0x846CA68B - 2**32
# Step between tokens: 2^32 / golden ratio, as int32.
STEP = 0x9E3779B9 - 2**32
# Rows hashed at once: one of 50,000 tokens stays in the cache (0.3 ms; 0.4 in fours, measured).
ROWS_ON_CPU = 1


@dataclass(frozen=True)
class Truncation:
    """Which tokens are sampled from, and at which temperature.

    Attributes:
        top_k: only the k highest logits stay; 0 keeps all.
        temperature: divisor of the logits.
    """

    top_k: int = 0
    temperature: float = 1.0


@dataclass
class Referee:
    """Decides in float64, one context at a time, the tokens of which float32 is not certain.

    Attributes:
        network: a causal LM with float32 weights.
        margin: lead below which a float32 draw is not certain, in nats of the logits.
        called: number of tokens that it decided.
        largest: largest difference so far between float32 and float64 logits, nats.
    """

    network: Any
    margin: float = 0.0
    called: int = 0
    largest: float = 0.0

    @torch.no_grad()
    def logits(self, context: Tensor, positions: int = 1) -> Tensor:
        """Logits after the last tokens of one context.

        Args:
            context: tokens, int64 (tokens,).
            positions: number of last tokens after each of which logits are returned.

        Returns:
            float64 (positions, vocabulary).
        """
        with in_double(self.network):
            output = self.network(
                input_ids=context[None], use_cache=False, logits_to_keep=positions
            )
        return output.logits[0]

    def decide(self, context: Tensor, seen: Tensor, words: Tensor, rule: Truncation) -> int:
        """Sample the token that defines the text.

        Args:
            context: tokens, int64 (tokens,).
            seen: float32 logits after them, (vocabulary,), whose error may raise the margin.
            words: random words of the position, int32 (2,), see :func:`keys`.
            rule: top k and temperature.

        Returns:
            The token.
        """
        exact = self.logits(context)
        self.called += 1
        self.largest = max(self.largest, spread(seen - exact))
        # Rarely higher: where float32 errs twice as much as on the calibration text, or more.
        self.margin = max(self.margin, self.largest * SAFETY / 2)
        scores = truncated(exact / rule.temperature, rule.top_k, 0.0)
        noise = gumbel(words[None], scores.shape[1], torch.float64)
        return int((scores + noise).argmax())


def exact_sampling(
    logits: Tensor, words: Tensor, rule: Truncation, margin: float, on_device: bool | None = None
) -> tuple[Tensor, Tensor]:
    """Sample tokens from float32 logits by Gumbel-max, and say which of them are certain.

    A certain token is the one that float64 logits would give, if no difference of two logits errs
    by more than the margin.

    Args:
        logits: (draft, vocabulary).
        words: random words of each draft's position, int32 (draft, 2), see :func:`keys`.
        rule: top k and temperature.
        margin: nats.
        on_device: whether torch computes, by default anywhere but on the processor, where a
            compiled loop is faster; certain tokens are the same.

    Returns:
        Tokens, int64 (draft,), and whether each is certain, bool (draft,).
    """
    slack = margin / rule.temperature + ARITHMETIC
    scaled = (logits - logits.amax(1, keepdim=True)) / rule.temperature
    scores = truncated(scaled, rule.top_k, slack)
    # 1. The winner of each draft and its lead.
    if on_device is None:
        on_device = scores.device.type != "cpu"
    if on_device:
        best, best_tokens = (scores + gumbel(words, scores.shape[1])).topk(2, dim=1)
        tokens = best_tokens[:, 0]
        leads = best[:, 0] - best[:, 1]
    else:
        unsigned = words.numpy().view(np.uint32)
        leading_tokens, lead_values = _leaders(scores.numpy(), scores.exp().numpy(), unsigned)
        tokens = torch.from_numpy(leading_tokens)
        leads = torch.from_numpy(lead_values)
    certain = leads > slack
    # 2. With a truncation the set of the k best must be certain too: the k-th score is above the
    # (k + 1)-th (both in ``border``) by more than the slack. Or the winner is above the k-th by
    # more, and so in the set; tokens near the border have taken part already.
    if 0 < rule.top_k < scores.shape[1]:
        border = scaled.topk(rule.top_k + 1, dim=1).values[:, -2:]
        chosen = scaled.gather(1, tokens[:, None])[:, 0]
        has_gap = border[:, 0] - border[:, 1] > slack
        certain &= has_gap | (chosen > border[:, 0] + slack)
    return tokens, certain


@njit(cache=True)
def _leaders(scores, weights, words):  # pragma: no cover - compiled
    """Winner of each row of scores plus the noise of :func:`gumbel`, and its lead over the next.

    The noise is -log E with E = -log(1 - u), ``waiting`` in :func:`gumbel`. A token is above the
    second best if exp(score) > E exp(second). E is at least u, so most tokens that are not are
    passed over before any logarithm is taken.

    Args:
        scores: scaled logits, (drafts, vocabulary).
        weights: their exponentials, of the same shape.
        words: random words of each draft's position, uint32 (drafts, 2).

    Returns:
        The winners, int64 (drafts,), and their leads, float64 (drafts,).
    """
    rows, vocabulary = scores.shape
    tokens = np.zeros(rows, np.int64)
    leads = np.empty(rows, np.float64)
    bits = np.empty(vocabulary, np.uint32)
    for row in range(rows):
        # 1. One loop without branches, which the compiler vectorises.
        for v in range(vocabulary):
            first = _mixed_word(np.uint32(np.uint32(v * STEP) + words[row, 0]))
            bits[v] = _mixed_word(first ^ words[row, 1])
        # 2. The best and the second, whose exponential is the bar.
        best = -np.inf
        second = -np.inf
        bar = 0.0
        for v in range(vocabulary):
            # tail is u = bits / 2^32, or 1 - u where u is above 1/2; half a step keeps it above 0.
            upper = bits[v] >= np.uint32(0x80000000)
            tail = ((4294967296.0 - bits[v] if upper else bits[v]) + 0.5) * 2.0**-32
            # E is at least tail, and of a u above 1/2 at least log 2.
            if (0.6931 if upper else tail) * bar > weights[row, v]:
                continue
            score = scores[row, v] - np.log(-np.log(tail) if upper else -np.log1p(-tail))
            if score > best:
                second = best
                best = score
                tokens[row] = v
            elif score > second:
                second = score
            else:
                continue
            bar = 1.00001 * np.exp(second)  # higher, since weights are rounded to float32
        leads[row] = best - second
    return tokens, leads


@njit(cache=True, inline="always")
def _mixed_word(bits):  # pragma: no cover - compiled
    """Hash a 32-bit word by multiplications and shifts, one to one, so that all bits mix.

    Args:
        bits: uint32.

    Returns:
        uint32.
    """
    bits = np.uint32((bits ^ (bits >> 16)) * FIRST)  # numba widens to 64 bits; the casts wrap
    bits = np.uint32((bits ^ (bits >> 15)) * SECOND)
    return np.uint32(bits ^ (bits >> 16))


def truncated(scaled: Tensor, top_k: int, slack: float) -> Tensor:
    """Set scores outside the k highest of each row to minus infinity.

    Args:
        scaled: logits over the temperature, (draft, vocabulary).
        top_k: k; 0 keeps all.
        slack: scores within it of the k-th stay too.
    """
    if not 0 < top_k < scaled.shape[1]:
        return scaled
    threshold = scaled.topk(top_k, dim=1).values[:, -1:] - slack
    return scaled.masked_fill(scaled < threshold, -torch.inf)


def spread(difference: Tensor) -> float:
    """Largest error of a difference of two logits of one row.

    Args:
        difference: errors of the logits, (..., vocabulary), nats.
    """
    return float((difference.amax(-1) - difference.amin(-1)).max())


@torch.no_grad()
def calibrated(network: Any, text: Sequence[int], window: int) -> Referee:
    """A referee whose margin is ``SAFETY`` times the largest measured error of float32.

    Float64 logits of a text are compared with float32 ones, for which it is read alone, in a batch
    of ``ROWS``, and through the cache.

    Args:
        network: a causal LM with float32 weights.
        text: tokens, of which the first ``window`` are read.
        window: most tokens of context.

    Raises:
        BadInput: logits that are not numbers.
    """
    referee = Referee(network)
    ids = torch.tensor(list(text)[:window], device=network.device)
    num_compared = min(POSITIONS, len(ids))
    exact = referee.logits(ids, num_compared)
    # 1. In float32 alone and in a batch, of the text and of rotations, so that rows differ.
    rows = torch.stack([ids.roll(7 * row) for row in range(ROWS)])
    in_float32 = []
    for batch in (ids[None], rows):
        output = network(input_ids=batch, use_cache=False, logits_to_keep=num_compared)
        in_float32.append(output.logits[0])
    # 2. The last tokens one by one through the cache.
    if len(ids) > DECODED:
        output = network(input_ids=rows[:, :-DECODED], use_cache=True, logits_to_keep=1)
        decoded = []
        for position in range(len(ids) - DECODED, len(ids)):
            next_tokens = rows[:, position : position + 1]
            output = network(input_ids=next_tokens, past_key_values=output.past_key_values)
            decoded.append(output.logits[0, -1])
        in_float32.append(torch.stack(decoded))
    # 3. The largest difference.
    spreads = [spread(logits.double() - exact[-len(logits) :]) for logits in in_float32]
    referee.margin = SAFETY * max(spreads)
    if not math.isfinite(referee.margin):
        raise BadInput(
            "the model's logits are not all numbers, because its weights hold nan or infinity or "
            "are too large for float32; name another checkpoint, or train it again with a lower "
            "learning rate if it is your own"
        )
    return referee


@contextmanager
def in_double(network: torch.nn.Module) -> Iterator[None]:
    """Run a float32 network in float64, one module's weights at a time.

    No second copy of it is needed; the way back is exact.
    """
    owners = [module for module in network.modules() if module._parameters or module._buffers]
    hooks = []
    for owner in owners:
        hooks.append(owner.register_forward_pre_hook(_to_double))
        hooks.append(owner.register_forward_hook(_to_float))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for owner in owners:
            _cast(owner, torch.float32)


def _to_double(module: torch.nn.Module, _: Any) -> None:
    """Hook before a module's call: cast its own weights to float64."""
    _cast(module, torch.float64)


def _to_float(module: torch.nn.Module, *_: Any) -> None:
    """Hook after the call: cast them back to float32."""
    _cast(module, torch.float32)


def _cast(module: torch.nn.Module, dtype: torch.dtype) -> None:
    """Convert a module's own floating-point weights and buffers, not those of modules in it."""
    for tensor in (*module._parameters.values(), *module._buffers.values()):
        if tensor is not None and tensor.is_floating_point():
            tensor.data = tensor.data.to(dtype)


def keys(
    draft_keys: Sequence[int], position: int | Sequence[int], device: torch.device | str = "cpu"
) -> Tensor:
    """Two random 32-bit words for each draft at a position, which seed its Gumbel noise.

    Args:
        draft_keys: seed of each draft.
        position: of the token, one for all drafts or one for each.
        device: of the result.

    Returns:
        int32 (draft, 2).
    """
    positions = [position] * len(draft_keys) if isinstance(position, int) else position
    words = []
    for key, draft_position in zip(draft_keys, positions, strict=True):
        seed = derived_seed(key, draft_position)
        words.append([seed & 0xFFFFFFFF, seed >> 32])
    return torch.tensor(words, dtype=torch.int64).to(torch.int32).to(device)


def gumbel(position_keys: Tensor, vocabulary: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard Gumbel noise (draft, vocabulary); float32 and float64 differ by rounding alone.

    Args:
        position_keys: the words of each draft's position, int32 (draft, 2), see :func:`keys`.
        vocabulary: number of tokens.
        dtype: type of the result.
    """
    # In int32, since PyTorch has no arithmetic of uint32: the bits are the same.
    rows = ROWS_ON_CPU if position_keys.device.type == "cpu" else max(1, len(position_keys))
    tokens = torch.arange(vocabulary, dtype=torch.int32, device=position_keys.device) * STEP
    numbers = []
    for words in position_keys.split(rows):
        bits = _mixed(tokens[None] + words[:, :1])
        bits = _mixed(bits ^ words[:, 1:])
        # The uniform u is taken from 0 or, where bits are negative, from 1: so ``waiting``, which
        # is -log(1 - u), is exact at both ends.
        tail = bits.to(dtype).abs_().add_(0.5).mul_(2.0**-32)
        waiting = torch.where(bits >= 0, tail.neg().log1p_(), tail.log_()).neg_()
        numbers.append(waiting.log_().neg_())
    return torch.cat(numbers)


def _mixed(bits: Tensor) -> Tensor:
    """Mix 32-bit words in place; the masks make arithmetic shifts logical."""
    bits ^= (bits >> 16) & 0xFFFF
    bits *= FIRST
    bits ^= (bits >> 15) & 0x1FFFF
    bits *= SECOND
    bits ^= (bits >> 16) & 0xFFFF
    return bits
