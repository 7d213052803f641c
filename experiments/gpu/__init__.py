"""Jobs for one GPU and half an hour: each is one command of at most nine minutes (docs/one_gpu.md).

A job's module names it ``JOB``: a :class:`experiments.gpu.frame.Job`, or a
:class:`experiments.gpu.scale_job.ScaleJob`, which has the same attributes.
"""

import importlib
from typing import Any

JOBS = {  # name of a job -> its module
    "table_1_transformer": "experiments.gpu.table_1_transformer",
    "speed": "experiments.gpu.speed",
    "decoders": "experiments.gpu.decoders",
    "cities_and_peps": "experiments.gpu.cities_and_peps",
    "ladder": "experiments.gpu.ladder",
    "translators": "experiments.gpu.translators",
    "completions": "experiments.gpu.completions",
}
# Those that are scales, which read published texts.
SCALE_JOBS = ("decoders", "cities_and_peps", "ladder", "translators", "completions")


def job_named(name: str) -> Any:
    """The job of a name in ``JOBS``; its module is imported."""
    return importlib.import_module(JOBS[name]).JOB
