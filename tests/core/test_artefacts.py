"""Files of a run: what is written comes back, nothing is left half-written, bytes hang on the arrays alone, a bad file is one sentence;
what starts an unfinished stage anew, and which process of a distributed stage writes."""

import errno
import io
import json
import time
import zipfile

import numpy as np
import pytest

from longform.documents import Corpus, Predictions
from longform.errors import ArtefactError, BadInput
from longform.files.arrays import save_arrays
from longform.files.artefacts import (
    atomic_write,
    read_arrays,
    read_corpus,
    read_documents,
    read_json,
    read_yaml,
    trained_files,
    write_arrays,
    write_corpus,
    write_json,
)
from longform.processes import first_process
from longform.text.rendering import pack, unpack
from longform_lab import scratch
from longform_lab.experiment import Experiment
from tests.refusals import refuses


@pytest.mark.parametrize(("line", "sentence"),
                         [('{"id": "a", "sections": []}', "sections is []"),
                          ('{"id": "a", "sections": [{"title": "t"}]}', "a section is"),
                          ('{"id": 7, "sections": [{"text": "t"}]}', "id is 7"),
                          ('{"id": "a"}', "lacks ['sections']"),
                          ('{"id": "a", "split": "dev", "sections": [{"text": "t"}]}', "split 'dev' is not one of"),
                          ("[1]", "allowed is a JSON object"), ('{"id": "a", ', "not JSON"), ("", "not JSON")])  # fmt: skip
def test_a_malformed_record_names_its_line(tmp_path, line, sentence):
    path = tmp_path / "documents.jsonl"
    path.write_text('{"id": "ok", "sections": [{"text": "t"}]}\n' + line + "\n")
    with pytest.raises(BadInput) as error:
        read_documents(path)
    assert f"{path}:2" in str(error.value) and sentence in str(error.value)


def test_a_file_takes_no_folders_place_and_a_folder_does(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept").write_text("mine")
    with pytest.raises(ArtefactError, match="a folder stands where a file would be written"):
        write_json(tmp_path / "out", {})
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "kept"]
    with atomic_write(tmp_path / "out") as partial:
        partial.mkdir()
    assert not list((tmp_path / "out").iterdir())


def test_nothing_half_written_is_left_behind(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("kept")
    with pytest.raises(RuntimeError), atomic_write(tmp_path / "out") as partial:
        partial.mkdir()
        (partial / "new").write_text("lost")
        raise RuntimeError
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "old"]


def test_an_empty_corpus_is_refused_whatever_makes_it(tmp_path):
    with pytest.raises(BadInput, match=r"no document to write.*what makes it") as error:
        write_corpus(tmp_path / "generations", Corpus([]))
    assert "filter" not in str(error.value) and not list(tmp_path.iterdir())
    (tmp_path / "documents.jsonl").write_text("")
    refuses("no document in it", read_documents, tmp_path / "documents.jsonl")


def test_what_is_no_whole_file_is_refused(tmp_path):
    refuses("dtype object", write_arrays, tmp_path / "a.npz", {"x": np.array([{}])})
    write_arrays(tmp_path / "a.npz", {"x": np.arange(3)})
    whole_file = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(whole_file[: len(whole_file) // 2])
    refuses("not a whole npz", read_arrays, tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", x=np.array([{"evil": 1}], dtype=object))
    refuses("not a whole npz", read_arrays, tmp_path / "c.npz")
    refuses("no such file", read_corpus, tmp_path / "nowhere")
    refuses("repeated unit ids", Predictions, ("a", "a"), ("test", "test"), {})


def test_json_keeps_infinities_and_texts_of_any_script_come_back(tmp_path):
    write_json(
        tmp_path / "x.json",
        {"a": float("inf"), "b": [float("-inf"), float("nan")], "c": np.float64(1.5)},
    )
    assert read_json(tmp_path / "x.json") == {
        "a": float("inf"),
        "b": [float("-inf"), None],
        "c": 1.5,
    }
    json.loads(
        (tmp_path / "x.json").read_text(), parse_constant=lambda c: pytest.fail(f"not JSON: {c}")
    )
    (tmp_path / "y.json").write_text("{")
    refuses("not JSON", read_json, tmp_path / "y.json")
    texts = ["Zoë 彼は", "", "half \ud800 a pair"]
    predictions = Predictions(("a", "b", "c"), ("test",) * 3, pack(texts))
    assert unpack(predictions) == texts
    assert unpack(Predictions(("a",), ("test",), {"x": np.zeros(1)})) == [""]


def test_bytes_do_not_depend_on_the_clock_or_the_order(tmp_path, monkeypatch):
    arrays = {"b": np.arange(5), "a": np.array(["x", "yy"])}
    save_arrays(tmp_path / "one.npz", arrays)
    monkeypatch.setattr(time, "time", lambda: 2.0e9)
    save_arrays(tmp_path / "two.npz", dict(reversed(arrays.items())))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.npz") as archive:
        entries = {(entry.date_time, entry.compress_type) for entry in archive.infolist()}
    assert entries == {((1980, 1, 1, 0, 0, 0), zipfile.ZIP_DEFLATED)}


def chosen_settings(module, name, given):
    """Settings whose code starts at a name of a module."""
    return type(name, (), {"__module__": module, "given": lambda self: given})()


@pytest.fixture
def begin(tmp_path):
    """A work of some settings, with what it reads."""
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    texts = tmp_path / "texts.jsonl"
    texts.write_text("some")

    def begun(settings):
        chosen = chosen_settings("longform.language_models.model", "RATE", settings)
        return scratch.resumable(Experiment(tmp_path), "train r", [chosen], texts)

    return begun


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Sources of a package: a model that imports rates, and a report that nothing imports."""
    folder = tmp_path / "src" / "longform"
    (folder / "language_models").mkdir(parents=True)
    (folder / "language_models" / "model.py").write_text(
        "from longform import rates\n\nRATE = rates.fast()\n"
    )
    (folder / "rates.py").write_text('"""Rates."""\n\ndef fast():\n    return 1\n')
    (folder / "report.py").write_text("COLOUR = 1\n")
    monkeypatch.setattr(scratch, "SOURCES", tmp_path / "src")
    return folder


def survives(begin, settings, change=lambda: None):
    """Whether a checkpoint of an unfinished stage is still there after a change; nothing is left after success."""
    with pytest.raises(RuntimeError), begin(settings) as place:
        (place / "last.ckpt").write_text("state")
        raise RuntimeError
    with begin({**settings, **(change() or {})}) as place:
        kept = (place / "last.ckpt").is_file()
    assert not place.exists()
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
    assert not survives(
        begin, {"schedule": schedule}, lambda: {"schedule": {**schedule, "learning_rate": 2e-3}}
    )


def test_inputs_are_read_in_pieces_and_start_it_anew(begin, package, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "pathlib.Path.read_bytes", lambda self: pytest.fail("a whole dump in memory")
    )
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
def test_only_the_first_process_of_a_stage_of_several_writes(
    tmp_path, monkeypatch, asked, environment, writes
):
    for name, value in (
        environment | {f"LONGFORM_{name}": value for name, value in asked.items()}
    ).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    checkpoint = tmp_path / "scratch" / "train" / "r" / "last.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_text("being written by the first process")
    assert first_process() == writes
    chosen = chosen_settings("longform.files.opening", "opened", {})
    with scratch.resumable(Experiment(tmp_path), "train r", [chosen]):
        assert checkpoint.is_file() != writes


def test_a_marker_of_a_begun_work_that_is_cut_costs_one_sentence(begin, capsys, tmp_path):
    def cut():
        marker = tmp_path / "scratch" / "train" / "r" / "begun.json"
        marker.write_bytes(marker.read_bytes()[:20])

    assert not survives(begin, {"batch": 2}, cut)
    assert capsys.readouterr().out.endswith(
        "begun.json: missing or cut; what stands beside it is begun anew\n"
    )


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\nb: 2\na: 3\n", 3), ("x:\n  - {k: 1, 'k': 2}\n", 2)]
)
def test_a_key_that_stands_twice_in_yaml_is_refused_by_its_line(tmp_path, text, line):
    (tmp_path / "p.yaml").write_text(text)
    refuses(
        rf"p\.yaml:{line}: the key '[ak]' stands here a second time", read_yaml, tmp_path / "p.yaml"
    )


def test_merged_and_repeated_anchors_are_no_repeated_keys(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "base: &b {a: 1, c: 2}\none: {<<: *b, a: 3}\ntwo: {<<: *b}\nlist: [*b, *b]\n"
    )
    assert read_yaml(tmp_path / "p.yaml")["one"] == {"a": 3, "c": 2}


def test_a_full_disk_is_one_sentence_with_the_path(tmp_path):
    def write():
        with atomic_write(tmp_path / "out.json"):
            raise OSError(errno.ENOSPC, "No space left on device")

    refuses(r"out\.json: cannot be written, the disk is full", write)
    with pytest.raises(PermissionError), atomic_write(tmp_path / "out.json"):
        raise PermissionError(errno.EACCES, "denied")


def test_too_little_memory_is_no_damaged_file(tmp_path, monkeypatch):
    write_arrays(tmp_path / "a.npz", {"x": np.arange(3)})

    def exhausted(*given, **named):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", exhausted)
    with pytest.raises(MemoryError):
        read_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("error", [MemoryError, NameError, AssertionError, ZeroDivisionError])
def test_an_error_that_no_damaged_file_raises_keeps_its_name(error, tmp_path):
    with pytest.raises(error), trained_files(tmp_path, "topic model"):
        raise error


def test_a_head_that_asks_for_terabytes_is_a_damaged_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        head = {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)}
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, head)
        archive.writestr("x.npy", file.getvalue() + bytes(8))
    refuses("its head says", read_arrays, tmp_path / "a.npz")


def test_a_hundred_levels_are_read_and_lists_in_a_row_are_not_deep(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("[" * 100 + "]" * 100 + "\n", encoding="utf-8")
    assert len(read_yaml(path)) == 1
    path.write_text("[" + "[]," * 101 + "]\n", encoding="utf-8")
    assert read_yaml(path) == [[]] * 101
    path.write_text("[" * 101 + "]" * 101 + "\n", encoding="utf-8")
    refuses("nested deeper than 100 levels", read_yaml, path)
