"""The parallel runner and its workers without DVC and Dask: what each call is given, and what each wait answers."""

import ctypes
import json
import math
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from longform.processes import die_with_parent
from longform_lab import repro, stages, stale, warm_up, workers
from longform_lab.dvc_stages import Pipeline
from longform_lab.repro import Run
from longform_lab.workers import Warm, Workers
from tests.refusals import refuses


class Stage(SimpleNamespace):
    """A stage that is a key of mappings."""

    __hash__ = object.__hash__


def of_stages(needs, path="dvc.yaml"):
    """A pipeline whose stages, in this order, need others by name."""
    made = {}
    for name in needs:
        made[name] = Stage(name=name, addressing=f"{path}:{name}", path=path)
    users = {stage: [] for stage in made.values()}
    for name, needed in needs.items():
        for one in needed:
            users[made[one]].append(made[name])
    return SimpleNamespace(
        stages=list(made.values()),
        needs={made[name]: {made[one] for one in needed} for name, needed in needs.items()},
        users=users,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Typical are 0.25, the median of 0.125, 0.25 and 0.5: last and other take it.
        ('{"first": 0.5, "left": 0.125, "right": 0.25}', [(1.0, 0), (0.375, -1), (0.5, -2), (0.25, -3), (0.25, -4)]),
        ('{"first": 0, "left": 0, "right": 0, "last": 0}', [(0, 0), (0, -1), (0, -2), (0, -3), (0, -4)]),
        ("[1]", [(3.0, 0), (2.0, -1), (2.0, -2), (1.0, -3), (1.0, -4)]),
        ("{", [(3.0, 0), (2.0, -1), (2.0, -2), (1.0, -3), (1.0, -4)]),
    ],
)  # fmt: skip
def test_urgency_is_the_longest_way_to_the_end_in_seconds(tmp_path, text, expected):
    needs = {"first": [], "left": ["first"], "right": ["first"]}
    needs |= {"last": ["left", "right"], "other": []}
    folder = tmp_path / "scratch" / "repro"
    folder.mkdir(parents=True)
    (folder / "seconds.json").write_text(text)
    run = Run(of_stages(needs, str(tmp_path / "dvc.yaml")), None, print)
    assert [run.urgency[stage] for stage in run.pipeline.stages] == expected
    assert run.counts == {"run": 0, "restored": 0, "unchanged": 0, "failed": 0, "skipped": 0}
    assert run.left == 5 and run.to_run == set() and run.experiments == {}
    assert {stage.name for stage in run.to_check} == {"first", "other"}
    assert list(run.names.values()) == list(needs)
    assert set(run.folders.values()) == {folder} and list(run.seconds) == [folder]


def test_stages_of_two_files_are_named_with_their_file():
    first, second = of_stages({"a": []}, "dvc.yaml"), of_stages({"a": []}, "more/dvc.yaml")
    both = SimpleNamespace(
        stages=first.stages + second.stages, needs={}, users=first.users | second.users
    )
    run = Run(both, None, print)
    assert list(run.names.values()) == list(run.stages) == ["dvc.yaml:a", "more/dvc.yaml:a"]
    assert list(run.folders.values()) == [Path("scratch/repro"), Path("more/scratch/repro")]


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {pid, 4, 6}, raising=False)
    assert repro.cores() == 3 and repro.parser().parse_args([]).workers == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for counted, cores in ((5, 5), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda counted=counted: counted)
        assert repro.cores() == cores


def test_a_commands_options_have_the_defaults_of_its_help(monkeypatch):
    monkeypatch.setattr(repro, "cores", lambda: 3)
    assert vars(repro.parser().parse_args([])) == {
        "targets": [], "workers": 3, "gpus": 0, "scheduler": None,
        "scheduler_file": None, "gpu_patience": 60.0,
    }  # fmt: skip
    given = "a b --workers 4 --gpus 2 --scheduler x --scheduler-file f --gpu-patience 7"
    assert vars(repro.parser().parse_args(given.split())) == {
        "targets": ["a", "b"], "workers": 4, "gpus": 2, "scheduler": "x",
        "scheduler_file": Path("f"), "gpu_patience": 7.0,
    }  # fmt: skip
    assert (repro.POLL, repro.REMINDER, workers.REMINDER) == (1.0, 60.0, 60.0)
    assert (workers.GPU_PATIENCE, workers.SCHEDULER_PATIENCE) == (60.0, 600.0)
    assert workers.CLOSING == 30.0


@pytest.mark.parametrize(
    ("given", "ends"),
    [(["--workers", "0"], True), (["--workers", "1", "--gpus", "2"], True), (["--gpus", "-1"], True),
     (["--workers", "2", "--gpus", "2"], False), (["--workers", "1", "--gpus", "0"], False)],
)  # fmt: skip
def test_there_is_a_worker_and_no_more_gpus_than_workers(given, ends, monkeypatch, capsys):
    monkeypatch.setattr(repro, "Workers", lambda **named: (_ for _ in ()).throw(OSError("began")))
    monkeypatch.setattr(signal, "signal", lambda *given: None)
    if ends:
        with pytest.raises(SystemExit) as ended:
            repro.main(given)
        assert ended.value.code == 2 and "at least one worker" in capsys.readouterr().err
    else:
        assert repro.main(given) == 2
        assert capsys.readouterr().err == "longform: began\n"


@pytest.mark.parametrize(
    ("counts", "status", "line"),
    [
        ({"run": 0, "restored": 0, "unchanged": 3, "failed": 0, "skipped": 0}, 0, "3 stages: 0 run, 3 unchanged; 1.5 s"),
        ({"run": 2, "restored": 1, "unchanged": 0, "failed": 1, "skipped": 4}, 1, "8 stages: 2 run, 1 restored, 1 failed, 4 skipped; 1.5 s"),
        (KeyboardInterrupt(), 130, "longform: interrupted; what had finished is kept, run again"),
    ],
)  # fmt: skip
def test_a_run_is_given_its_options_and_ends_in_a_line(counts, status, line, monkeypatch, capsys):
    given = []

    class Fake:
        def __init__(self, pipeline, crew, say, check):
            given.extend([pipeline, crew, check.__name__])

        def all(self):
            if isinstance(counts, KeyboardInterrupt):
                raise counts
            return counts

    class Opened:
        def __init__(self, folder, targets, wait):
            given.extend([folder, targets])

        def __enter__(self):
            return "pipeline"

        def __exit__(self, *error):
            given.append("left")

    crew = SimpleNamespace(close=lambda: given.append("closed"))
    monkeypatch.setattr(repro, "Run", Fake)
    monkeypatch.setattr(repro, "opened", Opened)
    monkeypatch.setattr(repro, "Workers", lambda **named: given.append(named) or crew)
    clock = iter([10.0, 11.5])
    monkeypatch.setattr(repro, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert repro.main(["--workers", "3", "--gpus", "1", "--scheduler", "x"]) == status
        assert signal.getsignal(signal.SIGTERM).__name__ == "hear"
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert given[0].pop("say").args == () and given[0] == {
        "count": 3, "gpus": 1, "address": "x", "scheduler_file": None, "gpu_patience": 60.0,
    }  # fmt: skip
    assert given[1:] == [Path(), ["dvc.yaml"], "pipeline", crew, "check", "left", "closed"]
    out = capsys.readouterr()
    assert (out.err if status == 130 else out.out) == line + "\n"


def test_a_wait_for_the_lock_is_said_at_once_and_then_each_minute(monkeypatch):
    said, slept, clock = [], [], iter([0.0, 0.0, 59.0, 60.0, 60.5, 120.0])
    fake = SimpleNamespace(monotonic=lambda: next(clock), sleep=slept.append)
    monkeypatch.setattr(repro, "time", fake)
    wait = repro._waiting(said.append)
    counts = []
    for _ in range(3):
        wait()
        counts.append(len(said))
    assert counts == [1, 1, 2] and slept == [1.0] * 3
    assert set(said) == {"another run, or dvc, is at work in this folder; waiting for its end"}


def test_a_stage_needs_a_gpu_where_its_meta_or_a_command_says_so(monkeypatch):
    run = object.__new__(Run)
    run.experiments = {}
    asked = []
    monkeypatch.setattr(repro, "Experiment", lambda home: f"experiment of {home}")
    monkeypatch.setattr(
        repro,
        "uses_gpu",
        lambda line, experiment: asked.append((line, experiment)) or line == "big",
    )

    def stage(cmd, meta=None):
        return SimpleNamespace(meta=meta, cmd=cmd, wdir="w")

    decided = [({"gpu": 1}, True), ({"gpu": False}, False)]
    assert [run._uses_gpu(stage("big", meta)) for meta, _ in decided] == [
        answer for _, answer in decided
    ]
    assert asked == []
    cases = [("small\nbig", True), (["small", "big\nsmall"], False), ("small", False)]
    assert [run._uses_gpu(stage(cmd)) for cmd, _ in cases] == [answer for _, answer in cases]
    lines = ["small", "big", "small", "big\nsmall", "small"]
    assert asked == [(line, "experiment of w") for line in lines] and list(run.experiments) == ["w"]
    assert run._uses_gpu(stage("big", {"other": 1})) is True


class Nobody:
    """A scheduler's worker on this machine: only its class is named."""


def test_workers_of_this_machine_have_one_thread_and_a_gpu_each(monkeypatch):
    made = []

    def spec_cluster(specs, scheduler, **more):
        made.append((specs, scheduler, more))
        return "cluster"

    fake = SimpleNamespace(Nanny=Nobody, Scheduler="scheduler", SpecCluster=spec_cluster)
    settings = []
    monkeypatch.setitem(sys.modules, "distributed", fake)
    monkeypatch.setitem(
        sys.modules, "dask", SimpleNamespace(config=SimpleNamespace(set=settings.append))
    )
    common = {
        "nthreads": 1, "memory_limit": 0, "dashboard_address": None,
        "preload": ["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"], "silence_logs": 50,
    }  # fmt: skip
    scheduler = {
        "cls": "scheduler",
        "options": {"dashboard": False, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"},
    }
    without = {"env": {}, "resources": {}}
    hidden = {"env": {"CUDA_VISIBLE_DEVICES": ""}, "resources": {}}
    gpus = [{"env": {"CUDA_VISIBLE_DEVICES": str(n)}, "resources": {"GPU": 1}} for n in (0, 1)]
    cases = [(Workers(count=3, gpus=2), [*gpus, hidden]), (Workers(), [without])]
    for crew, own in cases:
        assert crew._local_cluster() == "cluster"
        specs = {i: {"cls": Nobody, "options": {**common, **one}} for i, one in enumerate(own)}
        assert made.pop() == (specs, scheduler, {"silence_logs": 50})
    assert settings == 2 * [{
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "60s",
    }]  # fmt: skip


def test_new_workers_know_of_no_scheduler_and_no_gpu():
    crew = Workers()
    state = dict(vars(crew))
    assert state.pop("_say")("line") is None and state.pop("_ended").empty()
    assert state == {
        "_count": 1, "_gpus": 0, "_address": None, "_scheduler_file": None, "_gpu_patience": 60.0,
        "_client": None, "_cluster": None, "_running": {}, "_addresses": None, "_gpus_there": 0,
        "_gpu_seen": -math.inf, "_waiting_said": -math.inf,
    }  # fmt: skip
    assert crew.busy is False and crew.finished(0) is None


@pytest.mark.parametrize(
    ("gpu", "pinned", "resources"), [(True, True, {"resources": {"GPU": 1}}), (False, False, {})]
)
def test_a_stage_is_submitted_under_a_key_of_its_own(gpu, pinned, resources, monkeypatch):
    monkeypatch.setattr(workers, "time", SimpleNamespace(time_ns=lambda: 7))
    given, callbacks = [], []
    future = SimpleNamespace(add_done_callback=callbacks.append)
    crew = Workers()
    crew._client = SimpleNamespace(submit=lambda *a, **named: given.append((a, named)) or future)
    crew._hand_over("train", {"commands": ["x"]}, pinned)
    job = {"commands": ["x"], "key": "train 7", "pure": False}
    assert given == [((workers.run_commands,), {**job, **resources})]
    assert crew._running == {"train": workers._Running(future, {"commands": ["x"]}, pinned)}
    callbacks[0]("ended")
    assert crew._ended.get_nowait() == ("train", "ended") and crew.busy is True


def test_a_command_replaces_its_shell_where_it_needs_none(tmp_path, monkeypatch):
    log, given = tmp_path / "log", []
    log.write_text("before ")

    def call(line, *, stdout, **more):
        stdout.write("now")
        given.append((line, more))
        return 4

    monkeypatch.setattr(workers.subprocess, "call", call)
    for command, line in (("a b", "exec env a b"), ("a; b", "a; b")):
        assert workers._run_in_shell(command, "folder", {"A": "b"}, log) == 4
        common = {"cwd": "folder", "env": {"A": "b"}, "stderr": subprocess.STDOUT}
        assert given.pop() == (["/bin/sh", "-c", line], {**common, "preexec_fn": die_with_parent})
    assert log.read_text() == "before nownow"


def test_a_stage_goes_to_an_idle_process_or_to_a_new_one(monkeypatch):
    asked = []

    class Noted:
        def __init__(self, *given):
            asked.append(given)

        def run(self, *given):
            asked.append(given)
            return 3

    monkeypatch.setattr(workers, "Warm", Noted)
    monkeypatch.setattr(workers, "_idle", idle := [])
    given = ("PYTHONPATH=src python -m longform_lab train a b\n", "folder", {"A": "1"}, "log")
    assert [workers._run_warm(*given), workers._run_warm(*given)] == [3, 3] and len(idle) == 1
    source = str(Path(workers.__file__).parents[1])
    began = ({"A": "1", "PYTHONPATH": source}, workers.LIBRARIES)
    ran = (["train", "a", "b"], "folder", {"A": "1", "PYTHONPATH": "src"}, "log")
    assert asked == [began, ran, ran]
    assert workers._run_warm("sh x", "folder", {}, "log") is None and len(asked) == 3


def test_words_of_a_library_are_no_answer_of_the_process(tmp_path):
    (tmp_path / "src" / "longform_lab").mkdir(parents=True)
    (tmp_path / "src" / "longform_lab" / "__init__.py").write_text("")
    (tmp_path / "src" / "longform_lab" / "__main__.py").write_text("raise SystemExit(5)")
    source = str(Path(workers.__file__).parents[1])
    warm = Warm({**os.environ, "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"}, ("this",))
    try:
        assert warm.run(["x"], str(tmp_path), {}, str(tmp_path / "log")) == 5
    finally:
        warm.close()
    assert warm._process is None and (tmp_path / "log").read_text() == ""


@pytest.mark.parametrize(
    ("platform", "library", "calls"),
    [("linux", True, [(-3, 33_554_432), (-1, 2_147_483_647)]), ("linux", False, []), ("darwin", True, [])],
)  # fmt: skip
def test_freed_memory_is_kept_where_the_c_library_can(platform, library, calls, monkeypatch):
    made = []
    functions = {"mallopt": lambda *given: made.append(given)} if library else {}
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(**functions))
    monkeypatch.setattr(sys, "platform", platform)
    stages.keep_freed_memory()
    assert made == calls


def test_every_part_is_warmed_up_two_at_once_in_processes_of_their_own(monkeypatch, capsys):
    given = []

    class Pool:
        def __init__(self, count, mp_context):
            given.append((count, mp_context.get_start_method()))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            given.append("ended")

        def map(self, call, parts):
            given.append(call)
            return [(part.__name__, 1.6) for part in parts]

    monkeypatch.setattr(warm_up, "ProcessPoolExecutor", Pool)
    assert warm_up.main() == 0 and given == [(2, "spawn"), warm_up.timed, "ended"]
    names = ("compile_topics", "compile_scans", "import_libraries", "compile_short_loops")
    assert capsys.readouterr().err.splitlines() == [f"warm-up: {name}, 2 s" for name in names]


class Noting:
    """Notes each call of it and of its methods, and answers with itself."""

    def __init__(self, calls, name=""):
        self.calls, self.name = calls, name

    def __call__(self, *given, **named):
        self.calls.append((self.name, given, named))
        return self

    def __getattr__(self, name):
        return Noting(self.calls, name)


def test_warming_up_calls_what_is_compiled_once(monkeypatch):
    calls = []
    monkeypatch.setattr("longform.hsmm.HSMM", Noting(calls, "HSMM"))
    monkeypatch.setattr("longform.critics.Topics", Noting(calls, "Topics"))
    monkeypatch.setattr("longform.critics.Coreference", Noting(calls, "Coreference"))
    monkeypatch.setattr("longform.critics.CodeMixing", Noting(calls, "CodeMixing"))
    monkeypatch.setattr("longform.examples.real_articles", lambda: list(range(15)))
    monkeypatch.setattr("longform.critics.lexical.wordnet.phrase_overlap", Noting(calls, "overlap"))
    monkeypatch.setattr(
        "longform.decoding.exact_sampling.exact_sampling", Noting(calls, "sampling")
    )
    warm_up.compile_topics()
    first, rest = list(range(12)), [12, 13, 14]
    halves = [("fit", (first,), {}), ("score", (rest,), {})]
    assert calls == [("Topics", (), {"topics": 3}), *halves]
    del calls[:]
    warm_up.compile_scans()
    rows = [[0, 1, 0, 1, 2, 3], [2, 3, 0, 1], [0, 1, 2, 3, 2, 3]]
    assert calls == [
        ("HSMM", (), {"num_states": 2, "max_duration": 2}), ("fit", (rows,), {}),
        ("log_prob", (rows,), {}), ("posterior", (rows,), {}), ("sample", (1, 3), {"seed": 1}),
    ]  # fmt: skip
    del calls[:]
    warm_up.compile_short_loops()
    sampling, overlap, *critics = calls
    logits, words, truncation, error = sampling[1]
    assert sampling[0] == "sampling" and sampling[2] == {"on_device": False} and error == 1e-3
    assert logits.tolist() == [[0.0] * 8] and words.tolist() == [[0, 0]]
    assert (logits.dtype, words.dtype) == (torch.float32, torch.int32)
    assert type(truncation).__name__ == "Truncation"
    assert overlap[0] == "overlap" and [given.tolist() for given in overlap[1][:2]] == [
        [1, 2],
        [1, 2],
    ]
    assert overlap[1][2] == 1
    assert critics == [("Coreference", (), {}), ("CodeMixing", (), {}), *halves, *halves]


@pytest.fixture
def tree(monkeypatch):
    """One known module, and what the command was asked to show."""
    shown = []
    known = {"longform.a.b", "longform_lab.c"}
    made = SimpleNamespace(module=lambda name: name if name in known else None)
    monkeypatch.setattr(stale, "source_tree", lambda folder: shown.append(folder) or made)
    monkeypatch.setattr(stale, "closures", lambda home, tree: shown.append((home, tree is made)))
    monkeypatch.setattr(stale, "_show_modules", lambda *given: shown.append("all"))
    monkeypatch.setattr(stale, "_show_module", lambda name, *given: shown.append(name))
    monkeypatch.setattr(stale.gc, "disable", lambda: shown.append("gc"))
    return shown


@pytest.mark.parametrize(
    ("arguments", "status", "shows"),
    [
        ([], 0, ["all"]), (["a/b.py"], 0, ["longform.a.b"]), (["longform/a/b.py"], 0, ["longform.a.b"]),
        (["a/b/__init__.py"], 0, ["longform.a.b"]), (["longform_lab/c.py"], 0, ["longform_lab.c"]),
        (["longform_lab/a.py"], 2, []), (["c.py"], 2, []),
    ],
)  # fmt: skip
def test_a_module_is_named_by_its_file_with_or_without_package(
    arguments, status, shows, tree, capsys
):
    assert stale.main(arguments) == status
    assert tree == ["gc", stale.SOURCE, (Path(), True), *shows]
    name = "".join(arguments) if "lab" in "".join(arguments) else "longform/c.py"
    refused = f"longform: there is no src/{name}; name a file below src\n"
    assert capsys.readouterr().err == (refused if status else "")


def test_the_command_ends_with_the_status_of_its_main(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["stale", "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_path(stale.__file__, run_name="__main__")


def test_a_module_shows_the_stages_of_each_of_its_definitions(capsys):
    definitions = [SimpleNamespace(names=["a", "b"], line=7), SimpleNamespace(names=[], line=12)]
    tree = SimpleNamespace(module=lambda name: SimpleNamespace(definitions=definitions))
    by_stage = {
        "first": {"m": {0, 1}},
        "second": {"m": {0}},
        "third": {"n": {1}},
        "last": {"m": set()},
    }
    stale._show_module("m", tree, by_stage)
    assert capsys.readouterr().out.splitlines() == [
        "    2  line    7  a, b", "    1  line   12  (runs at import)",
        "2 of 4 stages run some of it:", "  first", "  second",
    ]  # fmt: skip


def test_a_stage_without_a_command_is_left_to_dvc():
    stage = Stage(frozen=False)
    pipeline = object.__new__(Pipeline)
    pipeline.needs, asked = {stage: ["other"]}, []
    stage.dump = lambda **named: asked.append(named)
    for changed in (True, False):
        stage.reproduce = lambda changed=changed, **named: asked.append(named) or changed
        assert pipeline.up_to_date(stage) is True
    upstream = {"upstream": ["other"]}
    assert asked == [upstream, {"update_pipeline": False}, upstream]


def test_the_process_with_libraries_dies_with_its_worker(monkeypatch):
    began, lines = [], iter(["3\n", ""])
    pipe = SimpleNamespace(write=began.append, flush=lambda: None, readline=lambda: next(lines))
    process = SimpleNamespace(
        stdin=pipe, stdout=pipe, kill=lambda: 0, wait=lambda: began.append("end")
    )
    monkeypatch.setattr(
        workers.subprocess, "Popen", lambda line, **named: began.append((line, named)) or process
    )
    warm = Warm({"A": "1"}, ("x", "y"))
    given = (("s", "t"), "folder", {"B": "2"}, "log")
    assert [warm.run(*given), warm.run(*given), warm._process] == [3, None, None]
    command = [sys.executable, "-m", "longform_lab.workers", "x", "y"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    start = (command, {"env": {"A": "1"}, "preexec_fn": die_with_parent, **pipes})
    request = {"arguments": ["s", "t"], "folder": "folder", "environment": {"B": "2"}, "log": "log"}
    line = json.dumps(request) + "\n"
    assert began == [start, line, line, "end"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(ValueError("odd"), "scheduler 'x': odd; an address is tcp://host:port"),
     (OSError("shut"), r"scheduler 'x' does not answer \(shut\); is it running")],
)  # fmt: skip
def test_a_scheduler_that_cannot_be_reached_is_one_sentence(error, sentence, monkeypatch):
    def client(address):
        raise error

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=client))
    refuses(sentence, Workers(address="x")._connect)
