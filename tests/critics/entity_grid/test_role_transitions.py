"""The generative grid: the paper's worked product, the Witten-Bell table by hand, and the identities of the protocol."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.core.text.entity_grids import grids_to_readout
from longform.critics.entity_grid.score import EDGE, SYMBOLS, RoleTransitions, units_from_readout, witten_bell
from tests.critics.grid_cases import grid

FITTED = RoleTransitions(history=1).fit([grid("SS--", "O---")])
FIXTURE = {  # by hand: counts + kinds x lower order, over counts + kinds
    "unigram": [0.2, 0.128571, 0.057143, 0.414286, 0.2],
    "S": [0.35, 0.064286, 0.028571, 0.457143, 0.1],
    "O": [0.1, 0.064286, 0.028571, 0.707143, 0.1],
    "-": [0.057143, 0.036735, 0.016327, 0.546939, 0.342857],
    "start": [0.35, 0.314286, 0.028571, 0.207143, 0.1],
}


@pytest.mark.parametrize(("context", "row"), [("S", 0), ("O", 1), ("unigram", 2), ("-", 3), ("start", 4)])
def test_witten_bell_rows_equal_the_hand_worked_ones(context, row):
    # X never occurs, so its row is the unigram row
    np.testing.assert_allclose(np.exp(FITTED.log_probs[row]), FIXTURE[context], atol=1e-6)


@pytest.mark.parametrize(("column", "value"), [("S--", -2.436000), ("-S-", -5.219307), ("X--", -5.039966)])
def test_columns_have_the_hand_worked_log_probabilities(column, value):
    assert FITTED.tally([grid(column)]).values[0].tolist() == pytest.approx([value, 3, 0], abs=1e-6)


def test_the_pinochet_column_is_the_product_that_the_paper_prints():
    # lapata2005 section 3.1: P(O) P(S|O) P(-|S) P(O|-) P(S|O) P(-|S)
    s, o, gap, start = 0, 1, 3, EDGE
    table = FITTED.log_probs
    product = table[start, o] + table[o, s] + table[s, gap] + table[gap, o] + table[o, s] + table[s, gap]
    assert FITTED.tally([grid("OS-OS-")]).total("logprob") == pytest.approx(product)


def naive_witten_bell(columns: list[str], history: tuple[str, ...], symbol: str) -> float:
    """The recursion, counting strings: (c(h r) + N(h) P(r | h')) / (c(h) + N(h))."""
    sequences = [("<", *column, ">") for column in columns]
    size = len(history)
    following = [
        seq[i + size]
        for seq in sequences
        for i in range(len(seq) - size)
        if seq[i : i + size] == history and seq[i + size] != "<"
    ]
    lower = naive_witten_bell(columns, history[1:], symbol) if history else 1 / 5
    kinds = len(set(following))
    return (following.count(symbol) + kinds * lower) / (len(following) + kinds) if following else lower


@pytest.mark.parametrize("history", [0, 1, 2, 3])
def test_any_history_equals_the_recursion_over_strings(history):
    rng = generator("witten-bell", history)
    columns = ["".join(rng.choice(list("SOX-"), 5, p=[0.2, 0.2, 0.1, 0.5])) for _ in range(6)]
    critic = RoleTransitions(history=history).fit([grid(*columns)])
    for column in ("SO-XS", "-----", "XOXOX"):
        padded = ("<", *column, ">")
        by_hand = sum(
            math.log(naive_witten_bell(columns, padded[max(0, i - history) : i], padded[i])) for i in range(1, 6)
        )
        assert critic.tally([grid(column)]).total("logprob") == pytest.approx(by_hand)


def test_every_reachable_context_is_a_distribution():
    critic = RoleTransitions(history=2).fit([grid("SS--O", "O---X", "-S-S-")])
    sums = np.exp(critic.log_probs).sum(axis=-1)
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)


def test_without_counts_everything_is_uniform():
    np.testing.assert_allclose(witten_bell(np.zeros((SYMBOLS, SYMBOLS))), 1 / SYMBOLS)


def test_coherence_divides_by_sentences_and_entities():
    once, twice = grid("S--"), grid("S--", "S--")
    assert FITTED.coherence([once])[0] == pytest.approx(-2.436 / 3, abs=1e-6)
    assert FITTED.coherence([twice])[0] == pytest.approx(FITTED.coherence([once])[0])


def test_orders_score_as_reordered_grids():
    unit = grid("SS--O", "O---X")
    orders = np.array(list(itertools.permutations(range(5))))
    fast = FITTED.order_scores(unit, orders)
    slow = FITTED.coherence([replace(unit, cells=unit.cells[order]) for order in orders])
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_empty_grids_are_counted_and_never_scored():
    critic = RoleTransitions().fit([grid("SS--"), grid(unit="none")])
    assert (critic.fitted_units, critic.fitted_excluded) == (1, 1)
    tally = critic.tally([grid("SS--", unit="a"), grid(unit="none")])
    assert tally.column("excluded").tolist() == [0, 1]
    assert np.isnan(critic.coherence([grid(unit="none")])[0])
    assert np.isnan(critic.order_scores(grid(unit="none"), np.zeros((2, 0), dtype=int))).all()


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="0 with entities"):
        RoleTransitions().fit([grid(unit="none")])
    with pytest.raises(BadInput, match="history is 9"):
        RoleTransitions(history=9)
    with pytest.raises(BadInput, match="call fit"):
        RoleTransitions().tally([grid("SS")])


def test_grids_survive_the_readout():
    grids = [grid("SS--", "O---", unit="a"), grid(unit="b", split="train"), grid("X", unit="c")]
    back = units_from_readout(grids_to_readout(grids))
    assert [(g.unit_id, g.split, g.entities) for g in back] == [(g.unit_id, g.split, g.entities) for g in grids]
    for mine, theirs in zip(grids, back, strict=True):
        np.testing.assert_array_equal(mine.cells, theirs.cells)
