"""Entity grids: transitions of roles as a model of coherent text, and as features of a ranker.

Sources: Lapata and Barzilay 2005, section 3.1; Barzilay and Lapata 2008, sections 3 and 4.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.documents import Document
from longform.errors import ConfigError, InputError, counted
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED, READING  # of fields that signatures leave out
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.entity_grids import (
    ABSENT,
    ROLES,
    Grid,
    grids_from_predictions,
    grids_of_texts,
)
from longform.text.permutations import SHUFFLES, shuffled_orders
from longform.text.sentences import sentences

units_from_predictions = grids_from_predictions  # every critic's module has one of this name
SYMBOLS = 5  # predicted: S, O, X, -, end; in contexts the fifth is the start symbol instead
EDGE = 4
MAX_HISTORY = 6
LONGEST_TRANSITION = 6
MACHINE_ITERATIONS = 20_000


@dataclass(frozen=True)
class EntityGrid(
    TextCritic,
    better="higher",
    divided=("logprob", "cells"),  # columns whose sums' ratio is the score
    parts="cells",  # of which each has a value
    blame=-1,  # a small value is a bad sign
    needs="a sentence with a noun",  # else a text is excluded
    recorded_as="RoleTransitions",  # its former name, in records
):
    r"""Mean log-probability of the role of each entity in each sentence, given its roles before.

    The model is an n-gram model over roles with Witten-Bell smoothing in its interpolated form,
    $P(r|h) = \frac{c(hr) + N_{1+}(h\cdot) P(r|h')}{c(h) + N_{1+}(h\cdot)}$, $h'$ being $h$ without
    its oldest symbol; below the unigram stands the uniform distribution over the five predictable
    symbols (Witten and Bell 1991, as in Chen and Goodman 1999, eq. 16; Lapata and Barzilay 2005
    name the method only): the four roles and the end of the text. The end may follow a history in
    fitting; it is not scored, as the score is a mean over cells.

    Attributes:
        history: how many earlier sentences a role depends on; Lapata and Barzilay tune it on
            development texts.
        lexicon: a folder with a word net, which tells nouns from verbs; without one, endings do.
        log_probs: of each symbol after each context, whose oldest symbol comes first, float64,
            ``history + 1`` axes of ``SYMBOLS``.
    """

    history: int = 1
    lexicon: Path | None = field(default=None, kw_only=True, metadata=READING)
    log_probs: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if not 0 <= self.history <= MAX_HISTORY:
            raise ConfigError(
                f"history is {self.history}, allowed is 0..{MAX_HISTORY}; "
                "the paper tries short ones"
            )

    def read_texts(self, documents: Sequence[Document]) -> list[Grid]:
        """The grid of each text, by rules for nouns and roles."""
        return grids_of_texts(documents, self.lexicon)

    def spans(self, document: Document, unit: Grid, values: np.ndarray) -> Spans:
        """The span of each sentence; sentences are the rows of the grid."""
        return sentences(document.text)[: len(values)]

    def fit_units(self, real: Sequence[Grid]) -> "EntityGrid":
        """Count the roles that follow each history in coherent texts.

        Raises InputError: no text has an entity.
        """
        grids = [grid for grid in real if not grid.empty]
        if not grids:
            raise InputError(
                f"entity grid: got {counted(len(real), 'text')}, 0 with entities; "
                "give texts with nouns"
            )
        contexts = (SYMBOLS,) * self.history
        counts = np.zeros(SYMBOLS ** (self.history + 1))
        for grid in grids:
            codes = self._codes(grid.cells[None], end=True)
            counts += np.bincount(codes.ravel(), minlength=len(counts))
        probabilities = witten_bell(counts.reshape((*contexts, SYMBOLS)))
        return replace(self, log_probs=np.log(probabilities))

    def sufficient_statistics(self, units: Sequence[Grid]) -> SufficientStatistics:
        """A row a text: sum ``logprob`` (nats), ``cells``, and ``excluded`` for an empty grid."""
        rows = []
        for log_probs in self.part_values(units):
            rows.append((float(log_probs.sum()), log_probs.size, not log_probs.size))
        return SufficientStatistics.of(units, ("logprob", "cells", "excluded"), rows)

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Coherence of a text under each order of its sentences.

        Args:
            unit: the text's grid.
            orders: a permutation of the sentences in each row, int (orders, sentences).

        Returns:
            float64 (orders,), nan for an empty grid.
        """
        if unit.empty:
            return np.full(len(orders), np.nan)
        codes = self._codes(unit.cells[orders])
        return self._fitted()[codes].mean(axis=(1, 2))

    def part_values(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Log-probability of the role in each cell, nats, float64 (sentences, entities)."""
        log_probs = self._fitted()
        cells = []
        for grid in units:
            if grid.empty:
                cells.append(np.zeros((0, 0)))
                continue
            codes = self._codes(grid.cells[None])
            cells.append(log_probs[codes[0]])
        return cells

    def _fitted(self) -> np.ndarray:
        """Flat log-probabilities, by the codes of :meth:`_codes`. Raises InputError: not fitted."""
        if not self.log_probs.size:
            raise InputError(
                "entity grid: not fitted yet; "
                "call fit(coherent texts) and use the critic it returns"
            )
        return self.log_probs.ravel()

    def _codes(self, cells: np.ndarray, end: bool = False) -> np.ndarray:
        """Index of (history, symbol) for every cell.

        Args:
            cells: roles, (texts, sentences, entities).
            end: whether the end of the text is predicted too, as a last row; only in fitting.

        Returns:
            int64 (texts, sentences [+ 1], entities).
        """
        # ``EDGE`` before a text is the start symbol; behind it, the end symbol.
        before_and_after = (self.history, int(end))
        padding = ((0, 0), before_and_after, (0, 0))
        padded = np.pad(cells.astype(np.int64), padding, constant_values=EDGE)
        return window_codes(padded, self.history + 1, SYMBOLS)


def window_codes(cells: np.ndarray, length: int, symbols: int) -> np.ndarray:
    """A number for each run of ``length`` sentences' cells, the first cell its highest digit.

    Args:
        cells: int (texts, sentences, entities), each from 0 and below ``symbols``.
        length: sentences of a run.
        symbols: how many values a cell can have.

    Returns:
        int64 (texts, sentences - length + 1, entities).
    """
    runs = cells.shape[1] - length + 1
    codes = np.zeros((cells.shape[0], runs, cells.shape[2]), dtype=np.int64)
    for offset in range(length):
        codes = codes * symbols + cells[:, offset : offset + runs]
    return codes


def witten_bell(counts: np.ndarray) -> np.ndarray:
    """Smoothed probabilities of the symbols after each context; see :class:`EntityGrid`.

    Args:
        counts: of each symbol after each context, whose oldest symbol comes first, float64,
            ``history + 1`` axes of ``SYMBOLS``.

    Returns:
        float64 of the same shape; the last axis sums to one.
    """
    # 1. The distribution of the shorter context, at last the uniform one.
    lower = np.full(SYMBOLS, 1 / SYMBOLS)
    if counts.ndim > 1:
        lower = witten_bell(counts.sum(axis=0))
    # 2. Each context's counts, and as much weight for the shorter context as it has different
    #    followers; a context that was never met has the probabilities of the shorter one.
    followers = (counts > 0).sum(axis=-1, keepdims=True)
    total = counts.sum(axis=-1, keepdims=True) + followers
    was_met = total > 0
    smoothed = (counts + followers * lower) / np.where(was_met, total, 1)
    smoothed = np.where(was_met, smoothed, np.broadcast_to(lower, counts.shape))
    # 3. A context that begins with two start symbols says no more than one with a single one.
    if counts.ndim > 2:
        smoothed[EDGE, EDGE] = lower[EDGE]
    return smoothed


@dataclass(frozen=True)
class TransitionFeatures:
    """The features of the ranking grid: how frequent each transition of roles is in a text.

    Attributes:
        lengths: of transitions, sentences; the papers tune up to 3 for ordering, 2 for summaries.
        salience: entities with so many mentions are salient; 0 makes one class of all entities.
    """

    lengths: tuple[int, ...] = (2, 3)
    salience: int = 2

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1 or max(self.lengths) > LONGEST_TRANSITION:
            raise ConfigError(
                f"transition lengths are {self.lengths}, allowed are 1..{LONGEST_TRANSITION}; "
                "the papers use 2 and 3"
            )

    @property
    def size(self) -> int:
        """Number of features."""
        transitions = sum(len(ROLES) ** length for length in self.lengths)
        classes = 2 if self.salience else 1
        return classes * transitions

    def names(self) -> list[str]:
        """The class and transition of each feature, such as ``salient S-`` or ``other OX-``."""
        classes = ("salient ", "other ") if self.salience else ("",)
        names: list[str] = []
        for prefix in classes:
            for length in self.lengths:
                for roles in product(ROLES, repeat=length):
                    names.append(prefix + "".join(roles))
        return names

    def of_orders(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Features of a text under each order of its sentences.

        Args:
            unit: the text's grid.
            orders: a permutation of the sentences in each row, int (orders, sentences).

        Returns:
            float64 (orders, size).
        """
        # 1. Which entities each class has.
        mentions = (unit.cells != ABSENT).sum(axis=0)
        if self.salience:
            is_salient = mentions >= self.salience
            classes = [is_salient, ~is_salient]
        else:
            classes = [np.ones(len(mentions), dtype=bool)]
        # 2. The transitions of each class by their lengths.
        features = []
        for in_class in classes:
            cells = unit.cells[:, in_class][orders]
            for length in self.lengths:
                features.append(transition_shares(cells, length))
        return np.concatenate(features, axis=1)

    def of_texts(self, units: Sequence[Grid]) -> np.ndarray:
        """Features of texts, given as grids, in their own sentence order: float64 (texts, size)."""
        rows = [np.zeros((0, self.size))]
        for unit in units:
            own_order = np.arange(len(unit.cells))[None]
            rows.append(self.of_orders(unit, own_order))
        return np.concatenate(rows)


def transition_shares(cells: np.ndarray, length: int) -> np.ndarray:
    """Share of each transition among all runs of ``length`` sentences; zeros where there is none.

    Args:
        cells: roles, int (orders, sentences, entities).
        length: of a transition, sentences.

    Returns:
        float64 (orders, roles ** length).
    """
    orders, num_sentences, entities = cells.shape
    kinds = len(ROLES) ** length
    if num_sentences < length or not entities:
        return np.zeros((orders, kinds))
    # each order's transitions get numbers of their own, so that one bincount counts all orders
    codes = window_codes(cells, length, len(ROLES))
    first_of_order = np.arange(orders)[:, None, None] * kinds
    counts = np.bincount((codes + first_of_order).ravel(), minlength=orders * kinds)
    transitions = codes.shape[1] * codes.shape[2]
    return counts.reshape(orders, kinds) / transitions


@dataclass(frozen=True)
class GridRanker(
    TextCritic,
    better="higher",
    divided=("value", "texts"),  # these words: see EntityGrid
    parts="kinds of transition",
    blame=-1,
    needs="a sentence with a noun",
):
    """Linear ranking machine over transition frequencies.

    A text's value is the product of its features and the weights. ``fit`` learns to rank real texts
    above their own shuffles, ``fit_pairs`` from any pairs of a better and a worse text.

    Attributes:
        features: what is seen of a text.
        penalty: C of the machine; 0 takes SVM-light's default, one over the mean squared norm of
            differences.
        shuffles: per real text, that ``fit`` draws; at most 20 as in the papers.
        name: seeds the draws of shuffles, with each text's id.
        lexicon: as for :class:`EntityGrid`.
        weights: of the features, float64 (features,).
    """

    features: TransitionFeatures = TransitionFeatures()
    penalty: float = 0.0
    shuffles: int = SHUFFLES
    name: str = "grid-ranker"
    lexicon: Path | None = field(default=None, kw_only=True, metadata=READING)
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def read_texts(self, documents: Sequence[Document]) -> list[Grid]:
        """The grid of each text, by rules for nouns and roles."""
        return grids_of_texts(documents, self.lexicon)

    def part_names(self, values: np.ndarray) -> Sequence[str]:
        """The class and transition of each value; none for an empty grid, which has no values."""
        return self.features.names()[: len(values)]

    def part_values(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """What each kind of transition adds to the value.

        Returns:
            For each text float64 (features,), empty for an empty grid.
        """
        weights = self._fitted()
        values = []
        for grid in units:
            if grid.empty:
                values.append(np.zeros(0))
            else:
                values.append(self.features.of_texts([grid])[0] * weights)
        return values

    def fit_units(self, real: Sequence[Grid]) -> "GridRanker":
        """Learn to rank each real text above its own shuffles.

        Returns the fitted critic. Raises InputError: no text gives a pair.
        """
        pairs = []
        for grid in real:
            own_order = np.arange(len(grid.cells))[None]
            rng = generator(self.name, grid.unit_id)
            # Blocks of one sentence, so any order, (orders, sentences). Equal sentences have equal
            # keys, so that no order reads as the text itself.
            orders = shuffled_orders(
                task="block",
                size=1,
                keys=grid.sentence_keys,
                shuffles=self.shuffles,
                rng=rng,
            )
            better = self.order_features(grid, own_order)
            worse = self.order_features(grid, orders)
            pairs.append((better, worse))
        return self.fit_pairs(pairs)

    def fit_pairs(self, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> "GridRanker":
        """Learn which of two orders of a text is the better one.

        Args:
            pairs: of each document the features of better and of worse orders, (orders, features)
                each, row against row; one row may face many.

        Raises:
            InputError: the features of no pair differ.
        """
        differences_by_text = [np.zeros((0, self.features.size))]
        for better, worse in pairs:
            differences_by_text.append(better - worse)
        differences = np.concatenate(differences_by_text)
        if not differences.any():
            raise InputError(
                f"grid ranker: {counted(len(differences_by_text) - 1, 'text')} gave no pair that "
                "differs; give longer texts with nouns"
            )
        squared_norms = np.sum(differences**2, axis=1)
        penalty = self.penalty or 1 / float(np.mean(squared_norms))
        return replace(self, weights=rank_weights(differences, penalty))

    def order_features(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Features of a text under each order, (orders, features); no rows for an empty grid."""
        if unit.empty:
            return np.zeros((0, self.features.size))
        return self.features.of_orders(unit, orders)

    def sufficient_statistics(self, units: Sequence[Grid]) -> SufficientStatistics:
        """A row a text: its ``value``, ``texts`` (1), and ``excluded`` for an empty grid."""
        rows = []
        for values in self.part_values(units):
            rows.append((float(values.sum()), values.size > 0, not values.size))
        return SufficientStatistics.of(units, ("value", "texts", "excluded"), rows)

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Value of a text under each order of its sentences.

        Arguments and result as for :meth:`EntityGrid.order_scores`.
        """
        if unit.empty:
            return np.full(len(orders), np.nan)
        return self.features.of_orders(unit, orders) @ self._fitted()

    def _fitted(self) -> np.ndarray:
        """The weights, (features,). Raises InputError: not fitted."""
        if not self.weights.size:
            raise InputError(
                "grid ranker: not fitted yet; call fit(real texts) and use the critic it returns"
            )
        return self.weights


def rank_weights(differences: np.ndarray, penalty: float) -> np.ndarray:
    """Weights of a linear ranking machine, by the hinge loss, without an intercept.

    Args:
        differences: features of the better minus those of the worse, float64 (pairs, features).
        penalty: C of the machine.

    Returns:
        float64 (features,).
    """
    from sklearn.svm import LinearSVC  # half a second, which the other critic here does not need

    # a classifier needs two classes: every second difference is negated, and has class -1
    if len(differences) == 1:
        differences = np.repeat(differences, 2, axis=0)
    signs = np.where(np.arange(len(differences)) % 2 == 0, 1.0, -1.0)
    machine = LinearSVC(
        C=penalty,
        loss="hinge",
        fit_intercept=False,
        max_iter=MACHINE_ITERATIONS,
        random_state=0,
    )
    machine.fit(differences * signs[:, None], signs)
    return machine.coef_[0]


def ranking(*, lengths: Sequence[int] = (2, 3), salience: int = 2) -> GridRanker:
    """A ranking grid, not yet fitted, by the settings of :class:`TransitionFeatures`."""
    return GridRanker(TransitionFeatures(tuple(lengths), salience))
