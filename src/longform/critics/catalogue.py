"""Every critic that works on plain texts, by name: what it asks, needs and costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longform.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from longform.critics.base import TextCritic

# measured: benchmarks/critic_costs.py
FAST = "1,000 texts of 300 words in under 10 s on one core"
MIXED = "1,000 texts of 300 words in under 20 s on one core"
OF_PAIRS = "a search of the net for each pair of nouns; not measured"


@dataclass(frozen=True)
class Entry:
    """One critic.

    Attributes:
        class_name: of its class.
        load_class: gives the class, and imports its module when it is called.
        asks: the question, as a person would put it.
        source: paper and section.
        needs: what must be at hand beside the critic.
        costs: how long it takes.
        fewest_real: real texts that must teach it, where ``needs`` states a number of them; else 0.
    """

    class_name: str
    load_class: "Callable[[], type[TextCritic]]"
    asks: str
    source: str
    needs: str = "nothing but texts"
    costs: str = FAST
    fewest_real: int = 0


def _entity_grid() -> "type[TextCritic]":
    from longform.critics.entity_grid.score import EntityGrid

    return EntityGrid


def _entity_grid_in_blocks() -> "type[TextCritic]":
    from longform.critics.entity_grid.blocks import BlockedEntityGrid

    return BlockedEntityGrid


def _grid_ranker() -> "type[TextCritic]":
    from longform.critics.entity_grid.score import GridRanker

    return GridRanker


def _section_order() -> "type[TextCritic]":
    from longform.critics.section_order.score import SectionOrder

    return SectionOrder


def _repetition() -> "type[TextCritic]":
    from longform.critics.repetition.score import Repetition

    return Repetition


def _distinct_grams() -> "type[TextCritic]":
    from longform.critics.repetition.score import DistinctGrams

    return DistinctGrams


def _coreference() -> "type[TextCritic]":
    from longform.critics.coreference.score import Coreference

    return Coreference


def _coreference_as_released() -> "type[TextCritic]":
    from longform.critics.coreference.score import ReleasedCoreference

    return ReleasedCoreference


def _shared_nouns() -> "type[TextCritic]":
    from longform.critics.lexical.score import SharedNouns

    return SharedNouns


def _latent_semantic_analysis() -> "type[TextCritic]":
    from longform.critics.lexical.score import LatentSemanticAnalysis

    return LatentSemanticAnalysis


def _hirst_st_onge() -> "type[TextCritic]":
    from longform.critics.lexical.wordnet import HirstStOnge

    return HirstStOnge


def _lesk() -> "type[TextCritic]":
    from longform.critics.lexical.wordnet import Lesk

    return Lesk


def _resnik() -> "type[TextCritic]":
    from longform.critics.lexical.wordnet import Resnik

    return Resnik


def _lin() -> "type[TextCritic]":
    from longform.critics.lexical.wordnet import Lin

    return Lin


def _jiang_conrath() -> "type[TextCritic]":
    from longform.critics.lexical.wordnet import JiangConrath

    return JiangConrath


def _topics() -> "type[TextCritic]":
    from longform.critics.topics.score import Topics

    return Topics


def _mauve() -> "type[TextCritic]":
    from longform.critics.mauve.score import Mauve

    return Mauve


def _perplexity() -> "type[TextCritic]":
    from longform.critics.perplexity.score import Perplexity

    return Perplexity


def _order_and_repetition() -> "type[TextCritic]":
    from longform.critics.order_and_repetition.score import OrderAndRepetition

    return OrderAndRepetition


def _code_mixing() -> "type[TextCritic]":
    from longform.critics.code_mixing.score import CodeMixing

    return CodeMixing


def _language_dispersion() -> "type[TextCritic]":
    from longform.critics.code_mixing.score import LanguageDispersion

    return LanguageDispersion


def _bbscore() -> "type[TextCritic]":
    from longform.critics.bbscore.score import BBScore

    return BBScore


def _joint_bridge() -> "type[TextCritic]":
    from longform.critics.bbscore.score import JointBridge

    return JointBridge


def _neural_ranker() -> "type[TextCritic]":
    from longform.critics.neural_ranker.score import NeuralRanker

    return NeuralRanker


def _supported_per_generation() -> "type[TextCritic]":
    from longform.critics.verifiability.score import SupportedPerGeneration

    return SupportedPerGeneration


def _supported_per_verified() -> "type[TextCritic]":
    from longform.critics.verifiability.score import SupportedPerVerified

    return SupportedPerVerified


CATALOGUE: Mapping[str, Entry] = {
    "entity_grid": Entry(
        "EntityGrid",
        _entity_grid,
        "Do entities move between subject, object and other places as in real text?",
        "lapata2005 section 3.1",
        needs="texts with nouns",
    ),
    "entity_grid_in_blocks": Entry(
        "BlockedEntityGrid",
        _entity_grid_in_blocks,
        "The same within four sentences, so that texts of different lengths compare?",
        "lapata2005 section 3.1; blocks are ours",
        needs="texts of four sentences or more with nouns",
    ),
    "grid_ranker": Entry(
        "GridRanker",
        _grid_ranker,
        "Are a text's transitions of roles those of real texts or of their shuffles?",
        "lapata2005 section 4; Barzilay and Lapata 2008",
        needs="texts with nouns",
    ),
    "section_order": Entry(
        "SectionOrder",
        _section_order,
        "Do sections follow one another as in real text?",
        "deng2022 section 4",
        needs="documents whose sections have titles",
        costs=f"{FAST}; with a title classifier (reader=FOLDER) as that reads",
    ),
    "repetition": Entry(
        "Repetition",
        _repetition,
        "What share of a text's word 4-grams was said before in it?",
        "massarelli2020 section 5",
        needs="texts of four words or more",
    ),
    "distinct_grams": Entry(
        "DistinctGrams",
        _distinct_grams,
        "How many different word 4-grams has a text?",
        "massarelli2020 section 5",
        needs="texts",
    ),
    "coreference": Entry(
        "Coreference",
        _coreference,
        "Are persons named and referred to as in real text?",
        "deng2022 section 5",
        needs="English texts in which persons are named",
    ),
    "coreference_as_released": Entry(
        "ReleasedCoreference",
        _coreference_as_released,
        "The same, smoothed as in the authors' program?",
        "deng2022 section 5",
        needs="English texts in which persons are named",
    ),
    "shared_nouns": Entry(
        "SharedNouns",
        _shared_nouns,
        "How many nouns do neighbouring sentences share?",
        "lapata2005 section 3.2",
        needs="texts of two sentences with nouns",
    ),
    "latent_semantic_analysis": Entry(
        "LatentSemanticAnalysis",
        _latent_semantic_analysis,
        "How related are the nouns of neighbouring sentences, "
        "by what they occur with in real text?",
        "lapata2005 section 3.2",
        needs="texts of two sentences with nouns; some hundred real texts",
        fewest_real=100,
    ),
    "hirst_st_onge": Entry(
        "HirstStOnge",
        _hirst_st_onge,
        "How related are neighbouring sentences' nouns, by paths in a word net?",
        "lapata2005 section 3.2",
        needs="the folder of a word net (lexicon=FOLDER)",
        costs=OF_PAIRS,
    ),
    "lesk": Entry(
        "Lesk",
        _lesk,
        "How related are neighbouring sentences' nouns, by words that definitions share?",
        "lapata2005 section 3.2",
        needs="the folder of a word net (lexicon=FOLDER)",
        costs=OF_PAIRS,
    ),
    "resnik": Entry(
        "Resnik",
        _resnik,
        "How related are neighbouring sentences' nouns, by the concepts above both?",
        "lapata2005 section 3.2",
        needs="the folder of a word net (lexicon=FOLDER)",
        costs=OF_PAIRS,
    ),
    "lin": Entry(
        "Lin",
        _lin,
        "As resnik, relative to how specific both nouns are?",
        "lapata2005 section 3.2",
        needs="the folder of a word net (lexicon=FOLDER)",
        costs=OF_PAIRS,
    ),
    "jiang_conrath": Entry(
        "JiangConrath",
        _jiang_conrath,
        "How far apart are neighbouring sentences' nouns in a word net?",
        "lapata2005 section 3.2",
        needs="the folder of a word net (lexicon=FOLDER)",
        costs=OF_PAIRS,
    ),
    "topics": Entry(
        "Topics",
        _topics,
        "Do topics go together as in real text?",
        "deng2022 section 6",
        needs="twelve real texts or more that share words",
        fewest_real=12,
    ),
    "mauve": Entry(
        "Mauve",
        _mauve,
        "Are the texts spread over a model's features as real texts are?",
        "deng2022 Table 4; Pillutla et al. 2021",
        needs="the folder of a language model (model=FOLDER), torch, faiss",
        costs="as the model reads",
    ),
    "perplexity": Entry(
        "Perplexity",
        _perplexity,
        "How surprising are a text's tokens to a language model?",
        "deng2022 section 4",
        needs="the folder of a causal language model, and pip install 'longform[models]'",
        costs="as the model reads: SmolLM2 270 words a second on one core",
    ),
    "order_and_repetition": Entry(
        "OrderAndRepetition",
        _order_and_repetition,
        "Is a text likelier than its shuffles, without a very surprising sentence or repetition?",
        "ours on five rated sets",
        needs="the folder of a causal language model, and pip install 'longform[models]'; "
        "ten real texts",
        fewest_real=10,
        costs="as the model reads each text and three shuffles of it: SmolLM2 40 words a second "
        "on one core",
    ),
    "code_mixing": Entry(
        "CodeMixing",
        _code_mixing,
        "Do sentences mix languages as real ones do?",
        "deng2022 appendix C",
        needs="pip install 'longform[study]' (tomotopy)",
        costs=MIXED,
    ),
    "language_dispersion": Entry(
        "LanguageDispersion",
        _language_dispersion,
        "How many languages does a sentence mix?",
        "deng2022 appendix C",
        needs="pip install 'longform[study]' (tomotopy)",
        costs=MIXED,
    ),
    "bbscore": Entry(
        "BBScore",
        _bbscore,
        "Do a text's sentences move from its first to its last as in real text?",
        "sheng2024 section 3",
        needs="the folder of a sentence encoder, and pip install 'longform[models]'",
        costs="as the encoder reads, and the training of a head",
    ),
    "joint_bridge": Entry(
        "JointBridge",
        _joint_bridge,
        "Do sentences jump from one to the next as in real text?",
        "ours after sheng2024 section 3",
        needs="the folder of a sentence encoder, and pip install 'longform[models]'",
        costs="as the encoder reads, and the training of a head",
    ),
    "neural_ranker": Entry(
        "NeuralRanker",
        _neural_ranker,
        "Does a network trained on shuffles hold a text for an original?",
        "sheng2024 section 5.1",
        needs="the folder of an encoder or of a trained ranker, and pip install 'longform[models]'",
        costs="as the encoder reads, and the training of a ranker",
    ),
    "supported_per_generation": Entry(
        "SupportedPerGeneration",
        _supported_per_generation,
        "How much of a text's first sentences does an encyclopedia support?",
        "massarelli2020 section 3",
        needs="the folder of a fact checker that the pipeline trained",
        costs="as the checker reads",
    ),
    "supported_per_verified": Entry(
        "SupportedPerVerified",
        _supported_per_verified,
        "How much of what can be verified does an encyclopedia support?",
        "massarelli2020 section 3",
        needs="the folder of a fact checker that the pipeline trained",
        costs="as the checker reads",
    ),
}
CLASSES: Mapping[str, Entry] = {entry.class_name: entry for entry in CATALOGUE.values()}


def load(name: str | Path, **settings: Any) -> "TextCritic":
    """A critic by name with its settings, or a fitted one from the file that its ``save`` wrote.

    Args:
        name: a key of :data:`CATALOGUE`, or a Path (or a text that ends in ``.npz``).
        settings: of the critic's class, where it is loaded by name.

    Raises:
        ConfigError: no critic has this name, or it has no such setting.
        ArtefactError: no such file, or no critic in it.
    """
    if isinstance(name, Path) or name.endswith(".npz"):
        from longform.critics.saving import load_critic

        return load_critic(Path(name))
    if name not in CATALOGUE:
        raise ConfigError(
            f"no critic is called {name!r}{did_you_mean(name, CATALOGUE)}; "
            "`longform critics` lists them all"
        )
    critic_class = CATALOGUE[name].load_class()
    allowed = settings_of(critic_class)
    for setting in settings:
        if setting not in allowed:
            raise ConfigError(
                f"critic {name} has no setting {setting!r}{did_you_mean(setting, allowed)}; "
                f"allowed are {allowed}"
            )
    return critic_class(**settings)


def settings_of(critic_class: "type[TextCritic]") -> list[str]:
    """Names of a critic's settings: its fields that are not learnt."""
    names = []
    for field in fields(critic_class):  # type: ignore[arg-type]
        if not field.metadata.get("fitted"):
            names.append(field.name)
    return names


def listing() -> str:
    """All critics, a paragraph each, for the command line."""
    paragraphs = []
    for name, entry in CATALOGUE.items():
        paragraphs.append(
            f"{name}  ({entry.class_name}; {entry.source})\n"
            f"    asks   {entry.asks}\n"
            f"    needs  {entry.needs}\n"
            f"    costs  {entry.costs}"
        )
    return "\n\n".join(paragraphs)
