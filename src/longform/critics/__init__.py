"""Critics of text, each a class with ``fit``, ``score``, ``compare`` and ``attribute``.

``from longform.critics import EntityGrid`` imports that critic alone; ``longform critics`` on the
command line lists them all.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longform.critics.coreference.score import Coreference, ReleasedCoreference
    from longform.critics.entity_grid.blocks import BlockedEntityGrid
    from longform.critics.entity_grid.score import EntityGrid, GridRanker
    from longform.critics.lexical.score import LatentSemanticAnalysis, SharedNouns
    from longform.critics.lexical.wordnet import HirstStOnge, JiangConrath, Lesk, Lin, Resnik
    from longform.critics.mauve.score import Mauve
    from longform.critics.repetition.score import DistinctGrams, Repetition
    from longform.critics.section_order.score import SectionOrder
    from longform.critics.topics.score import Topics

__all__ = [
    "BlockedEntityGrid",
    "Coreference",
    "DistinctGrams",
    "EntityGrid",
    "GridRanker",
    "HirstStOnge",
    "JiangConrath",
    "LatentSemanticAnalysis",
    "Lesk",
    "Lin",
    "Mauve",
    "ReleasedCoreference",
    "Repetition",
    "Resnik",
    "SectionOrder",
    "SharedNouns",
    "Topics",
]


def __getattr__(name: str) -> Any:
    """A critic's class, imported when it is first used: some bring torch along."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from longform.critics.catalogue import CLASSES

    return CLASSES[name].load_class()


def __dir__() -> list[str]:
    return __all__
