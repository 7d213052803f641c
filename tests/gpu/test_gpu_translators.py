"""The job `translators`: its weights, what it packs and keeps, and the whole of it in small."""

import sys

import pytest
import torch

from experiments.gpu import __main__, data, finish, pack, translators
from experiments.gpu.scale_job import ROOT
from longform.files.artefacts import read_corpus
from longform.language_models.translation import NETWORKS, Shape
from longform.results import read_results
from longform_lab.scale_overrides import PARAMS, parameters


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_are_those_of_the_scales_networks(name):
    params = parameters("gpu_translators", ROOT)[PARAMS]
    entry = params["models"][name]
    with torch.device("meta"):  # no weight is made
        network = NETWORKS[name](Shape(**entry["shape"]), entry["subwords"])
    assert translators.weights_of(name) == sum(weight.numel() for weight in network.parameters())
    # the paper has 64.80 and 65.98 million
    assert 64.6e6 < translators.weights_of(name) < 66e6
    schedule = entry["schedule"]
    assert (schedule["epochs"], schedule["batch"]) == (translators.PASSES, translators.BATCH)
    assert params["languages"]["seeds"] == translators.SEEDS


def test_floors_leave_padding_out_and_predictions_do_not():
    stage = translators.training("autoregressive")
    # three trainings of twenty passes over 948,663 tokens of a side
    assert stage.operations == 3 * 6 * 64_618_496 * 948_663 * 20
    seconds = 2_403_758 * 20 * 64_618_496 / (129_500 * 134_515_008)
    assert stage.minutes == pytest.approx(3 * (seconds + 25) / 60)


def test_captions_are_packed_from_their_own_files(monkeypatch):
    monkeypatch.chdir(ROOT)
    entries = pack.texts_of(pack.chosen(["translators"]))
    names = {entry["to"] for entry in entries}
    languages = ("en", "de", "fr", "cs")
    assert names == {f"multi30k/{split}.{one}" for split in ("train", "val") for one in languages}
    assert all("not commercial" in entry["terms"] for entry in entries)


@pytest.mark.long  # the stages of a whole job, in small
def test_translators_are_trained_and_their_languages_read(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    monkeypatch.setattr(sys, "path", [*sys.path])
    out, state = str(tmp_path / "out"), str(tmp_path / "state")
    assert __main__.main(["translators", "--tiny", "--out", out, "--state", state]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(translators.JOB.outputs)
    data.extract(tmp_path / "out" / "texts_languages.tar.xz", tmp_path / "texts")
    counts = []
    for network in NETWORKS:
        written = read_corpus(tmp_path / "texts" / network / "seed_1")
        counts.append(len(written.documents))
    assert counts[0] == counts[1] > 20
    state = str(tmp_path / "finish")
    assert finish.main(["translators", "--tiny", "--out", out, "--state", state]) == 0
    mixing = read_results(tmp_path / "out" / "records.json").where(metric="dispersion", variant="")
    real = mixing.one(system="data").value
    for network in NETWORKS:
        # after one pass a translator draws words of all languages
        assert mixing.one(system=network).value > real
