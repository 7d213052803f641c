"""A small DVC project of seven stages, and a run of it by the parallel runner without Dask; git, and waiting for processes."""

import os
import subprocess
import time
from collections import deque
from pathlib import Path

import yaml
from dvc.repo import Repo

from longform_lab.dvc_stages import opened
from longform_lab.repro import Run
from longform_lab.workers import run_commands

ROOT = Path(__file__).parents[2]
PIPELINE = {"stages": {"train": {"foreach": "${models}",
                                 "do": {"cmd": "echo ${key} ${item.n} > out_${key} && echo ran >> ran_${key}",
                                        "deps": ["source.txt"], "params": ["seed", "models.${key}"],
                                        "outs": ["out_${key}"]}},
                       "read": {"foreach": "${models}",
                                "do": {"cmd": "mkdir folder_${key} && cp out_${key} folder_${key}/x",
                                       "deps": ["out_${key}"], "outs": ["folder_${key}"]}},
                       "report": {"cmd": "cat folder_*/x > all.txt", "deps": ["folder_a", "folder_b", "folder_c"],
                                  "outs": [{"all.txt": {"cache": False}}]}}}  # fmt: skip
LONG = "a sentence of more than eighty characters, with a colon: so that the lock file must quote it and break the line"
MODELS = {"a": {"n": 1.0e-3, "text": LONG}, "b": {"n": 2, "list": [1, 2]}, "c": {"n": "3"}}


class InTurn:
    """Workers without Dask: a stage runs when its end is asked for."""

    def __init__(self, slots=2):
        self.slots, self.waiting, self.started, self.patience = slots, deque(), [], []

    def room(self, gpu):
        return len(self.waiting) < self.slots

    def submit(self, name, gpu, **job):
        self.started.append(name)
        self.waiting.append((name, job))

    @property
    def busy(self):
        return bool(self.waiting)

    def finished(self, seconds):
        self.patience.append(seconds)
        if not self.waiting or not seconds:
            return None
        name, job = self.waiting.popleft()
        return name, run_commands(**job)


def write_pipeline(folder, stages=PIPELINE, models=MODELS):
    (folder / "dvc.yaml").write_text(yaml.safe_dump(stages, sort_keys=False), encoding="utf-8")
    params = {"seed": 3, "models": models}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def new_project(folder, monkeypatch):
    """The pipeline and its source in a new folder, which becomes the working directory."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    Repo.init(no_scm=True).close()
    (folder / "source.txt").write_text("one")
    write_pipeline(folder)
    return folder


def run(workers=None):
    """Counts, lines and the names that were started."""
    workers, said = workers or InTurn(), []
    with opened(Path("."), ["dvc.yaml"]) as pipeline:
        counts = Run(pipeline, workers, said.append).all()
    return {how: count for how, count in counts.items() if count}, said, workers.started


def status():
    with Repo() as repo:
        return repo.status()


def command(folder, *words):
    """What a command prints; git and DVC's experiments have an author."""
    who = {
        f"GIT_{role}_{what}": "test@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **who, "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr[-2000:]}"
    return done.stdout


def git(folder, *words):
    return command(folder, "git", "-c", "commit.gpgsign=false", *words)


def until(condition, seconds=100):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
