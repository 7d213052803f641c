"""Smoothing, transitions, symbols and discounts of small grids and chains, worked out by hand."""

import math

import numpy as np
import pytest

from longform.critics.coreference.score import (
    FALLBACK,
    NOBODY,
    NgramCounts,
    Packing,
    absolute_discount,
    fitted_order,
    form_vocabulary,
    modified_discounts,
    read_tokens,
    split_symbol,
)
from longform.critics.entity_grid.score import (
    EntityGrid,
    GridRanker,
    TransitionFeatures,
    rank_weights,
    ranking,
    transition_shares,
    window_codes,
    witten_bell,
)
from longform.statistics.markov_chain import Chain
from tests.critics.grid_cases import grid
from tests.refusals import refuses


def test_witten_bell_without_history_leans_on_the_uniform_distribution():
    # counts 3 and 1: two kinds of followers, weight 6
    np.testing.assert_allclose(
        witten_bell(np.array([3.0, 1.0, 0, 0, 0])), np.array([3.4, 1.4, 0.4, 0.4, 0.4]) / 6
    )
    np.testing.assert_allclose(witten_bell(np.zeros(5)), np.full(5, 0.2))


def test_witten_bell_leans_on_the_shorter_context_and_takes_it_where_none_was_met():
    counts = np.zeros((5, 5))
    counts[0] = [0, 2, 0, 0, 1]
    counts[1] = [1, 0, 0, 0, 0]
    lower = np.array([1.6, 2.6, 0.6, 0.6, 1.6]) / 7  # of 1, 2, 0, 0, 1
    expected = np.array([(counts[0] + 2 * lower) / 5, (counts[1] + lower) / 2, *[lower] * 3])
    np.testing.assert_allclose(witten_bell(counts), expected)


def test_two_start_symbols_say_no_more_than_one():
    counts = np.zeros((5, 5, 5))
    counts[0, 1, 2] = 1
    counts[4, 4, 0] = 2
    unigram = np.array([2.4, 0.4, 1.4, 0.4, 0.4]) / 5  # of 2, 0, 1, 0, 0
    bigram = np.tile(unigram, (5, 1))
    bigram[1] = (np.array([0, 0, 1, 0, 0]) + unigram) / 2
    bigram[4] = (np.array([2, 0, 0, 0, 0]) + unigram) / 3
    expected = np.tile(bigram, (5, 1, 1))
    expected[0, 1] = (np.array([0, 0, 1, 0, 0]) + bigram[1]) / 2
    np.testing.assert_allclose(witten_bell(counts), expected)  # [4, 4] is bigram[4]


def test_a_grid_is_scored_from_its_start_to_its_end():
    # S then -: start S, S -, - end; each context was met once
    real = grid("S-")
    critic = EntityGrid(history=1).fit_units([real, grid()])
    unigram = np.array([1.6, 0.6, 0.6, 1.6, 1.6]) / 6  # of 1, 0, 0, 1, 1
    s_after_start, absent_after_s = (1 + unigram[0]) / 2, (1 + unigram[3]) / 2
    parts, empty = critic.part_values([real, grid()])
    np.testing.assert_allclose(np.exp(parts[:, 0]), [s_after_start, absent_after_s])
    assert empty.shape == (0, 0)
    found = critic.sufficient_statistics([real, grid()])
    assert found.columns == ("logprob", "cells", "excluded")
    np.testing.assert_allclose(found.values, [[parts.sum(), 2, 0], [0, 0, 1]])
    orders = np.array([[0, 1], [1, 0]])
    scores = critic.order_scores(real, orders)
    assert scores[0] == pytest.approx(parts.mean())
    # turned round: start -, then S after -, neither met
    other = np.log([unigram[3] / 2, unigram[0] / 2]).mean()
    assert scores[1] == pytest.approx(other)
    assert np.isnan(critic.order_scores(grid(), orders)).all()
    refuses("got 1 texts, 0 with entities", EntityGrid().fit_units, [grid()])
    refuses("not fitted yet", EntityGrid().part_values, [real])


CELLS = np.array([[1, 2], [0, 3], [2, 1]])  # (sentences, entities)


def test_runs_of_cells_are_numbered_first_cell_highest():
    assert window_codes(CELLS[None], 2, 4).tolist() == [[[4, 11], [2, 13]]]
    assert window_codes(CELLS[None], 3, 4).tolist() == [[[18, 45]]]
    assert window_codes(CELLS[None], 1, 7).tolist() == [CELLS.tolist()]


def test_transitions_are_shares_of_the_runs_of_each_order():
    shares = transition_shares(np.stack([CELLS, CELLS[[2, 0, 1]]]), 2)
    assert shares.shape == (2, 16)
    assert np.flatnonzero(shares[0]).tolist() == [2, 4, 11, 13]
    # 2, 1, 0 and 1, 2, 3
    assert np.flatnonzero(shares[1]).tolist() == [4, 6, 9, 11]
    assert set(shares[shares > 0]) == {0.25}
    assert transition_shares(CELLS[None], 3)[0, [18, 45]].tolist() == [0.5, 0.5]
    assert transition_shares(CELLS[None], 4).tolist() == [[0.0] * 256]
    assert transition_shares(CELLS[None][:, :, :0], 1).tolist() == [[0.0] * 4]


def test_salient_entities_have_features_of_their_own():
    unit = grid("S--O", "X---")  # two mentions and one
    features = TransitionFeatures(lengths=(1,), salience=2)
    names = [f"{kind} {role}" for kind in ("salient", "other") for role in "SOX-"]
    assert features.names() == names and features.size == 8
    assert features.of_texts([unit]).tolist() == [[0.25, 0.25, 0, 0.5, 0, 0, 0.25, 0.75]]
    assert features.of_texts([]).shape == (0, 8)
    alike = TransitionFeatures(lengths=(1, 2), salience=0)
    assert alike.size == 20 and alike.names()[3:6] == ["-", "SS", "SO"]
    found = alike.of_texts([unit])[0]
    assert found[:4].tolist() == [0.125, 0.125, 0.125, 0.625]
    assert dict(zip(alike.names()[4:], found[4:], strict=True))["S-"] == pytest.approx(1 / 6)
    assert TransitionFeatures((1,), 3).of_texts([unit])[0, :4].tolist() == [0, 0, 0, 0]
    for lengths in ((), (0, 2), (2, 7)):
        refuses("transition lengths are", TransitionFeatures, lengths)
    assert TransitionFeatures((1, 6)).size == 2 * (4 + 4**6)
    assert ranking(lengths=[2], salience=0).features == TransitionFeatures((2,), 0)


def test_a_ranking_machine_puts_a_margin_of_one_between_pairs_if_its_penalty_allows():
    one = np.array([[2.0, 0.0]])
    # doubled: the weights are (alpha + alpha') (2, 0), each alpha at most the penalty
    assert rank_weights(one, 10.0) == pytest.approx([0.5, 0.0], abs=1e-3)
    assert rank_weights(one, 0.05) == pytest.approx([0.2, 0.0], abs=1e-3)
    both = np.array([[2.0, 0.0], [0.0, 4.0]])
    assert rank_weights(both, 10.0) == pytest.approx([0.5, 0.25], abs=1e-3)


def test_a_ranker_learns_from_pairs_and_adds_up_what_transitions_are_worth():
    critic = GridRanker(TransitionFeatures((1,), 0))
    better, worse = np.array([[1.0, 0, 0, 0]]), np.array([[0, 0.0, 0, 2.0], [0, 0, 0, 2.0]])
    default = critic.fit_pairs([(better, worse), (np.zeros((0, 4)), np.zeros((0, 4)))])
    # both differences are (1, 0, 0, -2), of squared norm 5: one half of 1/5 would do for each
    assert default.weights == pytest.approx([0.2, 0, 0, -0.4], abs=1e-3)
    small = GridRanker(TransitionFeatures((1,), 0), penalty=0.05).fit_pairs([(better, worse)])
    assert small.weights == pytest.approx([0.1, 0, 0, -0.2], abs=1e-3)
    unit = grid("S-")
    parts, empty = default.part_values([unit, grid()])
    assert parts == pytest.approx([0.1, 0, 0, -0.2], abs=1e-3) and empty.shape == (0,)
    found = default.sufficient_statistics([unit, grid()])
    assert found.columns == ("value", "texts", "excluded")
    assert found.values == pytest.approx(np.array([[-0.1, 1, 0], [0, 0, 1]]), abs=1e-3)
    assert default.order_scores(unit, np.array([[1, 0]])) == pytest.approx([-0.1], abs=1e-3)
    assert np.isnan(default.order_scores(grid(), np.zeros((2, 0), int))).tolist() == [True, True]
    assert default.order_features(grid(), np.zeros((3, 0), int)).shape == (0, 4)
    assert default.part_names(parts) == ["S", "O", "X", "-"] and default.part_names(empty) == []
    refuses("1 texts gave no pair", critic.fit_pairs, [(better, better)])
    refuses("not fitted yet", critic.order_scores, unit, np.array([[0, 1]]))


@pytest.mark.parametrize(
    ("symbol", "parts"),
    [
        ("he:12", ("he", "12")),
        ("a:b:3", ("a:b", "3")),
        (".", (".", None)),
        ("he:", ("he:", None)),
        (":3", (":3", None)),
    ],
)
def test_a_symbol_is_a_form_and_an_entity(symbol, parts):
    assert split_symbol(symbol) == parts


def test_tokens_of_valid_chains_stand_one_after_another():
    chains = [
        Chain("a", "test", ("he:7", ".", "she:9", "he:9")),
        Chain("b", "test", ("he:7",), valid=False),
        Chain("c", "test", ("it:7", "he:7")),
    ]
    assert form_vocabulary(chains) == (".", "he", "it", "she")
    found = read_tokens(chains, {"he": 0, ".": 1, "she": 2})
    assert found.forms.tolist() == [0, 1, 2, 0, -1, 0]
    assert found.entities.tolist() == [0, NOBODY, 1, 1, 0, 0]
    assert found.starts.tolist() == [0, 0, 0, 0, 4, 4] and found.lengths.tolist() == [4, 0, 2]
    assert (found.forms.dtype, found.starts.dtype) == (np.int32, np.int64)


def test_keys_hold_codes_side_by_side_the_latest_lowest():
    packing = Packing(order=3, forms=2, padding=2)
    assert (packing.stride, packing.begin, packing.bits, packing.mask(2)) == (4, 9, 4, 255)
    forms = ("he", "the")
    # the begin symbol, "he" of the first entity (1 + 0 * 4 + 1), "the" of none (1 + 1 * 4)
    assert packing.names(0x925, forms) == ("", "he:0", "the")
    assert packing.names(0x908, forms) == ("", "<unk>", "the:2") and packing.names(0, forms) == ()
    assert Packing(2, 715_827_882, 1).bits == 31  # 3 codes a form and one: 2^31 - 1
    assert Packing(8, 1, 1).bits == 4
    for order, forms in ((2, 715_827_883), (1, 1), (9, 1)):
        refuses("62 are there", Packing, order, forms, 1)


@pytest.mark.parametrize(
    ("counts", "discount"), [([1, 1, 2, 5], 0.5), ([1, 2, 2], 0.2), ([2, 3], 0.5), ([1, 3], 1.0)]
)
def test_an_absolute_discount_is_of_counts_one_and_two(counts, discount):
    assert absolute_discount(np.array(counts)) == discount


@pytest.mark.parametrize(
    ("counts_of_counts", "discounts"),
    [
        ((4, 2, 1, 1), (0.5, 1.25, 1.0)),
        ((2, 1, 1, 0), (0.5, 0.5, 3.0)),
        ((4, 2, 0, 1), FALLBACK),
        ((4, 0, 1, 1), FALLBACK),
        ((0, 2, 1, 1), FALLBACK),
        ((1, 1, 1, 3), FALLBACK),  # the third would be -1
        ((2, 1, 2, 0), FALLBACK),  # the second would be -1
        ((3, 3, 6, 4), (1 / 3, 0.0, 3 - 4 / 3 * 4 / 6)),
        ((1, 1, 4, 9), FALLBACK),
    ],
)
def test_modified_discounts_are_those_of_chen_and_goodman(counts_of_counts, discounts):
    counts = [j for j, number in enumerate(counts_of_counts, 1) for _ in range(number)]
    assert modified_discounts(np.array([*counts, 9])) == pytest.approx(discounts)
    assert FALLBACK == (0.5, 1.0, 1.5)


# keys of two codes of two bits: 1 after 1, 2 after 1, 3 after 2
COUNTS = NgramCounts(np.array([5, 6, 11]), np.array([3, 1, 2]), np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("discount", "weights", "expected"),
    [
        ((0.5,), [0.25, 0.25], [2.5 / 4 + 0.125, 0.5 / 4 + 0.0625, 1.5 / 2 + 0.0625]),
        ((0.5, 1.0), [1.5 / 4, 0.5], [2 / 4 + 0.1875, 0.5 / 4 + 0.09375, 1 / 2 + 0.125]),
        ((0.5, 1.0, 2.0), [2.5 / 4, 0.5], [1 / 4 + 0.3125, 0.5 / 4 + 0.15625, 1 / 2 + 0.125]),
    ],
)
def test_an_order_is_interpolated_with_what_its_discounts_took(discount, weights, expected):
    order, found = fitted_order(COUNTS, discount, np.array([0.5, 0.25, 0.25]), 2)
    assert found == pytest.approx(expected)
    assert order.keys.tolist() == [5, 6, 11] and order.context_keys.tolist() == [1, 2]
    assert np.exp(order.log_probs) == pytest.approx(expected)
    assert np.exp(order.log_weights) == pytest.approx(weights)


def test_an_order_without_a_discount_gives_nothing_to_the_one_below():
    unigrams = NgramCounts(np.array([1, 2]), np.array([3, 1]), np.array([0, 0]))
    order, found = fitted_order(unigrams, (0.0,), np.zeros(1), 2)
    assert found.tolist() == [0.75, 0.25] and order.context_keys.tolist() == [0]
    assert order.log_weights.tolist() == [-math.inf]
