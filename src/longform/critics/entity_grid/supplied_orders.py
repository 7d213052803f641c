"""Grids that come with their shuffles: pairwise accuracy of both grid models, cross-validated over documents.

The published grids of Barzilay and Lapata's corpora hold, per document, the original and up to twenty permutations, each
parsed on its own, so a permutation's grid is not the original's with its rows moved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.critics.entity_grid.ranking import GridRanker, TransitionFeatures, rank_weights
from longform.critics.entity_grid.score import RoleTransitions
from longform.documents import BadInput, Readout
from longform.resampling import generator
from longform.text.entity_grids import Grid, grids_from_readout
from longform.text.grid_files import ORIGINAL
from longform.text.permutations import preferred

COLUMNS = ("wins", "ties", "pairs", "empty", "excluded")


@dataclass(frozen=True)
class Family:
    """A document's original grid and the grids of its permutations, empty ones included."""

    unit_id: str
    split: str
    original: Grid
    others: tuple[Grid, ...]

    @property
    def scored(self) -> list[Grid]:
        """Permutations with entities."""
        return [grid for grid in self.others if not grid.empty]


def families(grids: Sequence[Grid]) -> list[Family]:
    """Group grids whose ids read ``document/permutation``, permutation 1 being the original.

    Raises:
        BadInput: a document has no original, or a permutation twice.
    """
    members: dict[str, dict[int, Grid]] = {}
    for grid in grids:
        document, _, permutation = grid.unit_id.rpartition("/")
        rows = members.setdefault(document, {})
        if int(permutation) in rows:
            raise BadInput(f"document {document!r} has permutation {permutation} twice; drop one")
        rows[int(permutation)] = grid
    for document, rows in members.items():
        if ORIGINAL not in rows:
            raise BadInput(
                f"document {document!r} has permutations {sorted(rows)} but no original ({ORIGINAL}); add it"
            )
    return [
        Family(name, rows[ORIGINAL].split, rows[ORIGINAL], tuple(rows[k] for k in sorted(rows) if k != ORIGINAL))
        for name, rows in members.items()
    ]


def units_from_readout(readout: Readout) -> list[Family]:
    """Families of the readout's grids."""
    return families(grids_from_readout(readout))


Judge = Callable[[Sequence[Grid]], np.ndarray]
FITTED = {"fitted": True}


@dataclass(frozen=True)
class CrossValidated:
    """A grid model fitted on all documents but a fold, judged on the fold: the share of permutations ranked below.

    A document that was not fitted on is judged by a model of all documents that were. A tie is an error, counted apart.
    An empty permutation gives no pair and is counted; a document whose original is empty, or that has no permutation
    left, is excluded.

    Attributes:
        learn: families -> coherence of grids, higher is better.
        folds: groups of documents.
        name: names the draw of folds.
        fold_of: fitted; the fold of each document.
        judges: fitted; one a fold, that has not seen the fold, and last one that has seen everything.
    """

    learn: Callable[[Sequence[Family]], Judge]
    folds: int = 10
    name: str = "supplied-orders"
    fold_of: Mapping[str, int] = field(default_factory=dict, repr=False, metadata=FITTED)
    judges: tuple[Judge, ...] = field(default=(), repr=False, metadata=FITTED)
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[Family]) -> CrossValidated:
        """Draw the folds, and fit one model without each of them and one on everything.

        Raises:
            BadInput: fewer documents than folds.
        """
        if len(real) < self.folds or self.folds < 2:
            raise BadInput(
                f"cross-validation: {len(real)} documents, {self.folds} folds; 2 folds and a document each are needed: "
                "mend folds, or prepare the grids in split 'train' and judge that split"
            )
        fold = np.empty(len(real), dtype=np.int64)
        fold[generator(self.name).permutation(len(real))] = np.arange(len(real)) % self.folds
        judges = [self.learn([real[i] for i in np.flatnonzero(fold != k)]) for k in range(self.folds + 1)]
        named = {unit.unit_id: int(k) for unit, k in zip(real, fold, strict=True)}
        return replace(self, fold_of=named, judges=tuple(judges))

    def tally(self, units: Sequence[Family]) -> Tally:
        """Wins, ties, pairs and empty permutations per document, each under a model that has not seen the document.

        Raises:
            BadInput: not fitted.
        """
        if not self.judges:
            raise BadInput("cross-validation has no models yet; call fit(families) and use what it returns")
        rows = [counted(self.judges[self.fold_of.get(unit.unit_id, self.folds)], unit) for unit in units]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))
        return Tally(tuple(unit.unit_id for unit in units), COLUMNS, values)

    def score(self, tally: Tally) -> float:
        """Wins over pairs; nan without a pair."""
        pairs = tally.total("pairs")
        return tally.total("wins") / pairs if pairs else float("nan")


def counted(judge: Judge, family: Family) -> tuple[int, int, int, int, int]:
    """(wins, ties, pairs, empty, excluded) of one document."""
    empty = len(family.others) - len(family.scored)
    if family.original.empty or not family.scored:
        return 0, 0, 0, empty, 1
    wins, ties, pairs, _, excluded = preferred(judge([family.original, *family.scored]), 1)
    return wins, ties, pairs, empty, excluded


def learn_transitions(training: Sequence[Family], history: int = 1) -> Judge:
    """The generative model, fitted on originals alone."""
    return RoleTransitions(history=history).fit([family.original for family in training]).coherence


def learn_ranking(training: Sequence[Family], features: TransitionFeatures, penalty: float = 0.0) -> Judge:
    """The ranking model, fitted on each original against its own permutations."""
    usable = [family for family in training if not family.original.empty and family.scored]
    pairs = [(features.of_texts([family.original]), features.of_texts(family.scored)) for family in usable]
    return GridRanker(features=features, penalty=penalty).fit_pairs(pairs).coherence


def learn_tuned(
    training: Sequence[Family], choices: Sequence[TransitionFeatures], penalties: Sequence[float], inner: int = 5
) -> Judge:
    """The ranking model with features and C chosen by cross-validation inside the training documents alone.

    Args:
        choices: what the model may see; an earlier one wins a tie, as does an earlier penalty.
        penalties: factors of SVM-light's default C.
        inner: folds of the choice.

    Raises:
        BadInput: fewer usable documents than inner folds, or nothing to choose from.
    """
    usable = [family for family in training if not family.original.empty and family.scored]
    if len(usable) < inner or inner < 2 or not choices or not penalties:
        asked = f"{len(usable)} documents, {inner} inner folds, {len(choices)} choices, {len(penalties)} penalties"
        raise BadInput(f"tuned ranking: {asked}; a document a fold, two folds and one of each are needed; mend the row")
    fold = np.empty(len(usable), dtype=np.int64)
    fold[generator("tuned ranking", *(f.unit_id for f in usable)).permutation(len(usable))] = (
        np.arange(len(usable)) % inner
    )
    best, found = -1.0, None
    for features in choices:
        rows = [features.of_texts([f.original]) - features.of_texts(f.scored) for f in usable]
        for factor in penalties:
            accuracy = _inner_accuracy(rows, fold, factor)
            if accuracy > best:
                best, found = accuracy, (features, factor)
    assert found is not None
    features, factor = found
    rows = [features.of_texts([f.original]) - features.of_texts(f.scored) for f in usable]
    return replace(GridRanker(features), weights=scaled_weights(rows, factor)).coherence


def _inner_accuracy(rows: Sequence[np.ndarray], fold: np.ndarray, factor: float) -> float:
    wins = pairs = 0
    for k in range(int(fold.max()) + 1):
        weights = scaled_weights([row for row, place in zip(rows, fold, strict=True) if place != k], factor)
        judged = np.concatenate([row for row, place in zip(rows, fold, strict=True) if place == k])
        wins, pairs = wins + int((judged @ weights > 0).sum()), pairs + len(judged)
    return wins / pairs


def scaled_weights(rows: Sequence[np.ndarray], factor: float) -> np.ndarray:
    """Weights from differences of each document, C being ``factor`` times SVM-light's default; zeros where none differs."""
    differences = np.concatenate(rows)
    if not differences.any():
        return np.zeros(differences.shape[1])
    return rank_weights(differences, factor / float(np.mean(np.sum(differences**2, axis=1))))


@dataclass(frozen=True)
class _Learner:
    """A learning function with settings that a signature can print."""

    model: str
    settings: tuple[tuple[str, Any], ...]

    def __call__(self, training: Sequence[Family]) -> Judge:
        return LEARNERS[self.model](training, **dict(self.settings))


LEARNERS: Mapping[str, Callable[..., Judge]] = {
    "transitions": learn_transitions, "ranking": learn_ranking, "tuned": learn_tuned,
}  # fmt: skip


def transitions(*, history: int = 1, folds: int = 10) -> CrossValidated:
    """Cross-validated generative model."""
    return CrossValidated(_Learner("transitions", (("history", history),)), folds)


def ranking(
    *, lengths: Sequence[int] = (2, 3), salience: int = 2, edges: bool = False, penalty: float = 0.0, folds: int = 10
) -> CrossValidated:
    """Cross-validated ranking model."""
    features = TransitionFeatures(tuple(lengths), salience, edges=edges)
    return CrossValidated(_Learner("ranking", (("features", features), ("penalty", penalty))), folds)


def tuned(
    *,
    lengths: Sequence[Sequence[int]] = ((2, 3),),
    saliences: Sequence[int] = (2,),
    edges: Sequence[bool] = (False,),
    penalties: Sequence[float] = (1.0,),
    inner: int = 5,
    folds: int = 10,
) -> CrossValidated:
    """Cross-validated ranking model whose features and C are chosen within each fold's training documents."""
    grid = itertools.product(lengths, saliences, edges)
    choices = tuple(TransitionFeatures(tuple(length), salience, edges=edge) for length, salience, edge in grid)
    settings = (("choices", choices), ("penalties", tuple(penalties)), ("inner", inner))
    return CrossValidated(_Learner("tuned", settings), folds)
