"""Agreement: coefficients against SciPy and hand-worked tables, intervals that cover, and what undefined ratings do."""

import math

import numpy as np
import pytest
from scipy import stats

from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.evaluation.agreement import (
    clustered_interval,
    cohen_kappa,
    correlate,
    krippendorff_alpha,
    leave_one_out,
    value_of,
    weighted_values,
)

NAN = math.nan


@pytest.mark.parametrize(("kind", "theirs"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr)])
def test_coefficients_equal_scipys_and_missing_pairs_are_counted(kind, theirs):
    rng = generator("correlate")
    x, y = rng.normal(size=30), rng.normal(size=30)
    y[3] = NAN
    mine = correlate(kind, x, y)
    kept = ~np.isnan(y)
    assert (mine.value, mine.p_value) == pytest.approx(tuple(theirs(x[kept], y[kept])))
    assert (mine.items, mine.excluded) == (29, 1)
    assert mine.low < mine.value < mine.high


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_the_value_that_is_resampled_is_scipys(kind):
    rng = generator("value alone", kind)
    for size in (3, 4, 10, 200):
        x = rng.normal(size=size)
        for y in (rng.normal(size=size), 3 * x - 1, -x, np.round(x), np.ones(size)):
            assert value_of(kind, x, y) == pytest.approx(correlate(kind, x, y).value, abs=1e-9, nan_ok=True)
    assert np.isnan(value_of(kind, x[:2], x[:2]))


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_values_of_many_resamples_are_those_of_each(kind):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=12).round(1), rng.integers(0, 4, 12).astype(float)
    counts = np.concatenate([rng.poisson(1.0, (40, 12)), np.eye(12), 2 * np.eye(12)[:, ::-1] + np.eye(12)]).astype(
        float
    )
    rows = [np.repeat(np.arange(12), times) for times in counts.astype(int)]
    one_by_one = [value_of(kind, x[row], y[row]) for row in rows]
    np.testing.assert_allclose(weighted_values(kind, x, y, counts), one_by_one, rtol=1e-12, atol=1e-15)
    assert np.isnan(one_by_one).any() and not np.isnan(one_by_one).all()


def test_the_pearson_interval_is_fishers():
    rng = generator("fisher")
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    mine, theirs = correlate("pearson", x, y), stats.pearsonr(x, y).confidence_interval()
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_intervals_cover_the_truth_about_as_often_as_they_say(kind):
    rho = 0.6
    truth = {"pearson": rho, "spearman": 6 / np.pi * np.arcsin(rho / 2)}[kind]
    rng = generator("cover", kind)
    hits = 0
    for _ in range(300):
        x = rng.normal(size=40)
        found = correlate(kind, x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=40))
        hits += found.low <= truth <= found.high
    assert 0.90 <= hits / 300 <= 0.99


@pytest.mark.parametrize("x", [[1, 1, 1, 1], [1, 2, NAN, NAN]])
def test_constant_or_too_few_values_have_no_coefficient(x):
    assert math.isnan(correlate("pearson", np.array(x), np.arange(4.0)).value)


def test_clusters_are_resampled_whole():
    rng = generator("clusters")
    shared = np.repeat(rng.normal(size=20), 10)  # ten copies of each pair know no more than one
    other = np.repeat(rng.normal(size=20), 10)
    clusters = np.repeat(np.arange(20), 10)
    whole = clustered_interval("pearson", shared, other, clusters, generator("a"), 400)
    alone = clustered_interval("pearson", shared, other, np.arange(200), generator("a"), 400)
    assert whole[1] - whole[0] > 2 * (alone[1] - alone[0])


def test_leave_one_out_equals_a_loop_over_raters():
    ratings = generator("loo").integers(1, 8, (5, 12)).astype(float)
    ratings[1, 4] = NAN
    by_hand = []
    for r in range(5):
        seen = ~np.isnan(ratings[r])
        others = np.nanmean(np.delete(ratings, r, axis=0), axis=0)
        by_hand.append(stats.pearsonr(ratings[r, seen], others[seen])[0])
    found = leave_one_out(ratings, generator("b"), resamples=50)
    assert found.value == pytest.approx(np.mean(by_hand))
    assert found.low < found.value < found.high
    assert (found.raters, found.excluded) == (5, 0)


def test_a_constant_rater_is_counted_out_and_all_constant_is_an_error():
    ratings = np.array([[1, 2, 3, 4], [2, 2, 3, 5], [4, 4, 4, 4.0]])
    assert (leave_one_out(ratings, generator("b"), resamples=5).raters) == 2
    with pytest.raises(BadInput, match="constant"):
        leave_one_out(np.full((3, 5), 4.0), generator("b"))
    with pytest.raises(BadInput, match="two raters"):
        leave_one_out(np.ones((1, 5)), generator("b"))


# Krippendorff (2011, "Computing Krippendorff's alpha-reliability"), example with missing data, four observers, twelve units
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("interval", 0.849)])
def test_alpha_equals_krippendorffs_printed_example(level, alpha):
    assert krippendorff_alpha(KRIPPENDORFF, level) == pytest.approx(alpha, abs=5e-4)


def test_alpha_of_one_value_is_undefined_and_bad_input_is_named():
    assert math.isnan(krippendorff_alpha(np.ones((2, 4))))
    with pytest.raises(BadInput, match="no item"):
        krippendorff_alpha(np.array([[1, NAN], [NAN, 2]]))
    with pytest.raises(BadInput, match="allowed are"):
        krippendorff_alpha(KRIPPENDORFF, "cardinal")


def test_kappa_equals_a_table_by_hand():
    # yes/yes 20, yes/no 5, no/yes 10, no/no 15: observed 0.7, chance 0.5, kappa 0.4
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_kappa_of_two_constant_raters_is_undefined():
    assert math.isnan(cohen_kappa([3, 3], [3, 3]))
    with pytest.raises(BadInput, match="kappa of 1 and 2"):
        cohen_kappa([1], [1, 2])
