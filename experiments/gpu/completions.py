"""sheng2024 Tables 4 and 5 on all cities: SmolLM2 completes every section by four decoders.

The stages are those of the scale ``gpu_completions``. The card writes; BBScore and the entity grid
are learnt and read on a processor afterwards, over MiniLM.
"""

from typing import Any

from experiments.gpu.decoders import STEP
from experiments.gpu.frame import READ_OPERATIONS, WEIGHT_BYTES
from experiments.gpu.scale_job import SMOLLM2_WEIGHTS, ScaleJob, Stage

SOURCES = 4  # decoders
# Of the 2,059 sections of 658 cities that have more than two sentences, with SmolLM2's tokenizer:
# tokens of the openings, tokens that are written, and steps in which batches of 256, shortest
# first, get them; measured.
OPENINGS, WRITTEN, STEPS = 120_715, 581_894, 6_082


def writing() -> Stage:
    """The completions of all sections by every decoder, one decoder after another."""
    operations = SOURCES * READ_OPERATIONS * SMOLLM2_WEIGHTS * (OPENINGS + WRITTEN)
    moved = SOURCES * STEPS * WEIGHT_BYTES * SMOLLM2_WEIGHTS
    minutes = SOURCES * STEPS * STEP / 60
    because = f"{SOURCES} times {STEPS} steps of {STEP * 1e3:.0f} ms (measured)"
    return Stage("complete sources completions", operations, moved, minutes, because)


# What the tiny form overrides of the scale.
TINY_MODEL = "models/articles/wiki/smollm2_pretrained/without_titles/seed_1"  # MiniLM's stand-in
TINY: dict[str, Any] = {
    "articles.models": ["smollm2_pretrained"],
    "sources.larger": {"documents": {"train": 6, "validation": 2, "test": 4}, "batch": 8},
    "sources.smaller": {"documents": {"train": 6, "validation": 2, "test": 4}, "batch": 8},
    "sources.critics.bbscore.train": {
        "base": TINY_MODEL,
        "schedule": {"epochs": 1},
    },
}

JOB = ScaleJob(
    name="completions",
    scale="gpu_completions",
    tiny=TINY,
    stages=(
        Stage("corpus wiki"),
        Stage("tokenizer articles", minutes=0.4),
        Stage("language_model articles wiki smollm2_pretrained"),
        writing(),
    ),
    afterwards=(
        "corpus wiki",
        "tokenizer articles",
        "language_model articles wiki smollm2_pretrained",
        "language_model articles wiki minilm",
        "train sources bbscore",
        "read sources bbscore",
        "score sources bbscore",
        "read sources entity_grid",
        "score sources entity_grid",
    ),
    texts={"texts_completions.tar.xz": "corpora/sources"},
    not_tiny=("minilm",),
)
