"""A stage that makes several systems: what a killed run of it had finished is brought back, and one can be made alone."""

import shutil

import pytest
import yaml

from longform.documents import Corpus
from longform.files.artefacts import write_corpus
from longform.language_models import ngram
from longform_lab import texts
from longform_lab.experiment import Experiment
from longform_lab.stages import main
from tests.refusals import refuses
from tests.tiny import bpe_folder, documents

PARAMS = {
    "seed": 1,
    "models": {"grams": {"kind": "ngrams", "context": 8, "order": 2}},
    "articles": {
        "corpora": ["wiki"],
        "models": ["grams"],
        "titles": ["with", "without"],
        "seeds": 1,
    },
}
WITH, WITHOUT = "grams-with_titles-seed_1", "grams-without_titles-seed_1"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    bpe_folder(tmp_path / "data" / "tokenizers" / "articles")
    write_corpus(tmp_path / "data" / "corpora" / "articles" / "wiki", Corpus(documents()))
    return tmp_path


class Fits:
    """Notes which systems were trained, in their order; ``stops_at`` names one that ends its stage."""

    def __init__(self):
        self.systems, self.stops_at = [], None
        self.plain = ngram.fit

    def __call__(self, *, documents, base, titles, context, order):
        system = WITH if titles else WITHOUT
        if system == self.stops_at:
            raise KeyboardInterrupt
        self.systems.append(system)
        return self.plain(
            documents=documents, base=base, titles=titles, context=context, order=order
        )


@pytest.fixture
def fits(monkeypatch):
    counted = Fits()
    monkeypatch.setattr(ngram, "fit", counted)
    return counted


def train(home, only=None):
    texts.language_model(Experiment(home, only), "articles", "wiki", "grams")


def trained(home):
    """Bytes of the trained networks by their place."""
    folder = home / "data" / "models"
    return {path: path.read_bytes() for path in sorted(folder.rglob("*.safetensors"))}


def test_a_stopped_stage_brings_back_the_systems_that_it_had_finished(home, fits):
    fits.stops_at = WITHOUT
    with pytest.raises(KeyboardInterrupt):
        train(home)
    first = trained(home)
    shutil.rmtree(home / "data" / "models")  # as DVC removes outputs before it runs a stage again
    fits.stops_at = None
    train(home)
    assert fits.systems == [WITH, WITHOUT]
    assert len(first) == 1 and first.items() <= trained(home).items() and len(trained(home)) == 2
    assert not list((home / "scratch").rglob("finished"))


def test_one_system_made_alone_is_found_by_the_whole_stage(home, fits):
    arguments = ["language_model", "articles", "wiki", "grams", "--home", str(home)]
    assert main([*arguments, "--only", WITHOUT]) == 0
    assert fits.systems == [WITHOUT] and len(trained(home)) == 1
    assert main(arguments) == 0
    assert fits.systems == [WITHOUT, WITH]
    refuses("has no system 'grams-with_titles-seed_2' \\(near", train, home, WITH[:-1] + "2")


def test_what_was_finished_from_another_seed_is_made_again(home, fits):
    train(home, WITH)
    (home / "params.yaml").write_text(yaml.safe_dump({**PARAMS, "seed": 2}))
    train(home, WITH)
    assert fits.systems == [WITH, WITH]
