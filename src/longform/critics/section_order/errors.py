r"""The classifier's errors taken out of the Latent PPL: its confusion matrix propagated through the critic.

Predicted titles are gold titles sent through a noisy channel $C_{a\hat a} = P(\hat a \mid a)$, section by section, begin
and end untouched. The expected counts of predicted transitions are $\hat N = C^\top N C$, so with the table
$\tilde L = C^{-1} L C^{-\top}$ of corrected log probabilities, $\sum \hat N \tilde L$ has the expectation
$\sum N L$: an unbiased estimate of what gold titles would have scored (the corrected score of Nakamura 1990; backward
correction in Patrini et al. 2017). $C$ comes from validation documents and is uncertain, so it is drawn anew for every
resample of the interval.

The channel is that of real text. Where a model's sections are harder to read than real ones, some of its reading
errors stay in its corrected value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from longform.critic import Tally
from longform.critics.section_order.score import TitleCritic, TitledArticle, units_from_readout, validated
from longform.documents import BadInput, Readout
from longform.markov_chain import END, FITTED, UNKNOWN, _read_transitions
from longform.resampling import perplexity

PSEUDO_SECTIONS = 1.0  # ours: weight of the shared error profile in each title's row, in sections


@dataclass(frozen=True)
class CorrectedTitleCritic(TitleCritic):
    """Latent PPL that the gold titles would have, estimated from predicted ones.

    Attributes:
        confusion_names: titles, the axes of the confusion matrix.
        confusion_counts: float64 (titles, titles), validation sections by gold and predicted title.
        channel: float64 (states, states), the confusion matrix in use, begin and end included; made by ``fit``.
    """

    confusion_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    confusion_counts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED)
    channel: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED)

    def fit(self, real: Sequence[TitledArticle]) -> CorrectedTitleCritic:  # type: ignore[override]
        """Fit the prior, and set the channel to its posterior mean.

        Raises:
            BadInput: a zero probability cannot be corrected (delta must be above 0).
        """
        if not self.delta > 0:
            raise BadInput(f"delta is {self.delta}: an impossible transition cannot be corrected; use a delta above 0")
        fitted = super().fit(real)
        return replace(fitted, channel=_embedded(_mean(self.confusion_counts), self.confusion_names, fitted.names))

    def tally(self, units: Sequence[TitledArticle]) -> Tally:  # type: ignore[override]
        """Counts of every predicted transition (``a|b``), their corrected log probability, unknown titles, exclusions.

        ``score`` goes back to the counts, so that an interval can draw the channel anew.
        """
        chains = self.judged(units)
        pairs = _read_transitions(chains, {name: i for i, name in enumerate(self.names)}, self.begin, self.end)
        size, known = len(self.names), ~pairs.unknown
        counts = np.zeros((len(chains), size * size))
        np.add.at(counts, (pairs.unit[known], (pairs.earlier * size + pairs.later)[known]), 1.0)
        unknown = np.bincount(pairs.unit, pairs.unknown, len(chains))
        excluded = [float(not chain.valid) for chain in chains]
        logprob = counts @ self.corrected_table().ravel()
        columns = (*(f"{a}|{b}" for a in self.names for b in self.names), "logprob", "unknown", "excluded")
        return Tally(tuple(c.unit_id for c in chains), columns, np.column_stack([counts, logprob, unknown, excluded]))

    def attribute(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:  # type: ignore[override]
        """Corrected log probability of each transition as read; nan at an unknown title."""
        return replace(self, log_transitions=self.corrected_table())._plain_attribute(units)

    def _plain_attribute(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:
        return super().attribute(units)

    def score(self, tally: Tally) -> float:
        """Corrected Latent PPL; it may fall below 1 where the channel overstates the errors."""
        size = len(self.names)
        counts = tally.values[:, : size * size].sum(axis=0).reshape(size, size)
        return perplexity(float((counts * self.corrected_table()).sum()), float(counts.sum()))

    def corrected_table(self) -> np.ndarray:
        r"""$\tilde L = C^{-1} L C^{-\top}$, float64 (states, states), nats."""
        half = np.linalg.solve(self.channel, self.log_transitions)
        return np.linalg.solve(self.channel, half.T).T

    def redrawn(self, rng: np.random.Generator) -> CorrectedTitleCritic:
        """The critic with its channel drawn from the Dirichlet posterior of each row."""
        weights = self.confusion_counts + _profile(self.confusion_counts)
        rows = np.stack(
            [rng.dirichlet(np.maximum(row, 1e-9)) for row in weights]
        )  # 1e-9: a Dirichlet wants weights > 0
        return replace(self, channel=_embedded(rows, self.confusion_names, self.names))

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """Error rate and size of the validation sample that the channel rests on."""
        total = float(self.confusion_counts.sum())
        wrong = total - float(np.trace(self.confusion_counts))
        unseen = int((self.confusion_counts.sum(axis=1) == 0).sum())
        exact = {"exact_latent_ppl": self.exact_latent_ppl()}
        return {"validation_sections": total, "validation_errors": wrong, "titles_without_sections": unseen} | exact


def confusion(units: Sequence[TitledArticle], names: Sequence[str]) -> np.ndarray:
    """Sections by gold (rows) and predicted title (columns); sections without a gold title among ``names`` left out."""
    index = {name: i for i, name in enumerate(names)}
    pairs = [(g, p) for unit in units for g, p in zip(unit.gold, unit.symbols, strict=True) if g in index]
    counts = np.zeros((len(names), len(names)))
    for gold, predicted in pairs:
        counts[index[gold], index.get(predicted, UNKNOWN)] += 1
    return counts


def _profile(counts: np.ndarray) -> np.ndarray:
    """What a row is before its own sections are counted: the share of errors of all titles, spread as errors fall.

    One error and one section are added, so that a classifier without a validation error is not held to be perfect.
    """
    size = len(counts)
    wrong = counts.sum() - np.trace(counts) + 1.0
    rate = wrong / (counts.sum() + 2.0)
    column = (counts.sum(axis=0) - np.diag(counts) + 1.0 / size) / wrong
    others = np.where(np.eye(size) > 0, 0.0, column[None, :])
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
    return PSEUDO_SECTIONS * ((1.0 - rate) * np.eye(size) + rate * others)


def _mean(counts: np.ndarray) -> np.ndarray:
    weights = counts + _profile(counts)
    return weights / weights.sum(axis=1, keepdims=True)


def _embedded(rows: np.ndarray, names: Sequence[str], states: Sequence[str]) -> np.ndarray:
    """The channel over all states of the critic: begin, end and titles that the classifier lacks pass unchanged."""
    place = [states.index(name) for name in names]
    channel = np.eye(len(states))
    channel[np.ix_(place, place)] = rows
    return channel


def corrected(*, real: Readout, deltas: Sequence[float]) -> CorrectedTitleCritic:
    """The corrected twin of :func:`longform.critics.section_order.score.validated`, its channel counted on validation text."""
    judge = validated(real=real, deltas=deltas)
    units = units_from_readout(real)
    titles = {title for unit in units if unit.split == "train" for title in unit.gold_chain().symbols}
    names = tuple(sorted(titles - {END}))
    counts = confusion([unit for unit in units if unit.split == "validation"], names)
    known = {"true_names": judge.true_names, "true_transitions": judge.true_transitions}
    return CorrectedTitleCritic(
        delta=judge.delta, validation=judge.validation, confusion_names=names, confusion_counts=counts, **known
    )
