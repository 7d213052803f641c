"""What filters, numbers and labels of a claim stand for, one rule at a time."""

from pathlib import Path

import pytest

from longform.errors import BadInput
from longform.results import Record, Results
from longform_lab.reporting import claims as c
from longform_lab.reporting.estimates import Estimate
from tests.reporting.papers.exhibits import state


def claim(**more):
    entry = {"id": "x", "says": "It is so.", "order": [{"metric": "m"}, {"value": 1.0}], **more}
    return c.read_claim(
        "paper", {name: value for name, value in entry.items() if value is not None}
    )


def record(system="a", value=0.5, metric="m", units=40, spread=0.1, **more):
    ends = {"low": value - spread, "high": value + spread} if spread else {}
    return Record("c", metric, "wiki", system, value=value, units=units, **ends, **more)


def judged(entry, *records, data=Path(), **more):
    return c.judge("paper", [entry], Results(records), data, **more)[0]


@pytest.mark.parametrize(
    ("where", "other", "overlap"),
    [
        ({"critic": "a", "metric": "m"}, {"critic": "a"}, True),
        ({"critic": ["a", "b"]}, {"critic": ["b", "d"]}, True),
        ({"critic": ["a", "b"]}, {"critic": "d"}, False),
        ({"metric": "m"}, {"critic": "a"}, False),
        ({"critic": "a", "metric": "m"}, {"critic": "a", "metric": "n"}, False),
        ({}, {}, True),
    ],
)
def test_filters_overlap_where_each_field_of_the_other_has_a_value_in_common(where, other, overlap):
    assert c._overlap(where, other) is overlap


@pytest.mark.parametrize(
    ("quantities", "are"),
    [
        ([{"metric": "latent_ppl"}, {"value": 2.0}], True),
        ([{"metric": "latent_ppl"}, {"metric": "share"}], False),
        ([{"system": "a"}, {"value": 2.0}], False),
        ([{"ratio": [{"metric": "ppl"}, {"metric": "ppl"}]}, {"value": 1.0}], True),
    ],
)
def test_numbers_are_perplexities_where_each_metric_that_is_named_is_one(quantities, are):
    assert c._of_perplexities(claim(order=quantities)) is are


def test_margins_are_no_change_by_default_and_beyond_it_for_equality():
    assert c._margin("p", claim(), "ratio") == 1 and c._margin("p", claim(), "difference") == 0
    assert c._margin("p", claim(margin=0.25), "difference") == 0.25
    equal = claim(order=None, contains=[{"metric": "m"}, {"value": 1.0}],
                  within={"margin": 1.0, "why": "small"})  # fmt: skip
    assert c._margin("p", equal, "difference") == 1.0
    with pytest.raises(BadInput, match="within has margin 1; a factor is above 1"):
        c._margin("p", equal, "ratio")


def test_filters_of_a_claim_are_merged_and_operations_come_last():
    made = claim(where={"metric": "m", "corpus": "w"},
                 order=[{"minus": [{"system": "a"}, {"system": "b", "corpus": "v"}]}, {"task": "t"}])  # fmt: skip
    assert list(made.filters) == [
        {"metric": "m", "corpus": "w", "task": "t"},
        {"metric": "m", "corpus": "w", "system": "a"},
        {"metric": "m", "corpus": "v", "system": "b"},
    ]
    assert (made.form, made.quantities[0].operation, made.quantities[1].operation) == (
        "order", "minus", "",
    )  # fmt: skip


def test_a_reason_may_be_for_one_scale_alone():
    assert claim(not_testable="why").reason("paper") == "why" and claim().reason("default") == ""
    at = claim(not_testable={"default": "small", "paper": ""})
    assert (at.reason("default"), at.reason(""), at.reason("paper"), at.reason("x")) == (
        "small", "small", "", "",
    )  # fmt: skip
    found = judged(at, record())
    assert [(row.verdict, row.why) for row in found.rows] == [(c.UNTESTABLE, "small")]
    none = judged(claim(order=None, not_testable={"x": "why"}), record())
    assert none.rows[0].why == "not at this scale"


def test_rows_are_the_combinations_that_occur_or_are_listed():
    records = Results([record("a", task="t"), record("b", task="u"), record("a", metric="n")])
    free = claim(where={"metric": "m"}, for_each=["system", "task"], order=[{}, {"value": 1.0}])
    assert c._combinations(free, records) == [
        {"system": "a", "task": "t"},
        {"system": "b", "task": "u"},
    ]
    fixed = claim(for_each=["system"], order=[{"metric": "m", "system": "a"}, {"metric": "n"}])
    assert c._combinations(fixed, records) == [{"system": "a"}]
    listed = claim(for_each={"system": ["a", "z"], "task": ["t", "u"]})
    assert c._combinations(listed, records) == [
        {"system": s, "task": t} for s in ("a", "z") for t in ("t", "u")
    ]
    assert c._combinations(claim(), records) == []
    assert c._combinations(claim(), Results([record()])) == [{}]


def test_numbers_are_constants_facts_references_and_changes(tmp_path):
    state(tmp_path, "wiki", exact=0.3, deep={"er": 2})
    ours = record(
        value=0.5, reference=0.25, details={"difference_low": 0.2, "difference_high": 0.3}
    )
    rows = {}
    for name, second in {
        "value": {"value": 2.0},
        "fact": {"fact": "deep.er", "corpus": "wiki"},
        "called": {"fact": "exact", "corpus": "wiki", "called": "truth"},
        "reference": {"reference": {"metric": "m"}},
        "nothing": {"reference": {"metric": "n"}},
        "absolute": {"absolute": {"minus": [{"value": 1.0}, {"metric": "m"}]}},
    }.items():
        (rows[name],) = judged(claim(order=[{"metric": "m"}, second]), ours, data=tmp_path).rows
    assert {name: row.compared for name, row in rows.items()} == {
        "value": "m < 2", "fact": "m < deep.er", "called": "m < truth", "reference": "m < reference",
        "nothing": "m < reference", "absolute": "m < |1 - m|",
    }  # fmt: skip
    values = {name: row.contrast.value for name, row in rows.items() if row.contrast}
    assert values == pytest.approx(
        {"value": 1.5, "fact": 1.5, "called": -0.2, "reference": -0.25, "absolute": 0.0}
    )
    assert rows["nothing"].verdict == c.ABSENT and rows["value"].verdict == c.HOLDS
    change = claim(order=[{"value": 0.0}, {"change": {"metric": "m"}}])
    (row,) = judged(change, ours).rows
    assert (row.contrast.value, row.contrast.low, row.contrast.high) == pytest.approx(
        (0.25, 0.2, 0.3)
    )
    assert row.compared == "0 < m"


def test_a_difference_is_of_its_own_scale_and_each_filter_is_one_number():
    minus = claim(
        scale="ratio", order=[{"minus": [{"metric": "m"}, {"value": 1.0}]}, {"value": 2.0}]
    )
    with pytest.raises(BadInput, match="minus at scale ratio"):
        judged(minus, record())
    ratio = claim(order=[{"ratio": [{"metric": "m"}, {"value": 1.0}]}, {"value": 2.0}])
    with pytest.raises(BadInput, match="ratio at scale difference"):
        judged(ratio, record())
    several = claim(order=None, differ=[{"metric": "m"}, {"value": 2.0}])
    with pytest.raises(BadInput, match=r"finds \['a', 'b'\], one number is wanted"):
        judged(several, record("a"), record("b"))


def test_a_slope_needs_every_number_and_rows_of_one_seed_say_so():
    rising = claim(order=None, rising=[{"system": "a"}, {"system": "b"}, {"value": 0.9}])
    (row,) = judged(rising, record("a", 0.1, spread=0.01), record("b", 0.5, spread=0.01)).rows
    assert row.compared == "rising: a, b, 0.9" and row.contrast.value == pytest.approx(0.4)
    assert row.verdict == c.HOLDS and not row.once
    (row,) = judged(rising, record("a", 0.1)).rows
    assert (row.verdict, row.contrast) == (c.ABSENT, None)
    (row,) = judged(claim(), record(seed=3)).rows
    assert row.once
    (row,) = judged(claim(), record(seed=3), record(seed=4)).rows
    assert not row.once


@pytest.mark.parametrize(("units", "why"), [(19, "19 units, fewer than 20"), (40, "no interval")])
def test_without_an_interval_nothing_is_decided(units, why):
    (row,) = judged(claim(), record(units=units, spread=0.1 if units < 20 else 0)).rows
    assert (row.verdict, row.why) == (c.UNDECIDED, why)


def test_an_order_is_of_neighbours_or_of_all_pairs():
    three = [{"system": "a"}, {"system": "b"}, {"system": "d"}]
    records = [record("a", 0.1), record("b", 0.5), record("d", 0.9)]
    rows = judged(claim(order=three), *records).rows
    assert [row.compared for row in rows] == ["a < b", "b < d"]
    rows = judged(claim(order=three, pairs="all"), *records).rows
    assert [row.compared for row in rows] == ["a < b", "a < d", "b < d"]


def test_a_claim_takes_what_it_says_where_nothing_was_measured():
    (row,) = judged(claim(takes="a GPU")).rows
    assert (row.verdict, row.why) == (c.ABSENT, "it takes a GPU")
    (row,) = judged(claim(**{"with": [{"metric": "n"}]}), record()).rows
    assert (row.verdict, row.why) == (c.ABSENT, "")
    (row,) = judged(claim(**{"with": [{"metric": "n"}]}), record(), record(metric="n")).rows
    assert row.verdict == c.HOLDS


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("titles", True, "with titles"),
        ("titles", False, "without titles"),
        ("titles", [True, False], "with titles/without titles"),
        ("severity", 0.25, "severity 0.25"),
        ("system", "gpt2", "gpt2"),
        ("seed", 3, "3"),
        ("task", None, ""),
    ],
)
def test_a_fields_value_is_said_in_words(name, value, words):
    assert c._in_words(name, value) == words
    assert c._label({name: value, "corpus": "wiki", "variant": ""}) == ", ".join(
        filter(None, [words, "wiki"])
    )


def test_groups_differ_in_the_fields_that_tell_them_apart():
    groups = Results([record("a", task="t"), record("b", task="t")]).groups(*c.IDENTITY)
    assert c._differing(groups) == ["system"]
    assert c._Number("a", None).less(c._Number("b", Estimate(1.0))) is None
    assert c._Number("a", Estimate(3.0)).less(c._Number("b", Estimate(1.0))).value == 2
