"""The section critic as it is used on predicted titles: prior from gold titles, smoothing chosen on validation text.

Data and model rows are both read by one classifier (deng2022 section 4, appendix E), so that its errors meet both. One
reading of real text has the gold titles of training (the prior), those of validation (the smoothing) and of test (Data).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np

from longform.documents import Chain, Predictions, cut_texts
from longform.errors import BadInput
from longform.statistics import markov_chain
from longform.statistics.arithmetic import perplexity
from longform.statistics.markov_chain import END, BigramCritic
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums

WORST = 3  # articles of a set whose transitions a record keeps, for Figure 1 and Table 13


@dataclass(frozen=True)
class TitledArticle(Chain):
    """One document's titles as read (its symbols, one a section) and, where it has them, its own."""

    gold: tuple[str | None, ...] = ()  # None where a section has none
    log_posterior: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # (sections, titles)
    title_names: tuple[str, ...] = ()  # of its columns
    confidence: np.ndarray = field(
        default_factory=lambda: np.zeros(0)
    )  # (sections,), of each predicted title

    def gold_chain(self) -> Chain:
        """The chain of its own titles; invalid where one is missing."""
        titles = tuple(title for title in self.gold if title is not None)
        whole = 0 < len(titles) == len(self.gold)
        return Chain(self.unit_id, self.split, titles if whole else (), valid=whole, cut=self.cut)


@dataclass(frozen=True)
class TitleCritic(BigramCritic):
    r"""Add-$\delta$ bigram fitted on gold titles, judging predicted ones: the Latent PPL of Tables 2, 3 and 5."""

    # (delta, Latent PPL of the validation chains) of every candidate
    validation: tuple[tuple[float, float], ...] = field(default=(), repr=False, metadata=FITTED)
    # the chain that synthetic text was drawn from, where it is known: titles; begin row first, end column last
    true_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    true_transitions: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )

    def fit_units(self, real: Sequence[Any]) -> Self:
        """Count the gold titles; an article without them is excluded and counted. Raises BadInput: none has them."""
        return super().fit_units([unit.gold_chain() for unit in real])

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """What tables and figures of transitions need: counts, probabilities, and the worst articles."""
        chains, index = self.judged(units), {name: i for i, name in enumerate(self.names)}
        probabilities = np.exp(self.log_transitions)
        counts = sorted(markov_chain.transition_counts(self, units).items())
        scored = [
            pair
            for pair in zip(chains, self.part_values(chains), strict=True)
            if len(pair[0].symbols) >= 3
        ]
        ranked = sorted(scored, key=lambda pair: (float(np.nanmean(pair[1])), pair[0].unit_id))

        def repeats(chain: Chain, logs: np.ndarray) -> bool:
            failed = logs[1:] < np.log(markov_chain.FAILURE_PROBABILITY)
            return any(
                a == b and low for (a, b), low in zip(pairwise(chain.symbols), failed, strict=False)
            )

        def told(rows: Sequence[tuple[Chain, np.ndarray]]) -> list[dict[str, Any]]:
            worst = rows[:WORST]
            return [
                {"unit": c.unit_id, "titles": list(c.symbols), "log_probs": logs.tolist()}
                for c, logs in worst
            ]

        return {
            "transitions": [
                [a, b, n, float(probabilities[index[a], index[b]])] for (a, b), n in counts
            ],
            "likeliest": {
                name: self.names[int(probabilities[i].argmax())]
                for name, i in index.items()
                if name != END
            },
            "worst": told(ranked),
            "repeating": told([row for row in reversed(ranked) if repeats(*row)]),
            "validation": [list(row) for row in self.validation],
            "exact_latent_ppl": self.exact_latent_ppl(),
        }

    def exact_latent_ppl(self) -> float | None:
        r"""The synthetic process's own value under this critic, $\exp(-\sum_{ab} v_a P_{ab} \log P_c(b|a) / \sum_a v_a)$.

        $v = e_0 (I - Q)^{-1}$ are the expected visits of begin and of each title; None without a known process.
        """
        names = (str(self.begin), *self.true_names, END)
        index = {name: i for i, name in enumerate(self.names)}
        if not self.true_names or not set(names) <= set(index):
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

    def judged(self, units: Sequence[Any]) -> Sequence[Chain]:
        return [unit.gold_chain() if isinstance(unit, TitledArticle) else unit for unit in units]


@dataclass(frozen=True)
class RandomTitleCritic(TitleCritic):
    """The same critic on titles drawn at random, as many a text, from the gold titles of training: the chance row of a table."""

    titles: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Any]) -> Self:
        return replace(
            super().fit_units(real),
            titles=tuple(t for unit in real for t in unit.gold_chain().symbols),
        )

    def judged(self, units: Sequence[Any]) -> Sequence[Chain]:
        return [markov_chain.drawn_at_random(unit, self.titles, "random titles") for unit in units]


def counted(
    critic: BigramCritic, units: Sequence[Chain], table: np.ndarray
) -> SufficientStatistics:
    """Counts of every transition of known names (columns ``a|b``), their sum under a table, unknown names, exclusions."""
    size, pairs = len(critic.names), critic.transitions_of(units)
    counts, known = np.zeros((len(units), size * size)), ~pairs.unknown
    np.add.at(counts, (pairs.unit[known], (pairs.earlier * size + pairs.later)[known]), 1.0)
    unknown = np.bincount(pairs.unit, pairs.unknown, len(units))
    excluded = [float(not chain.valid) for chain in critic.judged(units)]
    columns = (
        *(f"{a}|{b}" for a in critic.names for b in critic.names),
        "logprob",
        "unknown",
        "excluded",
    )
    return SufficientStatistics.of(
        units, columns, np.column_stack([counts, counts @ table.ravel(), unknown, excluded])
    )


def totals(critic: BigramCritic, sums: Sums) -> np.ndarray:
    """(..., states, states) transitions from the sums of sufficient statistics that :func:`counted` made."""
    size = len(critic.names)
    return sums.values[..., : size * size].reshape(*sums.values.shape[:-1], size, size)


AnyTitleCritic = TypeVar("AnyTitleCritic", bound=TitleCritic)


def with_validated_delta(
    kind: type[AnyTitleCritic], real: Predictions, deltas: Sequence[float]
) -> AnyTitleCritic:
    """A critic with the delta of lowest Latent PPL on the *predicted* validation titles, whatever itself it judges."""
    units = units_from_predictions(real)
    by_split = {
        split: [unit for unit in units if unit.split == split] for split in ("train", "validation")
    }
    for split, articles in by_split.items():
        if not articles:
            raise BadInput(
                f"the predictions to fit on have no document of split {split!r}; add it to its splits"
            )
    candidates = [TitleCritic(delta=delta) for delta in deltas]
    scores = markov_chain.delta_scores(by_split["train"], by_split["validation"], candidates)
    critic = kind(delta=markov_chain.best_delta(scores), validation=tuple(scores.items()))
    if "section_transitions" not in real.arrays:
        return critic
    process = np.asarray(real.arrays["section_transitions"], dtype=np.float64)
    return replace(
        critic,
        true_names=tuple(real.arrays["section_symbol_names"].tolist()),
        true_transitions=process,
    )


validated = partial(with_validated_delta, TitleCritic)  # judges predicted titles
validated_gold = partial(
    with_validated_delta, GoldTitleCritic
)  # the same prior on both sides of the Data row
random_titles = partial(with_validated_delta, RandomTitleCritic)  # chance


def units_from_predictions(predictions: Predictions) -> list[TitledArticle]:
    """One unit per document of section-title predictions."""
    names, gold_names = (
        predictions.arrays["symbol_names"].tolist(),
        [*predictions.arrays["gold_names"].tolist(), None],
    )
    titles = tuple(predictions.arrays["title_names"].tolist())
    rows = zip(
        predictions.rows("chain", "valid", "gold", "log_posterior", "confidence"),
        cut_texts(predictions),
        strict=True,
    )
    return [
        TitledArticle(
            unit, split, tuple(names[i] for i in chain), bool(valid), tuple(gold_names[i] for i in gold),
            np.asarray(posterior, dtype=np.float64), titles, np.asarray(confidence, dtype=np.float64), cut=cut,
        )
        for (unit, split, chain, valid, gold, posterior, confidence), cut in rows
    ]  # fmt: skip
