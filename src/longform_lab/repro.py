"""``dvc repro`` with several stages at once: ``python -m longform_lab.repro --workers 2``.

The order is DVC's graph, longest way to the end first; the commands run on Dask workers; hashing, caching and
``dvc.lock`` stay in this process, one stage at a time, as soon as it ends. Afterwards ``dvc repro`` has nothing to do.
"""

import argparse
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from longform.errors import BadInput
from longform.extras import told
from longform.files.artefacts import write_json
from longform_lab.devices import uses_gpu
from longform_lab.experiment import Experiment
from longform_lab.workers import GPU_PATIENCE, Finished, Workers

with told("study"):
    from dvc.exceptions import DvcException

    from longform_lab.dvc_stages import Pipeline, opened

POLL = 1.0  # seconds between looks for workers that have newly joined, and for a lock that is free
REMINDER = 60.0  # seconds after which a wait for the lock is said again


class Run:
    """One parallel run: what waits, what may start, what has ended."""

    def __init__(self, pipeline: Pipeline, workers: Workers, say: Callable[[str], None]) -> None:
        self.pipeline, self.workers, self.say = pipeline, workers, say
        self.waiting = {stage: set(needs) for stage, needs in pipeline.needs.items()}
        self.to_check = {stage for stage, needs in self.waiting.items() if not needs}
        self.to_run: set[Any] = set()
        self.stages = {stage.addressing: stage for stage in pipeline.stages}
        self.folders = {
            stage: Path(stage.path).parent / "scratch" / "repro" for stage in pipeline.stages
        }
        self.seconds = {folder: _seconds(folder) for folder in set(self.folders.values())}
        self.urgency = self._urgency()
        one_file = len({stage.path for stage in pipeline.stages}) == 1
        self.called = {
            stage: stage.name if one_file else stage.addressing for stage in pipeline.stages
        }
        self.experiments: dict[str, Experiment] = {}  # by folder of params.yaml
        self.left = len(self.stages)
        self.counts = dict.fromkeys(("run", "restored", "unchanged", "failed", "skipped"), 0)

    def _urgency(self) -> dict[Any, tuple[float, int]]:
        """Longest way from each stage to the end of the graph in seconds of the last run; stages without one count as typical.

        Without any earlier run it is the number of stages on the way. Ties go to the stage that stands first in ``dvc.yaml``.
        """
        last = {
            stage: self.seconds[self.folders[stage]].get(stage.name)
            for stage in self.pipeline.stages
        }
        known = [seconds for seconds in last.values() if seconds is not None]
        typical = median(known) if known else 1.0
        height: dict[Any, tuple[float, int]] = {}
        for index, stage in reversed(list(enumerate(self.pipeline.stages))):
            seconds = last[stage]
            behind = max((height[user][0] for user in self.pipeline.users[stage]), default=0.0)
            height[stage] = ((typical if seconds is None else seconds) + behind, -index)
        return height

    def all(self) -> dict[str, int]:
        """Bring every stage up to date that can be; returns how many ended how."""
        while self.to_check or self.to_run or self.workers.busy:
            self._start()
            if self.to_check:
                self._check(max(self.to_check, key=self.urgency.__getitem__))
            ended = (
                self.workers.finished(0 if self.to_check else POLL)
                if self.workers.busy or self.to_run
                else None
            )
            if ended is not None:
                self._start()  # its worker need not wait for hashing
                self._end(self.stages[ended[0]], ended[1])
        return self.counts

    def _start(self) -> None:
        for stage in sorted(self.to_run, key=self.urgency.__getitem__, reverse=True):
            gpu = self._uses_gpu(stage)
            if self.workers.room(gpu):
                self.to_run.remove(stage)
                with self._failing(stage):
                    self.workers.submit(
                        stage.addressing,
                        gpu,
                        **self.pipeline.begin(stage),
                        log=str(self._log(stage)),
                    )

    def _uses_gpu(self, stage: Any) -> bool:
        """Whether a stage is to have a GPU of its own: what its ``meta: {gpu: true}`` says in ``dvc.yaml``, else what it runs."""
        stated = (stage.meta or {}).get("gpu")
        if stated is not None:
            return bool(stated)
        if stage.wdir not in self.experiments:
            self.experiments[stage.wdir] = Experiment(Path(stage.wdir))
        commands = stage.cmd if isinstance(stage.cmd, list) else str(stage.cmd).splitlines()
        return any(uses_gpu(command, self.experiments[stage.wdir]) for command in commands)

    def _check(self, stage: Any) -> None:
        self.to_check.remove(stage)
        with self._failing(stage):
            if self.pipeline.up_to_date(stage):
                self._settle(stage, "unchanged")
            elif self.pipeline.restore(stage):
                self._settle(stage, "restored", "restored from the run cache")
            else:
                self.to_run.add(stage)

    def _end(self, stage: Any, ended: Finished | Exception) -> None:
        with self._failing(stage):
            if isinstance(ended, Exception):
                raise BadInput(f"its worker was lost ({type(ended).__name__}: {ended})")
            if ended.status in (-signal.SIGINT, 128 + signal.SIGINT):
                raise KeyboardInterrupt  # a terminal tells all processes; a library that was running here may have lost it
            if ended.status:
                last = ended.said[-1] if ended.said else "it said nothing"
                killed = (
                    f"killed ({signal.Signals(-ended.status).name})" if ended.status < 0 else ""
                )
                raise BadInput(
                    f"{killed or f'exit status {ended.status}'}: {last} (all of it: {self._log(stage)})"
                )
            self.pipeline.record(stage)
            folder = self.folders[stage]
            self.seconds[folder][stage.name] = round(ended.seconds, 2)
            write_json(folder / "seconds.json", self.seconds[folder])
            self._settle(stage, "run", f"{ended.seconds:.1f} s")

    def _log(self, stage: Any) -> Path:
        return self.folders[stage] / f"{stage.name}.log"

    def _settle(self, stage: Any, how: str, told: str | None = None) -> None:
        self.counts[how] += 1
        self.left -= 1
        if told:
            self.say(f"{self.called[stage]}: {told}, {self.left} left")
        for user in self.pipeline.users[stage]:
            needs = self.waiting.get(user, set())  # a skipped user waits for nothing any more
            if stage in needs:
                needs.remove(stage)
                if not needs:
                    self.to_check.add(user)

    @contextmanager
    def _failing(self, stage: Any) -> Iterator[None]:
        """What goes wrong with a stage is told in one line and costs those that need it, no other."""
        try:
            yield
        except (DvcException, BadInput, OSError) as error:
            self.counts["failed"] += 1
            self.left -= 1
            self.say(f"FAILED {self.called[stage]}: {' '.join(str(error).split())}")
            reached = list(self.pipeline.users[stage])
            while reached:
                user = reached.pop()
                if self.waiting.pop(user, None) is not None:
                    self.counts["skipped"] += 1
                    self.left -= 1
                    self.say(f"skipped {self.called[user]}: it needs {self.called[stage]}")
                    reached += self.pipeline.users[user]


def _seconds(folder: Path) -> dict[str, float]:
    """Seconds that stages took in earlier runs; none in the first one or in a file edited by hand: only the order needs them."""
    try:
        seconds = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return seconds if isinstance(seconds, dict) else {}


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _waiting(say: Callable[[str], None]) -> Callable[[], None]:
    """Waits for another process that holds the lock, and says so, the first time and now and then."""
    said = -REMINDER

    def wait() -> None:
        nonlocal said
        if time.monotonic() - said >= REMINDER:
            said = time.monotonic()
            say("another run, or dvc, is at work in this folder; waiting for its end")
        time.sleep(POLL)

    return wait


def main(arguments: list[str] | None = None) -> int:
    """Bring the targets up to date: 1 if a stage failed; what DVC or the scheduler refuses is one sentence and 2."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.repro", description=__doc__)
    add = parser.add_argument
    add("targets", nargs="*", help="as for dvc repro: files or stages; by default dvc.yaml")
    add("--workers", type=int, default=cores(), help="local processes; default: as many as cores")
    add("--gpus", type=int, default=0, help="so many of the local processes get one GPU each")
    add(
        "--scheduler",
        metavar="ADDRESS",
        help="of a running Dask scheduler, instead of local processes",
    )
    add(
        "--scheduler-file",
        type=Path,
        metavar="FILE",
        help="of a Dask scheduler, instead of its address; waited for",
    )
    add("--gpu-patience", type=float, default=GPU_PATIENCE, metavar="SECONDS",
        help="wait so long for another GPU worker where the last one was lost, then go on without")  # fmt: skip
    chosen = parser.parse_args(arguments)
    if chosen.workers < 1 or not 0 <= chosen.gpus <= chosen.workers:
        asked = f"--workers {chosen.workers} --gpus {chosen.gpus}"
        parser.error(f"{asked}: at least one worker, and no more GPUs than workers")
    if chosen.scheduler == "" or chosen.scheduler_file == Path(""):
        parser.error(
            "the scheduler's address is empty; is the scheduler running, and has it written its file yet?"
        )
    if chosen.scheduler and chosen.scheduler_file:
        parser.error("--scheduler and --scheduler-file name a scheduler twice; give one of them")
    logging.getLogger("dvc").setLevel(logging.ERROR)  # one line per stage is said here
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    say, begun = partial(print, flush=True), time.monotonic()
    try:
        workers = Workers(
            chosen.workers,
            chosen.gpus,
            chosen.scheduler,
            chosen.scheduler_file,
            chosen.gpu_patience,
            say,
        )
        targets, busy = chosen.targets or ["dvc.yaml"], _waiting(say)
        with closing(workers), opened(Path("."), targets, busy) as pipeline:
            counts = Run(pipeline, workers, say).all()
    except (DvcException, BadInput, OSError) as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("longform: interrupted; what had finished is kept, run again", file=sys.stderr)
        return 130
    ended = ", ".join(f"{count} {how}" for how, count in counts.items() if count or how == "run")
    say(f"{sum(counts.values())} stages: {ended}; {time.monotonic() - begun:.1f} s")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
