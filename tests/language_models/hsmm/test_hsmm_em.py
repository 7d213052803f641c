"""EM: it never lowers the likelihood, stays where it is right, and grows without loss."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from semi_markov_cases import WORDS, bursts, close, durations, random_case

from longform.language_models.hsmm import em
from longform.language_models.hsmm.em import Compute, Fit, Plan, begun_anew, compacted, expectation, fit_em, maximise
from longform.language_models.hsmm.model import SemiMarkovLM, build_ngrams
from tests.refusals import refuses

EXACT = Compute(dtype="float64")
SMALL = {"num_states": 4, "max_duration": 3, "seed": 1}


@pytest.mark.parametrize("seed", range(3))
def test_em_never_lowers_the_likelihood(seed: int) -> None:
    fit = fit_em(bursts(seed), num_states=4, max_duration=3, plan=Plan(25), seed=seed, compute=EXACT)
    likelihoods = [step.log_likelihood for step in fit.history]
    assert np.all(np.diff(likelihoods) >= -1e-9 * abs(likelihoods[0])) and likelihoods[-1] > likelihoods[0] + 100
    assert not fit.history[1].frozen and fit.history[0].frozen


def test_m_step_normalises_the_counts_and_keeps_what_has_none() -> None:
    model, texts = random_case(2)
    found = expectation(model, [model.ngrams.encode(text) for text in texts], EXACT)
    found.segments[:, 1], found.transitions[1] = 0, 0
    want, moved = found.segments.copy(), found.transitions.copy()
    better = maximise(model, found, frozen=False)
    for state in (0, 2):
        np.testing.assert_allclose(better.joint[:, state], want[:, state] / want[:, state].sum(), atol=1e-12)
        np.testing.assert_allclose(better.transitions[state], moved[state] / moved[state].sum(), atol=1e-12)
    np.testing.assert_array_equal(better.joint[:, 1], model.joint[:, 1])
    np.testing.assert_array_equal(better.transitions[1], model.transitions[1])


def test_pretraining_keeps_transitions_and_durations() -> None:
    seen: list[SemiMarkovLM] = []
    plan = Plan(3, pretraining=3)
    fit_em(bursts(0), **SMALL, plan=plan, compute=EXACT, validate=lambda model: seen.append(model) or 0.0)
    first, _, last = seen
    np.testing.assert_array_equal(first.transitions, last.transitions)
    np.testing.assert_allclose(durations(first), durations(last), rtol=1e-12)
    assert np.abs(first.joint - last.joint).max() > 1e-3


def test_em_started_from_the_truth_stays_there() -> None:
    texts = bursts(3, texts=300, segments=20)
    ngrams = build_ngrams(texts, max_duration=3)
    joint = np.array([["".join(ngrams.text(row)) in words for words in WORDS] for row in range(ngrams.rows)]) / 3
    truth = SemiMarkovLM(ngrams, np.array([[0.8, 0.2], [0.2, 0.8]]), joint)
    given = {"plan": Plan(6, pretraining=0), "compute": EXACT, "start": truth}
    fit = fit_em(texts, num_states=2, max_duration=3, seed=0, **given)
    np.testing.assert_allclose(fit.model.joint, truth.joint, atol=0.03)
    np.testing.assert_allclose(fit.model.transitions, truth.transitions, atol=0.03)
    gained = (fit.history[-1].log_likelihood - fit.history[0].log_likelihood) / fit.history[0].tokens
    assert 0 <= gained < 0.001
    assert fit.history[-1].states_in_use == 2


def test_no_sequences_and_a_start_of_another_shape_are_refused() -> None:
    refuses("got 0 sequences", fit_em, [], **SMALL, plan=Plan(1))
    model, texts = random_case(0)
    refuses(r"\(3, 3\), allowed is \(4, 3\)", fit_em, texts, **SMALL, plan=Plan(1), start=Fit(model))


def test_another_device_than_the_processor_is_handed_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    model, texts = random_case(2)
    encoded = [model.ngrams.encode(text) for text in texts]
    seen = []
    monkeypatch.setattr(em.on_device, "expectation", lambda *given, **_: seen.append(given) or expected)
    expected = expectation(model, encoded, EXACT)
    expected.transitions, expected.segments = (torch.from_numpy(a) for a in (expected.transitions, expected.segments))
    found = expectation(model, encoded, Compute("meta"))
    assert seen[0][0].device.type == "meta" and isinstance(found.segments, np.ndarray)


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
    close(short, whole, atol=1e-12)


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
