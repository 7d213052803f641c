"""The decomposition of deng2022 appendix A against the sum over every chain of titles."""

from itertools import product

import numpy as np
import pytest

from longform.critics.section_order.posterior import terms

TITLES = 3


def chain(sections, seed):
    """Logarithms of a random chain of titles and of its sections' likelihoods."""
    rng = np.random.default_rng(seed)
    initial = np.log(rng.dirichlet(np.ones(TITLES)))
    ends = rng.dirichlet(np.ones(TITLES + 1), TITLES)  # the last column ends the text
    inner, final = np.log(ends[:, :TITLES]), np.log(ends[:, TITLES])
    return initial, inner, final, np.log(rng.uniform(0.01, 1, (sections, TITLES)))


def enumerated(initial, inner, final, emissions):
    """Prior, likelihood and entropy, part by part, and the evidence."""
    sections = len(emissions)
    paths = list(product(range(TITLES), repeat=sections))
    transitions = np.zeros((len(paths), sections + 1))
    likelihoods = np.zeros((len(paths), sections))
    for number, path in enumerate(paths):
        transitions[number, 0] = initial[path[0]]
        for place in range(1, sections):
            transitions[number, place] = inner[path[place - 1], path[place]]
        transitions[number, sections] = final[path[-1]]
        for place, title in enumerate(path):
            likelihoods[number, place] = emissions[place, title]
    joint = np.exp(transitions.sum(axis=1) + likelihoods.sum(axis=1))
    posterior = joint / joint.sum()
    entropy = []
    before = 0.0
    for place in range(1, sections + 1):
        # H(z_1..z_m): of the beginnings of the chains
        shares = {}
        for path, share in zip(paths, posterior, strict=True):
            shares[path[:place]] = shares.get(path[:place], 0.0) + share
        whole = -sum(share * np.log(share) for share in shares.values())
        entropy.append(whole - before)
        before = whole
    return posterior @ transitions, posterior @ likelihoods, entropy, np.log(joint.sum())


@pytest.mark.parametrize("sections", [1, 2, 3, 5])
def test_each_term_of_each_section_is_its_sum_over_all_chains(sections):
    given = chain(sections, seed=sections)
    prior, likelihood, entropy, evidence = enumerated(*given)
    ours = terms(*given)
    np.testing.assert_allclose(ours.prior, prior, rtol=1e-10)
    np.testing.assert_allclose(ours.likelihood, likelihood, rtol=1e-10)
    np.testing.assert_allclose(ours.entropy, entropy, rtol=1e-8, atol=1e-12)
    assert ours.evidence == pytest.approx(evidence, rel=1e-12)


def test_an_impossible_transition_carries_no_weight():
    """The second title is never repeated: 1 1 1, 1 1 2, 1 2 1, 2 1 1 and 2 1 2 are possible."""
    inner = np.log([[0.5, 0.5], [1.0, 1.0]])
    inner[1, 1] = -np.inf
    ours = terms(np.log([0.5, 0.5]), inner, np.zeros(2), np.zeros((3, 2)))
    shares = np.array([1, 1, 2, 2, 2]) / 8
    assert ours.evidence == pytest.approx(np.log(1.0))
    assert ours.entropy.sum() == pytest.approx(-(shares @ np.log(shares)))
    assert ours.prior == pytest.approx(np.log(0.5) * np.array([1, 4 / 8, 6 / 8, 0]))
    assert ours.likelihood.tolist() == [0.0, 0.0, 0.0]
