r"""Markov critics of discrete chains: how probable is an order of section titles or of states?

The statistic is the Latent PPL, $\exp(-\sum_i \log P_c(z^{(i)}) / \sum_i n_i)$, one ratio of corpus
sums (deng2022 section 2 and its released scorers): documents are neither exponentiated nor averaged
one by one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from longform.documents import Chain, Predictions, chains_from_predictions
from longform.errors import ConfigError, InputError
from longform.statistics.arithmetic import perplexity
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED  # not in signatures
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored

BEGIN, END = "<bos>", "<eos>"
COLUMNS = ("logprob", "transitions", "unknown", "excluded")
FAILURE_PROBABILITY = 0.01  # deng2022 Table 12: a transition fails where P_c(z_m | z_{m-1}) is less
UNKNOWN = -1  # index of a symbol that is no known name


# Class keywords: see SumScored.
class _MarkovScores(
    SumScored, better="reference_matched", parts="transitions", attributed=("logprob",), blame=-1
):
    """Scoring shared by fitted and given transition matrices.

    Attributes:
        names: the symbols that have a row and a column, (states,).
        log_transitions: natural log of P(later | earlier), (states, states).
        begin: symbol that precedes each chain; None where nothing does.
        end: whether the symbol ``END`` follows each chain.
    """

    attributed: ClassVar[tuple[str, ...]]
    names: tuple[str, ...]
    log_transitions: np.ndarray
    begin: str | None
    end: bool

    def part_values(self, units: Sequence[Any]) -> list[np.ndarray]:
        """Log probability (nats) of each transition, one array per unit, in reading order.

        A transition with an unknown name is nan, an invalid chain is empty; the others sum to the
        statistics' ``logprob``.
        """
        pairs = self.transitions_of(units)
        logprobs = self.log_transitions[pairs.earlier, pairs.later]
        logprobs[pairs.unknown] = np.nan
        # Transitions stand unit by unit: cut before the first of each unit but the first.
        first_of_unit = np.searchsorted(pairs.unit, np.arange(1, len(units)))
        return np.split(logprobs, first_of_unit)

    def sufficient_statistics(self, units: Sequence[Any]) -> SufficientStatistics:
        """Per unit: log probability in nats, transitions scored, transitions unknown, exclusion."""
        pairs = self.transitions_of(units)
        logprobs = np.where(pairs.unknown, 0.0, self.log_transitions[pairs.earlier, pairs.later])
        total = np.bincount(pairs.unit, logprobs, len(units))
        unknown = np.bincount(pairs.unit, pairs.unknown, len(units))
        scored = np.bincount(pairs.unit, minlength=len(units)) - unknown
        excluded = [not chain.valid for chain in self.judged(units)]
        rows = zip(total, scored, unknown, excluded, strict=True)
        return SufficientStatistics.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        """Latent PPL, corpus-level (deng2022 section 2)."""
        return perplexity(sums.total("logprob"), sums.total("transitions"))

    def transitions_of(self, units: Sequence[Any]) -> "Transitions":
        """Transitions of the units' chains, begin and end included.

        Raises InputError: the critic is not fitted.
        """
        if not self.names:
            raise InputError(
                f"{type(self).__name__} has no transitions yet; "
                "call fit(real chains), use what it returns"
            )
        return read_transitions(self.judged(units), self.names, self.begin, self.end)


@dataclass(frozen=True)
class BigramCritic(_MarkovScores):
    r"""Add-$\delta$ bigram over section titles or states (deng2022 section 4; smoothing released).

    $P_c(z' \mid z) = (c(z, z') + \delta) / (c(z) + \delta (V + 2))$ over the names met in ``real``,
    in order of appearance, and the begin and end symbols, so that a little mass leaks to the begin
    symbol.

    Attributes:
        delta: pseudo-count; 0 gives an infinite score as soon as one unseen transition is met.
        begin: put before each chain; it may be one of the names, as in the synthetic language.
        end: whether an end symbol follows each chain.
        names, log_transitions: set by fitting; see the base class.
    """

    delta: float = 1.0
    begin: str | None = BEGIN
    end: bool = True
    names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    log_transitions: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )

    def __post_init__(self) -> None:
        """Raises ConfigError: a negative or infinite pseudo-count ``delta`` of transitions."""
        if not (np.isfinite(self.delta) and self.delta >= 0):
            raise ConfigError(
                f"delta is {self.delta}, allowed is a finite number >= 0; "
                "the paper's choices are 0 and 1"
            )

    def fit_units(self, real: Sequence[Any]) -> Self:
        """A critic with the transitions counted in the valid chains.

        Raises InputError: no chain is valid, or a chain holds the end symbol.
        """
        valid = [unit for unit in real if unit.valid]
        if not valid:
            raise InputError(
                f"bigram critic: none of {len(real)} real texts gave a valid chain; "
                "section order is read from titled sections, which plain strings do not have"
            )
        # 1. Names in order of appearance, then the begin and end symbols.
        names = _names_in(valid)
        if self.end and END in names:
            raise InputError(
                f"a real chain holds the end symbol {END!r}; rename that title, or set end=False"
            )
        if self.begin is not None and self.begin not in names:
            names.append(self.begin)
        if self.end and END not in names:
            names.append(END)
        # 2. Counts of pairs, plus delta.
        pairs = read_transitions(valid, names, self.begin, self.end)
        states = len(names)
        counts = np.bincount(pairs.earlier * states + pairs.later, minlength=states**2)
        weights = counts.reshape(states, states) + self.delta
        # 3. Rows sum to one; a row without any weight has probability zero everywhere.
        totals = weights.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            log_transitions = np.log(weights / np.where(totals > 0, totals, 1.0))
        return replace(self, names=tuple(names), log_transitions=log_transitions)


@dataclass(frozen=True)
class MarkovCritic(_MarkovScores):
    """A known transition matrix, given from outside: the true process of the synthetic language.

    Attributes:
        names: the symbols, (states,).
        transitions: P(later | earlier), (states, states), rows sum to one.
        begin: precedes each chain; ``names[0]`` in the synthetic language (deng2022 released code).
        end: whether the last row and column are the end symbol ``END``.
    """

    names: tuple[str, ...] = field(repr=False, metadata=FITTED)
    transitions: np.ndarray = field(repr=False, metadata=FITTED)
    begin: str | None = None
    end: bool = False

    def __post_init__(self) -> None:
        states = len(self.names)
        if np.shape(self.transitions) != (states, states):
            raise InputError(
                f"transitions have shape {np.shape(self.transitions)}, "
                f"{states} names want ({states}, {states})"
            )
        if np.less(self.transitions, 0).any():
            raise InputError("a transition has a probability below 0; allowed are 0 to 1")
        if states and not np.allclose(self.transitions.sum(axis=1), 1.0, rtol=0.0, atol=1e-6):
            raise InputError(
                "rows of the transition matrix do not sum to one (1e-6); "
                "normalise them before scoring"
            )
        needed = [self.begin] if self.begin is not None else []
        if self.end:
            needed.append(END)
        for symbol in needed:
            if symbol not in self.names:
                raise InputError(
                    f"symbol {symbol!r} is not among the {states} names; add its row and column"
                )

    @property
    def log_transitions(self) -> np.ndarray:  # type: ignore[override]
        """Natural log of ``transitions``; minus infinity where a transition is impossible."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.transitions, dtype=np.float64))


@dataclass(frozen=True)
class Transitions:
    """Consecutive symbols of all units, one after another, in arrays (transitions,).

    Attributes:
        unit: index of the unit that each transition belongs to.
        earlier, later: indices of its two names, ``UNKNOWN`` where a symbol is no known name.
    """

    unit: np.ndarray
    earlier: np.ndarray
    later: np.ndarray

    @property
    def unknown(self) -> np.ndarray:
        """Whether one of the two symbols is no known name."""
        return (self.earlier == UNKNOWN) | (self.later == UNKNOWN)


def read_transitions(
    units: Sequence[Chain], names: Sequence[str], begin: str | None, end: bool
) -> Transitions:
    """Consecutive symbols of the valid chains, as indices of the names.

    A text that was cut at a limit of length has no end, and so no transition to the end symbol.

    Args:
        units: chains; invalid ones have no transitions.
        names: the known symbols.
        begin: symbol put before each chain, if any.
        end: whether ``END`` is put behind each chain.
    """
    # 1. Each chain between its begin and end symbols, as indices.
    index = {name: i for i, name in enumerate(names)}
    indices: list[int] = []
    lengths = []
    for chain in units:
        start = len(indices)
        if chain.valid:
            if begin is not None:
                indices.append(index.get(begin, UNKNOWN))
            indices += [index.get(symbol, UNKNOWN) for symbol in chain.symbols]
            if end and not chain.cut:
                indices.append(index.get(END, UNKNOWN))
        lengths.append(len(indices) - start)
    # 2. Neighbours that belong to the same chain are transitions.
    flat = np.array(indices, dtype=np.int64)
    unit = np.repeat(np.arange(len(lengths)), lengths)
    same_unit = unit[1:] == unit[:-1]
    return Transitions(unit[1:][same_unit], flat[:-1][same_unit], flat[1:][same_unit])


def _names_in(chains: Sequence[Chain]) -> list[str]:
    """The symbols of the chains, each once, in order of appearance."""
    names: dict[str, None] = {}
    for chain in chains:
        names.update(dict.fromkeys(chain.symbols))
    return list(names)


def drawn_at_random(unit: Chain, symbols: Sequence[str], name: str) -> Chain:
    """Replace a document's chain by random symbols, as many as it has, so that no order is left.

    Args:
        unit: the document's chain.
        symbols: symbols to draw from, each repeated as often as it occurs in real texts.
        name: fixes the draw, together with the document's id.
    """
    rng = generator(name, unit.unit_id)
    indices = rng.integers(0, len(symbols), len(unit.symbols))
    random_symbols = tuple(symbols[i] for i in indices)
    return Chain(unit.unit_id, unit.split, random_symbols, valid=unit.valid, cut=unit.cut)


def transition_counts(
    critic: BigramCritic | MarkovCritic, units: Sequence[Any]
) -> Counter[tuple[str, str]]:
    """How often each (earlier, later) pair of known names occurs in the units."""
    pairs = critic.transitions_of(units)
    known_pairs = ~pairs.unknown
    earlier = pairs.earlier[known_pairs].tolist()
    later = pairs.later[known_pairs].tolist()
    names = critic.names
    return Counter((names[i], names[j]) for i, j in zip(earlier, later, strict=True))


def delta_scores(
    real: Sequence[Any], validation: Sequence[Any], critics: Sequence[BigramCritic]
) -> dict[float, float]:
    """Latent PPL of the validation units under each critic.

    Args:
        real: chains that each critic is fitted on.
        validation: chains that are scored.
        critics: one for each delta to choose from.

    Returns:
        The score by the critic's delta.

    Raises InputError: no score is finite (every delta meets an impossible transition, or no
        validation transition is known).
    """
    scores = {}
    for critic in critics:
        fitted = critic.fit(real)
        scores[critic.delta] = fitted.score_of(fitted.sufficient_statistics(validation))
    if not np.isfinite(list(scores.values())).any():
        raise InputError(
            f"validation Latent PPL by delta is {scores}: none is finite; add a delta above 0"
        )
    return scores


def best_delta(scores: Mapping[float, float]) -> float:
    """The delta of the lowest finite score; the first wins a tie."""
    finite = [delta for delta, score in scores.items() if np.isfinite(score)]
    return min(finite, key=scores.__getitem__)


def true_markov(*, real: Predictions) -> MarkovCritic:
    """The true critic of the synthetic language: its own transition matrix, from state 0.

    Args:
        real: the oracle's predictions, which carry ``state_names`` and ``state_transitions``.
    """
    names = tuple(real.arrays["state_names"].tolist())
    return MarkovCritic(names, real.arrays["state_transitions"], begin=names[0])


def validated_bigram(*, real: Predictions, deltas: Sequence[float]) -> BigramCritic:
    """A bigram critic with the delta of lowest Latent PPL on validation chains.

    Args:
        real: chains of real text (gold titles in deng2022); their splits ``train`` and
            ``validation`` are used.
        deltas: what is chosen from.
    """
    chains = chains_from_predictions(real)
    train = [chain for chain in chains if chain.split == "train"]
    validation = [chain for chain in chains if chain.split == "validation"]
    critics = [BigramCritic(delta=delta) for delta in deltas]
    return BigramCritic(delta=best_delta(delta_scores(train, validation, critics)))


units_from_predictions = chains_from_predictions  # as all critics have
