"""Correlations with people on small tables: what is fitted, what is left out, what a record says."""

import math

import numpy as np
import pytest

from longform.evaluation import human_ratings as h
from longform.results import Results
from longform.statistics.random_streams import generator
from tests.refusals import refuses

NAN = math.nan


def test_least_squares_gives_weights_and_p_values_or_nan():
    table = np.array([[0.0], [1.0], [2.0], [3.0]])
    weights, p_values = h.least_squares(table, np.array([1.0, 4.0, 5.0, 8.0]))
    assert weights == pytest.approx([1.2, 2.2])
    # residuals -.2, .6, -.6, .2: variance .8 / 2, of the slope .4 / 5, t = 7.778 with 2 degrees
    t = 2.2 / math.sqrt(0.08)
    assert p_values[1] == pytest.approx(1 - t / math.sqrt(2 + t * t))
    twice = np.column_stack([table, table])
    weights, p_values = h.least_squares(twice, np.array([1.0, 3.0, 5.0, 7.0]))
    assert weights == pytest.approx([1.0, 1.0, 1.0]) and np.isnan(p_values).tolist() == [True] * 3
    weights, p_values = h.least_squares(table[:2], np.array([1.0, 3.0]))
    assert weights == pytest.approx([1.0, 2.0]) and np.isnan(p_values).all()


WAVE = np.array([1.0, -1, -1, 1, 1, -1, -1, 1])  # goes with nothing else here
STEPS = np.arange(8.0)


def test_stepwise_weighs_what_it_selects_per_standard_deviation():
    columns = {"flat": np.ones(8), "wave": WAVE, "steps": STEPS}
    model = h.stepwise(columns, 3.0 * STEPS + 0.01 * WAVE + 5.0)
    assert model.names == ("steps", "wave")
    assert model.intercept == pytest.approx(15.5)
    assert model.weights == pytest.approx([3 * STEPS.std(), 0.01])
    assert model.centres == pytest.approx([3.5, 0]) and model.scales == pytest.approx(
        [5.25**0.5, 1]
    )
    assert (model.p_values < 1e-9).all()
    new = {"wave": np.array([0.0, NAN]), "steps": np.array([10.0, 1.0]), "flat": np.zeros(2)}
    assert model.predict(new)[0] == pytest.approx(35.0) and math.isnan(model.predict(new)[1])
    alone = h.stepwise({"steps": STEPS}, WAVE)
    assert alone.names == () and alone.predict({"steps": np.zeros(3)}).tolist() == [0.0] * 3


def test_ratings_and_systems_are_averaged_over_what_there_is():
    found = h._mean_ratings(np.array([[1.0, 3.0], [NAN, 5.0], [NAN, NAN]]))
    assert found[:2].tolist() == [2, 5] and math.isnan(found[2])
    values = np.array([1.0, 3.0, NAN, 5.0, 7.0])
    people = np.array([1.0, 2.0, 9.0, NAN, 4.0])
    of_systems = h._means_by_system(["b", "b", "a", "a", "a"], values, people)
    assert [one.tolist() for one in of_systems] == [[7, 2], [4, 1.5]]
    assert h._best_scorer({"x": -STEPS, "flat": np.ones(8), "wave": WAVE}, STEPS) == "x"
    assert h._best_scorer({"flat": np.ones(8), "wave": WAVE}, STEPS) == "wave"


CLUSTERS = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"]
X = np.arange(12.0)
PEOPLE = 2.0 * X + np.array([0.5, -0.5, -0.5, 0.5] * 3)
Y = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])


def test_scorers_are_combined_on_four_of_six_clusters_and_tested_on_two():
    found = Results(h.combined_scorers({"y": Y, "x": X}, PEOPLE, CLUSTERS, name="n"))
    order = generator("n", "regression").permutation(6)
    names = "abcdef"
    fitted = np.isin(CLUSTERS, [names[i] for i in order[:4]])
    assert [(one.critic, one.metric) for one in found] == [
        ("combined", "held_out_correlation"),
        ("x", "held_out_correlation"),
        ("x", "weight"),
    ]
    combined, best, weight = found
    expected = np.corrcoef(X[~fitted], PEOPLE[~fitted])[0, 1]
    assert combined.value == pytest.approx(expected) and best.value == pytest.approx(expected)
    assert combined.units == best.units == 4 and best.details == {"fitted_on": 8}
    slope = np.polyfit(X[fitted], PEOPLE[fitted], 1)[0]
    assert weight.value == pytest.approx(slope * X[fitted].std()) and weight.units == 8
    assert weight.p_value < 1e-4
    refuses("1 cluster, at least two", h.combined_scorers, {"x": X}, PEOPLE, ["a"] * 12)
    two = ["a"] * 6 + ["b"] * 6
    assert h.combined_scorers({"x": X}, PEOPLE, two)[0].details == {"fitted_on": 6}
