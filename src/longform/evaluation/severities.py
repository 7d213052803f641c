"""A critic's answer to a named failure, dose by dose: does its own critic move, and do the others stay?

Unit ids are those of ``corpora.planted_doses``, ``<document>@<dose>``, so every dose has the same documents and each
is compared with dose 0 document by document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from longform.critic import Better, Tally, compare, estimate
from longform.critics.coreference.score import ORDER, MentionCritic
from longform.documents import BadInput, Chain, chains_from_readout
from longform.markov_chain import BigramCritic
from longform.resampling import generator


@dataclass(frozen=True)
class DoseResponse:
    """A critic of chains, its score pooled over doses, each dose's own in ``describe``."""

    better: ClassVar[Better] = "nearer_real"

    inner: MentionCritic | BigramCritic

    def fit(self, real: Sequence[Chain]) -> DoseResponse:
        """Fit the critic inside."""
        return replace(self, inner=self.inner.fit(real))

    def tally(self, units: Sequence[Chain]) -> Tally:
        """Of the critic inside."""
        return self.inner.tally(units)

    def score(self, tally: Tally) -> float:
        """Of the critic inside."""
        return self.inner.score(tally)

    def describe(self, units: Sequence[Chain]) -> Mapping[str, Any]:
        """Per dose: the score with its interval, and its paired difference from dose 0; {} without doses in the ids."""
        doses = by_dose(units)
        if 0.0 not in doses:
            return {}
        sound = self.inner.tally(doses[0.0])
        rows = []
        for dose, chains in sorted(doses.items()):
            tally = self.inner.tally(chains)
            found = asdict(estimate(self.inner, tally, generator("doses", type(self.inner).__name__, dose)))
            if tally.unit_ids != sound.unit_ids:
                raise BadInput(f"dose {dose:g} has other documents than dose 0; every dose must hold the same articles")
            tested = compare(self.inner, tally, sound, generator("doses", "compare", dose)) if dose else None
            rows.append({"dose": dose, **found, "comparison": asdict(tested) if tested else None})
        return {"doses": rows}


def by_dose(units: Sequence[Chain]) -> dict[float, list[Chain]]:
    """Chains by the dose in their ids, under the ids of the sound documents; those without one are left out."""
    found: dict[float, list[Chain]] = {}
    for unit in units:
        document, mark, dose = unit.unit_id.rpartition("@")
        if mark:
            try:
                found.setdefault(float(dose), []).append(replace(unit, unit_id=document))
            except ValueError as error:
                raise BadInput(f"unit {unit.unit_id!r}: {dose!r} is no dose; ids are <document>@<dose>") from error
    return found


def mention_doses(*, order: int = ORDER) -> DoseResponse:
    """The released critic of mentions, dose by dose."""
    return DoseResponse(MentionCritic(order=order))


def title_doses(*, delta: float = 1.0) -> DoseResponse:
    """The critic of section titles, dose by dose."""
    return DoseResponse(BigramCritic(delta=delta))


units_from_readout = chains_from_readout
