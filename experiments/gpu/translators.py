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
SEEDS, PASSES, BATCH = 3, 20, 512
PAIRS, TEST_PAIRS = 72_108, 8_940  # of splits train and test, measured
# Tokens of a side of split train, and with padding in batches of 512, measured. A side meets its
# own half of the network alone, so a token of each together meet every weight.
TOKENS, PADDED = 948_663, 2_403_758
LONGEST = 60  # tokens of the longest translation of a batch, assumed
# Seconds to fit subwords and number pairs, 30 on one shared core (measured), here on several, and
# to load and save, assumed.
START = 25
# Seconds in which a layer of a decoder gives a batch a token; as SmolLM2's, alone on an H200.
STEP_OF_A_LAYER = 0.051 / 30


def weights_of(network: str) -> int:
    """Weights of a translator with the paper's vocabulary; its embedding is its output too."""
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
    """Three trainings of a translator."""
    weights = weights_of(network)
    updates = PAIRS * PASSES / BATCH
    cost = training_from_nothing(weights, 2 * LAYERS, updates, PADDED * PASSES)
    cost["operations"] = LEARN_OPERATIONS * weights * TOKENS * PASSES  # padding left out
    for name in ("operations", "moved", "minutes"):
        cost[name] *= SEEDS
    cost["minutes"] += SEEDS * START / 60
    cost["because"] = f"{SEEDS} trainings of {cost['because']}, {START} s around each"
    return Stage(f"language_model languages languages {network}", **cost)


def translating(network: str) -> Stage:
    """The translations of split test by three trainings."""
    weights = weights_of(network)
    tokens = TOKENS * TEST_PAIRS / PAIRS
    batches = -(-TEST_PAIRS // BATCH)
    steps = batches * LONGEST if network == "autoregressive" else batches
    seconds = steps * LAYERS * STEP_OF_A_LAYER
    minutes = SEEDS * (seconds + START) / 60
    because = f"{SEEDS} times {steps} steps of {LAYERS} layers (measured with 30), {START} s around"
    operations = SEEDS * READ_OPERATIONS * weights * tokens
    moved = SEEDS * steps * WEIGHT_BYTES * weights
    words = f"generate languages languages {network}"
    return Stage(words, operations, moved, minutes, because)


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
    brought=Part(BRING, 0, 2.5e6, 0.3, "captions, code and wheels in the call that runs the job"),
    weights=False,
)
