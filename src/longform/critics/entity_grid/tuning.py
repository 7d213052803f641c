"""Grid models learnt from documents that come with permutations, each parsed on its own, as the published grids do.

A permutation's grid is then not the original's with its rows moved, so the ranking model sees both as they are. Each function
here takes such documents and gives a fitted scorer, for :func:`longform.evaluation.order_discrimination.cross_validated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.critics.entity_grid.ranking import GridRanker, TransitionFeatures, rank_weights
from longform.critics.entity_grid.score import RoleTransitions
from longform.text.grid_files import ORIGINAL
from longform.text.permutations import PermutedDocument

TASK = "supplied"


def supplied(unit_id: str) -> tuple[str, str]:
    """Place of a grid ``<document>/<number>``, number 1 being the original."""
    document, _, number = unit_id.rpartition("/")
    return document, "" if int(number) == ORIGINAL else TASK


def learn_transitions(training: Sequence[PermutedDocument], history: int = 1) -> RoleTransitions:
    """The generative model, fitted on originals alone."""
    return RoleTransitions(history=history).fit([document.original for document in training])


def learn_ranking(
    training: Sequence[PermutedDocument], features: TransitionFeatures, penalty: float = 0.0
) -> GridRanker:
    """The ranking model, fitted on each original against its own permutations."""
    return GridRanker(features=features, penalty=penalty).fit_pairs(_pairs(training, features))


def learn_tuned(
    training: Sequence[PermutedDocument],
    choices: Sequence[TransitionFeatures],
    penalties: Sequence[float],
    inner: int = 5,
) -> GridRanker:
    """The ranking model with features and C chosen by cross-validation inside the training documents alone.

    Args:
        choices: what the model may see; an earlier one wins a tie, as does an earlier penalty.
        penalties: factors of SVM-light's default C.
        inner: folds of the choice.

    Raises:
        BadInput: fewer usable documents than inner folds, or nothing to choose from.
    """
    usable = _usable(training)
    if len(usable) < inner or inner < 2 or not choices or not penalties:
        asked = f"{len(usable)} documents, {inner} inner folds, {len(choices)} choices, {len(penalties)} penalties"
        raise BadInput(f"tuned ranking: {asked}; a document a fold, two folds and one of each are needed; fix the row")
    fold = np.empty(len(usable), dtype=np.int64)
    order = generator("tuned ranking", *(document.unit_id for document in usable)).permutation(len(usable))
    fold[order] = np.arange(len(usable)) % inner
    rows = {features: [better - worse for better, worse in _pairs(usable, features)] for features in choices}
    tried = [
        (_inner_accuracy(rows[features], fold, factor), features, factor)
        for features in choices
        for factor in penalties
    ]
    _, features, factor = max(tried, key=lambda one: one[0])
    return replace(GridRanker(features), weights=scaled_weights(rows[features], factor))


def _usable(training: Sequence[PermutedDocument]) -> list[PermutedDocument]:
    return [
        d for d in training if not d.original.empty and any(not grid.empty for grid in d.permutations.get(TASK, ()))
    ]


def _pairs(training: Sequence[PermutedDocument], features: TransitionFeatures) -> list[tuple[np.ndarray, np.ndarray]]:
    full = [(d.original, [grid for grid in d.permutations[TASK] if not grid.empty]) for d in _usable(training)]
    return [(features.of_texts([original]), features.of_texts(permutations)) for original, permutations in full]


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
