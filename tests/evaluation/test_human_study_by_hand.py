"""What annotators said, counted by hand: rows, checks, shares, agreement, error rates and organisations."""

import math

import numpy as np
import pytest

from longform.evaluation import human_study
from longform.evaluation.human_study import CoherentShare, Judged, judged_items
from tests.refusals import refuses

NAN = math.nan


def row(item, annotator, question, answer, check=False, gold="", phase="testing", last=True):
    return {
        "item": item, "annotator": annotator, "question": question, "answer": answer, "gold": gold,
        "check": check, "phase": phase, "last": last, "source": f"by {item}",
    }  # fmt: skip


ROWS = [
    row("i", "ann", "coherent", "coherent", gold="incoherent"),
    row("i", "ann", "section_1", "b", gold="b"),
    row("i", "ann", "section_0", "a", gold="c"),
    row("i", "bob", "coherent", "incoherent", gold="incoherent"),
    row("i", "bob", "section_0", "c", gold="c"),
    row("i", "bob", "section_1", "d", gold="b"),
    row("i", "ann", "coherent", "incoherent", last=False),
    row("i", "ann", "coherent", "incoherent", phase="training"),
    row("j", "ann", "coherent", "incoherent"),
    row("j", "cat", "coherent", "coherent"),
]
CHECKS = [
    *(row("k", "ann", "section_0", "a", check=True, gold=gold) for gold in "aaab"),
    *(row("k", "cat", "section_0", "a", check=True, gold=gold) for gold in "aabb"),
]


def test_rows_become_items_with_answers_in_the_order_of_sections():
    first, second = judged_items([*ROWS, *CHECKS], splits={"i": "train"}, simulated=True)
    assert first == Judged(
        "i", "by i", "train", {"ann": True, "bob": False},
        {"ann": ("a", "b"), "bob": ("c", "d")}, ("c", "b", "incoherent"), ("cat",), True,
    )  # fmt: skip
    assert (second.unit_id, second.split, second.verdicts) == ("j", "test", {"ann": False})
    assert (second.labels, second.gold, second.dropped) == ({}, (), ("cat",))


def test_words_of_a_csv_file_are_read_like_values():
    rows = [{**each, "last": str(each["last"]), "check": str(each["check"])} for each in ROWS]
    given = {"splits": {}, "simulated": False}
    assert judged_items(rows, **given) == judged_items(ROWS, **given)
    wrong = [row("i", "ann", "coherent", "maybe")]
    refuses(
        "item 'i': verdict 'maybe'; allowed are coherent, incoherent", judged_items, wrong, **given
    )


@pytest.mark.parametrize(("right", "failed"), [(3, False), (2, True), (4, False), (0, True)])
def test_three_of_four_checks_are_enough(right, failed):
    answers = [row("k", "ann", "q", "a", gold="a" if place < right else "b") for place in range(4)]
    assert human_study.failing(answers) == (("ann",) if failed else ())


def judged(name, labels=None, gold=(), simulated=False, dropped=(), **verdicts):
    chains = {who: tuple(chain) for who, chain in (labels or {}).items()}
    return Judged(name, "s", "test", verdicts, chains, tuple(gold), dropped, simulated)


UNITS = [
    judged("i", ann=True, bob=True, cat=False),
    judged("j", ann=False, bob=False),
    judged("k", cat=True, dropped=("dan",), simulated=True),
    judged("l"),
    judged("m", ann=True, cat=False),
]


def test_a_share_counts_judgements_and_articles_without_any_are_excluded():
    statistics = CoherentShare().sufficient_statistics(UNITS)
    assert statistics.columns == ("coherent", "judgements", "excluded")
    assert statistics.values.tolist() == [[2, 3, 0], [0, 2, 0], [1, 1, 0], [0, 0, 1], [1, 2, 0]]
    assert CoherentShare().score_of(statistics) == 4 / 8


def test_a_matrix_has_a_row_for_each_annotator_and_gaps():
    names, ratings = human_study.rating_matrix(UNITS)
    assert names == ["ann", "bob", "cat"]
    np.testing.assert_array_equal(
        ratings, [[1, 0, NAN, NAN, 1], [1, 0, NAN, NAN, NAN], [0, NAN, 1, NAN, 0]]
    )
    names, ratings = human_study.rating_matrix(UNITS[3:4])
    assert names == [] and ratings.shape == (0, 1)


def test_a_description_holds_majorities_without_ties_and_every_answer():
    told = CoherentShare().describe(UNITS)
    assert told["judgements"] == 8 and told["simulated"] is True and told["dropped"] == ["dan"]
    assert told["majority"] == pytest.approx(2 / 3)  # i and k of i, j and k; m is a tie
    assert told["answers"] == [
        [1, 0, None, None, 1],
        [1, 0, None, None, None],
        [0, None, 1, None, 0],
    ]
    assert told["annotators"] == ["ann", "bob", "cat"] and told["unit_ids"] == list("ijklm")
    low, high = told["wilson"]
    z, share = 1.959963984540054, 4 / 8
    middle = (share + z * z / 16) / (1 + z * z / 8)
    reach = z * math.sqrt(share * (1 - share) / 8 + z * z / 256) / (1 + z * z / 8)
    assert [low, high] == pytest.approx([middle - reach, middle + reach])
    assert CoherentShare().describe([UNITS[4]])["majority"] is None
    assert CoherentShare().describe(UNITS[1:2])["simulated"] is False


def test_agreement_is_alpha_and_each_pairs_kappa_where_defined():
    names, ratings = human_study.rating_matrix(UNITS)
    found = human_study.agreement(names, ratings)
    assert found["kappa"] == {"ann bob": 1.0, "ann cat": 0.0, "bob cat": 0.0}
    # coincidences of values by hand: i gives 1/2 of each pair, j and m whole ones
    coincidences = np.zeros((2, 2))
    for column in ([1, 1, 0], [0, 0], [1, 0]):
        for a in range(len(column)):
            for b in range(len(column)):
                if a != b:
                    coincidences[column[a], column[b]] += 1 / (len(column) - 1)
    totals = coincidences.sum(axis=0)
    observed = coincidences[0, 1] + coincidences[1, 0]
    expected = 2 * totals[0] * totals[1] / (totals.sum() - 1)
    assert found["alpha"] == pytest.approx(1 - observed / expected)


@pytest.mark.parametrize(
    "ratings", [[[1.0, 0]], [[1, NAN], [NAN, 0]], np.zeros((0, 3))]
)  # fmt: skip
def test_there_is_no_agreement_of_one_or_of_those_who_share_nothing(ratings):
    names = [f"r{number}" for number in range(len(ratings))]
    assert human_study.agreement(names, np.array(ratings)) == {"alpha": None, "kappa": {}}


def test_agreement_of_raters_who_say_one_thing_is_undefined():
    found = human_study.agreement(
        ["a", "b", "c"], np.array([[1.0, 1, NAN], [1, 1, NAN], [NAN, NAN, 1]])
    )
    assert found == {"alpha": None, "kappa": {"a b": None, "a c": None, "b c": None}}


TOLD = [
    judged("i", {"ann": "ab", "bob": "cb"}, ("a", "b", "coherent"), ann=True, bob=False),
    judged("j", {"ann": "c"}, ("d", "incoherent"), ann=True),
    judged("k", {"ann": "zz"}, (), ann=True),
]


def test_error_rates_are_counted_against_what_was_true():
    assert human_study.error_rates(TOLD) == {
        "coherent": 0.5,
        "rates": {
            "ann": {"confusion": 1 / 3, "flips": 1 / 2, "sections": 3, "articles": 2},
            "bob": {"confusion": 1 / 2, "flips": 1.0, "sections": 2, "articles": 1},
        },
    }
    assert human_study.error_rates(TOLD[2:]) == {}


def test_error_rates_leave_out_an_article_without_a_verdict():
    without_verdict = judged("l", {"ann": "xx"}, ("a", "b", "coherent"), bob=True)
    rates = human_study.error_rates([*TOLD, without_verdict])["rates"]
    assert rates == human_study.error_rates(TOLD)["rates"]


def test_organisations_of_incoherent_articles_come_most_common_first():
    units = [
        judged("i", {"ann": "ab", "bob": "ab"}, ann=False, bob=False),
        judged("j", {"ann": "ba"}, ann=False),
        judged("k", {"ann": "aa"}, ann=False),
        judged("l", {"ann": "ab"}, ann=True),
        judged("m", ann=False),
    ]
    assert human_study.organisations(units) == [
        [["a", "b"], 2], [[], 1], [["a", "a"], 1], [["b", "a"], 1]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "systems", "annotators", "sentence"),
    [
        ([0, 1, 1], ["a", "b"], ["x", "y"], "differ in length"),
        ([0, 1], ["a", "a"], ["x", "y"], r"got|systems \['a'\]"),
        ([0, 1], ["a", "b"], ["x", "x"], r"annotators \['x'\]"),
        ([1, 1], ["a", "b"], ["x", "y"], r"verdicts \[1\]"),
    ],
)
def test_mixed_effects_need_two_of_each(verdicts, systems, annotators, sentence):
    refuses(sentence, human_study.mixed_effects, verdicts, systems, annotators, ["i", "j"])
