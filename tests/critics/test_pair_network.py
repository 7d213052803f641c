"""The ranking network: slopes by finite differences, learning, missing features, documents kept apart."""

from __future__ import annotations

import numpy as np
import pytest

from longform.critics.bbscore.pair_network import LinearRanker, NetworkRanker, Pairs, Scaling, hinge, initial_layers
from longform.documents import BadInput


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def pairs(count: int, seed: int = 0) -> Pairs:
    """Copies lie outside a ring that originals lie in: no line through the features can rank them."""
    draw = rng(seed)
    angle = draw.uniform(0, 2 * np.pi, (2, count))
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return Pairs(0.5 * rim[0] + 0.05 * draw.normal(size=(count, 2)), 2.0 * rim[1], np.arange(count) // 5)


def test_slopes_of_the_hinge_equal_finite_differences():
    layers = initial_layers((3, 4, 2, 1), rng())
    original, copy = rng(1).normal(size=(2, 6, 3))
    masks = [1.0, 1.0]
    loss, slopes = hinge(layers, original, copy, 0.3, masks)
    assert loss > 0
    for depth in range(3):
        for part in range(2):
            flat = layers[depth][part].reshape(-1)
            for k in range(flat.size):
                kept, step = flat[k], 1e-6
                flat[k] = kept + step
                above = hinge(layers, original, copy, 0.3, masks)[0]
                flat[k] = kept - step
                below = hinge(layers, original, copy, 0.3, masks)[0]
                flat[k] = kept
                assert slopes[depth][part].reshape(-1)[k] == pytest.approx((above - below) / (2 * step), abs=1e-6)


def test_network_ranks_what_a_line_cannot():
    train, test = pairs(600), pairs(200, seed=1)
    network, line = NetworkRanker().fit(train, rng()), LinearRanker().fit(train, rng())
    won = [(r.judge(test.original) < r.judge(test.copy)).mean() for r in (network, line)]
    assert won[0] > 0.95 and won[1] < 0.7


def test_line_recovers_a_planted_direction():
    draw = rng(2)
    base = draw.normal(size=(400, 3))
    both = Pairs(base, base + draw.normal(size=(400, 3)) + [2.0, 0, 0], np.arange(400))
    weights = LinearRanker().fit(both, rng()).weights
    assert weights[0] > 5 * np.abs(weights[1:]).max()


def test_missing_features_become_the_training_mean():
    features = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    scaling = Scaling.of(features)
    assert scaling(features).tolist() == [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


def test_training_is_a_function_of_pairs_and_generator():
    first, second = (NetworkRanker(epochs=2).fit(pairs(50), rng(4)) for _ in range(2))
    assert all(
        np.array_equal(a, b)
        for one, two in zip(first.layers, second.layers, strict=True)
        for a, b in zip(one, two, strict=True)
    )


def test_rankers_explain_bad_input():
    one = pairs(3)
    with pytest.raises(BadInput, match="got 1 documents"):
        NetworkRanker().fit(Pairs(one.original, one.copy, np.zeros(3)), rng())
    for unfitted in (LinearRanker(), NetworkRanker()):
        with pytest.raises(BadInput, match="not fitted"):
            unfitted.judge(np.zeros((1, 2)))
