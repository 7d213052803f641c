"""Claims on published text are judged by the results in git, and say what those could have found."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import real_claims
from longform.results import Record
from longform_lab.reporting.estimates import Estimate
from longform_lab.reporting.verdicts import ABSENT, HOLDS, UNDECIDED, UNTESTABLE, Row

ROOT = Path(__file__).parents[1]


def test_claims_on_published_text_are_judged_by_the_results_in_git():
    with (ROOT / "experiments" / "real_claims.csv").open(encoding="utf-8", newline="") as lines:
        told = {
            (row["paper"], row["claim"]): row["verdict"]
            for row in csv.DictReader(lines)
            if not row["row"]
        }
    judged = real_claims.judged()
    assert told == {(one.paper, one.claim.id): one.verdict for one in judged}
    assert [one.claim.id for one in judged if one.verdict == ABSENT] == []


def test_verdicts_of_superseded_numbers_say_so(monkeypatch):
    """Those of a scale that judges by itself do not rest on the superseded numbers of another."""
    claims = real_claims.judged()
    alone = [one for one in claims if real_claims.judged_alone(one) == "real_openings"]
    assert alone and not any(map(real_claims.superseded, alone))
    monkeypatch.delitem(real_claims.ALONE, "real_openings")
    judged = {(one.paper, one.claim.id): real_claims.superseded(one) for one in claims}
    assert any("scored as if they had ended" in why for why in judged["deng2022", "titles_help"])
    assert any("tokens" in why for why in judged["deng2022", "titles_change_latent_ppl_more"])
    assert judged["lapata2005", "hirst_st_onge_is_highest"] == []
    assert judged["deng2022", "hsmm_nearer_than_transformer"] == []  # not measured on real text


def test_undecided_claims_say_what_their_numbers_could_find():
    row = Row("", "a < b", Estimate(0.1, -0.1, 0.3), UNDECIDED)
    # 1.96 + 0.84 standard errors of 0.2 / 1.96
    assert real_claims.smallest_effect(row, "difference") == pytest.approx(
        0.2 * 2.8016 / 1.96, 1e-3
    )
    factor = Row("", "a < b", Estimate(1.0, 0.5, 2.0), UNDECIDED)
    assert real_claims.smallest_effect(factor, "ratio") == pytest.approx(2 ** (2.8016 / 1.96), 1e-3)
    few = Row("", "a < b", Estimate(0.1, None, None, units=10), UNDECIDED)
    assert real_claims.smallest_effect(few, "difference") == pytest.approx(0.6264, 1e-3)
    for one in real_claims.judged():
        if one.verdict == UNDECIDED:
            assert "could have found" in real_claims.could_have_found(one), one.claim.id


def test_no_record_of_a_claim_comes_from_two_real_scales():
    support = Record("verifiability", "SPG", system="beam", value=0.1, units=20)
    assert real_claims.measured_elsewhere("real_decoders", support)
    assert real_claims.measured_elsewhere("real_read", support)
    assert not real_claims.measured_elsewhere("gpu_decoders", support)


def test_a_claim_undecided_by_fewer_than_twenty_texts_is_not_testable():
    claim = real_claims.judged()[0]

    def verdict(*rows):
        rows = [
            Row("", "a < b", Estimate(0.1, -0.1, 0.3, units=units), verdict)
            for verdict, units in rows
        ]
        return real_claims.testable(replace(claim, rows=rows))

    few = verdict((UNDECIDED, 19), (UNDECIDED, 4))
    assert few.verdict == UNTESTABLE
    assert real_claims.too_few(few) == "; its numbers rest on 4 to 19 units, fewer than 20"
    assert verdict((UNDECIDED, 19), (UNDECIDED, 20)).verdict == UNDECIDED
    assert verdict((HOLDS, 30), (UNDECIDED, 4)).verdict == UNDECIDED


def test_the_page_of_verdicts_has_those_of_the_main_claims():
    main_claims = [
        "titles_change_latent_ppl_more",
        "size_does_not_lower_latent_ppl",
        "human_text_scores_better",
        "above_chance",
        "four_models_go_with_people",
        "beam_has_most_support",
        "delayed_repeats_less",
    ]
    verdicts = {one.claim.id: one.verdict for one in real_claims.judged()}
    page = (ROOT / "docs" / "results" / "verdicts.md").read_text(encoding="utf-8")
    table = page.split("## A main claim of each paper, on real text\n")[1].strip().split("\n\n")[0]
    rows = [line.split("|")[3].strip() for line in table.splitlines()[2:]]
    for claim, verdict in zip(main_claims, rows, strict=True):
        assert verdict.startswith(verdicts[claim]), claim
