r"""Fitting a hidden semi-Markov language model by expectation-maximisation: the steps, checkpoints and exact resume.

With one joint table $W[g, z]$ the M-step is a column normalisation, $W = N / \sum_g N$, and
$A_{ij} = \xi_{ij} / \sum_j \xi_{ij}$. deng2022 (section 5.1, appendix) maximises the same likelihood by
Adam, first one epoch with transitions and lengths frozen; that phase is ``pretraining`` here.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from longform.core.documents import BadInput
from longform.core.resampling import generator, perplexity
from longform.language_models.hsmm import compiled, on_device
from longform.language_models.hsmm.compiled import Expectation
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.hsmm.ngrams import NgramTable, build_ngrams

UNEVENNESS = 0.1  # ours: 1.0 needed a quarter more iterations on a language of 16 states, 0.03 no fewer
LEAST_SHARE = 1e-4  # ours: no n-gram starts at zero, from which EM could not move it
ROWS_PER_SLICE = 65_536  # ours: table rows normalised at once, so that the M-step needs no third table
MASS_FLOOR = 1e-30  # ours: probabilities below it become 0, which keeps float32 products out of the denormals


@dataclass(frozen=True)
class Compute:
    """What machine a fit runs on; none of it changes what is computed, beyond rounding.

    Attributes:
        device: "cpu" for the compiled scan, or a torch device for the scan in PyTorch.
        threads: blocks that the compiled scan works on at once; its results do not depend on it, bit for bit.
        dtype: float32 or float64; a sequence whose float32 likelihood vanishes is scanned again in float64.
        rows_per_block: positions scanned at once; by default what suits the device.
    """

    device: str = "cpu"
    threads: int = 1
    dtype: str = "float32"
    rows_per_block: int | None = None


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


def initial_model(ngrams: NgramTable, *, num_states: int, seed: int, dtype: str = "float32") -> SemiMarkovLM:
    """Near-uniform transitions and lengths (Xavier bounds, as in deng2022's code), uneven shares of n-grams.

    The paper's Xavier emission start is so flat that EM would keep all states alike for many iterations
    (one state's n-grams then differ by 0.5 %), so each n-gram's share is uniform times Gamma(``UNEVENNESS``) noise.
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
    for n, (start, stop) in enumerate(itertools.pairwise(ngrams.starts)):
        draw.standard_gamma(UNEVENNESS, out=joint[start:stop], dtype=joint.dtype)
        joint[start:stop] += LEAST_SHARE
        joint[start:stop] *= (durations[n] / joint[start:stop].sum(axis=0, dtype=np.float64)).astype(dtype)
    return SemiMarkovLM(ngrams, transitions.astype(dtype), joint)


def fit_em(
    sequences: Sequence[Sequence[str]],
    *,
    num_states: int,
    max_duration: int,
    iterations: int,
    seed: int,
    pretraining: int = 1,
    max_ngrams: int = 250_000,
    compute: Compute = Compute(),
    start: SemiMarkovLM | Fit | None = None,
    on_iteration: Callable[[Fit], None] | None = None,
) -> Fit:
    """Fit by EM; the log-likelihood never falls, beyond rounding.

    Args:
        sequences: tokens of each sequence.
        num_states, max_duration: C and K (800 and 11 in deng2022).
        iterations: passes over the corpus in all, ``pretraining`` included.
        seed: names the random start.
        pretraining: first passes with transitions and lengths frozen (deng2022: one epoch).
        max_ngrams: see :func:`longform.language_models.hsmm.ngrams.build_ngrams`.
        start: a model to start from, or a :class:`Fit` to resume exactly where it stopped.
        on_iteration: called with the fit after each M-step; save it there, and resume from what was saved.

    Raises:
        BadInput: no sequences, or a start of another shape.
    """
    if not len(sequences):
        raise BadInput("semi-Markov fit: got 0 sequences, allowed is one or more; check the corpus and its split")
    if start is None:
        ngrams = build_ngrams(sequences, max_duration=max_duration, max_ngrams=max_ngrams)
        start = initial_model(ngrams, num_states=num_states, seed=seed, dtype=compute.dtype)
    fit = start if isinstance(start, Fit) else Fit(start)
    shape, wanted = (fit.model.num_states, fit.model.max_duration), (num_states, max_duration)
    if shape != wanted:
        raise BadInput(
            f"semi-Markov fit: the start has (num_states, max_duration) = {shape}, allowed is {wanted}; "
            "start from a checkpoint of that shape or from none"
        )
    encoded = [fit.model.ngrams.encode(s, f"sequence {i}") for i, s in enumerate(sequences)]
    for number in range(len(fit.history), iterations):
        expected = expectation(fit.model, encoded, compute)
        seen = iteration_of(number, expected, number < pretraining)
        fit = Fit(maximise(fit.model, expected, frozen=seen.frozen), (*fit.history, seen))
        if on_iteration:
            on_iteration(fit)
    return fit


def expectation(model: SemiMarkovLM, encoded: Sequence[np.ndarray], compute: Compute) -> Expectation:
    """Exact expected counts of sequences of token ids under a model, in NumPy arrays."""
    lengths = [len(ids) for ids in encoded]
    blocks = {"rows_per_block": compute.rows_per_block} if compute.rows_per_block else {}

    def index_of(i: int) -> np.ndarray:
        return model.ngrams.index(encoded[i])

    if compute.device == "cpu":
        return compiled.expectation(model.tables, lengths, index_of, threads=compute.threads, **blocks)
    tables = [torch.tensor(table, device=compute.device) for table in (model.transitions, model.joint)]
    counts = on_device.expectation(*tables, lengths, index_of, **blocks)
    return replace(counts, transitions=counts.transitions.cpu().numpy(), segments=counts.segments.cpu().numpy())


def maximise(model: SemiMarkovLM, expected: Expectation, *, frozen: bool) -> SemiMarkovLM:
    """M-step: normalise the expected counts, in place; what had no counts keeps its old probabilities.

    Args:
        frozen: keep transitions and P(duration | state), as in deng2022's pretraining epoch.
    """
    if frozen:
        starts = model.ngrams.starts
        for part in (slice(a, b) for a, b in itertools.pairwise(starts)):
            _normalise(expected.segments[part], model.joint[part], model.joint[part].sum(axis=0, dtype=np.float64))
        return replace(model, joint=expected.segments)
    _normalise(expected.segments, model.joint, np.ones(model.num_states))
    sums = expected.transitions.sum(axis=1, keepdims=True)
    rows = np.where(sums > 0, expected.transitions / np.where(sums > 0, sums, 1), model.transitions)
    return replace(model, joint=expected.segments, transitions=rows.astype(model.transitions.dtype))


def _normalise(counts: np.ndarray, old: np.ndarray, mass: np.ndarray) -> None:
    """Scale the columns of ``counts`` to sums ``mass``; a column without counts becomes ``old``'s."""
    slices = [slice(i, i + ROWS_PER_SLICE) for i in range(0, len(counts), ROWS_PER_SLICE)]
    sums = np.zeros(counts.shape[1])
    for part in slices:
        sums += counts[part].sum(axis=0, dtype=np.float64)
    empty = np.flatnonzero(sums <= 0)
    factors = (mass / np.where(sums > 0, sums, 1)).astype(counts.dtype)
    for part in slices:
        counts[part] *= factors
        counts[part][counts[part] < MASS_FLOOR] = 0
        counts[part][:, empty] = old[part][:, empty]


def iteration_of(number: int, expected: Expectation, frozen: bool) -> Iteration:
    """What an E-step saw, as a record."""
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
