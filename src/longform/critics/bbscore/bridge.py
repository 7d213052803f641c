r"""The equations of BBScore: how well sentence latents fit a Brownian bridge from the first sentence to the last.

With $T$ steps, mean share $u_i$, variance factor $v_i$, $\alpha_i = 2 \pi v_i$ and
$\beta_i = \lVert s_i - s_1 - u_i (s_T - s_1) \rVert^2 / (2 v_i)$ (sheng2024 equations 1-3)

$$B(s \mid \sigma^2) = \Big| \sum_{i=2}^{T-1} \ln(\alpha_i \sigma^2) + \beta_i / \sigma^2 \Big| / (T - 2)$$

so a score is two numbers, $\overline{\ln \alpha}$ and $\overline\beta$, and $\sigma^2$: lower is more coherent. The printed
normaliser is that of two dimensions whatever the latents' width; $\sigma^2$ is a variance.

In one matrix of inner products, $\lVert s_i - (1 - u) s_a - u s_b \rVert^2$ is a sum of six entries of $G = Z Z^\top$, whose rows and columns a shuffle
permutes. An order therefore costs eight gathers of $T$ numbers (the norms, both ends, lags 1, 2, 4, 8 and 16) for all
five features, whatever the width of the latents. Latents are centred first, so that little cancels.

In token time, as the release computes it, each sentence's latent is repeated over its tokens. Nothing is expanded. In a span of equal vectors $\lVert s - a - u(b - a) \rVert^2$ is a square in $u$, so the sum over
the span needs three prefix sums, of $1/2v$, $u/2v$ and $u^2/2v$; a document costs its sentences, not its tokens. Window
terms are grouped by the three sentences that a window touches. When sentences are shuffled, the release keeps the
*original* span lengths and hands them the shuffled vectors; so do we.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
        token_counts: (sentences,) tokens of the sentence, for token time.
        rating: class of a rated text, -1 where there is none.
        heads: (sentences, dims) under every head by name, where the reader had several; ``latents`` is the first.
    """

    unit_id: str
    split: str
    latents: np.ndarray
    text_ids: np.ndarray
    token_counts: np.ndarray
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
        own = {name: getattr(self, name)[:sentences] for name in ("latents", "text_ids", "token_counts")}
        return replace(self, **own, heads={head: latents[:sentences] for head, latents in self.heads.items()})

    def under(self, head: str) -> LatentPath:
        """The same document as another head places it; the empty name is the first head.

        Raises:
            BadInput: no such head.
        """
        if not head:
            return self
        if head not in self.heads:
            raise BadInput(f"{self.unit_id}: no head {head!r}; the reader had {sorted(self.heads)}; fix the entry")
        return replace(self, latents=self.heads[head], heads={})


def units_from_readout(readout: Readout) -> list[LatentPath]:
    """Paths of ``data/inference``: ragged ``latents``, ``text_ids`` and ``token_counts``, ``rating`` where there is one."""
    names = ("latents", "text_ids", "token_counts")
    ratings = readout.arrays.get("rating", np.full(len(readout.unit_ids), -1)).tolist()
    heads = readout.arrays.get("head_names", np.zeros(0, dtype=np.str_)).tolist()
    rows = zip(readout.unit_ids, readout.splits, *(readout.ragged(name) for name in names), ratings, strict=True)
    return [
        _path(unit, split, np.asarray(z, np.float64), ids, n, rating, heads) for unit, split, z, ids, n, rating in rows
    ]


def _path(
    unit: str, split: str, latents: np.ndarray, ids: np.ndarray, counts: np.ndarray, rating: int, heads: list[str]
) -> LatentPath:
    """One row of a readout, whose latents are (sentences, heads, dims) where ``heads`` are named."""
    named = {head: np.ascontiguousarray(latents[:, place]) for place, head in enumerate(heads)}
    return LatentPath(unit, split, named[heads[0]] if heads else latents, ids, counts, rating, named)


def path(latents: np.ndarray, unit_id: str = "path", split: str = "test") -> LatentPath:
    """A path of bare latents: one token a sentence, equal latents are equal texts."""
    latents = np.asarray(latents, dtype=np.float64)
    ids = (
        np.unique(latents, axis=0, return_inverse=True)[1].reshape(-1) if len(latents) else np.zeros(0, dtype=np.int64)
    )
    return LatentPath(unit_id, split, latents, ids, np.ones(len(latents), dtype=np.int64))


Shares = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Convention:
    """How steps are numbered.

    Attributes:
        score, sigma: $(u_i, v_i)$ of the score and of the estimate of $\\sigma^2$, from 1-based $i$ and $T$.
        window: $(u, v)$ at the centre of a window of half-width $w$.
        missed: windows left out at the end of a document.
        per_window: whether a window score is divided by its number of windows ($T - 2w$) or by $T - 2$.
    """

    score: Shares
    sigma: Shares
    window: Callable[[int], tuple[float, float]]
    missed: int = 0
    per_window: bool = True


def _canonical(i: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray]:
    return (i - 1) / (T - 1), (i - 1) * (T - i) / (T - 1)


def _printed(i: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray]:
    return (i - 1) / T, (i - 1) * (T - i) / (T - 1)


def _late_middle(w: int) -> tuple[float, float]:
    return (w + 1) / (2 * w + 1), w * (w + 1) / (2 * w + 1)


CONVENTIONS = {
    # The bridge from step 1 to step T; reversing a document changes nothing.
    "canonical": Convention(_canonical, _canonical, lambda w: (0.5, w / 2)),
    # sheng2024, as printed: the mean runs over T, the variance over T - 1.
    "printed": Convention(_printed, _printed, _late_middle),
    # The release: t = i - 1 when sigma is estimated, t = i when scoring; the last window is missed, the divisor is T - 2.
    "released": Convention(
        lambda i, T: (i / T, i * (T - i) / T),
        lambda i, T: ((i - 1) / T, (i - 1) * (T - i + 1) / T),
        _late_middle, missed=1, per_window=False,
    ),
}  # fmt: skip


def convention(name: str) -> Convention:
    """One of ``CONVENTIONS``.

    Raises:
        BadInput: no such name.
    """
    if name not in CONVENTIONS:
        raise BadInput(f"index convention {name!r}; allowed are {sorted(CONVENTIONS)}; fix the entry")
    return CONVENTIONS[name]


class Terms(NamedTuple):
    r"""All that a score needs besides $\sigma^2$.

    Attributes:
        log_alpha: $\overline{\ln \alpha}$, a number (nan where there is no term).
        beta: $\overline\beta$, (orders,).
        share: number of terms over the divisor: 1 but for the released windows.
    """

    log_alpha: float
    beta: np.ndarray
    share: float


def global_terms(latents: np.ndarray, shares: Shares) -> Terms:
    """Terms of whole documents of one length, (orders, steps, dims): orders of the same sentences, or several paths."""
    orders, steps, _ = latents.shape
    if steps < 3:
        return Terms(np.nan, np.full(orders, np.nan), np.nan)
    gaps, v = inner_gaps(latents, shares)
    beta = np.einsum("osd,osd->os", gaps, gaps) @ (0.5 / v)
    return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2), 1.0)


def inner_gaps(latents: np.ndarray, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each inner sentence from the straight line, and its variance."""
    u, v = shares(np.arange(2.0, latents.shape[1]), latents.shape[1])
    first, last = latents[:, :1], latents[:, -1:]
    return latents[:, 1:-1] - first - u[:, None] * (last - first), v


def signed_scores(found: Terms, sigma2: float, dims: int = 2) -> np.ndarray:
    r"""The score without its absolute value, (orders,); the paper's normaliser has ``dims`` 2, the exact one the width."""
    return found.share * (dims / 2 * (found.log_alpha + np.log(sigma2)) + found.beta / sigma2)


def diffusion(latents: np.ndarray, name: str = "canonical") -> float:
    r"""$\hat\sigma^2(s) = \overline\beta$ of one path (sheng2024 section 3.3); nan below three sentences."""
    return float(global_terms(np.asarray(latents, dtype=np.float64)[None], convention(name).sigma).beta[0])


def corpus_diffusion(paths: Sequence[LatentPath], name: str = "canonical") -> float:
    r"""$\sigma_m^2$: the mean of $\hat\sigma^2(s)$ over documents, as released (the print sums; see deviations).

    Raises:
        BadInput: no path has three sentences of finite latents, or none of them ever leaves its bridge.
    """
    each = np.array([diffusion(p.latents, name) for p in paths])
    kept = each[np.isfinite(each)]
    if not len(kept) or kept.mean() <= 0:
        value = "undefined" if not len(kept) else "0"
        raise BadInput(
            f"sigma_m^2 is {value} over {len(paths)} paths ({len(kept)} usable); a usable path has three finite "
            "sentences that are not all alike: check the reader and the split"
        )
    return float(kept.mean())


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
