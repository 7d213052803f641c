"""massarelli2020 with a network that knows its pages: SmolLM2 reads all cities twenty times, then every decoder writes.

The stages are those of the scale ``gpu_decoders``. The card trains and writes; what the texts are worth is read on a processor
afterwards (``--finish``): the fact checker is a small network beside an index of pages, and minutes of a card are dearer.
"""

from experiments.gpu.frame import Call, Part
from experiments.gpu.scale_job import SMOLLM2_WEIGHTS, ScaleJob, Stage, smollm2_training

STEP = 0.05  # assumed: seconds in which a batch of rows gets a token, launched kernel by kernel
NEW_TOKENS, PREFIX = (
    256,
    26,
)  # of a continuation (section 5); of a title and a first sentence, measured
BATCH = 100
ROWS, TOKENS, CONTEXT, PASSES = (
    1_147,
    982_454,
    1_024,
    20,
)  # of the cities with SmolLM2's tokenizer, measured


TRAINING = smollm2_training(ROWS * PASSES / 16, TOKENS * PASSES, ROWS * PASSES * CONTEXT)


def writing(words: str, prefixes: int, steps: float, rows: float) -> Stage:
    """A stage of ``decode``.

    Args:
        prefixes: how many are continued.
        steps: tokens that a batch gets one after another, in continuations, all decoders and draws together.
        rows: hypotheses of a prefix, all decoders and draws together.
    """
    batches = -(-prefixes // BATCH)
    tokens = prefixes * rows * (NEW_TOKENS + PREFIX)
    operations = 2 * SMOLLM2_WEIGHTS * tokens
    moved = batches * steps * NEW_TOKENS * 4 * SMOLLM2_WEIGHTS
    minutes = batches * steps * NEW_TOKENS * STEP / 60
    because = (
        f"{batches} batches of {steps:.0f} continuations, {STEP * 1e3:.0f} ms a token (assumed)"
    )
    return Stage(words, operations, moved, minutes, because)


# Three draws of top-k, top-p, min-p, typical; greedy, four beams, a contrastive search: one each; delayed beams go
# sentence by sentence and wait for the longest of a batch, about 2.5 continuations a draw.
TEST = writing("decode facts test", 200, 4 * 3 + 6 + 3 * 2.5, 4 * 3 + 1 + 15 * 3 + 6 + 5 + 3 * 6)
# Three draws; greedy, five beams; four delayed beams.
SWEEP = writing("decode facts sweep", 64, 3 + 6 + 4 * 2.5, 3 + 1 + 15 * 5 + 4 * 6)

JOB = ScaleJob(
    name="decoders",
    scale="gpu_decoders",
    tiny={
        "decoding.training": {
            "context": 64,
            "schedule": {"batch": 8, "epochs": 0.2, "validations": 1},
        },
        "corpora_from_files.claims": {"statements": 20},
        "facts.sampling": {"new_tokens": 10},
        "facts.runs": {"test": {"documents": 2}, "sweep": {"documents": 2}},
        "facts.critics.verifiability.train": {
            "size": 8,
            "schedule": {"epochs": 1, "validations": 1},
        },
    },
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
INPUTS = JOB.inputs
OUTPUTS = JOB.outputs


def plan(tiny: bool) -> list[Part]:
    """The job's parts; its tiny form has the same."""
    return JOB.plan()


def run(call: Call) -> None:
    """As far as the call's time goes."""
    JOB.run(call)
