r"""BBScore in token time, as the release computes it: each sentence's latent is repeated over its tokens.

Nothing is expanded. In a span of equal vectors $\lVert s - a - u(b - a) \rVert^2$ is a square in $u$, so the sum over
the span needs three prefix sums, of $1/2v$, $u/2v$ and $u^2/2v$; a document costs its sentences, not its tokens. Window
terms are grouped by the three sentences that a window touches. When sentences are shuffled, the release keeps the
*original* span lengths and hands them the shuffled vectors; so do we.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longform.core.documents import BadInput
from longform.critics.bbscore.bridge import Convention, LatentPath, Shares, Terms


def token_terms(latents: np.ndarray, token_counts: np.ndarray, window: int, rule: Convention) -> Terms:
    """Terms of one feature in token time.

    Args:
        latents: (orders, sentences, dims).
        token_counts: (sentences,) tokens of each place, at least one.
    """
    counts = np.asarray(token_counts, dtype=np.int64)
    if counts.shape != latents.shape[1:2] or (counts < 1).any():
        raise BadInput(
            f"token counts {counts.tolist()[:5]}... for {latents.shape[1]} sentences; each needs at least one token"
        )
    return _window_terms(latents, counts, window, rule) if window else global_token_terms(latents, counts, rule.score)


@dataclass(frozen=True)
class SpanWeights:
    r"""Sums over each sentence's tokens of $1/2v$, $u/2v$ and $u^2/2v$, each (sentences,), and $\overline{\ln\alpha}$."""

    plain: np.ndarray
    linear: np.ndarray
    square: np.ndarray
    log_alpha: float


def span_weights(counts: np.ndarray, shares: Shares) -> SpanWeights:
    """Weights of the spans; the first and the last token are the pinned ends and weigh nothing."""
    steps = int(counts.sum())
    u, v = shares(np.arange(2.0, steps), steps)
    u, weight = np.pad(u, 1), np.pad(0.5 / v, 1)
    ends = np.cumsum(counts)
    sums = [np.diff(np.cumsum(weight * u**power)[ends - 1], prepend=0.0) for power in (0, 1, 2)]
    return SpanWeights(sums[0], sums[1], sums[2], float(np.log(2 * np.pi * v).mean()))


def global_token_terms(latents: np.ndarray, counts: np.ndarray, shares: Shares) -> Terms:
    """The global terms in token time, in O(sentences) per order."""
    steps = int(counts.sum())
    if steps < 3:
        return Terms(np.nan, np.full(len(latents), np.nan), np.nan)
    sums = span_weights(counts, shares)
    from_first = latents - latents[:, :1]
    chord = from_first[:, -1]
    beta = np.einsum("osd,osd->os", from_first, from_first) @ sums.plain
    beta -= 2 * (np.einsum("osd,od->os", from_first, chord) @ sums.linear)
    beta += np.einsum("od,od->o", chord, chord) * sums.square.sum()
    return Terms(sums.log_alpha, beta / (steps - 2), 1.0)


def _window_terms(latents: np.ndarray, counts: np.ndarray, w: int, rule: Convention) -> Terms:
    steps = int(counts.sum())
    windows = steps - 2 * w - rule.missed
    if windows < 1:
        return Terms(np.nan, np.full(len(latents), np.nan), np.nan)
    u, v = rule.window(w)
    owner = np.repeat(np.arange(len(counts)), counts)
    touched = np.stack([owner[k * w : k * w + windows] for k in (0, 1, 2)])
    touched, times = np.unique(touched[:, touched[0] != touched[2]], axis=1, return_counts=True)
    left, middle, right = (latents[:, place] for place in touched)
    gaps = middle - (1 - u) * left - u * right
    beta = np.einsum("osd,osd->os", gaps, gaps) @ times.astype(np.float64) / (2 * v)
    share = 1.0 if rule.per_window else windows / (steps - 2)
    return Terms(float(np.log(2 * np.pi * v)), beta / windows, share)


def token_diffusion(unit: LatentPath, rule: Convention) -> float:
    r"""$\hat\sigma^2(s)$ of one path in token time; nan below three tokens."""
    if not len(unit.latents):
        return float("nan")
    return float(global_token_terms(unit.latents[None], np.asarray(unit.token_counts), rule.sigma).beta[0])
