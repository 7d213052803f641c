"""Statistics of nothing, of infinities, of nan and of very small numbers, by hand."""

import math

import numpy as np
import pytest

from longform.documents import Chain
from longform.evaluation.agreement import (
    clustered_interval,
    cohen_kappa,
    compare_correlations,
    correlate,
    krippendorff_alpha,
    value_of,
    weighted_values,
)
from longform.evaluation.human_ratings import stepwise
from longform.evaluation.human_study import expected_alpha, expected_share
from longform.evaluation.suite_accuracy import suite_accuracy_records
from longform.statistics.arithmetic import logsumexp, perplexity, ratio
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval, wilson
from longform.statistics.many_tests import holm
from longform.statistics.markov_chain import MarkovCritic
from longform.statistics.sign_flips import sign_flip_test
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered
from longform.statistics.trainings import two_level_interval, two_level_p
from tests.core.test_comparisons_by_hand import Mean, statistics
from tests.refusals import refuses

INF, NAN = math.inf, math.nan
RISING = np.array([1.0, 2.0, 3.0])
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def rng():
    return np.random.default_rng(0)


def test_margins_without_a_sum_have_no_p_and_an_infinite_one_says_nothing():
    assert math.isnan(sign_flip_test(np.array([NAN, 1.0, 2.0]), rng()))
    assert math.isnan(sign_flip_test(np.array([INF, -INF]), rng()))
    assert sign_flip_test(np.array([INF, 1.0]), rng()) == 1.0


def test_infinite_trainings_have_neither_interval_nor_p():
    assert np.isnan(two_level_interval((1.0, 3.0), [2.0, INF])).all()
    assert math.isnan(two_level_p((1.0, 3.0), [2.0, INF], 0.0))


def test_quotients_and_perplexities_at_the_edge_do_not_warn():
    assert ratio(1e300, 1e-300) == INF
    assert math.isnan(ratio(INF, INF))
    assert math.isnan(perplexity(NAN, 5))
    assert perplexity(-INF, 5) == INF
    assert logsumexp(np.zeros(0)) == -INF


def test_no_draws_leave_a_value_without_interval_and_p_of_one():
    side = statistics("ab", [2.0, 4.0])
    found = estimate(Mean(), side, rng(), resamples=0)
    assert found.value == 3.0
    assert math.isnan(found.low)
    assert compare(Mean(), side, side, rng(), permutations=0).p_value == 1.0


def test_statistics_that_do_not_fit_their_units_are_refused():
    side = statistics("aab", [1.0, 2.0, 3.0])
    refuses("the id 'a' stands twice", compare, Mean(), side, side, rng(), matched=True)
    refuses("3 units and 1 groups", clustered, side, ["g"])
    units = [Chain("a", "", ()), Chain("b", "", ())]
    refuses("2 rows of", SufficientStatistics.of, units, ("x", "n"), [(1, 2), (1,)])
    refuses("1 rows of", SufficientStatistics.of, units, ("x", "n"), [(1, 2)])


@pytest.mark.parametrize(
    ("sentence", "call", "given"),
    [
        ("p-value 1.5", holm, [[1.5, 0.2]]),
        ("p-value -0.1", holm, [[-0.1, 0.2]]),
        ("level 1.5", percentile_interval, [RISING, 1.5]),
        ("Wilson interval of inf", wilson, [INF, INF]),
        ("below 0", MarkovCritic, [("a", "b"), np.array([[1.5, -0.5], [0.5, 0.5]])]),
        ("infinite", krippendorff_alpha, [np.array([[1.0, INF], [2.0, 3.0]])]),
        ("nan", cohen_kappa, [[1, NAN, 0.0], [1, NAN, 1.0]]),
        ("no number", correlate, ["pearson", ["a", "b", "c"], RISING]),
        ("2 clusters", clustered_interval, ["pearson", RISING, RISING, "ab", rng()]),
        ("2 clusters", compare_correlations, [RISING, RISING, RISING, "ab", rng()]),
    ],
)
def test_what_has_no_statistic_is_refused(sentence, call, given):
    refuses(sentence, call, *given)


def test_infinite_values_have_ranks_but_no_pearson_correlation():
    ends = np.array([1.0, 2.0, INF])
    once = np.ones((1, 3))
    assert value_of("spearman", ends, RISING) == pytest.approx(1.0)
    assert math.isnan(value_of("pearson", ends, RISING))
    assert math.isnan(correlate("pearson", ends, RISING).value)
    assert math.isnan(weighted_values("pearson", ends, RISING, once)[0])
    assert math.isnan(compare_correlations(ends, RISING[::-1], RISING, "abc", rng()))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_correlations_do_not_depend_on_the_unit_of_values(unit):
    x, y = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 3.0, 2.0, 4.0])
    # deviations -1.75 -.75 .25 2.25 and -1.5 .5 -.5 1.5: 5.5 / sqrt(8.75 * 5)
    expected = 5.5 / math.sqrt(8.75 * 5)
    assert value_of("pearson", x * unit, y) == pytest.approx(expected)
    once = np.ones((1, 4))
    assert weighted_values("pearson", x * unit, y, once) == pytest.approx([expected])
    found = [compare_correlations(values, y, x, "abcd", rng()) for values in (x, x * unit)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("x", "y", "p_value"),
    [
        ([1, 2, 3], [1, 2, 3], 2 / 6),
        ([1, 2, 3, 4], [4, 3, 2, 1], 2 / 24),
        ([1, 1, 2, 3], [1, 1, 2, 3], 2 / 24),  # of two equal ones either may come first
        ([1, 1, 2, 2], [1, 1, 2, 2], 8 / 24),  # the opposite order has ties at the same places
    ],
)
def test_equal_orders_are_as_likely_as_their_share_of_all_orders(x, y, p_value):
    found = correlate("spearman", np.array(x, float), np.array(y, float))
    assert found.p_value == pytest.approx(p_value)


def test_halves_are_categories_for_kappa():
    # agreement .75, by chance .5 * .25 + .5 * .75
    assert cohen_kappa([2.5, 3.5, 2.5, 3.5], [2.5, 3.5, 3.5, 3.5]) == pytest.approx(0.5)


def test_nobody_has_neither_share_nor_agreement():
    assert math.isnan(expected_share(0.5, []))
    assert math.isnan(expected_alpha(0.5, [0.1]))
    counts = dict.fromkeys(("items", "correct", "gained", "lost"), 0)
    empty = suite_accuracy_records({"s": {"counts": counts}})[0]
    assert math.isnan(empty.value)
    assert empty.units == 0


def test_items_with_an_infinite_predictor_are_left_out():
    values = np.array([1.0, 2.0, 3.0, 4.0, INF])
    model = stepwise({"a": values}, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert model.intercept == pytest.approx(2.5)
    assert model.weights == pytest.approx([math.sqrt(1.25)])
