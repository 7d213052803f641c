"""``dvc repro`` with several stages at once: ``python -m longform_lab.repro --workers 2``.

The order is DVC's graph, longest way to the end first; the commands run on Dask workers; hashing,
caching and ``dvc.lock`` stay in this process, one stage at a time, as soon as it ends. Afterwards
``dvc repro`` has nothing to do.
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
from longform.extras import exit_if_missing
from longform.files.artefacts import write_json
from longform.terminal import Interrupt
from longform_lab.devices import uses_gpu
from longform_lab.experiment import Experiment
from longform_lab.workers import GPU_PATIENCE, Finished, Workers

with exit_if_missing("study"):
    from dvc.exceptions import DvcException

    from longform_lab.dvc_stages import Pipeline, opened

POLL = 1.0  # seconds between looks for workers that have newly joined, and for a lock that is free
REMINDER = 60.0  # seconds after which a wait for the lock is said again


class Run:
    """One parallel run of a pipeline.

    Args:
        pipeline: the stages and their graph.
        workers: run the stages' commands.
        say: prints a line.
        check_interrupt: raises KeyboardInterrupt if a library has swallowed an interrupt.

    Attributes:
        counts: the number of stages that were run, restored from the cache, unchanged, failed, or
            skipped after the failure of one that they need.
        waiting: for each stage the stages that it still waits for.
        to_check: stages that wait for none, whose state is not known yet.
        to_run: stages that are out of date and may start.
        urgency: see :meth:`_urgency`; the most urgent stages start first.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        workers: Workers,
        say: Callable[[str], None],
        check_interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self.pipeline, self.workers, self.say = pipeline, workers, say
        self.check_interrupt = check_interrupt
        # 1. The state of each stage: it waits for others, may be checked, or may run.
        self.waiting = {stage: set(needs) for stage, needs in pipeline.needs.items()}
        self.to_check = {stage for stage, needs in self.waiting.items() if not needs}
        self.to_run: set[Any] = set()
        self.left = len(pipeline.stages)  # stages that have not ended
        self.counts = dict.fromkeys(("run", "restored", "unchanged", "failed", "skipped"), 0)
        # 2. Names, folders and earlier times of the stages.
        one_file = len({stage.path for stage in pipeline.stages}) == 1
        self.stages: dict[str, Any] = {}  # by DVC's address, path:name
        self.names: dict[Any, str] = {}  # as printed lines call them
        self.folders: dict[Any, Path] = {}  # of each stage's log and seconds.json
        for stage in pipeline.stages:
            self.stages[stage.addressing] = stage
            self.names[stage] = stage.name if one_file else stage.addressing
            self.folders[stage] = Path(stage.path).parent / "scratch" / "repro"
        # seconds that stages took in earlier runs, by folder and stage
        self.seconds = {folder: _seconds(folder) for folder in set(self.folders.values())}
        self.urgency = self._urgency()
        self.experiments: dict[str, Experiment] = {}  # by folder of params.yaml

    def _urgency(self) -> dict[Any, tuple[float, int]]:
        """The seconds that the longest path from each stage to the end of the graph takes.

        Seconds are those of earlier runs. A stage without one counts as the median of the others;
        if no stage has one, each counts as 1.

        Returns:
            For each stage (seconds, -its index), so that of stages with equal seconds the first of
            ``dvc.yaml`` is the most urgent.
        """
        seconds_of_stages = {}
        for stage in self.pipeline.stages:
            seconds = self.seconds[self.folders[stage]].get(stage.name)
            if seconds is not None:
                seconds_of_stages[stage] = seconds
        typical = median(seconds_of_stages.values()) if seconds_of_stages else 1.0
        urgency: dict[Any, tuple[float, int]] = {}
        # From the end of the graph, so that the users of a stage come before it.
        for index, stage in reversed(list(enumerate(self.pipeline.stages))):
            seconds_after = 0.0
            for user in self.pipeline.users[stage]:
                seconds_after = max(seconds_after, urgency[user][0])
            urgency[stage] = (seconds_of_stages.get(stage, typical) + seconds_after, -index)
        return urgency

    def all(self) -> dict[str, int]:
        """Bring all stages up to date, except those that fail and those that need a failed one.

        Each round checks at most one stage and takes the result of at most one, so that workers
        never wait long for the hashing here.

        Returns:
            ``counts``.
        """
        while self.to_check or self.to_run or self.workers.busy:
            self.check_interrupt()
            # 1. Stale stages go to workers before this process hashes the next.
            self._start()
            if self.to_check:
                self._check(max(self.to_check, key=self.urgency.__getitem__))
            # 2. A stage that has ended, with no wait for one while another may be checked.
            if self.workers.busy or self.to_run:
                ended = self.workers.finished(0 if self.to_check else POLL)
                if ended is not None:
                    self._start()  # its worker takes the next stage while this one is hashed
                    address, result = ended
                    self._end(self.stages[address], result)
        return self.counts

    def _start(self) -> None:
        """Give stages that may run to workers that have room, the most urgent first."""
        for stage in sorted(self.to_run, key=self.urgency.__getitem__, reverse=True):
            gpu = self._uses_gpu(stage)
            if self.workers.room(gpu):
                self.to_run.remove(stage)
                with self._failing(stage):
                    job = self.pipeline.begin(stage)
                    log = str(self._log(stage))
                    self.workers.submit(stage.addressing, gpu, **job, log=log)

    def _uses_gpu(self, stage: Any) -> bool:
        """Whether a stage needs a GPU of its own.

        ``meta: {gpu: ...}`` in ``dvc.yaml`` decides; without it the stage's commands do. Where
        parameters cannot be read the answer is no; the stage itself then reports the error.
        """
        meta = (stage.meta or {}).get("gpu")
        if meta is not None:
            return bool(meta)
        if stage.wdir not in self.experiments:
            self.experiments[stage.wdir] = Experiment(Path(stage.wdir))
        commands = stage.cmd if isinstance(stage.cmd, list) else str(stage.cmd).splitlines()
        return any(uses_gpu(command, self.experiments[stage.wdir]) for command in commands)

    def _check(self, stage: Any) -> None:
        """Check one stage: settle it if it is up to date or can be restored, or else let it run."""
        self.to_check.remove(stage)
        with self._failing(stage):
            if self.pipeline.up_to_date(stage):
                self._settle(stage, "unchanged")
            elif self.pipeline.restore(stage):
                self._settle(stage, "restored", "restored from the run cache")
            else:
                self.to_run.add(stage)

    def _end(self, stage: Any, result: Finished | Exception) -> None:
        """Record a stage whose commands have ended, or count it as failed."""
        with self._failing(stage):
            self._raise_if_failed(stage, result)
            assert isinstance(result, Finished)
            self.pipeline.record(stage)
            folder = self.folders[stage]
            self.seconds[folder][stage.name] = round(result.seconds, 2)
            write_json(folder / "seconds.json", self.seconds[folder])
            self._settle(stage, "run", f"{result.seconds:.1f} s")

    def _raise_if_failed(self, stage: Any, result: Finished | Exception) -> None:
        """Raise BadInput where a worker was lost or a command failed."""
        if isinstance(result, Exception):
            raise BadInput(f"its worker was lost ({type(result).__name__}: {result})")
        if result.status in (-signal.SIGINT, 128 + signal.SIGINT):
            # A terminal interrupts all processes, but a library may have swallowed it in this one.
            raise KeyboardInterrupt
        if result.status == 0:
            return
        how = f"exit status {result.status}"
        if result.status < 0:
            how = f"killed ({signal.Signals(-result.status).name})"
        last_line = result.last_lines[-1] if result.last_lines else "it said nothing"
        raise BadInput(f"{how}: {last_line} (all of it: {self._log(stage)})")

    def _log(self, stage: Any) -> Path:
        """The file with the output of a stage's commands."""
        return self.folders[stage] / f"{stage.name}.log"

    def _settle(self, stage: Any, how: str, line: str | None = None) -> None:
        """Count a stage as up to date; its users that wait for no other stage may be checked.

        Args:
            stage: a stage of DVC.
            how: a key of ``counts``.
            line: what is printed of it; nothing by default.
        """
        self.counts[how] += 1
        self.left -= 1
        if line:
            self.say(f"{self.names[stage]}: {line}, {self.left} left")
        for user in self.pipeline.users[stage]:
            # :meth:`_failing` takes users of a failed stage out of ``waiting``: they stay skipped.
            needs = self.waiting.get(user, set())
            if stage in needs:
                needs.remove(stage)
                if not needs:
                    self.to_check.add(user)

    @contextmanager
    def _failing(self, stage: Any) -> Iterator[None]:
        """Catch an error of a stage: print it on one line, and skip all stages that need it."""
        try:
            yield
        except (DvcException, BadInput, OSError) as error:
            self.counts["failed"] += 1
            self.left -= 1
            self.say(f"FAILED {self.names[stage]}: {' '.join(str(error).split())}")
            # Its users, their users, and so on; each is skipped once.
            users = list(self.pipeline.users[stage])
            while users:
                user = users.pop()
                if self.waiting.pop(user, None) is not None:
                    self.counts["skipped"] += 1
                    self.left -= 1
                    self.say(f"skipped {self.names[user]}: it needs {self.names[stage]}")
                    users += self.pipeline.users[user]


def _seconds(folder: Path) -> dict[str, float]:
    """Seconds that the stages of a folder took in earlier runs.

    Only the order of stages depends on them.

    Args:
        folder: with ``seconds.json``.

    Returns:
        By the name of the stage; empty in the first run, and where the file is no JSON object.
    """
    try:
        seconds = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return seconds if isinstance(seconds, dict) else {}


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _waiting(say: Callable[[str], None]) -> Callable[[], None]:
    """Make a function that waits ``POLL`` seconds for another process to free DVC's lock.

    Its first call prints that it waits, and so does the first after each ``REMINDER`` seconds.
    """
    reminded = -REMINDER

    def wait() -> None:
        nonlocal reminded
        if time.monotonic() - reminded >= REMINDER:
            reminded = time.monotonic()
            say("another run, or dvc, is at work in this folder; waiting for its end")
        time.sleep(POLL)

    return wait


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.repro", description=__doc__)
    parser.add_argument(
        "targets", nargs="*", help="as for dvc repro: files or stages; by default dvc.yaml"
    )
    parser.add_argument(
        "--workers", type=int, default=cores(), help="local processes; default: as many as cores"
    )
    parser.add_argument(
        "--gpus", type=int, default=0, help="so many of the local processes get one GPU each"
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a running Dask scheduler, instead of local processes",
    )
    parser.add_argument(
        "--scheduler-file",
        type=Path,
        metavar="FILE",
        help="of a Dask scheduler, instead of its address; waited for",
    )
    parser.add_argument(
        "--gpu-patience",
        type=float,
        default=GPU_PATIENCE,
        metavar="SECONDS",
        help="wait so long for another GPU worker where the last one was lost, then go on without",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Bring the targets up to date.

    Args:
        arguments: of the command; by default the program's.

    Returns:
        0; 1 if a stage failed; 2, after one sentence, for what DVC or the scheduler refuses; 130
        after an interrupt.
    """
    command = parser()
    options = command.parse_args(arguments)
    # 1. Options that do not go together.
    if options.workers < 1 or not 0 <= options.gpus <= options.workers:
        command.error(
            f"--workers {options.workers} --gpus {options.gpus}: at least one worker, "
            "and no more GPUs than workers"
        )
    if options.scheduler == "" or options.scheduler_file == Path(""):
        command.error(
            "the scheduler's address is empty; is the scheduler running, "
            "and has it written its file yet?"
        )
    if options.scheduler and options.scheduler_file:
        command.error("--scheduler and --scheduler-file name a scheduler twice; give one of them")
    # 2. The run.
    logging.getLogger("dvc").setLevel(logging.ERROR)  # one line per stage is said here
    interrupt = Interrupt()
    interrupt.ends_at_once = False
    signal.signal(signal.SIGTERM, interrupt.hear)
    say = partial(print, flush=True)
    start = time.monotonic()
    try:
        workers = Workers(
            count=options.workers,
            gpus=options.gpus,
            address=options.scheduler,
            scheduler_file=options.scheduler_file,
            gpu_patience=options.gpu_patience,
            say=say,
        )
        targets = options.targets or ["dvc.yaml"]
        with (
            interrupt,
            closing(workers),
            opened(Path("."), targets, _waiting(say)) as pipeline,
        ):
            counts = Run(pipeline, workers, say, interrupt.check).all()
    except (DvcException, BadInput, OSError) as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("longform: interrupted; what had finished is kept, run again", file=sys.stderr)
        return 130
    # 3. The summary.
    shown = []
    for how, count in counts.items():
        if count or how == "run":
            shown.append(f"{count} {how}")
    seconds = time.monotonic() - start
    say(f"{sum(counts.values())} stages: {', '.join(shown)}; {seconds:.1f} s")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
