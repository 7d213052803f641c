"""Sizes of networks: GPT-2's shape with 1.1 to 99.2 million weights, from nothing, on proposals.

deng2022 Tables 5 and 8, and what beyer2021's suites make of size. The stages are those of the scale
``gpu_ladder``. The card trains, reads word PPL and the suites, and writes. Section titles and
mentions are read on a processor afterwards.
"""

from dataclasses import replace
from typing import Any

from experiments.gpu.cities_and_peps import PROCESSES, STEP
from experiments.gpu.cities_and_peps import TINY_CRITIC as TINY_TITLE_CRITIC
from experiments.gpu.frame import BRING, READ_OPERATIONS, WEIGHT_BYTES, Part
from experiments.gpu.scale_job import TINY_SAMPLING, ScaleJob, Stage, training_from_nothing

# Layers and width by model, as the scale has them; the largest is trained first.
SIZES = {"gpt2_xl": (13, 768), "gpt2_large": (6, 512), "gpt2_medium": (3, 256), "gpt2": (2, 96)}
VOCABULARY = 8_192
SEEDS, TITLES = 3, ("with_titles", "without_titles")
SYSTEMS = SEEDS * len(TITLES)  # trained networks of a size
PASSES, BATCH, CONTEXT = 4, 16, 1_024  # over the texts; rows of an update, tokens of a row
TOKENS = 2_904 * CONTEXT  # of split train with titles, measured
TEST_TOKENS = 283_765  # of split test, measured
# Of the suites' 3,480 pairs, common beginnings counted once; estimated from the time that a
# processor takes for the suites and for the test texts, 139 and 158 s.
SUITE_TOKENS = 250_000
# Seconds before a training's first update: 14 for its tokens (measured on one shared core), the
# rest to load and save, assumed.
START = 20
SHARED = 1.3  # times as long by which three sizes are trained side by side; assumed
ARTICLES, LONGEST = 100, 1_024  # articles of a system, tokens of the longest
REDRAWN = 2  # draws of an article, at most
STEP_OF_A_LAYER = STEP / 30  # SmolLM2 has 30 layers; six processes at once
READ_A_SECOND = 69_000  # tokens; measured on one H100 with SmolLM2, pairs of sentences
LOAD = 3  # seconds to load a network, assumed


def weights_of(layers: int, width: int) -> int:
    """Number of weights of a GPT-2: layers, last norm, embeddings of tokens and positions."""
    layer = 12 * width**2 + 13 * width
    return layers * layer + 2 * width + (VOCABULARY + CONTEXT) * width


def training(model: str, beside: bool = False) -> Stage:
    """The stage that trains the ``SYSTEMS`` networks of a size, with its estimated cost."""
    layers, width = SIZES[model]
    weights = weights_of(layers, width)
    tokens = TOKENS * PASSES
    updates = tokens / CONTEXT / BATCH
    cost = training_from_nothing(weights, layers=layers, updates=updates, tokens=tokens)
    for name in ("operations", "moved", "minutes"):
        cost[name] *= SYSTEMS
    cost["minutes"] += SYSTEMS * START / 60
    cost["because"] = f"{SYSTEMS} trainings of {cost['because']}, {START} s before each"
    return Stage(f"language_model articles proposals {model}", beside=beside, **cost)


def small_trainings() -> tuple[Stage, ...]:
    """The stages that train the three smaller sizes side by side, since each waits for its host.

    The largest of the three decides when all are finished: the others count no minutes.
    """
    large, *smaller = [training(model) for model in list(SIZES)[1:]]
    minutes = large.minutes * SHARED
    stages = [replace(large, minutes=minutes, because=f"{large.because}; {SHARED} times as long")]
    for stage in smaller:
        because = f"{stage.because}; beside the one before"
        # A group's minutes are summed, so that those of the others are next to none.
        stages.append(replace(stage, minutes=0.1, because=because, beside=True))
    return tuple(stages)


def reading(words: str, tokens: float, beside: bool = False) -> Stage:
    """The stage that reads ``tokens`` tokens by every network, with its estimated cost."""
    operations, minutes = 0.0, 0.0
    for layers, width in SIZES.values():
        operations += SYSTEMS * READ_OPERATIONS * weights_of(layers, width) * tokens
        minutes += SYSTEMS * (LOAD + tokens / READ_A_SECOND) / 60
    because = f"{tokens:.2g} tokens by {SYSTEMS * len(SIZES)} networks, {LOAD} s to load each"
    because += f" (assumed) and {READ_A_SECOND:,} tokens a second (measured with SmolLM2)"
    if beside:
        minutes, because = 0.1, f"{because}; beside the one before"
    return Stage(words, operations=operations, minutes=minutes, because=because, beside=beside)


def writing() -> tuple[Stage, ...]:
    """The stages that write every system's articles, six at a time, seed after seed."""
    stages: list[Stage] = []
    deepest = max(layers for layers, _ in SIZES.values())
    for seed in range(1, SEEDS + 1):
        for model, (layers, width) in SIZES.items():
            weights = weights_of(layers, width)
            for titles in TITLES:
                words = f"generate articles proposals {model} --only {model}-{titles}-seed_{seed}"
                steps = LONGEST * REDRAWN  # at most
                operations = READ_OPERATIONS * weights * ARTICLES * LONGEST
                moved = steps * WEIGHT_BYTES * weights
                # The deepest network of those that share the card decides.
                step_seconds = deepest * STEP_OF_A_LAYER
                milliseconds = step_seconds * 1e3
                because = f"a share of {steps} steps of {milliseconds:.0f} ms, six at once"
                stage = Stage(
                    words,
                    operations=operations,
                    moved=moved,
                    minutes=steps * step_seconds / 60 / PROCESSES,
                    because=f"{because} (measured with 30 layers)",
                    beside=len(stages) % PROCESSES > 0,
                )
                stages.append(stage)
    return tuple(stages)


# What the tiny form overrides of the scale.
TINY: dict[str, Any] = {
    "corpora_from_files.proposals": {
        "filters": {"min_sections": 2, "min_title_count": 2},
        "shares": {"train": 0.6, "validation": 0.15, "test": 0.25},
    },
    "without": {
        "corpora_from_files.suites.sources": ["re_mentions", "suites"],
        # After so few updates no text has titles.
        "articles.critics.section_order.scores.metrics": ["latent_ppl_written"],
    },
    "corpora_from_files.suites.least": 1,
    "models": {"gpt2_xl": {"n_layer": 2, "n_head": 2, "n_embd": 32}},
    "articles.models": ["gpt2", "gpt2_xl"],
    "articles.seeds": 1,
    "articles.titles": ["without"],
    "articles.tokenizer": {"vocab_size": 400},
    "articles.training": {
        "context": 64,
        "validation_documents": 2,
        "schedule": {"batch": 8, "epochs": 0.2, "validations": 1},
    },
    "articles.sampling": TINY_SAMPLING,
    "articles.critics.perplexity.predictions": {"log_probs": {"window": 64}},
    "articles.critics.section_order.train": TINY_TITLE_CRITIC,
    "articles.critics.section_order.predictions": {"titles": {"max_length": 32}},
}

JOB = ScaleJob(
    name="ladder",
    scale="gpu_ladder",
    tiny=TINY,
    stages=(
        Stage("corpus proposals", minutes=0.5),
        Stage("corpus suites"),
        Stage("tokenizer articles", minutes=0.4),
        training("gpt2_xl"),
        *small_trainings(),
        reading("read articles perplexity", TEST_TOKENS),
        reading("read articles surprisal", SUITE_TOKENS, beside=True),
        Stage("score articles perplexity"),
        Stage("score articles surprisal"),
        *writing(),
    ),
    afterwards=(
        "corpus proposals",
        "tokenizer articles",
        "train articles section_order",
        "read articles section_order",
        "score articles section_order",
        "read articles coreference",
        "score articles coreference",
    ),
    texts={"texts_proposals.tar.xz": "generations/articles/proposals"},
    brought=Part(
        BRING,
        operations=0,
        moved=12.4e6,
        minutes=0.3,
        because="texts, code and wheels in the call that runs the job",
    ),
    weights=False,
    not_tiny=("gpt2_medium", "gpt2_large", "with_titles", "seed_2", "seed_3"),
)
