"""Named noise: standard Gumbel numbers that belong to (draft, position, token) and to nothing else."""

import numpy as np
import torch
from scipy import stats

from longform.decoding.sampling.noise import gumbel, keys


def test_noise_is_standard_gumbel():
    sample = gumbel(keys(range(40), 7), 5000, torch.float64).flatten().numpy()
    assert stats.kstest(sample, "gumbel_r").pvalue > 1e-3
    assert abs(sample.mean() - np.euler_gamma) < 0.02 and abs(sample.var() - np.pi**2 / 6) < 0.05


def test_the_largest_numbers_are_as_frequent_as_they_should_be():
    sample = gumbel(keys(range(64), 1), 50_000).flatten()
    expected = float(len(sample) * -np.expm1(-np.exp(-10.0)))  # P(g > 10), about 145 of 3.2 million
    assert abs(int((sample > 10).sum()) - expected) < 5 * expected**0.5
    assert torch.isfinite(sample).all()


def test_neighbouring_tokens_positions_and_drafts_are_uncorrelated():
    one = gumbel(keys(range(30), 5), 3000, torch.float64)
    later = gumbel(keys(range(30), 6), 3000, torch.float64)
    pairs = {"token": (one[:, 1:], one[:, :-1]), "draft": (one[1:], one[:-1]), "position": (one, later)}
    for name, (left, right) in pairs.items():
        correlation = np.corrcoef(left.flatten(), right.flatten())[0, 1]
        assert abs(correlation) < 5 / left.numel() ** 0.5, name


def test_noise_does_not_depend_on_what_is_drawn_beside_it():
    together = gumbel(keys([11, 12, 13], 4), 100, torch.float64)
    for row, key in enumerate([11, 12, 13]):
        assert torch.equal(gumbel(keys([key], 4), 100, torch.float64)[0], together[row])


def test_single_and_double_precision_are_the_same_noise():
    single, double = gumbel(keys(range(8), 2), 4000), gumbel(keys(range(8), 2), 4000, torch.float64)
    assert float((single - double).abs().max()) < 4e-6  # a few float32 roundings of numbers up to 22
