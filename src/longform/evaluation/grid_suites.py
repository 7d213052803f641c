"""Entity-grid rows of sheng2024's Tables 2-4: both grid models on the shuffle tasks and on human against machine texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.critics.bbscore.sources import TextFamily, TextPair, families_of
from longform.documents import BadInput, Readout
from longform.evaluation.critic_suites import OverHeads, Suite
from longform.evaluation.grid_tasks import scorer
from longform.text.entity_grids import Grid, grids_from_readout
from longform.text.permutations import Discrimination

BLOCKS, WINDOWS = (1, 2, 5, 10), (1, 2, 3)  # sheng2024 sections 4.1 and 4.2
FITTED = {"fitted": True}


def units_from_readout(readout: Readout) -> list[Grid] | list[TextFamily]:
    """Grids; families of grids where the texts have a human and a machine side."""
    grids = grids_from_readout(readout)
    sides = {grid.unit_id.rpartition("-")[2] for grid in grids}
    return families_of(grids) if "human" in sides else grids


@dataclass(frozen=True)
class UnionTasks:
    """Pairwise accuracy over the union of some shuffle tasks, each document's pairs added up.

    Attributes:
        parts: the tasks; one scorer serves them all.
    """

    parts: tuple[Discrimination, ...]
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[Grid]) -> UnionTasks:
        """Fit the scorer once, unless it is fitted already."""
        fitted = shared(self.parts[0].scorer, real)
        return replace(self, parts=tuple(replace(part, scorer=fitted, fitted=True) for part in self.parts))

    def tally(self, units: Sequence[Grid]) -> Tally:
        """Columns wins, ties, pairs and excluded (no pair under any task)."""
        tallies = [part.tally(units) for part in self.parts]
        sums = [sum(tally.column(name) for tally in tallies) for name in ("wins", "ties", "pairs")]
        values = np.stack([*sums, np.asarray(sums[2]) == 0], axis=1).astype(np.float64)
        return Tally(tallies[0].unit_ids, ("wins", "ties", "pairs", "excluded"), values)

    def score(self, tally: Tally) -> float:
        """Wins over pairs; nan without a pair."""
        pairs = tally.total("pairs")
        return tally.total("wins") / pairs if pairs else float("nan")


def shared(model: Any, real: Sequence[Grid]) -> Any:
    """The model, fitted on coherent grids where it is not fitted yet."""
    return model if getattr(model, "fitted_units", 0) else model.fit(real)


@dataclass(frozen=True)
class GridPairs:
    """Share of pairs in which the grid model finds the human text the more coherent one (Table 4); a tie is an error.

    Attributes:
        scorer: a grid model, fitted on human texts only.
    """

    scorer: Any
    better: ClassVar[Better] = "higher"

    def fit(self, real: Sequence[TextPair]) -> GridPairs:
        """Fit the model on the human sides."""
        return replace(self, scorer=shared(self.scorer, [pair.human for pair in real]))

    def tally(self, units: Sequence[TextPair]) -> Tally:
        """Columns wins, ties, pairs and excluded (a side without entities)."""
        both = [self.scorer.coherence([getattr(u, side) for u in units]) for side in ("human", "machine")]
        margin = both[0] - both[1]
        kept = np.isfinite(margin)
        columns = [kept & (margin > 0), kept & (margin == 0), kept, ~kept]
        names = ("wins", "ties", "pairs", "excluded")
        return Tally(tuple(u.unit_id for u in units), names, np.stack(columns, axis=1).astype(np.float64))

    def score(self, tally: Tally) -> float:
        """Wins over pairs; nan without a pair."""
        pairs = tally.total("pairs")
        return tally.total("wins") / pairs if pairs else float("nan")


@dataclass(frozen=True)
class GridSuite(Suite):
    """A suite whose critics share one fitted grid model."""

    model: Any = field(default=None, metadata=FITTED)

    def fit(self, real: Sequence[Any]) -> GridSuite:
        """Fit the model on coherent grids, then hand it to every critic."""
        fitted = shared(self.model, [getattr(unit, "human", unit) for unit in real])
        made = {name: replace(one, critic=handed(one.critic, fitted)).fit(real) for name, one in self.critics.items()}
        return replace(self, critics=made, model=fitted)


def handed(critic: UnionTasks | GridPairs, model: Any) -> UnionTasks | GridPairs:
    """The critic with another scorer."""
    if isinstance(critic, GridPairs):
        return replace(critic, scorer=model)
    return replace(critic, parts=tuple(replace(part, scorer=model) for part in critic.parts))


def grid_shuffles(*, kind: str, settings: dict[str, Any] | None = None, shuffles: int = 20) -> GridSuite:
    """Cells ``b1``, ``b2``, ``b5``, ``b10``, ``w123`` (the union), ``w1``, ``w2``, ``w3``, each ``-<kind>``.

    Args:
        kind: "transitions" (generative) or "ranking".
    """
    chosen = scorer(kind, **(settings or {}))
    tasks = {f"b{size}": (("block", size),) for size in BLOCKS}
    tasks |= {"w123": tuple(("window", w) for w in WINDOWS)} | {f"w{w}": (("window", w),) for w in WINDOWS}
    critics = {
        f"{name}-grid_{kind}": UnionTasks(tuple(Discrimination(chosen, task, size, shuffles) for task, size in parts))
        for name, parts in tasks.items()
    }
    return GridSuite(
        {k: OverHeads(c) for k, c in critics.items()}, chance=list(critics), name=f"grid {kind}", model=chosen
    )


def grid_sources(*, kind: str, sources: Sequence[str], settings: dict[str, Any] | None = None) -> GridSuite:
    """Cells ``<source>-grid_<kind>``: human above machine.

    Raises:
        BadInput: no source.
    """
    if not sources:
        raise BadInput("grid sources: no source; name those of the completions row")
    chosen = scorer(kind, **(settings or {}))
    critics = {f"{source}-grid_{kind}": OverHeads(GridPairs(chosen), (source,)) for source in sources}
    return GridSuite(critics, chance=list(critics), name=f"grid sources {kind}", model=chosen)
