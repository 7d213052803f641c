"""BBScore one sentence at a time, and exact simulated bridges."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


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
