"""BBScore against plain loops, the published fixtures, its own identities and simulated bridges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longform.core.documents import BadInput, Readout
from longform.critics.bbscore.bridge import (
    WINDOWS,
    LatentPath,
    OrderedGram,
    corpus_diffusion,
    diffusion,
    global_terms,
    path,
    signed_scores,
    units_from_readout,
)
from longform.critics.bbscore.score import BridgeCritic
from tests.oracles.bridge_loops import bridges, loop_score

Z = np.array([(0, 0), (1, 0), (1, 1), (2, 1), (3, 3)], dtype=float)
P = Z[[0, 3, 1, 2, 4]]


def loop_window(z: np.ndarray, w: int, sigma2: float) -> float:
    total = 0.0
    for j in range(len(z) - 2 * w):
        squared = sum((z[j + w][d] - (z[j][d] + z[j + 2 * w][d]) / 2) ** 2 for d in range(z.shape[1]))
        total += math.log(math.pi * w * sigma2) + squared / w / sigma2
    return total / (len(z) - 2 * w)


def score(z: np.ndarray, sigma2: float, window: int = 0) -> float:
    return float(signed_scores(OrderedGram(z, np.arange(len(z))[None]).terms(window), sigma2)[0])


@pytest.mark.parametrize("window", WINDOWS)
def test_vectorised_scores_equal_plain_loops(window):
    rng = np.random.default_rng(3)
    for steps in (3, 4, 7, 19, 40):
        z = rng.normal(size=(steps, 8))
        if window == 0:
            assert score(z, 0.7) == pytest.approx(loop_score(z, 0.7), rel=1e-12)
        elif steps - 2 * window >= 1:
            assert score(z, 0.7, window) == pytest.approx(loop_window(z, window, 0.7), rel=1e-12)


def test_published_fixture():
    assert [score(Z, 0.5), score(P, 0.5)] == pytest.approx([2.1196085042, 3.8973862820])
    assert [diffusion(Z), diffusion(P)] == pytest.approx([0.5833333333, 1.4722222222])
    assert [score(Z, 0.5, w) for w in (1, 2)] == pytest.approx([1.7849160386, 1.6447298858])
    assert score(Z, 0.5) == pytest.approx(score(Z[::-1], 0.5), abs=1e-12)  # reading backwards changes nothing


def test_equally_spaced_points_on_a_line_leave_only_the_normaliser():
    line = np.linspace(0, 1, 9)[:, None] * np.array([[3.0, -1.0, 2.0]])
    found = global_terms(line[None])
    assert found.beta[0] == pytest.approx(0.0, abs=1e-25)
    assert score(line, 0.3) == pytest.approx(found.log_alpha + math.log(0.3))


def test_scaling_latents_and_variance_together_adds_a_constant():
    rng = np.random.default_rng(5)
    for steps in (5, 20):
        z = rng.normal(size=(steps, 4))
        for window in (0, 1):
            moved = score(3 * z, 0.4 * 9, window) - score(z, 0.4, window)
            assert moved == pytest.approx(2 * math.log(3))


def test_order_of_permutations_does_not_depend_on_sigma():
    rng = np.random.default_rng(6)
    z = rng.normal(size=(12, 8))
    orders = np.array([rng.permutation(12) for _ in range(30)])
    found = global_terms(z[orders])
    rankings = {tuple(np.argsort(np.abs(signed_scores(found, s)))) for s in (0.05, 0.5, 5.0, 50.0)}
    assert len(rankings) == 1


def test_mean_log_alpha_grows_with_length_as_tabulated():
    for steps, value in ((5, 1.65), (10, 2.29), (28, 3.25), (56, 3.92), (160, 4.94), (1000, 6.75)):
        assert global_terms(np.zeros((1, steps, 1))).log_alpha == pytest.approx(value, abs=6e-3)


def test_variance_of_simulated_bridges_is_recovered():
    for dims, expected in ((2, 3.0), (8, 12.0)):
        drawn = bridges(8000, 50, dims, 3.0, seed=dims)
        beta = global_terms(drawn).beta
        assert beta.mean() == pytest.approx(expected, rel=0.02)


def test_score_of_simulated_bridges_is_least_at_the_true_variance():
    drawn = bridges(4000, 30, 2, 3.0, seed=9)
    found = global_terms(drawn)
    means = {s: signed_scores(found, s).mean() for s in (1.5, 2.4, 3.0, 3.75, 6.0)}
    assert min(means, key=means.get) == 3.0


def test_small_latents_invert_the_absolute_value_and_are_counted():
    tiny = [path(0.01 * Z, "original"), path(0.01 * P, "shuffled")]
    critic = BridgeCritic(sigma2=0.01)
    tally = critic.tally(tiny)
    assert tally.column("score")[0] > tally.column("score")[1]
    assert tally.total("negative") == 2
    signed = BridgeCritic(sigma2=0.01, signed=True).tally(tiny)
    assert signed.column("score")[0] < signed.column("score")[1]
    assert np.diff(BridgeCritic(sigma2=1.0).tally([path(Z), path(P)]).column("score"))[0] > 0


def test_where_real_sums_are_negative_the_sum_is_taken_as_it_is():
    """The absolute value would prefer the shuffle: sheng2024 prints it for sums that are not negative."""
    tiny = [path(0.01 * z, str(i)) for i, z in enumerate(bridges(20, 5, 2, 1.0, seed=3))]
    fitted = BridgeCritic().fit(tiny)
    assert fitted.signed and not BridgeCritic().fit([path(z.latents * 100) for z in tiny]).signed
    shuffled = path(tiny[0].latents[[0, 3, 1, 2, 4]])
    sums = [fitted.sums(unit, np.arange(5)[None])[0] for unit in (tiny[0], shuffled)]
    assert sums[0] < sums[1] < 0
    assert fitted.tally([tiny[0], shuffled]).column("score").tolist() == pytest.approx(sums)
    assert fitted.tally(tiny).total("negative") > 10  # documents, no copies of them


def test_short_and_unfinished_paths_are_excluded_and_counted():
    broken = np.where(np.eye(5, 2) == 1, np.nan, Z)
    units = [path(Z, "whole"), path(Z[:2], "two"), path(Z[:1], "one"), path(Z[:0], "none"), path(broken, "nan")]
    tally = BridgeCritic(sigma2=0.5).tally(units)
    assert tally.column("excluded").tolist() == [0, 1, 1, 1, 1]
    assert BridgeCritic(sigma2=0.5).score(tally) == pytest.approx(2.1196085042)


def test_a_variance_of_zero_or_an_unfitted_critic_explains_itself():
    with pytest.raises(BadInput, match=r"sigma_m.2 is 0 over 2 paths"):
        corpus_diffusion([path(np.ones((6, 3))), path(np.zeros((4, 3)))])
    with pytest.raises(BadInput, match="undefined over 1 paths"):
        BridgeCritic().fit([path(Z[:2])])
    with pytest.raises(BadInput, match=r"sigma2 is 0\.0"):
        BridgeCritic(sigma2=0.0)
    with pytest.raises(BadInput, match="no sigma2 yet"):
        BridgeCritic().tally([path(Z)])


def test_fit_is_the_mean_over_documents_and_changes_nothing():
    critic = BridgeCritic()
    fitted = critic.fit([path(Z), path(P), path(Z[:2])])
    assert fitted.sigma2 == pytest.approx((0.5833333333 + 1.4722222222) / 2)
    assert critic.sigma2 is None


def test_a_readout_gives_its_paths_back():
    arrays = {"latents": np.concatenate([Z, P[:3]]), "latents_lengths": np.array([5, 3])}
    arrays |= {"text_ids": np.arange(8), "text_ids_lengths": np.array([5, 3])}
    first, second = units_from_readout(Readout(("a", "b"), ("test", "train"), arrays))
    assert isinstance(first, LatentPath)
    assert np.array_equal(first.latents, Z) and second.split == "train"
    assert second.text_ids.tolist() == [5, 6, 7]
