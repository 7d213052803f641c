"""Agreement, correlations with people, stepwise regression and Wilson's interval, against loops, tables by hand and SciPy."""

import math

import numpy as np
import pytest
from scipy import stats

from longform.core.resampling import generator
from longform.core.results import Results
from longform.evaluation import agreement
from longform.evaluation.agreement import correlate, krippendorff_alpha, leave_one_out
from longform.evaluation.human_ratings import combined_scorers, rating_records, stepwise
from longform.evaluation.measurements import wilson
from tests.refusals import refuses

NAN = math.nan
VALUES, MARKS = [1.0, 2.0, 4.0, 3.0, 7.0], [[1, 2], [2, 2], [5, 4], [1, 6], [7, 7]]


def records(columns, marks, systems=(), told=None):
    """Two texts of a cluster each."""
    clusters = [f"c{i // 2}" for i in range(len(marks))]
    columns = {name: np.array(values, dtype=float) for name, values in columns.items()}
    return Results(rating_records(columns, np.array(marks, dtype=float), clusters, systems, told))


def test_values_and_means_of_systems_are_correlated_with_marks():
    found = records({"given": [*VALUES, np.nan, 3.0]}, [*MARKS, [1, 1], [np.nan, np.nan]])
    one = found.one(critic="given", metric="pearson", task="text")
    assert one.value == pytest.approx(np.corrcoef(VALUES, np.mean(MARKS, axis=1))[0, 1])
    assert (one.units, one.excluded) == (5, 2) and one.low <= one.value <= one.high
    assert found.one(metric="rater_agreement").value == pytest.approx(np.corrcoef(np.array([*MARKS, [1, 1]]).T)[0, 1])
    found = records({"given": [1, 3, 5, 5, 0, 2]}, [[1], [1], [3], [3], [2], [2]], ["a", "a", "b", "b", "c", "c"])
    assert found.one(metric="pearson", task="system").value == pytest.approx(np.corrcoef([2, 5, 1], [1, 3, 2])[0, 1])
    # a distance keeps its sign, and is turned where scorers are compared
    found = records({"near": VALUES, "far": VALUES}, MARKS, told={"near": ("higher", ""), "far": ("lower", "")})
    assert found.one(critic="far", metric="pearson").value == found.one(critic="near", metric="pearson").value
    difference = found.one(metric="pearson_difference")
    assert (difference.critic, difference.variant) == ("near", "far")
    assert difference.value == pytest.approx(2 * found.one(critic="near", metric="pearson").value)
    assert found.one(metric="intercorrelation").value == pytest.approx(1)


def clustered_draw(rng, clusters, size):
    """Two scorers that correlate equally with ratings; whatever they share is shared by whole clusters."""
    first, second, people = rng.normal(size=(3, clusters, 1)) + 0.1 * rng.normal(size=(3, clusters, size))
    sides = (0.5 * people + first, 0.5 * people + second, people)
    return [side.ravel() for side in sides], np.repeat(np.arange(clusters), size)


def test_two_scorers_of_twelve_versions_of_an_article_are_known_no_better_than_articles_are_many():
    (one, other, people), clusters = clustered_draw(generator("versions"), 30, 12)
    widths = []
    for groups in (clusters, np.arange(360)):
        made = rating_records({"one": one, "other": other}, people[:, None], groups.astype(str).tolist())
        found = Results(made).one(metric="intercorrelation")
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("size", [1, 12])
def test_a_comparison_of_two_scorers_keeps_its_level_whatever_the_clusters(size):
    """Twelve summaries of one article are not twelve texts, and the better scorer is not known before the data."""
    rng, rejected = generator("level", size), 0
    for trial in range(150):
        sides, clusters = clustered_draw(rng, 20, size)
        rejected += agreement.compare_correlations(*sides, clusters, generator("trial", size, trial), 200) < 0.05
    assert rejected <= 17  # 5 % of 150 is 7.5; more than 17 has probability below 1e-3


def test_a_scorer_that_people_agree_with_is_found_to_be_the_better_one():
    rng = generator("better")
    people = rng.normal(size=120)
    columns = {"noise": rng.normal(size=120), "good": people + rng.normal(size=120), "short": np.full(120, 1.0)}
    made = rating_records(columns, people[:, None], np.repeat(np.arange(40), 3).tolist())
    gap = next(r for r in made if r.metric == "pearson_difference" and r.critic == "noise" and r.variant == "good")
    assert gap.high < 0 and gap.p_value < 0.01


def test_scorers_are_combined_on_other_clusters_than_they_are_judged_on():
    rng = generator("combined")
    columns = {"a": rng.normal(size=120), "b": rng.normal(size=120)}
    people = columns["a"] + columns["b"] + 0.3 * rng.normal(size=120)
    combined, best, *weights = combined_scorers(columns, people, np.repeat(np.arange(20), 6))
    assert combined.value > max(0.9, best.value) and (combined.units, combined.details["fitted_on"]) == (42, 78)
    assert {record.critic for record in weights} == {"a", "b"}
    refuses("clusters", combined_scorers, columns, people, [0] * 120)


KINDS = pytest.mark.parametrize("kind", ["pearson", "spearman"])


@KINDS
def test_coefficients_equal_scipys_resampled_too_and_missing_pairs_are_counted(kind):
    rng = generator("correlate")
    x, y = rng.normal(size=30), rng.normal(size=30)
    y[3] = NAN
    mine, kept = correlate(kind, x, y), ~np.isnan(y)
    theirs = getattr(stats, f"{kind}r")(x[kept], y[kept])
    assert (mine.value, mine.p_value) == pytest.approx(tuple(theirs)) and mine.low < mine.value < mine.high
    assert (mine.items, mine.excluded) == (29, 1)
    if kind == "pearson":
        assert (mine.low, mine.high) == pytest.approx(tuple(theirs.confidence_interval()))
    # the value that is resampled, one by one and many at once
    rng = generator("value alone", kind)
    for size in (3, 4, 10, 200):
        x = rng.normal(size=size)
        for y in (rng.normal(size=size), 3 * x - 1, -x, np.round(x), np.ones(size)):
            assert agreement.value_of(kind, x, y) == pytest.approx(correlate(kind, x, y).value, abs=1e-9, nan_ok=True)
    assert np.isnan(agreement.value_of(kind, x[:2], x[:2]))
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=12).round(1), rng.integers(0, 4, 12).astype(float)
    counts = np.concatenate([rng.poisson(1.0, (40, 12)), np.eye(12), 2 * np.eye(12)[:, ::-1] + np.eye(12)])
    rows = [np.repeat(np.arange(12), times) for times in counts.astype(int)]
    one_by_one = [agreement.value_of(kind, x[row], y[row]) for row in rows]
    np.testing.assert_allclose(agreement.weighted_values(kind, x, y, counts), one_by_one, rtol=1e-12, atol=1e-15)
    assert np.isnan(one_by_one).any() and not np.isnan(one_by_one).all()


@KINDS
def test_intervals_cover_the_truth_about_as_often_as_they_say(kind):
    rho = 0.6
    truth = {"pearson": rho, "spearman": 6 / np.pi * np.arcsin(rho / 2)}[kind]
    rng, hits = generator("cover", kind), 0
    for _ in range(300):
        x = rng.normal(size=40)
        found = correlate(kind, x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=40))
        hits += found.low <= truth <= found.high
    assert 0.90 <= hits / 300 <= 0.99


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
    assert (found.raters, found.excluded) == (5, 0)  # and a constant rater is counted out:
    ratings = np.array([[1, 2, 3, 4], [2, 2, 3, 5], [4, 4, 4, 4.0]])
    assert leave_one_out(ratings, generator("b"), resamples=5).raters == 2
    refuses("constant", leave_one_out, np.full((3, 5), 4.0), generator("b"))
    refuses("two raters", leave_one_out, np.ones((1, 5)), generator("b"))


# Krippendorff (2011, "Computing Krippendorff's alpha-reliability"), example with missing data, four observers, twelve units
KRIPPENDORFF = np.array([[1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
                         [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN]])  # fmt: skip


def test_alpha_equals_krippendorffs_printed_example_and_what_is_constant_or_empty_is_undefined():
    for level, alpha in (("nominal", 0.743), ("interval", 0.849)):
        assert krippendorff_alpha(KRIPPENDORFF, level) == pytest.approx(alpha, abs=5e-4)
    for x in ([1, 1, 1, 1], [1, 2, NAN, NAN]):
        assert math.isnan(correlate("pearson", np.array(x), np.arange(4.0)).value)
    assert math.isnan(krippendorff_alpha(np.ones((2, 4))))
    refuses("no item", krippendorff_alpha, np.array([[1, NAN], [NAN, 2]]))
    refuses("allowed are", krippendorff_alpha, KRIPPENDORFF, "cardinal")
    assert math.isnan(agreement.cohen_kappa([3, 3], [3, 3]))
    refuses("kappa of 1 and 2", agreement.cohen_kappa, [1], [1, 2])


def test_stepwise_keeps_what_was_planted_and_removes_what_others_replace():
    rng = generator("regression", 200)
    columns = {name: rng.normal(size=200) for name in ("first", "second", "noise", "other")}
    columns |= {"copy": columns["first"] + 1e-9 * rng.normal(size=200), "constant": np.ones(200)}
    response = 3 + 2 * columns["first"] - columns["second"] + 0.5 * rng.normal(size=200)
    model = stepwise(columns, response)
    assert {"second"} < set(model.names) and len({"first", "copy"} & set(model.names)) == 1
    assert "constant" not in model.names
    weights = dict(zip(model.names, model.weights / model.scales, strict=True))
    assert weights["second"] == pytest.approx(-1, abs=0.1)
    assert model.predict(columns) @ response > 0
    broken = columns | {"first": np.where(np.arange(200) < 5, np.nan, columns["first"])}
    trimmed = {name: values[5:] for name, values in columns.items()}
    assert stepwise(broken, response).names == stepwise(trimmed, response[5:]).names
    rng = generator("suppressed")
    a, b = rng.normal(size=(2, 300))
    mixed = a + b + 0.3 * rng.normal(size=300)
    model = stepwise({"mixed": mixed, "a": a, "b": b}, a + b + 0.01 * rng.normal(size=300))
    assert set(model.names) == {"a", "b"}
    refuses("of one mark", stepwise, columns, np.ones(200))


def test_wilson_equals_newcombes_printed_examples():
    """Newcombe (1998), Statistics in Medicine 17:857, Table I, method 3."""
    for given, low, high in (((81, 263), 0.2553, 0.3662), ((15, 148), 0.0624, 0.1605), ((0, 20), 0, 0.1611),
                             ((1, 29), 0.0061, 0.1718)):  # fmt: skip
        assert wilson(*given) == pytest.approx((low, high), abs=5e-5)
    refuses("3 out of 2", wilson, 3, 2)
