"""What a stage pays before it begins: score and report stages load neither torch nor transformers."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch",
    "transformers",
    "pytorch_lightning",
    "dvc",
    "distributed",
    "wandb",
)  # scikit-learn itself loads pandas where it is installed


def modules(verb):
    rows = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[verb].values()
    names = {row["code"] for row in rows}
    return sorted("longform." + code.removesuffix(".py").replace("/", ".") for code in names)


@pytest.mark.parametrize("verb", ["score", "report"])
def test_score_and_report_stages_import_nothing_heavy(verb):
    names = ["longform.pipeline.__main__", f"longform.pipeline.{verb}", *modules(verb)]
    code = f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\nprint(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    loaded = set(done.stdout.split())
    assert f"longform.pipeline.{verb}" in loaded and "numpy" in loaded
    assert not loaded & set(HEAVY), sorted(loaded & set(HEAVY))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_kept_for_the_next_step():
    code = """
import resource, sys
from longform.pipeline.__main__ import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
def faults():
    for _ in range(10):
        tensors = [b"x" * 20_000_000 for _ in range(5)]  # as a step has them, freed at its end
        del tensors
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before = faults()
print(faults() - before)
"""
    source = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    kept, plain = (
        int(subprocess.run([sys.executable, "-c", code, how], env=source, capture_output=True, text=True).stdout)
        for how in ("kept", "plain")
    )
    assert kept < 1_000 and kept < plain / 4
