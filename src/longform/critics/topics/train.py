r"""Training a correlated topic model by variational EM (Blei and Lafferty 2007), as deng2022 section 6 uses it.

The E-step raises a lower bound of $\log p(w)$ document by document; the M-step maximises it: $\mu = \bar\lambda$,
$\Sigma = \bar\nu + \mathrm{cov}(\lambda)$, $\beta_{kw} \propto \sum_d c_{dw} \phi_{dwk}$, unsmoothed. Start and stopping follow the authors' program.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numba
import numpy as np

from longform.critics.topics import model as topic_model
from longform.critics.topics.kernels import (
    ABSENT,
    LANES,
    UNLIMITED,
    ascend_documents,
    expected_words,
)
from longform.critics.topics.model import (
    RELEASED,
    Progress,
    TermCounts,
    TopicModel,
    TopicSettings,
    count_terms,
)
from longform.documents import Document
from longform.errors import ArtefactError, InputError
from longform.files.artefacts import atomic_write

SEED_SMOOTHING = 1.0  # added to every word of a seeded topic, beside U(0, 1) (authors' program)
RELEASED_SEED = 1115574245  # of the authors' program, fixed in its source
MORE_ROUNDS = 10  # rounds granted after an iteration that lowered the bound (authors' program)
PATIENCE = 10  # such grants in a row before EM ends where it stands (ours; the program would go on for ever)
SPAN = 256  # documents (or words) that one thread takes at a time
CHECKPOINT = "checkpoint"  # the folder in a fit's scratch
WIDEST = 10.0  # variance that a document starts from, if the prior allows it (authors' program)

Checkpoint = Callable[[TopicModel, Progress], None]
Columns = tuple[
    np.ndarray, np.ndarray, np.ndarray
]  # where each word starts; document and entry number of each nonzero


def fit(
    documents: Sequence[Document],
    *,
    seed: int,  # of the start; ``RELEASED_SEED`` gives the authors' program's own
    topics: int,
    name: str = "topics",
    min_count: int = 5,  # as the next of :func:`build_vocabulary`
    max_share: float = 0.5,
    settings: TopicSettings
    | Mapping[str, Any] = RELEASED,  # a mapping is taken as fields of :class:`TopicSettings`
    scratch: Path
    | None = None,  # a folder for a checkpoint every ``lag`` iterations, taken up again if one is there
) -> TopicModel:
    """Fit a correlated topic model to the documents of split train."""
    chosen = [document for document in documents if document.split == "train"]
    if not chosen:
        raise InputError(f"train {name}: got zero documents of split train; the corpus needs some")
    vocabulary = topic_model.build_vocabulary(chosen, min_count=min_count, max_share=max_share)
    plan = settings if isinstance(settings, TopicSettings) else TopicSettings(**settings)
    counts, unknown = count_terms(chosen, vocabulary)
    used = counts.take(np.flatnonzero(np.diff(counts.starts)))
    facts = {"documents": len(used), "tokens": int(used.tokens.sum()), "seed": seed}
    facts |= {
        "documents_without_terms": len(chosen) - len(used),
        "tokens_outside_vocabulary": int(unknown.sum()),
    }
    start = replace(
        seeded_model(used, topics=topics, seed=seed), vocabulary=vocabulary, facts=facts
    )

    def keep(model: TopicModel, step: Progress) -> None:
        text = f"ELBO {step.bound:.1f}, {step.rounds:.1f} rounds a document, {step.converged:.0%} converged"
        print(f"train {name}: iteration {step.iteration}, {text}", flush=True)
        if scratch is not None and step.iteration % plan.lag == 0:
            with atomic_write(scratch / CHECKPOINT) as fresh:
                model.save(fresh)

    if scratch is not None:
        start = _begun(name, scratch / CHECKPOINT) or start
    return maximise(used, start, settings=plan, checkpoint=keep)


def _begun(name: str, folder: Path) -> TopicModel | None:
    """The model that an earlier process left; None where it left none, or a damaged one, which is said."""
    if not folder.is_dir():
        return None
    try:
        return TopicModel.load(folder)
    except (ArtefactError, InputError) as error:
        print(f"train {name}: the checkpoint is missing or cut ({error}); starts over", flush=True)
        return None


def seeded_model(counts: TermCounts, *, topics: int, seed: int = RELEASED_SEED) -> TopicModel:
    """Standard normal logits, and each topic the counts of one drawn document + 1 + U(0, 1) per word, normalised."""
    topic_model.check_sizes(topics, counts.size)
    draws = tausworthe(seed, topics * (1 + counts.size)).reshape(topics, 1 + counts.size)
    beta = draws[:, 1:] + SEED_SMOOTHING
    for topic, document in enumerate(np.floor(draws[:, 0] * len(counts)).astype(int)):
        part = slice(counts.starts[document], counts.starts[document + 1])
        beta[topic, counts.terms[part]] += counts.counts[part]
    free = topics - 1
    return TopicModel(
        (), beta / beta.sum(axis=1, keepdims=True), np.zeros(free), np.eye(free), np.eye(free)
    )


@numba.njit(cache=True)
def tausworthe(seed, size):
    """Uniform numbers in [0, 1) of the GNU Scientific Library's ``taus`` (L'Ecuyer 1996)."""
    mask = np.uint64(0xFFFFFFFF)
    state = np.empty(3, np.uint64)
    last = np.uint64(seed if seed != 0 else 1) & mask
    for i in range(3):
        last = (np.uint64(69069) * last) & mask
        state[i] = last
    out = np.empty(size + 6)
    for i in range(size + 6):
        a, b, c = state
        p, q, r = (
            ((a << np.uint64(13)) & mask) ^ a,
            ((b << np.uint64(2)) & mask) ^ b,
            ((c << np.uint64(3)) & mask) ^ c,
        )
        a = (((a & np.uint64(4294967294)) << np.uint64(12)) & mask) ^ (p >> np.uint64(19))
        b = (((b & np.uint64(4294967288)) << np.uint64(4)) & mask) ^ (q >> np.uint64(25))
        c = (((c & np.uint64(4294967280)) << np.uint64(17)) & mask) ^ (r >> np.uint64(11))
        state[0], state[1], state[2] = a, b, c
        out[i] = np.float64(a ^ b ^ c) / 4294967296.0
    return out[6:]


@dataclass(frozen=True)
class Expectation:
    """Variational posteriors of documents."""

    logits: np.ndarray  # (documents, topics - 1) means
    variances: np.ndarray  # (documents, topics - 1)
    bounds: np.ndarray  # (documents,) evidence lower bound, nats
    rounds: np.ndarray  # (documents,) coordinate rounds taken
    ratios: (
        np.ndarray
    )  # (nonzeros,) count over word probability under exp(lambda - its row's largest entry or zero)

    @property
    def bound(self) -> float:
        """Sum of the documents' bounds, nats."""
        return float(self.bounds.sum())


def expectation(
    counts: TermCounts, model: TopicModel, settings: TopicSettings, start: Expectation | None = None
) -> Expectation:
    """Posteriors of every document under ``model``, from ``start`` on.

    That is by default zero logits, as in the original program, and a variance of 10 or the most that $1 / S_{ii}$ allows.
    """
    empty = np.flatnonzero(np.diff(counts.starts) == 0)
    if len(empty):
        raise InputError(
            f"topic model: document number {empty[0]} has no known word; leave it out and count it"
        )
    if counts.size != model.beta.shape[1]:
        raise InputError(
            f"topic model: counts over {counts.size} terms, the model has {model.beta.shape[1]}; recount"
        )
    lost = np.flatnonzero(~(model.beta.max(axis=0)[counts.terms] > 0))
    if len(lost):
        term = counts.terms[lost[0]]
        raise InputError(
            f"topic model: no topic gives term {term} any probability; drop the term from the documents"
        )
    size, free = len(counts), model.topics - 1
    if start is None:
        points = (
            np.zeros((size, free)),
            np.tile(np.minimum(WIDEST, 1 / np.diag(model.precision)), (size, 1)),
        )
    else:
        points = start.logits, start.variances
    constant = 0.5 * (model.log_det_precision + model.topics - 1)
    floats, width = (
        np.dtype(settings.floats),
        -(-model.topics // LANES) * LANES,
    )  # a padded topic has no mass

    def padded(values: np.ndarray, fill: float) -> np.ndarray:
        out = np.full((*values.shape[:-1], width), fill, floats)
        out[..., : values.shape[-1]] = values
        return out

    logits, variances = padded(np.pad(points[0], ((0, 0), (0, 1))), ABSENT), padded(points[1], 0.0)
    precision = np.eye(width, dtype=floats)
    precision[:free, :free] = model.precision
    parameters = padded(model.beta.T, 0.0), precision, padded(np.append(model.mean, 0.0), ABSENT)
    bounds, rounds, ratios = (
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros(len(counts.terms), floats),
    )
    limits = (
        free,
        settings.rounds if settings.rounds > 0 else UNLIMITED,
        settings.tolerance,
        constant,
    )
    numbers = counts.counts.astype(floats)

    def work(span: tuple[int, int]) -> None:
        rows = (counts.starts, counts.terms, numbers, span)
        ascend_documents(rows, parameters, limits, (logits, variances), (bounds, rounds, ratios))

    _in_spans(work, size, settings.threads)
    return Expectation(
        logits[:, :free].astype(float), variances[:, :free].astype(float), bounds, rounds, ratios
    )


def _in_spans(work: Callable[[tuple[int, int]], None], size: int, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, ((first, min(first + SPAN, size)) for first in range(0, size, SPAN))))


def columns_of(counts: TermCounts) -> Columns:
    """The document-term matrix by words; documents stay in order within a word."""
    entries = np.argsort(counts.terms, kind="stable")
    documents = np.repeat(np.arange(len(counts)), np.diff(counts.starts))[entries]
    return (
        np.searchsorted(counts.terms[entries], np.arange(counts.size + 1)).astype(np.int64),
        documents,
        entries,
    )


def word_counts(
    found: Expectation, columns: Columns, model: TopicModel, threads: int = 1
) -> np.ndarray:
    r"""(topics, terms) expected counts $\sum_d c_{dw} \phi_{dwk}$, float64, the same for any number of threads."""
    logits = np.concatenate([found.logits, np.zeros((len(found.logits), 1))], axis=1)
    weights = np.exp(logits - np.maximum(logits.max(axis=1, keepdims=True), 0.0))
    beta = np.ascontiguousarray(model.beta.T)
    out = np.empty_like(beta)

    def work(span: tuple[int, int]) -> None:
        expected_words((*columns, span), weights, found.ratios, beta, out)

    _in_spans(work, len(beta), threads)
    return out.T


def maximise(
    counts: TermCounts,
    start: TopicModel,
    *,
    settings: TopicSettings = RELEASED,
    checkpoint: Checkpoint | None = None,
) -> TopicModel:
    """EM from ``start`` until the bound stands still; a model with a history goes on where that history ends."""
    columns = columns_of(counts)
    model, found, grants = start, None, 0
    while grants <= PATIENCE:
        done = len(model.history)
        if done and (
            done >= settings.em_iterations or model.history[-1].change <= settings.em_tolerance
        ):
            break
        found = expectation(counts, model, settings, found)
        bound, old = found.bound, model.history[-1].bound if done else 0.0
        change = (old - bound) / old if old else math.inf
        if change < 0:
            grants += 1
            if settings.rounds > 0:
                settings = replace(settings, rounds=settings.rounds + MORE_ROUNDS)
            else:
                settings = replace(settings, tolerance=settings.tolerance / 10)
            continue
        within = (
            found.rounds < settings.rounds
            if settings.rounds > 0
            else np.ones(len(found.rounds), bool)
        )
        step = Progress(done, bound, change, float(found.rounds.mean()), float(within.mean()))
        model = replace(
            m_step(found, columns, model, settings.threads), history=(*model.history, step)
        )
        found, grants = None, 0
        if checkpoint is not None:
            checkpoint(model, step)
    return model


def m_step(found: Expectation, columns: Columns, model: TopicModel, threads: int = 1) -> TopicModel:
    """Parameters that maximise the bound given the documents' posteriors; a topic without words keeps none."""
    expected = word_counts(found, columns, model, threads)
    totals = expected.sum(axis=1, keepdims=True)
    beta = np.divide(expected, totals, out=np.zeros_like(expected), where=totals > 0)
    mean, covariance, precision = topic_model.gaussian(found.logits, found.variances)
    return replace(model, beta=beta, mean=mean, covariance=covariance, precision=precision)
