"""Jobs for one GPU and half an hour: each is one command of at most nine minutes (docs/one_gpu.md).

A job is a module with

- ``INPUTS``: files below the root that it reads, besides the modules that it imports;
- ``OUTPUTS``: names of the files that it writes;
- ``plan(tiny)``: its parts, each with a floor by arithmetic and predicted minutes;
- ``run(call)``: the work, which says what it measured through ``call.report``.
"""

JOBS = {  # name of a job -> its module
    "table_1_transformer": "experiments.gpu.table_1_transformer",
    "speed": "experiments.gpu.speed",
    "decoders": "experiments.gpu.decoders",
    "cities_and_peps": "experiments.gpu.cities_and_peps",
    "ladder": "experiments.gpu.ladder",
    "translators": "experiments.gpu.translators",
    "completions": "experiments.gpu.completions",
}
# Those that are scales: their modules have ``JOB``, which names the published texts that they read.
SCALE_JOBS = ("decoders", "cities_and_peps", "ladder", "translators", "completions")
