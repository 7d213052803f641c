"""Articles of WikiSection and of Cohan et al.: every form, their own splits or one by seed, and what is set aside under its name."""

import gzip
import json
from functools import partial

import pytest

from longform.core.resampling import split_by_seed
from longform.datasets import scientific, wikisection
from tests.refusals import refuses

SHARES = {"train": 0.5, "validation": 0.25, "test": 0.25}


def written(folder, lines, name="city.txt"):
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


cities = partial(wikisection.build, name="c", seed=1)


def article(number):
    return f"[ ABSTRACT ] Town {number} is a town. It is small. [ HISTORY ] It was founded. [ GEOGRAPHY ] It is flat."


def test_a_marked_line_becomes_titled_sections_and_the_plain_form_splits_alike(tmp_path):
    corpus = cities(raw=written(tmp_path, [article(i) for i in range(4)]), shares=SHARES)
    first = corpus.documents[0]
    assert [s.title for s in first.sections] == ["abstract", "history", "geography"]
    assert [s.text for s in first.sections] == ["Town 0 is a town. It is small.", "It was founded.", "It is flat."]
    assert corpus.truth["sentences"].tolist() == [4, 4, 4, 4]
    assert corpus.facts["dropped"] == {}
    marked = cities(seed=3, raw=written(tmp_path, [article(i) for i in range(8)]), shares=SHARES)
    lines = [" ".join(section.text for section in document.sections) for document in marked.documents]
    plain = cities(name="d", seed=3, raw=written(tmp_path, lines, "plain.txt"), shares=SHARES)
    assert [d.split for d in plain.documents] == [d.split for d in marked.documents]
    assert [d.sections[0].title for d in plain.documents] == [None] * 8
    assert plain.truth["sentences"].tolist() == marked.truth["sentences"].tolist()


def test_what_cannot_be_used_is_counted_by_reason(tmp_path):
    lines = [
        article(1), "", "No markers at all.", "[ HISTORY ] Founded. [ ABSTRACT ] A town.", "[ ABSTRACT ] A. [ HISTORY ] ",
        "Stray. [ ABSTRACT ] A town. [ HISTORY ] Old.", article(2),
    ]  # fmt: skip
    corpus = cities(raw=written(tmp_path, lines), shares={"train": 0.5, "test": 0.5})
    assert [d.id for d in corpus.documents] == ["line-00001", "line-00007"]
    assert corpus.facts["articles_read"] == 7
    assert corpus.facts["dropped"] == {"abstract missing": 1, "blank line": 1, "empty section": 1, "no sections": 1,
                                       "text before the first marker": 1}  # fmt: skip


def test_wikisection_json_gives_the_abstract_and_the_labelled_spans(tmp_path):
    text = "It was founded. It is flat."
    marks = [
        {"begin": 0, "length": 15, "sectionHeading": "Early days", "sectionLabel": "city.history"},
        {"begin": 16, "length": 11, "sectionHeading": "Geography", "sectionLabel": "city.geography"},
    ]
    good = {"id": "Q1", "type": "city", "title": "A", "abstract": "A is a town.", "text": text, "annotations": marks}
    far = good | {"annotations": [marks[0] | {"length": 99}]}
    records = [good, good | {"annotations": []}, good | {"abstract": " "}, far, {"id": "Q2"}, 7]
    path = tmp_path / "HGD_en_city.json"
    path.write_text(json.dumps(records))
    corpus = cities(raw=path, shares={"test": 1.0})
    assert [(s.title, s.text) for s in corpus.documents[0].sections] == [
        ("abstract", "A is a town."), ("history", "It was founded."), ("geography", "It is flat."),
    ]  # fmt: skip
    assert corpus.facts["dropped"] == {
        "abstract missing": 1, "malformed record": 2, "no sections": 1, "section outside the text": 1,
    }  # fmt: skip


@pytest.mark.parametrize("content", [b"\n\n\n", b"\xff\xfe broken"])
def test_a_file_without_one_usable_article_is_bad_input(tmp_path, content):
    (tmp_path / "city.txt").write_bytes(content)
    refuses(r"zero of 3|UTF-8", cities, raw=tmp_path / "city.txt")


@pytest.mark.parametrize(
    "settings", [{"splitter": "best"}, {"shares": {"train": 0.7}}, {"shares": {"train": 1.2, "test": -0.2}}]
)
def test_a_bad_setting_is_named(tmp_path, settings):
    refuses(r"splitter|shares", cities, raw=written(tmp_path, [article(1)]), **settings)


def test_shares_are_exact_and_the_split_depends_on_seed_and_id_only():
    ids = [f"a{i}" for i in range(40)]
    splits = split_by_seed(ids, SHARES, 5)
    assert {s: splits.count(s) for s in SHARES} == {"train": 20, "validation": 10, "test": 10}
    backwards = split_by_seed(ids[::-1], SHARES, 5)
    assert backwards[::-1] == splits
    assert split_by_seed(ids, SHARES, 6) != splits


def files_of(folder):
    written(folder, [article(i) for i in range(20)], "city.train.txt")
    written(folder, [article(i) for i in range(20, 26)], "city.test.txt")
    return {"train": "city.train.txt", "test": "city.test.txt"}


def test_the_papers_own_train_and_test_files_keep_their_splits(tmp_path):
    corpus = cities(raw=tmp_path, files=files_of(tmp_path), shares=SHARES)
    texts = {split: [d.sections[0].text for d in corpus.documents if d.split == split] for split in SHARES}
    assert [text.split()[1] for text in texts["test"]] == [str(i) for i in range(20, 26)]
    assert len(texts["validation"]) == round(20 * 0.25 / 0.75)  # held out of the training file
    assert len({d.id for d in corpus.documents}) == 26
    assert corpus.facts["splits"] == {"test": 6, "train": 13, "validation": 7}
    given = wikisection.build(
        name="c", seed=1, raw=tmp_path, files=files_of(tmp_path) | {"validation": "city.test.txt"}
    )
    assert given.facts["splits"] == {"test": 6, "train": 20, "validation": 6}


@pytest.mark.parametrize("files", [{"test": "city.test.txt"}, {"train": "city.train.txt", "dev": "city.test.txt"}, {}])
def test_files_of_other_splits_or_without_training_articles_are_refused(tmp_path, files):
    files_of(tmp_path)
    refuses("train is needed", cities, raw=tmp_path, files=files)


LOOSE = {"min_sections": 1, "min_tokens": 1, "max_tokens": 100, "min_title_count": 1}


articles = partial(scientific.build, name="p", seed=1, filters=LOOSE)


def record(unit, **changes):
    names = ["Introduction", "Methods", "Results"]
    sections = [[f"this is {name.lower()} .", "it goes on ."] for name in names]
    text = [sentence for section in sections for sentence in section]
    base = {"article_id": unit, "abstract_text": ["<S> short . </S>"], "article_text": text, "labels": None}
    return base | {"section_names": names, "sections": sections} | changes


def lines(*records):
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


@pytest.fixture
def folder(tmp_path):
    for split, units in (("train", "abcd"), ("val", "e"), ("test", "fg")):
        (tmp_path / f"pubmed_{split}.jsonl").write_bytes(lines(*(record(unit) for unit in units)))
    (tmp_path / "arxiv_train.jsonl").write_bytes(lines(record("z")))
    return tmp_path


def test_cohans_own_splits_and_sections_come_through(folder):
    corpus = articles(raw=folder, files="pubmed_*")
    assert [(d.id, d.split) for d in corpus.documents] == [
        ("a", "train"), ("b", "train"), ("c", "train"), ("d", "train"), ("e", "validation"), ("f", "test"), ("g", "test"),
    ]  # fmt: skip
    assert [(s.title, s.text) for s in corpus.documents[0].sections][1] == ("method", "this is methods . it goes on .")
    assert corpus.facts["lines"] == {"article": 7}
    assert corpus.facts["table_11"]["train"] == 4
    refuses("no file matches", articles, raw=folder, files="plos*")
    refuses("infrequent title", articles, raw=folder, filters={"min_tokens": 1})


def test_every_bad_line_has_a_named_outcome(tmp_path):
    good, path = record("a"), tmp_path / "train.txt"
    bad = lines(good, record("b", abstract_text=[]), record("c", section_names=["Introduction"]),
                record("d", section_names=None), record("e", sections=None),
                record("f", section_names=[], sections=[]), [1, 2])  # fmt: skip
    path.write_bytes(bad + b"{not json\n\n\xff\xfe{}\n" + lines(good)[:-30])
    corpus = articles(raw=path, shares={"train": 1.0})
    assert corpus.facts["lines"] == {
        "abstract missing": 1, "article": 1, "blank line": 1, "invalid UTF-8": 1, "malformed record": 2,
        "no JSON object": 1, "no sections": 1, "not JSON": 2, "sections and titles differ in number": 1,
    }  # fmt: skip


def test_a_cut_off_gzip_is_counted_and_what_came_before_is_kept(tmp_path):
    import random

    noise = ["".join(random.Random(i).choices("abcdefgh ", k=2000)) for i in range(60)]
    whole = gzip.compress(lines(*(record(f"u{i}", labels=noise[i]) for i in range(60))))
    (tmp_path / "train.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    read = scientific.CohanArticles(tmp_path / "train.jsonl.gz")
    kept = len(list(read))
    assert 10 < kept < 50
    assert read.outcomes["file cut off"] == 1


def test_one_file_is_split_by_seed(tmp_path):
    path = tmp_path / "all.jsonl.gz"
    path.write_bytes(gzip.compress(lines(*(record(f"u{i}") for i in range(20)))))
    corpus = articles(raw=path)
    assert [sum(d.split == s for d in corpus.documents) for s in ("train", "validation", "test")] == [14, 2, 4]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train.txt", "train"), ("pubmed_val.jsonl", "validation"), ("validation-00000-of-00001.txt", "validation"),
        ("arxiv-test.jsonl.gz", "test"), ("vocab.txt", None), ("training.txt", None),
    ],
)  # fmt: skip
def test_the_split_is_a_word_of_the_file_name(name, split):
    assert scientific.split_in_name(name) == split
