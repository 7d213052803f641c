"""Calibration error: by hand on two bins, near chance for a calibrated reader, large for an overconfident one."""

import numpy as np
import pytest
from critics.test_title_chains import readout, real

from longform.critics.section_order.calibration import CalibrationError, ConfidentTitles, units_from_readout
from longform.documents import BadInput, Readout
from longform.resampling import generator


def unit(confidence, correct, name="a"):
    return ConfidentTitles(name, "test", np.array(confidence), np.array(correct, dtype=bool))


def test_two_bins_by_hand():
    metric = CalibrationError(bins=2)
    units = [unit([0.2, 0.4], [1, 0]), unit([0.9, 0.7, 0.8, 1.0], [1, 1, 1, 0], "b")]
    # (0, 0.5]: 1 right of 2 at 0.3; (0.5, 1]: 3 right of 4 at 0.85
    assert metric.score(metric.tally(units)) == pytest.approx((2 * 0.2 + 4 * 0.10) / 6)


def test_a_calibrated_reader_is_near_what_chance_gives_and_an_overconfident_one_is_not():
    rng = generator("calibrated")
    confidence = rng.uniform(0.3, 1.0, 3000)
    good = [unit(confidence, rng.random(3000) < confidence)]
    over = [unit(np.sqrt(confidence), rng.random(3000) < confidence)]
    metric = CalibrationError()
    chance = metric.describe(good)["expected_by_chance"]
    assert 0.3 * chance < metric.score(metric.tally(good)) < 2 * chance < metric.score(metric.tally(over))


def test_the_edges_of_confidence_fall_into_the_first_and_last_bin():
    found = CalibrationError(bins=4).describe([unit([1e-9, 0.25, 1.0], [1, 1, 1])])["bins"]
    assert [(low, count) for low, _, count, _, _ in found] == [(0.0, 2.0), (0.75, 1.0)]


def test_documents_without_gold_titles_are_excluded_and_counted():
    metric = CalibrationError()
    tally = metric.tally([unit([], []), unit([0.9], [1], "b")])
    assert tally.total("excluded") == 1
    assert np.isnan(metric.score(metric.tally([unit([], [])])))


def test_units_come_from_the_title_readout():
    units = real(0.2)
    made = readout(units)
    posterior = made.arrays["log_posterior"]
    arrays = {**made.arrays, "confidence": np.exp(posterior.max(axis=1))}
    arrays["confidence_lengths"] = made.arrays["gold_lengths"]
    found = units_from_readout(Readout(made.unit_ids, made.splits, arrays))
    right = sum(p == g for u in units for p, g in zip(u.symbols, u.gold, strict=True))
    assert sum(int(u.correct.sum()) for u in found) == right


def test_no_bins_is_refused():
    with pytest.raises(BadInput, match="whole number from 1"):
        CalibrationError(bins=0)
