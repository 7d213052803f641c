"""Gradient fitting: exact gradients, training that lowers the perplexity, and torch-struct that judges our scan and stops a wrong one."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from semi_markov_cases import bursts, durations, random_case

from longform.core.documents import Document, Section
from longform.language_models.hsmm import compiled, gradient
from longform.language_models.hsmm.em import initial_model
from longform.language_models.hsmm.gradient import (
    TOLERANCE,
    FactoredTables,
    GradientSettings,
    LogPartition,
    against_torch_struct,
    fit_gradient,
    plateau,
)
from longform.language_models.hsmm.model import SemiMarkovLM, build_ngrams
from longform.language_models.hsmm.train import fit
from tests.refusals import refuses


@pytest.mark.parametrize("seed", range(3))
def test_gradient_equals_finite_differences(seed: int) -> None:
    model, texts = random_case(seed)
    indices = [model.ngrams.index(model.ngrams.encode(text)) for text in texts]
    logs = [torch.from_numpy(np.log(table)).requires_grad_(True) for table in (model.transitions, model.joint)]
    assert torch.autograd.gradcheck(lambda a, w: LogPartition.apply(a, w, indices), logs, rtol=1e-5, atol=1e-6)


def _small(texts: list[list[str]]):
    return build_ngrams(texts, max_duration=3)


def test_gradient_fit_lowers_the_perplexity_and_keeps_the_best_epoch() -> None:
    texts = bursts(0, texts=64)
    settings = GradientSettings(num_states=4, epochs=4, seed=3)
    model, history = fit_gradient(texts, _small(texts), settings, validation=bursts(1, texts=8))
    assert history[-1].train_ppl < 0.7 * history[0].train_ppl
    held_out = bursts(1, texts=8)
    nats = -model.log_likelihood(held_out).sum() / sum(map(len, held_out))
    assert np.exp(nats) == pytest.approx(min(epoch.validation_ppl for epoch in history), rel=1e-5)


def test_pretraining_moves_the_ngram_tables_only() -> None:
    texts = bursts(0, texts=16)
    settings = GradientSettings(num_states=3, epochs=0, seed=3)
    start = FactoredTables(_small(texts), 3, 3).model(_small(texts))
    model, _ = fit_gradient(texts, _small(texts), settings)
    np.testing.assert_array_equal(model.transitions, start.transitions)
    assert np.abs(model.joint - start.joint).max() > 1e-3


def test_two_reserved_rows_waste_their_share_of_each_length() -> None:
    ngrams = _small(bursts(0, texts=16))
    tables = FactoredTables(ngrams, 3, 0)
    with torch.no_grad():
        for table in tables.emissions:
            table.zero_()
        tables.lengths.zero_()
    sizes = np.diff(ngrams.starts)
    np.testing.assert_allclose(durations(tables.model(ngrams))[:, 0], sizes / (sizes + 2) / 3, rtol=1e-6)


def test_rate_falls_after_nine_windows_without_progress() -> None:
    optimiser = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    falling, rates = plateau(optimiser), []
    for _ in range(10 * 9):
        falling.step(1.0)
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates[:10] == [0.3] * 9 + [0.075] and rates[-1] == 3e-4


def test_a_window_is_so_many_updates_over_the_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, told = bursts(0, texts=16), []
    monkeypatch.setattr(gradient, "WINDOW", 3)
    monkeypatch.setattr(gradient, "plateau", lambda optimiser: SimpleNamespace(step=told.append))
    settings = GradientSettings(num_states=3, pretraining_epochs=0, epochs=3, batch_size=4)
    _, history = fit_gradient(texts, _small(texts), settings)
    assert len(told) == 4 and np.exp(np.log(told).mean()) == pytest.approx(
        np.exp(np.log([epoch.train_ppl for epoch in history]).mean()), rel=0.02
    )


SIZES = {"num_states": 4, "max_duration": 3, "max_ngrams": 100}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_torch_struct_gives_our_likelihood_and_gradient(seed: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient, "TEXTS", 6)
    model, texts = random_case(seed, dtype=dtype)
    facts = against_torch_struct(model, texts)
    assert facts["tokens"] == sum(map(len, texts)) and facts["states"] == 3
    assert max(facts["nats_apart_per_token"], facts["transitions_apart_per_token"]) < TOLERANCE / 10
    assert facts["nats_ours"] == pytest.approx(model.log_likelihood(texts).sum(), abs=1e-4)


def test_a_sample_of_states_is_compared_where_there_are_many() -> None:
    texts = bursts(0)
    model = initial_model(build_ngrams(texts, max_duration=3), num_states=20, seed=0)
    facts = against_torch_struct(model, texts)
    kept = np.unique(np.linspace(0, 19, gradient.STATES).astype(int))
    part = SemiMarkovLM(model.ngrams, model.transitions[kept][:, kept], np.ascontiguousarray(model.joint[:, kept]))
    assert facts["states"] == len(kept) == 6
    assert facts["nats_ours"] == pytest.approx(part.log_likelihood(texts[:3]).sum(), rel=1e-6)


def _documents() -> list[Document]:
    parts = {"train": bursts(0, texts=6), "validation": bursts(1, texts=2)}
    rows = [(split, i, text) for split, texts in parts.items() for i, text in enumerate(texts)]
    return [Document(f"{split}-{i}", split, (Section(None, " ".join(text)),)) for split, i, text in rows]


@pytest.mark.parametrize("how", [{"em": {"iterations": 2}}, {"gradient": {"epochs": 1, "pretraining_epochs": 0}}])
def test_a_trained_model_keeps_the_comparison_and_a_wrong_scan_is_refused(how, tmp_path, monkeypatch) -> None:
    given = {"documents": _documents(), "name": "hsmm", "seed": 1, **SIZES, **how}
    trained = fit(**given, scratch=tmp_path / "one")
    trained.save(tmp_path / "model")
    facts = SemiMarkovLM.load(tmp_path / "model").facts["torch_struct"]
    assert facts["version"] == "0.5" and 0 <= facts["nats_apart_per_token"] < TOLERANCE
    true = compiled.transition_counts
    monkeypatch.setattr(compiled, "transition_counts", lambda scan: true(scan) * 1.01)
    refuses("torch-struct gives", fit, **given, scratch=tmp_path / "two")


def test_exactly_one_way_of_fitting_is_asked_for(tmp_path, monkeypatch) -> None:
    given = {"documents": _documents(), "name": "hsmm", "seed": 1, "scratch": tmp_path, **SIZES}
    refuses("exactly one of em and gradient; the entry has none", fit, **given)
    monkeypatch.setenv("LONGFORM_DEVICE", "warp")
    refuses("LONGFORM_DEVICE is 'warp'", fit, **given, em={"iterations": 1})
    refuses("0 train and 0 validation texts", fit, **{**given, "documents": []}, em={"iterations": 1})
    refuses("got 0 sequences", fit_gradient, [], _small(bursts(0)), GradientSettings(num_states=2))
