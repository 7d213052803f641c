"""Stepwise regression: the fit against SciPy, planted predictors found, and clusters held out whole."""

import numpy as np
import pytest
from scipy import stats

from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.evaluation.human_ratings import combined_scorers, least_squares, stepwise


def planted(items: int = 200) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = generator("regression", items)
    columns = {name: rng.normal(size=items) for name in ("first", "second", "noise", "other")}
    columns["copy"] = columns["first"] + 1e-9 * rng.normal(size=items)
    columns["constant"] = np.ones(items)
    return columns, 3 + 2 * columns["first"] - columns["second"] + 0.5 * rng.normal(size=items)


def test_one_predictor_equals_scipys_line():
    rng = generator("line")
    x, y = rng.normal(size=30), rng.normal(size=30)
    weights, p_values = least_squares(x[:, None], y)
    line = stats.linregress(x, y)
    assert (weights[1], weights[0], p_values[1]) == pytest.approx((line.slope, line.intercept, line.pvalue))


def test_it_keeps_what_was_planted_and_neither_noise_copy_nor_constant():
    columns, response = planted()
    model = stepwise(columns, response)
    assert {"second"} < set(model.names) and len({"first", "copy"} & set(model.names)) == 1
    assert "constant" not in model.names
    weights = dict(zip(model.names, model.weights / model.scales, strict=True))
    assert weights["second"] == pytest.approx(-1, abs=0.1)
    assert model.predict(columns) @ response > 0


def test_a_predictor_that_others_replace_is_removed():
    rng = generator("suppressed")
    a, b = rng.normal(size=(2, 300))
    mixed = a + b + 0.3 * rng.normal(size=300)
    model = stepwise({"mixed": mixed, "a": a, "b": b}, a + b + 0.01 * rng.normal(size=300))
    assert set(model.names) == {"a", "b"}


def test_items_with_a_missing_value_are_left_out_of_the_fit():
    columns, response = planted()
    broken = columns | {"first": np.where(np.arange(200) < 5, np.nan, columns["first"])}
    trimmed = {name: values[5:] for name, values in columns.items()}
    assert stepwise(broken, response).names == stepwise(trimmed, response[5:]).names


def test_the_combined_model_is_judged_on_unseen_clusters():
    columns, response = planted()
    found = combined_scorers(columns, response, np.repeat(np.arange(20), 10))[0]
    assert found.value > 0.9 and (found.details["fitted_on"], found.units) == (130, 70)


def test_bad_input_is_named():
    columns, response = planted(20)
    with pytest.raises(BadInput, match="of one mark"):
        stepwise(columns, np.ones(20))
    with pytest.raises(BadInput, match="clusters"):
        combined_scorers(columns, response, [0] * 20)
