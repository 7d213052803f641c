"""How far a fact checker can be trusted: its labels against known ones (massarelli2020, last rows of Table 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally, clustered, estimate
from longform.critics.verifiability.checked_generations import CheckedGeneration, generations_from_readout
from longform.critics.verifiability.verdicts import LABELS
from longform.documents import BadInput, Readout
from longform.resampling import generator

PAIRS = tuple(f"{true} as {said}" for true in LABELS for said in LABELS)
MEASURES = {"accuracy": None} | {f"{kind} of {label}": label for label in LABELS for kind in ("precision", "recall")}


@dataclass(frozen=True)
class CheckerAccuracy:
    """Share of sentences with the right label; precision and recall of each label in ``describe``.

    Attributes:
        measure: "accuracy", or "precision of <label>" or "recall of <label>".
    """

    measure: str = "accuracy"
    better: ClassVar[Better] = "higher"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise BadInput(f"checker accuracy: measure {self.measure!r}; allowed are {sorted(MEASURES)}; mend the row")

    def fit(self, real: Sequence[CheckedGeneration]) -> CheckerAccuracy:
        """Nothing is fitted."""
        return self

    def tally(self, units: Sequence[CheckedGeneration]) -> Tally:
        """One column for each true and given label, then how often evidence was found and missing, then excluded."""
        rows = [self._row(unit) for unit in units]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(PAIRS) + 3)
        return Tally(tuple(u.unit_id for u in units), (*PAIRS, "evidence_found", "evidence_known", "excluded"), values)

    def _row(self, unit: CheckedGeneration) -> tuple[float, ...]:
        if unit.truth is None or not unit.checks.labels:
            return (0.0,) * (len(PAIRS) + 2) + (1.0,)
        counts = dict.fromkeys(PAIRS, 0.0)
        for true, said in zip(unit.truth.labels, unit.checks.labels, strict=True):
            counts[f"{true} as {said}"] += 1
        found = unit.column("found")
        known = found[~np.isnan(found)]
        return (*counts.values(), float(known.sum()), float(len(known)), 0.0)

    def score(self, tally: Tally) -> float:
        """The measure; nan where nothing has (precision: was given) the label."""
        matrix = confusion_of(tally)
        if self.measure == "accuracy":
            return _ratio(float(np.trace(matrix)), float(matrix.sum()))
        kind, _, label = self.measure.split(" ", 2)
        place = LABELS.index(label)
        whole = matrix[:, place] if kind == "precision" else matrix[place]
        return _ratio(float(matrix[place, place]), float(whole.sum()))

    def groups(self, units: Sequence[CheckedGeneration]) -> list[str]:
        """Pages: sentences about one page are not independent."""
        return [unit.page for unit in units]

    def describe(self, units: Sequence[CheckedGeneration]) -> dict[str, Any]:
        """Accuracy, precision and recall with intervals, the confusion, and the share of evidence that was retrieved."""
        tally = clustered(self.tally(units), self.groups(units))
        made: dict[str, Any] = {}
        for measure in MEASURES:
            critic = CheckerAccuracy(measure)
            made[measure] = asdict(estimate(critic, tally, generator("checker accuracy", measure), 500))
        matrix = confusion_of(tally)
        made["confusion"] = {name: int(n) for name, n in zip(PAIRS, matrix.flatten(), strict=True)}
        made["evidence retrieved"] = _ratio(tally.total("evidence_found"), tally.total("evidence_known"))
        made["majority"] = _ratio(float(matrix.sum(1).max()), float(matrix.sum()))
        return made


def confusion_of(tally: Tally) -> np.ndarray:
    """Counts (true label, given label)."""
    return np.array([tally.total(name) for name in PAIRS]).reshape(len(LABELS), len(LABELS))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def units_from_readout(readout: Readout) -> list[CheckedGeneration]:
    """Generations or claims as they were read."""
    return generations_from_readout(readout)
