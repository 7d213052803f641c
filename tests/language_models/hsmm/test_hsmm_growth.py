"""Growing: leaving out what has no mass changes nothing, states begin anew with known n-grams, and the fit is as good as plain EM's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from semi_markov_cases import bursts, random_case, without_unigrams

from longform.language_models.hsmm import em
from longform.language_models.hsmm.em import Compute, Plan, begun_anew, compacted, expectation, fit_em, squeezed
from longform.language_models.hsmm.model import SemiMarkovLM

EXACT = Compute(dtype="float64")


@pytest.fixture(autouse=True)
def _spelt_in_single_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(em, "SPELLING", 1)  # these texts have segments of up to three


def _thinned(seed: int) -> tuple[SemiMarkovLM, list[list[str]]]:
    """A random model in which a third of the n-grams have no mass."""
    model, texts = random_case(seed)
    joint = model.joint * (np.random.default_rng(seed).random((model.ngrams.rows, 1)) < 0.66)
    return replace(model, joint=joint), texts


@pytest.mark.parametrize("seed", range(6))
def test_places_that_no_path_passes_carry_no_counts(seed: int) -> None:
    model, texts = _thinned(seed)
    encoded = [model.ngrams.encode(text) for text in texts]
    whole, short = (expectation(model, encoded, EXACT, squeeze=squeeze) for squeeze in (False, True))
    assert short.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
    assert (short.tokens, short.lost) == (whole.tokens, whole.lost)
    np.testing.assert_allclose(short.transitions, whole.transitions, atol=1e-12)
    np.testing.assert_allclose(short.segments, whole.segments, atol=1e-12)


def test_a_text_shrinks_to_the_places_where_segments_end() -> None:
    model, _ = random_case(0)
    bare = without_unigrams(model)
    index = np.full((5, 3), -1, np.int32)
    index[0, 1], index[2, 2], index[0, 0], index[3, 0] = 7, 8, 1, 2  # two + three tokens; the others lead nowhere
    short = squeezed(index, np.ones(bare.ngrams.rows, bool))
    np.testing.assert_array_equal(short, [[7, -1, -1], [8, -1, -1]])
    assert len(squeezed(index, np.arange(bare.ngrams.rows) != 8)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_mass_leave_the_table_and_short_ones_stay(seed: int) -> None:
    model, texts = _thinned(seed)
    small = compacted(model)
    kept = [model.ngrams.text(row) for row in range(model.ngrams.rows) if model.joint[row].any() or row < 3]
    assert [small.ngrams.text(row) for row in range(small.ngrams.rows)] == kept
    np.testing.assert_array_equal(small.log_likelihood(texts), model.log_likelihood(texts))
    total = model.ngrams.rows + model.ngrams.dropped.sum()
    assert small.ngrams.rows + small.ngrams.dropped.sum() == total


def test_states_begin_anew_with_the_ngrams_that_the_model_knows() -> None:
    model, _ = _thinned(1)
    more = begun_anew(model, 300, seed=1)
    np.testing.assert_allclose(more.joint.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(more.transitions.sum(axis=1), 1, rtol=1e-12)
    shares = model.joint.mean(axis=1) / model.joint.mean(axis=1).sum()
    np.testing.assert_allclose(more.joint.mean(axis=1), shares, atol=0.1)
    np.testing.assert_array_equal(more.joint.any(axis=1), model.joint.any(axis=1))
    assert len(np.unique(more.joint, axis=1).T) == 300


def test_grown_model_is_as_good_as_one_of_plain_em_and_uses_few_ngrams() -> None:
    texts, sizes = bursts(0, texts=200), {"num_states": 4, "max_duration": 3, "seed": 1, "compute": EXACT}
    plain = fit_em(texts, **sizes, plan=Plan(40))
    grown = fit_em(texts, **sizes, plan=Plan(40, growth=[(2, 5)], least=1e-2))
    assert grown.history[-1].log_likelihood > 1.01 * plain.history[-1].log_likelihood
    assert [step.states for step in grown.history[::5]] == [2, 4, 4, 4, 4, 4, 4, 4]
    assert grown.model.ngrams.rows < plain.model.ngrams.rows and not grown.history[-1].lost


def test_em_ends_when_validation_stops_falling() -> None:
    texts = bursts(0)
    values = iter([5.0, 4.0, 3.0, 2.9, 2.8, 1.0])
    plan = Plan(6, growth=[(1, 1)], until=0.1)
    fit = fit_em(texts, num_states=2, max_duration=3, seed=1, plan=plan, validate=lambda model: next(values))
    assert [step.validation_ppl for step in fit.history] == [5.0, 4.0, 3.0, 2.9, 2.8]
