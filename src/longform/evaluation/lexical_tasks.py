"""The lexical models at two tasks: telling texts from their shuffles, and going with people's marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.critics.lexical.score import AdjacentSimilarity, LatentSemantics, Overlap
from longform.critics.lexical.wordnet import MEASURES, wordnet
from longform.documents import BadInput, Readout
from longform.evaluation.panels import Panel, panel
from longform.evaluation.rated_texts import RatedUnit, RatingCorrelation, rated_units
from longform.text.entity_grids import Grid, grids_from_readout
from longform.text.permutations import SHUFFLES, Discrimination

PLAIN = {"overlap": Overlap, "latent_semantics": LatentSemantics}


Settings = Mapping[str, Any] | None


def scorer(model: str, real: Readout, **settings: Any) -> AdjacentSimilarity:
    """A lexical model by name; those over a word net take the lexicon that travels in ``real``.

    Raises:
        BadInput: no such model.
    """
    if model in PLAIN:
        return PLAIN[model](**settings)
    if model in MEASURES:
        return wordnet(real=real, measure=model, **settings)
    raise BadInput(f"lexical model {model!r}; allowed are {sorted([*PLAIN, *MEASURES])}; mend the row")


def units_from_readout(readout: Readout) -> list[Grid] | list[RatedUnit]:
    """Grids, whose entities are the sentences' nouns; with their marks where the readout has any."""
    grids = grids_from_readout(readout)
    return rated_units(grids, readout) if "marks" in readout.arrays else grids


def discrimination(
    *,
    real: Readout,
    model: str,
    task: str = "block",
    size: int = 1,
    shuffles: int = SHUFFLES,
    also: Sequence[tuple[str, int]] = (),
    settings: Settings = None,
) -> Discrimination:
    """Pairwise accuracy of a lexical model on a shuffle task."""
    return Discrimination(
        scorer(model, real, **settings or {}), task, size, shuffles, also=tuple((t, s) for t, s in also)
    )


def ratings(
    *, real: Readout, model: str, kind: str = "pearson", level: str = "text", settings: Settings = None
) -> RatingCorrelation:
    """Correlation of a lexical model with marks."""
    return RatingCorrelation(scorer(model, real, **settings or {}), kind, level)


def discriminations(
    *,
    real: Readout,
    models: Mapping[str, Settings],
    tasks: Sequence[tuple[str, int]],
    shuffles: int = SHUFFLES,
) -> Panel:
    """Pairwise accuracy of several lexical models on several shuffle tasks; the first task is the row's own."""
    (task, size), *also = tasks

    def make(model: str, **settings: Any) -> Discrimination:
        return discrimination(
            real=real, model=model, task=task, size=size, shuffles=shuffles, also=also, settings=settings
        )

    return panel(models, make)


def all_ratings(*, real: Readout, models: Mapping[str, Settings], kind: str = "pearson", level: str = "text") -> Panel:
    """Correlation of several lexical models with marks."""

    def make(model: str, **settings: Any) -> RatingCorrelation:
        return ratings(real=real, model=model, kind=kind, level=level, settings=settings)

    return panel(models, make)
