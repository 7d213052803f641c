r"""Markov critics of discrete chains: how probable is an order of section titles or of states, judged by real text.

The statistic is the Latent PPL, $\exp(-\sum_i \log P_c(z^{(i)}) / \sum_i n_i)$, one ratio of corpus sums
(deng2022 section 2 and its released scorers): documents are neither exponentiated nor averaged one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain as flatten
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.documents import BadInput, Chain, Readout, chains_from_readout
from longform.resampling import perplexity

BEGIN, END = "<bos>", "<eos>"
COLUMNS = ("logprob", "transitions", "unknown", "excluded")
FAILURE_PROBABILITY = 0.01  # deng2022 Table 12: a transition fails where P_c(z_m | z_{m-1}) is below this
UNKNOWN = -1
FITTED = {"fitted": True}


class _MarkovScores:
    """Scoring shared by fitted and given transition matrices: both have names, log probabilities, begin and end."""

    better: ClassVar[Better] = "nearer_real"
    parts: ClassVar[str] = "transitions"
    attributed: ClassVar[tuple[str, ...]] = ("logprob",)
    blame: ClassVar[int] = -1
    names: tuple[str, ...]
    log_transitions: np.ndarray
    begin: str | None
    end: bool

    def attribute(self, units: Sequence[Chain]) -> list[np.ndarray]:
        """Log probability (nats) of each transition, one array per unit, in reading order.

        A transition with an unknown name is nan, an invalid chain is empty; what is left sums to the tally's
        ``logprob``.
        """
        pairs = self._transitions(units)
        logprobs = pairs.gather(self.log_transitions)
        logprobs[pairs.unknown] = np.nan
        return np.split(logprobs, np.searchsorted(pairs.unit, np.arange(1, len(units))))

    def tally(self, units: Sequence[Chain]) -> Tally:
        """Sum of log probabilities, scored transitions, transitions skipped for an unknown name, and exclusions."""
        pairs = self._transitions(units)
        logprobs = np.where(pairs.unknown, 0.0, pairs.gather(self.log_transitions))
        total = np.bincount(pairs.unit, logprobs, len(units))
        unknown = np.bincount(pairs.unit, pairs.unknown, len(units))
        scored = np.bincount(pairs.unit, minlength=len(units)) - unknown
        excluded = [not unit.valid for unit in units]
        values = np.stack([total, scored, unknown, np.array(excluded, dtype=float)], axis=1)
        return Tally(tuple(unit.unit_id for unit in units), COLUMNS, values)

    def score(self, tally: Tally) -> float:
        """Latent PPL, corpus-level (deng2022 section 2)."""
        return perplexity(tally.total("logprob"), tally.total("transitions"))

    def _transitions(self, units: Sequence[Chain]) -> _Transitions:
        if not self.names:
            raise BadInput(
                f"{type(self).__name__} has no transitions yet; call fit(real chains) and use what it returns"
            )
        return _read_transitions(units, {name: i for i, name in enumerate(self.names)}, self.begin, self.end)


@dataclass(frozen=True)
class BigramCritic(_MarkovScores):
    r"""Add-$\delta$ bigram over section titles or states (deng2022 section 4; smoothing as released).

    $P_c(z' \mid z) = (c(z, z') + \delta) / (c(z) + \delta (V + 2))$ over the names met in ``real``, in order of
    appearance, and the begin and end symbols, so that a little mass leaks to the begin symbol.

    Attributes:
        delta: pseudo-count; 0 gives an infinite score as soon as one unseen transition is met.
        begin: symbol put before each chain (it may be one of the names, as in the synthetic language), or None.
        end: whether an end symbol follows each chain.
        names, log_transitions: fitted; (states,) and (states, states), natural logarithms.
        fitted_units, fitted_excluded: fitted; how many chains were counted, how many invalid ones were not.
    """

    delta: float = 1.0
    begin: str | None = BEGIN
    end: bool = True
    names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    log_transitions: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED)
    fitted_units: int = field(default=0, repr=False, metadata=FITTED)
    fitted_excluded: int = field(default=0, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.delta) and self.delta >= 0):
            raise BadInput(f"delta is {self.delta}, allowed is a finite number >= 0; the paper's choices are 0 and 1")

    def fit(self, real: Sequence[Chain]) -> BigramCritic:
        """Count the transitions of the valid chains of ``real``.

        Raises:
            BadInput: no chain is valid, or a chain holds the end symbol.
        """
        valid = [unit for unit in real if unit.valid]
        if not valid:
            raise BadInput(
                f"bigram critic: got {len(real)} real chains, 0 valid; at least one is needed, check the reader"
            )
        names = tuple(self._vocabulary(valid))
        pairs = _read_transitions(valid, {name: i for i, name in enumerate(names)}, self.begin, self.end)
        counts = np.bincount(pairs.earlier * len(names) + pairs.later, minlength=len(names) ** 2)
        log_transitions = _log_rows(counts.reshape(len(names), len(names)) + self.delta)
        excluded = len(real) - len(valid)
        return replace(
            self, names=names, log_transitions=log_transitions, fitted_units=len(valid), fitted_excluded=excluded
        )

    def _vocabulary(self, valid: Iterable[Chain]) -> list[str]:
        names = dict.fromkeys(flatten.from_iterable(unit.symbols for unit in valid))
        if self.end and END in names:
            raise BadInput(f"a real chain holds the end symbol {END!r}; rename that title, or set end=False")
        if self.begin is not None:
            names.setdefault(self.begin)
        if self.end:
            names.setdefault(END)
        return list(names)


@dataclass(frozen=True)
class MarkovCritic(_MarkovScores):
    """A known transition matrix, given from outside: the true process of the synthetic language or of planted text.

    Attributes:
        names: (states,) state names.
        transitions: (states, states) probabilities, rows sum to one.
        begin: the state (or symbol) that precedes each chain; ``names[0]`` in the synthetic language
            (deng2022 released code). None scores no first transition.
        end: whether the last row and column are the end symbol ``END``.
    """

    names: tuple[str, ...] = field(repr=False, metadata=FITTED)
    transitions: np.ndarray = field(repr=False, metadata=FITTED)
    begin: str | None = None
    end: bool = False

    def __post_init__(self) -> None:
        size = len(self.names)
        if np.shape(self.transitions) != (size, size):
            raise BadInput(f"transitions have shape {np.shape(self.transitions)}, {size} names want ({size}, {size})")
        if size and not np.allclose(self.transitions.sum(axis=1), 1.0, atol=1e-6):
            raise BadInput("rows of the transition matrix do not sum to one (1e-6); normalise them before scoring")
        for needed in [self.begin] * (self.begin is not None) + [END] * self.end:
            if needed not in self.names:
                raise BadInput(f"symbol {needed!r} is not among the {size} names; add its row and column")

    @property
    def log_transitions(self) -> np.ndarray:  # type: ignore[override]
        """Natural logarithms of ``transitions``; minus infinity where a transition is impossible."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.transitions, dtype=np.float64))

    def fit(self, real: Sequence[Chain]) -> MarkovCritic:
        """Nothing to fit: the critic itself."""
        return self


@dataclass(frozen=True)
class _Transitions:
    """Consecutive symbols of all units, flat: the unit of each transition, its two names, and whether one is unknown."""

    unit: np.ndarray
    earlier: np.ndarray
    later: np.ndarray

    @property
    def unknown(self) -> np.ndarray:
        return (self.earlier == UNKNOWN) | (self.later == UNKNOWN)

    def gather(self, table: np.ndarray) -> np.ndarray:
        return table[self.earlier, self.later]


def _read_transitions(units: Sequence[Chain], index: Mapping[str, int], begin: str | None, end: bool) -> _Transitions:
    before = (begin,) if begin is not None else ()
    after = (END,) if end else ()
    rows = [(*before, *unit.symbols, *after) if unit.valid else () for unit in units]
    flat = np.array([index.get(symbol, UNKNOWN) for row in rows for symbol in row], dtype=np.int64)
    unit = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    same = unit[1:] == unit[:-1]
    return _Transitions(unit[1:][same], flat[:-1][same], flat[1:][same])


def _log_rows(weights: np.ndarray) -> np.ndarray:
    """Logarithms of normalised rows; a row without any weight has probability zero everywhere."""
    totals = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(weights / np.where(totals > 0, totals, 1.0))


def delta_scores(
    real: Sequence[Chain], validation: Sequence[Chain], deltas: Sequence[float] = (0, 1), **settings: Any
) -> dict[float, float]:
    """Latent PPL of the validation chains under each ``delta``; ``settings`` are those of :class:`BigramCritic`."""
    critics = {delta: BigramCritic(delta=delta, **settings).fit(real) for delta in deltas}
    return {delta: critic.score(critic.tally(validation)) for delta, critic in critics.items()}


def choose_delta(
    real: Sequence[Chain], validation: Sequence[Chain], deltas: Sequence[float] = (0, 1), **settings: Any
) -> float:
    """The delta with the lowest Latent PPL on validation chains (gold titles in deng2022); the first wins a tie.

    Raises:
        BadInput: no validation transition has known names, or every delta gives an infinite score.
    """
    scores = delta_scores(real, validation, deltas, **settings)
    finite = {delta: score for delta, score in scores.items() if np.isfinite(score)}
    if not finite:
        raise BadInput(f"validation Latent PPL is {scores}: none is finite; add a delta above 0, or check the titles")
    return min(finite, key=finite.__getitem__)


@dataclass(frozen=True)
class TransitionFailures:
    """Transitions that real text hardly makes (deng2022 Table 12).

    Attributes:
        rows: (earlier, later, occurrences, probability under the critic), most frequent first.
        transitions: scored transitions of the set, the denominator of every share.
    """

    rows: tuple[tuple[str, str, int, float], ...]
    transitions: int

    @property
    def share(self) -> float:
        """Failures over all transitions."""
        return sum(row[2] for row in self.rows) / self.transitions if self.transitions else 0.0

    @property
    def repetition_share(self) -> float:
        """Failures that repeat the section before, over all failures; nan without failures."""
        total = sum(row[2] for row in self.rows)
        return sum(row[2] for row in self.rows if row[0] == row[1]) / total if total else float("nan")


def transition_counts(critic: BigramCritic | MarkovCritic, units: Sequence[Chain], inner: bool = False) -> Counter:
    """Occurrences of each (earlier, later) pair of known names; ``inner`` leaves out begin and end transitions."""
    pairs = critic._transitions(units)
    names = critic.names
    known = Counter(zip(pairs.earlier[~pairs.unknown].tolist(), pairs.later[~pairs.unknown].tolist(), strict=True))
    edges = {END} | ({critic.begin} if critic.begin is not None else set()) if inner else set()
    named = {(names[a], names[b]): count for (a, b), count in known.items()}
    return Counter({pair: count for pair, count in named.items() if not edges & set(pair)})


def transition_failures(
    critic: BigramCritic | MarkovCritic,
    units: Sequence[Chain],
    threshold: float = FAILURE_PROBABILITY,
    inner: bool = False,
) -> TransitionFailures:
    """Transitions with $P_c(z_m | z_{m-1})$ below ``threshold`` (deng2022 Table 12, section 5).

    ``inner`` counts only transitions between two sections, in the rows and in the denominator; the paper
    does not say whether begin and end are in its denominator.
    """
    counts = transition_counts(critic, units, inner)
    index = {name: i for i, name in enumerate(critic.names)}
    table = np.exp(critic.log_transitions)
    rows = [(a, b, count, float(table[index[a], index[b]])) for (a, b), count in counts.items()]
    failed = sorted((row for row in rows if row[3] < threshold), key=lambda row: (-row[2], row[0], row[1]))
    return TransitionFailures(tuple(failed), sum(counts.values()))


def true_markov(*, real: Readout) -> MarkovCritic:
    """The critic of the synthetic language: its own transition matrix, from state 0, as the oracle's readout carries it."""
    names = tuple(real.arrays["state_names"].tolist())
    return MarkovCritic(names, real.arrays["state_transitions"], begin=names[0])


def validated_bigram(*, real: Readout, deltas: Sequence[float]) -> BigramCritic:
    """A bigram critic with the delta of lowest Latent PPL on the validation chains of ``real``, not yet fitted."""
    by_split = {split: [c for c in chains_from_readout(real) if c.split == split] for split in ("train", "validation")}
    return BigramCritic(delta=choose_delta(by_split["train"], by_split["validation"], deltas))


units_from_readout = chains_from_readout
