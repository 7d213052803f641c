"""When a fit is saved and a line of it is printed, by the clock, with a stand-in for the clock."""

from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from longform.hsmm import train
from longform.hsmm.compiled import Expectation
from longform.hsmm.train import EVERY, REPORT_EVERY, SUMS, Kept

LIMITS = (EVERY, REPORT_EVERY)


@pytest.fixture
def now(monkeypatch):
    """The clock, which stands at 1,000 seconds."""
    clock = [1000.0]
    monkeypatch.setattr(train.time, "monotonic", lambda: clock[0])
    return clock


@pytest.fixture
def kept(now, tmp_path):
    return Kept("fit", tmp_path / "model", SimpleNamespace(iterations=9), 4, *now * 3)


def sums(tokens=80, blocks=1):
    return Expectation(np.eye(3), np.ones((2, 3)), -5.5, tokens, 2, blocks)


def test_an_iteration_may_cost_two_minutes_and_lines_ten_seconds():
    assert LIMITS == (120.0, 10.0)


@pytest.mark.parametrize(
    ("seconds", "blocks", "saved"), [(120.0, 1, False), (120.5, 1, True), (500.0, 4, False)]
)
def test_sums_are_saved_after_two_minutes_unless_the_iteration_is_over(
    seconds, blocks, saved, kept, now, tmp_path
):
    now[0] += seconds
    kept.block(7, sums(blocks=blocks), 4)
    assert (tmp_path / SUMS).is_file() is saved
    assert kept.saved == (now[0] if saved else 1000.0)
    if saved:
        arrays = load_file(tmp_path / SUMS)
        assert arrays["counts"].tolist() == [7, 80, 2, 1] and arrays["nats"].tolist() == [-5.5]
        assert arrays["transitions"].tolist() == np.eye(3).tolist()
        assert arrays["segments"].shape == (2, 3)


def test_sums_are_taken_back_by_their_own_iteration_alone(kept, now, tmp_path, capsys):
    assert kept.begun(7) is None
    kept._save_sums(7, sums())
    kept.first = (3.0, 4)
    now[0] = 1050.0
    assert kept.begun(6) is None and (kept.resumed, kept.since, kept.first) == (0, 1050.0, None)
    found = kept.begun(7)
    assert (found.log_likelihood, found.tokens, found.lost, found.blocks) == (-5.5, 80, 2, 1)
    assert found.transitions.tolist() == np.eye(3).tolist() and kept.resumed == 80
    assert capsys.readouterr().out == ""
    arrays = load_file(tmp_path / SUMS)
    save_file({**arrays, "nats": arrays["nats"] + 1}, tmp_path / SUMS, {"digest": "0"})
    assert kept.begun(7) is None and kept.resumed == 0
    said = capsys.readouterr().out
    assert said == "fit: sums.safetensors is cut or damaged; iteration 7 begins again\n"


def test_a_line_has_the_speed_since_the_first_block_and_the_minutes_left(kept, now, capsys):
    """80 tokens at the first block, 680 twenty seconds later: 30 a second. Of 4 blocks 1 is done,
    so that 3 x 680 = 2,040 tokens are left, which take 68 seconds."""
    kept.block(7, sums(), 4)
    assert kept.first == (1000.0, 80) and capsys.readouterr().out == ""
    now[0] = 1010.0
    kept.block(7, sums(tokens=300), 4)
    assert capsys.readouterr().out == "" and kept.said == 1000.0
    now[0] = 1020.0
    kept.block(7, sums(tokens=680), 4)
    assert capsys.readouterr().out == (
        "fit: iteration 7 of at most 9, 25% of its texts, 1 min left of it, "
        "3 states of 4, 30 tokens/s\n"
    )
    assert kept.said == 1020.0
    now[0] = 1040.0
    kept.block(7, sums(tokens=80, blocks=2), 4)  # no faster than one token a second: 80 seconds
    assert " 1 min left" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "validation", "printed"),
    [(10.0, None, False), (10.5, None, True), (1.0, 3.5, True)],
)
def test_a_finished_iteration_is_saved_and_said_when_it_was_validated(
    seconds, validation, printed, kept, now, tmp_path, capsys
):
    saved = []
    last = SimpleNamespace(
        validation_ppl=validation, tokens=500, line=lambda speed: f"{speed:.1f} tokens/s"
    )
    fit = SimpleNamespace(
        history=[None, last], save=lambda *given, **how: saved.append((given, how))
    )
    (tmp_path / SUMS).write_bytes(b"")
    kept.resumed = 100
    now[0] += seconds
    kept.iteration(fit)
    assert saved == [((tmp_path / "model",), {"sealed": True})] and kept.saved == now[0]
    assert not (tmp_path / SUMS).exists()
    said = f"fit: {400 / seconds:.1f} tokens/s\n"
    assert capsys.readouterr().out == (said if printed else "")
    assert kept.said == (now[0] if printed else 1000.0)
    kept.iteration(fit)  # without sums to remove


def test_texts_without_a_path_count_a_thousand_nats_a_token():
    class Model:
        def log_likelihood(self, texts):
            return np.array([-4.0, -np.inf, -5000.0])

    assert train.held_out(Model(), [["a"], ["a", "b"], ["a", "b", "c"]]) == -4.0 - 2000.0 - 3000.0
