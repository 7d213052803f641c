"""The parallel runner beside DVC itself: same lock, same cache, same graph; a failure costs only what depends on it, a kill only what
had not finished."""

import copy
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml
from distributed import LocalCluster
from dvc.lock import LockError
from dvc.repo import Repo
from dvc.utils.serialize import dumps_yaml, load_yaml
from repro_project import (
    MODELS,
    PIPELINE,
    ROOT,
    InTurn,
    new_project,
    run,
    status,
    until,
    write_pipeline,
)

from longform.files.artefacts import write_json
from longform.terminal import Interrupt
from longform_lab import repro
from longform_lab.dvc_stages import LockText, opened
from longform_lab.repro import main
from longform_lab.workers import Workers

SLOW = 'echo $$ > pid && test -e go || sleep 100; echo "$CUDA_VISIBLE_DEVICES" > out_b'
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="stages die with their worker on Linux alone; reads /proc"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    return new_project(tmp_path / "project", monkeypatch)


def files(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def written(project):
    # the order in which DVC runs new stages, and so that of the lock file, differs from run to run
    blocks = sorted(re.split(r"^(?=  \w)", (project / "dvc.lock").read_text(), flags=re.M))
    return {
        "lock": blocks,
        "cache": files(project / ".dvc/cache"),
        "all": files(project / "folder_a"),
    }


def test_a_run_writes_the_bytes_of_dvc_repro_and_the_next_what_changed(project, monkeypatch):
    assert run()[0] == {"run": 7} and status() == {}
    names = ["train@a", "train@b", "train@c", "read@a", "read@b", "read@c", "report"]
    assert list(load_yaml("dvc.lock")["stages"]) == names
    twin = shutil.copytree(project, project.parent / "twin")
    monkeypatch.chdir(twin)
    subprocess.run(
        "rm -rf dvc.lock .dvc/cache .dvc/tmp out_* folder_* all.txt", shell=True, check=True
    )
    with Repo() as repo:
        repo.reproduce()
    assert written(project) == written(twin)
    assert any(name.startswith("runs/") for name in written(project)["cache"])
    monkeypatch.chdir(project)
    assert run()[::2] == ({"unchanged": 7}, [])
    with Repo() as repo:
        assert repo.reproduce() == []
    write_pipeline(project, models=MODELS | {"b": {"n": 5}})
    assert run()[2] == ["train@b", "read@b", "report"]
    assert Path("all.txt").read_text().splitlines()[1] == "b 5" and status() == {}
    write_pipeline(project)
    counts, said, started = run()
    assert started == ["report"]  # its output lies in git, so DVC keeps no run of it
    assert counts == {"run": 1, "restored": 2, "unchanged": 4}
    assert all(
        f"{stage}@b: restored from the run cache" in "".join(said[:2])
        for stage in ("train", "read")
    )


def locked():
    return (
        set(yaml.safe_load(Path("dvc.lock").read_text())["stages"])
        if Path("dvc.lock").exists()
        else set()
    )


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("echo out of ink >&2 && exit 3", "exit status 3: out of ink"),
        pytest.param("kill -9 $$", "killed (SIGKILL)", marks=pytest.mark.long),
        (
            "ulimit -f 1000 && head -c 2000000 /dev/zero > out_b",
            "File size limit exceeded",
        ),  # as on a full disk
    ],
)
def test_a_failure_stops_its_descendants_alone_and_the_next_run_does_them(project, end, told):
    write_pipeline(
        project, models=MODELS | {"b": {"n": f"2 > out_b && (test -e mended || ({end})) #"}}
    )
    counts, said, started = run()
    assert counts == {"run": 4, "failed": 1, "skipped": 2}
    (failed,) = [line for line in said if line.startswith("FAILED")]
    assert failed.startswith("FAILED train@b: ") and told in failed and "\n" not in failed
    assert "skipped read@b: it needs train@b" in said and "skipped report: it needs train@b" in said
    assert "read@c" in started and locked() == {"train@a", "read@a", "train@c", "read@c"}
    Path("mended").touch()
    assert run()[::2] == ({"run": 3, "unchanged": 4}, ["train@b", "read@b", "report"])


def test_a_stage_without_output_or_with_changed_input_fails_in_a_line(project):
    class Meddling(InTurn):
        def finished(self, seconds):
            ended = super().finished(seconds)
            if ended and ended[0] == "train@a":
                Path("source.txt").write_text("two, in the meantime")
            return ended

    _, said, _ = run(Meddling(slots=1))
    assert "FAILED train@a: source.txt changed while it ran; run again" in said
    assert "train@a" not in locked()
    stages = PIPELINE["stages"] | {"report": {**PIPELINE["stages"]["report"], "cmd": "true"}}
    write_pipeline(project, {"stages": stages})
    counts, said, _ = run()
    assert counts == {"run": 2, "unchanged": 4, "failed": 1}
    assert said[-1] == "FAILED report: output 'all.txt' does not exist"
    write_pipeline(project)
    assert run()[0] == {"run": 1, "unchanged": 6} and status() == {}


def test_the_longest_way_to_the_end_starts_first(project):
    seconds = {"train@b": 1, "train@c": 9, "train@a": 5, "read@a": 5, "report": 1}
    write_json(project / "scratch" / "repro" / "seconds.json", seconds)
    workers = InTurn(slots=1)
    started = run(workers)[2]
    assert set(workers.patience) == {0, repro.POLL}
    # 9 + 5 (typical) + 1, then 5 + 5 + 1, then 1 + 5 + 1
    assert started[:2] == ["train@c", "train@a"]


def test_new_stages_stand_in_the_order_of_the_plan_whichever_ends_first(tmp_path):
    record = {"cmd": "true", "outs": [{"path": "x", "hash": "md5", "md5": "0", "size": 1}]}
    for ends in (["b", "a", "c"], ["c", "b", "a"], ["a", "b", "c"]):
        lock = LockText(
            tmp_path / "dvc.lock", {"stages": {"gone": record}}, ["a", "b", "c"], {"a", "b", "c"}
        )
        for name in ends:
            lock.put(name, record)
        whole = {"schema": "2.0", "stages": {name: copy.deepcopy(record) for name in "abc"}}
        assert (tmp_path / "dvc.lock").read_text() == dumps_yaml(whole)


def test_a_run_waits_for_another_run_in_its_folder_and_says_so_once(project, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    said = []
    wait = repro._waiting(said.append)
    with ExitStack() as other:
        other.enter_context(opened(Path("."), ["dvc.yaml"]))
        with pytest.raises(LockError):
            other.enter_context(opened(Path("."), ["dvc.yaml"]))
        tries = []

        def busy():
            wait()
            tries.append(1)
            if len(tries) == 2:
                other.close()

        with opened(Path("."), ["dvc.yaml"], busy) as pipeline:
            assert len(pipeline.stages) == 7
    assert len(tries) == 2
    assert said == ["another run, or dvc, is at work in this folder; waiting for its end"]


def test_a_stage_that_another_dvc_writes_and_a_cut_record_block_nothing(project, capsys):
    rwlock = project / ".dvc" / "tmp" / "rwlock"
    with subprocess.Popen(["sleep", "60"]) as blocker:
        write_json(
            rwlock,
            {
                "write": {str(project / "out_a"): {"pid": blocker.pid, "cmd": "dvc repro"}},
                "read": {},
            },
        )
        try:
            assert main([]) == 2
        finally:
            blocker.kill()
    assert "is busy" in capsys.readouterr().err
    rwlock.write_text('{"read": {"/so')
    assert run()[0] == {"run": 7}


@pytest.mark.parametrize("target", ["nowhere.yaml", "train@zz"])
def test_targets_that_do_not_exist_are_one_sentence(project, capsys, target):
    assert main([target]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("longform: ") and "Traceback" not in said


def runner(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "longform_lab.repro", *arguments]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, env=environment, start_new_session=True, **output)


def stage_of(file):
    """The process that a stage has written down; 0 before it has."""
    return int((file.read_text() if file.exists() else "").strip() or 0)


def fields(pid):
    """State, parent ... of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def alive(pid):
    try:
        return "Z" not in fields(pid)[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """Stage train sleeps unless the file ``go`` is there; the others are quick."""
    project = new_project(tmp_path / "project", monkeypatch)
    (project / "slow.sh").write_text(SLOW)
    stages = {"stages": {"quick": {"cmd": "sh -c 'echo ran >> ran && echo 1 > out_a'", "deps": ["source.txt"],
                                   "outs": ["out_a"]},
                         "train": {"cmd": "sh slow.sh", "deps": ["source.txt"], "outs": ["out_b"],
                                   "meta": {"gpu": True}},
                         "score": {"cmd": "cp out_b out_c", "deps": ["out_a", "out_b"], "outs": ["out_c"]}}}  # fmt: skip
    write_pipeline(project, stages)
    return project


def test_an_interrupt_that_a_library_swallows_ends_the_run(slow):
    interrupt, workers = Interrupt(), InTurn()
    interrupt.ends_at_once = False

    def swallow(line):
        with suppress(KeyboardInterrupt):
            interrupt.hear()

    with opened(Path("."), ["dvc.yaml"]) as pipeline, pytest.raises(KeyboardInterrupt):
        repro.Run(pipeline, workers, swallow, interrupt.check).all()
    assert len(workers.started) < 3 and locked() == {"quick"}


@linux
@pytest.mark.parametrize(
    "sent", [pytest.param(signal.SIGKILL, marks=pytest.mark.long), signal.SIGINT]
)
def test_a_kill_or_ctrl_c_ends_all_stages_and_loses_nothing_finished(slow, sent):
    first = runner("--workers", "2")
    until(lambda: "quick" in locked() and stage_of(slow / "pid"), 200)
    os.killpg(first.pid, sent)  # a terminal sends it to the workers, too
    said, _ = first.communicate(timeout=100)
    if sent == signal.SIGINT:
        assert first.returncode == 130
        assert "Traceback" not in said
        assert "interrupted" in said.splitlines()[-1]
    stage = stage_of(slow / "pid")
    until(lambda: not alive(stage))  # it is in a worker's process group, and goes with the worker
    (slow / "go").touch()
    counts, _, started = run()
    assert started == ["train", "score"] and counts == {"run": 2, "unchanged": 1}
    assert (slow / "ran").read_text() == "ran\n" and status() == {}


@linux
@pytest.mark.long  # test_workers.py has the stages of lost workers
def test_a_stage_whose_worker_is_killed_runs_again_with_its_gpu(slow):
    whole = runner("--workers", "2", "--gpus", "1")
    until(lambda: stage_of(slow / "pid"), 200)
    stage = stage_of(slow / "pid")
    (slow / "go").touch()
    os.kill(int(fields(stage)[1]), signal.SIGKILL)
    said, _ = whole.communicate(timeout=200)
    assert whole.returncode == 0, said
    assert not alive(stage) and locked() == {"quick", "train", "score"}
    assert (slow / "out_b").read_text() == "0\n"


@linux
@pytest.mark.long  # the kill is that of the test above, the threads are those of test_warm.py, lost workers those of test_workers.py
def test_a_cluster_that_loses_a_worker_makes_the_same_bytes(tmp_path, monkeypatch):
    """A nanny puts a new worker in the place of the one that was killed, so a worker joins as well."""
    names = list("abcde")
    copy = {"cmd": "cp out_${item} read_${item}", "deps": ["out_${item}"], "outs": ["read_${item}"]}
    slow = {"cmd": "sh slow.sh ${item}", "deps": ["source.txt"], "outs": ["out_${item}"]}
    stages = {"train": {"foreach": names, "do": slow}, "read": {"foreach": names, "do": copy}}

    def project(name):
        folder = new_project(tmp_path / name, monkeypatch)
        (folder / "slow.sh").write_text(
            "echo $$ > pid_$1; until test -e go; do sleep 0.05; done; echo $1 > out_$1"
        )
        write_pipeline(folder, {"stages": stages})
        return folder

    def made(folder):
        files = [
            folder / "dvc.lock",
            *(path for path in folder.glob("*_?") if "pid" not in path.name),
        ]
        return {path.name: path.read_bytes() for path in files}

    def kill_one():
        until(lambda: len([path for path in spread.glob("pid_?") if stage_of(path)]) == 4)
        os.kill(int(fields(stage_of(next(spread.glob("pid_?"))))[1]), signal.SIGKILL)
        (spread / "go").touch()

    alone = project("alone")
    (alone / "go").touch()
    run(InTurn())
    spread = project("spread")
    quiet = {"memory_limit": 0, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=2, **quiet) as cluster:
        workers, killer = (
            Workers(address=cluster.scheduler_address),
            threading.Thread(target=kill_one),
        )
        workers.started = []
        killer.start()
        counts = run(workers)[0]
        killer.join()
        workers.close()
    assert counts == {"run": 10} and made(spread) == made(alone)
