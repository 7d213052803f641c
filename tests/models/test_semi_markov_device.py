"""The PyTorch scan, with the CPU as its device, against the compiled one and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from semi_markov_cases import bursts, enumerated_log_likelihood, random_case

from longform.language_models.hsmm import device
from longform.language_models.hsmm.em import fit_em
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.steps import Compute, expectation


def _scanned(model: SemiMarkovLM, texts: list[list[str]]) -> device.DeviceScan:
    indices = [model.ngrams.index(model.ngrams.encode(text)) for text in texts]
    tables = device.DeviceTables.of(model.transitions, model.joint, "cpu")
    return device.scan(device.DeviceBlock.of(indices, "cpu"), tables)


@pytest.mark.parametrize("seed", range(4))
def test_log_partition_equals_enumeration_for_every_text(seed: int) -> None:
    model, texts = random_case(seed)
    want = [enumerated_log_likelihood(model, text) for text in texts]
    np.testing.assert_allclose(_scanned(model, texts).log_partition.numpy(), want, rtol=1e-10)


@pytest.mark.parametrize("chunk", [3, 65_536])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_counts_equal_the_compiled_scan(dtype: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "OCCURRENCES_PER_CHUNK", chunk)
    model, texts = random_case(2, dtype=dtype)
    found = _scanned(model, texts)
    counts = torch.zeros(model.joint.shape, dtype=found.ended.dtype)
    device.add_segment_counts(found, counts)
    want = expectation(model, [model.ngrams.encode(text) for text in texts], Compute(dtype=dtype))
    tolerance = 1e-5 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(counts.numpy(), want.segments, atol=tolerance)
    np.testing.assert_allclose(device.transition_counts(found).numpy(), want.transitions, atol=tolerance)
    assert found.log_partition.sum().item() == pytest.approx(want.log_likelihood, rel=1e-6)


def test_text_of_probability_zero_adds_no_counts_and_spoils_no_other() -> None:
    model, texts = random_case(0)
    joint = model.joint.copy()
    joint[: model.ngrams.starts[1]] = 0
    mute = SemiMarkovLM(model.ngrams, model.transitions, joint)
    found, alone = _scanned(mute, [texts[0], ["a"]]), _scanned(mute, [texts[0]])
    counts, wanted = torch.zeros(joint.shape, dtype=torch.float64), torch.zeros(joint.shape, dtype=torch.float64)
    device.add_segment_counts(found, counts)
    device.add_segment_counts(alone, wanted)
    assert found.log_partition[1] == -torch.inf
    torch.testing.assert_close(counts, wanted)
    torch.testing.assert_close(device.transition_counts(found), device.transition_counts(alone))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steep_tables_lose_nothing_to_scaling(dtype: str) -> None:
    model, texts = random_case(1, dtype=dtype)
    joint = np.array([1e-28, 1.0, 1e-14])[np.arange(model.ngrams.rows) % 3, None] * model.joint
    steep = SemiMarkovLM(model.ngrams, model.transitions, joint.astype(dtype))
    want = [enumerated_log_likelihood(steep, text) for text in texts]
    found = _scanned(steep, texts).log_partition.numpy()
    np.testing.assert_allclose(found, want, rtol=1e-10 if dtype == "float64" else 1e-6)


def test_bfloat16_products_are_taken_only_where_their_measured_error_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    model, texts = random_case(3, dtype="float32")
    indices = [model.ngrams.index(model.ngrams.encode(text)) for text in texts]
    tables = device.DeviceTables.of(model.transitions, model.joint, "cpu")
    error = device.bfloat16_error(tables, indices)
    assert 0 < error < 0.01
    monkeypatch.setattr(device, "BFLOAT16_ERROR", error / 2)
    assert device.in_bfloat16(tables, indices).product_dtype == torch.float32
    monkeypatch.setattr(device, "BFLOAT16_ERROR", error * 2)
    assert device.in_bfloat16(tables, indices).product_dtype == torch.bfloat16


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_gives_what_the_cpu_gives() -> None:
    model, texts = random_case(2, dtype="float32")
    indices = [model.ngrams.index(model.ngrams.encode(text)) for text in texts]
    tables = device.DeviceTables.of(model.transitions, model.joint, "cuda")
    found, here = device.scan(device.DeviceBlock.of(indices, "cuda"), tables), _scanned(model, texts)
    counts = torch.zeros(model.joint.shape, device="cuda"), torch.zeros(model.joint.shape)
    device.add_segment_counts(found, counts[0])
    device.add_segment_counts(here, counts[1])
    torch.testing.assert_close(counts[0].cpu(), counts[1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.log_partition.cpu(), here.log_partition, rtol=1e-6, atol=1e-6)


def test_fit_on_a_device_equals_the_compiled_fit() -> None:
    texts = bursts(0, texts=10)
    settings = {"num_states": 3, "max_duration": 3, "iterations": 3, "seed": 0}
    here = fit_em(texts, **settings, compute=Compute(dtype="float64"))
    there = fit_em(texts, **settings, compute=Compute(dtype="float64", device="cpu", rows_per_block=50))
    np.testing.assert_allclose(there.log_likelihoods, here.log_likelihoods, rtol=1e-12)
    np.testing.assert_allclose(there.model.joint, here.model.joint, atol=1e-10)


def test_device_pass_scans_again_what_float32_lost_and_counts_the_hopeless() -> None:
    model, texts = random_case(1)
    joint = np.full_like(model.joint, 1e-29)
    joint[: model.ngrams.starts[1]] = model.joint[: model.ngrams.starts[1]]
    joint[model.ngrams.encode(["b"])[0]] = [0.0, 0.5, 0.5]
    hard = SemiMarkovLM(model.ngrams, np.eye(3), joint)
    encoded = [hard.ngrams.encode(text) for text in [*texts, ["b"]]]
    want = expectation(hard, encoded, Compute(dtype="float64"))
    rough = SemiMarkovLM(model.ngrams, np.eye(3, dtype=np.float32), joint.astype(np.float32))
    found = device.device_expectation(rough, encoded, Compute(device="cpu"))
    assert (found.lost, found.tokens) == (want.lost, want.tokens) and want.lost >= 1
    np.testing.assert_allclose(found.segments, want.segments, atol=1e-5)
    np.testing.assert_allclose(found.transitions, want.transitions, atol=1e-5)
