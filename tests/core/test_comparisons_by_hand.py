"""Permutation tests, intervals and sums against loops over the same draws, and each early end."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from longform.evaluation import corruption_response as damage
from longform.statistics import comparisons, resampling
from longform.statistics.arithmetic import logsumexp, perplexity, ratio
from longform.statistics.comparisons import compare, resampled_difference
from longform.statistics.intervals import percentile_interval, wilson
from longform.statistics.many_tests import holm
from longform.statistics.sign_flips import sign_flip_test
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, clustered, sums_of
from longform.statistics.sum_scored import SumScored, unit_scores
from tests.refusals import refuses


@dataclass(frozen=True)
class Mean(SumScored, better="higher", divided=("value", "units")):
    """Mean of a column."""


def statistics(names, values, excluded=None):
    lost = np.zeros(len(values)) if excluded is None else np.array(excluded, dtype=float)
    columns = np.stack([np.where(lost > 0, 0.0, values), 1 - lost, lost], axis=1)
    return SufficientStatistics(tuple(names), ("value", "units", "excluded"), columns)


FIRST, SECOND = [0.1, 0.9, 0.4, 0.7], [0.3, 0.2, 0.8, 0.5]


@pytest.mark.parametrize("order", ["abcd", "cadb"])
def test_pairs_are_swapped_by_the_drawn_signs(order):
    first = statistics("abcd", FIRST)
    by_name = dict(zip("abcd", SECOND, strict=True))
    second = statistics(order, [by_name[name] for name in order])
    found = compare(Mean(), first, second, np.random.default_rng(3), 40)
    swaps = np.random.default_rng(3).integers(0, 2, (40, 4))
    gaps = np.array(FIRST) - np.array(SECOND)
    permuted = [np.mean(np.where(row > 0, -gaps, gaps)) for row in swaps]
    large = sum(abs(each) >= abs(gaps.mean()) - 1e-12 for each in permuted)
    assert found.p_value == (1 + large) / 41 and found.paired and found.permutations == 40
    assert found.difference == pytest.approx(gaps.mean())


def test_other_units_are_exchanged_freely_without_those_that_have_no_score():
    first, second = statistics("abcd", FIRST, [0, 0, 1, 0]), statistics("wxyz", SECOND)
    found = compare(Mean(), first, second, np.random.default_rng(3), 30)
    pooled = np.array([0.1, 0.9, 0.7, *SECOND])
    draws = np.random.default_rng(3)
    orders = [draws.permutation(7) for _ in range(30)]
    observed = pooled[:3].mean() - pooled[3:].mean()
    permuted = [pooled[order[:3]].mean() - pooled[order[3:]].mean() for order in orders]
    large = sum(abs(each) >= abs(observed) - 1e-12 for each in permuted)
    assert found.p_value == (1 + large) / 31 and not found.paired
    assert found.difference == pytest.approx(observed)


def test_versions_of_one_text_are_swapped_and_the_others_exchanged():
    first, second = statistics("abx", FIRST[:3]), statistics("yba", SECOND[:3])
    (rows,) = comparisons._swapped_and_exchanged("abx", "yba", np.random.default_rng(5), 20)
    for row in rows:
        assert sorted(row) == list(range(6))
        assert (
            {row[0], row[5]} == {0, 5} and {row[1], row[4]} == {1, 4} and {row[2], row[3]} == {2, 3}
        )
    assert len({tuple(row) for row in rows}) > 4
    found = compare(Mean(), first, second, np.random.default_rng(5), 20, matched=True)
    pooled = np.array([*FIRST[:3], *SECOND[:3]])
    observed = pooled[:3].mean() - pooled[3:].mean()
    permuted = [pooled[row[:3]].mean() - pooled[row[3:]].mean() for row in rows]
    large = sum(abs(each) >= abs(observed) - 1e-12 for each in permuted)
    assert found.p_value == (1 + large) / 21 and not found.paired


class Broken:
    """A score that is nan, or infinite, of whatever holds a marked unit."""

    def __init__(self, value):
        self.value = value

    def score_of(self, statistics):
        total = statistics.total("value")
        return self.value if total > 5 else total


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_difference_that_is_no_number_proves_nothing(value):
    first, second = statistics("ab", [9.0, 0.1]), statistics("cd", [0.1, 0.2])
    assert compare(Broken(value), first, second, np.random.default_rng(0), 10).p_value == 1.0


def test_a_side_without_units_is_refused():
    refuses(
        "comparison with zero units on a side",
        compare,
        Mean(),
        statistics("", []),
        statistics("a", [1.0]),
        None,
    )


def test_repeated_ids_are_no_pairs():
    found = compare(
        Mean(),
        statistics("aab", FIRST[:3]),
        statistics("aba", SECOND[:3]),
        np.random.default_rng(0),
        5,
    )
    assert not found.paired


def test_differences_are_of_the_same_resamples():
    first, second = statistics("abcd", FIRST), statistics("abcd", SECOND)
    found = resampled_difference((Mean(), first), (Mean(), second), np.random.default_rng(1), 6)
    draws = np.random.default_rng(1)
    rows = [draws.integers(0, 4, 4) for _ in range(6)]
    gaps = np.array(FIRST) - np.array(SECOND)
    assert found == pytest.approx([gaps[row].mean() for row in rows])


@pytest.mark.parametrize(
    ("draws", "size", "numbers", "blocks"),
    [(5, 4, 20, [5]), (5, 4, 8, [2, 2, 1]), (5, 4, 3, [1] * 5), (0, 4, 20, []), (4, 4, 8, [2, 2])],
)
def test_draws_are_made_in_blocks_of_so_many_numbers(draws, size, numbers, blocks, monkeypatch):
    monkeypatch.setattr(resampling, "NUMBERS_AT_ONCE", numbers)
    assert list(resampling.blocks(draws, size)) == blocks


def test_a_typical_size_is_the_median_of_what_is_finite():
    assert comparisons._typical_size(np.array([-3.0, 1.0, np.inf, np.nan, 2.0])) == 2.0
    assert comparisons._typical_size(np.array([np.nan])) == 0.0


@pytest.mark.parametrize(
    ("values", "level", "ends"),
    [
        (np.arange(101.0), 0.95, (2.0, 98.0)), (np.arange(101.0), 0.8, (10.0, 90.0)), (np.array([1.0, np.nan]), 0.95, (1.0, 1.0)),
        (np.array([-np.inf, 0.0, np.inf]), 0.95, (-np.inf, np.inf)),
    ],
)  # fmt: skip
def test_the_ends_of_an_interval_are_scores(values, level, ends):
    assert percentile_interval(values, level) == ends
    assert all(math.isnan(end) for end in percentile_interval(np.array([np.nan])))


@pytest.mark.parametrize(("correct", "items"), [(-1, 3), (4, 3)])
def test_a_share_lies_between_none_and_all(correct, items):
    refuses(".", wilson, correct, items)
    assert all(math.isnan(end) for end in wilson(0, 0))


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [([], []), ([0.02], [0.02]), ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.5, 0.9, 0.6], [1.0, 1.0, 1.0]),
     ([0.01, 0.011, 0.2], [0.03, 0.03, 0.2])],
)  # fmt: skip
def test_holms_correction_by_hand(p_values, corrected):
    assert holm(p_values) == pytest.approx(corrected)


def test_signs_of_margins_are_flipped_by_the_drawn_signs():
    margins = np.array([1.0, -0.5, 2.0])
    signs = np.random.default_rng(2).integers(0, 2, (50, 3)) * 2 - 1
    large = (np.abs(signs @ margins) >= 2.5 - 1e-9).sum()
    assert sign_flip_test(margins, np.random.default_rng(2), 50) == (1 + large) / 51
    assert sign_flip_test(np.zeros(3), np.random.default_rng(2), 50) == 1.0
    assert sign_flip_test(np.zeros(0), np.random.default_rng(2), 50) == 1.0


def test_sums_ratios_and_perplexities_at_their_edges():
    assert ratio(1.0, 2.0) == 0.5 and math.isnan(ratio(1.0, 0.0))
    np.testing.assert_array_equal(ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0])), [0.25, np.nan])
    assert perplexity(-math.log(8), 3) == pytest.approx(2.0) and perplexity(-np.inf, 3) == np.inf
    assert math.isnan(perplexity(-1.0, 0)) and perplexity(-1e6, 1) == math.exp(700)
    table = np.array([[0.0, math.log(3)], [-np.inf, -np.inf]])
    np.testing.assert_allclose(logsumexp(table), [math.log(4), -np.inf])
    np.testing.assert_allclose(logsumexp(table[:1], axis=0), [0.0, math.log(3)])


def test_statistics_add_up_by_unit_and_by_group():
    made = statistics("abc", [1.0, 2.0, 4.0], [0, 1, 0])
    assert made.column("value").tolist() == [1.0, 0.0, 4.0] and made.total("none") == 0.0
    assert made.excluded().tolist() == [False, True, False]
    plain = SufficientStatistics(("a",), ("value",), np.array([[2.0]]))
    assert plain.excluded().tolist() == [False]
    groups = clustered(made, ["y", "x", "y"])
    assert groups.unit_ids == ("y", "x") and groups.values.tolist() == [
        [5.0, 2.0, 0.0],
        [0.0, 0.0, 1.0],
    ]
    both = made + made.take(np.array([2]))
    assert both.unit_ids == ("a", "b", "c", "c") and sums_of(both).total("value") == 9.0
    assert Sums(("a",), np.array([[1.0], [2.0]])).total("b").tolist() == [0.0, 0.0]
    refuses("different critics", lambda: made + plain)
    refuses(
        r"shape \(1, 1\), units x columns is \(2, 1\)",
        SufficientStatistics,
        ("a", "b"),
        ("v",),
        np.ones((1, 1)),
    )


def test_each_unit_has_its_own_score_or_none():
    class Plain:
        def sufficient_statistics(self, units):
            return statistics(units, [1.0, 2.0, 3.0], [0, 1, 0])

        def score_of(self, statistics):
            return 10 * statistics.total("value")

    np.testing.assert_array_equal(unit_scores(Plain(), "abc"), [10.0, np.nan, 30.0])


@pytest.mark.parametrize(
    ("unit", "case"), [("kind@0.5/a/b", ("kind", 0.5, "a/b")), ("sound@0/a", ("sound", 0.0, "a"))]
)
def test_a_damaged_text_is_named_by_kind_severity_and_document(unit, case):
    assert damage.of_failure(unit) == case
    refuses(
        "unit id 'kind@x/a': 'x' is no severity; ids are <corruption>",
        damage.of_failure,
        "kind@x/a",
    )


@pytest.mark.parametrize(
    ("unit", "case"), [("a@b@0.5", ("", 0.5, "a@b")), ("a@0", ("sound", 0.0, "a"))]
)
def test_a_version_is_named_by_document_and_severity(unit, case):
    assert damage.of_severity(unit) == case
    refuses("'a' is no severity; ids are <document>@<severity>", damage.of_severity, "a")
