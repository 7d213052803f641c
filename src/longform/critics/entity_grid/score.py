"""Entity grids: role transitions as a generative model of coherent text, and their frequencies as features of a ranking machine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import ClassVar

import numpy as np
from sklearn.svm import LinearSVC

from longform.core.critic import FITTED, Better, SumScored, Tally
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.core.text.entity_grids import ABSENT, ROLES, Grid, grids_from_readout
from longform.core.text.permutations import SHUFFLES, shuffled_orders

units_from_readout = grids_from_readout
SYMBOLS = 5  # predicted: S, O, X, -, end; in contexts the fifth is the start symbol instead
EDGE = 4
MAX_HISTORY = 6
COLUMNS = ("logprob", "cells", "excluded")


@dataclass(frozen=True)
class RoleTransitions(SumScored):
    r"""Role-transition model with Witten-Bell smoothing in its interpolated form.

    $P(r|h) = \frac{c(hr) + N_{1+}(h\cdot) P(r|h')}{c(h) + N_{1+}(h\cdot)}$, $h'$ being $h$ without its oldest symbol;
    below the unigram stands the uniform distribution over the five predictable symbols (Witten and Bell 1991, as in
    Chen and Goodman 1999, eq. 16; the paper names the method only).
    """

    history: int = 1  # how many earlier sentences a role depends on; the paper tunes it on development texts
    # float64 (5,) * history + (5,), the context's oldest symbol first
    log_probs: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)
    fitted_units: int = field(default=0, repr=False, metadata=FITTED)
    fitted_excluded: int = field(default=0, repr=False, metadata=FITTED)
    better: ClassVar[Better] = "higher"
    divided: ClassVar[tuple[str, str]] = ("logprob", "cells")
    parts: ClassVar[str] = "cells"
    attributed: ClassVar[tuple[str, ...]] = ("logprob",)
    blame: ClassVar[int] = -1

    def __post_init__(self) -> None:
        if not 0 <= self.history <= MAX_HISTORY:
            raise BadInput(
                f"history is {self.history}, allowed is 0..{MAX_HISTORY}; the paper tries short ones, 1 is usual"
            )

    def fit(self, real: Sequence[Grid]) -> "RoleTransitions":
        full = [grid for grid in real if not grid.empty]
        if not full:
            raise BadInput(f"role transitions: got {len(real)} grids, 0 with entities; give texts with nouns")
        counts = np.zeros(SYMBOLS ** (self.history + 1))
        for grid in full:
            counts += np.bincount(self._codes(grid.cells[None], end=True).ravel(), minlength=len(counts))
        log_probs = np.log(witten_bell(counts.reshape((SYMBOLS,) * (self.history + 1))))
        return replace(self, log_probs=log_probs, fitted_units=len(full), fitted_excluded=len(real) - len(full))

    def tally(self, units: Sequence[Grid]) -> Tally:
        """Columns: sum of log probabilities (nats), cells scored, and 1 for an empty grid."""
        rows = [(float(parts.sum()), parts.size, not parts.size) for parts in self.attribute(units)]
        return Tally.of(units, COLUMNS, rows)

    def coherence(self, units: Sequence[Grid]) -> np.ndarray:
        """$P_{coh}$ of each text, float64 (units,); nan for an empty grid."""
        tally = self.tally(units)
        with np.errstate(invalid="ignore"):
            return tally.column("logprob") / tally.column("cells")

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Coherence of a text under each of ``orders`` (orders, sentences); nan for an empty grid."""
        if unit.empty:
            return np.full(len(orders), np.nan)
        return self._fitted()[self._codes(unit.cells[orders])].mean(axis=(1, 2))

    def attribute(self, units: Sequence[Grid]) -> list[np.ndarray]:
        fitted = self._fitted()
        return [np.zeros((0, 0)) if grid.empty else fitted[self._codes(grid.cells[None])[0]] for grid in units]

    def _fitted(self) -> np.ndarray:
        if not self.log_probs.size:
            raise BadInput(
                "role transitions have no probabilities yet; call fit(coherent grids) and use what it returns"
            )
        return self.log_probs.ravel()

    def _codes(self, cells: np.ndarray, end: bool = False) -> np.ndarray:
        """Index of (history, symbol) for every cell: int64 (texts, sentences [+ 1], entities)."""
        padded = np.pad(cells.astype(np.int64), ((0, 0), (self.history, int(end)), (0, 0)), constant_values=EDGE)
        return _windows(padded, self.history + 1, SYMBOLS)


def _windows(cells: np.ndarray, length: int, symbols: int) -> np.ndarray:
    """Number of each run of ``length`` sentences' cells, the first the highest digit: int64 (texts, runs, entities)."""
    runs = [cells[:, back : cells.shape[1] - length + 1 + back] for back in range(length)]
    return reduce(lambda codes, own: codes * symbols + own, runs, np.zeros(runs[0].shape, dtype=np.int64))


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


Pair = tuple[np.ndarray, np.ndarray]  # features of the better and of the worse text


@dataclass(frozen=True)
class TransitionFeatures:
    """What the ranking grid sees of a text."""

    lengths: tuple[int, ...] = (2, 3)  # of transitions; the papers tune up to 3 for ordering and 2 for summaries
    salience: int = 2  # entities with so many mentions are salient; 0 makes one class of all entities

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1 or max(self.lengths) > 6:
            raise BadInput(f"transition lengths are {self.lengths}, allowed are 1..6; the papers use 2 and 3")

    @property
    def size(self) -> int:
        """Number of features."""
        return (2 if self.salience else 1) * sum(len(ROLES) ** length for length in self.lengths)

    def of_orders(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Features of a text under each order: float64 (orders, size)."""
        salient = (unit.cells != ABSENT).sum(axis=0) >= self.salience
        classes = [salient, ~salient] if self.salience else [np.ones(len(unit.entities), dtype=bool)]
        blocks = [_frequencies(unit.cells[:, chosen][orders], length) for chosen in classes for length in self.lengths]
        return np.concatenate(blocks, axis=1)

    def of_texts(self, units: Sequence[Grid]) -> np.ndarray:
        """Features of texts as they stand: float64 (texts, size)."""
        rows = [self.of_orders(unit, np.arange(len(unit.cells))[None]) for unit in units]
        return np.concatenate(rows) if rows else np.zeros((0, self.size))


def _frequencies(cells: np.ndarray, length: int) -> np.ndarray:
    """Transition frequencies of (orders, sentences, entities) cells: float64 (orders, 4 ** length)."""
    orders, sentences, entities = cells.shape
    kinds = len(ROLES) ** length
    steps = sentences - length + 1
    if steps < 1 or not entities:
        return np.zeros((orders, kinds))
    codes = _windows(cells, length, len(ROLES)) + np.arange(orders)[:, None, None] * kinds
    return np.bincount(codes.ravel(), minlength=orders * kinds).reshape(orders, kinds) / (steps * entities)


@dataclass(frozen=True)
class GridRanker(SumScored):
    """Linear ranking machine over transition frequencies; ``fit`` shuffles real texts whole, ``fit_pairs`` is told what to rank.

    A text's value is the product of its features and ``weights``, float64 (features,).
    """

    features: TransitionFeatures = TransitionFeatures()
    penalty: float = (
        0.0  # C of the machine; 0 takes SVM-light's default, one over the mean squared norm of the differences
    )
    shuffles: int = SHUFFLES  # per real text, that ``fit`` draws; at most 20 as in the papers
    name: str = "grid-ranker"  # of the draws
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)
    fitted_units: int = field(default=0, repr=False, metadata=FITTED)
    fitted_excluded: int = field(default=0, repr=False, metadata=FITTED)
    better: ClassVar[Better] = "higher"
    divided: ClassVar[tuple[str, str]] = ("value", "texts")
    parts: ClassVar[str] = "kinds of transition"
    attributed: ClassVar[tuple[str, ...]] = ("value",)
    blame: ClassVar[int] = -1

    def attribute(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """What each kind of transition adds to the value, float64 (features,); empty for an empty grid."""
        weights = self._fitted()
        return [np.zeros(0) if grid.empty else self.features.of_texts([grid])[0] * weights for grid in units]

    def fit(self, real: Sequence[Grid]) -> "GridRanker":
        """Learn from each real text against its own shuffles. Raises BadInput: no text gives a pair."""
        pairs = []
        for grid in (grid for grid in real if not grid.empty):
            rng = generator(self.name, grid.unit_id)
            orders = shuffled_orders("block", 1, grid.sentence_keys, self.shuffles, rng)
            pairs.append((self.features.of_texts([grid]), self.features.of_orders(grid, orders)))
        return self.fit_pairs([pair for pair in pairs if len(pair[1])], len(real))

    def fit_pairs(self, pairs: Iterable[Pair], documents: int = 0) -> "GridRanker":
        """Learn from (better, worse) feature rows, one pair of arrays per document; one row may face many."""
        pairs = list(pairs)
        rows = [better - worse for better, worse in pairs]
        differences = np.concatenate(rows) if rows else np.zeros((0, self.features.size))
        if not len(differences) or not differences.any():
            raise BadInput(
                f"grid ranker: {documents or len(pairs)} texts gave no pair that differs; give longer texts with nouns"
            )
        penalty = self.penalty or 1 / float(np.mean(np.sum(differences**2, axis=1)))
        weights = rank_weights(differences, penalty)
        return replace(self, weights=weights, fitted_units=len(pairs), fitted_excluded=max(documents - len(pairs), 0))

    def order_features(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Features of a text under each order, (orders, features); no rows for an empty grid."""
        return np.zeros((0, self.features.size)) if unit.empty else self.features.of_orders(unit, orders)

    def tally(self, units: Sequence[Grid]) -> Tally:
        """Columns: value of the text, 1 per scored text, 1 for an empty grid."""
        values = [float(parts.sum()) for parts in self.attribute(units)]
        rows = [(value, not grid.empty, grid.empty) for value, grid in zip(values, units, strict=True)]
        return Tally.of(units, ("value", "texts", "excluded"), rows)

    def coherence(self, units: Sequence[Grid]) -> np.ndarray:
        """Value of each text, nan for an empty grid."""
        tally = self.tally(units)
        return np.where(tally.column("excluded") > 0, np.nan, tally.column("value"))

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Value of a text under each order; nan for an empty grid."""
        if unit.empty:
            return np.full(len(orders), np.nan)
        return self.features.of_orders(unit, orders) @ self._fitted()

    def _fitted(self) -> np.ndarray:
        if not self.weights.size:
            raise BadInput("grid ranker has no weights yet; call fit(real grids) and use what it returns")
        return self.weights


def rank_weights(differences: np.ndarray, penalty: float) -> np.ndarray:
    """Weights of a linear ranking machine: the hinge loss on differences (better minus worse), no intercept."""
    signs = np.where(np.arange(len(differences)) % 2 == 0, 1.0, -1.0)
    if len(differences) == 1:
        differences, signs = np.repeat(differences, 2, axis=0), np.array([1.0, -1.0])
    machine = LinearSVC(C=penalty, loss="hinge", fit_intercept=False, max_iter=20000, random_state=0)
    return machine.fit(differences * signs[:, None], signs).coef_[0]


def ranking(*, lengths: Sequence[int] = (2, 3), salience: int = 2) -> GridRanker:
    """A ranking grid from plain settings; see :class:`TransitionFeatures`."""
    return GridRanker(TransitionFeatures(tuple(lengths), salience))
