"""The exhibit of generated articles: shares of every system, and the first articles in full with refused sentences in bold."""

from pathlib import Path

import pytest

from longform.core.artefacts import write_documents
from longform.core.documents import BadInput, Document, Section
from longform.core.results import Record, Results
from longform.reporting.papers.deng2022.pages import escaped
from longform.reporting.papers.deng2022.sections import generated_folder
from longform.reporting.printed import read_expected
from tests.reporting.papers.exhibits import draw

PAPER = Path(__file__).parents[3] / "experiments" / "deng2022"
EXPECTED = read_expected(PAPER, overrides={"exhibits": {"generated_articles": {"corpus": "wiki"}}})
SHOWN = {"corpus": "wiki", "system": "gpt2", "generated": 2, "real": 1}
TEXT = (Section("plot", "He came. The *end* is.\nnear. "), Section("cast", "1. Nobody."), Section("reception", ""))


def share(system, titles, value, refused, seed=None):
    fields = {
        "critic": "world_grammar",
        "metric": "derivable_share",
        "corpus": "wiki",
        "system": system,
        "titles": titles,
    }
    details = {"refused": refused}
    return Record(**fields, seed=seed, value=value, low=value, high=value, units=80, excluded=0, details=details)


def project(tmp_path):
    """Records of two seeds with titles and one without, and the texts that they are of."""
    records = [
        share("gpt2", True, 0.5, {"b": [0]}, seed=2), share("gpt2", True, 0.25, {"a0": [1], "a1": [], "a2": []}, seed=1),
        share("gpt2", False, 0.75, {"a0": [], "a1": [0]}), share("data", None, 1.0, {"real": []}),
    ]  # fmt: skip
    plain = tuple(Section(None, section.text) for section in TEXT)
    real = [Document("learnt", "train", plain), Document("real", "test", TEXT), Document("second", "test", plain)]
    (tmp_path / "corpora" / "articles" / "wiki").mkdir(parents=True)
    write_documents(tmp_path / "corpora" / "articles" / "wiki" / "documents.jsonl", real)
    for record, sections in ((records[1], TEXT), (records[2], plain)):
        generated_folder(tmp_path, record).mkdir(parents=True)
        texts = [Document(f"a{number}", "generated", sections) for number in range(3)]
        write_documents(generated_folder(tmp_path, record) / "documents.jsonl", texts)
    return Results(records)


def test_the_first_articles_of_each_set_stand_in_full_with_refused_sentences_in_bold(tmp_path):
    page = draw(EXPECTED, "generated_articles", project(tmp_path), tmp_path, **SHOWN)
    page.save(tmp_path, "generated_articles")
    heads = [article.head for article in page.articles]
    assert heads == [
        "encyclopedia, GPT-2 (LM1), with titles, seed 1, article 0",
        "encyclopedia, GPT-2 (LM1), with titles, seed 1, article 1",
        "encyclopedia, GPT-2 (LM1), without titles, article 0",
        "encyclopedia, GPT-2 (LM1), without titles, article 1",
        "encyclopedia, data, article 0",
    ]
    text = (tmp_path / "articles.md").read_text()
    assert (
        f"### {heads[0]}: 2 of 3 sentences derivable\n\n*plot*\n\nHe came. **The \\*end\\* is. near.**\n\n*cast*\n\n"
        in text
    )
    assert f"### {heads[3]}: 2 of 3 sentences derivable\n\n**He came.** The \\*end\\* is. near.\n\n1\\. Nobody." in text
    assert text.count("**The") == 1 and text.count("*plot*") == 3


def test_the_table_has_every_system_and_averages_seeds(tmp_path):
    table = draw(EXPECTED, "generated_articles", project(tmp_path), tmp_path, **SHOWN).table
    cells = {c.row: c.value for c in table.cells if not c.detail}
    assert cells == {
        "encyclopedia, data": 1.0,
        "encyclopedia, GPT-2 (LM1), with titles": pytest.approx(0.375),
        "encyclopedia, GPT-2 (LM1), without titles": 0.75,
    }


def test_texts_that_were_not_scored_are_refused(tmp_path):
    results = project(tmp_path)
    with pytest.raises(BadInput, match="'a2' is not among the scored texts"):
        draw(EXPECTED, "generated_articles", results, tmp_path, **{**SHOWN, "generated": 3})
    with pytest.raises(BadInput, match="run the stage that scores it"):
        draw(EXPECTED, "generated_articles", results, tmp_path, **{**SHOWN, "system": "gpt_neo"})
    with pytest.raises(BadInput, match="no such file; generate the texts"):
        draw(EXPECTED, "generated_articles", results, tmp_path / "elsewhere", **SHOWN)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a_b <i> # [x](y) `c` \\", "a\\_b \\<i\\> \\# \\[x\\](y) \\`c\\` \\\\"), ("- a\n b", "\\- a b"), ("12) a", "12\\) a"),
     ("1,000 of 3.", "1,000 of 3.")],
)  # fmt: skip
def test_marks_of_markdown_are_shown_as_they_are(text, shown):
    assert escaped(text) == shown
