"""The bridge encoder: losses against plain loops, triplets, pins, saving, and a planted bridge that it must find."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
import torch
from tiny import lm_folder

from longform.core.documents import BadInput
from longform.critics.bbscore.read import HeadShape, TrainedBridge, bridge_head, open_bridge
from longform.critics.bbscore.train import (
    Recipe,
    Sentences,
    likelihood_loss,
    paper_loss,
    pin_loss,
    train_head,
    triplets,
)
from longform.language_models.lightning import Schedule
from longform.language_models.sentence_features import KeptFeatures, open_encoder

TIMES = torch.tensor([[0, 1, 4], [2, 3, 4], [1, 5, 9]])


def batch(seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn((3, 3, 4), generator=torch.Generator().manual_seed(seed), dtype=dtype)


def squared_gap(one: torch.Tensor, middle: torch.Tensor, a: float) -> float:
    return float(((middle - (1 - a) * one[0] - a * one[2]) ** 2).sum())


def test_paper_loss_equals_its_formula_row_by_row():
    z, total = batch(), 0.0
    for j, (s, t, e) in enumerate(TIMES.tolist()):
        a, v = (t - s) / (e - s), (t - s) * (e - t) / (e - s)
        d = [-squared_gap(z[j], z[k, 1], a) / (2 * v) for k in range(3)]
        total += math.log(sum(map(math.exp, d))) - d[j]
    assert float(paper_loss(z, TIMES)) == pytest.approx(total / 3, rel=1e-12)


def test_equal_latents_cost_the_logarithm_of_the_batch():
    assert float(paper_loss(torch.ones((7, 3, 5)), torch.tensor([[0, 2, 5]] * 7))) == pytest.approx(math.log(7))


def test_gradients_of_the_contrast_are_right():
    assert torch.autograd.gradcheck(lambda z: paper_loss(z, TIMES), (batch(3).requires_grad_(),))


def test_pins_pull_only_openings_to_zero_and_only_closings_to_one():
    z = batch(4)
    total = torch.tensor([9, 5, 20])  # row 0 opens a document, row 1 closes one, row 2 does neither
    expected = (z[0, 0] ** 2).mean() + ((z[1, 2].abs() - 1) ** 2).mean()
    assert float(pin_loss(z, TIMES, total)) == pytest.approx(float(expected))
    assert float(pin_loss(z[2:], TIMES[2:], total[2:])) == 0.0


def test_likelihood_ratio_ignores_linear_maps_and_prefers_smooth_paths():
    rng = np.random.default_rng(0)
    walks = [torch.tensor(np.cumsum(rng.normal(size=(n, 3)), axis=0)) for n in (9, 14, 30)]
    bend = torch.tensor(rng.normal(size=(3, 3)))
    noise = [w[torch.tensor(rng.permutation(len(w)))] for w in walks]
    assert float(likelihood_loss([w @ bend for w in walks])) == pytest.approx(
        float(likelihood_loss(walks)), abs=5e-3
    )  # the ridge
    assert float(likelihood_loss(walks)) < float(likelihood_loss(noise)) - 0.5


def test_triplets_are_ordered_distinct_and_end_at_their_anchor():
    sentences = Sentences(np.zeros((25, 2)), [5, 8, 12])
    anchors = torch.arange(25).repeat(200)
    times = triplets(anchors, sentences, torch.rand((len(anchors), 2), generator=torch.Generator().manual_seed(0)))
    assert (times[:, 0] >= 0).all() and (times[:, 0] < times[:, 1]).all() and (times[:, 1] < times[:, 2]).all()
    assert torch.equal(times[:, 2], sentences.place[anchors].clamp(min=2))
    pairs = times[sentences.place[anchors] == 4][:, :2].unique(dim=0, return_counts=True)[1]
    assert len(pairs) == 6 and pairs.min() > 0.7 * pairs.max()


def test_head_has_no_bias_and_is_positively_homogeneous():
    head = bridge_head(HeadShape(768))
    assert sum(p.numel() for p in head.parameters()) == 132_096
    x = torch.randn((4, 768))
    torch.testing.assert_close(head(3 * x), 3 * head(x), rtol=1e-4, atol=1e-5)


def planted(rng: np.random.Generator, documents: int) -> tuple[np.ndarray, list[int], np.ndarray]:
    """Features that hide a two-dimensional bridge among twelve noisy dimensions."""
    lengths = rng.integers(8, 16, documents).tolist()
    mix = np.random.default_rng(99).normal(size=(2, 12))
    paths = [np.cumsum(rng.normal(size=(n, 2)), axis=0) for n in lengths]
    hidden = np.concatenate(paths)
    return hidden @ mix + 0.5 * rng.normal(size=(len(hidden), 12)), lengths, hidden


@pytest.mark.parametrize("objective", ["paper", "likelihood"])
def test_training_finds_a_planted_bridge_better_than_its_start(tmp_path, monkeypatch, objective):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    rng = np.random.default_rng(5)
    data = {split: Sentences(*planted(rng, count)[:2]) for split, count in (("train", 40), ("validation", 10))}
    recipe = Recipe(objective, pins=False, optimiser="adamw")
    plan = Schedule(learning_rate=3e-3, batch=16, epochs=6 if objective == "paper" else 40, validations=2)
    head = train_head(data, recipe, plan, seed=1, name="planted", scratch=tmp_path, latent=2)
    torch.manual_seed(0)
    untrained = bridge_head(HeadShape(12, latent=2))
    features, lengths, _ = planted(rng, 30)
    assert smoothness(head, features, lengths) < 0.9 * smoothness(untrained, features, lengths)


def smoothness(head: torch.nn.Module, features: np.ndarray, lengths: list[int]) -> float:
    """Mean squared step over variance: small where neighbours are near."""
    with torch.no_grad():
        z = head(torch.tensor(features, dtype=torch.float32)).numpy()
    steps = np.concatenate([np.diff(d, axis=0) for d in np.split(z, np.cumsum(lengths)[:-1])])
    return float((steps**2).sum(1).mean() / z.var(0).sum())


def test_a_saved_bridge_carries_its_frozen_encoder_and_misses_it_aloud(tmp_path):
    frozen, moved = lm_folder(tmp_path / "frozen"), tmp_path / "elsewhere" / "bridge"
    encoder = open_encoder(frozen)
    feature = encoder.encode(["the town lies on a river."])
    heads = {name: bridge_head(HeadShape(16, latent=3)) for name in ("paper_0", "paper_1")}
    (tmp_path / "bridge").mkdir()
    TrainedBridge(heads, KeptFeatures(frozen, encoder), "full_stops").save(tmp_path / "bridge")
    shutil.rmtree(frozen)
    shutil.copytree(tmp_path / "bridge", moved)
    again = open_bridge(moved)
    x = torch.randn((2, 16))
    assert list(again.heads) == ["paper_0", "paper_1"] and again.splitter == "full_stops"
    assert all(torch.equal(again.heads[name](x), heads[name](x)) for name in heads)
    assert np.array_equal(again.frozen.encoder.encode(["the town lies on a river."]), feature)
    shutil.rmtree(moved / "encoder")
    with pytest.raises(BadInput, match="not there"):
        open_bridge(moved)
    with pytest.raises(BadInput, match=r"no bridge\.json"):
        open_bridge(tmp_path / "nowhere")


def test_unknown_recipes_are_refused():
    with pytest.raises(BadInput, match="objective 'printed'"):
        Recipe("printed")
    with pytest.raises(BadInput, match="optimiser 'adam'"):
        Recipe(optimiser="adam")
