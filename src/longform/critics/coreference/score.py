r"""Coreference: does a person enter and return as persons do in real text (deng2022 section 5)?

Both critics are 5-gram models of chains of mentions. :class:`Coreference` is what the paper names,
modified Kneser-Ney (Chen and Goodman 1998); :class:`ReleasedCoreference` what the authors released,
absolute discounting over raw counts. Both keep a log probability per n-gram and a back-off weight
per context, which is exact.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.critics.coreference.person_chains import STOP as STOP
from longform.critics.coreference.person_chains import PersonChain as PersonChain
from longform.critics.coreference.person_chains import person_chains as person_chains
from longform.documents import Chain, Document, chains_from_predictions
from longform.errors import InputError
from longform.statistics.arithmetic import perplexity
from longform.statistics.markov_chain import COLUMNS, drawn_at_random
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.text.sentences import sentences

ORDER = 5  # deng2022 section 5
MAX_ORDER = 8  # windows longer than this have no room in a key, whatever the vocabulary
# released code: probability of a symbol that the training chains never hold
UNSEEN_PROBABILITY = 1e-20
# discounts where counts of counts give none (KenLM's --discount_fallback)
FALLBACK = (0.5, 1.0, 1.5)
KEY_BITS = 62  # of a window's key
NOBODY = -1  # entity of a token that mentions none
BEGIN_NAME, UNKNOWN_NAME = "", "<unk>"  # the paper prints padding as a blank
units_from_predictions = chains_from_predictions  # as all critics have


def _compiled() -> Any:
    """The compiled loops, loaded when something is counted."""
    from longform.critics.coreference import ngrams

    return ngrams


class TokenStream(NamedTuple):
    """Tokens of many chains, one chain after another.

    Attributes:
        forms: row of each token's form in the vocabulary, -1 where unknown, int32 (tokens,).
        entities: number of the entity mentioned, ``NOBODY`` for none, int32 (tokens,); comparable
            within a chain only.
        starts: index of the first token of each token's chain, int64 (tokens,).
        lengths: tokens of each chain, int64 (units,).
    """

    forms: np.ndarray
    entities: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


class Packing:
    """The layout of a window of symbols in one integer, its key.

    A symbol's code is 1 + its form's row times ``stride`` + its label, which is 0 for no entity,
    else 1 + the entity's number in the window. Code 0 is an unknown symbol or an empty place. A key
    holds codes of ``bits`` bits side by side, the latest symbol lowest.

    Attributes:
        order: symbols in a window.
        padding: begin symbols put before a chain; further places stay empty.
        stride: codes per form: no entity, or one of up to ``order`` entities of the window.
        begin: code of the begin symbol, the largest: n-grams with it sort last.
        bits: of a code.
    """

    def __init__(self, order: int, forms: int, padding: int) -> None:
        self.order = order
        self.padding = padding
        self.stride = order + 1
        self.begin = forms * self.stride + 1
        self.bits = self.begin.bit_length()
        if not 2 <= order <= MAX_ORDER or self.bits * order > KEY_BITS:
            raise InputError(
                f"{forms} forms at order {order} need {self.bits * order} bits, {KEY_BITS} are "
                f"there; allowed is an order of 2 to {MAX_ORDER} with fewer forms: "
                "check that entity numbers follow a colon"
            )

    def mask(self, order: int) -> int:
        """The bits of the last ``order`` codes: ``key & mask(n)`` is the key of an n-gram."""
        return (1 << (self.bits * order)) - 1

    def names(self, key: int, forms: Sequence[str]) -> tuple[str, ...]:
        """The symbols of a key, earliest first."""
        symbols = []
        while key:
            symbols.append(self._name(key & self.mask(1), forms))
            key >>= self.bits
        return tuple(reversed(symbols))

    def _name(self, code: int, forms: Sequence[str]) -> str:
        """The symbol of a code; entities are numbered from 0 within the window."""
        if code == 0:
            return UNKNOWN_NAME
        if code == self.begin:
            return BEGIN_NAME
        form, label = divmod(code - 1, self.stride)
        if label == 0:
            return forms[form]
        return f"{forms[form]}:{label - 1}"


def split_symbol(symbol: str) -> tuple[str, str | None]:
    """Form and entity of a symbol of a chain of mentions.

    A mention ``"he:12"`` has the form ``"he"`` and the entity ``"12"``; the stop ``"."``, which
    opens each sentence of a chain, has no entity.
    """
    form, _, entity = symbol.rpartition(":")
    if form and entity:
        return form, entity
    return symbol, None


def form_vocabulary(chains: Sequence[Chain]) -> tuple[str, ...]:
    """The distinct forms of chains' symbols, in alphabetical order."""
    symbols: set[str] = set()
    for chain in chains:
        symbols.update(chain.symbols)
    return tuple(sorted({split_symbol(symbol)[0] for symbol in symbols}))


def read_tokens(chains: Sequence[Chain], forms: Mapping[str, int]) -> TokenStream:
    """Form and entity of each token of chains, one chain after another.

    Args:
        chains: of mentions and stops; an invalid one has no tokens.
        forms: the row of each form of the vocabulary; others have row -1.
    """
    # 1. The symbols of all chains, and each distinct one's number.
    symbols: list[str] = []
    lengths = np.zeros(len(chains), dtype=np.int64)
    for unit, chain in enumerate(chains):
        if chain.valid:
            lengths[unit] = len(chain.symbols)
            symbols += chain.symbols
    numbers = {symbol: number for number, symbol in enumerate(dict.fromkeys(symbols))}
    # 2. Form and entity of each distinct symbol; it is split once, not once a token.
    entities: dict[str | None, int] = {None: NOBODY}
    form_and_entity = np.empty((len(numbers), 2), dtype=np.int32)
    for symbol, number in numbers.items():
        form, entity = split_symbol(symbol)
        entity_number = entities.setdefault(entity, len(entities) - 1)
        form_and_entity[number] = forms.get(form, -1), entity_number
    # 3. Those of each token, and where its chain begins.
    symbol_numbers = (numbers[symbol] for symbol in symbols)
    rows = np.fromiter(symbol_numbers, np.int64, len(symbols))
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return TokenStream(form_and_entity[rows, 0], form_and_entity[rows, 1], starts, lengths)


def window_keys(tokens: TokenStream, packing: Packing) -> np.ndarray:
    """Key of the window that ends at each token, int64 (tokens,).

    Entities are renumbered 0, 1, ... by first appearance within each window (deng2022 section 5,
    released code), once, at the highest order: its lower orders are cut from it and not renumbered
    again.
    """
    return _compiled().window_keys(
        tokens.forms,
        tokens.entities,
        tokens.starts,
        packing.order,
        packing.stride,
        packing.bits,
        packing.begin,
        packing.padding,
        NOBODY,
    )


class NgramOrder(NamedTuple):
    """Fitted n-grams of one order.

    Attributes:
        keys: of the n-grams, ascending, int64 (n-grams,).
        log_probs: of the last symbol of each after the others, float64 (n-grams,).
        context_keys: of what precedes the last symbols, ascending, int64 (contexts,).
        log_weights: the log back-off weight of each context, float64 (contexts,).
    """

    keys: np.ndarray
    log_probs: np.ndarray
    context_keys: np.ndarray
    log_weights: np.ndarray


class NgramCounts(NamedTuple):
    """Counts of the n-grams of one order.

    Attributes:
        keys: of the n-grams, ascending, int64 (n-grams,).
        counts: of each, int64 (n-grams,).
        suffix: the row of its last n - 1 symbols one order below, int64 (n-grams,).
    """

    keys: np.ndarray
    counts: np.ndarray
    suffix: np.ndarray


class Discounting(NamedTuple):
    """The discounts of counts, and the probabilities that they leave to symbols never met.

    Attributes:
        discounts: of each order, of counts 1, 2, ...; the last one is that of all larger counts.
        base: probability of each symbol below order 1.
        log_unknown: log probability of a symbol that was never met, nats.
    """

    discounts: tuple[tuple[float, ...], ...]
    base: float
    log_unknown: float


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class _NgramScores(
    TextCritic,
    better="reference_matched",
    parts="mentions and sentence ends",
    attributed=("logprob",),
    blame=-1,
    needs="a person who is mentioned twice",
):
    """Counting and scoring of both models; the subclasses differ in what they count and discount.

    Attributes:
        raw: raw counts of chains padded to full windows, else counts of distinct predecessors.
        forms: of mentions, in alphabetical order.
        orders: the fitted n-grams, from order 1 up.
        log_unknown: log probability of a symbol that was never met.
        fitted_discounts: of each order.
    """

    raw: ClassVar[bool]

    order: int = ORDER
    forms: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    orders: tuple[NgramOrder, ...] = field(default=(), repr=False, metadata=FITTED)
    log_unknown: float = field(default=-math.inf, repr=False, metadata=FITTED)
    fitted_discounts: tuple[tuple[float, ...], ...] = field(default=(), repr=False, metadata=FITTED)

    def read_texts(self, documents: Sequence[Document]) -> list[PersonChain]:
        """Chains of persons by the rules, which need no model."""
        from longform.critics.coreference.own_texts import chains_by_rules

        return person_chains(chains_by_rules(documents))

    def spans(self, document: Document, unit: Any, values: np.ndarray) -> Spans:
        """Of each mention its head word or pronoun; of a sentence's stop the whole sentence."""
        # chains are of texts without the blanks around them
        offset = len(document.text) - len(document.text.lstrip())
        sentence_ends = dict(sentences(document.text))
        spans = []
        for start, end in unit.spans[: len(values)]:
            if start == end:  # a stop
                start += offset
                spans.append((start, sentence_ends.get(start, start + 1)))
            else:
                spans.append((start + offset, end + offset))
        return spans

    @property
    def packing(self) -> Packing:
        """How windows of this critic's forms become keys."""
        padding = self.order - 1 if self.raw else 1
        return Packing(self.order, len(self.forms), padding)

    @cached_property
    def table(self) -> np.ndarray:
        """The hash table of the fitted n-grams, made when something is scored first."""
        return _compiled().hashed(self.orders)

    def window(self, key: int) -> tuple[str, ...]:
        """The ``order`` symbols of a window's key, earliest first; empty places are unknown."""
        names = self.packing.names(key, self.forms)
        return (UNKNOWN_NAME,) * (self.order - len(names)) + names

    def fit_units(self, real: Sequence[Chain]) -> Self:
        """Count the n-grams of the valid chains, and estimate their probabilities.

        Args:
            real: chains of mentions of real texts.

        Raises:
            InputError: none has a token.
        """
        vocabulary = form_vocabulary([unit for unit in real if unit.valid])
        unfitted = replace(self, forms=vocabulary)
        return unfitted.fit_tokens(unfitted.read(real))

    def fit_tokens(self, tokens: TokenStream) -> Self:
        """Do as :meth:`fit_units`, from tokens that were read with this critic's ``forms``."""
        if not len(tokens.forms):
            raise InputError(
                f"{type(self).__name__}: no token in the real chains; "
                "check the reader and its filter"
            )
        # 1. Counts of the n-grams of each order, and what is taken off them.
        ngram_counts = self._counts_by_order(window_keys(tokens, self.packing))
        all_counts = [counts for _, counts, _ in ngram_counts]
        discounts, base, log_unknown = self._discounting(all_counts)
        # 2. Probabilities from order 1 up, each from those of the order below.
        orders: list[NgramOrder] = []
        probabilities = np.full(1, base)
        for order_counts, discount in zip(ngram_counts, discounts, strict=True):
            order, probabilities = fitted_order(
                order_counts, discount, probabilities, self.packing.bits
            )
            orders.append(order)
        # 3. The weight of order 1's one context, the empty one, is spent on the unseen symbol.
        unigrams = orders[0]
        orders[0] = unigrams._replace(
            context_keys=unigrams.context_keys[1:], log_weights=unigrams.log_weights[1:]
        )
        return replace(
            self, orders=tuple(orders), log_unknown=log_unknown, fitted_discounts=discounts
        )

    def _counts_by_order(self, keys: np.ndarray) -> list[NgramCounts]:
        """Counts of the n-grams of each order from 1 up.

        Those of the highest order are occurrences, and all are if ``raw``; else a lower order
        counts the different symbols before an n-gram.

        Args:
            keys: of all windows, (tokens,).
        """
        packing = self.packing
        windows, window_counts = np.unique(keys, return_counts=True)
        # 1. Windows by their length: shorter ones begin a chain.
        smallest_keys = [1 << (packing.bits * length) for length in range(packing.order)]
        first_of_length = np.searchsorted(windows, smallest_keys)
        full = slice(first_of_length[-1], None)
        ngrams = windows[full]
        counts = window_counts[full]
        # 2. From the highest order down: what one order's n-grams end in is the order below.
        orders = []
        for n in range(packing.order - 1, 0, -1):
            shorter, suffix = np.unique(ngrams & packing.mask(n), return_inverse=True)
            orders.append(NgramCounts(ngrams, counts, suffix))
            weights = counts if self.raw else None
            summed = np.bincount(suffix, weights, len(shorter)).astype(np.int64)
            # n-grams that begin a chain have no predecessor, and keep their raw counts
            begins_chain = slice(first_of_length[n - 1], first_of_length[n])
            ngrams = np.concatenate([shorter, windows[begins_chain]])
            counts = np.concatenate([summed, window_counts[begins_chain]])
        orders.append(NgramCounts(ngrams, counts, np.zeros(len(ngrams), dtype=np.int64)))
        orders.reverse()
        return orders

    @abstractmethod
    def _discounting(self, counts: Sequence[np.ndarray]) -> Discounting:
        """The discounts of each order's counts, and the probability of an unknown symbol.

        Args:
            counts: of the n-grams of each order, from 1 up.
        """

    def read(self, units: Sequence[Chain]) -> TokenStream:
        """Tokens of chains under this critic's vocabulary."""
        rows = {form: row for row, form in enumerate(self.forms)}
        return read_tokens(units, rows)

    def score_tokens(self, tokens: TokenStream) -> np.ndarray:
        r"""$\log P_c(z_m \mid z_{m-4}, \ldots, z_{m-1})$ of each token in nats, (tokens,)."""
        return self.score_windows(window_keys(tokens, self.packing))

    def score_windows(self, keys: np.ndarray) -> np.ndarray:
        """Log probability of each window's last symbol in nats, (windows,).

        Raises InputError: the critic is not fitted.
        """
        if not self.orders:
            raise InputError(
                f"{type(self).__name__} has no counts yet; "
                "call fit(real chains) and use what it returns"
            )
        return _compiled().scores(self.table, keys, self.order, self.packing.bits, self.log_unknown)

    def part_values(self, units: Sequence[Chain]) -> list[np.ndarray]:
        """Log probability of each symbol of each chain, nats, (symbols,)."""
        tokens = self.read(self.judged(units))
        ends = np.cumsum(tokens.lengths)
        return np.split(self.score_tokens(tokens), ends[:-1])[: len(units)]

    def sufficient_statistics(self, units: Sequence[Chain]) -> SufficientStatistics:
        """A row a chain: log probability (nats), tokens, unknown tokens and exclusion."""
        tokens = self.read(self.judged(units))
        keys = window_keys(tokens, self.packing)
        unit_of_token = np.repeat(np.arange(len(units)), tokens.lengths)
        logprob = np.bincount(unit_of_token, self.score_windows(keys), len(units))
        is_unknown = ~np.isin(keys & self.packing.mask(1), self.orders[0].keys)
        unknown = np.bincount(unit_of_token, is_unknown, len(units))
        excluded = [not unit.valid for unit in units]
        rows = zip(logprob, tokens.lengths, unknown, excluded, strict=True)
        return SufficientStatistics.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        """Latent PPL over chain tokens, stops among them, corpus-level (released scorer)."""
        return perplexity(sums.total("logprob"), sums.total("transitions"))


def fitted_order(
    ngram_counts: NgramCounts, discount: Sequence[float], lower: np.ndarray, bits: int
) -> tuple[NgramOrder, np.ndarray]:
    r"""Interpolated probabilities of the n-grams of one order.

    $P_n(w \mid h) = (c(hw) - D) / c(h) + \gamma(h) P_{n-1}(w \mid h')$, where $\gamma(h)$ is the
    share of $c(h)$ that the discounts took off (Chen and Goodman 1998, section 2).

    Args:
        ngram_counts: of the order.
        discount: of counts 1, 2, ...; the last one is that of all larger counts.
        lower: probabilities of the order below, (n-grams of that order,).
        bits: of a code in a key.

    Returns:
        The fitted order, and its probabilities, (n-grams,).
    """
    keys, counts, suffix = ngram_counts
    # 1. c(h) of each context, and the discount D of each n-gram. ``context`` is the row of each
    #    n-gram's context h, whose key lacks the last (lowest) code.
    context_keys, context = np.unique(keys >> bits, return_inverse=True)
    context_counts = np.bincount(context, counts)
    discount_of_count = np.array([0.0, *discount])
    discounts = discount_of_count[np.minimum(counts, len(discount))]
    # 2. The back-off weight gamma(h) of each context; of a single discount as a product, which
    #    rounds once, where a sum rounds for each n-gram.
    if len(discount) == 1:
        weight = discount[0] * np.bincount(context) / context_counts
    else:
        weight = np.bincount(context, discounts) / context_counts
    # 3. The discounted share of each n-gram, plus its share of the context's weight.
    probabilities = (counts - discounts) / context_counts[context]
    probabilities = probabilities + weight[context] * lower[suffix]
    with np.errstate(divide="ignore"):
        order = NgramOrder(keys, np.log(probabilities), context_keys, np.log(weight))
    return order, probabilities


@dataclass(frozen=True)
class ReleasedCoreference(_NgramScores, recorded_as="MentionCritic"):
    r"""The released critic: interpolated absolute discounting over raw counts of 5-grams.

    $P_n(w \mid h) = \max(c(hw) - D_n, 0) / c(h) + D_n N_{1+}(h\,\cdot) / c(h) P_{n-1}(w \mid h')$
    with $D_n = n_1 / (n_1 + 2 n_2)$ over distinct n-grams seen once and twice, $D_1 = 0$; an unseen
    history is shortened without penalty; an unseen symbol has probability 1e-20 (deng2022 section 5
    names Kneser-Ney, its code does this). Chains are padded with four begin symbols.
    """

    raw: ClassVar[bool] = True

    def _discounting(self, counts: Sequence[np.ndarray]) -> Discounting:
        """One discount an order, none for unigrams; unknown symbols have a fixed probability."""
        discounts = [(0.0,)]
        for order_counts in counts[1:]:
            discounts.append((absolute_discount(order_counts),))
        return Discounting(tuple(discounts), 0.0, math.log(UNSEEN_PROBABILITY))


@dataclass(frozen=True)
class Coreference(_NgramScores, recorded_as="KneserNeyCritic"):
    r"""Interpolated modified Kneser-Ney (Chen and Goodman 1998), counted as KenLM's lmplz counts.

    Below the highest order a count is the number of distinct symbols that precede the n-gram, or
    the raw count for an n-gram that begins a chain. Discounts $D_1, D_2, D_{3+}$ per order come
    from counts of counts; unigrams are interpolated with the uniform distribution over the seen
    symbols and one unseen symbol. One begin symbol.
    """

    raw: ClassVar[bool] = False

    def _discounting(self, counts: Sequence[np.ndarray]) -> Discounting:
        """Three discounts of each order, and the probability that they leave to unknown symbols.

        Args:
            counts: of the n-grams of each order, unigrams first.
        """
        discounts = tuple(map(modified_discounts, counts))
        # the mass taken off unigrams is divided evenly among all symbols and the unseen one
        unigrams = counts[0]
        discount_of_count = np.array([0.0, *discounts[0]])
        unigram_discounts = discount_of_count[np.minimum(unigrams, 3)]
        num_symbols = len(unigrams) + 1
        unknown = float(unigram_discounts.sum() / unigrams.sum()) / num_symbols
        log_unknown = math.log(unknown) if unknown else -math.inf
        return Discounting(discounts, 1.0 / num_symbols, log_unknown)


@dataclass(frozen=True)
class _RandomMentions(_NgramScores):
    """The same critic on symbols drawn at random: the chance row of a table of Latent PPL.

    A text's own symbols, sentence stops among them, are replaced by as many draws from all symbols
    of the valid training chains, each whole with its entity's number. A text whose mentions score
    no better than these has no chains of persons to speak of.
    """

    symbols: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Chain]) -> Self:
        """The critic with the n-grams of the valid chains, and their symbols to draw from."""
        symbols: list[str] = []
        for unit in real:
            if unit.valid:
                symbols.extend(unit.symbols)
        return replace(super().fit_units(real), symbols=tuple(symbols))

    def judged(self, units: Sequence[Chain]) -> Sequence[Chain]:
        """Chains as long as the units' own, of symbols drawn at random.

        Raises InputError: the critic is not fitted.
        """
        if not self.symbols:
            raise InputError(
                f"{type(self).__name__} has no symbols to draw; "
                "call fit(real chains), use what it returns"
            )
        return [drawn_at_random(unit, self.symbols, "random mentions") for unit in units]


@dataclass(frozen=True)
class RandomMentionCritic(_RandomMentions, ReleasedCoreference):
    """Chance for :class:`ReleasedCoreference`.

    A drawn symbol that no training window holds has probability 1e-20 there.
    """


@dataclass(frozen=True)
class RandomKneserNeyCritic(_RandomMentions, Coreference):
    """Chance for :class:`Coreference`."""


def _num_with_count(counts: np.ndarray, count: int) -> int:
    """How many distinct n-grams occur exactly ``count`` times; ``counts`` is (n-grams,)."""
    return int(np.sum(counts == count))


def absolute_discount(counts: np.ndarray) -> float:
    r"""The discount of one order: $n_1 / (n_1 + 2 n_2)$ (Ney, Essen and Kneser 1994).

    $n_j$ distinct n-grams occur j times; it is one half where none occurs once.
    """
    once = _num_with_count(counts, 1)
    twice = _num_with_count(counts, 2)
    if once == 0:
        return FALLBACK[0]
    return once / (once + 2 * twice)


def modified_discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """The discounts of one order for counts of 1, of 2, and of 3 or more.

    Chen and Goodman 1998, eq. 26. ``FALLBACK`` where a count of counts is missing, or a discount is
    negative, which the first never is.
    """
    n1, n2, n3, n4 = (_num_with_count(counts, j) for j in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    y = n1 / (n1 + 2 * n2)
    first = 1 - 2 * y * n2 / n1
    second = 2 - 3 * y * n3 / n2
    third = 3 - 4 * y * n4 / n3
    if second >= 0 and third >= 0:
        return first, second, third
    return FALLBACK
