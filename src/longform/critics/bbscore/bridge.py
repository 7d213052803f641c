r"""The equations of BBScore: how well sentence latents fit a Brownian bridge from the first sentence to the last.

With $T$ steps, mean share $u_i$, variance factor $v_i$, $\alpha_i = 2 \pi v_i$ and
$\beta_i = \lVert s_i - s_1 - u_i (s_T - s_1) \rVert^2 / (2 v_i)$ (sheng2024 equations 1-3)

$$B(s \mid \sigma^2) = \Big| \sum_{i=2}^{T-1} \ln(\alpha_i \sigma^2) + \beta_i / \sigma^2 \Big| / (T - 2)$$

so a score is two numbers, $\overline{\ln \alpha}$ and $\overline\beta$, and $\sigma^2$: lower is more coherent. The printed
normaliser is that of two dimensions whatever the latents' width; $\sigma^2$ is a variance.
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
    gaps, v = inner_gaps(latents, shares)
    beta = np.einsum("osd,osd->os", gaps, gaps) @ (0.5 / v)
    return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2), 1.0)


def inner_gaps(latents: np.ndarray, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
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
