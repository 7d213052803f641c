"""The planted world's raw files through the readers: titles, sections and drop counts come out as planted."""

from collections import Counter

import pytest

from longform.datasets import scientific, wikisection
from longform.datasets.synthetic_world import raw_corpora, raw_wiki
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.titles import normalise
from longform.datasets.wikipedia import building as wikipedia
from longform.datasets.wikipedia.articles import Shards
from longform.datasets.wikipedia.shards import Extraction, extract

PAGES = [raw_wiki.write_page(3, number) for number in range(240)]
ARTICLES = [page for page in PAGES if page.kind == "article"]
LOOSE = {"min_sections": 1, "min_tokens": 1, "min_title_count": 1, "max_tokens": 10**6}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    for name, content in raw_wiki.dump_files(3, 240).items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def read(raw, tmp_path_factory):
    dump, index = wikipedia.dump_files(raw)
    folder = tmp_path_factory.mktemp("shards")
    done = extract(dump, folder, index=index, extraction=Extraction(shard_bytes=1))
    return done, {document.id: document for document in Shards(folder)}


def test_every_planted_page_has_the_outcome_of_its_kind(read):
    kinds = Counter(page.kind for page in PAGES)
    counts = read[0]["counts"]
    assert counts["redirect"] == kinds["redirect"]
    assert counts["disambiguation"] == kinds["disambiguation"]
    assert counts["year"] == kinds["year"]
    assert counts["other namespace"] == kinds["talk"] + kinds["template"] + kinds["file"]
    assert counts["article"] + counts.get("abstract missing", 0) == kinds["article"] + kinds["broken"]
    assert sum(counts.values()) == len(PAGES)


def test_every_planted_article_comes_out_with_its_sections_word_for_word(read):
    for page in ARTICLES:
        document = read[1][str(page.page_id)]
        kept = [(s.title.lower(), s.text) for s in document.sections if s.title not in raw_wiki.REMOVED]
        assert kept == [(title, text) for title, text in page.sections]


def test_a_broken_page_costs_no_other_page(read):
    assert {str(page.page_id) for page in ARTICLES} <= read[1].keys()


def test_the_planted_corpus_drops_what_the_thresholds_say(raw):
    everything = wikipedia.build(name="w", seed=1, raw=raw, filters=LOOSE | {"min_sections": 0})
    kept = {d.id: d for d in everything.documents}
    assert all(
        [s.title for s in kept[str(page.page_id)].sections] == [normalise(title) for title, _ in page.sections]
        for page in ARTICLES
    )
    few = wikipedia.build(name="w", seed=1, raw=raw, filters=LOOSE | {"min_sections": 5})
    expected = sum(len(d.sections) < 5 for d in everything.documents)
    assert few.facts["dropped"]["too few sections"] == expected > 0


@pytest.mark.parametrize("domain", ["pubmed", "arxiv"])
def test_planted_papers_come_through_cohans_format_with_their_titles(tmp_path, domain):
    articles = [write(3, domain, index) for index in range(40)]
    path = tmp_path / "train.txt"
    path.write_text("".join(line + "\n" for line in raw_corpora.cohan_lines(articles, domain)), encoding="utf-8")
    corpus = scientific.build(name="p", seed=1, raw=path, filters=LOOSE, shares={"train": 1.0})
    assert [[s.title for s in d.sections] for d in corpus.documents] == [[t for t, _ in a.sections] for a in articles]
    assert corpus.facts["lines"] == {"article": 40}


def test_planted_cities_come_through_all_three_forms(tmp_path):
    import json

    articles = [write(3, "wikisection", index) for index in range(30)]
    truth = [[(s.title, s.text) for s in to_document(a, "wikisection").sections] for a in articles]
    for name, marked in (("marked.txt", True), ("plain.txt", False)):
        lines = raw_corpora.wikisection_lines(articles, marked=marked)
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "city.json").write_text(json.dumps(raw_corpora.wikisection_records(articles)), encoding="utf-8")
    read = {
        f: wikisection.build(name="c", seed=1, raw=tmp_path / f).documents
        for f in ("marked.txt", "plain.txt", "city.json")
    }
    for form in ("marked.txt", "city.json"):
        assert [[(s.title, s.text) for s in d.sections] for d in read[form]] == truth
    assert [d.sections[0].text for d in read["plain.txt"]] == [" ".join(text for _, text in t) for t in truth]
