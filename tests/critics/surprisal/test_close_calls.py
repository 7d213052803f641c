"""A coarse reading whose close items are read again decides as the fine one does, and reads few of them again."""

from __future__ import annotations

import numpy as np
import pytest

from longform.core.resampling import generator
from longform.critics.surprisal.read import FIRST, ConditionBits, Judged, confirmed
from longform.datasets.test_suites.prediction_formulas import parse

FORMULA = (parse("(2;%b%) > (2;%a%)"),)


def condition(bits) -> ConditionBits:
    return ConditionBits(np.asarray(bits, dtype=np.float64), np.array([0] + [1] * (len(bits) - 1)), (1, 2))


def items(count: int, metric: str = "sum", formulas=FORMULA) -> list[Judged]:
    return [Judged(metric, formulas, {"a": 2 * i, "b": 2 * i + 1}) for i in range(count)]


def readings(count: int, noise: float, seed: int) -> tuple[list[ConditionBits], list[ConditionBits]]:
    rng = generator("close calls", seed)
    fine = [rng.gamma(2.0, 2.0, 6) for _ in range(2 * count)]
    coarse = [bits + rng.normal(0, noise, 6) for bits in fine]
    return [condition(bits) for bits in fine], [condition(bits) for bits in coarse]


def signs(judged: list[Judged], read: list[ConditionBits]) -> list[bool]:
    return [bool(item.differences(read)[0] > 0) for item in judged]


@pytest.mark.parametrize("metric", ["sum", "mean", "max", "median"])
@pytest.mark.parametrize("seed", range(3))
def test_every_decision_is_that_of_the_fine_reading(metric, seed):
    judged = items(600, metric)
    fine, coarse = readings(600, 0.05, seed)
    assert signs(judged, coarse) != signs(judged, fine)
    found, again = confirmed(judged, coarse, lambda places: [fine[place] for place in places])
    assert signs(judged, found) == signs(judged, fine)
    assert FIRST <= again < 150


def test_what_is_far_apart_keeps_the_coarse_reading():
    judged = items(600)
    fine, coarse = readings(600, 0.05, 0)
    found, again = confirmed(judged, coarse, lambda places: [fine[place] for place in places])
    kept = sum(found[place] is coarse[place] for place in range(1200))
    assert kept == 1200 - 2 * again
    margins = [abs(item.differences(coarse)[0]) for item in judged]
    settled = [found[item.places["a"]] is not coarse[item.places["a"]] for item in judged]
    assert max(m for m, s in zip(margins, settled, strict=True) if s) < min(
        m for m, s in zip(margins, settled, strict=True) if not s
    )


def test_a_larger_error_than_was_seen_at_first_widens_what_is_read_again():
    judged = items(100)
    fine = [condition([0.0, 0.0]) if i % 2 == 0 else condition([0.0, 0.01 * (i // 2 + 1)]) for i in range(200)]
    coarse = [condition(bits.bits + (0.2 if i == 1 else 0.0)) for i, bits in enumerate(fine)]
    _, again = confirmed(judged, coarse, lambda places: [fine[place] for place in places])
    assert again == FIRST  # item 0 stands at 0.21, outside the first 16: its error of 0.2 stays unseen
    coarse = [condition(bits.bits - (0.2 if i == 5 else 0.0)) for i, bits in enumerate(fine)]
    _, again = confirmed(judged, coarse, lambda places: [fine[place] for place in places])
    assert again == 40  # item 2 stands at -0.17, is met on the way, and everything up to 2 x 0.2 follows


def test_a_reading_without_error_confirms_only_the_first():
    fine, _ = readings(50, 0.0, 1)
    asked = []
    found, again = confirmed(items(50), fine, lambda places: asked.append(places) or [fine[p] for p in places])
    assert (again, len(asked)) == (FIRST, 1)
    assert signs(items(50), found) == signs(items(50), fine)


def test_every_comparison_of_a_formula_counts_and_metrics_are_apart():
    both = (parse("((1;%a%) > 0.5) & ((2;%a%) + (2;%b%) < 3)"),)
    judged = [Judged("sum", both, {"a": 0, "b": 1}), Judged("mean", FORMULA, {"a": 2, "b": 3})]
    read = [condition([0.4, 1.0]), condition([9.0, 1.5]), condition([0.0, 2.0, 4.0]), condition([0.0, 1.0])]
    np.testing.assert_allclose(judged[0].differences(read), [-0.1, -0.5])
    np.testing.assert_allclose(judged[1].differences(read), [1.0 - 3.0])
    assert confirmed(judged, read, lambda places: [read[p] for p in places])[1] == 2


def test_a_region_without_tokens_has_no_margin_and_stops_nothing():
    empty = ConditionBits(np.array([1.0]), np.array([0]), (1, 2))
    judged = [Judged("mean", FORMULA, {"a": 0, "b": 1})]
    found, again = confirmed(judged, [empty, empty], lambda places: [empty for _ in places])
    assert (len(found), again) == (2, 1)
    assert np.isnan(judged[0].differences([empty, empty])).all()


def test_nothing_to_read_is_nothing_read():
    assert confirmed([], [], lambda places: []) == ([], 0)
