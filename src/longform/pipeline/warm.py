"""A process that has the heavy libraries loaded and forks one child a stage: importing them costs seconds, forking does not.

It loads libraries only and nothing of ours, runs nothing itself and starts no thread, so a child is what a fresh
``python -m longform.pipeline`` would be after its imports. A request is one line of JSON on standard input, its answer the
child's exit status on standard output.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

LIBRARIES = ("torch", "transformers", "pytorch_lightning")
TIE_TO_PARENT = 1  # PR_SET_PDEATHSIG, linux/prctl.h
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends (Linux)."""
    if _libc is not None:
        _libc.prctl(TIE_TO_PARENT, signal.SIGKILL)


class Warm:
    """The process, seen from a worker; it starts with the first stage.

    Args:
        environment: of the process; a library may read its variables when it is loaded.
        libraries: what to load.
    """

    def __init__(self, environment: Mapping[str, str], libraries: Sequence[str] = LIBRARIES) -> None:
        self._environment, self._libraries = dict(environment), libraries
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str], folder: str, environment: Mapping[str, str], log: str) -> int | None:
        """Run ``python -m longform.pipeline ARGUMENTS``; its exit status, or None where the process is gone.

        Args:
            folder: to run in, with ``src``.
            log: a file that the stage's output is added to.
        """
        request = {"arguments": list(arguments), "folder": folder, "environment": dict(environment), "log": log}
        try:
            process = self._started()
            assert process.stdin and process.stdout
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
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

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = [sys.executable, "-m", "longform.pipeline.warm", *self._libraries]
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(command, env=self._environment, preexec_fn=die_with_parent, **pipes)
        return self._process


def serve(libraries: Sequence[str]) -> None:
    """Load the libraries, then fork a child for every request until standard input ends."""
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


if __name__ == "__main__":
    serve(sys.argv[1:])
