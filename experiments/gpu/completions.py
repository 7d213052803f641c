"""sheng2024 Tables 4 and 5 on all cities: SmolLM2 completes every section by four decoders.

The stages are those of the scale ``gpu_completions``. The card writes; BBScore and the entity grid
are learnt and read on a processor afterwards, over MiniLM.
"""

from typing import Any

from experiments.gpu.decoders import STEP_SECONDS
from experiments.gpu.frame import READ_OPERATIONS, WEIGHT_BYTES
from experiments.gpu.scale_job import SMOLLM2_WEIGHTS, ScaleJob, Stage

NUM_DECODERS = 4
# Measured on the 2,059 sections of 658 cities that have more than two sentences, with SmolLM2's
# tokenizer: the number of tokens in their openings, the number that a decoder writes, and the
# number of steps, in each of which every text of a batch gets a token. A batch has 256 sections,
# the shortest come first.
OPENING_TOKENS, WRITTEN_TOKENS, NUM_STEPS = 120_715, 581_894, 6_082


def writing() -> Stage:
    """The stage that completes all sections by every decoder in turn, with its estimated cost.

    Every token costs ``READ_OPERATIONS`` for each weight, every step reads all weights once.
    """
    tokens = NUM_DECODERS * (OPENING_TOKENS + WRITTEN_TOKENS)
    steps = NUM_DECODERS * NUM_STEPS
    milliseconds = STEP_SECONDS * 1e3
    return Stage(
        "complete sources completions",
        operations=READ_OPERATIONS * SMOLLM2_WEIGHTS * tokens,
        moved=steps * WEIGHT_BYTES * SMOLLM2_WEIGHTS,
        minutes=steps * STEP_SECONDS / 60,
        because=f"{NUM_DECODERS} times {NUM_STEPS} steps of {milliseconds:.0f} ms (measured)",
    )


# Parameters that the tiny form of the job, a rehearsal of minutes, changes in those of the scale.
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
    texts={"texts_completions.tar.xz": "corpora/sources"},  # archive: its folder below data/
    not_tiny=("minilm",),  # the tiny form reads with TINY_MODEL in place of MiniLM
)
