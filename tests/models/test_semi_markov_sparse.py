"""The sparse EM step: equal to the dense one on its support, and no sequence loses all its paths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from semi_markov_cases import bursts, random_case

from longform.language_models.hsmm.em import fit_em
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.sparse import (
    SparseSemiMarkovLM,
    sparse_expectation,
    sparse_maximise,
    sparsify,
)
from longform.language_models.hsmm.sparse_em import SparseFit, fit_sparse
from longform.language_models.hsmm.steps import Compute, expectation

EXACT = Compute(dtype="float64")


@pytest.mark.parametrize("seed", range(4))
def test_sparse_step_equals_the_dense_step_on_a_table_with_zeros(seed: int) -> None:
    model, texts = random_case(seed)
    draw = np.random.default_rng(seed)
    joint = model.joint * (draw.random(model.joint.shape) < 0.6)
    joint[: model.ngrams.starts[1], 1] += 0.1  # some path for every text
    model = SemiMarkovLM(model.ngrams, model.transitions, joint / joint.sum(axis=0))
    encoded = [model.ngrams.encode(text) for text in texts]
    sparse = sparsify(model, np.ones(3), encoded, least=1e-300)
    assert sparse.density == pytest.approx((joint > 0).mean())
    np.testing.assert_allclose(sparse.log_likelihood(encoded), model.log_likelihood(encoded), rtol=1e-10)
    dense, found = expectation(model, encoded, EXACT), sparse_expectation(sparse, encoded, EXACT)
    assert found.log_likelihood == pytest.approx(dense.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(found.transitions, dense.transitions, atol=1e-10)
    rows = np.repeat(np.arange(model.ngrams.rows), np.diff(sparse.starts))
    np.testing.assert_allclose(found.segments, dense.segments[rows, sparse.states], atol=1e-10)


def test_pruning_that_would_lose_sequences_keeps_their_best_paths() -> None:
    texts = bursts(0)
    fit = fit_em(texts, num_states=4, max_duration=3, iterations=4, seed=0, compute=EXACT)
    encoded = [fit.model.ngrams.encode(text) for text in texts]
    segments = expectation(fit.model, encoded, EXACT).transitions.sum(axis=0)
    harsh = sparsify(fit.model, segments, encoded, least=np.quantile(fit.model.joint * segments, 0.98))
    assert np.isfinite(harsh.log_likelihood(encoded)).all()
    assert harsh.density < 0.3
    assert sparse_expectation(harsh, encoded, EXACT).lost == 0
    bare = SparseSemiMarkovLM(harsh.ngrams, harsh.transitions, harsh.starts, harsh.states, np.zeros_like(harsh.values))
    assert sparse_expectation(bare, encoded, EXACT).lost == len(texts)


def test_sparse_em_never_lowers_the_likelihood_and_threads_change_nothing() -> None:
    texts = bursts(1)
    fit = fit_em(texts, num_states=4, max_duration=3, iterations=6, seed=0, compute=EXACT)
    encoded = [fit.model.ngrams.encode(text) for text in texts]
    model = sparsify(fit.model, expectation(fit.model, encoded, EXACT).transitions.sum(axis=0), encoded)
    seen = []
    for _ in range(10):
        expected = sparse_expectation(model, encoded, Compute(rows_per_block=10))
        again = sparse_expectation(model, encoded, Compute(rows_per_block=10, threads=3))
        np.testing.assert_array_equal(again.segments, expected.segments)
        np.testing.assert_array_equal(again.transitions, expected.transitions)
        seen.append(expected.log_likelihood)
        model = sparse_maximise(model, expected)
    assert np.all(np.diff(seen) >= -1e-9 * abs(seen[0]))
    np.testing.assert_allclose(model.transitions.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.bincount(model.states, weights=model.values), 1, atol=1e-12)


def test_sparse_fit_goes_on_from_the_dense_one_and_resumes_bit_for_bit(tmp_path: Path) -> None:
    texts = bursts(2)
    dense = fit_em(texts, num_states=4, max_duration=3, iterations=6, seed=0, compute=EXACT)
    whole = fit_sparse(texts, dense, iterations=12)
    assert len(whole.history) == 12 and whole.history[:6] == dense.history
    seen = np.array([step.log_likelihood for step in whole.history])
    assert np.all(np.diff(seen[7:]) >= -1e-9 * abs(seen[0]))
    assert seen[-1] >= seen[6]
    fit_sparse(texts, dense, iterations=9, on_iteration=lambda fit: fit.save(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2
    again = fit_sparse(texts, SparseFit.load(tmp_path, dense.model.ngrams), iterations=12)
    np.testing.assert_array_equal(again.model.values, whole.model.values)
    np.testing.assert_array_equal(again.model.transitions, whole.model.transitions)
    assert again.history == whole.history
    encoded = [dense.model.ngrams.encode(text) for text in texts]
    want = whole.model.log_likelihood(encoded)
    np.testing.assert_allclose(whole.dense("float64").model.log_likelihood(texts), want, rtol=1e-12)
