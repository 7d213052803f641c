"""Exhibits of deng2022: articles in full, and synthetic languages."""

from dataclasses import replace

import matplotlib.figure
import pytest
from matplotlib.transforms import Bbox

from experiments.deng2022.report.mentions import article_name
from experiments.deng2022.report.pages import escaped
from experiments.deng2022.report.sections import generated_folder
from longform.documents import Document, Section
from longform.files.artefacts import write_documents
from longform.results import Record, Results
from longform_lab.reports import with_derived
from synthetic_world.languages import translate_word
from tests.legible import covered, cut_off, laid_out
from tests.refusals import refuses
from tests.reporting.papers.exhibits import at, draw, printed, save, state
from tests.reporting.papers.test_deng2022_exhibits import near, verdict

EXPECTED = printed("deng2022", generated_articles={"corpus": "wiki"})
SHOWN = {"corpus": "wiki", "systems": ["gpt2"], "generated": 2, "real": 1}
TEXT = (
    Section("plot", "He came. The *end* is.\nnear. "),
    Section("cast", "1. Nobody."),
    Section("reception", ""),
)


def share(system, titles, value, refused, seed=None):
    fields = {"critic": "world_grammar", "metric": "derivable_share", "corpus": "wiki", "system": system,
              "titles": titles}  # fmt: skip
    details = {"refused": refused}
    return Record(
        **fields,
        seed=seed,
        value=value,
        low=value,
        high=value,
        units=80,
        excluded=0,
        details=details,
    )


def project(tmp_path):
    """Records of two seeds with titles and one without, and the texts that they are of."""
    records = [
        share("gpt2", True, 0.5, {"b": [0]}, seed=2), share("gpt2", True, 0.25, {"a0": [1], "a1": [], "a2": []}, seed=1),
        share("gpt2", False, 0.75, {"a0": [], "a1": [0]}), share("data", None, 1.0, {"real": []}),
    ]  # fmt: skip
    plain = tuple(Section(None, section.text) for section in TEXT)
    real = [
        Document("learnt", "train", plain),
        Document("real", "test", TEXT),
        Document("second", "test", plain),
    ]
    write_documents(tmp_path / "corpora" / "articles" / "wiki" / "documents.jsonl", real)
    for record, sections in ((records[1], TEXT), (records[2], plain)):
        texts = [Document(f"a{number}", "generated", sections) for number in range(3)]
        write_documents(generated_folder(tmp_path, record) / "documents.jsonl", texts)
    return Results(records)


def test_the_first_articles_stand_in_full_with_refused_sentences_bold(tmp_path):
    page = draw(EXPECTED, "generated_articles", project(tmp_path), tmp_path, **SHOWN)
    page.save(tmp_path, "generated_articles")
    text = (tmp_path / "articles.md").read_text()
    heads = [line[4:].partition(":")[0] for line in text.splitlines() if line.startswith("### ")]
    assert heads == ["encyclopedia, GPT-2 (LM1), with titles, seed 1, article 0",
                     "encyclopedia, GPT-2 (LM1), with titles, seed 1, article 1",
                     "encyclopedia, GPT-2 (LM1), without titles, article 0",
                     "encyclopedia, GPT-2 (LM1), without titles, article 1", "encyclopedia, data, article 0"]  # fmt: skip
    derivable = "2 of 3 sentences derivable\n\n"
    assert (
        f"### {heads[0]}: {derivable}*plot*\n\nHe came. **The \\*end\\* is. near.**\n\n*cast*\n\n"
        in text
    )
    assert (
        f"### {heads[3]}: {derivable}**He came.** The \\*end\\* is. near.\n\n1\\. Nobody." in text
    )
    assert text.count("**The") == 1 and text.count("*plot*") == 3
    cells = {c.row: c.value for c in page.table.cells if not c.detail}
    assert cells == {"encyclopedia, data": 1.0, "encyclopedia, GPT-2 (LM1), with titles": pytest.approx(0.375),
                     "encyclopedia, GPT-2 (LM1), without titles": 0.75}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a_b <i> # [x](y) `c` \\", "a\\_b \\<i\\> \\# \\[x\\](y) \\`c\\` \\\\"), ("- a\n b", "\\- a b"), ("12) a", "12\\) a"),
     ("1,000 of 3.", "1,000 of 3.")],
)  # fmt: skip
def test_marks_of_markdown_are_shown_as_they_are(text, shown):
    assert escaped(text) == shown


def test_languages_on_the_simplex_and_the_words_of_each(tmp_path):
    mix = {"critic": "code_mixing", "corpus": "languages"}
    points = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]
    results = Results([
        near(v, metric="dispersion", system=s, details={"points": points}, **mix) for s, v in (("non_autoregressive", 0.5), ("data", 0.01))
    ] + [near(-3.0, metric="languages", system="data", details={"top_words": [["x1", "."], ["y1", "."]]}, **mix)])  # fmt: skip
    figure = save(EXPECTED, "figure_7", results, tmp_path)
    assert [c.row for c in figure.cells] == ["data", "data", "non-autoregressive"]
    assert len(draw(EXPECTED, "table_10", results, tmp_path).rows) == 2
    figure.draw(panels := matplotlib.figure.Figure())
    for axes in panels.axes:
        corners = [text.get_text() for text in axes.texts]
        assert corners == ["component 1", "component 2", "component 3"]  # of no language known


def test_the_corners_of_the_simplex_have_the_names_of_their_languages(tmp_path):
    nouns = ("knight", "flag", "embassy")
    avari = [translate_word("avari", noun) for noun in nouns]
    kothic = [translate_word("kothic", noun) for noun in nouns]
    mix = {"critic": "code_mixing", "corpus": "languages", "system": "data"}
    points = {"points": [[1.0, 0.0, 0.0]]}
    words = {"top_words": [kothic, avari, ["?"]]}
    records = [
        near(0.1, metric="dispersion", details=points, **mix),
        near(-3.0, metric="languages", details=words, **mix),
    ]
    figure = draw(EXPECTED, "figure_7", Results(records), tmp_path)
    figure.draw(panels := matplotlib.figure.Figure())
    corners = [text.get_text() for text in panels.axes[0].texts]
    assert corners == ["kothic", "avari", "component 3"]


@pytest.mark.parametrize(
    ("unit", "name"), [("wiki-gpt2-with_titles-seed_1-10", "generated article 10"), ("u", "u")]
)
def test_a_figure_names_an_article_by_its_number_alone(unit, name):
    assert article_name(unit) == name


SYNTHETIC = [
    Record(
        critic,
        metric,
        "synthetic",
        system,
        value=v,
        low=v * 0.98,
        high=v * 1.02,
        units=u,
        excluded=100 - u,
    )
    for critic, metric, system, v, u in (
        ("synthetic_states", "latent_ppl", "data", 7.0, 100),
        ("synthetic_states", "latent_ppl", "hsmm_em", 7.3, 90),
        ("synthetic_states", "latent_ppl", "transformer", 15.0, 40),
        ("perplexity", "word_ppl", "transformer", 2.0, 100),
        ("perplexity", "word_ppl", "hsmm_em", 1.95, 100),
    )
]


def test_latent_over_word_has_a_point_for_each_system_with_both(tmp_path):
    figure = save(
        EXPECTED, "figure_latent_over_word", with_derived("deng2022", Results(SYNTHETIC)), tmp_path
    )
    assert {c.row for c in figure.cells} == {"data", "transformer", "HSMM, EM"}
    figure.draw(points := matplotlib.figure.Figure())
    assert {text.get_text() for text in points.axes[0].texts} == {"transformer", "HSMM, EM"}
    record = Record("perplexity", "word_ppl", "synthetic", "data", value=1.9, low=1.8, high=2.0)
    both = with_derived("deng2022", Results([*SYNTHETIC, record]))
    figure = draw(EXPECTED, "figure_latent_over_word", both, tmp_path)
    figure.draw(points := matplotlib.figure.Figure())
    names = [text.get_text() for text in points.axes[0].texts]
    hues = [bars.lines[0].get_color() for bars in points.axes[0].containers]
    assert hues[names.index("data")] == "0.3"  # what people wrote is grey, in every figure


CLOSE = {"data": 7.0, "hsmm_em": 7.1, "hsmm_gradient": 7.1, "transformer": 7.2, "hsmm_big": 7.15}


def test_names_of_close_points_cover_no_other_name_and_no_point_or_bar(tmp_path):
    records = []
    for system, value in CLOSE.items():
        numbers = {"corpus": "synthetic", "system": system, "units": 100}
        for critic, metric, middle in (
            ("synthetic_states", "latent_ppl", value),
            ("perplexity", "word_ppl", value / 4),
        ):
            ends = {"value": middle, "low": 0.99 * middle, "high": 1.01 * middle}
            records.append(Record(critic, metric, **numbers, **ends))
    results = with_derived("deng2022", Results(records))
    figure = draw(EXPECTED, "figure_latent_over_word", results, tmp_path)
    canvas, texts = laid_out(figure.draw, figure.size)
    assert covered(texts) == [] and cut_off(texts, canvas) == []
    names = [text for text in canvas.axes[0].texts if text.get_text()]
    assert len(names) == len(CLOSE)
    marks = []
    for mark, _, bars in canvas.axes[0].containers:
        marks.append(mark.get_window_extent())
        for bar in bars:
            (line,) = bar.get_paths()
            marks.append(Bbox(canvas.axes[0].transData.transform(line.vertices)))
    assert len(marks) == 3 * len(CLOSE)
    assert [name.get_window_extent().count_overlaps(marks) for name in names] == [0] * len(names)


def test_a_fit_by_em_stands_beside_the_printed_hsmm_without_a_gradient_fit(tmp_path):
    line = {
        line.number: line
        for line in EXPECTED.ledger(Results(SYNTHETIC), tmp_path)
        if line.table == "table_01"
    }
    assert (line["latent_ppl.hsmm"].ours, line["word_ppl.hsmm"].ours) == (7.3, 1.95)
    both = [*SYNTHETIC, replace(SYNTHETIC[1], system="hsmm_gradient", value=7.5)]
    line = {
        line.number: line
        for line in EXPECTED.ledger(Results(both), tmp_path)
        if line.table == "table_01"
    }
    assert line["latent_ppl.hsmm"].ours == 7.5


def test_table_1_compares_printed_numbers_at_the_papers_size_alone(tmp_path):
    results = with_derived("deng2022", Results(SYNTHETIC))
    for states, wanted in ((24, "not comparable at this size"), (256, "differs")):
        state(
            tmp_path,
            "synthetic",
            "synthetic",
            latent_ppl=7.05,
            num_states=states,
            steps=50,
            parameters=2625536,
        )
        table = draw(EXPECTED, "table_1", results, tmp_path)
        cell = at(table)["transformer", "Latent PPL"]
        assert (cell.printed, cell.verdict) == (64.8, wanted)
    assert at(table)["exact", "Latent PPL"].value == 7.05
    assert at(table)["transformer", "parse rate"].value == 0.4
    assert table.markdown().splitlines()[2] == "|  | word PPL | Latent PPL | parse rate |"
    for claim in (
        "hsmm_nearer_than_transformer",
        "word_ppl_hides_the_gap",
        "oracle_recovers_the_language",
    ):
        assert verdict(claim, SYNTHETIC, tmp_path) == "holds"


def test_bad_input_is_named(tmp_path):
    results = project(tmp_path)
    for said, place, over in (("'a2' is not among the scored texts", tmp_path, {"generated": 3}),
                              ("run the stage that scores it", tmp_path, {"systems": ["gpt_neo"]}),
                              ("no such file; generate the texts", tmp_path / "elsewhere", {})):  # fmt: skip
        refuses(said, draw, EXPECTED, "generated_articles", results, place, **SHOWN | over)
    refuses("there is no paper", with_derived, "nobody1999", Results([]))
