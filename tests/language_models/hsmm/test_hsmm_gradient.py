"""Gradient fitting: gradients equal finite differences, training lowers the perplexity."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from semi_markov_cases import bursts, random_case

from longform.core.documents import BadInput
from longform.language_models.hsmm.gradient import FactoredTables, GradientSettings, LogPartition, Plateau, fit_gradient
from longform.language_models.hsmm.model import build_ngrams


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
    np.testing.assert_allclose(tables.model(ngrams).durations[:, 0], sizes / (sizes + 2) / 3, rtol=1e-6)


def test_rate_falls_after_nine_windows_without_progress() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.Adam([parameter], lr=0.3)
    plateau = Plateau(GradientSettings(window=2), optimiser)
    for _ in range(2 * 9):
        plateau.seen(1.0, 1)
    assert optimiser.param_groups[0]["lr"] == 0.3
    for _ in range(2):
        plateau.seen(1.0, 1)
    assert optimiser.param_groups[0]["lr"] == pytest.approx(0.075)
    for _ in range(2 * 9 * 9):
        plateau.seen(1.0, 1)
    assert optimiser.param_groups[0]["lr"] == 3e-4


def test_no_sequences_are_refused() -> None:
    with pytest.raises(BadInput, match="got 0 sequences"):
        fit_gradient([], _small(bursts(0)), GradientSettings(num_states=2))
