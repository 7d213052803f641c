"""A classifier over BBScore's five features that ranks an original below its permutations.

It learns from pairs: a line on differences, or the released network with leaky ReLU, dropout and a
pairwise hinge (sheng2024 section 4.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from longform.critics.bbscore.bridge import WINDOWS, BridgeFeatures, LatentPath, identity
from longform.errors import ConfigError, InputError, counted
from longform.statistics.protocols import Better
from longform.statistics.random_streams import derived_seed, generator
from longform.statistics.signatures import FITTED  # not in signatures

if TYPE_CHECKING:
    import torch

SLOPE = 0.01  # of the leaky ReLU of networks over features, BBScore release
CLASSIFIERS = ("linear", "three_layer")
HIDDEN = (64, 32)  # ours; the release has (1024, 512)
MARGIN, DROPOUT, BATCH = 5.0, 0.2, 128  # BBScore release
# Ours: of Adam, passes at most, passes without a better validation loss.
RATE, EPOCHS, PATIENCE = 1e-3, 30, 5
Layers = tuple[tuple[np.ndarray, np.ndarray], ...]  # weights and biases
Sides = tuple[np.ndarray, np.ndarray]  # features of originals and of copies, (pairs, features)


@dataclass(frozen=True)
class BridgeRanker:
    """A pair learner over the global score and four window scores; a lower value is more coherent.

    A feature that is not there takes its mean over training texts, never zero.

    Attributes:
        classifier: ``linear``, one layer, or the paper's ``three_layer``.
        features: fitted to real paths.
        mean, spread: of each feature over training texts, (features,).
        layers: weights and biases of the classifier.
    """

    better: ClassVar[Better] = "lower"
    classifier: str = "three_layer"
    features: BridgeFeatures = field(default=BridgeFeatures(), repr=False, metadata=FITTED)
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)
    spread: np.ndarray = field(default_factory=lambda: np.ones(0), repr=False, metadata=FITTED)
    layers: Layers = field(default=(), repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.classifier not in CLASSIFIERS:
            raise ConfigError(
                f"classifier {self.classifier!r}; allowed are {list(CLASSIFIERS)}; fix the entry"
            )

    def fit(self, real: Sequence[LatentPath]) -> "BridgeRanker":
        r"""Estimate $\sigma_m^2$ on real paths; what ranks is learnt by :meth:`fit_pairs`."""
        return replace(self, features=BridgeFeatures().fit_units(real))

    def order_features(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The five features of each order.

        Returns:
            (orders, 5), nan where a window does not fit; no rows where the path is unusable.
        """
        if not unit.usable:
            return np.zeros((0, len(WINDOWS)))
        return self.features.values(unit, orders)

    def fit_pairs(self, pairs: Sequence[Sides]) -> "BridgeRanker":
        """Learn from originals and their copies.

        Args:
            pairs: features of a document's original and of its copies, one pair of arrays a
            document.

        Raises InputError: no document gives a pair, or one alone where some must validate.
        """
        # 1. One row a pair: the original's features beside a copy's, with the document's number.
        originals, copies, documents = [], [], []
        for original, worse in pairs:
            if len(original) and len(worse):
                originals.append(np.repeat(original, len(worse) // len(original), axis=0))
                copies.append(worse)
                documents += [len(copies) - 1] * len(worse)
        if not copies:
            raise InputError(
                f"bridge ranker: 0 of {len(pairs)} documents give a pair; "
                "add documents of three sentences"
            )
        sides = np.concatenate(originals), np.concatenate(copies)
        validates = np.zeros(len(documents), dtype=bool)
        if self.classifier != "linear":
            validates = held_out(np.array(documents))
        # 2. Features are scaled by the training pairs' mean and spread.
        scaled = self._scaled_by(np.concatenate([side[~validates] for side in sides]))
        original, worse = (scaled._standard(side) for side in sides)
        # 3. The classifier.
        if self.classifier == "linear":
            return replace(scaled, layers=train_line(worse - original))
        training = original[~validates], worse[~validates]
        validation = original[validates], worse[validates]
        return replace(scaled, layers=train_network(training, validation))

    def _scaled_by(self, features: np.ndarray) -> "BridgeRanker":
        """With mean and spread of each feature where it is there."""
        finite = np.isfinite(features)
        count = np.maximum(finite.sum(0), 1)
        mean = np.where(finite, features, 0.0).sum(0) / count
        spread = np.sqrt(np.where(finite, (features - mean) ** 2, 0.0).sum(0) / count)
        return replace(self, mean=mean, spread=np.where(spread > 0, spread, 1.0))

    def _standard(self, features: np.ndarray) -> np.ndarray:
        """Standardised features, (rows, features); a missing (nan) one is 0, its mean."""
        return np.where(np.isfinite(features), (features - self.mean) / self.spread, 0.0)

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """The classifier's value of each order; a lower one is more coherent.

        Returns:
            (orders,), nan where the path is unusable.

        Raises InputError: it has learnt from no pairs.
        """
        if not self.layers:
            raise InputError(
                "bridge ranker has learnt from no pairs yet; call fit_pairs(pairs) "
                "and use what it returns"
            )
        values = self._standard(self.order_features(unit, orders))
        if not len(values):
            return np.full(len(orders), np.nan)
        for weights, bias in self.layers[:-1]:
            raw = values @ weights + bias
            values = np.where(raw > 0, raw, SLOPE * raw)
        weights, bias = self.layers[-1]
        return (values @ weights + bias)[:, 0]

    def coherence(self, units: Sequence[LatentPath]) -> np.ndarray:
        """The classifier's value of each document in its own order, (units,)."""
        scores = [self.order_scores(unit, identity(unit))[0] for unit in units]
        return np.array(scores, dtype=np.float64)


def held_out(document: np.ndarray) -> np.ndarray:
    """Which pairs validate: those of a tenth of the documents, whose pairs share their original.

    Args:
        document: number of each pair's document, (pairs,).

    Raises InputError: fewer than two documents.
    """
    documents = generator("bridge ranker", len(document)).permutation(np.unique(document))
    if len(documents) < 2:
        raise InputError(
            f"network ranker: {counted(len(documents), 'document')} with pairs, "
            "at least 2 are needed; "
            "add documents"
        )
    return np.isin(document, documents[: max(1, len(documents) // 10)])


def train_line(gaps: np.ndarray) -> Layers:
    """Logistic regression without an intercept on differences of features, each in both signs.

    Args:
        gaps: copy minus original, (pairs, features).
    """
    from sklearn.linear_model import LogisticRegression  # a second to import, needed here only

    line = LogisticRegression(fit_intercept=False)
    line.fit(np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)))
    return ((line.coef_.T, np.zeros(1)),)


def train_network(training: Sides, validation: Sides) -> Layers:
    """Adam on scaled pairs until the hinge on validation pairs no longer falls.

    Returns:
        The weights of the pass with the lowest validation loss.
    """
    import torch  # here alone: scoring needs none

    original, worse = map(torch.from_numpy, training)
    validation_sides = list(map(torch.from_numpy, validation))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed("bridge ranker", *original.shape))
        network = _network(original.shape[1])
        # All weights in one call: the same bits, and less time than one by one.
        optimiser = torch.optim.Adam(network.parameters(), lr=RATE, foreach=True)
        best_loss, best_layers, passes_since = np.inf, _layers(network), 0
        for _ in range(EPOCHS):
            # 1. A pass over the pairs in random order.
            network.train()
            for rows in torch.randperm(len(original)).split(BATCH):
                optimiser.zero_grad()
                _hinge(network, original[rows], worse[rows]).backward()
                optimiser.step()
            # 2. The best pass is kept; enough passes without a better one end the training.
            network.eval()
            with torch.no_grad():
                loss = float(_hinge(network, *validation_sides))
            passes_since += 1
            if loss < best_loss:
                best_loss, best_layers, passes_since = loss, _layers(network), 0
            if passes_since >= PATIENCE:
                break
    return best_layers


def _network(features: int) -> "torch.nn.Sequential":
    """A network from (rows, features) to (rows, 1): linear maps, leaky ReLU and dropout, float64.

    Weights are Xavier-uniform, biases zero.
    """
    from torch import nn

    widths = (features, *HIDDEN)
    parts: list[Any] = []
    for inputs, outputs in pairwise(widths):
        parts += [nn.Linear(inputs, outputs), nn.LeakyReLU(SLOPE), nn.Dropout(DROPOUT)]
    network = nn.Sequential(*parts, nn.Linear(widths[-1], 1))
    for part in network:
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)
    return network.double()


def _hinge(
    network: "torch.nn.Module", original: "torch.Tensor", worse: "torch.Tensor"
) -> "torch.Tensor":
    """Mean of max(0, margin + original's value - copy's value) over pairs, a scalar tensor.

    Row i of ``original`` pairs with row i of ``worse``; the original should get the lower value.
    """
    import torch

    values = network(torch.cat([original, worse]))
    original_values = values[: len(original)]
    copy_values = values[len(original) :]
    return torch.nn.functional.relu(MARGIN + original_values - copy_values).mean()


def _layers(network: "torch.nn.Sequential") -> Layers:
    """Copies of the weights (inputs, outputs) and biases of the linear maps."""
    from torch import nn

    layers = []
    for part in network:
        if isinstance(part, nn.Linear):
            weights = part.weight.detach().numpy().T.copy()
            layers.append((weights, part.bias.detach().numpy().copy()))
    return tuple(layers)
