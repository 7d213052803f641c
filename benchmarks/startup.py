"""What the stages of the default run spend on imports, each started afresh and as the parallel runner starts it.

``PYTHONPATH=src:. python -m longform_lab.code && PYTHONPATH=src:. python -m benchmarks.startup [--json FILE]``, some minutes on one core. CPU seconds: a module is imported
with the others of its stage once in a fresh process and, where its stage may need torch, once in a child of a process that holds the heavy libraries
(:mod:`longform_lab.workers`); an entry of ``params.yaml`` costs what its module costs. Loading those libraries is told apart.
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

from longform_lab import devices
from longform_lab.stages import STAGES
from longform_lab.workers import LIBRARIES

ROOT = Path(__file__).parents[1]
HEAVY = ("tokenizer", *devices.STAGES)


def calls() -> list[tuple[str, str]]:
    """(stage, modules with a blank between them) of every kind of stage, as its file of code hashes lists them."""
    folder = ROOT / "data" / "code"
    found = []
    for path in sorted(folder.rglob("*.json")):
        place = path.relative_to(folder).with_suffix("")
        modules = [
            name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for name in json.loads(path.read_text(encoding="utf-8"))
            if name.endswith(".py") and not name.endswith("__main__.py")
        ]
        found.append((place.parts[0], " ".join(modules)))
    return found


def spent(work: list[str]) -> float:
    """CPU seconds of a child process that imports these modules."""
    code = "; ".join(f"import {name}" for name in work)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL, env=os.environ
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def forked(stage: str, module: str) -> float:
    """CPU seconds of a fork of this process, which holds the libraries, on a stage's imports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if not child:
        for name in (_runner(stage), *module.split()):
            importlib.import_module(name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"{module} could not be imported")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _runner(stage: str) -> str:
    """The module of the pipeline that runs a stage."""
    return f"longform_lab.{STAGES[stage]}"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--calls", action="store_true", help="only list what is imported")
    chosen = parser.parse_args()
    if not (ROOT / "data" / "code").is_dir():
        parser.error("data/code is not there; run `python -m longform_lab.code` first")
    if chosen.calls:
        print(json.dumps(calls()))
        return
    listed = subprocess.run(
        [sys.executable, "-m", "benchmarks.startup", "--calls"], check=True, capture_output=True
    )
    pairs = [(stage, module) for stage, module in json.loads(listed.stdout)]
    fresh = {pair: spent([_runner(pair[0]), *pair[1].split()]) for pair in set(pairs)}
    libraries = spent(list(LIBRARIES))
    for name in LIBRARIES:
        importlib.import_module(name)
    warm = {pair: forked(*pair) for pair in set(pairs) if pair[0] in HEAVY}
    alone, runner = Counter[str](), Counter[str]()
    for pair in pairs:
        alone[pair[0]] += fresh[pair]
        runner[pair[0]] += warm.get(pair, fresh[pair])
    found = {
        "calls": len(pairs), "seconds": "processor time, one thread", "libraries": round(libraries, 2),
        "fresh": {stage: round(value, 1) for stage, value in alone.items()}, "fresh_sum": round(sum(alone.values()), 1),
        "forked": {stage: round(value, 1) for stage, value in runner.items()},
        "forked_sum_without_libraries": round(sum(runner.values()), 1),
    }  # fmt: skip
    text = json.dumps(found, indent=1)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
