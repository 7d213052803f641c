"""Pairwise accuracy on the published accident grids, cross-validated over documents; writes measured/accidents.json.

``PYTHONPATH=src:. python experiments/lapata2005/accidents.py grids_train.jsonl.gz``

Every choice is made before a judged document is seen: ``published`` rows take the settings of the papers, ``tuned`` rows choose C,
or features and C, by cross-validation inside each fold's training documents.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
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
from longform.text.permutations import PermutedDocument, permuted_documents

TASK = "supplied"


def supplied(unit_id: str) -> tuple[str, str]:
    """Place of a grid ``<document>/<number>``, number 1 being the original."""
    document, _, number = unit_id.rpartition("/")
    return document, "" if int(number) == ORIGINAL else TASK


def learn_transitions(training: Sequence[PermutedDocument], history: int = 1) -> EntityGrid:
    """The generative model, fitted on originals alone."""
    return EntityGrid(history=history).fit([document.original for document in training])


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
    """
    usable = _usable(training)
    if len(usable) < inner or inner < 2 or not choices or not penalties:
        asked = f"{len(usable)} documents, {inner} inner folds, {len(choices)} choices, {len(penalties)} penalties"
        raise BadInput(
            f"tuned ranking: {asked}; a document a fold, two folds and one of each are needed; fix the entry"
        )
    fold = np.empty(len(usable), dtype=np.int64)
    order = generator("tuned ranking", *(document.unit_id for document in usable)).permutation(
        len(usable)
    )
    fold[order] = np.arange(len(usable)) % inner
    rows = {
        features: [better - worse for better, worse in _pairs(usable, features)]
        for features in choices
    }
    tried = [
        (_inner_accuracy(rows[features], fold, factor), features, factor)
        for features in choices
        for factor in penalties
    ]
    _, features, factor = max(tried, key=lambda one: one[0])
    return replace(GridRanker(features), weights=scaled_weights(rows[features], factor))


def _usable(training: Sequence[PermutedDocument]) -> list[PermutedDocument]:
    return [
        d
        for d in training
        if not d.original.empty and any(not grid.empty for grid in d.permutations.get(TASK, ()))
    ]


def _pairs(
    training: Sequence[PermutedDocument], features: TransitionFeatures
) -> list[tuple[np.ndarray, np.ndarray]]:
    full = [
        (d.original, [grid for grid in d.permutations[TASK] if not grid.empty])
        for d in _usable(training)
    ]
    return [
        (features.of_texts([original]), features.of_texts(permutations))
        for original, permutations in full
    ]


def _inner_accuracy(rows: Sequence[np.ndarray], fold: np.ndarray, factor: float) -> float:
    wins = pairs = 0
    for k in range(int(fold.max()) + 1):
        weights = scaled_weights(
            [row for row, place in zip(rows, fold, strict=True) if place != k], factor
        )
        judged = np.concatenate([row for row, place in zip(rows, fold, strict=True) if place == k])
        wins, pairs = wins + int((judged @ weights > 0).sum()), pairs + len(judged)
    return wins / pairs


def scaled_weights(rows: Sequence[np.ndarray], factor: float) -> np.ndarray:
    """Weights from differences of each document, C being ``factor`` times SVM-light's default; zeros where none differs."""
    differences = np.concatenate(rows)
    if not differences.any():
        return np.zeros(differences.shape[1])
    return rank_weights(differences, factor / float(np.mean(np.sum(differences**2, axis=1))))


def cross_validated(
    learn: Callable[[Sequence[PermutedDocument]], Any],
    documents: Sequence[PermutedDocument],
    *,
    task: str,
    folds: int = 10,
    name: str = "supplied-orders",
) -> SufficientStatistics:
    """SufficientStatistics of documents that are all there is: each is judged by a scorer that has learnt from the other folds.

    Args:
        learn: documents -> fitted scorer of what they hold.
        name: names the draw of folds.

    Raises:
        BadInput: fewer documents than folds.
    """
    if len(documents) < folds or folds < 2:
        raise BadInput(
            f"cross-validation: {len(documents)} documents, {folds} folds; give 2 folds, a document each"
        )
    fold = np.empty(len(documents), dtype=np.int64)
    fold[generator(name).permutation(len(documents))] = np.arange(len(documents)) % folds
    rows = np.zeros((len(documents), len(COLUMNS)))
    for k in range(folds):
        inside = np.flatnonzero(fold == k)
        scorer = learn([documents[i] for i in np.flatnonzero(fold != k).tolist()])
        held = [documents[i] for i in inside.tolist()]
        rows[inside] = preference_statistics(
            held, written_scores(scorer, held, task), scorer.better
        ).values
    return SufficientStatistics(tuple(document.unit_id for document in documents), COLUMNS, rows)


FACTORS = (0.1, 1.0, 10.0, 100.0)  # of SVM-light's default C
LENGTHS = ((2,), (2, 3), (2, 3, 4))
MODELS: dict[str, Callable[..., Any]] = {
    "role transitions, history 1 (lapata2005)": partial(learn_transitions, history=1),
    "role transitions, history 2": partial(learn_transitions, history=2),
    "ranking, length 2, one class (published 2005)": partial(
        learn_ranking, features=TransitionFeatures((2,), 0)
    ),
    "ranking, lengths 2 and 3, salience 2 (published 2008)": partial(
        learn_ranking, features=TransitionFeatures()
    ),
    "tuned: published 2008, C chosen inside": partial(
        learn_tuned, choices=[TransitionFeatures()], penalties=FACTORS
    ),
    "tuned: lengths to 4 and C chosen inside": partial(
        learn_tuned, choices=[TransitionFeatures(lengths) for lengths in LENGTHS], penalties=FACTORS
    ),
}


def measured(learn: Callable[..., Any], units: list[Any]) -> dict[str, Any]:
    """Accuracy with its interval over documents, counts, and the processor seconds it took."""
    start = time.process_time()
    statistics = cross_validated(learn, units, task=TASK)
    found = asdict(estimate(PairAccuracy(str(learn), TASK), statistics, generator("accidents")))
    counts = {name: int(statistics.total(name)) for name in ("pairs", "ties", "unscored")}
    return {**found, **counts, "cpu_seconds": round(time.process_time() - start, 1)}


def main(file: Path) -> None:
    """Measure every model and write the figures beside this script."""
    grids = read_grids(file)
    units = permuted_documents(grids, supplied)
    facts = {
        "grids": len(grids),
        "empty": sum(grid.empty for grid in grids),
        "documents": len(units),
    }
    command = f"PYTHONPATH=src:. python experiments/lapata2005/accidents.py {file.name}"
    record: dict[str, Any] = {"command": command, "facts": facts, "models": {}}
    folder = Path(__file__).parent / "measured"
    folder.mkdir(exist_ok=True)
    for name, learn in MODELS.items():
        row = record["models"][name] = measured(learn, units)
        print(f"{name}: {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]", flush=True)
        write_json(
            folder / "accidents.json", rounded(record)
        )  # what is done stays, should the rest be cut short


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(json.dumps({"usage": "accidents.py GRIDS.jsonl.gz"}))
    main(Path(sys.argv[1]))
