"""Orders of a document scored from one matrix of inner products: as plain loops say, and best by the bridges' own density."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longform.core.critic import OrderScorer, PairLearner, unit_scores
from longform.core.documents import BadInput
from longform.core.text.permutations import ShuffleTask
from longform.critics.bbscore.bridge import WINDOWS, BridgeRanker, LatentPath, path
from longform.critics.bbscore.score import (
    BridgeCritic,
    BridgeFeatures,
    JointBridgeCritic,
    VarianceSweep,
    identity,
    shuffled,
    trajectory,
    variances,
)
from longform.evaluation.order_discrimination import order_areas, order_discrimination
from tests.oracles.bridge_loops import bridges


def planted(count: int, steps: int = 18, seed: int = 0, noise: float = 0.3) -> list[LatentPath]:
    """Sentence topics on true bridges, seen through a little noise."""
    rng = np.random.default_rng(seed)
    drawn = bridges(count, steps, 4, 1.0, seed) + noise * rng.normal(size=(count, steps, 4))
    return [path(z, f"{seed}-{i}") for i, z in enumerate(drawn)]


def test_features_of_all_orders_equal_scoring_each_reordered_path_alone():
    unit = planted(1)[0]
    features = BridgeFeatures().fit([unit])
    orders = np.array([np.random.default_rng(r).permutation(18) for r in range(6)])
    together = features.sums(unit, orders)
    assert together.shape == (6, len(WINDOWS))
    for row, order in enumerate(orders):
        moved = replace(unit, latents=unit.latents[order])
        np.testing.assert_allclose(features.sums(moved, identity(moved))[0], together[row], rtol=1e-10)
    np.testing.assert_allclose(BridgeCritic().fit([unit]).order_scores(unit, orders), np.abs(together[:, 0]))


def test_planted_bridges_are_told_from_their_shuffles_best_by_their_own_density():
    train, test = planted(40, seed=1), planted(40, seed=2)
    scorers = {"bbscore": BridgeCritic(), "joint": JointBridgeCritic()}
    scorers |= {kind: BridgeRanker(kind) for kind in ("linear", "three_layer")}
    assert all(isinstance(scorer, OrderScorer) for scorer in scorers.values())
    assert [name for name in scorers if isinstance(scorers[name], PairLearner)] == ["linear", "three_layer"]
    found = {
        (r.critic, r.task): r.value
        for r in order_discrimination(scorers, test, [ShuffleTask(), ShuffleTask("window", (1, 2, 3))], train=train)
        if r.metric == "pairwise_accuracy"
    }
    assert found["bbscore", "block_1"] > 0.6  # marginals see where a shuffled bridge goes, not that it jumps
    assert min(found[name, "block_1"] for name in ("joint", "linear", "three_layer")) > 0.95
    assert found["bbscore", "window_1_2_3"] > 0.5
    assert min(found["joint", "window_1_2_3"], found["linear", "window_1_2_3"]) > 0.8


def test_accuracy_does_not_depend_on_sigma_but_areas_across_lengths_do():
    units = [u for steps in (6, 12, 40) for u in planted(15, steps=steps, seed=steps)]
    fitted = BridgeCritic().fit(units)
    task = ShuffleTask("block", (1,), 1)
    chosen = [one for one in variances(fitted)[::8] if one.sigma2 > 1]
    accuracies = {round(order_discrimination({"": one}, units, [task])[0].value, 12) for one in chosen}
    areas = [order_areas({"": one}, units, [task])[0].value for one in variances(fitted)[::8]]
    assert len(accuracies) == 1 and max(areas) - min(areas) > 0.05


def test_a_sweep_is_each_of_its_critics():
    fitted = BridgeCritic().fit(planted(9))
    for unit in (planted(1, seed=8)[0], path(np.eye(2, 4), "two")):
        orders = np.array([np.random.default_rng(i).permutation(len(unit.latents)) for i in range(4)])
        one_by_one = [one.order_scores(unit, orders) for one in variances(fitted)]
        assert np.array_equal(VarianceSweep(fitted).order_scores(unit, orders), one_by_one, equal_nan=True)


def test_unusable_paths_have_no_score():
    units = [path(np.full((12, 4), np.nan), "nan"), path(np.eye(2, 4), "two"), planted(1, seed=8)[0]]
    train = planted(5)
    pairs = [(row[:1], row[1:]) for row in (np.random.default_rng(i).normal(size=(4, 5)) for i in range(9))]
    for scorer in (BridgeCritic(), JointBridgeCritic(), BridgeRanker("linear")):
        fitted = scorer.fit(train)
        fitted = fitted.fit_pairs(pairs) if isinstance(fitted, PairLearner) else fitted
        assert np.isnan(unit_scores(fitted, units)).tolist() == [True, True, False]
        assert np.isnan(fitted.order_scores(units[0], identity(units[0]))).all()


def test_unknown_choices_are_refused():
    with pytest.raises(BadInput, match="classifier 'svm'"):
        BridgeRanker("svm")


def test_trajectories_keep_both_ends_and_flatten_what_is_flat():
    ramp = [path(np.linspace(0, 1, n)[:, None] * np.ones(3), str(n)) for n in (5, 9, 30)]
    found = trajectory(ramp)
    assert found["mean"] == pytest.approx(np.linspace(0, 1, 100).tolist())
    assert found["spread"] == pytest.approx([0.0] * 100, abs=1e-12)
    assert trajectory([path(np.eye(2))]) == {"mean": [], "spread": []}
    assert sorted(shuffled(ramp[1]).latents[:, 0]) == sorted(ramp[1].latents[:, 0])
