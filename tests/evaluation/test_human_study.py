"""Shares, intervals, agreement and checks equal published examples and closed forms; what was planted comes back."""

import numpy as np
import pytest

from longform.core.critic import estimate
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.evaluation.agreement import krippendorff_alpha
from longform.evaluation.human_study import (
    CoherentShare,
    expected_alpha,
    expected_share,
    failing,
    judged_items,
    mixed_effects,
    rating_matrix,
)
from longform.evaluation.simulated_annotators import Annotator, ChainRule, answer_rows

RULE = ChainRule(("one", "two"), np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]], dtype=float), 0.05)
GOOD, BAD = ("one", "two"), ("two", "one")
FLIPS = (0.05, 0.1, 0.15, 0.2)


def study(share, articles=300, seed=1, system="s", careless=()):
    cut = round(share * articles)
    chains = {f"{system}/{i}": GOOD if i < cut else BAD for i in range(articles)}
    people = [Annotator(f"a{i}", 0.05, flip, 1.0 if i in careless else 0.0) for i, flip in enumerate(FLIPS)]
    rows = answer_rows(chains, rule=RULE, annotators=people, system=system, seed=seed, checks=10)
    return judged_items(rows, splits={}, simulated=True)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_planted_share_and_agreement_are_recovered_within_intervals(share):
    units = study(share)
    found = estimate(CoherentShare(), CoherentShare().tally(units), generator("share"), 200)
    wanted = expected_share(share, FLIPS)
    # Articles are the only thing resampled, and their truth is fixed here: the interval is wide enough for the flips.
    assert found.low <= wanted <= found.high
    names, ratings = rating_matrix(units)
    draws = generator("alpha")
    alphas = [krippendorff_alpha(ratings[:, draws.integers(0, 300, 300)], "nominal") for _ in range(100)]
    low, high = np.quantile(alphas, [0.005, 0.995])
    assert low <= expected_alpha(share, FLIPS) <= high
    assert len(names) == len(FLIPS)


def test_measured_error_rates_and_organisations_are_described():
    units = study(0.5)
    found = CoherentShare().describe(units)
    assert found["simulated"] and found["known"]["coherent"] == 0.5
    for flip, rates in zip(FLIPS, found["known"]["rates"].values(), strict=True):
        assert rates["flips"] == pytest.approx(flip, abs=4 * np.sqrt(flip / 300))
    assert found["incoherent"][0][0] == list(BAD)
    counts = [number for _, number in found["incoherent"]]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == found["judgements"] - CoherentShare().tally(units).total("coherent")


def test_a_careless_annotator_is_set_aside_and_named():
    units = study(0.5, careless=(2,))
    assert all(unit.dropped == ("a2",) and "a2" not in unit.verdicts for unit in units)
    assert CoherentShare().describe(units)["dropped"] == ["a2"]


def test_checks_are_held_against_a_share_of_their_questions():
    rows = [
        {"annotator": name, "answer": a, "gold": "y"} for name, said in (("x", "yyyn"), ("y", "yynn")) for a in said
    ]
    assert failing(rows) == ("y",)


def test_exported_words_for_truth_are_read_and_earlier_answers_left_out():
    row = {"annotator": "p", "item": "i", "source": "s", "phase": "testing", "check": "False", "question": "coherent"}
    rows = [
        row | {"answer": "coherent", "gold": "", "last": "False"},
        row | {"answer": "incoherent", "gold": "", "last": "True"},
    ]
    (unit,) = judged_items(rows, splits={}, simulated=False)
    assert unit.verdicts == {"p": False} and not unit.simulated
    with pytest.raises(BadInput, match="allowed are coherent"):
        judged_items([row | {"answer": "maybe", "gold": "", "last": True}], splits={}, simulated=False)


def test_mixed_effects_find_the_planted_order_and_spreads():
    draw = generator("mixed")
    logits, people = {"data": 1.5, "good": 0.5, "bad": -1.5}, draw.normal(0, 0.7, 6)
    rows = []
    for system, logit in logits.items():
        for item, own in enumerate(draw.normal(0, 0.5, 30)):
            for name, bias in enumerate(people):
                share = 1 / (1 + np.exp(-(logit + bias + own)))
                rows.append((int(draw.random() < share), system, f"p{name}", f"{system}/{item}"))
    fixed, spreads = mixed_effects(*(list(column) for column in zip(*rows, strict=True)))
    assert [effect.name for effect in fixed] == ["data", "good minus data", "bad minus data"]
    assert fixed[2].value == pytest.approx(-3.0, abs=0.9)
    assert fixed[2].value < fixed[1].value < 0
    assert spreads[0].low < 0.7 < spreads[0].high * 1.5


@pytest.mark.parametrize(
    ("rows", "what"),
    [(([1, 0], ["a", "a"], ["p", "q"], ["i", "j"]), "two systems"), (([1, 1], ["a", "b"], ["p", "q"], ["i", "j"]), "verdicts"),
     (([1], ["a", "b"], ["p", "q"], ["i", "j"]), "length")],
)  # fmt: skip
def test_mixed_effects_name_what_they_lack(rows, what):
    with pytest.raises(BadInput, match=what):
        mixed_effects(*rows)
