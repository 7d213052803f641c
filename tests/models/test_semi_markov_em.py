"""EM: it never lowers the likelihood, stays where it is right, resumes exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from semi_markov_cases import bursts, paths, random_case

from longform.documents import BadInput
from longform.language_models.hsmm.em import Fit, fit_em, load_fit, save_fit
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.ngrams import build_ngrams
from longform.language_models.hsmm.steps import Compute, expectation, maximise

EXACT = Compute(dtype="float64")
SMALL = {"num_states": 4, "max_duration": 3, "seed": 1}


@pytest.mark.parametrize("seed", range(3))
def test_em_never_lowers_the_likelihood(seed: int) -> None:
    fit = fit_em(bursts(seed), num_states=4, max_duration=3, iterations=25, seed=seed, compute=EXACT)
    assert np.all(np.diff(fit.log_likelihoods) >= -1e-9 * abs(fit.log_likelihoods[0]))
    assert fit.log_likelihoods[-1] > fit.log_likelihoods[0] + 100
    assert not fit.history[1].frozen and fit.history[0].frozen


def test_one_m_step_equals_counting_over_enumerated_paths() -> None:
    model, texts = random_case(2)
    want = np.zeros_like(model.joint)
    rows = {model.ngrams.text(row): row for row in range(model.ngrams.rows)}
    for text in texts:
        weighted = list(paths(model, text))
        total = sum(p for p, _ in weighted)
        for probability, path in weighted:
            for start, duration, state in path:
                want[rows[tuple(text[start : start + duration])], state] += probability / total
    found = expectation(model, [model.ngrams.encode(text) for text in texts], EXACT)
    np.testing.assert_allclose(found.segments, want, atol=1e-12)
    better = maximise(model, found, frozen=False)
    np.testing.assert_allclose(better.joint, want / want.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(better.transitions.sum(axis=1), 1, atol=1e-12)


def test_pretraining_keeps_transitions_and_durations() -> None:
    started = []
    fit_em(bursts(0), **SMALL, iterations=3, pretraining=3, compute=EXACT, on_iteration=started.append)
    first, last = started[0].model, started[-1].model
    np.testing.assert_array_equal(first.transitions, last.transitions)
    np.testing.assert_allclose(first.durations, last.durations, rtol=1e-12)
    assert np.abs(first.joint - last.joint).max() > 1e-3


def _oracle(texts: list[list[str]]) -> SemiMarkovLM:
    tokens = tuple("abcde")
    encoded = [np.array([tokens.index(t) for t in text]) for text in texts]
    ngrams = build_ngrams(encoded, tokens=tokens, max_duration=3)
    joint = np.zeros((ngrams.rows, 2))
    for state, words in enumerate((("ab", "cab", "ba"), ("dd", "edc", "ce"))):
        for row in range(ngrams.rows):
            joint[row, state] = ("".join(ngrams.text(row)) in words) / 3
    return SemiMarkovLM(ngrams, np.array([[0.8, 0.2], [0.2, 0.8]]), joint)


def test_em_started_from_the_truth_stays_there() -> None:
    texts = bursts(3, texts=300, segments=20)
    truth = _oracle(texts)
    fit = fit_em(texts, num_states=2, max_duration=3, iterations=6, seed=0, pretraining=0, compute=EXACT, start=truth)
    np.testing.assert_allclose(fit.model.joint, truth.joint, atol=0.03)
    np.testing.assert_allclose(fit.model.transitions, truth.transitions, atol=0.03)
    gained = (fit.log_likelihoods[-1] - fit.log_likelihoods[0]) / fit.history[0].tokens
    assert 0 <= gained < 0.001
    assert fit.history[-1].states_in_use == 2


def test_resumed_fit_equals_an_unbroken_one_bit_for_bit(tmp_path: Path) -> None:
    texts = bursts(1)
    whole = fit_em(texts, **SMALL, iterations=6)
    fit_em(texts, **SMALL, iterations=3, on_iteration=lambda fit: save_fit(fit, tmp_path / "fit"))
    again = fit_em(texts, **SMALL, iterations=6, start=load_fit(tmp_path / "fit", num_states=4))
    np.testing.assert_array_equal(again.model.joint, whole.model.joint)
    np.testing.assert_array_equal(again.model.transitions, whole.model.transitions)
    assert again.history == whole.history


def test_kill_between_the_two_renames_leaves_the_old_checkpoint_readable(tmp_path: Path) -> None:
    fit = fit_em(bursts(1), **SMALL, iterations=1)
    save_fit(fit, tmp_path / "fit")
    (tmp_path / "fit").rename(tmp_path / "fit.old")
    assert load_fit(tmp_path / "fit").history == fit.history
    save_fit(fit, tmp_path / "fit")
    assert [p.name for p in tmp_path.iterdir()] == ["fit"]


def test_sequence_that_float32_loses_is_scanned_again_in_float64() -> None:
    model, texts = random_case(1)
    joint = np.full_like(model.joint, 1e-29)
    joint[: model.ngrams.starts[1]] = model.joint[: model.ngrams.starts[1]]
    transitions = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    joint[model.ngrams.encode(["b"])[0]] = [0.0, 0.5, 0.5]  # state 0, where all texts begin, cannot write b alone
    hard = SemiMarkovLM(model.ngrams, transitions, joint)
    encoded = [hard.ngrams.encode(text) for text in texts]
    want = expectation(hard, encoded, EXACT)
    rough = replace(hard, joint=joint.astype(np.float32), transitions=transitions.astype(np.float32))
    found = expectation(rough, encoded, Compute())
    assert found.log_likelihood == pytest.approx(want.log_likelihood, rel=1e-6)
    assert found.lost == want.lost
    np.testing.assert_allclose(found.segments, want.segments, atol=1e-5)


def test_hopeless_sequence_is_counted_as_lost_and_adds_nothing() -> None:
    model, texts = random_case(0)
    joint = model.joint.copy()
    joint[: model.ngrams.starts[1]] = 0
    mute = SemiMarkovLM(model.ngrams, model.transitions, joint)
    both = [mute.ngrams.encode(text) for text in (texts[0], ["a"])]
    alone = expectation(mute, both[:1], EXACT)
    found = expectation(mute, both, EXACT)
    assert (found.lost, found.tokens) == (1, len(texts[0]))
    np.testing.assert_allclose(found.segments, alone.segments, atol=1e-12)
    float32 = replace(mute, joint=joint.astype(np.float32))
    assert expectation(float32, both, Compute()).lost == 1


def test_no_sequences_and_a_start_of_another_shape_are_refused() -> None:
    with pytest.raises(BadInput, match="got 0 sequences"):
        fit_em([], **SMALL, iterations=1)
    model, texts = random_case(0)
    with pytest.raises(BadInput, match=r"\(3, 3\), allowed is \(4, 3\)"):
        fit_em(texts, **SMALL, iterations=1, start=Fit(model))
