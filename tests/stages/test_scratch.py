"""Unfinished stages: what starts a training anew, and which process of a distributed stage writes."""

import pytest

from longform.pipeline import scratch as checkpoints
from longform.pipeline.rows import Row
from longform.pipeline.scratch import first_process, resumable


def test_scratch_is_kept_after_a_failure_and_emptied_for_other_settings(tmp_path):
    row = Row("train", "r", {"code": "x.py", "epochs": 1}, tmp_path, 1)
    with pytest.raises(RuntimeError), resumable(row) as scratch:
        (scratch / "last.ckpt").write_text("state")
        raise RuntimeError
    with pytest.raises(RuntimeError), resumable(row) as scratch:
        assert (scratch / "last.ckpt").read_text() == "state"
        raise RuntimeError
    with resumable(Row("train", "r", {"code": "x.py", "epochs": 2}, tmp_path, 1)) as scratch:
        assert not (scratch / "last.ckpt").exists()
    assert not scratch.exists()


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


def survives(home, settings, change):
    """Whether a checkpoint of an unfinished stage is still there after a change."""
    row = Row("train", "r", {"code": "language_models/model.py", **settings}, home, 1)
    with pytest.raises(RuntimeError), resumable(row, home / "texts.jsonl") as scratch:
        (scratch / "last.ckpt").write_text("state")
        raise RuntimeError
    row = Row("train", "r", {"code": "language_models/model.py", **settings, **(change() or {})}, home, 1)
    with resumable(row, home / "texts.jsonl") as scratch:
        return (scratch / "last.ckpt").is_file()


@pytest.mark.parametrize(
    ("file", "text", "kept"),
    [
        ("report.py", "COLOUR = 2\n", True),
        ("rates.py", '"""Rates, in words."""\n\ndef fast():\n    return 1  # a comment\n', True),
        ("rates.py", "def fast():\n    return 2\n", False),
        ("language_models/model.py", "RATE = 3\n", False),
    ],
)
def test_only_code_that_the_row_runs_starts_it_anew(package, tmp_path, file, text, kept):
    assert survives(tmp_path, {}, lambda: (package / file).write_text(text) and None) == kept


def test_other_hardware_takes_a_training_up_and_another_rate_does_not(package, tmp_path):
    schedule = {"learning_rate": 1e-3, "accumulate": 8}
    spread = {**schedule, "devices": 8, "nodes": 2, "strategy": "fsdp"}
    assert survives(tmp_path, {"schedule": schedule, "workers": 1}, lambda: {"schedule": spread, "workers": 4})
    assert not survives(tmp_path, {"schedule": schedule}, lambda: {"schedule": {**schedule, "learning_rate": 2e-3}})


def test_inputs_are_read_in_pieces_and_start_it_anew(package, tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda self: pytest.fail("a whole dump in memory"))
    assert not survives(tmp_path, {}, lambda: (tmp_path / "texts.jsonl").write_text("more") and None)


@pytest.mark.parametrize(
    ("settings", "environment", "writes"),
    [
        ({}, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, True),  # a worker of a task farm
        ({}, {"RANK": "1", "LOCAL_RANK": "1"}, True),
        ({"schedule": {"devices": 8}}, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, False),
        ({"schedule": {"devices": 8}}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, True),
        ({"schedule": {"devices": 2}}, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, True),
        ({"schedule": {"devices": 2}}, {"LOCAL_RANK": "1"}, False),
        ({"devices": 2, "nodes": 2}, {"RANK": "2", "LOCAL_RANK": "0"}, False),
        ({"devices": 2, "nodes": 2}, {"NODE_RANK": "1", "LOCAL_RANK": "0"}, False),
    ],
)
def test_only_the_first_process_of_a_row_of_several_writes(tmp_path, monkeypatch, settings, environment, writes):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    row = Row("train", "r", {"code": "x.py", **settings}, tmp_path, 1)
    row.scratch.mkdir(parents=True)
    (row.scratch / "last.ckpt").write_text("being written by the first process")
    assert first_process(row) == writes
    with resumable(row):
        assert (row.scratch / "last.ckpt").is_file() != writes
