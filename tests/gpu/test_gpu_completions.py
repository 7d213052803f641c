"""The job `completions`: its plan, and the whole of it in small."""

import sys

import pytest

from experiments.gpu import __main__, completions, data, finish
from experiments.gpu.scale_job import ROOT
from longform.files.artefacts import read_corpus
from longform.results import read_results
from longform_lab.scale_overrides import PARAMS, parameters


def test_all_cities_are_completed_by_every_decoder_of_the_plan():
    sources = parameters("gpu_completions", ROOT)[PARAMS]["sources"]
    decoders = [*sources["larger"]["sources"].values(), *sources["smaller"]["sources"].values()]
    assert decoders == ["ancestral", "nucleus", "greedy", "top_k"]
    assert len(decoders) == completions.NUM_DECODERS
    for part in ("larger", "smaller"):
        assert sources[part]["documents"] is None  # all
        assert sources[part]["batch"] == 256  # as the plan's steps
    judged = sources["critics"]["entity_grid"]["scores"]["evaluations"]["sources"]["sources"]
    assert judged == [*sources["larger"]["sources"], *sources["smaller"]["sources"]]


def test_completions_take_their_steps_one_after_another():
    stage = completions.writing()
    # four decoders, 6,082 steps of 51 ms, each of which reads 134,515,008 weights of four bytes
    assert stage.minutes == pytest.approx(4 * 6_082 * 0.051 / 60)
    assert stage.moved == 4 * 6_082 * 4 * 134_515_008


@pytest.mark.long  # the stages of a whole job, in small
def test_cities_are_completed_and_told_from_their_completions(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    monkeypatch.setattr(sys, "path", [*sys.path])
    out, state = str(tmp_path / "out"), str(tmp_path / "state")
    assert __main__.main(["completions", "--tiny", "--out", out, "--state", state]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(completions.JOB.outputs)
    data.extract(tmp_path / "out" / "texts_completions.tar.xz", tmp_path / "texts")
    sides = [document.id for document in read_corpus(tmp_path / "texts" / "completions").documents]
    articles = {side.rpartition("-")[0] for side in sides}
    assert len(articles) == 12 and len(sides) == 12 * 5  # the human one, and four decoders'
    state = str(tmp_path / "finish")
    assert finish.main(["completions", "--tiny", "--out", out, "--state", state]) == 0
    records = read_results(tmp_path / "out" / "records.json")
    preferred = records.where(metric="pairwise_accuracy", variant="")
    for critic in ("bbscore", "grid_transitions"):
        # four test articles beside the completions of each decoder
        for source in ("ancestral", "nucleus", "greedy", "top_k"):
            assert preferred.one(critic=critic, system=f"smollm2_{source}").units == 4
