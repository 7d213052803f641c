"""The job `ladder`: its sizes, its plan, what is packed for it, and the whole of it in small."""

import sys

import pytest

from experiments.gpu import __main__, data, finish, inputs, ladder, pack
from experiments.gpu.scale_job import LAUNCHED_LAYER, ROOT, training_from_nothing
from longform.files.artefacts import read_corpus
from longform.results import read_results
from longform_lab.scale_overrides import PARAMS, parameters
from tests.refusals import refuses


def test_sizes_are_those_of_the_scale_and_their_weights_are_arithmetic():
    params = parameters("gpu_ladder", ROOT)[PARAMS]
    shapes = {}
    for name in params["articles"]["models"]:
        shape = params["models"][name]
        shapes[name] = (shape["n_layer"], shape["n_embd"])
        assert shape["n_embd"] % (8 * shape["n_head"]) == 0  # heads that the card's kernels take
    assert shapes == ladder.SIZES
    # 2 layers of 12 x 96^2 + 13 x 96, a norm of 192, 9,216 embeddings of 96
    assert ladder.weights_of(2, 96) == 2 * 111_840 + 192 + 884_736 == 1_108_608
    assert ladder.weights_of(13, 768) == 99_221_760
    training = params["articles"]["training"]
    schedule = training["schedule"]
    chosen = (schedule["epochs"], schedule["batch"], training["context"])
    assert chosen == (ladder.PASSES, ladder.BATCH, ladder.CONTEXT)
    assert params["articles"]["tokenizer"]["vocab_size"] == ladder.VOCABULARY
    assert params["articles"]["seeds"] == ladder.SEEDS


def test_a_training_waits_for_the_slower_of_card_and_host():
    # 129,500 tokens a second of 134,515,008 weights are 17.42e12 products a second
    large = training_from_nothing(134_515_008, 1, 10, 129_500 * 60)
    assert large["minutes"] == pytest.approx(1)
    assert large["operations"] == 6 * 134_515_008 * 129_500 * 60
    small = training_from_nothing(1, 6, 600, 1000)
    assert small["minutes"] == pytest.approx(600 * 6 * LAUNCHED_LAYER / 60) == pytest.approx(0.235)


def test_the_largest_trains_alone_and_the_other_sizes_side_by_side():
    groups = [[stage.words for stage in group] for group in ladder.JOB.groups()]
    trainings = [group for group in groups if group[0].startswith("language_model")]
    assert [len(group) for group in trainings] == [1, 3]
    writing = [group for group in groups if group[0].startswith("generate")]
    assert [len(group) for group in writing] == [6, 6, 6, 6]
    assert len({words for group in writing for words in group}) == 24


def test_a_plan_says_what_travels_and_in_how_many_calls(monkeypatch, capsys):
    monkeypatch.setattr(inputs, "input_bytes", lambda _: 2_600_000)
    __main__.show_plan("ladder", False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("minutes predicted, in 3 calls of at most 9;")
    assert "in 2,600,000 bytes, and 12 MiB of texts and weights" in lines[1]


def test_a_job_is_packed_with_its_own_texts_alone(monkeypatch):
    monkeypatch.chdir(ROOT)
    (job,) = pack.chosen(["ladder"])
    names = [entry["to"] for entry in pack.texts_of([job])]
    assert names[:3] == ["proposals/peps", "proposals/eips", "proposals/rfcs"]
    assert "cities.txt" not in names and "minilm" not in names and not job.weights
    every = {entry["to"] for entry in pack.texts_of(pack.chosen([]))}
    assert {"cities.txt", "peps", "facts/symmetric.jsonl", *names} <= every
    refuses("'speed' reads no published texts", pack.chosen, ["speed"])


def test_texts_are_opened_without_weights_that_no_stage_reads(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    data.open_data(tmp_path, weights=False)
    refuses("parts are here", data.open_data, tmp_path)


def test_finishing_points_to_the_encoder_that_did_not_travel(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(finish, "DATA", tmp_path)
    (tmp_path / "raw").mkdir()
    placed = []
    monkeypatch.setattr(finish, "put_in_place", lambda *given: placed.append(given))
    finish.place_encoders(ladder.JOB)
    ((entries, raw, folder),) = placed
    assert [entry["to"] for entry in entries] == ["minilm"]
    assert (raw, folder) == (tmp_path / "raw", None)


@pytest.mark.long  # the stages of a whole job, in small
def test_ladder_trains_reads_suites_and_writes_articles(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    monkeypatch.setattr(sys, "path", [*sys.path])
    out, state = str(tmp_path / "out"), str(tmp_path / "state")
    assert __main__.main(["ladder", "--tiny", "--out", out, "--state", state]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(ladder.JOB.outputs)
    records = read_results(tmp_path / "out" / "records.json")
    for model in ("gpt2", "gpt2_xl"):
        perplexity = records.one(system=model, metric="word_ppl", variant="")
        assert 100 < perplexity.value < 600
        # the four sentences of two schemas, with what stands before the answer and without
        suites = records.where(system=model, metric="accuracy")
        assert suites.one(task="all suites").units > 0
    data.extract(tmp_path / "out" / "texts_proposals.tar.xz", tmp_path / "texts")
    written = read_corpus(tmp_path / "texts" / "gpt2" / "without_titles" / "seed_1")
    assert len(written.documents) == 2
    state = str(tmp_path / "finish")
    assert finish.main(["ladder", "--tiny", "--out", out, "--state", state]) == 0
    finished = read_results(tmp_path / "out" / "records.json")
    assert [record for record in records if record not in list(finished)] == []
    section_order = finished.where(critic="section_order", metric="latent_ppl")
    assert section_order.one(system="gpt2_xl", variant="").units == 2
    mentions = finished.where(critic="coreference", metric="latent_ppl", variant="")
    assert mentions.one(system="data").value > 1
