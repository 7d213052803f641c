"""Latent PPL of a semi-Markov model in closed form, against enumeration and the truth."""

from itertools import product

import numpy as np
import pytest

from experiments.deng2022.latent_reading import emitted_owners, latent_reading
from longform.datasets.hsmm_language import SyntheticLanguage, language
from longform.language_models.hsmm.model import SemiMarkovLM, build_ngrams


def _language(states: int = 3, steps: int = 3) -> SyntheticLanguage:
    temperatures = {"transition": 0.5, "emission": 0.3}
    sizes = {"num_states": states, "subsequences": 4 * states, "min_length": 3, "max_length": 4}
    return language(seed=5, **sizes, steps=steps, temperatures=temperatures)


def _truth(made: SyntheticLanguage) -> SemiMarkovLM:
    """The language written as a semi-Markov model."""
    texts = [text.split() for text in made.subsequences]
    ngrams = build_ngrams(texts, max_duration=4)
    joint = np.zeros((ngrams.rows, len(made.transitions)))
    for i, text in enumerate(texts):
        joint[ngrams.index(ngrams.encode(text))[0, len(text) - 1]] = made.emissions[:, i]
    return SemiMarkovLM(ngrams, made.transitions, joint)


def _perturbed(made: SyntheticLanguage) -> SemiMarkovLM:
    truth = _truth(made)
    draws = np.random.default_rng(0)
    joint = 0.7 * truth.joint + 0.3 * draws.dirichlet(np.ones(truth.ngrams.rows), len(made.transitions)).T
    transitions = 0.5 * truth.transitions + 0.5 * draws.dirichlet(np.ones(3), 3)
    return SemiMarkovLM(truth.ngrams, transitions, joint)


def test_closed_form_is_exact_for_the_language_itself_and_equals_enumeration():
    made = _language(steps=12)
    reading = latent_reading(_truth(made), made)
    assert reading.latent_ppl == pytest.approx(made.latent_ppl(), rel=1e-10)
    assert reading.survival == pytest.approx(1, rel=1e-10)
    made = _language()
    model = _perturbed(made)
    owned, survived, nats = emitted_owners(model, made), 0.0, 0.0
    for path in product(range(3), repeat=3):
        for true in product(range(3), repeat=3):
            mass = np.prod([model.transitions[a, b] for a, b in zip((0, *path), path, strict=False)])
            mass *= np.prod([owned[s, z] for s, z in zip(path, true, strict=True)])
            survived += mass
            nats -= mass * sum(np.log(made.transitions[a, b]) for a, b in zip((0, *true), true, strict=False))
    reading = latent_reading(model, made)
    assert reading.survival == pytest.approx(survived, rel=1e-10)
    assert reading.latent_ppl == pytest.approx(np.exp(nats / survived / 3), rel=1e-10)
