"""A dump to a corpus: counts as planted, the same corpus from any number of workers, subsets and settings."""

from collections import Counter

import mediawiki
import pytest

from longform.datasets.wikipedia.building import build, dump_in
from tests.refusals import refuses

FILTERS = {"min_title_count": 3}
SHORT = 250  # between the sections of most articles and those of article 48


def whole(raw):
    return build(name="w", seed=1, raw=raw, filters=FILTERS).documents


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    pages = [*mediawiki.articles(40),
             mediawiki.page(41, "Rare", mediawiki.article(41, ("History", "Geography", "Economy", "Necromancy"))),
             mediawiki.page(42, "Stub", mediawiki.article(42, ("History",))),
             mediawiki.page(43, "Short", mediawiki.article(43, words=4)),
             mediawiki.page(44, "Long", mediawiki.article(44, words=2500)), mediawiki.page(45, "1957", "x"),
             mediawiki.page(46, "Hop", "#REDIRECT [[Town 1]]"),
             mediawiki.page(47, "Film", "'''Film''' is a 1990 film. " + mediawiki.article(47)),
             mediawiki.page(48, "Wide", mediawiki.article(48, words=90)),
             mediawiki.page(49, "Bare", "{{Infobox}}\n== History ==\nx")]  # fmt: skip
    mediawiki.write(folder, pages, 12)
    return folder


def test_pages_are_counted_as_planted_and_subsets_say_what_they_left_out(raw, tmp_path):
    corpus = build(name="w", seed=1, raw=raw, filters=FILTERS)
    assert corpus.facts["pages"] == {"abstract missing": 1, "article": 46, "redirect": 1, "year": 1}
    assert corpus.facts["dropped"] == {"infrequent title": 1, "section too long": 1, "section too short": 1,
                                       "too few sections": 1}  # fmt: skip
    assert corpus.facts["kept"] == len(corpus.documents) == 42
    assert corpus.facts["removed_sections"] == {"see also": 46}
    assert [s.title for s in corpus.documents[0].sections] == ["abstract", "history", "geography", "economy", "culture"]
    # 43 articles are split 34 : 5 : 4 before the rare title, a training article, is dropped
    assert Counter(d.split for d in corpus.documents) == {"train": 33, "validation": 5, "test": 4}
    assert len(corpus.truth["section_tokens"]) == 5 * 42
    assert corpus.truth["section_tokens_lengths"].tolist() == [5] * 42
    short = build(name="w", seed=1, raw=raw, filters=FILTERS, subset="short", short_tokens=SHORT)
    assert {d.id for d in whole(raw)} - {d.id for d in short.documents} == {"48"}
    assert max(short.truth["section_tokens"]) <= SHORT
    dump = raw / "pages-articles-multistream.xml.bz2"
    (raw / "multistream-index.txt.bz2").write_bytes(b"5:1:A")
    assert dump_in(raw) == dump == dump_in(dump)
    refuses("exactly one", dump_in, tmp_path)


def test_the_corpus_does_not_depend_on_workers_or_shards(raw, tmp_path):
    first = build(name="w", seed=1, raw=raw, filters=FILTERS)
    fine = {"shard_bytes": 1, "page_seconds": 19}
    second = build(name="w", seed=1, raw=raw, filters=FILTERS, extraction=fine, workers=2, scratch=tmp_path)
    third = build(name="w", seed=1, raw=tmp_path / "shards", filters=FILTERS)
    assert first.documents == second.documents == third.documents
    assert first.facts == second.facts == third.facts


@pytest.mark.parametrize(("settings", "told"),
                         [({"filters": {"min_section": 3}}, "min_sections"),
                          ({"extraction": {"shards": 3}}, "shard_bytes"),
                          ({"extraction": {"page_seconds": 0}}, "fix the entry"),
                          ({"filters": {"min_tokens": 50, "max_tokens": 40}}, "no article can pass"),
                          ({"subset": "cities"}, "'short'"), ({"filters": {"min_sections": 99}}, "loosen"),
                          ({"tokenizer": "absent.json"}, "no such file")])  # fmt: skip
def test_a_bad_setting_says_what_is_allowed(raw, settings, told):
    refuses(told, build, name="w", seed=1, raw=raw, **settings)
