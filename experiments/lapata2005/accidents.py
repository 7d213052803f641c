"""Pairwise accuracy on the published accident grids, cross-validated over documents; writes measured/accidents.json.

``PYTHONPATH=src python experiments/lapata2005/accidents.py grids_train.jsonl.gz``

Every choice is made before a judged document is seen: ``published`` rows take the settings of the papers, ``tuned`` rows choose C,
or features and C, by cross-validation inside each fold's training documents.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from longform.core.artefacts import write_json
from longform.core.critic import estimate
from longform.core.resampling import generator
from longform.core.results import rounded
from longform.core.text.entity_grids import build, supplied_grid
from longform.core.text.permutations import permuted_documents
from longform.critics.entity_grid.ranking import (
    TASK,
    TransitionFeatures,
    learn_ranking,
    learn_transitions,
    learn_tuned,
    supplied,
)
from longform.evaluation.order_discrimination import PairAccuracy, cross_validated

FACTORS = (0.1, 1.0, 10.0, 100.0)  # of SVM-light's default C
LENGTHS = ((2,), (2, 3), (2, 3, 4))
MODELS: dict[str, Callable[..., Any]] = {
    "role transitions, history 1 (lapata2005)": partial(learn_transitions, history=1),
    "role transitions, history 2": partial(learn_transitions, history=2),
    "ranking, length 2, one class (published 2005)": partial(learn_ranking, features=TransitionFeatures((2,), 0)),
    "ranking, lengths 2 and 3, salience 2 (published 2008)": partial(learn_ranking, features=TransitionFeatures()),
    "tuned: published 2008, C chosen inside": partial(learn_tuned, choices=[TransitionFeatures()], penalties=FACTORS),
    "tuned: lengths to 4 and C chosen inside": partial(
        learn_tuned, choices=[TransitionFeatures(lengths) for lengths in LENGTHS], penalties=FACTORS
    ),
}


def measured(learn: Callable[..., Any], units: list[Any]) -> dict[str, Any]:
    """Accuracy with its interval over documents, counts, and the processor seconds it took."""
    start = time.process_time()
    tally = cross_validated(learn, units, task=TASK)
    found = asdict(estimate(PairAccuracy(str(learn), TASK), tally, generator("accidents")))
    counts = {name: int(tally.total(name)) for name in ("pairs", "ties", "unscored")}
    return {**found, **counts, "cpu_seconds": round(time.process_time() - start, 1)}


def main(file: Path) -> None:
    """Measure every model and write the figures beside this script."""
    corpus = build(raw=file.parent, file=file.name, split="train")
    units = permuted_documents([supplied_grid(document) for document in corpus.documents], supplied)
    command = f"PYTHONPATH=src python experiments/lapata2005/accidents.py {file.name}"
    record: dict[str, Any] = {"command": command, "facts": dict(corpus.facts), "models": {}}
    folder = Path(__file__).parent / "measured"
    folder.mkdir(exist_ok=True)
    for name, learn in MODELS.items():
        row = record["models"][name] = measured(learn, units)
        print(f"{name}: {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]", flush=True)
        write_json(folder / "accidents.json", rounded(record))  # what is done stays, should the rest be cut short


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(json.dumps({"usage": "accidents.py GRIDS.jsonl.gz"}))
    main(Path(sys.argv[1]))
