"""The equations of BBScore, its five features, and a classifier over them that ranks an original below its permutations.

How well sentence latents fit a Brownian bridge from the first sentence to the last (sheng2024 section 3). The ranker learns from
pairs: a line on differences, or the released network with leaky ReLU, dropout and a pairwise hinge (section 4.4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from longform.core.critic import FITTED, Better
from longform.core.documents import BadInput, Readout
from longform.core.resampling import derived_seed, generator

SLOPE = 0.01  # of the leaky ReLU of networks over features, BBScore release
Layers = tuple[tuple[np.ndarray, np.ndarray], ...]  # weights and biases
WINDOWS = (0, 1, 2, 4, 8)  # sheng2024 appendix D: the global score and four window sizes, the five features


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

    def first(self, sentences: int) -> "LatentPath":
        """The document cut after its first so many sentences."""
        own = {name: getattr(self, name)[:sentences] for name in ("latents", "text_ids")}
        return replace(self, **own, heads={head: latents[:sentences] for head, latents in self.heads.items()})

    def under(self, head: str) -> "LatentPath":
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
    found = []
    for (unit, split, z, ids), rating in zip(readout.rows("latents", "text_ids"), ratings, strict=True):
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


@dataclass(frozen=True)
class BridgeFeatures:
    r"""Global score and window scores, encode once and permute.

    Attributes:
        windows: 0 is the global score.
        sigma2: fitted $\sigma_m^2$.
        signed: fitted; most real documents' sums are negative, so that the printed absolute value would turn the order round.
    """

    windows: tuple[int, ...] = WINDOWS
    sigma2: float | None = field(default=None, repr=False, metadata=FITTED)
    signed: bool = field(default=False, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[LatentPath]) -> "BridgeFeatures":
        r"""Estimate $\sigma_m^2$ on the paths as they are, and see whether most of their sums are negative."""
        fitted = replace(self, sigma2=corpus_diffusion(real))
        sums = np.array([fitted.sums(unit, identity(unit))[0, 0] for unit in real])
        return replace(fitted, signed=bool(np.mean(sums[np.isfinite(sums)] < 0) > 0.5))

    def sums(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Features before their absolute value, (orders, windows); nan where the document is too short for a window."""
        if self.sigma2 is None:
            raise BadInput("bridge features have no sigma2 yet; call fit(real paths) and use what it returns")
        seen = OrderedGram(unit.latents, orders)
        return np.stack([signed_scores(seen.terms(window), self.sigma2) for window in self.windows], axis=1)

    def values(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Features, (orders, windows): absolute as printed, signed where that would turn the order round."""
        sums = self.sums(unit, orders)
        return sums if self.signed else np.abs(sums)


def identity(unit: LatentPath) -> np.ndarray:
    """The original order, (1, sentences)."""
    return np.arange(len(unit.latents))[None]


CLASSIFIERS = ("linear", "three_layer")
HIDDEN = (64, 32)  # ours; the release has (1024, 512)
MARGIN, DROPOUT, BATCH = 5.0, 0.2, 128  # BBScore release
RATE, EPOCHS, PATIENCE = 1e-3, 30, 5  # ours: of Adam, passes at most, passes without a better validation loss


@dataclass(frozen=True)
class BridgeRanker:
    """A pair learner over the global score and four window scores; a lower value is more coherent.

    Attributes:
        classifier: "three_layer" (paper) or "linear".
        features: fitted on real paths.
        mean, spread: fitted; of each feature over training texts. A feature that is not there takes the mean, never zero.
        layers: fitted; weights and biases, one pair for a line, three for the network.
    """

    better: ClassVar[Better] = "lower"
    classifier: str = "three_layer"
    features: BridgeFeatures | None = field(default=None, repr=False, metadata=FITTED)
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)
    spread: np.ndarray = field(default_factory=lambda: np.ones(0), repr=False, metadata=FITTED)
    layers: Layers = field(default=(), repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.classifier not in CLASSIFIERS:
            raise BadInput(f"classifier {self.classifier!r}; allowed are {list(CLASSIFIERS)}; fix the entry")

    def fit(self, real: Sequence[LatentPath]) -> "BridgeRanker":
        r"""Estimate $\sigma_m^2$ on real paths; what ranks is learnt by :meth:`fit_pairs`."""
        return replace(self, features=BridgeFeatures().fit(real))

    def order_features(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The five features of each order, (orders, 5), nan where a window does not fit; no rows where the path is unusable."""
        if self.features is None:
            raise BadInput("bridge ranker has no sigma2 yet; call fit(real paths) and use what it returns")
        return self.features.values(unit, orders) if unit.usable else np.zeros((0, len(WINDOWS)))

    def fit_pairs(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> "BridgeRanker":
        """Learn from (original, copies) features, one pair of arrays per document."""
        kept = [(better, worse) for better, worse in pairs if len(better) and len(worse)]
        if not kept:
            raise BadInput(f"bridge ranker: 0 of {len(pairs)} documents give a pair; add documents of three sentences")
        repeated = [np.repeat(better, len(worse) // len(better), axis=0) for better, worse in kept]
        document = np.repeat(np.arange(len(kept)), [len(worse) for _, worse in kept])
        original, copies = np.concatenate(repeated), np.concatenate([worse for _, worse in kept])
        if self.classifier == "linear":
            return self._scaled(original, copies)._line(original, copies)
        held = held_out(document)
        fitted = self._scaled(original[~held], copies[~held])
        sides = fitted._standard(original), fitted._standard(copies)
        return replace(fitted, layers=train_network(*(s[~held] for s in sides), *(s[held] for s in sides)))

    def _scaled(self, original: np.ndarray, copies: np.ndarray) -> "BridgeRanker":
        features = np.concatenate([original, copies])
        there = np.isfinite(features)
        count = np.maximum(there.sum(0), 1)
        mean = np.where(there, features, 0.0).sum(0) / count
        spread = np.sqrt(np.where(there, (features - mean) ** 2, 0.0).sum(0) / count)
        return replace(self, mean=mean, spread=np.where(spread > 0, spread, 1.0))

    def _standard(self, features: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(features), (features - self.mean) / self.spread, 0.0)

    def _line(self, original: np.ndarray, copies: np.ndarray) -> "BridgeRanker":
        from sklearn.linear_model import LogisticRegression  # a second to import, needed here only

        gaps = self._standard(copies) - self._standard(original)
        line = LogisticRegression(fit_intercept=False).fit(np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)))
        return replace(self, layers=((line.coef_.T, np.zeros(1)),))

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """g of each order, (orders,); nan where the path is unusable."""
        if not self.layers:
            raise BadInput("bridge ranker has learnt from no pairs yet; call fit_pairs(pairs) and use what it returns")
        values = self._standard(self.order_features(unit, orders))
        for weights, bias in self.layers[:-1]:
            raw = values @ weights + bias
            values = np.where(raw > 0, raw, SLOPE * raw)
        weights, bias = self.layers[-1]
        return (values @ weights + bias)[:, 0] if len(values) else np.full(len(orders), np.nan)

    def coherence(self, units: Sequence[LatentPath]) -> np.ndarray:
        """g of each text as it stands, (units,)."""
        return np.array([self.order_scores(unit, identity(unit))[0] for unit in units], dtype=np.float64)


def held_out(document: np.ndarray) -> np.ndarray:
    """Which pairs are for validation: those of a tenth of the documents, since pairs of one document share their original."""
    documents = generator("bridge ranker", len(document)).permutation(np.unique(document))
    if len(documents) < 2:
        raise BadInput(f"network ranker: {len(documents)} documents with pairs, at least 2 are needed; add documents")
    return np.isin(document, documents[: max(1, len(documents) // 10)])


def train_network(
    original: np.ndarray, copies: np.ndarray, held_original: np.ndarray, held_copies: np.ndarray
) -> Layers:
    """Adam until the hinge on held-out documents no longer falls; the weights of the best pass.

    Args:
        original, copies: (pairs, features), scaled; ``held_...`` likewise, for validation.
    """
    import torch  # here alone: scoring needs none
    from torch import nn

    def hinge(original: torch.Tensor, copies: torch.Tensor) -> torch.Tensor:
        scores = network(torch.cat([original, copies]))
        return nn.functional.relu(MARGIN + scores[: len(original)] - scores[len(original) :]).mean()

    def layers() -> Layers:
        return tuple((m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in maps)

    sides = [torch.from_numpy(side) for side in (original, copies, held_original, held_copies)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed("bridge ranker", *original.shape))
        widths, parts = (original.shape[1], *HIDDEN), []
        for a, b in pairwise(widths):
            parts += [nn.Linear(a, b), nn.LeakyReLU(SLOPE), nn.Dropout(DROPOUT)]
        network = nn.Sequential(*parts, nn.Linear(widths[-1], 1))
        maps = [part for part in network if isinstance(part, nn.Linear)]
        for part in maps:
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)
        network.double()
        optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
        best, kept, since = np.inf, layers(), 0
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(original)).split(BATCH):
                optimiser.zero_grad()
                network.train()
                hinge(sides[0][rows], sides[1][rows]).backward()
                optimiser.step()
            network.eval()
            with torch.no_grad():
                loss = float(hinge(sides[2], sides[3]))
            best, kept, since = (loss, layers(), 0) if loss < best else (best, kept, since + 1)
            if since >= PATIENCE:
                break
    return kept
