"""Run one stage: ``python -m longform_lab language_model articles wiki gpt2``. DVC calls this; the stages are in ``dvc.yaml``."""

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

STAGES = {  # stage -> the module of longform_lab that has it
    **dict.fromkeys(
        ("corpus", "tokenizer", "language_model", "generate", "complete", "decode"), "texts"
    ),
    **dict.fromkeys(("train", "read"), "criticism"),
    **dict.fromkeys(("score", "curve", "ratings"), "scoring"),
    **dict.fromkeys(("report", "ledger"), "reports"),
}
TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, malloc.h


def keep_freed_memory() -> None:
    """Have the C library (glibc) keep what is freed for the next allocation instead of giving it back to the kernel.

    A training step frees and takes tensors of megabytes over and over; the kernel zeroes each page anew, which in a virtual
    machine was up to half of a training's time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(MMAP, 32 << 20)  # the largest that glibc takes
        mallopt(TRIM, 2**31 - 1)


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, and turn bad input into one sentence on standard error and exit status 2."""
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
        help="of language_model and generate: one system (gpt2-with_titles-seed_1), which the whole stage finds finished then",
    )
    chosen = parser.parse_args(arguments)
    keep_freed_memory()
    track()
    run = getattr(importlib.import_module(f"longform_lab.{STAGES[chosen.stage]}"), chosen.stage)
    wanted = list(inspect.signature(run).parameters)[1:]
    try:
        if len(chosen.names) != len(wanted):
            raise BadInput(f"{chosen.stage} takes {' '.join(wanted).upper()}, got {chosen.names}")
        run(Experiment(chosen.home, chosen.only), *chosen.names)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0
