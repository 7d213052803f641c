"""Exhibits of deng2022 from small hand-made records, and its claims and printed numbers as the repository writes them."""

import json
import math
from dataclasses import replace
from functools import partial
from itertools import product

import matplotlib.figure
import numpy as np
import pytest

from experiments.deng2022.report.pages import Mark, label, mention_page, wrap
from experiments.deng2022.report.sections import generated_folder
from experiments.deng2022.report.topics import Covariance, _draw_covariances
from experiments.deng2022.report.transitions import share_records
from longform.documents import Document, Section
from longform.files.artefacts import write_documents
from longform.results import Record, Results
from longform.statistics.markov_chain import BEGIN, END
from longform_lab.reports import with_derived
from tests.legible import covered, laid_out
from tests.refusals import refuses
from tests.reporting.papers.exhibits import at, draw, judged, printed, save, state

LM1 = {"corpus": "wiki", "system": "gpt2", "titles": False}
CHOICES = {
    "table_2": {"corpus": ["pubmed", "arxiv", "wiki"], "system": ["data", "random_titles", "gpt2", "gpt_neo"]},
    "table_11": {"corpus": ["wiki"]}, "table_13": LM1, "figure_1": LM1, "figure_4": LM1,
    "figure_wrong_pronoun": {"corpus": "wrong_pronoun"},
}  # fmt: skip
EXPECTED = printed("deng2022", **CHOICES)
TRANSITIONS = [
    [BEGIN, "a", 40, 0.9], ["a", "b", 60, 0.9], ["a", "a", 30, 0.005], ["b", "a", 10, 0.004], ["b", END, 40, 0.5],
]  # fmt: skip


def near(value, **more):
    return Record(value=value, low=value * 0.95, high=value * 1.05, units=80, excluded=0, **more)


def titled(system, titles, value, transitions=(), variant="", corpus="wiki", **details):
    place = {
        "critic": "section_order",
        "metric": "latent_ppl",
        "corpus": corpus,
        "system": system,
        "titles": titles,
    }
    return near(value, **place, variant=variant, details={"transitions": transitions, **details})


def test_table_12_counts_transitions_and_lists_failures_beside_totals(tmp_path):
    found = {(r.metric, r.task): r for r in share_records(titled("gpt2", False, 3.0, TRANSITIONS))}
    shares = {
        "transition_failures": 0.4,
        "transition_failures_with_ends": 40 / 180,
        "repeated_failures": 0.75,
    }
    assert {name: found[name, ""].value for name in shares} == pytest.approx(shares)
    assert found["repeated_titles", ""].units == 100
    assert found["transition_share", "a → b"].value == pytest.approx(0.6)
    both = [titled("gpt2", False, 3.0, TRANSITIONS), titled("gpt2", True, 2.5, TRANSITIONS)]
    found = at(draw(EXPECTED, "table_12", with_derived("deng2022", Results(both)), tmp_path))
    row = "encyclopedia, GPT-2 (LM1), without titles"
    assert [r for r, _ in found if r.startswith(row)][:2] == [f"{row}: a → a", f"{row}: b → a"]
    total = found[f"{row}: total failures", "frequency, %"]
    assert (total.value, total.printed, total.verdict) == (
        pytest.approx(40),
        7.54,
        "not comparable at this size",
    )


def test_figure_4_draws_one_model_against_real_text(tmp_path):
    real = [["a", "b", 90, 0.9], ["a", "a", 10, 0.005], ["b", "a", 5, 0.004], ["b", END, 95, 0.5]]
    results = Results([titled("data", None, 2.0, real), titled("gpt2", False, 3.0, TRANSITIONS)])
    figure = save(EXPECTED, "figure_4", results, tmp_path)
    assert (
        "Of 2 framed transitions that the model makes likelier by so much, 1 repeat the title"
        in figure.caption
    )
    cells = {c.row: c for c in figure.cells}
    assert cells["a → a"].value == pytest.approx(30 / 90 - 10 / 100)
    assert cells["a → a"].low > 0 > cells["a → b"].high
    few = [["b", END, 19, 0.5], ["b", "a", 0, 0.004], ["a", "b", 30, 0.9]]
    rare = Results([titled("data", None, 2.0, real), titled("gpt2", False, 3.0, few)])
    ends = {c.row: c.low for c in draw(EXPECTED, "figure_4", rare, tmp_path).cells}
    assert ends["b → a"] is None and ends["a → b"] is not None


def test_an_article_page_shows_the_text_of_the_worst_article(tmp_path):
    details = {
        "worst": [{"unit": "x", "titles": ["a", "a"], "log_probs": [-0.1, -6.0, -0.2]}], "repeating": [],
        "likeliest": {BEGIN: "a", "a": "b"},
    }  # fmt: skip
    results = Results([titled("gpt2", False, 3.0, **details)])
    folder = tmp_path / "generations" / "articles" / "wiki" / "gpt2" / "without_titles"
    texts = (Section("", "One & only."), Section("", "Two."))
    write_documents(folder / "documents.jsonl", [Document("x", "test", texts)])
    page = save(EXPECTED, "figure_1", results, tmp_path)
    text = (tmp_path / "figure_1.html").read_text()
    assert "One &amp; only." in text
    assert "✗ a" in text
    assert "(end)" in text
    assert text.count("class=bad") == 1
    assert "| ✗ a | 0.00248 | b | Two. |" in (tmp_path / "figure_1.md").read_text()
    assert [c.signature for c in page.table.cells] == [
        "likeliest: a",
        "likeliest: b",
        "likeliest: b",
    ]
    assert draw(EXPECTED, "table_13", results, tmp_path).table.cells == []
    refuses("generate the texts", draw, EXPECTED, "figure_1", results, tmp_path / "elsewhere")


def test_an_article_that_was_cut_is_shown_without_an_end(tmp_path):
    worst = [{"unit": "x", "titles": ["a", "a"], "log_probs": [-0.1, -6.0]}]
    details = {"worst": worst, "repeating": [], "likeliest": {BEGIN: "a", "a": "b"}}
    folder = tmp_path / "generations" / "articles" / "wiki" / "gpt2" / "without_titles"
    write_documents(
        folder / "documents.jsonl",
        [Document("x", "test", (Section("", "One."), Section("", "Two")))],
    )
    save(EXPECTED, "figure_1", Results([titled("gpt2", False, 3.0, **details)]), tmp_path)
    text = (tmp_path / "figure_1.md").read_text()
    assert "| ✗ a | 0.00248 | b | Two |" in text and "(end)" not in text


def test_table_2_has_exact_chance_and_printed_values_side_by_side(tmp_path):
    state(tmp_path, "wiki", section_latent_ppl=1.9)
    word = near(
        17.0, critic="perplexity", metric="word_ppl", corpus="wiki", system="gpt2", titles=True
    )
    results = Results(
        [titled("gpt2", True, 60.0, totals={"unknown": 3.0, "transitions": 9.0}), word, titled("data", None, 2.0),
         titled("random_titles", None, 118.0), titled("data", None, 1.95, variant="gold"), titled("gpt2_xl", True, 90.0),
         titled("gpt2", True, 40.0, variant="written", totals={"unknown": 1.0, "transitions": 4.0})]
    )  # fmt: skip
    table = draw(EXPECTED, "table_2", results, tmp_path)
    found = at(table)
    row = "encyclopedia, GPT-2 (LM1), with titles"
    rows = [
        "encyclopedia, exact",
        "encyclopedia, data",
        "encyclopedia, titles at random (chance)",
        row,
    ]
    assert list(dict.fromkeys(c.row for c in table.cells)) == rows
    assert found[row, "Latent PPL"].printed == 4.67
    assert found["encyclopedia, exact", "Latent PPL, own titles"].value == 1.9
    left_out = f"{row}, read titles, 3 of 12, {row}, own titles, 1 of 5"
    assert f"transitions not scored for an unknown title: {left_out}" in table.notes


def test_every_claim_can_be_read_and_nothing_measured_decides_none(tmp_path):
    found = EXPECTED.judged(Results([]), tmp_path)
    assert {one.verdict for one in found} <= {"not measured here", "not testable here"}
    assert len({one.claim.id for one in found}) == len(found)


@pytest.mark.parametrize("corpus", ["wiki", "wiki_short"])
def test_no_claim_takes_a_chance_row_or_sets_real_text_against_itself(corpus, tmp_path):
    kinds = {"section_order": ("latent_ppl", "random_titles"), "coreference": ("latent_ppl", "random_mentions"),
             "topics": ("nll", "random_topics")}  # fmt: skip
    results = [
        near(9.0, critic=critic, metric=metric, corpus=corpus, system=system, titles=titles)
        for critic, (metric, chance) in kinds.items()
        for system, titles in (("data", None), (chance, None), ("gpt2", True), ("gpt2", False))
    ]
    found = EXPECTED.judged(with_derived("deng2022", Results(results)), tmp_path)
    rows = [
        row
        for one in found
        if one.claim.source != "ours"
        for row in one.rows
        if row.contrast is not None
    ]
    assert rows and not any(
        "random" in f"{row.fields} {row.compared}" or row.fields == "data" for row in rows
    )


def test_every_printed_result_has_a_rule_and_equal_ones_one_record(tmp_path):
    lines = EXPECTED.ledger(Results([titled("gpt2", True, 5.0)]), tmp_path)
    assert {line.table for line in lines if line.cause == "no rule leads to a record"} == {
        "table_14"
    }
    ours = {(line.table, line.number): line.verdict for line in lines if line.ours is not None}
    places = [
        ("table_02", "latent_ppl.wiki.lm1.w_title"),
        ("table_05", "wiki.latent_ppl.gpt2_s.w_title"),
    ]
    assert ours == dict.fromkeys(places, "not comparable at this size")
    assert [line.table for line in lines if line.verdict == "lost"] == ["table_14"]
    paper = printed("deng2022", "paper").ledger(Results([titled("gpt2", True, 4.6)]), tmp_path)
    assert {line.verdict for line in paper if line.ours is not None} == {"within interval"}


MARKS = [
    Mark(0, 0, ".", -0.1, False),
    Mark(0, 2, "He:0", -1.0, False),
    Mark(7, 10, "her:0", -9.0, True, "his:0", -1.5),
]
BLAMED = Record(
    "coreference", "ngram_attribution", "wiki", "gpt2", True,
    details={
        "articles": [{"unit_id": "x", "text": "He saw her <b> $5.", "marks": [vars(m) for m in MARKS]}],
        "gap": [{"window": ["", "", "", ".", "MALE:0"], "percent_real": 0.1, "percent_generated": 0.12, "contribution": 0.01}],
        "rare": [{"window": [".", "MALE:0", "her:0", ".", "he:1"], "log_probability": -9.0, "best": "", "best_log_probability": None}],
        "high": [], "low": [], "rare_share": {"judged": {"rare": 1, "windows": 10}, "real": {"rare": 1, "windows": 100}},
    },
)  # fmt: skip


def test_n_grams_are_records_and_mention_pages_mark_and_escape(tmp_path):
    results = with_derived("deng2022", Results([BLAMED]))
    found = results.one(metric="percent_of_generated")
    assert found.task == "   . M:0" and found.value == 0.12
    lines = {
        line.number: line.ours
        for line in EXPECTED.ledger(results, tmp_path)
        if line.table == "table_06"
    }
    assert lines["rows.0.p_data"] == 0.1 and lines["rows.1.p_data"] is None
    silent = replace(BLAMED, system="gpt_neo", details={"totals": {}})  # its texts mention nobody
    results = with_derived("deng2022", Results([BLAMED, silent]))
    listing = draw(EXPECTED, "table_6", results, tmp_path)
    assert listing.rows == [["GPT-2 (LM1), with titles", "∅ ∅ ∅ . [Male]0", 0.1, 0.12, 0.01]]
    assert "of the paper's 10 5-grams, 1 are among these" in listing.notes
    note = draw(EXPECTED, "table_15", results, tmp_path).notes[-1]
    assert "GPT-2 (LM1), with titles 10.00% of windows, held-out real text 1.00%" in note
    page = mention_page("Figure 10. x", "He saw her <b> $5.", MARKS)
    assert '<mark style="color:#0072B2">He<sub>0</sub></mark> saw' in page
    assert '<span class="bad" title="her:0: log P = -9.00; expected his:0 at -1.50">' in page
    assert "&lt;b&gt;" in page and "<td>her:0<td>-9.00<td>his:0<td>-1.50" in page
    save(EXPECTED, "figures_10_13", Results([BLAMED]), tmp_path)
    assert {p.name for p in tmp_path.iterdir()} >= {"figure_10.html", "figure_10.png"}
    save(EXPECTED, "figure_5", Results([BLAMED]), tmp_path)
    assert label("MALE:3") == "[Male]3" and label(".") == "."
    assert [("ab cd ef"[a:b]) for a, b in wrap("ab cd ef", 5)] == ["ab cd", "ef"]


def test_covariances_of_every_panel_are_drawn_unclipped_and_listed(tmp_path):
    def read(system, titles, scale, variant=""):
        matrix = (scale * np.eye(3)).tolist()
        return near(30.0, critic="topics", metric="nll", corpus="wiki", system=system, titles=titles,
                    variant=variant, details={"covariance_of_means": matrix})  # fmt: skip

    records = [
        read("data", None, 50.0),
        read("gpt2", False, 8.0),
        read("data", None, 2.0, "off_domain"),
    ]
    refuses("no topic model of 'wiki'", draw, EXPECTED, "figure_6", Results(records), tmp_path)
    folder = tmp_path / "critics" / "articles" / "topics" / "wiki"
    folder.mkdir(parents=True)
    (folder / "topics.json").write_text(
        '{"vocabulary": ["said", "film.", "town", "river", "firm", "film"]}'
    )
    beta = [
        [0.4, 0.3, 0, 0, 0, 0.3],
        [0.4, 0, 0.35, 0.25, 0, 0],
        [0.4, 0, 0, 0.1, 0.5, 0],
        [0.9, 0, 0.1, 0, 0, 0],
    ]
    np.savez(folder / "topics.npz", beta=np.array(beta))
    figure = save(EXPECTED, "figure_6", Results(records), tmp_path)
    found = at(figure)
    assert found[
        "GPT-2 (LM1), without titles", "Frobenius distance to data"
    ].value == pytest.approx(42 * math.sqrt(3))
    assert found["data, town, river (1)", "town, river (1)"].value == 50.0
    assert {c.column for c in figure.cells} > {
        "film, said (0)",
        "firm, said (2)",
    }  # a word with its stop is the same
    assert found["data", "Latent NLL (nats)"].printed == 124.7
    assert found["model of another corpus", "Latent NLL (nats)"].printed == 140.1
    assert "the largest entry, 50.00" in figure.caption
    assert figure.size == (pytest.approx(2 + 2 * 1.8), pytest.approx(0.1 + 2 * 2.3))
    canvas, _ = laid_out(figure.draw, figure.size)
    panel = canvas.axes[0]
    # Numbers on and below the diagonal alone, by (row, column).
    shown = {text.get_position()[::-1]: text.get_text() for text in panel.texts}
    assert shown == {
        (0, 0): "50",
        (1, 0): "0",
        (1, 1): "50",
        (2, 0): "0",
        (2, 1): "0",
        (2, 2): "50",
    }
    # The columns of the last panel of each column of panels bear the topics' numbers.
    numbers = [text.get_text() for text in canvas.axes[2].get_xticklabels()]
    assert sorted(numbers) == ["0", "1", "2"]


def test_of_many_topics_every_third_is_named_and_no_entry_is_a_number():
    """Forty topics, of which 16 would have room: a name for each third, 14 in all."""
    record = near(30.0, critic="topics", metric="nll", corpus="wiki", system="data")
    panel = Covariance("data", record, np.eye(40))
    names = [f"topic {number}" for number in range(40)]
    figure = {"panels": [panel], "names": names, "order": np.arange(40)[::-1], "across": 1}
    canvas, texts = laid_out(partial(_draw_covariances, **figure, limit=1.0), (6.0, 4.6))
    axes = canvas.axes[0]
    expected = [39, 36, 33, 30, 27, 24, 21, 18, 15, 12, 9, 6, 3, 0]
    assert [label.get_text() for label in axes.get_xticklabels()] == list(map(str, expected))
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        f"topic {number}" for number in expected
    ]
    assert not axes.texts and covered(texts) == []


def study(system, titles, share):
    answers = [[1, 0, 1, 1, 0] * 4, [1, 1, 1, 0, 0] * 4, [1, 0, 1, 1, 1] * 4]
    details = {
        "agreement": {"alpha": 0.2, "kappa": {"a b": 0.3, "a c": None}}, "annotators": ["a", "b", "c"], "answers": answers, "dropped": ["d"],
        "incoherent": [[["x", "y"], 4], [["x"], 1]], "judgements": 60, "known": {"coherent": 0.7, "rates": {name: {"flips": 0.1} for name in "abc"}},
        "majority": 0.6, "simulated": True, "unit_ids": [str(i) for i in range(20)], "wilson": [share - 0.1, share + 0.1],
    }  # fmt: skip
    place = {"critic": "human_study", "metric": "coherent_share", "corpus": "pubmed", "system": system,
             "titles": titles}  # fmt: skip
    return near(share, **place, details=details)


def test_the_study_says_that_people_are_simulated_and_recovers_their_rates(tmp_path):
    shares = [study("data", None, 0.66), study("gpt2", True, 0.5), study("gpt2", False, 0.4)]
    results = with_derived("deng2022", Results(shares))
    table = draw(EXPECTED, "human_study", results, tmp_path)
    found = at(table)
    assert "SIMULATED" in table.caption
    assert found["medical, data", "expected share"].value == pytest.approx(0.7 * 0.9 + 0.3 * 0.1)
    assert found["medical, data", "mean kappa"].value == 0.3
    listed = draw(EXPECTED, "table_18", results, tmp_path)
    assert at(listed)["x → y", "judgements"].value == 12 and listed.cells[0].row == "x → y"


def test_calibration_has_a_panel_a_corpus_and_intervals_for_full_bins(tmp_path):
    bins = [[0.2, 0.4, 10.0, 3.0, 9.0], [0.8, 1.0, 100.0, 90.0, 99.0]]
    place = {"critic": "section_order", "corpus": "wiki", "system": "data"}
    details = {"bins": bins, "expected_by_chance": 0.02, "share_over_90": 0.7}
    shown = near(0.1, metric="calibration_error", details=details, **place)
    results = Results([shown, near(0.9, metric="title_accuracy", **place)])
    found = at(save(EXPECTED, "title_calibration", results, tmp_path))
    assert found["encyclopedia", "accuracy in (0.20, 0.40]"].low is None
    assert found["encyclopedia", "accuracy in (0.80, 1.00]"].low == pytest.approx(0.9455, abs=1e-3)


def test_wrong_pronouns_by_severity(tmp_path):
    changes = (("coreference", 3.0, 2.5), ("section_order", 0.01, -0.02))
    task = {"metric": "score", "corpus": "wrong_pronoun", "system": "data", "task": "wrong_pronoun"}
    results = [near(3.0, critic=critic, severity=0.0, **task) for critic, _, _ in changes]
    for critic, change, low in changes:
        details = {"difference_low": low, "difference_high": 2 * change - low}
        results.append(
            near(
                3.0 + change,
                critic=critic,
                severity=0.5,
                difference=change,
                details=details,
                **task,
            )
        )
    figure = save(EXPECTED, "figure_wrong_pronoun", Results(results), tmp_path)
    assert ("mentions of persons", "severity 0.5") in at(figure)
    found = judged(EXPECTED, Results(results), tmp_path)
    assert [
        found[name].counts["holds"]
        for name in ("wrong_pronouns_are_seen", "titles_do_not_see_pronouns")
    ] == [1, 1]


def test_appendix_a_adds_its_terms_and_splits_the_latent_nll(tmp_path):
    place = {"critic": "section_order", "corpus": "wiki", "system": "data"}
    results = with_derived("deng2022", Results([
        near(4.0, metric="latent_ppl", **place), near(3.9, metric="expected_log_prior", details={"totals": {"evidence": 50.0, "transitions": 20.0}}, **place),
        near(2.0, metric="chain_entropy", **place),
    ]))  # fmt: skip
    found = at(draw(EXPECTED, "appendix_a", results, tmp_path))
    assert found["encyclopedia, data", "(1) + (2) + (3), nats a transition"].value == 2.5
    assert found["encyclopedia, data", "KL(q, prior), nats a transition"].value == pytest.approx(
        math.log(2)
    )


def corrected(value):
    details = {"exact_latent_ppl": 2.5, "validation_sections": 100.0, "validation_errors": 4.0,
               "titles_without_sections": 0}  # fmt: skip
    return titled("data", None, value, variant="corrected", **details)


def without_titles(word, latent):
    """Ratios of both measures without titles to those with titles."""
    place = {
        "critic": "perplexity",
        "metric": "word_ppl_ratio",
        "corpus": "wiki",
        "system": "gpt2",
        "titles": False,
    }
    paired = replace(near(word, **place), low=word * 0.999, high=word * 1.001)
    return [paired, titled("gpt2", True, 4.0), titled("gpt2", False, 4.0 * latent)]


def of_sizes(*values):
    systems = "gpt2", "gpt2_medium", "gpt2_large", "gpt2_xl"
    return [titled(system, True, value) for system, value in zip(systems, values, strict=True)]


def verdict(claim, results, tmp_path):
    return judged(EXPECTED, with_derived("deng2022", Results(results)), tmp_path)[claim].verdict


@pytest.mark.parametrize(
    ("claim", "records", "given"),
    [
        ("titles_change_latent_ppl_more", without_titles, [(1.02, 1.5), (0.6, 0.9), (1.02, 1.03)]),
        (
            "size_does_not_lower_latent_ppl",
            of_sizes,
            [(5, 5.1, 5, 5.2), (9, 7, 5, 3), (5, 4.8, 4.5, 4.3)],
        ),
        (
            "simulated_shares_are_recovered",
            lambda share: [study("data", None, share)],
            [(0.66,), (0.3,)],
        ),
        ("correction_recovers_the_chain", lambda value: [corrected(value)], [(2.45,), (3.3,)]),
    ],
)
def test_records_bear_a_claim_out_contradict_it_or_leave_it_undecided(
    claim, records, given, tmp_path
):
    found = [verdict(claim, records(*values), tmp_path) for values in given]
    assert found == ["holds", "contradicted", "undecided"][: len(given)]


def test_the_corrected_latent_ppl_stands_beside_the_exact_one(tmp_path):
    found = at(
        draw(
            EXPECTED,
            "inference_error",
            with_derived("deng2022", Results([corrected(2.45)])),
            tmp_path,
        )
    )
    assert found["encyclopedia, exact", "Latent PPL, gold titles"].value == 2.5


def test_table_11_reads_facts_or_counts_documents(tmp_path):
    statistics = {"train": 120, "validation": 10, "test": 9, "section_types": 4, "med_sections": 4,
                  "med_section_len": 50, "max_section_len": 99}  # fmt: skip
    state(tmp_path, "wiki", table_11=statistics, token_unit="pieces", dropped={"short": 2})
    table = draw(EXPECTED, "table_11", Results([]), tmp_path)
    train = at(table)["encyclopedia", "train"]
    assert (train.value, train.printed) == (120, pytest.approx(111400))
    assert table.notes == ["encyclopedia: lengths in pieces; dropped articles: short 2"]
    refuses("has no corpus 'wiki'", draw, EXPECTED, "table_11", Results([]), tmp_path / "none")


def draw_sizes(records, data):
    draw(EXPECTED, "figure_sizes", with_derived("deng2022", Results(records)), data).draw(
        matplotlib.figure.Figure()
    )


def test_sizes_have_a_line_a_corpus_and_setting_averaged_over_seeds(tmp_path):
    words = {"critic": "perplexity", "metric": "word_ppl"}
    records = [titled("data", None, 2.0)]
    for (place, system), titles, seed in product(
        enumerate(("gpt2", "gpt2_xl")), (True, False), (1, 2)
    ):
        value = (4.0 if titles else 9.0) / (place + 1) + seed / 10
        records.append(replace(titled(system, titles, value), seed=seed))
        records.append(near(value, corpus="wiki", system=system, titles=titles, seed=seed, **words))
        folder = generated_folder(tmp_path, records[-1], "models")
        folder.mkdir(parents=True)
        shape = [1000, 2 if system == "gpt2" else 9]
        header = json.dumps(
            {"__metadata__": {}, "w": {"shape": shape}, "b": {"shape": [500]}}
        ).encode()
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    refuses("`dvc repro` trains the model", draw_sizes, records, tmp_path / "elsewhere")
    figure = save(EXPECTED, "figure_sizes", with_derived("deng2022", Results(records)), tmp_path)
    figure.draw(canvas := matplotlib.figure.Figure())
    latent = canvas.axes[1]
    lines = [line for line in latent.get_lines() if line.get_marker() in ("o", "s")]
    # Thousands of parameters; the two lines stand 1.2 % apart, around the size.
    step = 1.012**0.5
    assert lines[0].get_xdata() == pytest.approx([2.5 / step, 9.5 / step], rel=1e-12)
    assert lines[1].get_xdata() == pytest.approx([2.5 * step, 9.5 * step], rel=1e-12)
    assert list(latent.get_xticks()) == [2.5, 9.5]
    assert [axes.get_title() for axes in canvas.axes] == ["word PPL", "Latent PPL"]
    assert list(lines[0].get_ydata()) == pytest.approx(
        [(4.1 * 4.2) ** 0.5, (2.1 * 2.2) ** 0.5], rel=1e-3
    )
    assert any(
        line.get_linestyle() == ":" and line.get_ydata()[0] == 2.0 for line in latent.get_lines()
    )
    draw_sizes(
        [near(2.0, corpus="pubmed", **words)], tmp_path
    )  # a scale may have none of its corpora


def test_a_network_has_the_size_that_it_has_for_each_corpus(tmp_path):
    records = []
    for corpus, size in (("wiki", 2000), ("wiki_short", 3000)):
        record = near(4.0, critic="perplexity", metric="word_ppl", corpus=corpus, system="gpt2")
        records.append(replace(record, titles=True))
        folder = generated_folder(tmp_path, records[-1], "models")
        folder.mkdir(parents=True)
        header = json.dumps({"w": {"shape": [size]}}).encode()
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    figure = draw(EXPECTED, "figure_sizes", with_derived("deng2022", Results(records)), tmp_path)
    figure.draw(canvas := matplotlib.figure.Figure())
    words = canvas.axes[0]
    lines = [line for line in words.get_lines() if line.get_marker() == "o"]
    shares = [line.get_xdata()[0] / size for line, size in zip(lines, (2.0, 3.0), strict=True)]
    assert shares == pytest.approx([1.012**-1.5, 1.012**0.5], rel=1e-12)
    assert list(words.get_xticks()) == [2.0, 3.0]
