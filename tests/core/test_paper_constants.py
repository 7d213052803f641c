"""Constants and defaults that carry a number of a paper or of its released code, against the printed number."""

import importlib
import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

# place (module:name, or module:callable(parameter)), the printed number, where it is printed
PRINTED = [
    # deng2022: model criticism in latent space
    ("statistics.markov_chain:FAILURE_PROBABILITY", 0.01, "Table 12"),
    ("experiments.deng2022.report.transitions:RED", 0.05, "Figure 4"),
    ("experiments.deng2022.report.transitions:TOP_TITLES", 20, "Figure 4"),
    ("experiments.deng2022.report.transitions:TOP_ERRORS", 5, "Table 12"),
    ("critics.coreference.attribution:RARE_LOG_PROBABILITY", -7.0, "Table 15"),
    ("critics.coreference.attribution:MIN_COUNT", 5, "Tables 16 and 17"),
    ("critics.coreference.attribution:RATIOS", 5, "Tables 16 and 17"),
    ("critics.coreference.attribution:ARTICLES", 4, "Figures 10 to 13"),
    ("critics.coreference.score:UNSEEN_PROBABILITY", 1e-20, "released code"),
    ("critics.code_mixing.read:BETA", 0.01, "appendix C"),
    ("critics.code_mixing.read:ALPHA_SUM", 1.0, "appendix C"),
    ("critics.code_mixing.mixture:TOP_WORDS", 20, "Table 10"),
    ("critics.code_mixing.read:fit(languages)", 3, "appendix C"),
    ("critics.code_mixing.read:fit(sweeps)", 1000, "MALLET 2.0.8"),
    ("critics.code_mixing.read:fit(burn_in)", 200, "MALLET 2.0.8"),
    ("critics.code_mixing.read:fit(optimise_every)", 100, "appendix C"),
    ("critics.code_mixing.read:SWEEPS", 100, "MALLET 2.0.8"),
    ("critics.code_mixing.read:BURN_IN", 10, "MALLET 2.0.8"),
    ("critics.code_mixing.read:INTERVAL", 10, "MALLET 2.0.8"),
    ("critics.topics.model:TopicSettings(em_iterations)", 1000, "authors' program"),
    ("critics.topics.model:TopicSettings(rounds)", 20, "authors' program"),
    ("critics.topics.model:TopicSettings(em_tolerance)", 1e-3, "authors' program"),
    ("critics.topics.model:TopicSettings(tolerance)", 1e-6, "authors' program"),
    ("critics.topics.train:SEED_SMOOTHING", 1.0, "authors' program"),
    ("critics.topics.train:RELEASED_SEED", 1115574245, "authors' program"),
    ("critics.topics.train:MORE_ROUNDS", 10, "authors' program"),
    ("critics.topics.train:WIDEST", 10.0, "authors' program"),
    ("hsmm.model:build_ngrams(max_ngrams)", 250_000, "section 5.1"),
    ("hsmm.model:RESERVED_ROWS", 2, "released code"),
    ("hsmm.gradient:GradientSettings(num_states)", 800, "section 5.1"),
    ("hsmm.gradient:GradientSettings(pretraining_epochs)", 1, "released code"),
    ("hsmm.gradient:GradientSettings(pretraining_rate)", 0.1, "paper and released code"),
    ("hsmm.gradient:GradientSettings(epochs)", 10, "paper and released code"),
    ("hsmm.gradient:GradientSettings(rate)", 0.3, "paper and released code"),
    ("hsmm.gradient:GradientSettings(batch_size)", 8, "paper and released code"),
    ("datasets.scientific:PUBMED", {"min_sections": 3, "min_title_count": 500}, "section 4"),
    ("datasets.titles:Filters(min_sections)", 4, "section 4"),
    ("datasets.titles:Filters(max_tokens)", 2000, "section 4"),
    ("datasets.titles:Filters(min_tokens)", 30, "section 4"),
    ("datasets.titles:Filters(min_title_count)", 4000, "section 4"),
    ("datasets.text_files:PARALLEL_ENDS", [0.8, 0.9], "appendix C"),
    ("decoding.long_documents:generate(top_k)", 0, "section 4"),
    ("decoding.long_documents:generate(temperature)", 1.0, "section 4"),
    # sheng2024: BBScore
    ("text.permutations:SHUFFLES", 20, "section 4.1"),
    ("text.permutations:WINDOW", 3, "section 4.2"),
    ("text.permutations:LONGEST_WITHOUT_LOCAL", 10, "released code"),
    ("evaluation.order_discrimination:BLOCKS", (1, 2, 5, 10), "section 4.1"),
    ("evaluation.order_discrimination:WINDOWS", ((1, 2, 3), (1,), (2,), (3,)), "section 4.2"),
    ("evaluation.human_vs_machine:TOP", 2, "section 5.4"),
    ("critics.bbscore.bridge:WINDOWS", (0, 1, 2, 4, 8), "appendix D"),
    ("critics.bbscore.ranker:SLOPE", 0.01, "release"),
    ("critics.bbscore.ranker:MARGIN", 5.0, "release"),
    ("critics.bbscore.ranker:DROPOUT", 0.2, "release"),
    ("critics.bbscore.ranker:BATCH", 128, "release"),
    ("critics.bbscore.read:bridge_head(hidden)", 128, "appendix E"),
    ("critics.bbscore.read:bridge_head(latent)", 8, "appendix E"),
    ("critics.bbscore.train:EPS", 1e-6, "release"),
    ("critics.bbscore.train:MOMENTUM", 0.9, "appendix E"),
    ("critics.bbscore.train:MIN_SENTENCES", 5, "release"),
    ("critics.bbscore.train:fit(latent)", 8, "appendix E"),
    # massarelli2020: decoding and verifiability, and what its checker is made of
    ("critics.repetition.score:N", 4, "section 5"),
    ("critics.verifiability.score:SENTENCES", 5, "section 3"),
    ("critics.verifiability.reliability:PREFIXES", 200, "section 6"),
    ("critics.verifiability.checker:PAGES", 7, "Hanselowski et al. 2018, section 3.1"),
    ("critics.verifiability.checker:LINES", 5, "Thorne et al. 2018"),
    ("critics.verifiability.checker:K1", 1.2, "Lucene"),
    ("critics.verifiability.checker:B", 0.75, "Lucene"),
    ("datasets.fever:MOST_TOKENS", 50, "section 3"),
    ("decoding.continuations:NEW_TOKENS", 256, "section 5"),
    ("decoding.continuations:SEEDS", 3, "section 5"),
    # lapata2005 and the measures of its lexical coherence
    ("critics.entity_grid.score:TransitionFeatures(lengths)", (2, 3), "Barzilay and Lapata 2008"),
    ("critics.entity_grid.score:TransitionFeatures(salience)", 2, "Barzilay and Lapata 2008"),
    ("critics.lexical.score:LatentSemanticAnalysis(dims)", 100, "params.yaml: usual"),
    ("critics.lexical.wordnet:CONSTANT", 8.0, "Hirst and St-Onge 1998"),
    ("critics.lexical.wordnet:TURN", 1.0, "Hirst and St-Onge 1998"),
    ("critics.lexical.wordnet:HSO_LONGEST", 5, "Hirst and St-Onge 1998"),
    # others' work that a critic or a data set follows
    ("critics.mauve.score:SEEDS", (25, 26, 27, 28, 29), "25 in the published program"),
    ("critics.mauve.score:SCALE", 5.0, "Pillutla et al. 2021, section 4"),
    ("critics.mauve.score:MIXTURES", 25, "Pillutla et al. 2021, section 4"),
    ("critics.mauve.score:EDGE", 1e-6, "published program"),
    ("critics.mauve.score:KEPT_VARIANCE", 0.9, "Pillutla et al. 2021, section 4"),
    ("critics.mauve.score:SMOOTHING", 0.5, "Pillutla et al. 2023"),
    ("critics.mauve.read:MAX_TOKENS", 1024, "published program"),
    ("critics.neural_ranker.train:KERNEL", 5, "Moon et al. 2019"),
    (
        "statistics.splits:SHARES",
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        "Arnold et al. 2019, section 3",
    ),
    ("language_models.translation:LENGTHS", 256, "fairseq's nonautoregressive_transformer"),
    ("language_models.translation:LENGTH_WEIGHT", 0.1, "fairseq's nonautoregressive_transformer"),
    ("datasets.wikipedia.templates:NESTING", 40, "MediaWiki's $wgMaxTemplateDepth"),
]


def value_of(place):
    """The constant, or the default of a parameter or field, that a place names."""
    module, _, name = place.partition(":")
    name, _, parameter = name.rstrip(")").partition("(")
    value = getattr(
        importlib.import_module(
            module
            if module.startswith(("synthetic_world", "experiments"))
            else f"longform.{module}"
        ),
        name,
    )
    if not parameter:
        return value
    if is_dataclass(value):
        return {field.name: field.default for field in fields(value)}[parameter]
    return inspect.signature(value).parameters[parameter].default


@pytest.mark.parametrize(
    ("place", "printed", "source"), PRINTED, ids=[place for place, *_ in PRINTED]
)
def test_a_default_is_the_number_that_its_source_prints(place, printed, source):
    value = value_of(place)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    assert value == (pytest.approx(printed) if isinstance(printed, list) else printed), source
