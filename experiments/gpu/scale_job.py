"""A job that is a scale: stages of the pipeline, run on the card without DVC.

A stage runs in a process of its own, which the end of the call's time kills; what it had finished
lies in its scratch folder, from which the next call goes on. What a processor can read is read
later, of the texts that came back (:meth:`ScaleJob.finish`).
"""

import csv
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from experiments.gpu import stand_ins
from experiments.gpu.data import DATA, RAW, compress, extract, open_data
from experiments.gpu.frame import BRING, LEARN_OPERATIONS, REPORT, UPDATE_BYTES, Call, Part
from longform.errors import BadInput
from longform.files.artefacts import atomic_write, read_json, write_json
from longform.files.yaml_dialect import yaml_text
from longform.results import read_results, write_results
from longform_lab.scale_overrides import (
    PARAMS,
    apply_overrides,
    extended_scales,
    parameters,
)

ROOT = Path(__file__).parents[2]
RECORDS, CURVES = "records.json", "trainings.csv"
DECODERS = Path("experiments/massarelli2020/decoders")
SMOLLM2_WEIGHTS = 134_515_008  # number of its weights
MIN_SECONDS = 20.0  # no stage begins where fewer are left
SHARED = ("params.yaml", "dvc.yaml")  # files that the parameters of every scale are made of
SMOLLM2_AND_TEXTS = Part(
    BRING,
    operations=0,
    moved=98.4e6,
    minutes=1.5,
    because="SmolLM2 (98 MB) in three parts and the texts: two calls that only bring a part",
)
# Settings of generation in a tiny form: two articles of a network.
TINY_SAMPLING = {
    "documents": 2,
    "batch": 2,
    "max_tokens": 60,
    "context_overlap": 20,
    "window": 48,
    "redraws": 0,
}


@dataclass(frozen=True)
class Stage:
    """A stage of the pipeline, and what it costs on one H100.

    Attributes:
        words: arguments of ``python -m longform_lab``.
        operations, moved: floating-point operations and bytes, padding left out.
        minutes: predicted.
        because: how the minutes follow.
        beside: whether it runs at the same time as the stage before it, since a card has time for
            several processes that launch small kernels.
    """

    words: str
    operations: float = 0.0
    moved: float = 0.0
    minutes: float = 0.2
    because: str = "a process that starts, and work of a processor"
    beside: bool = False


@dataclass(frozen=True)
class ScaleJob:
    """A scale, and which of its stages the card runs.

    Attributes:
        name: of the job.
        scale: a folder of experiments/scales.
        tiny: overrides of its tiny form.
        stages: those of the card, in order.
        afterwards: those that a processor runs after all calls, by :meth:`finish`.
        texts: archive that comes back -> the folder below ``data/`` that it holds.
        brought: published texts and weights that travel to the card in the first calls.
        weights: whether SmolLM2's are among them.
        not_tiny: the tiny form leaves out stages whose words contain one of these strings.
    """

    name: str
    scale: str
    tiny: Mapping[str, Any]
    stages: tuple[Stage, ...]
    afterwards: tuple[str, ...]
    texts: Mapping[str, str]
    brought: Part = SMOLLM2_AND_TEXTS
    weights: bool = True
    not_tiny: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files below the root that its parameters are made of; ``DATA`` travels beside them."""
        scales = []
        for name in extended_scales(self.scale, ROOT):
            scales.append(f"experiments/scales/{name}/overrides.yaml")
        changed = [path for path in parameters(self.scale, ROOT) if path not in SHARED]
        return (*SHARED, *scales, *changed, str(DECODERS))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the files that come back."""
        return (REPORT, RECORDS, CURVES, *self.texts)

    def plan(self, tiny: bool) -> list[Part]:
        """A part for each stage, and one for what travels; the tiny form has the same."""
        parts = [self.brought]
        for stage in self.stages:
            part = Part(
                stage.words,
                operations=stage.operations,
                moved=stage.moved,
                minutes=stage.minutes,
                because=stage.because,
            )
            parts.append(part)
        return parts

    def run(self, call: Call) -> None:
        """Run the stages that are not finished, as far as the call's time goes."""
        home, data = self.prepare(call.state, call.tiny)
        if call.device.type == "cuda":
            torch.cuda.empty_cache()  # what measured the card's ceilings is the stages' memory now
        progress = Progress(call.state / "stages.json")
        try:
            finished = self.go_on(call, home, data, progress)
        finally:  # what was finished before a stage that failed comes back too
            self.report(call, progress)
            self.bring_back(home, call.out)
        if finished:
            print("everything is measured", flush=True)
        else:
            print("the time of this call is used up; call again on the same machine", flush=True)

    def go_on(self, call: Call, home: Path, data: Path, progress: "Progress") -> bool:
        """Run stages until all are finished or the call's time is over.

        Args:
            call: a run on a machine that is lent for a limited time, or a tiny rehearsal without
                limit.
            home: the folder that stages run in.
            data: published texts and weights.
            progress: what earlier calls finished; each stage is added to it.

        Returns:
            whether all are finished.

        Raises:
            BadInput: a stage failed.
        """
        for group in self.groups():
            waiting = []
            for stage in group:
                in_this_form = not (call.tiny and self.is_left_out_of_tiny(stage.words))
                if in_this_form and not progress.is_finished(stage.words):
                    waiting.append(stage.words)
            if not waiting:
                continue
            # Rehearsed one by one in this process; else at once, each in a process of its own that
            # is killed at the end of the call's time. ``ended``: whether each ran to its end.
            if not call.tiny and call.left() < MIN_SECONDS:
                return False
            started = time.monotonic()
            if call.tiny:
                ended = [run_stage(home, data, words, None) for words in waiting]
            else:
                ended = run_together(home, data, waiting, call.left())
            # Stages of a group run at once, so each is noted with the seconds of the group.
            for words, finished in zip(waiting, ended, strict=True):
                progress.add(words, time.monotonic() - started, finished)
            if not all(ended):
                return False
        return True

    def is_left_out_of_tiny(self, words: str) -> bool:
        """Whether the tiny form leaves out the stage of these words."""
        return any(part in words for part in self.not_tiny)

    def groups(self) -> list[list[Stage]]:
        """Stages that run at once, in order."""
        groups: list[list[Stage]] = []
        for stage in self.stages:
            if stage.beside:
                groups[-1].append(stage)
            else:
                groups.append([stage])
        return groups

    def prepare(self, state: Path, tiny: bool) -> tuple[Path, Path]:
        """Make the folder that stages run in: parameters, decoders, a link to published texts.

        Args:
            state: folder that stays from call to call.
            tiny: whether for the tiny form, whose overrides are :attr:`tiny`.

        Returns:
            That folder, and the folder of published texts and weights.
        """
        data = self.opened_data(state, tiny).resolve()
        home = state / "home"
        (home / "data").mkdir(parents=True, exist_ok=True)
        params = parameters(self.scale, ROOT)[PARAMS]
        if tiny:
            params = apply_overrides(params, self.tiny)
        (home / PARAMS).write_text(yaml_text(params), encoding="utf-8")
        shutil.copytree(ROOT / DECODERS, home / DECODERS, dirs_exist_ok=True)
        raw = home / "data" / "raw"
        if not raw.is_symlink():
            raw.symlink_to(data)
        return home, data

    def opened_data(self, state: Path, tiny: bool) -> Path:
        """The folder of published texts and weights, or of their stand-ins."""
        if not tiny:
            open_data(ROOT / DATA, self.weights)
            return ROOT / DATA / RAW
        data = state / "stand_ins"
        if not data.is_dir():
            with atomic_write(data) as fresh:
                stand_ins.write(fresh)
        return data

    def report(self, call: Call, progress: "Progress") -> None:
        """Write the seconds of every stage so far into the report, with its floor if finished."""
        call.report.rows.clear()
        for stage in self.stages:
            seconds = progress.seconds(stage.words)
            if not seconds:
                continue
            finished = progress.is_finished(stage.words)
            cost = {}
            if finished and not call.tiny:
                cost = {"operations": stage.operations, "moved": stage.moved}
            call.report.add(stage.words, seconds, finished=finished, **cost)

    def bring_back(self, home: Path, out: Path) -> None:
        """Write records, curves of trainings and archives of texts, so far as there are any."""
        out.mkdir(parents=True, exist_ok=True)
        scores = home / "data" / "scores"
        write_results(out / RECORDS, read_results(scores) if scores.is_dir() else [])
        write_curves(home / "data" / "models", out / CURVES)
        for archive, folder in self.texts.items():
            source = home / "data" / folder
            if source.is_dir():
                compress(source, out / archive)

    def finish(self, out: Path, state: Path, tiny: bool = False) -> None:
        """Run the stages of a processor on the texts that came back, and add their records.

        ``out`` is the folder of what came back; its records are replaced where stages give others.

        Raises:
            BadInput: a card's stage has left no texts there.
        """
        home, data = self.prepare(state, tiny)
        for archive, folder in self.texts.items():
            if not (out / archive).is_file():
                raise BadInput(f"{out / archive}: not there; bring back what the job wrote first")
            target = home / "data" / folder
            if not target.is_dir():
                extract(out / archive, target)
        for words in self.afterwards:
            if not (tiny and self.is_left_out_of_tiny(words)):
                run_stage(home, data, words, None)
        scored = read_results(home / "data" / "scores")
        critics = {record.critic for record in scored}
        of_card = [record for record in read_results(out / RECORDS) if record.critic not in critics]
        write_results(out / RECORDS, [*of_card, *scored])


class Progress:
    """Seconds that each stage has taken in all calls, and whether it is finished."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stages: dict[str, dict[str, Any]] = read_json(path) if path.is_file() else {}

    def add(self, words: str, seconds: float, finished: bool) -> None:
        """Add the seconds that a call spent on a stage."""
        self.stages[words] = {"seconds": self.seconds(words) + seconds, "finished": finished}
        write_json(self.path, self.stages)

    def seconds(self, words: str) -> float:
        """Seconds of a stage so far."""
        return float(self.stages.get(words, {}).get("seconds", 0.0))

    def is_finished(self, words: str) -> bool:
        """Whether a stage has run to its end."""
        return bool(self.stages.get(words, {}).get("finished", False))


def run_stage(home: Path, data: Path, words: str, seconds: float | None) -> bool:
    """Run a stage in this process, or, with ``seconds``, in one that is killed after so many.

    Returns:
        whether it ran to its end.
    """
    if seconds is None:
        from experiments.gpu.stage import run

        run(home, data, words.split())
        return True
    return run_together(home, data, [words], seconds)[0]


def run_together(home: Path, data: Path, stages: Sequence[str], seconds: float) -> list[bool]:
    """Run stages at once, each in a process that is killed when the seconds are over.

    Returns:
        for each, whether it ran to its end.

    Raises:
        BadInput: one failed; the reason stands above.
    """
    # Start all.
    deadline = time.monotonic() + seconds
    processes = []
    for words in stages:
        folders = [str(home.resolve()), str(data)]
        command = [sys.executable, "-m", "experiments.gpu.stage", *folders, *words.split()]
        processes.append(subprocess.Popen(command, cwd=ROOT))
    # Wait for each, until the deadline.
    ended = []
    for process in processes:
        try:
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            ended.append(False)
        else:
            ended.append(True)
    for words, process, finished in zip(stages, processes, ended, strict=True):
        if finished and process.returncode:
            status = process.returncode
            raise BadInput(f"stage {words!r} ended with status {status}; it says why above")
    return ended


def write_curves(models: Path, target: Path) -> None:
    """Write the curves of all trainings into one CSV: model, then columns of ``training.csv``."""
    with atomic_write(target) as fresh, fresh.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("model", "update", "loss", "validation_loss"))
        for path in sorted(models.rglob("training.csv")):
            with path.open(encoding="utf-8", newline="") as curve:
                rows = list(csv.reader(curve))[1:]
            model = str(path.parent.relative_to(models))
            table.writerows([model, *row] for row in rows)


def smollm2_training(updates: float, tokens: float, padded: float) -> dict[str, Any]:
    """Costs of a training of SmolLM2, as arguments of :class:`Stage`.

    Args:
        updates: number of updates.
        tokens: number of tokens, padding left out.
        padded: the same with padding.
    """
    moved = updates * UPDATE_BYTES * SMOLLM2_WEIGHTS
    minutes = padded / TRAINED_A_SECOND / 60
    because = f"{padded:.3g} tokens with padding at {TRAINED_A_SECOND:,} a second (measured)"
    operations = LEARN_OPERATIONS * SMOLLM2_WEIGHTS * tokens
    return {"operations": operations, "moved": moved, "minutes": minutes, "because": because}


def training_from_nothing(
    weights: float, layers: int, updates: float, tokens: float
) -> dict[str, Any]:
    """Costs of training a network of GPT-2's or fairseq's kind, as arguments of :class:`Stage`.

    Args:
        weights: number of its weights.
        layers: number of its layers, by which Python launches kernels.
        updates: number of updates.
        tokens: number of tokens, padding among them.
    """
    multiplied = tokens * weights / (TRAINED_A_SECOND * SMOLLM2_WEIGHTS)
    launched = updates * layers * LAUNCHED_LAYER
    operations = LEARN_OPERATIONS * weights * tokens
    moved = updates * UPDATE_BYTES * weights
    because = f"{tokens:.3g} tokens, of {updates:.0f} updates: the card multiplies {multiplied:.0f}"
    because += f" s at SmolLM2's speed, the host launches {launched:.0f} s (both measured)"
    minutes = max(multiplied, launched) / 60
    return {"operations": operations, "moved": moved, "minutes": minutes, "because": because}


TRAINED_A_SECOND = 129_500  # tokens; measured on one H100, context 2,048, batch 16
# Seconds of an update that Lightning launches, for each layer; measured on one H100 with six layers
# and 8 texts an update: 23.5 ms, where 32 texts took 28.0.
LAUNCHED_LAYER = 0.0235 / 6
