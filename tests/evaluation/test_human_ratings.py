"""Correlation with people: values against mean marks, whole clusters, and comparisons of scorers that keep their level."""

import numpy as np
import pytest

from longform.core.resampling import generator
from longform.core.results import Results
from longform.evaluation.agreement import compare_correlations
from longform.evaluation.human_ratings import combined_scorers, rating_records

VALUES, MARKS = [1.0, 2.0, 4.0, 3.0, 7.0], [[1, 2], [2, 2], [5, 4], [1, 6], [7, 7]]


def records(columns, marks, systems=(), told=None):
    """Two texts of a cluster each."""
    clusters = [f"c{i // 2}" for i in range(len(marks))]
    columns = {name: np.array(values, dtype=float) for name, values in columns.items()}
    return Results(rating_records(columns, np.array(marks, dtype=float), clusters, systems, told))


def test_values_are_correlated_with_mean_marks_and_missing_ones_counted():
    found = records({"given": [*VALUES, np.nan, 3.0]}, [*MARKS, [1, 1], [np.nan, np.nan]])
    one = found.one(critic="given", metric="pearson", task="text")
    assert one.value == pytest.approx(np.corrcoef(VALUES, np.mean(MARKS, axis=1))[0, 1])
    assert (one.units, one.excluded) == (5, 2) and one.low <= one.value <= one.high
    assert found.one(metric="rater_agreement").value == pytest.approx(np.corrcoef(np.array([*MARKS, [1, 1]]).T)[0, 1])


def test_systems_are_compared_by_their_means():
    found = records({"given": [1, 3, 5, 5, 0, 2]}, [[1], [1], [3], [3], [2], [2]], ["a", "a", "b", "b", "c", "c"])
    assert found.one(metric="pearson", task="system").value == pytest.approx(np.corrcoef([2, 5, 1], [1, 3, 2])[0, 1])


def test_a_distance_keeps_its_sign_and_is_turned_where_scorers_are_compared():
    found = records({"near": VALUES, "far": VALUES}, MARKS, told={"near": ("higher", ""), "far": ("lower", "")})
    assert found.one(critic="far", metric="pearson").value == found.one(critic="near", metric="pearson").value
    difference = found.one(metric="pearson_difference")
    assert (difference.critic, difference.variant) == ("near", "far")
    assert difference.value == pytest.approx(2 * found.one(critic="near", metric="pearson").value)
    assert found.one(metric="intercorrelation").value == pytest.approx(1)


def clustered_draw(rng, clusters, size):
    """Two scorers that correlate equally with ratings; whatever they share is shared by whole clusters."""
    shared = rng.normal(size=(3, clusters, 1)) + 0.1 * rng.normal(size=(3, clusters, size))
    first, second, people = (0.5 * shared[2] + shared[0], 0.5 * shared[2] + shared[1], shared[2])
    return [side.ravel() for side in (first, second, people)], np.repeat(np.arange(clusters), size)


def test_two_scorers_of_twelve_versions_of_an_article_are_known_no_better_than_articles_are_many():
    sides, clusters = clustered_draw(generator("versions"), 30, 12)
    widths = []
    for groups in (clusters, np.arange(360)):
        columns = {"one": sides[0], "other": sides[1]}
        records = rating_records(columns, sides[2][:, None], groups.astype(str).tolist())
        found = Results(records).one(metric="intercorrelation")
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("size", [1, 12])
def test_a_comparison_of_two_scorers_keeps_its_level_whatever_the_clusters(size):
    """Twelve summaries of one article are not twelve texts, and the better scorer is not known before the data."""
    rng, rejected = generator("level", size), 0
    for trial in range(150):
        sides, clusters = clustered_draw(rng, 20, size)
        rejected += compare_correlations("pearson", *sides, clusters, generator("trial", size, trial), 200) < 0.05
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
    assert combined.value > best.value and combined.units + combined.details["fitted_on"] == 120
    assert {record.critic for record in weights} == {"a", "b"}
