r"""How much of a generated text an encyclopedia supports (massarelli2020, equations 2-5).

Per generation, of its first k = 5 sentences: $S$ supported, $V$ verified (supported or refuted); $S_u$, $V_u$ the same
with repeats left out, where two sentences repeat each other if label and evidence agree.
    SPG $= |S| / k$    SPV $= |S| / |V|$    USPG $= |S_u| / k$    USPV $= |S_u| / |V_u|$, averaged over generations.

A generation without any verified sentence has no SPV and no USPV; it is left out of them and counted. The printed
table allows no other reading: with zeros instead, SPV could not exceed 5 SPG, and it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.critics.verifiability.checked_generations import checks_from_readout
from longform.critics.verifiability.verdicts import CheckedText
from longform.documents import Readout

SENTENCES = 5  # k, massarelli2020 section 3


def verified(unit: CheckedText, sentences: int, unique: bool) -> list[str]:
    """Labels of the verified sentences among the first so many, repeats left out on request."""
    pairs = list(zip(unit.labels, unit.evidence, strict=True))[:sentences]
    kept = [pair for pair in pairs if pair[0] != "not_enough_info"]
    return [label for label, _ in (dict.fromkeys(kept) if unique else kept)]


def supported(unit: CheckedText, sentences: int, unique: bool) -> np.ndarray:
    """Per sentence among the first so many 1 where it is supported, and with ``unique`` not said before; else 0."""
    seen, found = set(), []
    for pair in list(zip(unit.labels, unit.evidence, strict=True))[:sentences]:
        found.append(pair[0] == "supported" and not (unique and pair in seen))
        seen.add(pair)
    return np.array(found, dtype=np.float64)


@dataclass(frozen=True)
class SupportedPerGeneration:
    """SPG, or USPG with ``unique``: the share of the k sentences that is supported; missing sentences count against it."""

    unique: bool = False
    sentences: int = SENTENCES
    better: ClassVar[Better] = "higher"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("supported",)
    blame: ClassVar[int] = -1

    def attribute(self, units: Sequence[CheckedText]) -> list[np.ndarray]:
        """Per sentence among the first k 1 where it counts as supported, else 0."""
        return [supported(unit, self.sentences, self.unique) for unit in units]

    def fit(self, real: Sequence[CheckedText]) -> SupportedPerGeneration:
        """Nothing is fitted."""
        return self

    def tally(self, units: Sequence[CheckedText]) -> Tally:
        """Columns supported, generations, excluded (never)."""
        found = [verified(unit, self.sentences, self.unique).count("supported") for unit in units]
        values = np.array([(n, 1, 0) for n in found], dtype=np.float64).reshape(len(found), 3)
        return Tally(tuple(u.unit_id for u in units), ("supported", "generations", "excluded"), values)

    def score(self, tally: Tally) -> float:
        """Mean over generations, in [0, 1]."""
        places = self.sentences * tally.total("generations")
        return tally.total("supported") / places if places else math.nan


@dataclass(frozen=True)
class SupportedPerVerified:
    """SPV, or USPV with ``unique``: the supported share of what is verified.

    Attributes:
        pooled: divide the sums over all generations instead of averaging the shares.
    """

    unique: bool = False
    pooled: bool = False
    sentences: int = SENTENCES
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[CheckedText]) -> SupportedPerVerified:
        """Nothing is fitted."""
        return self

    def tally(self, units: Sequence[CheckedText]) -> Tally:
        """Columns supported, verified, share, generations, excluded (nothing verified)."""
        values = np.array([self._row(unit) for unit in units], dtype=np.float64).reshape(len(units), 5)
        columns = ("supported", "verified", "share", "generations", "excluded")
        return Tally(tuple(unit.unit_id for unit in units), columns, values)

    def _row(self, unit: CheckedText) -> tuple[float, ...]:
        found = verified(unit, self.sentences, self.unique)
        if not found:
            return 0, 0, 0, 0, 1
        supported = found.count("supported")
        return supported, len(found), supported / len(found), 1, 0

    def score(self, tally: Tally) -> float:
        """In [0, 1]; nan where no generation has a verified sentence."""
        top, bottom = ("supported", "verified") if self.pooled else ("share", "generations")
        return tally.total(top) / tally.total(bottom) if tally.total(bottom) else math.nan


def units_from_readout(readout: Readout) -> list[CheckedText]:
    """Inverse of :func:`longform.critics.verifiability.verdicts.checks_to_readout`."""
    return checks_from_readout(readout)
