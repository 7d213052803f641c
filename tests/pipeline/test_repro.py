"""The parallel runner beside DVC itself: same lock, same cache, same graph; a failure costs only what depends on it."""

import copy
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo
from dvc.utils.serialize import dumps_yaml, load_yaml
from repro_project import MODELS, PIPELINE, InTurn, new_project, run, status, write_pipeline

from longform.pipeline.dvc_stages import LockText
from longform.pipeline.repro import main


@pytest.fixture
def project(tmp_path, monkeypatch):
    return new_project(tmp_path / "project", monkeypatch)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A whole run and how it ended."""
    with pytest.MonkeyPatch.context() as patch:
        folder = new_project(tmp_path_factory.mktemp("once") / "project", patch)
        return folder, run()[0]


@pytest.fixture
def finished(once, tmp_path, monkeypatch):
    """The project after a whole run."""
    shutil.copytree(once[0], tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def blocks(lock):
    """The text of every stage in a lock file; the order in which DVC runs new stages differs from run to run."""
    return sorted(re.split(r"^(?=  \w)", lock.read_text(), flags=re.M))


def written(project):
    return {"lock": blocks(project / "dvc.lock"), "cache": files(project / ".dvc/cache"),
            "all": files(project / "folder_a")}  # fmt: skip


def test_lock_file_outputs_and_both_caches_are_the_bytes_that_dvc_repro_writes(once, finished):
    folder, counts = once
    assert counts == {"run": 7} and status() == {}
    subprocess.run("rm -rf dvc.lock .dvc/cache .dvc/tmp out_* folder_* all.txt", shell=True, check=True)
    with Repo() as repo:
        repo.reproduce()
    assert written(folder) == written(finished)
    assert any(name.startswith("runs/") for name in written(folder)["cache"])
    names = ["train@a", "train@b", "train@c", "read@a", "read@b", "read@c", "report"]
    assert list(load_yaml(folder / "dvc.lock")["stages"]) == names


def test_a_second_run_starts_nothing_and_then_only_what_depends_on_a_change_or_comes_from_the_run_cache(finished):
    assert run()[::2] == ({"unchanged": 7}, [])
    with Repo() as repo:
        assert repo.reproduce() == []
    write_pipeline(finished, models=MODELS | {"b": {"n": 5}})
    assert run()[2] == ["train@b", "read@b", "report"]
    assert Path("all.txt").read_text().splitlines()[1] == "b 5"
    assert status() == {}
    write_pipeline(finished)
    counts, said, started = run()
    assert started == ["report"]  # its output lies in git, so DVC keeps no run of it
    assert counts == {"run": 1, "restored": 2, "unchanged": 4}
    assert all(f"{stage}@b: restored from the run cache" in "".join(said[:2]) for stage in ("train", "read"))


@pytest.mark.parametrize(
    ("end", "told"),
    [("echo out of ink >&2 && exit 3", "exit status 3: out of ink"), ("kill -9 $$", "killed (SIGKILL)")],
)
def test_a_failure_stops_its_descendants_and_nobody_else(project, end, told):
    write_pipeline(project, models=MODELS | {"b": {"n": f"2 && {end} #"}})
    counts, said, started = run()
    assert counts == {"run": 4, "failed": 1, "skipped": 2}
    failed = [line for line in said if line.startswith("FAILED")]
    assert len(failed) == 1 and failed[0].startswith(f"FAILED train@b: {told}")
    assert "skipped read@b: it needs train@b" in said and "skipped report: it needs train@b" in said
    assert "read@c" in started and set(yaml.safe_load(Path("dvc.lock").read_text())["stages"]) == {
        "train@a", "read@a", "train@c", "read@c",
    }  # fmt: skip


def test_a_stage_that_leaves_out_its_output_fails_in_one_line(project):
    stages = json.loads(json.dumps(PIPELINE))
    stages["stages"]["report"]["cmd"] = "true"
    write_pipeline(project, stages)
    counts, said, _ = run()
    assert counts == {"run": 6, "failed": 1}
    assert said[-1] == "FAILED report: output 'all.txt' does not exist"


def test_an_input_that_changes_under_a_running_stage_is_not_locked(project):
    class Meddling(InTurn):
        def finished(self, seconds):
            ended = super().finished(seconds)
            if ended and ended[0] == "train@a":
                Path("source.txt").write_text("two, in the meantime")
            return ended

    _, said, _ = run(Meddling(slots=1))
    assert "FAILED train@a: source.txt changed while it ran; run again" in said
    assert "train@a" not in yaml.safe_load(Path("dvc.lock").read_text())["stages"]
    assert run()[0] == {"run": 3, "unchanged": 4} and status() == {}


def test_the_longest_way_to_the_end_starts_first(project):
    folder = project / "scratch" / "repro"
    folder.mkdir(parents=True)
    seconds = {"train@b": 1, "train@c": 9, "train@a": 5, "read@a": 5, "report": 1}
    (folder / "seconds.json").write_text(json.dumps(seconds))
    started = run(InTurn(slots=1))[2]
    assert started[:2] == ["train@c", "train@a"]  # 9 + 5 (typical) + 1, then 5 + 5 + 1, then 1 + 5 + 1


def test_new_stages_take_their_place_in_the_order_of_the_plan_whichever_ends_first(tmp_path):
    record = {"cmd": "true", "outs": [{"path": "x", "hash": "md5", "md5": "0", "size": 1}]}
    for ends in (["b", "a", "c"], ["c", "b", "a"], ["a", "b", "c"]):
        lock = LockText(tmp_path / "dvc.lock", {"stages": {"gone": record}}, ["a", "b", "c"], {"a", "b", "c"})
        for name in ends:
            lock.put(name, record)
        whole = {"schema": "2.0", "stages": {name: copy.deepcopy(record) for name in "abc"}}
        assert (tmp_path / "dvc.lock").read_text() == dumps_yaml(whole)


def test_a_record_of_readers_cut_by_a_kill_does_not_block_the_next_run(project):
    (project / ".dvc" / "tmp").mkdir(exist_ok=True)
    (project / ".dvc" / "tmp" / "rwlock").write_text('{"read": {"/so')
    assert run()[0] == {"run": 7}


def test_a_stage_that_another_dvc_is_writing_is_left_alone(project, capsys):
    blocker = subprocess.Popen(["sleep", "60"])
    (project / ".dvc" / "tmp").mkdir(exist_ok=True)
    held = {"write": {str(project / "out_a"): {"pid": blocker.pid, "cmd": "dvc repro"}}, "read": {}}
    (project / ".dvc" / "tmp" / "rwlock").write_text(json.dumps(held))
    try:
        assert main([]) == 2
    finally:
        blocker.kill()
        blocker.wait()
    assert "is busy" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["nowhere.yaml", "train@zz"])
def test_targets_that_do_not_exist_are_one_sentence(project, capsys, target):
    assert main([target]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("longform: ") and "Traceback" not in said
