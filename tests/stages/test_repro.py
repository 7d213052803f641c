"""The parallel runner beside DVC itself: same lock, same cache, same graph; a failure costs only what depends on it."""

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import dpath
import pytest
import yaml
from dvc.repo import Repo
from dvc.utils.serialize import dumps_yaml, load_yaml
from repro_project import PIPELINE, ROOT, ROWS, InTurn, new_project, run, status, write_pipeline

from longform.pipeline.pipeline import Kept, LockText, _at, opened
from longform.pipeline.repro import Times, heights, main


@pytest.fixture
def project(tmp_path, monkeypatch):
    return new_project(tmp_path / "project", monkeypatch)


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def blocks(lock):
    """The text of every stage in a lock file; the order in which DVC runs new stages differs from run to run."""
    return sorted(re.split(r"^(?=  \w)", lock.read_text(), flags=re.M))


def test_lock_file_outputs_and_both_caches_are_the_bytes_that_dvc_repro_writes(project):
    counts, _, _ = run()
    assert counts == {"run": 7} and status() == {}
    ours = {
        "lock": blocks(Path("dvc.lock")),
        "cache": files(project / ".dvc/cache"),
        "all": files(project / "folder_a"),
    }
    subprocess.run("rm -rf dvc.lock .dvc/cache .dvc/tmp out_* folder_* all.txt", shell=True, check=True)
    with Repo() as repo:
        repo.reproduce()
    theirs = {
        "lock": blocks(Path("dvc.lock")),
        "cache": files(project / ".dvc/cache"),
        "all": files(project / "folder_a"),
    }
    assert ours == theirs
    assert any(name.startswith("runs/") for name in ours["cache"])


def test_a_second_run_starts_nothing_and_dvc_repro_neither(project):
    run()
    assert run()[::2] == ({"unchanged": 7}, [])
    with Repo() as repo:
        assert repo.reproduce() == []


def test_only_what_depends_on_a_changed_row_runs_again(project):
    run()
    write_pipeline(project, rows=ROWS | {"b": {"n": 5}})
    assert run()[2] == ["train@b", "infer@b", "report"]
    assert Path("all.txt").read_text().splitlines()[1] == "b 5"
    assert status() == {}


def test_a_row_that_was_run_before_comes_from_the_run_cache(project):
    run()
    write_pipeline(project, rows=ROWS | {"b": {"n": 5}})
    run()
    write_pipeline(project)
    counts, said, started = run()
    assert started == ["report"]  # its output lies in git, so DVC keeps no run of it
    assert counts == {"run": 1, "restored": 2, "unchanged": 4}
    assert [line.split(",")[0] for line in said[:2]] == [
        f"{v}@b: restored from the run cache" for v in ("train", "infer")
    ]


def test_a_failure_stops_its_descendants_and_nobody_else(project):
    write_pipeline(project, rows=ROWS | {"b": {"n": "2 && echo out of ink >&2 && exit 3 #"}})
    counts, said, started = run()
    assert counts == {"run": 4, "failed": 1, "skipped": 2}
    failed = [line for line in said if line.startswith("FAILED")]
    assert len(failed) == 1 and failed[0].startswith("FAILED train@b: exit status 3: out of ink")
    assert "skipped infer@b: it needs train@b" in said and "skipped report: it needs train@b" in said
    assert "infer@c" in started and set(yaml.safe_load(Path("dvc.lock").read_text())["stages"]) == {
        "train@a", "infer@a", "train@c", "infer@c",
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
    (folder / "seconds.json").write_text(
        json.dumps({"train@b": 1, "train@c": 9, "train@a": 5, "infer@a": 5, "report": 1})
    )
    started = run(InTurn(slots=1))[2]
    assert started[:2] == ["train@c", "train@a"]  # 9 + 5 (typical) + 1, then 5 + 5 + 1, then 1 + 5 + 1


def test_the_order_is_that_of_dvc_yaml_and_the_lock_file_has_it_too(project):
    names = ["train@a", "train@b", "train@c", "infer@a", "infer@b", "infer@c", "report"]
    for _ in range(2):
        with opened(Path("."), ["dvc.yaml"]) as pipeline:
            assert [stage.name for stage in pipeline.stages] == names
    run()
    assert list(load_yaml("dvc.lock")["stages"]) == names


@pytest.mark.parametrize("targets", [["dvc.yaml"], ["report"], ["report", "infer@b", "train@b"]])
def test_each_stage_is_one_object_wherever_the_graph_names_it(project, targets):
    with opened(Path("."), targets) as pipeline:
        own = {id(stage) for stage in pipeline.stages}
        named = [other for near in (pipeline.needs, pipeline.users) for stage in near for other in near[stage]]
        assert named and {id(stage) for stage in named} <= own


def test_without_earlier_times_the_number_of_stages_on_the_way_decides(project):
    with opened(Path("."), ["dvc.yaml"]) as pipeline:
        height = {stage.name: value[0] for stage, value in heights(pipeline, Times()).items()}
    assert height == {"report": 1} | dict.fromkeys(["infer@a", "infer@b", "infer@c"], 2) | dict.fromkeys(
        ["train@a", "train@b", "train@c"], 3
    )


def test_a_lock_file_that_dvc_wrote_is_what_this_writer_would_write():
    path = ROOT / "experiments" / "scales" / "wikisection" / "dvc.lock"
    contents = load_yaml(path)
    lock = LockText(path, contents, list(contents["stages"]))
    assert "".join(lock._stages.values()) == path.read_text(encoding="utf-8").split("stages:\n", 1)[1]


def test_new_stages_take_their_place_in_the_order_of_the_plan_whichever_ends_first(tmp_path):
    record = {"cmd": "true", "outs": [{"path": "x", "hash": "md5", "md5": "0", "size": 1}]}
    for ends in (["b", "a", "c"], ["c", "b", "a"], ["a", "b", "c"]):
        lock = LockText(tmp_path / "dvc.lock", {}, ["a", "b", "c"])
        for name in ends:
            lock.put(name, record)
        whole = {"schema": "2.0", "stages": {name: copy.deepcopy(record) for name in "abc"}}
        assert (tmp_path / "dvc.lock").read_text() == dumps_yaml(whole)


def test_a_file_is_hashed_once_until_it_changes(project):
    calls = []
    kept = Kept()

    class Dependency:
        def _build(self, odb, path, fs, hash_name, **others):
            calls.append(path)
            return Path(path).read_text()

    first, second = Dependency(), Dependency()
    kept.attach(first)
    kept.attach(second)
    asked = [d._build(None, "source.txt", None, "md5") for d in (first, second)]
    Path("source.txt").write_text("three")
    assert [*asked, second._build(None, "source.txt", None, "md5")] == ["one", "one", "three"]
    assert len(calls) == 2


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


@pytest.mark.parametrize("arguments", [["nowhere.yaml"], ["train@zz"], ["--home", "nowhere"]])
def test_targets_that_do_not_exist_are_one_sentence(project, capsys, arguments):
    assert main(arguments) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("longform: ") and "Traceback" not in said


def test_dask_is_not_even_imported_when_nothing_is_to_be_done(project):
    run()
    code = "import sys; from longform.pipeline.repro import main; main([]); sys.exit('distributed' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("7 stages: 0 run, 7 unchanged"), done.stderr


@pytest.mark.parametrize("key", ["seed", "train.a-b", "train.a-b.x.1", "train.none", "seed.x", "train.*.y"])
def test_a_parameter_is_what_dpath_finds(key):
    parsed = {"seed": 7, "train": {"a-b": {"x": [1, 2], "y": None}}}

    def found(get):
        try:
            return get()
        except KeyError:
            return "nothing"

    assert found(lambda: _at(parsed, key)) == found(lambda: dpath.get(parsed, key, separator="."))
