"""Kill a parallel run again and again; it should end with the same files as an unbroken run.

    python experiments/chaos.py --kills 20 --workers 2 --write docs/chaos.json

Works in two fresh clones of the committed repository, with caches of their own, so that nothing is
taken from an earlier run. ``SIGKILL`` goes to the whole process group: runner, Dask workers and
stages. Three kills in four come some finished stages after the start and up to three seconds later,
the fourth anywhere in the first ten seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENDED = re.compile(r", \d+ left$")  # the end of the line that the runner prints after a stage
LEAD = 10.0  # seconds: a kill in the start-up comes within these
LAG = 3.0  # seconds: a kill after some stages comes up to so much later
ENVIRONMENT = {"PYTHONPATH": "src", "OMP_NUM_THREADS": "1", "WANDB_MODE": "offline"}


@dataclass(frozen=True)
class Study:
    """What is run: a scale, some of its stages (all if none is named), and by how many workers."""

    scale: str
    stages: tuple[str, ...]
    workers: int


def clone(folder: Path, study: Study) -> Path:
    """Make the scale in a fresh clone of what is committed; returns the scale's folder."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    command = [sys.executable, "-m", "longform_lab.scale", study.scale]
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": "src"}, check=True)
    return folder / "scales" / study.scale


def start(folder: Path, study: Study) -> subprocess.Popen[str]:
    """Start the runner in a process group of its own, which can be killed as a whole."""
    environment = os.environ | ENVIRONMENT
    command = [sys.executable, "-m", "longform_lab.repro", "--workers", str(study.workers)]
    command += study.stages
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)


def run_to_the_end(folder: Path, study: Study) -> list[str]:
    """Run without a kill.

    Returns:
        the printed lines.

    Raises:
        RuntimeError: the run failed.
    """
    process = start(folder, study)
    lines = process.communicate()[0].splitlines()
    if process.returncode:
        raise RuntimeError("\n".join(lines[-20:]))
    return lines


def run_and_kill(folder: Path, study: Study, stages: int, delay: float) -> list[str]:
    """Run until so many stages (perhaps 0) have ended, wait for ``delay`` seconds, and kill.

    Returns:
        the printed lines.
    """
    process = start(folder, study)
    lines = []
    missing = stages
    while missing and (line := process.stdout.readline()):
        lines.append(line.rstrip())
        missing -= bool(ENDED.search(lines[-1]))
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    return lines + process.communicate()[0].splitlines()


def results(home: Path) -> dict[str, str]:
    """The SHA-256 of every file of scores, tables and figures that a run made, by path."""
    digests = {}
    for part in ("data/scores", "paper_figures"):
        for path in sorted((home / part).rglob("*")):
            if path.is_file():
                name = str(path.relative_to(home))
                digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def settled(folder: Path, study: Study) -> bool:
    """Whether ``dvc status`` finds every stage up to date."""
    command = [sys.executable, "-m", "dvc", "status", "--json", *study.stages]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(process.stdout) == {}


def ended(lines: list[str]) -> list[str]:
    """The stages that were run or restored, by what a run printed."""
    return [line.split(": ")[0] for line in lines if ENDED.search(line)]


def differing_files(left: dict[str, str], right: dict[str, str]) -> list[str]:
    """Names of the files that one side lacks or that have another digest there."""
    names = sorted(left.keys() | right.keys())
    return [name for name in names if left.get(name) != right.get(name)]


def chaos(
    work: Path, study: Study, kills: int, seed: int, reference: Path | None
) -> dict[str, object]:
    """Do the unbroken and the broken run, and record what differs.

    ``work`` is a folder for clones, ``reference`` that of the unbroken run (None: a clone).
    """
    # The unbroken run.
    reference = reference or clone(work / "unbroken", study)
    run_to_the_end(reference, replace(study, workers=1))
    expected = results(reference)
    lock = (reference / "dvc.lock").read_text(encoding="utf-8")
    stages = len(re.findall(r"^  \w.*:$", lock, re.M))

    # The broken one: its lives between kills, and a last one without.
    broken = clone(work / "broken", study)
    rng, begin = random.Random(seed), time.monotonic()
    lives = []
    for index in range(kills):
        is_early = index % 4 == 3
        # On average all kills together let as many stages end as there are.
        count = 0 if is_early else rng.randint(1, max(1, 2 * stages // kills))
        delay = rng.uniform(0, LEAD if is_early else LAG)
        life = ended(run_and_kill(broken, study, count, delay))
        lives.append(life)
        print(f"kill {index + 1}: {len(life)} stages ended, then {delay:.1f} s", flush=True)
    lives.append(ended(run_to_the_end(broken, study)))

    # What differs.
    times = Counter(itertools.chain.from_iterable(lives))
    return {
        "kills": kills,
        "seed": seed,
        "workers": study.workers,
        "scale": study.scale,
        "stages": stages,
        "stages_ended_in_each_life": [len(life) for life in lives],
        "ended_twice": sorted(name for name, count in times.items() if count > 1),
        "files_compared": len(expected),
        "files_differing": differing_files(expected, results(broken)),
        "dvc_status_clean": settled(broken, study),
        "seconds": round(time.monotonic() - begin),
    }


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--scale", default="smoke", help="a folder of experiments/scales/")
    stages = "only these, with what they need; else the whole scale"
    parser.add_argument("--stages", nargs="*", default=[], help=stages)
    reference = "a folder of the scale for the unbroken run, perhaps one in which it stands already"
    parser.add_argument("--reference", type=Path, help=reference)
    parser.add_argument("--write", type=Path, help="where the record goes")
    return parser


def main() -> int:
    """Kill and resume a study, print what was found, and write it where ``--write`` says.

    Returns:
        The exit status: 1 when a file differs from the undisturbed run's or a stage is stale.
    """
    options = arguments().parse_args()
    study = Study(options.scale, tuple(options.stages), options.workers)
    work = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        record = chaos(work, study, options.kills, options.seed, options.reference)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    text = json.dumps(record, indent=2)
    print(text)
    if options.write:
        options.write.write_text(text + "\n", encoding="utf-8")
    return int(bool(record["files_differing"]) or not record["dvc_status_clean"])


if __name__ == "__main__":
    sys.exit(main())
