"""Runs tests over one mutation, in a forked process that has the heavy libraries already."""

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = ["torch", "transformers", "pytorch_lightning", "sklearn", "scipy.stats", "numba",
             "matplotlib.figure", "hypothesis", "pytest"]  # fmt: skip
forks = multiprocessing.get_context("forkserver")


class Chosen:
    """A plugin of pytest: only these tests, in this order; the first that fails is written."""

    def __init__(self, tests: Sequence[str], failed: Path) -> None:
        self.order = {test: place for place, test in enumerate(tests)}
        self.failed = failed

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid in self.order]
        items.sort(key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            with self.failed.open("a") as file:
                file.write(report.nodeid + "\n")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            with self.failed.open("a") as file:
                file.write(f"{report.nodeid} (on import)\n")


def _run(copy: str, tests: Sequence[str], failed: str, go_on: bool) -> None:
    """The forked process: pytest in the copy of the repository."""
    os.setsid()
    os.chdir(copy)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.environ["PYTHONPATH"] = f"{copy}/src"
    sys.path[:0] = [copy, f"{copy}/src"]
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    files = [file for file in files if Path(file).exists()]
    options = ["-n", "0", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-m", ""]
    pytest.main([*options, *([] if go_on else ["-x"]), *files], [Chosen(tests, Path(failed))])


def failures(copy: Path, tests: Sequence[str], limit: float, go_on: bool = False) -> list[str]:
    """The tests that fail in a copy of the repository; the first alone unless ``go_on``.

    Args:
        copy: The repository's root.
        tests: Names as pytest writes them.
        limit: Seconds after which the process is killed, which counts as a failure.
        go_on: Run all tests.
    """
    with tempfile.TemporaryDirectory() as folder:
        failed = Path(folder, "failed")
        process = forks.Process(target=_run, args=(str(copy), list(tests), str(failed), go_on))
        process.start()
        process.join(limit)
        if process.is_alive():
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            return [f"more than {limit:.0f} seconds"]
        if failed.exists():
            return list(dict.fromkeys(failed.read_text().splitlines()))
        return [] if process.exitcode == 0 else [f"ended with {process.exitcode}"]
