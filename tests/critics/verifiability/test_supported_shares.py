"""SPG, SPV, USPG and USPV on hand-made verdicts: repeats, empty denominators, missing sentences, the printed table."""

import math

import pytest

from longform.core.documents import BadInput
from longform.critics.verifiability.score import (
    CheckedText,
    SupportedPerGeneration,
    SupportedPerVerified,
    checks_to_readout,
    units_from_readout,
)

A, B = frozenset({("Town", 0)}), frozenset({("Town", 0), ("River", 3)})
S, R, N = "supported", "refuted", "not_enough_info"


def unit(*pairs, name="g"):
    return CheckedText(name, "generated", tuple(label for label, _ in pairs), tuple(e for _, e in pairs))


def scores(*units):
    critics = [
        SupportedPerGeneration(),
        SupportedPerVerified(),
        SupportedPerGeneration(unique=True),
        SupportedPerVerified(unique=True),
    ]
    return [critic.score(critic.tally(units)) for critic in critics]


def test_the_four_numbers_by_hand():
    text = unit((S, A), (S, A), (S, B), (R, A), (N, A))
    assert scores(text) == pytest.approx([3 / 5, 3 / 4, 2 / 5, 2 / 3])


def test_the_same_evidence_with_another_label_is_another_class():
    assert scores(unit((S, A), (R, A), (R, A), (S, A))) == pytest.approx([2 / 5, 2 / 4, 1 / 5, 1 / 2])


def test_sentences_without_enough_information_are_no_class():
    assert scores(unit((N, A), (N, A), (S, A))) == pytest.approx([1 / 5, 1, 1 / 5, 1])


def test_missing_sentences_count_against_a_generation_and_those_past_the_fifth_do_not_count():
    assert scores(unit((S, A)))[0] == pytest.approx(1 / 5)
    assert scores(unit(*[(S, A)] * 9))[0] == 1


def test_a_generation_without_verified_sentences_is_left_out_and_counted():
    nothing, half = unit((N, A), name="n"), unit((S, A), (R, B), name="h")
    assert scores(nothing, half) == pytest.approx([1 / 10, 1 / 2, 1 / 10, 1 / 2])
    assert SupportedPerVerified().tally([nothing, half]).total("excluded") == 1
    assert all(math.isnan(scores(nothing)[i]) for i in (1, 3))


def test_an_empty_generation_supports_nothing():
    assert scores(unit(), unit((S, A)))[:2] == pytest.approx([1 / 10, 1])


def test_pooling_divides_sums():
    units = unit((S, A), name="a"), unit((R, A), (R, B), (S, B), name="b")
    pooled, averaged = SupportedPerVerified(pooled=True), SupportedPerVerified()
    assert pooled.score(pooled.tally(units)) == pytest.approx(2 / 4)
    assert averaged.score(averaged.tally(units)) == pytest.approx((1 + 1 / 3) / 2)


def test_verdicts_survive_the_readout():
    units = [unit((S, B), (N, frozenset()), name="a"), unit(name="b"), unit((R, frozenset({("A\tb", 2)})), name="c")]
    assert units_from_readout(checks_to_readout(units)) == units


def test_unusable_verdicts_are_named():
    with pytest.raises(BadInput, match="SUPPORTS"):
        CheckedText("g", "generated", ("SUPPORTS",), (A,))
    with pytest.raises(BadInput, match="2 labels and 1"):
        CheckedText("g", "generated", (S, S), (A,))
