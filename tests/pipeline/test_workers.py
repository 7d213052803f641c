"""The runner's side of a cluster: what it does and says when workers and the scheduler come and go."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from repro_project import ROOT, new_project, until, write_pipeline

from longform_lab import workers
from longform_lab.repro import main
from longform_lab.workers import Finished, Workers
from tests.refusals import refuses

CPU = {"nthreads": 1, "resources": {}}
GPU = {"nthreads": 1, "resources": {"GPU": 1}}
DONE = Finished(0, 1.0, ())


class Future:
    """A stage on a fake cluster; it ends when ``end`` is called."""

    def __init__(self, key, resources):
        self.key, self.resources, self.status = key, resources, "pending"

    def add_done_callback(self, callback):
        self.callback = callback

    def end(self, status="finished"):
        self.status = status
        self.callback(self)

    def cancel(self):
        self.end("cancelled")

    def cancelled(self):
        return self.status == "cancelled"

    def result(self):
        return DONE


class FakeClient:
    """A connection whose workers are the mapping ``workers``."""

    status = "running"

    def __init__(self, **connected):
        self.workers, self.futures = connected, []
        self.scheduler = self
        self.address = "tcp://scheduler"

    def identity(self, n_workers):
        return {"workers": self.workers if n_workers == -1 else {}}

    def sync(self, call, **named):
        return call(**named)

    def submit(self, function, *, key, pure, resources=None, **job):
        self.futures.append(Future(key, resources))
        return self.futures[-1]


@pytest.fixture
def cluster():
    """Runner's workers on a fake cluster of one worker with a GPU and one without, and what was said."""
    said = []
    fake = Workers(gpu_patience=0.0, say=said.append)
    fake._client = FakeClient(gpu=GPU, cpu=CPU)
    return fake, fake._client, said


def test_stages_of_a_gpu_that_is_gone_go_to_other_workers(cluster):
    fake, client, said = cluster
    fake.submit("train", gpu=True, commands=["x"])
    assert client.futures[0].resources == {"GPU": 1}
    assert not fake.room(gpu=True) and fake.room(gpu=False)
    del client.workers["gpu"]
    assert fake.finished(0) is None
    assert [future.resources for future in client.futures] == [{"GPU": 1}, None]
    assert fake.finished(0) is None  # the cancelled one is no end of the stage
    assert not fake.room(gpu=False) and not fake.room(gpu=True)
    client.futures[1].end()
    assert fake.finished(0) == ("train", DONE) and fake.room(gpu=True)
    assert said[1].startswith("worker gpu is lost") and said[2].startswith(
        "train: no worker with a GPU"
    )


def test_a_lost_gpu_is_waited_for_while_other_stages_run(cluster):
    fake, client, _ = cluster
    fake._gpu_patience = 60.0
    fake.submit("train", gpu=True, commands=["x"])
    del client.workers["gpu"]
    assert fake.finished(0) is None and len(client.futures) == 1
    assert fake.room(gpu=False) and not fake.room(gpu=True)
    client.workers["new"] = GPU
    assert not fake.room(gpu=True)  # the stage that waited has it


def test_no_worker_at_all_is_said_once_in_a_while(cluster, monkeypatch):
    fake, client, said = cluster
    client.workers.clear()
    for _ in range(3):
        assert not fake.room(gpu=False)
    assert said == ["scheduler tcp://scheduler: 0 workers, 0 stages at once, 0 GPUs", said[1]]
    assert said[1] == "no worker is connected to the scheduler; waiting for one"
    monkeypatch.setattr(workers, "REMINDER", -1.0)
    assert not fake.room(gpu=False) and said[2:] == [said[1]]
    client.workers["late"] = CPU
    assert fake.room(gpu=True)
    assert said[-1] == "worker late joined; 1 workers, 1 stages at once, 0 GPUs"


@pytest.mark.parametrize("ask", ["room", "submit", "finished"])
@pytest.mark.parametrize("broken", ["closed", "error", "cancelled"])
def test_a_scheduler_that_is_gone_is_one_sentence_wherever_it_shows(cluster, ask, broken):
    fake, client, _ = cluster
    if broken == "cancelled":
        fake.submit("train", gpu=False, commands=["x"])
        client.futures[0].end("cancelled")  # a client that loses its connection cancels all
        asked = [fake.finished, 0]
    else:
        calls = {
            "room": [fake.room, False],
            "submit": [fake.submit, "read", False],
            "finished": [fake.finished, 0],
        }
        asked = calls[ask]
        if broken == "closed":
            client.status = "closed"
        else:
            client.identity = lambda n_workers: (_ for _ in ()).throw(OSError("closed"))
    refuses("the Dask scheduler is gone; what had finished is kept, run again", *asked)


def test_the_schedulers_file_is_waited_for_and_an_old_one_said(tmp_path, monkeypatch):
    path, said = tmp_path / "scheduler.json", []
    monkeypatch.setattr(workers, "REMINDER", 0.0)
    asked = Workers(scheduler_file=path, say=said.append)
    writing = threading.Timer(
        0.3, lambda: path.write_text(json.dumps({"address": "tcp://there:1"}))
    )
    path.write_text('{"addr')  # half written
    writing.start()
    assert asked._announced(path) == "tcp://there:1"
    assert said[0] == f"waiting for the scheduler's file {path}" and said[1].startswith(
        "still waiting"
    )
    monkeypatch.setattr(workers, "SCHEDULER_PATIENCE", 0.0)
    refuses("no scheduler wrote it within 0 s", asked._announced, tmp_path / "never.json")


def test_a_schedulers_file_stands_in_place_of_workers_of_this_machine(tmp_path, monkeypatch):
    path, clients = tmp_path / "scheduler.json", []
    path.write_text(json.dumps({"address": "tcp://there:1"}))
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=clients.append))
    asked = Workers(scheduler_file=path)
    asked._connect()
    assert clients == ["tcp://there:1"] and asked._cluster is None


@pytest.mark.parametrize("given", [["--scheduler", ""], ["--scheduler-file", ""]])
def test_an_empty_scheduler_is_no_wish_for_local_workers(given, capsys):
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert "address is empty; is the scheduler running" in capsys.readouterr().err


def test_the_two_ways_to_name_a_scheduler_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--scheduler", "tcp://a:1", "--scheduler-file", "b.json"])
    assert ended.value.code == 2 and "give one of them" in capsys.readouterr().err


PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
(ON_CLUSTER,) = re.findall(r"```sh\n(dask scheduler .*?)```", PAGE, re.S)
SLEEPING = "echo $$ > pid_$1; until test -e go; do sleep 0.05; done; echo $1 > out_$1"


def stage(name):
    """The process of a stage that has begun; 0 before."""
    file = Path(f"pid_{name}")
    return int((file.read_text() if file.exists() else "").strip() or 0)


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_the_cluster_page_says_how_to_shut_the_scheduler_to_others():
    (paragraph,) = [part for part in PAGE.split("\n\n") if "all network interfaces" in part]
    for way in ("let anybody who connects run", "--interface", "--host 127.0.0.1", "TLS"):
        assert way in paragraph


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_cluster_page_runs_as_written_and_outlives_its_workers(tmp_path, monkeypatch):
    """Pasted with fewer CPU workers and no nannies; the GPU worker, a CPU worker and the scheduler are killed in turn."""
    folder = new_project(tmp_path / "project", monkeypatch)
    (folder / "slow.sh").write_text(SLEEPING)
    named = {"generate": ["gpu"], "score": ["a", "b"]}
    slow = {"cmd": "sh slow.sh ${item}", "deps": ["source.txt"], "outs": ["out_${item}"]}
    stages = {name: {"foreach": items, "do": dict(slow)} for name, items in named.items()}
    stages["generate"]["do"]["meta"] = {"gpu": True}
    write_pipeline(folder, {"stages": stages})
    scheduler, gpu, cpu, runner = ON_CLUSTER.splitlines(keepends=True)
    scheduler = scheduler.replace(" &", " --host 127.0.0.1 --port 0 --no-dashboard &")
    gpu, cpu = (
        line.replace(" --nworkers 8", "").replace(" &", " --no-nanny &") for line in (gpu, cpu)
    )
    assert "longform_lab.repro" in runner
    runner = runner.replace("longform_lab.repro", "longform_lab.repro --gpu-patience 1")
    block = scheduler + "echo $! > scheduler_pid\n" + gpu + cpu * 2 + runner
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": path}
    output = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "env": environment,
    }

    whole = subprocess.Popen(
        ["bash", "-c", block + "kill -STOP $$"], start_new_session=True, **output
    )
    said = []
    reader = threading.Thread(target=lambda: said.extend(whole.stdout))
    reader.start()
    try:
        until(lambda: all(map(stage, ("gpu", "a", "b"))))
        os.kill(parent(stage("gpu")), signal.SIGKILL)
        until(lambda: any("no worker with a GPU for 1 s" in line for line in said))
        os.kill(parent(stage("a")), signal.SIGKILL)
        until(lambda: sum("is lost; what it ran starts again" in line for line in said) == 2)
        Path("go").touch()
        until(lambda: any(line.startswith("3 stages: 3 run") for line in said))
        assert [Path(f"out_{name}").read_text() for name in ("gpu", "a", "b")] == [
            "gpu\n",
            "a\n",
            "b\n",
        ]

        # the scheduler is killed under a second run, which the last worker serves
        Path("go").unlink()
        (folder / "source.txt").write_text("two")
        for file in Path().glob("pid_*"):
            file.unlink()
        again = [sys.executable, "-m", "longform_lab.repro", "--scheduler-file", "scheduler.json"]
        second = subprocess.Popen(again, **output)
        until(lambda: any(stage(name) for name in ("gpu", "a", "b")))
        os.kill(int(Path("scheduler_pid").read_text()), signal.SIGKILL)
        _, errors = second.communicate(timeout=60)
        assert second.returncode == 2
        assert errors == f"longform: {workers.GONE}\n"
    finally:
        os.killpg(whole.pid, signal.SIGKILL)
        whole.wait()
        reader.join()


def test_workers_that_do_not_end_are_waited_for_half_a_minute():
    waited = []

    class Deaf:
        def close(self, timeout):
            waited.append(timeout)
            raise TimeoutError

    workers = Workers()
    workers._client = workers._cluster = Deaf()
    workers.close()
    assert waited == [30.0, 30.0]
