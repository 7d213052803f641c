"""A pytest process that has collected all tests once and forks a child for each mutation.

Most of a trial's time goes to importing and collecting; here a parent does both once. A forked
child replaces the code of the mutated function in memory, then runs the tests. What memory cannot
show is left to ``trial.failures``, which imports everything anew: constants of modules and classes,
default arguments, functions called while modules are imported, and functions that numba compiles.
"""

import ast
import contextlib
import gc
import multiprocessing
import os
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutants import trial

COMPILED = ("njit", "numba.njit")
FUNCTION = 0x2  # CO_NEWLOCALS, a flag of the code of functions, not of modules and classes
LONGEST, SLOWER = 10, 5  # a test may take ten seconds and five times what it took before
Place = tuple[str, int]  # qualified name and first line


def nested_codes(code: CodeType) -> list[CodeType]:
    """A code object and all inside it, the outermost first."""
    codes = [code]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            codes += nested_codes(constant)
    return codes


def own_parts(code: CodeType) -> tuple[object, ...]:
    """What a code object does, apart from the functions inside it and from its lines."""
    constants = []
    for constant in code.co_consts:
        is_code = isinstance(constant, CodeType)
        constants.append("code" if is_code else f"{type(constant)} {constant!r}")
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def changed_codes(before: bytes, after: bytes) -> dict[Place, CodeType]:
    """The code of each function that a mutation changes, by where it stood before.

    Returns:
        Nothing where the mutation cannot be made in memory: it changes the code of a module or of
        a class, or a function that numba compiles.
    """
    old_codes = nested_codes(compile(before, "module", "exec"))
    new_codes = nested_codes(compile(after, "module", "exec"))
    # A mutation may remove a lambda or a comprehension, hardly a named function.
    old_named = [
        code for code in old_codes if not code.co_name.startswith("<") or code is old_codes[0]
    ]
    new_named = [
        code for code in new_codes if not code.co_name.startswith("<") or code is new_codes[0]
    ]
    if [code.co_qualname for code in old_named] != [code.co_qualname for code in new_named]:
        return {}
    changed = {}
    for old, new in zip(old_named, new_named, strict=True):
        if not old.co_flags & FUNCTION:
            if own_parts(old) != own_parts(new):
                return {}
            continue
        if [own_parts(code) for code in nested_codes(old)] != [
            own_parts(code) for code in nested_codes(new)
        ]:
            changed[old.co_qualname, old.co_firstlineno] = new
    compiled = compiled_functions(before)
    if any(name in compiled for name, _ in changed):
        return {}
    return changed


def compiled_functions(source: bytes) -> set[str]:
    """The names of a file's functions that numba compiles."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(function) in COMPILED:
                names.add(node.name)
    return names


class Server:
    """A plugin of pytest that, instead of running the collected tests, waits for mutations."""

    def __init__(self, connection: Connection, copy: Path) -> None:
        self.connection, self.copy = connection, copy
        self.failed: list[str] = []
        self.items: dict[str, pytest.Item] = {}
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        gc.unfreeze()  # conftest froze all functions, which get_objects would not list
        for function in gc.get_objects():
            if isinstance(function, FunctionType):
                code = function.__code__
                place = (code.co_filename, code.co_qualname, code.co_firstlineno)
                self.functions[place].append(function)
        gc.collect()
        gc.freeze()
        self.connection.send(list(self.items))
        while (request := self.connection.recv()) is not None:
            self.connection.send(self.forked(*request))
        return True

    def forked(
        self,
        path: str,
        sources: tuple[bytes, bytes],
        seconds: dict[str, float],
        go_on: bool,
    ) -> list[str]:
        """The tests that fail over one mutation."""
        answer = self.copy.parent / "answer"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                if self.replace_code(path, sources):
                    self.run(seconds, go_on)
                answer.write_text("\n".join(dict.fromkeys(self.failed)))
            except BaseException as error:  # also what pytest raises to leave: the child must end
                answer.write_text(f"ended with {type(error).__name__}")
            finally:
                os._exit(0)
        handle = os.pidfd_open(child)
        patience = trial.PATIENCE * (LONGEST + sum(seconds.values()))
        ended, _, _ = select.select([handle], [], [], patience)
        os.close(handle)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # and what its tests left running
        os.waitpid(child, 0)
        if not ended:
            return [f"waits for more than {patience:.0f} seconds"]
        if not answer.exists():
            return ["was killed: it takes much longer than before, or ends the process"]
        return answer.read_text().splitlines()

    def replace_code(self, path: str, sources: tuple[bytes, bytes]) -> bool:
        """Give each living function of a changed place the new code.

        Returns:
            Whether that can be done: a closure cannot get code with fewer free variables.
        """
        file = str(self.copy / "src" / path)
        for (name, line), code in changed_codes(*sources).items():
            for function in self.functions.get((file, name, line), []):
                if function.__code__.co_freevars != code.co_freevars:
                    return False
                function.__code__ = code
        return True

    def run(self, seconds: dict[str, float], go_on: bool) -> None:
        """Run the tests in their order, each with a limit on its seconds of the processor."""
        items = [self.items[test] for test in seconds if test in self.items]
        for item, following in zip(items, [*items[1:], None], strict=True):
            limit = time.process_time() + LONGEST + SLOWER * seconds[item.nodeid]
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), resource.RLIM_INFINITY))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed and not go_on:
                return


def _serve(copy: str, files: Sequence[str], connection: Connection) -> None:
    trial.refuse_imported_packages()
    os.chdir(copy)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.environ["PYTHONPATH"] = f"{copy}/src"
    sys.path[:0] = [copy, f"{copy}/src"]
    options = ["-n", "0", "-s", "-p", "no:cacheprovider", "-m", ""]
    pytest.main([*options, f"--basetemp={copy}/../tmp", *files], [Server(connection, Path(copy))])


class Session:
    """The parent process over one copy of the repository.

    Args:
        copy: The repository's root.
        files: Test files or folders to collect.

    Attributes:
        tests: Names of the collected tests.
    """

    def __init__(self, copy: Path, files: Sequence[str] = ("tests",)) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        self.process = trial.forks.Process(target=_serve, args=(str(copy), files, theirs))
        self.process.start()
        theirs.close()
        self.tests: list[str] = self.connection.recv()
        if not self.tests:
            raise RuntimeError(f"no test was collected in {copy}")

    def failures(
        self,
        path: str,
        sources: tuple[bytes, bytes],
        seconds: dict[str, float],
        go_on: bool = False,
    ) -> list[str]:
        """The tests that fail where one file of ``src`` has the second source for the first.

        Args:
            path: The file below ``src``. It has to hold the second source already: processes that
                a test starts read it.
            sources: Before and after the mutation.
            seconds: What each test takes without a mutation, in the order to run them.
            go_on: Run all tests, not only until one fails.
        """
        self.connection.send((path, sources, seconds, go_on))
        return self.connection.recv()

    def close(self) -> None:
        self.connection.send(None)
        self.process.join()
