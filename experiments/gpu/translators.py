"""Translators of 65 million weights, word by word and all at once, on captions (Multi30k).

deng2022 Table 10 and Figure 7. The stages are those of the scale ``gpu_translators``. The card
trains and translates; a processor finds the languages afterwards. Scores may be committed, captions
and translations may not.
"""

from typing import Any

from experiments.gpu.frame import BRING, LEARN_OPERATIONS, READ_OPERATIONS, WEIGHT_BYTES, Part
from experiments.gpu.scale_job import ScaleJob, Stage, training_from_nothing

LAYERS, WIDTH, INNER, SUBWORDS, POSITIONS = 6, 512, 2_048, 40_000, 1_026
LENGTHS = 256  # classes of a translation's length
SEEDS, PASSES, BATCH = 3, 20, 512  # trainings, passes over the texts, pairs of an update
PAIRS, TEST_PAIRS = 72_108, 8_940  # of splits train and test, measured
# Tokens of one language of split train, and the same with padding in batches of 512, measured. Each
# language passes through its own half of the network, so that a token of both together meets every
# weight.
TOKENS, PADDED = 948_663, 2_403_758
LONGEST = 60  # tokens of the longest translation of a batch, assumed
# Seconds to fit subwords and number pairs, 30 on one shared core (measured), here on several, and
# to load and save, assumed.
START = 25
# Seconds in which a decoder's layer gives each text of a batch a token; as SmolLM2's on an H200.
STEP_OF_A_LAYER = 0.051 / 30


def weights_of(network: str) -> int:
    """Number of weights of a translator with the paper's vocabulary and tied embeddings."""
    attention = 4 * (WIDTH**2 + WIDTH)
    inner = 2 * WIDTH * INNER + INNER + WIDTH
    norm = 2 * WIDTH
    encoder = attention + inner + 2 * norm
    decoder = 2 * attention + inner + 3 * norm
    weights = LAYERS * (encoder + decoder) + SUBWORDS * WIDTH
    if network == "non_autoregressive":  # learnt positions of both sides, and the length
        weights += 2 * (POSITIONS + 2) * WIDTH + LENGTHS * WIDTH
    return weights


def training(network: str) -> Stage:
    """The stage that trains a translator ``SEEDS`` times, with its estimated cost."""
    weights = weights_of(network)
    updates = PAIRS * PASSES / BATCH
    cost = training_from_nothing(
        weights, layers=2 * LAYERS, updates=updates, tokens=PADDED * PASSES
    )
    cost["operations"] = LEARN_OPERATIONS * weights * TOKENS * PASSES  # padding left out
    for name in ("operations", "moved", "minutes"):
        cost[name] *= SEEDS
    cost["minutes"] += SEEDS * START / 60
    cost["because"] = f"{SEEDS} trainings of {cost['because']}, {START} s around each"
    return Stage(f"language_model languages languages {network}", **cost)


def translating(network: str) -> Stage:
    """The stage that translates split test by all trainings, with its estimated cost."""
    weights = weights_of(network)
    tokens = TOKENS * TEST_PAIRS / PAIRS
    batches = -(-TEST_PAIRS // BATCH)  # rounded up
    steps = batches * LONGEST if network == "autoregressive" else batches
    seconds = steps * LAYERS * STEP_OF_A_LAYER
    minutes = SEEDS * (seconds + START) / 60
    because = f"{SEEDS} times {steps} steps of {LAYERS} layers (measured with 30), {START} s around"
    operations = SEEDS * READ_OPERATIONS * weights * tokens
    moved = SEEDS * steps * WEIGHT_BYTES * weights
    words = f"generate languages languages {network}"
    return Stage(words, operations=operations, moved=moved, minutes=minutes, because=because)


# What the tiny form overrides of the scale.
TINY_SCHEDULE = {"batch": 16, "epochs": 1, "validations": 1, "precision": "32-true"}
TINY_SHAPE = {"layers": 1, "heads": 2, "width": 16, "inner": 32, "positions": 64}
TINY_NETWORK = {"schedule": TINY_SCHEDULE, "shape": TINY_SHAPE, "subwords": 300}
TINY: dict[str, Any] = {
    "models": {"autoregressive": TINY_NETWORK, "non_autoregressive": TINY_NETWORK},
    "languages": {"seeds": 1},
    "languages.critics.code_mixing.train": {"sweeps": 60, "burn_in": 20, "restarts": 1},
}

JOB = ScaleJob(
    name="translators",
    scale="gpu_translators",
    tiny=TINY,
    stages=(
        Stage("corpus languages"),
        training("autoregressive"),
        training("non_autoregressive"),
        translating("autoregressive"),
        translating("non_autoregressive"),
    ),
    afterwards=(
        "corpus languages",
        "train languages code_mixing",
        "read languages code_mixing",
        "score languages code_mixing",
    ),
    texts={"texts_languages.tar.xz": "generations/languages/languages"},
    brought=Part(
        BRING,
        operations=0,
        moved=2.5e6,
        minutes=0.3,
        because="captions, code and wheels in the call that runs the job",
    ),
    weights=False,
)
