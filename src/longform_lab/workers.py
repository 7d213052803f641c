"""Dask's side of a parallel run: workers that run the commands of stages, here or on a cluster.

A worker keeps a process that has the heavy libraries loaded and forks one child a stage: importing
them costs seconds, forking does not. It runs nothing itself and starts no thread, so a child, which
forgets our own modules, is what a fresh ``python -m longform_lab`` would be after its imports. A
request is one line of JSON on standard input, its answer the child's exit status on standard
output.
"""

import gc
import importlib
import json
import logging
import math
import os
import queue
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.errors import BadInput
from longform.processes import die_with_parent
from longform_lab.source_code import PACKAGES

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
NOT_PLAIN = re.compile(r"[;&|<>()$`\\*?\n]")  # needs a shell that stays
STAGE = re.compile(r"PYTHONPATH=src python -m longform_lab (\w[\w ]*)")
# A worker waits for one stage: profiling itself and ticking took 4 % of its core.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "60s",
}
# With scipy.stats, matplotlib and torch._dynamo, which these import; none starts a thread.
LIBRARIES = (
    "torch",
    "transformers.models.gpt2.modeling_gpt2",
    "pytorch_lightning",
    "sklearn.linear_model",
    "numba",
    "pydantic",
)
GONE = "the Dask scheduler is gone; what had finished is kept, run again"
CLOSING = 30.0  # seconds that workers have to end
GPU_PATIENCE = 60.0  # seconds; a nanny puts a new worker in the place of a killed one within a few
SCHEDULER_PATIENCE = 600.0  # seconds that a scheduler's file is waited for
REMINDER = 60.0  # seconds between two lines about the same waiting
# Of a worker: Ctrl-C is the run's to answer, in one sentence.
IGNORE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class Warm:
    """The process that has libraries loaded, seen from a worker; it starts with the first stage.

    Args:
        environment: its environment variables.
        libraries: the modules that it loads.
    """

    def __init__(self, environment: Mapping[str, str], libraries: Sequence[str]) -> None:
        self._environment, self._libraries = dict(environment), libraries
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], folder: str, environment: Mapping[str, str], log: str
    ) -> int | None:
        """Run ``python -m longform_lab ARGUMENTS`` in a folder with ``src``.

        Its output is added to the file ``log``.

        Returns:
            its exit status, or None where the process is gone.
        """
        request = {
            "arguments": list(arguments),
            "folder": folder,
            "environment": dict(environment),
            "log": log,
        }
        if self._process is None:
            command = [sys.executable, "-m", "longform_lab.workers", *self._libraries]
            pipes: dict[str, Any] = {
                "stdin": subprocess.PIPE,
                "stdout": subprocess.PIPE,
                "text": True,
            }
            self._process = subprocess.Popen(
                command, env=self._environment, preexec_fn=die_with_parent, **pipes
            )
        assert self._process.stdin and self._process.stdout
        answer = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            self.close()
            return None
        return int(answer)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def serve(libraries: Sequence[str]) -> None:
    """Load the libraries, then fork a child for every request until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    for library in libraries:
        importlib.import_module(library)
    gc.freeze()  # so that a child's collector does not copy what it shares
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            os.close(answers)
            return _stage(request)
        _, status = os.waitpid(child, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _stage(request: Mapping[str, Any]) -> None:
    """In the child: stand where a fresh process would stand, and run the stage."""
    die_with_parent()
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["longform_lab", *request["arguments"]]
    sys.path[0] = request["folder"]
    sys.path.insert(1, os.path.join(request["folder"], "src"))
    # The stage's own folder has the source that it runs.
    for name in list(sys.modules):
        if name.split(".")[0] in PACKAGES:
            del sys.modules[name]
    runpy.run_module("longform_lab", run_name="__main__", alter_sys=True)


# This worker's processes that run nothing; a worker of several threads runs as many at once.
_idle: list[Warm] = []


@dataclass(frozen=True)
class Finished:
    """How a stage's commands ended: exit status, seconds, and the last lines that they wrote."""

    status: int
    seconds: float
    last_lines: tuple[str, ...]


def run_commands(
    commands: Sequence[str], folder: str, variables: Mapping[str, str], log: str
) -> Finished:
    """Run commands one after the other, with one thread each, until one fails.

    It runs in a Dask worker. The process dies with the worker (on Linux), so that a stage that Dask
    starts again does not meet itself.

    Args:
        commands: as ``dvc.yaml`` has them.
        folder: in which they run.
        variables: of the environment, that DVC sets.
        log: the file that gets what they print.
    """
    # The commands run as in this environment, up to the first that fails.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**dict.fromkeys(THREADS, "1"), **os.environ, **variables, "PATH": path}
    start = time.monotonic()
    status = 0
    log_file = Path(log)
    log_file.parent.mkdir(parents=True, exist_ok=True)
    log_file.write_text("")
    for command in commands:
        warm_status = _run_warm(command, folder, environment, log)
        if warm_status is None:
            status = _run_in_shell(command, folder, environment, log_file)
        else:
            status = warm_status
        if status:
            break
    lines = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return Finished(status, time.monotonic() - start, tuple(lines[-5:]))


def _run_in_shell(command: str, folder: str, environment: Mapping[str, str], log: Path) -> int:
    """Exit status of a command; what it prints is added to a file."""
    # A plain command takes the place of its shell, so that a signal reaches it.
    line = command if NOT_PLAIN.search(command) else f"exec env {command}"
    with log.open("a", encoding="utf-8") as output:
        return subprocess.call(
            ["/bin/sh", "-c", line],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,
        )


def _run_warm(command: str, folder: str, environment: Mapping[str, str], log: str) -> int | None:
    """Exit status of a stage, from a process that has the heavy libraries.

    None for any other command, and where the process is gone.
    """
    stage = STAGE.fullmatch(command.strip())
    # Elsewhere than on Linux libraries may have threads that a fork does not survive.
    if stage is None or sys.platform != "linux":
        return None
    stage_environment = {**environment, "PYTHONPATH": "src"}
    try:
        warm = _idle.pop()
    except IndexError:
        source = str(Path(__file__).parents[1])
        warm = Warm({**environment, "PYTHONPATH": source}, LIBRARIES)
    try:
        return warm.run(stage[1].split(), folder, stage_environment, log)
    finally:
        _idle.append(warm)


@dataclass
class _Running:
    """A stage that was handed to the workers."""

    future: Any
    job: Mapping[str, Any]
    pinned: bool  # whether it waits for a worker with a GPU and holds that GPU


class Workers:
    """Slots on Dask workers: of a local cluster of processes unless a scheduler is named.

    Nothing starts before it is needed.

    Args:
        count: local worker processes, one stage each.
        gpus: the first so many of them see one GPU each (resource ``GPU``), the others none.
        address: of a running scheduler, whose workers share this file system.
        scheduler_file: what ``dask scheduler --scheduler-file`` writes, in place of the address; it
            is waited for.
        gpu_patience: seconds without any worker with a GPU after which stages that hold one go to
            other workers.
        say: gets a line when workers join or are lost, and about waiting.
    """

    def __init__(
        self,
        count: int = 1,
        gpus: int = 0,
        address: str | None = None,
        scheduler_file: Path | None = None,
        gpu_patience: float = GPU_PATIENCE,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._count, self._gpus = count, gpus
        self._address, self._scheduler_file = address, scheduler_file
        self._gpu_patience, self._say = gpu_patience, say
        self._client: Any = None
        self._cluster: Any = None
        self._running: dict[str, _Running] = {}
        self._ended: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._addresses: set[str] | None = None  # of the workers at the last look
        self._gpus_there = 0  # at the last look
        self._gpu_seen = -math.inf  # when a worker with a GPU was last there
        self._waiting_said = -math.inf

    def room(self, gpu: bool) -> bool:
        """Whether a stage could start now.

        One that uses a GPU waits for a free one where the workers have any.
        """
        slots, gpus = self._look()
        pinned = sum(stage.pinned for stage in self._running.values())
        others = len(self._running) - pinned
        if others + min(pinned, gpus) >= slots:  # what waits for a lost GPU takes no slot
            return False
        return not gpu or not self._uses_gpus() or pinned < gpus

    def submit(self, name: str, gpu: bool, **job: Any) -> None:
        """Start a stage's :func:`run_commands` on a worker."""
        self._look()
        self._hand_over(name, job, pinned=gpu and self._uses_gpus())

    def _hand_over(self, name: str, job: Mapping[str, Any], pinned: bool) -> None:
        """Let the scheduler choose a worker, one with a free GPU where the stage is pinned."""
        resources = {"resources": {"GPU": 1}} if pinned else {}
        key = f"{name} {time.time_ns()}"
        future = self._client.submit(run_commands, **job, key=key, pure=False, **resources)
        self._running[name] = _Running(future, job, pinned)
        future.add_done_callback(lambda ended: self._ended.put((name, ended)))

    @property
    def busy(self) -> bool:
        """Whether a stage is running."""
        return bool(self._running)

    def finished(self, seconds: float) -> tuple[str, Finished | Exception] | None:
        """The next stage that ends within some seconds.

        Returns:
            its name and how it ended: an exception when its worker was lost for good. None where no
            stage ends in that time.

        Raises:
            BadInput: the scheduler is gone.
        """
        try:
            name, future = self._ended.get(timeout=seconds) if seconds else self._ended.get_nowait()
        except queue.Empty:
            if self._client is not None:
                self._look()
            return None
        stage = self._running.get(name)
        if stage is None or stage.future.key != future.key:
            return None  # it was cancelled here and handed over again
        if stage.future.cancelled():
            # Nobody here cancelled it: the scheduler that knew it is not there any more.
            raise BadInput(GONE)
        del self._running[name]
        try:
            return name, stage.future.result()
        except Exception as error:  # whatever took the worker away
            return name, error

    def close(self) -> None:
        """Stop local workers, and with them the stages that still run.

        A worker that does not answer is not waited for beyond ``CLOSING`` seconds: it ends with
        this process.
        """
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(TimeoutError):
                    part.close(timeout=CLOSING)

    def _look(self) -> tuple[int, int]:
        """Stages that all workers of the moment run at once, and their GPUs.

        Raises:
            BadInput: the scheduler is gone.
        """
        if self._client is None:
            self._connect()
        workers = self._connected_workers()
        slots = sum(worker["nthreads"] for worker in workers.values())
        gpus = int(sum(worker["resources"].get("GPU", 0) for worker in workers.values()))
        self._report_changes(workers, slots, gpus)
        self._gpus_there = gpus
        if gpus:
            self._gpu_seen = time.monotonic()
        elif not self._uses_gpus():
            self._release_pinned()
        return slots, gpus

    def _connected_workers(self) -> Mapping[str, Any]:
        """What the scheduler knows of each worker. Raises BadInput: the scheduler is gone."""
        if self._client.status != "running":
            raise BadInput(GONE)
        try:
            # Directly, since ``scheduler_info`` answers from a cache that another task fills
            # without the workers.
            identity = self._client.sync(self._client.scheduler.identity, n_workers=-1)
        except OSError as error:  # Dask's closed connections are of this kind
            raise BadInput(GONE) from error
        return identity["workers"]

    def _report_changes(self, workers: Mapping[str, Any], slots: int, gpus: int) -> None:
        """Say who joined, who was lost, and every ``REMINDER`` seconds that there is nobody."""
        present = set(workers)
        now = f"{len(present)} workers, {slots} stages at once, {gpus} GPUs"
        if self._addresses is None:
            if not self._cluster:
                self._say(f"scheduler {self._client.scheduler.address}: {now}")
        else:
            for address in sorted(self._addresses - present):
                self._say(f"worker {address} is lost; what it ran starts again on another; {now}")
            for address in sorted(present - self._addresses):
                self._say(f"worker {address} joined; {now}")
        self._addresses = present
        if not present and time.monotonic() - self._waiting_said > REMINDER:
            self._waiting_said = time.monotonic()
            self._say("no worker is connected to the scheduler; waiting for one")

    def _uses_gpus(self) -> bool:
        """Whether a worker with a GPU is there, or was there a short time ago."""
        return self._gpus_there > 0 or time.monotonic() - self._gpu_seen < self._gpu_patience

    def _release_pinned(self) -> None:
        """Hand stages that wait for a lost GPU to workers without one."""
        for name, stage in list(self._running.items()):
            if stage.pinned:
                waited = f"no worker with a GPU for {self._gpu_patience:.0f} s"
                self._say(f"{name}: {waited}; it runs on another worker now")
                stage.future.cancel()
                self._hand_over(name, stage.job, pinned=False)

    def _connect(self) -> None:
        """Find the scheduler, or start one with local workers.

        Raises:
            BadInput: the scheduler's address is none, or it does not answer.
        """
        from distributed import Client

        # A lost connection is said here, in one line.
        for part in ("client", "core", "comm", "batched"):
            logging.getLogger(f"distributed.{part}").setLevel(logging.CRITICAL)
        address = self._address
        if self._scheduler_file is not None:
            address = self._announced(self._scheduler_file)
        if not address:
            self._cluster = self._local_cluster()
        try:
            self._client = Client(address or self._cluster)
        except ValueError as error:
            raise BadInput(
                f"scheduler {address!r}: {error}; an address is tcp://host:port"
            ) from error
        except OSError as error:
            advice = "is it running, and of this run where a file named it?"
            raise BadInput(f"scheduler {address!r} does not answer ({error}); {advice}") from error

    def _local_cluster(self) -> Any:
        """A scheduler and workers on this machine."""
        import dask
        from distributed import Nanny, Scheduler, SpecCluster

        dask.config.set(QUIET)  # the workers take it over
        workers = {}
        for index in range(self._count):
            options: dict[str, Any] = {
                "nthreads": 1,
                "memory_limit": 0,  # the memory of a stage is its own affair: Dask watches none
                "dashboard_address": None,
                "preload": [IGNORE_CTRL_C],
                "silence_logs": 50,
                "env": {},
                "resources": {},
            }
            if self._gpus:
                options["env"] = {"CUDA_VISIBLE_DEVICES": ""}
            if index < self._gpus:
                options["env"] = {"CUDA_VISIBLE_DEVICES": str(index)}
                options["resources"] = {"GPU": 1}
            workers[index] = {"cls": Nanny, "options": options}
        # On a port that is free.
        scheduler_options = {
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "host": "127.0.0.1",
        }
        scheduler = {"cls": Scheduler, "options": scheduler_options}
        return SpecCluster(workers, scheduler, silence_logs=50)

    def _announced(self, path: Path) -> str:
        """The address in a scheduler's file, which is waited for.

        Raises:
            BadInput: it is not there in time.
        """
        start = reminded = time.monotonic()
        self._say(f"waiting for the scheduler's file {path}")
        while time.monotonic() - start < SCHEDULER_PATIENCE:
            # It may not be there yet, or half written.
            with suppress(FileNotFoundError, json.JSONDecodeError):
                return str(json.loads(path.read_text(encoding="utf-8"))["address"])
            if time.monotonic() - reminded > REMINDER:
                reminded = time.monotonic()
                self._say(f"still waiting for the scheduler's file {path}")
            time.sleep(0.1)
        raise BadInput(
            f"{path}: no scheduler wrote it within {SCHEDULER_PATIENCE:.0f} s; "
            "start dask scheduler first"
        )


if __name__ == "__main__":
    serve(sys.argv[1:])
