"""Tables 4 and 5 and Figures 5-7 of sheng2024 for one reader of human and machine texts: all sources in one record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longform.critics.bbscore.profiles import SourceDetection, SourceProfile
from longform.critics.bbscore.sources import MachineArea, MachineGeneral, MachinePairs, units_from_readout
from longform.documents import BadInput
from longform.evaluation.critic_suites import OverHeads, Suite

__all__ = ["source_detection", "source_profiles", "source_tasks", "units_from_readout"]
PAIR_JUDGES = ("bbscore", "three_layer", "linear", "joint")


def source_tasks(*, sources: Sequence[str], index: str = "canonical") -> Suite:
    """Cells ``<source>-<judge>`` of pairs, ``-matched`` (equal lengths), ``-area`` and ``-general`` (one text at a time).

    Raises:
        BadInput: no source.
    """
    if not sources:
        raise BadInput("source tasks: no source; name those of the completions row")
    cells: dict[str, OverHeads] = {}
    for source in sources:
        critics: dict[str, Any] = {judge: MachinePairs(judge_by=judge, index=index) for judge in PAIR_JUDGES}
        critics["matched"] = MachinePairs(same_length=True, index=index)
        critics["area"] = MachineArea(index=index)
        critics |= {f"general_{kind}": MachineGeneral(kind, index) for kind in ("three_layer", "linear")}
        cells |= {f"{source}-{name}": OverHeads(critic, (source,)) for name, critic in critics.items()}
    claims = [
        (f"{s}-bbscore", f"{s}-{judge}") for s in sources for judge in ("three_layer", "linear", "joint", "matched")
    ]
    chance = [f"{source}-{name}" for source in sources for name in ("bbscore", "area")]
    return Suite(cells, claims, chance, "sources")


def source_profiles(*, sources: Sequence[str]) -> Suite:
    """Mean diffusion estimate and mean trajectory of each source, of human texts and of their shuffles (Figure 7)."""
    if not sources:
        raise BadInput("source profiles: no source; name those of the completions row")
    sides = {"human": (sources[0], "human"), "shuffled": (sources[0], "shuffled")}
    sides |= {source: (source, "machine") for source in sources}
    cells = {name: OverHeads(SourceProfile(side), (source,)) for name, (source, side) in sides.items()}
    return Suite(cells, name="profiles")


def source_detection(*, sources: Sequence[str], index: str = "canonical") -> SourceDetection:
    """Figure 6's matrix of distances."""
    return SourceDetection(tuple(sources), index)
