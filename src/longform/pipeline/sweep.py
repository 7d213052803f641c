"""One parallel run per combination of settings: ``python -m longform.pipeline.sweep -S 'train.ROW.shape.n_embd=64,96'``.

The settings are written as for ``dvc exp run -S``, with commas between values. Each combination runs in a git worktree
of the committed state below ``scratch/sweeps/``, on this repository's DVC cache, so that what a setting does not touch is
restored and not run again; afterwards it is saved as an experiment of DVC's, which ``dvc exp show`` lists.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.utils.hydra import apply_overrides, get_hydra_sweeps

from longform.documents import BadInput
from longform.pipeline.repro import add_options

FOLDER = Path("scratch") / "sweeps"
DVC = (sys.executable, "-m", "dvc")


def combinations(settings: Sequence[str], params: str) -> dict[str, list[str]]:
    """Every combination of the values, by a name that says which: the last word of each key and its value.

    Raises:
        BadInput: two combinations would have the same name.
    """
    found: dict[str, list[str]] = {}
    for combination in get_hydra_sweeps({params: list(settings)}):
        pairs = [setting.lstrip("+").partition("=") for setting in combination[params]]
        name = "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", f"{key.rpartition('.')[2]}_{value}") for key, _, value in pairs)
        if name in found:
            raise BadInput(
                f"settings {combination[params]} and {found[name]} would both be called {name!r}; sweep them apart"
            )
        found[name] = combination[params]
    return found


def prepared(name: str, settings: Sequence[str], home: Path) -> Path:
    """A worktree with these settings and this repository's cache and raw files; an earlier one of the name is taken up."""
    folder = (FOLDER / name).resolve()
    if not folder.exists():
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(folder), "HEAD"], check=True)
        try:
            apply_overrides(folder / home / "params.yaml", list(settings))
        except DvcException:
            subprocess.run(["git", "worktree", "remove", "--force", str(folder)], check=True)
            raise
    with Repo() as repo:
        cache = str(Path(repo.cache.local_cache_dir).resolve())
    subprocess.run([*DVC, "cache", "dir", "--quiet", "--local", cache], cwd=folder, check=True)
    for raw in (home / "data" / "raw").glob("*"):
        if not (folder / raw).exists():
            (folder / raw).parent.mkdir(parents=True, exist_ok=True)
            (folder / raw).symlink_to(raw.resolve())
    return folder


def reproduced(name: str, folder: Path, targets: Sequence[str], workers: Sequence[str]) -> int:
    """Run the worktree's targets and keep them as an experiment named after its settings; returns the exit status."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "longform.pipeline.repro", *workers, *targets]
    status = subprocess.run(command, cwd=folder, env=environment).returncode
    if status == 0:
        saved = [*DVC, "exp", "save", "--quiet", "--force", "--name", name, *targets]
        subprocess.run(saved, cwd=folder, check=True)
    return status


def main(arguments: list[str] | None = None) -> int:
    """Parse, run one combination after the other, go on after one that fails; exit status 1 if any did."""
    parser = argparse.ArgumentParser(prog="python -m longform.pipeline.sweep", description=__doc__)
    parser.add_argument("-S", "--set", action="append", required=True, metavar="KEY=V1,V2", dest="settings")
    parser.add_argument("--list", action="store_true", help="only name the combinations")
    add_options(parser)
    chosen = parser.parse_args(arguments)
    targets = chosen.targets or [str(chosen.home / "dvc.yaml")]
    workers = ["--workers", str(chosen.workers), "--gpus", str(chosen.gpus)]
    workers += ["--scheduler", chosen.scheduler] if chosen.scheduler else []
    failed = 0
    try:
        for name, settings in combinations(chosen.settings, str(chosen.home / "params.yaml")).items():
            print(f"{name}: {' '.join(settings)}", flush=True)
            if not chosen.list:
                folder = prepared(name, settings, chosen.home)
                failed += reproduced(name, folder, targets, workers) != 0
    except (DvcException, BadInput, subprocess.CalledProcessError) as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
