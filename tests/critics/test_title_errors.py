"""The classifier's errors taken out of the Latent PPL: exact on expected counts, covering over seeds."""

from dataclasses import replace

import numpy as np
import pytest
from critics.test_title_chains import of, readout, real
from samples.titles import CHAIN, TITLES, articles, channel

from longform.critic import estimate
from longform.critics.section_order.errors import CorrectedTitleCritic, confusion, corrected
from longform.critics.section_order.score import GoldTitleCritic, TitledArticle
from longform.documents import BadInput
from longform.resampling import generator


def article(predicted, gold, split="test", number=0):
    zeros = np.zeros((len(predicted), 4))
    return TitledArticle(f"{split}-{number}", split, tuple(predicted), tuple(gold), zeros, TITLES)


def with_channel(critic, rows):
    full = np.eye(len(critic.names))
    place = [critic.names.index(title) for title in TITLES]
    full[np.ix_(place, place)] = rows
    return replace(critic, channel=full)


def test_expected_counts_of_noisy_titles_give_back_the_gold_score_exactly():
    train = of(real(0.0), "train")
    fitted = CorrectedTitleCritic(confusion_names=TITLES, confusion_counts=np.eye(4)).fit(train)
    critic = with_channel(fitted, channel(0.2))
    gold = GoldTitleCritic().fit(train)
    # every reading of abstract, history, people, weighted by its probability
    chain, noisy = (0, 2, 3), channel(0.2)
    total = np.zeros(critic.tally([article(["abstract"], ["abstract"])]).values.shape[1])
    for first in range(4):
        for second in range(4):
            for third in range(4):
                reading = [TITLES[z] for z in (first, second, third)]
                weight = noisy[chain[0], first] * noisy[chain[1], second] * noisy[chain[2], third]
                total += weight * critic.tally([article(reading, reading)]).values[0]
    tally = critic.tally([article(["abstract"], ["abstract"])])
    found = critic.score(replace(tally, values=total[None, :]))
    names = [TITLES[z] for z in chain]
    assert found == pytest.approx(gold.score(gold.tally([article(names, names)])), rel=1e-10)


def test_a_perfect_channel_changes_nothing():
    train, test = of(real(0.1), "train"), of(real(0.1), "test")
    fitted = CorrectedTitleCritic(confusion_names=TITLES, confusion_counts=np.eye(4)).fit(train)
    plain = super(CorrectedTitleCritic, fitted)
    assert with_channel(fitted, np.eye(4)).score(fitted.tally(test)) == pytest.approx(plain.score(plain.tally(test)))


def test_the_confusion_matrix_counts_sections_by_gold_and_predicted_title():
    units = [article(["career", "people"], ["abstract", "people"]), article(["abstract"], [None])]
    counts = confusion(units, TITLES)
    assert counts.sum() == 2 and counts[0, 1] == 1 and counts[3, 3] == 1


def test_the_corrected_interval_covers_the_exact_value_over_seeds():
    """Four titles, 5 % errors (which the critic punishes by a third of the score): 40 worlds, validation drawn anew."""
    hits, naive, wide = 0, 0, []
    for seed in range(40):
        train = articles(300, seed, "train")
        counts = confusion(articles(100, seed, "validation", 0.05), TITLES)
        known = {"true_names": TITLES, "true_transitions": CHAIN}
        critic = CorrectedTitleCritic(delta=0.1, confusion_names=TITLES, confusion_counts=counts, **known).fit(train)
        test = articles(150, seed, "test", 0.05)
        found = estimate(critic, critic.tally(test), generator("covers", seed), resamples=100)
        exact = critic.exact_latent_ppl()
        hits += found.low <= exact <= found.high
        wide.append((found.high - found.low) / exact)
        plain = super(CorrectedTitleCritic, critic)
        naive += abs(plain.score(plain.tally(test)) - exact) < (found.high - found.low) / 2
    assert hits >= 33  # 95 % of 40 is 38; fewer than 33 has probability below 1e-3
    assert (
        naive <= 13 and np.median(wide) < 0.5
    )  # the uncorrected value is mostly outside, and the interval is no blank


def test_a_channel_without_errors_is_still_uncertain():
    counts = 50.0 * np.eye(4)
    critic = CorrectedTitleCritic(delta=0.1, confusion_names=TITLES, confusion_counts=counts).fit(of(real(), "train"))
    tally, rng = critic.tally(of(real(0.0), "test")), generator("draws")
    drawn = [critic.redrawn(rng).score(tally) for _ in range(20)]
    assert np.std(drawn) > 0 and 0.9 < np.diag(critic.channel).min() < 1


def test_the_factory_counts_validation_sections_and_refuses_an_impossible_transition():
    found = corrected(real=readout(real()), deltas=[0.1, 1])
    sections = sum(len(unit.gold) for unit in of(real(), "validation"))
    assert found.confusion_counts.sum() == sections and found.confusion_names == TITLES
    with pytest.raises(BadInput, match="above 0"):
        replace(found, delta=0).fit(of(real(), "train"))
