r"""Fitting a hidden semi-Markov language model by expectation-maximisation.

The steps, checkpoints and exact resume. With one joint table $W[g, z]$ the M-step is a column
normalisation, $W = N / \sum_g N$, and $A_{ij} = \xi_{ij} / \sum_j \xi_{ij}$. deng2022 (section 5.1,
appendix) maximises the same likelihood by Adam, first one epoch with transitions and lengths
frozen; that phase is ``pretraining`` here.

The model may grow meanwhile: a model of few states already finds which n-grams are segments. The
others' rows become zero and leave the table; places of a text that no path over the rows left can
reach leave the text; only then do states, whose number the time is quadratic in, begin anew, each
with its own uneven share of what the model knows of n-grams.
"""

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numba import njit

from longform.errors import ArtefactError, ConfigError, InputError
from longform.files.artefacts import read_json
from longform.hsmm import compiled, on_device
from longform.hsmm.compiled import MASS_FLOOR, ROWS_PER_SLICE, Expectation
from longform.hsmm.model import NgramTable, SemiMarkovLM, build_ngrams
from longform.statistics.arithmetic import perplexity
from longform.statistics.random_streams import generator

# ours: n-grams of so many tokens or fewer are never dropped, so that unseen text can be spelt;
# with 1 the perplexity of such text doubles
SPELLING = 3
# ours: 1.0 needed a quarter more iterations on a language of 16 states, 0.03 no fewer
UNEVENNESS = 0.1
# ours: no n-gram starts at zero, from which EM could not move it
LEAST_SHARE = 1e-4


@dataclass(frozen=True)
class Compute:
    """Where and how a fit is computed; results differ by rounding only.

    Attributes:
        device: a torch device.
        threads: blocks that the compiled scan works on at once; its results do not depend on it,
            bit for bit.
        dtype: float32, or float64, in which a sequence whose float32 likelihood vanishes is scanned
            again.
        engine: "compiled", "torch", or "auto" for the compiled scan on the processor and torch's on
            any other device.
    """

    device: str = "cpu"
    threads: int = 1
    dtype: str = "float32"
    engine: str = "auto"

    @property
    def by_torch(self) -> bool:
        """Whether scans and M-steps are torch's, on the device."""
        return self.engine == "torch" or (self.engine == "auto" and self.device != "cpu")


@dataclass(frozen=True)
class Iteration:
    """Statistics of one E-step, under the tables before this iteration's M-step.

    Attributes:
        number: of the iteration, from 0.
        log_likelihood, tokens, lost: as in :class:`Expectation`.
        states_in_use: states with at least one expected segment.
        effective_states: exponential of the entropy of the states' shares of segments.
        frozen: whether transitions and lengths were kept fixed.
        states, ngrams: numbers of states and n-grams of the tables.
        validation_ppl: perplexity of validation texts after the M-step; None without any.
    """

    number: int
    log_likelihood: float
    tokens: int
    lost: int
    states_in_use: int
    effective_states: float
    frozen: bool
    states: int
    ngrams: int
    validation_ppl: float | None = None

    @property
    def perplexity(self) -> float:
        """Training perplexity per token, ``<space>`` tokens included."""
        return perplexity(self.log_likelihood, self.tokens)

    def line(self, tokens_per_second: float) -> str:
        """A line of progress."""
        phase = "pretraining" if self.frozen else "em"
        validation = ""
        if self.validation_ppl is not None:
            validation = f", validation {self.validation_ppl:.4f}"
        return (
            f"{phase} {self.number}: ppl {self.perplexity:.4f}{validation}, "
            f"{tokens_per_second:,.0f} tokens/s, "
            f"states in use {self.states_in_use} of {self.states} "
            f"(effective {self.effective_states:.1f}), "
            f"{self.ngrams:,} n-grams, lost {self.lost}"
        )


def iteration_of(number: int, expected: Expectation, frozen: bool) -> Iteration:
    """Summarise an E-step.

    Args:
        number: of the iteration.
        expected: the expected counts.
        frozen: whether the M-step keeps transitions and lengths.
    """
    # Every transition leads to one segment, so column sums are segments of each state, (C,).
    segments = expected.transitions.sum(axis=0)
    shares = segments[segments > 0] / segments.sum()
    entropy = -(shares * np.log(shares)).sum()
    return Iteration(
        number=number,
        log_likelihood=expected.log_likelihood,
        tokens=expected.tokens,
        lost=expected.lost,
        states_in_use=int(np.sum(segments >= 1)),
        effective_states=float(np.exp(entropy)),
        frozen=frozen,
        states=len(segments),
        ngrams=len(expected.segments),
    )


@dataclass(frozen=True)
class Fit:
    """A model and the iterations that led to it; all that a resumed fit needs."""

    model: SemiMarkovLM
    history: tuple[Iteration, ...] = ()

    def save(self, folder: Path, sealed: bool = False) -> None:
        """Save the fit; a kill at any time leaves one complete checkpoint.

        The new version is written beside the old one, then the two are swapped.

        Args:
            folder: where the model and ``history.json`` are written.
            sealed: whether the digest of each file is written too, by which :meth:`load` tells a
                damaged one.
        """
        fresh = folder.with_name(folder.name + ".new")
        stale = folder.with_name(folder.name + ".old")
        shutil.rmtree(fresh, ignore_errors=True)
        self.model.save(fresh)
        history = [asdict(step) for step in self.history]
        text = json.dumps(history, indent=1, sort_keys=True) + "\n"
        (fresh / "history.json").write_text(text, encoding="utf-8")
        if sealed:
            seal = json.dumps(_digests(fresh)) + "\n"
            (fresh / SEAL).write_text(seal, encoding="utf-8")
        shutil.rmtree(stale, ignore_errors=True)
        if folder.exists():
            folder.rename(stale)
        fresh.rename(folder)
        shutil.rmtree(stale, ignore_errors=True)

    @classmethod
    def load(cls, folder: Path) -> "Fit":
        """Load a fit that :meth:`save` wrote with ``sealed``.

        Raises:
            ArtefactError: a file is absent, cut, or not the one that was sealed.
        """
        seal = folder / SEAL
        if not seal.is_file() or read_json(seal) != _digests(folder):
            raise ArtefactError(
                f"{folder}: a file is missing, cut or damaged; remove the folder to start over"
            )
        model = SemiMarkovLM.load(folder)
        history = []
        for iteration in read_json(folder / "history.json"):
            history.append(Iteration(**iteration))
        return cls(model, tuple(history))


SEAL = "digests.json"


def _digests(folder: Path) -> dict[str, str]:
    """The digest of every file in a folder but the seal, by name."""
    digests = {}
    for path in sorted(folder.iterdir()):
        if path.name != SEAL:
            with path.open("rb") as file:
                digests[path.name] = hashlib.file_digest(file, "blake2b").hexdigest()
    return digests


@dataclass(frozen=True)
class Plan:
    """The schedule of an EM fit.

    Attributes:
        iterations: passes over the corpus in all, ``pretraining`` included.
        pretraining: first passes with transitions and lengths frozen (deng2022: one epoch).
        growth: (states, passes) of each stage before the model has all its states.
        min_count: an n-gram with fewer expected segments leaves the table; 0 keeps all.
        until: with all states, EM ends when two iterations together lower validation PPL by less
            than this share of it; 0 for never.
    """

    iterations: int
    pretraining: int = 1
    growth: Sequence[tuple[int, int]] = ()
    min_count: float = 0.0
    until: float = 0.0

    def states(self, number: int, num_states: int) -> int:
        """Number of states in iteration ``number``, of ``num_states`` after all growth."""
        for states, passes in self.growth:
            if number < passes:
                return states
            number -= passes
        return num_states

    def ended(self, history: Sequence[Iteration], num_states: int) -> bool:
        """Whether the fit is finished: all iterations done, or no progress any more."""
        if len(history) >= self.iterations:
            return True
        # The last three iterations, as far as they had all states.
        ppl = []
        for iteration in history[-3:]:
            if iteration.states == num_states:
                ppl.append(cast(float, iteration.validation_ppl))
        return bool(self.until) and len(ppl) == 3 and ppl[2] > (1 - self.until) * ppl[0]


class Keeper:
    """Called by a fit while it runs, to save and resume it; this base class saves nothing."""

    def begun(self, number: int) -> Expectation | None:
        """Return the sums of iteration ``number`` that a killed process saved; None if none."""

    def block(self, number: int, total: Expectation, blocks: int) -> None:
        """Called after each of the ``blocks`` blocks of iteration ``number`` with the sums."""

    def iteration(self, fit: Fit) -> None:
        """Called after each iteration."""


def fit_em(
    sequences: Sequence[Sequence[str]],
    *,
    num_states: int,
    max_duration: int,
    plan: Plan,
    seed: int,
    max_ngrams: int = 250_000,
    compute: Compute = Compute(),
    start: SemiMarkovLM | Fit | None = None,
    validate: Callable[[SemiMarkovLM], float] | None = None,
    keeper: Keeper | None = None,
) -> Fit:
    """Fit sequences of tokens by EM.

    The log-likelihood never falls, beyond rounding, while the states and n-grams stay.

    Args:
        sequences: tokens of each text.
        num_states, max_duration: C and K (800 and 11 in deng2022).
        plan: the schedule.
        seed: of the random start.
        max_ngrams: most n-grams of each length, see :func:`longform.hsmm.model.build_ngrams`.
        compute: what machine the fit runs on.
        start: a model to start from, or a :class:`Fit` to resume exactly where it stopped; by
            default a random one.
        validate: returns the validation PPL of a model.
        keeper: is called after each block of an E-step and after each iteration; what it saves
            can be resumed.

    Raises:
        InputError: no sequences.
        ConfigError: a start of another shape.
    """
    if not len(sequences):
        raise InputError(
            "semi-Markov fit: got 0 sequences, allowed is one or more; "
            "check the corpus and its split"
        )
    if start is None:
        ngrams = build_ngrams(sequences, max_duration=max_duration, max_ngrams=max_ngrams)
        states = plan.states(0, num_states)
        start = initial_model(ngrams, num_states=states, seed=seed, dtype=compute.dtype)
    fit = start if isinstance(start, Fit) else Fit(start)
    _check_shape(fit, plan, num_states, max_duration)
    keeper = keeper or Keeper()
    encoded = []
    for i, sequence in enumerate(sequences):
        encoded.append(fit.model.ngrams.encode(sequence, f"sequence {i}"))
    while not plan.ended(fit.history, num_states):
        number, model = len(fit.history), fit.model
        # 1. The model grows where the plan says so.
        states = plan.states(number, num_states)
        if states != model.num_states:
            model = begun_anew(model, states, seed)
        # 2. E-step.
        expected = expectation(
            model,
            encoded,
            compute,
            squeeze=plan.min_count > 0,
            begun=keeper.begun(number),
            on_block=partial(keeper.block, number),
        )
        iteration = iteration_of(number, expected, number < plan.pretraining)
        # 3. M-step, without what is too rare.
        if plan.min_count and not iteration.frozen:
            drop_rare(expected.segments, plan.min_count)
        model = maximise(model, expected, frozen=iteration.frozen)
        if plan.min_count:
            model = compacted(model)
        # 4. Validate and report.
        if validate:
            iteration = replace(iteration, validation_ppl=validate(model))
        fit = Fit(model, (*fit.history, iteration))
        keeper.iteration(fit)
    return fit


def _check_shape(fit: Fit, plan: Plan, num_states: int, max_duration: int) -> None:
    """Raises ConfigError: a fit does not have the states and durations of the plan at its stage."""
    states = plan.states(max(0, len(fit.history) - 1), num_states)
    shape = (fit.model.num_states, fit.model.max_duration)
    expected_shape = (states, max_duration)
    if shape != expected_shape:
        raise ConfigError(
            f"semi-Markov fit: the start has (num_states, max_duration) = {shape}, "
            f"allowed is {expected_shape}; start from a checkpoint of that shape or from none"
        )


def initial_model(
    ngrams: NgramTable, *, num_states: int, seed: int, dtype: str = "float32"
) -> SemiMarkovLM:
    """A model with random tables, from which EM starts.

    Transitions and lengths are near-uniform (Xavier bounds, as in deng2022's code); the n-grams'
    shares have Gamma(``UNEVENNESS``) noise. The paper's Xavier emission start is so flat that EM
    would keep all states alike for many iterations (0.5 % apart).

    Args:
        ngrams: rows of the joint table.
        num_states: C.
        seed: of the random numbers.
        dtype: type of the tables.
    """
    rng = generator("semi-Markov start", seed, num_states)
    transitions = near_uniform(rng, num_states)
    # P(length | state); a length without n-grams has none.
    bound = np.sqrt(6 / (num_states + ngrams.max_duration))
    durations = np.exp(rng.uniform(-bound, bound, (ngrams.max_duration, num_states)))
    durations[np.diff(ngrams.starts) == 0] = 0
    durations /= durations.sum(axis=0)
    # The n-grams of each length share its probability unevenly.
    joint = np.empty((ngrams.rows, num_states), dtype)
    for n, (start, stop) in enumerate(itertools.pairwise(ngrams.starts)):
        rows = joint[start:stop]
        rng.standard_gamma(UNEVENNESS, out=rows, dtype=joint.dtype)
        rows += LEAST_SHARE
        rows *= (durations[n] / rows.sum(axis=0, dtype=np.float64)).astype(dtype)
    return SemiMarkovLM(ngrams, transitions.astype(dtype), joint)


def near_uniform(rng: np.random.Generator, num_states: int) -> np.ndarray:
    """Transitions within the Xavier bound, as in deng2022's code, (C, C)."""
    bound = np.sqrt(6 / (2 * num_states))
    transitions = np.exp(rng.uniform(-bound, bound, (num_states, num_states)))
    return transitions / transitions.sum(axis=1, keepdims=True)


def begun_anew(model: SemiMarkovLM, num_states: int, seed: int) -> SemiMarkovLM:
    """A model of more states, random but for the n-grams' mean probabilities, which it keeps.

    Each state's probabilities are the old states' mean, made uneven by Gamma noise; transitions
    are a random start.

    Args:
        model: a model of fewer states.
        num_states: C of the new model.
        seed: of the random numbers.
    """
    rng = generator("semi-Markov growth", seed, num_states)
    dtype = model.joint.dtype
    joint = rng.standard_gamma(UNEVENNESS, (model.ngrams.rows, num_states), dtype=dtype)
    joint += LEAST_SHARE
    joint *= model.joint.mean(axis=1, dtype=np.float64).astype(dtype)[:, None]
    joint /= joint.sum(axis=0, dtype=np.float64).astype(dtype)
    transitions = near_uniform(rng, num_states).astype(dtype)
    return replace(model, transitions=transitions, joint=joint)


def expectation(
    model: SemiMarkovLM,
    encoded: Sequence[np.ndarray],
    compute: Compute,
    *,
    squeeze: bool = False,
    begun: Expectation | None = None,
    on_block: Callable[[Expectation, int], None] | None = None,
) -> Expectation:
    """Exact expected counts of sequences of token ids under a model.

    Args:
        model: current tables.
        encoded: token ids of each sequence, (T_i,).
        compute: what machine scans.
        squeeze: whether to leave out the places of a text where no segment of positive probability
            can end (:func:`.squeezed`).
        begun, on_block: as in :func:`compiled.expectation`; torch's scan ignores them.

    Returns:
        The counts as arrays; only ``segments`` of torch's scan stay a tensor of the device.
    """
    tokens = [len(ids) for ids in encoded]
    lengths = tokens
    indices: list[np.ndarray] | None = None
    if squeeze:
        indices, tokens = _squeezed_indices(model, encoded, compute.threads)
        lengths = [len(index) for index in indices]

    def index_of(i: int) -> np.ndarray:
        return model.ngrams.index(encoded[i]) if indices is None else indices[i]

    if compute.by_torch:
        transitions = torch.tensor(model.transitions, device=compute.device)
        joint = torch.tensor(model.joint, device=compute.device)
        expected = on_device.expectation(transitions, joint, lengths, index_of, tokens=tokens)
        # The segments stay on the device for the M-step.
        expected.transitions = expected.transitions.cpu().numpy()
    else:
        expected = compiled.expectation(
            model.tables,
            lengths,
            index_of,
            tokens=tokens,
            threads=compute.threads,
            begun=begun,
            on_block=on_block,
        )
    # What is squeezed to nothing has no path.
    num_lost = expected.lost + len(encoded) - len(tokens)
    return replace(expected, lost=num_lost)


def _squeezed_indices(
    model: SemiMarkovLM, encoded: Sequence[np.ndarray], threads: int
) -> tuple[list[np.ndarray], list[int]]:
    """Squeeze the index arrays of all sequences, leaving out sequences without a path.

    Returns:
        Squeezed index array (S_i, K) and number of tokens of each sequence with a path.
    """
    is_alive = np.asarray(model.joint.any(axis=1))
    with ThreadPoolExecutor(threads) as pool:
        squeezing = pool.map(lambda ids: squeezed(model.ngrams.index(ids), is_alive), encoded)
        squeezed_indices = list(squeezing)
    indices: list[np.ndarray] = []
    tokens: list[int] = []
    for ids, index in zip(encoded, squeezed_indices, strict=True):
        if len(index):
            indices.append(index)
            tokens.append(len(ids))
    return indices, tokens


@njit(cache=True, nogil=True)
def squeezed(index, alive):  # pragma: no cover - compiled
    """Remove from a text's index array the positions that no path can pass through.

    Positions are the T + 1 boundaries of tokens; a path goes in segments from the first to the
    last. Two positions have at most one segment between them, so the scan over the shorter array
    gives the same likelihood and the same counts.

    Args:
        index: int32 (T, K), the row in the table of segments of that with k + 1 tokens from
            position t on, -1 where the table has none.
        alive: bool (G,), which of the table's G rows have positive probability in some state.

    Returns:
        int32 (positions - 1, K), the same of the positions that are left: the segment from one of
        them to the (k + 1)-th after it. No rows where no path exists.
    """
    length, longest = index.shape
    # 1. Positions that a path from the start reaches.
    reached = np.zeros(length + 1, np.bool_)
    reached[0] = True
    for t in range(length):
        if reached[t]:
            for k in range(min(longest, length - t)):
                g = index[t, k]
                if g >= 0 and alive[g]:
                    reached[t + k + 1] = True
    # 2. Positions from which a path reaches the end.
    reaching = np.zeros(length + 1, np.bool_)
    reaching[length] = True
    for t in range(length - 1, -1, -1):
        for k in range(min(longest, length - t)):
            g = index[t, k]
            if g >= 0 and alive[g] and reaching[t + k + 1]:
                reaching[t] = True
    # 3. The segments between positions that are both; i and j number those positions.
    positions = np.flatnonzero(reached & reaching)
    new_index = np.full((max(0, len(positions) - 1), longest), -1, np.int32)
    for i in range(len(new_index)):
        for j in range(i + 1, min(len(positions), i + 1 + longest)):
            k = positions[j] - positions[i] - 1
            if k < longest:
                g = index[positions[i], k]
                if g >= 0 and alive[g]:
                    new_index[i, j - i - 1] = g
    return new_index


def maximise(model: SemiMarkovLM, expected: Expectation, *, frozen: bool) -> SemiMarkovLM:
    """M-step: normalise the expected counts, in place, on the device that holds them.

    What had no counts keeps its old probabilities.

    Args:
        model: the tables of the E-step.
        expected: its counts; they become the new tables.
        frozen: whether to keep transitions and P(duration | state), as in deng2022's pretraining
            epoch.
    """
    counts = expected.segments
    normalise = on_device.normalise if isinstance(counts, torch.Tensor) else _normalise
    if frozen:
        # The n-grams of each length keep the mass that they have together.
        for start, stop in itertools.pairwise(model.ngrams.starts):
            old = model.joint[start:stop]
            normalise(counts[start:stop], old, old.sum(axis=0, dtype=np.float64))
        return replace(model, joint=_as_array(counts))
    normalise(counts, model.joint, np.ones(model.num_states))
    sums = expected.transitions.sum(axis=1, keepdims=True)
    shares = expected.transitions / np.where(sums > 0, sums, 1)
    transitions = np.where(sums > 0, shares, model.transitions).astype(model.transitions.dtype)
    return replace(model, joint=_as_array(counts), transitions=transitions)


def _as_array(counts: np.ndarray | torch.Tensor) -> np.ndarray:
    """Counts as an array on the processor."""
    return counts.cpu().numpy() if isinstance(counts, torch.Tensor) else counts


def drop_rare(segments: np.ndarray | torch.Tensor, min_count: float) -> None:
    """Set counts (G, C) of n-grams with fewer than ``min_count`` expected segments to zero."""
    if isinstance(segments, torch.Tensor):
        segments[segments.sum(dim=1, dtype=torch.float64) < min_count] = 0
    else:
        segments[segments.sum(axis=1, dtype=np.float64) < min_count] = 0


def _normalise(counts: np.ndarray, old: np.ndarray, mass: np.ndarray) -> None:
    """Scale each column of ``counts`` to a sum, in place; one of zeros becomes that of ``old``.

    Args:
        counts: expected segments, (G, C); changed.
        old: the table before, (G, C), of the same type.
        mass: sum of each column afterwards, float64 (C,).
    """
    slices = [slice(i, i + ROWS_PER_SLICE) for i in range(0, len(counts), ROWS_PER_SLICE)]
    sums = np.zeros(counts.shape[1])
    for rows in slices:
        sums += counts[rows].sum(axis=0, dtype=np.float64)
    empty = np.flatnonzero(sums <= 0)
    factors = (mass / np.where(sums > 0, sums, 1)).astype(counts.dtype)
    for rows in slices:
        part = counts[rows]
        part *= factors
        part[part < MASS_FLOOR] = 0
        part[:, empty] = old[rows][:, empty]


def compacted(model: SemiMarkovLM) -> SemiMarkovLM:
    """The same model without its n-grams of probability zero.

    Those of ``SPELLING`` tokens or fewer stay, so that new text can be spelt in them.
    """
    # 1. Which rows of the table stay; rows are in order of length.
    ngrams = model.ngrams
    stays = np.array(model.joint.any(axis=1))
    stays[: ngrams.starts[min(SPELLING, ngrams.max_duration)]] = True
    # 2. Each length begins behind the rows that stay of all shorter ones; the others are dropped.
    starts = np.concatenate([[0], np.cumsum(stays)])[ngrams.starts]
    dropped = ngrams.dropped + np.diff(ngrams.starts) - np.diff(starts)
    fewer = NgramTable(ngrams.tokens, ngrams.keys[stays], starts, dropped)
    return replace(model, ngrams=fewer, joint=model.joint[stays])
