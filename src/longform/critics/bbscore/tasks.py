r"""Telling a document from its shuffles with BBScore (sheng2024 sections 4.1, 4.2 and appendix C): Tables 2, 3; Figures 4, 9.

Latents are computed once; a shuffle is a permutation of them. Pairwise accuracy counts a pair as won where the
original's value is lower by more than rounding; copies whose text is the original's, or an earlier copy's of the same
block or number of windows, are no pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.critics.bbscore.features import BridgeFeatures, identity
from longform.critics.bbscore.joint import JointBridgeCritic, usable
from longform.critics.bbscore.pair_network import LinearRanker, NetworkRanker, Pairs, ranker
from longform.critics.bbscore.score import FITTED, WINDOWS, LatentPath, units_from_readout
from longform.documents import BadInput
from longform.resampling import generator
from longform.text.permutations import SHUFFLES, block_orders, distinct_orders, local_orders

__all__ = [
    "GlobalDiscrimination",
    "JointGlobal",
    "JointLocal",
    "LocalDiscrimination",
    "ShuffleAUC",
    "units_from_readout",
]
TIE = 1e-9  # ours: far above rounding, far below any difference of texts
PAIR_COLUMNS = ("wins", "pairs", "negative", "excluded")


@dataclass(frozen=True)
class _Discrimination:
    """Pairwise accuracy; subclasses say which orders are drawn.

    Attributes:
        index, time: of the features (see :class:`BridgeFeatures`).
        classifier: "linear" or "three_layer" on all five features, or None for the raw global score.
        absolute: take the absolute value of the raw score, as printed.
        copies: shuffles drawn of each document.
        draw: another number gives other shuffles.
    """

    better: ClassVar[Better] = "higher"
    index: str = "canonical"
    time: str = "sentence"
    classifier: str | None = None
    absolute: bool = True
    copies: int = SHUFFLES
    draw: int = 0
    features: BridgeFeatures | None = field(default=None, repr=False, metadata=FITTED)
    judge: LinearRanker | NetworkRanker | None = field(default=None, repr=False, metadata=FITTED)

    def orders(self, unit: LatentPath) -> np.ndarray:
        """Distinct shuffles of a document, (copies left, sentences)."""
        raise BadInput(f"{type(self).__name__} draws no orders; use GlobalDiscrimination or LocalDiscrimination")

    def fit(self, real: Sequence[LatentPath]) -> _Discrimination:
        r"""Estimate $\sigma_m^2$ on real paths; with a classifier, train it on their shuffles."""
        windows = WINDOWS if self.classifier else WINDOWS[:1]
        features = BridgeFeatures(self.index, self.time, windows).fit(real)
        fitted = replace(self, features=features)
        if self.classifier is None:
            return fitted
        rng = generator("bridge classifier", self.draw, self.classifier, len(real))
        return replace(fitted, judge=ranker(self.classifier).fit(fitted.pairs(real), rng))

    def pairs(self, units: Sequence[LatentPath]) -> Pairs:
        """Features of originals and copies of many documents.

        Raises:
            BadInput: no document has a pair.
        """
        found = [self._features(unit) for unit in units]
        kept = [(row, one) for row, one in enumerate(found) if len(one) > 1]
        if not kept:
            raise BadInput(
                f"{type(self).__name__}: 0 of {len(units)} documents have a shuffle that differs; add longer ones"
            )
        counts = [len(one) - 1 for _, one in kept]
        original = np.repeat([one[0] for _, one in kept], counts, axis=0)
        copies = np.concatenate([one[1:] for _, one in kept])
        return Pairs(original, copies, np.repeat([row for row, _ in kept], counts))

    def _features(self, unit: LatentPath) -> np.ndarray:
        """Features of the original (first row) and of its copies; no rows where the path is unusable."""
        if self.features is None:
            raise BadInput(f"{type(self).__name__} is not fitted; call fit(real paths) and use what it returns")
        if not usable(unit):
            return np.zeros((0, len(self.features.windows)))
        found = self.features.signed(unit, np.concatenate([identity(unit), self.orders(unit)]))
        return np.abs(found) if self.absolute else found

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """Columns wins, pairs, negative (texts whose signed global sum is below zero) and excluded (no pair at all)."""
        rows = np.array([self._row(unit) for unit in units], dtype=np.float64).reshape(len(units), 4)
        return Tally(tuple(unit.unit_id for unit in units), PAIR_COLUMNS, rows)

    def _row(self, unit: LatentPath) -> tuple[float, float, float, float]:
        signed = replace(self, absolute=False)._features(unit)
        if len(signed) < 2:
            return 0.0, 0.0, 0.0, 1.0
        found = np.abs(signed) if self.absolute else signed
        values = found[:, 0] if self.judge is None else self.judge.judge(found)
        return wins(values), len(values) - 1.0, float((signed[:, 0] < 0).sum()), 0.0

    def score(self, tally: Tally) -> float:
        """Pairwise accuracy over all pairs; nan without any."""
        pairs = tally.total("pairs")
        return tally.total("wins") / pairs if pairs else float("nan")


@dataclass(frozen=True)
class GlobalDiscrimination(_Discrimination):
    """Block shuffles (section 4.1, Table 2).

    Attributes:
        block: sentences of a block; the paper's are 1, 2, 5, 10.
    """

    block: int = 1

    def orders(self, unit: LatentPath) -> np.ndarray:
        """Distinct block shuffles; none where the document is one block."""
        rng = generator("block shuffle", self.draw, self.block, unit.unit_id)
        return distinct_orders(block_orders(len(unit.latents), self.block, self.copies, rng), unit.text_ids)


@dataclass(frozen=True)
class LocalDiscrimination(_Discrimination):
    """Shuffles inside windows of three sentences (section 4.2, Table 3).

    Attributes:
        windows: numbers of windows; ``(1, 2, 3)`` is the paper's joint set, the union of three.
    """

    windows: tuple[int, ...] = (1, 2, 3)

    def orders(self, unit: LatentPath) -> np.ndarray:
        """Distinct local shuffles of each number of windows; none for documents of at most ten sentences."""
        return np.concatenate([self._orders(unit, count) for count in self.windows])

    def _orders(self, unit: LatentPath, windows: int) -> np.ndarray:
        rng = generator("local shuffle", self.draw, windows, unit.unit_id)
        return distinct_orders(local_orders(len(unit.latents), windows, self.copies, rng), unit.text_ids)


@dataclass(frozen=True)
class JointGlobal(GlobalDiscrimination):
    """Block shuffles judged by the joint bridge density instead of the product of its marginals."""

    joint: JointBridgeCritic | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[LatentPath]) -> JointGlobal:
        """Fit the joint density on real paths."""
        return replace(self, joint=JointBridgeCritic().fit(real))

    def _row(self, unit: LatentPath) -> tuple[float, float, float, float]:
        return joint_row(self.joint, self.orders(unit), unit)


@dataclass(frozen=True)
class JointLocal(LocalDiscrimination):
    """Local shuffles judged by the joint bridge density."""

    joint: JointBridgeCritic | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[LatentPath]) -> JointLocal:
        """Fit the joint density on real paths."""
        return replace(self, joint=JointBridgeCritic().fit(real))

    def _row(self, unit: LatentPath) -> tuple[float, float, float, float]:
        return joint_row(self.joint, self.orders(unit), unit)


def joint_row(
    joint: JointBridgeCritic | None, orders: np.ndarray, unit: LatentPath
) -> tuple[float, float, float, float]:
    """Wins, pairs, negative and excluded of one document under the joint density."""
    if joint is None:
        raise BadInput("joint discrimination is not fitted; call fit(real paths) and use what it returns")
    if not usable(unit) or not len(orders):
        return 0.0, 0.0, 0.0, 1.0
    values = joint.scores(unit.latents[np.concatenate([identity(unit), orders])])
    return wins(values), len(values) - 1.0, 0.0, 0.0


def wins(values: np.ndarray) -> float:
    """Orders with a higher value than the original's, which stands first; an order that differs by rounding alone is a tie.

    A reversed path has the original's value exactly, so without a margin the processor's last bit would decide.
    """
    return float(below(values[0], values[1:]).sum())


def below(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where one value is lower than another by more than rounding."""
    return other - one > TIE * np.maximum(1.0, np.abs(one))


SWEEP = tuple(
    float(s) for s in np.logspace(-4, 4, 65)
)  # of sigma^2 over its estimate; ours, the figure's grid is not stated


@dataclass(frozen=True)
class ShuffleAUC(GlobalDiscrimination):
    r"""Threshold-free separation of originals from one shuffle each (section 4.1, Figure 4) and its $\sigma$ (Figure 9)."""

    copies: int = 1

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        r"""Columns $\overline{\ln\alpha}$, mean beta of original and of shuffle, their share, pairs and excluded."""
        rows = np.array([self._terms(unit) for unit in units], dtype=np.float64).reshape(len(units), 6)
        names = ("log_alpha", "beta_original", "beta_shuffle", "share", "pairs", "excluded")
        return Tally(tuple(unit.unit_id for unit in units), names, rows)

    def _terms(self, unit: LatentPath) -> tuple[float, ...]:
        if self.features is None:
            raise BadInput("shuffle AUC is not fitted; call fit(real paths) and use what it returns")
        orders = self.orders(unit) if usable(unit) else identity(unit)[:0]
        if not len(orders):
            return 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
        found = self.features.terms(unit, np.concatenate([identity(unit), orders[:1]]))[0]
        return found.log_alpha, float(found.beta[0]), float(found.beta[1]), found.share, 1.0, 0.0

    def score(self, tally: Tally) -> float:
        """AUC at the fitted variance."""
        assert self.features is not None and self.features.sigma2 is not None
        return self.auc(tally, self.features.sigma2)

    def auc(self, tally: Tally, sigma2: float) -> float:
        """Chance that a shuffle scores above an original of any document; ties count half."""
        original, shuffled = self.values(tally, sigma2)
        return area(original, shuffled)

    def values(self, tally: Tally, sigma2: float) -> tuple[np.ndarray, np.ndarray]:
        """Scores of originals and of shuffles at a variance: two numbers a text are enough."""
        kept = tally.values[tally.column("pairs") > 0]
        level = kept[:, 0] + np.log(sigma2)
        pair = [kept[:, 3] * (level + kept[:, column] / sigma2) for column in (1, 2)]
        return (np.abs(pair[0]), np.abs(pair[1])) if self.absolute else (pair[0], pair[1])

    def describe(self, units: Sequence[LatentPath]) -> dict[str, Any]:
        r"""ROC curve at the estimate, and AUC and pairwise accuracy over a grid of $\sigma^2$."""
        assert self.features is not None and self.features.sigma2 is not None
        tally, estimate = self.tally(units), self.features.sigma2
        grid = [estimate * factor for factor in SWEEP]
        pairs = [self.values(tally, sigma2) for sigma2 in grid]
        return {
            "sigma2": estimate,
            "roc": roc_points(*self.values(tally, estimate)),
            "sweep": {
                "sigma2": grid,
                "auc": [area(*pair) for pair in pairs],
                "accuracy": [float(below(one, two).mean()) if len(one) else float("nan") for one, two in pairs],
            },
        }


def area(low: np.ndarray, high: np.ndarray) -> float:
    """Share of (low, high) pairs in the right order, ties half: the area under the ROC curve (Mann and Whitney 1947)."""
    if not len(low) or not len(high):
        return float("nan")
    ordered = np.sort(low)
    below = np.searchsorted(ordered, high, side="left") + np.searchsorted(ordered, high, side="right")
    return float(below.sum()) / (2 * len(low) * len(high))


def roc_points(low: np.ndarray, high: np.ndarray, points: int = 101) -> dict[str, list[float]]:
    """False positive and true positive rates where ``high`` is the positive class, at evenly spaced false positive rates."""
    rates = np.linspace(0, 1, points)
    cuts = np.quantile(low, 1 - rates, method="higher") if len(low) else np.zeros(points)
    hits = [float((high > cut).mean()) if len(high) else float("nan") for cut in cuts]
    return {"false_positive": rates.tolist(), "true_positive": [*hits[:-1], 1.0]}
