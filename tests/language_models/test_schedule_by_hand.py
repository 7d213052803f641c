"""Numbers of a training plan by hand: updates, rates, batches of each process, and the bounds of its settings."""

import math

import pytest

from longform.language_models import schedule
from longform.language_models.schedule import (
    Schedule,
    TrainingBatches,
    Turns,
    ValidationBatches,
    arithmetic,
    linear_schedule,
)
from longform.statistics.random_streams import generator
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("items", "settings", "updates"),
    [
        (100, {"batch": 10, "epochs": 1, "validations": 1}, 10),
        (101, {"batch": 10, "epochs": 1, "validations": 1}, 11),
        (100, {"batch": 10, "epochs": 1, "validations": 4}, 12),
        (100, {"batch": 10, "epochs": 2, "validations": 4}, 20),
        (100, {"batch": 10, "epochs": 0.5, "validations": 1, "accumulate": 5}, 1),
        (100, {"batch": 5, "epochs": 3, "validations": 2, "accumulate": 2}, 30),
        (1, {"batch": 10, "epochs": 1, "validations": 4}, 4),
        (0, {"batch": 10, "epochs": 1, "validations": 3}, 3),
    ],
)
def test_updates_are_a_multiple_of_the_validations(items, settings, updates):
    assert Schedule(learning_rate=0.1, **settings).updates(items) == updates


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"batch": 0}, "batch=0, allowed is a whole number from 1"),
        ({"batch": 1.5}, "batch=1.5"), ({"accumulate": 0}, "accumulate=0"), ({"validations": True}, "validations=True"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0, allowed is a positive number"),
        ({"learning_rate": math.inf}, "learning_rate=inf"), ({"learning_rate": "1"}, "learning_rate='1'"),
        ({"epochs": 0}, "epochs=0"), ({"epochs": math.nan}, "epochs=nan"), ({"clip": -0.1}, "clip=-0.1"),
        ({"precision": "8-bit"}, "precision='8-bit', allowed are"),
    ],
)  # fmt: skip
def test_a_setting_beyond_its_bounds_is_refused(settings, sentence):
    given = {"learning_rate": 0.1, "batch": 2, "epochs": 1, **settings}
    refuses(f"^schedule has {sentence}", Schedule, **given)


def test_settings_at_their_bounds_and_defaults():
    plan = Schedule(learning_rate=0, batch=1, epochs=1e-9, clip=0)
    assert (plan.accumulate, plan.validations, plan.warmup, plan.weight_decay) == (1, 4, 0.05, 0.0)
    assert (Schedule(0.1, 1, 1).clip, plan.precision, plan.compile, plan.checkpointing) == (
        1.0,
        "32-true",
        False,
        False,
    )
    assert Schedule.from_settings({"learning_rate": 0.1, "batch": 2, "epochs": 3}) == Schedule(
        0.1, 2, 3
    )
    refuses("schedule has 'rate'; allowed are", Schedule.from_settings, {"rate": 1})


def test_forward_passes_are_shared_evenly_by_processes(monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICES", "2")
    assert Schedule(0.1, 1, 1, accumulate=4).launch.world == 2
    refuses(
        "accumulate=3, which 2 processes cannot share evenly; take a multiple of 2",
        Schedule,
        0.1,
        1,
        1,
        accumulate=3,
    )


@pytest.mark.parametrize(
    ("updates", "warmup", "rates"),
    [
        (4, 0.5, [0.5, 1.0, 1.0, 0.5, 0.0]),
        (4, 0.0, [1.0, 1.0, 2 / 3, 1 / 3, 0.0]),
        (2, 1.0, [0.5, 1.0, 0.0, 0.0]),
        (1, 0.0, [1.0, 0.0]),
    ],
)
def test_the_rate_rises_over_its_share_and_falls_to_zero_on_a_line(updates, warmup, rates):
    rate = linear_schedule(updates, warmup)
    assert [rate(step) for step in range(len(rates))] == pytest.approx(rates)


def test_batches_run_through_named_permutations_without_a_gap():
    plan = Schedule(0.1, batch=3, epochs=2, validations=2, accumulate=1)
    sampler = TrainingBatches(4, plan, seed=9)
    orders = [generator(9, "order", epoch).permutation(4).tolist() for epoch in range(5)]
    flat = [item for order in orders for item in order]
    assert len(sampler) == plan.updates(4) // 2 == 2
    first = list(sampler)
    sampler.set_epoch(1)
    assert first + list(sampler) == [flat[start : start + 3] for start in (0, 3, 6, 9)]


@pytest.mark.parametrize(
    ("items", "batch", "world", "process", "batches"),
    [
        (5, 2, 1, 0, [[0, 1], [2, 3], [4]]), (4, 2, 1, 0, [[0, 1], [2, 3]]), (5, 2, 2, 0, [[0, 1], [4]]),
        (5, 2, 2, 1, [[2, 3], [4]]), (1, 2, 2, 1, [[0]]),
    ],
)  # fmt: skip
def test_validation_batches_are_dealt_out_and_the_last_repeated(
    items, batch, world, process, batches, monkeypatch
):
    monkeypatch.setattr(schedule, "rank", lambda: process)
    sampler = ValidationBatches(items, batch, world)
    assert list(sampler) == batches and len(sampler) == len(batches)
    own = [sampler.counts(step) for step in range(len(sampler))]
    numbers = [step * world + process for step in range(len(sampler))]
    assert own == [number < -(-items // batch) for number in numbers]


@pytest.mark.parametrize(
    ("items", "batch", "world", "process", "turns"),
    [
        (5, 2, 1, 0, [[0, 1], [2, 3], [4]]),
        (5, 2, 2, 1, [[1, 3], []]),
        (5, 2, 2, 0, [[0, 2], [4]]),
        (1, 2, 2, 1, [[]]),
        (4, 1, 3, 0, [[0], [3]]),
        (4, 1, 3, 1, [[1], []]),
        (4, 1, 3, 2, [[2], []]),
        (0, 2, 1, 0, [[]]),
    ],
)
def test_turns_are_every_nth_item_and_equally_many_batches(
    items, batch, world, process, turns, monkeypatch
):
    monkeypatch.setattr(schedule, "rank", lambda: process)
    assert [list(one) for one in Turns(items, batch, world)] == turns


@pytest.mark.parametrize("precision", [one for one in schedule.PRECISIONS if one != "auto"])
def test_a_named_precision_is_lightnings(precision):
    assert arithmetic(precision) == precision
