"""Entity grids: role transitions as a generative model of coherent text, and their frequencies as features of a ranking machine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product

import numpy as np
from sklearn.svm import LinearSVC

from longform.errors import BadInput
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored
from longform.text.entity_grids import ABSENT, ROLES, Grid, grids_from_predictions
from longform.text.permutations import SHUFFLES, shuffled_orders

units_from_predictions = grids_from_predictions
SYMBOLS = 5  # predicted: S, O, X, -, end; in contexts the fifth is the start symbol instead
EDGE = 4
MAX_HISTORY = 6


@dataclass(frozen=True)
class RoleTransitions(
    SumScored, better="higher", divided=("logprob", "cells"), parts="cells", blame=-1
):
    r"""Role-transition model with Witten-Bell smoothing in its interpolated form.

    $P(r|h) = \frac{c(hr) + N_{1+}(h\cdot) P(r|h')}{c(h) + N_{1+}(h\cdot)}$, $h'$ being $h$ without its oldest symbol;
    below the unigram stands the uniform distribution over the five predictable symbols (Witten and Bell 1991, as in
    Chen and Goodman 1999, eq. 16; the paper names the method only).
    """

    history: int = (
        1  # how many earlier sentences a role depends on; the paper tunes it on development texts
    )
    # float64 (5,) * history + (5,), the context's oldest symbol first
    log_probs: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if not 0 <= self.history <= MAX_HISTORY:
            raise BadInput(
                f"history is {self.history}, allowed is 0..{MAX_HISTORY}; the paper tries short ones"
            )

    def fit_units(self, real: Sequence[Grid]) -> "RoleTransitions":
        full = [grid for grid in real if not grid.empty]
        if not full:
            raise BadInput(
                f"role transitions: got {len(real)} grids, 0 with entities; give texts with nouns"
            )
        counts = np.zeros(SYMBOLS ** (self.history + 1))
        for grid in full:
            counts += np.bincount(
                self._codes(grid.cells[None], end=True).ravel(), minlength=len(counts)
            )
        return replace(
            self, log_probs=np.log(witten_bell(counts.reshape((SYMBOLS,) * (self.history + 1))))
        )

    def sufficient_statistics(self, units: Sequence[Grid]) -> SufficientStatistics:
        rows = [
            (float(parts.sum()), parts.size, not parts.size) for parts in self.part_values(units)
        ]
        return SufficientStatistics.of(units, ("logprob", "cells", "excluded"), rows)

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Coherence of a text under each of ``orders`` (orders, sentences); nan for an empty grid."""
        if unit.empty:
            return np.full(len(orders), np.nan)
        return self._fitted()[self._codes(unit.cells[orders])].mean(axis=(1, 2))

    def part_values(self, units: Sequence[Grid]) -> list[np.ndarray]:
        fitted = self._fitted()
        return [
            np.zeros((0, 0)) if grid.empty else fitted[self._codes(grid.cells[None])[0]]
            for grid in units
        ]

    def _fitted(self) -> np.ndarray:
        if not self.log_probs.size:
            raise BadInput(
                "role transitions have no probabilities yet; call fit(coherent grids), use what it returns"
            )
        return self.log_probs.ravel()

    def _codes(self, cells: np.ndarray, end: bool = False) -> np.ndarray:
        """Index of (history, symbol) for every cell: int64 (texts, sentences [+ 1], entities)."""
        padded = np.pad(
            cells.astype(np.int64), ((0, 0), (self.history, int(end)), (0, 0)), constant_values=EDGE
        )
        return _windows(padded, self.history + 1, SYMBOLS)


def _windows(cells: np.ndarray, length: int, symbols: int) -> np.ndarray:
    """Number of each run of ``length`` sentences' cells, the first the highest digit: int64 (texts, runs, entities)."""
    runs = [cells[:, back : cells.shape[1] - length + 1 + back] for back in range(length)]
    return reduce(
        lambda codes, own: codes * symbols + own, runs, np.zeros(runs[0].shape, dtype=np.int64)
    )


def witten_bell(counts: np.ndarray) -> np.ndarray:
    """Smoothed probabilities from counts of (context..., symbol); both (5,) * (history + 1)."""
    lower = np.full(SYMBOLS, 1 / SYMBOLS) if counts.ndim == 1 else witten_bell(counts.sum(axis=0))
    kinds = (counts > 0).sum(axis=-1, keepdims=True)
    weight = counts.sum(axis=-1, keepdims=True) + kinds
    smoothed = (counts + kinds * lower) / np.where(weight > 0, weight, 1)
    smoothed = np.where(weight > 0, smoothed, np.broadcast_to(lower, counts.shape))
    if counts.ndim > 2:
        smoothed[EDGE, EDGE] = lower[EDGE]
    return smoothed


@dataclass(frozen=True)
class TransitionFeatures:
    """What the ranking grid sees of a text."""

    lengths: tuple[int, ...] = (
        2,
        3,
    )  # of transitions; the papers tune up to 3 for ordering and 2 for summaries
    salience: int = (
        2  # entities with so many mentions are salient; 0 makes one class of all entities
    )

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1 or max(self.lengths) > 6:
            raise BadInput(
                f"transition lengths are {self.lengths}, allowed are 1..6; the papers use 2 and 3"
            )

    @property
    def size(self) -> int:
        return (2 if self.salience else 1) * sum(len(ROLES) ** length for length in self.lengths)

    def of_orders(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Features of a text under each order: float64 (orders, size)."""
        salient = (unit.cells != ABSENT).sum(axis=0) >= self.salience
        classes = (
            [salient, ~salient] if self.salience else [np.ones(len(unit.entities), dtype=bool)]
        )
        blocks = []
        for chosen, length in product(classes, self.lengths):
            cells, kinds = unit.cells[:, chosen][orders], len(ROLES) ** length
            block = np.zeros((len(orders), kinds))
            if cells.shape[1] >= length and cells.shape[2]:
                codes = (
                    _windows(cells, length, len(ROLES))
                    + np.arange(len(orders))[:, None, None] * kinds
                )
                counts = np.bincount(codes.ravel(), minlength=block.size).reshape(block.shape)
                block = counts / (codes.shape[1] * codes.shape[2])
            blocks.append(block)
        return np.concatenate(blocks, axis=1)

    def of_texts(self, units: Sequence[Grid]) -> np.ndarray:
        """Features of texts as they stand: float64 (texts, size)."""
        rows = [self.of_orders(unit, np.arange(len(unit.cells))[None]) for unit in units]
        return np.concatenate(rows) if rows else np.zeros((0, self.size))


@dataclass(frozen=True)
class GridRanker(
    SumScored, better="higher", divided=("value", "texts"), parts="kinds of transition", blame=-1
):
    """Linear ranking machine over transition frequencies; ``fit`` shuffles real texts whole, ``fit_pairs`` is told what to rank.

    A text's value is the product of its features and ``weights``, float64 (features,).
    """

    features: TransitionFeatures = TransitionFeatures()
    # C of the machine; 0 takes SVM-light's default, one over the mean squared norm of the differences
    penalty: float = 0.0
    shuffles: int = SHUFFLES  # per real text, that ``fit`` draws; at most 20 as in the papers
    name: str = "grid-ranker"  # of the draws
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def part_values(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """What each kind of transition adds to the value, float64 (features,); empty for an empty grid."""
        weights = self._fitted()
        return [
            np.zeros(0) if grid.empty else self.features.of_texts([grid])[0] * weights
            for grid in units
        ]

    def fit_units(self, real: Sequence[Grid]) -> "GridRanker":
        """Learn from each real text against its own shuffles. Raises BadInput: no text gives a pair."""
        pairs = []
        for grid in real:
            rng, own = generator(self.name, grid.unit_id), np.arange(len(grid.cells))[None]
            orders = shuffled_orders("block", 1, grid.sentence_keys, self.shuffles, rng)
            pairs.append((self.order_features(grid, own), self.order_features(grid, orders)))
        return self.fit_pairs(pairs)

    def fit_pairs(self, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> "GridRanker":
        """Learn from (better, worse) feature rows, one pair of arrays per document; one row may face many."""
        pairs = list(pairs)
        rows = [better - worse for better, worse in pairs]
        differences = np.concatenate(rows) if rows else np.zeros((0, self.features.size))
        if not len(differences) or not differences.any():
            raise BadInput(
                f"grid ranker: {len(pairs)} texts gave no pair that differs; give longer texts with nouns"
            )
        penalty = self.penalty or 1 / float(np.mean(np.sum(differences**2, axis=1)))
        return replace(self, weights=rank_weights(differences, penalty))

    def order_features(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Features of a text under each order, (orders, features); no rows for an empty grid."""
        return (
            np.zeros((0, self.features.size))
            if unit.empty
            else self.features.of_orders(unit, orders)
        )

    def sufficient_statistics(self, units: Sequence[Grid]) -> SufficientStatistics:
        rows = [
            (float(parts.sum()), parts.size > 0, not parts.size)
            for parts in self.part_values(units)
        ]
        return SufficientStatistics.of(units, ("value", "texts", "excluded"), rows)

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        return (
            np.full(len(orders), np.nan)
            if unit.empty
            else self.features.of_orders(unit, orders) @ self._fitted()
        )

    def _fitted(self) -> np.ndarray:
        if not self.weights.size:
            raise BadInput(
                "grid ranker has no weights yet; call fit(real grids) and use what it returns"
            )
        return self.weights


def rank_weights(differences: np.ndarray, penalty: float) -> np.ndarray:
    """Weights of a linear ranking machine: the hinge loss on differences (better minus worse), no intercept."""
    signs = np.where(np.arange(len(differences)) % 2 == 0, 1.0, -1.0)
    if len(differences) == 1:
        differences, signs = np.repeat(differences, 2, axis=0), np.array([1.0, -1.0])
    machine = LinearSVC(
        C=penalty, loss="hinge", fit_intercept=False, max_iter=20000, random_state=0
    )
    return machine.fit(differences * signs[:, None], signs).coef_[0]


def ranking(*, lengths: Sequence[int] = (2, 3), salience: int = 2) -> GridRanker:
    """A ranking grid from plain settings; see :class:`TransitionFeatures`."""
    return GridRanker(TransitionFeatures(tuple(lengths), salience))
