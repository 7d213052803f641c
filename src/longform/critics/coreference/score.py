r"""5-gram critics of mention chains: does a person enter and return as persons do in real text (deng2022 section 5)?

:class:`MentionCritic` is what the authors released, absolute discounting over raw counts; :class:`KneserNeyCritic` what the paper names,
modified Kneser-Ney (Chen and Goodman 1998). Both keep a log probability per n-gram and a back-off weight per context, which is exact.
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from longform.documents import Chain, Predictions, chains_from_predictions
from longform.errors import BadInput
from longform.statistics.arithmetic import perplexity
from longform.statistics.markov_chain import COLUMNS, drawn_at_random
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored
from longform.text.rendering import unpack

ORDER = 5  # deng2022 section 5
MAX_ORDER = 8  # windows longer than this have no room in a key, whatever the vocabulary
UNSEEN_PROBABILITY = (
    1e-20  # released code: probability of a symbol that the training chains never hold
)
FALLBACK = (
    0.5,
    1.0,
    1.5,
)  # discounts where counts of counts give none (KenLM's --discount_fallback)
STOP = "."  # opens each sentence of a chain
NOBODY = -1  # entity of a token that mentions none
BEGIN_NAME, UNKNOWN_NAME = "", "<unk>"  # the paper prints padding as a blank
units_from_predictions = chains_from_predictions


@dataclass(frozen=True)
class PersonChain(Chain):
    """A chain with where in the text each symbol stands (a stop: the first character of its sentence), and maybe the text."""

    spans: tuple[tuple[int, int], ...] = ()
    text: str = ""


def person_chains(predictions: Predictions) -> list[PersonChain]:
    """What the readers of chains wrote, with the texts where they kept them."""
    rows = zip(
        chains_from_predictions(predictions),
        predictions.ragged("span"),
        unpack(predictions),
        strict=True,
    )
    return [
        PersonChain(**vars(c), spans=tuple(map(tuple, spans.tolist())), text=text)
        for c, spans, text in rows
    ]


def _compiled() -> Any:
    """The compiled loops, loaded when something is counted: ``longform --help`` needs no compiler."""
    from longform.critics.coreference import ngrams

    return ngrams


class TokenStream(NamedTuple):
    """Tokens of many chains, flat; an entity is an integer, comparable within a chain only."""

    forms: np.ndarray  # (tokens,) row of each token's form in the vocabulary, -1 where unknown
    entities: np.ndarray  # (tokens,) mentioned, ``NOBODY`` for none
    starts: np.ndarray  # (tokens,) position where the token's chain begins
    lengths: np.ndarray  # (units,) tokens per chain


class Packing:
    """How forms and relabelled entities become codes, and codes keys: side by side, the latest lowest."""

    def __init__(self, order: int, forms: int, padding: int) -> None:
        self.order = order  # symbols in a window
        self.padding = padding  # begin symbols put before a chain; further places stay empty
        self.stride = (
            order + 1
        )  # codes per form: no entity, or the first, second, ... entity of the window
        self.begin = (
            forms * self.stride + 1
        )  # code of the begin symbol, the largest: n-grams with it sort last
        self.bits = self.begin.bit_length()  # per code
        if not 2 <= order <= MAX_ORDER or self.bits * order > 62:
            raise BadInput(
                f"{forms} forms at order {order} need {self.bits * order} bits, 62 are there; "
                f"allowed is an order of 2 to {MAX_ORDER} with fewer forms: check that entity numbers follow a colon"
            )

    def mask(self, order: int) -> int:
        """Keeps the last ``order`` codes of a key."""
        return (1 << (self.bits * order)) - 1

    def names(self, key: int, forms: Sequence[str]) -> tuple[str, ...]:
        """The symbols of a key, earliest first."""
        symbols = []
        while key:
            form, label = divmod((key & self.mask(1)) - 1, self.stride)  # code 0: form -1
            entity = f":{label - 1}" if label else ""
            symbols.append(
                UNKNOWN_NAME
                if form < 0
                else BEGIN_NAME
                if form == len(forms)
                else f"{forms[form]}{entity}"
            )
            key >>= self.bits
        return tuple(reversed(symbols))


def split_symbol(symbol: str) -> tuple[str, str | None]:
    """Form and entity of a mention tag: ``"he:12"`` is ``("he", "12")``, ``"."`` is ``(".", None)``."""
    form, colon, entity = symbol.rpartition(":")
    return (form, entity) if colon and form and entity else (symbol, None)


def form_vocabulary(chains: Sequence[Chain]) -> tuple[str, ...]:
    """Forms in alphabetical order."""
    distinct = set(itertools.chain.from_iterable(chain.symbols for chain in chains))
    return tuple(sorted({split_symbol(symbol)[0] for symbol in distinct}))


def read_tokens(chains: Sequence[Chain], forms: Mapping[str, int]) -> TokenStream:
    """Flatten chains; invalid ones keep a length of zero. Distinct tags are split once, not once per token."""
    rows = [chain.symbols if chain.valid else () for chain in chains]
    distinct = dict.fromkeys(itertools.chain.from_iterable(rows))
    entities: dict[str | None, int] = {None: NOBODY}
    pairs = np.empty((len(distinct) + 1, 2), dtype=np.int32)
    for i, symbol in enumerate(distinct):
        distinct[symbol] = i
        form, entity = split_symbol(symbol)
        pairs[i] = forms.get(form, -1), entities.setdefault(entity, len(entities) - 1)
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    rank = np.fromiter(
        map(distinct.__getitem__, itertools.chain.from_iterable(rows)), np.int64, lengths.sum()
    )
    ends = np.cumsum(lengths)
    return TokenStream(pairs[rank, 0], pairs[rank, 1], np.repeat(ends - lengths, lengths), lengths)


def window_keys(tokens: TokenStream, packing: Packing) -> np.ndarray:
    """(tokens,) key of the window that ends at each token.

    Entities are renumbered 0, 1, ... by first appearance within each window (deng2022 section 5, released code),
    once, at the highest order: its lower orders are cut from it and not renumbered again.
    """
    p, given = packing, tokens[:3]
    return _compiled().window_keys(*given, p.order, p.stride, p.bits, p.begin, p.padding, NOBODY)


class NgramOrder(NamedTuple):
    """Fitted n-grams of one order: ascending keys with log probabilities, and contexts with log back-off weights."""

    keys: np.ndarray
    log_probs: np.ndarray
    context_keys: np.ndarray
    log_weights: np.ndarray


@dataclass(frozen=True)
class _NgramScores(
    SumScored,
    better="reference_matched",
    parts="mentions and sentence ends",
    attributed=("logprob",),
    blame=-1,
):
    """Counting and scoring of both models; the subclasses differ in what they count and how they discount."""

    raw: ClassVar[
        bool
    ]  # raw counts of chains padded to full windows, else counts of distinct predecessors

    order: int = ORDER
    forms: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)
    orders: tuple[NgramOrder, ...] = field(default=(), repr=False, metadata=FITTED)
    log_unknown: float = field(default=-math.inf, repr=False, metadata=FITTED)
    fitted_discounts: tuple[tuple[float, ...], ...] = field(default=(), repr=False, metadata=FITTED)

    @property
    def packing(self) -> Packing:
        return Packing(self.order, len(self.forms), self.order - 1 if self.raw else 1)

    @cached_property
    def table(self) -> np.ndarray:
        """The fitted n-grams by hash, made when something is scored first."""
        return _compiled().hashed(self.orders)

    def window(self, key: int) -> tuple[str, ...]:
        """The symbols of a window, earliest first."""
        names = self.packing.names(key, self.forms)
        return (UNKNOWN_NAME,) * (self.order - len(names)) + names

    def fit_units(self, real: Sequence[Chain]) -> Self:
        """Count the windows of the valid chains of ``real``. Raises BadInput: none has a token."""
        blank = replace(self, forms=form_vocabulary([unit for unit in real if unit.valid]))
        return blank.fit_tokens(blank.read(real))

    def fit_tokens(self, tokens: TokenStream) -> Self:
        """As :meth:`fit`, from tokens read with this critic's ``forms``."""
        if not len(tokens.forms):
            raise BadInput(
                f"{type(self).__name__}: no token in the real chains; check the reader and its filter"
            )
        counted = self._counted(window_keys(tokens, self.packing))
        discounts, base, log_unknown = self._discounts([counts for _, counts, _ in counted])
        orders: list[NgramOrder] = []
        lower = np.full(1, base)
        for (keys, counts, suffix), discount in zip(counted, discounts, strict=True):
            context_keys, context = np.unique(keys >> self.packing.bits, return_inverse=True)
            total = np.bincount(context, counts)
            taken = np.array([0.0, *discount])[np.minimum(counts, len(discount))]
            single = len(discount) == 1  # a product rounds once, a sum for each n-gram
            weight = (
                discount[0] * np.bincount(context) if single else np.bincount(context, taken)
            ) / total
            lower = (counts - taken) / total[context] + weight[context] * lower[suffix]
            with np.errstate(divide="ignore"):
                log_probs, log_weights = np.log(lower), np.log(weight)
            used = slice(0 if orders else 1, None)  # order 1's weight is spent on the unseen symbol
            orders.append(NgramOrder(keys, log_probs, context_keys[used], log_weights[used]))
        return replace(
            self, orders=tuple(orders), log_unknown=log_unknown, fitted_discounts=discounts
        )

    def _counted(self, keys: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(keys, counts, row of the suffix one order below) for orders 1 up: each order is the last symbols of the windows."""
        packing = self.packing
        windows, met = np.unique(keys, return_counts=True)
        cuts = np.searchsorted(windows, [1 << (packing.bits * n) for n in range(packing.order)])
        pieces = [
            slice(a, b) for a, b in zip(cuts, [*cuts[1:], len(windows)], strict=True)
        ]  # windows by their length
        keys, counts = windows[pieces[-1]], met[pieces[-1]]
        orders = []
        for n in range(packing.order - 1, 0, -1):
            short, suffix = np.unique(keys & packing.mask(n), return_inverse=True)
            orders.append((keys, counts, suffix))
            summed = np.bincount(suffix, counts if self.raw else None, len(short)).astype(np.int64)
            begin = pieces[n - 1]  # n-grams that begin a chain keep their raw counts
            keys, counts = (
                np.concatenate([short, windows[begin]]),
                np.concatenate([summed, met[begin]]),
            )
        orders.append((keys, counts, np.zeros(len(keys), dtype=np.int64)))
        return orders[::-1]

    @abstractmethod
    def _discounts(
        self, counts: Sequence[np.ndarray]
    ) -> tuple[tuple[tuple[float, ...], ...], float, float]:
        """From the counts of each order: discounts per order, probability below order 1, log probability of an unseen symbol."""

    def read(self, units: Sequence[Chain]) -> TokenStream:
        """Tokens of chains under this critic's vocabulary."""
        return read_tokens(units, {form: i for i, form in enumerate(self.forms)})

    def score_tokens(self, tokens: TokenStream) -> np.ndarray:
        r"""(tokens,) $\log P_c(z_m \mid z_{m-4}, \ldots, z_{m-1})$ in nats."""
        return self.score_windows(window_keys(tokens, self.packing))

    def score_windows(self, keys: np.ndarray) -> np.ndarray:
        """(windows,) log probability of each window's last symbol."""
        if not self.orders:
            raise BadInput(
                f"{type(self).__name__} has no counts yet; call fit(real chains) and use what it returns"
            )
        return _compiled().scores(self.table, keys, self.order, self.packing.bits, self.log_unknown)

    def part_values(self, units: Sequence[Chain]) -> list[np.ndarray]:
        tokens = self.read(self.judged(units))
        return np.split(self.score_tokens(tokens), np.cumsum(tokens.lengths)[:-1])[: len(units)]

    def sufficient_statistics(self, units: Sequence[Chain]) -> SufficientStatistics:
        """Sum of log probabilities, tokens scored, tokens never seen in training (scored all the same), exclusions."""
        tokens = self.read(self.judged(units))
        keys = window_keys(tokens, self.packing)
        unit = np.repeat(np.arange(len(units)), tokens.lengths)
        logprob = np.bincount(unit, self.score_windows(keys), len(units))
        unknown = np.bincount(
            unit, ~np.isin(keys & self.packing.mask(1), self.orders[0].keys), len(units)
        )
        excluded = [not unit.valid for unit in units]
        return SufficientStatistics.of(
            units, COLUMNS, zip(logprob, tokens.lengths, unknown, excluded, strict=True)
        )

    def of_sums(self, sums: Sums) -> Any:
        """Latent PPL over chain tokens, sentence stops among them, corpus-level (deng2022, released scorer)."""
        return perplexity(sums.total("logprob"), sums.total("transitions"))


@dataclass(frozen=True)
class MentionCritic(_NgramScores):
    r"""The released critic: interpolated absolute discounting over raw counts of renumbered 5-grams.

    $P_n(w \mid h) = \max(c(hw) - D_n, 0) / c(h) + D_n N_{1+}(h\,\cdot) / c(h) \; P_{n-1}(w \mid h')$ with
    $D_n = n_1 / (n_1 + 2 n_2)$ over distinct n-grams seen once and twice, $D_1 = 0$; an unseen history is shortened
    without penalty; an unseen symbol has probability 1e-20 (deng2022 section 5 names Kneser-Ney, its code does this).
    Chains are padded with four begin symbols.
    """

    raw: ClassVar[bool] = True

    def _discounts(
        self, counts: Sequence[np.ndarray]
    ) -> tuple[tuple[tuple[float, ...], ...], float, float]:
        return (
            ((0.0,), *((absolute_discount(own),) for own in counts[1:])),
            0.0,
            math.log(UNSEEN_PROBABILITY),
        )


@dataclass(frozen=True)
class KneserNeyCritic(_NgramScores):
    r"""Interpolated modified Kneser-Ney (Chen and Goodman 1998), counted as KenLM's lmplz counts.

    Below the highest order a count is the number of distinct symbols that precede the n-gram, or the raw count for
    an n-gram that begins a chain. Discounts $D_1, D_2, D_{3+}$ per order come from counts of counts; unigrams are
    interpolated with the uniform distribution over the seen symbols and one unseen symbol. One begin symbol.
    """

    raw: ClassVar[bool] = False

    def _discounts(
        self, counts: Sequence[np.ndarray]
    ) -> tuple[tuple[tuple[float, ...], ...], float, float]:
        discounts = tuple(modified_discounts(own) for own in counts)
        left = np.array([0.0, *discounts[0]])[np.minimum(counts[0], 3)].sum() / counts[0].sum()
        unknown = float(left) / (len(counts[0]) + 1)
        return discounts, 1.0 / (len(counts[0]) + 1), math.log(unknown) if unknown else -math.inf


@dataclass(frozen=True)
class _RandomMentions(_NgramScores):
    """The same critic on symbols drawn at random: as many a text, each with its share among the training chains.

    The chance row of a table of Latent PPL: mentions that are no likelier than these tell of no persons. A symbol of the valid
    training chains is drawn whole, with its entity's number, and sentence stops are among the symbols.
    """

    symbols: tuple[str, ...] = field(default=(), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Chain]) -> Self:
        return replace(
            super().fit_units(real),
            symbols=tuple(s for unit in real if unit.valid for s in unit.symbols),
        )

    def judged(self, units: Sequence[Chain]) -> Sequence[Chain]:
        if not self.symbols:
            raise BadInput(
                f"{type(self).__name__} has no symbols to draw; call fit(real chains), use what it returns"
            )
        return [drawn_at_random(unit, self.symbols, "random mentions") for unit in units]


@dataclass(frozen=True)
class RandomMentionCritic(_RandomMentions, MentionCritic):
    """Chance for :class:`MentionCritic`, at which a drawn symbol that no training window holds has probability 1e-20."""


@dataclass(frozen=True)
class RandomKneserNeyCritic(_RandomMentions, KneserNeyCritic):
    """Chance for :class:`KneserNeyCritic`."""


def absolute_discount(counts: np.ndarray) -> float:
    r"""$n_1 / (n_1 + 2 n_2)$ over distinct n-grams (Ney, Essen and Kneser 1994); one half where none occurs once."""
    once, twice = int(np.sum(counts == 1)), int(np.sum(counts == 2))
    return once / (once + 2 * twice) if once else FALLBACK[0]


def modified_discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """$D_j = j - (j + 1) Y n_{j+1} / n_j$ for j = 1, 2, 3 and $Y = n_1 / (n_1 + 2 n_2)$ (Chen and Goodman 1998, eq. 26)."""
    n = [int(np.sum(counts == j)) for j in range(1, 5)]
    if not all(n[:3]):
        return FALLBACK
    y = n[0] / (n[0] + 2 * n[1])
    one, two, three = (j - (j + 1) * y * n[j] / n[j - 1] for j in (1, 2, 3))
    return (one, two, three) if 0 <= one <= 1 and 0 <= two <= 2 and 0 <= three <= 3 else FALLBACK
