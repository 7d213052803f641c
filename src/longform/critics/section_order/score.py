"""Section order: how probable is a text's order of section titles, judged by those of real text
(deng2022 section 4)?

In the papers' tables titles are predicted: data and model rows are both read by one classifier
(deng2022 section 4, appendix E), so that its errors meet both. One reading of real text has the
gold titles of training (the prior), those of validation (the smoothing) and of test (Data).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.documents import Chain, Document, Predictions, cut_texts, section_starts
from longform.errors import InputError
from longform.statistics import markov_chain
from longform.statistics.arithmetic import perplexity
from longform.statistics.markov_chain import END, BigramCritic
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums

WORST = 3  # articles of a set whose transitions a record keeps, for Figure 1 and Table 13
FEWEST_TITLES = 3  # of an article that such a record may keep
MAX_LENGTH = 512  # tokens of a section that a title reader sees (deng2022 appendix E)
SHOWN_START = 60  # ours: characters of a section that stand for its title
SHOWN_END = 30  # ours: characters of a text that stand for its end


@dataclass(frozen=True)
class TitledArticle(Chain):
    """One document's titles as read (its symbols, one a section) and, where it has them, its own.

    Attributes:
        gold: its own titles, None where a section has none.
        log_posterior: of each title of a reader, (sections, titles); nothing where none was read.
        title_names: of the columns of ``log_posterior``.
        confidence: of each predicted title, (sections,).
    """

    gold: tuple[str | None, ...] = ()
    log_posterior: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    title_names: tuple[str, ...] = ()
    confidence: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def gold_chain(self) -> Chain:
        """The chain of its own titles; invalid where one is missing."""
        titles = tuple(title for title in self.gold if title is not None)
        complete = 0 < len(titles) == len(self.gold)
        symbols = titles if complete else ()
        return Chain(self.unit_id, self.split, symbols, valid=complete, cut=self.cut)


@dataclass(frozen=True)
class SectionOrder(
    BigramCritic, TextCritic, needs="titles for all its sections", recorded_as="TitleCritic"
):
    r"""Latent PPL of section titles under an add-$\delta$ bigram of real texts' own titles.

    It learns from gold titles and judges those that were read: a text's own where no ``reader`` is
    named, else those that a title classifier predicts (the Latent PPL of Tables 2, 3 and 5).

    Attributes:
        reader: folder of a title classifier; without one, texts are judged by their own titles.
        max_length: tokens of a section that the classifier sees.
        validation: (delta, Latent PPL of the validation chains) of every candidate.
        true_names, true_transitions: the chain that synthetic text was drawn from, where it is
            known: titles; begin row first, end column last.
    """

    reader: Path | None = field(default=None, kw_only=True, metadata=READING)
    max_length: int = field(default=MAX_LENGTH, kw_only=True, metadata=READING)
    validation: tuple[tuple[float, float], ...] = field(default=(), repr=False, metadata=FITTED)
    true_names: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    true_transitions: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )

    def read_texts(self, documents: Sequence[Document]) -> list[TitledArticle]:
        if self.reader is None:
            return [own_titles(document) for document in documents]
        from longform.critics.section_order.own_texts import predicted_titles

        predictions = predicted_titles(documents, self.reader, self.max_length)
        return units_from_predictions(predictions)

    def spans(self, document: Document, unit: TitledArticle, values: np.ndarray) -> Spans:
        """The beginning of each section stands for its title, the last words for the end."""
        spans = []
        for start, section in zip(section_starts(document), document.sections, strict=True):
            spans.append((start, start + min(SHOWN_START, len(section.text))))
        length = len(document.text)
        spans.append((max(0, length - SHOWN_END), length))
        return spans[: len(values)]

    def fit_units(self, real: Sequence[Any]) -> Self:
        """Count the gold titles; an article without them is excluded and counted.

        Raises InputError: none has them.
        """
        return super().fit_units([unit.gold_chain() for unit in real])

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """What tables and figures of transitions need: counts, probabilities, the worst articles."""
        probabilities = np.exp(self.log_transitions)
        index = {name: i for i, name in enumerate(self.names)}
        # 1. Every transition of known titles, with its count and its probability.
        transitions = []
        for (earlier, later), count in sorted(markov_chain.transition_counts(self, units).items()):
            probability = float(probabilities[index[earlier], index[later]])
            transitions.append([earlier, later, count, probability])
        likeliest = {}
        for name, row in zip(self.names, probabilities, strict=True):
            if name != END:
                likeliest[name] = self.names[int(row.argmax())]
        # 2. The articles of the least probable transitions, and of those the ones that repeat a
        # title.
        ranked = self._least_probable_first(units)
        repeating = [pair for pair in reversed(ranked) if _repeats_improbably(*pair)]
        return {
            "transitions": transitions,
            "likeliest": likeliest,
            "worst": [_described(*pair) for pair in ranked[:WORST]],
            "repeating": [_described(*pair) for pair in repeating[:WORST]],
            "validation": [list(row) for row in self.validation],
            "exact_latent_ppl": self.exact_latent_ppl(),
        }

    def _least_probable_first(self, units: Sequence[Any]) -> list[tuple[Chain, np.ndarray]]:
        """Chains of three titles or more with the log-probabilities of their transitions."""
        chains = self.judged(units)
        pairs = []
        for chain, log_probs in zip(chains, self.part_values(chains), strict=True):
            if len(chain.symbols) >= FEWEST_TITLES:
                pairs.append((chain, log_probs))
        return sorted(pairs, key=lambda pair: (float(np.nanmean(pair[1])), pair[0].unit_id))

    def exact_latent_ppl(self) -> float | None:
        r"""The synthetic process's own value under this critic; None without a known process.

        $\exp(-\sum_{ab} v_a P_{ab} \log P_c(b|a) / \sum_a v_a)$, where $v = e_0 (I - Q)^{-1}$ are
        the expected visits of begin and of each title.
        """
        names = (str(self.begin), *self.true_names, END)
        index = {name: i for i, name in enumerate(self.names)}
        if not self.true_names or not set(names) <= set(index):
            return None
        # Q: transitions between begin (which nothing leads to) and titles
        states = len(self.true_names) + 1
        between = np.hstack([np.zeros((states, 1)), self.true_transitions[:, :-1]])
        visits = np.linalg.solve((np.eye(states) - between).T, np.eye(states)[0])
        # the critic's log-probabilities of the same transitions, the end among them
        rows = [index[name] for name in names]
        log_probs = self.log_transitions[np.ix_(rows[:-1], rows[1:])]
        possible = self.true_transitions > 0
        nats = np.where(possible, self.true_transitions * log_probs, 0.0).sum(axis=1)
        return perplexity(float(visits @ nats), float(visits.sum()))


def own_titles(document: Document) -> TitledArticle:
    """A document read by its own titles; it is invalid where a section has none."""
    titles = tuple(section.title for section in document.sections)
    complete = tuple(title for title in titles if title)
    valid = len(complete) == len(titles)
    return TitledArticle(
        document.id,
        document.split,
        complete if valid else (),
        valid=valid,
        gold=complete if valid else titles,
        cut=not getattr(document, "ends", True),
    )


def _repeats_improbably(chain: Chain, log_probs: np.ndarray) -> bool:
    """Whether a title follows itself where real text would hardly have it so."""
    improbable = log_probs[1:] < np.log(markov_chain.FAILURE_PROBABILITY)
    for (earlier, later), failed in zip(pairwise(chain.symbols), improbable, strict=False):
        if earlier == later and failed:
            return True
    return False


def _described(chain: Chain, log_probs: np.ndarray) -> dict[str, Any]:
    return {
        "unit": chain.unit_id,
        "titles": list(chain.symbols),
        "log_probs": log_probs.tolist(),
    }


@dataclass(frozen=True)
class GoldTitleCritic(SectionOrder):
    """The same critic on the gold titles of real text, which no classifier has touched."""

    def judged(self, units: Sequence[Any]) -> Sequence[Chain]:
        return [unit.gold_chain() if isinstance(unit, TitledArticle) else unit for unit in units]


@dataclass(frozen=True)
class RandomTitleCritic(SectionOrder):
    """The same critic on titles drawn at random: the chance row of a table.

    A text has as many as it has of its own, each with its share among the gold titles of training.
    """

    titles: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Any]) -> Self:
        titles: list[str] = []
        for unit in real:
            titles.extend(unit.gold_chain().symbols)
        return replace(super().fit_units(real), titles=tuple(titles))

    def judged(self, units: Sequence[Any]) -> Sequence[Chain]:
        return [markov_chain.drawn_at_random(unit, self.titles, "random titles") for unit in units]


def transition_statistics(
    critic: BigramCritic, units: Sequence[Chain], table: np.ndarray
) -> SufficientStatistics:
    """Counts of every transition of known names, their sum under a table, unknown names,
    exclusions.

    Args:
        table: what a transition counts for, float64 (states, states).

    Returns:
        Columns ``a|b`` for each pair of names, ``logprob``, ``unknown`` and ``excluded``.
    """
    states = len(critic.names)
    transitions = critic.transitions_of(units)
    # 1. A column for each pair of names, the pairs of one earlier name side by side.
    counts = np.zeros((len(units), states * states))
    pairs = transitions.earlier * states + transitions.later
    are_known = ~transitions.unknown
    np.add.at(counts, (transitions.unit[are_known], pairs[are_known]), 1.0)
    columns: list[str] = []
    for earlier in critic.names:
        columns.extend(f"{earlier}|{later}" for later in critic.names)
    # 2. What they sum to, and what is not among them.
    logprob = counts @ table.ravel()
    unknown = np.bincount(transitions.unit, transitions.unknown, len(units))
    excluded = [float(not chain.valid) for chain in critic.judged(units)]
    values = np.column_stack([counts, logprob, unknown, excluded])
    return SufficientStatistics.of(units, (*columns, "logprob", "unknown", "excluded"), values)


def transition_totals(critic: BigramCritic, sums: Sums) -> np.ndarray:
    """(..., states, states) transitions from the sums of what :func:`transition_statistics` made."""
    states = len(critic.names)
    flat = sums.values[..., : states * states]
    return flat.reshape(*sums.values.shape[:-1], states, states)


AnyTitleCritic = TypeVar("AnyTitleCritic", bound=SectionOrder)


def with_validated_delta(
    kind: type[AnyTitleCritic], real: Predictions, deltas: Sequence[float]
) -> AnyTitleCritic:
    """A critic with the delta of lowest Latent PPL on the *predicted* validation titles.

    Args:
        kind: its class, whatever that itself judges.
        real: predictions of real text with documents of the splits train and validation.
        deltas: the candidates.

    Raises:
        InputError: a split is empty, or no candidate has a finite score.
    """
    units = units_from_predictions(real)
    train = [unit for unit in units if unit.split == "train"]
    validation = [unit for unit in units if unit.split == "validation"]
    for split, articles in (("train", train), ("validation", validation)):
        if not articles:
            raise InputError(
                f"the predictions to fit on have no document of split {split!r}; "
                "add it to its splits"
            )
    candidates = [SectionOrder(delta=delta) for delta in deltas]
    scores = markov_chain.delta_scores(train, validation, candidates)
    critic = kind(delta=markov_chain.best_delta(scores), validation=tuple(scores.items()))
    if "section_transitions" not in real.arrays:
        return critic
    return replace(
        critic,
        true_names=tuple(real.arrays["section_symbol_names"].tolist()),
        true_transitions=np.asarray(real.arrays["section_transitions"], dtype=np.float64),
    )


# judges predicted titles; gold ones, so that both sides of the Data row have one prior; random ones
validated = partial(with_validated_delta, SectionOrder)
validated_gold = partial(with_validated_delta, GoldTitleCritic)
random_titles = partial(with_validated_delta, RandomTitleCritic)


def units_from_predictions(predictions: Predictions) -> list[TitledArticle]:
    """One unit per document of section-title predictions."""
    predicted_names = predictions.arrays["symbol_names"].tolist()
    gold_names = [*predictions.arrays["gold_names"].tolist(), None]  # -1: a section without a title
    title_names = tuple(predictions.arrays["title_names"].tolist())
    rows = predictions.rows("chain", "valid", "gold", "log_posterior", "confidence")
    units = []
    for row, cut in zip(rows, cut_texts(predictions), strict=True):
        unit_id, split, chain, valid, gold, log_posterior, confidence = row
        units.append(
            TitledArticle(
                unit_id,
                split,
                tuple(predicted_names[i] for i in chain),
                bool(valid),
                tuple(gold_names[i] for i in gold),
                np.asarray(log_posterior, dtype=np.float64),
                title_names,
                np.asarray(confidence, dtype=np.float64),
                cut=cut,
            )
        )
    return units
