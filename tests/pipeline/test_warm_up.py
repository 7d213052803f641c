"""What set-up pays for once: bytecode of libraries and numba's machine code, kept for later."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from longform_lab import warm_up

ROOT = Path(__file__).parents[2]
# compiled by a word net's Lesk and by EM that begins with few states
LEFT_OUT = {"_add_overlaps", "squeezed"}


def test_a_part_is_named_by_its_words_and_timed():
    def read_a_book():
        pass

    name, seconds = warm_up.timed(read_a_book)
    assert name == "read a book" and 0 <= seconds < 60


@pytest.mark.long  # it compiles every loop
def test_every_compiled_loop_is_kept_after_the_warm_up(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "longform_lab.warm_up"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(source)}, check=True)
    declared = set()
    for module in source.rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        for decorator, name in re.findall(r"^@(?:numba\.)?njit\((.*)\)\ndef (\w+)", text, re.M):
            if "inline" not in decorator:
                declared.add(name)
    kept = {path.name.split("-")[0].split(".")[-1] for path in source.rglob("*.nbi")}
    assert len(declared) > 25 and declared - kept == LEFT_OUT
