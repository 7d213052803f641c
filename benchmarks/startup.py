"""What the stages of the default run spend on imports, each started afresh and as the parallel runner starts it.

``PYTHONPATH=src python -m benchmarks.startup [--json FILE]``, about two minutes on one core. CPU seconds: a module is imported
once in a fresh process and, where it is a train, generate or infer stage's, once in a child of a process that holds the heavy
libraries (:mod:`longform.pipeline.warm`); a row of ``params.yaml`` costs what its module costs. Loading those libraries is told apart.
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

import yaml

from longform.pipeline.warm import LIBRARIES

ROOT = Path(__file__).parents[1]
GROUPS = {
    "prepare": "corpora", "train": "models", "generate": "generations", "infer": "inference", "score": "critics",
    "report": "papers",
}  # fmt: skip
HEAVY = ("train", "generate", "infer")


def rows() -> list[tuple[str, str]]:
    """(verb, module) of every row."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    return [
        (verb, f"longform.{row.get('group', group)}.{row['code'].removesuffix('.py').replace('/', '.')}")
        for verb, group in GROUPS.items()
        for row in params[verb].values()
    ]


def spent(work: list[str]) -> float:
    """CPU seconds of a child process that imports these modules."""
    code = "; ".join(f"import {name}" for name in work)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def forked(module: str) -> float:
    """CPU seconds of a fork of this process, which holds the libraries and nothing of ours but the runner, on its import."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if not child:
        importlib.import_module("longform.pipeline.__main__")
        importlib.import_module(module)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"{module} could not be imported")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    target = parser.parse_args().json
    modules = dict.fromkeys(rows())
    fresh = {module: spent(["longform.pipeline.__main__", module]) for module in {m for _, m in modules}}
    libraries = spent(list(LIBRARIES))
    for name in LIBRARIES:
        importlib.import_module(name)
    warm = {module: forked(module) for module in {m for verb, m in modules if verb in HEAVY}}
    alone, runner = Counter[str](), Counter[str]()
    for verb, module in rows():
        alone[verb] += fresh[module]
        runner[verb] += warm[module] if verb in HEAVY else fresh[module]
    found = {
        "stages": len(rows()), "seconds": "processor time, one thread", "libraries": round(libraries, 2),
        "fresh": {verb: round(value, 1) for verb, value in alone.items()}, "fresh_sum": round(sum(alone.values()), 1),
        "forked": {verb: round(value, 1) for verb, value in runner.items()},
        "forked_sum_without_libraries": round(sum(runner.values()), 1),
    }  # fmt: skip
    text = json.dumps(found, indent=1)
    print(text)
    if target:
        target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
