"""Shuffle tasks: orders of a document's sentences, and how often a scorer prefers the true order.

An order is a permutation of sentence indices, so any scorer that reads a document once can score all its orders. The
three tasks are those of Barzilay and Lapata (whole shuffles) and sheng2024 section 5.1 (blocks; windows of three).
Sentences that read alike count as one: an order that repeats the text is no shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from longform.numerics import generator
from longform.protocol import Better, Tally, estimate
from longform.units import BadInput

WINDOW = 3  # sentences of a local shuffle (sheng2024 section 5.1)
SHORTEST_LOCAL = 11  # local shuffles take documents of more than ten sentences (sheng2024, released code)
COLUMNS = ("wins", "ties", "pairs", "above_mean", "excluded")
Draw = Callable[[int, np.random.Generator], np.ndarray | None]


def block_shuffle(size: int) -> Draw:
    """Blocks of ``size`` consecutive sentences in random order; size 1 shuffles all sentences."""

    def draw(sentences: int, rng: np.random.Generator) -> np.ndarray | None:
        blocks = np.array_split(np.arange(sentences), np.arange(size, sentences, size))
        return np.concatenate([blocks[i] for i in rng.permutation(len(blocks))]) if len(blocks) > 1 else None

    return draw


def window_shuffle(windows: int) -> Draw:
    """Sentences shuffled inside ``windows`` disjoint windows of three, placed uniformly."""

    def draw(sentences: int, rng: np.random.Generator) -> np.ndarray | None:
        free = sentences - (WINDOW - 1) * windows
        if sentences < SHORTEST_LOCAL or free < windows:
            return None
        order = np.arange(sentences)
        for k, place in enumerate(np.sort(rng.choice(free, windows, replace=False))):
            start = place + (WINDOW - 1) * k
            order[start : start + WINDOW] = start + rng.permutation(WINDOW)
        return order

    return draw


TASKS: Mapping[str, Callable[[int], Draw]] = {"block": block_shuffle, "window": window_shuffle}


def distinct_orders(draw: Draw, alike: Sequence[Any], shuffles: int, rng: np.random.Generator) -> np.ndarray:
    """Up to ``shuffles`` orders whose texts differ from the original and from each other; int64 (orders, sentences).

    ``alike`` holds one hashable per sentence, equal for sentences that read alike. Repeats are dropped, not redrawn
    (sheng2024 section 5.1: copies are removed), so short documents give fewer orders, or none.
    """
    seen, kept = {tuple(alike)}, []
    for _ in range(shuffles):
        order = draw(len(alike), rng)
        text = None if order is None else tuple(alike[i] for i in order)
        if text is not None and text not in seen:
            seen.add(text)
            kept.append(order)
    return np.array(kept, dtype=np.int64).reshape(len(kept), len(alike))


class Ordered(Protocol):
    """A unit whose sentences can be put in another order."""

    unit_id: str
    split: str


class OrderScorer(Protocol):
    """A critic that scores orders of a unit's sentences; nan where it cannot."""

    better: Better

    def fit(self, real: Sequence[Any]) -> OrderScorer:
        """A fitted scorer."""

    def order_scores(self, unit: Any, orders: np.ndarray) -> np.ndarray:
        """One score per order, float64 (orders,)."""


@dataclass(frozen=True)
class Discrimination:
    """Pairwise accuracy of a scorer on a shuffle task: the share of (original, shuffle) pairs it puts right.

    A tie is an error, and counted apart. A unit that gives no pair, or that the scorer cannot score, is excluded.

    Attributes:
        scorer: what judges the orders.
        task, size: ``block`` with its block size, or ``window`` with the number of windows.
        shuffles: drawn per document before repeats are dropped.
        name: names the draws, with each unit's id.
        also: further (task, size) pairs that :meth:`describe` reports.
    """

    scorer: Any
    task: str = "block"
    size: int = 1
    shuffles: int = 20
    name: str = "shuffles"
    also: tuple[tuple[str, int], ...] = ()
    fitted: bool = field(default=False, repr=False, metadata={"fitted": True})
    better: ClassVar[Better] = "higher"

    def __post_init__(self) -> None:
        if self.task not in TASKS or self.size < 1 or self.shuffles < 1:
            asked = (self.task, self.size, self.shuffles)
            raise BadInput(f"shuffle task {asked}; allowed are {sorted(TASKS)}, a size and a number of shuffles from 1")

    def fit(self, real: Sequence[Any]) -> Discrimination:
        """Fit the scorer on real units."""
        return replace(self, scorer=self.scorer.fit(real), fitted=True)

    def orders(self, unit: Any) -> np.ndarray:
        """This task's orders of one unit, the same for every scorer."""
        rng = generator(self.name, self.task, self.size, unit.unit_id)
        return distinct_orders(TASKS[self.task](self.size), sentence_keys(unit), self.shuffles, rng)

    def tally(self, units: Sequence[Any]) -> Tally:
        """Per document: wins, ties, pairs, and whether the original lies above the mean of its shuffles."""
        rows = [preferences(self.scorer, unit, self.orders(unit)) for unit in units]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))
        return Tally(tuple(unit.unit_id for unit in units), COLUMNS, values)

    def score(self, tally: Tally) -> float:
        """Wins over pairs; nan without a pair."""
        pairs = tally.total("pairs")
        return tally.total("wins") / pairs if pairs else float("nan")

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """This task and those in ``also``: accuracy with its interval, ties, documents above the mean of their shuffles."""
        tasks = [(self.task, self.size), *((task, size) for task, size in self.also)]
        return {"tasks": {f"{task}_{size}": self._described(task, size, units) for task, size in tasks}}

    def _described(self, task: str, size: int, units: Sequence[Any]) -> dict[str, Any]:
        other = replace(self, task=task, size=size)
        return described(other, other.tally(units))


def described(critic: Any, tally: Tally) -> dict[str, Any]:
    """Accuracy of a task with its interval, pairs, ties, and the share of documents above the mean of their shuffles."""
    found = estimate(critic, tally, generator("shuffle tasks", critic.task, critic.size))
    totals = {name: tally.total(name) for name in ("pairs", "ties")}
    above = tally.total("above_mean") / found.units if found.units else float("nan")
    return {**asdict(found), **totals, "above_mean": above}


def sentence_keys(unit: Any) -> list[Any]:
    """One hashable per sentence of a unit: its own ``sentence_keys`` where it has them, else its index."""
    keys = getattr(unit, "sentence_keys", None)
    return list(range(unit.sentences)) if keys is None else list(keys)


def preferences(scorer: Any, unit: Any, orders: np.ndarray) -> tuple[int, int, int, int, int]:
    """(wins, ties, pairs, above mean, excluded) of one document under one scorer."""
    if not len(orders):
        return 0, 0, 0, 0, 1
    identity = np.arange(orders.shape[1])[None]
    scores = scorer.order_scores(unit, np.concatenate([identity, orders]))
    if np.isnan(scores).any():
        return 0, 0, 0, 0, 1
    margins = (scores[0] - scores[1:]) * (-1 if scorer.better == "lower" else 1)
    tied = np.abs(margins) <= TIE * max(1.0, float(np.abs(scores).max()))
    above = bool(margins.mean() > TIE)
    return int(((margins > 0) & ~tied).sum()), int(tied.sum()), len(orders), above, 0


TIE = 1e-12  # sums of the same terms in another order differ by rounding; a smaller margin is no preference
