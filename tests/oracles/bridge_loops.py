"""BBScore one sentence at a time, and exact simulated bridges."""

import math

import numpy as np


def loop_score(z: np.ndarray, sigma2: float) -> float:
    """One inner sentence at a time."""
    total, steps = 0.0, len(z)
    for i in range(2, steps):
        u, v = (i - 1) / (steps - 1), (i - 1) * (steps - i) / (steps - 1)
        squared = sum(
            (z[i - 1][d] - z[0][d] - u * (z[-1][d] - z[0][d])) ** 2 for d in range(z.shape[1])
        )
        total += math.log(2 * math.pi * v * sigma2) + squared / (2 * v) / sigma2
    return total / (steps - 2)


def bridges(count: int, steps: int, dims: int, sigma2: float, seed: int) -> np.ndarray:
    """Exact discrete bridges between random ends: a walk minus its own chord."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0, math.sqrt(sigma2), (count, steps, dims)), axis=1)
    walk -= walk[:, :1]
    share = np.linspace(0, 1, steps)[None, :, None]
    start, end = rng.normal(size=(2, count, 1, dims))
    return walk - share * walk[:, -1:] + start + share * (end - start)
