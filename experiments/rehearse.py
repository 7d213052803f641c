"""Rehearse the papers' scales with tiny stand-ins: every stage of each, in the real formats.

``python experiments/rehearse.py [SCALE ...]`` (``make rehearse``) works in a copy of the repository
in ``scratch/rehearsal``; a scale is the paper's own with the numbers of ``rehearsal.yaml`` and with
stand-ins in place of hub names and files. It goes the way of ``make paper``: the files are put in
place, the scale is made, its targets run, the ledger is written. Printed are the stages with their
seconds, each scale's seconds of the clock and of the processor (other work on the machine does not
count in the latter), and the verdicts; the exit status is 1 where a stage fails, or where no
printed number of a paper would be compared.
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
from dataclasses import dataclass
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
COMPARED = ("within interval", "differs")  # verdicts of the ledger
PREFIX = "rehearsal_"  # of a rehearsal's scale
# PR_SET_CHILD_SUBREAPER: a process that outlives its worker becomes a child of this one.
ADOPTS = 36
ENVIRONMENT = {"PYTHONPATH": "src", "WANDB_MODE": "disabled", "HF_HUB_OFFLINE": "1"}


def overrides(scale: str, hub: Mapping[str, str], root: Path = ROOT) -> dict[str, Any]:
    """The overrides of a scale's rehearsal: smaller numbers, and folders in place of hub names.

    Args:
        scale: a key of ``SIZES``.
        hub: the folder of the stand-in for each hub name.
        root: the repository.
    """
    sizes = dict(SIZES[scale])
    # A model of the hub first, by its stand-in; then those whose numbers alone are cut.
    models: dict[str, dict[str, Any]] = {}
    stand_ins = {}
    for name, entry in parameters(scale, root)["params.yaml"]["models"].items():
        if "hub" in entry:
            stand_ins[name] = {"hub": hub[entry["hub"]]}
            models[name] = {}
    models |= sizes.pop("models", {})
    for name, stand_in in stand_ins.items():
        models[name] = {**models[name], **stand_in}
    return {"extends": scale, **sizes, "models": models}


def files_of(scale: str, hub: Mapping[str, str], offered: Path) -> dict[str, Any]:
    """The scale's ``data.yaml`` with the stand-ins' folders and hashes, and no address to fetch.

    Args:
        scale: a key of ``SIZES``.
        hub: the folder of the stand-in for each hub name.
        offered: the folder of the stand-ins for files.
    """
    files = []
    for entry in needed_data(scale, ROOT)["files"]:
        stand_in = dict(entry)
        stand_in.pop("url", None)
        stand_in["by_hand"] = "a stand-in"
        if "hub" in entry:
            stand_in["hub"] = hub[entry["hub"]]
        if "sha256" in entry:
            content = (offered / entry["name"]).read_bytes()
            stand_in["sha256"] = hashlib.sha256(content).hexdigest()
        files.append(stand_in)
    return {"packages": [], "files": files}


def copied(folder: Path) -> Path:
    """Copy the tracked files into a folder and make it a git repository; return the folder.

    Files that earlier rehearsals made there stay.
    """
    for path in tracked_files(ROOT):
        source, copy = ROOT / path, folder / path
        if not source.is_file() or path.name == "dvc.lock":
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            shutil.copy2(source, copy)
    if not (folder / ".git").is_dir():
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


@dataclass(frozen=True)
class Rehearsal:
    """The outcome of a scale's run in the copy.

    Attributes:
        seconds: wall seconds of each stage; None where another scale's result was used.
        verdicts: the number of the paper's numbers with each verdict.
        status: exit status of the command that failed; 0 if none did.
    """

    seconds: dict[str, float | None]
    verdicts: Counter[str]
    status: int

    @property
    def compared(self) -> int:
        """Printed numbers that were compared with one of ours."""
        return sum(self.verdicts[verdict] for verdict in COMPARED)


def rehearse(scale: str, folder: Path, workers: int) -> Rehearsal:
    """Run one scale in the copy: put files in place, make the scale, run it, write the ledger."""
    # The scale, with its stand-ins.
    tree, offered = folder / "tree", folder / "offered"
    hub = read_yaml(folder / "hub.yaml")
    name = PREFIX + scale
    settings = tree / "experiments" / "scales" / name
    settings.mkdir(parents=True, exist_ok=True)
    write_yaml(settings / "overrides.yaml", overrides(scale, hub))
    write_yaml(settings / "data.yaml", files_of(scale, hub, offered))
    # The commands of `make paper`.
    run = tree / "scales" / name
    targets = key_of_scale(scale, ROOT, "targets", [])
    repro = ["longform_lab.repro", "--workers", str(workers), "--gpus", "1", *targets]
    steps = [
        (tree, ["longform_lab.real_files", name, str(offered)]),
        (tree, ["longform_lab.scale", name]),
        (run, repro),
        (run, ["longform_lab", "ledger"]),
    ]
    environment = {**os.environ, **ENVIRONMENT}
    for home, words in steps:
        command = [sys.executable, "-m", *words]
        status = subprocess.run(command, cwd=home, env=environment).returncode
        if status:
            print(f"rehearsal: {scale}: {words[0]} ended with {status}", flush=True)
            return Rehearsal({}, Counter(), status)
    return Rehearsal(seconds_of_stages(run), verdicts_of(run, scale), 0)


def write_yaml(path: Path, content: Mapping[str, Any]) -> None:
    """Write a mapping, its keys in their order."""
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def seconds_of_stages(run: Path) -> dict[str, float | None]:
    """Seconds of every stage in the lock file of a run; None where it was not run."""
    path = run / "scratch" / "repro" / "seconds.json"
    seconds = json.loads(path.read_text(encoding="utf-8"))
    stages = read_yaml(run / "dvc.lock")["stages"]
    return {stage: seconds.get(stage) for stage in sorted(stages)}


def verdicts_of(run: Path, scale: str) -> Counter[str]:
    """Verdicts on the printed numbers of a scale's paper."""
    paper = scale.removeprefix("paper_").partition("_")[0]
    ledger = rows(run / "paper_figures" / "ledger" / "ledger.csv", ("paper", "verdict"))
    return Counter(line["verdict"] for line in ledger if line["paper"] == paper)


def processor() -> float:
    """Processor seconds used by all commands that have ended and by the processes they started.

    On Linux these include processes that outlived the command.
    """
    # Collect processes that have ended, so that their seconds count.
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python experiments/rehearse.py", description=__doc__)
    scales = f"of {', '.join(SIZES)}; default: all"
    parser.add_argument("scales", nargs="*", default=[], metavar="SCALE", help=scales)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, default=ROOT / "scratch" / "rehearsal")
    record = "where each scale's stages, seconds and verdicts are kept, by its name"
    parser.add_argument("--json", type=Path, help=record)
    return parser


def main(words: list[str] | None = None) -> int:
    """Rehearse the named scales; return 1 if one fails, otherwise 0."""
    parser = arguments()
    options = parser.parse_args(words)
    unknown = sorted(set(options.scales) - set(SIZES))
    if unknown:
        parser.error(f"{unknown[0]!r}; allowed are {', '.join(SIZES)}")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ADOPTS, 1)
    # The copy, with its stand-ins.
    start = time.monotonic()
    folder = options.folder.resolve()
    copied(folder / "tree")
    if not (folder / "hub.yaml").is_file():
        offer_stand_ins(folder)
    print(f"stand-ins in {folder}: {time.monotonic() - start:.0f} s", flush=True)
    # Every scale.
    failed = 0
    for scale in options.scales or SIZES:
        failed += not rehearse_and_tell(scale, folder, options.workers, options.json)
    seconds = time.monotonic() - start
    print(f"rehearsal: {failed} failed; {seconds:.0f} s, {processor():.0f} s of processor")
    return 1 if failed else 0


def offer_stand_ins(folder: Path) -> None:
    """Write files and networks, and the list of networks by hub name."""
    from stand_ins import offer, publish

    bases = ROOT / "data" / "bases"
    offer(folder / "offered", bases)
    hub = publish(folder / "hub", bases)
    (folder / "hub.yaml").write_text(yaml.safe_dump(hub), encoding="utf-8")


def rehearse_and_tell(scale: str, folder: Path, workers: int, record: Path | None) -> bool:
    """Run one scale, print how it went, and add it to a record.

    Returns:
        whether it ran, and a printed number of its paper was compared.
    """
    # Run it.
    start, processor_before = time.monotonic(), processor()
    rehearsal = rehearse(scale, folder, workers)
    seconds = round(time.monotonic() - start)
    processor_seconds = round(processor() - processor_before)
    # Say how it went.
    for stage, duration in rehearsal.seconds.items():
        shown = "as in another scale" if duration is None else f"{duration:.1f} s"
        print(f"  {scale} {stage}: {shown}")
    # The scale of languages compares no printed number.
    has_numbers = rehearsal.compared > 0 or scale.endswith("_languages")
    passed = rehearsal.status == 0 and has_numbers
    word = "ok" if passed else "FAILED"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in rehearsal.verdicts.items())
    times = f"{seconds} s, {processor_seconds} s of processor"
    print(f"{word} {scale}: {len(rehearsal.seconds)} stages, {times}; {verdicts}", flush=True)
    # Add it to the record.
    if record and passed:
        row = {
            "stages": rehearsal.seconds,
            "seconds": seconds,
            "processor seconds": processor_seconds,
            "verdicts": dict(rehearsal.verdicts),
        }
        earlier = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        text = json.dumps({**earlier, scale: row}, indent=1)
        record.write_text(text + "\n", encoding="utf-8")
    return passed


if __name__ == "__main__":
    sys.exit(main())
