"""The joint bridge density: closed form against the dense Gaussian, and no dependence on length."""

from __future__ import annotations

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.critics.bbscore.bridge import path
from longform.critics.bbscore.score import BridgeCritic, JointBridgeCritic, bridge_quadratic, bridge_scatter
from tests.oracles.bridge_loops import bridges


def dense_quadratic(z: np.ndarray) -> float:
    """Inner points against the bridge's full covariance min(s, t) - s t / (T - 1)."""
    steps = len(z)
    inner = np.arange(1, steps - 1)
    covariance = np.minimum.outer(inner, inner) - np.outer(inner, inner) / (steps - 1)
    residual = z[1:-1] - z[0] - np.outer(inner / (steps - 1), z[-1] - z[0])
    return float(np.trace(residual.T @ np.linalg.solve(covariance, residual)))


def test_steps_and_chord_equal_the_dense_inverse_covariance():
    rng = np.random.default_rng(0)
    for steps in (3, 5, 17):
        z = rng.normal(size=(steps, 4))
        assert bridge_quadratic(z[None], np.eye(4))[0] == pytest.approx(dense_quadratic(z), rel=1e-10)
        assert np.trace(bridge_scatter(z)) == pytest.approx(dense_quadratic(z), rel=1e-10)


def test_true_bridges_score_one_at_every_length():
    train = [path(z) for z in bridges(400, 20, 8, 3.0, seed=1)]
    critic = JointBridgeCritic().fit(train)
    for steps in (5, 20, 80):
        each = critic.scores(bridges(1500, steps, 8, 3.0, seed=steps))
        assert each.mean() == pytest.approx(1.0, abs=0.03)


def test_bbscore_grows_with_length_on_true_bridges_where_the_joint_score_does_not():
    both = {n: [path(z) for z in bridges(300, n, 8, 3.0, seed=n)] for n in (6, 60)}
    plain, joint = (critic.fit(both[60]) for critic in (BridgeCritic(), JointBridgeCritic()))
    rise = {c: c.score(c.tally(both[60])) - c.score(c.tally(both[6])) for c in (plain,)}[plain]
    assert rise > 1.0
    assert abs(joint.score(joint.tally(both[60])) - joint.score(joint.tally(both[6]))) < 0.05


def test_any_linear_map_of_the_latents_leaves_the_joint_score():
    rng = np.random.default_rng(4)
    train = [path(rng.normal(size=(12, 3))) for _ in range(20)]
    bend = rng.normal(size=(3, 3))
    bent = [path(unit.latents @ bend) for unit in train]
    first, second = (JointBridgeCritic(ridge=0.0).fit(units) for units in (train, bent))
    np.testing.assert_allclose(first.tally(train).values, second.tally(bent).values, rtol=1e-8)


def test_a_jump_is_blamed_on_the_sentence_that_jumps():
    train = [path(z) for z in bridges(200, 12, 4, 1.0, seed=7)]
    critic, jumped = JointBridgeCritic().fit(train), bridges(1, 12, 4, 1.0, seed=8)[0]
    jumped[5] += 8.0
    parts = critic.attribute([path(jumped), path(np.eye(2))])
    assert parts[0].argmax() == 5 and parts[0].sum() == pytest.approx(critic.scores(jumped[None])[0], rel=1e-12)
    assert not len(parts[1])
    with pytest.raises(BadInput, match="no whitener"):
        JointBridgeCritic().attribute([path(jumped)])


def test_unusable_paths_are_counted_and_a_still_corpus_is_refused():
    critic = JointBridgeCritic().fit([path(z) for z in bridges(20, 9, 2, 1.0, seed=2)])
    tally = critic.tally([path(np.zeros((2, 2))), path(np.full((5, 2), np.nan)), path(np.eye(5, 2))])
    assert tally.column("excluded").tolist() == [1, 1, 0]
    with pytest.raises(BadInput, match="sigma is 0"):
        JointBridgeCritic().fit([path(np.ones((6, 2)))])
    with pytest.raises(BadInput, match="0 of 1 paths"):
        JointBridgeCritic().fit([path(np.ones((2, 2)))])
    with pytest.raises(BadInput, match="no whitener"):
        JointBridgeCritic().tally([path(np.eye(5, 2))])
