"""The E-step over a corpus: padded arrays for the compiled kernel, threads over documents, expected word counts."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from longform.critics.topics.counts import TermCounts
from longform.critics.topics.kernels import ABSENT, LANES, ascend_documents
from longform.critics.topics.model import TopicModel, TopicSettings
from longform.critics.topics.words import expected_words
from longform.documents import BadInput

SPAN = 256  # documents (or words) that one thread takes at a time
WIDEST = 10.0  # variance that a document starts from, if the prior allows it (authors' program)
UNLIMITED = 10_000  # rounds where the settings name no limit: far beyond what 1e-6 takes


@dataclass(frozen=True)
class Expectation:
    """Variational posteriors of documents.

    Attributes:
        logits, variances: (documents, topics - 1) mean and variance of each logit.
        bounds: (documents,) evidence lower bound, nats.
        rounds: (documents,) coordinate rounds taken.
        ratios: (nonzeros,) count over word probability under exp(lambda - its row's largest entry or zero).
    """

    logits: np.ndarray
    variances: np.ndarray
    bounds: np.ndarray
    rounds: np.ndarray
    ratios: np.ndarray

    @property
    def bound(self) -> float:
        """Sum of the documents' bounds, nats."""
        return float(self.bounds.sum())


def bound_constant(model: TopicModel) -> float:
    r"""$\tfrac12 (\log |S| + K - 1)$, which every document's bound contains."""
    return 0.5 * (model.log_det_precision + model.topics - 1)


def expectation(
    counts: TermCounts, model: TopicModel, settings: TopicSettings, start: Expectation | None = None
) -> Expectation:
    """Posteriors of every document under ``model``.

    Args:
        start: where the documents start; by default from zero logits, as the original program does.

    Raises:
        BadInput: a document without terms, or a term to which no topic gives probability.
    """
    _check(counts, model)
    if settings.engine == "batched":
        from longform.critics.topics.batches import ascend_batched

        return ascend_batched(counts, model, settings, first_points(counts, model, start))
    return _compiled(counts, model, settings, first_points(counts, model, start))


def first_points(
    counts: TermCounts, model: TopicModel, start: Expectation | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Logits and variances to start from: zero, and 10 or the largest value that $1 / S_{ii}$ allows."""
    if start is not None:
        return start.logits, start.variances
    widest = np.minimum(WIDEST, 1 / np.diag(model.precision))
    return np.zeros((len(counts), model.topics - 1)), np.tile(widest, (len(counts), 1))


def _check(counts: TermCounts, model: TopicModel) -> None:
    empty = np.flatnonzero(np.diff(counts.starts) == 0)
    if len(empty):
        raise BadInput(f"topic model: document number {empty[0]} has no known word; leave it out and count it")
    if counts.size != model.beta.shape[1]:
        raise BadInput(f"topic model: counts over {counts.size} terms, the model has {model.beta.shape[1]}; recount")
    lost = np.flatnonzero(~(model.beta.max(axis=0)[counts.terms] > 0))
    if len(lost):
        term = counts.terms[lost[0]]
        raise BadInput(f"topic model: no topic gives term {term} any probability; drop the term from the documents")


def _compiled(
    counts: TermCounts, model: TopicModel, settings: TopicSettings, points: tuple[np.ndarray, np.ndarray]
) -> Expectation:
    floats = np.dtype(settings.floats)
    free, size = model.topics - 1, len(counts)
    logits = _padded(points[0], model.topics, floats, ABSENT)
    logits[:, free] = 0
    variances = _padded(points[1], model.topics, floats, 0.0)
    bounds, rounds, ratios = np.zeros(size), np.zeros(size, np.int64), np.zeros(len(counts.terms), floats)
    limit = settings.rounds if settings.rounds > 0 else UNLIMITED
    parameters = _parameters(model, floats)
    limits = (free, limit, settings.tolerance, bound_constant(model))
    numbers = counts.counts.astype(floats)

    def work(span: tuple[int, int]) -> None:
        rows = (counts.starts, counts.terms, numbers, span)
        ascend_documents(rows, parameters, limits, (logits, variances), (bounds, rounds, ratios))

    in_spans(work, size, settings.threads)
    return Expectation(logits[:, :free].astype(float), variances[:, :free].astype(float), bounds, rounds, ratios)


def in_spans(work: Callable[[tuple[int, int]], None], size: int, threads: int) -> None:
    """Run ``work`` on spans of at most ``SPAN``; which thread takes which span changes nothing."""
    spans = [(first, min(first + SPAN, size)) for first in range(0, size, SPAN)]
    if threads == 1:
        for span in spans:
            work(span)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, spans))


def _parameters(model: TopicModel, floats: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    free, width = model.topics - 1, -(-model.topics // LANES) * LANES
    beta = np.zeros((model.beta.shape[1], width), floats)
    beta[:, : model.topics] = model.beta.T
    precision = np.eye(width, dtype=floats)
    precision[:free, :free] = model.precision
    mean = np.full(width, ABSENT, floats)
    mean[: model.topics] = np.append(model.mean, 0.0)
    return beta, precision, mean


def _padded(values: np.ndarray, topics: int, floats: np.dtype, fill: float) -> np.ndarray:
    width = -(-topics // LANES) * LANES
    out = np.full((len(values), width), fill, floats)
    out[:, : topics - 1] = values
    return out


@dataclass(frozen=True)
class Columns:
    """The document-term matrix by words: where each word starts, and document and entry number of each nonzero."""

    starts: np.ndarray
    documents: np.ndarray
    entries: np.ndarray


def columns_of(counts: TermCounts) -> Columns:
    """Sort the entries of a document-term matrix by word; documents stay in order within a word."""
    entries = np.argsort(counts.terms, kind="stable")
    documents = np.repeat(np.arange(len(counts)), np.diff(counts.starts))[entries]
    starts = np.searchsorted(counts.terms[entries], np.arange(counts.size + 1))
    return Columns(starts.astype(np.int64), documents, entries)


def word_counts(found: Expectation, columns: Columns, model: TopicModel, threads: int = 1) -> np.ndarray:
    r"""(topics, terms) expected counts $\sum_d c_{dw} \phi_{dwk}$, float64, the same for any number of threads."""
    logits = np.concatenate([found.logits, np.zeros((len(found.logits), 1))], axis=1)
    weights = np.exp(logits - np.maximum(logits.max(axis=1, keepdims=True), 0.0))
    beta = np.ascontiguousarray(model.beta.T)
    out = np.empty_like(beta)

    def work(span: tuple[int, int]) -> None:
        rows = (columns.starts, columns.documents, columns.entries, span)
        expected_words(rows, weights, found.ratios, beta, out)

    in_spans(work, len(beta), threads)
    return out.T
