"""The equations of BBScore, its five features, and a classifier over them that ranks an original below its permutations.

How well sentence latents fit a Brownian bridge from the first sentence to the last (sheng2024 section 3). The ranker learns from
pairs: a line on differences, or the released network with leaky ReLU, dropout and a pairwise hinge (section 4.4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np

from longform.documents import Predictions
from longform.errors import BadInput
from longform.statistics.protocols import Better
from longform.statistics.random_streams import derived_seed, generator
from longform.statistics.signatures import FITTED

SLOPE = 0.01  # of the leaky ReLU of networks over features, BBScore release
Layers = tuple[tuple[np.ndarray, np.ndarray], ...]  # weights and biases
WINDOWS = (
    0,
    1,
    2,
    4,
    8,
)  # sheng2024 appendix D: the global score and four window sizes, the five features


@dataclass(frozen=True)
class LatentPath:
    """The latents of one document's sentences.

    Attributes:
        heads: (sentences, dims) under every head by name, where the reader had several; ``latents`` is the first.
    """

    unit_id: str
    split: str
    latents: np.ndarray  # (sentences, dims)
    text_ids: np.ndarray  # (sentences,) equal where two sentences are the same text
    rating: int = -1  # class of a rated text, -1 where there is none
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
        heads = {head: latents[:sentences] for head, latents in self.heads.items()}
        return replace(
            self, latents=self.latents[:sentences], text_ids=self.text_ids[:sentences], heads=heads
        )

    def under(self, head: str) -> "LatentPath":
        """The same document as another head places it."""
        if head not in self.heads:
            raise BadInput(
                f"{self.unit_id}: no head {head!r}; the reader had {sorted(self.heads)}; fix the entry"
            )
        return replace(self, latents=self.heads[head], heads={})


def units_from_predictions(predictions: Predictions) -> list[LatentPath]:
    """Paths: ragged ``latents``, (sentences, heads, dims) where heads are named, ``text_ids``; ``rating`` where there is one."""
    ratings = predictions.arrays.get("rating", np.full(len(predictions.unit_ids), -1)).tolist()
    heads = predictions.arrays.get("head_names", np.zeros(0, dtype=np.str_)).tolist()
    found = []
    for (unit, split, z, ids), rating in zip(
        predictions.rows("latents", "text_ids"), ratings, strict=True
    ):
        latents = np.asarray(z, np.float64)
        named = {head: np.ascontiguousarray(latents[:, place]) for place, head in enumerate(heads)}
        found.append(
            LatentPath(unit, split, named[heads[0]] if heads else latents, ids, rating, named)
        )
    return found


def path(latents: np.ndarray, unit_id: str = "path", split: str = "test") -> LatentPath:
    """A path of bare latents: equal latents are equal texts."""
    latents = np.asarray(latents, dtype=np.float64)
    ids = (
        np.unique(latents, axis=0, return_inverse=True)[1].reshape(-1)
        if len(latents)
        else np.zeros(0, np.int64)
    )
    return LatentPath(unit_id, split, latents, ids)


def identity(unit: LatentPath) -> np.ndarray:
    """The original order, (1, sentences)."""
    return np.arange(len(unit.latents))[None]


def shares(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """$(u_i, v_i)$ of the inner sentences."""
    i = np.arange(2.0, steps)
    return (i - 1) / (steps - 1), (i - 1) * (steps - i) / (steps - 1)


def inner_gaps(latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each inner sentence of (paths, sentences, dims) from the straight line, and its variance."""
    u, v = shares(latents.shape[1])
    first, last = latents[:, :1], latents[:, -1:]
    return latents[:, 1:-1] - first - u[:, None] * (last - first), v


def diffusion(latents: np.ndarray) -> float:
    r"""$\hat\sigma^2(s)$ of one path (sheng2024 section 3.3), the mean of $\lVert \cdot \rVert^2 / 2 v_i$; nan below three sentences."""
    if len(latents) < 3:
        return np.nan
    gaps, v = inner_gaps(np.asarray(latents, dtype=np.float64)[None])
    beta = np.einsum("osd,osd->os", gaps, gaps) @ (0.5 / v)
    return float(beta[0] / (len(latents) - 2))


class Terms(NamedTuple):
    r"""All that a score needs besides $\sigma^2$: means of $\ln 2 \pi v_i$ and of $\lVert \cdot \rVert^2 / 2 v_i$; nan where there is no term."""

    log_alpha: float
    beta: np.ndarray  # (orders,)

    def sums(self, sigma2: float) -> np.ndarray:
        """The score without its absolute value, (orders,)."""
        return self.log_alpha + np.log(sigma2) + self.beta / sigma2


def order_terms(
    latents: np.ndarray, orders: np.ndarray, windows: Sequence[int] = WINDOWS
) -> list[Terms]:
    """Terms of each feature of a path in many orders (orders, sentences); a distance to the bridge is six inner products.

    An order costs eight gathers of $T$ numbers for all five features, whatever the width of the latents; these are centred
    first, so that little cancels. Window 0 is the global score, another the half-width of a window (appendix D).
    """
    centred = latents - latents.mean(axis=0) if len(latents) else latents
    gram = centred @ centred.T
    norms, steps = np.diagonal(gram)[orders], orders.shape[1]

    def products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return gram.ravel().take(one * len(gram) + other)

    @cache
    def apart(lag: int) -> np.ndarray:
        """Products of places so far apart, (orders, sentences - lag); windows share them."""
        return products(orders[:, :-lag], orders[:, lag:])

    def whole() -> Terms:
        u, v = shares(steps)
        weight, inner = 0.5 / v, orders[:, 1:-1]
        first, last = orders[:, :1], orders[:, -1:]
        beta = norms[:, 1:-1] @ weight
        beta -= 2 * (
            products(inner, first) @ (weight * (1 - u)) + products(inner, last) @ (weight * u)
        )
        beta += norms[:, 0] * (weight @ (1 - u) ** 2) + norms[:, -1] * (weight @ u**2)
        beta += products(first, last)[:, 0] * (2 * weight @ (u * (1 - u)))
        return Terms(float(np.log(2 * np.pi * v).mean()), beta / (steps - 2))

    def windowed(w: int) -> Terms:
        u, v, count = 0.5, w / 2, steps - 2 * w
        left, middle, right = (norms[:, k * w : k * w + count].sum(axis=1) for k in (0, 1, 2))
        near, wide = apart(w), apart(2 * w)[:, :count].sum(axis=1)
        beta = middle + (1 - u) ** 2 * left + u**2 * right + 2 * u * (1 - u) * wide
        beta -= 2 * ((1 - u) * near[:, :count].sum(axis=1) + u * near[:, w : w + count].sum(axis=1))
        return Terms(float(np.log(2 * np.pi * v)), beta / (2 * v) / count)

    short = Terms(np.nan, np.full(len(orders), np.nan))
    return [short if steps <= 2 * max(w, 1) else windowed(w) if w else whole() for w in windows]


@dataclass(frozen=True)
class BridgeFeatures:
    """Global score and window scores, encode once and permute."""

    windows: ClassVar[tuple[int, ...]] = WINDOWS
    sigma2: float | None = field(default=None, repr=False, metadata=FITTED)
    # most real documents' sums are negative: taken as they are, as absolute values would turn the order round
    signed: bool = field(default=False, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.sigma2 is not None and not (np.isfinite(self.sigma2) and self.sigma2 > 0):
            raise BadInput(
                f"sigma2 is {self.sigma2}; allowed is a finite variance above 0; fit it on real paths"
            )

    def fit(self, real: Sequence[LatentPath]) -> Self:
        r"""$\sigma_m^2$, the mean of $\hat\sigma^2(s)$ over paths as they are (as released; the print sums, see deviations)."""
        each = np.array([diffusion(unit.latents) for unit in real])
        kept = each[np.isfinite(each)]
        if not len(kept) or kept.mean() <= 0:
            value = "undefined" if not len(kept) else "0"
            raise BadInput(
                f"sigma_m^2 is {value} over {len(real)} paths ({len(kept)} usable); a usable path has three finite "
                "sentences that are not all alike: check the reader and the split"
            )
        fitted = replace(self, sigma2=float(kept.mean()))
        sums = np.array([fitted.sums(unit, identity(unit))[0, 0] for unit in real])
        return replace(fitted, signed=bool(np.mean(sums[np.isfinite(sums)] < 0) > 0.5))

    def sums(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Features before their absolute value, (orders, windows); nan where the document is too short for a window."""
        if self.sigma2 is None:
            raise BadInput(
                "bridge features have no sigma2 yet; call fit(real paths) and use what it returns"
            )
        return np.stack(
            [one.sums(self.sigma2) for one in order_terms(unit.latents, orders, self.windows)],
            axis=1,
        )

    def values(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Features, (orders, windows): absolute as printed, signed where that would turn the order round."""
        sums = self.sums(unit, orders)
        return sums if self.signed else np.abs(sums)


CLASSIFIERS = ("linear", "three_layer")
HIDDEN = (64, 32)  # ours; the release has (1024, 512)
MARGIN, DROPOUT, BATCH = 5.0, 0.2, 128  # BBScore release
RATE, EPOCHS, PATIENCE = (
    1e-3,
    30,
    5,
)  # ours: of Adam, passes at most, passes without a better validation loss


@dataclass(frozen=True)
class BridgeRanker:
    """A pair learner over the global score and four window scores; a lower value is more coherent.

    A feature that is not there takes its mean over training texts, never zero; a line has one layer, the network three.
    """

    better: ClassVar[Better] = "lower"
    classifier: str = "three_layer"  # the paper's
    features: BridgeFeatures = field(default=BridgeFeatures(), repr=False, metadata=FITTED)
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)
    spread: np.ndarray = field(default_factory=lambda: np.ones(0), repr=False, metadata=FITTED)
    layers: Layers = field(default=(), repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.classifier not in CLASSIFIERS:
            raise BadInput(
                f"classifier {self.classifier!r}; allowed are {list(CLASSIFIERS)}; fix the entry"
            )

    def fit(self, real: Sequence[LatentPath]) -> "BridgeRanker":
        r"""Estimate $\sigma_m^2$ on real paths; what ranks is learnt by :meth:`fit_pairs`."""
        return replace(self, features=BridgeFeatures().fit(real))

    def order_features(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The five features of each order, (orders, 5), nan where a window does not fit; no rows where the path is unusable."""
        return self.features.values(unit, orders) if unit.usable else np.zeros((0, len(WINDOWS)))

    def fit_pairs(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> "BridgeRanker":
        """Learn from (original, copies) features, one pair of arrays per document."""
        kept = [(better, worse) for better, worse in pairs if len(better) and len(worse)]
        if not kept:
            raise BadInput(
                f"bridge ranker: 0 of {len(pairs)} documents give a pair; add documents of three sentences"
            )
        original = np.concatenate(
            [np.repeat(better, len(worse) // len(better), axis=0) for better, worse in kept]
        )
        copies = np.concatenate([worse for _, worse in kept])
        document = np.repeat(np.arange(len(kept)), [len(worse) for _, worse in kept])
        held = (
            np.zeros(len(document), dtype=bool)
            if self.classifier == "linear"
            else held_out(document)
        )
        learnt = np.concatenate([original[~held], copies[~held]])
        there = np.isfinite(learnt)
        count = np.maximum(there.sum(0), 1)
        mean = np.where(there, learnt, 0.0).sum(0) / count
        spread = np.sqrt(np.where(there, (learnt - mean) ** 2, 0.0).sum(0) / count)
        scaled = replace(self, mean=mean, spread=np.where(spread > 0, spread, 1.0))
        sides = scaled._standard(original), scaled._standard(copies)
        if self.classifier != "linear":
            return replace(
                scaled, layers=train_network(*(s[~held] for s in sides), *(s[held] for s in sides))
            )
        from sklearn.linear_model import LogisticRegression  # a second to import, needed here only

        gaps, line = sides[1] - sides[0], LogisticRegression(fit_intercept=False)
        line.fit(np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)))
        return replace(scaled, layers=((line.coef_.T, np.zeros(1)),))

    def _standard(self, features: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(features), (features - self.mean) / self.spread, 0.0)

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """g of each order, (orders,); nan where the path is unusable."""
        if not self.layers:
            raise BadInput(
                "bridge ranker has learnt from no pairs yet; call fit_pairs(pairs) and use what it returns"
            )
        values = self._standard(self.order_features(unit, orders))
        for weights, bias in self.layers[:-1]:
            raw = values @ weights + bias
            values = np.where(raw > 0, raw, SLOPE * raw)
        weights, bias = self.layers[-1]
        return (values @ weights + bias)[:, 0] if len(values) else np.full(len(orders), np.nan)

    def coherence(self, units: Sequence[LatentPath]) -> np.ndarray:
        return np.array(
            [self.order_scores(unit, identity(unit))[0] for unit in units], dtype=np.float64
        )


def held_out(document: np.ndarray) -> np.ndarray:
    """Which pairs are for validation: those of a tenth of the documents, since pairs of one document share their original."""
    documents = generator("bridge ranker", len(document)).permutation(np.unique(document))
    if len(documents) < 2:
        raise BadInput(
            f"network ranker: {len(documents)} documents with pairs, at least 2 are needed; add documents"
        )
    return np.isin(document, documents[: max(1, len(documents) // 10)])


def train_network(
    original: np.ndarray, copies: np.ndarray, held_original: np.ndarray, held_copies: np.ndarray
) -> Layers:
    """Adam on scaled pairs (pairs, features) until the hinge on held-out ones no longer falls; weights of the best pass."""
    import torch  # here alone: scoring needs none
    from torch import nn

    def hinge(original: torch.Tensor, copies: torch.Tensor) -> torch.Tensor:
        scores = network(torch.cat([original, copies]))
        return nn.functional.relu(MARGIN + scores[: len(original)] - scores[len(original) :]).mean()

    def layers() -> Layers:
        return tuple(
            (m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in maps
        )

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
