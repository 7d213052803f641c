"""Token time in closed form equals the expanded document."""

from __future__ import annotations

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.critics.bbscore.bridge import (
    CONVENTIONS,
    WINDOWS,
    LatentPath,
    global_terms,
    token_diffusion,
    token_terms,
)
from tests.oracles.bridge_loops import terms


@pytest.mark.parametrize("name", sorted(CONVENTIONS))
@pytest.mark.parametrize("window", WINDOWS)
def test_closed_form_equals_repeating_every_latent_over_its_tokens(name, window):
    rng = np.random.default_rng(1)
    for counts in ([1, 1, 1, 1], [3, 1, 2, 9, 4], [30, 2, 1, 1, 40, 17], [5, 6]):
        z = rng.normal(size=(4, len(counts), 3))
        expanded = terms(np.repeat(z, counts, axis=1), window, CONVENTIONS[name])
        found = token_terms(z, np.array(counts), window, CONVENTIONS[name])
        np.testing.assert_allclose(found.beta, expanded.beta, rtol=1e-10)
        np.testing.assert_allclose([found.log_alpha, found.share], [expanded.log_alpha, expanded.share], rtol=1e-12)


def test_one_token_a_sentence_is_sentence_time():
    z = np.random.default_rng(2).normal(size=(7, 5))
    unit = LatentPath("a", "test", z, np.arange(7), np.ones(7, dtype=int))
    rule = CONVENTIONS["released"]
    assert token_diffusion(unit, rule) == pytest.approx(float(global_terms(z[None], rule.sigma).beta[0]), rel=1e-12)


def test_token_counts_must_belong_to_the_sentences():
    with pytest.raises(BadInput, match="token counts"):
        token_terms(np.zeros((1, 3, 2)), np.array([4, 0, 2]), 0, CONVENTIONS["canonical"])
    with pytest.raises(BadInput, match="for 3 sentences"):
        token_terms(np.zeros((1, 3, 2)), np.array([4, 2]), 0, CONVENTIONS["canonical"])
