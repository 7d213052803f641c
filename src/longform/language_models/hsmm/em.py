"""Fitting a hidden semi-Markov language model by EM: the loop, its record, checkpoints and exact resume."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from longform.documents import BadInput
from longform.language_models.hsmm.device import device_expectation
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.ngrams import NgramTable, build_ngrams, token_types
from longform.language_models.hsmm.steps import Compute, Expectation, expectation, maximise
from longform.resampling import generator, perplexity

ONE_THREAD = Compute()
UNEVENNESS = 0.1  # ours: 1.0 needed a quarter more iterations on a language of 16 states, 0.03 no fewer
LEAST_SHARE = 1e-4  # ours: no n-gram starts at zero, from which EM could not move it


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
    for n, (start, stop) in enumerate(zip(ngrams.starts, ngrams.starts[1:], strict=False)):
        draw.standard_gamma(UNEVENNESS, out=joint[start:stop], dtype=joint.dtype)
        joint[start:stop] += LEAST_SHARE
        joint[start:stop] *= (durations[n] / joint[start:stop].sum(axis=0, dtype=np.float64)).astype(dtype)
    return SemiMarkovLM(ngrams, transitions.astype(dtype), joint)


def fit_em(
    sequences: Sequence,
    *,
    num_states: int,
    max_duration: int,
    iterations: int,
    seed: int,
    pretraining: int = 1,
    cap: int = 250_000,
    compute: Compute = ONE_THREAD,
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
        cap: see :func:`longform.language_models.hsmm.ngrams.build_ngrams`.
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
    expect = device_expectation if compute.device else expectation
    for number in range(len(fit.history), iterations):
        expected = expect(fit.model, encoded, compute, on_block)
        seen = iteration_of(number, expected, number < pretraining)
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
