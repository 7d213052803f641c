"""Which 5-grams are to blame for a Latent PPL of mentions: the numbers behind deng2022's Tables 6 and 15 to 17."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from longform.critics.coreference.ngram_tables import count_keys
from longform.critics.coreference.ngram_windows import form_vocabulary, window_keys
from longform.critics.coreference.score import KneserNeyCritic, MentionCritic
from longform.documents import BadInput, Chain
from longform.markov_chain import END

NgramCritic = MentionCritic | KneserNeyCritic
RARE_LOG_PROBABILITY = -7.0  # deng2022 Table 15
LEAST_COUNT = 5  # deng2022 Tables 16 and 17: n-grams met at least so often in both
BEGIN_NAME, UNKNOWN_NAME = "", "<unk>"  # the paper prints padding as a blank


@dataclass(frozen=True)
class GapRow:
    """One 5-gram of Table 6: shares in percent of windows, and nats per token that it adds to the gap."""

    window: tuple[str, ...]
    percent_real: float
    percent_generated: float
    contribution: float


@dataclass(frozen=True)
class RareRow:
    """One improbable 5-gram of Table 15 and what the critic expected instead."""

    window: tuple[str, ...]
    log_probability: float
    best: str
    best_log_probability: float
    unit_id: str
    position: int


@dataclass(frozen=True)
class RatioRow:
    """One 5-gram of Tables 16 and 17: conditional probability of its last symbol in real and in generated text."""

    window: tuple[str, ...]
    probability_real: float
    probability_generated: float
    log_ratio: float


def _names(critic: NgramCritic, key: int) -> tuple[str, ...]:
    names = critic.packing.names(key, critic.forms, BEGIN_NAME, UNKNOWN_NAME)
    return (UNKNOWN_NAME,) * (critic.order - len(names)) + names


def _shares(critic: NgramCritic, units: Sequence[Chain]) -> tuple[np.ndarray, np.ndarray]:
    keys, counts = count_keys(window_keys(critic.read(units), critic.packing))
    if not len(keys):
        raise BadInput("5-gram table: the chains hold no token; check the reader and the film filter")
    return keys, counts / counts.sum()


def gap_rows(
    critic: NgramCritic, real: Sequence[Chain], generated: Sequence[Chain], top: int | None = 10
) -> list[GapRow]:
    r"""5-grams by their part of the Latent NLL gap, largest first (deng2022 Table 6).

    $(\hat P_{LM}(g) - \hat P_{data}(g)) \cdot (-\log P_c(z_5 \mid z_{<5}))$; over all g (``top=None``) the parts sum
    to the difference of Latent NLL per token. The paper prints the table, not this formula.
    """
    (keys_real, real_share), (keys_generated, generated_share) = (_shares(critic, units) for units in (real, generated))
    keys = np.union1d(keys_real, keys_generated)
    shares = np.zeros((2, len(keys)))
    shares[0, np.searchsorted(keys, keys_real)] = real_share
    shares[1, np.searchsorted(keys, keys_generated)] = generated_share
    parts = (shares[1] - shares[0]) * -critic.score_windows(keys)
    order = np.argsort(-parts, kind="stable")[:top]
    percent = 100 * shares
    return [
        GapRow(_names(critic, int(keys[i])), float(percent[0, i]), float(percent[1, i]), float(parts[i])) for i in order
    ]


def best_successor(critic: NgramCritic, key: int, stop: str = ".") -> tuple[str, float] | None:
    """The likeliest symbol, other than ``stop``, among those met in training after a window's history.

    A history that was never met is shortened from the left until it was. None where only ``stop`` followed.
    """
    bits = critic.packing.bits
    for n in range(critic.order, 0, -1):
        keys = critic.orders[n - 1].keys
        history = (key & critic.packing.mask(n)) >> bits
        low, high = np.searchsorted(keys, [history << bits, (history + 1) << bits])
        last = keys[low:high] & critic.packing.mask(1)
        names = [critic.packing.names(int(code), critic.forms, BEGIN_NAME, UNKNOWN_NAME)[0] for code in last]
        kept = [i for i, symbol in enumerate(names) if symbol not in {stop, END}]
        if kept:
            log_probs = critic.score_windows((key >> bits << bits) | last[kept])
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
) -> list[RareRow]:
    r"""A random subset of the windows with $\log P_c(z_5 \mid z_{<5})$ below ``threshold``, in reading order (Table 15)."""
    tokens = critic.read(generated)
    keys = window_keys(tokens, critic.packing)
    log_probs = critic.score_windows(keys)
    rare = np.flatnonzero(log_probs < threshold)
    chosen = np.sort(rng.choice(rare, min(rows, len(rare)), replace=False))
    unit = np.repeat(np.arange(len(generated)), tokens.lengths)
    made = []
    for i in chosen.tolist():
        best = best_successor(critic, int(keys[i])) or ("", float("nan"))
        window = _names(critic, int(keys[i]))
        made.append(RareRow(window, float(log_probs[i]), *best, generated[unit[i]].unit_id, int(i - tokens.starts[i])))
    return made


def ratio_rows(
    critic: NgramCritic,
    real: Sequence[Chain],
    generated: Sequence[Chain],
    rows: int = 5,
    least: int = LEAST_COUNT,
) -> tuple[list[RatioRow], list[RatioRow]]:
    r"""5-grams whose $P_{LM}(z_5 \mid z_{<5})$ is largest and smallest against $P_{data}$ (Tables 16 and 17).

    Two critics with ``critic``'s settings are fitted, one on each side, over one vocabulary; 5-grams are those met at
    least ``least`` times on both. Fewer such 5-grams than twice ``rows`` give shorter, overlapping tables.
    """
    end = END if critic.end else None
    blank = replace(critic, forms=form_vocabulary([u for u in [*real, *generated] if u.valid], end))
    fitted = [blank.fit_tokens(blank.read(units)) for units in (real, generated)]
    keys = np.intersect1d(_frequent(blank, real, least), _frequent(blank, generated, least), assume_unique=True)
    real_log, generated_log = (one.score_windows(keys) for one in fitted)
    ratio = generated_log - real_log
    order = np.argsort(-ratio, kind="stable")
    made = [
        RatioRow(
            _names(blank, int(keys[i])), float(np.exp(real_log[i])), float(np.exp(generated_log[i])), float(ratio[i])
        )
        for i in order
    ]
    return made[:rows], made[::-1][:rows]


def _frequent(critic: NgramCritic, units: Sequence[Chain], least: int) -> np.ndarray:
    keys, counts = count_keys(window_keys(critic.read(units), critic.packing))
    return keys[counts >= least]
