"""Encoders of sentence paths: losses, training, reading; and the ranker over the five features."""

import math
import shutil

import numpy as np
import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModel, AutoTokenizer

from longform.core.documents import Document, Section
from longform.critics.bbscore import read as reading
from longform.critics.bbscore import train as training
from longform.critics.bbscore.bridge import BridgeFeatures, BridgeRanker, held_out, train_network, units_from_readout
from longform.critics.bbscore.read import bridge_head, open_bridge, read_gold
from longform.critics.bbscore.score import JointBridgeCritic
from longform.critics.bbscore.train import Recipe, Sentences, likelihood_loss, paper_loss, pin_loss
from longform.datasets.synthetic_world.corpora import build
from longform.language_models import sentence_features
from longform.language_models.lightning import Schedule
from longform.language_models.sentence_features import KeptFeatures, open_encoder, split_sentences
from tests.refusals import refuses

TIMES = torch.tensor([[0, 1, 4], [2, 3, 4], [1, 5, 9]])


def test_losses_equal_their_formulas():
    z = torch.randn((3, 3, 4), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    total = 0.0
    for j, (s, t, e) in enumerate(TIMES.tolist()):
        a, v = (t - s) / (e - s), (t - s) * (e - t) / (e - s)
        d = [-float(((z[k, 1] - (1 - a) * z[j, 0] - a * z[j, 2]) ** 2).sum()) / (2 * v) for k in range(3)]
        total += math.log(sum(map(math.exp, d))) - d[j]
    assert float(paper_loss(z, TIMES)) == pytest.approx(total / 3, rel=1e-12)
    total = torch.tensor([9, 5, 20])  # row 0 opens a document, row 1 closes one, row 2 does neither
    expected = (z[0, 0] ** 2).mean() + ((z[1, 2].abs() - 1) ** 2).mean()
    assert float(pin_loss(z, TIMES, total)) == pytest.approx(float(expected))
    assert float(pin_loss(z[2:], TIMES[2:], total[2:])) == 0.0


def test_likelihood_ratio_ignores_linear_maps_and_prefers_smooth_paths():
    rng = np.random.default_rng(0)
    walks = [torch.tensor(np.cumsum(rng.normal(size=(n, 3)), axis=0)) for n in (9, 14, 30)]
    bend = torch.tensor(rng.normal(size=(3, 3)))
    noise = [w[torch.tensor(rng.permutation(len(w)))] for w in walks]
    loss, bent = float(likelihood_loss(walks)), float(likelihood_loss([w @ bend for w in walks]))
    assert bent == pytest.approx(loss, abs=5e-3)  # the ridge
    assert loss < float(likelihood_loss(noise)) - 0.5


def test_triplets_are_ordered_distinct_and_end_at_their_anchor():
    sentences = Sentences(np.zeros((25, 2)), [5, 8, 12])
    anchors = torch.arange(25).repeat(200)
    uniforms = torch.rand((len(anchors), 2), generator=torch.Generator().manual_seed(0))
    times = training.triplets(anchors, sentences, uniforms)
    assert (times[:, 0] >= 0).all() and (times[:, 0] < times[:, 1]).all() and (times[:, 1] < times[:, 2]).all()
    assert torch.equal(times[:, 2], sentences.place[anchors].clamp(min=2))
    pairs = times[sentences.place[anchors] == 4][:, :2].unique(dim=0, return_counts=True)[1]
    assert len(pairs) == 6 and pairs.min() > 0.7 * pairs.max()


def planted(rng: np.random.Generator, documents: int) -> tuple[np.ndarray, list[int]]:
    """Features that hide a two-dimensional bridge among twelve noisy dimensions."""
    lengths = rng.integers(8, 16, documents).tolist()
    hidden = np.concatenate([np.cumsum(rng.normal(size=(n, 2)), axis=0) for n in lengths])
    return hidden @ np.random.default_rng(99).normal(size=(2, 12)) + 0.5 * rng.normal(size=(len(hidden), 12)), lengths


def smoothness(head: torch.nn.Module, features: np.ndarray, lengths: list[int]) -> float:
    """Mean squared step over variance: small where neighbours are near."""
    z = head(torch.tensor(features, dtype=torch.float32)).detach().numpy()
    steps = np.concatenate([np.diff(d, axis=0) for d in np.split(z, np.cumsum(lengths)[:-1])])
    return float((steps**2).sum(1).mean() / z.var(0).sum())


@pytest.mark.parametrize("objective", ["paper", "likelihood"])
def test_training_finds_a_planted_bridge_better_than_its_start(tmp_path, objective):
    rng = np.random.default_rng(5)
    data = {split: Sentences(*planted(rng, count)) for split, count in (("train", 40), ("validation", 10))}
    recipe = Recipe(objective, pins=False, optimiser="adamw")
    plan = Schedule(learning_rate=3e-3, batch=16, epochs=3 if objective == "paper" else 20, validations=2)
    head = training.train_head(data, recipe, plan, seed=1, name="planted", scratch=tmp_path, latent=2)
    torch.manual_seed(0)
    test = planted(rng, 30)
    assert smoothness(head, *test) < 0.9 * smoothness(bridge_head(12, latent=2), *test)
    head, x = bridge_head(768), torch.randn((4, 768))
    assert sum(p.numel() for p in head.parameters()) == 132_096  # it has no bias and is positively homogeneous
    torch.testing.assert_close(head(3 * x), 3 * head(x), rtol=1e-4, atol=1e-5)


def test_a_saved_bridge_carries_its_frozen_encoder_and_misses_it_aloud(tmp_path):
    frozen, moved = lm_folder(tmp_path / "frozen"), tmp_path / "elsewhere" / "bridge"
    encoder = open_encoder(frozen)
    feature = encoder.encode(["the town lies on a river."])
    heads = {name: bridge_head(16, latent=3) for name in ("paper_0", "paper_1")}
    (tmp_path / "bridge").mkdir()
    reading.TrainedBridge(heads, KeptFeatures(frozen, encoder), "full_stops").save(tmp_path / "bridge")
    shutil.rmtree(frozen)
    shutil.copytree(tmp_path / "bridge", moved)
    again = open_bridge(moved)
    x = torch.randn((2, 16))
    assert list(again.heads) == ["paper_0", "paper_1"] and again.splitter == "full_stops"
    assert all(torch.equal(again.heads[name](x), heads[name](x)) for name in heads)
    assert np.array_equal(again.frozen.encoder.encode(["the town lies on a river."]), feature)
    shutil.rmtree(moved / "encoder")
    refuses("not there", open_bridge, moved)
    refuses(r"no bridge\.json", open_bridge, tmp_path / "nowhere")


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("bridge") / "frozen")


def test_features_are_means_over_own_tokens_in_any_order_and_company_and_long_sentences_are_cut(frozen):
    texts = ["the town lies on a river.", "old houses.", "its people work in fields near hills."]
    found = open_encoder(frozen).encode(texts)
    network, tokenizer = AutoModel.from_pretrained(frozen).eval(), AutoTokenizer.from_pretrained(frozen)
    for text, feature in zip(texts, found, strict=True):
        with torch.no_grad():
            states = network(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0]
        np.testing.assert_allclose(feature, states.mean(0).numpy(), atol=2e-6)
    encoder, order = open_encoder(frozen, batch_tokens=8), [2, 0, 1]
    np.testing.assert_allclose(encoder.encode([texts[i] for i in order]), found[order], atol=2e-6)
    assert len(encoder.known) == 3
    assert encoder.encode(["town " * 60]).shape == (1, 16) and encoder.truncated == 1
    readout = reading.read(documents=documents(2), truth={}, reader=frozen, name="raw")
    assert units_from_readout(readout)[0].latents.shape == (3, 16)


def test_kept_features_open_again_without_reading_and_blank_text_has_no_sentence(frozen, tmp_path, monkeypatch):
    kept = sentence_features.fit(documents=documents(), base=frozen, name="kept", splitter="full_stops")
    (tmp_path / "kept").mkdir()
    kept.save(tmp_path / "kept")
    again = open_encoder(tmp_path / "kept")
    monkeypatch.setattr(again.network, "forward", None)
    text = split_sentences(documents(1), "full_stops")[0]
    assert np.array_equal(again.encode(text), kept.encoder.encode(text))
    blank = Document("b", "test", (Section(None, " \n\n . "), Section(None, "")))
    two = Document("c", "test", (Section(None, "One. \n\n Two."),))
    assert split_sentences([blank, two], "full_stops") == [[], ["One.", "Two."]]
    refuses("splitter 'naive'", split_sentences, [blank], "naive")


def test_training_and_reading_go_through_the_pipelines_functions(frozen, tmp_path):
    texts = [Document(d.id, d.split, d.sections * 2) for d in documents()]
    plan = {"learning_rate": 1e-3, "batch": 8, "epochs": 1, "validations": 1}
    recipes = {"paper": {}, "pinless": {"pins": False, "schedule": {"batch": 4}}}
    given = {"base": frozen, "name": "bridge", "seed": 1, "splitter": "full_stops", "seeds": 2}
    folder = frozen.parent / "bridge"
    folder.mkdir()
    training.fit(documents=texts, scratch=tmp_path, recipes=recipes, schedule=plan, **given).save(folder)
    truth = {"rating": np.arange(len(texts))}
    readout = reading.read(documents=texts, truth=truth, reader=folder, name="read", splits=["test"])
    units = units_from_readout(readout)
    assert [u.split for u in units] == ["test"] * 3 and [u.rating for u in units] == [3, 7, 11]
    assert list(units[0].heads) == ["paper_0", "paper_1", "pinless_0", "pinless_1"]
    assert np.array_equal(units[0].latents, units[0].under("paper_0").latents)
    assert not np.allclose(units[0].latents, units[0].under("paper_1").latents)
    refuses("no head 'linear_0'", units[0].under, "linear_0")
    assert units[0].latents.shape == (6, 8) and units[0].text_ids.tolist() == [0, 1, 2, 0, 1, 2]
    refuses("0 of 12 documents", reading.read, documents=texts, truth={}, reader=folder, name="read", splits=[])


def test_the_worlds_diffusion_is_estimated_from_its_gold_paths():
    corpus = build(name="world", seed=3, domain="wikisection", documents={"train": 60, "test": 60})
    units = units_from_readout(read_gold(documents=corpus.documents, truth=corpus.truth))
    train, test = ([unit for unit in units if unit.split == split] for split in ("train", "test"))
    dims, planted = train[0].latents.shape[1], 0.05
    assert BridgeFeatures().fit(units).sigma2 == pytest.approx(dims / 2 * planted, rel=0.1)
    joint = JointBridgeCritic().fit(train)
    assert joint.score(joint.tally(test)) == pytest.approx(1.0, abs=0.05)


def ring(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Copies lie outside a ring that originals lie in: no line through the features can rank them."""
    draw = np.random.default_rng(seed)
    angle = draw.uniform(0, 2 * np.pi, (2, count))
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return 0.5 * rim[0] + 0.05 * draw.normal(size=(count, 2)), 2.0 * rim[1]


class Seen(BridgeRanker):
    """Ranks the features that it is handed for orders."""

    def order_features(self, unit, orders):
        return orders


def test_a_network_ranks_what_a_line_cannot_and_missing_features_become_the_training_mean():
    original, copies = ring(600)
    pairs = [(original[i : i + 1], copies[i : i + 5]) for i in range(0, 600, 5)]
    test = ring(200, seed=1)
    for kind, least, most in (("three_layer", 0.95, 1), ("linear", 0, 0.7)):
        ranker = Seen(kind).fit_pairs(pairs)
        assert least < (ranker.order_scores(None, test[0]) < ranker.order_scores(None, test[1])).mean() <= most
    rows = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    fitted = Seen("linear").fit_pairs([(rows[:1], rows[1:])])
    assert np.isfinite(fitted.mean).all() and fitted.order_scores(None, np.full((1, 2), np.nan)) == [0.0]
    # training is a function of its pairs and validates on whole documents
    sides = [side[:60] for side in ring(60)]
    first, second = ([part for layer in train_network(*sides, *sides) for part in layer] for _ in range(2))
    assert all(map(np.array_equal, first, second))
    document = np.arange(60) // 5
    held = held_out(document)
    assert held.any() and not set(document[held]) & set(document[~held])


def test_bad_input_is_named(frozen, tmp_path):
    refuses("objective 'printed'", Recipe, "printed")
    refuses("optimiser 'adam'", Recipe, optimiser="adam")
    given = {"base": frozen, "name": "b", "seed": 1, "scratch": tmp_path, "splitter": "full_stops", "schedule": {}}
    for recipes, seeds in (({}, 1), ({"paper": {}}, 0)):
        refuses("at least one of each", training.fit, documents=documents(), **given, recipes=recipes, seeds=seeds)
    refuses("no 'bridge_path'", read_gold, documents=documents(2), truth={})
    one = np.ones((1, 5))
    refuses("1 documents", BridgeRanker().fit_pairs, [(one, one)])
    refuses("0 of 1 documents", BridgeRanker().fit_pairs, [(one[:0], one)])
    refuses("no pairs yet", BridgeRanker().order_scores, None, one)
