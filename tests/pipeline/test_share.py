"""Results for others: what a clone pulls is a finished run, and a release says what it holds (docs/share_results.md)."""

import logging
import shutil
import zipfile
from pathlib import Path

import pytest
from dvc.repo import Repo
from repro_project import PIPELINE, InTurn, git, new_project, run, status, write_pipeline

from experiments.release import MANIFEST, check, main
from longform_lab.dvc_stages import opened
from longform_lab.repro import Run
from tests.refusals import refuses

ELSEWHERE = {
    "foreach": "${others}",
    "do": {"cmd": "false", "deps": ["of_another_scale"], "outs": ["other_${item}"]},
}


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.long  # DVC's own pull
def test_a_clone_that_pulls_has_every_output_and_nothing_to_run(tmp_path, monkeypatch, caplog):
    project = new_project(tmp_path / "project", monkeypatch)
    write_pipeline(project, {"stages": {**PIPELINE["stages"], "elsewhere": ELSEWHERE}})
    with (project / "params.yaml").open("a") as params:
        params.write(
            "others: []\n"
        )  # a scale's list: the stages stand in dvc.yaml, none is in the lock
    assert run()[0] == {"run": 7}
    config = (
        "[core]\n no_scm = true\n remote = shared\n['remote \"shared\"']\n url = ../../remote\n"
    )
    (project / ".dvc" / "config").write_text(config)
    (project / ".gitignore").write_text("out_*\nfolder_*\nran_*\nscratch\n.dvc/cache\n.dvc/tmp\n")
    for words in (("init",), ("add", "--all"), ("commit", "-m", "a finished run")):
        git(project, *words)
    with Repo() as repo:
        assert repo.push() > 0
    git(tmp_path, "clone", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    assert not Path("out_a").exists()
    caplog.clear()
    with Repo() as repo, caplog.at_level(logging.WARNING, "dvc"):
        pulled = repo.pull()
    assert pulled["added"] and not caplog.records
    for name in ("out_a", "out_b", "out_c", "folder_a/x", "folder_b/x", "folder_c/x"):
        assert Path(name).read_bytes() == (project / name).read_bytes()
    assert status() == {} and run()[::2] == ({"unchanged": 7}, [])


def test_arms_that_two_machines_ran_are_put_together_without_running_again(tmp_path, monkeypatch):
    ran = {}
    for machine, targets in (("one", ["read@a"]), ("two", ["read@b", "read@c"]), ("third", None)):
        new_project(tmp_path / machine, monkeypatch)
        Path(".dvc/config").write_text("[core]\n no_scm = true\n[cache]\n dir = ../../cache\n")
        with opened(Path("."), targets or ["dvc.yaml"]) as pipeline:
            counts = Run(pipeline, InTurn(), lambda line: None).all()
        ran[machine] = {how: count for how, count in counts.items() if count}
    assert ran == {"one": {"run": 2}, "two": {"run": 4}, "third": {"run": 1, "restored": 6}}
    assert not list(Path(".").glob("ran_*"))  # of the arms no command was run here
    assert Path("folder_b/x").read_bytes() == (tmp_path / "two" / "folder_b" / "x").read_bytes()
    assert status() == {}


def test_equal_files_give_equal_archives_and_changed_ones_are_refused(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "results" / "scores").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "results")
    Path("scores/a.json").write_text("[1]\n")
    Path("text.jsonl").write_text("{}\n")
    assert (
        main(["../one.zip", "text.jsonl", "scores"])
        == main(["../two.zip", "scores", "text.jsonl"])
        == 0
    )
    assert Path("../one.zip").read_bytes() == Path("../two.zip").read_bytes()
    assert main(["../one.zip", "--check"]) == 0
    assert "2 files" in capsys.readouterr().out.splitlines()[-2]
    assert check(Path("../one.zip"))["files"]["scores/a.json"]["bytes"] == 4
    with zipfile.ZipFile("../one.zip") as archive:
        assert archive.namelist() == [MANIFEST, "scores/a.json", "text.jsonl"]
        assert archive.read("scores/a.json") == b"[1]\n"
        manifest = archive.read(MANIFEST).decode()
    assert main(["../three.zip", "models"]) == 2
    assert "models: no such file or folder to release" in capsys.readouterr().err
    whole = Path("../one.zip").read_bytes()
    Path("../cut.zip").write_bytes(whole[: len(whole) // 2])
    refuses("not a whole release", check, Path("../cut.zip"))
    for held, said in (({}, "scores/a.json is in"), ({"scores/a.json": "[2]\n"}, "SHA-256")):
        with zipfile.ZipFile("../other.zip", "w") as archive:
            for name, text in {MANIFEST: manifest, "text.jsonl": "{}\n", **held}.items():
                archive.writestr(name, text)
        refuses(said, check, Path("../other.zip"))
