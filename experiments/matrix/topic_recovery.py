"""How much of the planted topics a reading recovers.

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
    """(documents, topics) softmax with the last logit at zero."""
    logits = np.concatenate([logits, np.zeros((len(logits), 1))], axis=1)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def recovery(true: np.ndarray, predicted: np.ndarray) -> float:
    """Mean correlation under the best one-to-one match of topics.

    Args:
        true: (documents, topics) planted proportions.
        predicted: the same as they were read from the text.
    """
    topics = true.shape[1]
    between = np.corrcoef(true.T, predicted.T)[:topics, topics:]
    return float(between[linear_sum_assignment(-between)].mean())


def recovered(predictions: Predictions, true: dict[str, np.ndarray]) -> dict[str, float]:
    """How well a reading of the test articles agrees with the planted topics.

    Args:
        predictions: of the topic critic.
        true: (topics,) planted logits by article.
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
