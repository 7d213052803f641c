"""How much of the planted topics a reading recovers: ``PYTHONPATH=src python experiments/matrix/topic_recovery.py``.

After ``make repro``. Correlation over test articles of each planted topic's proportion with that of the topic matched to
it, averaged over topics; for the fitted model, and for the planted words and Gaussian themselves.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from longform.files.artefacts import read_corpus, read_predictions
from synthetic_world.planted_topics import read

ROOT = Path(__file__).parents[2]
OUT = Path(__file__).parent / "measured" / "topic_recovery.json"


def proportions(logits: np.ndarray) -> np.ndarray:
    """(documents, topics) softmax with the last logit at zero."""
    logits = np.concatenate([logits, np.zeros((len(logits), 1))], axis=1)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def recovery(true: np.ndarray, found: np.ndarray) -> float:
    """Mean correlation under the best one-to-one match of topics."""
    topics = true.shape[1]
    between = np.corrcoef(true.T, found.T)[:topics, topics:]
    return float(between[linear_sum_assignment(-between)].mean())


def main() -> None:
    """Measure, print and write."""
    corpus = read_corpus(ROOT / "data/corpora/articles/wiki")
    place = {document.id: i for i, document in enumerate(corpus.documents)}
    test = [document for document in corpus.documents if document.split == "test"]
    fitted = read_predictions(ROOT / "data/predictions/articles/topics/wiki/data/topics.npz")
    readings = {"fitted": fitted, "planted": read(test, reader_truth=corpus.truth)}
    found = {"command": "PYTHONPATH=src python experiments/matrix/topic_recovery.py"}
    for name, predictions in readings.items():
        rows = [
            i
            for i, split in enumerate(predictions.splits)
            if split == "test" and predictions.arrays["valid"][i]
        ]
        true = proportions(
            corpus.truth["topic_logits"][[place[predictions.unit_ids[i]] for i in rows]]
        )
        found[name] = {
            "articles": len(rows),
            "correlation": round(
                recovery(true, proportions(predictions.arrays["lambda"][rows])), 3
            ),
            "words_an_article": round(float(predictions.arrays["tokens"][rows].mean()), 1),
        }
    text = json.dumps(found, indent=1)
    print(text)
    OUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
