"""Run the stages of a job that need no GPU: ``python -m experiments.gpu.finish JOB``.

It reads the texts that came back and adds their records. It needs the data
(``python -m experiments.gpu.pack``) and, in ``--out``, the files of the job's calls.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from experiments.gpu import JOBS, job_named
from experiments.gpu.data import DATA, RAW, open_data
from experiments.gpu.scale_job import ScaleJob
from longform.errors import BadInput
from longform_lab.real_files import needed_data, put_in_place


def main(arguments: list[str] | None = None) -> int:
    """Run a job's stages that need no GPU."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gpu.finish", description=__doc__)
    parser.add_argument("job", choices=list(JOBS), help="a job that is a scale")
    parser.add_argument("--out", type=Path, help="where its files lie (scratch/gpu/JOB/out)")
    parser.add_argument("--state", type=Path, help="where to work (scratch/gpu/JOB/finish)")
    parser.add_argument("--tiny", action="store_true", help="finish its tiny form")
    options = parser.parse_args(arguments)
    try:
        finish(options)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0


def finish(options: argparse.Namespace) -> None:
    """Run the stages of a job. Raises BadInput: it has none."""
    job = job_named(options.job)
    if not isinstance(job, ScaleJob):
        raise BadInput(f"gpu finish: {options.job} leaves nothing to a processor")
    if not options.tiny:
        place_encoders(job)
    home = Path("scratch") / "gpu" / (f"{options.job}_tiny" if options.tiny else options.job)
    job.finish(options.out or home / "out", options.state or home / "finish", options.tiny)


def place_encoders(job: Any) -> None:
    """Write pointers to the installed encoders that a job's critics use; they are never sent."""
    open_data(DATA, job.weights)
    entries = needed_data(job.scale, Path())["files"]
    put_in_place([entry for entry in entries if "package" in entry], DATA / RAW, None)


if __name__ == "__main__":
    sys.exit(main())
