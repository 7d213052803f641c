"""Training on several processes is training on one; settings for large models change no result."""

import math

import pytest
import torch
from test_training import PLAN, SHAPE, fit, validation_losses, weights
from tiny import bpe_folder

from longform.language_models.schedule import Launch
from longform.language_models.schedule import Schedule, TrainingBatches, ValidationBatches
from tests.refusals import refuses

REORDERED = 2e-6  # Adam divides by the root of squared gradients: sums in another order move a weight by a few ulp


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return bpe_folder(tmp_path_factory.mktemp("bpe"))


def farthest(one, two):
    return max(float((one[name] - two[name]).abs().max()) for name in one)


@pytest.fixture(scope="module")
def alone(base, tmp_path_factory):
    """Weights and validation losses of one process with accumulation 2."""
    scratch = tmp_path_factory.mktemp("alone")
    found = weights(fit(base, scratch, schedule={**PLAN, "accumulate": 2}))
    return found, validation_losses(scratch)


def test_two_processes_end_with_the_weights_of_one(base, alone, tmp_path, two_processes):
    spread = weights(fit(base, tmp_path, schedule={**PLAN, "accumulate": 2}))
    assert farthest(spread, alone[0]) < REORDERED
    assert validation_losses(tmp_path) == pytest.approx(alone[1], abs=1e-5)


def test_passes_of_an_update_leave_the_training_loss_as_it_is(base, tmp_path):
    """Two passes of half a batch see what one of a whole one sees; texts of unequal length weigh a little otherwise."""
    calm = {**SHAPE, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    losses = []
    for passes in (1, 2):
        plan = {**PLAN, "batch": 4 // passes, "accumulate": passes}
        made = fit(base, tmp_path / str(passes), schedule=plan, shape=calm)
        losses.append([float(row[1]) for row in made.curve[1:]])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


def test_fsdp_without_a_gpu_is_one_sentence(base, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("LONGFORM_STRATEGY", "fsdp")
    refuses("LONGFORM_STRATEGY is 'fsdp', which Lightning has for GPUs alone", fit, base, tmp_path)


def test_recomputed_activations_change_no_weight(base, alone, tmp_path):
    found = weights(fit(base, tmp_path, schedule={**PLAN, "accumulate": 2, "checkpointing": True}))
    assert farthest(found, alone[0]) < REORDERED


def test_bfloat16_trains_to_nearly_the_same_loss(base, alone, tmp_path):
    found = fit(base, tmp_path, schedule={**PLAN, "accumulate": 2, "precision": "bf16-mixed"})
    assert validation_losses(tmp_path)[-1] == pytest.approx(alone[1][-1], rel=0.02)
    assert all(value.dtype == torch.float32 for value in found.network.state_dict().values())


def test_compiling_leaves_names_and_weights_as_they_are(base, alone, tmp_path, monkeypatch):
    used = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: used.append(type(self).__name__))
    found = weights(fit(base, tmp_path, schedule={**PLAN, "accumulate": 2, "compile": True}))
    assert used == ["GPT2LMHeadModel"] and found.keys() == alone[0].keys()


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_one_sequence_of_batches(monkeypatch, world):
    plan = Schedule(1e-3, batch=3, epochs=4, validations=2, accumulate=world)
    one = list(TrainingBatches(20, plan, seed=1))
    monkeypatch.setenv("LONGFORM_DEVICES", str(world))
    for process in range(world):
        monkeypatch.setattr("longform.language_models.schedule.rank", lambda process=process: process)
        assert list(TrainingBatches(20, plan, seed=1)) == one[process::world]


@pytest.mark.parametrize(("items", "world"), [(10, 1), (10, 2), (11, 3), (2, 4)])
def test_every_validation_item_counts_once_and_processes_take_equal_steps(monkeypatch, items, world):
    counted, steps = [], set()
    for process in range(world):
        monkeypatch.setattr("longform.language_models.schedule.rank", lambda process=process: process)
        shares = ValidationBatches(items, 2, world)
        batches = list(shares)
        steps.add(len(batches))
        counted += [i for step, batch in enumerate(batches) if shares.counts(step) for i in batch]
    assert sorted(counted) == list(range(items)) and steps == {math.ceil(math.ceil(items / 2) / world)}


@pytest.mark.parametrize(("over", "variables", "sentence"),
                         [({}, {"DEVICES": "0"}, "LONGFORM_DEVICES is '0'"), ({}, {"NODES": "1.5"}, "NODES is '1.5'"),
                          ({}, {"STRATEGY": "dpp"}, "LONGFORM_STRATEGY is 'dpp', allowed are"),
                          ({"batch": 0}, {}, "batch=0"), ({"learning_rate": float("nan")}, {}, "learning_rate=nan"),
                          ({}, {"DEVICES": "2"}, "accumulate=1")])  # fmt: skip
def test_bad_numbers_of_processes_are_one_sentence(monkeypatch, over, variables, sentence):
    for name, value in variables.items():
        monkeypatch.setenv(f"LONGFORM_{name}", value)
    refuses(sentence, Schedule, **({"learning_rate": 1e-3, "batch": 2, "epochs": 1} | over))


def test_a_world_is_every_device_of_every_node():
    assert Launch(4, 2, "ddp").world == 8 and SHAPE["resid_pdrop"] > 0  # dropout is on in the comparisons above
