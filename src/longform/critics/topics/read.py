"""Reads topic proportions: each document's variational posterior under a fitted correlated topic model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.topics.counts import TermCounts, count_terms, words_of
from longform.critics.topics.expectation import Expectation, expectation
from longform.critics.topics.model import RELEASED_INFERENCE, TopicModel, TopicSettings
from longform.critics.topics.planted import planted_model, planted_words
from longform.documents import SPLITS, BadInput, Document, Readout, of_splits
from longform.text.kept_texts import pack


def read(
    documents: Sequence[Document],
    *,
    reader: TopicModel | Path,
    reader_truth: Mapping[str, np.ndarray] | None = None,
    splits: Sequence[str] = SPLITS,
    settings: TopicSettings | Mapping[str, Any] = RELEASED_INFERENCE,
    keep_text: bool = False,
) -> Readout:
    """Posterior of the topic logits, one row per document (deng2022 section 6; released settings by default).

    A document without a known word is kept with ``valid`` false and zeros, so that it is counted and never scored.

    Args:
        reader: a topic model, or the folder of one, or that of a planted corpus, whose own topics then read.
        reader_truth: the planted corpus's truth.
        settings: a mapping is taken as changes to the released inference settings.
        keep_text: put the documents' text beside what was read, for those that list outliers with their document.

    Returns:
        arrays ``lambda`` and ``nu`` (units, topics - 1): mean and variance of each logit; ``bound`` (units), nats;
        ``tokens`` and ``unknown`` (units): tokens inside and outside the vocabulary; ``valid`` (units); and of the
        model ``prior_mean_names`` (topics - 1) and ``prior_covariance_names`` (topics - 1, topics - 1).

    Raises:
        BadInput: no document of ``splits``, or a model that names no words.
    """
    reading = open_topics(reader, reader_truth, settings)
    documents = of_splits(documents, splits, "topic proportions")
    arrays = reading.of(documents)
    arrays |= pack([document.text for document in documents]) if keep_text else {}
    return Readout(tuple(d.id for d in documents), tuple(d.split for d in documents), arrays)


@dataclass(frozen=True)
class TopicReader:
    """A topic model with its way of taking words from text and of reading their topics."""

    model: TopicModel
    settings: TopicSettings
    words: Callable[[Document], list[str]]

    def of(self, documents: Sequence[Document]) -> dict[str, np.ndarray]:
        """The arrays of :func:`read`, one row per document."""
        counts, unknown = count_terms(documents, self.model.vocabulary, self.words)
        known, unspoken = _spoken(counts, self.model)
        valid = np.diff(known.starts) > 0
        rows = np.flatnonzero(valid)
        found = expectation(known.take(rows), self.model, self.settings) if len(rows) else _nothing(self.model)
        return {
            "lambda": _spread(found.logits, rows, len(documents)),
            "nu": _spread(found.variances, rows, len(documents)),
            "bound": _spread(found.bounds, rows, len(documents)),
            "tokens": known.tokens,
            "unknown": unknown + unspoken,
            "valid": valid,
            "prior_mean_names": self.model.mean,
            "prior_covariance_names": self.model.covariance,
        }


def open_topics(
    reader: TopicModel | Path,
    truth: Mapping[str, np.ndarray] | None,
    settings: TopicSettings | Mapping[str, Any] = RELEASED_INFERENCE,
) -> TopicReader:
    """A topic model, the folder of one, or a planted corpus's own topics, which read words without their endings.

    Raises:
        BadInput: a model that names no words, or a corpus without planted topics.
    """
    plan = settings if isinstance(settings, TopicSettings) else replace(RELEASED_INFERENCE, **settings)
    if truth and not isinstance(reader, TopicModel):
        model = planted_model(truth)
        return TopicReader(model, plan, planted_words(model.vocabulary))
    model = reader if isinstance(reader, TopicModel) else TopicModel.load(reader)
    if not model.vocabulary:
        raise BadInput("topic proportions: the model names no words; write <prefix>-vocabulary.txt beside its files")
    return TopicReader(model, plan, words_of)


def _spoken(counts: TermCounts, model: TopicModel) -> tuple[TermCounts, np.ndarray]:
    """Counts without the terms that no topic gives probability, and how many tokens of each document those were."""
    lost = ~(model.beta.max(axis=0)[counts.terms] > 0)
    owner = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
    dropped = np.bincount(owner[lost], counts.counts[lost], len(counts)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner[~lost], minlength=len(counts)))]).astype(np.int64)
    return replace(counts, starts=starts, terms=counts.terms[~lost], counts=counts.counts[~lost]), dropped


def _nothing(model: TopicModel) -> Expectation:
    empty = np.zeros((0, model.topics - 1))
    return Expectation(empty, empty, np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


def _spread(values: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    out = np.zeros((size, *values.shape[1:]))
    out[rows] = values
    return out
