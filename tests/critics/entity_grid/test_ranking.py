"""The ranking grid: frequencies by enumeration, and a ranker that learns what shuffling destroys."""

from dataclasses import replace

import numpy as np
import pytest

from longform.core.critic import Critic
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.core.text.entity_grids import Grid
from longform.core.text.permutations import ShuffleTask
from longform.critics.entity_grid.score import GridRanker, TransitionFeatures, rank_weights
from longform.evaluation.order_discrimination import order_discrimination
from tests.critics.grid_cases import grid

PLAIN = TransitionFeatures(lengths=(2,), salience=0)


def index(transition: str) -> int:
    code = 0
    for role in transition:
        code = 4 * code + "SOX-".index(role)
    return code


def test_six_sentences_and_fifteen_entities_have_75_transitions_of_length_two():
    # Barzilay and Lapata 2008 section 3.2: six of 75 are [S -], frequency 0.08
    columns = ["S-----"] * 6 + ["------"] * 9
    features = PLAIN.of_texts([grid(*columns)])[0]
    assert features[index("S-")] == pytest.approx(6 / 75)
    assert features.sum() == pytest.approx(1)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_frequencies_equal_a_count_of_substrings(length):
    rng = generator("features", length)
    columns = ["".join(rng.choice(list("SOX-"), 6)) for _ in range(4)]
    pieces = [column[i : i + length] for column in columns for i in range(6 - length + 1)]
    features = TransitionFeatures(lengths=(length,), salience=0).of_texts([grid(*columns)])[0]
    for piece in set(pieces):
        assert features[index(piece)] == pytest.approx(pieces.count(piece) / len(pieces))
    assert np.count_nonzero(features) == len(set(pieces))


def test_salient_and_other_entities_are_counted_apart():
    features = TransitionFeatures(lengths=(2,), salience=2).of_texts([grid("SS", "O-")])[0]
    salient, others = features[:16], features[16:]
    assert (salient[index("SS")], others[index("O-")]) == (1, 1)
    assert features.sum() == pytest.approx(2)


def test_orders_have_the_features_of_reordered_grids():
    unit = grid("SS--O", "O---X", "-XX--")
    features = TransitionFeatures()
    rng = generator("orders")
    orders = np.stack([rng.permutation(5) for _ in range(6)])
    slow = features.of_texts([replace(unit, cells=unit.cells[order]) for order in orders])
    np.testing.assert_allclose(features.of_orders(unit, orders), slow)


def runs(count: int, name: str) -> list[Grid]:
    """Texts whose entities live in runs of sentences, as in coherent text."""
    made = []
    for i in range(count):
        rng = generator("runs", name, i)
        columns = []
        for _ in range(6):
            start, length = rng.integers(0, 6), rng.integers(2, 4)
            columns.append("".join("S" if start <= k < start + length else "-" for k in range(8)))
        made.append(grid(*columns, unit=f"{name}{i}", split=name))
    return made


def test_it_learns_from_shuffles_and_prefers_unseen_originals():
    ranker = GridRanker(features=PLAIN).fit(runs(12, "train"))
    (found,) = order_discrimination({"grid": ranker}, runs(12, "test"), [ShuffleTask("block", (1,), 10)])
    assert found.value > 0.9 and isinstance(ranker, Critic)


def test_one_pair_decides_the_direction():
    weights = rank_weights(np.array([[1.0, -2.0]]), 10.0)
    assert weights @ np.array([1.0, -2.0]) > 0


def test_texts_that_give_no_pair_are_counted():
    ranker = GridRanker(features=PLAIN).fit([*runs(3, "train"), grid(unit="none"), grid("SS", unit="same")])
    assert (ranker.fitted_units, ranker.fitted_excluded) == (3, 2)
    tally = ranker.tally([grid(unit="none")])
    assert tally.column("excluded").tolist() == [1]
    assert np.isnan(ranker.order_scores(grid(unit="none"), np.zeros((1, 0), dtype=int))).all()


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="no pair"):
        GridRanker().fit([grid(unit="none")])
    with pytest.raises(BadInput, match="lengths"):
        TransitionFeatures(lengths=())
    with pytest.raises(BadInput, match="call fit"):
        GridRanker().tally([grid("SS")])
