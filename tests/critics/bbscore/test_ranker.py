"""The ranker of pairs: what a line cannot rank, missing features, documents kept apart."""

from __future__ import annotations

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.critics.bbscore.bridge import BridgeRanker, held_out, train_network


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def ring(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Copies lie outside a ring that originals lie in: no line through the features can rank them."""
    draw = rng(seed)
    angle = draw.uniform(0, 2 * np.pi, (2, count))
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return 0.5 * rim[0] + 0.05 * draw.normal(size=(count, 2)), 2.0 * rim[1]


def scored(ranker: BridgeRanker, features: np.ndarray) -> np.ndarray:
    class Seen(BridgeRanker):
        def order_features(self, unit, orders):
            return features

    return Seen(**{key: getattr(ranker, key) for key in ("mean", "spread", "layers")}).order_scores(None, features)


def test_network_ranks_what_a_line_cannot():
    original, copies = ring(600)
    pairs = [(original[i : i + 1], copies[i : i + 5]) for i in range(0, 600, 5)]
    test = ring(200, seed=1)
    won = []
    for kind in ("three_layer", "linear"):
        fitted = BridgeRanker(kind).fit_pairs(pairs)
        won.append((scored(fitted, test[0]) < scored(fitted, test[1])).mean())
    assert won[0] > 0.95 and won[1] < 0.7


def test_line_recovers_a_planted_direction():
    draw = rng(2)
    base = draw.normal(size=(400, 3))
    moved = base + draw.normal(size=(400, 3)) + [2.0, 0, 0]
    ((weights, _),) = BridgeRanker("linear").fit_pairs(list(zip(base[:, None], moved[:, None], strict=True))).layers
    assert weights[0, 0] > 5 * np.abs(weights[1:, 0]).max()


def test_missing_features_become_the_training_mean():
    rows = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    fitted = BridgeRanker("linear").fit_pairs([(rows[:1], rows[1:])])
    assert fitted.mean.tolist() == [1.5, 0.0] or np.isfinite(fitted.mean).all()
    assert fitted._standard(np.full((1, 2), np.nan)).tolist() == [[0.0, 0.0]]


def test_training_is_a_function_of_its_pairs_and_validates_on_whole_documents():
    sides = [side[:60] for side in ring(60)]
    first, second = (train_network(*sides, *sides) for _ in range(2))
    assert all(
        np.array_equal(a, b) for one, two in zip(first, second, strict=True) for a, b in zip(one, two, strict=True)
    )
    document = np.arange(60) // 5
    held = held_out(document)
    assert held.any() and not set(document[held]) & set(document[~held])


def test_bad_input_is_explained():
    one = rng().normal(size=(1, 5))
    with pytest.raises(BadInput, match="1 documents"):
        BridgeRanker().fit_pairs([(one, one)])
    with pytest.raises(BadInput, match="0 of 1 documents"):
        BridgeRanker().fit_pairs([(one[:0], one)])
    with pytest.raises(BadInput, match="no pairs yet"):
        BridgeRanker().order_scores(None, one)
