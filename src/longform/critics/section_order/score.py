r"""The section critic as it is used on predicted titles: prior from gold titles, smoothing chosen on validation text.

Data and model rows are both read by one classifier (deng2022 section 4, appendix E), so that its errors meet both; the
gold titles of real text are scored by the same prior beside it. One readout of real text, all splits, gives the gold
titles of training (the prior), the titles of validation (the smoothing) and those of test (the Data row).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from longform.critic import Tally
from longform.documents import BadInput, Chain, Readout
from longform.markov_chain import END, FAILURE_PROBABILITY, FITTED, BigramCritic, _MarkovScores, transition_counts
from longform.resampling import perplexity

WORST = 3  # articles of a set whose transitions a record keeps, for Figure 1 and Table 13


@dataclass(frozen=True)
class TitledArticle:
    """One document's titles as read and, where it has them, its own.

    Attributes:
        symbols: predicted titles, one a section.
        gold: its own titles; None where a section has none.
        log_posterior: float64 (sections, titles), the classifier's log probabilities; may be empty.
        title_names: the classifier's titles, in the order of the columns.
        valid: False where nothing could be read.
    """

    unit_id: str
    split: str
    symbols: tuple[str, ...]
    gold: tuple[str | None, ...]
    log_posterior: np.ndarray
    title_names: tuple[str, ...]
    valid: bool = True

    def gold_chain(self) -> Chain:
        """The chain of its own titles; invalid where one is missing."""
        titles = tuple(title for title in self.gold if title is not None)
        whole = len(titles) == len(self.gold) and bool(titles)
        return Chain(self.unit_id, self.split, titles if whole else (), valid=whole)


@dataclass(frozen=True)
class TitleCritic(BigramCritic):
    r"""Add-$\delta$ bigram fitted on gold titles, judging predicted ones: the Latent PPL of Tables 2, 3 and 5.

    Attributes:
        validation: (delta, Latent PPL of the validation chains) of every candidate.
        true_names, true_transitions: the chain that planted text was drawn from, where it is known: titles; begin row
            first, end column last.
    """

    validation: tuple[tuple[float, float], ...] = field(default=(), repr=False, metadata=FITTED)
    true_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    true_transitions: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED)

    def fit(self, real: Sequence[TitledArticle]) -> TitleCritic:  # type: ignore[override]
        """Count the gold titles of ``real``; an article without them is excluded and counted.

        Raises:
            BadInput: no article has gold titles.
        """
        return super().fit([unit.gold_chain() for unit in real])  # type: ignore[return-value]

    def judged(self, units: Sequence[TitledArticle]) -> list[Chain]:
        """The chains that are scored: predicted titles."""
        return [Chain(unit.unit_id, unit.split, unit.symbols, unit.valid) for unit in units]

    def tally(self, units: Sequence[TitledArticle]) -> Tally:  # type: ignore[override]
        """As :meth:`BigramCritic.tally`, over :meth:`judged`."""
        return super().tally(self.judged(units))

    def describe(self, units: Sequence[TitledArticle]) -> dict[str, Any]:
        """What tables and figures of transitions need: counts, probabilities, and the worst articles."""
        chains = self.judged(units)
        table = self._probabilities()
        pairs = sorted(transition_counts(self, chains).items())
        return {
            "transitions": [[a, b, count, table[a, b]] for (a, b), count in pairs],
            "likeliest": self._likeliest(),
            "worst": self._worst(chains),
            "repeating": self._repeating(chains),
            "validation": [list(row) for row in self.validation],
            "exact_latent_ppl": self.exact_latent_ppl(),
        }

    def _probabilities(self) -> dict[tuple[str, str], float]:
        values = np.exp(self.log_transitions)
        places = [(i, j) for i in range(len(self.names)) for j in range(len(self.names))]
        return {(self.names[i], self.names[j]): float(values[i, j]) for i, j in places}

    def _likeliest(self) -> dict[str, str]:
        best = np.argmax(self.log_transitions, axis=1)
        return {name: self.names[int(best[i])] for i, name in enumerate(self.names) if name != END}

    def _worst(self, chains: Sequence[Chain]) -> list[dict[str, Any]]:
        """The articles of lowest mean log probability among those of three sections and more."""
        return [_entry(row) for row in self._ranked(chains)[:WORST]]

    def _repeating(self, chains: Sequence[Chain]) -> list[dict[str, Any]]:
        """Articles that repeat a title against the critic (below ``FAILURE_PROBABILITY``) and are sound otherwise."""
        limit = np.log(FAILURE_PROBABILITY)
        found = [
            row for row in reversed(self._ranked(chains))
            if any(a == b and row[2][i + 1] < limit for i, (a, b) in enumerate(pairwise(row[1].symbols)))
        ]  # fmt: skip
        return [_entry(row) for row in found[:WORST]]

    def _ranked(self, chains: Sequence[Chain]) -> list[tuple[float, Chain, np.ndarray]]:
        scored = zip(chains, _MarkovScores.attribute(self, chains), strict=True)
        long = [(float(np.nanmean(logs)), c, logs) for c, logs in scored if len(c.symbols) >= 3]
        return sorted(long, key=lambda row: (row[0], row[1].unit_id))

    def attribute(self, units: Sequence[TitledArticle]) -> list[np.ndarray]:  # type: ignore[override]
        """Log probability of each transition of the judged chains."""
        return super().attribute(self.judged(units))

    def exact_latent_ppl(self) -> float | None:
        r"""The planted process's own value under this critic, $\exp(-\sum_{ab} v_a P_{ab} \log P_c(b|a) / \sum_a v_a)$.

        $v = e_0 (I - Q)^{-1}$ are the expected visits of begin and of each title; None without a known process.
        """
        if not self.true_names:
            return None
        names = (str(self.begin), *self.true_names, END)
        index = {name: i for i, name in enumerate(self.names)}
        if not set(names) <= set(index):
            return None
        size = len(self.true_names) + 1
        inner = np.hstack([np.zeros((size, 1)), self.true_transitions[:, :-1]])
        visits = np.linalg.solve((np.eye(size) - inner).T, np.eye(size)[0])
        places = [index[name] for name in names]
        logs = self.log_transitions[np.ix_(places[:-1], places[1:])]
        nats = np.where(self.true_transitions > 0, self.true_transitions * logs, 0.0).sum(axis=1)
        return perplexity(float(visits @ nats), float(visits.sum()))


@dataclass(frozen=True)
class GoldTitleCritic(TitleCritic):
    """The same critic on the gold titles of real text, which no classifier has touched."""

    def judged(self, units: Sequence[TitledArticle]) -> list[Chain]:
        """The chains that are scored: gold titles; an article without them is excluded."""
        return [unit.gold_chain() for unit in units]


def _entry(row: tuple[float, Chain, np.ndarray]) -> dict[str, Any]:
    _, chain, logs = row
    return {"unit": chain.unit_id, "titles": list(chain.symbols), "log_probs": logs.tolist()}


def validated(*, real: Readout, deltas: Sequence[float]) -> TitleCritic:
    """A critic of predicted titles with the delta of lowest Latent PPL on the *predicted* validation titles.

    The authors' code compares 0 and 1 on gold titles; what is judged here are predicted titles, and a delta chosen on
    error-free chains (0, if training made every transition of validation) gives them infinity at the first error.
    """
    return _validated(TitleCritic(**_planted(real)), real, deltas)


def validated_gold(*, real: Readout, deltas: Sequence[float]) -> TitleCritic:
    """The critic that :func:`validated` makes, scoring gold titles: the same prior on both sides of the Data row."""
    judge = validated(real=real, deltas=deltas)
    return GoldTitleCritic(delta=judge.delta, validation=judge.validation, **_planted(real))


def _validated(critic: TitleCritic, real: Readout, deltas: Sequence[float]) -> TitleCritic:
    units = units_from_readout(real)
    by_split = {split: [unit for unit in units if unit.split == split] for split in ("train", "validation")}
    for split, found in by_split.items():
        if not found:
            raise BadInput(f"the readout to fit on has no document of split {split!r}; add it to its splits")
    fitted = [replace(critic, delta=delta).fit(by_split["train"]) for delta in deltas]
    scores = [(one.delta, one.score(one.tally(by_split["validation"]))) for one in fitted]
    finite = [row for row in scores if np.isfinite(row[1])]
    if not finite:
        raise BadInput(f"validation Latent PPL by delta is {scores}: none is finite; add a delta above 0")
    return replace(critic, delta=min(finite, key=lambda row: row[1])[0], validation=tuple(scores))


def _planted(real: Readout) -> dict[str, Any]:
    """The known process that the readout of planted text carries along, if any."""
    if "section_transitions" not in real.arrays:
        return {}
    names = tuple(real.arrays["section_symbol_names"].tolist())
    return {"true_names": names, "true_transitions": np.asarray(real.arrays["section_transitions"], dtype=np.float64)}


def units_from_readout(readout: Readout) -> list[TitledArticle]:
    """One unit per document of a section-title readout."""
    names, gold_names = readout.arrays["symbol_names"].tolist(), [*readout.arrays["gold_names"].tolist(), None]
    titles = tuple(readout.arrays["title_names"].tolist())
    rows = zip(
        readout.unit_ids, readout.splits, readout.ragged("chain"), readout.ragged("gold"),
        readout.ragged("log_posterior"), readout.arrays["valid"], strict=True,
    )  # fmt: skip
    return [
        TitledArticle(
            unit, split, tuple(names[i] for i in chain), tuple(gold_names[i] for i in gold),
            np.asarray(posterior, dtype=np.float64), titles, bool(valid),
        )
        for unit, split, chain, gold, posterior, valid in rows
    ]  # fmt: skip
