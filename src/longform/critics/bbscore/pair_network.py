r"""The classifier on top of BBScore's features: a small network, or a line, that ranks an original below its copies.

The released network is 5 -> 1024 -> 512 -> 1 with leaky ReLU and dropout, trained by the pairwise hinge
$\max(0, 5 + g(\text{original}) - g(\text{copy}))$: lower is coherent. Here documents, not pairs, are split into
training and validation, since pairs of one document share their original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from longform.critics.bbscore.score import FITTED
from longform.documents import BadInput

SLOPE = 0.01  # leaky ReLU, BBScore release
Layers = tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True)
class Pairs:
    """Features of originals and of their copies, one pair a row.

    Attributes:
        original, copy: (pairs, features), nan where a window did not fit.
        document: (pairs,) which document a pair is of.
    """

    original: np.ndarray
    copy: np.ndarray
    document: np.ndarray

    def take(self, rows: np.ndarray) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.original[rows], self.copy[rows], self.document[rows])


@dataclass(frozen=True)
class Scaling:
    """Features to zero mean and unit variance; a missing one becomes the training mean, never zero score."""

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray) -> Scaling:
        """From training features; a feature that is never there keeps mean 0 and spread 1."""
        there = np.isfinite(features)
        count = np.maximum(there.sum(0), 1)
        mean = np.where(there, features, 0.0).sum(0) / count
        spread = np.sqrt(np.where(there, (features - mean) ** 2, 0.0).sum(0) / count)
        return cls(mean, np.where(spread > 0, spread, 1.0))

    def __call__(self, features: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(features), (features - self.mean) / self.spread, 0.0)


@dataclass(frozen=True)
class LinearRanker:
    """A line through the origin of feature differences: logistic regression on copy minus original."""

    weights: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    scaling: Scaling | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, pairs: Pairs, rng: np.random.Generator) -> LinearRanker:
        """Maximum likelihood with scikit-learn's default L2 penalty; each pair once in either direction."""
        from sklearn.linear_model import LogisticRegression  # a second to import, needed here only

        scaling = Scaling.of(np.concatenate([pairs.original, pairs.copy]))
        gaps = scaling(pairs.copy) - scaling(pairs.original)
        line = LogisticRegression(fit_intercept=False).fit(np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)))
        return replace(self, weights=line.coef_[0], scaling=scaling)

    def judge(self, features: np.ndarray) -> np.ndarray:
        """g of each row; lower is coherent."""
        if self.weights is None or self.scaling is None:
            raise BadInput("linear ranker is not fitted; call fit(pairs, rng) and use what it returns")
        return self.scaling(features) @ self.weights


@dataclass(frozen=True)
class NetworkRanker:
    """Three layers and a pairwise hinge (BBScore release).

    Attributes:
        hidden: widths; the release has (1024, 512), the default is small enough for a laptop.
        margin, dropout, batch: the release's.
        rate, epochs, patience: Adam's rate, passes at most, and passes without a better validation loss.
    """

    hidden: tuple[int, int] = (64, 32)
    margin: float = 5.0
    dropout: float = 0.2
    batch: int = 128
    rate: float = 1e-3
    epochs: int = 30
    patience: int = 5
    layers: Layers = field(default=(), repr=False, metadata=FITTED)
    scaling: Scaling | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, pairs: Pairs, rng: np.random.Generator) -> NetworkRanker:
        """Adam until the loss on held-out *documents* (a tenth) no longer falls; the best pass is kept.

        Raises:
            BadInput: fewer than two documents.
        """
        documents = rng.permutation(np.unique(pairs.document))
        if len(documents) < 2:
            raise BadInput(
                f"network ranker: got {len(documents)} documents with pairs, at least 2 are needed; add documents"
            )
        held = np.isin(pairs.document, documents[: max(1, len(documents) // 10)])
        scaling = Scaling.of(np.concatenate([pairs.original[~held], pairs.copy[~held]]))
        scaled = Pairs(scaling(pairs.original), scaling(pairs.copy), pairs.document)
        layers = self._descend(scaled.take(np.flatnonzero(~held)), scaled.take(np.flatnonzero(held)), rng)
        return replace(self, layers=layers, scaling=scaling)

    def _descend(self, train: Pairs, held: Pairs, rng: np.random.Generator) -> Layers:
        layers = initial_layers((train.original.shape[1], *self.hidden, 1), rng)
        state, best, since = Adam(self.rate), (np.inf, layers), 0
        for _ in range(self.epochs):
            order = rng.permutation(len(train.original))
            for start in range(0, len(order), self.batch):
                rows = order[start : start + self.batch]
                masks = [(rng.random((2 * len(rows), h)) >= self.dropout) / (1 - self.dropout) for h in self.hidden]
                _, slopes = hinge(layers, train.original[rows], train.copy[rows], self.margin, masks)
                layers = state.step(layers, slopes)
            loss = hinge(layers, held.original, held.copy, self.margin, [1.0, 1.0])[0]
            best, since = ((loss, layers), 0) if loss < best[0] else (best, since + 1)
            if since >= self.patience:
                break
        return best[1]

    def judge(self, features: np.ndarray) -> np.ndarray:
        """g of each row; lower is coherent."""
        if self.scaling is None:
            raise BadInput("network ranker is not fitted; call fit(pairs, rng) and use what it returns")
        return forward(self.layers, self.scaling(features), [1.0, 1.0])[-1][:, 0]


def initial_layers(widths: Sequence[int], rng: np.random.Generator) -> Layers:
    """Glorot-uniform weights, zero biases."""
    limits = [np.sqrt(6 / (a + b)) for a, b in pairwise(widths)]
    shapes = zip(widths[:-1], widths[1:], limits, strict=True)
    return tuple((rng.uniform(-limit, limit, (a, b)), np.zeros(b)) for a, b, limit in shapes)


def forward(layers: Layers, inputs: np.ndarray, masks: Sequence[np.ndarray | float]) -> list[np.ndarray]:
    """Inputs, hidden values after leaky ReLU and dropout, and the output, (rows, 1)."""
    values = [inputs]
    for (weights, bias), mask in zip(layers[:-1], masks, strict=True):
        raw = values[-1] @ weights + bias
        values.append(np.where(raw > 0, raw, SLOPE * raw) * mask)
    return [*values, values[-1] @ layers[-1][0] + layers[-1][1]]


def hinge(
    layers: Layers, original: np.ndarray, copy: np.ndarray, margin: float, masks: Sequence[np.ndarray | float]
) -> tuple[float, Layers]:
    """Mean hinge over pairs, and its slopes with respect to every weight and bias."""
    values = forward(layers, np.concatenate([original, copy]), masks)
    count = len(original)
    gaps = margin + values[-1][:count, 0] - values[-1][count:, 0]
    active = (gaps > 0) / count
    slope = np.concatenate([active, -active])[:, None]
    slopes = []
    for depth in reversed(range(len(layers))):
        slopes.append((values[depth].T @ slope, slope.sum(0)))
        if depth:
            slope = (slope @ layers[depth][0].T) * np.where(values[depth] > 0, 1.0, SLOPE) * masks[depth - 1]
    return float(np.maximum(gaps, 0).mean()), tuple(reversed(slopes))


class Adam:
    """Kingma and Ba (2015), algorithm 1, with its defaults."""

    def __init__(self, rate: float, decay: tuple[float, float] = (0.9, 0.999), floor: float = 1e-8) -> None:
        self.rate, self.decay, self.floor, self.count = rate, decay, floor, 0
        self.moments: list[list[np.ndarray]] = []

    def step(self, layers: Layers, slopes: Layers) -> Layers:
        """New layers after one update."""
        flat, pull = [a for layer in layers for a in layer], [a for layer in slopes for a in layer]
        if not self.moments:
            self.moments = [[np.zeros_like(a), np.zeros_like(a)] for a in flat]
        self.count += 1
        moved = [self._moved(*row) for row in zip(flat, pull, self.moments, strict=True)]
        return tuple(zip(moved[::2], moved[1::2], strict=True))

    def _moved(self, value: np.ndarray, slope: np.ndarray, moment: list[np.ndarray]) -> np.ndarray:
        (one, two), (mean, square) = self.decay, moment
        mean += (1 - one) * (slope - mean)
        square += (1 - two) * (slope**2 - square)
        scale = np.sqrt(square / (1 - two**self.count)) + self.floor
        return value - self.rate * mean / (1 - one**self.count) / scale


RANKERS = {"linear": LinearRanker, "three_layer": NetworkRanker}


def ranker(name: str) -> LinearRanker | NetworkRanker:
    """An unfitted ranker by name.

    Raises:
        BadInput: no such ranker.
    """
    if name not in RANKERS:
        raise BadInput(f"classifier {name!r}; allowed are {sorted(RANKERS)} or null for the raw score; mend the row")
    return RANKERS[name]()
