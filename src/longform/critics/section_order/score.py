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
from longform.documents import Chain, Document, Predictions, cut_texts, grouped, section_starts
from longform.errors import InputError
from longform.statistics import markov_chain
from longform.statistics.arithmetic import perplexity
from longform.statistics.markov_chain import END, BigramCritic
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums

NUM_WORST = 3  # articles of a set whose transitions a record has, for Figure 1 and Table 13
FEWEST_TITLES = 3  # of an article that such a record may have
MAX_LENGTH = 512  # tokens of a section that a title reader sees (deng2022 appendix E)
SHOWN_START = 60  # ours: characters of a section that stand for its title
SHOWN_END = 30  # ours: characters of a text that stand for its end


@dataclass(frozen=True)
class TitledArticle(Chain):
    """One document's predicted titles (its symbols, one a section) beside its own titles.

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
        """The chain of the document's own titles; invalid where one is missing."""
        is_complete = len(self.gold) > 0 and None not in self.gold
        symbols = tuple(map(str, self.gold)) if is_complete else ()
        return Chain(self.unit_id, self.split, symbols, valid=is_complete, cut=self.cut)


# Class keywords and metadata: see TextCritic.
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
        """The titles of each text: its own, or those that the classifier ``reader`` predicts."""
        if self.reader is None:
            return list(map(own_titles, documents))
        from longform.critics.section_order.own_texts import predicted_titles

        predictions = predicted_titles(documents, self.reader, self.max_length)
        return units_from_predictions(predictions)

    def spans(self, document: Document, unit: TitledArticle, values: np.ndarray) -> Spans:
        """The span of each transition: the start of the section whose title it leads to."""
        spans = []
        starts = section_starts(document)
        for start, section in zip(starts, document.sections, strict=True):
            shown = min(SHOWN_START, len(section.text))
            spans.append((start, start + shown))
        length = len(document.text)
        spans.append((max(0, length - SHOWN_END), length))
        return spans[: len(values)]

    def fit_units(self, real: Sequence[Any]) -> Self:
        """Learn the transitions between the gold titles of real texts.

        Args:
            real: real articles; those without gold titles are excluded and counted.

        Raises:
            InputError: none has them.
        """
        gold_chains = [unit.gold_chain() for unit in real]
        return super().fit_units(gold_chains)

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """Details of the score for tables and figures of transitions, ready for JSON.

        Returns:
            ``transitions``: earlier and later title, count and probability; ``likeliest``: each
            title's likeliest successor; ``worst``: the ``NUM_WORST`` least probable
            articles; ``repeating``: of the articles in which a title is repeated by an improbable
            transition, the ``NUM_WORST`` that are most probable as a whole; ``validation``: each
            candidate for the smoothing constant delta with its Latent PPL; ``exact_latent_ppl``.
        """
        ranked = self._least_probable_first(units)
        repeating = []
        for chain, log_probs in reversed(ranked):
            if _repeats_improbably(chain, log_probs):
                repeating.append((chain, log_probs))
        return {
            "transitions": self._transition_table(units),
            "likeliest": self._likeliest_successors(),
            "worst": _described(ranked[:NUM_WORST]),
            "repeating": _described(repeating[:NUM_WORST]),
            "validation": list(map(list, self.validation)),
            "exact_latent_ppl": self.exact_latent_ppl(),
        }

    def _transition_table(self, units: Sequence[Any]) -> list[list[Any]]:
        """A row for every kind of transition: earlier title, later title, count and probability."""
        index = {name: i for i, name in enumerate(self.names)}
        probabilities = np.exp(self.log_transitions)
        counts = markov_chain.transition_counts(self, units)
        table = []
        for (earlier, later), count in sorted(counts.items()):
            probability = float(probabilities[index[earlier], index[later]])
            table.append([earlier, later, count, probability])
        return table

    def _likeliest_successors(self) -> dict[str, str]:
        """The likeliest successor of the beginning and of each title; on a tie the first name."""
        likeliest = {}
        for name, row in zip(self.names, self.log_transitions, strict=True):
            if name != END:
                likeliest[name] = self.names[int(row.argmax())]
        return likeliest

    def _least_probable_first(self, units: Sequence[Any]) -> list[tuple[Chain, np.ndarray]]:
        """Chains of three titles or more with their log-probabilities, least probable first."""
        chains = self.judged(units)
        pairs = []
        for chain, log_probs in zip(chains, self.part_values(chains), strict=True):
            if len(chain.symbols) >= FEWEST_TITLES:
                pairs.append((chain, log_probs))

        def rank(pair: tuple[Chain, np.ndarray]) -> tuple[float, str]:
            chain, log_probs = pair
            return float(np.nanmean(log_probs)), chain.unit_id

        return sorted(pairs, key=rank)

    def rows_of(self, names: Sequence[str]) -> list[int]:
        """The indices of some names' rows, and columns, in the table of transitions."""
        return [self.names.index(name) for name in names]

    def exact_latent_ppl(self) -> float | None:
        r"""The synthetic process's own value under this critic; None without a known process.

        $\exp(-\sum_{ab} v_a P_{ab} \log P_c(b|a) / \sum_a v_a)$, where $v = e_0 (I - Q)^{-1}$ are
        the expected visits of begin and of each title.
        """
        names = (str(self.begin), *self.true_names, END)
        if not self.true_names or not set(names) <= set(self.names):
            return None
        # 1. v, from Q: transitions between begin (which nothing leads to) and titles.
        num_states = len(self.true_names) + 1
        to_begin = np.zeros((num_states, 1))
        between = np.hstack([to_begin, self.true_transitions[:, :-1]])
        identity = np.eye(num_states)
        visits = np.linalg.solve((identity - between).T, identity[0])
        # 2. The critic's log-probabilities of the same transitions, the end among them.
        rows = self.rows_of(names)
        log_probs = self.log_transitions[np.ix_(rows[:-1], rows[1:])]
        # 3. Their expectation a visit; an impossible transition adds nothing.
        possible = self.true_transitions > 0
        nats = np.where(possible, self.true_transitions * log_probs, 0.0).sum(axis=1)
        return perplexity(float(visits @ nats), float(visits.sum()))


def own_titles(document: Document) -> TitledArticle:
    """The article of a document's own titles; it is invalid where a section has none."""
    titles = tuple(section.title for section in document.sections)
    is_complete = all(titles)
    return TitledArticle(
        document.id,
        document.split,
        symbols=tuple(map(str, titles)) if is_complete else (),
        valid=is_complete,
        gold=titles,
        cut=not getattr(document, "ends", True),
    )


def _repeats_improbably(chain: Chain, log_probs: np.ndarray) -> bool:
    """Whether a title follows itself although that is improbable in real text."""
    improbable = log_probs[1:] < np.log(markov_chain.FAILURE_PROBABILITY)
    for (earlier, later), failed in zip(pairwise(chain.symbols), improbable, strict=False):
        if earlier == later and failed:
            return True
    return False


def _described(articles: Sequence[tuple[Chain, np.ndarray]]) -> list[dict[str, Any]]:
    """Rows for a record: ``unit``, ``titles`` and ``log_probs`` of transitions of each article."""
    described = []
    for chain, log_probs in articles:
        article = {
            "unit": chain.unit_id,
            "titles": list(chain.symbols),
            "log_probs": log_probs.tolist(),
        }
        described.append(article)
    return described


@dataclass(frozen=True)
class GoldTitleCritic(SectionOrder):
    """The same critic on the gold titles of real text, which no classifier has touched."""

    def judged(self, units: Sequence[Any]) -> Sequence[Chain]:
        """Chains of the units' own titles; a plain chain is judged as it is."""
        chains = []
        for unit in units:
            chains.append(unit.gold_chain() if isinstance(unit, TitledArticle) else unit)
        return chains


@dataclass(frozen=True)
class RandomTitleCritic(SectionOrder):
    """The same critic on titles drawn at random: the chance row of a table.

    A text's own titles are replaced by as many draws from the gold titles of training sections.
    """

    titles: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Any]) -> Self:
        """Learn the transitions of real texts' gold titles, and keep the titles to draw from."""
        titles: list[str] = []
        for unit in real:
            titles.extend(unit.gold_chain().symbols)
        return replace(super().fit_units(real), titles=tuple(titles))

    def judged(self, units: Sequence[Any]) -> Sequence[Chain]:
        """Chains as long as the units' own, of titles drawn at random."""
        return [markov_chain.drawn_at_random(unit, self.titles, "random titles") for unit in units]


def transition_statistics(
    critic: BigramCritic, units: Sequence[Chain], table: np.ndarray
) -> SufficientStatistics:
    """Count each text's transitions between known titles, and sum a table's values over them.

    Args:
        critic: a fitted one, whose names, titles with begin and end, are the states.
        units: articles.
        table: value of each transition, such as its log-probability, float64 (states, states);
            finite, as infinity times a count of 0 is nan.

    Returns:
        A row a text, which a bootstrap adds up. Columns ``a|b`` for each pair of names, ``logprob``
        (the sum), ``unknown`` (transitions with an unknown name) and ``excluded`` (1 for an invalid
        chain: a section has no title).
    """
    num_states = len(critic.names)
    transitions = critic.transitions_of(units)
    # 1. A column for each pair of names, the pairs of one earlier name side by side.
    counts = np.zeros((len(units), num_states * num_states))
    pairs = transitions.earlier * num_states + transitions.later
    are_known = ~transitions.unknown
    # Unlike ``counts[...] += 1`` this counts a transition that a text makes twice.
    np.add.at(counts, (transitions.unit[are_known], pairs[are_known]), 1.0)
    columns: list[str] = []
    for earlier in critic.names:
        for later in critic.names:
            columns.append(f"{earlier}|{later}")
    # 2. Their values' sum, transitions with unknown names, and exclusion.
    logprob = counts @ table.ravel()
    unknown = np.bincount(transitions.unit, transitions.unknown, len(units))
    excluded = [float(not chain.valid) for chain in critic.judged(units)]
    values = np.column_stack([counts, logprob, unknown, excluded])
    return SufficientStatistics.of(units, (*columns, "logprob", "unknown", "excluded"), values)


def transition_totals(critic: BigramCritic, sums: Sums) -> np.ndarray:
    """The count of each transition, from sums of :func:`transition_statistics`.

    Returns:
        (..., states, states); the leading dimensions are those of the sums, such as resamples.
    """
    num_states = len(critic.names)
    flat = sums.values[..., : num_states * num_states]
    return flat.reshape(*sums.values.shape[:-1], num_states, num_states)


AnyTitleCritic = TypeVar("AnyTitleCritic", bound=SectionOrder)


def with_validated_delta(
    kind: type[AnyTitleCritic], real: Predictions, deltas: Sequence[float]
) -> AnyTitleCritic:
    """A critic with the delta of lowest Latent PPL on the *predicted* validation titles.

    Args:
        kind: the critic's class.
        real: predictions of real text with documents of the splits train and validation.
        deltas: the candidates.

    Raises:
        InputError: a split is empty, or no candidate has a finite score.
    """
    by_split = grouped(units_from_predictions(real), lambda unit: unit.split)
    for split in ("train", "validation"):
        if split not in by_split:
            raise InputError(
                f"the predictions to fit on have no document of split {split!r}; "
                "add it to its splits"
            )
    # 1. The delta of the best score.
    candidates = [SectionOrder(delta=delta) for delta in deltas]
    scores = markov_chain.delta_scores(by_split["train"], by_split["validation"], candidates)
    best_delta = markov_chain.best_delta(scores)
    critic = kind(delta=best_delta, validation=tuple(scores.items()))
    # 2. The process that made synthetic text, where it is known.
    if "section_transitions" not in real.arrays:
        return critic
    true_transitions = np.asarray(real.arrays["section_transitions"], dtype=np.float64)
    true_names = tuple(real.arrays["section_symbol_names"].tolist())
    return replace(critic, true_names=true_names, true_transitions=true_transitions)


# Critics of predicted titles; of gold ones, so that both sides of the Data row have one prior; and
# of random ones.
validated = partial(with_validated_delta, SectionOrder)
validated_gold = partial(with_validated_delta, GoldTitleCritic)
random_titles = partial(with_validated_delta, RandomTitleCritic)


def units_from_predictions(predictions: Predictions) -> list[TitledArticle]:
    """One unit per document of section-title predictions."""
    predicted_names = predictions.arrays["symbol_names"].tolist()
    # the last one, which index -1 takes, is that of a section without a title
    gold_names = [*predictions.arrays["gold_names"].tolist(), None]
    title_names = tuple(predictions.arrays["title_names"].tolist())
    rows = predictions.rows("chain", "valid", "gold", "log_posterior", "confidence")
    units = []
    for row, cut in zip(rows, cut_texts(predictions), strict=True):
        unit_id, split, chain, valid, gold, log_posterior, confidence = row
        article = TitledArticle(
            unit_id,
            split,
            symbols=tuple(predicted_names[i] for i in chain),
            valid=bool(valid),
            gold=tuple(gold_names[i] for i in gold),
            log_posterior=np.asarray(log_posterior, dtype=np.float64),
            title_names=title_names,
            confidence=np.asarray(confidence, dtype=np.float64),
            cut=cut,
        )
        units.append(article)
    return units
