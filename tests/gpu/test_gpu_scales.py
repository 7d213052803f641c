"""Jobs that are scales: each in its tiny form, stopped and gone on with, and what a processor adds afterwards."""

import csv
import json
import sys

import pytest
import torch

from experiments.gpu import (
    __main__,
    cities_and_peps,
    completions,
    data,
    decoders,
    finish,
    inputs,
    ladder,
    pack,
    scale_job,
    translators,
)
from experiments.gpu.frame import NOMINAL, Call, Report
from longform.documents import Predictions
from longform.files.artefacts import read_corpus
from longform.results import read_results
from tests.refusals import refuses


def call(job, folder):
    out, state = str(folder / "out"), str(folder / "state")
    return __main__.main([job, "--tiny", "--out", out, "--state", state])


def without_chosen(patch):
    """Packages that a card's machine lacks cannot be imported."""
    for name in inputs.OPTIONAL - {"pandas", "pyarrow"}:
        patch.setitem(sys.modules, name, None)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The tiny job `decoders` in two calls: the first ends before the last of its stages."""
    folder = tmp_path_factory.mktemp("gpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGFORM_DEVICE", "cpu")
        patch.setattr(sys, "path", [*sys.path])
        run_stage = scale_job.run_stage

        def stopped(home, place, words, seconds):
            return words != "decode facts sweep" and run_stage(home, place, words, seconds)

        with pytest.MonkeyPatch.context() as short:
            without_chosen(short)
            short.setattr(scale_job, "run_stage", stopped)
            assert call("decoders", folder) == 0
        begun = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
        with pytest.MonkeyPatch.context() as there:
            without_chosen(there)
            assert call("decoders", folder) == 0
        yield folder, begun


@pytest.mark.long  # the stages of a whole job, in small
def test_a_second_call_runs_only_the_stages_that_are_left(written):
    folder, begun = written
    rows = json.loads((folder / "out" / "report.json").read_text())["measured"]
    assert [row["part"] for row in rows] == [stage.words for stage in decoders.JOB.stages]
    assert all(row["finished"] for row in rows)
    first = json.loads(begun["report.json"])["measured"]
    assert not first[-1]["finished"] and "texts_sweep.tar.xz" not in begun
    # what was finished was not made again: its seconds stand as they were
    assert [row["seconds"] for row in first[:-1]] == [row["seconds"] for row in rows[:-1]]
    assert {path.name for path in (folder / "out").iterdir()} == set(decoders.JOB.outputs)


@pytest.mark.long  # the same run
def test_the_texts_that_come_back_are_those_of_every_decoder(written, tmp_path):
    folder, _ = written
    data.extract(folder / "out" / "texts_test.tar.xz", tmp_path / "test")
    corpus = read_corpus(tmp_path / "test")
    settings = corpus.truth["setting"].tolist()
    # two prefixes; a decoder that draws writes three times
    drawn = {"top_k", "top_p", "delayed_beam", "min_p", "typical"}
    assert len(set(settings)) == 12
    for name in set(settings):
        assert settings.count(name) == (6 if name in drawn else 2), name
    with (folder / "out" / "trainings.csv").open() as file:
        curve = list(csv.DictReader(file))
    assert [row["model"] for row in curve] == ["decoding/read/smollm2"]
    assert float(curve[0]["validation_loss"]) > 0


@pytest.mark.long  # a checker is trained
def test_a_processor_adds_the_records_of_the_texts(written):
    folder, _ = written
    out, state = folder / "out", folder / "finish"
    given = ["decoders", "--tiny", "--out", str(out), "--state", str(state)]
    assert finish.main(given) == 0
    records = read_results(out / "records.json")
    for run, decoder in (("test", "beam_blocked"), ("sweep", "delayed_100_6_20")):
        for metric in ("SPG", "USPG", "distinct_4grams"):
            assert records.one(corpus=run, system=decoder, metric=metric, variant="").units == 2
    # distinct 4-grams are counted here once more, of the tokens that came back
    texts = read_corpus(state / "home" / "data" / "generations" / "facts" / "sweep")
    counts = []
    for _, _, setting, tokens in Predictions.of(texts.documents, texts.truth).rows(
        "setting", "token"
    ):
        if setting == "greedy":
            own = tokens.tolist()
            counts.append(len({tuple(own[i : i + 4]) for i in range(len(own) - 3)}))
    assert len(counts) == 2
    greedy = records.one(corpus="sweep", system="greedy", metric="distinct_4grams", variant="")
    assert greedy.value == pytest.approx(sum(counts) / len(counts))


@pytest.mark.long  # the stages of a whole job, in small
def test_cities_and_peps_are_trained_on_read_and_written(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.MonkeyPatch.context() as there:
        without_chosen(there)
        assert call("cities_and_peps", tmp_path) == 0
    out, state = tmp_path / "out", tmp_path / "finish"
    records = read_results(out / "records.json")
    data.extract(out / "texts_peps.tar.xz", tmp_path / "peps")
    written = read_corpus(tmp_path / "peps" / "smollm2" / "without_titles" / "seed_1")
    assert len(written.documents) == 2
    # a network of random weights is about as good as a draw among its 400 symbols
    for corpus in ("wiki", "peps"):
        perplexity = records.one(corpus=corpus, system="smollm2", metric="word_ppl", variant="")
        assert 300 < perplexity.value < 500
    given = ["cities_and_peps", "--tiny", "--out", str(out), "--state", str(state)]
    assert finish.main(given) == 0
    finished = read_results(out / "records.json")
    for record in records:
        assert record in list(finished)  # what the card scored stays
    for corpus in ("wiki", "peps"):
        values = finished.where(corpus=corpus, metric="latent_ppl", titles=None)
        chance = values.one(system="random_titles")
        gold = values.one(variant="gold")
        # planted orders of sections are easier to foresee than random ones
        assert chance.value > gold.value > 1
        own = finished.one(corpus=corpus, metric="latent_ppl", system="smollm2", variant="")
        assert own.units == 2


def test_texts_must_be_there_before_they_are_read(tmp_path, capsys):
    given = ["decoders", "--tiny", "--out", str(tmp_path), "--state", str(tmp_path / "state")]
    assert finish.main(given) == 2
    assert "bring back what the job wrote" in capsys.readouterr().err
    assert finish.main(["speed"]) == 2
    assert "leaves nothing to a processor" in capsys.readouterr().err


def test_stages_are_killed_when_the_time_of_the_call_is_over(tmp_path):
    decoders.JOB.prepare(tmp_path, True)
    home, place = tmp_path / "home", tmp_path / "stand_ins"
    stages = ["corpus encyclopedia", "corpus read"]
    assert scale_job.run_together(home, place, stages, 0.01) == [False, False]
    assert not (home / "data" / "corpora").exists()


def test_no_stage_begins_in_the_last_seconds(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(scale_job, "run_together", lambda *given: begun.append(given) or [True])
    monkeypatch.setattr(decoders.JOB.__class__, "prepare", lambda *_: (tmp_path, tmp_path))
    monkeypatch.setattr(Call, "left", lambda _: 5.0)
    report = Report(tmp_path / "report.json", NOMINAL)
    made = Call(torch.device("cpu"), False, False, tmp_path, tmp_path, 0.0, report)
    decoders.JOB.run(made)
    assert begun == []


def test_weights_travel_in_parts_and_are_whole_again(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "PART", 10)
    source = tmp_path / "weights.gguf"
    source.write_bytes(bytes(range(25)))
    raw = tmp_path / "texts"
    raw.mkdir()
    (raw / "cities.txt").write_text("Ada")
    place = tmp_path / "data"
    parts = data.split(source, place / data.WEIGHTS.name)
    assert [part.stat().st_size for part in parts] == [10, 10, 5]
    refuses("texts.tar.xz: not there", data.open_data, place)
    data.compress(raw, place / data.TEXTS)
    last = parts[-1].read_bytes()
    parts[-1].unlink()
    refuses(r"\['part1of3', 'part2of3'\] of 3 parts are here", data.open_data, place)
    parts[-1].write_bytes(last)
    data.open_data(place)
    assert (place / data.RAW / data.WEIGHTS).read_bytes() == bytes(range(25))
    assert (place / data.RAW / "cities.txt").read_text() == "Ada"


def test_packing_names_weights_that_are_nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr(pack, "find_spec", lambda _: None)
    refuses("neither below .* nor installed", pack.weights_below, tmp_path)


def test_floors_are_arithmetic_and_below_what_is_predicted():
    plan = decoders.JOB.plan(False)
    training = next(part for part in plan if part.name.startswith("language_model"))
    # 6 operations a weight and token: 134.5 million weights, 982,454 tokens, twenty passes
    assert training.operations == pytest.approx(6 * 134_515_008 * 982_454 * 20)
    assert training.floor(NOMINAL) == pytest.approx(19.8, abs=0.1)


def test_six_systems_write_and_two_corpora_are_learnt_at_once():
    groups = [[stage.words for stage in group] for group in cities_and_peps.JOB.groups()]
    writing = [group for group in groups if group[0].startswith("generate")]
    assert [len(group) for group in writing] == [6, 6]
    learning = [group for group in groups if group[0].startswith("language_model")]
    assert [len(group) for group in learning] == [2]
    assert all(len(group) == 1 for group in groups if group not in [*writing, *learning])
    assert len({words for group in writing for words in group}) == 12


@pytest.mark.parametrize("job", [decoders, cities_and_peps, ladder, translators, completions])
def test_a_job_fits_into_half_an_hour_by_its_own_prediction(job):
    plan = job.JOB.plan(False)
    for part in plan:
        assert part.floor(NOMINAL) < 60 * part.minutes, part.name
    assert 15 < sum(part.minutes for part in plan) < 27  # the card's start and transfers take three
