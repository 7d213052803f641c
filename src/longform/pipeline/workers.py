"""Dask's side of a parallel run: workers that run the commands of stages, here or on a cluster.

A worker keeps a process that has the heavy libraries loaded and forks one child a stage: importing them costs seconds, forking does not.
It runs nothing itself and starts no thread, so a child, which forgets our own modules, is what a fresh ``python -m longform.pipeline``
would be after its imports. A request is one line of JSON on standard input, its answer the child's exit status on standard output.
"""

import gc
import importlib
import json
import os
import queue
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput
from longform.core.processes import die_with_parent

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
NOT_PLAIN = re.compile(r"[;&|<>()$`\\*?\n]")  # needs a shell that stays
HEAVY = re.compile(
    r"PYTHONPATH=src python -m longform\.pipeline ((?:tokenizer|language_model|generate|complete|decode|train|read) [\w ]+)"
)
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "60s",
}  # a worker waits for one stage: profiling itself and ticking took 4 % of its core
LIBRARIES = ("torch", "transformers", "pytorch_lightning")
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"  # Ctrl-C is the run's to answer, in one sentence


class Warm:
    """The process, seen from a worker; it starts with the first stage, loads ``libraries`` and sees ``environment``."""

    def __init__(self, environment: Mapping[str, str], libraries: Sequence[str]) -> None:
        self._environment, self._libraries = dict(environment), libraries
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str], folder: str, environment: Mapping[str, str], log: str) -> int | None:
        """Run ``python -m longform.pipeline ARGUMENTS`` in a folder with ``src``; its output is added to the file ``log``.

        Returns its exit status, or None where the process is gone.
        """
        request = {"arguments": list(arguments), "folder": folder, "environment": dict(environment), "log": log}
        if self._process is None:
            command = [sys.executable, "-m", "longform.pipeline.workers", *self._libraries]
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(command, env=self._environment, preexec_fn=die_with_parent, **pipes)
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
    sys.argv = ["longform.pipeline", *request["arguments"]]
    sys.path[0] = request["folder"]
    sys.path.insert(1, os.path.join(request["folder"], "src"))
    for name in [name for name in sys.modules if name.split(".")[0] == "longform"]:
        del sys.modules[name]  # the stage's own folder names the source that it runs
    runpy.run_module("longform.pipeline", run_name="__main__", alter_sys=True)


_idle: list[Warm] = []  # this worker's that run nothing; a worker of several threads runs as many at once


@dataclass(frozen=True)
class Finished:
    """How a stage's commands ended: exit status, seconds, and the last lines that they wrote."""

    status: int
    seconds: float
    said: tuple[str, ...]


def run_commands(commands: Sequence[str], folder: str, variables: Mapping[str, str], log: str) -> Finished:
    """Run commands one after the other, with one thread each, until one fails; runs in a Dask worker.

    The process dies with the worker (on Linux), so that a stage that Dask starts again does not meet itself.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**dict.fromkeys(THREADS, "1"), **os.environ, **variables, "PATH": path}
    begun, status, told = time.monotonic(), 0, Path(log)
    told.parent.mkdir(parents=True, exist_ok=True)
    told.write_text("")
    with told.open("a", encoding="utf-8") as written:
        pipes: dict[str, Any] = {"stdout": written, "stderr": subprocess.STDOUT, "preexec_fn": die_with_parent}
        for command in commands:
            warm = _run_warm(command, folder, environment, log)
            shell = ["/bin/sh", "-c", command if NOT_PLAIN.search(command) else f"exec env {command}"]
            status = subprocess.call(shell, cwd=folder, env=environment, **pipes) if warm is None else warm
            if status:
                break
    said = told.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
    return Finished(status, time.monotonic() - begun, tuple(said))


def _run_warm(command: str, folder: str, environment: Mapping[str, str], log: str) -> int | None:
    """Exit status of a stage that needs the heavy libraries, from a process that has them; None for any other command."""
    stage = HEAVY.fullmatch(command.strip())
    if stage is None or sys.platform != "linux":  # elsewhere libraries may have threads that a fork does not survive
        return None
    given = {**environment, "PYTHONPATH": "src"}
    try:
        warm = _idle.pop()
    except IndexError:
        warm = Warm({**given, "PYTHONPATH": str(Path(__file__).parents[2])}, LIBRARIES)
    try:
        return warm.run(stage[1].split(), folder, given, log)
    finally:
        _idle.append(warm)


class Workers:
    """Slots on Dask workers; a local cluster of processes unless an address is given. Nothing starts before it is needed.

    Args:
        count: local worker processes, one stage each.
        gpus: the first so many of them see one GPU each (resource ``GPU``), the others none.
        address: of a running scheduler, whose workers share this file system.
    """

    def __init__(self, count: int = 1, gpus: int = 0, address: str | None = None) -> None:
        self._count, self._gpus, self._address = count, gpus, address
        self._client: Any = None
        self._cluster: Any = None
        self._running: dict[str, tuple[Any, bool]] = {}  # stages with their futures and whether they hold a GPU
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()

    def _slots(self) -> tuple[int, int]:
        """Stages that all workers of the moment run at once, and their GPUs."""
        if self._client is None:
            self._connect()
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(w["nthreads"] for w in workers), sum(w["resources"].get("GPU", 0) for w in workers)

    def room(self, gpu: bool) -> bool:
        """Whether a stage could start now; one that uses a GPU waits for a free one where the workers have any."""
        slots, gpus = self._slots()
        held = sum(pinned for _, pinned in self._running.values())
        return len(self._running) < slots and not (gpu and gpus and held >= gpus)

    def submit(self, name: str, gpu: bool, **job: Any) -> None:
        """Start a stage's :func:`run_commands` on a worker."""
        pinned = self._slots()[1] > 0 and gpu
        resources = {"resources": {"GPU": 1}} if pinned else {}
        future = self._client.submit(run_commands, **job, key=f"{name} {time.time_ns()}", pure=False, **resources)
        self._running[name] = (future, pinned)
        future.add_done_callback(lambda _: self._ended.put(name))

    @property
    def busy(self) -> bool:
        """Whether a stage is running."""
        return bool(self._running)

    def finished(self, seconds: float) -> tuple[str, Finished | Exception] | None:
        """The next stage that ends within some seconds, with how it ended; an exception when its worker was lost for good."""
        try:
            name = self._ended.get(timeout=seconds) if seconds else self._ended.get_nowait()
        except queue.Empty:
            if self._client is not None and self._client.status not in ("running", "connecting"):
                raise BadInput("the Dask scheduler is gone; what had finished is kept, run again") from None
            return None
        try:
            return name, self._running.pop(name)[0].result()
        except Exception as error:  # whatever took the worker away
            return name, error

    def close(self) -> None:
        """Stop local workers, and with them the stages that still run."""
        for part in (self._client, self._cluster):
            if part is not None:
                part.close()

    def _connect(self) -> None:
        import dask
        from distributed import Client, Nanny, Scheduler, SpecCluster

        if not self._address:
            dask.config.set(QUIET)  # the workers take it over
            # the memory of a stage is its own affair, so Dask watches none
            settings = {"nthreads": 1, "memory_limit": 0, "dashboard_address": None, "preload": [DEAF]}
            workers = {}
            for index in range(self._count):
                gpu = index < self._gpus
                seen = {"CUDA_VISIBLE_DEVICES": str(index) if gpu else ""} if self._gpus else {}
                options = {**settings, "silence_logs": 50, "env": seen, "resources": {"GPU": 1} if gpu else {}}
                workers[index] = {"cls": Nanny, "options": options}
            free_port = {"dashboard": False, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
            self._cluster = SpecCluster(workers, {"cls": Scheduler, "options": free_port}, silence_logs=50)
        try:
            self._client = Client(self._address or self._cluster)
        except ValueError as error:
            raise BadInput(f"scheduler {self._address!r}: {error}; an address is tcp://host:port") from error


if __name__ == "__main__":
    serve(sys.argv[1:])
