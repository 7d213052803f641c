"""How many works run at once where the environment says so."""

import multiprocessing
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from longform.processes import first_process, processes, side_by_side
from tests.refusals import refuses


@pytest.mark.parametrize("at_once", [2, 3])
def test_as_many_items_run_at_once_as_is_asked_and_no_more(monkeypatch, at_once):
    """Each item waits until it has seen as many others at work as it may, so that fewer would be seen too."""
    monkeypatch.setenv("LONGFORM_SYSTEMS", str(at_once))
    fork = multiprocessing.get_context("fork")
    running, most, done = (fork.Value("i", 0) for _ in range(3))
    full = fork.Event()

    def work(item):
        with running.get_lock():
            running.value += 1
            most.value = max(most.value, running.value)
            if running.value == at_once:
                full.set()
        assert full.wait(20), "never as many at once"
        with running.get_lock():
            running.value -= 1
            done.value += 1

    side_by_side(work, {str(item): item for item in range(7)})
    assert (most.value, done.value) == (at_once, 7)


def test_no_item_starts_before_one_of_as_many_as_asked_has_ended(monkeypatch):
    alive, at_work = [], []

    class Process:
        """It ends when it is waited for."""

        exitcode = 0

        def __init__(self, **_):
            self.sentinel = self

        def start(self):
            alive.append(self)
            at_work.append(len(alive))

        def is_alive(self):
            return self in alive

        def join(self):
            pass

    context = SimpleNamespace(Process=Process)
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: context)
    monkeypatch.setattr("longform.processes.wait", lambda sentinels: alive.remove(sentinels[0]))
    monkeypatch.setenv("LONGFORM_SYSTEMS", "2")
    side_by_side(print, dict.fromkeys("abcde"))
    assert at_work == [1, 2, 2, 2, 2]


def test_items_run_one_after_the_other_in_this_process_by_default(monkeypatch):
    monkeypatch.delenv("LONGFORM_SYSTEMS", raising=False)
    seen = []
    side_by_side(seen.append, {"a": 1, "b": 2, "c": 3})
    assert seen == [1, 2, 3]


def test_a_failed_item_is_named_and_the_others_still_run(monkeypatch):
    monkeypatch.setenv("LONGFORM_SYSTEMS", "2")
    done = multiprocessing.get_context("fork").Value("i", 0)

    def work(item):
        if item == 1:
            raise SystemExit(3)
        with done.get_lock():
            done.value += 1

    refuses(
        r"^b \(exit status 3\) stopped",
        side_by_side,
        work,
        dict(zip("abcd", range(4), strict=True)),
    )
    assert done.value == 3


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", ""])
def test_a_count_that_is_no_whole_number_from_one_is_refused(value, monkeypatch):
    monkeypatch.setenv("LONGFORM_NODES", value)
    refuses("allowed is a whole number from 1", processes)


def test_processes_and_machines_are_one_unless_the_environment_says_more(monkeypatch):
    for name in ("LONGFORM_DEVICES", "LONGFORM_NODES"):
        monkeypatch.delenv(name, raising=False)
    assert processes() == (1, 1)
    monkeypatch.setenv("LONGFORM_DEVICES", "4")
    monkeypatch.setenv("LONGFORM_NODES", "2")
    assert processes() == (4, 2)


@pytest.mark.parametrize(
    ("devices", "ranks", "first"),
    [
        ("1", {"RANK": "3", "LOCAL_RANK": "1", "SLURM_PROCID": "2", "SLURM_NTASKS": "1"}, True),
        ("2", {}, True),
        ("2", {"RANK": "0", "LOCAL_RANK": "0", "NODE_RANK": "0"}, True),
        ("2", {"RANK": "1"}, False),
        ("2", {"LOCAL_RANK": "1"}, False),
        ("2", {"NODE_RANK": "1"}, False),
        ("2", {"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, False),
        ("2", {"SLURM_PROCID": "1", "SLURM_NTASKS": "8"}, True),
    ],
)
def test_the_first_process_is_the_one_whose_ranks_are_zero(devices, ranks, first, monkeypatch):
    for name in (
        "RANK",
        "LOCAL_RANK",
        "NODE_RANK",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "LONGFORM_NODES",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LONGFORM_DEVICES", devices)
    for name, value in ranks.items():
        monkeypatch.setenv(name, value)
    assert first_process() is first


def test_systems_side_by_side_and_processes_of_one_exclude_each_other(monkeypatch):
    monkeypatch.setenv("LONGFORM_SYSTEMS", "2")
    monkeypatch.setenv("LONGFORM_DEVICES", "2")
    refuses("set one of them to 1", side_by_side, print, {"a": 1})


def test_one_system_at_a_time_may_be_spread_over_processes(monkeypatch):
    monkeypatch.setenv("LONGFORM_SYSTEMS", "1")
    monkeypatch.setenv("LONGFORM_DEVICES", "2")
    seen = []
    side_by_side(seen.append, {"a": 1})
    assert seen == [1]


def test_tests_track_no_training_whatever_is_exported(monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setattr(sys, "path", list(sys.path))
    runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))
    assert os.environ["WANDB_MODE"] == "disabled"
