"""Pairwise accuracy on the published accident grids, cross-validated over documents.

``PYTHONPATH=src:. python experiments/lapata2005/accidents.py grids_train.jsonl.gz`` writes
measured/accidents.json. Every choice is made before a test document is seen: ``published`` rows
take the settings of the papers, ``tuned`` rows choose C, or features and C, by cross-validation
inside each fold's training documents.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from experiments.lapata2005.published_grids import ORIGINAL, read_grids
from longform.critics.entity_grid.score import (
    EntityGrid,
    GridRanker,
    TransitionFeatures,
    rank_weights,
)
from longform.errors import BadInput
from longform.evaluation.order_discrimination import (
    COLUMNS,
    PairAccuracy,
    preference_statistics,
    written_scores,
)
from longform.files.artefacts import write_json
from longform.results import rounded
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.entity_grids import Grid
from longform.text.permutations import PermutedDocument, permuted_documents

TASK = "supplied"
OUT = Path(__file__).parent / "measured" / "accidents.json"
# Features of a document's original, (1, features), and of its permutations, (permutations,
# features).
Pairs = tuple[np.ndarray, np.ndarray]


def supplied(unit_id: str) -> tuple[str, str]:
    """Document and task of a grid ``<document>/<number>``; the original, number 1, has no task."""
    document, _, number = unit_id.rpartition("/")
    return document, "" if int(number) == ORIGINAL else TASK


def learn_transitions(training: Sequence[PermutedDocument], history: int = 1) -> EntityGrid:
    """Fit the generative model on originals alone."""
    return EntityGrid(history=history).fit([document.original for document in training])


def learn_ranking(
    training: Sequence[PermutedDocument], features: TransitionFeatures, penalty: float = 0.0
) -> GridRanker:
    """Fit the ranking model on each original against its own permutations.

    ``penalty`` is its C; 0 stands for SVM-light's default.
    """
    return GridRanker(features=features, penalty=penalty).fit_pairs(_pairs(training, features))


def learn_tuned(
    training: Sequence[PermutedDocument],
    choices: Sequence[TransitionFeatures],
    penalties: Sequence[float],
    inner: int = 5,
) -> GridRanker:
    """Fit the ranking model with features and C chosen by cross-validation on training documents.

    Args:
        training: the training documents.
        choices: sets of features; an earlier one wins a tie, as does an earlier penalty.
        penalties: values of C, as multiples of SVM-light's default.
        inner: number of folds for the choice.

    Raises:
        BadInput: fewer documents than folds, one fold, or nothing to choose from.
    """
    usable = _usable(training)
    if len(usable) < inner or inner < 2 or not choices or not penalties:
        raise BadInput(
            f"tuned ranking: {len(usable)} documents, {inner} inner folds, {len(choices)} choices, "
            f"{len(penalties)} penalties; a document a fold, two folds and one of each are needed; "
            "fix the entry"
        )
    # 1. The inner folds.
    names = [document.unit_id for document in usable]
    fold = _folds(len(usable), inner, generator("tuned ranking", *names))
    # 2. Every choice with its accuracy; of equals the first is taken.
    tried = []
    for features in choices:
        rows = [better - worse for better, worse in _pairs(usable, features)]
        for factor in penalties:
            tried.append((_inner_accuracy(rows, fold, factor), factor, features, rows))
    _, factor, features, rows = max(tried, key=itemgetter(0))
    # 3. The best one on all training documents.
    return replace(GridRanker(features), weights=scaled_weights(rows, factor))


def _folds(count: int, folds: int, rng: np.random.Generator) -> np.ndarray:
    """The random fold of each document, int64 (documents,); sizes differ by one at most."""
    fold = np.empty(count, dtype=np.int64)
    fold[rng.permutation(count)] = np.arange(count) % folds
    return fold


def _selected(items: Sequence[Any], mask: np.ndarray) -> list[Any]:
    """The items whose mask, bool (items,), is true."""
    return [items[i] for i in np.flatnonzero(mask)]


def _permutations(document: PermutedDocument) -> list[Grid]:
    """The permutations of a document whose grids have an entity."""
    return [grid for grid in document.permutations.get(TASK, ()) if not grid.empty]


def _usable(training: Sequence[PermutedDocument]) -> list[PermutedDocument]:
    """The documents whose original and at least one permutation have an entity."""
    usable = []
    for document in training:
        if not document.original.empty and _permutations(document):
            usable.append(document)
    return usable


def _pairs(training: Sequence[PermutedDocument], features: TransitionFeatures) -> list[Pairs]:
    """Features of the original and of the permutations of each usable document."""
    pairs = []
    for document in _usable(training):
        original = features.of_texts([document.original])
        pairs.append((original, features.of_texts(_permutations(document))))
    return pairs


def _inner_accuracy(rows: Sequence[np.ndarray], fold: np.ndarray, factor: float) -> float:
    """Cross-validated accuracy: share of pairs whose original has the higher score.

    Args:
        rows: of each document, features of the original minus those of its permutations,
            (permutations, features).
        fold: of each document, int64 (documents,).
        factor: C as a multiple of SVM-light's default.
    """
    wins = pairs = 0
    for k in range(int(fold.max()) + 1):
        training = _selected(rows, fold != k)
        test = np.concatenate(_selected(rows, fold == k))
        wins += int((test @ scaled_weights(training, factor) > 0).sum())
        pairs += len(test)
    return wins / pairs


def scaled_weights(rows: Sequence[np.ndarray], factor: float) -> np.ndarray:
    """The ranking model's weights, (features,), from differences as in :func:`_inner_accuracy`.

    SVM-light's default C is one over the mean squared norm of the differences. Weights are zeros
    where no pair differs.
    """
    differences = np.concatenate(rows)
    if not differences.any():
        return np.zeros(differences.shape[1])
    mean_square = float(np.mean(np.sum(differences**2, axis=1)))
    return rank_weights(differences, factor / mean_square)


def cross_validated(
    learn: Callable[[Sequence[PermutedDocument]], Any],
    documents: Sequence[PermutedDocument],
    *,
    task: str,
    folds: int = 10,
    name: str = "supplied-orders",
) -> SufficientStatistics:
    """Pair statistics of documents, each scored by a model that was fitted on the other folds.

    Args:
        learn: fits a scorer of grids on training documents.
        documents: originals with their permutations.
        task: name of the permutations.
        folds: number of folds.
        name: seeds the draw of folds.

    Raises:
        BadInput: fewer documents than folds.
    """
    if len(documents) < folds or folds < 2:
        raise BadInput(
            f"cross-validation: {len(documents)} documents, {folds} folds; give 2 folds, a "
            "document each"
        )
    fold = _folds(len(documents), folds, generator(name))
    values = np.zeros((len(documents), len(COLUMNS)))
    for k in range(folds):
        scorer = learn(_selected(documents, fold != k))
        test = _selected(documents, fold == k)
        scores = written_scores(scorer, test, task)
        values[fold == k] = preference_statistics(test, scores, scorer.better).values
    names = tuple(document.unit_id for document in documents)
    return SufficientStatistics(names, COLUMNS, values)


FACTORS = (0.1, 1.0, 10.0, 100.0)  # of SVM-light's default C
LENGTHS = (
    TransitionFeatures((2,)),
    TransitionFeatures((2, 3)),
    TransitionFeatures((2, 3, 4)),
)
PUBLISHED_2005 = TransitionFeatures((2,), 0)
PUBLISHED_2008 = TransitionFeatures()
MODELS: dict[str, Callable[..., Any]] = {
    "role transitions, history 1 (lapata2005)": partial(learn_transitions, history=1),
    "role transitions, history 2": partial(learn_transitions, history=2),
    "ranking, length 2, one class (published 2005)": partial(
        learn_ranking, features=PUBLISHED_2005
    ),
    "ranking, lengths 2 and 3, salience 2 (published 2008)": partial(
        learn_ranking, features=PUBLISHED_2008
    ),
    "tuned: published 2008, C chosen inside": partial(
        learn_tuned, choices=[PUBLISHED_2008], penalties=FACTORS
    ),
    "tuned: lengths to 4 and C chosen inside": partial(
        learn_tuned, choices=list(LENGTHS), penalties=FACTORS
    ),
}


def measured(learn: Callable[..., Any], units: list[Any]) -> dict[str, Any]:
    """Accuracy with its interval over documents, counts, and the processor seconds it took."""
    start = time.process_time()
    statistics = cross_validated(learn, units, task=TASK)
    accuracy = estimate(PairAccuracy(str(learn), TASK), statistics, generator("accidents"))
    row = asdict(accuracy)
    for name in ("pairs", "ties", "unscored"):
        row[name] = int(statistics.total(name))
    row["cpu_seconds"] = round(time.process_time() - start, 1)
    return row


def main(file: Path) -> None:
    """Measure every model and write the figures beside this script."""
    grids = read_grids(file)
    units = permuted_documents(grids, supplied)
    num_empty = sum(grid.empty for grid in grids)
    record: dict[str, Any] = {
        "command": f"PYTHONPATH=src:. python experiments/lapata2005/accidents.py {file.name}",
        "facts": {"grids": len(grids), "empty": num_empty, "documents": len(units)},
        "models": {},
    }
    OUT.parent.mkdir(exist_ok=True)
    for name, learn in MODELS.items():
        row = measured(learn, units)
        record["models"][name] = row
        print(f"{name}: {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]", flush=True)
        # Each row is written when it is there, should the rest be cut short.
        write_json(OUT, rounded(record))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(json.dumps({"usage": "accidents.py GRIDS.jsonl.gz"}))
    main(Path(sys.argv[1]))
