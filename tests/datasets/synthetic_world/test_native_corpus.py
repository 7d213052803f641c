"""The world's native files through the readers of real ones: titles, sections and drop counts come out as written."""

import json
from collections import Counter

import pytest

from longform.datasets import scientific
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.native_corpus import FORMS, REMOVED, build, cohan_lines, dump_files, write_page
from longform.datasets.wikipedia import building as wikipedia
from longform.datasets.wikipedia.building import Extraction, Shards, extract
from tests.refusals import refuses

PAGES = [write_page(3, number) for number in range(240)]
ARTICLES = [page for page in PAGES if page.kind == "article"]
LOOSE = {"min_sections": 1, "min_tokens": 1, "min_title_count": 1, "max_tokens": 10**6}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    for name, content in dump_files(3, 240).items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def read(raw, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    done = extract(wikipedia.dump_in(raw), folder, extraction=Extraction(shard_bytes=1))
    return done, {document.id: document for document in Shards(folder)}


def test_every_page_has_the_outcome_of_its_kind_and_every_article_its_sections_word_for_word(read):
    kinds = Counter(page.kind for page in PAGES)
    counts = read[0]["counts"]
    assert all(counts[kind] == kinds[kind] for kind in ("redirect", "disambiguation", "year"))
    assert counts["other namespace"] == kinds["talk"] + kinds["template"] + kinds["file"]
    assert counts["article"] + counts.get("abstract missing", 0) == kinds["article"] + kinds["broken"]
    assert sum(counts.values()) == len(PAGES)
    for page in ARTICLES:
        document = read[1][str(page.page_id)]
        kept = [(s.title.lower(), s.text) for s in document.sections if s.title not in REMOVED]
        assert kept == list(page.sections)


@pytest.mark.parametrize("domain", ["pubmed", "arxiv"])
def test_papers_come_through_cohans_format_with_their_titles(tmp_path, domain):
    articles = [write(3, domain, index) for index in range(40)]
    lines = list(cohan_lines(articles, domain))
    (tmp_path / "train.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    corpus = scientific.build(name="p", seed=1, raw=tmp_path / "train.txt", filters=LOOSE, shares={"train": 1.0})
    assert [[s.title for s in d.sections] for d in corpus.documents] == [[t for t, _ in a.sections] for a in articles]
    for record in map(json.loads, lines):
        assert record["article_text"] == [s for section in record["sections"] for s in section]
        assert all(s == s.lower() and s.endswith(" .") for s in record["article_text"])


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_is_read_and_says_that_it_is_synthetic(form):
    settings = {"filters": {"min_sections": 1, "min_title_count": 1}}
    corpus = build(name="p", seed=5, form=form, documents=60, reader=settings)
    assert corpus.facts["synthetic"] and corpus.facts["form"] == form
    assert 20 < len(corpus.documents) <= 60
    again = build(name="p", seed=5, form=form, documents=60, reader=settings)
    assert (corpus.documents, corpus.facts) == (again.documents, again.facts)


def test_an_unknown_form_or_setting_is_refused():
    refuses("allowed are", build, name="p", seed=5, form="news", documents=3)
    refuses("no setting", build, name="p", seed=5, form="wiki", documents=3, reader={"filter": {}})
