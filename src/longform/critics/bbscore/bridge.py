"""The equations of BBScore: how well sentence latents fit a Brownian bridge (sheng2024 section 3).

A bridge runs from a document's first sentence to its last. The features of an order of sentences
are the global score and four window scores (appendix D), from one matrix of inner products per
document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from longform.documents import Predictions, Unit
from longform.errors import ConfigError, InputError
from longform.statistics.signatures import FITTED  # not in signatures

WINDOWS = (0, 1, 2, 4, 8)  # sheng2024 appendix D: the global score and four half-widths of windows


@dataclass(frozen=True)
class LatentPath(Unit):
    """The latents of one document's sentences: their places in the encoder's trained space.

    Attributes:
        latents: (sentences, dims).
        text_ids: (sentences,), equal where two sentences are the same text.
        rating: class of a rated text, -1 where there is none.
        heads: (sentences, dims) under every head by name, where the reader had several; ``latents``
            is the first.
    """

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

    def first(self, sentences: int) -> "LatentPath":
        """The path of the document's first ``sentences`` sentences alone."""
        return replace(
            self,
            latents=self.latents[:sentences],
            text_ids=self.text_ids[:sentences],
            heads={head: latents[:sentences] for head, latents in self.heads.items()},
        )

    def under(self, head: str) -> "LatentPath":
        """The same document with the latents of another head. Raises ConfigError: no such head."""
        if head not in self.heads:
            raise ConfigError(
                f"{self.unit_id}: no head {head!r}; the reader had {sorted(self.heads)}; "
                "fix the entry"
            )
        return replace(self, latents=self.heads[head], heads={})


def units_from_predictions(predictions: Predictions) -> list[LatentPath]:
    """The path of each unit of predictions.

    Args:
        predictions: ragged ``latents``, (sentences, dims), or (sentences, heads, dims) where
            ``head_names`` names heads; ragged ``text_ids``, (sentences,), equal where two
            sentences are the same text; ``rating``, a class a unit, where there is one.
    """
    unrated = np.full(len(predictions.unit_ids), -1)
    ratings = predictions.arrays.get("rating", unrated).tolist()
    heads = predictions.arrays.get("head_names", np.zeros(0, dtype=np.str_)).tolist()
    rows = predictions.rows("latents", "text_ids")
    paths = []
    for (unit, split, values, ids), rating in zip(rows, ratings, strict=True):
        latents = np.asarray(values, np.float64)
        # Several heads: each has its own path, and the first one's is the unit's.
        by_head = {}
        for number, head in enumerate(heads):
            by_head[head] = np.ascontiguousarray(latents[:, number])
        if heads:
            latents = by_head[heads[0]]
        paths.append(LatentPath(unit, split, latents, ids, rating, by_head))
    return paths


def path(latents: np.ndarray, unit_id: str = "path", split: str = "test") -> LatentPath:
    """A path of latents (sentences, dims) whose texts are not known.

    Sentences of equal latents count as one text: to swap only them is no shuffle.
    """
    latents = np.asarray(latents, dtype=np.float64)
    ids = np.zeros(0, np.int64)
    if len(latents):
        ids = np.unique(latents, axis=0, return_inverse=True)[1].ravel()
    return LatentPath(unit_id, split, latents, ids)


def identity(unit: LatentPath) -> np.ndarray:
    """The original order of a path's sentences, as the one row of int64 (1, sentences)."""
    return np.arange(len(unit.latents))[None]


def shares(steps: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Place of each inner sentence of T between the ends (0 to 1), and its bridge variance.

    Returns:
        $u_i = (i - 1) / (T - 1)$ and $v_i = (i - 1)(T - i) / (T - 1)$ for $1 < i < T$, (T - 2,)
        each.
    """
    i = np.arange(2.0, steps)
    return (i - 1) / (steps - 1), (i - 1) * (steps - i) / (steps - 1)


def inner_gaps(latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Each inner sentence minus the bridge's mean, a line between the ends; and its variance.

    Args:
        latents: (paths, sentences, dims).

    Returns:
        $s_i - (1 - u_i) s_1 - u_i s_T$, (paths, sentences - 2, dims), and $v_i$,
        (sentences - 2,), of :func:`shares`.
    """
    u, v = shares(latents.shape[1])
    first, last = latents[:, :1], latents[:, -1:]
    return latents[:, 1:-1] - first - u[:, None] * (last - first), v


def diffusion(latents: np.ndarray) -> float:
    r"""$\hat\sigma^2(s)$ of one path: mean of $\lVert \cdot \rVert^2 / 2 v_i$ (section 3.3).

    Returns:
        nan below three sentences.
    """
    if len(latents) < 3:
        return np.nan
    gaps, v = inner_gaps(np.asarray(latents, dtype=np.float64)[None])
    beta = np.einsum("osd,osd->os", gaps, gaps) @ (0.5 / v)
    return float(beta[0] / (len(latents) - 2))


class Terms(NamedTuple):
    r"""All that a score needs besides $\sigma^2$; nan where a window does not fit.

    Attributes:
        log_alpha: mean of $\ln 2 \pi v_i$.
        beta: mean of $\lVert \cdot \rVert^2 / 2 v_i$, (orders,).
    """

    log_alpha: float
    beta: np.ndarray

    def sums(self, sigma2: float) -> np.ndarray:
        r"""The score of each order before the absolute value, nats a sentence, (orders,)."""
        return self.log_alpha + np.log(sigma2) + self.beta / sigma2


class Products:
    """Inner products of a path's sentences, as they follow one another in many orders.

    A distance to the bridge is six of them, so an order costs eight gathers of T numbers for all
    five features, whatever the width of the latents.

    Attributes:
        orders: (orders, sentences).
        norms: squared norm of the sentence at each position, (orders, sentences).
    """

    def __init__(self, latents: np.ndarray, orders: np.ndarray) -> None:
        # Distances do not change by centring, and fewer digits cancel in their products.
        centred = latents - latents.mean(axis=0) if len(latents) else latents
        self._gram = centred @ centred.T
        self._lagged: dict[int, np.ndarray] = {}
        self.orders = orders
        self.norms = np.diagonal(self._gram)[orders]

    def of(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Inner products of sentences by their indices, in the shape that both broadcast to."""
        return self._gram.ravel().take(first * len(self._gram) + second)

    def lagged(self, lag: int) -> np.ndarray:
        """Products of sentences ``lag`` positions apart, (orders, sentences - lag)."""
        if lag not in self._lagged:
            self._lagged[lag] = self.of(self.orders[:, :-lag], self.orders[:, lag:])
        return self._lagged[lag]


def order_terms(
    latents: np.ndarray, orders: np.ndarray, windows: Sequence[int] = WINDOWS
) -> list[Terms]:
    """The terms of a path's scores in many orders: the global score and the window scores.

    Args:
        latents: (sentences, dims).
        orders: indices of the sentences, (orders, sentences).
        windows: 0 is the global score, another the half-width of a window (appendix D).

    Returns:
        The terms of each window, nan where the path is too short for it.
    """
    products = Products(latents, orders)
    terms = []
    for half_width in windows:
        if orders.shape[1] <= 2 * max(half_width, 1):
            terms.append(Terms(np.nan, np.full(len(orders), np.nan)))
        elif half_width:
            terms.append(_window_terms(products, half_width))
        else:
            terms.append(_global_terms(products))
    return terms


def _global_terms(products: Products) -> Terms:
    r"""Terms of the bridge from the first sentence to the last.

    $\lVert s_i - (1 - u_i) s_1 - u_i s_T \rVert^2$ multiplied out, each product weighted and
    summed.
    """
    orders, norms = products.orders, products.norms
    steps = orders.shape[1]
    u, v = shares(steps)
    weight = 0.5 / v  # a sentence's squared distance counts over twice its variance
    first, inner, last = orders[:, :1], orders[:, 1:-1], orders[:, -1:]
    beta = norms[:, 1:-1] @ weight
    inner_first = products.of(inner, first) @ (weight * (1 - u))
    inner_last = products.of(inner, last) @ (weight * u)
    beta -= 2 * (inner_first + inner_last)
    beta += norms[:, 0] * (weight @ (1 - u) ** 2) + norms[:, -1] * (weight @ u**2)
    beta += products.of(first, last)[:, 0] * (2 * weight @ (u * (1 - u)))
    return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2))


def _window_terms(products: Products, half_width: int) -> Terms:
    """Terms of the bridges over each window of two half-widths, at their middles."""
    norms, w = products.norms, half_width
    u, v = 0.5, w / 2
    count = products.orders.shape[1] - 2 * w  # of windows
    # 1. Sums over windows: norms of both ends and the middle, and their products.
    left = norms[:, :count].sum(axis=1)
    middle = norms[:, w : w + count].sum(axis=1)
    right = norms[:, 2 * w : 2 * w + count].sum(axis=1)
    near = products.lagged(w)
    left_middle = near[:, :count].sum(axis=1)
    middle_right = near[:, w : w + count].sum(axis=1)
    left_right = products.lagged(2 * w)[:, :count].sum(axis=1)
    # 2. The squared distance of the middle from the straight line, multiplied out.
    beta = middle + (1 - u) ** 2 * left + u**2 * right + 2 * u * (1 - u) * left_right
    beta -= 2 * ((1 - u) * left_middle + u * middle_right)
    return Terms(float(np.log(2 * np.pi * v)), beta / (2 * v) / count)


@dataclass(frozen=True)
class BridgeFeatures:
    r"""Global score and window scores of orders: encode once and permute.

    Attributes:
        windows: 0 for the global score, else half-widths.
        sigma2: $\sigma_m^2$, the variance of real documents' bridges.
        signed: whether sums are taken as they are. The paper takes absolute values; where most real
            documents' sums are negative, these would turn the order round.
    """

    windows: ClassVar[tuple[int, ...]] = WINDOWS
    sigma2: float | None = field(default=None, repr=False, metadata=FITTED)
    signed: bool = field(default=False, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.sigma2 is not None and not (np.isfinite(self.sigma2) and self.sigma2 > 0):
            raise ConfigError(
                f"sigma2 is {self.sigma2}; allowed is a finite variance above 0; "
                "fit it on real paths"
            )

    def fit_units(self, real: Sequence[LatentPath]) -> Self:
        r"""Estimate $\sigma_m^2$: the mean of $\hat\sigma^2(s)$ over paths as they are.

        This is the release's; the print sums (see deviations).

        Raises InputError: no path has three finite sentences that are not all alike.
        """
        variances = np.array([diffusion(unit.latents) for unit in real])
        finite = variances[np.isfinite(variances)]
        if not len(finite) or finite.mean() <= 0:
            value = "0" if len(finite) else "undefined"
            raise InputError(
                f"sigma_m^2 is {value} over {len(real)} paths ({len(finite)} usable); a usable "
                "path has three finite sentences that are not all alike: check the reader and "
                "the split"
            )
        fitted = replace(self, sigma2=float(finite.mean()))
        sums = np.array([fitted.sums(unit, identity(unit))[0, 0] for unit in real])
        share_negative = np.mean(sums[np.isfinite(sums)] < 0)
        return replace(fitted, signed=bool(share_negative > 0.5))

    def sums(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Features before their absolute value.

        Returns:
            (orders, windows); nan where the document is too short for a window.

        Raises InputError: not fitted.
        """
        if self.sigma2 is None:
            raise InputError(
                "bridge features have no sigma2 yet; call fit(real paths) and use what it returns"
            )
        columns = []
        for terms in order_terms(unit.latents, orders, self.windows):
            columns.append(terms.sums(self.sigma2))
        return np.stack(columns, axis=1)

    def values(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The scores of :meth:`sums`, (orders, windows): absolute as printed, or signed."""
        sums = self.sums(unit, orders)
        return sums if self.signed else np.abs(sums)
