"""Pairwise accuracy of any critic on documents and their written-out shuffles (:mod:`longform.datasets.shuffled_texts`).

The critic scores every document by itself, original and shuffle alike, and wins a pair where it likes the original
better. A critic whose score should lie near real text's (a Latent PPL, a Latent NLL) is a cost here: which of two orders
does it find more probable?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.datasets.shuffled_texts import ORIGINAL
from longform.documents import BadInput
from longform.text.permutations import COLUMNS, TIE, accuracy, described, preferred


@dataclass(frozen=True)
class Family:
    """A document's original and its shuffles by task, as some reader read them; units of the critic that judges them."""

    unit_id: str
    split: str
    original: Any
    shuffles: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def families(units: Sequence[Any]) -> list[Family]:
    """Group units named ``<document>/<task>_<size>/<copy>``; a unit with another name is an original without shuffles.

    Raises:
        BadInput: a document has shuffles but no original.
    """
    members: dict[str, dict[str, list[Any]]] = {}
    for unit in units:
        parts = unit.unit_id.rsplit("/", 2)
        document, kind = (parts[0], parts[1]) if len(parts) == 3 else (unit.unit_id, ORIGINAL)
        members.setdefault(document, {}).setdefault(kind, []).append(unit)
    for document, kinds in members.items():
        if ORIGINAL not in kinds:
            raise BadInput(f"document {document!r} has {sorted(kinds)} but no {ORIGINAL!r}; read the whole corpus")
    return [
        Family(name, kinds[ORIGINAL][0].split, kinds[ORIGINAL][0], {k: v for k, v in kinds.items() if k != ORIGINAL})
        for name, kinds in members.items()
    ]


def values_of(critic: Any, units: Sequence[Any]) -> np.ndarray:
    """The critic's score of each unit by itself, float64 (units,); nan where it excludes the unit or has no score."""
    if hasattr(critic, "coherence"):
        return np.asarray(critic.coherence(units), dtype=np.float64)
    tally = critic.tally(units)
    excluded = tally.column("excluded") > 0 if "excluded" in tally.columns else np.zeros(len(units), dtype=bool)
    scores = [np.nan if out else critic.score(tally.take(np.array([i]))) for i, out in enumerate(excluded)]
    return np.array(scores, dtype=np.float64)


@dataclass(frozen=True)
class OrderPairs:
    """Share of (original, shuffle) pairs of one task in which the critic likes the original better.

    A tie is an error, and counted apart. A document without a pair, or that the critic cannot score, is excluded.

    Attributes:
        scorer: any critic of the units that the families hold.
        task, size: of the shuffles.
        tolerance: relative margin below which a pair ties; rounding by default, more where a reader's own convergence
            tells two readings of one bag of words apart.
    """

    scorer: Any
    task: str = "block"
    size: int = 1
    tolerance: float = TIE
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[Family]) -> OrderPairs:
        """Fit the critic on originals."""
        return replace(self, scorer=self.scorer.fit([family.original for family in real]))

    def tally(self, units: Sequence[Family]) -> Tally:
        """Per document: wins, ties, pairs, whether the original lies above the mean of its shuffles, excluded."""
        return self._tallies(units, [f"{self.task}_{self.size}"])[0]

    def score(self, tally: Tally) -> float:
        """Wins over pairs; nan without a pair."""
        return accuracy(tally)

    def describe(self, units: Sequence[Family]) -> dict[str, Any]:
        """Every task that the families hold, as :func:`longform.text.permutations.described`."""
        tasks = list(dict.fromkeys(task for family in units for task in family.shuffles))
        named = {task: replace(self, task=task.rpartition("_")[0], size=int(task.rpartition("_")[2])) for task in tasks}
        tallies = self._tallies(units, tasks)
        return {"tasks": {t: described(named[t], tally) for t, tally in zip(tasks, tallies, strict=True)}}

    @property
    def _sign(self) -> int:
        return 1 if self.scorer.better == "higher" else -1

    def _tallies(self, units: Sequence[Family], tasks: Sequence[str]) -> list[Tally]:
        """One tally per task; each text is scored once, whatever the number of tasks."""
        chosen = [[family.original, *(u for t in tasks for u in family.shuffles.get(t, ()))] for family in units]
        flat = [unit for row in chosen for unit in row]
        values = iter(values_of(self.scorer, flat).tolist() if flat else [])
        rows: list[list[tuple[int, int, int, int, int]]] = [[] for _ in tasks]
        for family in units:
            original = next(values)
            for found, task in zip(rows, tasks, strict=True):
                others = [next(values) for _ in family.shuffles.get(task, ())]
                found.append(preferred(np.array([original, *others]), self._sign, self.tolerance))
        ids = tuple(family.unit_id for family in units)
        return [Tally(ids, COLUMNS, np.array(row, dtype=np.float64).reshape(len(ids), len(COLUMNS))) for row in rows]
