r"""Training a correlated topic model by variational EM (Blei and Lafferty 2007).

As deng2022 section 6 uses it. The E-step raises a lower bound of $\log p(w)$ document by document;
the M-step maximises it: $\mu = \bar\lambda$, $\Sigma = \bar\nu + \mathrm{cov}(\lambda)$,
$\beta_{kw} \propto \sum_d c_{dw} \phi_{dwk}$, unsmoothed. Start and stopping follow the authors'
program.
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
# such grants in a row before EM ends where it stands (ours; the program would go on for ever)
PATIENCE = 10
SPAN = 256  # documents (or words) that one thread takes at a time
CHECKPOINT = "checkpoint"  # the folder in a fit's scratch
WIDEST = 10.0  # variance that a document starts from, if the prior allows it (authors' program)
WARM_UP = 6  # numbers that GSL's generator draws and drops after it is seeded

Checkpoint = Callable[[TopicModel, Progress], None]
# Where each word's nonzeros start, (terms + 1,); document and entry number of each nonzero
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def fit(
    documents: Sequence[Document],
    *,
    seed: int,
    topics: int,
    name: str = "topics",
    min_count: int = 5,
    max_share: float = 0.5,
    settings: TopicSettings | Mapping[str, Any] = RELEASED,
    scratch: Path | None = None,
) -> TopicModel:
    """Fit a correlated topic model to the documents of split train.

    Args:
        documents: of any splits.
        seed: of the start; ``RELEASED_SEED`` gives the authors' program's own.
        topics: how many.
        name: of the model, for the lines of progress.
        min_count, max_share: as for :func:`~longform.critics.topics.model.build_vocabulary`.
        settings: of the fit; a mapping is taken as fields of :class:`TopicSettings`.
        scratch: a folder for a checkpoint every ``lag`` iterations, taken up again if one is there.

    Raises:
        InputError: no document of split train, or fewer than two words pass.
        ConfigError: fewer than two topics, or settings that are not allowed.
    """
    # 1. The vocabulary, and the counts of documents that have a word of it.
    training = [document for document in documents if document.split == "train"]
    if not training:
        raise InputError(f"train {name}: got zero documents of split train; the corpus needs some")
    vocabulary = topic_model.build_vocabulary(training, min_count=min_count, max_share=max_share)
    if not isinstance(settings, TopicSettings):
        settings = TopicSettings(**settings)
    all_counts, unknown = count_terms(training, vocabulary)
    counts = all_counts.take(np.flatnonzero(np.diff(all_counts.starts)))
    # 2. Where to start: from the seed, or where an earlier process left off.
    facts = {
        "documents": len(counts),
        "tokens": int(counts.tokens.sum()),
        "seed": seed,
        "documents_without_terms": len(training) - len(counts),
        "tokens_outside_vocabulary": int(unknown.sum()),
    }
    seeded = seeded_model(counts, topics=topics, seed=seed)
    start = replace(seeded, vocabulary=vocabulary, facts=facts)
    if scratch is not None:
        start = _begun(name, scratch / CHECKPOINT) or start
    # 3. EM, with a line and perhaps a checkpoint after every iteration.
    lag = settings.lag

    def report(model: TopicModel, step: Progress) -> None:
        print(
            f"train {name}: iteration {step.iteration}, ELBO {step.bound:.1f}, "
            f"{step.rounds:.1f} rounds a document, {step.converged:.0%} converged",
            flush=True,
        )
        if scratch is not None and step.iteration % lag == 0:
            with atomic_write(scratch / CHECKPOINT) as folder:
                model.save(folder)

    return maximise(counts, start, settings=settings, checkpoint=report)


def _begun(name: str, folder: Path) -> TopicModel | None:
    """The checkpoint of an earlier process, to go on from; None where there is none.

    A damaged one is none as well, and is reported.
    """
    if not folder.is_dir():
        return None
    try:
        return TopicModel.load(folder)
    except (ArtefactError, InputError) as error:
        print(f"train {name}: the checkpoint is missing or cut ({error}); starts over", flush=True)
        return None


def seeded_model(counts: TermCounts, *, topics: int, seed: int = RELEASED_SEED) -> TopicModel:
    """The model that EM starts from, as in the authors' program.

    Logits are standard normal. Each topic has the counts of one document that is drawn for it, plus
    1 + U(0, 1) for every word, normalised.

    Raises:
        ConfigError: fewer than two topics.
        InputError: fewer than two words.
    """
    topic_model.check_sizes(topics, counts.size)
    # a row a topic: the draw of its document, then one for each word
    uniform = tausworthe(seed, topics * (1 + counts.size)).reshape(topics, 1 + counts.size)
    beta = uniform[:, 1:] + SEED_SMOOTHING
    documents = np.floor(uniform[:, 0] * len(counts)).astype(int)
    for topic, document in enumerate(documents):
        row = slice(counts.starts[document], counts.starts[document + 1])
        beta[topic, counts.terms[row]] += counts.counts[row]
    beta = beta / beta.sum(axis=1, keepdims=True)
    free = topics - 1
    return TopicModel((), beta, np.zeros(free), np.eye(free), np.eye(free))


@numba.njit(cache=True)
def tausworthe(seed, size):
    """Uniform numbers in [0, 1) of the GNU Scientific Library's ``taus`` (L'Ecuyer 1996).

    Args:
        seed: of 32 bits; 0 stands for 1, as there.
        size: how many numbers.

    Returns:
        float64 (size,).
    """
    mask = np.uint64(0xFFFFFFFF)  # the arithmetic is of 32 bits
    # 1. Three states, from the seed by a linear congruential generator.
    state = np.empty(3, np.uint64)
    last = np.uint64(seed if seed != 0 else 1) & mask
    for i in range(3):
        last = (np.uint64(69069) * last) & mask
        state[i] = last
    # 2. Each number: every state shifts by itself, without its lowest one, three or four bits, and
    #    the bits of the three are combined by exclusive or.
    numbers = np.empty(size + WARM_UP)
    for i in range(size + WARM_UP):
        a, b, c = state
        a_bits = ((a << np.uint64(13)) & mask) ^ a
        b_bits = ((b << np.uint64(2)) & mask) ^ b
        c_bits = ((c << np.uint64(3)) & mask) ^ c
        a = (((a & np.uint64(4294967294)) << np.uint64(12)) & mask) ^ (a_bits >> np.uint64(19))
        b = (((b & np.uint64(4294967288)) << np.uint64(4)) & mask) ^ (b_bits >> np.uint64(25))
        c = (((c & np.uint64(4294967280)) << np.uint64(17)) & mask) ^ (c_bits >> np.uint64(11))
        state[0] = a
        state[1] = b
        state[2] = c
        numbers[i] = np.float64(a ^ b ^ c) / 4294967296.0
    return numbers[WARM_UP:]


@dataclass(frozen=True)
class Expectation:
    """Variational posteriors of documents.

    Attributes:
        logits: means, (documents, topics - 1).
        variances: of the logits, (documents, topics - 1).
        bounds: evidence lower bound of each document, nats, (documents,).
        rounds: coordinate rounds that each took, (documents,).
        ratios: count over word probability under exp(lambda - top), where top is the largest entry
            of a document's lambda or zero, (nonzeros,).
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
    counts: TermCounts, model: TopicModel, settings: TopicSettings, start: Expectation | None = None
) -> Expectation:
    """The E-step: posteriors of every document under a model.

    Args:
        counts: of the documents' words; each document has one, and a topic gives each word a
            probability.
        model: whose terms are those of ``counts``.
        settings: rounds, tolerance, floats and threads are taken.
        start: where the ascent begins; by default zero logits, as in the original program, and a
            variance of 10 or the most that $1 / S_{kk}$ allows.

    Raises:
        InputError: a document or a word as above is missing, or the terms are of another number.
    """
    _check_counts(counts, model)
    size = len(counts)
    free = model.topics - 1
    # 1. Where each document starts.
    if start is None:
        first_logits = np.zeros((size, free))
        first_variances = np.tile(np.minimum(WIDEST, 1 / np.diag(model.precision)), (size, 1))
    else:
        first_logits = start.logits
        first_variances = start.variances
    # 2. All arrays in the settings' floats, over a multiple of LANES topics: first the free ones,
    #    then the fixed one, whose logit is zero, then padding without any mass.
    floats = np.dtype(settings.floats)
    width = -(-model.topics // LANES) * LANES
    with_fixed = np.pad(first_logits, ((0, 0), (0, 1)))
    logits = _padded(with_fixed, width, ABSENT, floats)
    variances = _padded(first_variances, width, 0.0, floats)
    precision = np.eye(width, dtype=floats)
    precision[:free, :free] = model.precision
    parameters = (
        _padded(model.beta.T, width, 0.0, floats),
        precision,
        _padded(np.append(model.mean, 0.0), width, ABSENT, floats),
    )
    # 3. The ascent, by spans of documents.
    counts_of_terms = counts.counts.astype(floats)
    rounds_at_most = settings.rounds if settings.rounds > 0 else UNLIMITED
    constant = 0.5 * (model.log_det_precision + model.topics - 1)
    limits = (free, rounds_at_most, settings.tolerance, constant)
    bounds = np.zeros(size)
    rounds = np.zeros(size, np.int64)
    ratios = np.zeros(len(counts.terms), floats)

    def ascend(span: tuple[int, int]) -> None:
        corpus = (counts.starts, counts.terms, counts_of_terms, span)
        ascend_documents(corpus, parameters, limits, (logits, variances), (bounds, rounds, ratios))

    _in_spans(ascend, size, settings.threads)
    return Expectation(
        logits=logits[:, :free].astype(float),
        variances=variances[:, :free].astype(float),
        bounds=bounds,
        rounds=rounds,
        ratios=ratios,
    )


def _check_counts(counts: TermCounts, model: TopicModel) -> None:
    """Raise InputError where a model cannot read the counts."""
    empty = np.flatnonzero(np.diff(counts.starts) == 0)
    if len(empty):
        raise InputError(
            f"topic model: document number {empty[0]} has no known word; leave it out and count it"
        )
    terms = model.beta.shape[1]
    if counts.size != terms:
        raise InputError(
            f"topic model: counts over {counts.size} terms, the model has {terms}; recount"
        )
    has_topic = model.beta.max(axis=0)[counts.terms] > 0
    if not has_topic.all():
        term = counts.terms[np.argmin(has_topic)]
        raise InputError(
            f"topic model: no topic gives term {term} any probability; "
            "drop the term from the documents"
        )


def _padded(values: np.ndarray, width: int, fill: float, floats: np.dtype) -> np.ndarray:
    """Values of a float type, the last axis filled up to ``width`` entries with ``fill``."""
    padded = np.full((*values.shape[:-1], width), fill, floats)
    padded[..., : values.shape[-1]] = values
    return padded


def _in_spans(work: Callable[[tuple[int, int]], None], size: int, threads: int) -> None:
    """Do ``work`` on (first, last) of every ``SPAN`` of so many documents or words."""
    spans = []
    for first in range(0, size, SPAN):
        spans.append((first, min(first + SPAN, size)))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, spans))


def columns_of(counts: TermCounts) -> Columns:
    """The document-term matrix by columns (words); documents stay in order within a word.

    Returns:
        Where each word starts, int64 (terms + 1,), and the document and the entry number of each
        nonzero, int64 (nonzeros,).
    """
    entries = np.argsort(counts.terms, kind="stable")
    document_of_entry = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
    starts = np.searchsorted(counts.terms[entries], np.arange(counts.size + 1)).astype(np.int64)
    return starts, document_of_entry[entries], entries


def word_counts(
    posteriors: Expectation, columns: Columns, model: TopicModel, threads: int = 1
) -> np.ndarray:
    r"""Expected counts of words in topics, $\sum_d c_{dw} \phi_{dwk}$.

    Args:
        posteriors: of the documents.
        columns: of these documents' counts, by :func:`columns_of`.
        model: that gave the posteriors.
        threads: change no bit.

    Returns:
        float64 (topics, terms).
    """
    fixed = np.zeros((len(posteriors.logits), 1))
    logits = np.concatenate([posteriors.logits, fixed], axis=1)
    top = np.maximum(logits.max(axis=1, keepdims=True), 0.0)
    weights = np.exp(logits - top)
    beta = np.ascontiguousarray(model.beta.T)
    counts = np.empty_like(beta)

    def add_up(span: tuple[int, int]) -> None:
        expected_words((*columns, span), weights, posteriors.ratios, beta, counts)

    _in_spans(add_up, len(beta), threads)
    return counts.T


def maximise(
    counts: TermCounts,
    start: TopicModel,
    *,
    settings: TopicSettings = RELEASED,
    checkpoint: Checkpoint | None = None,
) -> TopicModel:
    """EM from a model until the bound stands still.

    Args:
        counts: of the documents' words.
        start: a model with a history goes on where that history ends.
        settings: of the fit.
        checkpoint: is called with the model and the record of each iteration.

    Returns:
        The last model, with a record of each iteration.
    """
    columns = columns_of(counts)
    model = start
    posteriors: Expectation | None = None  # where the E-step goes on; None starts it anew
    grants = 0  # of more rounds in a row
    while grants <= PATIENCE and not _is_done(model, settings):
        # 1. The E-step, and the bound's relative rise since the last one; bounds are negative.
        posteriors = expectation(counts, model, settings, start=posteriors)
        bound = posteriors.bound
        last_bound = model.history[-1].bound if model.history else 0.0
        change = (last_bound - bound) / last_bound if last_bound else math.inf
        # 2. A fall means that the E-step stopped too early: more rounds from where these ended.
        if change < 0:
            grants += 1
            settings = _with_more_rounds(settings)
            continue
        # 3. The M-step.
        step = Progress(
            iteration=len(model.history),
            bound=bound,
            change=change,
            rounds=float(posteriors.rounds.mean()),
            converged=_converged_share(posteriors, settings),
        )
        model = m_step(posteriors, columns, model, settings.threads)
        model = replace(model, history=(*model.history, step))
        posteriors = None
        grants = 0
        if checkpoint is not None:
            checkpoint(model, step)
    return model


def _is_done(model: TopicModel, settings: TopicSettings) -> bool:
    """Whether EM ends: after all its iterations, or a rise of the bound within the tolerance."""
    if not model.history:
        return False
    if len(model.history) >= settings.em_iterations:
        return True
    return model.history[-1].change <= settings.em_tolerance


def _with_more_rounds(settings: TopicSettings) -> TopicSettings:
    """Settings of a longer ascent: more rounds or, without a limit of these, a lower tolerance."""
    if settings.rounds > 0:
        return replace(settings, rounds=settings.rounds + MORE_ROUNDS)
    return replace(settings, tolerance=settings.tolerance / 10)


def _converged_share(posteriors: Expectation, settings: TopicSettings) -> float:
    """Share of documents that needed fewer rounds than are allowed."""
    if settings.rounds < 0:
        return 1.0
    return float((posteriors.rounds < settings.rounds).mean())


def m_step(
    posteriors: Expectation, columns: Columns, model: TopicModel, threads: int = 1
) -> TopicModel:
    """The M-step: the model whose parameters maximise the bound given the documents' posteriors.

    A topic without words keeps none. Arguments as for :func:`word_counts`.
    """
    expected = word_counts(posteriors, columns, model, threads)
    totals = expected.sum(axis=1, keepdims=True)
    beta = np.divide(expected, totals, out=np.zeros_like(expected), where=totals > 0)
    mean, covariance, precision = topic_model.gaussian(posteriors.logits, posteriors.variances)
    return replace(model, beta=beta, mean=mean, covariance=covariance, precision=precision)
