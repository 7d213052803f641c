"""Agreement of clusters, with the planted truth too, and n-gram attribution on chains small enough to count by hand."""

import itertools
import math

import numpy as np
import pytest
from samples.chains import pronoun_chains as drawn

from longform.core.documents import Chain, Document, Section, chains_to_readout
from longform.core.resampling import generator
from longform.critics.coreference.agreement import ChainAgreement, ReadClusters, b_cubed, ceaf_e, clusters, muc
from longform.critics.coreference.attribution import (
    AttributionCritic,
    best_successor,
    gap_rows,
    ngram_attribution,
    rare_rows,
    ratio_rows,
    units_from_readout,
)
from longform.critics.coreference.chains import gold_chains, gold_mentions, is_person, read_chains, read_with
from longform.critics.coreference.rules import RuleResolver
from longform.critics.coreference.score import KneserNeyCritic, MentionCritic
from longform.datasets.synthetic_world.corpora import build
from tests.refusals import refuses


def sets(*rows: str):
    return tuple(frozenset(row) for row in rows)


GOLD, FOUND = sets("abc", "defg"), sets("ab", "cd", "fghi")  # Pradhan et al. 2014, section 4.2


def ratios(sums):
    return sums[0] / sums[1], sums[2] / sums[3]


def test_scores_of_the_published_example():
    assert ratios(muc(GOLD, FOUND)) == pytest.approx((2 / 5, 2 / 5))
    recall = (1 / 7) * (2**2 / 3 + 1 / 3 + 1 / 4 + 2**2 / 4)
    precision = (1 / 8) * (2**2 / 2 + 1 / 2 + 1 / 2 + 2**2 / 4)
    assert ratios(b_cubed(GOLD, FOUND)) == pytest.approx((recall, precision))
    best = 2 * 2 / (3 + 2) + 2 * 2 / (4 + 4)
    assert ratios(ceaf_e(GOLD, FOUND)) == pytest.approx((best / 2, best / 3))


def test_ceaf_takes_the_best_of_all_alignments():
    rng = generator("test", "ceaf")
    for _ in range(20):
        gold = clusters([(i, int(rng.integers(0, 3))) for i in range(8)])
        found = clusters([(i, int(rng.integers(0, 4))) for i in range(2, 10)])
        phi = [[2 * len(k & r) / (len(k) + len(r)) for r in found] for k in gold]
        if len(gold) <= len(found):
            every = (
                sum(phi[i][j] for i, j in enumerate(p)) for p in itertools.permutations(range(len(found)), len(gold))
            )
            assert ceaf_e(gold, found)[0] == pytest.approx(max(every))


def judged(**documents):
    """The critic of gold clusters and its tally of the found ones, from (gold, found) by document."""
    critic = ChainAgreement({name: gold for name, (gold, _) in documents.items()})
    return critic, [ReadClusters(name, "test", found) for name, (_, found) in documents.items()]


def test_a_perfect_resolver_scores_one_nothing_found_zero_and_no_gold_is_excluded():
    critic, units = judged(d=(GOLD, GOLD))
    assert critic.score(critic.tally(units)) == pytest.approx(1.0)
    for score in (muc, b_cubed, ceaf_e):
        assert score(GOLD, FOUND)[:2] == score(FOUND, GOLD)[2:]
    pooled, units = judged(a=(GOLD, FOUND), b=(sets("xy"), sets("xy")))
    assert pooled.describe(units)["muc"]["recall"] == pytest.approx(3 / 6)  # of sums over documents
    critic, units = judged(none=(GOLD, ()), empty=((), FOUND))
    tally = critic.tally(units)
    assert critic.score(tally) == 0.0
    assert tally.column("excluded").tolist() == [0, 1] and not tally.values[1, :-1].any()


@pytest.fixture(scope="module")
def corpus():
    return build(name="test", seed=3, domain="wiki", documents=150)


def test_chains_made_of_gold_mentions_are_the_gold_chains(corpus):
    made = read_chains(corpus.documents, gold_mentions(corpus.documents, corpus.truth), singletons=True)
    gold = gold_chains(corpus.documents, corpus.truth)
    assert [(item.unit_id, item.symbols) for item in made] == [(item.unit_id, item.symbols) for item in gold]


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


REAL, HELD_OUT, WRONG = drawn("real", 60), drawn("held", 40), drawn("wrong", 40, 0.3)
CRITIC = MentionCritic().fit(REAL)


def test_contributions_of_all_windows_sum_to_the_gap_per_token():
    rows = gap_rows(CRITIC, HELD_OUT, WRONG, top=None)
    nll = [-t.total("logprob") / t.total("transitions") for t in (CRITIC.tally(HELD_OUT), CRITIC.tally(WRONG))]
    assert math.fsum(row["contribution"] for row in rows) == pytest.approx(nll[1] - nll[0], abs=1e-12)
    assert sum(row["percent_real"] for row in rows) == pytest.approx(100)
    stops = [("", "", "", "", u.symbols[0]) == ("", "", "", "", ".") for u in HELD_OUT]
    first = next(row for row in rows if row["window"] == ("", "", "", "", "."))
    assert first["percent_real"] == pytest.approx(100 * sum(stops) / sum(len(u.symbols) for u in HELD_OUT))
    assert [r["contribution"] for r in rows] == sorted((r["contribution"] for r in rows), reverse=True)
    assert len(gap_rows(CRITIC, HELD_OUT, WRONG)) == 10
    refuses("no token", gap_rows, CRITIC, HELD_OUT, [Chain("e", "test", ())])


def test_rare_windows_are_below_the_threshold_and_the_expected_symbol_is_the_observed_best():
    rows = rare_rows(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0)
    assert 0 < len(rows) <= 6 and all(row["log_probability"] < -3.0 for row in rows)
    for row in rows:
        unit = next(u for u in WRONG if u.unit_id == row["unit_id"])
        assert CRITIC.attribute([unit])[0][row["position"]] == row["log_probability"]
        assert row["best"] != "." and row["best_log_probability"] > row["log_probability"]
    assert rare_rows(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0) == rows


def test_best_successor_is_the_arg_max_over_successors_seen_after_the_history():
    critic = MentionCritic(order=2).fit([Chain("u", "test", tuple("ababaca."))])
    key = next(int(k) for k in critic.orders[1].keys if critic.window(int(k)) == ("a", "."))
    symbol, log_prob = best_successor(critic, key)
    assert symbol == "b"
    assert log_prob == pytest.approx(critic.attribute([Chain("v", "test", ("a", "b"))])[0][1])


def test_ratio_tables_rank_frequent_windows_by_two_separate_fits():
    high, low = ratio_rows(CRITIC, HELD_OUT, WRONG)
    assert high[0]["log_ratio"] >= high[-1]["log_ratio"] > low[-1]["log_ratio"] >= low[0]["log_ratio"]
    for row in (*high, *low):
        assert row["log_ratio"] == pytest.approx(math.log(row["probability_generated"] / row["probability_real"]))
        assert 0 < row["probability_real"] <= 1 and 0 < row["probability_generated"] <= 1
    alone = MentionCritic().fit(HELD_OUT)
    assert low[0]["window"] in {alone.window(int(k)) for k in alone.orders[-1].keys}


def test_the_attribution_critic_scores_as_the_released_one_and_lists_the_same_rows():
    train = [Chain(c.unit_id, "train", c.symbols) for c in REAL]
    critic = ngram_attribution(real=chains_to_readout([*train, *HELD_OUT])).fit(train)
    assert critic.score(critic.tally(WRONG)) == CRITIC.score(CRITIC.tally(WRONG))
    found = critic.describe(WRONG)
    assert found["gap"] == gap_rows(CRITIC, HELD_OUT, WRONG)
    rare = np.concatenate(CRITIC.attribute(WRONG)) < critic.threshold
    assert found["rare_share"]["judged"] == {"rare": rare.sum(), "windows": len(rare)}
    assert found["articles"] == []  # chains without their text make no page
    refuses("no chain of split test", ngram_attribution, real=chains_to_readout(train))


def test_an_article_keeps_its_text_through_a_readout_and_marks_every_symbol():
    text = "Anna Lee met Tom Reed. He liked her. She liked him. " * 6
    pages = {"a": text + "Zoë ß.", "b": "?"}
    documents = [Document(name, "generated", (Section(None, page),)) for name, page in pages.items()]
    units = units_from_readout(read_with(RuleResolver(), documents, ["generated"], False, None, keep_text=True))
    assert units[0].text == documents[0].text and units[1].text == "?"
    critic = AttributionCritic(threshold=0.0, held_out=tuple(HELD_OUT)).fit(REAL)
    article, _ = critic.describe(units)["articles"]  # the long one first
    assert [mark["symbol"] for mark in article["marks"]] == list(units[0].symbols)
    assert all(text[m["start"] : m["end"]] in {"", "Lee", "Reed", "He", "her", "She", "him"} for m in article["marks"])
