"""Bigram and Markov critics of chains: hand counts, enumeration, and the identities every critic keeps."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from longform.documents import (
    Chain,
    Document,
    Section,
    chains_from_predictions,
    chains_to_predictions,
    with_cut_texts,
)
from longform.errors import BadInput
from longform.statistics.markov_chain import (
    END,
    BigramCritic,
    MarkovCritic,
    best_delta,
    delta_scores,
    transition_counts,
)
from tests.refusals import refuses


def chains(*rows: str, valid: bool = True) -> list[Chain]:
    return [Chain(f"u{i}", "test", tuple(row), valid) for i, row in enumerate(rows)]


REAL = chains("abc", "abc", "acb", "ab")


def test_probabilities_equal_hand_counts_over_v_plus_two_columns():
    critic = BigramCritic(delta=1.0).fit(REAL)
    assert critic.names == ("a", "b", "c", "<bos>", END)
    probability = np.exp(critic.log_transitions)
    by_hand = [(4 + 1) / (4 + 5), (3 + 1) / (4 + 5), (2 + 1) / (4 + 5)]
    assert [probability[3, 0], probability[0, 1], probability[1, 4]] == pytest.approx(by_hand)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-12)
    # Perplexity is over the transitions of all chains, not a mean over chains.
    units = chains("ab", "cccccb")
    of_ab = [5 / 9, 4 / 9, 3 / 9]
    of_cccccb = [1 / 9, 1 / 8, 1 / 8, 1 / 8, 1 / 8, 2 / 8, 3 / 9]
    perplexity = math.prod([*of_ab, *of_cccccb]) ** (-1 / 10)
    assert critic.score_of(critic.sufficient_statistics(units)) == pytest.approx(perplexity)
    assert critic.score_of(critic.sufficient_statistics(units[:1])) == pytest.approx(
        math.prod(of_ab) ** (-1 / 3)
    )


def test_unknown_titles_and_invalid_chains_are_counted_and_never_scored():
    critic = BigramCritic(delta=1.0).fit(REAL)
    with_unknown, known = (
        critic.sufficient_statistics(chains("axb")),
        critic.sufficient_statistics(chains("b")),
    )
    assert with_unknown.total("unknown") == with_unknown.total("transitions") == 2
    assert known.total("unknown") == 0
    statistics = critic.sufficient_statistics(chains("ab") + chains("ab", valid=False))
    assert statistics.column("excluded").tolist() == [0, 1]
    assert statistics.values[1, :3].tolist() == [0, 0, 0]
    assert "z" not in BigramCritic().fit(REAL + chains("zz", valid=False)).names


def test_delta_zero_is_infinite_on_unseen_transitions_the_best_finite():
    critic = BigramCritic(delta=0.0).fit(REAL)
    assert critic.score_of(critic.sufficient_statistics(chains("ba"))) == math.inf
    assert math.isfinite(critic.score_of(critic.sufficient_statistics(chains("abc"))))
    assert not np.isnan(critic.log_transitions).any()
    both = [BigramCritic(delta=0), BigramCritic(delta=1)]
    assert best_delta(delta_scores(REAL, chains("abc", "ab"), both)) == 0
    scores = delta_scores(REAL, chains("ba"), both)
    assert scores[0] == math.inf and best_delta(scores) == 1
    refuses("none is finite", delta_scores, REAL, chains("ba"), both[:1])


def test_probabilities_of_all_chains_of_a_length_sum_to_one():
    matrix = np.array([[0.2, 0.5, 0.3], [0.6, 0.4, 0.0], [0.1, 0.1, 0.8]])
    critic = MarkovCritic(("x", "y", "z"), matrix, begin="x")
    every = [Chain(str(i), "test", z) for i, z in enumerate(itertools.product("xyz", repeat=3))]
    assert MarkovCritic(("a",), np.array([[1 + 9e-7]])).names == ("a",)
    assert np.exp(critic.sufficient_statistics(every).column("logprob")).sum() == pytest.approx(
        1.0, abs=1e-12
    )
    assert critic.sufficient_statistics(every).column("transitions").tolist() == [3.0] * 27


def test_attribution_and_transition_counts_agree_with_the_tally():
    critic = BigramCritic(delta=1.0).fit(REAL)
    units = chains("abc", "axb") + chains("a", valid=False) + chains("")
    parts = critic.part_values(units)
    assert [len(row) for row in parts] == [4, 4, 0, 1]
    assert np.isnan(parts[1]).tolist() == [False, True, True, False]
    np.testing.assert_allclose(
        [np.nansum(row) for row in parts],
        critic.sufficient_statistics(units).column("logprob"),
        atol=1e-12,
    )
    plain: dict[tuple[str, str], int] = {}
    for unit in REAL:
        row = ["<bos>", *unit.symbols, END]
        for pair in itertools.pairwise(row):
            plain[pair] = plain.get(pair, 0) + 1
    assert transition_counts(critic, REAL) == plain


@pytest.mark.parametrize("build",
                         [lambda: BigramCritic(delta=-1.0), lambda: BigramCritic().fit(chains("a", valid=False)),
                          lambda: BigramCritic().fit([Chain("u", "test", ("a", END))]),
                          lambda: BigramCritic().sufficient_statistics(REAL), lambda: MarkovCritic(("a",), np.array([[0.5]])),
                          lambda: MarkovCritic(("a", "b"), np.eye(3)),
                          lambda: MarkovCritic(("a",), np.array([[1 + 1.1e-6]])),
                          lambda: MarkovCritic(("a",), np.eye(1), begin="z")])  # fmt: skip
def test_bad_input_is_refused_with_a_message(build):
    with pytest.raises(BadInput):
        build()


def test_a_text_cut_at_the_limit_of_length_has_no_transition_to_the_end():
    critic = BigramCritic(delta=1.0).fit(REAL)
    (whole,) = chains("ac")
    cut = replace(whole, cut=True)
    statistics = critic.sufficient_statistics([whole, cut])
    assert statistics.column("transitions").tolist() == [3, 2]
    assert statistics.column("logprob")[1] == pytest.approx(
        math.log(5 / 9) + math.log(2 / 9)
    )  # begin a, a c
    assert (("c", END) in transition_counts(critic, [whole])) and (
        "c",
        END,
    ) not in transition_counts(critic, [cut])


def test_readings_say_which_texts_were_cut():
    documents = [Document(name, "generated", (Section(None, "a"),)) for name in ("u0", "u1")]
    read = chains_to_predictions(chains("ab", "ba"))
    assert [chain.cut for chain in chains_from_predictions(read)] == [False, False]
    told = with_cut_texts(read, documents, [False, True])
    assert [chain.cut for chain in chains_from_predictions(told)] == [False, True]
