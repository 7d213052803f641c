"""Many critics of the same units in one record: every cell with its interval and test, over the heads of one encoder.

A table has dozens of numbers that rest on one readout. A suite fits and judges them together, estimates each as the
single critics are estimated, and tests pairs of cells on the same documents; the first cell is the suite's own score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from longform.critic import Better, Tally, compare, estimate
from longform.documents import BadInput
from longform.resampling import generator

FITTED = {"fitted": True}
TRIALS = 1000  # permutations of one test: p is known to a thousandth, and a suite has dozens of tests
MIRRORED = (("beta_original", "beta_shuffle"), ("human", "machine"))  # two sides of one pair, by column


@dataclass(frozen=True)
class OverHeads:
    """The mean of a critic's score over several views of each unit: an encoder's heads, trained from other seeds.

    Attributes:
        critic: fitted and asked once per head.
        heads: names that a unit's ``under`` knows; the empty one is the unit itself.
        fitted: the fitted critic of each head.
    """

    critic: Any
    heads: tuple[str, ...] = ("",)
    fitted: Mapping[str, Any] = field(default_factory=dict, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if not self.heads or len(set(self.heads)) < len(self.heads):
            raise BadInput(f"heads {list(self.heads)}; allowed are one or more distinct names; mend the row")

    @property
    def better(self) -> Better:
        """The critic's own direction."""
        return self.critic.better

    def fit(self, real: Sequence[Any]) -> OverHeads:
        """One fitted critic per head."""
        return replace(self, fitted={head: self.critic.fit(under(real, head)) for head in self.heads})

    def tally(self, units: Sequence[Any]) -> Tally:
        """Columns ``<head>:<column>`` of every head, and the first head's ``excluded``."""
        if not self.fitted:
            raise BadInput(f"{type(self.critic).__name__} is not fitted; call fit(real units) and use what it returns")
        parts = [self.fitted[head].tally(under(units, head)) for head in self.heads]
        names = [f"{head}:{column}" for head, part in zip(self.heads, parts, strict=True) for column in part.columns]
        values = np.concatenate([*(part.values for part in parts), parts[0].column("excluded")[:, None]], axis=1)
        return Tally(parts[0].unit_ids, (*names, "excluded"), values)

    def part(self, tally: Tally, head: str) -> Tally:
        """One head's columns."""
        width = (len(tally.columns) - 1) // len(self.heads)
        first = self.heads.index(head) * width
        columns = tuple(name[len(head) + 1 :] for name in tally.columns[first : first + width])
        return Tally(tally.unit_ids, columns, tally.values[:, first : first + width])

    def scores(self, tally: Tally) -> list[float]:
        """Each head's score."""
        return [self.fitted[head].score(self.part(tally, head)) for head in self.heads]

    def score(self, tally: Tally) -> float:
        """Mean over heads."""
        return sum(self.scores(tally)) / len(self.heads)


def under(units: Sequence[Any], head: str) -> list[Any]:
    """The units as a head sees them."""
    return [unit.under(head) if head else unit for unit in units]


@dataclass(frozen=True)
class Suite:
    """Named critics of the same units.

    Attributes:
        critics: by the name of their cell; the first one's score is the suite's.
        claims: pairs of cells; the second is claimed to be the higher one, and each pair is tested document by document.
        chance: cells that are tested against their mirror image too: an accuracy or area against one half.
        name: names the resamples.
    """

    critics: Mapping[str, OverHeads]
    claims: Sequence[tuple[str, str]] = ()
    chance: Sequence[str] = ()
    name: str = "suite"

    def __post_init__(self) -> None:
        missing = sorted({*self.chance, *(cell for claim in self.claims for cell in claim)} - self.critics.keys())
        if not self.critics or missing:
            raise BadInput(
                f"suite {self.name}: {len(self.critics)} cells, claims and chance name {missing}; mend the row"
            )

    def fit(self, real: Sequence[Any]) -> Suite:
        """Fit every critic."""
        return replace(self, critics={name: critic.fit(real) for name, critic in self.critics.items()})

    @property
    def better(self) -> Better:
        """The first cell's direction."""
        return self.first.better

    @property
    def first(self) -> OverHeads:
        """The critic of the first cell."""
        return next(iter(self.critics.values()))

    def tally(self, units: Sequence[Any]) -> Tally:
        """The first cell's."""
        return self.first.tally(units)

    def score(self, tally: Tally) -> float:
        """The first cell's."""
        return self.first.score(tally)

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """``cells``: a record per cell, ``tests``: a record per claim."""
        tallies = {name: critic.tally(units) for name, critic in self.critics.items()}
        cells = {name: self._cell(name, tallies[name], units) for name in self.critics}
        return {"cells": cells, "tests": [self._test(low, high, tallies) for low, high in self.claims]}

    def _cell(self, name: str, tally: Tally, units: Sequence[Any]) -> dict[str, Any]:
        """Estimate, totals of the first head, each head's estimate, and what the first head's critic describes."""
        critic, head = self.critics[name], self.critics[name].heads[0]
        record = asdict(estimate(critic, tally, generator(self.name, name, "bootstrap")))
        first = critic.part(tally, head)
        record["totals"] = {column: first.total(column) for column in first.columns}
        if len(critic.heads) > 1:
            record["heads"] = {one: self._head(name, tally, one) for one in critic.heads}
            record["spread"] = float(np.std(critic.scores(tally), ddof=1))
        mirror = mirrored(tally) if name in self.chance else None
        if mirror is not None:
            record["comparison"] = asdict(compare(critic, tally, mirror, generator(self.name, name, "chance"), TRIALS))
        describe = getattr(critic.fitted[head], "describe", None)
        return record if describe is None else {**record, "details": describe(under(units, head))}

    def _head(self, name: str, tally: Tally, head: str) -> dict[str, Any]:
        critic = self.critics[name]
        found = estimate(critic.fitted[head], critic.part(tally, head), generator(self.name, name, head, "bootstrap"))
        return {key: getattr(found, key) for key in ("value", "low", "high", "units", "excluded")}

    def _test(self, low: str, high: str, tallies: Mapping[str, Tally]) -> dict[str, Any]:
        """Paired permutation test of two cells; their tallies have the same columns."""
        rng = generator(self.name, low, high, "test")
        found = compare(self.critics[high], tallies[high], tallies[low], rng, TRIALS)
        return {"low": low, "high": high, **asdict(found)}


def mirrored(tally: Tally) -> Tally | None:
    """The tally with each pair's two sides exchanged; None where it holds no pairs."""
    values, found = tally.values.copy(), False
    place = {name: column for column, name in enumerate(tally.columns)}
    for name, column in place.items():
        head, _, kind = name.rpartition(":")
        if kind == "wins":
            values[:, column] = tally.values[:, place[f"{head}:pairs"]] - tally.values[:, column]
            found = True
        for one, other in MIRRORED:
            if kind == one:
                values[:, [column, place[f"{head}:{other}"]]] = tally.values[:, [place[f"{head}:{other}"], column]]
                found = True
    return Tally(tally.unit_ids, tally.columns, values) if found else None
