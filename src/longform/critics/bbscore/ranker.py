r"""A classifier over BBScore's five features that ranks an original below its permutations (sheng2024 section 4.4).

It learns from pairs: a line on their differences, or the released network, 5 -> 1024 -> 512 -> 1 with leaky ReLU and dropout
under the pairwise hinge $\max(0, 5 + g(\text{original}) - g(\text{copy}))$.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from longform.core.critic import Better
from longform.core.documents import BadInput
from longform.core.resampling import derived_seed, generator
from longform.critics.bbscore.bridge import FITTED, SLOPE, WINDOWS, LatentPath, Layers
from longform.critics.bbscore.score import BridgeFeatures, identity

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

    def fit(self, real: Sequence[LatentPath]) -> BridgeRanker:
        r"""Estimate $\sigma_m^2$ on real paths; what ranks is learnt by :meth:`fit_pairs`."""
        return replace(self, features=BridgeFeatures().fit(real))

    def order_features(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The five features of each order, (orders, 5), nan where a window does not fit; no rows where the path is unusable."""
        if self.features is None:
            raise BadInput("bridge ranker has no sigma2 yet; call fit(real paths) and use what it returns")
        return self.features.values(unit, orders) if unit.usable else np.zeros((0, len(WINDOWS)))

    def fit_pairs(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> BridgeRanker:
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

    def _scaled(self, original: np.ndarray, copies: np.ndarray) -> BridgeRanker:
        features = np.concatenate([original, copies])
        there = np.isfinite(features)
        count = np.maximum(there.sum(0), 1)
        mean = np.where(there, features, 0.0).sum(0) / count
        spread = np.sqrt(np.where(there, (features - mean) ** 2, 0.0).sum(0) / count)
        return replace(self, mean=mean, spread=np.where(spread > 0, spread, 1.0))

    def _standard(self, features: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(features), (features - self.mean) / self.spread, 0.0)

    def _line(self, original: np.ndarray, copies: np.ndarray) -> BridgeRanker:
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
