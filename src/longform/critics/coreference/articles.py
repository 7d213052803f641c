"""The mention critic with its evidence: tables of blamed 5-grams, and articles marked mention by mention.

What it lists in a score record is what the tables and article pages of deng2022 show (Tables 6 and 15 to 17, Figures
5 and 10 to 13), so that reports need no text of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from longform.critics.coreference.attribution import (
    RARE_LOG_PROBABILITY,
    NgramCritic,
    best_successor,
    gap_rows,
    rare_rows,
    ratio_rows,
)
from longform.critics.coreference.ngram_windows import window_keys
from longform.critics.coreference.score import ORDER, MentionCritic
from longform.documents import BadInput, Chain, Readout, chains_from_readout
from longform.markov_chain import FITTED
from longform.resampling import generator
from longform.text.kept_texts import unpack

ARTICLES = 4  # as many as Figures 10 to 13
LEAST_SYMBOLS = 20  # ours: shorter chains make a page only where there are too few others


@dataclass(frozen=True)
class ChainInText(Chain):
    """A chain with its text and where in it each symbol stands (a stop: the first character of its sentence)."""

    spans: tuple[tuple[int, int], ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Mark:
    """One symbol of the chain in the text.

    Attributes:
        start, end: character offsets; equal for a sentence stop.
        symbol: as in the chain, e.g. ``he:3``.
        log_probability: given the four symbols before it.
        bad: whether that is below the threshold.
        best, best_log_probability: the likeliest successor met in training, for a bad symbol.
    """

    start: int
    end: int
    symbol: str
    log_probability: float
    bad: bool
    best: str = ""
    best_log_probability: float | None = None

    @property
    def note(self) -> str:
        """What the page says when the pointer rests on a bad symbol."""
        expected = f"; expected {self.best} at {self.best_log_probability:.2f}" if self.best else ""
        return f"{self.symbol}: log P = {self.log_probability:.2f}{expected}"


def marks(item: ChainInText, critic: NgramCritic, threshold: float = RARE_LOG_PROBABILITY) -> list[Mark]:
    """The chain's symbols with what the critic says of each, in reading order."""
    keys = window_keys(critic.read([item]), critic.packing)
    log_probs = critic.score_windows(keys)
    found = []
    for (start, end), symbol, key, log_prob in zip(item.spans, item.symbols, keys, log_probs, strict=False):
        bad = bool(log_prob < threshold)
        best = (best_successor(critic, int(key)) if bad else None) or ("", None)
        found.append(Mark(start, end, symbol, float(log_prob), bad, *best))
    return found


@dataclass(frozen=True)
class BlamingCritic(MentionCritic):
    """The released critic that also says which 5-grams are to blame, against held-out real chains.

    Attributes:
        threshold: log probability below which a 5-gram is improbable.
        held_out: real chains, read as the judged ones are.
    """

    threshold: float = RARE_LOG_PROBABILITY
    held_out: tuple[Chain, ...] = field(default=(), repr=False, metadata=FITTED)

    def describe(self, units: Sequence[Chain]) -> Mapping[str, Any]:
        """Rows of Tables 6, 15, 16 and 17, counts of improbable windows, and the articles that hold the worst ones."""
        kept = [unit for unit in units if unit.valid and unit.symbols]
        if not kept or not self.held_out:
            return {}
        high, low = ratio_rows(self, self.held_out, kept)
        rare = rare_rows(self, kept, generator("deng2022", "table 15"), threshold=self.threshold)
        tables = {"gap": gap_rows(self, self.held_out, kept), "rare": rare, "high": high, "low": low}
        shares = {name: self._rare_share(chains) for name, chains in (("real", self.held_out), ("judged", kept))}
        listed = {name: [asdict(row) for row in rows] for name, rows in tables.items()}
        return {**listed, "rare_share": shares, "articles": self._articles(kept)}

    def _rare_share(self, units: Sequence[Chain]) -> dict[str, float]:
        log_probs = self.score_tokens(self.read(units))
        return {"rare": float(np.sum(log_probs < self.threshold)), "windows": float(len(log_probs))}

    def _articles(self, units: Sequence[Chain]) -> list[dict[str, Any]]:
        """Of chains that carry their text: those with most improbable symbols per symbol, the worst first, long before short."""
        shown = [unit for unit in units if isinstance(unit, ChainInText) and unit.text]
        log_probs = self.attribute(shown) if shown else []
        shares = [float(np.mean(row < self.threshold)) for row in log_probs]
        order = sorted(
            range(len(shown)), key=lambda i: (len(shown[i].symbols) < LEAST_SYMBOLS, -shares[i], shown[i].unit_id)
        )[:ARTICLES]
        return [self._article(shown[i]) for i in order]

    def _article(self, unit: ChainInText) -> dict[str, Any]:
        found = [asdict(mark) for mark in marks(unit, self, self.threshold)]
        return {"unit_id": unit.unit_id, "text": unit.text, "marks": found}


def blaming(*, real: Readout, order: int = ORDER, threshold: float = RARE_LOG_PROBABILITY) -> BlamingCritic:
    """The critic that holds the test chains of the readout that it is fitted on, to compare with."""
    held_out = tuple(chain for chain in chains_from_readout(real) if chain.split == "test")
    if not held_out:
        raise BadInput("blamed mentions: the readout of slot fit has no chain of split test; add test to its splits")
    return BlamingCritic(order=order, threshold=threshold, held_out=held_out)


def units_from_readout(readout: Readout) -> list[Chain]:
    """Chains, with spans and text where the reader kept the text."""
    if "text" not in readout.arrays:
        return chains_from_readout(readout)
    rows = zip(chains_from_readout(readout), readout.ragged("span"), unpack(readout), strict=True)
    return [
        ChainInText(c.unit_id, c.split, c.symbols, c.valid, tuple((a, b) for a, b in spans.tolist()), text)
        for c, spans, text in rows
    ]


def marks_from_record(article: Mapping[str, Any]) -> list[Mark]:
    """The marks of an article of a score record."""
    return [Mark(**mark) for mark in article["marks"]]
