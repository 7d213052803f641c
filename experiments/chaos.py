"""Kill the parallel run twenty times at random moments and see that it ends with the bytes of an unbroken one.

    python experiments/chaos.py --kills 20 --workers 2 --write docs/chaos.json

Works in two fresh clones of the committed repository, with caches of their own, so that nothing is taken from an
earlier run. ``SIGKILL`` goes to the whole process group: runner, Dask workers and stages. Three kills in four come some
finished stages after the start and up to three seconds later, the fourth anywhere in the first ten seconds, where
imports, locks and the look at the lock file are; so the kills spread over the whole run on a slow machine and a fast.
"""

from __future__ import annotations

import argparse
import hashlib
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
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENDED = re.compile(r", \d+ left$")
LEAD = 10.0  # seconds: a kill in the start-up comes within these
LAG = 3.0  # seconds: a kill after some stages comes up to so much later


@dataclass(frozen=True)
class Study:
    """What is run: a scale, some of its stages (all if none is named), and by how many workers."""

    scale: str
    stages: tuple[str, ...]
    workers: int


def clone(folder: Path, study: Study) -> Path:
    """The scale in a fresh clone of what is committed, with an empty cache."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    command = [sys.executable, "-m", "longform_lab.scale", study.scale]
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": "src"}, check=True)
    return folder / "scales" / study.scale


def start(folder: Path, study: Study) -> subprocess.Popen[str]:
    """The runner in a process group of its own."""
    environment = os.environ | {
        "PYTHONPATH": "src",
        "OMP_NUM_THREADS": "1",
        "WANDB_MODE": "offline",
    }
    command = [
        sys.executable,
        "-m",
        "longform_lab.repro",
        "--workers",
        str(study.workers),
        *study.stages,
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)


def whole_life(folder: Path, study: Study) -> list[str]:
    """Run to the end; returns what was said.

    Raises:
        RuntimeError: the run failed.
    """
    process = start(folder, study)
    said = process.communicate()[0].splitlines()
    if process.returncode:
        raise RuntimeError("\n".join(said[-20:]))
    return said


def cut_life(folder: Path, study: Study, stages: int | None, delay: float) -> list[str]:
    """Run until so many stages have ended (or none is asked for), wait a while, and kill; returns what was said."""
    process, said = start(folder, study), []
    while stages and (line := process.stdout.readline()):
        said.append(line.rstrip())
        stages -= bool(ENDED.search(line.rstrip()))
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGKILL)
    return said + process.communicate()[0].splitlines()


def results(home: Path) -> dict[str, str]:
    """A digest of every file that the run leaves for readers: scores, tables and figures."""
    files = [
        p
        for part in ("data/scores", "paper_figures")
        for p in sorted((home / part).rglob("*"))
        if p.is_file()
    ]
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def settled(folder: Path, study: Study) -> bool:
    """Whether ``dvc status`` has nothing to say."""
    command = [sys.executable, "-m", "dvc", "status", "--json", *study.stages]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return json.loads(told) == {}


def ended(said: list[str]) -> list[str]:
    """The stages that were run or restored in a life."""
    return [line.split(": ")[0] for line in said if ENDED.search(line)]


def chaos(
    work: Path, study: Study, kills: int, seed: int, reference: Path | None
) -> dict[str, object]:
    """The unbroken run, the broken one, and what differs."""
    reference = reference or clone(work / "unbroken", study)
    whole_life(reference, replace(study, workers=1))
    expected, broken = results(reference), clone(work / "broken", study)
    drawn, begun, lives = random.Random(seed), time.monotonic(), []
    stages = len(
        re.findall(r"^  \w.*:$", (reference / "dvc.lock").read_text(encoding="utf-8"), re.M)
    )
    for index in range(kills):
        early = index % 4 == 3
        count = None if early else drawn.randint(1, max(1, 2 * stages // kills))
        delay = drawn.uniform(0, LEAD if early else LAG)
        lives.append(ended(cut_life(broken, study, count, delay)))
        print(f"kill {index + 1}: {len(lives[-1])} stages ended, then {delay:.1f} s", flush=True)
    lives.append(ended(whole_life(broken, study)))
    found = results(broken)
    differing = sorted(
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    )
    names = [name for life in lives for name in life]
    return {
        "kills": kills, "seed": seed, "workers": study.workers, "scale": study.scale, "stages": stages,
        "stages_ended_in_each_life": [len(life) for life in lives],
        "ended_twice": sorted({name for name in names if names.count(name) > 1}),
        "files_compared": len(expected), "files_differing": differing,
        "dvc_status_clean": settled(broken, study), "seconds": round(time.monotonic() - begun),
    }  # fmt: skip


def main() -> int:
    """Parse, break, report; exit status 1 when a file differs or DVC sees something to do."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--scale", default="smoke", help="a folder of experiments/scales/")
    parser.add_argument(
        "--stages",
        nargs="*",
        default=[],
        help="only these, with what they need; else the whole scale",
    )
    parser.add_argument(
        "--reference",
        type=Path,
        help="a folder of the scale for the unbroken run, perhaps one in which it stands already",
    )
    parser.add_argument("--write", type=Path, help="where the record goes")
    chosen = parser.parse_args()
    study = Study(chosen.scale, tuple(chosen.stages), chosen.workers)
    work = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        record = chaos(work, study, chosen.kills, chosen.seed, chosen.reference)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(json.dumps(record, indent=2))
    if chosen.write:
        chosen.write.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return int(bool(record["files_differing"]) or not record["dvc_status_clean"])


if __name__ == "__main__":
    sys.exit(main())
