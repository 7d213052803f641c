"""The papers' sizes with tiny stand-ins: every stage of every paper's scale, in the real formats, in a copy of the repository.

``python experiments/rehearse.py [SCALE ...]`` (``make rehearse``). The copy lies in ``scratch/rehearsal``; a scale is the paper's own with
the numbers of ``rehearsal.yaml`` and with stand-ins in place of hub names and files. It goes the way of ``make paper``: the files are put in
place, the scale is made, its targets run, the ledger is written. Printed are the stages with their seconds, each scale's seconds of the
clock and of the processor (other work on the machine does not count in the latter), and the verdicts; the exit status is 1 where a stage
fails, or where no printed number of a paper would be compared.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from longform.files.artefacts import read_yaml
from longform.files.opening import rows
from longform_lab.real_files import needed_data
from longform_lab.scale import tracked_files
from longform_lab.scale_overrides import key_of_scale, parameters

ROOT = Path(__file__).parents[1]
SIZES = read_yaml(ROOT / "experiments" / "rehearsal.yaml")
COMPARED = ("within interval", "differs")
PREFIX = "rehearsal_"
ADOPTS = 36  # PR_SET_CHILD_SUBREAPER: a worker's process that outlives its worker becomes a child of this one


def overrides(scale: str, hub: Mapping[str, str], root: Path = ROOT) -> dict[str, Any]:
    """The further scale that cuts numbers and puts folders in place of hub names."""
    models = parameters(scale, root)["params.yaml"]["models"]
    places = {name: {"hub": hub[entry["hub"]]} for name, entry in models.items() if "hub" in entry}
    sizes = dict(SIZES[scale])
    merged = {**{name: {} for name in places}, **sizes.pop("models", {})}
    return {
        "extends": scale,
        **sizes,
        "models": {name: {**own, **places.get(name, {})} for name, own in merged.items()},
    }


def files_of(scale: str, hub: Mapping[str, str], offered: Path) -> dict[str, Any]:
    """The scale's list of files with the stand-ins' folders and hashes; nothing is fetched."""
    made = []
    for entry in needed_data(scale, ROOT)["files"]:
        own = {key: value for key, value in entry.items() if key != "url"} | {
            "by_hand": "a stand-in"
        }
        if "hub" in entry:
            own["hub"] = hub[entry["hub"]]
        if "sha256" in entry:
            own["sha256"] = hashlib.sha256((offered / entry["name"]).read_bytes()).hexdigest()
        made.append(own)
    return {"packages": [], "files": made}


def copied(folder: Path) -> Path:
    """The tracked files as a repository of their own, with a cache of its own; what earlier rehearsals made there stays."""
    for path in tracked_files(ROOT):
        if (ROOT / path).is_file() and path.name != "dvc.lock":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if (
                not (folder / path).is_file()
                or (folder / path).read_bytes() != (ROOT / path).read_bytes()
            ):
                shutil.copy2(ROOT / path, folder / path)
    if not (folder / ".git").is_dir():
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


def rehearse(
    scale: str, folder: Path, workers: int
) -> tuple[dict[str, float | None], Counter[str], int]:
    """Run one scale in the copy.

    Returns:
        the seconds of its stages, None where another scale's result was taken; the verdicts on its paper's numbers; the exit status.
    """
    tree, offered, hub = folder / "tree", folder / "offered", read_yaml(folder / "hub.yaml")
    name = PREFIX + scale
    place = tree / "experiments" / "scales" / name
    place.mkdir(parents=True, exist_ok=True)
    for file, content in (
        ("overrides", overrides(scale, hub)),
        ("data", files_of(scale, hub, offered)),
    ):
        (place / f"{file}.yaml").write_text(
            yaml.safe_dump(content, sort_keys=False), encoding="utf-8"
        )
    run = tree / "scales" / name
    python = [sys.executable, "-m"]
    repro = [
        "longform_lab.repro",
        "--workers",
        str(workers),
        "--gpus",
        "1",
        *key_of_scale(scale, ROOT, "targets", []),
    ]
    steps = [
        (tree, ["longform_lab.real_files", name, str(offered)]),
        (tree, ["longform_lab.scale", name]),
        (run, repro),
        (run, ["longform_lab", "ledger"]),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": "src",
        "WANDB_MODE": "disabled",
        "HF_HUB_OFFLINE": "1",
    }
    for where, command in steps:
        status = subprocess.run([*python, *command], cwd=where, env=environment).returncode
        if status:
            print(f"rehearsal: {scale}: {command[0]} ended with {status}", flush=True)
            return {}, Counter(), status
    ran = json.loads((run / "scratch" / "repro" / "seconds.json").read_text(encoding="utf-8"))
    seconds = {stage: ran.get(stage) for stage in sorted(read_yaml(run / "dvc.lock")["stages"])}
    paper = scale.removeprefix("paper_").partition("_")[0]
    ledger = rows(run / "paper_figures" / "ledger" / "ledger.csv", ("paper", "verdict"))
    verdicts = Counter(line["verdict"] for line in ledger if line["paper"] == paper)
    return seconds, verdicts, 0


def processor() -> float:
    """Processor seconds of the commands that have ended, with everything that they started, be it orphaned (on Linux)."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python experiments/rehearse.py", description=__doc__)
    parser.add_argument(
        "scales",
        nargs="*",
        default=[],
        metavar="SCALE",
        help=f"of {', '.join(SIZES)}; default: all",
    )
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, default=ROOT / "scratch" / "rehearsal")
    parser.add_argument(
        "--json",
        type=Path,
        help="where each scale's stages, seconds and verdicts are kept, by its name",
    )
    chosen = parser.parse_args(arguments)
    if unknown := sorted(set(chosen.scales) - set(SIZES)):
        parser.error(f"{unknown[0]!r}; allowed are {', '.join(SIZES)}")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ADOPTS, 1)
    begun, folder, failed = time.monotonic(), chosen.folder.resolve(), 0
    copied(folder / "tree")
    if not (folder / "hub.yaml").is_file():
        from stand_ins import offer, publish

        offer(folder / "offered", ROOT / "data" / "bases")
        hub = publish(folder / "hub", ROOT / "data" / "bases")
        (folder / "hub.yaml").write_text(yaml.safe_dump(hub), encoding="utf-8")
    print(f"stand-ins in {folder}: {time.monotonic() - begun:.0f} s", flush=True)
    for scale in chosen.scales or SIZES:
        start, before = time.monotonic(), processor()
        seconds, verdicts, status = rehearse(scale, folder, chosen.workers)
        for stage, lasted in seconds.items():
            print(
                f"  {scale} {stage}: {'as in another scale' if lasted is None else f'{lasted:.1f} s'}"
            )
        compared = sum(verdicts[verdict] for verdict in COMPARED)
        told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        bad = status or not (compared or scale.endswith("_languages"))
        failed += bool(bad)
        clock, own = round(time.monotonic() - start), round(processor() - before)
        took = f"{clock} s, {own} s of processor"
        print(
            f"{'FAILED' if bad else 'ok'} {scale}: {len(seconds)} stages, {took}; {told}",
            flush=True,
        )
        if chosen.json and not bad:
            row = {
                "stages": seconds,
                "seconds": clock,
                "processor seconds": own,
                "verdicts": dict(verdicts),
            }
            kept = (
                json.loads(chosen.json.read_text(encoding="utf-8")) if chosen.json.is_file() else {}
            )
            chosen.json.write_text(
                json.dumps({**kept, scale: row}, indent=1) + "\n", encoding="utf-8"
            )
    print(
        f"rehearsal: {failed} failed; {time.monotonic() - begun:.0f} s, {processor():.0f} s of processor"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
