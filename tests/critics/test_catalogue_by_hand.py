"""What the catalogue says of each critic: its class, its paper, what it needs and what it costs."""

import pytest

from longform.critics.catalogue import CATALOGUE, FAST, MIXED, OF_PAIRS, Entry

NOUNS, PAIRS = ["texts with nouns"], ["folder of a word net"]
ENGLISH, TOMOTOPY = ["English texts", "persons"], ["tomotopy"]
MODELS = ["longform[models]", "folder of"]
CHECKER = ["folder of a fact checker"]
# name: (class, where it is from, words of what it needs, what it costs)
CRITICS = {
    "entity_grid": ("EntityGrid", "lapata2005 section 3.1", NOUNS, FAST),
    "entity_grid_in_blocks": ("BlockedEntityGrid", "lapata2005 section 3.1", ["four sentences"], FAST),
    "grid_ranker": ("GridRanker", "lapata2005 section 4", NOUNS, FAST),
    "section_order": ("SectionOrder", "deng2022 section 4", ["titles"], FAST),
    "repetition": ("Repetition", "massarelli2020 section 5", ["four words"], FAST),
    "distinct_grams": ("DistinctGrams", "massarelli2020 section 5", ["texts"], FAST),
    "coreference": ("Coreference", "deng2022 section 5", ENGLISH, FAST),
    "coreference_as_released": ("ReleasedCoreference", "deng2022 section 5", ENGLISH, FAST),
    "shared_nouns": ("SharedNouns", "lapata2005 section 3.2", ["two sentences"], FAST),
    "latent_semantic_analysis": ("LatentSemanticAnalysis", "lapata2005 section 3.2", ["some hundred"], FAST),
    "hirst_st_onge": ("HirstStOnge", "lapata2005 section 3.2", PAIRS, OF_PAIRS),
    "lesk": ("Lesk", "lapata2005 section 3.2", PAIRS, OF_PAIRS),
    "resnik": ("Resnik", "lapata2005 section 3.2", PAIRS, OF_PAIRS),
    "lin": ("Lin", "lapata2005 section 3.2", PAIRS, OF_PAIRS),
    "jiang_conrath": ("JiangConrath", "lapata2005 section 3.2", PAIRS, OF_PAIRS),
    "topics": ("Topics", "deng2022 section 6", ["twelve"], FAST),
    "mauve": ("Mauve", "deng2022 Table 4", ["language model", "faiss"], "as the model reads"),
    "perplexity": ("Perplexity", "deng2022 section 4", MODELS, "as the model reads"),
    "order_and_repetition": ("OrderAndRepetition", "ours on five rated sets", [*MODELS, "ten real"], "three shuffles"),
    "code_mixing": ("CodeMixing", "deng2022 appendix C", TOMOTOPY, MIXED),
    "language_dispersion": ("LanguageDispersion", "deng2022 appendix C", TOMOTOPY, MIXED),
    "bbscore": ("BBScore", "sheng2024 section 3", MODELS, "training of a head"),
    "joint_bridge": ("JointBridge", "ours after sheng2024 section 3", MODELS, "training of a head"),
    "neural_ranker": ("NeuralRanker", "sheng2024 section 5.1", MODELS, "training of a ranker"),
    "supported_per_generation": ("SupportedPerGeneration", "massarelli2020 section 3", CHECKER, "as the checker"),
    "supported_per_verified": ("SupportedPerVerified", "massarelli2020 section 3", CHECKER, "as the checker"),
}  # fmt: skip


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_critic_says_what_it_asks_where_it_is_from_and_what_it_needs(name):
    entry = CATALOGUE[name]
    class_name, source, needs, costs = CRITICS[name]
    assert entry.class_name == class_name == entry.load_class().__name__
    assert entry.asks.endswith("?") and entry.asks[0].isupper()
    assert entry.source.startswith(source)
    assert all(words in entry.needs for words in needs) and entry.needs != Entry.needs
    assert costs in entry.costs
