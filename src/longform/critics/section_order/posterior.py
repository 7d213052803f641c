"""The decomposition of deng2022 appendix A, and the diversity that it leaves to future work."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from longform.critics.section_order.score import (
    SectionOrder,
    TitledArticle,
    transition_statistics,
    transition_totals,
)
from longform.critics.section_order.score import units_from_predictions as units_from_predictions
from longform.errors import InputError
from longform.statistics.arithmetic import logsumexp, perplexity, ratio
from longform.statistics.markov_chain import END
from longform.statistics.signatures import FITTED  # not in signatures
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums

COLUMNS = ("prior", "likelihood", "entropy", "evidence", "transitions", "unknown", "excluded")


class Terms(NamedTuple):
    """The terms of one document's log-probability, nats, part by part.

    Their sum is the evidence, which the forward pass gives alone.

    Attributes:
        prior: expected log-probability of each transition, (transitions,); begin and, where the
            text was not cut, end included.
        likelihood: expected log-likelihood of each section, (sections,).
        entropy: posterior entropy of each title given the one before, (sections,).
        evidence: log-probability of all sections.
    """

    prior: np.ndarray
    likelihood: np.ndarray
    entropy: np.ndarray
    evidence: float


def terms(
    initial: np.ndarray, inner: np.ndarray, final: np.ndarray, emissions: np.ndarray
) -> Terms:
    """The exact terms of a chain of titles, by forward and backward sums.

    Args:
        initial: log-probability of the first title, (titles,), nats as all others.
        inner: from title (row) to title, (titles, titles).
        final: from the last title to the end, (titles,).
        emissions: of each section's text under each title, (sections, titles).
    """
    forward, backward = _forward_backward(initial, inner, final, emissions)
    evidence = float(logsumexp(forward[-1] + final))
    # 1. log P(z_m | x), and log P(z_m, z_m+1 | x).
    single = forward + backward - evidence
    after = (emissions[1:] + backward[1:])[:, None, :]
    double = forward[:-1, :, None] + inner + after - evidence
    # 2. The prior's expected log-probability: of the first title, of each step, and of the end.
    first = _expected(single[0], initial, axis=0)
    steps = _expected(double, np.broadcast_to(inner, double.shape), axis=(1, 2))
    last = _expected(single[-1], final, axis=0)
    prior = np.concatenate([[first], steps, [last]])
    # 3. The sections' expected log-likelihood.
    likelihood = _expected(single, emissions, axis=1)
    # 4. H(z) = H(z_1) + sum of H(z_m+1 | z_m), each a pair's entropy less that of its first title.
    first_entropy = -_expected(single[0], single[0], axis=0)
    single_entropy = -_expected(single[:-1], single[:-1], axis=1)
    pair_entropy = -_expected(double, double, axis=(1, 2))
    step_entropy = pair_entropy - single_entropy
    entropy = np.concatenate([[first_entropy], step_entropy])
    return Terms(prior, likelihood, entropy, evidence)


def _forward_backward(
    initial: np.ndarray, inner: np.ndarray, final: np.ndarray, emissions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The forward and backward sums: log P(x_1..x_m, z_m) and log P(x_m+1..x_M, end | z_m).

    Section m has the text x_m and the title z_m. Arguments are those of :func:`terms`; both results
    are in nats, (sections, titles).
    """
    forward = np.empty_like(emissions)
    forward[0] = initial + emissions[0]
    for m in range(1, len(emissions)):
        arrivals = logsumexp(forward[m - 1][:, None] + inner, axis=0)
        forward[m] = arrivals + emissions[m]
    backward = np.empty_like(emissions)
    backward[-1] = final
    for m in range(len(emissions) - 2, -1, -1):
        backward[m] = logsumexp(inner + emissions[m + 1] + backward[m + 1], axis=1)
    return forward, backward


def _expected(
    log_weights: np.ndarray, values: np.ndarray, axis: int | tuple[int, ...]
) -> np.ndarray:
    """Sum of values under weights; where a weight is zero a value may be infinite.

    Args:
        log_weights: logarithms of the weights.
        values: of the same shape.
        axis: summed over.
    """
    weights = np.exp(log_weights)
    return (weights * np.where(weights > 0, values, 0.0)).sum(axis=axis)


# Class keywords: see SumScored.
@dataclass(frozen=True)
class ExpectedTitleCritic(SectionOrder, attributed=("prior",)):
    r"""Latent PPL with the full posterior, $\exp(-\sum (1) / \sum (M + 1))$ (deng2022 section 2).

    Attributes:
        share_names, log_shares: the titles, and the log-share of each among the training sections.
    """

    share_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    log_shares: Any = field(default=None, repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[TitledArticle]) -> Self:
        """Learn the transitions of real texts' gold titles, and each title's share of sections."""
        titles: list[str] = []
        for unit in real:
            titles.extend(unit.gold_chain().symbols)
        names, counts = np.unique(np.array(titles, dtype=np.str_), return_counts=True)
        log_shares = np.log(counts / counts.sum())
        fitted = super().fit_units(real)
        return replace(fitted, share_names=tuple(names.tolist()), log_shares=log_shares)

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        """Sums over each text, (texts, 7), the columns as ``COLUMNS`` names them.

        Prior, likelihood, entropy and evidence are in nats. ``unknown`` is 0 here, and a text
        without terms has zeros and ``excluded`` 1.
        """
        excluded = (0, 0, 0, 0, 0, 0, 1)
        rows: list[Sequence[float]] = []
        for unit in units:
            unit_terms = self._terms(unit)
            if unit_terms is None:
                rows.append(excluded)
                continue
            prior, likelihood, entropy, evidence = unit_terms
            sums = [prior.sum(), likelihood.sum(), entropy.sum(), evidence]
            rows.append([*sums, len(prior), 0, 0])
        return SufficientStatistics.of(units, COLUMNS, rows)

    def part_values(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        """The parts of the term that is scored, nats; empty for an excluded document.

        The term is the first of ``attributed``, a field of :class:`Terms`: a part is a transition
        between titles (``prior``) or a section (``likelihood``, ``entropy``).
        """
        values = []
        for unit in units:
            unit_terms = self._terms(unit)
            if unit_terms is None:
                values.append(np.zeros(0))
            else:
                values.append(getattr(unit_terms, self.attributed[0]))
        return values

    def _terms(self, unit: TitledArticle) -> Terms | None:
        """The terms of a document under the chain of titles; None where it could not be read.

        The titles are those with a share in training; they have the columns of the posterior, the
        rows of the transitions and the emissions (sections, titles) in this order.
        """
        if not unit.valid or not len(unit.symbols):
            return None
        if not unit.log_posterior.size:
            raise InputError(
                f"{type(self).__name__}: {unit.unit_id!r} has no posterior over titles; "
                "name a title classifier's folder as the critic's reader"
            )
        # 1. A section's likelihood under a title is its posterior over the title's share, up to a
        #    factor of the section.
        columns = [unit.title_names.index(name) for name in self.share_names]
        emissions = unit.log_posterior[:, columns] - self.log_shares
        # 2. The prior over the same titles.
        rows = self.rows_of(self.share_names)
        begin, end = self.rows_of([str(self.begin), END])
        initial = self.log_transitions[begin, rows]
        inner = self.log_transitions[np.ix_(rows, rows)]
        final = self.log_transitions[rows, end]
        if not unit.cut:
            return terms(initial, inner, final, emissions)
        # 3. A cut text may go on after any title: the end weighs nothing (log 1), and the last
        #    entry of the prior, which is the transition to it, is no transition of this text.
        without_end = terms(initial, inner, np.zeros_like(final), emissions)
        return without_end._replace(prior=without_end.prior[:-1])

    def of_sums(self, sums: Sums) -> Any:
        """Latent PPL, corpus-level."""
        return perplexity(sums.total("prior"), sums.total("transitions"))

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, float | None]:
        """The known process's own value, where there is one."""
        return {"exact_latent_ppl": self.exact_latent_ppl()}


class _PerTransition(ExpectedTitleCritic, parts="sections"):
    """A critic that scores one term, in nats per transition."""

    def of_sums(self, sums: Sums) -> Any:
        """The term's total over all texts' transitions."""
        return ratio(sums.total(self.attributed[0]), sums.total("transitions"))


@dataclass(frozen=True)
class LikelihoodTerm(_PerTransition, attributed=("likelihood",)):
    """Term (2), nats per transition, relative to sections without an order."""


@dataclass(frozen=True)
class EntropyTerm(_PerTransition, attributed=("entropy",), blame=1):
    """Term (3), nats per transition: how undecided the reader is about one document's titles."""


@dataclass(frozen=True)
class ChainEntropy(SectionOrder):
    r"""Diversity of a set, $\exp(H)$ of its own title bigram.

    That is what its Latent PPL would be under a critic of exactly its own transitions. The plug-in
    entropy of a small set is too low by about (bigrams met - titles met) / 2 n nats (Miller 1955),
    which is added back. A resample meets fewer kinds of bigram than the set, so the
    interval is centred on the value.
    """

    upper_bound: ClassVar[float] = math.inf

    def sufficient_statistics(self, units: Sequence[TitledArticle]) -> SufficientStatistics:
        """The columns of :func:`~longform.critics.section_order.score.transition_statistics`."""
        possible = np.isfinite(self.log_transitions)
        finite_log_transitions = np.where(possible, self.log_transitions, 0.0)
        return transition_statistics(self, units, finite_log_transitions)

    def of_sums(self, sums: Sums) -> Any:
        r"""$\exp(H)$, 1 or more, the bias taken out; nan without a transition.

        A float, or an array over the leading axes of ``sums`` (resamples).
        """
        counts = transition_totals(self, sums)
        total = counts.sum(axis=(-2, -1))
        is_met = counts > 0
        # 1. n times the entropy H of the later title given the earlier one, nats; n transitions.
        totals_of_earlier = counts.sum(axis=-1, keepdims=True)
        shares = np.where(is_met, ratio(counts, totals_of_earlier), 1.0)
        entropy = -(counts * np.log(shares)).sum(axis=(-2, -1))
        # 2. Miller's correction, also n times; ``titles_met`` are those met as the earlier one.
        bigrams_met = is_met.sum(axis=(-2, -1))
        titles_met = is_met.any(axis=-1).sum(axis=-1)
        bias = (bigrams_met - titles_met) / 2
        return np.exp(ratio(entropy + bias, total))

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, float | None]:
        """No details: those of the base class are of another critic."""
        return {}
