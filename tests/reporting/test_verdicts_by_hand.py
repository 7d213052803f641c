"""Verdicts of claims from the verdicts of their rows, by hand."""

import csv
from types import SimpleNamespace

import pytest

from longform_lab.reporting import verdicts
from longform_lab.reporting.estimates import FEWEST_UNITS, Estimate
from longform_lab.reporting.verdicts import (
    ABSENT,
    CONTRADICTED,
    HOLDS,
    UNDECIDED,
    UNTESTABLE,
    Judged,
    Row,
    claims_markdown,
    decide,
    stretched,
    write_claims,
)

H, C, U, A, X = HOLDS, CONTRADICTED, UNDECIDED, ABSENT, UNTESTABLE


def claim(needs="all", within=None, source="Table 1", name="c"):
    return SimpleNamespace(id=name, needs=needs, within=within, source=source, says="It is so.")


def judged(found, needs="all", others=None, scale="ratio", fields=None, **more):
    rows = [
        Row(
            fields[i] if fields else f"f{i}",
            f"a{i} < b{i}",
            None,
            one,
            others=(others or {}).get(i, {}),
        )
        for i, one in enumerate(found)
    ]
    return Judged("deng2022", claim(needs, **more), scale, rows)


@pytest.mark.parametrize(
    ("found", "needs", "verdict"),
    [
        ([H, H], "all", H), ([H, U], "all", U), ([H, C], "all", C), ([U, U], "all", U),
        ([], "all", A), ([A], "all", A), ([A, X], "all", X), ([H, X], "all", H), ([H, A], "all", H),
        ([H, U, C], "any", H), ([U, C, C], "any", U), ([C, C], "any", C), ([C, A], "any", C),
        ([H, H, C], "majority", H), ([H, C], "majority", C), ([H, U], "majority", U),
        ([H, H, U, C], "majority", U), ([H, C, C, U], "majority", C), ([H, H, H, C], "majority", H),
        ([H, C, C], "majority", C), ([U, C, U], "majority", U), ([H], "majority", H), ([C], "majority", C),
    ],
)  # fmt: skip
def test_a_claim_is_decided_by_all_any_or_most_of_its_measured_rows(found, needs, verdict):
    assert judged(found, needs).verdict == verdict


@pytest.mark.parametrize(("needs", "verdict"), [("all", A), ("majority", H), ("any", H)])
def test_a_chain_with_a_link_that_was_not_measured_does_not_hold(needs, verdict):
    assert judged([H, A], needs, fields=["x", "x"]).verdict == verdict
    assert judged([H, A], needs, fields=["x", "y"]).verdict == H


def test_a_verdict_is_borderline_where_another_level_gives_another():
    others = {0: {0.9: H, 0.99: U}, 1: {0.9: H, 0.99: H}}
    one = judged([H, H], others=others)
    assert one.verdict == H and one.borderline == "undecided at 99 %"
    assert one.rows[0].borderline == "undecided at 99 %" and one.rows[1].borderline == ""
    assert judged([U], others={0: {0.9: C, 0.99: U}}).borderline == "contradicted at 90 %"
    both = judged([U], others={0: {0.9: C, 0.99: H}})
    assert both.borderline == "contradicted at 90 %, holds at 99 %"


def test_rows_are_counted_in_the_order_of_verdicts():
    assert judged([A, U, H, U]).counts_text == "1 holds, 2 undecided, 1 not measured here"
    assert judged([H], source="ours").is_ours and not judged([H]).is_ours


def row(contrast=None, verdict=H, **more):
    return Row("f", "a < b", contrast, verdict, **more)


def test_a_row_is_its_comparison_numbers_and_verdict():
    assert row(Estimate(0.5, 0.25, 0.75)).text == "f a < b 0.50 [0.25, 0.75] holds"
    assert row().text == "f a < b  holds"


@pytest.mark.parametrize(
    ("rows", "scale", "within", "sentence"),
    [
        ([row(why="not run", verdict=A)], "ratio", None, "; not run"),
        ([row(Estimate(0.5), U)], "ratio", None, "; ratios: f a < b 0.50 undecided"),
        ([row(why="x", verdict=A)] * 2, "difference", None,
         "; differences: f a < b  not measured here; f a < b  not measured here"),
        ([row(verdict=H)] * 7, "ratio", None, "; 7 holds"),
        ([row(Estimate(0.5), once=True)], "ratio", None,
         "; ratios: f a < b 0.50 holds; one training of each system, so that intervals cover documents alone"),
        ([row(Estimate(0.5), once=True), row(Estimate(0.5))], "ratio", None,
         "; ratios: f a < b 0.50 holds; f a < b 0.50 holds; 1 of 2: one training of each system, so that "
         "intervals cover documents alone"),
        ([row(Estimate(0.5), U, others={0.9: C})], "ratio", None,
         "; borderline, contradicted at 90 %; ratios: f a < b 0.50 undecided"),
        ([row(Estimate(0.5))], "ratio", 1.5, "; ratios: f a < b 0.50 holds; equivalent within 1.5: why"),
        ([row(Estimate(0.5))], "difference", 0.5, "; differences: f a < b 0.50 holds; equivalent within ±0.5: why"),
        ([row(why="not run", verdict=A)], "difference", 0.5, "; not run"),
        ([row(verdict=A)], "ratio", None, ""),
    ],
)  # fmt: skip
def test_a_sentence_says_what_a_verdict_rests_on(rows, scale, within, sentence):
    margin = None if within is None else SimpleNamespace(margin=within, why="why")
    one = Judged("p", claim(within=margin), scale, rows)
    assert one.sentence() == f"It is so. (Table 1) **{one.verdict}**{sentence}"
    assert Judged("p", claim(source=""), scale, [row(verdict=A)]).sentence() == f"It is so. **{A}**"


def test_six_rows_are_shown_and_more_are_counted():
    assert Judged("p", claim(), "ratio", [row()] * 6).sentence().count("a < b") == 6


@pytest.mark.parametrize(
    ("form", "ends", "margin", "verdict"),
    [
        ("differ", (0.0, 1.0), 9.0, U), ("differ", (0.1, 1.0), 9.0, H), ("differ", (-1.0, -0.1), 9.0, H),
        ("differ", (-1.0, 0.0), 9.0, U),
        ("contains", (-0.5, 0.5), 0.5, H), ("contains", (-0.6, 0.5), 0.5, U), ("contains", (-0.5, 0.6), 0.5, U),
        ("contains", (0.5, 0.9), 0.5, U), ("contains", (0.6, 0.9), 0.5, C), ("contains", (-0.9, -0.6), 0.5, C),
        ("contains", (-0.9, -0.5), 0.5, U),
        ("order", (0.2, 0.9), 0.2, U), ("order", (0.3, 0.9), 0.2, H), ("order", (-0.9, 0.2), 0.2, U),
        ("order", (-0.9, 0.1), 0.2, C),
    ],
)  # fmt: skip
def test_a_verdict_needs_the_whole_interval_on_its_side(form, ends, margin, verdict, monkeypatch):
    monkeypatch.setattr(verdicts, "stretched", lambda contrast, level, comparisons: ends)
    assert decide(form, None, margin) == verdict


def test_arms_of_an_interval_are_stretched_as_those_of_a_normal_one():
    """Normal quantiles: 1.959964 at 95 %, 1.644854 at 90 %; .05 shared by two is 2.241403."""
    contrast = Estimate(1.0, 0.0, 3.0)
    assert stretched(contrast, 0.95) == pytest.approx((0.0, 3.0))
    ratio = 1.6448536 / 1.9599640
    assert stretched(contrast, 0.90) == pytest.approx((1 - ratio, 1 + 2 * ratio))
    shared = 2.2414027 / 1.9599640
    assert stretched(contrast, 0.95, 2) == pytest.approx((1 - shared, 1 + 2 * shared))


@pytest.mark.parametrize("estimate", [Estimate(1.0), Estimate(1.0, 0.5), Estimate(1.0, None, 2.0)])
def test_a_number_without_both_ends_has_no_interval_to_stretch(estimate):
    with pytest.raises(ValueError, match="has no interval to stretch"):
        stretched(estimate, 0.95)


def test_claims_are_written_with_their_rows_beneath(tmp_path):
    rows = [row(Estimate(0.5, 0.25, 0.75), why="w", once=True), Row("", "c", None, A)]
    write_claims(tmp_path / "claims.csv", [Judged("p", claim(), "ratio", rows)])
    with (tmp_path / "claims.csv").open() as file:
        whole, first, second = csv.DictReader(file)
    assert (whole["paper"], whole["claim"], whole["row"], whole["verdict"]) == ("p", "c", "", H)
    assert (whole["says"], whole["source"], whole["why"]) == (
        "It is so.",
        "Table 1",
        "1 holds, 1 not measured here",
    )
    assert (first["row"], first["compared"], first["why"]) == ("f", "a < b", "w; one training")
    assert [float(first[name]) for name in ("difference", "low", "high")] == [0.5, 0.25, 0.75]
    assert (second["row"], second["difference"], second["why"], second["scale"]) == (
        "-",
        "",
        "",
        "ratio",
    )


def test_rows_of_a_claim_of_which_nothing_was_measured_are_counted_alone(tmp_path):
    rows = [Row("f", "a < b", None, A), Row("g", "a < b", None, A, "it takes a card")]
    write_claims(tmp_path / "claims.csv", [Judged("p", claim(), "ratio", rows)])
    with (tmp_path / "claims.csv").open() as file:
        whole, reason = csv.DictReader(file)
    assert (whole["verdict"], whole["why"]) == ("not measured here", "2 not measured here")
    assert (reason["row"], reason["why"]) == ("g", "it takes a card")


def test_our_own_checks_are_counted_apart_and_borderline_ones_named():
    hair = judged([U], others={0: {0.9: C}})
    text = claims_markdown([judged([H]), judged([U]), judged([H], source="ours"), hair])
    lines = text.split("\n")
    assert lines[0].startswith("| | claims | holds | contradicted | undecided |")
    assert lines[2] == "| deng2022 | 3 | 1 |  | 2 |  |  |"
    assert lines[3] == "| deng2022, our own checks | 1 | 1 |  |  |  |  |"
    assert text.endswith("says otherwise: deng2022 c (undecided; contradicted at 90 %).\n")
    assert "Borderline" not in claims_markdown([judged([H])])


def test_fewer_than_twenty_units_give_no_interval():
    assert FEWEST_UNITS == 20
    assert Estimate(1.0, 0.5, 1.5, units=20).known and not Estimate(1.0, 0.5, 1.5, units=19).known
    assert Estimate(1.0, 0.5, 1.5).known
