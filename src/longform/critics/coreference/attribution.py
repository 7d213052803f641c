"""n-gram attribution: which 5-grams a Latent PPL of mentions comes from, in tables and in marked
articles.

The numbers behind deng2022's Tables 6 and 15 to 17 and Figures 5 and 10 to 13. What the critic
lists in a score record
is what those tables and pages show, so that reports need no text of their own.
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
from longform.statistics.signatures import FITTED

NgramCritic = ReleasedCoreference | Coreference
Row = dict[str, Any]  # of a table, ready for JSON; ``window`` is its 5-gram
RARE_LOG_PROBABILITY = -7.0  # deng2022 Table 15
MIN_COUNT = 5  # deng2022 Tables 16 and 17: n-grams met at least so often in both
RATIOS = 5  # so many of them
ARTICLES = 4  # as many as Figures 10 to 13
MIN_SYMBOLS = 20  # ours: shorter chains make a page only where there are too few others
RARE_ROWS = 13  # of Table 15
GAP_ROWS = 10  # of Table 6
units_from_predictions = person_chains


def _counts(critic: NgramCritic, units: Sequence[Chain]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct windows of chains and how often each occurs."""
    keys, counts = np.unique(window_keys(critic.read(units), critic.packing), return_counts=True)
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
    (``top=None``) the parts sum to the difference of Latent NLL per token. Shares are in percent of
    windows. The paper prints the table, not this formula.
    """
    real_keys, real_counts = _counts(critic, real)
    generated_keys, generated_counts = _counts(critic, generated)
    keys = np.union1d(real_keys, generated_keys)
    # each side's share of every window
    real_shares = np.zeros(len(keys))
    real_shares[np.searchsorted(keys, real_keys)] = real_counts / real_counts.sum()
    generated_shares = np.zeros(len(keys))
    generated_shares[np.searchsorted(keys, generated_keys)] = (
        generated_counts / generated_counts.sum()
    )
    # the windows by what they add to the gap
    parts = (generated_shares - real_shares) * -critic.score_windows(keys)
    rows = []
    for i in np.argsort(-parts, kind="stable")[:top]:
        rows.append(
            {
                "window": critic.window(int(keys[i])),
                "percent_real": float(100 * real_shares[i]),
                "percent_generated": float(100 * generated_shares[i]),
                "contribution": float(parts[i]),
            }
        )
    return rows


def best_successor(critic: NgramCritic, key: int) -> tuple[str, float] | None:
    """The likeliest symbol but a stop among those met in training after a window's history."""
    packing = critic.packing
    for n in range(critic.order, 0, -1):
        # 1. The last symbols of the n-grams that begin with the history's last n - 1 symbols.
        keys = critic.orders[n - 1].keys
        history = (key & packing.mask(n)) >> packing.bits
        low, high = np.searchsorted(keys, [history << packing.bits, (history + 1) << packing.bits])
        codes = keys[low:high] & packing.mask(1)
        if not len(codes):
            continue
        names = [packing.names(int(code), critic.forms)[0] for code in codes]
        is_mention = np.array([name != score.STOP for name in names])
        if not is_mention.any():
            return None
        # 2. The most probable of them after the whole history.
        mentions = np.flatnonzero(is_mention)
        before = key >> packing.bits << packing.bits
        log_probs = critic.score_windows(before | codes[mentions])
        best = int(np.argmax(log_probs))
        return names[mentions[best]], float(log_probs[best])
    return None


def rare_rows(
    critic: NgramCritic,
    generated: Sequence[Chain],
    rng: np.random.Generator,
    rows: int = RARE_ROWS,
    threshold: float = RARE_LOG_PROBABILITY,
) -> list[Row]:
    r"""A random subset of the improbable windows, in reading order (Table 15).

    Those with $\log P_c(z_5 \mid z_{<5})$ below ``threshold``.
    """
    tokens = critic.read(generated)
    keys = window_keys(tokens, critic.packing)
    log_probs = critic.score_windows(keys)
    rare = np.flatnonzero(log_probs < threshold)
    unit_of_token = np.repeat(np.arange(len(generated)), tokens.lengths)
    table = []
    for i in np.sort(rng.choice(rare, min(rows, len(rare)), replace=False)).tolist():
        best, best_log_prob = best_successor(critic, int(keys[i])) or ("", float("nan"))
        table.append(
            {
                "window": critic.window(int(keys[i])),
                "log_probability": float(log_probs[i]),
                "best": best,
                "best_log_probability": best_log_prob,
                "unit_id": generated[unit_of_token[i]].unit_id,
                "position": int(i - tokens.starts[i]),
            }
        )
    return table


def ratio_rows(
    critic: NgramCritic, real: Sequence[Chain], generated: Sequence[Chain]
) -> tuple[list[Row], list[Row]]:
    r"""5-grams whose $P_{LM}(z_5 \mid z_{<5})$ is largest and smallest against $P_{data}$.

    deng2022 Tables 16 and 17.
    """
    # 1. One critic for each side, with the forms of both.
    valid = [unit for unit in [*real, *generated] if unit.valid]
    unfitted = replace(critic, forms=score.form_vocabulary(valid))
    # 2. Windows that both sides have often.
    real_keys, real_counts = _counts(unfitted, real)
    generated_keys, generated_counts = _counts(unfitted, generated)
    keys = np.intersect1d(
        real_keys[real_counts >= MIN_COUNT],
        generated_keys[generated_counts >= MIN_COUNT],
        assume_unique=True,
    )
    # 3. By the ratio of their probabilities.
    real_log_probs = unfitted.fit_tokens(unfitted.read(real)).score_windows(keys)
    generated_log_probs = unfitted.fit_tokens(unfitted.read(generated)).score_windows(keys)
    log_ratios = generated_log_probs - real_log_probs
    rows = []
    for i in np.argsort(-log_ratios, kind="stable"):
        rows.append(
            {
                "window": unfitted.window(int(keys[i])),
                "probability_real": float(np.exp(real_log_probs[i])),
                "probability_generated": float(np.exp(generated_log_probs[i])),
                "log_ratio": float(log_ratios[i]),
            }
        )
    return rows[:RATIOS], rows[::-1][:RATIOS]


@dataclass(frozen=True)
class AttributionCritic(ReleasedCoreference):
    """The released critic that also attributes its score to 5-grams.

    Against held-out real chains, read as the judged ones.

    Attributes:
        threshold: below which a 5-gram is improbable.
        held_out: chains of real text.
    """

    threshold: float = RARE_LOG_PROBABILITY
    held_out: tuple[Chain, ...] = field(default=(), repr=False, metadata=FITTED)

    def describe(self, units: Sequence[Chain]) -> Mapping[str, Any]:
        """Rows of Tables 6, 15, 16 and 17, improbable windows, and the articles with the worst
        ones.
        """
        chains = [unit for unit in units if unit.valid and unit.symbols]
        if not chains or not self.held_out:
            return {}
        high, low = ratio_rows(self, self.held_out, chains)
        rng = generator("deng2022", "table 15")
        return {
            "rare": rare_rows(self, chains, rng, threshold=self.threshold),
            "high": high,
            "low": low,
            "gap": gap_rows(self, self.held_out, chains),
            "rare_share": {
                "real": self._improbable(self.held_out),
                "judged": self._improbable(chains),
            },
            "articles": self._articles(chains),
        }

    def _improbable(self, chains: Sequence[Chain]) -> dict[str, float]:
        """How many windows are improbable, of how many."""
        log_probs = self.score_tokens(self.read(chains))
        rare = float(np.sum(log_probs < self.threshold))
        return {"rare": rare, "windows": float(len(log_probs))}

    def _articles(self, units: Sequence[Chain]) -> list[Row]:
        """The texts of the largest shares of improbable windows, with a mark for each symbol."""
        shown = [unit for unit in units if isinstance(unit, PersonChain) and unit.text]
        if not shown:
            return []
        pairs = list(zip(shown, self.part_values(shown), strict=True))

        def rank(pair: tuple[PersonChain, np.ndarray]) -> tuple[bool, float, str]:
            unit, log_probs = pair
            improbable = float(np.mean(log_probs < self.threshold))
            return len(unit.symbols) < MIN_SYMBOLS, -improbable, unit.unit_id

        articles = []
        for unit, log_probs in sorted(pairs, key=rank)[:ARTICLES]:
            marks = self._marks(unit, log_probs)
            articles.append({"unit_id": unit.unit_id, "text": unit.text, "marks": marks})
        return articles

    def _marks(self, unit: PersonChain, log_probs: np.ndarray) -> list[Row]:
        """What the critic says of each symbol of a text, as pages have it."""
        keys = window_keys(self.read([unit]), self.packing)
        marks = []
        for span, symbol, key, log_prob in zip(
            unit.spans, unit.symbols, keys, log_probs, strict=True
        ):
            bad = bool(log_prob < self.threshold)
            successor = best_successor(self, int(key)) if bad else None
            best, best_log_prob = successor or ("", None)
            marks.append(
                {
                    "start": span[0],
                    "end": span[1],
                    "symbol": symbol,
                    "log_probability": float(log_prob),
                    "bad": bad,
                    "best": best,
                    "best_log_probability": best_log_prob,
                }
            )
        return marks


def ngram_attribution(
    *, real: Predictions, order: int = score.ORDER, threshold: float = RARE_LOG_PROBABILITY
) -> AttributionCritic:
    """The critic that holds the test chains of the predictions that it is fitted on."""
    held_out = tuple(chain for chain in chains_from_predictions(real) if chain.split == "test")
    if not held_out:
        raise InputError(
            "n-gram attribution: the predictions to fit on have no chain of split test; "
            "add test to their splits"
        )
    return AttributionCritic(order=order, threshold=threshold, held_out=held_out)
