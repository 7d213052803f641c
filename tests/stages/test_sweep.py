"""Sweeps: names, overrides and worktrees; one combination is one DVC experiment."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dvc.exceptions import InvalidArgumentError
from dvc.repo import Repo

from longform.documents import BadInput
from longform.pipeline.sweep import combinations, main, prepared

ROWS = {"seed": 1, "train": {"a-b": {"shape": {"n_embd": 8, "n_layer": 1}}}}
STAGES = {
    "stages": {
        "train": {
            "foreach": "${train}",
            "do": {"cmd": "echo ${item.shape.n_embd} > ${key}", "params": ["train.${key}"], "outs": ["${key}"]},
        }
    }
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "x")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "x@example.org")
    subprocess.run(["git", "init", "-q"], check=True)
    Repo.init().close()
    Path(".gitignore").write_text("scratch/\ndata/\n/a-b\n")
    Path("params.yaml").write_text(yaml.safe_dump(ROWS))
    Path("dvc.yaml").write_text(yaml.safe_dump(STAGES))
    subprocess.run("git add -A && git commit -qm one", shell=True, check=True)
    return tmp_path


def test_every_combination_has_a_name_that_says_its_values():
    found = combinations(["train.a-b.shape.n_embd=8,16", "train.a-b.rate=1e-3,0.5"], "params.yaml")
    assert list(found) == ["n_embd_8-rate_0.001", "n_embd_8-rate_0.5", "n_embd_16-rate_0.001", "n_embd_16-rate_0.5"]
    assert found["n_embd_16-rate_0.5"] == ["train.a-b.shape.n_embd=16", "train.a-b.rate=0.5"]


def test_combinations_that_would_share_a_name_are_refused():
    with pytest.raises(BadInput, match="would both be called 'n_embd_8'"):
        combinations(["train.a.n_embd=8,8"], "params.yaml")


def test_a_worktree_has_the_setting_the_cache_and_the_raw_files_and_the_workspace_is_untouched(project):
    (project / "data" / "raw").mkdir(parents=True)
    (project / "data" / "raw" / "dump.xml").write_text("raw")
    folder = prepared("n_embd_16", ["train.a-b.shape.n_embd=16"], Path("."))
    assert yaml.safe_load((folder / "params.yaml").read_text())["train"]["a-b"]["shape"] == {"n_embd": 16, "n_layer": 1}
    assert (folder / "data" / "raw" / "dump.xml").read_text() == "raw"
    assert yaml.safe_load((project / "params.yaml").read_text()) == ROWS
    with Repo(str(folder)) as there, Repo() as here:
        assert there.cache.local_cache_dir == here.cache.local_cache_dir


def test_a_misspelt_key_is_refused_and_leaves_no_worktree_to_be_taken_up(project):
    for _ in range(2):
        with pytest.raises(InvalidArgumentError):
            prepared("n_embdd_16", ["train.a-b.shape.n_embdd=16"], Path("."))
    assert main(["-S", "train.a-b.shape.n_embdd=16"]) == 2


def test_a_sweep_ends_as_experiments_of_dvc(project, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    assert main(["-S", "train.a-b.shape.n_embd=8,16", "--workers", "1"]) == 0
    listed = subprocess.run(
        [sys.executable, "-m", "dvc", "exp", "list", "--name-only"], capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.split()) == {"n_embd_8", "n_embd_16"}
    assert Path("scratch/sweeps/n_embd_16/a-b").read_text() == "16\n"
