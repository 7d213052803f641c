"""The planted world knows who is whom: gold mentions give the gold chain, and the rules come near it."""

from __future__ import annotations

import pytest

from longform.critics.coreference.agreement import ChainAgreement, ReadClusters, clusters
from longform.critics.coreference.chains import gold_chains, gold_mentions, is_person, read_chains
from longform.critics.coreference.rules import RuleResolver
from longform.critics.coreference.score import KneserNeyCritic, MentionCritic
from longform.datasets.synthetic_world.corpora import build


@pytest.fixture(scope="module")
def corpus():
    return build(name="test", seed=3, domain="wiki", documents=150)


def test_chains_made_of_gold_mentions_are_the_gold_chains(corpus):
    made = read_chains(corpus.documents, gold_mentions(corpus.documents, corpus.truth), singletons=True)
    assert [item.chain for item in made] == gold_chains(corpus.documents, corpus.truth)


def test_rules_agree_with_the_planted_truth(corpus):
    resolver = RuleResolver(subject=0.0, parallel=0.0)
    gold = gold_mentions(corpus.documents, corpus.truth)
    units, true = [], {}
    for document, mentions in zip(corpus.documents, resolver.resolve([d.text for d in corpus.documents]), strict=True):
        persons = {m.entity for m in mentions if m.named or is_person(document.text[m.start : m.end], False)}
        found = clusters([((m.start, m.end), m.entity) for m in mentions if m.entity in persons])
        true[document.id] = clusters([((m.start, m.end), m.entity) for m in gold.by_text[document.text]])
        units.append(ReadClusters(document.id, "test", found))
    critic = ChainAgreement(true)
    assert critic.score(critic.tally(units)) > 0.8


@pytest.mark.parametrize("critic", [MentionCritic(), KneserNeyCritic()])
def test_gold_chains_score_above_their_closed_form_and_near_it(corpus, critic):
    chains = gold_chains(corpus.documents, corpus.truth)
    fitted = critic.fit(chains[:100])
    latent_ppl, exact = fitted.score(fitted.tally(chains[100:])), corpus.facts["mention_latent_ppl"]
    assert 0.9 * exact < latent_ppl < 1.7 * exact
