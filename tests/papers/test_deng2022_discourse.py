"""Tables 2, 3, 5, 12, 13 and Figures 1 and 4 from score records: cells, claims, marks, and articles left out."""

import json

import pytest

from longform.documents import BadInput
from longform.reporting.deng2022 import table_2
from longform.reporting.deng2022_discourse import appendix_a, inference_error, table_3, table_5, title_calibration
from longform.reporting.deng2022_transitions import figure_1, figure_4, table_12, table_13

EXPECTED = {
    "table_02": {"ppl": {}, "latent_ppl": {}},
    "table_03": {"wiki_short": {"latent_ppl": {"data": 4.78, "lm1": {"w_title": 5.18, "wo_title": 6.24}}}},
    "table_05": {
        "wiki": {
            "ppl": {"gpt2_s": {"w_title": 15.38}, "gpt2_m": {"w_title": 12.98}},
            "latent_ppl": {"data": 4.80, "gpt2_s": {"w_title": 4.67}, "gpt2_m": {"w_title": 4.79}},
        }
    },
    "table_12": {
        "wo_title_total_failures_pct": 7.54,
        "w_title_total_failures_pct": 5.46,
        "repetition_share_of_failures_pct": {"wo_title": 25.93, "w_title": 17.89},
    },
}
SIZES = ["tiny", "small", "large", "huge"]


def record(value, units="world-data-titles", width=0.1, **details):
    made = {"value": value, "low": value - width, "high": value + width, "units": 9, "excluded": 0, "signature": "C()"}
    return made | {"totals": {"unknown": 0.0}, "inputs": {"units": units}, "details": details}


@pytest.fixture
def data(tmp_path):
    for kind, facts in (
        ("corpora/world", {"section_latent_ppl": 2.0}),
        ("generations/world-systems", {"systems": {"gpt2-w_title": {"documents": 7, "failed": 2, "cut": 1}}}),
    ):
        (tmp_path / kind).mkdir(parents=True)
        (tmp_path / kind / "facts.json").write_text(json.dumps(facts))
    return tmp_path


def at(table):
    return {(cell.row, cell.column): cell for cell in table.cells}


def systems(**values):
    """w_title, wo_title of each family: word and latent."""
    scores = {"world-data-latent": record(2.2)}
    for family, (w_word, wo_word, w_latent, wo_latent) in values.items():
        for setting, word, latent in (("w_title", w_word, w_latent), ("wo_title", wo_word, wo_latent)):
            scores[f"world-{family}-{setting}-word"] = record(word)
            scores[f"world-{family}-{setting}-latent"] = record(latent, "world-systems-titles")
    return scores


def test_table_2_judges_titles_families_and_words_and_counts_failed_articles(data):
    scores = systems(gpt2=(10.0, 10.1, 3.0, 5.0), gpt_neo=(9.0, 9.1, 4.0, 4.5))
    table = table_2(scores=scores, expected=EXPECTED, data=data)
    notes = "\n".join(table.notes)
    assert "world-gpt2: Latent PPL data < W/ Title < W/O Title: ordering holds" in notes
    assert "world-gpt2-w_title: Latent PPL LM1 < LM2: ordering holds" in notes
    assert "world-gpt2-wo_title: Latent PPL LM1 < LM2: differs" in notes
    assert "word PPL: LM2 < LM1 on most corpora: ordering holds (in 2 of 2 rows)" in notes
    assert "world-gpt2: without titles Latent PPL suffers more than word PPL: ordering holds" in notes
    assert "world-gpt2-w_title: 7 documents, 2 failed, 1 cut" in notes
    assert at(table)["world truth (exact)", "Latent PPL, gold titles"].value == 2.0


def test_a_score_that_is_not_finite_is_a_verdict_and_not_a_crash(data):
    scores = systems(gpt2=(10.0, 10.1, 3.0, 5.0), gpt_neo=(9.0, 9.1, 4.0, 4.5))
    for name in ("world-gpt2-wo_title-latent", "world-gpt_neo-w_title-word"):
        scores[name] = scores[name] | {"value": None, "low": None, "high": None}
    notes = "\n".join(table_2(scores=scores, expected=EXPECTED, data=data).notes)
    assert "world-gpt2: Latent PPL data < W/ Title < W/O Title: not runnable here" in notes
    assert "word PPL: LM2 < LM1 on most corpora: ordering holds (in 1 of 1 rows)" in notes


def test_table_3_holds_no_planted_number_to_a_printed_one(data):
    scores = systems(gpt2=(10.0, 10.1, 3.0, 5.0))
    cells = at(table_3(scores=scores, expected=EXPECTED, data=data))
    found = cells["world gpt2 w_title", "Latent PPL"]
    assert (found.printed, found.verdict) == (5.18, "not comparable") and found.value == 3.0
    assert cells["world data", "Latent PPL"].printed == 4.78
    assert cells["world gpt2 w_title", "PPL"].printed is None


def sized(words, latents):
    scores = {"world-data-latent": record(2.2)}
    for size, word, latent in zip(SIZES, words, latents, strict=True):
        scores |= {f"world-{size}-w_title-word": record(word), f"world-{size}-w_title-latent": record(latent)}
    return scores


def test_table_5_says_whether_size_improves_words_and_not_sections(data):
    def notes(latents):
        scores = sized((15, 13, 12, 11), latents)
        return "\n".join(table_5(scores=scores, expected=EXPECTED, data=data, sizes=SIZES).notes)

    assert "w_title: size improves PPL: ordering holds" in notes((4.7, 4.8, 4.9, 4.75))
    assert "w_title: size does not improve Latent PPL: ordering holds" in notes((4.7, 4.8, 4.9, 4.75))
    assert "w_title: size does not improve Latent PPL: differs" in notes((6.0, 5.0, 4.5, 4.0))
    cells = at(table_5(scores=sized((15, 13, 12, 11), (5, 5, 5, 5)), expected=EXPECTED, data=data, sizes=SIZES))
    assert cells["world small w_title", "PPL"].printed == 12.98


def transitions(*rows):
    return {"transitions": [list(row) for row in rows]}


EDGES = ("<bos>", "abstract", 10, 1.0), ("career", "<eos>", 10, 0.9)


def failing():
    data = transitions(*EDGES, ("abstract", "career", 98, 0.9), ("career", "career", 2, 0.005))
    w = transitions(
        *EDGES, ("abstract", "career", 96, 0.9), ("career", "career", 1, 0.005), ("career", "abstract", 3, 0.001)
    )
    wo = transitions(
        *EDGES, ("abstract", "career", 90, 0.9), ("career", "career", 8, 0.005), ("career", "abstract", 2, 0.001)
    )
    return {
        "world-data-latent": record(2, **data),
        "world-gpt2-w_title-latent": record(3, **w),
        "world-gpt2-wo_title-latent": record(4, **wo),
    }


def test_table_12_counts_failures_and_repetitions_by_hand():
    table = table_12(scores=failing(), expected=EXPECTED)
    cells = at(table)

    def percent(what):
        return cells[f"gpt2 wo_title: {what}", "frequency, %"]

    assert percent("career → career").value == pytest.approx(8.0)
    assert percent("total failures").value == pytest.approx(10.0) and percent("total failures").printed == 7.54
    assert percent("total failures, of all transitions, begin and end included").value == pytest.approx(1000 / 120)
    assert percent("repetitions among failures").value == pytest.approx(80.0)
    notes = "\n".join(table.notes)
    assert "gpt2: total failures, W/ Title < W/O Title: ordering holds (4.00 % with, 10.00 % without)" in notes
    assert "gpt2: repetitions among failures, W/ Title < W/O Title: ordering holds" in notes
    assert "real text as read repeats some titles: ordering holds (2.00 %)" in notes


def test_figure_4_draws_differences_of_conditional_shares_and_marks_the_improbable(tmp_path):
    scores = failing()
    sheet = figure_4(scores={k: scores[k] for k in ("world-data-latent", "world-gpt2-wo_title-latent")})
    cells = {cell.row: cell for cell in sheet.cells}
    assert cells["career → career"].value == pytest.approx(8 / 20 - 2 / 12)  # ends count below the line
    assert cells["abstract → career"].value == 0.0 and not any("<" in row for row in cells)
    assert all(cell.low <= cell.value <= cell.high for cell in sheet.cells)
    assert "Of 2 red transitions drawn, 1 repeat the title" in sheet.caption
    sheet.save(tmp_path, "figure_4")
    assert (tmp_path / "figure_4.pdf").stat().st_size > 1000
    with pytest.raises(BadInput, match="wants two"):
        figure_4(scores=scores)


def article(data):
    folder = data / "generations" / "texts"
    folder.mkdir()
    sections = [{"title": None, "text": text} for text in ("A <b>town</b>.", "Its | people.", "More people.")]
    (folder / "documents.jsonl").write_text(json.dumps({"id": "a/1", "sections": sections}) + "\n")
    entry = {"unit": "a/1", "titles": ["abstract", "people", "people"], "log_probs": [-0.1, -0.2, -7.0, -0.3]}
    return {
        "worst": [entry],
        "repeating": [entry],
        "likeliest": {"<bos>": "abstract", "abstract": "career", "people": "<eos>"},
    }


def test_the_page_marks_the_bad_transition_and_escapes_the_text(data, tmp_path):
    details = article(data)
    page = figure_1(scores={"r": record(4, **details)}, data=data, texts="generations/texts")
    page.save(tmp_path, "figure_1")
    shown = (tmp_path / "figure_1.html").read_text()
    assert shown.count("class=bad") == 1 and "✗ people" in shown and "likeliest (end)" in shown
    assert "A &lt;b&gt;town&lt;/b&gt;." in shown and "<b>town" not in shown
    assert "Its \\| people." in (tmp_path / "figure_1.md").read_text()
    other = table_13(scores={"r": record(4, **details)}, data=data, texts="generations/texts")
    assert [s.bad for s in other.sections] == [False, False, True, False]


def test_a_set_without_a_repeating_article_says_so_and_a_lost_one_is_an_error(data, tmp_path):
    details = article(data)
    page = table_13(scores={"r": record(4, **details | {"repeating": []})}, data=data, texts="generations/texts")
    assert page.unit == "no such article in this set"
    page.save(tmp_path, "table_13")
    details["worst"][0]["unit"] = "a/2"
    with pytest.raises(BadInput, match="no document 'a/2'"):
        figure_1(scores={"r": record(4, **details)}, data=data, texts="generations/texts")


def test_inference_error_says_whether_the_exact_value_is_covered():
    def notes(value):
        known = {"validation_sections": 400.0, "validation_errors": 4.0, "titles_without_sections": 0}
        scores = {
            "world-data-gold": record(2.05),
            "world-data-latent": record(2.4),
            "world-data-corrected": record(value, exact_latent_ppl=2.0, **known),
        }
        return inference_error(scores=scores).notes

    assert "world: corrected Data covers the exact value: within interval" in notes(2.05)[0]
    assert "world: corrected Data covers the exact value: differs" in notes(2.3)[0]
    assert "400 validation sections, 4 misread" in notes(2.05)[2]


def test_appendix_a_splits_the_latent_nll_into_diversity_and_distance():
    totals = {"evidence": -12.0, "transitions": 4.0, "unknown": 0.0}
    scores = {
        "world-data-latent": record(3.0),
        "world-data-expected": record(2.9) | {"totals": totals},
        "world-data-diversity": record(2.0),
    }
    cells = at(appendix_a(scores=scores))
    assert cells["world data", "KL(q || prior), nats a transition"].value == pytest.approx(0.405465, abs=1e-6)
    assert cells["world data", "(1) + (2) + (3), nats a transition"].value == -3.0


def test_calibration_draws_its_bins(tmp_path):
    bins = [[0.0, 0.5, 4.0, 1.6, 1.0], [0.5, 1.0, 10.0, 9.0, 10.0]]
    scores = {
        "world-titles-accuracy": record(0.9),
        "world-titles-calibration": record(0.02, bins=bins, share_over_90=0.8, expected_by_chance=0.01),
    }
    sheet = title_calibration(scores=scores)
    assert at(sheet)["world", "accuracy in (0.00, 0.50]"].value == 0.25
    sheet.save(tmp_path, "title_calibration")
    assert (tmp_path / "title_calibration.png").is_file()
