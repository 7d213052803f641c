"""The train columns: which texts are judged, and independent differences by hand."""

from math import hypot

import numpy as np
import pytest

from experiments.sheng2024 import train_columns as columns
from longform.critics.bbscore.bridge import path
from longform.documents import Predictions
from longform.evaluation.order_discrimination import order_discrimination
from longform.results import Record
from longform.text.permutations import ShuffleTask

TEXTS = Predictions(("a", "b", "c"), ("train", "validation", "test"), {"x": np.arange(3)})


def record(value, low, high, **fields):
    made = {"metric": "pairwise_accuracy", "task": "block_5", **fields}
    return Record("bbscore", value=value, low=low, high=high, **made)


def test_training_texts_are_judged_and_test_texts_set_aside():
    judged = columns.as_test_texts(TEXTS)
    assert judged.splits == ("test", "validation", "validation")
    assert judged.unit_ids == TEXTS.unit_ids
    four = Predictions(tuple("abcd"), ("train", "test", "train", "train"), {})
    assert columns.as_test_texts(four, 2).splits == ("test", "validation", "test", "validation")


def test_a_difference_of_independent_shares_is_squared_and_added():
    difference = columns.train_minus_test(record(0.8, 0.7, 0.9), record(0.6, 0.5, 0.65))
    assert difference.value == pytest.approx(0.2)
    assert difference.low == pytest.approx(0.2 - hypot(0.1, 0.05))
    assert difference.high == pytest.approx(0.2 + hypot(0.1, 0.1))


def test_a_difference_starts_from_the_interval_over_texts():
    details = {"documents_low": 0.7, "documents_high": 0.9}
    train = record(0.8, 0.1, 1.0, details=details)
    difference = columns.train_minus_test(train, record(0.6, 0.6, 0.6))
    assert (difference.low, difference.high) == pytest.approx((0.1, 0.3))


def test_heads_are_grouped_below_their_mean_and_cut_texts_left_out():
    mean, head = record(0.5, 0.4, 0.6), record(0.4, 0.3, 0.5, variant="paper_1")
    cut = record(0.9, 0.8, 1.0, variant="matched")
    other = record(0.1, 0.0, 0.2, metric="area")
    groups = columns.by_key([mean, head, cut, other])
    assert groups == {("pairwise_accuracy", "bbscore", "block_5"): {"": mean, "paper_1": head}}


def test_trainings_widen_the_interval_of_a_difference():
    def evaluate(texts):
        is_train = texts.splits[0] == "test"
        values = (0.9, 0.7) if is_train else (0.6, 0.6)  # of two heads
        records = [record(np.mean(values), 0.5, 0.9)]
        for number, value in enumerate(values):
            records.append(record(value, value, value, variant=f"paper_{number}"))
        return records

    (comparison,) = columns.compared(evaluate, TEXTS)
    assert (comparison.train.value, comparison.test.value) == pytest.approx((0.8, 0.6))
    difference = comparison.difference
    assert difference.value == pytest.approx(0.2)
    # differences 0.3 and 0.1: standard error 0.1, Student's t of one degree 12.706
    arm = 12.706204736174698 * 0.1
    assert difference.low == pytest.approx(max(0.2 - hypot(hypot(0.3, 0.3), arm), -1))
    assert difference.details["trainings"] == 2


def test_a_random_score_stands_at_chance():
    units = [path(np.arange(12.0)[:, None], f"u{number}") for number in range(40)]
    tasks = [ShuffleTask("block", (1,))]
    made = order_discrimination({"random": columns.RandomScore()}, units, tasks)
    assert made[0].low < 0.5 < made[0].high


def test_a_line_is_in_percent_and_counts_pairs_without_a_score():
    details = {"pairs": 90.0, "unscored": 2.0}
    train = record(0.8, 0.7, 0.9, units=5, details=details)
    test = record(0.6, 0.5, 0.65, units=4)
    comparison = columns.Comparison(train, test, columns.train_minus_test(train, test))
    row = columns.row_of("table_2", comparison)
    assert row[:6] == ["table_2", "bbscore", "block_5", "80.00", "70.00", "90.00"]
    assert row[9:] == ["20.00", "8.82", "34.14", 5, 4, 92, "", 1]
    assert len(row) == len(columns.COLUMNS)
