"""n-gram attribution: which 5-grams a Latent PPL of mentions comes from.

The numbers behind deng2022's Tables 6 and 15 to 17 and Figures 5 and 10 to 13. What the critic
lists in a score record is what those tables and pages show, so that reports need no text of their
own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from longform.critics.coreference import score
from longform.critics.coreference.score import (
    Coreference,
    PersonChain,
    ReleasedCoreference,
    person_chains,
    window_keys,
)
from longform.documents import Chain, Predictions, chains_from_predictions
from longform.errors import InputError
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED  # not in signatures

NgramCritic = ReleasedCoreference | Coreference
Row = dict[str, Any]  # of a table, ready for JSON; ``window`` is its 5-gram
RARE_LOG_PROBABILITY = -7.0  # deng2022 Table 15
MIN_COUNT = 5  # deng2022 Tables 16 and 17: n-grams met at least so often in both
RATIOS = 5  # so many of them
ARTICLES = 4  # as many as Figures 10 to 13
MIN_SYMBOLS = 20  # ours: shorter chains make a page only where there are too few others
RARE_ROWS = 13  # of Table 15
GAP_ROWS = 10  # of Table 6
units_from_predictions = person_chains  # as all critics have


def _counts(critic: NgramCritic, units: Sequence[Chain]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct windows of chains, ascending, and how often each occurs, both (windows,).

    Raises InputError: the chains hold no token.
    """
    windows = window_keys(critic.read(units), critic.packing)
    keys, counts = np.unique(windows, return_counts=True)
    if not len(keys):
        raise InputError(
            "5-gram table: the chains hold no token; check the reader and the film filter"
        )
    return keys, counts


def gap_rows(
    critic: NgramCritic,
    real: Sequence[Chain],
    generated: Sequence[Chain],
    top: int | None = GAP_ROWS,
) -> list[Row]:
    r"""5-grams by their part of the Latent NLL gap, largest first (deng2022 Table 6).

    A part is $(\hat P_{LM}(g) - \hat P_{data}(g)) \cdot (-\log P_c(z_5 \mid z_{<5}))$; over all g
    the parts sum to the difference of Latent NLL per token. Shares are in percent of windows. The
    paper prints the table, not this formula.

    Args:
        critic: a fitted one.
        real, generated: chains of both sides.
        top: rows; None for all 5-grams.
    """
    # 1. Each side's share of every window.
    real_keys, real_counts = _counts(critic, real)
    generated_keys, generated_counts = _counts(critic, generated)
    keys = np.union1d(real_keys, generated_keys)
    real_shares = np.zeros(len(keys))
    real_shares[np.searchsorted(keys, real_keys)] = real_counts / real_counts.sum()
    generated_shares = np.zeros(len(keys))
    rows_of_generated = np.searchsorted(keys, generated_keys)
    generated_shares[rows_of_generated] = generated_counts / generated_counts.sum()
    # 2. The windows by what they add to the gap.
    parts = (generated_shares - real_shares) * -critic.score_windows(keys)
    table = []
    for i in np.argsort(-parts, kind="stable")[:top]:
        row = {
            "window": critic.window(int(keys[i])),
            "percent_real": float(100 * real_shares[i]),
            "percent_generated": float(100 * generated_shares[i]),
            "contribution": float(parts[i]),
        }
        table.append(row)
    return table


def best_successor(critic: NgramCritic, key: int) -> tuple[str, float] | None:
    """The likeliest last symbol of a window, given the symbols before it (its history).

    Candidates are the symbols that training texts have after the longest part of the history that
    they have at all; stops are left out.

    Args:
        critic: a fitted one.
        key: the codes of the window's symbols side by side in one integer, the last one lowest
            (:class:`.score.Packing`); the last symbol is what is replaced.

    Returns:
        The symbol and its log-probability, nats; None where only stops are known there.
    """
    packing = critic.packing
    for n in range(critic.order, 0, -1):
        # 1. The last symbols of the n-grams that begin with the history's last n - 1 symbols: keys
        #    are sorted, so these n-grams stand together.
        keys = critic.orders[n - 1].keys
        history = (key & packing.mask(n)) >> packing.bits
        first_key = history << packing.bits
        next_key = (history + 1) << packing.bits
        low, high = np.searchsorted(keys, [first_key, next_key])
        if low == high:
            continue
        codes = []
        names = []
        for code in keys[low:high] & packing.mask(1):
            (name,) = packing.names(int(code), critic.forms)
            if name != score.STOP:
                codes.append(code)
                names.append(name)
        if not names:
            return None
        # 2. The most probable of them after the whole history: windows with the last code replaced.
        window_without_last = key >> packing.bits << packing.bits
        log_probs = critic.score_windows(window_without_last | np.array(codes))
        best = int(np.argmax(log_probs))
        return names[best], float(log_probs[best])
    return None


def rare_rows(
    critic: NgramCritic,
    generated: Sequence[Chain],
    rng: np.random.Generator,
    rows: int = RARE_ROWS,
    threshold: float = RARE_LOG_PROBABILITY,
) -> list[Row]:
    r"""A random subset of the improbable 5-grams of chains, in reading order (deng2022 Table 15).

    Args:
        critic: a fitted one.
        generated: the judged chains.
        rng: of the subset.
        rows: at most so many.
        threshold: a window is improbable where $\log P_c(z_5 \mid z_{<5})$ is below it, nats.

    Returns:
        A row a window: it, its log-probability, the likeliest last symbol after the same history
        with its own (nats), and the unit and the place, from 0, of its last symbol in the chain.
    """
    # 1. The windows to show; window i is the one that ends at token i of all chains.
    tokens = critic.read(generated)
    keys = window_keys(tokens, critic.packing)
    log_probs = critic.score_windows(keys)
    rare = np.flatnonzero(log_probs < threshold)
    chosen = np.sort(rng.choice(rare, min(rows, len(rare)), replace=False))
    # 2. Beside each, what the critic expected and where it stands.
    unit_of_token = np.repeat(np.arange(len(generated)), tokens.lengths)
    table = []
    for i in chosen.tolist():
        key = int(keys[i])
        best, best_log_prob = best_successor(critic, key) or ("", float("nan"))
        row = {
            "window": critic.window(key),
            "log_probability": float(log_probs[i]),
            "best": best,
            "best_log_probability": best_log_prob,
            "unit_id": generated[unit_of_token[i]].unit_id,
            "position": int(i - tokens.starts[i]),
        }
        table.append(row)
    return table


def ratio_rows(
    critic: NgramCritic, real: Sequence[Chain], generated: Sequence[Chain]
) -> tuple[list[Row], list[Row]]:
    r"""5-grams whose $P_{LM}(z_5 \mid z_{<5})$ is largest and smallest against $P_{data}$.

    Args:
        critic: whose order and smoothing each side's own n-grams get.
        real, generated: chains of both sides.
    """
    # 1. A critic without counts that knows the forms of both sides.
    valid = [unit for unit in [*real, *generated] if unit.valid]
    unfitted = replace(critic, forms=score.form_vocabulary(valid))
    # 2. Windows that both sides have often.
    real_keys, real_counts = _counts(unfitted, real)
    generated_keys, generated_counts = _counts(unfitted, generated)
    often_real = real_keys[real_counts >= MIN_COUNT]
    often_generated = generated_keys[generated_counts >= MIN_COUNT]
    keys = np.intersect1d(often_real, often_generated, assume_unique=True)
    # 3. By the ratio of the probabilities that each side's own critic gives them.
    real_log_probs = unfitted.fit_tokens(unfitted.read(real)).score_windows(keys)
    generated_log_probs = unfitted.fit_tokens(unfitted.read(generated)).score_windows(keys)
    log_ratios = generated_log_probs - real_log_probs
    table = []
    for i in np.argsort(-log_ratios, kind="stable"):
        row = {
            "window": unfitted.window(int(keys[i])),
            "probability_real": float(np.exp(real_log_probs[i])),
            "probability_generated": float(np.exp(generated_log_probs[i])),
            "log_ratio": float(log_ratios[i]),
        }
        table.append(row)
    largest = table[:RATIOS]
    smallest = table[::-1][:RATIOS]
    return largest, smallest


@dataclass(frozen=True)
class AttributionCritic(ReleasedCoreference):
    """The released critic that also attributes its score to 5-grams.

    Attributes:
        threshold: log probability below which a 5-gram is improbable, nats.
        held_out: chains of real test texts, with which the judged texts' chains are compared.
    """

    threshold: float = RARE_LOG_PROBABILITY
    held_out: tuple[Chain, ...] = field(default=(), repr=False, metadata=FITTED)

    def describe(self, units: Sequence[Chain]) -> Mapping[str, Any]:
        """Details of the score for reports; empty where no chain was read.

        Rows of Tables 6, 15, 16 and 17, improbable windows, and the articles with most of them.
        """
        chains = [unit for unit in units if unit.valid and unit.symbols]
        if not chains or not self.held_out:
            return {}
        rng = generator("deng2022", "table 15")
        high, low = ratio_rows(self, self.held_out, chains)
        rare_share = {"real": self._improbable(self.held_out), "judged": self._improbable(chains)}
        return {
            "rare": rare_rows(self, chains, rng, threshold=self.threshold),
            "high": high,
            "low": low,
            "gap": gap_rows(self, self.held_out, chains),
            "rare_share": rare_share,
            "articles": self._articles(chains),
        }

    def _improbable(self, chains: Sequence[Chain]) -> dict[str, float]:
        """Counts of improbable windows, ``rare``, and of all ``windows`` of chains."""
        log_probs = self.score_tokens(self.read(chains))
        rare = float(np.sum(log_probs < self.threshold))
        return {"rare": rare, "windows": float(len(log_probs))}

    def _articles(self, units: Sequence[Chain]) -> list[Row]:
        """The ``ARTICLES`` texts with the largest share of improbable windows, marked by symbol.

        Texts of fewer than ``MIN_SYMBOLS`` come last.
        """
        with_text = [unit for unit in units if isinstance(unit, PersonChain) and unit.text]
        if not with_text:
            return []

        def rank(pair: tuple[PersonChain, np.ndarray]) -> tuple[bool, float, str]:
            unit, log_probs = pair
            improbable = float(np.mean(log_probs < self.threshold))
            return len(unit.symbols) < MIN_SYMBOLS, -improbable, unit.unit_id

        pairs = zip(with_text, self.part_values(with_text), strict=True)
        articles = []
        for unit, log_probs in sorted(pairs, key=rank)[:ARTICLES]:
            marks = self._marks(unit, log_probs)
            articles.append({"unit_id": unit.unit_id, "text": unit.text, "marks": marks})
        return articles

    def _marks(self, unit: PersonChain, log_probs: np.ndarray) -> list[Row]:
        """A row for each symbol of a text, from which reports colour its mentions.

        Args:
            unit: the text's chain.
            log_probs: of its symbols, (symbols,).
        """
        keys = window_keys(self.read([unit]), self.packing)
        symbols = zip(unit.spans, unit.symbols, keys, log_probs, strict=True)
        marks = []
        for (start, end), symbol, key, log_prob in symbols:
            is_improbable = bool(log_prob < self.threshold)
            successor = best_successor(self, int(key)) if is_improbable else None
            best, best_log_prob = successor or ("", None)
            mark = {
                "start": start,
                "end": end,
                "symbol": symbol,
                "log_probability": float(log_prob),
                "bad": is_improbable,
                "best": best,
                "best_log_probability": best_log_prob,
            }
            marks.append(mark)
        return marks


def ngram_attribution(
    *, real: Predictions, order: int = score.ORDER, threshold: float = RARE_LOG_PROBABILITY
) -> AttributionCritic:
    """The attribution critic, not yet fitted, with the real test chains that it compares with.

    Args:
        real: chains of real text, some of split test.
        order: symbols in a window.
        threshold: log probability below which a window is improbable, nats.

    Raises:
        InputError: no chain is of split test.
    """
    held_out = tuple(chain for chain in chains_from_predictions(real) if chain.split == "test")
    if not held_out:
        raise InputError(
            "n-gram attribution: the predictions to fit on have no chain of split test; "
            "add test to their splits"
        )
    return AttributionCritic(order=order, threshold=threshold, held_out=held_out)
