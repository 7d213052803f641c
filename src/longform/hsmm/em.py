r"""Fitting a hidden semi-Markov language model by expectation-maximisation: the steps, checkpoints and exact resume.

With one joint table $W[g, z]$ the M-step is a column normalisation, $W = N / \sum_g N$, and
$A_{ij} = \xi_{ij} / \sum_j \xi_{ij}$. deng2022 (section 5.1, appendix) maximises the same likelihood by
Adam, first one epoch with transitions and lengths frozen; that phase is ``pretraining`` here.

The model may grow meanwhile: a model of few states already finds which n-grams are segments. The others' rows become zero and leave
the table; places of a text that no path over the rows left can reach leave the text; only then do states, whose number the time is
quadratic in, begin anew, each with its own uneven share of what the model knows of n-grams.
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
from typing import Any, cast

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

SPELLING = 3  # ours: tokens of the n-grams that spell what training text has not; with 1 such text's price doubles
UNEVENNESS = (
    0.1  # ours: 1.0 needed a quarter more iterations on a language of 16 states, 0.03 no fewer
)
LEAST_SHARE = 1e-4  # ours: no n-gram starts at zero, from which EM could not move it


@dataclass(frozen=True)
class Compute:
    """What machine a fit runs on; none of it changes what is computed, beyond rounding."""

    device: str = "cpu"  # a torch device
    threads: int = 1  # blocks that the compiled scan works on at once; its results do not depend on it, bit for bit
    dtype: str = "float32"  # or float64, in which a sequence whose float32 likelihood vanishes is scanned again
    engine: str = "auto"  # "compiled", "torch", or the compiled scan on the processor and torch's on any other device

    @property
    def by_torch(self) -> bool:
        """Whether scans and M-steps are torch's, on the device."""
        return self.engine == "torch" or (self.engine == "auto" and self.device != "cpu")


@dataclass(frozen=True)
class Iteration:
    """What one E-step saw, under the tables before this iteration's M-step."""

    number: int
    log_likelihood: float  # this, tokens and lost as in :class:`Expectation`
    tokens: int
    lost: int
    states_in_use: int  # states with at least one expected segment
    effective_states: float  # exponential of the entropy of the states' shares of segments
    frozen: bool  # whether transitions and lengths were kept fixed
    states: int  # of the tables, as ngrams
    ngrams: int
    validation_ppl: float | None = None  # after the M-step; None where nothing was validated

    @property
    def perplexity(self) -> float:
        """Per token, ``<space>`` tokens included."""
        return perplexity(self.log_likelihood, self.tokens)

    def line(self, tokens_per_second: float) -> str:
        """One progress line."""
        phase = "pretraining" if self.frozen else "em"
        validation = (
            "" if self.validation_ppl is None else f", validation {self.validation_ppl:.4f}"
        )
        return (
            f"{phase} {self.number}: ppl {self.perplexity:.4f}{validation}, {tokens_per_second:,.0f} tokens/s, "
            f"states in use {self.states_in_use} of {self.states} (effective {self.effective_states:.1f}), "
            f"{self.ngrams:,} n-grams, lost {self.lost}"
        )


def iteration_of(number: int, expected: Expectation, frozen: bool) -> Iteration:
    """What an E-step saw, as a record."""
    used = expected.transitions.sum(axis=0)
    shares = used[used > 0] / used.sum() if used.sum() > 0 else np.ones(1)
    effective, sizes = (
        float(np.exp(-(shares * np.log(shares)).sum())),
        (len(used), len(expected.segments)),
    )
    seen = expected.log_likelihood, expected.tokens, expected.lost
    return Iteration(number, *seen, int(np.sum(used >= 1)), effective, frozen, *sizes)


@dataclass(frozen=True)
class Fit:
    """A model and the iterations that led to it; all that a resumed fit needs."""

    model: SemiMarkovLM
    history: tuple[Iteration, ...] = ()

    def save(self, folder: Path, sealed: bool = False) -> None:
        """Write beside the old version and swap the two, so that a kill leaves one whole checkpoint.

        Args:
            folder: where the model and ``history.json`` are written.
            sealed: whether the digest of each file is written too, by which :meth:`load` tells a damaged one.
        """
        fresh, stale = (folder.with_name(folder.name + end) for end in (".new", ".old"))
        shutil.rmtree(fresh, ignore_errors=True)
        self.model.save(fresh)
        history = [asdict(step) for step in self.history]
        (fresh / "history.json").write_text(
            json.dumps(history, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )
        if sealed:
            (fresh / SEAL).write_text(json.dumps(_digests(fresh)) + "\n", encoding="utf-8")
        shutil.rmtree(stale, ignore_errors=True)
        if folder.exists():
            folder.rename(stale)
        fresh.rename(folder)
        shutil.rmtree(stale, ignore_errors=True)

    @classmethod
    def load(cls, folder: Path) -> "Fit":
        """Read what :meth:`save` wrote sealed. Raises ArtefactError: a file is absent, cut, or not the one that was sealed."""
        seal = folder / SEAL
        if not seal.is_file() or read_json(seal) != _digests(folder):
            raise ArtefactError(
                f"{folder}: a file is missing, cut or damaged; remove the folder to start over"
            )
        model, history = SemiMarkovLM.load(folder), read_json(folder / "history.json")
        return cls(model, tuple(Iteration(**step) for step in history))


SEAL = "digests.json"


def _digests(folder: Path) -> dict[str, str]:
    """The digest of every file in a folder but the seal, by name."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name != SEAL:
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "blake2b").hexdigest()
    return found


@dataclass(frozen=True)
class Plan:
    """How many passes, over what."""

    iterations: int  # passes over the corpus in all, ``pretraining`` included
    pretraining: int = 1  # first passes with transitions and lengths frozen (deng2022: one epoch)
    growth: Sequence[
        tuple[int, int]
    ] = ()  # states to begin with, and passes with each, before the model has all
    least: float = (
        0.0  # an n-gram with fewer expected segments than this leaves the table; 0 keeps all
    )
    until: float = 0.0  # with all states, EM ends when two iterations lower validation PPL by less than this share

    def states(self, number: int, num_states: int) -> int:
        """States in iteration ``number``."""
        for states, passes in self.growth:
            if number < passes:
                return states
            number -= passes
        return num_states

    def ended(self, history: Sequence[Iteration], num_states: int) -> bool:
        """Whether nothing is left to do."""
        if len(history) >= self.iterations:
            return True
        last = [
            cast(float, step.validation_ppl) for step in history[-3:] if step.states == num_states
        ]
        return bool(self.until) and len(last) == 3 and last[2] > (1 - self.until) * last[0]


class Keeper:
    """What a fit tells while it runs; this one keeps nothing."""

    def begun(self, number: int) -> Expectation | None:
        """What an earlier process summed in iteration ``number`` before it was killed."""

    def block(self, number: int, total: Expectation, blocks: int) -> None:
        """The sums over the first of the ``blocks`` blocks of an iteration."""

    def iteration(self, fit: Fit) -> None:
        """The fit after an iteration."""


def fit_em(
    sequences: Sequence[Sequence[str]],
    *,
    num_states: int,
    max_duration: int,
    plan: Plan,
    seed: int,
    max_ngrams: int = 250_000,  # see :func:`longform.hsmm.model.build_ngrams`
    compute: Compute = Compute(),
    start: SemiMarkovLM | Fit | None = None,
    validate: Callable[[SemiMarkovLM], float] | None = None,  # the validation PPL of a model
    keeper: Keeper | None = None,
) -> Fit:
    """Fit sequences of tokens by EM; the log-likelihood never falls, beyond rounding, while the states and n-grams stay.

    Args:
        num_states, max_duration: C and K (800 and 11 in deng2022).
        start: a model to start from, or a :class:`Fit` to resume exactly where it stopped; by default a random one.
        keeper: told of each block of an E-step and of each iteration; what it saves there can be resumed from.

    Raises InputError: no sequences. Raises ConfigError: a start of another shape.
    """
    if not len(sequences):
        raise InputError(
            "semi-Markov fit: got 0 sequences, allowed is one or more; check the corpus and its split"
        )
    if start is None:
        ngrams = build_ngrams(sequences, max_duration=max_duration, max_ngrams=max_ngrams)
        start = initial_model(
            ngrams, num_states=plan.states(0, num_states), seed=seed, dtype=compute.dtype
        )
    fit, keeper = start if isinstance(start, Fit) else Fit(start), keeper or Keeper()
    states = plan.states(max(0, len(fit.history) - 1), num_states)
    shape, wanted = (fit.model.num_states, fit.model.max_duration), (states, max_duration)
    if shape != wanted:
        told = f"semi-Markov fit: the start has (num_states, max_duration) = {shape}, allowed is {wanted}"
        raise ConfigError(f"{told}; start from a checkpoint of that shape or from none")
    encoded = [fit.model.ngrams.encode(s, f"sequence {i}") for i, s in enumerate(sequences)]
    while not plan.ended(fit.history, num_states):
        number, model = len(fit.history), fit.model
        if plan.states(number, num_states) != model.num_states:
            model = begun_anew(model, plan.states(number, num_states), seed)
        so_far, on_block = keeper.begun(number), partial(keeper.block, number)
        expected = expectation(
            model, encoded, compute, squeeze=plan.least > 0, begun=so_far, on_block=on_block
        )
        seen = iteration_of(number, expected, number < plan.pretraining)
        if plan.least and not seen.frozen:
            drop_rare(expected.segments, plan.least)
        model = maximise(model, expected, frozen=seen.frozen)
        model = compacted(model) if plan.least else model
        fit = Fit(
            model,
            (*fit.history, replace(seen, validation_ppl=validate(model) if validate else None)),
        )
        keeper.iteration(fit)
    return fit


def initial_model(
    ngrams: NgramTable, *, num_states: int, seed: int, dtype: str = "float32"
) -> SemiMarkovLM:
    """Near-uniform transitions and lengths (Xavier bounds, as in deng2022's code); n-grams' shares with Gamma(``UNEVENNESS``) noise.

    The paper's Xavier emission start is so flat that EM would keep all states alike for many iterations (0.5 % apart).
    """
    draw = generator("semi-Markov start", seed, num_states)
    transitions = near_uniform(draw, num_states)
    bound = np.sqrt(6 / (num_states + ngrams.max_duration))
    durations = np.exp(draw.uniform(-bound, bound, (ngrams.max_duration, num_states)))
    durations[np.diff(ngrams.starts) == 0] = 0
    durations /= durations.sum(axis=0)
    joint = np.empty((ngrams.rows, num_states), dtype)
    for n, (start, stop) in enumerate(itertools.pairwise(ngrams.starts)):
        draw.standard_gamma(UNEVENNESS, out=joint[start:stop], dtype=joint.dtype)
        joint[start:stop] += LEAST_SHARE
        joint[start:stop] *= (
            durations[n] / joint[start:stop].sum(axis=0, dtype=np.float64)
        ).astype(dtype)
    return SemiMarkovLM(ngrams, transitions.astype(dtype), joint)


def near_uniform(draw: np.random.Generator, num_states: int) -> np.ndarray:
    """Transitions within the Xavier bound, as in deng2022's code, (C, C)."""
    bound = np.sqrt(6 / (2 * num_states))
    transitions = np.exp(draw.uniform(-bound, bound, (num_states, num_states)))
    return transitions / transitions.sum(axis=1, keepdims=True)


def begun_anew(model: SemiMarkovLM, num_states: int, seed: int) -> SemiMarkovLM:
    """A random start of more states that keeps what the model knows of n-grams: each state's shares are its, made uneven."""
    draw = generator("semi-Markov growth", seed, num_states)
    joint = draw.standard_gamma(
        UNEVENNESS, (model.ngrams.rows, num_states), dtype=model.joint.dtype
    )
    joint += LEAST_SHARE
    joint *= model.joint.mean(axis=1, dtype=np.float64).astype(joint.dtype)[:, None]
    joint /= joint.sum(axis=0, dtype=np.float64).astype(joint.dtype)
    return replace(
        model, transitions=near_uniform(draw, num_states).astype(joint.dtype), joint=joint
    )


def expectation(
    model: SemiMarkovLM,
    encoded: Sequence[np.ndarray],
    compute: Compute,
    *,
    squeeze: bool = False,
    **resumed: Any,
) -> Expectation:
    """Exact expected counts of sequences of token ids under a model: arrays, but tensors of the device for the segments of torch's scan.

    ``squeeze`` leaves out the places of a text where no segment of positive probability can end (:func:`.squeezed`);
    ``resumed`` are ``begun`` and ``on_block`` of :func:`compiled.expectation`, which a GPU does not know.
    """
    tokens = [len(ids) for ids in encoded]
    lengths, index_of = (
        tokens,
        cast(Callable[[int], np.ndarray], lambda i: model.ngrams.index(encoded[i])),
    )
    if squeeze:
        alive = np.asarray(model.joint.any(axis=1))
        with ThreadPoolExecutor(compute.threads) as pool:
            short = list(pool.map(lambda ids: squeezed(model.ngrams.index(ids), alive), encoded))
        tokens = [size for size, index in zip(tokens, short, strict=True) if len(index)]
        short = [index for index in short if len(index)]
        lengths, index_of = [len(index) for index in short], short.__getitem__
    if compute.by_torch:
        transitions = torch.tensor(model.transitions, device=compute.device)
        joint = torch.tensor(model.joint, device=compute.device)
        found = on_device.expectation(transitions, joint, lengths, index_of, tokens=tokens)
        found = replace(
            found, transitions=found.transitions.cpu().numpy()
        )  # segments stay for the M-step
    else:
        given = {"tokens": tokens, "threads": compute.threads, **resumed}
        found = compiled.expectation(model.tables, lengths, index_of, **given)
    return replace(
        found, lost=found.lost + len(encoded) - len(tokens)
    )  # what is squeezed to nothing has no path


@njit(cache=True, nogil=True)
def squeezed(index, alive):  # pragma: no cover - compiled
    """The index array (T, K) of a text over only those places that a path over rows ``alive`` can pass through.

    Between two such places lies at most one segment, so the scan over the shorter array finds the same likelihood and
    the same counts. (places - 1, K) int32; no rows where no path exists.
    """
    length, longest = index.shape
    ahead, behind = np.zeros(length + 1, np.bool_), np.zeros(length + 1, np.bool_)
    ahead[0] = behind[length] = True
    for t in range(length):
        if ahead[t]:
            for k in range(min(longest, length - t)):
                g = index[t, k]
                if g >= 0 and alive[g]:
                    ahead[t + k + 1] = True
    for t in range(length - 1, -1, -1):
        for k in range(min(longest, length - t)):
            g = index[t, k]
            if g >= 0 and alive[g] and behind[t + k + 1]:
                behind[t] = True
    places = np.flatnonzero(ahead & behind)
    out = np.full((max(0, len(places) - 1), longest), -1, np.int32)
    for i in range(len(out)):
        for j in range(i + 1, min(len(places), i + 1 + longest)):
            k = places[j] - places[i] - 1
            if k < longest:
                g = index[places[i], k]
                if g >= 0 and alive[g]:
                    out[i, j - i - 1] = g
    return out


def maximise(model: SemiMarkovLM, expected: Expectation, *, frozen: bool) -> SemiMarkovLM:
    """M-step: normalise the expected counts, in place; what had no counts keeps its old probabilities.

    ``frozen`` keeps transitions and P(duration | state), as in deng2022's pretraining epoch. Counts on a device are normalised there.
    """
    normalise = on_device.normalise if isinstance(expected.segments, torch.Tensor) else _normalise
    if frozen:
        for start, stop in itertools.pairwise(model.ngrams.starts):
            old = model.joint[start:stop]
            normalise(expected.segments[start:stop], old, old.sum(axis=0, dtype=np.float64))
        return replace(model, joint=_as_array(expected.segments))
    normalise(expected.segments, model.joint, np.ones(model.num_states))
    sums = expected.transitions.sum(axis=1, keepdims=True)
    rows = np.where(sums > 0, expected.transitions / np.where(sums > 0, sums, 1), model.transitions)
    return replace(
        model, joint=_as_array(expected.segments), transitions=rows.astype(model.transitions.dtype)
    )


def _as_array(counts: np.ndarray | torch.Tensor) -> np.ndarray:
    return counts.cpu().numpy() if isinstance(counts, torch.Tensor) else counts


def drop_rare(segments: np.ndarray | torch.Tensor, least: float) -> None:
    """Set the expected counts (G, C) of n-grams with fewer than ``least`` expected segments in all to zero."""
    if isinstance(segments, torch.Tensor):
        segments[segments.sum(dim=1, dtype=torch.float64) < least] = 0
    else:
        segments[segments.sum(axis=1, dtype=np.float64) < least] = 0


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


def compacted(model: SemiMarkovLM) -> SemiMarkovLM:
    """The same model without its n-grams of probability zero; short ones stay, so that new text can be spelt in them."""
    ngrams = model.ngrams
    kept = np.array(model.joint.any(axis=1))
    kept[: ngrams.starts[min(SPELLING, ngrams.max_duration)]] = True
    starts = np.concatenate([[0], np.cumsum(kept)])[ngrams.starts]
    dropped = ngrams.dropped + np.diff(ngrams.starts) - np.diff(starts)
    return replace(
        model,
        ngrams=NgramTable(ngrams.tokens, ngrams.keys[kept], starts, dropped),
        joint=model.joint[kept],
    )
