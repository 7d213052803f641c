"""The section critic on predicted titles: prior from gold, smoothing from validation, the synthetic process exactly."""

import numpy as np
import pytest
from samples.titles import CHAIN, TITLES, articles

from longform.core.documents import BadInput, Chain, Readout, chains_to_readout
from longform.core.markov_chain import BEGIN, END, BigramCritic
from longform.core.resampling import perplexity
from longform.critics.section_order.score import (
    GoldTitleCritic,
    TitleCritic,
    TitledArticle,
    random_titles,
    validated,
    validated_gold,
)


def readout(units, process=True):
    """What the title reader writes of these units."""
    base = chains_to_readout([Chain(u.unit_id, u.split, u.symbols) for u in units])
    lengths = np.array([len(u.symbols) for u in units])
    arrays = {
        "gold": np.array([TITLES.index(t) for u in units for t in u.gold], dtype=np.int32),
        "gold_lengths": lengths,
        "gold_names": np.array(TITLES),
        "log_posterior": np.concatenate([u.log_posterior for u in units]),
        "log_posterior_lengths": lengths,
        "confidence": np.exp(np.concatenate([u.log_posterior for u in units]).max(axis=1)),
        "confidence_lengths": lengths,
        "title_names": np.array(TITLES),
    }
    if process:
        arrays |= {"section_transitions": CHAIN, "section_symbol_names": np.array(TITLES)}
    return Readout(base.unit_ids, base.splits, {**base.arrays, **arrays})


def real(error=0.1, train=200):
    splits = {"train": train, "validation": 60, "test": 60}
    return [unit for split, count in splits.items() for unit in articles(count, "world", split, error)]


def of(units, split):
    return [unit for unit in units if unit.split == split]


def test_the_prior_comes_from_gold_and_the_score_from_predicted_titles():
    units = real()
    critic = TitleCritic(delta=1).fit(of(units, "train"))
    plain = BigramCritic(delta=1).fit([Chain(u.unit_id, u.split, u.gold) for u in of(units, "train")])
    test = [Chain(u.unit_id, u.split, u.symbols) for u in of(units, "test")]
    np.testing.assert_allclose(critic.log_transitions, plain.log_transitions)
    assert critic.score(critic.tally(of(units, "test"))) == pytest.approx(plain.score(plain.tally(test)))
    gold = GoldTitleCritic(delta=1).fit(of(units, "train"))
    assert gold.score(gold.tally(of(units, "test"))) < critic.score(critic.tally(of(units, "test")))


def test_titles_at_random_have_training_shares_and_are_worse_than_any_order():
    units, test = real(train=2000), of(real(), "test")
    chance = random_titles(real=readout(units), deltas=[0.1, 1]).fit(of(units, "train"))
    read = validated(real=readout(units), deltas=[0.1, 1]).fit(of(units, "train"))
    assert chance.score(chance.tally(test)) > read.score(read.tally(test))
    drawn = [chain.symbols for chain in chance.judged(of(units, "train"))]
    assert [len(row) for row in drawn] == [len(u.symbols) for u in of(units, "train")]
    gold = [title for unit in of(units, "train") for title in unit.gold]
    flat = [title for row in drawn for title in row]
    for title in TITLES:
        assert flat.count(title) / len(flat) == pytest.approx(gold.count(title) / len(gold), abs=0.03)
    assert drawn == [chain.symbols for chain in chance.judged(of(units, "train"))]


def test_delta_is_the_best_on_predicted_validation_titles_and_an_infinite_one_is_never_chosen():
    units = real()
    chosen = validated(real=readout(units), deltas=[0, 0.1, 1, 10])
    scores = dict(chosen.validation)
    assert chosen.delta == min(scores, key=scores.get) and chosen.delta > 0
    assert scores[0] == np.inf and np.isfinite(scores[chosen.delta])
    assert validated_gold(real=readout(units), deltas=[0, 0.1, 1, 10]).delta == chosen.delta


def test_the_exact_value_is_the_limit_of_many_gold_chains():
    fitted = validated(real=readout(real()), deltas=[0.1, 1]).fit(of(real(), "train"))
    many = GoldTitleCritic(delta=fitted.delta).fit(of(real(), "train"))
    drawn = many.score(many.tally(articles(6000, "many")))
    assert fitted.exact_latent_ppl() == pytest.approx(drawn, rel=0.01)


def test_the_exact_value_by_enumeration_of_a_chain_of_two():
    # begin -> abstract surely; abstract -> career 1/2, end 1/2; career -> end
    process = np.zeros((5, 5))
    process[0, 0], process[1, 1], process[1, 4], process[2, 4], process[3, 4], process[4, 4] = 1, 0.5, 0.5, 1, 1, 1
    critic = TitleCritic(true_names=TITLES, true_transitions=process).fit(of(real(), "train"))
    log = {(a, b): critic.log_transitions[critic.names.index(a), critic.names.index(b)]
           for a in critic.names for b in critic.names}  # fmt: skip
    short = log[BEGIN, "abstract"] + log["abstract", END]
    long = log[BEGIN, "abstract"] + log["abstract", "career"] + log["career", END]
    assert critic.exact_latent_ppl() == pytest.approx(perplexity(0.5 * short + 0.5 * long, 2.5))


def test_no_exact_value_without_a_known_process():
    assert (
        validated(real=readout(real(), process=False), deltas=[1]).fit(of(real(), "train")).exact_latent_ppl() is None
    )


def test_the_description_counts_every_transition_and_finds_a_repetition():
    units = of(real(0.0), "test")
    critic = TitleCritic(delta=0.1).fit(of(real(0.0), "train"))
    bad = [*units[:5], TitledArticle("bad", "test", ("abstract",) * 3, gold=(None,) * 3)]
    found = critic.describe(bad)
    assert sum(row[2] for row in found["transitions"]) == critic.tally(bad).total("transitions")
    assert found["worst"][0]["unit"] == "bad" == found["repeating"][0]["unit"]
    assert found["worst"][0]["titles"] == ["abstract"] * 3 and len(found["worst"][0]["log_probs"]) == 4
    assert found["likeliest"][BEGIN] == "abstract"


def test_a_readout_without_a_needed_split_is_refused():
    with pytest.raises(BadInput, match="split 'validation'"):
        validated(real=readout(of(real(), "train")), deltas=[1])
    with pytest.raises(BadInput, match="none is finite"):
        validated(real=readout(real(0.2)), deltas=[0])
