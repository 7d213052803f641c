"""``dvc repro`` with several stages at once: ``python -m longform.pipeline.repro --workers 2``.

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
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from longform.core.artefacts import write_json
from longform.core.documents import BadInput
from longform.extras import told
from longform.pipeline.workers import Finished, Workers

with told("study"):
    from dvc.exceptions import DvcException

    from longform.pipeline.dvc_stages import Pipeline, opened

ON_GPU = ("language_model", "generate", "complete", "decode", "train", "read")  # the stages that may import torch
POLL = 1.0  # seconds between looks for workers that have newly joined


class Run:
    """One parallel run: what waits, what may start, what has ended."""

    def __init__(self, pipeline: Pipeline, workers: Workers, times: "Times", say: Callable[[str], None]) -> None:
        self.pipeline, self.workers, self.times, self.say = pipeline, workers, times, say
        self.waiting = {stage: set(needs) for stage, needs in pipeline.needs.items()}
        self.urgency = heights(pipeline, times)
        self.to_check = {stage for stage, needs in self.waiting.items() if not needs}
        self.to_run: set[Any] = set()
        self.stages = {stage.addressing: stage for stage in pipeline.stages}
        one_file = len({stage.path for stage in pipeline.stages}) == 1
        self.called = {stage: stage.name if one_file else stage.addressing for stage in pipeline.stages}
        self.left = len(self.stages)
        self.counts = dict.fromkeys(("run", "restored", "unchanged", "failed", "skipped"), 0)

    def all(self) -> dict[str, int]:
        """Bring every stage up to date that can be; returns how many ended how."""
        while self.to_check or self.to_run or self.workers.busy:
            self._start()
            if self.to_check:
                self._check(self._most_urgent(self.to_check))
            ended = self.workers.finished(0 if self.to_check else POLL) if self.workers.busy or self.to_run else None
            if ended is not None:
                self._start()  # its worker need not wait for hashing
                self._end(self.stages[ended[0]], ended[1])
        return self.counts

    def _most_urgent(self, stages: set[Any]) -> Any:
        return max(stages, key=lambda stage: self.urgency[stage])

    def _start(self) -> None:
        for stage in sorted(self.to_run, key=lambda stage: self.urgency[stage], reverse=True):
            gpu = stage.name.startswith(ON_GPU)
            if self.workers.room(gpu):
                self.to_run.remove(stage)
                self._begin(stage, gpu)

    def _begin(self, stage: Any, gpu: bool) -> None:
        try:
            job = self.pipeline.begin(stage)
        except DvcException as error:
            return self._fail(stage, str(error))
        self.workers.submit(stage.addressing, gpu, **job, log=str(self.times.log(stage)))

    def _check(self, stage: Any) -> None:
        self.to_check.remove(stage)
        try:
            if self.pipeline.up_to_date(stage):
                self._settle(stage, "unchanged")
            elif self.pipeline.restore(stage):
                self._settle(stage, "restored", f"{self.called[stage]}: restored from the run cache")
            else:
                self.to_run.add(stage)
        except (DvcException, BadInput, OSError) as error:
            self._fail(stage, str(error))

    def _end(self, stage: Any, ended: Finished | Exception) -> None:
        if isinstance(ended, Exception):
            return self._fail(stage, f"its worker was lost ({type(ended).__name__}: {ended})")
        if ended.status in (-signal.SIGINT, 128 + signal.SIGINT):
            raise KeyboardInterrupt  # a terminal tells all processes; a library that was running here may have lost it
        if ended.status:
            last = ended.said[-1] if ended.said else "it said nothing"
            how = (
                f"exit status {ended.status}" if ended.status > 0 else f"killed ({signal.Signals(-ended.status).name})"
            )
            return self._fail(stage, f"{how}: {last} (all of it: {self.times.log(stage)})")
        try:
            self.pipeline.record(stage)
        except (DvcException, BadInput, OSError) as error:
            return self._fail(stage, str(error))
        self.times.note(stage, ended.seconds)
        self._settle(stage, "run", f"{self.called[stage]}: {ended.seconds:.1f} s")

    def _settle(self, stage: Any, how: str, line: str | None = None) -> None:
        self.counts[how] += 1
        self.left -= 1
        if line:
            self.say(f"{line}, {self.left} left")
        for user in self.pipeline.users[stage]:
            needs = self.waiting.get(user, set())  # a skipped user waits for nothing any more
            if stage in needs:
                needs.remove(stage)
                if not needs:
                    self.to_check.add(user)

    def _fail(self, stage: Any, why: str) -> None:
        self.counts["failed"] += 1
        self.left -= 1
        self.say(f"FAILED {self.called[stage]}: {' '.join(why.split())}")
        reached = list(self.pipeline.users[stage])
        while reached:
            user = reached.pop()
            if self.waiting.pop(user, None) is not None:
                self.counts["skipped"] += 1
                self.left -= 1
                self.say(f"skipped {self.called[user]}: it needs {self.called[stage]}")
                reached += self.pipeline.users[user]


class Times:
    """Seconds that stages took in earlier runs, and where their logs lie: ``scratch/repro/`` beside their ``dvc.yaml``."""

    def __init__(self) -> None:
        self._seconds: dict[Path, dict[str, float]] = {}

    def of(self, stage: Any) -> float | None:
        """Seconds of the stage's last run, if it had one here."""
        return self._known(stage).get(stage.name)

    def note(self, stage: Any, seconds: float) -> None:
        """Keep the seconds of a run for the next one."""
        self._known(stage)[stage.name] = round(seconds, 2)
        write_json(self._folder(stage) / "seconds.json", self._known(stage))

    def log(self, stage: Any) -> Path:
        """Where the stage's output is written while it runs."""
        return self._folder(stage) / f"{stage.name}.log"

    def _folder(self, stage: Any) -> Path:
        return Path(stage.path).parent / "scratch" / "repro"

    def _known(self, stage: Any) -> dict[str, float]:
        folder = self._folder(stage)
        if folder not in self._seconds:
            try:
                self._seconds[folder] = dict(json.loads((folder / "seconds.json").read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError):  # the first run, or a file edited by hand: only the order needs it
                self._seconds[folder] = {}
        return self._seconds[folder]


def heights(pipeline: Pipeline, times: Times) -> Mapping[Any, tuple[float, int]]:
    """Longest way from each stage to the end of the graph in seconds of the last run; stages without one count as typical.

    Without any earlier run it is the number of stages on the way. Ties go to the stage that stands first in ``dvc.yaml``.
    """
    known = {stage: times.of(stage) for stage in pipeline.stages}
    measured = [seconds for seconds in known.values() if seconds is not None]
    typical = median(measured) if measured else 1.0
    height: dict[Any, float] = {}
    for stage in reversed(pipeline.stages):
        seconds = known[stage]
        own = typical if seconds is None else seconds
        height[stage] = own + max((height[user] for user in pipeline.users[stage]), default=0.0)
    return {stage: (height[stage], -index) for index, stage in enumerate(pipeline.stages)}


def reproduce(folder: Path, targets: list[str], workers: Workers, say: Callable[[str], None]) -> int:
    """Bring the targets up to date; returns the exit status: 1 if a stage failed."""
    begun = time.monotonic()
    try:
        with opened(folder, targets) as pipeline:
            counts = Run(pipeline, workers, Times(), say).all()
    finally:
        workers.close()
    told = ", ".join(f"{count} {how}" for how, count in counts.items() if count or how == "run")
    say(f"{sum(counts.values())} stages: {told}; {time.monotonic() - begun:.1f} s")
    return 1 if counts["failed"] else 0


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to run and on which workers."""
    parser.add_argument("targets", nargs="*", help="as for dvc repro: files or stages; by default dvc.yaml")
    parser.add_argument("--workers", type=int, default=cores(), help="local processes; default: as many as cores")
    parser.add_argument("--gpus", type=int, default=0, help="so many of the local processes get one GPU each")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a running Dask scheduler, instead of local processes"
    )


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, and tell what DVC or the scheduler refuses in one sentence (exit status 2)."""
    parser = argparse.ArgumentParser(prog="python -m longform.pipeline.repro", description=__doc__)
    add_options(parser)
    chosen = parser.parse_args(arguments)
    if chosen.workers < 1 or not 0 <= chosen.gpus <= chosen.workers:
        parser.error(
            f"--workers {chosen.workers} --gpus {chosen.gpus}: at least one worker, and no more GPUs than workers"
        )
    targets = chosen.targets or ["dvc.yaml"]
    logging.getLogger("dvc").setLevel(logging.ERROR)  # one line per stage is said here
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        workers = Workers(chosen.workers, chosen.gpus, chosen.scheduler)
        return reproduce(Path("."), targets, workers, lambda line: print(line, flush=True))
    except (DvcException, BadInput, OSError) as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("longform: interrupted; what had finished is kept, run again", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
