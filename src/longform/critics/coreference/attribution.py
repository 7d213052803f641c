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
from longform.errors import BadInput
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED

NgramCritic = ReleasedCoreference | Coreference
Row = dict[str, Any]  # of a table, ready for JSON; ``window`` is its 5-gram
RARE_LOG_PROBABILITY = -7.0  # deng2022 Table 15
MIN_COUNT = 5  # deng2022 Tables 16 and 17: n-grams met at least so often in both
RATIOS = 5  # so many of them
ARTICLES = 4  # as many as Figures 10 to 13
MIN_SYMBOLS = 20  # ours: shorter chains make a page only where there are too few others
units_from_predictions = person_chains


def _counts(critic: NgramCritic, units: Sequence[Chain]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct windows of chains and how often each occurs."""
    keys, counts = np.unique(window_keys(critic.read(units), critic.packing), return_counts=True)
    if not len(keys):
        raise BadInput(
            "5-gram table: the chains hold no token; check the reader and the film filter"
        )
    return keys, counts


def gap_rows(
    critic: NgramCritic, real: Sequence[Chain], generated: Sequence[Chain], top: int | None = 10
) -> list[Row]:
    r"""5-grams by their part of the Latent NLL gap, largest first, with their shares in percent of
    windows (deng2022 Table 6).

    $(\hat P_{LM}(g) - \hat P_{data}(g)) \cdot (-\log P_c(z_5 \mid z_{<5}))$; over all g
    (``top=None``) the parts sum
    to the difference of Latent NLL per token. The paper prints the table, not this formula.
    """
    sides = [_counts(critic, units) for units in (real, generated)]
    keys = np.union1d(sides[0][0], sides[1][0])
    shares = np.zeros((2, len(keys)))
    for share, (own, counts) in zip(shares, sides, strict=True):
        share[np.searchsorted(keys, own)] = counts / counts.sum()
    parts = (shares[1] - shares[0]) * -critic.score_windows(keys)
    percent = 100 * shares
    return [
        {
            "window": critic.window(int(keys[i])), "percent_real": float(percent[0, i]),
            "percent_generated": float(percent[1, i]), "contribution": float(parts[i]),
        }
        for i in np.argsort(-parts, kind="stable")[:top]
    ]  # fmt: skip


def best_successor(critic: NgramCritic, key: int) -> tuple[str, float] | None:
    """The likeliest symbol, other than a sentence stop, among those met in training after a
    window's history.
    """
    packing = critic.packing
    for n in range(critic.order, 0, -1):
        keys = critic.orders[n - 1].keys
        history = (key & packing.mask(n)) >> packing.bits
        low, high = np.searchsorted(keys, [history << packing.bits, (history + 1) << packing.bits])
        last = keys[low:high] & packing.mask(1)
        names = [packing.names(int(code), critic.forms)[0] for code in last]
        if kept := [i for i, symbol in enumerate(names) if symbol != score.STOP]:
            log_probs = critic.score_windows((key >> packing.bits << packing.bits) | last[kept])
            best = int(np.argmax(log_probs))
            return names[kept[best]], float(log_probs[best])
        if len(last):
            return None
    return None


def rare_rows(
    critic: NgramCritic,
    generated: Sequence[Chain],
    rng: np.random.Generator,
    rows: int = 13,
    threshold: float = RARE_LOG_PROBABILITY,
) -> list[Row]:
    r"""A random subset of the windows with $\log P_c(z_5 \mid z_{<5})$ below ``threshold``, in
    reading order (Table 15).
    """
    tokens = critic.read(generated)
    keys = window_keys(tokens, critic.packing)
    log_probs = critic.score_windows(keys)
    rare = np.flatnonzero(log_probs < threshold)
    unit = np.repeat(np.arange(len(generated)), tokens.lengths)
    made = []
    for i in np.sort(rng.choice(rare, min(rows, len(rare)), replace=False)).tolist():
        best, log_prob = best_successor(critic, int(keys[i])) or ("", float("nan"))
        row = {"window": critic.window(int(keys[i])), "log_probability": float(log_probs[i])}
        row |= {"best": best, "best_log_probability": log_prob}
        made.append(
            row | {"unit_id": generated[unit[i]].unit_id, "position": int(i - tokens.starts[i])}
        )
    return made


def ratio_rows(
    critic: NgramCritic, real: Sequence[Chain], generated: Sequence[Chain]
) -> tuple[list[Row], list[Row]]:
    r"""5-grams whose $P_{LM}(z_5 \mid z_{<5})$ is largest and smallest against $P_{data}$ (Tables
    16 and 17).
    """
    blank = replace(
        critic, forms=score.form_vocabulary([u for u in [*real, *generated] if u.valid])
    )
    often = [
        keys[counts >= MIN_COUNT]
        for keys, counts in (_counts(blank, units) for units in (real, generated))
    ]
    keys = np.intersect1d(often[0], often[1], assume_unique=True)
    real_log, generated_log = (
        blank.fit_tokens(blank.read(units)).score_windows(keys) for units in (real, generated)
    )
    ratio = generated_log - real_log
    made = [
        {
            "window": blank.window(int(keys[i])), "probability_real": float(np.exp(real_log[i])),
            "probability_generated": float(np.exp(generated_log[i])), "log_ratio": float(ratio[i]),
        }
        for i in np.argsort(-ratio, kind="stable")
    ]  # fmt: skip
    return made[:RATIOS], made[::-1][:RATIOS]


@dataclass(frozen=True)
class AttributionCritic(ReleasedCoreference):
    """The released critic that also attributes its score to 5-grams, against held-out real chains,
    read as the judged ones.
    """

    threshold: float = RARE_LOG_PROBABILITY  # below which a 5-gram is improbable
    held_out: tuple[Chain, ...] = field(default=(), repr=False, metadata=FITTED)

    def describe(self, units: Sequence[Chain]) -> Mapping[str, Any]:
        """Rows of Tables 6, 15, 16 and 17, counts of improbable windows, and the articles that hold
        the worst ones.
        """
        kept = [unit for unit in units if unit.valid and unit.symbols]
        if not kept or not self.held_out:
            return {}
        high, low = ratio_rows(self, self.held_out, kept)
        rare = rare_rows(self, kept, generator("deng2022", "table 15"), threshold=self.threshold)
        tables = {
            "rare": rare,
            "high": high,
            "low": low,
            "gap": gap_rows(self, self.held_out, kept),
        }
        shares = {}
        for name, chains in (("real", self.held_out), ("judged", kept)):
            log_probs = self.score_tokens(self.read(chains))
            shares[name] = {
                "rare": float(np.sum(log_probs < self.threshold)),
                "windows": float(len(log_probs)),
            }
        return {**tables, "rare_share": shares, "articles": self._articles(kept)}

    def _articles(self, units: Sequence[Chain]) -> list[Row]:
        """Texts with what the critic says of each symbol, as
        ``reporting.papers.deng2022.pages.Mark`` has it.
        """
        shown = [unit for unit in units if isinstance(unit, PersonChain) and unit.text]
        scored = list(zip(self.part_values(shown) if shown else [], shown, strict=True))
        scored.sort(
            key=lambda o: (
                len(o[1].symbols) < MIN_SYMBOLS,
                -np.mean(o[0] < self.threshold),
                o[1].unit_id,
            )
        )
        articles = []
        for log_probs, unit in scored[:ARTICLES]:
            keys, marks = window_keys(self.read([unit]), self.packing), []
            for (start, end), symbol, key, log_prob in zip(
                unit.spans, unit.symbols, keys, log_probs, strict=True
            ):
                bad = bool(log_prob < self.threshold)
                best, best_log = (best_successor(self, int(key)) if bad else None) or ("", None)
                row = {
                    "start": start,
                    "end": end,
                    "symbol": symbol,
                    "log_probability": float(log_prob),
                    "bad": bad,
                }
                marks.append(row | {"best": best, "best_log_probability": best_log})
            articles.append({"unit_id": unit.unit_id, "text": unit.text, "marks": marks})
        return articles


def ngram_attribution(
    *, real: Predictions, order: int = score.ORDER, threshold: float = RARE_LOG_PROBABILITY
) -> AttributionCritic:
    """The critic that holds the test chains of the predictions that it is fitted on, to compare
    with.
    """
    held_out = tuple(chain for chain in chains_from_predictions(real) if chain.split == "test")
    if not held_out:
        raise BadInput(
            "n-gram attribution: the predictions of slot fit has no chain of split test; add test to its splits"
        )
    return AttributionCritic(order=order, threshold=threshold, held_out=held_out)
