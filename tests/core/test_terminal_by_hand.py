"""Whether the network may be used, how systems are named, and Ctrl-C, case by case."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from longform import terminal
from longform.datasets.rated_texts import MANY, _copied_raters
from longform.terminal import Interrupt
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("names", "offline"),
    [
        ([], True),
        (["texts.txt", "gpt2=folder"], True),
        (["hub:gpt2"], False),
        (["model=hub:gpt2"], False),
        (["texts.txt", "gpt2@main"], False),
        (["a@b=plain"], True),
        (["here@main"], True),  # a file of that name
        (["a=here@main"], True),
        (["a=there@main"], False),
        ([None], True),
    ],
)
def test_the_network_is_used_only_for_a_named_model_of_the_hub(
    names, offline, monkeypatch, tmp_path
):
    (tmp_path / "here@main").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", {})
    terminal.stay_offline_unless_named(*names)
    assert os.environ == ({"HF_HUB_OFFLINE": "1"} if offline else {})
    os.environ["HF_HUB_OFFLINE"] = "0"
    terminal.stay_offline_unless_named()
    assert os.environ == {"HF_HUB_OFFLINE": "0"}


def test_systems_are_named_by_what_stands_before_the_sign_or_by_their_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd=name.txt").write_text("")
    named = ["a=x/y.txt", "folder/b.c.jsonl", "hub:user/c@main", "odd=name.txt", "d/"]
    assert terminal.named_systems(named[:4]) == {
        "a": "x/y.txt",
        "b": "folder/b.c.jsonl",
        "c@main": "hub:user/c@main",
        "odd=name": "odd=name.txt",
    }
    assert terminal.named_systems(["d/"]) == {"d": "d/"}
    refuses(
        "two systems are called 'b'; name them: NAME=b.md", terminal.named_systems, ["b=x", "b.md"]
    )
    refuses("'=x': no name, or no texts; give", terminal.named_systems, ["=x"])


def test_a_copied_rater_repeats_an_earlier_one_in_very_many_texts():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, MANY))
    ratings = np.stack([one, other, one, other, one], axis=1)
    assert _copied_raters(ratings) == [2, 3, 4]
    assert _copied_raters(np.vstack([ratings, np.full((1, 5), np.nan)])) == [2, 3, 4]
    few = np.full(MANY, np.nan)
    few[1:] = one[1:]
    assert _copied_raters(np.stack([few, few, one, one], axis=1)) == [3]
    changed = one.copy()
    changed[-1] += 1
    assert _copied_raters(np.stack([one, changed, few, one], axis=1)) == [3]


def test_ctrl_c_is_remembered_and_the_handler_before_comes_back():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        interrupt.check()  # there was none
        interrupt.ends_at_once = False
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert interrupt.heard and signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
    with pytest.raises(KeyboardInterrupt):
        interrupt.check()


def test_a_thread_that_may_hear_no_ctrl_c_leaves_the_handler_alone():
    before = signal.getsignal(signal.SIGINT)

    def enter_and_leave():
        with Interrupt() as interrupt:
            interrupt.check()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(enter_and_leave).result()
    assert signal.getsignal(signal.SIGINT) == before
