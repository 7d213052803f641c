"""Cohan et al.'s format: JSON lines, their own splits, and every bad line under its name."""

import gzip
import json

import pytest

from longform.datasets.scientific import CohanArticles, build, split_in_name
from tests.refusals import refuses

LOOSE = {"min_sections": 1, "min_tokens": 1, "max_tokens": 100, "min_title_count": 1}


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
    corpus = build(name="p", seed=1, raw=folder, files="pubmed_*", filters=LOOSE)
    assert [(d.id, d.split) for d in corpus.documents] == [
        ("a", "train"), ("b", "train"), ("c", "train"), ("d", "train"), ("e", "validation"), ("f", "test"), ("g", "test"),
    ]  # fmt: skip
    assert [(s.title, s.text) for s in corpus.documents[0].sections][1] == ("method", "this is methods . it goes on .")
    assert corpus.facts["lines"] == {"article": 7}
    assert corpus.facts["table_11"]["train"] == 4
    refuses("no file matches", build, name="p", seed=1, raw=folder, files="plos*")
    refuses("infrequent title", build, name="p", seed=1, raw=folder, filters={"min_tokens": 1})


def test_every_bad_line_has_a_named_outcome(tmp_path):
    good, path = record("a"), tmp_path / "train.txt"
    bad = lines(good, record("b", abstract_text=[]), record("c", section_names=["Introduction"]),
                record("d", section_names=None), record("e", sections=None),
                record("f", section_names=[], sections=[]), [1, 2])  # fmt: skip
    path.write_bytes(bad + b"{not json\n\n\xff\xfe{}\n" + lines(good)[:-30])
    corpus = build(name="p", seed=1, raw=path, filters=LOOSE, shares={"train": 1.0})
    assert corpus.facts["lines"] == {
        "abstract missing": 1, "article": 1, "blank line": 1, "invalid UTF-8": 1, "malformed record": 2,
        "no JSON object": 1, "no sections": 1, "not JSON": 2, "sections and titles differ in number": 1,
    }  # fmt: skip


def test_a_cut_off_gzip_is_counted_and_what_came_before_is_kept(tmp_path):
    import random

    noise = ["".join(random.Random(i).choices("abcdefgh ", k=2000)) for i in range(60)]
    whole = gzip.compress(lines(*(record(f"u{i}", labels=noise[i]) for i in range(60))))
    (tmp_path / "train.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    articles = CohanArticles(tmp_path / "train.jsonl.gz")
    kept = len(list(articles))
    assert 10 < kept < 50
    assert articles.outcomes["file cut off"] == 1


def test_one_file_is_split_by_seed(tmp_path):
    path = tmp_path / "all.jsonl.gz"
    path.write_bytes(gzip.compress(lines(*(record(f"u{i}") for i in range(20)))))
    corpus = build(name="p", seed=1, raw=path, filters=LOOSE)
    assert [sum(d.split == s for d in corpus.documents) for s in ("train", "validation", "test")] == [14, 2, 4]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train.txt", "train"), ("pubmed_val.jsonl", "validation"), ("validation-00000-of-00001.txt", "validation"),
        ("arxiv-test.jsonl.gz", "test"), ("vocab.txt", None), ("training.txt", None),
    ],
)  # fmt: skip
def test_the_split_is_a_word_of_the_file_name(name, split):
    assert split_in_name(name) == split
