"""The E-step of the correlated topic model on a GPU: padded batches of documents in PyTorch.

The same steps as :mod:`longform.critics.topics.kernels`, many documents at once: products with the word rows are batched
matrix products, products with the precision one matrix product per batch. Documents whose bound stands still leave the
batch. Memory is one batch: documents x widest document x topics numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from longform.critics.topics.kernels import (
    CG_DROP,
    CG_PRODUCTS,
    HALVINGS,
    LONGEST,
    NEWTON_STEPS,
    TINY,
    UNLIMITED,
    VARIANCE_STEPS,
)
from longform.critics.topics.model import TermCounts, TopicModel, TopicSettings


@dataclass(frozen=True)
class Prior:
    """The model's Gaussian and topics on the device: mean (free), precision (free, free), beta (terms + 1, topics).

    The last row of ``beta`` is zero and stands for padding.
    """

    mean: Tensor
    precision: Tensor
    beta: Tensor


@dataclass(frozen=True)
class Batch:
    """Documents side by side; every tensor has one row per document.

    Attributes:
        numbers: (documents,) which documents these are.
        rows: (documents, width, topics) word probabilities; zero where padded.
        counts: (documents, width); zero where padded.
        mass: (documents, 1) tokens.
        logit, nu, share, ratios: the current point, its expected topic counts and word ratios.
        value: (documents,) bound, float64.
        rounds: (documents,) rounds taken.
    """

    numbers: Tensor
    rows: Tensor
    counts: Tensor
    mass: Tensor
    logit: Tensor
    nu: Tensor
    share: Tensor
    ratios: Tensor
    value: Tensor
    rounds: Tensor

    def take(self, kept: Tensor) -> Batch:
        """The documents at ``kept``."""
        return Batch(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))


def ascend_batches(
    counts: TermCounts, model: TopicModel, settings: TopicSettings, points: tuple[np.ndarray, np.ndarray], device: str
) -> tuple[np.ndarray, ...]:
    """Posteriors of every document; documents of similar width share a batch of ``settings.batch``.

    Args:
        points: logits and variances to start from, each (documents, topics - 1).

    Returns:
        logits and variances; bounds without the Gaussian's constant; rounds; ratios (nonzeros,).
    """
    beta = np.concatenate([model.beta.T, np.zeros((1, model.topics))])
    floats = getattr(torch, settings.floats)
    prior = Prior(*(torch.tensor(part, dtype=floats, device=device) for part in (model.mean, model.precision, beta)))
    logits, variances = points[0].copy(), points[1].copy()
    bounds, rounds = np.zeros(len(counts)), np.zeros(len(counts), np.int64)
    ratios = np.zeros(len(counts.terms), settings.floats)
    order = np.argsort(np.diff(counts.starts), kind="stable")
    for first in range(0, len(order), settings.batch):
        numbers = order[first : first + settings.batch]
        batch = _batch(counts, numbers, prior, (logits[numbers], variances[numbers]))
        for part in _ascend(batch, prior, settings):
            at = part.numbers.cpu().numpy()
            logits[at], variances[at] = part.logit.double().cpu().numpy(), part.nu.double().cpu().numpy()
            bounds[at], rounds[at] = part.value.cpu().numpy(), part.rounds.cpu().numpy()
            for document, row in zip(at.tolist(), part.ratios.cpu().numpy(), strict=True):
                span = slice(counts.starts[document], counts.starts[document + 1])
                ratios[span] = row[: span.stop - span.start]
    return logits, variances, bounds, rounds, ratios


def _batch(counts: TermCounts, numbers: np.ndarray, prior: Prior, points: tuple[np.ndarray, np.ndarray]) -> Batch:
    like = prior.beta
    widths = np.diff(counts.starts)[numbers]
    places = counts.starts[numbers][:, None] + np.arange(widths.max())
    real = np.arange(widths.max()) < widths[:, None]
    terms = np.where(real, counts.terms[np.where(real, places, 0)], counts.size)
    number = np.where(real, counts.counts[np.where(real, places, 0)], 0.0)
    amount = torch.tensor(number, dtype=like.dtype, device=like.device)
    logit, nu = (torch.tensor(part, dtype=like.dtype, device=like.device) for part in points)
    value = torch.zeros(len(numbers), dtype=torch.float64, device=like.device)
    rows = like[torch.tensor(terms, device=like.device)]
    rounds = torch.zeros(len(numbers), dtype=torch.int64, device=like.device)
    index = torch.tensor(numbers, device=like.device)
    return Batch(index, rows, amount, amount.sum(1, keepdim=True), logit, nu, logit, amount, value, rounds)


def _ascend(batch: Batch, prior: Prior, settings: TopicSettings) -> Iterator[Batch]:
    """Rounds on one batch; yields documents as they finish."""
    batch, _ = _assign(batch)
    for done in range(1, (settings.rounds if settings.rounds > 0 else UNLIMITED) + 1):
        for _ in range(NEWTON_STEPS):
            batch = replace(batch, logit=_newton(batch, prior))
        batch = replace(batch, nu=_widen(batch, prior))
        batch, words = _assign(batch)
        value = words + _gaussian_terms(batch, prior)
        still = (value - batch.value).abs() <= settings.tolerance * batch.value.abs()
        batch = replace(batch, value=value, rounds=torch.full_like(batch.rounds, done))
        if done > 1 and bool(still.any()):
            yield batch.take(still.nonzero()[:, 0])
            batch = batch.take((~still).nonzero()[:, 0])
        if not len(batch.numbers):
            return
    yield batch


def _assign(batch: Batch) -> tuple[Batch, Tensor]:
    r"""Word assignments at lambda; also $\sum_w c_w \log s_w$ per document, float64."""
    full = torch.nn.functional.pad(batch.logit, (0, 1))
    top = full.max(dim=1, keepdim=True).values
    weight = (full - top).exp()
    chance = torch.bmm(batch.rows, weight[:, :, None])[:, :, 0].clamp_min(TINY)
    ratios = batch.counts / chance
    share = torch.bmm(ratios[:, None, :], batch.rows)[:, 0, :] * weight
    words = (batch.counts.double() * (chance.double().log() + top.double())).sum(1)
    return replace(batch, share=share[:, :-1], ratios=ratios), words


def _tilt(batch: Batch, logit: Tensor) -> tuple[Tensor, Tensor]:
    r"""$N \mathrm{softmax}(\lambda + \nu / 2)$ without the fixed topic, and $\log\zeta$ in float64, a column."""
    full = torch.nn.functional.pad(logit + batch.nu / 2, (0, 1)).double()
    log_zeta = full.logsumexp(1, keepdim=True)
    return batch.mass * (full - log_zeta).exp()[:, :-1].to(logit.dtype), log_zeta


def _newton(batch: Batch, prior: Prior) -> Tensor:
    """Logits after one truncated Newton step with the word assignments fixed, halved until the bound rises."""
    expected, log_zeta = _tilt(batch, batch.logit)
    pull = (batch.logit - prior.mean) @ prior.precision
    gradient = batch.share - expected - pull
    step, step_pull = _solve(gradient, expected, batch.mass, prior.precision)
    rise = (gradient * step).double().sum(1, keepdim=True)
    linear = ((batch.share - pull) * step).double().sum(1, keepdim=True)
    square = (step * step_pull).double().sum(1, keepdim=True)
    length, logit = torch.ones_like(rise), batch.logit
    for _ in range(HALVINGS):
        moved = batch.logit + length.to(step.dtype) * step
        gain = length * linear - 0.5 * length**2 * square - batch.mass * (_tilt(batch, moved)[1] - log_zeta)
        good = gain >= 1e-4 * length * rise
        if bool(good.all()):
            return moved
        logit = torch.where(good, moved, batch.logit)
        length = torch.where(good, length, length / 2)
    return logit


def _solve(gradient: Tensor, curve: Tensor, mass: Tensor, precision: Tensor) -> tuple[Tensor, Tensor]:
    r"""Newton systems $(S + \mathrm{diag}(q) - q q^\top / N)\, d = g$ by conjugate gradients; also $S d$."""
    scaled = 1 / (precision.diagonal() + curve * (1 - curve / mass))
    step, step_pull, rest = torch.zeros_like(gradient), torch.zeros_like(gradient), gradient
    direction = rest * scaled
    norm = (rest * direction).sum(1, keepdim=True)
    goal = norm * CG_DROP
    for _ in range(CG_PRODUCTS):
        busy = norm > goal
        if not bool(busy.any()):
            break
        product = direction @ precision
        bent = product + curve * (direction - (curve * direction).sum(1, keepdim=True) / mass)
        length = torch.where(busy, norm / (direction * bent).sum(1, keepdim=True), 0.0)
        step, step_pull = step + length * direction, step_pull + length * product
        rest = rest - length * bent
        fresh = torch.where(busy, (rest * rest * scaled).sum(1, keepdim=True), norm)
        direction = torch.where(busy, rest * scaled + fresh / norm * direction, direction)
        norm = fresh
    return step, step_pull


def _widen(batch: Batch, prior: Prior) -> Tensor:
    r"""Variances after Newton steps on $\log\nu$ with $\zeta$ fixed."""
    own, nu = prior.precision.diagonal(), batch.nu
    log_zeta = _tilt(batch, batch.logit)[1].to(nu.dtype)
    for _ in range(VARIANCE_STEPS):
        rate = batch.mass * (batch.logit + nu / 2 - log_zeta).exp()
        slope = 0.5 - 0.5 * nu * (own + rate)
        bend = -0.5 * nu * (own + rate) - 0.25 * nu * nu * rate
        nu = torch.minimum(nu * (-slope / bend).clamp(-LONGEST, LONGEST).exp(), 1 / own)
    return nu


def _gaussian_terms(batch: Batch, prior: Prior) -> Tensor:
    """Bounds without their word terms and without the constants of the Gaussian, float64."""
    _, log_zeta = _tilt(batch, batch.logit)
    apart = batch.logit - prior.mean
    value = -batch.mass[:, 0] * log_zeta[:, 0]
    value = value + 0.5 * (batch.nu.double().log() - batch.nu * prior.precision.diagonal()).sum(1)
    return value - 0.5 * (apart * (apart @ prior.precision)).double().sum(1)
