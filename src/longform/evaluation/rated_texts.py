"""The rating task: texts that people have marked, and how a scorer's values go with the marks (lapata2005 section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from longform.critic import Better, Tally
from longform.documents import BadInput, Readout

COLUMNS = ("value", "rating", "group", "excluded")
FEWEST = 3  # pairs below which there is no coefficient


@dataclass(frozen=True)
class RatedUnit:
    """A unit of some critic with people's marks.

    Attributes:
        unit: what the critic scores.
        marks: float64 (raters,), nan where a rater did not see it.
        cluster: the source that several texts share; system: who wrote it; empty where unknown.
    """

    unit: Any
    marks: np.ndarray
    cluster: str
    system: str

    @property
    def unit_id(self) -> str:
        """Of the unit."""
        return self.unit.unit_id

    @property
    def split(self) -> str:
        """Of the unit."""
        return self.unit.split

    @property
    def rating(self) -> float:
        """Mean mark; nan where nobody marked it."""
        seen = self.marks[~np.isnan(self.marks)]
        return float(seen.mean()) if len(seen) else float("nan")


def rated_units(units: Sequence[Any], readout: Readout) -> list[RatedUnit]:
    """Units with the marks that their readout carries.

    Raises:
        BadInput: the readout has no marks.
    """
    if "marks" not in readout.arrays:
        raise BadInput(
            "rated texts: the readout has no marks; read a corpus whose truth has them (summaries, SummEval)"
        )
    blank = np.full(len(units), "")
    names = (readout.arrays.get(key, blank).astype(str).tolist() for key in ("cluster", "system"))
    marks = readout.arrays["marks"].astype(np.float64)
    return [RatedUnit(*row) for row in zip(units, marks, *names, strict=True)]


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    return _pearson(stats.rankdata(x), stats.rankdata(y))


COEFFICIENTS: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = {"pearson": _pearson, "spearman": _spearman}


@dataclass(frozen=True)
class RatingCorrelation:
    """Correlation of a scorer's values with mean marks, over texts or over systems' means.

    A distance (a scorer whose lower values are better) keeps its sign, so it correlates negatively where it works, as
    Jiang-Conrath does in the paper. Texts without marks, or that the scorer cannot score, are excluded.

    Attributes:
        scorer: anything with ``fit`` and ``coherence``.
        kind: ``pearson`` or ``spearman``.
        level: ``text``, or ``system`` for the means of each system.
    """

    scorer: Any
    kind: str = "pearson"
    level: str = "text"
    better: ClassVar[Better] = "higher"

    def __post_init__(self) -> None:
        if self.kind not in COEFFICIENTS or self.level not in ("text", "system"):
            raise BadInput(
                f"rating correlation {self.kind, self.level}; allowed are {sorted(COEFFICIENTS)}, text or system"
            )

    def fit(self, real: Sequence[Any]) -> RatingCorrelation:
        """Fit the scorer on real texts, rated or not; marks are not used."""
        return replace(self, scorer=self.scorer.fit([getattr(unit, "unit", unit) for unit in real]))

    def tally(self, units: Sequence[RatedUnit]) -> Tally:
        """Columns: the scorer's value, the mean mark, the number of the system, excluded."""
        systems = {name: i for i, name in enumerate(sorted({unit.system for unit in units}))}
        values = np.array(self.scorer.coherence([unit.unit for unit in units]), dtype=np.float64).reshape(len(units))
        ratings = np.array([unit.rating for unit in units], dtype=np.float64)
        groups = np.array([systems[unit.system] for unit in units], dtype=np.float64)
        excluded = np.isnan(values) | np.isnan(ratings)
        kept = np.stack([values, ratings, groups], axis=1).reshape(len(units), 3)
        rows = np.column_stack([np.where(excluded[:, None], 0.0, kept), excluded])
        return Tally(tuple(unit.unit_id for unit in units), COLUMNS, rows)

    def score(self, tally: Tally) -> float:
        """The coefficient; nan for fewer than three texts (or systems) or constant values."""
        kept = tally.column("excluded") == 0
        x, y = tally.column("value")[kept], tally.column("rating")[kept]
        if self.level == "system":
            x, y = _means(x, tally.column("group")[kept]), _means(y, tally.column("group")[kept])
        if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
            return float("nan")
        return COEFFICIENTS[self.kind](x, y)

    def describe(self, units: Sequence[RatedUnit]) -> dict[str, Any]:
        """Values, marks, clusters and systems of the texts, for tables that need several scorers at once."""
        tally = self.tally(units)
        excluded = tally.column("excluded") > 0
        values = np.where(excluded, np.nan, tally.column("value"))
        return {
            "unit_ids": list(tally.unit_ids),
            "values": [None if np.isnan(v) else float(v) for v in values],
            "marks": [[None if np.isnan(mark) else float(mark) for mark in unit.marks] for unit in units],
            "clusters": [unit.cluster for unit in units],
            "systems": [unit.system for unit in units],
        }


def _means(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    _, places = np.unique(groups, return_inverse=True)
    return np.bincount(places, values) / np.bincount(places)
