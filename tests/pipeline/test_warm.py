"""Stages as children of a process that has the libraries: the same as a fresh one, and none knows of another."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from repro_project import ROOT, until

from longform_lab import workers
from longform_lab.stages import STAGES
from longform_lab.workers import STAGE, Warm

MODULE = """
import json, os, sys
import wave
import longform.kept
if __name__ == "__main__":
    kind = sys.argv[1]
    longform.kept.calls.append(kind)
    print(json.dumps({
        "argv": sys.argv[1:], "calls": longform.kept.calls, "folder": os.getcwd(), "loaded": wave.__dict__.get("mark", ""),
        "named": os.environ.get("NAMED", ""), "path": sys.path[0], "main": __spec__.name,
    }))
    if kind == "broken":
        raise ValueError("broken on purpose")
    if kind == "train":  # two that each wait for the other
        import pathlib, time
        pathlib.Path(sys.argv[2]).touch()
        while not pathlib.Path({"one": "two", "two": "one"}[sys.argv[2]]).exists():
            time.sleep(0.02)
    if kind == "slow":
        print("begun", flush=True)
        import time
        time.sleep(60)
    sys.exit(3 if kind == "refused" else 0)
"""


@pytest.fixture
def project(tmp_path):
    """A folder whose own ``longform_lab`` tells what it sees."""
    package = tmp_path / "src" / "longform"
    lab = tmp_path / "src" / "longform_lab"
    for folder in (package, lab):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    (package / "kept.py").write_text("calls = []\n")
    (lab / "__main__.py").write_text(MODULE)
    return tmp_path


@pytest.fixture
def warm():
    made = Warm({**os.environ, "PYTHONPATH": str(ROOT / "src")}, libraries=("wave",))
    yield made
    made.close()


def run(warm, project, *arguments, **variables):
    log = project / f"{arguments[0]}.log"
    status = warm.run(
        arguments, str(project), {**os.environ, "PYTHONPATH": "src", **variables}, str(log)
    )
    return status, log.read_text() if log.exists() else ""


def test_a_stage_sees_edits_and_nothing_of_the_stage_before_it(warm, project):
    for kind in ("first", "second"):
        status, said = run(warm, project, kind, "articles", "wiki", NAMED=kind)
        seen = json.loads(said)
        assert status == 0 and seen["argv"] == [kind, "articles", "wiki"]
        assert seen["calls"] == [kind] and seen["named"] == kind
        assert seen["folder"] == seen["path"] == str(project)
        assert seen["main"] == "longform_lab.__main__"
    (project / "src/longform/kept.py").write_text("calls = ['edited']  # of another length\n")
    assert json.loads(run(warm, project, "third")[1])["calls"] == ["edited", "third"]
    assert run(warm, project, "refused")[0] == 3
    status, said = run(warm, project, "broken")
    assert status == 1 and "ValueError: broken on purpose" in said
    assert run(warm, project, "first")[0] == 0


def test_a_process_that_is_gone_takes_its_stage_along_and_a_new_one_starts(warm, project):
    run(warm, project, "first")
    gone = warm._process.pid
    os.kill(gone, signal.SIGKILL)
    assert run(warm, project, "second")[0] is None
    assert run(warm, project, "third")[0] == 0 and warm._process.pid != gone


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_ends_the_stage_and_not_the_process(warm, project, capfd):
    with ThreadPoolExecutor(1) as thread:
        stage, log = thread.submit(run, warm, project, "slow"), project / "slow.log"
        until(lambda: log.exists() and "begun" in log.read_text())
        process = warm._process.pid
        for one in (
            process,
            *map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()),
        ):
            os.kill(one, signal.SIGINT)
        assert stage.result(20)[0] not in (0, None)
        assert thread.submit(run, warm, project, "next").result(20)[0] == 0
        assert warm._process.pid == process
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_killed_process_leaves_no_stage_behind(warm, project):
    thread = threading.Thread(target=run, args=(warm, project, "slow"))
    thread.start()
    log = project / "slow.log"
    until(lambda: log.exists() and "begun" in log.read_text())
    children = (
        Path(f"/proc/{warm._process.pid}/task/{warm._process.pid}/children").read_text().split()
    )
    os.kill(warm._process.pid, signal.SIGKILL)
    thread.join(20)
    assert len(children) == 1
    left = Path(f"/proc/{children[0]}/status")
    until(lambda: not left.exists() or "State:\tZ" in left.read_text())


def test_threads_of_a_worker_run_heavy_stages_at_the_same_time(project, monkeypatch):
    monkeypatch.setattr(workers, "LIBRARIES", ("wave",))
    monkeypatch.setattr(workers, "_idle", [])
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    started = []
    with ThreadPoolExecutor(2) as threads:  # a process ends with the thread that started it
        for _ in range(2):
            ended = []
            for name in ("one", "two"):
                command, log = (
                    f"PYTHONPATH=src python -m longform_lab train {name}",
                    project / f"{name}.log",
                )
                ended.append(
                    threads.submit(workers.run_commands, [command], str(project), {}, str(log))
                )
            assert [end.result(60).status for end in ended] == [0, 0]
            started.append({warm._process.pid for warm in workers._idle})
    assert len(started[0]) == 2 and started[0] == started[1]


def test_every_stage_goes_there_and_no_other_command():
    text = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    commands = [
        re.sub(r"\$\{[\w.]+\}", "x", line) for line in re.findall(r"^ +cmd: (.*)", text, re.M)
    ]
    commands.remove("PYTHONPATH=src python -m longform_lab.code")
    names = set()
    for command in commands:
        stage = STAGE.fullmatch(command)
        assert stage, command
        names.add(stage[1].split()[0])
    assert names == set(STAGES)
    for other in ("longform_lab.code", "longform_lab report x && echo", "longform_lab "):
        assert not STAGE.fullmatch(f"PYTHONPATH=src python -m {other}")


def test_where_a_fork_may_be_unsafe_a_stage_starts_afresh(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(workers, "Warm", lambda *_: pytest.fail("a fork after torch"))
    command = "PYTHONPATH=src python -m longform_lab train a b"
    assert workers._run_warm(command, str(tmp_path), {}, "log") is None


@pytest.mark.long  # only another version of a library could change it
def test_the_heavy_libraries_start_no_thread_before_the_fork():
    """A forked child has none but the calling thread, so a lock that another one held would stay locked."""
    code = "import importlib, os\nfrom longform_lab.workers import LIBRARIES\n"
    code += "[importlib.import_module(name) for name in LIBRARIES]\nprint(len(os.listdir('/proc/self/task')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
                           env={**os.environ, "PYTHONPATH": "src", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
                                "OPENBLAS_NUM_THREADS": "1"})  # fmt: skip
    assert found.stdout.strip() == "1", found.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_stage_holds_no_pipe_of_the_process_that_forked_it(warm, project):
    code = "import os; print([os.readlink(f'/proc/self/fd/{fd}') for fd in (0, 1, 2)])\n"
    code += "print(sum('pipe:' in os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')"
    code += " if os.path.lexists(f'/proc/self/fd/{fd}') and int(fd) > 2))\n"
    code += "import sys; print(sys.modules['__main__'].__dict__ is globals(), sys.argv[0][-24:])\n"
    (project / "src" / "longform_lab" / "__main__.py").write_text(code)
    status, said = run(warm, project, "open")
    files, pipes, main = said.splitlines()
    assert main == "True longform_lab/__main__.py"
    assert status == 0 and eval(files) == ["/dev/null", *2 * [str(project / "open.log")]]
    assert int(pipes) == 0
