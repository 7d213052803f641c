"""BBScore one sentence at a time, and exact simulated bridges."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from longform.critics.bbscore.bridge import Convention, Terms, global_terms


def loop_terms(z: np.ndarray, share: Callable[[int, int], tuple[float, float]]) -> list[tuple[float, float]]:
    """(alpha_i, beta_i) one i at a time; ``share(i, T)`` gives u and v."""
    found = []
    for i in range(2, len(z)):
        u, v = share(i, len(z))
        squared = sum((z[i - 1][d] - z[0][d] - u * (z[-1][d] - z[0][d])) ** 2 for d in range(z.shape[1]))
        found.append((2 * math.pi * v, squared / (2 * v)))
    return found


SHARES = {
    "canonical": lambda i, T: ((i - 1) / (T - 1), (i - 1) * (T - i) / (T - 1)),
    "printed": lambda i, T: ((i - 1) / T, (i - 1) * (T - i) / (T - 1)),
    "released_sigma": lambda i, T: ((i - 1) / T, (i - 1) * (T - i + 1) / T),
    "released": lambda i, T: (i / T, i * (T - i) / T),
}


def loop_score(z: np.ndarray, name: str, sigma2: float) -> float:
    return sum(math.log(a * sigma2) + b / sigma2 for a, b in loop_terms(z, SHARES[name])) / (len(z) - 2)


def bridges(count: int, steps: int, dims: int, sigma2: float, seed: int) -> np.ndarray:
    """Exact discrete bridges between random ends: a walk minus its own chord."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0, math.sqrt(sigma2), (count, steps, dims)), axis=1)
    walk -= walk[:, :1]
    share = np.linspace(0, 1, steps)[None, :, None]
    start, end = rng.normal(size=(2, count, 1, dims))
    return walk - share * walk[:, -1:] + start + share * (end - start)


def window_terms(latents: np.ndarray, w: int, rule: Convention) -> Terms:
    """Terms of windows of ``2 w + 1`` steps (sheng2024 appendix D); no window gives nan, never a perfect zero."""
    orders, steps, _ = latents.shape
    count = steps - 2 * w - rule.missed
    if count < 1:
        return Terms(np.nan, np.full(orders, np.nan), np.nan)
    u, v = rule.window(w)
    left, middle, right = (latents[:, k * w : k * w + count] for k in (0, 1, 2))
    gaps = middle - (1 - u) * left - u * right
    beta = np.einsum("osd,osd->o", gaps, gaps) / (2 * v)
    return Terms(float(np.log(2 * np.pi * v)), beta / count, 1.0 if rule.per_window else count / (steps - 2))


def terms(latents: np.ndarray, window: int, rule: Convention) -> Terms:
    """Terms of one of the five features; window 0 is the global score."""
    return window_terms(latents, window, rule) if window else global_terms(latents, rule.score)
