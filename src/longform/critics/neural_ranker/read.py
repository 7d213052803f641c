"""What a coherence ranker thinks of a text and of its shuffles: one score per order, higher is more coherent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from longform.core.documents import Document, Readout
from longform.core.resampling import generator
from longform.critics.neural_ranker.train import RankerNetwork, document_features, open_ranker
from longform.text.permutations import SHUFFLES, shuffled_orders

ORDERS_AT_ONCE = 64  # memory only


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    tasks: Sequence[tuple[str, int]],
    splits: Sequence[str],
    shuffles: int = SHUFFLES,
    draws: str = "shuffles",
) -> Readout:
    """Scores of each text and of its shuffles under each task.

    Arrays: ``text_score`` (units,), nan for a text of fewer than two sentences; for every task ``<task>_<size>`` ragged, the
    original first, then its distinct shuffles; empty where a text cannot be shuffled. ``draws`` names the shuffles, as in
    ``ShuffleTask``, so that all scorers meet the same orders of equally split texts.
    """
    ranker = open_ranker(reader)
    chosen = [document for document in documents if document.split in splits]
    features = document_features(chosen, ranker.frozen.encoder, ranker.splitter, f"infer {name}")
    arrays = {"text_score": np.array([_text(ranker.network, rows) for rows in features.rows], dtype=np.float64)}
    for task, size in tasks:
        scored = []
        for document, rows, texts in zip(chosen, features.rows, features.texts, strict=True):
            rng = generator(draws, task, size, document.id)
            orders = shuffled_orders(task, size, texts, shuffles, rng)
            scored.append(score_orders(ranker.network, rows, orders) if len(orders) else np.zeros(0))
        arrays[f"{task}_{size}"] = np.concatenate(scored) if scored else np.zeros(0)
        arrays[f"{task}_{size}_lengths"] = np.array([len(row) for row in scored], dtype=np.int64)
    return Readout(tuple(d.id for d in chosen), tuple(d.split for d in chosen), arrays)


def _text(network: RankerNetwork, rows: np.ndarray) -> float:
    return float(score_orders(network, rows, np.zeros((0, len(rows)), dtype=np.int64))[0]) if len(rows) > 1 else np.nan


@torch.no_grad()
def score_orders(network: RankerNetwork, rows: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Scores of a text as it stands and under each of ``orders`` (orders, sentences): float64 (1 + orders,)."""
    everything = np.concatenate([np.arange(len(rows))[None], orders.astype(np.int64)])
    parts = [
        network(torch.from_numpy(rows[everything[start : start + ORDERS_AT_ONCE]])).double().numpy()
        for start in range(0, len(everything), ORDERS_AT_ONCE)
    ]
    return np.concatenate(parts)
