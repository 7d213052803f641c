"""Run one stage: ``python -m longform_lab language_model articles wiki gpt2``.

DVC calls this; the stages are in ``dvc.yaml``.
"""

import os

# before NumPy and torch load: two spinning threads cost 4-19x when contended
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("WANDB_MODE", "offline")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import argparse
import ctypes
import importlib
import inspect
import sys
from pathlib import Path

from longform.errors import BadInput
from longform_lab.experiment import Experiment
from longform_lab.tracking import track

STAGES = {  # stage -> the module of longform_lab whose function of that name runs it
    **dict.fromkeys(
        ("corpus", "tokenizer", "language_model", "generate", "complete", "decode"), "texts"
    ),
    **dict.fromkeys(("train", "read"), "criticism"),
    **dict.fromkeys(("score", "curve", "ratings"), "scoring"),
    **dict.fromkeys(("report", "ledger"), "reports"),
}
TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, malloc.h


def keep_freed_memory() -> None:
    """Have the C library (glibc) keep freed memory for the next allocation.

    A training step frees and allocates tensors of megabytes again and again. Memory that goes back
    to the kernel is zeroed page by page before it is used again; in a virtual machine that was up
    to half of a training's time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(MMAP, 32 << 20)  # the largest that glibc takes
        mallopt(TRIM, 2**31 - 1)


def main(arguments: list[str] | None = None) -> int:
    """Run one stage from the command line.

    Returns:
        The exit status: 0, or 2 after bad input, which one sentence on standard error explains.
    """
    parser = argparse.ArgumentParser(prog="python -m longform_lab", description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument(
        "names", nargs="*", help="what dvc.yaml gives the stage: study, corpus, model, critic"
    )
    parser.add_argument(
        "--home", type=Path, default=Path(), help="folder with params.yaml and data/"
    )
    parser.add_argument(
        "--only",
        help="of language_model and generate: one system (gpt2-with_titles-seed_1), "
        "so that a later run of the whole stage need not make it again",
    )
    options = parser.parse_args(arguments)
    keep_freed_memory()
    track()  # trainings also log to Weights & Biases, where it is enabled
    # The function of a stage takes the experiment, then one argument for each name on the command
    # line.
    module = importlib.import_module(f"longform_lab.{STAGES[options.stage]}")
    run = getattr(module, options.stage)
    parameters = list(inspect.signature(run).parameters)[1:]
    try:
        if len(options.names) != len(parameters):
            expected = " ".join(parameters).upper()
            raise BadInput(f"{options.stage} takes {expected}, got {options.names}")
        run(Experiment(options.home, options.only), *options.names)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0
