"""The lexical models at two tasks: telling texts from their shuffles, and going with people's marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.corpora.orderings import Discrimination
from longform.corpora.rated_texts import RatedUnit, RatingCorrelation, rated_units
from longform.inference.entity_grids import Grid, grids_from_readout
from longform.metrics.lexical import AdjacentSimilarity, LatentSemantics, Overlap
from longform.metrics.wordnet_relatedness import MEASURES, wordnet
from longform.units import BadInput, Readout

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
    shuffles: int = 20,
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
