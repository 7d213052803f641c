r"""Markov critics of discrete chains: how probable is an order of section titles or of states, judged by real text.

The statistic is the Latent PPL, $\exp(-\sum_i \log P_c(z^{(i)}) / \sum_i n_i)$, one ratio of corpus sums
(deng2022 section 2 and its released scorers): documents are neither exponentiated nor averaged one by one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain as flatten
from typing import Any, ClassVar, Self

import numpy as np

from longform.documents import Chain, Predictions, chains_from_predictions
from longform.errors import BadInput
from longform.statistics.critic import FITTED, SufficientStatistics, Sums, SumScored
from longform.statistics.resampling import generator, perplexity

BEGIN, END = "<bos>", "<eos>"
COLUMNS = ("logprob", "transitions", "unknown", "excluded")
FAILURE_PROBABILITY = (
    0.01  # deng2022 Table 12: a transition fails where P_c(z_m | z_{m-1}) is below this
)
UNKNOWN = -1


class _MarkovScores(
    SumScored, better="reference_matched", parts="transitions", attributed=("logprob",), blame=-1
):
    """Scoring shared by fitted and given transition matrices: both have names, log probabilities, begin and end."""

    attributed: ClassVar[tuple[str, ...]]
    names: tuple[str, ...]
    log_transitions: np.ndarray
    begin: str | None
    end: bool

    def part_values(self, units: Sequence[Any]) -> list[np.ndarray]:
        """Log probability (nats) of each transition of the judged chains, one array per unit, in reading order.

        A transition with an unknown name is nan, an invalid chain is empty; what is left sums to the statistics'
        ``logprob``.
        """
        pairs = self.transitions_of(units)
        logprobs = self.log_transitions[pairs.earlier, pairs.later]
        logprobs[pairs.unknown] = np.nan
        return np.split(logprobs, np.searchsorted(pairs.unit, np.arange(1, len(units))))

    def sufficient_statistics(self, units: Sequence[Any]) -> SufficientStatistics:
        """Sum of log probabilities, scored transitions, transitions skipped for an unknown name, and exclusions."""
        pairs = self.transitions_of(units)
        logprobs = np.where(pairs.unknown, 0.0, self.log_transitions[pairs.earlier, pairs.later])
        total = np.bincount(pairs.unit, logprobs, len(units))
        unknown = np.bincount(pairs.unit, pairs.unknown, len(units))
        scored = np.bincount(pairs.unit, minlength=len(units)) - unknown
        excluded = [not chain.valid for chain in self.judged(units)]
        return SufficientStatistics.of(
            units, COLUMNS, zip(total, scored, unknown, excluded, strict=True)
        )

    def of_sums(self, sums: Sums) -> Any:
        """Latent PPL, corpus-level (deng2022 section 2)."""
        return perplexity(sums.total("logprob"), sums.total("transitions"))

    def transitions_of(self, units: Sequence[Any]) -> "Transitions":
        """Transitions of the judged chains, begin and end included."""
        if not self.names:
            raise BadInput(
                f"{type(self).__name__} has no transitions yet; call fit(real chains), use what it returns"
            )
        return read_transitions(self.judged(units), self.names, self.begin, self.end)


def drawn_at_random(unit: Chain, symbols: Sequence[str], name: str) -> Chain:
    """A chain as long as a document's own of symbols drawn by their share in ``symbols``; ``name`` and document fix the draw."""
    places = generator(name, unit.unit_id).integers(0, len(symbols), len(unit.symbols))
    drawn = tuple(symbols[place] for place in places)
    return Chain(unit.unit_id, unit.split, drawn, valid=unit.valid, cut=unit.cut)


@dataclass(frozen=True)
class BigramCritic(_MarkovScores):
    r"""Add-$\delta$ bigram over section titles or states (deng2022 section 4; smoothing as released).

    $P_c(z' \mid z) = (c(z, z') + \delta) / (c(z) + \delta (V + 2))$ over the names met in ``real``, in order of
    appearance, and the begin and end symbols, so that a little mass leaks to the begin symbol.
    """

    delta: float = (
        1.0  # pseudo-count; 0 gives an infinite score as soon as one unseen transition is met
    )
    begin: str | None = (
        BEGIN  # put before each chain (it may be one of the names, as in the synthetic language)
    )
    end: bool = True  # whether an end symbol follows each chain
    names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)  # (states,)
    log_transitions: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )  # natural

    def __post_init__(self) -> None:
        if not (np.isfinite(self.delta) and self.delta >= 0):
            raise BadInput(
                f"delta is {self.delta}, allowed is a finite number >= 0; the paper's choices are 0 and 1"
            )

    def fit_units(self, real: Sequence[Any]) -> Self:
        """Count the transitions of the valid chains. Raises BadInput: no chain is valid, or a chain holds the end symbol."""
        valid = [unit for unit in real if unit.valid]
        if not valid:
            raise BadInput(
                f"bigram critic: got {len(real)} real chains, 0 valid; one is needed, check the reader"
            )
        met = dict.fromkeys(flatten.from_iterable(unit.symbols for unit in valid))
        if self.end and END in met:
            raise BadInput(
                f"a real chain holds the end symbol {END!r}; rename that title, or set end=False"
            )
        names = tuple(
            dict.fromkeys([*met, *[self.begin] * (self.begin is not None), *[END] * self.end])
        )
        pairs = read_transitions(valid, names, self.begin, self.end)
        counts = np.bincount(pairs.earlier * len(names) + pairs.later, minlength=len(names) ** 2)
        weights = counts.reshape(len(names), len(names)) + self.delta
        totals = weights.sum(axis=1, keepdims=True)
        with np.errstate(
            divide="ignore"
        ):  # a row without any weight has probability zero everywhere
            log_transitions = np.log(weights / np.where(totals > 0, totals, 1.0))
        return replace(self, names=names, log_transitions=log_transitions)


@dataclass(frozen=True)
class MarkovCritic(_MarkovScores):
    """A known transition matrix, given from outside: the true process of the synthetic language or of synthetic text."""

    names: tuple[str, ...] = field(repr=False, metadata=FITTED)  # (states,)
    transitions: np.ndarray = field(
        repr=False, metadata=FITTED
    )  # (states, states) probabilities, rows sum to one
    begin: str | None = (
        None  # precedes each chain; ``names[0]`` in the synthetic language (deng2022 released code)
    )
    end: bool = False  # whether the last row and column are the end symbol ``END``

    def __post_init__(self) -> None:
        size = len(self.names)
        if np.shape(self.transitions) != (size, size):
            raise BadInput(
                f"transitions have shape {np.shape(self.transitions)}, {size} names want ({size}, {size})"
            )
        if size and not np.allclose(self.transitions.sum(axis=1), 1.0, atol=1e-6):
            raise BadInput(
                "rows of the transition matrix do not sum to one (1e-6); normalise them before scoring"
            )
        for needed in [self.begin] * (self.begin is not None) + [END] * self.end:
            if needed not in self.names:
                raise BadInput(
                    f"symbol {needed!r} is not among the {size} names; add its row and column"
                )

    @property
    def log_transitions(self) -> np.ndarray:  # type: ignore[override]
        """Natural logarithms of ``transitions``; minus infinity where a transition is impossible."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.transitions, dtype=np.float64))


@dataclass(frozen=True)
class Transitions:
    """Consecutive symbols of all units, flat: the unit of each transition and the places of its two names."""

    unit: np.ndarray
    earlier: np.ndarray
    later: np.ndarray

    @property
    def unknown(self) -> np.ndarray:
        """Whether one of the two is no known name."""
        return (self.earlier == UNKNOWN) | (self.later == UNKNOWN)


def read_transitions(
    units: Sequence[Chain], names: Sequence[str], begin: str | None, end: bool
) -> Transitions:
    """Consecutive symbols of the valid chains, as places among the names, ``UNKNOWN`` where there is none.

    A text that was cut at a limit of length has no end, so that its last transition is none to the end.
    """
    index = {name: i for i, name in enumerate(names)}
    before = (begin,) if begin is not None else ()
    after = (END,) if end else ()
    rows: list[tuple[str, ...]] = []
    for chain in units:
        ending = () if chain.cut else after
        rows.append((*before, *chain.symbols, *ending) if chain.valid else ())
    flat = np.array([index.get(symbol, UNKNOWN) for row in rows for symbol in row], dtype=np.int64)
    unit = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    same = unit[1:] == unit[:-1]
    return Transitions(unit[1:][same], flat[:-1][same], flat[1:][same])


def delta_scores(
    real: Sequence[Any], validation: Sequence[Any], critics: Sequence[BigramCritic]
) -> dict[float, float]:
    """Latent PPL of the validation units under each critic, fitted on ``real``, by its delta.

    Raises BadInput: none is finite (every delta meets an impossible transition, or no validation transition is known).
    """
    fitted = [critic.fit(real) for critic in critics]
    scores = {
        critic.delta: critic.score_of(critic.sufficient_statistics(validation)) for critic in fitted
    }
    if not any(np.isfinite(score) for score in scores.values()):
        raise BadInput(
            f"validation Latent PPL by delta is {scores}: none is finite; add a delta above 0"
        )
    return scores


def best_delta(scores: Mapping[float, float]) -> float:
    """The delta of the lowest finite score; the first wins a tie."""
    return min(
        (delta for delta, score in scores.items() if np.isfinite(score)), key=scores.__getitem__
    )


def transition_counts(
    critic: BigramCritic | MarkovCritic, units: Sequence[Any]
) -> Counter[tuple[str, str]]:
    """Occurrences of each (earlier, later) pair of known names."""
    pairs, names = critic.transitions_of(units), critic.names
    known = zip(
        pairs.earlier[~pairs.unknown].tolist(), pairs.later[~pairs.unknown].tolist(), strict=True
    )
    return Counter((names[a], names[b]) for a, b in known)


def true_markov(*, real: Predictions) -> MarkovCritic:
    """The critic of the synthetic language: its own transition matrix, from state 0, as the oracle's predictions carries it."""
    names = tuple(real.arrays["state_names"].tolist())
    return MarkovCritic(names, real.arrays["state_transitions"], begin=names[0])


def validated_bigram(*, real: Predictions, deltas: Sequence[float]) -> BigramCritic:
    """A bigram critic with the delta of lowest Latent PPL on the validation chains of ``real`` (gold titles in deng2022)."""
    train, validation = (
        [c for c in chains_from_predictions(real) if c.split == split]
        for split in ("train", "validation")
    )
    return BigramCritic(
        delta=best_delta(delta_scores(train, validation, [BigramCritic(delta=d) for d in deltas]))
    )


units_from_predictions = chains_from_predictions
