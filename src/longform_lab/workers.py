"""Dask's side of a parallel run: workers that run the commands of stages, here or on a cluster.

A worker keeps a process that has the heavy libraries loaded and forks one child a stage: importing
them costs seconds, forking does not. It runs nothing itself and starts no thread, so a child, which
forgets our own modules, is what a fresh ``python -m longform_lab`` would be after its imports.
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
    """A worker's handle on the process with loaded libraries, which starts with the first stage.

    Args:
        environment: the process's own variables; its children get those of each request.
        libraries: the modules that it loads.
    """

    def __init__(self, environment: Mapping[str, str], libraries: Sequence[str]) -> None:
        self._environment, self._libraries = dict(environment), libraries
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], folder: str, environment: Mapping[str, str], log: str
    ) -> int | None:
        """Have the process fork a child that does ``python -m longform_lab ARGUMENTS``.

        The request goes to the process (:func:`serve`) as one line of JSON on its standard input;
        the answer on its standard output is a line with the child's exit status.

        Args:
            arguments: the stage and its names.
            folder: in which the child runs; it imports our modules from ``src`` below it.
            environment: the child's environment variables, in place of the process's own.
            log: a file to which the child's output is added.

        Returns:
            The child's exit status; None where the process with the libraries has died, and the
            child with it.
        """
        request = {
            "arguments": list(arguments),
            "folder": folder,
            "environment": dict(environment),
            "log": log,
        }
        # 1. The process, which loads the libraries before it reads its first request.
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
        # 2. The request and its answer, empty where the process ends without one.
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
        """End the process; the next stage starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def serve(libraries: Sequence[str]) -> None:
    """The process with loaded libraries: fork a child for every request on standard input.

    Args:
        libraries: modules that are imported first.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.dup(1)
    os.dup2(2, 1)  # so that what a library prints is not taken for an answer
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
    """Run a stage in the child, in the state that a fresh process would have.

    Args:
        request: ``arguments``, ``folder``, ``environment`` and ``log`` of :meth:`Warm.run`.
    """
    # 1. Streams, folder, environment and path.
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
    # 2. Our own modules are imported anew, from the stage's own folder.
    for name in list(sys.modules):
        if name.split(".")[0] in PACKAGES:
            del sys.modules[name]
    runpy.run_module("longform_lab", run_name="__main__", alter_sys=True)


# Idle processes of this worker; a worker with several threads has one for each.
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
    """Run a stage's commands in turn until one fails.

    Dask workers call it. A command's process dies with the worker (on Linux, by
    :func:`die_with_parent`), so that a stage that Dask starts again does not run twice at once.

    Args:
        commands: as in ``dvc.yaml``.
        folder: in which they run.
        variables: environment variables that DVC sets; they outrank this process's own, and these
            outrank one thread for each numerical library (``THREADS``).
        log: the file for their output, emptied first.

    Returns:
        Status of the last command that ran (0 for none), seconds of all, last lines of the log.
    """
    # 1. The environment of all commands.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**dict.fromkeys(THREADS, "1"), **os.environ, **variables, "PATH": path}
    start = time.monotonic()
    status = 0
    log_file = Path(log)
    log_file.parent.mkdir(parents=True, exist_ok=True)
    log_file.write_text("")
    # 2. The commands. The shell runs what a process with loaded libraries cannot.
    for command in commands:
        warm_status = _run_warm(command, folder, environment, log)
        if warm_status is None:
            status = _run_in_shell(command, folder, environment, log_file)
        else:
            status = warm_status
        if status:
            break
    lines = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    seconds = time.monotonic() - start
    return Finished(status=status, seconds=seconds, last_lines=tuple(lines[-5:]))


def _run_in_shell(command: str, folder: str, environment: Mapping[str, str], log: Path) -> int:
    """Run a command in a shell, its output added to a file; return its exit status."""
    # A command without shell syntax replaces its shell, so that signals reach it.
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
    """Run a stage in a child of a process with loaded libraries; return its exit status.

    None for a command that is no stage, elsewhere than on Linux (nothing has run then), and where
    the process with the libraries has died, the stage with it.
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
    """Run stages on Dask workers, by default on processes of this machine.

    The cluster or connection starts with the first stage.

    Args:
        count: number of local worker processes, each of which runs one stage at a time.
        gpus: how many of them, from the first on, see one GPU each (resource ``GPU``).
        address: of a running scheduler, whose workers share this file system; replaces local
            workers.
        scheduler_file: the file that ``dask scheduler --scheduler-file`` writes, in place of the
            address; its appearance is waited for.
        gpu_patience: seconds without any worker with a GPU after which stages that need one go to
            other workers.
        say: called with a line when workers join or are lost, and while waiting.
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
        """Whether another stage could start now.

        Args:
            gpu: whether the stage uses a GPU; it then needs a free one where workers have any.
        """
        slots, gpus = self._look()
        pinned = sum(stage.pinned for stage in self._running.values())
        others = len(self._running) - pinned
        # Of the pinned stages only as many run as there are GPUs; the rest take no slot.
        if others + min(pinned, gpus) >= slots:
            return False
        return not gpu or not self._uses_gpus() or pinned < gpus

    def submit(self, name: str, gpu: bool, **job: Any) -> None:
        """Start :func:`run_commands` for a stage on a worker.

        Args:
            name: the stage.
            gpu: whether it uses a GPU.
            job: the arguments of :func:`run_commands`.
        """
        self._look()
        self._hand_over(name, job, pinned=gpu and self._uses_gpus())

    def _hand_over(self, name: str, job: Mapping[str, Any], pinned: bool) -> None:
        """Submit a stage to the scheduler, which chooses a worker (with a free GPU if pinned)."""
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
        """Wait for the next stage to end.

        Args:
            seconds: the longest time to wait.

        Returns:
            The stage's name and how it ended (an exception if its worker was lost for good); None
            where no stage ended in that time.

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
        """Ask the scheduler how many stages its workers run at once and how many GPUs they have.

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
        """The scheduler's record of each worker. Raises BadInput: the scheduler is gone."""
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
        """Report workers that joined or were lost, and every ``REMINDER`` seconds that none is."""
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
        """Move stages that wait for a lost GPU to workers without one."""
        for name, stage in list(self._running.items()):
            if stage.pinned:
                waited = f"no worker with a GPU for {self._gpu_patience:.0f} s"
                self._say(f"{name}: {waited}; it runs on another worker now")
                stage.future.cancel()
                self._hand_over(name, stage.job, pinned=False)

    def _connect(self) -> None:
        """Find the scheduler, or start one with local workers.

        Raises:
            BadInput: the scheduler's address is malformed, or the scheduler does not answer.
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
        """Wait for a scheduler's file and return the address in it.

        Raises:
            BadInput: no file with an address within ``SCHEDULER_PATIENCE`` seconds.
        """
        start = reminded = time.monotonic()
        self._say(f"waiting for the scheduler's file {path}")
        while time.monotonic() - start < SCHEDULER_PATIENCE:
            # The file may not exist yet, or be half written.
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
