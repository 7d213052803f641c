"""Does a test notice a small change of the program? ``python -m tests.mutants`` tries a sample.

Draws mutations of the packages of ``src`` (``mutations.py``) with the commit's hash as seed, runs over each
the tests that can notice it (``calls.py``) in a copy of the commit, and prints how many were
noticed and each that was not. A process that has all tests already tries each first
(``session.py``); what it does not notice is tried again in a new process (``trial.py``). A mutation that no test can ever notice is listed in
``equivalent.yaml`` with the reason; it is left out and another drawn. An entry whose function has
changed since is named, and ends the command with 1: its reason has to be read again.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.mutants import recorder, trial
from tests.mutants.calls import Calls, read_calls
from tests.mutants.mutations import Mutation, mutations
from tests.mutants.session import Session, changed_codes

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).parent / "equivalent.yaml"
BATCHES = (15, 60)  # tests: most mutations are noticed by the first few, which spares collecting
SLOWER = 5  # times the recorded seconds, beside 60 for the start: then a mutation hangs
FIELDS = ("file", "function", "digest", "before", "after")


@dataclass
class Verdict:
    """One mutation, how many tests ran over it, and the one that failed, if any did."""

    mutation: Mutation
    tests: int
    noticed_by: str


def equivalents(path: Path = EQUIVALENT) -> set[tuple[str, ...]]:
    """The keys of the listed mutations."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return {tuple(entry[field] for field in FIELDS) for entry in entries if entry["reason"]}


def drawn(
    changes: Iterable[Mutation], equivalent: set[tuple[str, ...]], seed: str
) -> list[Mutation]:
    """All mutations in an order that the seed decides, without the equivalent ones."""
    order = sorted(changes, key=lambda change: (change.path, change.start, change.code))
    random.Random(seed).shuffle(order)
    return [change for change in order if change.key not in equivalent]


class Copies:
    """Copies of one commit, in which one file at a time is changed."""

    def __init__(self, folder: Path, commit: str, count: int) -> None:
        self.free = []
        for place in range(count):
            copy = folder / f"copy-{place}" / "longform"
            _git("clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(copy))
            _git("-C", str(copy), "checkout", "--quiet", "--detach", commit)
            self.free.append(copy)
        self.sessions: dict[Path, Session] = {}
        self.lock = threading.Lock()
        self.times = itertools.count(int(time.time()))

    def start(self) -> None:
        """Collect all tests in each copy, side by side."""
        with ThreadPoolExecutor(len(self.free)) as pool:
            self.sessions = dict(zip(self.free, pool.map(Session, self.free), strict=True))

    def stop(self) -> None:
        for session in self.sessions.values():
            session.close()

    def take(self) -> Path:
        with self.lock:
            return self.free.pop()

    def give_back(self, copy: Path) -> None:
        with self.lock:
            self.free.append(copy)

    def write(self, path: Path, source: bytes) -> None:
        """With a time of its own, so that no compiled file of another mutation passes for it."""
        path.write_bytes(source)
        moment = next(self.times)
        os.utime(path, (moment, moment))

    def tried(self, mutation: Mutation, tests: Sequence[str], calls: Calls) -> Verdict:
        """Runs the tests over one mutation, until one fails."""
        copy = self.take()
        path = copy / "src" / mutation.path
        source = path.read_bytes()
        mutated = mutation.apply(source)
        self.write(path, mutated)
        in_memory = changed_codes(source, mutated) and not calls.is_called_at_import(mutation)
        try:
            if in_memory:
                seconds = {test: calls.seconds[test] for test in tests}
                if failed := self.sessions[copy].failures(
                    mutation.path, (source, mutated), seconds
                ):
                    return Verdict(mutation, len(tests), failed[0])
            for batch in _batches(tests):
                limit = 60 + int(SLOWER * sum(calls.seconds[test] for test in batch))
                if failed := trial.failures(copy, batch, limit):
                    return Verdict(mutation, len(tests), failed[0])
            return Verdict(mutation, len(tests), "")
        finally:
            self.write(path, source)
            self.give_back(copy)


def _batches(tests: Sequence[str]) -> list[Sequence[str]]:
    ends = [0, *itertools.accumulate(BATCHES), len(tests)]
    parts = [tests[start:end] for start, end in itertools.pairwise(ends)]
    return [part for part in parts if part]


def verdicts(
    changes: Sequence[Mutation], calls: Calls, copies: Copies, workers: int
) -> list[Verdict]:
    """Tries all changes; a test that fails without any change does not count."""
    unsound: set[str] = set()
    results: dict[Mutation, Verdict] = {}

    def judge(change: Mutation) -> None:
        tests = [test for test in calls.of(change) if test not in unsound]
        results[change] = copies.tried(change, tests, calls)
        verdict = results[change]
        line = f"{change.path}:{change.line} {change.kind}: {verdict.noticed_by or 'NOT NOTICED'}"
        print(f"{len(results)}/{len(changes)} {line} ({verdict.tests} tests)", flush=True)

    copies.start()
    waiting = list(changes)
    while waiting:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(judge, waiting))
        noticing = {results[change].noticed_by for change in waiting} & calls.seconds.keys()
        failing = set(_unchanged_failures(copies, sorted(noticing), calls))
        waiting = [change for change in waiting if results[change].noticed_by in failing]
        unsound |= failing
    copies.stop()
    if unsound:
        print("fail without any change, so do not count:", *sorted(unsound), sep="\n  ")
    return [results[change] for change in changes]


def _unchanged_failures(copies: Copies, tests: Sequence[str], calls: Calls) -> list[str]:
    """Which tests fail in either kind of process without a mutation."""
    if not tests:
        return []
    seconds = {test: calls.seconds[test] for test in tests}
    limit = 120 + int(SLOWER * sum(seconds.values()))
    copy = copies.free[0]
    failing = trial.failures(copy, tests, limit, go_on=True)
    return failing + copies.sessions[copy].failures("", (b"", b""), seconds, go_on=True)


def recorded(folder: Path, copies: Copies, workers: int) -> Path:
    """What each test calls, by one run of all tests in a copy."""
    path = folder / "calls.jsonl"
    print("recording which test calls which function: one run of all tests", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "loadfile"]
    command += ["-p", "tests.mutants.recorder", "-p", "no:cacheprovider"]
    variables = {**os.environ, recorder.FILE: str(path), "PYTHONPATH": "src"}
    subprocess.run(command, cwd=copies.free[0], env=variables, check=False)
    return path


def report(results: Sequence[Verdict]) -> str:
    """How many were noticed, and each that was not."""
    survivors = [result for result in results if not result.noticed_by]
    lines = [f"{len(results) - len(survivors)} of {len(results)} mutations were noticed"]
    for result in survivors:
        change = result.mutation
        lines += [
            "",
            f"- file: {change.path}  # line {change.line}, {change.kind}, {result.tests} tests",
            *(
                f"  {field}: {json.dumps(value)}"
                for field, value in zip(FIELDS[1:], change.key[1:], strict=True)
            ),
            '  reason: ""',
        ]
    return "\n".join(lines)


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="mutations to try")
    parser.add_argument("--seed", help="in place of the commit's hash")
    parser.add_argument(
        "--calls", type=Path, help="a recorded file of calls, in place of a new one"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()

    commit = _git("-C", str(ROOT), "rev-parse", "HEAD")
    seed = options.seed or commit
    equivalent = equivalents()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        copies = Copies(folder, commit, options.workers)
        everything = mutations(copies.free[0] / "src")
        calls = read_calls(options.calls or recorded(folder, copies, options.workers))
        trial.forks.set_forkserver_preload(trial.LIBRARIES)
        changes = drawn(everything, equivalent, seed)[: options.count]
        results = verdicts(changes, calls, copies, options.workers)
    print(f"\n{len(everything)} mutations of src, {len(changes)} drawn with the seed {seed}")
    print(report(results))
    stale = equivalent - {change.key for change in everything}
    for key in sorted(stale):
        print(f"equivalent.yaml: read this again, its function has changed: {key}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
