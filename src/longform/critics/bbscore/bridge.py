"""The equations of BBScore: how well sentence latents fit a Brownian bridge from the first sentence to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from longform.core.documents import BadInput, Readout

SLOPE = 0.01  # of the leaky ReLU of networks over features, BBScore release
Layers = tuple[tuple[np.ndarray, np.ndarray], ...]  # weights and biases
WINDOWS = (0, 1, 2, 4, 8)  # sheng2024 appendix D: the global score and four window sizes, the five features
FITTED = {"fitted": True}


@dataclass(frozen=True)
class LatentPath:
    """The latents of one document's sentences.

    Attributes:
        unit_id, split: of the document.
        latents: (sentences, dims).
        text_ids: (sentences,) equal where two sentences are the same text.
        rating: class of a rated text, -1 where there is none.
        heads: (sentences, dims) under every head by name, where the reader had several; ``latents`` is the first.
    """

    unit_id: str
    split: str
    latents: np.ndarray
    text_ids: np.ndarray
    rating: int = -1
    heads: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def sentence_keys(self) -> list[int]:
        """One key per sentence, equal where two are the same text."""
        return np.asarray(self.text_ids).tolist()

    @property
    def usable(self) -> bool:
        """Three or more sentences, all finite."""
        return len(self.latents) >= 3 and bool(np.isfinite(self.latents).all())

    def first(self, sentences: int) -> LatentPath:
        """The document cut after its first so many sentences."""
        own = {name: getattr(self, name)[:sentences] for name in ("latents", "text_ids")}
        return replace(self, **own, heads={head: latents[:sentences] for head, latents in self.heads.items()})

    def under(self, head: str) -> LatentPath:
        """The same document as another head places it; the empty name is the first head."""
        if not head:
            return self
        if head not in self.heads:
            raise BadInput(f"{self.unit_id}: no head {head!r}; the reader had {sorted(self.heads)}; fix the entry")
        return replace(self, latents=self.heads[head], heads={})


def units_from_readout(readout: Readout) -> list[LatentPath]:
    """Paths: ragged ``latents``, (sentences, heads, dims) where heads are named, ``text_ids``; ``rating`` where there is one."""
    ratings = readout.arrays.get("rating", np.full(len(readout.unit_ids), -1)).tolist()
    heads = readout.arrays.get("head_names", np.zeros(0, dtype=np.str_)).tolist()
    ragged = (readout.ragged(name) for name in ("latents", "text_ids"))
    found = []
    for unit, split, z, ids, rating in zip(readout.unit_ids, readout.splits, *ragged, ratings, strict=True):
        latents = np.asarray(z, np.float64)
        named = {head: np.ascontiguousarray(latents[:, place]) for place, head in enumerate(heads)}
        found.append(LatentPath(unit, split, named[heads[0]] if heads else latents, ids, rating, named))
    return found


def path(latents: np.ndarray, unit_id: str = "path", split: str = "test") -> LatentPath:
    """A path of bare latents: equal latents are equal texts."""
    latents = np.asarray(latents, dtype=np.float64)
    ids = np.unique(latents, axis=0, return_inverse=True)[1].reshape(-1) if len(latents) else np.zeros(0, np.int64)
    return LatentPath(unit_id, split, latents, ids)


class Terms(NamedTuple):
    r"""All that a score needs besides $\sigma^2$.

    Attributes:
        log_alpha: mean of $\ln 2 \pi v_i$, a number (nan where there is no term).
        beta: (orders,) mean of $\lVert \cdot \rVert^2 / 2 v_i$.
    """

    log_alpha: float
    beta: np.ndarray


def shares(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """$(u_i, v_i)$ of the inner sentences."""
    i = np.arange(2.0, steps)
    return (i - 1) / (steps - 1), (i - 1) * (steps - i) / (steps - 1)


def global_terms(latents: np.ndarray) -> Terms:
    """Terms of whole documents of one length, (orders, steps, dims): orders of the same sentences, or several paths."""
    orders, steps, _ = latents.shape
    if steps < 3:
        return Terms(np.nan, np.full(orders, np.nan))
    gaps, v = inner_gaps(latents)
    beta = np.einsum("osd,osd->os", gaps, gaps) @ (0.5 / v)
    return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2))


def inner_gaps(latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each inner sentence from the straight line, and its variance."""
    u, v = shares(latents.shape[1])
    first, last = latents[:, :1], latents[:, -1:]
    return latents[:, 1:-1] - first - u[:, None] * (last - first), v


def signed_scores(found: Terms, sigma2: float) -> np.ndarray:
    """The score without its absolute value, (orders,)."""
    return found.log_alpha + np.log(sigma2) + found.beta / sigma2


def diffusion(latents: np.ndarray) -> float:
    r"""$\hat\sigma^2(s) = \overline\beta$ of one path (sheng2024 section 3.3); nan below three sentences."""
    return float(global_terms(np.asarray(latents, dtype=np.float64)[None]).beta[0])


def corpus_diffusion(paths: Sequence[LatentPath]) -> float:
    r"""$\sigma_m^2$: the mean of $\hat\sigma^2(s)$ over documents, as released (the print sums; see deviations)."""
    each = np.array([diffusion(p.latents) for p in paths])
    kept = each[np.isfinite(each)]
    if not len(kept) or kept.mean() <= 0:
        value = "undefined" if not len(kept) else "0"
        raise BadInput(
            f"sigma_m^2 is {value} over {len(paths)} paths ({len(kept)} usable); a usable path has three finite "
            "sentences that are not all alike: check the reader and the split"
        )
    return float(kept.mean())


class OrderedGram:
    r"""Inner products of a path's latents, seen in many orders: a distance to the bridge is a sum of six of them.

    An order costs eight gathers of $T$ numbers for all five features, whatever the width of the latents; these are
    centred first, so that little cancels.

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

    def terms(self, window: int) -> Terms:
        """Terms of one feature; window 0 is the global score, another the half-width of a window (appendix D)."""
        count, steps = self.orders.shape
        if (steps < 3) if not window else (steps - 2 * window < 1):
            return Terms(np.nan, np.full(count, np.nan))
        return self._window(window, steps - 2 * window) if window else self._global(steps)

    def _products(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return self.gram.ravel().take(one * len(self.gram) + other)

    def _lag(self, lag: int) -> np.ndarray:
        """Products of places ``lag`` apart, (orders, sentences - lag); kept, as windows share them."""
        if lag not in self._lags:
            self._lags[lag] = self._products(self.orders[:, :-lag], self.orders[:, lag:])
        return self._lags[lag]

    def _global(self, steps: int) -> Terms:
        u, v = shares(steps)
        weight, inner = 0.5 / v, self.orders[:, 1:-1]
        first, last = self.orders[:, :1], self.orders[:, -1:]
        beta = self.norms[:, 1:-1] @ weight
        beta -= 2 * (self._products(inner, first) @ (weight * (1 - u)) + self._products(inner, last) @ (weight * u))
        beta += self.norms[:, 0] * (weight @ (1 - u) ** 2) + self.norms[:, -1] * (weight @ u**2)
        beta += self._products(first, last)[:, 0] * (2 * weight @ (u * (1 - u)))
        return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2))

    def _window(self, w: int, windows: int) -> Terms:
        u, v = 0.5, w / 2
        left, middle, right = (self.norms[:, k * w : k * w + windows].sum(axis=1) for k in (0, 1, 2))
        near, wide = self._lag(w), self._lag(2 * w)[:, :windows].sum(axis=1)
        beta = middle + (1 - u) ** 2 * left + u**2 * right + 2 * u * (1 - u) * wide
        beta -= 2 * ((1 - u) * near[:, :windows].sum(axis=1) + u * near[:, w : w + windows].sum(axis=1))
        return Terms(float(np.log(2 * np.pi * v)), beta / (2 * v) / windows)
