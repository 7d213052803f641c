"""Correlation with people: values against mean marks, whole clusters, and comparisons of scorers that keep their level."""

from dataclasses import dataclass

import numpy as np
import pytest

from longform.core.documents import BadInput, Readout
from longform.core.resampling import generator
from longform.core.results import Results
from longform.evaluation.agreement import compare_correlations
from longform.evaluation.human_ratings import (
    RatedUnit,
    better_scorers,
    combined_scorers,
    human_ratings,
    rated_units,
    rating_records,
)


@dataclass(frozen=True)
class Unit:
    unit_id: str
    split: str
    value: float


@dataclass(frozen=True)
class Given:
    better: str = "higher"

    def fit(self, real):
        assert all(isinstance(unit, Unit) for unit in real)
        return self

    def coherence(self, units):
        return [unit.value for unit in units]


VALUES, MARKS = [1.0, 2.0, 4.0, 3.0, 7.0], [[1, 2], [2, 2], [5, 4], [1, 6], [7, 7]]


def rated(values, marks, systems=None):
    rows = zip(values, marks, systems or [""] * len(values), strict=True)
    return [
        RatedUnit(Unit(f"u{i}", "test", v), np.array(m, dtype=float), f"c{i // 2}", s)
        for i, (v, m, s) in enumerate(rows)
    ]


def test_values_are_correlated_with_mean_marks_and_missing_ones_counted():
    values, marks = [*VALUES, np.nan, 3.0], [*MARKS, [1, 1], [np.nan, np.nan]]
    found = Results(human_ratings({"given": Given()}, rated(values, marks), train=rated(VALUES, MARKS)))
    one = found.one(critic="given", metric="pearson", task="text")
    assert one.value == pytest.approx(np.corrcoef(VALUES, np.mean(MARKS, axis=1))[0, 1])
    assert (one.units, one.excluded) == (5, 2) and one.low <= one.value <= one.high
    assert found.one(metric="rater_agreement").value == pytest.approx(np.corrcoef(np.array([*MARKS, [1, 1]]).T)[0, 1])


def test_systems_are_compared_by_their_means():
    units = rated([1, 3, 5, 5, 0, 2], [[1], [1], [3], [3], [2], [2]], ["a", "a", "b", "b", "c", "c"])
    found = Results(human_ratings({"given": Given()}, units))
    assert found.one(metric="pearson", task="system").value == pytest.approx(np.corrcoef([2, 5, 1], [1, 3, 2])[0, 1])


def test_a_distance_keeps_its_sign_and_is_turned_where_scorers_are_compared():
    scorers = {"near": Given(), "far": Given("lower")}
    found = Results(human_ratings(scorers, rated(VALUES, MARKS)))
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
    found = better_scorers(columns, people, np.repeat(np.arange(40), 3))
    assert list(found) == [("good", "noise")] and found["good", "noise"][0] < 0.01
    records = rating_records(columns, people[:, None], np.repeat(np.arange(40), 3).tolist())
    gap = next(r for r in records if r.metric == "pearson_difference" and r.critic == "noise" and r.variant == "good")
    assert gap.high < 0 and gap.p_value < 0.01


def test_scorers_are_combined_on_other_clusters_than_they_are_judged_on():
    rng = generator("combined")
    columns = {"a": rng.normal(size=120), "b": rng.normal(size=120)}
    people = columns["a"] + columns["b"] + 0.3 * rng.normal(size=120)
    combined, best, *weights = combined_scorers(columns, people, np.repeat(np.arange(20), 6))
    assert combined.value > best.value and combined.units + combined.details["fitted_on"] == 120
    assert {record.critic for record in weights} == {"a", "b"}


def test_marks_travel_in_the_readout():
    arrays = {"marks": np.array([[1, 2], [3, 4]]), "system": np.array(["a", "b"])}
    units = rated_units([Unit("u", "test", 1.0), Unit("v", "test", 2.0)], Readout(("u", "v"), ("test", "test"), arrays))
    assert [(u.unit_id, u.marks.tolist(), u.cluster, u.system) for u in units] == [
        ("u", [1, 2], "", "a"),
        ("v", [3, 4], "", "b"),
    ]
    with pytest.raises(BadInput, match="no marks"):
        rated_units([], Readout((), (), {}))
