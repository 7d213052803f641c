"""Measure how much of the planted topics a fitted topic model recovers.

``PYTHONPATH=src python experiments/matrix/topic_recovery.py`` after ``make repro``. Correlation
over test articles of each planted topic's proportion with that of the topic matched to it, averaged
over topics; for the fitted model, and for the planted words and Gaussian themselves.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from longform.documents import Predictions
from longform.files.artefacts import read_corpus, read_predictions
from synthetic_world.planted_topics import read

ROOT = Path(__file__).parents[2]
OUT = Path(__file__).parent / "measured" / "topic_recovery.json"
COMMAND = "PYTHONPATH=src python experiments/matrix/topic_recovery.py"


def proportions(logits: np.ndarray) -> np.ndarray:
    """Topic proportions, (documents, topics): the softmax of logits, with 0 as the last topic's.

    ``logits`` is (documents, topics - 1).
    """
    logits = np.concatenate([logits, np.zeros((len(logits), 1))], axis=1)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def recovery(true: np.ndarray, predicted: np.ndarray) -> float:
    """Mean correlation of matched topics, under the best one-to-one match.

    Args:
        true: planted proportions, (documents, topics).
        predicted: proportions by a model, (documents, topics).
    """
    topics = true.shape[1]
    between = np.corrcoef(true.T, predicted.T)[:topics, topics:]  # (true, predicted)
    best_match = linear_sum_assignment(-between)  # it minimises a cost
    return float(between[best_match].mean())


def recovered(predictions: Predictions, true: dict[str, np.ndarray]) -> dict[str, float]:
    """Number of valid test articles, recovery of their topics, and mean words of an article.

    Args:
        predictions: of the topic critic.
        true: planted logits by article, (topics - 1,).
    """
    rows = []
    logits = []
    for row, unit in enumerate(predictions.unit_ids):
        if predictions.splits[row] == "test" and predictions.arrays["valid"][row]:
            rows.append(row)
            logits.append(true[unit])
    predicted = proportions(predictions.arrays["lambda"][rows])
    correlation = recovery(proportions(np.array(logits)), predicted)
    words = float(predictions.arrays["tokens"][rows].mean())
    return {
        "articles": len(rows),
        "correlation": round(correlation, 3),
        "words_an_article": round(words, 1),
    }


def main() -> None:
    """Measure, print and write."""
    # 1. The planted topics of each article, and those of two readers.
    corpus = read_corpus(ROOT / "data/corpora/articles/wiki")
    true = {}
    for document, logits in zip(corpus.documents, corpus.truth["topic_logits"], strict=True):
        true[document.id] = logits
    test = [document for document in corpus.documents if document.split == "test"]
    fitted = read_predictions(ROOT / "data/predictions/articles/topics/wiki/data/topics.npz")
    planted = read(test, reader_truth=corpus.truth)
    # 2. How well they agree.
    report: dict[str, object] = {"command": COMMAND}
    report["fitted"] = recovered(fitted, true)
    report["planted"] = recovered(planted, true)
    text = json.dumps(report, indent=1)
    print(text)
    OUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
