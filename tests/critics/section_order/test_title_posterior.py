"""Appendix A's terms against enumeration of every chain of titles, and the diversity of a set of chains."""

from itertools import pairwise, product

import numpy as np
import pytest
from samples.titles import CHAIN, articles
from test_title_chains import of, readout, real

from longform.core.critic import estimate
from longform.core.markov_chain import END
from longform.core.resampling import generator
from longform.critics.section_order.posterior import (
    ChainEntropy,
    EntropyTerm,
    ExpectedTitleCritic,
    LikelihoodTerm,
    chain_entropy,
    entropy_term,
    expected,
    likelihood_term,
    terms,
)
from longform.critics.section_order.score import TitleCritic, TitledArticle


@pytest.mark.parametrize("sections", [1, 2, 4])
def test_the_terms_are_those_of_enumeration(sections):
    rng = generator("enumeration", sections)
    initial, final = np.log(rng.dirichlet(np.ones(3))), np.log(rng.random(3))
    inner, emissions = np.log(rng.dirichlet(np.ones(3), 3)), rng.normal(size=(sections, 3))
    paths = list(product(range(3), repeat=sections))
    prior = np.array([initial[p[0]] + sum(inner[a, b] for a, b in pairwise(p)) + final[p[-1]]
                      for p in paths])  # fmt: skip
    likelihood = np.array([sum(emissions[m, z] for m, z in enumerate(p)) for p in paths])
    joint = prior + likelihood
    posterior = np.exp(joint - np.log(np.exp(joint).sum()))
    found = terms(initial, inner, final, emissions)
    assert found.prior.sum() == pytest.approx(posterior @ prior, abs=1e-10)
    assert found.likelihood.sum() == pytest.approx(posterior @ likelihood, abs=1e-10)
    assert found.entropy.sum() == pytest.approx(-(posterior @ np.log(posterior)), abs=1e-10)
    assert found.evidence == pytest.approx(found.prior.sum() + found.likelihood.sum() + found.entropy.sum(), abs=1e-10)


def test_impossible_transitions_carry_no_weight():
    inner = np.log(np.array([[0.5, 0.5], [1.0, 0.0]]) + 0.0, where=np.array([[True, True], [True, False]]),
                   out=np.full((2, 2), -np.inf))  # fmt: skip
    found = terms(np.log([0.5, 0.5]), inner, np.log([1.0, 1.0]), np.zeros((3, 2)))
    assert np.isfinite([*found.prior, *found.entropy, found.evidence]).all()
    assert found.evidence == pytest.approx(found.prior.sum() + found.likelihood.sum() + found.entropy.sum(), abs=1e-10)


def test_the_three_terms_of_a_set_add_up_to_its_evidence():
    units = real(0.1)
    fitted = ExpectedTitleCritic().fit(of(units, "train"))
    tally = fitted.tally(of(units, "test"))
    parts = sum(tally.total(name) for name in ("prior", "likelihood", "entropy"))
    assert parts == pytest.approx(tally.total("evidence"), rel=1e-10)
    assert LikelihoodTerm().score(tally) == tally.total("likelihood") / tally.total("transitions")
    assert EntropyTerm().score(tally) == tally.total("entropy") / tally.total("transitions")


def test_a_certain_reader_has_no_entropy_and_the_latent_ppl_of_its_arg_max():
    units = articles(30, "certain", error=0.0)
    fitted = ExpectedTitleCritic().fit(of(real(0.0), "train"))
    tally = fitted.tally(units)
    plain = TitleCritic().fit(of(real(0.0), "train"))
    assert EntropyTerm().score(tally) < 1e-3
    assert fitted.score(tally) == pytest.approx(plain.score(plain.tally(units)), rel=1e-3)


def test_the_diversity_of_many_true_chains_is_the_process_own_latent_ppl():
    fitted = ChainEntropy().fit(of(real(), "train"))
    found = fitted.score(fitted.tally(articles(4000, "many")))
    visits = np.linalg.solve((np.eye(5) - np.hstack([np.zeros((5, 1)), CHAIN[:, :-1]])).T, np.eye(5)[0])
    entropy = -np.where(CHAIN > 0, CHAIN * np.log(np.where(CHAIN > 0, CHAIN, 1)), 0).sum(axis=1)
    assert found == pytest.approx(np.exp(visits @ entropy / visits.sum()), rel=0.02)


def test_one_chain_over_and_over_has_no_diversity_whatever_its_latent_ppl():
    units = [u for u in articles(200, "many") if u.symbols == articles(1, "many")[0].symbols]
    fitted = ChainEntropy().fit(of(real(), "train"))
    once = len(set(units[0].symbols)) == len(units[0].symbols)
    assert once and fitted.score(fitted.tally(units)) == pytest.approx(1.0)


def test_the_interval_of_a_diversity_holds_its_value():
    fitted = ChainEntropy().fit(of(real(), "train"))
    wild = articles(60, "wild", transitions=np.full((5, 5), 0.2))
    found = estimate(fitted, fitted.tally(wild), generator("diversity"), resamples=200)
    assert found.low < found.value < found.high


def test_unknown_titles_and_unread_articles_are_counted():
    fitted = ChainEntropy().fit(of(real(), "train"))
    odd = TitledArticle("o", "test", ("abstract", "nowhere"), gold=(None, None))
    tally = fitted.tally([odd])
    assert tally.total("unknown") == 2 and tally.total("<bos>|abstract") == 1 and tally.total(f"abstract|{END}") == 0


def test_the_factories_share_one_smoothing():
    made = [f(real=readout(real()), deltas=[0.1, 1]) for f in (expected, likelihood_term, entropy_term, chain_entropy)]
    assert len({one.delta for one in made}) == 1
    assert [type(one).__name__ for one in made] == [
        "ExpectedTitleCritic", "LikelihoodTerm", "EntropyTerm", "ChainEntropy",
    ]  # fmt: skip
