r"""Does a text end on the topics that it began with? Words of its second half under the topics of its first.

Document completion (Wallach et al. 2009, section 5.1): the topic logits' posterior is read from the first half of the
sentences (deng2022 section 6), and each word of the others has $p(w) = \beta_w^\top \mathrm{softmax}([\lambda, 0])$, the
posterior's mean plugged in. The layout is that of a language model's log-probabilities, so perplexity judges it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.topics.model import RELEASED_INFERENCE, TopicModel, TopicSettings
from longform.critics.topics.read import open_topics
from longform.documents import SPLITS, Document, Readout, Section, of_splits
from longform.text.sentences import sentences

TOKEN = re.compile(r"\S+")


def read(
    documents: Sequence[Document],
    *,
    reader: TopicModel | Path,
    reader_truth: Mapping[str, np.ndarray] | None = None,
    splits: Sequence[str] = SPLITS,
    settings: TopicSettings | Mapping[str, Any] = RELEASED_INFERENCE,
) -> Readout:
    """Ragged ``token_logprob``, nats, and ``token_span`` (words, 2), characters, of the second half's known words.

    There are none where the first half has no known word.

    The first half is the sentences before the middle one; of an odd number the middle one belongs to the second half.

    Args:
        reader: a topic model, or the folder of one, or that of a planted corpus, whose own topics then read.
        reader_truth: the planted corpus's truth.
        settings: a mapping is taken as changes to the released inference settings.

    Raises:
        BadInput: no document of ``splits``, or a model that names no words.
    """
    chosen = of_splits(documents, splits, "topic completion")
    reading = open_topics(reader, reader_truth, settings)
    halves = [_halves(document) for document in chosen]
    found = reading.of([begun for begun, _, _ in halves])
    logits = np.append(found["lambda"], np.zeros((len(chosen), 1)), axis=1)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    spoken = reading.model.beta.max(axis=0) > 0
    known = {word: i for i, word in enumerate(reading.model.vocabulary) if spoken[i]}
    values, places = [], []
    for (_, ended, spans), shares, valid in zip(halves, weights, found["valid"], strict=True):
        pairs = zip(reading.words(ended), spans, strict=True)
        kept = [(known[word], span) for word, span in pairs if valid and word in known]
        values.append(np.log((shares[:, None] * reading.model.beta[:, [term for term, _ in kept]]).sum(axis=0)))
        places.append(np.array([span for _, span in kept], dtype=np.int64).reshape(-1, 2))
    arrays = {"token_logprob": np.concatenate(values), "token_span": np.concatenate(places)}
    arrays |= {f"{name}_lengths": np.array([len(row) for row in values], dtype=np.int64) for name in tuple(arrays)}
    return Readout(tuple(d.id for d in chosen), tuple(d.split for d in chosen), arrays)


def _halves(document: Document) -> tuple[Document, Document, list[tuple[int, int]]]:
    """The sentences before the middle one, the others, and where each white-space token of these stands."""
    text, found = document.text, sentences(document.text)
    middle = len(found) // 2
    first, second = (
        replace(document, sections=(Section(None, " ".join(text[a:b] for a, b in part)),))
        for part in (found[:middle], found[middle:])
    )
    spans = [(a + token.start(), a + token.end()) for a, b in found[middle:] for token in TOKEN.finditer(text[a:b])]
    return first, second, spans
