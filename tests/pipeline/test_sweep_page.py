"""The sweep that costs minutes: the commands of its page, from a fresh clone."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_SECONDS = 900


def first_commands():
    """The first block of the page, in two parts: up to the start of the queue, and after it."""
    text = (ROOT / "docs" / "sweep_model_sizes.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n(.*?)```", text, re.S)[1]
    before, started, after = block.partition("dvc queue start --jobs 2\n")
    assert started
    return before + started, after


def test_the_page_begins_with_a_scale_that_exists_and_shows_two_metrics():
    before, after = first_commands()
    scale = re.search(r"SCALE=(\w+)", before)[1]
    assert (ROOT / "experiments" / "scales" / scale / "overrides.yaml").is_file()
    assert before.count("dvc exp run --queue --name") == 2 and "metrics diff main wide" in after


@pytest.mark.long  # a baseline and two experiments, some minutes
@pytest.mark.timeout(1800)
def test_the_commands_of_the_page_run_in_a_fresh_clone(tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "DVC_STAGE"}
    environment |= {"WANDB_MODE": "disabled", "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}"}
    made = "python -m longform_lab.scale sweep && cd scales/sweep && python -m longform_lab.repro curve"
    before, after = first_commands()
    before = before.replace("make scale SCALE=sweep ", f"(export PYTHONPATH=src; {made}) ")

    def said(commands, folder):
        done = subprocess.run(
            ["bash", "-ec", commands], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said(before, clone)
    folder = clone / "scales" / "sweep"
    deadline = time.monotonic() + MOST_SECONDS
    while said("dvc queue status", folder).count("Success") < 2:
        assert time.monotonic() < deadline, said("dvc queue status", folder)
        time.sleep(2)
    shown = said(after, folder)
    assert "narrow" in shown and "word_ppl" in shown and "latent_ppl" in shown
