"""The decomposition of deng2022 appendix A, with the diversity terms that the paper leaves to future work."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from longform.critics.section_order.score import (
    TitleCritic,
    TitledArticle,
    counted,
    totals,
    with_validated_delta,
)
from longform.critics.section_order.score import units_from_predictions as units_from_predictions
from longform.statistics.arithmetic import logsumexp, perplexity, ratio
from longform.statistics.markov_chain import END
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums

COLUMNS = ("prior", "likelihood", "entropy", "evidence", "transitions", "unknown", "excluded")


class Terms(NamedTuple):
    """The terms of one document in nats, part by part; their sum is the evidence, which the forward pass gives alone."""

    prior: np.ndarray  # (transitions,), begin and, where the text was not cut, end included
    likelihood: np.ndarray  # (sections,)
    entropy: np.ndarray  # (sections,), of each title given the one before
    evidence: float


def terms(
    initial: np.ndarray, inner: np.ndarray, final: np.ndarray, emissions: np.ndarray
) -> Terms:
    """Exact terms of a chain by forward and backward sums, from logarithms: (titles,), (titles, titles), (titles,), (sections, titles)."""
    forward, backward = np.empty_like(emissions), np.empty_like(emissions)
    forward[0], backward[-1] = initial + emissions[0], final
    for m in range(1, len(emissions)):
        forward[m] = logsumexp(forward[m - 1][:, None] + inner, axis=0) + emissions[m]
        backward[-m - 1] = logsumexp(inner + emissions[-m] + backward[-m], axis=1)
    evidence = float(logsumexp(forward[-1] + final))
    single = forward + backward - evidence  # log P(z_m | x); then log P(z_m, z_m+1 | x)
    double = forward[:-1, :, None] + inner + (emissions[1:] + backward[1:])[:, None, :] - evidence
    moves = _expected(double, np.broadcast_to(inner, double.shape), (1, 2))
    prior = np.concatenate(
        [[_expected(single[0], initial, 0)], moves, [_expected(single[-1], final, 0)]]
    )
    # H(z) = H(z_1) + sum of H(z_m+1 | z_m), each a pair's entropy less that of the title it shares
    pairs = _expected(single[:-1], single[:-1], 1) - _expected(double, double, (1, 2))
    entropy = np.concatenate([[-_expected(single[0], single[0], 0)], pairs])
    return Terms(prior, _expected(single, emissions, 1), entropy, evidence)


def _expected(
    log_weights: np.ndarray, values: np.ndarray, axis: int | tuple[int, ...]
) -> np.ndarray:
    weights = np.exp(log_weights)
    return (weights * np.where(weights > 0, values, 0.0)).sum(axis=axis)


@dataclass(frozen=True)
class ExpectedTitleCritic(TitleCritic, attributed=("prior",)):
    r"""Latent PPL with the full posterior, $\exp(-\sum (1) / \sum (M + 1))$: the definition of deng2022 section 2."""

    share_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    log_shares: Any = field(
        default=None, repr=False, metadata=FITTED
    )  # (titles,) of each among the training sections

    def fit_units(self, real: Sequence[TitledArticle]) -> Self:
        symbols = [symbol for unit in real for symbol in unit.gold_chain().symbols]
        names, counts = np.unique(np.array(symbols, dtype=np.str_), return_counts=True)
        return replace(
            super().fit_units(real),
            share_names=tuple(names.tolist()),
            log_shares=np.log(counts / counts.sum()),
        )

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        rows = np.zeros((len(units), len(COLUMNS)))
        for row, found in zip(rows, map(self._terms, units), strict=True):
            if found is None:
                row[-1] = 1
            else:
                row[:5] = *(part.sum() for part in found[:3]), found.evidence, len(found.prior)
        return SufficientStatistics.of(units, COLUMNS, rows)

    def part_values(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        every = [self._terms(unit) for unit in units]
        return [
            np.zeros(0) if found is None else getattr(found, self.attributed[0]) for found in every
        ]

    def _terms(self, unit: TitledArticle) -> Terms | None:
        if not unit.valid or not len(unit.symbols):
            return None
        columns = [unit.title_names.index(name) for name in self.share_names]
        places = [self.names.index(name) for name in self.share_names]
        logs, begin = self.log_transitions, self.names.index(str(self.begin))
        emissions = unit.log_posterior[:, columns] - self.log_shares
        final = logs[places, self.names.index(END)]
        if not unit.cut:
            return terms(logs[begin, places], logs[np.ix_(places, places)], final, emissions)
        found = terms(
            logs[begin, places], logs[np.ix_(places, places)], np.zeros_like(final), emissions
        )
        return found._replace(prior=found.prior[:-1])  # a cut text has no transition to the end

    def of_sums(self, sums: Sums) -> Any:
        return perplexity(sums.total("prior"), sums.total("transitions"))

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, float | None]:
        return {"exact_latent_ppl": self.exact_latent_ppl()}


class _PerTransition(ExpectedTitleCritic, parts="sections"):
    """A term in nats per transition."""

    def of_sums(self, sums: Sums) -> Any:
        return ratio(sums.total(self.attributed[0]), sums.total("transitions"))


@dataclass(frozen=True)
class LikelihoodTerm(_PerTransition, attributed=("likelihood",)):
    """Term (2), nats per transition, relative to sections without an order."""


@dataclass(frozen=True)
class EntropyTerm(_PerTransition, attributed=("entropy",), blame=1):
    """Term (3), nats per transition: how undecided the reader is about one document's titles."""


@dataclass(frozen=True)
class ChainEntropy(TitleCritic):
    r"""Diversity of a set, $\exp(H)$ of its own title bigram: what its Latent PPL would be at KL zero.

    The plug-in entropy of a small set is too low by about (bigrams met - titles met) / 2 n nats (Miller 1955), which is
    added back. A resample meets fewer kinds of bigram than the set, so the interval is centred on the value.
    """

    upper_bound: ClassVar[float] = math.inf

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        return counted(
            self, units, np.where(np.isfinite(self.log_transitions), self.log_transitions, 0.0)
        )

    def of_sums(self, sums: Sums) -> Any:
        """Its exponential, bias taken out; nan without a transition."""
        counts = totals(self, sums)
        met = counts > 0
        shares = np.where(met, ratio(counts, counts.sum(axis=-1, keepdims=True)), 1.0)
        entropy = -(counts * np.log(shares)).sum(axis=(-2, -1))
        bias = (met.sum(axis=(-2, -1)) - met.any(axis=-1).sum(axis=-1)) / 2
        return np.exp(ratio(entropy + bias, counts.sum(axis=(-2, -1))))

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, float | None]:
        return {}


# critics with the smoothing chosen on validation text: terms (1) to (3), and the diversity of a set of chains
expected = partial(with_validated_delta, ExpectedTitleCritic)
likelihood_term = partial(with_validated_delta, LikelihoodTerm)
entropy_term = partial(with_validated_delta, EntropyTerm)
chain_entropy = partial(with_validated_delta, ChainEntropy)
