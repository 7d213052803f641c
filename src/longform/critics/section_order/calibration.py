r"""Whether a classifier's confidence is its accuracy: expected calibration error and the reliability diagram.

$\mathrm{ECE} = \sum_b \frac{n_b}{n} |\mathrm{acc}_b - \mathrm{conf}_b|$ over equal-width bins of the confidence (Naeini,
Cooper and Hauskrecht 2015; Guo et al. 2017, section 2). The estimate is biased upward by chance within a bin; the value
expected of a perfectly calibrated reader with the same confidences stands beside it in the details.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.documents import BadInput, Readout


@dataclass(frozen=True)
class ConfidentTitles:
    """Confidences of one document's predicted titles, and whether each is the gold one.

    Attributes:
        confidence: float64 (titled sections,), the arg max's probability.
        correct: bool (titled sections,).
    """

    unit_id: str
    split: str
    confidence: np.ndarray
    correct: np.ndarray


@dataclass(frozen=True)
class CalibrationError:
    """Expected calibration error of the arg max, over sections with a gold title.

    Attributes:
        bins: equal-width bins of the confidence; 15 in Guo et al. (2017).
    """

    better: ClassVar[Better] = "lower"
    bins: int = 15

    def __post_init__(self) -> None:
        if not isinstance(self.bins, int) or self.bins < 1:
            raise BadInput(f"bins is {self.bins!r}, allowed is a whole number from 1; 15 is usual")

    def fit(self, real: Sequence[ConfidentTitles]) -> CalibrationError:
        """Nothing is fitted."""
        return self

    def tally(self, units: Sequence[ConfidentTitles]) -> Tally:
        """Per bin: sections, sum of confidence, correct ones; excluded are documents without a gold title."""
        values = np.array([self._row(unit) for unit in units], dtype=np.float64).reshape(len(units), 3 * self.bins + 1)
        names = [f"{kind}_{b}" for kind in ("sections", "confidence", "correct") for b in range(self.bins)]
        return Tally(tuple(unit.unit_id for unit in units), (*names, "excluded"), values)

    def _row(self, unit: ConfidentTitles) -> np.ndarray:
        place = np.clip(np.ceil(unit.confidence * self.bins).astype(int) - 1, 0, self.bins - 1)
        sums = [np.bincount(place, weights, self.bins) for weights in (None, unit.confidence, unit.correct)]
        return np.concatenate([*sums, [float(not len(unit.confidence))]])

    def score(self, tally: Tally) -> float:
        """A share between 0 and 1; nan without any section."""
        sections, confidence, correct = self._bins(tally)
        return float(np.abs(confidence - correct).sum() / sections.sum()) if sections.sum() else float("nan")

    def _bins(self, tally: Tally) -> np.ndarray:
        return tally.values[:, : 3 * self.bins].sum(axis=0).reshape(3, self.bins)

    def describe(self, units: Sequence[ConfidentTitles]) -> dict[str, Any]:
        """The reliability diagram's bins, the share above 90 % certain, and the error that chance alone would give."""
        sections, confidence, correct = self._bins(self.tally(units))
        bins = [[b / self.bins, (b + 1) / self.bins, *map(float, row)]
                for b, row in enumerate(zip(sections, confidence, correct, strict=True)) if row[0]]  # fmt: skip
        all_confidence = np.concatenate([unit.confidence for unit in units]) if units else np.zeros(0)
        certain = float((all_confidence > 0.9).mean()) if len(all_confidence) else float("nan")
        return {"bins": bins, "share_over_90": certain, "expected_by_chance": self._by_chance(sections, confidence)}

    def _by_chance(self, sections: np.ndarray, confidence: np.ndarray) -> float:
        """$E|acc_b - conf_b|$ of a calibrated reader, normal approximation: sqrt(2/pi) standard deviations a bin."""
        met = sections > 0
        mean = confidence[met] / sections[met]
        spread = np.sqrt(2 / np.pi * sections[met] * mean * (1 - mean))
        return float(spread.sum() / sections.sum()) if sections.sum() else float("nan")


def units_from_readout(readout: Readout) -> list[ConfidentTitles]:
    """One unit per document of a section-title readout; sections without a gold title are left out."""
    names, gold_names = readout.arrays["symbol_names"], readout.arrays["gold_names"]
    rows = zip(
        readout.unit_ids, readout.splits, readout.ragged("chain"), readout.ragged("gold"),
        readout.ragged("confidence"), strict=True,
    )  # fmt: skip
    return [_unit(unit, split, names[chain], gold, gold_names, c) for unit, split, chain, gold, c in rows]


def _unit(
    unit: str, split: str, predicted: np.ndarray, gold: np.ndarray, gold_names: np.ndarray, confidence: np.ndarray
) -> ConfidentTitles:
    titled = gold >= 0
    correct = predicted[titled] == gold_names[gold[titled]] if len(gold_names) else np.zeros(0, dtype=bool)
    return ConfidentTitles(unit, split, np.asarray(confidence[titled], dtype=np.float64), np.asarray(correct))
