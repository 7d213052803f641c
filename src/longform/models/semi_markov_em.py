r"""Fit a hidden semi-Markov language model by expectation-maximisation with exact expected counts.

With one joint table $W[g, z]$ the M-step is a column normalisation, $W = N / \sum_g N$, and
$A_{ij} = \xi_{ij} / \sum_j \xi_{ij}$. deng2022 (section 5.1, appendix) maximises the same likelihood by
Adam, first one epoch with transitions and lengths frozen; that phase is ``pretraining`` here.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from longform.models.ngrams import NgramTable, build_ngrams, token_types
from longform.models.semi_markov import ROWS_PER_BLOCK, SemiMarkovLM, blocks_of
from longform.models.semi_markov_scan import Scan, add_segment_counts, full_scans, pack, transition_counts
from longform.numerics import generator, perplexity
from longform.units import BadInput

ROWS_PER_SLICE = 65_536  # ours: table rows normalised at once, so that the M-step needs no third table
MASS_FLOOR = 1e-30  # ours: probabilities below it become 0, which keeps float32 products out of the denormals


@dataclass(frozen=True)
class Compute:
    """How much machine a fit may take; none of it changes what is computed, beyond rounding.

    Attributes:
        rows_per_block: positions scanned at once; memory is about 4 C vectors of ``dtype`` per row and thread.
        threads: blocks scanned at once; sums run in block order, so results do not depend on it, bit for bit.
        dtype: float32 or float64; a sequence whose float32 likelihood vanishes is scanned again in float64.
    """

    rows_per_block: int = ROWS_PER_BLOCK
    threads: int = 1
    dtype: str = "float32"


@dataclass(frozen=True)
class Iteration:
    """What one E-step saw.

    Attributes:
        number: from 0.
        log_likelihood: summed over the explained sequences, nats, under the tables before this iteration's M-step.
        tokens: tokens of those sequences.
        lost: sequences of probability zero, left out of both sums.
        states_in_use: states with at least one expected segment.
        effective_states: exponential of the entropy of the states' shares of segments.
        frozen: whether transitions and lengths were kept fixed.
    """

    number: int
    log_likelihood: float
    tokens: int
    lost: int
    states_in_use: int
    effective_states: float
    frozen: bool

    @property
    def perplexity(self) -> float:
        """Per token, ``<space>`` tokens included."""
        return perplexity(self.log_likelihood, self.tokens)

    def line(self, tokens_per_second: float) -> str:
        """One progress line."""
        phase = "pretraining" if self.frozen else "em"
        return (
            f"{phase} {self.number}: ppl {self.perplexity:.4f} tokens/s {tokens_per_second:,.0f} "
            f"states in use {self.states_in_use} (effective {self.effective_states:.1f}) lost {self.lost}"
        )


@dataclass(frozen=True)
class Fit:
    """A model and the iterations that led to it; all that a resumed fit needs."""

    model: SemiMarkovLM
    history: tuple[Iteration, ...] = ()

    @property
    def log_likelihoods(self) -> np.ndarray:
        """Log-likelihood before each M-step, (iterations,)."""
        return np.array([step.log_likelihood for step in self.history])


@dataclass
class Expectation:
    """Expected counts of one pass over the corpus."""

    log_likelihood: float
    tokens: int
    lost: int
    transitions: np.ndarray
    segments: np.ndarray


def initial_model(ngrams: NgramTable, *, num_states: int, seed: int, dtype: str = "float32") -> SemiMarkovLM:
    """Near-uniform transitions and lengths (Xavier bounds, as in deng2022's code), exponential noise on n-grams.

    The paper's Xavier emission start is so flat that EM would keep all states alike for many iterations
    (one state's n-grams then differ by 0.5 %), so each n-gram's share is uniform times Exponential(1) noise.
    """
    draw = generator("semi-Markov start", seed, num_states)
    bound = np.sqrt(6 / (2 * num_states))
    transitions = np.exp(draw.uniform(-bound, bound, (num_states, num_states)))
    transitions /= transitions.sum(axis=1, keepdims=True)
    bound = np.sqrt(6 / (num_states + ngrams.max_duration))
    durations = np.exp(draw.uniform(-bound, bound, (ngrams.max_duration, num_states)))
    durations[np.diff(ngrams.starts) == 0] = 0
    durations /= durations.sum(axis=0)
    joint = np.empty((ngrams.rows, num_states), dtype)
    for n, (start, stop) in enumerate(zip(ngrams.starts, ngrams.starts[1:], strict=False)):
        draw.standard_exponential(out=joint[start:stop], dtype=joint.dtype)
        joint[start:stop] *= (durations[n] / joint[start:stop].sum(axis=0, dtype=np.float64)).astype(dtype)
    return SemiMarkovLM(ngrams, transitions.astype(dtype), joint)


def expectation(
    model: SemiMarkovLM,
    encoded: Sequence[np.ndarray],
    compute: Compute,
    on_block: Callable[[int, float], None] | None = None,
) -> Expectation:
    """Exact expected counts over a corpus, streamed block by block.

    Args:
        encoded: token ids of each sequence.
        on_block: called after each block with tokens and log-likelihood so far.
    """
    total = Expectation(0.0, 0, 0, np.zeros(model.transitions.shape), np.zeros_like(model.joint))
    tables, blocks = model.tables, blocks_of([len(ids) for ids in encoded], compute.rows_per_block)
    done = [threading.Event() for _ in blocks]

    def add(place: int) -> None:
        try:
            found = pack([model.ngrams.index(encoded[i]) for i in blocks[place]])
            scans = full_scans(found, tables)
            pairs = [transition_counts(scan) for scan in scans]
            if place:
                done[place - 1].wait()  # sums run in block order, whatever the threads
            for scan, counts in zip(scans, pairs, strict=True):
                _accumulate(total, scan, counts)
            total.lost += int(np.sum(np.isneginf(scans[-1].log_partition)))
            if on_block:
                on_block(total.tokens, total.log_likelihood)
        finally:
            done[place].set()

    with ThreadPoolExecutor(compute.threads) as pool:
        list(pool.map(add, range(len(blocks))))
    return total


def _accumulate(total: Expectation, scan: Scan, pairs: np.ndarray) -> None:
    explained = np.isfinite(scan.log_partition)
    total.log_likelihood += float(scan.log_partition[explained].sum())
    total.tokens += int(scan.block.lengths[explained].sum())
    total.transitions += pairs
    if scan.tables.rows is None:
        add_segment_counts(scan, total.segments)
    else:
        counts = np.zeros(scan.tables.joint.shape)
        add_segment_counts(scan, counts)
        total.segments[scan.tables.rows] += counts.astype(total.segments.dtype)


def maximise(model: SemiMarkovLM, expected: Expectation, *, frozen: bool) -> SemiMarkovLM:
    """M-step: normalise the expected counts, in place; what had no counts keeps its old probabilities.

    Args:
        frozen: keep transitions and P(duration | state), as in deng2022's pretraining epoch.
    """
    starts = model.ngrams.starts
    if frozen:
        for n in range(model.max_duration):
            part = slice(starts[n], starts[n + 1])
            mass = model.joint[part].sum(axis=0, dtype=np.float64)
            _normalise(expected.segments[part], model.joint[part], mass)
        return replace(model, joint=expected.segments)
    _normalise(expected.segments, model.joint, np.ones(model.num_states))
    sums = expected.transitions.sum(axis=1, keepdims=True)
    rows = np.where(sums > 0, expected.transitions / np.where(sums > 0, sums, 1), model.transitions)
    return replace(model, joint=expected.segments, transitions=rows.astype(model.transitions.dtype))


def _normalise(counts: np.ndarray, old: np.ndarray, mass: np.ndarray) -> None:
    """Scale the columns of ``counts`` to sums ``mass``; a column without counts becomes ``old``'s."""
    sums = np.zeros(counts.shape[1])
    slices = [slice(i, i + ROWS_PER_SLICE) for i in range(0, len(counts), ROWS_PER_SLICE)]
    for part in slices:
        sums += counts[part].sum(axis=0, dtype=np.float64)
    empty = np.flatnonzero(sums <= 0)
    factors = (mass / np.where(sums > 0, sums, 1)).astype(counts.dtype)
    for part in slices:
        counts[part] *= factors
        counts[part][counts[part] < MASS_FLOOR] = 0
        counts[part][:, empty] = old[part][:, empty]


def fit_em(
    sequences: Sequence,
    *,
    num_states: int,
    max_duration: int,
    iterations: int,
    seed: int,
    pretraining: int = 1,
    cap: int = 250_000,
    compute: Compute = Compute(),
    start: SemiMarkovLM | Fit | None = None,
    on_iteration: Callable[[Fit], None] | None = None,
    on_block: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit by EM; the log-likelihood never falls, beyond rounding.

    Args:
        sequences: token strings or token ids of each sequence (ids need ``start``, which brings the vocabulary).
        num_states, max_duration: C and K (800 and 11 in deng2022).
        iterations: passes over the corpus in all, ``pretraining`` included.
        seed: names the random start.
        pretraining: first passes with transitions and lengths frozen (deng2022: one epoch).
        cap: see :func:`longform.models.ngrams.build_ngrams`.
        start: a model to start from, or a :class:`Fit` to resume exactly where it stopped.
        on_iteration: called with the fit after each M-step; save it there, and resume from what was saved.
        on_block: see :func:`expectation`.

    Raises:
        BadInput: no sequences, or a start of another shape.
    """
    if not len(sequences):
        raise BadInput("semi-Markov fit: got 0 sequences, allowed is one or more; check the corpus and its split")
    if start is None:
        tokens = token_types(sequences)
        ngrams = build_ngrams(_encode(sequences, tokens), tokens=tokens, max_duration=max_duration, cap=cap)
        start = initial_model(ngrams, num_states=num_states, seed=seed, dtype=compute.dtype)
    fit = start if isinstance(start, Fit) else Fit(start)
    _check_shape(fit.model, num_states, max_duration)
    encoded = [fit.model.ngrams.encode(s, f"sequence {i}") for i, s in enumerate(sequences)]
    for number in range(len(fit.history), iterations):
        expected = expectation(fit.model, encoded, compute, on_block)
        seen = _iteration(number, expected, number < pretraining)
        fit = Fit(maximise(fit.model, expected, frozen=seen.frozen), (*fit.history, seen))
        if on_iteration:
            on_iteration(fit)
    return fit


def _encode(sequences: Sequence, tokens: tuple[str, ...]) -> list[np.ndarray]:
    place = {token: i for i, token in enumerate(tokens)}
    return [np.array([place[token] for token in sequence], dtype=np.int64) for sequence in sequences]


def _check_shape(model: SemiMarkovLM, num_states: int, max_duration: int) -> None:
    got = (model.num_states, model.max_duration)
    if got != (num_states, max_duration):
        raise BadInput(
            f"semi-Markov fit: the start has (num_states, max_duration) = {got}, allowed is "
            f"{(num_states, max_duration)}; start from a checkpoint of that shape or from none"
        )


def _iteration(number: int, expected: Expectation, frozen: bool) -> Iteration:
    used = expected.transitions.sum(axis=0)
    shares = used[used > 0] / used.sum() if used.sum() > 0 else np.ones(1)
    effective = float(np.exp(-(shares * np.log(shares)).sum()))
    return Iteration(
        number, expected.log_likelihood, expected.tokens, expected.lost, int(np.sum(used >= 1)), effective, frozen
    )


def save_fit(fit: Fit, folder: Path) -> None:
    """Write a fit beside its old version and swap the two, so that a kill leaves one whole checkpoint."""
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fit.model.save(fresh)
    history = [asdict(step) for step in fit.history]
    (fresh / "history.json").write_text(json.dumps(history, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    stale = folder.with_name(folder.name + ".old")
    shutil.rmtree(stale, ignore_errors=True)
    if folder.exists():
        folder.rename(stale)
    fresh.rename(folder)
    shutil.rmtree(stale, ignore_errors=True)


def load_fit(folder: Path, *, num_states: int | None = None, max_duration: int | None = None) -> Fit:
    """Read what :func:`save_fit` wrote, also when it was killed between its two renames.

    Raises:
        BadInput: no checkpoint, or one of another shape.
    """
    stale = folder.with_name(folder.name + ".old")
    folder = folder if folder.exists() or not stale.exists() else stale
    model = SemiMarkovLM.load(folder, num_states=num_states, max_duration=max_duration)
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    return Fit(model, tuple(Iteration(**step) for step in history))
