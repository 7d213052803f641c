"""Runs tests over one mutation, in a forked process that has the heavy libraries already."""

import multiprocessing
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = ["torch", "transformers", "pytorch_lightning", "sklearn", "scipy.stats", "numba",
             "matplotlib.figure", "hypothesis", "pytest"]  # fmt: skip
PATIENCE = 10  # times the limit on the processor, on a machine that others use too
UNCHANGED = 86  # exit status: the process has the package already
forks = multiprocessing.get_context("forkserver")


class Chosen:
    """A plugin of pytest: only these tests or files, in this order; what fails is written."""

    def __init__(self, tests: Sequence[str], failed: Path) -> None:
        self.order = {test: place for place, test in enumerate(tests)}
        self.failed = failed

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        places = {item.nodeid: self.place(item.nodeid) for item in items}
        items[:] = [item for item in items if places[item.nodeid] is not None]
        items.sort(key=lambda item: places[item.nodeid])

    def place(self, test: str) -> int | None:
        """The place of a test, or of its file."""
        return self.order.get(test, self.order.get(test.partition("::")[0]))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            with self.failed.open("a") as file:
                file.write(report.nodeid + "\n")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            with self.failed.open("a") as file:
                file.write(f"{report.nodeid} (on import)\n")


def refuse_imported_packages() -> None:
    """End a process that has our packages already: it would not import those of a copy."""
    if {"longform", "longform_lab", "synthetic_world"} & sys.modules.keys():
        os._exit(UNCHANGED)


def _run(copy: str, tests: Sequence[str], failed: str, limit: int, go_on: bool) -> None:
    """The forked process: pytest in the copy of the repository."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    os.chdir(copy)
    refuse_imported_packages()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.environ["PYTHONPATH"] = f"{copy}/src"
    sys.path[:0] = [copy, f"{copy}/src"]
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    files = [file for file in files if Path(file).exists()]
    options = ["-n", "0", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-m", ""]
    pytest.main([*options, *([] if go_on else ["-x"]), *files], [Chosen(tests, Path(failed))])


def failures(copy: Path, tests: Sequence[str], limit: int, go_on: bool = False) -> list[str]:
    """The tests that fail in a copy of the repository; the first alone unless ``go_on``.

    Args:
        copy: The repository's root.
        tests: Names as pytest writes them.
        limit: Seconds of the processor after which the process is killed, which counts as a
            failure; and a process that waits, after ``PATIENCE`` times as long.
        go_on: Run all tests.
    """
    with tempfile.TemporaryDirectory() as folder:
        failed = Path(folder, "failed")
        process = forks.Process(
            target=_run, args=(str(copy), list(tests), str(failed), limit, go_on)
        )
        process.start()
        process.join(PATIENCE * limit)
        if process.is_alive():
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            return [f"waits for more than {PATIENCE * limit} seconds"]
        if failed.exists():
            return list(dict.fromkeys(failed.read_text().splitlines()))
        if process.exitcode == UNCHANGED:
            raise RuntimeError(
                "our packages were imported before the change; do not import it in the main module"
            )
        return [] if process.exitcode == 0 else [f"ended with {process.exitcode}"]
