"""Published articles, stories, translations and ratings in every form of theirs; what cannot be used is set aside or refused under its name."""

import csv
import gzip
import json
import random
from collections import Counter
from functools import partial

import numpy as np
import pytest

from longform.datasets import scientific, wikisection
from longform.datasets.text_files import gcdc, hanna, parallel, summeval
from longform.statistics.splits import split_by_seed
from tests.refusals import refuses

SHARES = {"train": 0.5, "validation": 0.25, "test": 0.25}
LOOSE = {"min_sections": 1, "min_tokens": 1, "max_tokens": 100, "min_title_count": 1}
cities = partial(wikisection.build, name="c", seed=1)
papers = partial(scientific.build, name="p", seed=1, filters=LOOSE)
pairs = partial(parallel, name="r", seed=1)
stories = partial(hanna, name="h", seed=1)


def written(path, *lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def records(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def city(number):
    return f"[ ABSTRACT ] Town {number} is a town. It is small. [ HISTORY ] It was founded. [ GEOGRAPHY ] It is flat."


def test_short_cities_keep_the_split_that_they_have_among_all(tmp_path):
    long = "[ ABSTRACT ] A town. [ HISTORY ] " + "It was founded. " * 3  # twelve tokens
    short = [f"[ ABSTRACT ] Town {number}. [ HISTORY ] It was founded." for number in range(6)]
    raw = written(tmp_path / "city.txt", long, *short, long)
    every = {doc.id: doc.split for doc in cities(raw=raw, shares=SHARES).documents}
    few = cities(raw=raw, shares=SHARES, short_tokens=4)
    assert {doc.id: doc.split for doc in few.documents} == {
        unit: split for unit, split in every.items() if unit not in ("line-00001", "line-00008")
    }
    assert few.facts["articles_with_a_long_section"] == 2
    refuses("every article has a section of more than 2 tokens", cities, raw=raw, short_tokens=2)


def test_a_marked_line_becomes_titled_sections_and_the_plain_form_too(tmp_path):
    marked = cities(seed=3, raw=written(tmp_path / "city.txt", *map(city, range(8))), shares=SHARES)
    assert [(s.title, s.text) for s in marked.documents[0].sections] == [
        ("abstract", "Town 0 is a town. It is small."), ("history", "It was founded."), ("geography", "It is flat."),
    ]  # fmt: skip
    assert marked.truth["sentences"].tolist() == [4] * 8 and marked.facts["dropped"] == {}
    assert marked.facts["section_titles"] == {"abstract": 8, "history": 8, "geography": 8}
    lines = [
        " ".join(section.text for section in document.sections) for document in marked.documents
    ]
    plain = cities(name="d", seed=3, raw=written(tmp_path / "plain.txt", *lines), shares=SHARES)
    assert [d.split for d in plain.documents] == [d.split for d in marked.documents]
    assert [d.sections[0].title for d in plain.documents] == [None] * 8
    assert plain.truth["sentences"].tolist() == [4] * 8


def test_lines_and_records_that_are_no_articles_are_counted_by_reason(tmp_path):
    lines = [
        city(1), "", "No markers at all.", "[ HISTORY ] Founded. [ ABSTRACT ] A town.", "[ ABSTRACT ] A. [ HISTORY ] ",
        "Stray. [ ABSTRACT ] A town. [ HISTORY ] Old.", city(2),
    ]  # fmt: skip
    corpus = cities(raw=written(tmp_path / "city.txt", *lines), shares={"train": 0.5, "test": 0.5})
    assert [d.id for d in corpus.documents] == ["line-00001", "line-00007"] and corpus.facts[
        "articles_read"
    ] == 7
    assert corpus.facts["dropped"] == {"abstract missing": 1, "blank line": 1, "empty section": 1, "no sections": 1,
                                       "text before the first marker": 1}  # fmt: skip
    marks = [
        {"begin": 0, "length": 15, "sectionHeading": "Early days", "sectionLabel": "city.history"},
        {
            "begin": 16,
            "length": 11,
            "sectionHeading": "Geography",
            "sectionLabel": "city.geography",
        },
    ]
    good = {"id": "Q1", "type": "city", "title": "A", "abstract": "A is a town.", "annotations": marks,
            "text": "It was founded. It is flat."}  # fmt: skip
    far = good | {"annotations": [marks[0] | {"length": 99}]}
    rows = [good, good | {"annotations": []}, good | {"abstract": " "}, far, {"id": "Q2"}, 7]
    corpus = cities(
        raw=written(tmp_path / "HGD_en_city.json", json.dumps(rows)), shares={"test": 1.0}
    )
    assert [(s.title, s.text) for s in corpus.documents[0].sections] == [
        ("abstract", "A is a town."), ("history", "It was founded."), ("geography", "It is flat."),
    ]  # fmt: skip
    assert corpus.facts["dropped"] == {
        "abstract missing": 1, "malformed record": 2, "no sections": 1, "section outside the text": 1,
    }  # fmt: skip


def test_shares_are_exact_and_the_split_depends_on_seed_and_id_only():
    ids = [f"a{i}" for i in range(40)]
    splits = split_by_seed(ids, SHARES, 5)
    assert {s: splits.count(s) for s in SHARES} == {"train": 20, "validation": 10, "test": 10}
    assert split_by_seed(ids[::-1], SHARES, 5)[::-1] == splits != split_by_seed(ids, SHARES, 6)


@pytest.fixture
def split_cities(tmp_path):
    written(tmp_path / "train.txt", *map(city, range(20)))
    written(tmp_path / "test.txt", *map(city, range(20, 26)))
    return tmp_path


def test_the_papers_own_train_and_test_files_keep_their_splits(split_cities):
    files = {"train": "train.txt", "test": "test.txt"}
    corpus = cities(raw=split_cities, files=files, shares=SHARES)
    tests = [d.sections[0].text for d in corpus.documents if d.split == "test"]
    assert [text.split()[1] for text in tests] == [str(i) for i in range(20, 26)]
    assert len({d.id for d in corpus.documents}) == 26
    # 20 * 0.25 / 0.75 are held out of the training file
    assert corpus.facts["splits"] == {"test": 6, "train": 13, "validation": 7}
    given = cities(raw=split_cities, files=files | {"validation": "test.txt"})
    assert given.facts["splits"] == {"test": 6, "train": 20, "validation": 6}


def test_cities_that_cannot_be_read_or_split_are_refused(split_cities):
    for files in ({"test": "test.txt"}, {"train": "train.txt", "dev": "test.txt"}, {}):
        refuses("train is needed", cities, raw=split_cities, files=files)
    raw = split_cities / "train.txt"
    refuses("splitter", cities, raw=raw, splitter="best")
    for shares in ({"train": 0.7}, {"train": 1.2, "test": -0.2}):
        refuses("shares", cities, raw=raw, shares=shares)
    for content, told in ((b"\n\n\n", "zero of 3"), (b"\xff\xfe broken", "UTF-8")):
        raw.write_bytes(content)
        refuses(told, cities, raw=raw)


def paper(unit, **changes):
    names = ["Introduction", "Methods", "Results"]
    sections = [[f"this is {name.lower()} .", "it goes on ."] for name in names]
    text = [sentence for section in sections for sentence in section]
    base = {
        "article_id": unit,
        "abstract_text": ["<S> short . </S>"],
        "article_text": text,
        "labels": None,
    }
    return base | {"section_names": names, "sections": sections} | changes


def test_cohans_splits_are_words_of_file_names_with_their_sections(tmp_path):
    for name, units in (
        ("pubmed_train", "abcd"),
        ("pubmed_val", "e"),
        ("pubmed_test", "fg"),
        ("arxiv_train", "z"),
    ):
        (tmp_path / f"{name}.jsonl").write_bytes(records(*map(paper, units)))
    corpus = papers(raw=tmp_path, files="pubmed_*")
    splits = ["train"] * 4 + ["validation"] + ["test"] * 2
    assert [(d.id, d.split) for d in corpus.documents] == list(zip("abcdefg", splits, strict=True))
    assert [(s.title, s.text) for s in corpus.documents[0].sections][1] == (
        "method",
        "this is methods . it goes on .",
    )
    assert corpus.facts["lines"] == {"article": 7} and corpus.facts["table_11"]["train"] == 4
    refuses("no file matches", papers, raw=tmp_path, files="plos*")
    (tmp_path / "plos_train.jsonl.gz").write_bytes(gzip.compress(records(paper("h"))))
    assert len(papers(raw=tmp_path, files="plos*").documents) == 1
    refuses("infrequent title", papers, raw=tmp_path, filters={"min_tokens": 1})
    words = {"validation-00000-of-00001.txt": "validation", "arxiv-test.jsonl.gz": "test", "train.txt": "train",
             "vocab.txt": None, "training.txt": None}  # fmt: skip
    assert {name: scientific.split_in_name(name) for name in words} == words


def test_every_bad_line_has_a_named_outcome(tmp_path):
    good, path = paper("a"), tmp_path / "train.txt"
    bad = records(good, paper("b", abstract_text=[]), paper("c", section_names=["Introduction"]),
                  paper("d", section_names=None), paper("e", sections=None),
                  paper("f", section_names=[], sections=[]), [1, 2])  # fmt: skip
    deep = "x"
    for depth in range(1, 52):
        deep = [deep]
        assert scientific._joined(deep) == (None if depth > 50 else "x")
    path.write_bytes(bad + b"{not json\n\n\xff\xfe{}\n" + records(good)[:-30])
    corpus = papers(raw=path, shares={"train": 1.0})
    assert corpus.facts["lines"] == {
        "abstract missing": 1, "article": 1, "blank line": 1, "invalid UTF-8": 1, "malformed record": 2,
        "no JSON object": 1, "no sections": 1, "not JSON": 2, "sections and titles differ in number": 1,
    }  # fmt: skip


def test_one_file_is_split_by_seed_and_a_cut_gzip_gives_what_came_before(tmp_path):
    noise = ["".join(random.Random(i).choices("abcdefgh ", k=2000)) for i in range(60)]
    whole = gzip.compress(records(*(paper(f"u{i}", labels=noise[i]) for i in range(60))))
    path = tmp_path / "all.jsonl.gz"
    path.write_bytes(whole)
    assert Counter(d.split for d in papers(raw=path).documents) == {
        "train": 42,
        "validation": 6,
        "test": 12,
    }
    path.write_bytes(whole[: len(whole) // 2])
    read = scientific.CohanArticles(path)
    assert 10 < len(list(read)) < 50
    assert read.outcomes["file cut off"] == 1


COLUMNS = ("", "Prompt", "Human", "Story", "Model")


def table(path, rows, columns=COLUMNS):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def test_stories_of_a_prompt_are_in_one_split_and_paragraphs_are_sections(tmp_path):
    rows = [(i, f"Prompt, {i}", f"Human {i}.\n\n  It\nends.", f"Told by {model}.", model)
            for model in ("Llama-7b", "Big-70B") for i in range(10)]  # fmt: skip
    path = tmp_path / "h.csv"
    corpus = stories(raw=table(path, rows))
    assert corpus.facts["writers"] == ["big_70b", "llama_7b"] and corpus.facts["prompts"] == 10
    for first in range(0, 30, 3):
        human, *machines = corpus.documents[first : first + 3]
        assert [s.text for s in human.sections][1] == "It ends." and human.id.endswith("-human")
        assert [m.id.rpartition("-")[2] for m in machines] == ["big_70b", "llama_7b"]
        assert {m.split for m in machines} == {human.split}
    assert {d.split for d in corpus.documents} == {"train", "validation", "test"}
    rows = [(0, "a", "One.", "Two.", "m"), (1, "b", "One.", " ", "m")]
    assert stories(raw=table(path, rows)).facts["dropped"] == {"prompt without a story of m": 1}
    refuses("0 of 1 prompts", stories, raw=table(path, rows[1:]))
    refuses(r"lacks \['Model'\]", stories, raw=table(path, [], COLUMNS[:-1]))
    refuses(r"h2\.csv", stories, raw=tmp_path / "h2.csv")


def test_json_lines_give_one_pair_per_target_language_in_one_split(tmp_path):
    rows = [
        {"id": f"s{i}", "en": f"house {i}", "de": f"Haus {i}", "fr": f"maison {i}", "es": ""}
        for i in range(40)
    ]
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress(records(*rows)))
    corpus = pairs(raw=tmp_path)
    assert len(corpus.documents) == 80 and corpus.facts["pairs_without_a_side"] == 40
    assert [d.id for d in corpus.documents[:2]] == ["s0-de", "s0-fr"]
    assert corpus.documents[1].sections[1].text == "maison 0"
    assert corpus.truth["language"][:2].tolist() == [0, 2]
    places = {(d.id.split("-")[0], d.split) for d in corpus.documents}
    assert len(places) == 40 and 24 <= sum(split == "train" for _, split in places) <= 39


def test_aligned_files_are_read_line_by_line_and_what_is_no_pair_is_named(tmp_path):
    refuses("no such file or folder", pairs, raw=tmp_path / "none")
    refuses("no pair of en", pairs, raw=tmp_path)
    refuses(r"a\.jsonl:1", pairs, raw=written(tmp_path / "a.jsonl", "nonsense").parent)
    for name in ("true", "1.5", "null", "[]"):
        written(tmp_path / "a.jsonl", f'{{"id": {name}}}')
        refuses(r"a\.jsonl:1: id is .*, allowed is a string or a whole", pairs, raw=tmp_path)
    (tmp_path / "a.jsonl").unlink()
    written(tmp_path / "talks.en", "one", "two")
    written(tmp_path / "talks.de", "eins")
    refuses("sentence i must stand on line i", pairs, raw=tmp_path, targets=["de"])
    written(tmp_path / "talks.de", "eins", "zwei")
    corpus = pairs(raw=tmp_path, targets=["de"])
    assert [d.sections[1].text for d in corpus.documents] == ["eins", "zwei"]
    assert corpus.documents[0].id == "talks-000000-de"


def test_gcdc_rows_become_documents_with_ratings_and_drops_are_counted(tmp_path):
    refuses("0 CSV files", gcdc, name="x", raw=tmp_path)
    rows = [
        '1,s,"One. Two.\n\nThree.",3,3.0',
        "2,s,,2,2",
        "3,s,Four.,1,",
        "4,s,Five.,1,7",
        "5,s,Six.,1,1",
    ]
    header = "text_id,subject,text,ratingA1,labelA"
    written(tmp_path / "Yelp_train.csv", header, *rows)
    written(tmp_path / "Yelp_test.csv", header, "9,s,Nine.,2,2")
    corpus = gcdc(name="yelp", raw=tmp_path, validation=0.5)
    places = [(d.id, d.split) for d in corpus.documents]
    assert places == [("test-9", "test"), ("train-1", "validation"), ("train-5", "validation")]
    assert corpus.truth["rating"].tolist() == [2, 3, 1]
    assert [s.text for s in corpus.documents[1].sections] == ["One. Two.", "Three."]
    assert corpus.facts["dropped"] == {"no rating": 1, "no text": 1, "rating outside 1..3": 1}
    refuses(
        "lacks", gcdc, name="x", raw=written(tmp_path / "a.csv", "text,labelA", "One.,1").parent
    )
    raw = written(tmp_path / "Yelp_test.csv", header, "1,s,A.,2,2", "1,s,B.,2,2").parent
    refuses(r"test\.csv:3: a second test text with the id '1'", gcdc, name="x", raw=raw)


def test_summeval_gives_summaries_with_marks_and_references_once(tmp_path):
    refuses(r"no \*.jsonl", summeval, raw=tmp_path)
    for system in ("M1", "M2"):
        record = {
            "id": "article", "model_id": system, "decoded": f"A summary by {system}.", "references": ["One.", "Two."],
            "expert_annotations": [{"coherence": 1, "fluency": 5}, {"coherence": 4, "fluency": 5}],
        }  # fmt: skip
        written(tmp_path / f"{system}.jsonl", json.dumps(record))
    corpus = summeval(raw=tmp_path)
    assert [document.split for document in corpus.documents] == ["train", "train", "test", "test"]
    np.testing.assert_array_equal(corpus.truth["marks"][2:], [[1, 4], [1, 4]])
    assert np.isnan(corpus.truth["marks"][:2]).all()
    assert corpus.truth["system"].tolist() == ["reference", "reference", "M1", "M2"]
    ids = ["article/reference-0", "article/reference-1", "article/M1", "article/M2"]
    assert [document.id for document in corpus.documents] == ids
    assert [document.text for document in corpus.documents[:2]] == ["One.", "Two."]
    assert corpus.truth["cluster"].tolist() == ["article"] * 4
    assert corpus.facts == {
        "systems": ["M1", "M2"],
        "articles": 1,
        "summaries": 2,
        "dimension": "coherence",
    }
    refuses("no rating 'beauty'", summeval, raw=tmp_path, dimension="beauty")
    for content, told in (("{}", r"x\.jsonl:1"), ("{", "not JSON")):
        refuses(told, summeval, raw=written(tmp_path / "x.jsonl", content).parent)


@pytest.mark.parametrize(("share", "held"), [(0.25, [0, 4]), (0.1, [0]), (0.0, [])])
def test_every_kth_training_text_of_gcdc_is_validation(share, held, tmp_path):
    rows = "".join(f"{number},A text.,2\n" for number in range(8))
    (tmp_path / "yelp_train.csv").write_text("text_id,text,labelA\n" + rows)
    documents = gcdc(name="yelp", raw=tmp_path, validation=share).documents
    assert [n for n, one in enumerate(documents) if one.split == "validation"] == held
    assert {one.split for one in documents} <= {"train", "validation"}
