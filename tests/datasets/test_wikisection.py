"""WikiSection: the three raw forms, one file or one for each split, what is set aside, the split by seed."""

import json

import pytest

from longform.core.resampling import split_by_seed
from longform.datasets.wikisection import build
from tests.refusals import refuses

SHARES = {"train": 0.5, "validation": 0.25, "test": 0.25}


def written(folder, lines, name="city.txt"):
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def article(number):
    return f"[ ABSTRACT ] Town {number} is a town. It is small. [ HISTORY ] It was founded. [ GEOGRAPHY ] It is flat."


def test_a_marked_line_becomes_titled_sections_and_the_plain_form_splits_alike(tmp_path):
    corpus = build(name="c", seed=1, raw=written(tmp_path, [article(i) for i in range(4)]), shares=SHARES)
    first = corpus.documents[0]
    assert [s.title for s in first.sections] == ["abstract", "history", "geography"]
    assert [s.text for s in first.sections] == ["Town 0 is a town. It is small.", "It was founded.", "It is flat."]
    assert corpus.truth["sentences"].tolist() == [4, 4, 4, 4]
    assert corpus.facts["dropped"] == {}
    marked = build(name="c", seed=3, raw=written(tmp_path, [article(i) for i in range(8)]), shares=SHARES)
    lines = [" ".join(section.text for section in document.sections) for document in marked.documents]
    plain = build(name="d", seed=3, raw=written(tmp_path, lines, "plain.txt"), shares=SHARES)
    assert [d.split for d in plain.documents] == [d.split for d in marked.documents]
    assert [d.sections[0].title for d in plain.documents] == [None] * 8
    assert plain.truth["sentences"].tolist() == marked.truth["sentences"].tolist()


def test_what_cannot_be_used_is_counted_by_reason(tmp_path):
    lines = [
        article(1), "", "No markers at all.", "[ HISTORY ] Founded. [ ABSTRACT ] A town.", "[ ABSTRACT ] A. [ HISTORY ] ",
        "Stray. [ ABSTRACT ] A town. [ HISTORY ] Old.", article(2),
    ]  # fmt: skip
    corpus = build(name="c", seed=1, raw=written(tmp_path, lines), shares={"train": 0.5, "test": 0.5})
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
    corpus = build(name="c", seed=1, raw=path, shares={"test": 1.0})
    assert [(s.title, s.text) for s in corpus.documents[0].sections] == [
        ("abstract", "A is a town."), ("history", "It was founded."), ("geography", "It is flat."),
    ]  # fmt: skip
    assert corpus.facts["dropped"] == {
        "abstract missing": 1, "malformed record": 2, "no sections": 1, "section outside the text": 1,
    }  # fmt: skip


@pytest.mark.parametrize("content", [b"\n\n\n", b"\xff\xfe broken"])
def test_a_file_without_one_usable_article_is_bad_input(tmp_path, content):
    (tmp_path / "city.txt").write_bytes(content)
    refuses(r"zero of 3|UTF-8", build, name="c", seed=1, raw=tmp_path / "city.txt")


@pytest.mark.parametrize(
    "settings", [{"splitter": "best"}, {"shares": {"train": 0.7}}, {"shares": {"train": 1.2, "test": -0.2}}]
)
def test_a_bad_setting_is_named(tmp_path, settings):
    refuses(r"splitter|shares", build, name="c", seed=1, raw=written(tmp_path, [article(1)]), **settings)


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
    corpus = build(name="c", seed=1, raw=tmp_path, files=files_of(tmp_path), shares=SHARES)
    texts = {split: [d.sections[0].text for d in corpus.documents if d.split == split] for split in SHARES}
    assert [text.split()[1] for text in texts["test"]] == [str(i) for i in range(20, 26)]
    assert len(texts["validation"]) == round(20 * 0.25 / 0.75)  # held out of the training file
    assert len({d.id for d in corpus.documents}) == 26
    assert corpus.facts["splits"] == {"test": 6, "train": 13, "validation": 7}
    given = build(name="c", seed=1, raw=tmp_path, files=files_of(tmp_path) | {"validation": "city.test.txt"})
    assert given.facts["splits"] == {"test": 6, "train": 20, "validation": 6}


@pytest.mark.parametrize("files", [{"test": "city.test.txt"}, {"train": "city.train.txt", "dev": "city.test.txt"}, {}])
def test_files_of_other_splits_or_without_training_articles_are_refused(tmp_path, files):
    files_of(tmp_path)
    refuses("train is needed", build, name="c", seed=1, raw=tmp_path, files=files)
