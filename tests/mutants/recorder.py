"""A plugin of pytest that writes which functions of the packages of ``src`` each test calls, and its seconds.

``MUTANTS_CALLS`` names the file, one JSON object a line. Processes that a test starts write to it
too: ``site/sitecustomize.py`` starts the recorder in them, and pytest's own variable of the
environment tells them the test. What a fixture calls is written under the phase ``setup``, what a
module calls while it is imported under the phase ``import``: whichever test is the first imports it
for all that follow.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

FILE = "MUTANTS_CALLS"
SITE = str(Path(__file__).parent / "site")
SOURCES = "/src/"
PACKAGES = ("longform/", "longform_lab/", "synthetic_world/")


class Recorder:
    """The trace function of one process: a line for each first call of a function in a test."""

    def __init__(self, path: str, test: str = "", phase: str = "") -> None:
        atexit.register(sys.settrace, None)
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.test, self.phase = test, phase
        self.seen: set[int] = set()
        self.seen_at_import: set[int] = set()

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if id(code) in self.seen:
            return
        module = module_of(frame)
        phase, seen = self.phase, self.seen
        if module and imported_by(frame):  # the test itself may still call it
            phase, seen = "import", self.seen_at_import
        if module and id(code) not in seen:
            called = f"{module}:{function_name(code.co_qualname)}"
            self.write({"test": self.test, "phase": phase, "called": called})
        seen.add(id(code))

    def write(self, line: dict[str, Any]) -> None:
        os.write(self.file, (json.dumps(line) + "\n").encode())

    def begin(self, test: str, phase: str) -> None:
        self.test, self.phase = test, phase
        self.seen.clear()

    def start(self) -> None:
        threading.settrace(self)
        sys.settrace(self)


def module_of(frame: Any) -> str:
    """The path of one of our modules below ``src``; empty for any other code."""
    _, ours, module = frame.f_code.co_filename.rpartition(SOURCES)
    return module if ours and module.startswith(PACKAGES) else ""


def imported_by(frame: Any) -> bool:
    """Whether a call comes from the import of one of our modules; a program's own is none."""
    while frame := frame.f_back:
        is_program = frame.f_globals.get("__name__") == "__main__"
        if frame.f_code.co_name == "<module>" and module_of(frame) and not is_program:
            return True
    return False


def function_name(qualified: str) -> str:
    """The innermost named function: comprehensions and lambdas belong to the function around."""
    parts = qualified.split(".<locals>.")
    while len(parts) > 1 and parts[-1].startswith("<"):
        parts.pop()
    return ".".join(parts)


recorder = Recorder(os.environ[FILE]) if FILE in os.environ else None


def pytest_configure(config: Any) -> None:
    """Children of the tests find ``sitecustomize`` whatever path a test gives them."""
    if recorder is None:
        return
    start = subprocess.Popen.__init__

    def start_recorded(self: Any, *arguments: Any, env: Any = None, **settings: Any) -> None:
        variables = dict(os.environ if env is None else env)
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, (SITE, variables.get("PYTHONPATH"))))
        start(self, *arguments, env=variables, **settings)

    subprocess.Popen.__init__ = start_recorded  # type: ignore[method-assign]


def pytest_runtest_setup(item: Any) -> None:
    _begin(item, "setup")


def pytest_runtest_call(item: Any) -> None:
    _begin(item, "call")


def pytest_runtest_teardown(item: Any) -> None:
    _begin(item, "setup")


def _begin(item: Any, phase: str) -> None:
    if recorder is not None:
        recorder.begin(item.nodeid, phase)
        recorder.start()


def pytest_runtest_makereport(item: Any, call: Any) -> None:
    if recorder is not None and call.when == "call" and call.excinfo is None:
        recorder.write({"test": item.nodeid, "seconds": round(call.duration, 3)})
