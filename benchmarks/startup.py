"""What the stages of the default run spend on imports, each started afresh and as a fork.

``PYTHONPATH=src:. python -m longform_lab.code`` first, then ``PYTHONPATH=src:. python -m
benchmarks.startup [--json FILE]``, some minutes on one core. CPU seconds: a module is imported with
the others of its stage once in a fresh process and once as the parallel runner starts it, in a
child of a process that has the heavy libraries
(:mod:`longform_lab.workers`); an entry of ``params.yaml`` costs what its module costs. Loading
those libraries stands apart.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

from longform_lab.stages import STAGES
from longform_lab.workers import LIBRARIES

ROOT = Path(__file__).parents[1]


def calls() -> list[tuple[str, str]]:
    """(stage, its modules joined by blanks) of each file of code hashes, one a kind of stage."""
    folder = ROOT / "data" / "code"
    pairs = []
    for path in sorted(folder.rglob("*.json")):
        stage = path.relative_to(folder).with_suffix("").parts[0]
        modules = []
        for name in json.loads(path.read_text(encoding="utf-8")):
            if name.endswith(".py") and not name.endswith("__main__.py"):
                module = name.removesuffix(".py").removesuffix("/__init__")
                modules.append(module.replace("/", "."))
        pairs.append((stage, " ".join(modules)))
    return pairs


def fresh_seconds(modules: list[str]) -> float:
    """CPU seconds of a fresh Python that imports these modules."""
    code = f"import {', '.join(modules)}"
    before = processor_of_children()
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=os.environ)
    return processor_of_children() - before


def forked_seconds(stage: str, modules: str) -> float:
    """CPU seconds of a fork of this process, which has the libraries, on a stage's imports."""
    before = processor_of_children()
    child = os.fork()
    if not child:  # here it is the child that runs
        for name in imports_of(stage, modules):
            importlib.import_module(name)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"{modules} could not be imported")
    return processor_of_children() - before


def processor_of_children() -> float:
    """Processor seconds of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def imports_of(stage: str, modules: str) -> list[str]:
    """The module of the pipeline that runs a stage, and the stage's own modules."""
    return [f"longform_lab.{STAGES[stage]}", *modules.split()]


def measure(pairs: list[tuple[str, str]]) -> dict[str, object]:
    """CPU seconds by stage, started afresh and as a fork.

    Args:
        pairs: (stage, modules) of :func:`calls`; equal ones are measured once.
    """
    # Afresh, then as forks of a process with the libraries.
    fresh = {pair: fresh_seconds(imports_of(*pair)) for pair in set(pairs)}
    libraries = fresh_seconds(list(LIBRARIES))
    for name in LIBRARIES:
        importlib.import_module(name)
    forked = {pair: forked_seconds(*pair) for pair in fresh}
    # Sums by stage.
    fresh_sums, forked_sums = Counter[str](), Counter[str]()
    for pair in pairs:
        stage, _ = pair
        fresh_sums[stage] += fresh[pair]
        forked_sums[stage] += forked[pair]
    return {
        "calls": len(pairs),
        "seconds": "processor time, one thread",
        "libraries": round(libraries, 2),
        "fresh": _rounded(fresh_sums),
        "fresh_sum": round(sum(fresh_sums.values()), 1),
        "forked": _rounded(forked_sums),
        "forked_sum_without_libraries": round(sum(forked_sums.values()), 1),
    }


def _rounded(seconds: Counter[str]) -> dict[str, float]:
    return {stage: round(value, 1) for stage, value in seconds.items()}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--calls", action="store_true", help="only list what is imported")
    options = parser.parse_args()
    if not (ROOT / "data" / "code").is_dir():
        parser.error("data/code is not there; run `python -m longform_lab.code` first")
    if options.calls:
        print(json.dumps(calls()))
        return
    # Another process lists the modules, so that this one imports none before the clock runs.
    command = [sys.executable, "-m", "benchmarks.startup", "--calls"]
    process = subprocess.run(command, check=True, capture_output=True)
    results = measure(list(map(tuple, json.loads(process.stdout))))
    text = json.dumps(results, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
