r"""Every feature of every order of a document from one matrix of inner products.

$\lVert s_i - (1 - u) s_a - u s_b \rVert^2$ is a sum of six entries of $G = Z Z^\top$, whose rows and columns a shuffle
permutes. An order therefore costs eight gathers of $T$ numbers (the norms, both ends, lags 1, 2, 4, 8 and 16) for all
five features, whatever the width of the latents. Latents are centred first, so that little cancels.
"""

from __future__ import annotations

import numpy as np

from longform.critics.bbscore.bridge import Convention, Terms


class OrderedGram:
    """Inner products of a path's latents, seen in many orders.

    Args:
        latents: (sentences, dims), float64.
        orders: (orders, sentences) sentence numbers.
    """

    def __init__(self, latents: np.ndarray, orders: np.ndarray) -> None:
        centred = latents - latents.mean(axis=0) if len(latents) else latents
        self.gram = centred @ centred.T
        self.orders = orders
        self.norms = np.diagonal(self.gram)[orders]
        self._lags: dict[int, np.ndarray] = {}

    def terms(self, window: int, rule: Convention) -> Terms:
        """Terms of one feature; window 0 is the global score."""
        return self._window(window, rule) if window else self._global(rule)

    def _products(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return self.gram.ravel().take(one * len(self.gram) + other)

    def _lag(self, lag: int) -> np.ndarray:
        """Products of places ``lag`` apart, (orders, sentences - lag); kept, as windows share them."""
        if lag not in self._lags:
            self._lags[lag] = self._products(self.orders[:, :-lag], self.orders[:, lag:])
        return self._lags[lag]

    def _global(self, rule: Convention) -> Terms:
        count, steps = self.orders.shape
        if steps < 3:
            return Terms(np.nan, np.full(count, np.nan), np.nan)
        u, v = rule.score(np.arange(2.0, steps), steps)
        weight, inner = 0.5 / v, self.orders[:, 1:-1]
        first, last = self.orders[:, :1], self.orders[:, -1:]
        beta = self.norms[:, 1:-1] @ weight
        beta -= 2 * (self._products(inner, first) @ (weight * (1 - u)) + self._products(inner, last) @ (weight * u))
        beta += self.norms[:, 0] * (weight @ (1 - u) ** 2) + self.norms[:, -1] * (weight @ u**2)
        beta += self._products(first, last)[:, 0] * (2 * weight @ (u * (1 - u)))
        return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2), 1.0)

    def _window(self, w: int, rule: Convention) -> Terms:
        count, steps = self.orders.shape
        windows = steps - 2 * w - rule.missed
        if windows < 1:
            return Terms(np.nan, np.full(count, np.nan), np.nan)
        u, v = rule.window(w)
        left, middle, right = (self.norms[:, k * w : k * w + windows].sum(axis=1) for k in (0, 1, 2))
        near, wide = self._lag(w), self._lag(2 * w)[:, :windows].sum(axis=1)
        beta = middle + (1 - u) ** 2 * left + u**2 * right + 2 * u * (1 - u) * wide
        beta -= 2 * ((1 - u) * near[:, :windows].sum(axis=1) + u * near[:, w : w + windows].sum(axis=1))
        share = 1.0 if rule.per_window else windows / (steps - 2)
        return Terms(float(np.log(2 * np.pi * v)), beta / (2 * v) / windows, share)
