"""The grid models at two tasks: telling texts from their shuffles, and going with people's marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.critics.entity_grid.ranking import GridRanker, TransitionFeatures
from longform.critics.entity_grid.score import RoleTransitions
from longform.documents import BadInput, Readout
from longform.evaluation.panels import Panel, panel
from longform.evaluation.rated_texts import RatedUnit, RatingCorrelation, rated_units
from longform.text.entity_grids import Grid, grids_from_readout
from longform.text.permutations import SHUFFLES, Discrimination

Settings = Mapping[str, Any] | None


def scorer(model: str, **settings: Any) -> RoleTransitions | GridRanker:
    """``transitions`` (generative) or ``ranking``, with its settings.

    Raises:
        BadInput: no such model.
    """
    if model == "transitions":
        return RoleTransitions(**settings)
    if model != "ranking":
        raise BadInput(f"grid model {model!r}; allowed are 'transitions' and 'ranking'; mend the row")
    named = ("lengths", "salience", "syntax", "edges")
    features = {key: settings.pop(key) for key in named if key in settings}
    if "lengths" in features:
        features["lengths"] = tuple(features["lengths"])
    return GridRanker(TransitionFeatures(**features), **settings)


def units_from_readout(readout: Readout) -> list[Grid] | list[RatedUnit]:
    """Grids; with their marks where the readout has any."""
    grids = grids_from_readout(readout)
    return rated_units(grids, readout) if "marks" in readout.arrays else grids


def discrimination(
    *,
    model: str,
    task: str = "block",
    size: int = 1,
    shuffles: int = SHUFFLES,
    also: Sequence[tuple[str, int]] = (),
    settings: Settings = None,
) -> Discrimination:
    """Pairwise accuracy of a grid model on a shuffle task."""
    return Discrimination(scorer(model, **settings or {}), task, size, shuffles, also=tuple((t, s) for t, s in also))


def ratings(*, model: str, kind: str = "pearson", level: str = "text", settings: Settings = None) -> RatingCorrelation:
    """Correlation of a grid model with marks."""
    return RatingCorrelation(scorer(model, **settings or {}), kind, level)


def discriminations(
    *, models: Mapping[str, Settings], tasks: Sequence[tuple[str, int]], shuffles: int = SHUFFLES
) -> Panel:
    """Pairwise accuracy of several grid models on several shuffle tasks; the first task is the row's own."""
    (task, size), *also = tasks

    def make(model: str, **settings: Any) -> Discrimination:
        return discrimination(model=model, task=task, size=size, shuffles=shuffles, also=also, settings=settings)

    return panel(models, make)


def all_ratings(*, models: Mapping[str, Settings], kind: str = "pearson", level: str = "text") -> Panel:
    """Correlation of several grid models with marks."""
    return panel(models, lambda model, **settings: ratings(model=model, kind=kind, level=level, settings=settings))
