"""Critics of text, each a class with ``fit``, ``score``, ``compare`` and ``attribute``.

``from longform.critics import EntityGrid`` imports that critic alone; ``longform critics`` on the
command line lists them all.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longform.critics.bbscore.score import BBScore, JointBridge
    from longform.critics.code_mixing.score import CodeMixing, LanguageDispersion
    from longform.critics.coreference.score import Coreference, ReleasedCoreference
    from longform.critics.entity_grid.blocks import BlockedEntityGrid
    from longform.critics.entity_grid.score import EntityGrid, GridRanker
    from longform.critics.lexical.score import LatentSemanticAnalysis, SharedNouns
    from longform.critics.lexical.wordnet import HirstStOnge, JiangConrath, Lesk, Lin, Resnik
    from longform.critics.mauve.score import Mauve
    from longform.critics.neural_ranker.score import NeuralRanker
    from longform.critics.order_and_repetition.score import OrderAndRepetition
    from longform.critics.perplexity.score import Perplexity
    from longform.critics.repetition.score import DistinctGrams, Repetition
    from longform.critics.section_order.score import SectionOrder
    from longform.critics.topics.score import Topics
    from longform.critics.verifiability.score import SupportedPerGeneration, SupportedPerVerified

__all__ = [
    "BBScore",
    "BlockedEntityGrid",
    "CodeMixing",
    "Coreference",
    "DistinctGrams",
    "EntityGrid",
    "GridRanker",
    "HirstStOnge",
    "JiangConrath",
    "JointBridge",
    "LanguageDispersion",
    "LatentSemanticAnalysis",
    "Lesk",
    "Lin",
    "Mauve",
    "NeuralRanker",
    "OrderAndRepetition",
    "Perplexity",
    "ReleasedCoreference",
    "Repetition",
    "Resnik",
    "SectionOrder",
    "SharedNouns",
    "SupportedPerGeneration",
    "SupportedPerVerified",
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
