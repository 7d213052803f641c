"""One device and one precision for training, sampling and reading, from two variables of the environment."""

import pytest
import torch
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from longform.language_models import schedule
from longform.language_models.checkpoints import load_reader
from longform.language_models.device import (
    chosen_device,
    chosen_precision,
    placed,
    set_products,
    trainer_devices,
)
from longform.language_models.schedule import Launch
from tests.refusals import refuses


@pytest.fixture
def two_gpus(monkeypatch):
    """Torch believes that it sees two GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture(autouse=True)
def _as_before():
    precision = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(precision)


def test_the_device_is_the_named_one_else_the_first_gpu_else_the_processor(monkeypatch, two_gpus):
    monkeypatch.delenv("LONGFORM_DEVICE", raising=False)
    assert str(chosen_device()) == "cuda"
    monkeypatch.setenv("LONGFORM_DEVICE", "cpu")
    assert str(chosen_device()) == "cpu"
    monkeypatch.setenv("LONGFORM_DEVICE", "cuda:1")
    assert str(chosen_device()) == "cuda:1"
    monkeypatch.setenv("LONGFORM_DEVICE", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert str(chosen_device()) == "cpu"


def test_a_device_that_is_not_there_is_refused(monkeypatch, two_gpus):
    for name, sentence in (("gpu", "LONGFORM_DEVICE is 'gpu'"), ("cuda:2", "torch sees 2 GPUs")):
        monkeypatch.setenv("LONGFORM_DEVICE", name)
        refuses(sentence, chosen_device)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("LONGFORM_DEVICE", "cuda")
    refuses("torch sees 0 GPUs", chosen_device)


@pytest.mark.parametrize(
    ("name", "processes", "told"),
    [
        ("cpu", 2, {"accelerator": "cpu", "devices": 2}),
        ("cuda", 2, {"accelerator": "gpu", "devices": 2}),
        ("cuda:1", 1, {"accelerator": "gpu", "devices": [1]}),
    ],
)
def test_training_goes_where_reading_goes(name, processes, told, monkeypatch, two_gpus):
    given = []
    monkeypatch.setattr(schedule.pl, "Trainer", lambda **settings: given.append(settings))
    monkeypatch.setenv("LONGFORM_DEVICE", name)
    Launch(devices=processes).trainer(torch.nn.Linear(1, 1))
    assert {key: given[0][key] for key in told} == told


def test_one_gpu_by_number_takes_one_process(monkeypatch, two_gpus):
    monkeypatch.setenv("LONGFORM_DEVICE", "cuda:1")
    refuses("LONGFORM_DEVICES asks for 2", trainer_devices, 2)


@pytest.mark.parametrize(
    ("name", "products"), [(None, "highest"), ("tf32", "high"), ("bfloat16", "high")]
)
def test_products_are_exact_unless_another_precision_is_chosen(name, products, monkeypatch):
    torch.set_float32_matmul_precision("medium")
    if name:
        monkeypatch.setenv("LONGFORM_PRECISION", name)
    set_products()
    assert torch.get_float32_matmul_precision() == products


def test_networks_that_are_only_read_with_take_bfloat16_where_it_is_chosen(monkeypatch, tmp_path):
    GPT2LMHeadModel(
        GPT2Config(vocab_size=8, n_layer=1, n_head=1, n_embd=4, n_positions=8)
    ).save_pretrained(tmp_path)
    assert load_reader(tmp_path, AutoModelForCausalLM).dtype == torch.float32
    monkeypatch.setenv("LONGFORM_PRECISION", "bfloat16")
    assert load_reader(tmp_path, AutoModelForCausalLM).dtype == torch.bfloat16
    # one that is trained, or draws exactly
    assert placed(torch.nn.Linear(1, 1)).weight.dtype == torch.float32
    monkeypatch.setenv("LONGFORM_PRECISION", "half")
    refuses("LONGFORM_PRECISION is 'half'", chosen_precision)
