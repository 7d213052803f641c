"""Agreement of raters on small tables whose coefficients are counted by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from longform.evaluation import agreement
from longform.evaluation.agreement import cohen_kappa, correlate, krippendorff_alpha
from tests.refusals import refuses

NAN = math.nan


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        ([0, 1, 1, 0], [0, 1, 0, 0], 0.5),  # agreement 3/4, by chance 1/2 * 3/4 + 1/2 * 1/4
        ([1, 0], [0, 1], -1.0),
        (["a", "b", "c"], ["a", "b", "c"], 1.0),
        ([1, 1], [2, 2], 0.0),  # each constant, never agreeing
    ],
)
def test_kappa_of_two_raters_is_agreement_beyond_chance(first, second, kappa):
    assert cohen_kappa(first, second) == pytest.approx(kappa)


def test_kappa_is_undefined_where_both_say_one_thing():
    assert math.isnan(cohen_kappa(["x", "x"], ["x", "x"]))


def test_kappa_needs_as_many_ratings_of_both():
    refuses("kappa of 1 and 2 ratings", cohen_kappa, [1], [1, 2])
    refuses("kappa of 0 and 0 ratings", cohen_kappa, [], [])


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        ([1, 2, 3], [1, 2], r"shapes \(3,\) and \(2,\); give two vectors of one length"),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]], r"shapes \(2, 2\) and \(2, 2\)"),
    ],
)
def test_a_correlation_needs_two_vectors_of_one_length(x, y, sentence):
    refuses(sentence, correlate, "pearson", np.array(x), np.array(y))
    refuses(
        r"correlation 'kendall'; allowed are \['pearson', 'spearman'\]", correlate, "kendall", x, y
    )


def fisher(value, items, kind):
    """The ends on Fisher's scale, by the formula of Bonett and Wright."""
    variance = (1 + value**2 / 2 if kind == "spearman" else 1) / (items - 3)
    reach = 1.959963984540054 * math.sqrt(variance)
    return [math.tanh(math.atanh(value) + sign * reach) for sign in (-1, 1)]


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_an_interval_on_fishers_scale_and_what_is_left_out(kind):
    x, y = np.array([1.0, 2, 3, 4, 9, NAN, 5]), np.array([2.0, 1, 4, 3, 5, 1, NAN])
    found = correlate(kind, x, y)
    expected = getattr(stats, f"{kind}r")(x[:5], y[:5])
    assert (found.items, found.excluded) == (5, 2)
    assert [found.value, found.p_value] == pytest.approx([*expected])
    assert [found.low, found.high] == pytest.approx(fisher(expected[0], 5, kind))


@pytest.mark.parametrize(
    ("x", "y", "ends"),
    [([1, 2, 4], [1, 3, 2], [-1, 1]), ([1, 2], [2, 1], None), ([1, 1, 1], [1, 2, 3], None), ([1, 2, 3], [5, 5, 5], None)],
)  # fmt: skip
def test_three_pairs_bound_nothing_and_fewer_have_no_coefficient(x, y, ends):
    found = correlate("pearson", np.array(x), np.array(y))
    if ends is None:
        assert all(
            math.isnan(number) for number in (found.value, found.low, found.high, found.p_value)
        )
        assert (found.items, found.excluded) == (len(x), 0)
    else:
        assert [found.low, found.high] == ends and found.value == pytest.approx(
            stats.pearsonr(x, y)[0]
        )


def test_a_perfect_correlation_is_inside_its_interval():
    found = correlate("pearson", np.arange(5.0), 2 * np.arange(5.0))
    assert found.value == found.high == 1.0 and 0.9 < found.low <= 1.0


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_weighted_coefficients_are_those_of_the_repeated_pairs(kind):
    x, y = np.array([1.0, 2, 2, 5]), np.array([3.0, 1, 2, 2])
    counts = np.array(
        [
            [1, 1, 1, 1],
            [2, 0, 1, 3],
            [0, 1, 1, 0],
            [4, 0, 0, 0],
            [0, 3, 2, 0],
            [1, 0, 1, 1],
            [1, 1, 0, 0],
        ]
    )
    found = agreement.weighted_values(kind, x, y, counts)
    for row, value in zip(counts, found, strict=True):
        a, b = np.repeat(x, row), np.repeat(y, row)
        defined = len(a) >= 3 and np.ptp(a) > 0 and np.ptp(b) > 0
        expected = getattr(stats, f"{kind}r")(a, b)[0] if defined else NAN
        assert value == pytest.approx(expected, nan_ok=True)
        assert agreement.value_of(kind, a, b) == pytest.approx(expected, nan_ok=True)


def test_alpha_of_a_published_table():
    """Krippendorff (2011), section C: four observers, twelve units; nominal alpha 0.743, interval 0.849."""
    table = np.array([
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ])  # fmt: skip
    assert krippendorff_alpha(table, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(table) == krippendorff_alpha(table, "interval")
    assert krippendorff_alpha(table) == pytest.approx(0.849, abs=5e-4)


def test_alpha_is_undefined_of_one_value_and_needs_items_that_two_rated():
    assert math.isnan(krippendorff_alpha(np.array([[1.0, 1], [1, 1]])))
    refuses(
        "alpha level 'ordinal'; allowed are nominal and interval",
        krippendorff_alpha,
        np.ones((2, 2)),
        "ordinal",
    )
    refuses(
        "alpha: no item has two ratings", krippendorff_alpha, np.array([[1.0, NAN], [NAN, 2.0]])
    )
    refuses(r"ratings have shape \(1, 3\)", krippendorff_alpha, np.ones((1, 3)))
    refuses(r"ratings have shape \(3,\)", krippendorff_alpha, np.ones(3))


def test_each_rater_is_held_against_the_mean_of_the_others():
    ratings = np.array([[1.0, 2, 3, 5], [2.0, 1, 4, NAN], [1.0, 3, 2, 4], [2.0, 2, 2, 2]])
    means = [
        [(2 + 1 + 2) / 3, (1 + 3 + 2) / 3, (4 + 2 + 2) / 3, (4 + 2) / 2],
        [(1 + 1 + 2) / 3, (2 + 3 + 2) / 3, (3 + 2 + 2) / 3],
        [(1 + 2 + 2) / 3, (2 + 1 + 2) / 3, (3 + 4 + 2) / 3, (5 + 2) / 2],
    ]
    each = [
        np.corrcoef(own[: len(mean)], mean)[0, 1] for own, mean in zip(ratings, means, strict=False)
    ]
    found = agreement.leave_one_out(ratings, np.random.default_rng(0), 5)
    assert found.value == pytest.approx(np.mean(each)) and (found.raters, found.excluded) == (3, 1)
    refuses(
        "of 2 raters none has a correlation",
        agreement.leave_one_out,
        np.ones((2, 4)),
        np.random.default_rng(0),
    )


def test_clusters_are_counted_whole():
    places = np.array([0, 0, 1, 2])
    (counts,) = agreement.clustered_counts(places, 3, np.random.default_rng(0), 7)
    drawn = np.random.default_rng(0)
    expected = [np.bincount(drawn.integers(0, 3, 3), minlength=3)[places] for _ in range(7)]
    assert counts.tolist() == [row.tolist() for row in expected]


def test_a_clustered_interval_is_over_resamples_of_clusters():
    x, y = np.array([1.0, 2, 4, 3, NAN, 6]), np.array([2.0, 1, 5, 3, 1, 5])
    clusters = ["b", "b", "a", "a", "c", "c"]
    low, high = agreement.clustered_interval(
        "pearson", x, y, clusters, np.random.default_rng(3), 40
    )
    drawn, values = np.random.default_rng(3), []
    for _ in range(40):
        picked = [
            names for i in drawn.integers(0, 3, 3) for names in ([0, 1], [2, 3], [5])[i : i + 1]
        ]
        rows = [row for names in picked for row in names]
        values.append(agreement.value_of("pearson", x[rows], y[rows]))
    scored = np.array(values)[~np.isnan(values)]
    ends = np.quantile(scored, [0.025, 0.975], method="inverted_cdf")
    assert [low, high] == pytest.approx(ends.tolist())


def test_two_scorers_that_are_one_do_not_differ():
    x, people = np.array([1.0, 2, 3, 5, 4]), np.array([1.0, 3, 2, 5, 4])
    clusters = list("aabbc")
    rng = np.random.default_rng(0)
    assert agreement.compare_correlations(x, x, people, clusters, rng, 50) == 1.0
    constant = np.ones(5)
    assert math.isnan(agreement.compare_correlations(x, constant, people, clusters, rng, 50))
    # of one cluster every exchange is as large as what was seen
    other = people[::-1].copy()
    assert agreement.compare_correlations(people, other, people, ["a"] * 5, rng, 50) == 1.0
