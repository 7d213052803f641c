"""BBScore's equations, its joint density, and scores of many orders, against loops, closed forms and simulated bridges."""

import math
from dataclasses import replace

import numpy as np
import pytest

from longform.core.critic import OrderScorer, PairLearner
from longform.core.text.permutations import ShuffleTask
from longform.critics.bbscore import bridge
from longform.critics.bbscore.bridge import WINDOWS, BridgeFeatures, BridgeRanker, diffusion, identity, path
from longform.critics.bbscore.score import BridgeCritic, JointBridgeCritic, shuffled, trajectory
from longform.evaluation.order_discrimination import order_discrimination
from longform.evaluation.sentence_paths import JUDGES
from tests.oracles.bridge_loops import bridges, loop_score
from tests.refusals import refuses

Z = np.array([(0, 0), (1, 0), (1, 1), (2, 1), (3, 3)], dtype=float)
P = Z[[0, 3, 1, 2, 4]]


def loop_window(z: np.ndarray, w: int, sigma2: float) -> float:
    total = 0.0
    for j in range(len(z) - 2 * w):
        squared = sum((z[j + w][d] - (z[j][d] + z[j + 2 * w][d]) / 2) ** 2 for d in range(z.shape[1]))
        total += math.log(math.pi * w * sigma2) + squared / w / sigma2
    return total / (len(z) - 2 * w)


def terms(z: np.ndarray, window: int = 0) -> bridge.Terms:
    return bridge.order_terms(z, np.arange(len(z))[None], (window,))[0]


def score(z, sigma2, window=0):
    return float(terms(z, window).sums(sigma2)[0])


@pytest.mark.parametrize("window", WINDOWS)
def test_vectorised_scores_equal_plain_loops(window):
    rng = np.random.default_rng(3)
    for steps in (3, 4, 7, 19, 40):
        z = rng.normal(size=(steps, 8))
        if steps - 2 * window >= 1:
            looped = loop_window(z, window, 0.7) if window else loop_score(z, 0.7)
            assert score(z, 0.7, window) == pytest.approx(looped, rel=1e-12)


def test_published_fixture_and_table_and_the_variance_of_simulated_bridges():
    assert [score(Z, 0.5), score(P, 0.5)] == pytest.approx([2.1196085042, 3.8973862820])
    assert [diffusion(Z), diffusion(P)] == pytest.approx([0.5833333333, 1.4722222222])
    assert [score(Z, 0.5, w) for w in (1, 2)] == pytest.approx([1.7849160386, 1.6447298858])
    assert score(Z, 0.5) == pytest.approx(score(Z[::-1], 0.5), abs=1e-12)  # reading backwards changes nothing
    for steps, value in ((5, 1.65), (10, 2.29), (28, 3.25), (56, 3.92), (160, 4.94), (1000, 6.75)):
        assert terms(np.zeros((steps, 1))).log_alpha == pytest.approx(value, abs=6e-3)
    for dims, expected in ((2, 3.0), (8, 12.0)):
        drawn = bridges(8000, 50, dims, 3.0, seed=dims)
        assert np.mean([diffusion(z) for z in drawn]) == pytest.approx(expected, rel=0.02)


def test_where_real_sums_are_negative_the_sum_is_taken_as_it_is():
    """The absolute value would prefer the shuffle: sheng2024 prints it for sums that are not negative."""
    tiny = [path(0.01 * z, str(i)) for i, z in enumerate(bridges(20, 5, 2, 1.0, seed=3))]
    fitted = BridgeCritic().fit(tiny)
    assert fitted.signed and not BridgeCritic().fit([path(z.latents * 100) for z in tiny]).signed
    units = [tiny[0], path(tiny[0].latents[[0, 3, 1, 2, 4]])]
    sums = [fitted.sums(unit, identity(unit))[0, 0] for unit in units]
    assert sums[0] < sums[1] < 0
    assert fitted.tally(units).column("score").tolist() == pytest.approx(sums)
    assert fitted.tally(tiny).total("negative") > 10  # documents, no copies of them


def test_short_and_unfinished_paths_are_counted_and_fitting_is_the_mean_over_documents():
    broken = np.where(np.eye(5, 2) == 1, np.nan, Z)
    units = [path(Z, "whole"), path(Z[:2], "two"), path(Z[:1], "one"), path(Z[:0], "none"), path(broken, "nan")]
    tally = BridgeCritic(sigma2=0.5).tally(units)
    assert tally.column("excluded").tolist() == [0, 1, 1, 1, 1]
    assert BridgeCritic(sigma2=0.5).score(tally) == pytest.approx(2.1196085042)
    fitted = BridgeCritic().fit([path(Z), path(P), path(Z[:2])])
    assert fitted.sigma2 == pytest.approx((0.5833333333 + 1.4722222222) / 2)
    refuses(r"sigma_m.2 is 0 over 2 paths", BridgeFeatures().fit, [path(np.ones((6, 3))), path(np.zeros((4, 3)))])
    refuses("undefined over 1 paths", BridgeCritic().fit, [path(Z[:2])])
    refuses(r"sigma2 is 0\.0", BridgeCritic, sigma2=0.0)
    refuses("no sigma2 yet", BridgeCritic().tally, [path(Z)])
    refuses("classifier 'svm'", BridgeRanker, "svm")


def dense_quadratic(z: np.ndarray) -> float:
    """Inner points against the bridge's full covariance min(s, t) - s t / (T - 1)."""
    steps = len(z)
    inner = np.arange(1, steps - 1)
    covariance = np.minimum.outer(inner, inner) - np.outer(inner, inner) / (steps - 1)
    residual = z[1:-1] - z[0] - np.outer(inner / (steps - 1), z[-1] - z[0])
    return float(np.trace(residual.T @ np.linalg.solve(covariance, residual)))


def test_the_joint_density_is_that_of_the_dense_covariance_under_any_linear_map():
    rng = np.random.default_rng(0)
    for steps in (3, 5, 17):
        z = rng.normal(size=(steps, 4))
        dense = dense_quadratic(z) / (4 * (steps - 2))
        assert JointBridgeCritic(whitener=np.eye(4)).scores(z[None])[0] == pytest.approx(dense, rel=1e-10)
    z = rng.normal(size=(17, 4))
    factor = np.linalg.inv(JointBridgeCritic(ridge=0.0).fit([path(z)]).whitener)
    assert np.trace(factor @ factor.T) == pytest.approx(dense_quadratic(z) / 15, rel=1e-10)
    rng = np.random.default_rng(4)
    train = [path(rng.normal(size=(12, 3))) for _ in range(20)]
    bend = rng.normal(size=(3, 3))
    bent = [path(unit.latents @ bend) for unit in train]
    first, second = (JointBridgeCritic(ridge=0.0).fit(units) for units in (train, bent))
    np.testing.assert_allclose(first.tally(train).values, second.tally(bent).values, rtol=1e-8)


def test_a_jump_is_blamed_on_its_sentence_and_unusable_paths_are_counted():
    train = [path(z) for z in bridges(200, 12, 4, 1.0, seed=7)]
    critic, jumped = JointBridgeCritic().fit(train), bridges(1, 12, 4, 1.0, seed=8)[0]
    jumped[5] += 8.0
    parts = critic.attribute([path(jumped), path(np.eye(2))])
    assert parts[0].argmax() == 5 and parts[0].sum() == pytest.approx(critic.scores(jumped[None])[0], rel=1e-12)
    assert not len(parts[1])
    tally = critic.tally([path(np.zeros((2, 4))), path(np.full((5, 4), np.nan)), path(np.eye(5, 4))])
    assert tally.column("excluded").tolist() == [1, 1, 0]
    refuses("sigma is 0", JointBridgeCritic().fit, [path(np.ones((6, 2)))])
    refuses("0 of 1 paths", JointBridgeCritic().fit, [path(np.ones((2, 2)))])
    for call in (JointBridgeCritic().tally, JointBridgeCritic().attribute):
        refuses("no whitener", call, [path(np.eye(5, 2))])


def planted(count: int, steps: int = 18, seed: int = 0, noise: float = 0.3) -> list[bridge.LatentPath]:
    """Sentence topics on true bridges, seen through a little noise."""
    rng = np.random.default_rng(seed)
    drawn = bridges(count, steps, 4, 1.0, seed) + noise * rng.normal(size=(count, steps, 4))
    return [path(z, f"{seed}-{i}") for i, z in enumerate(drawn)]


def test_many_orders_and_a_sweep_of_variances_equal_one_path_at_a_time():
    unit = planted(1)[0]
    features = BridgeFeatures().fit([unit])
    orders = np.array([np.random.default_rng(r).permutation(18) for r in range(6)])
    together = features.sums(unit, orders)
    assert together.shape == (6, len(WINDOWS))
    for row, order in enumerate(orders):
        moved = replace(unit, latents=unit.latents[order])
        np.testing.assert_allclose(features.sums(moved, identity(moved))[0], together[row], rtol=1e-10)
    np.testing.assert_allclose(BridgeCritic().fit([unit]).order_scores(unit, orders), np.abs(together[:, 0]))
    fitted = BridgeCritic().fit(planted(9))
    for unit in (planted(1, seed=8)[0], path(np.eye(2, 4), "two")):
        orders = np.array([np.random.default_rng(i).permutation(len(unit.latents)) for i in range(4)])
        one_by_one = [replace(fitted, sigma2=sigma2).order_scores(unit, orders) for sigma2 in fitted.variances()]
        assert np.array_equal(fitted.swept(unit, orders), one_by_one, equal_nan=True)


def test_planted_bridges_are_told_from_their_shuffles_best_by_their_own_density():
    train, test = planted(40, seed=1), planted(40, seed=2)
    assert all(isinstance(scorer, OrderScorer) for scorer in JUDGES.values())
    assert [name for name in JUDGES if isinstance(JUDGES[name], PairLearner)] == ["three_layer", "linear"]
    records = order_discrimination(JUDGES, test, [ShuffleTask(), ShuffleTask("window", (1, 2, 3))], train=train)
    found = {(r.critic, r.task): r.value for r in records if r.metric == "pairwise_accuracy"}
    assert found["bbscore", "block_1"] > 0.6  # marginals see where a shuffled bridge goes, not that it jumps
    assert min(found[name, "block_1"] for name in ("joint", "linear", "three_layer")) > 0.95
    assert found["bbscore", "window_1_2_3"] > 0.5
    assert min(found["joint", "window_1_2_3"], found["linear", "window_1_2_3"]) > 0.8


def test_trajectories_keep_both_ends_and_flatten_what_is_flat():
    ramp = [path(np.linspace(0, 1, n)[:, None] * np.ones(3), str(n)) for n in (5, 9, 30)]
    found = trajectory(ramp)
    assert found["mean"] == pytest.approx(np.linspace(0, 1, 100).tolist())
    assert found["spread"] == pytest.approx([0.0] * 100, abs=1e-12)
    assert trajectory([path(np.eye(2))]) == {"mean": [], "spread": []}
    assert sorted(shuffled(ramp[1]).latents[:, 0]) == sorted(ramp[1].latents[:, 0])
