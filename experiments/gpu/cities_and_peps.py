"""deng2022 on two domains of real text: SmolLM2 finetuned on cities and PEPs, three times each.

With and without titles. The stages are those of the scale ``gpu_domains``. The card trains, reads
word PPL and writes. Sections, mentions and topics are read on a processor afterwards: MiniLM would
be 90 MB more to bring, and reads 1,200 articles in minutes.
"""

from typing import Any

from experiments.gpu.frame import READ_OPERATIONS, WEIGHT_BYTES
from experiments.gpu.scale_job import (
    SMOLLM2_WEIGHTS,
    TINY_SAMPLING,
    ScaleJob,
    Stage,
    smollm2_training,
)

SYSTEMS = 6  # networks of a corpus: with and without titles, three trainings each
CONTEXT, PASSES, BATCH = 2_048, 3, 8  # tokens of a row, passes over the texts, rows of an update
ARTICLES = 100  # that a system writes
AT_ONCE = 80  # articles that a process writes at once
PROCESSES = 6  # that share the card
# Seconds in which each of six processes gets a token for each of its rows, in float32; measured on
# one H200 beside two more processes.
STEP = 0.114
TAIL = 1_500  # steps in which the last articles of a system end, assumed
READ = 286  # seconds to read the test texts by all networks; measured on one H200 beside two more
START = 15  # seconds to load, save and validate a network, assumed
# Rows of 2,048 tokens and tokens of the split for training, tokens of test texts, measured with
# SmolLM2's tokenizer; tokens of an article that a network writes, assumed to be as long as a real
# one.
CITIES = {"rows": 429, "tokens": 450_243, "test": 181_853, "article": 1_140}
PEPS = {"rows": 314, "tokens": 332_188, "test": 135_491, "article": 1_378}


def training(corpus: str, size: dict[str, int], beside: bool = False) -> Stage:
    """The stage of all trainings on a corpus, with its estimated cost."""
    rows = size["rows"] * PASSES * SYSTEMS
    tokens = size["tokens"] * PASSES * SYSTEMS
    cost = smollm2_training(updates=rows / BATCH, tokens=tokens, padded=rows * CONTEXT)
    cost["minutes"] += SYSTEMS * START / 60
    cost["because"] += f", and {START} s to load and save each of {SYSTEMS}"
    return Stage(f"language_model articles {corpus} smollm2", beside=beside, **cost)


def writing() -> tuple[Stage, ...]:
    """The stages that write every system's articles, six systems at a time, seed after seed."""
    stages: list[Stage] = []
    for seed in range(1, 4):
        for corpus, size in (("wiki", CITIES), ("peps", PEPS)):
            for titles in ("with_titles", "without_titles"):
                words = f"generate articles {corpus} smollm2 --only smollm2-{titles}-seed_{seed}"
                beside = len(stages) % PROCESSES > 0
                stages.append(writing_of_a_system(words, size["article"], beside))
    return tuple(stages)


def writing_of_a_system(words: str, tokens_of_an_article: int, beside: bool) -> Stage:
    """The stage that writes one system's articles, whose process shares the card with others."""
    tokens = ARTICLES * tokens_of_an_article
    steps = tokens / AT_ONCE + TAIL
    operations = READ_OPERATIONS * SMOLLM2_WEIGHTS * tokens
    moved = steps * WEIGHT_BYTES * SMOLLM2_WEIGHTS
    minutes = steps * STEP / 60 / PROCESSES
    because = f"a share of {steps:.0f} steps of {STEP * 1e3:.0f} ms (measured), six at once"
    return Stage(
        words,
        operations=operations,
        moved=moved,
        minutes=minutes,
        because=because,
        beside=beside,
    )


def reading() -> Stage:
    """The stage that reads the test texts by all networks of both corpora, for word PPL."""
    tokens = SYSTEMS * (CITIES["test"] + PEPS["test"])
    return Stage(
        "read articles perplexity",
        operations=READ_OPERATIONS * SMOLLM2_WEIGHTS * tokens,
        minutes=READ / 60,
        because=f"{tokens:.2g} tokens took {READ} s beside two more processes (measured)",
    )


# What the tiny form overrides of the scale.
TINY_FILES = {"filters": {"min_sections": 2, "min_title_count": 2, "min_tokens": 1}}
TINY_TRAINING = {
    "context": 64,
    "validation_documents": 2,
    "schedule": {"batch": 8, "epochs": 0.1, "validations": 1},
}
TINY_CRITIC = {
    "schedule": {"epochs": 1, "validations": 1},
    "max_length": 32,
    "base": None,
    "shape": {
        "model_type": "bert",
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
    },
}
TINY_LOG_PROBS = {"log_probs": {"window": 64}, "recent": {"window": 64}}
TINY_TITLES = {"titles": {"max_length": 32}, "recent": {"max_length": 32}}
TINY: dict[str, Any] = {
    "corpora_from_files": {"peps": TINY_FILES, "peps_recent": TINY_FILES},
    "articles.seeds": 1,
    # After so few updates no text has titles.
    "articles.titles": ["without"],
    "without": {"articles.critics.section_order.scores.metrics": ["latent_ppl_written"]},
    "articles.training": TINY_TRAINING,
    "articles.sampling": TINY_SAMPLING,
    "articles.critics.perplexity.predictions": TINY_LOG_PROBS,
    "articles.critics.section_order.train": TINY_CRITIC,
    "articles.critics.section_order.predictions": TINY_TITLES,
}

JOB = ScaleJob(
    name="cities_and_peps",
    scale="gpu_domains",
    tiny=TINY,
    stages=(
        Stage("corpus wiki"),
        Stage("corpus peps"),
        Stage("corpus peps_recent"),
        Stage("tokenizer articles"),
        training("wiki", CITIES),
        training("peps", PEPS, beside=True),
        reading(),
        Stage("score articles perplexity"),
        *writing(),
    ),
    afterwards=(
        "corpus wiki",
        "corpus peps",
        "corpus peps_recent",
        "tokenizer articles",
        "train articles section_order",
        "read articles section_order",
        "score articles section_order",
    ),
    texts={
        "texts_cities.tar.xz": "generations/articles/wiki",
        "texts_peps.tar.xz": "generations/articles/peps",
    },
    not_tiny=("smollm2-with_titles", "seed_2", "seed_3"),
)
