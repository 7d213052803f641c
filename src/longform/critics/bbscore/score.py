r"""BBScore: how well a document's sentence latents fit a Brownian bridge from its first sentence to its last.

With $T$ steps, mean share $u_i$, variance factor $v_i$, $\alpha_i = 2 \pi v_i$ and
$\beta_i = \lVert s_i - s_1 - u_i (s_T - s_1) \rVert^2 / (2 v_i)$ (sheng2024 equations 1-3)

$$B(s \mid \sigma^2) = \Big| \sum_{i=2}^{T-1} \ln(\alpha_i \sigma^2) + \beta_i / \sigma^2 \Big| / (T - 2)$$

so a score is two numbers, $\overline{\ln \alpha}$ and $\overline\beta$, and $\sigma^2$: lower is more coherent. The printed
normaliser is that of two dimensions whatever the latents' width; $\sigma^2$ is a variance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from longform.critic import Better, Tally
from longform.documents import BadInput, Readout

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

    def under(self, head: str) -> LatentPath:
        """The same document as another head places it; the empty name is the first head.

        Raises:
            BadInput: no such head.
        """
        if not head:
            return self
        if head not in self.heads:
            raise BadInput(f"{self.unit_id}: no head {head!r}; the reader had {sorted(self.heads)}; mend the row")
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


def _released_sigma(i: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray]:
    return (i - 1) / T, (i - 1) * (T - i + 1) / T


def _released_score(i: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray]:
    return i / T, i * (T - i) / T


def _middle(w: int) -> tuple[float, float]:
    return 0.5, w / 2


def _late_middle(w: int) -> tuple[float, float]:
    return (w + 1) / (2 * w + 1), w * (w + 1) / (2 * w + 1)


CONVENTIONS = {
    # The bridge from step 1 to step T; reversing a document changes nothing.
    "canonical": Convention(_canonical, _canonical, _middle),
    # sheng2024, as printed: the mean runs over T, the variance over T - 1.
    "printed": Convention(_printed, _printed, _late_middle),
    # The release: t = i - 1 when sigma is estimated, t = i when scoring; the last window is missed, the divisor is T - 2.
    "released": Convention(_released_score, _released_sigma, _late_middle, missed=1, per_window=False),
}


def convention(name: str) -> Convention:
    """One of ``CONVENTIONS``.

    Raises:
        BadInput: no such name.
    """
    if name not in CONVENTIONS:
        raise BadInput(f"index convention {name!r}; allowed are {sorted(CONVENTIONS)}; mend the row")
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
    gaps, v = _inner_gaps(latents, shares)
    beta = np.einsum("osd,osd->os", gaps, gaps) @ (0.5 / v)
    return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2), 1.0)


def _inner_gaps(latents: np.ndarray, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each inner sentence from the straight line, and its variance."""
    u, v = shares(np.arange(2.0, latents.shape[1]), latents.shape[1])
    first, last = latents[:, :1], latents[:, -1:]
    return latents[:, 1:-1] - first - u[:, None] * (last - first), v


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


@dataclass(frozen=True)
class BridgeCritic:
    r"""Mean BBScore of documents (sheng2024 section 3).

    Attributes:
        window: 0 for the global score, else the half-width $w$.
        index: one of ``CONVENTIONS``.
        absolute: take $|\cdot|$, as printed; it inverts the order where the signed sum is negative, which is counted.
        exact_dims: normalise for the latents' width, and correct $\sigma_m^2$ by 2 / dims.
        sigma2: fitted $\sigma_m^2$.
    """

    better: ClassVar[Better] = "lower"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("score",)
    blame: ClassVar[int] = 1
    window: int = 0
    index: str = "canonical"
    absolute: bool = True
    exact_dims: bool = False
    sigma2: float | None = field(default=None, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        convention(self.index)
        if self.window < 0:
            raise BadInput(f"window is {self.window}; allowed are 0 (global) and positive half-widths")
        if self.sigma2 is not None and not (np.isfinite(self.sigma2) and self.sigma2 > 0):
            raise BadInput(f"sigma2 is {self.sigma2}; allowed is a finite variance above 0; fit it on real paths")

    def fit(self, real: Sequence[LatentPath]) -> BridgeCritic:
        r"""Estimate $\sigma_m^2$ on unshuffled real paths."""
        dims = real[0].latents.shape[-1] if real and self.exact_dims else 2
        return replace(self, sigma2=corpus_diffusion(real, self.index) * 2 / dims)

    def scores(self, latents: np.ndarray) -> np.ndarray:
        """Signed scores of (orders, steps, dims)."""
        if self.sigma2 is None:
            raise BadInput("bridge critic has no sigma2 yet; call fit(real paths) and use what it returns")
        dims = latents.shape[-1] if self.exact_dims else 2
        return signed_scores(terms(latents, self.window, convention(self.index)), self.sigma2, dims)

    def attribute(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        """What each inner sentence adds to the global score, (sentences - 2,); of a windowed score, one part: itself."""
        return [self._parts(unit.latents) if len(unit.latents) > 2 else np.zeros(0) for unit in units]

    def _parts(self, latents: np.ndarray) -> np.ndarray:
        signed = self.scores(latents[None])
        if self.window or not np.isfinite(signed).all():
            return np.nan_to_num(np.abs(signed) if self.absolute else signed)
        gaps, v = _inner_gaps(latents[None], convention(self.index).score)
        dims = latents.shape[-1] if self.exact_dims else 2
        each = dims / 2 * np.log(2 * np.pi * v * self.sigma2) + (gaps[0] ** 2).sum(axis=1) / (2 * v * self.sigma2)
        return (np.sign(signed[0]) if self.absolute else 1.0) * each / len(each)

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """Columns score, documents, negative (signed sums below zero) and excluded (too short, or not finite)."""
        signed = np.array([self.scores(unit.latents[None])[0] for unit in units], dtype=np.float64)
        kept = np.isfinite(signed)
        values = np.abs(signed) if self.absolute else signed
        columns = [np.where(kept, values, 0.0), kept, kept & (signed < 0), ~kept]
        names = ("score", "documents", "negative", "excluded")
        return Tally(tuple(unit.unit_id for unit in units), names, np.stack(columns, axis=1).astype(np.float64))

    def score(self, tally: Tally) -> float:
        """Mean over documents; nan where all were excluded."""
        count = tally.total("documents")
        return tally.total("score") / count if count else float("nan")
