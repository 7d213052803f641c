"""Unfinished stages: what starts a training anew, and which process of a distributed stage writes."""

import pytest

from longform.core import scratch as checkpoints
from longform.core.experiment import Experiment
from longform.core.processes import first_process
from longform.core.scratch import resumable


@pytest.fixture
def begin(tmp_path):
    """A work of some settings, with what it reads."""
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    texts = tmp_path / "texts.jsonl"
    texts.write_text("some")

    def begun(settings):
        return resumable(Experiment(tmp_path), "train r", {"code": "language_models/model", **settings}, texts)

    return begun


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Sources of a package: a model that imports rates, and a report that nothing imports."""
    folder = tmp_path / "src" / "longform"
    (folder / "language_models").mkdir(parents=True)
    (folder / "language_models" / "model.py").write_text("from longform import rates\n\nRATE = rates.fast()\n")
    (folder / "rates.py").write_text('"""Rates."""\n\ndef fast():\n    return 1\n')
    (folder / "report.py").write_text("COLOUR = 1\n")
    monkeypatch.setattr(checkpoints, "SOURCES", tmp_path / "src")
    return folder


def survives(begin, settings, change=lambda: None):
    """Whether a checkpoint of an unfinished stage is still there after a change; nothing is left after success."""
    with pytest.raises(RuntimeError), begin(settings) as scratch:
        (scratch / "last.ckpt").write_text("state")
        raise RuntimeError
    with begin({**settings, **(change() or {})}) as scratch:
        kept = (scratch / "last.ckpt").is_file()
    assert not scratch.exists()
    return kept


@pytest.mark.parametrize(
    ("file", "text", "kept"),
    [
        ("report.py", "COLOUR = 2\n", True),
        ("rates.py", '"""Rates, in words."""\n\ndef fast():\n    return 1  # a comment\n', True),
        ("rates.py", "def fast():\n    return 2\n", False),
        ("language_models/model.py", "RATE = 3\n", False),
    ],
)
def test_only_code_that_the_stage_runs_starts_it_anew(begin, package, file, text, kept):
    assert survives(begin, {}, lambda: (package / file).write_text(text) and None) == kept


def test_other_hardware_takes_a_training_up_and_another_rate_does_not(begin, package, monkeypatch):
    schedule = {"learning_rate": 1e-3, "accumulate": 8}
    monkeypatch.setenv("LONGFORM_DEVICES", "1")

    def move():
        monkeypatch.setenv("LONGFORM_DEVICES", "8")
        return {"workers": 4}

    assert survives(begin, {"schedule": schedule, "workers": 1}, move)
    assert not survives(begin, {"schedule": schedule}, lambda: {"schedule": {**schedule, "learning_rate": 2e-3}})


def test_inputs_are_read_in_pieces_and_start_it_anew(begin, package, tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda self: pytest.fail("a whole dump in memory"))
    assert not survives(begin, {}, lambda: (tmp_path / "texts.jsonl").write_text("more") and None)


@pytest.mark.parametrize(
    ("asked", "environment", "writes"),
    [
        ({}, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, True),  # a worker of a task farm
        ({}, {"RANK": "1", "LOCAL_RANK": "1"}, True),
        ({"DEVICES": "8"}, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, False),
        ({"DEVICES": "8"}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, True),
        ({"DEVICES": "2"}, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, True),
        ({"DEVICES": "2"}, {"LOCAL_RANK": "1"}, False),
        ({"DEVICES": "2", "NODES": "2"}, {"RANK": "2", "LOCAL_RANK": "0"}, False),
        ({"DEVICES": "2", "NODES": "2"}, {"NODE_RANK": "1", "LOCAL_RANK": "0"}, False),
    ],
)
def test_only_the_first_process_of_a_stage_of_several_writes(tmp_path, monkeypatch, asked, environment, writes):
    for name, value in {**environment, **{f"LONGFORM_{name}": value for name, value in asked.items()}}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    scratch = tmp_path / "scratch" / "train" / "r"
    scratch.mkdir(parents=True)
    (scratch / "last.ckpt").write_text("being written by the first process")
    assert first_process() == writes
    with resumable(Experiment(tmp_path), "train r", {"code": "core/malformed"}):
        assert (scratch / "last.ckpt").is_file() != writes
