"""From documents to latents: each sentence read once and alone, kept features found again, planted paths recovered."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModel, AutoTokenizer

from longform.core.documents import BadInput, Document, Section
from longform.core.text.permutations import ShuffleTask
from longform.critics.bbscore import read as bridge_paths
from longform.critics.bbscore import train as bridge_encoder
from longform.critics.bbscore.bridge import corpus_diffusion, units_from_readout
from longform.critics.bbscore.read import read_gold
from longform.critics.bbscore.score import BridgeCritic, JointBridgeCritic
from longform.datasets.synthetic_world.corpora import build
from longform.evaluation.order_discrimination import order_discrimination
from longform.language_models import sentence_features
from longform.language_models.sentence_features import open_encoder, split_sentences


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("bridge") / "frozen")


def test_a_feature_is_the_mean_of_the_last_states_of_its_own_tokens(frozen):
    texts = ["the town lies on a river.", "old houses.", "its people work in fields near hills."]
    found = open_encoder(frozen).encode(texts)
    network, tokenizer = AutoModel.from_pretrained(frozen).eval(), AutoTokenizer.from_pretrained(frozen)
    for text, feature in zip(texts, found, strict=True):
        with torch.no_grad():
            states = network(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0]
        np.testing.assert_allclose(feature, states.mean(0).numpy(), atol=2e-6)


def test_features_of_a_shuffled_document_are_the_shuffled_features(frozen):
    texts = split_sentences(documents(1), "full_stops")[0]
    order = [2, 0, 1]
    encoder = open_encoder(frozen, batch_tokens=8)
    again = open_encoder(frozen).encode([texts[i] for i in order])
    np.testing.assert_allclose(encoder.encode(texts)[order], again, atol=2e-6)
    assert len(encoder.known) == 3


def test_long_sentences_are_cut_at_the_window_and_counted(frozen):
    encoder = open_encoder(frozen)
    assert encoder.encode(["town " * 60]).shape == (1, 16)
    assert encoder.truncated == 1


def test_kept_features_open_again_without_reading(frozen, tmp_path, monkeypatch):
    kept = sentence_features.fit(documents=documents(), base=frozen, name="kept", splitter="full_stops")
    (tmp_path / "kept").mkdir()
    kept.save(tmp_path / "kept")
    again = open_encoder(tmp_path / "kept")
    monkeypatch.setattr(again.network, "forward", None)
    text = split_sentences(documents(1), "full_stops")[0]
    assert np.array_equal(again.encode(text), kept.encoder.encode(text))


def test_training_and_reading_go_through_the_pipelines_functions(frozen, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    texts = [Document(d.id, d.split, d.sections * 2) for d in documents()]
    plan = {"learning_rate": 1e-3, "batch": 8, "epochs": 1, "validations": 1}
    trained = bridge_encoder.fit(
        documents=texts,
        base=frozen,
        name="bridge",
        seed=1,
        scratch=tmp_path / "scratch",
        splitter="full_stops",
        recipes={"paper": {}, "pinless": {"pins": False, "schedule": {"batch": 4}}},
        schedule=plan,
        seeds=2,
    )
    folder = frozen.parent / "bridge"
    folder.mkdir()
    trained.save(folder)
    truth = {"rating": np.arange(len(texts))}
    readout = bridge_paths.read(documents=texts, truth=truth, reader=folder, name="read", splits=["test"])
    units = units_from_readout(readout)
    assert [u.split for u in units] == ["test"] * 3 and [u.rating for u in units] == [3, 7, 11]
    assert list(units[0].heads) == ["paper_0", "paper_1", "pinless_0", "pinless_1"]
    assert np.array_equal(units[0].latents, units[0].under("paper_0").latents)
    assert not np.allclose(units[0].latents, units[0].under("paper_1").latents)
    with pytest.raises(BadInput, match="no head 'linear_0'"):
        units[0].under("linear_0")
    assert units[0].latents.shape == (6, 8) and units[0].text_ids.tolist() == [0, 1, 2, 0, 1, 2]
    with pytest.raises(BadInput, match="0 of 12 documents"):
        bridge_paths.read(documents=texts, truth={}, reader=folder, name="read", splits=[])


def test_no_recipe_and_no_seed_are_refused(frozen, tmp_path):
    given = {
        "documents": documents(),
        "base": frozen,
        "name": "b",
        "seed": 1,
        "scratch": tmp_path,
        "splitter": "full_stops",
    }
    for recipes, seeds in (({}, 1), ({"paper": {}}, 0)):
        with pytest.raises(BadInput, match="at least one of each"):
            bridge_encoder.fit(**given, recipes=recipes, seeds=seeds, schedule={})


def test_a_frozen_encoder_alone_gives_its_features_as_latents(frozen):
    readout = bridge_paths.read(documents=documents(2), truth={}, reader=frozen, name="raw")
    assert units_from_readout(readout)[0].latents.shape == (3, 16)


def test_empty_lines_and_blank_sections_leave_no_sentence():
    blank = Document("b", "test", (Section(None, " \n\n . "), Section(None, "")))
    assert split_sentences([blank], "full_stops") == [[]]
    assert split_sentences([Document("c", "test", (Section(None, "One. \n\n Two."),))], "full_stops") == [
        ["One.", "Two."]
    ]
    with pytest.raises(BadInput, match="splitter 'naive'"):
        split_sentences([blank], "naive")


@pytest.fixture(scope="module")
def planted_paths():
    corpus = build(name="world", seed=3, domain="wikisection", documents={"train": 60, "test": 60})
    readout = read_gold(documents=corpus.documents, truth=corpus.truth)
    units = units_from_readout(readout)
    return corpus, [u for u in units if u.split == "train"], [u for u in units if u.split == "test"]


def test_the_worlds_diffusion_is_estimated_from_its_gold_paths(planted_paths):
    _, train, test = planted_paths
    dims = train[0].latents.shape[1]
    planted_sigma2 = 0.05
    assert corpus_diffusion(train + test) == pytest.approx(dims / 2 * planted_sigma2, rel=0.1)
    joint = JointBridgeCritic().fit(train)
    assert joint.score(joint.tally(test)) == pytest.approx(1.0, abs=0.05)


def test_the_worlds_bridges_are_recovered_better_than_their_shuffles(planted_paths):
    _, train, test = planted_paths
    scorers = {"bbscore": BridgeCritic(), "joint": JointBridgeCritic()}
    raw, joint, _ = order_discrimination(scorers, test, [ShuffleTask()], train=train)
    assert raw.value > 0.6 and joint.value > 0.99


def test_only_planted_corpora_have_gold_paths():
    with pytest.raises(BadInput, match="no 'bridge_path'"):
        read_gold(documents=documents(2), truth={})
