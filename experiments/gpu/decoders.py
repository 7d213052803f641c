"""massarelli2020 with a network that knows its pages: SmolLM2 reads all cities twenty times.

Then every decoder writes. The stages are those of the scale ``gpu_decoders``. The card trains and
writes; the texts are judged on a processor afterwards (``python -m experiments.gpu.finish``): the
fact checker is a small network beside an index of pages, and minutes of a card are dearer.
"""

from experiments.gpu.frame import READ_OPERATIONS, WEIGHT_BYTES
from experiments.gpu.scale_job import SMOLLM2_WEIGHTS, ScaleJob, Stage, smollm2_training

# Seconds of a step, in which every text of a batch gets a token; measured on one H200, alone.
STEP_SECONDS = 0.051
NEW_TOKENS = 256  # of a continuation (section 5)
PREFIX = 26  # tokens of a title and a first sentence, measured
BATCH = 100  # prefixes that are continued at once
CONTEXT, PASSES = 1_024, 20  # tokens of a training row, and passes over all rows
ROWS_OF_AN_UPDATE = 16
ROWS, TOKENS = 1_147, 982_454  # of all cities with SmolLM2's tokenizer, measured

TRAINING = smollm2_training(
    updates=ROWS * PASSES / ROWS_OF_AN_UPDATE,
    tokens=TOKENS * PASSES,
    padded=ROWS * PASSES * CONTEXT,
)


def writing(words: str, prefixes: int, steps: float, rows: float, beside: bool = False) -> Stage:
    """A stage of ``decode`` with its estimated cost.

    Args:
        words: the stage and its names.
        prefixes: how many prefixes are continued.
        steps: continuations that a batch writes one after another, all decoders and draws together.
        rows: hypotheses of a prefix, all decoders and draws together.
        beside: whether it shares the card with the stage before it.
    """
    batches = -(-prefixes // BATCH)  # rounded up
    tokens = prefixes * rows * (NEW_TOKENS + PREFIX)
    token_steps = batches * steps * NEW_TOKENS  # one after another; each reads all weights
    batch = f"{steps:.0f} continuations, {STEP_SECONDS * 1e3:.0f} ms a token (measured)"
    return Stage(
        words,
        operations=READ_OPERATIONS * SMOLLM2_WEIGHTS * tokens,
        moved=token_steps * WEIGHT_BYTES * SMOLLM2_WEIGHTS,
        minutes=token_steps * STEP_SECONDS / 60,
        because=f"{batches} batches of {batch}",
        beside=beside,
    )


# A draw of delayed beams takes the time of so many continuations: they go sentence by sentence, and
# a batch waits for its longest.
DELAYED = 2.5
# Three draws of top-k, top-p, min-p, typical; greedy, four beams, a contrastive search: one each.
TEST_STEPS = 4 * 3 + 6 + 3 * DELAYED
TEST_ROWS = 4 * 3 + 1 + 15 * 3 + 6 + 5 + 3 * 6
TEST = writing("decode facts test", prefixes=200, steps=TEST_STEPS, rows=TEST_ROWS)
# Three draws; greedy, five beams; four delayed beams.
SWEEP_STEPS = 3 + 6 + 4 * DELAYED
SWEEP_ROWS = 3 + 1 + 15 * 5 + 4 * 6
SWEEP = writing("decode facts sweep", prefixes=64, steps=SWEEP_STEPS, rows=SWEEP_ROWS, beside=True)

# What the tiny form overrides of the scale.
TINY_TRAINING = {"context": 64, "schedule": {"batch": 8, "epochs": 0.2, "validations": 1}}
TINY_CHECKER = {"size": 8, "schedule": {"epochs": 1, "validations": 1}}
TINY = {
    "decoding.training": TINY_TRAINING,
    "corpora_from_files.claims": {"statements": 20},
    "facts.sampling": {"new_tokens": 10},
    "facts.runs": {"test": {"documents": 2}, "sweep": {"documents": 2}},
    "facts.critics.verifiability.train": TINY_CHECKER,
}

JOB = ScaleJob(
    name="decoders",
    scale="gpu_decoders",
    tiny=TINY,
    stages=(
        Stage("corpus read"),
        Stage("corpus encyclopedia"),
        Stage("tokenizer decoding"),
        Stage("language_model decoding read smollm2", **TRAINING),
        TEST,
        SWEEP,
    ),
    afterwards=(
        "corpus encyclopedia",
        "corpus claims",
        "train facts verifiability",
        "read facts verifiability",
        "score facts verifiability",
    ),
    texts={
        "texts_test.tar.xz": "generations/facts/test",
        "texts_sweep.tar.xz": "generations/facts/sweep",
    },
)
