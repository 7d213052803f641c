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

from longform.critic import Better, Tally, estimate
from longform.documents import BadInput
from longform.resampling import generator

SHUFFLES = 20  # sheng2024 section 4.1; at most as many in Barzilay and Lapata (2008)
WINDOW = 3  # sentences of a local shuffle (sheng2024 section 4.2)
LONGEST_WITHOUT_LOCAL = 10  # sheng2024, released code: local shuffles only of documents with more sentences than this
HUGE = 1e300  # stands for infinity where margins are averaged
TIE = 1e-12  # sums of the same terms in another order differ by rounding; a smaller margin is no preference
COLUMNS = ("wins", "ties", "pairs", "above_mean", "excluded")
Draw = Callable[[int, int, int, np.random.Generator], np.ndarray]


def block_orders(sentences: int, block: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """Blocks of ``block`` consecutive sentences (the last may be shorter) in uniform order, inner order kept.

    Returns:
        (copies, sentences) int64; the identity may be among them.
    """
    if block < 1:
        raise BadInput(f"block is {block}; allowed are positive numbers of sentences")
    block_of = np.arange(sentences) // block
    keys = rng.random((copies, int(block_of[-1]) + 1 if sentences else 0))
    return np.argsort(keys[:, block_of], axis=1, kind="stable")


def local_orders(sentences: int, windows: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """``windows`` disjoint windows of three sentences, placed uniformly, each shuffled inside.

    The starts are ``y_k + 2 k`` of ``windows`` sorted distinct numbers below ``sentences - 2 windows``: the uniform
    law over all placements without listing them. A document of at most ten sentences has no copies.
    """
    if windows < 1:
        raise BadInput(f"windows is {windows}; allowed are positive counts; the paper's are 1, 2, 3")
    if sentences <= LONGEST_WITHOUT_LOCAL or sentences < WINDOW * windows:
        return np.zeros((0, sentences), dtype=np.int64)
    places = np.argsort(rng.random((copies, sentences - (WINDOW - 1) * windows)), axis=1)[:, :windows]
    starts = np.sort(places, axis=1) + (WINDOW - 1) * np.arange(windows)
    inside = np.argsort(rng.random((copies, windows, WINDOW)), axis=2)
    orders = np.tile(np.arange(sentences), (copies, 1))
    targets = (starts[:, :, None] + np.arange(WINDOW)).reshape(copies, -1)
    np.put_along_axis(orders, targets, (starts[:, :, None] + inside).reshape(copies, -1), axis=1)
    return orders


TASKS: Mapping[str, Draw] = {"block": block_orders, "window": local_orders}


def distinct_orders(orders: np.ndarray, text_ids: np.ndarray) -> np.ndarray:
    """Orders whose text is neither the original's nor an earlier copy's (sheng2024 section 5.1: copies are removed).

    ``text_ids`` (sentences,) are numbers, equal for sentences that read alike. Texts are compared through a 64-bit linear
    hash with fixed odd multipliers; two of a document's copies collide with a chance of the order of 2^-63.
    """
    if not len(orders):
        return orders
    rng = np.random.Generator(np.random.PCG64(0))
    weights = rng.integers(0, 2**63, orders.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    codes = (np.asarray(text_ids).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (codes[orders] * weights).sum(axis=1, dtype=np.uint64)
    original = (codes * weights).sum(dtype=np.uint64)
    first = np.sort(np.unique(hashes, return_index=True)[1])
    return orders[first[hashes[first] != original]]


def numbered(keys: Sequence[Any]) -> np.ndarray:
    """Numbers of hashable sentences in order of appearance, equal where the sentences are: int64 (sentences,)."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def shuffled_orders(task: str, size: int, keys: Sequence[Any], shuffles: int, rng: np.random.Generator) -> np.ndarray:
    """Up to ``shuffles`` orders of a task whose texts differ from the original and from each other.

    ``keys`` holds one hashable per sentence, equal for sentences that read alike. Repeats are dropped, not redrawn, so
    short documents give fewer orders, or none. int64 (orders, sentences).

    Raises:
        BadInput: no such task.
    """
    if task not in TASKS:
        raise BadInput(f"shuffle task {task!r}; allowed are {sorted(TASKS)}; fix the row")
    return distinct_orders(TASKS[task](len(keys), size, shuffles, rng), numbered(keys))


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
    shuffles: int = SHUFFLES
    name: str = "shuffles"
    also: tuple[tuple[str, int], ...] = ()
    fitted: bool = field(default=False, repr=False, metadata={"fitted": True})
    better: ClassVar[Better] = "higher"

    def __post_init__(self) -> None:
        if self.task not in TASKS or self.size < 1 or self.shuffles < 1:
            asked = (self.task, self.size, self.shuffles)
            raise BadInput(f"shuffle task {asked}; allowed are {sorted(TASKS)}, a size and a number of shuffles from 1")

    def fit(self, real: Sequence[Any]) -> Discrimination:
        """Fit the scorer on real units, rated or not."""
        return replace(self, scorer=self.scorer.fit([getattr(unit, "unit", unit) for unit in real]), fitted=True)

    def orders(self, unit: Any) -> np.ndarray:
        """This task's orders of one unit, the same for every scorer."""
        rng = generator(self.name, self.task, self.size, unit.unit_id)
        return shuffled_orders(self.task, self.size, sentence_keys(unit), self.shuffles, rng)

    def tally(self, units: Sequence[Any]) -> Tally:
        """Per document: wins, ties, pairs, and whether the original lies above the mean of its shuffles."""
        bare = [getattr(unit, "unit", unit) for unit in units]
        rows = [preferences(self.scorer, unit, self.orders(unit)) for unit in bare]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))
        return Tally(tuple(unit.unit_id for unit in units), COLUMNS, values)

    def score(self, tally: Tally) -> float:
        """Wins over pairs; nan without a pair."""
        return accuracy(tally)

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """This task and those in ``also``: accuracy with its interval, ties, documents above the mean of their shuffles."""
        tasks = [(self.task, self.size), *((task, size) for task, size in self.also)]
        return {"tasks": {f"{task}_{size}": self._described(task, size, units) for task, size in tasks}}

    def _described(self, task: str, size: int, units: Sequence[Any]) -> dict[str, Any]:
        other = replace(self, task=task, size=size)
        return described(other, other.tally(units))


def accuracy(tally: Tally) -> float:
    """Wins over pairs of a tally with those columns; nan without a pair."""
    pairs = tally.total("pairs")
    return tally.total("wins") / pairs if pairs else float("nan")


FLIPS = 2000  # of the sign test


def described(critic: Any, tally: Tally) -> dict[str, Any]:
    """Accuracy of a task with interval and test against chance, pairs, ties, share of documents above their shuffles' mean."""
    found = estimate(critic, tally, generator("shuffle tasks", critic.task, critic.size))
    totals = {name: tally.total(name) for name in ("pairs", "ties")}
    above = tally.total("above_mean") / found.units if found.units else float("nan")
    p_value = chance_test(tally, generator("shuffle tasks", "chance", critic.task, critic.size))
    return {**asdict(found), **totals, "above_mean": above, "p_value": p_value}


def chance_test(tally: Tally, rng: np.random.Generator, flips: int = FLIPS) -> float:
    r"""Two-sided p of accuracy against a coin: documents change sides whole, since their pairs are not independent.

    A document's margin is wins minus losses, ties being neither; p is $(1 + \#\{|m^*| \ge |m|\}) / (1 + \text{flips})$
    over random signs of the margins. 1 where no pair decides.
    """
    lost = tally.column("pairs") - tally.column("wins") - tally.column("ties")
    margins = tally.column("wins") - lost
    signs = rng.integers(0, 2, (flips, len(margins))) * 2 - 1
    return float((1 + (np.abs(signs @ margins) >= abs(margins.sum()) - 1e-9).sum()) / (1 + flips))


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
    return preferred(scores, -1 if scorer.better == "lower" else 1)


def preferred(scores: np.ndarray, sign: int, tolerance: float = TIE) -> tuple[int, int, int, int, int]:
    """(wins, ties, pairs, above mean, excluded) from scores, the original's first; ``sign`` is -1 where lower is better.

    Without a shuffle, or with a score that is nan, the document is excluded.
    """
    if len(scores) < 2 or np.isnan(scores).any():
        return 0, 0, 0, 0, 1
    with np.errstate(invalid="ignore"):
        margins = np.clip(np.nan_to_num((scores[0] - scores[1:]) * sign), -HUGE, HUGE)  # two infinite scores tie
    tied = np.abs(margins) <= tolerance * max(1.0, float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0)))
    return int(((margins > 0) & ~tied).sum()), int(tied.sum()), len(margins), int(margins.mean() > TIE), 0
