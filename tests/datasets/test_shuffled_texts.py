"""Written-out shuffles: the same sentences in another order, nothing else, named so that pairs can be found."""

import json
from collections import Counter

import numpy as np
import pytest
from tiny import documents

from longform.datasets.shuffled_texts import ADVERBIALS, build, corrupted, cut_sections, rated
from longform.documents import Document, Section
from longform.files.artefacts import write_documents
from tests.refusals import refuses

TASKS = [["block", 1], ["block", 5], ["window", 2], ["section", 1]]


def article(number, split, sections=3, sentences=5):
    texts = [
        " ".join(f"Sentence {number} {i} {j}." for j in range(sentences)) for i in range(sections)
    ]
    return Document(
        f"a-{number}", split, tuple(Section(f"title {i}", text) for i, text in enumerate(texts))
    )


def written(folder, texts):
    write_documents(folder / "documents.jsonl", texts)
    return folder


@pytest.fixture
def folder(tmp_path):
    return written(
        tmp_path, [article(i, split) for i, split in enumerate(["train", "train", "test", "test"])]
    )


def made(folder, **changed):
    settings = {"tasks": TASKS, "documents": {"train": 2, "test": 2}, "shuffles": 3} | changed
    return build(name="orders", seed=1, raw=folder, **settings)


def sentences(document):
    return [s for _, row in cut_sections(document, "rules") for s in row]


def test_a_shuffle_has_its_originals_sentences_in_an_order_of_its_own(folder):
    seen, corpus = set(), made(folder)
    for document in corpus.documents[2:]:
        name, task, _ = document.id.split("/")
        whole, read = article(int(name.removeprefix("a-")), document.split), sentences(document)
        original = sentences(whole)
        assert Counter(read) == Counter(original) and (read == original) == (task == "original")
        assert (task, *read) not in seen
        seen.add((task, *read))
        if task.startswith(("block", "window")):
            cut = cut_sections(document, "rules")
            assert [(title, len(row)) for title, row in cut] == [
                (f"title {i}", 5) for i in range(3)
            ]
        if task == "section_1":
            assert set(document.sections) == set(whole.sections)
    assert {task for task, *_ in seen} == {
        "original",
        "block_1",
        "block_5",
        "window_2",
        "section_1",
    }
    few = {
        d.id: d.text for d in made(folder, tasks=[["block", 1]], documents={"test": 1}).documents
    }
    assert few.items() <= {d.id: d.text for d in corpus.documents}.items()


def test_rows_that_cannot_be_made_are_refused(folder):
    for name, value, told in (("tasks", [["spiral", 1]], "spiral"), ("tasks", [["section", 2]], "section"),
                              ("splitter", "none", "splitter"), ("documents", {"test": 9}, "the entry needs 9")):  # fmt: skip
        refuses(told, made, folder, **{name: value})
    for builder in (made, rating):
        refuses("no such file", builder, folder / "absent")


def rating(folder):
    return rated(name="rated", seed=1, raw=folder, splitter="full_stops")


def test_planted_ratings_say_how_a_text_was_shuffled(tmp_path):
    texts = documents(90)
    corpus = rating(written(tmp_path, texts))
    for before, after, given in zip(texts, corpus.documents, corpus.truth["rating"], strict=True):
        original = " ".join(section.text for section in before.sections)
        assert Counter(original.split()) == Counter(after.text.split())
        if given >= 2:  # three sentences are one block of five
            assert after.text == original
        assert after.edits[-1]["rating"] == given and after.split == before.split
    assert set(corpus.truth["rating"].tolist()) == {1, 2, 3}
    again = rating(tmp_path)
    assert np.array_equal(again.truth["rating"], corpus.truth["rating"])
    assert again.documents == corpus.documents


TOLD = [
    "Mara met Oren. However, he gave her his lamp, but she left.",
    "The lamp broke because it fell. Therefore, they were sad.",
    "A third section says so. For example, nothing in it is odd.",
]


@pytest.fixture
def told(tmp_path):
    rows = [
        Document(f"a-{i}", "test", tuple(Section(f"t{j}", t) for j, t in enumerate(TOLD)))
        for i in range(2)
    ]
    return written(tmp_path, [*rows, article(9, "test")])


def damaged(folder, **changed):
    return corrupted(
        **{
            "name": "c",
            "seed": 1,
            "raw": folder,
            "documents": 2,
            "severities": [0.5, 1.0],
            **changed,
        }
    )


def test_each_corruption_does_what_its_name_says(told):
    texts = {d.id: [s.text for s in d.sections] for d in damaged(told).documents}
    assert texts["sound@0/a-0"] == TOLD
    assert texts["section_order@1/a-0"] == [TOLD[1], TOLD[0], TOLD[2]]
    assert texts["repeated_section@1/a-0"] == [TOLD[0], TOLD[0], TOLD[1]]
    assert (
        texts["repeated_sentence@1/a-0"][2] == "A third section says so. A third section says so."
    )
    assert "However, she gave him her lamp, but he left." in texts["wrong_pronoun@1/a-0"][0]
    opening, between = (
        texts["wrong_connective@1/a-0"][0].split(". ", 1)[1].split(", he gave her his lamp, ")
    )
    assert opening not in ADVERBIALS["contrast"] and between in (
        "so she left.",
        "because she left.",
    )
    borrowed = texts["off_topic_sentence@1/a-1"][1].split(". ", 1)[1]
    assert borrowed in sentences(article(9, "test"))


def test_sentences_of_other_languages_come_from_a_file_beside_the_corpus(told, tmp_path):
    rows = [
        {
            "id": str(i),
            "en": f"One {i}.",
            "de": f"Eins {i}.",
            "fr": f"Un {i}.",
            "es": None,
            "it": " ",
            "en_tok_upos": [],
        }
        for i in range(9)
    ]
    beside = tmp_path / "parallel.jsonl"
    beside.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    corpus = damaged(told, beside=beside)
    without = damaged(told).documents
    assert corpus.documents[: len(without)] == without
    struck = next(d.text for d in corpus.documents if d.id == "mixed_language@1/a-0")
    foreign = {row[key] for row in rows for key in ("de", "fr")}
    assert sum(sentence in struck for sentence in foreign) >= 2
    assert "One" not in struck
    assert "None" not in struck
    assert all(text.split(".")[0] in struck for text in TOLD)
    assert (
        corpus.facts["edits"]["mixed_language@1"] == corpus.facts["edits"]["off_topic_sentence@1"]
    )
    beside.write_text('{"id": "1", "en": "One."}\n', encoding="utf-8")
    refuses("no sentence in .*de.*fix the file", damaged, told, beside=beside)
    refuses("no such file", damaged, told, beside=tmp_path / "absent.jsonl")


def test_a_lower_severity_strikes_a_subset_and_records_every_strike(told):
    corpus = damaged(told)
    edits = {d.id: {(e["section"], e["sentence"]) for e in d.edits} for d in corpus.documents}
    for name, places in edits.items():
        if "@0.5/" in name:
            assert places <= edits[name.replace("@0.5/", "@1/")]
    counts = corpus.facts["edits"]
    assert (
        counts["sound@0"]
        == 0
        < counts["off_topic_sentence@0.5"]
        <= counts["off_topic_sentence@1"]
        == 6
    )
    assert len(damaged(told, documents=1).documents) == 1 + 6 * 2
    for name, value in (("documents", 3), ("documents", 0), ("severities", [0]), ("severities", []),
                        ("splitter", "")):  # fmt: skip
        refuses("fix|give", damaged, told, **{name: value})
