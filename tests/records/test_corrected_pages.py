"""Committed pages of scales follow from their records: scoreboards, notes of superseded numbers, claims in notes."""

import csv
import shutil
from pathlib import Path

import pytest

from experiments import correct_pages, scoreboards
from experiments.changed_numbers import changes_by_field, claims_of
from experiments.correct_pages import correct_notes, with_old_numbers
from longform.files.artefacts import read_yaml
from longform_lab.reporting.claims import read_claim
from longform_lab.reporting.verdicts import Judged, Row

ROOT = Path(__file__).parents[2]
SUPERSEDED = read_yaml(ROOT / "experiments" / "superseded.yaml")


@pytest.fixture(scope="module")
def page():
    return scoreboards.page()


def test_the_scoreboard_of_every_scale_is_that_of_its_ledger(page):
    written = set((ROOT / "docs/scoreboards.md").read_text(encoding="utf-8").splitlines())
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 15 and [row for row in rows if row not in written] == []


def test_synthetic_and_real_scoreboards_are_apart_and_count_what_differs(page):
    synthetic, _, real = page.partition("## Real text")
    assert "| `table_1` | deng2022 |  | 8 |" in synthetic and "`real_paths`" not in synthetic
    assert "| `real_paths` | sheng2024 |" in real and "`table_1`" not in real


@pytest.mark.parametrize("entry", SUPERSEDED, ids=lambda entry: entry["exhibits"][0])
def test_superseded_numbers_say_so_where_they_are_shown(entry):
    noted = 0
    for scale in entry["scales"]:
        for exhibit in entry["exhibits"]:
            page = (
                ROOT
                / "experiments/scales"
                / scale
                / "paper_figures"
                / exhibit
                / f"{Path(exhibit).name}.md"
            )
            if page.is_file():
                assert (
                    f"- superseded, until the scale is run again: {entry['why']}"
                    in page.read_text(encoding="utf-8")
                )
                noted += 1
    assert noted


def test_a_claim_in_a_note_is_written_anew_and_other_lines_stay(tmp_path):
    page = tmp_path / "table.md"
    page.write_text(
        "| a |\n\n- It grows. (section 1) **holds**; old\n- It falls. **not measured here**\n- a note\n"
    )
    grows = read_claim(
        "p", {"id": "grows", "says": "It grows.", "source": "section 1", "order": [{}, {}]}
    )
    falls = read_claim("p", {"id": "falls", "says": "It falls.", "order": [{}, {}]})
    claims = [
        Judged("p", grows, "difference", [Row("", "a < b", None, "undecided", "too few")]),
        Judged("p", falls, "difference", [Row("", "", None, "holds")]),
    ]
    correct_notes(page, claims)
    assert page.read_text().splitlines()[2:] == [
        "- It grows. (section 1) **undecided**; too few",
        "- It falls. **holds**",
        "- a note",
    ]


@pytest.mark.parametrize("scale", ["real_decoders", "real_gum", "synthetic_longer"])
def test_pages_of_a_scale_are_those_that_its_records_give(scale, tmp_path, monkeypatch):
    committed = ROOT / "experiments/scales" / scale
    shutil.copytree(committed, tmp_path / scale)
    monkeypatch.setattr(correct_pages, "SCALES", tmp_path)
    correct_pages.correct_ledger(scale)
    for page in committed.rglob("paper_figures/**/*.[mc][ds]*"):
        corrected = tmp_path / scale / page.relative_to(committed)
        assert corrected.read_bytes() == page.read_bytes()


def test_a_network_that_has_not_read_its_pages_judges_no_support():
    claims = ROOT / "experiments/scales/real_decoders/paper_figures/ledger/claims.csv"
    verdicts = claims_of(claims.read_text(encoding="utf-8"))
    assert verdicts["massarelli2020", "beam_has_most_support"] == "not testable here"
    assert verdicts["massarelli2020", "human_text_is_best_supported"] == "holds"


@pytest.mark.parametrize(("high", "verdict"), [("1.01", "holds"), ("1.2", "undecided")])
def test_equality_with_a_fact_is_judged_by_the_margin_of_the_run(high, verdict):
    claim = {
        "id": "c",
        "says": "C.",
        "contains": [{}, {"fact": "f"}],
        "within": {"margin": 1.05, "why": "ours"},
    }
    numbers = {
        "difference": "1.0",
        "low": "0.99",
        "high": high,
        "scale": "ratio",
        "verdict": "holds",
        "why": "",
    }
    lines = [{"row": "", **numbers}, {"row": "wiki", "compared": "a covers f", **numbers}]
    judgement = Judged("p", read_claim("p", claim), "difference", [])
    found = with_old_numbers(judgement, lines)
    assert (found.verdict, found.scale, found.rows[0].fields) == (verdict, "ratio", "wiki")


def test_changes_are_counted_by_field_of_the_same_record():
    old = [
        {"critic": "c", "metric": "m", "value": 1.0, "low": 0.5},
        {"critic": "d", "metric": "m", "value": 1.0},
    ]
    new = [
        {"critic": "d", "metric": "m", "value": 1.0},
        {"critic": "c", "metric": "m", "value": 1.0, "low": 0.4},
    ]
    assert changes_by_field(old, new) == {
        "low": 1,
        "value": 0,
        "high": 0,
        "difference": 0,
        "p_value": 0,
    }
    seeds = [{"critic": "c", "metric": "m", "seed": seed, "value": seed} for seed in (1, 2)]
    later = [{**seeds[1], "value": 5}, {**seeds[0], "p_value": 0.1}, {"critic": "c", "metric": "m"}]
    assert changes_by_field(seeds, later) == {
        "low": 0,
        "value": 1,
        "high": 0,
        "difference": 0,
        "p_value": 1,
    }
    text = "paper,claim,row,verdict\np,c,,holds\np,c,wiki,undecided\n"
    assert claims_of(text).to_dict() == {("p", "c"): "holds"}
    assert claims_of("").to_dict() == {}


def test_committed_claims_name_their_borderline_verdicts():
    for path in (ROOT / "experiments/scales").glob("*/paper_figures/ledger/claims.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            assert "borderline" in (csv.DictReader(file).fieldnames or [])
