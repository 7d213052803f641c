r"""Verifiability corrected for the checker's known error rates.

A checker that gives label $j$ to a sentence whose true label is $i$ with probability $C_{ij}$ turns true shares $\pi$ into
observed ones $q = C^\top \pi$. With $C$ from sentences whose labels are known, $\hat\pi = \arg\min_{\pi \ge 0, \sum \pi = 1}
\lVert C^\top \pi - q \rVert$ (Rogan and Gladen 1978 for two labels; Forman 2008 calls it adjusted counting). It holds as far
as $C$ is the same for the generated sentences as for the known ones, which is why the known ones are named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from longform.critic import Better, Tally, clustered
from longform.critics.verifiability.checked_generations import CheckedGeneration, generations_from_readout
from longform.critics.verifiability.checker_accuracy import PAIRS, CheckerAccuracy
from longform.critics.verifiability.score import SENTENCES
from longform.critics.verifiability.verdicts import LABELS
from longform.documents import Readout
from longform.resampling import generator, percentile_interval

SUM_WEIGHT = 1e3  # of the equation that shares sum to one, beside equations about shares: exact to six digits


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
        known: counts (units, labels squared) of the known sentences; set by :func:`corrected_supports`.
    """

    sentences: int = SENTENCES
    resamples: int = 500
    known: np.ndarray = field(metadata={"fitted": True}, default_factory=lambda: np.zeros((0, 9)), repr=False)
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[CheckedGeneration]) -> CorrectedSupports:
        """Itself: the known sentences come with the row."""
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


def corrected_supports(*, real: Readout, resamples: int = 500) -> CorrectedSupports:
    """The measure with ``real``, a readout of sentences with known labels, for its error rates."""
    units = [unit for unit in generations_from_readout(real) if unit.setting != "human"]
    tally = clustered(CheckerAccuracy().tally(units), CheckerAccuracy().groups(units))
    known = tally.values[:, : len(PAIRS)]
    return CorrectedSupports(resamples=resamples, known=known)


def units_from_readout(readout: Readout) -> list[CheckedGeneration]:
    """Generations as they were read."""
    return generations_from_readout(readout)
