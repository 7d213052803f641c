"""Kills of the parallel runner and of its workers: what had finished stays, and what had not runs again."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from distributed import LocalCluster
from repro_project import ROOT, InTurn, new_project, run, status, until, write_pipeline

from longform.pipeline.workers import Workers

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="stages die with their worker on Linux alone; reads /proc"
)


def runner(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "longform.pipeline.repro", *arguments]
    return subprocess.Popen(
        command, env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


SLOW = 'echo $$ > pid && test -e go || sleep 100; echo "$CUDA_VISIBLE_DEVICES" > out_b'


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
                         "train": {"cmd": "sh slow.sh", "deps": ["source.txt"], "outs": ["out_b"]},
                         "score": {"cmd": "cp out_b out_c", "deps": ["out_a", "out_b"], "outs": ["out_c"]}}}  # fmt: skip
    write_pipeline(project, stages)
    return project


def locked():
    return set(yaml.safe_load(Path("dvc.lock").read_text())["stages"]) if Path("dvc.lock").exists() else set()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_or_ctrl_c_ends_the_run_and_its_stages_and_loses_nothing_that_had_finished(slow, sent):
    first = runner("--workers", "2")
    until(lambda: "quick" in locked() and stage_of(slow / "pid"), 200)
    os.killpg(first.pid, sent)  # a terminal sends it to the workers, too
    said, _ = first.communicate(timeout=100)
    if sent == signal.SIGINT:
        assert first.returncode == 130 and "Traceback" not in said and "interrupted" in said.splitlines()[-1]
    stage = stage_of(slow / "pid")
    until(lambda: not alive(stage))  # it is in a worker's process group, and goes with the worker
    (slow / "go").touch()
    counts, _, started = run()
    assert started == ["train", "score"] and counts == {"run": 2, "unchanged": 1}
    assert (slow / "ran").read_text() == "ran\n" and status() == {}


def test_a_stage_whose_worker_is_killed_runs_again_alone_and_sees_its_one_gpu(slow):
    whole = runner("--workers", "2", "--gpus", "1")
    until(lambda: stage_of(slow / "pid"), 200)
    stage = stage_of(slow / "pid")
    worker = fields(stage)[1]
    (slow / "go").touch()
    os.kill(int(worker), signal.SIGKILL)
    said, _ = whole.communicate(timeout=200)
    assert whole.returncode == 0, said
    assert not alive(stage) and locked() == {"quick", "train", "score"}
    assert (slow / "out_b").read_text() == "0\n"


def test_a_cluster_of_two_workers_with_two_threads_each_loses_one_and_makes_the_same_bytes(tmp_path, monkeypatch):
    """A nanny puts a new worker in the place of the one that was killed, so a worker joins as well."""
    names = list("abcde")
    copy = {"cmd": "cp out_${item} read_${item}", "deps": ["out_${item}"], "outs": ["read_${item}"]}
    slow = {"cmd": "sh slow.sh ${item}", "deps": ["source.txt"], "outs": ["out_${item}"]}
    stages = {"train": {"foreach": names, "do": slow}, "read": {"foreach": names, "do": copy}}

    def project(name):
        folder = new_project(tmp_path / name, monkeypatch)
        (folder / "slow.sh").write_text("echo $$ > pid_$1; until test -e go; do sleep 0.05; done; echo $1 > out_$1")
        write_pipeline(folder, {"stages": stages})
        return folder

    def made(folder):
        files = [folder / "dvc.lock", *(path for path in folder.glob("*_?") if "pid" not in path.name)]
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
        workers, killer = Workers(address=cluster.scheduler_address), threading.Thread(target=kill_one)
        workers.started = []
        killer.start()
        counts = run(workers)[0]
        killer.join()
        workers.close()
    assert counts == {"run": 10} and made(spread) == made(alone)
