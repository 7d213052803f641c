"""The E-step of the correlated topic model: every document's variational posterior, and the expected word counts."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from longform.core.documents import BadInput
from longform.critics.topics.kernels import ABSENT, LANES, UNLIMITED, ascend_documents, expected_words
from longform.critics.topics.model import TermCounts, TopicModel, TopicSettings

SPAN = 256  # documents (or words) that one thread takes at a time
WIDEST = 10.0  # variance that a document starts from, if the prior allows it (authors' program)


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


def expectation(
    counts: TermCounts,
    model: TopicModel,
    settings: TopicSettings,
    start: Expectation | None = None,
    *,
    device: str = "cpu",
) -> Expectation:
    """Posteriors of every document under ``model``.

    Args:
        start: where the documents start; by default from zero logits, as the original program does, and from variance
            10 or the largest that $1 / S_{ii}$ allows.
        device: "cpu" for the compiled loops; on another one the documents go in padded batches, in PyTorch.
    """
    empty = np.flatnonzero(np.diff(counts.starts) == 0)
    if len(empty):
        raise BadInput(f"topic model: document number {empty[0]} has no known word; leave it out and count it")
    if counts.size != model.beta.shape[1]:
        raise BadInput(f"topic model: counts over {counts.size} terms, the model has {model.beta.shape[1]}; recount")
    lost = np.flatnonzero(~(model.beta.max(axis=0)[counts.terms] > 0))
    if len(lost):
        term = counts.terms[lost[0]]
        raise BadInput(f"topic model: no topic gives term {term} any probability; drop the term from the documents")
    if start is None:
        points = np.zeros((len(counts), model.topics - 1)), np.minimum(WIDEST, 1 / np.diag(model.precision))
        points = points[0], np.tile(points[1], (len(counts), 1))
    else:
        points = start.logits, start.variances
    constant = 0.5 * (model.log_det_precision + model.topics - 1)
    if device == "cpu":
        return _compiled(counts, model, settings, points, constant)
    from longform.critics.topics.on_device import ascend_batches

    logits, variances, bounds, rounds, ratios = ascend_batches(counts, model, settings, points, device)
    return Expectation(logits, variances, bounds + constant, rounds, ratios)


def _compiled(
    counts: TermCounts,
    model: TopicModel,
    settings: TopicSettings,
    points: tuple[np.ndarray, np.ndarray],
    constant: float,
) -> Expectation:
    """The compiled loops on arrays padded to whole vector registers: a padded topic has no mass."""
    floats, size, free = np.dtype(settings.floats), len(counts), model.topics - 1
    width = -(-model.topics // LANES) * LANES

    def padded(values: np.ndarray, fill: float) -> np.ndarray:
        out = np.full((*values.shape[:-1], width), fill, floats)
        out[..., : values.shape[-1]] = values
        return out

    logits, variances = padded(np.pad(points[0], ((0, 0), (0, 1))), ABSENT), padded(points[1], 0.0)
    precision = np.eye(width, dtype=floats)
    precision[:free, :free] = model.precision
    parameters = padded(model.beta.T, 0.0), precision, padded(np.append(model.mean, 0.0), ABSENT)
    bounds, rounds, ratios = np.zeros(size), np.zeros(size, np.int64), np.zeros(len(counts.terms), floats)
    limits = (free, settings.rounds if settings.rounds > 0 else UNLIMITED, settings.tolerance, constant)
    numbers = counts.counts.astype(floats)

    def work(span: tuple[int, int]) -> None:
        rows = (counts.starts, counts.terms, numbers, span)
        ascend_documents(rows, parameters, limits, (logits, variances), (bounds, rounds, ratios))

    _in_spans(work, size, settings.threads)
    return Expectation(logits[:, :free].astype(float), variances[:, :free].astype(float), bounds, rounds, ratios)


def _in_spans(work: Callable[[tuple[int, int]], None], size: int, threads: int) -> None:
    """Run ``work`` on spans of at most ``SPAN``; which thread takes which span changes nothing."""
    spans = [(first, min(first + SPAN, size)) for first in range(0, size, SPAN)]
    if threads == 1:
        for span in spans:
            work(span)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, spans))


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
        expected_words((columns.starts, columns.documents, columns.entries, span), weights, found.ratios, beta, out)

    _in_spans(work, len(beta), threads)
    return out.T
