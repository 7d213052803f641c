"""How far a fact checker can be trusted, and verifiability corrected for its errors (massarelli2020, last rows of Table 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from longform.core.critic import Better, Tally, clustered, estimate
from longform.core.documents import BadInput
from longform.core.resampling import generator, percentile_interval
from longform.core.results import Record
from longform.critics.verifiability.score import LABELS, SENTENCES, CheckedGeneration

SUM_WEIGHT = 1e3  # of the equation that shares sum to one, beside equations about shares: exact to six digits
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
            raise BadInput(f"checker accuracy: measure {self.measure!r}; allowed are {sorted(MEASURES)}")

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


def accuracy_records(units: Sequence[CheckedGeneration], *, corpus: str) -> list[Record]:
    """Accuracy (with the evidence found and the majority's share), and precision and recall of each label, the task."""
    held = CheckerAccuracy().describe(units)
    about = {"retrieved": held["evidence retrieved"], "majority": held["majority"], "confusion": held["confusion"]}
    records = []
    for measure in MEASURES:
        kind, _, label = measure.partition(" of ")
        estimated = held[measure]
        records.append(
            Record("verifiability", f"checker_{kind}", corpus, task=label, better="higher",
                   details={} if label else about, **estimated)
        )  # fmt: skip
    return records


def corrected_records(
    units: Sequence[CheckedGeneration],
    known: Sequence[CheckedGeneration],
    *,
    corpus: str,
    variant: str,
    resamples: int = 500,
) -> list[Record]:
    """Corrected SPG of each decoder, with the error rates of ``known`` sentences, which ``variant`` names."""
    records = []
    for name, held in corrected_by(known, resamples).describe(units).items():
        about = {"given": held["given"], "true": held["true"], "unknown_labels": held["labels_without_known_sentences"]}
        fields = {key: held[key] for key in ("value", "low", "high", "units")}
        records.append(
            Record("verifiability", "SPG", corpus, name, variant=variant, better="higher",
                   signature="CorrectedSupports", details=about, **fields)
        )  # fmt: skip
    return records


def confusion_of(tally: Tally) -> np.ndarray:
    """Counts (true label, given label)."""
    return np.array([tally.total(name) for name in PAIRS]).reshape(len(LABELS), len(LABELS))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def true_shares(observed: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Shares (labels,) that explain the observed ones best; nan where labels are confused alike, so that none can be told.

    Args:
        observed: shares of given labels, (labels,).
        confusion: counts (true label, given label), at least one in every row.
    """
    rates = confusion / confusion.sum(1, keepdims=True)
    if np.linalg.matrix_rank(rates) < len(rates):
        return np.full(len(rates), math.nan)
    equations = np.vstack([rates.T, np.full((1, len(observed)), SUM_WEIGHT)])
    found, _ = nnls(equations, np.append(observed, SUM_WEIGHT))
    return found / found.sum()


def missing_labels(known: np.ndarray) -> list[str]:
    """Labels that no known sentence truly has: their error rates are not known, so nothing can be corrected."""
    counts = known.reshape(len(LABELS), -1).sum(1)
    return [label for label, count in zip(LABELS, counts, strict=True) if not count]


@dataclass(frozen=True)
class CorrectedSupports:
    """Corrected SPG: the corrected share of supported sentences, times sentences per generation, over k.

    Attributes:
        resamples: of the intervals in ``describe``, which resample generations and known sentences alike.
        known: counts (units, labels squared) of the known sentences; set by :func:`corrected_by`.
    """

    sentences: int = SENTENCES
    resamples: int = 500
    known: np.ndarray = field(metadata={"fitted": True}, default_factory=lambda: np.zeros((0, 9)), repr=False)
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[CheckedGeneration]) -> CorrectedSupports:
        """Nothing is fitted: the known sentences are given."""
        return self

    def tally(self, units: Sequence[CheckedGeneration]) -> Tally:
        """Columns: a count of each given label, generations, excluded (never)."""
        rows = [[*(unit.checks.labels[: self.sentences].count(label) for label in LABELS), 1, 0] for unit in units]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(LABELS) + 2)
        return Tally(tuple(unit.unit_id for unit in units), (*LABELS, "generations", "excluded"), values)

    def score(self, tally: Tally) -> float:
        """Corrected SPG in [0, 1], nan where it cannot be known; the interval beside it holds the known sentences fixed."""
        return self._spg(tally.values.sum(0), self.known.sum(0))

    def _spg(self, counts: np.ndarray, known: np.ndarray) -> float:
        given, generations = counts[: len(LABELS)], counts[len(LABELS)]
        if not given.sum() or not generations or missing_labels(known):
            return math.nan
        share = true_shares(given / given.sum(), known.reshape(len(LABELS), -1))[0]
        return float(share * given.sum() / (generations * self.sentences))

    def groups(self, units: Sequence[CheckedGeneration]) -> list[str]:
        """Pages: generations from one page's prefix are not independent."""
        return [unit.page for unit in units]

    def describe(self, units: Sequence[CheckedGeneration]) -> dict[str, Any]:
        """By decoder: SPG as given, corrected with its interval, and true where truth is planted."""
        groups: dict[str, list[CheckedGeneration]] = {}
        for unit in units:
            groups.setdefault(unit.setting, []).append(unit)
        return {name: self._described(name, group) for name, group in groups.items()}

    def _described(self, name: str, units: Sequence[CheckedGeneration]) -> dict[str, Any]:
        rows = clustered(self.tally(units), self.groups(units)).values
        rng = generator("corrected", name)
        draws = []
        for _ in range(self.resamples):
            counts = rows[rng.integers(0, len(rows), len(rows))].sum(0)
            known = self.known[rng.integers(0, len(self.known), len(self.known))].sum(0)
            draws.append(self._spg(counts, known))
        low, high = percentile_interval(np.array(draws))
        given = rows[:, 0].sum() / (rows[:, len(LABELS)].sum() * self.sentences)
        truths = [u.truth.labels[: self.sentences].count(LABELS[0]) for u in units if u.truth is not None]
        true = sum(truths) / (len(units) * self.sentences) if len(truths) == len(units) else None
        value = self._spg(rows.sum(0), self.known.sum(0))
        missing = missing_labels(self.known.sum(0))
        found = {"given": float(given), "value": value, "low": low, "high": high, "true": true, "units": len(units)}
        return found | {"labels_without_known_sentences": missing}


def corrected_by(known: Sequence[CheckedGeneration], resamples: int = 500) -> CorrectedSupports:
    """The measure with the error rates of sentences whose labels are known; those that people wrote are left out."""
    units = [unit for unit in known if unit.setting != "human"]
    tally = clustered(CheckerAccuracy().tally(units), CheckerAccuracy().groups(units))
    return CorrectedSupports(resamples=resamples, known=tally.values[:, : len(PAIRS)])
