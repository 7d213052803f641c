"""How many works run at once where the environment says so."""

import multiprocessing

import pytest

from longform.core.processes import side_by_side
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

    refuses(r"^b \(exit status 3\) stopped", side_by_side, work, dict(zip("abcd", range(4), strict=True)))
    assert done.value == 3
