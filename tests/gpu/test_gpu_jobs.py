"""The jobs for one GPU: what they import and carry, their floors, and each in its tiny form."""

import csv
import json
import os
import subprocess
import tarfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from experiments.gpu import JOBS, __main__, inputs, job_named, speed, table_1_transformer
from experiments.gpu.frame import NOMINAL, AtWork, Call, Ceilings, Part, Report
from longform.critics.perplexity.score import LogProbs
from longform.documents import Document, Section
from longform.language_models.checkpoints import load_model, load_tokenizer
from longform.results import read_results
from tests.refusals import refuses

TRANSFORMER = "table_1_transformer"


@pytest.mark.parametrize("job", JOBS)
def test_a_job_imports_nothing_but_what_is_there_or_travels(job):
    allowed = inputs.INSTALLED | inputs.OPTIONAL | inputs.wheel_names().keys()
    for module in (JOBS[job], "experiments.gpu.__main__"):
        _, outside = inputs.reached(module)
        assert [(name, str(file)) for name, file in sorted(outside) if name not in allowed] == []


def test_imports_are_followed_into_functions_and_through_names(tmp_path, monkeypatch):
    package = tmp_path / "longform"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("def act():\n    from longform import second\n")
    (package / "second.py").write_text(
        "import importlib\nimportlib.import_module('longform.third')\n"
    )
    (package / "third.py").write_text(
        "try:\n    import tomllib, absent.part\nexcept ImportError: pass\n"
    )
    monkeypatch.setitem(inputs.OURS, "longform", tmp_path)
    files, outside = inputs.reached.__wrapped__("longform.first")
    assert {file.name for file in files} == {"__init__.py", "first.py", "second.py", "third.py"}
    assert {(name, file.name) for name, file in outside} == {("absent", "third.py")}


def test_every_wheel_of_the_list_is_imported_or_needed_by_one():
    text = inputs.WHEELS.read_text(encoding="utf-8")
    imported = {name for job in JOBS for name, _ in inputs.reached(JOBS[job])[1]}
    needed = {line.split("==")[0] for line in text.splitlines() if "# of " in line}
    own = {pin.split("==")[0]: name for name, pin in inputs.wheel_names().items()}
    assert own.keys() - needed == {name for name in own if own[name] in imported} - needed


def test_what_is_packed_holds_each_jobs_code_and_inputs(tmp_path):
    wheel = tmp_path / "one-1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    needed = inputs.paths(TRANSFORMER)
    size = inputs.pack(tmp_path / "inputs.tar", needed, [wheel])
    with tarfile.open(tmp_path / "inputs.tar") as archive:
        names = set(archive.getnames())
    assert {
        "src/longform/decoding/long_documents.py",
        "params.yaml",
        "wheels/one-1.0-py3-none-any.whl",
    } <= names
    assert "experiments/gpu/speed.py" not in names and size < inputs.MAX_BYTES
    assert str(table_1_transformer.MEASURED) in names


def test_an_input_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(speed, "JOB", replace(speed.JOB, inputs=("data/nowhere.npz",)))
    refuses("its input data/nowhere.npz is not there", inputs.paths, "speed")


@pytest.mark.parametrize("job", JOBS)
def test_no_job_writes_more_files_than_come_back(job):
    assert 1 <= len(job_named(job).outputs) <= 8


def test_the_transformer_is_the_papers_and_its_floor_is_arithmetic():
    # 18.94 million in the paper
    assert table_1_transformer.weights_of(table_1_transformer.PAPER) == 18_944_000
    for training in table_1_transformer.PAPER.runs:
        assert training.dropout == 0.3 or "no_dropout" in training.name  # the paper's
        assert training.recipe.batch * training.recipe.updates / 51_200 == 18.75
    part = Part("training", 6 * 18.944e6 * 3.6e8, 120_000 * 7 * 4 * 18.944e6, 0.0, "")
    assert part.floor(NOMINAL) == pytest.approx(51.1, abs=0.1)
    assert part.floor(Ceilings("slow memory", 8e14, 3e11)) == pytest.approx(212, abs=1)


def test_a_new_network_has_fairseqs_positions_which_do_not_learn(tmp_path):
    chosen = table_1_transformer.TINY
    table = table_1_transformer.sinusoids(3, 4)
    angles = torch.tensor([2.0, 2e-4])  # of position 2, at wavelengths 2 pi and 20,000 pi
    assert torch.allclose(table[2], torch.cat([angles.sin(), angles.cos()]))
    texts = table_1_transformer.hsmm_language.build(
        name="synthetic", seed=1, **table_1_transformer.corpus_settings(chosen)
    )
    tokenizer = table_1_transformer.tokenizers.fit(
        documents=texts.documents, kind="whitespace"
    ).tokenizer
    network = table_1_transformer.new_network(chosen, tokenizer, chosen.runs[0])
    learnt = sum(weight.numel() for weight in network.parameters() if weight.requires_grad)
    letters = len(tokenizer) - 56  # of the alphabet's 52 a tiny corpus may use fewer
    assert learnt == table_1_transformer.weights_of(chosen) + letters * 16


def test_a_report_gives_floor_and_share_of_the_peak(tmp_path, capsys):
    report = Report(tmp_path / "report.json", Ceilings("card", 1e12, 1e9))
    report.add("products", 2.0, operations=5e11, tokens_a_second=3.0)
    row = json.loads((tmp_path / "report.json").read_text())["measured"][0]
    assert (row["floor_seconds"], row["share_of_peak"], row["tokens_a_second"]) == (0.5, 0.25, 3.0)
    assert "share_of_peak 0.25" in capsys.readouterr().out


def test_without_a_gpu_only_the_tiny_form_runs(monkeypatch, capsys):
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    assert __main__.main([TRANSFORMER]) == 2
    assert "no GPU is here" in capsys.readouterr().err


def call(job, folder, *more):
    return __main__.main(
        [job, "--tiny", "--out", str(folder / "out"), "--state", str(folder / "state"), *more]
    )


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    """The tiny job in two calls; the time of the first is up after three stretches of the first training."""
    left = iter([60.0, 60.0, 60.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGFORM_DEVICE", "cpu")
        folder = tmp_path_factory.mktemp("gpu")
        with pytest.MonkeyPatch.context() as short:
            short.setattr(Call, "left", lambda _: next(left, -1.0))
            assert call(TRANSFORMER, folder) == 0
        begun = (folder / "out" / "curves.csv").read_text()
        assert call(TRANSFORMER, folder) == 0
    return folder, begun


@pytest.mark.long  # the whole tiny job
def test_a_second_call_goes_on_and_everything_is_measured(transformer):
    folder, begun = transformer
    rows = list(csv.DictReader((folder / "out" / "curves.csv").open()))
    of_first_call = list(csv.DictReader(begun.splitlines()))
    assert len(of_first_call) == 3 and len(rows) == 16
    assert [row["loss"] for row in of_first_call] == [row["loss"] for row in rows[:3]]
    for name in ("transformer", "transformer_batch_32"):
        own = [row for row in rows if row["run"] == name]
        assert [int(row["update"]) for row in own] == list(range(1, 9))
        assert float(own[-1]["validation_loss"]) < float(own[0]["validation_loss"])
        assert float(own[-1]["word_ppl"]) > 1
    assert {path.name for path in (folder / "out").iterdir()} == set(table_1_transformer.OUTPUTS)


def test_records_are_the_pipelines_and_the_texts_are_the_networks(transformer):
    folder, _ = transformer
    records = read_results(folder / "out" / "records.json")
    assert records.values("metric") == ["word_ppl", "latent_ppl", "segments"]
    rules = records.where(metric="latent_ppl").values("variant")
    assert rules == ["", "strict"]
    word = records.one(metric="word_ppl", system="transformer", variant="")
    tokens = sum(len(document.text.split()) + 1 for document in tiny_texts(folder))
    assert word.units == 8 and word.details["totals"]["tokens"] == tokens
    network = folder / "state" / "transformer-1" / "network-8"
    model, tokenizer = load_model(network, AutoModelForCausalLM), load_tokenizer(network)
    total = 0.0
    for document in tiny_texts(folder):
        ids = torch.tensor([[0, *tokenizer(document.text)["input_ids"], 0]])
        with torch.no_grad():
            total -= float(model.eval()(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
    assert word.details["totals"]["logprob"] == pytest.approx(total, rel=1e-4)


def test_word_ppl_is_measured_apart_at_the_end_of_texts(transformer):
    folder, _ = transformer
    words = read_results(folder / "out" / "records.json").where(
        metric="word_ppl", system="transformer"
    )
    totals = {record.variant: record.details["totals"] for record in words}
    assert totals["end"]["tokens"] == 8  # one of each text
    for column in ("tokens", "logprob"):
        parts = [totals[part][column] for part in ("first_segments", "last_segments", "end")]
        assert sum(parts) == pytest.approx(totals[""][column], rel=1e-6)
        assert sum(parts[:2]) == pytest.approx(totals["body"][column], rel=1e-6)


def test_a_text_is_cut_behind_its_first_segments_and_before_its_end():
    text = Document("a", "test", (Section("", "a b <space> c <space> d <space>"),))
    values = np.arange(8.0)
    parts = table_1_transformer.parts_of([LogProbs("a", "test", values)], [text], segments=2)
    shown = {name: units[0].values.tolist() for name, units in parts.items()}
    assert shown == {
        "body": [0, 1, 2, 3, 4, 5, 6],
        "first_segments": [0, 1, 2, 3, 4],
        "last_segments": [5, 6],
        "end": [7],
    }
    short = table_1_transformer.parts_of([LogProbs("a", "test", values)], [text], segments=4)
    assert len(short["last_segments"][0].values) == 0


def test_samples_are_counted_by_their_segments(transformer):
    folder, _ = transformer
    texts = [
        Document(str(number), "generated", (Section("", "a <space> " * number),))
        for number in (3, 1, 3)
    ]
    record = table_1_transformer.segment_record(texts, {"system": "s"})
    assert record.details["texts_by_segments"] == {"1": 1, "3": 2}
    assert record.value == pytest.approx(7 / 3)
    written = read_results(folder / "out" / "records.json").where(metric="segments")
    assert [sum(record.details["texts_by_segments"].values()) for record in written] == [6, 6, 6]


@pytest.mark.long  # the tiny job, cut off
def test_a_point_is_written_as_soon_as_it_is_measured(tmp_path, monkeypatch):
    """A call that is cut off while it measures the second network has the first one's records."""
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    own = table_1_transformer.Study._records
    calls = []

    def cut_off(study, update):
        calls.append(update)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return own(study, update)

    monkeypatch.setattr(table_1_transformer.Study, "_records", cut_off)
    with pytest.raises(KeyboardInterrupt):
        call(TRANSFORMER, tmp_path, "--only", "transformer_batch_32-1")
    assert calls == [8, 4]
    records = read_results(tmp_path / "out" / "records.json")
    assert records.values("task") == ["update 8"]
    rows = list(csv.DictReader((tmp_path / "out" / "curves.csv").open()))
    assert {row["run"] for row in rows} == {"transformer_batch_32"} and rows[-1]["word_ppl"]
    assert float(rows[-1]["validation_loss_with_dropout"]) > 0


def test_one_training_can_be_asked_for_by_name(monkeypatch):
    chosen = table_1_transformer.PAPER
    (run,) = table_1_transformer.selected_runs(chosen, "transformer-1")
    assert (run.name, run.seed, run.recipe.batch) == ("transformer", 1, 8)
    assert len(table_1_transformer.selected_runs(chosen, None)) == len(chosen.runs)
    refuses(
        "give --only one of transformer_batch_32-1, transformer-1",
        table_1_transformer.selected_runs,
        chosen,
        "transformer",
    )
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    assert __main__.main(["speed", "--tiny", "--only", "transformer-1"]) == 2


def test_a_row_names_the_processes_that_shared_the_machine(tmp_path):
    first = AtWork(tmp_path / "at_work", "transformer-1")
    first.enter()
    assert first.others() == []
    with subprocess.Popen(["sleep", "30"]) as other:
        (tmp_path / "at_work" / str(other.pid)).write_text("speed")
        report = Report(
            tmp_path / "report.json", Ceilings("card", 1e12, 1e9), neighbours=first.others
        )
        report.add("beside another", 1.0)
        other.kill()
    report.add("alone", 1.0)
    beside, alone = json.loads((tmp_path / "report.json").read_text())["measured"]
    assert beside["shared_with"] == ["speed"] and "shared_with" not in alone
    first.leave()
    assert not (tmp_path / "at_work" / str(os.getpid())).exists()


def tiny_texts(folder):
    texts = table_1_transformer.read_corpus(folder / "state" / "corpus").documents
    return [document for document in texts if document.split == "test"]


@pytest.mark.long
def test_speed_is_measured_beside_each_peer(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    assert call("speed", tmp_path) == 0
    rows = json.loads((tmp_path / "out" / "report.json").read_text())["measured"]
    beside = [row["part"] for row in rows if "ours_over_it" in row]
    for peer in (
        "plain loop",
        "Lightning",
        "generate",
        "slides token by token",
        "torch-struct",
        "minicons",
    ):
        assert any(peer in part for part in beside), peer
    surprisal = next(row for row in rows if row["part"] == "surprisal: ours")
    assert surprisal["equal_decisions"] == surprisal["pairs"]
    assert surprisal["largest_difference_bits"] < 1e-4
    gradients = next(
        row for row in rows if row["part"].startswith("HSMM gradients, 4 states: ours")
    )
    assert gradients["gap"] < 1e-4
    assert call("speed", tmp_path) == 0  # the second call measures nothing again
    assert json.loads((tmp_path / "out" / "report.json").read_text())["measured"] == rows
