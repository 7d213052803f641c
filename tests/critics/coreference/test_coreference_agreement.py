"""Coreference scores: the textbook example, bounds, and symmetry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from longform.core.resampling import generator
from longform.critics.coreference.agreement import ChainAgreement, ReadClusters, b_cubed, ceaf_e, clusters, muc


def sets(*rows: str):
    return tuple(frozenset(row) for row in rows)


GOLD, FOUND = sets("abc", "defg"), sets("ab", "cd", "fghi")  # Pradhan et al. 2014, section 4.2


def ratios(sums):
    return sums[0] / sums[1], sums[2] / sums[3]


def test_scores_of_the_published_example():
    assert ratios(muc(GOLD, FOUND)) == pytest.approx((2 / 5, 2 / 5))
    recall = (1 / 7) * (2**2 / 3 + 1 / 3 + 1 / 4 + 2**2 / 4)
    precision = (1 / 8) * (2**2 / 2 + 1 / 2 + 1 / 2 + 2**2 / 4)
    assert ratios(b_cubed(GOLD, FOUND)) == pytest.approx((recall, precision))
    best = 2 * 2 / (3 + 2) + 2 * 2 / (4 + 4)
    assert ratios(ceaf_e(GOLD, FOUND)) == pytest.approx((best / 2, best / 3))


def test_ceaf_takes_the_best_of_all_alignments():
    rng = generator("test", "ceaf")
    for _ in range(20):
        gold = clusters([(i, int(rng.integers(0, 3))) for i in range(8)])
        found = clusters([(i, int(rng.integers(0, 4))) for i in range(2, 10)])
        phi = [[2 * len(k & r) / (len(k) + len(r)) for r in found] for k in gold]
        if len(gold) <= len(found):
            every = (
                sum(phi[i][j] for i, j in enumerate(p)) for p in itertools.permutations(range(len(found)), len(gold))
            )
            assert ceaf_e(gold, found)[0] == pytest.approx(max(every))


def judged(**documents):
    """The critic of gold clusters and its tally of the found ones, from (gold, found) by document."""
    critic = ChainAgreement({name: gold for name, (gold, _) in documents.items()})
    return critic, [ReadClusters(name, "test", found) for name, (_, found) in documents.items()]


def test_a_perfect_resolver_scores_one_and_swapping_sides_swaps_recall_and_precision():
    critic, units = judged(d=(GOLD, GOLD))
    assert critic.score(critic.tally(units)) == pytest.approx(1.0)
    for score in (muc, b_cubed, ceaf_e):
        assert score(GOLD, FOUND)[:2] == score(FOUND, GOLD)[2:]


def test_nothing_found_scores_zero_and_no_gold_is_excluded():
    critic, units = judged(none=(GOLD, ()), empty=((), FOUND))
    tally = critic.tally(units)
    assert critic.score(tally) == 0.0
    assert tally.column("excluded").tolist() == [0, 1] and not tally.values[1, :-1].any()


def test_corpus_score_comes_from_sums_over_documents():
    critic, units = judged(a=(GOLD, FOUND), b=(sets("xy"), sets("xy")))
    assert critic.describe(units)["muc"]["recall"] == pytest.approx(3 / 6)
    apart = critic.tally(units[:1]) + critic.tally(units[1:])
    np.testing.assert_array_equal(apart.values, critic.tally(units).values)
