"""The classifier's errors: counted, known to it or not, and taken out of the Latent PPL."""

from dataclasses import replace

import numpy as np
import pytest
from samples.titles import CHAIN, TITLES, articles, channel
from test_title_chains import of, readout, real

from longform.core.critic import estimate
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.critics.section_order.classifier_errors import (
    CalibrationError,
    CorrectedTitleCritic,
    TitleAccuracy,
    confusion,
    corrected,
)
from longform.critics.section_order.score import GoldTitleCritic, TitleCritic, TitledArticle


def article(predicted, gold, split="test", number=0):
    return TitledArticle(f"{split}-{number}", split, tuple(predicted), gold=tuple(gold))


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
    plain = TitleCritic().fit(train)
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
        plain = TitleCritic(delta=0.1).fit(train)
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
    sure = corrected(real=readout(real(0.01)), deltas=[0.1, 1]).fit(of(real(0.01), "train"))
    assert sure.describe([])["reliable"] and not found.fit(of(real(), "train")).describe([])["reliable"]
    with pytest.raises(BadInput, match="above 0"):
        replace(found, delta=0).fit(of(real(), "train"))


def confident(confidence, correct, name="a"):
    titles = ["abstract" if right else "career" for right in correct]
    return replace(article(titles, ["abstract"] * len(titles), number=name), confidence=np.array(confidence, float))


def test_calibration_of_two_bins_by_hand():
    metric = CalibrationError(bins=2)
    units = [confident([0.2, 0.4], [1, 0]), confident([0.9, 0.7, 0.8, 1.0], [1, 1, 1, 0], "b")]
    # (0, 0.5]: 1 right of 2 at 0.3; (0.5, 1]: 3 right of 4 at 0.85
    assert metric.score(metric.tally(units)) == pytest.approx((2 * 0.2 + 4 * 0.10) / 6)


def test_a_calibrated_reader_is_near_what_chance_gives_and_an_overconfident_one_is_not():
    rng = generator("calibrated")
    confidence = rng.uniform(0.3, 1.0, 3000)
    good = [confident(confidence, rng.random(3000) < confidence)]
    over = [confident(np.sqrt(confidence), rng.random(3000) < confidence)]
    metric = CalibrationError()
    chance = metric.describe(good)["expected_by_chance"]
    assert 0.3 * chance < metric.score(metric.tally(good)) < 2 * chance < metric.score(metric.tally(over))


def test_the_edges_of_confidence_fall_into_the_first_and_last_bin():
    bins = CalibrationError(bins=4).describe([confident([1e-9, 0.25, 1.0], [1, 1, 1])])["bins"]
    assert [(low, count) for low, _, count, _, _ in bins] == [(0.0, 2.0), (0.75, 1.0)]


def test_sections_without_gold_titles_are_left_out_and_documents_without_any_are_counted():
    mixed = replace(article(["abstract", "people"], ["abstract", None]), confidence=np.array([0.9, 0.1]))
    blank = replace(article(["people"], [None], number=1), confidence=np.array([0.5]))
    for metric, value in ((CalibrationError(), pytest.approx(0.1)), (TitleAccuracy(), 1.0)):
        tally = metric.tally([blank, mixed])
        assert tally.total("excluded") == 1 and metric.score(tally) == value
        assert np.isnan(metric.score(metric.tally([blank])))
    with pytest.raises(BadInput, match="whole number from 1"):
        CalibrationError(bins=0)
