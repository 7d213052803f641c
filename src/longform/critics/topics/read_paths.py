"""Sentence topics as a path: each sentence read by a topic model as if it were a document, for the bridge's critics.

A sentence's latent is the mean of its topic logits' posterior (deng2022 section 6 reads documents so). The planted world
draws every sentence's topic from logits that follow a Brownian bridge, so with its own words this is the encoder that
sheng2024's score asks for, but for what a single sentence can tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.topics.model import RELEASED_INFERENCE, TopicModel, TopicSettings
from longform.critics.topics.read import TopicReader, open_topics
from longform.documents import SPLITS, Document, Readout, Section, of_splits
from longform.text.sentences import sentence_texts


def read(
    documents: Sequence[Document],
    *,
    reader: TopicModel | Path,
    reader_truth: Mapping[str, np.ndarray] | None = None,
    splits: Sequence[str] = SPLITS,
    settings: TopicSettings | Mapping[str, Any] = RELEASED_INFERENCE,
) -> Readout:
    """Ragged ``latents`` (sentences, topics - 1), ``text_ids`` and ``token_counts`` (known words), as ``bridge_paths``.

    A sentence without a known word speaks of no topic: it is left out of the path and counted in ``silent`` (units);
    ``sentence`` is each latent's place among the document's sentences.

    Args:
        reader: a topic model, or the folder of one, or that of a planted corpus, whose own topics then read.
        reader_truth: the planted corpus's truth.
        settings: a mapping is taken as changes to the released inference settings.

    Raises:
        BadInput: no document of ``splits``, or a model that names no words.
    """
    chosen = of_splits(documents, splits, "topic paths")
    found, rows, places = sentence_topics(chosen, open_topics(reader, reader_truth, settings))
    ids = np.concatenate([row[place] for row, place in zip(rows, places, strict=True)])
    lengths = np.array([len(place) for place in places], dtype=np.int64)
    arrays = {"latents": found["lambda"][ids], "text_ids": ids, "token_counts": found["tokens"][ids].astype(np.int64)}
    arrays["sentence"] = np.concatenate(places)
    arrays |= {f"{name}_lengths": lengths for name in tuple(arrays)}
    arrays["silent"] = np.array([len(row) for row in rows], dtype=np.int64) - lengths
    return Readout(tuple(d.id for d in chosen), tuple(d.split for d in chosen), arrays)


def sentence_topics(
    documents: Sequence[Document], reading: TopicReader
) -> tuple[dict[str, np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Every distinct sentence read once.

    Returns:
        what :class:`TopicReader` finds, a row per distinct sentence; per document the rows of its sentences, and the places
        of those that have a known word.
    """
    numbers: dict[str, int] = {}
    rows = [
        np.array([numbers.setdefault(text, len(numbers)) for text in sentence_texts(document.text)], dtype=np.int64)
        for document in documents
    ]
    found = reading.of([Document("", "", (Section("", text),)) for text in numbers])
    return found, rows, [np.flatnonzero(found["valid"][row]) for row in rows]
