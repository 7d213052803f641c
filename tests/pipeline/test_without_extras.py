"""Trainings and scales where packages that they do not need are absent: one sentence in place of a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ABSENT = ("torch_struct", "wandb", "dvc")
HIDDEN = f"import sys\nsys.modules.update(dict.fromkeys({ABSENT!r}))\n"
LEAST = """
from pathlib import Path
from longform.documents import Document, Section
from longform.hsmm.train import fit
from longform_lab.tracking import wandb_run

texts = [Document(f"{split}-{i}", split, (Section(None, "a b a b b a"),)) for split in ("train", "validation") for i in range(2)]
sizes = {"num_states": 2, "max_duration": 2, "max_ngrams": 10}
model = fit(documents=texts, name="hsmm", seed=1, scratch=Path("hsmm"), em={"iterations": 2}, **sizes).model
print("facts", model.facts["torch_struct"])
print("loggers", wandb_run("transformer", Path("transformer"), []))
"""


def without_extras(code, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "WANDB_MODE": "offline"}
    command = [sys.executable, "-c", HIDDEN + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return without_extras(LEAST, tmp_path_factory.mktemp("bare"))


@pytest.mark.long  # a training in a process of its own; test_install.py hides packages from commands
def test_em_runs_without_torch_struct(trained):
    assert trained.returncode == 0, trained.stderr
    assert "torch-struct is not installed" in trained.stdout and "facts {}" in trained.stdout


@pytest.mark.long  # the same process
def test_training_keeps_its_csv_log_without_wandb(trained):
    assert trained.stdout.count("wandb is not installed") == 1
    assert "loggers []" in trained.stdout and "Traceback" not in trained.stderr


def test_a_scale_is_made_without_dvc(tmp_path):
    (tmp_path / "experiments" / "scales" / "small").mkdir(parents=True)
    (tmp_path / "experiments" / "scales" / "small" / "overrides.yaml").write_text("seed: 2\n")
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    code = "from longform_lab.scale import main\nsys.exit(main(['small']))"
    done = without_extras(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "seed: 2" in (tmp_path / "scales" / "small" / "params.yaml").read_text()
