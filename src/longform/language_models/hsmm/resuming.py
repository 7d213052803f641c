"""Checkpoints of a semi-Markov fit: one after each iteration, and every two minutes inside one, each swapped in whole."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from longform.language_models.hsmm.compiled import Expectation
from longform.language_models.hsmm.em import Fit, Iteration, Keeper, Plan
from longform.language_models.hsmm.model import SemiMarkovLM

EVERY = 120.0  # ours: seconds of an iteration that a kill may cost
REPORT_EVERY = 10.0  # seconds between lines of progress
SUMS = "sums.safetensors"


def save_fit(fit: Fit, folder: Path) -> None:
    """Write a fit beside its old version and swap the two, so that a kill leaves one whole checkpoint."""
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fit.model.save(fresh)
    history = [asdict(step) for step in fit.history]
    (fresh / "history.json").write_text(json.dumps(history, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    stale = folder.with_name(folder.name + ".old")
    shutil.rmtree(stale, ignore_errors=True)
    if folder.exists():
        folder.rename(stale)
    fresh.rename(folder)
    shutil.rmtree(stale, ignore_errors=True)


def load_fit(folder: Path, *, num_states: int | None = None, max_duration: int | None = None) -> Fit:
    """Read what :func:`save_fit` wrote, also when it was killed between its two renames.

    Raises:
        BadInput: no checkpoint, or one of another shape.
    """
    stale = folder.with_name(folder.name + ".old")
    folder = folder if folder.exists() or not stale.exists() else stale
    model = SemiMarkovLM.load(folder, num_states=num_states, max_duration=max_duration)
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    return Fit(model, tuple(Iteration(**step) for step in history))


@dataclass
class Kept(Keeper):
    """Saves a fit in a folder and its unfinished iteration in a file beside it, and prints what is left.

    Attributes:
        label: of the lines.
        folder: of the fit.
        plan, num_states: of the fit.
    """

    label: str
    folder: Path
    plan: Plan
    num_states: int
    since: float = field(default_factory=time.monotonic)
    saved: float = field(default_factory=time.monotonic)
    said: float = field(default_factory=time.monotonic)
    resumed: int = 0

    @property
    def fit(self) -> Fit | None:
        """What an earlier process saved."""
        there = self.folder.is_dir() or self.folder.with_name(self.folder.name + ".old").is_dir()
        return load_fit(self.folder) if there else None

    def begun(self, number: int) -> Expectation | None:
        """The saved sums, if they are of this iteration."""
        self.since, self.resumed, path = time.monotonic(), 0, self.folder.with_name(SUMS)
        if not path.is_file():
            return None
        sums = load_file(path)
        of, tokens, lost, blocks = sums["counts"].tolist()
        if of != number:
            return None
        self.resumed = tokens
        return Expectation(sums["transitions"], sums["segments"], float(sums["nats"][0]), tokens, lost, blocks)

    def block(self, number: int, total: Expectation, blocks: int) -> None:
        """Save at most every ``EVERY`` seconds, print at most every ten."""
        now = time.monotonic()
        if now - self.saved > EVERY and total.blocks < blocks:
            counts = np.array([number, total.tokens, total.lost, total.blocks])
            arrays = {"transitions": total.transitions, "segments": total.segments, "counts": counts}
            fresh, path = self.folder.with_name(SUMS + ".new"), self.folder.with_name(SUMS)
            path.parent.mkdir(parents=True, exist_ok=True)
            arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
            save_file({**arrays, "nats": np.array([total.log_likelihood])}, fresh)
            fresh.rename(path)
            self.saved = time.monotonic()
        if now - self.said > REPORT_EVERY:
            self.said, states = now, len(total.transitions)
            speed = (total.tokens - self.resumed) / (now - self.since)
            left = f"iteration {number} of at most {self.plan.iterations}, {total.blocks / blocks:.0%} of its texts"
            minutes = total.tokens * (blocks / total.blocks - 1) / max(speed, 1) / 60
            print(f"{self.label}: {left}, {minutes:.0f} min left of it, {states} states of {self.num_states}, "
                  f"{speed:,.0f} tokens/s", flush=True)  # fmt: skip

    def iteration(self, fit: Fit) -> None:
        """Save the fit, which replaces the sums, and print its line."""
        save_fit(fit, self.folder)
        self.folder.with_name(SUMS).unlink(missing_ok=True)
        self.saved = now = time.monotonic()
        if now - self.said > REPORT_EVERY or fit.history[-1].validation_ppl is not None:
            speed = (fit.history[-1].tokens - self.resumed) / max(now - self.since, 1e-9)
            self.said = now
            print(f"{self.label}: {fit.history[-1].line(speed)}", flush=True)
