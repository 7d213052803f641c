"""Tables 1-3 and Figures 4 and 9 of sheng2024 for one reader: all tasks, judges and heads in one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from longform.critic import Tally
from longform.critics.bbscore.features import BridgeFeatures
from longform.critics.bbscore.score import LatentPath, units_from_readout
from longform.critics.bbscore.tasks import (
    GlobalDiscrimination,
    JointGlobal,
    JointLocal,
    LocalDiscrimination,
    ShuffleAUC,
)
from longform.documents import BadInput
from longform.evaluation.critic_suites import OverHeads, Suite

__all__ = ["shuffle_tasks", "units_from_readout"]
BLOCKS = (1, 2, 5, 10)  # sheng2024 section 4.1
WINDOWS = ((1, 2, 3), (1,), (2,), (3,))  # sheng2024 section 4.2, the joint set first
JUDGES = ("bbscore", "three_layer", "linear", "joint")


def shuffle_tasks(
    *,
    judges: Sequence[str] = ("bbscore",),
    blocks: Sequence[int] = BLOCKS,
    windows: Sequence[Sequence[int]] = WINDOWS,
    heads: Sequence[str] = ("",),
    areas: bool = False,
    index: str = "canonical",
    time: str = "sentence",
    longest: int | None = None,
    learned: int | None = None,
) -> Suite:
    """Cells ``<b1|...|w123|...>-<judge>`` and, with ``areas``, ``auc_b1`` and so on.

    Args:
        heads: of the encoder; a cell is their mean, with each head's own estimate beside it.
        areas: also one shuffle a document, as Figures 4 and 9 have it.
        index, time: of the features.
        longest: leave out documents of more sentences, from fitting and judging alike.
        learned: how many training documents a classifier learns from; all by default.

    Raises:
        BadInput: an unknown judge, index or time.
    """
    BridgeFeatures(index, time)
    unknown = [judge for judge in judges if judge not in JUDGES]
    if unknown or not judges:
        raise BadInput(f"judges {list(judges)}; allowed are {list(JUDGES)}; mend the row")
    shared = {"index": index, "time": time}
    cells: dict[str, Any] = {}
    for judge in judges:
        cells |= {f"b{b}-{judge}": _global(judge, b, shared) for b in blocks}
        cells |= {f"w{''.join(map(str, w))}-{judge}": _local(judge, tuple(w), shared) for w in windows}
    if areas:
        cells |= {f"auc_b{b}": ShuffleAUC(block=b, **shared) for b in blocks}
    tasks = [name.split("-")[0] for name in cells if name.endswith(f"-{judges[0]}")]
    claims = [(f"{task}-{judges[0]}", f"{task}-{judge}") for judge in judges[1:] for task in tasks]
    chance = [name for name in cells if name.endswith(f"-{judges[0]}") or name.startswith("auc_")]
    limits = {"longest": longest, "learned": learned}
    return Suite(
        {k: OverHeads(Limited(c, **limits), tuple(heads)) for k, c in cells.items()}, claims, chance, "shuffles"
    )


def _classifier(judge: str) -> str | None:
    return judge if judge in ("three_layer", "linear") else None


def _global(judge: str, block: int, shared: dict[str, Any]) -> Any:
    if judge == "joint":
        return JointGlobal(block=block)
    return GlobalDiscrimination(block=block, classifier=_classifier(judge), **shared)


def _local(judge: str, windows: tuple[int, ...], shared: dict[str, Any]) -> Any:
    if judge == "joint":
        return JointLocal(windows=windows)
    return LocalDiscrimination(windows=windows, classifier=_classifier(judge), **shared)


@dataclass(frozen=True)
class Limited:
    """A critic of some of the documents: short ones only, or a classifier that learns from the first so many.

    Attributes:
        critic: what judges.
        longest: most sentences of a document; longer ones are excluded, and counted.
        learned: training documents, where the critic has a classifier.
    """

    critic: Any
    longest: int | None = None
    learned: int | None = None

    @property
    def better(self) -> str:
        """The critic's own direction."""
        return self.critic.better

    def _short(self, unit: LatentPath) -> bool:
        return self.longest is None or len(unit.latents) <= self.longest

    def fit(self, real: Sequence[LatentPath]) -> Limited:
        """Fit on the documents that are short enough, at most ``learned`` where there is a classifier."""
        kept = [unit for unit in real if self._short(unit)]
        limit = self.learned if getattr(self.critic, "classifier", None) else None
        return replace(self, critic=self.critic.fit(kept[:limit]))

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """The critic's; a document that is too long is as if it had no sentence."""
        return self.critic.tally([u if self._short(u) else replace(u, latents=u.latents[:0]) for u in units])

    def score(self, tally: Tally) -> float:
        """The critic's."""
        return self.critic.score(tally)

    def describe(self, units: Sequence[LatentPath]) -> dict[str, Any]:
        """The critic's, where it has one."""
        describe = getattr(self.critic, "describe", None)
        return {} if describe is None else describe([unit for unit in units if self._short(unit)])
