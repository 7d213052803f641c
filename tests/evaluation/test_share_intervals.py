"""A share of none or of all has an interval with a width: resamples of equal answers all say the same."""

import numpy as np
import pytest
from scipy.stats import binomtest

from longform.critics.code_mixing.score import LanguageDispersion
from longform.critics.section_order.classifier_errors import TitleAccuracy
from longform.critics.surprisal.score import SuiteAccuracy
from longform.critics.verifiability.reliability import PAIRS, CheckerAccuracy
from longform.critics.verifiability.score import SupportedPerGeneration, SupportedPerVerified
from longform.evaluation.corruption_response import corruption_response
from longform.evaluation.human_study import CoherentShare
from longform.evaluation.human_vs_machine import ClassAccuracy, MeanValue
from longform.evaluation.measurements import Measurement, paired_difference
from longform.evaluation.order_discrimination import Area, PairAccuracy
from longform.evaluation.verified_texts import SentenceMean
from longform.statistics.estimates import estimate
from longform.statistics.intervals import share_difference_interval, share_interval
from longform.statistics.protocols import is_share
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics
from synthetic_world.world_grammar.score import REFUSED, DerivableShare, DerivedText, FollowedShare

UNITS = 30
ONE_OF_ALL = 3.841458820694124 / (
    UNITS + 3.841458820694124
)  # z^2 / (n + z^2): how far Wilson's goes where all agree
RIGHT, WRONG = PAIRS[:2]  # supported, and said to be that, or something else
NO_ANSWER = dict.fromkeys(PAIRS, 0)
SHARES = [  # a metric, and what a unit of ten answers counts where all are yes, and where none is
    (PairAccuracy(), {"wins": 10, "ties": 0, "pairs": 10}, {"wins": 0, "ties": 0, "pairs": 10}),
    (ClassAccuracy(), {"right": 1, "texts": 1}, {"right": 0, "texts": 1}),
    (CoherentShare(), {"coherent": 10, "judgements": 10}, {"coherent": 0, "judgements": 10}),
    (SuiteAccuracy(), {"correct": 10, "items": 10}, {"correct": 0, "items": 10}),
    (TitleAccuracy(), {"correct": 10, "titled": 10}, {"correct": 0, "titled": 10}),
    (DerivableShare(), {"derivable": 10, "sentences": 10}, {"derivable": 0, "sentences": 10}),
    (FollowedShare(), {"followed": 10, "words": 10}, {"followed": 0, "words": 10}),
    (
        SupportedPerGeneration(),
        {"supported": 5, "generations": 1},
        {"supported": 0, "generations": 1},
    ),
    (SupportedPerVerified(), {"share": 1, "generations": 1}, {"share": 0, "generations": 1}),
    (
        SupportedPerVerified(pooled=True),
        {"supported": 4, "verified": 4},
        {"supported": 0, "verified": 4},
    ),
    (SentenceMean("conflict"), {"sum": 5, "sentences": 5}, {"sum": 0, "sentences": 5}),
    (
        LanguageDispersion(corners=True),
        {"corner": 1, "documents": 1},
        {"corner": 0, "documents": 1},
    ),
    (Area("low", "high", lower=True), {"low": 1, "high": 2}, {"low": 2, "high": 1}),
    (CheckerAccuracy(), {**NO_ANSWER, RIGHT: 5}, {**NO_ANSWER, WRONG: 5}),
]
PAIR, ALL, NONE = SHARES[0]
DERIVABLE = (
    np.array([0]),
    np.array([5]),
    np.array([5]),
)  # of one sentence: frame, words, followed words
REFUSED_ONE = np.array([REFUSED]), np.array([5]), np.array([0])


def statistics(counts: dict[str, float], units: int = UNITS) -> SufficientStatistics:
    ids = tuple(f"t{i}" for i in range(units))
    return SufficientStatistics(
        ids, (*counts, "excluded"), np.tile([*map(float, counts.values()), 0.0], (units, 1))
    )


@pytest.mark.parametrize(
    ("metric", "every", "none"), SHARES, ids=[type(row[0]).__name__ for row in SHARES]
)
def test_a_share_of_all_and_of_none_has_wilsons_interval(metric, every, none):
    for counts, hits in ((every, UNITS), (none, 0)):
        found = estimate(metric, statistics(counts), generator("s"), 50)
        expected = binomtest(hits, UNITS).proportion_ci(method="wilson")
        assert found.value == hits / UNITS
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_units_that_were_set_aside_are_no_trials():
    counted = statistics(ALL)
    aside = statistics({"wins": 0, "ties": 0, "pairs": 0}, 400)
    aside.values[:, -1] = 1
    values = np.concatenate([counted.values, aside.values])
    both = SufficientStatistics(tuple(map(str, range(430))), counted.columns, values)
    assert estimate(PAIR, both, generator("s"), 50).low == pytest.approx(1 - ONE_OF_ALL)


def test_a_share_that_differs_between_units_keeps_its_resamples():
    one = statistics(ALL) + statistics(NONE, 10)
    found = estimate(PAIR, one, generator("s"), 400)
    assert (found.value, found.low, found.high) == pytest.approx((0.75, 0.6125, 0.875), abs=0.03)


def test_what_is_no_share_of_answers_is_left_alone():
    assert not is_share(MeanValue())
    assert not is_share(SentenceMean("pronouns"))
    assert not is_share(LanguageDispersion())
    found = estimate(MeanValue(), statistics({"value": 1, "texts": 1}), generator("s"), 50)
    assert (found.low, found.high) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        (0, 0, -ONE_OF_ALL, ONE_OF_ALL),
        (1, 1, -ONE_OF_ALL, ONE_OF_ALL),
        (0, 1, 1 - 2**0.5 * ONE_OF_ALL, 1.0),
        (1, 0, -1.0, 2**0.5 * ONE_OF_ALL - 1),
    ],
)
def test_a_difference_of_shares_of_all_or_none_has_newcombes_interval(first, second, low, high):
    sides = [
        Measurement({"": PAIR}, {"": statistics((ALL, NONE)[place])}) for place in (first, second)
    ]
    record = paired_difference(*sides, "n", critic="c", metric="pairwise_accuracy_difference")
    assert (record.low, record.high) == pytest.approx((low, high), abs=1e-12)


def test_resamples_that_are_a_billionth_apart_are_the_same():
    for width, high in ((1e-9, ONE_OF_ALL), (1.1e-9, 1.1e-9)):
        found = share_difference_interval((0.0, width), 1e-9, 0.0, UNITS)
        assert found[1] == pytest.approx(high)
        assert share_interval((0.0, width), 1e-9, UNITS) == (0.0, pytest.approx(high))


def test_a_mean_over_trainings_that_are_all_right_has_a_width():
    all_statistics = {head: statistics(ALL) for head in ("a", "b")}
    both = Measurement(
        dict.fromkeys(all_statistics, PAIR),
        all_statistics,
        {"critic": "c", "metric": "pairwise_accuracy"},
    )
    assert [record.low for record in both.records("n")] == pytest.approx(
        [1 - ONE_OF_ALL] * 3, abs=1e-12
    )


def test_a_damage_that_is_always_seen_has_a_difference_with_a_width():
    sound = [DerivedText(f"sound@0/{i}", "test", *DERIVABLE) for i in range(UNITS)]
    damaged = [DerivedText(f"mixed@1/{i}", "test", *REFUSED_ONE) for i in range(UNITS)]
    _, record = corruption_response(DerivableShare(), sound + damaged, name="world_grammar")
    details = record.details
    ends = details["difference_low"], details["difference_high"]
    assert ends == pytest.approx((-1.0, 2**0.5 * ONE_OF_ALL - 1), abs=1e-12)
