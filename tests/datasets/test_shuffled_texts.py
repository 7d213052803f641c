"""Written-out shuffles: the same sentences in another order, nothing else, named so that pairs can be found."""

from collections import Counter

import numpy as np
import pytest
from tiny import documents

from longform.core.artefacts import write_documents
from longform.core.documents import Document, Section
from longform.datasets.shuffled_texts import ADVERBIALS, build, corrupted, cut_sections, rated
from tests.refusals import refuses

TASKS = [["block", 1], ["block", 5], ["window", 2], ["section", 1]]


def article(number, split, sections=3, sentences=5):
    texts = [" ".join(f"Sentence {number} {i} {j}." for j in range(sentences)) for i in range(sections)]
    return Document(f"a-{number}", split, tuple(Section(f"title {i}", text) for i, text in enumerate(texts)))


def written(folder, texts):
    write_documents(folder / "documents.jsonl", texts)
    return folder


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path, [article(i, split) for i, split in enumerate(["train", "train", "test", "test"])])


def made(folder, **changed):
    settings = {"name": "orders", "seed": 1, "raw": folder, "tasks": TASKS, "documents": {"train": 2, "test": 2}}
    return build(**{**settings, "shuffles": 3, **changed})


def sentences(document):
    return [s for _, row in cut_sections(document, "rules") for s in row]


def test_a_shuffle_holds_its_originals_sentences_in_an_order_of_its_own(folder):
    seen = set()
    for document in made(folder).documents[2:]:
        name, task, _ = document.id.split("/")
        original, read = sentences(article(int(name.removeprefix("a-")), "test")), sentences(document)
        assert Counter(read) == Counter(original) and (read == original) == (task == "original")
        assert (task, *read) not in seen
        seen.add((task, *read))


def test_shuffles_of_sentences_and_of_sections_move_nothing_else(folder):
    for document in made(folder).documents:
        if "/block" in document.id or "/window" in document.id:
            cut = cut_sections(document, "rules")
            assert [(title, len(row)) for title, row in cut] == [(f"title {i}", 5) for i in range(3)]
    whole = {section.text: section.title for section in article(2, "test").sections}
    moved = [d for d in made(folder).documents if d.id.startswith("a-2/section_1/")]
    assert moved
    for document in moved:
        assert {s.text: s.title for s in document.sections} == whole
    few = {d.id: d.text for d in made(folder, tasks=[["block", 1]], documents={"test": 1}).documents}
    many = {d.id: d.text for d in made(folder).documents}
    assert few.items() <= many.items()


@pytest.mark.parametrize(("changed", "told"),
                         [({"tasks": [["spiral", 1]]}, "spiral"), ({"tasks": [["section", 2]]}, "section"),
                          ({"splitter": "none"}, "splitter"), ({"documents": {"test": 9}}, "asks for 9")])  # fmt: skip
def test_rows_that_cannot_be_made_are_refused(folder, changed, told):
    refuses(told, made, folder, **changed)
    refuses("no such file", made, folder / "absent")


def test_planted_ratings_say_how_a_text_was_shuffled(tmp_path):
    texts = documents(90)
    corpus = rated(name="rated", seed=1, raw=written(tmp_path, texts), splitter="full_stops")
    for before, after, rating in zip(texts, corpus.documents, corpus.truth["rating"], strict=True):
        original = " ".join(section.text for section in before.sections)
        assert Counter(original.split()) == Counter(after.text.split())
        if rating >= 2:  # three sentences are one block of five
            assert after.text == original
        assert after.edits[-1]["rating"] == rating and after.split == before.split
    assert set(corpus.truth["rating"].tolist()) == {1, 2, 3}
    again = rated(name="rated", seed=1, raw=tmp_path, splitter="full_stops")
    assert np.array_equal(again.truth["rating"], corpus.truth["rating"]) and again.documents == corpus.documents
    refuses("no such file", rated, name="rated", seed=1, raw=tmp_path / "absent")


TOLD = [
    "Mara met Oren. However, he gave her his lamp, but she left.",
    "The lamp broke because it fell. Therefore, they were sad.",
    "A third section says so. For example, nothing in it is odd.",
]


@pytest.fixture
def told(tmp_path):
    rows = [Document(f"a-{i}", "test", tuple(Section(f"t{j}", t) for j, t in enumerate(TOLD))) for i in range(2)]
    return written(tmp_path, [*rows, article(9, "test")])


def damaged(folder, **changed):
    made = corrupted(**{"name": "c", "seed": 1, "raw": folder, "documents": 2, "severities": [0.5, 1.0], **changed})
    return made, {d.id: [s.text for s in d.sections] for d in made.documents}


def test_each_corruption_does_what_its_name_says(told):
    _, texts = damaged(told)
    assert texts["sound@0/a-0"] == TOLD
    assert texts["section_order@1/a-0"] == [TOLD[1], TOLD[0], TOLD[2]]
    assert texts["repeated_section@1/a-0"] == [TOLD[0], TOLD[0], TOLD[1]]
    assert texts["repeated_sentence@1/a-0"][2] == "A third section says so. A third section says so."
    assert "However, she gave him her lamp, but he left." in texts["wrong_pronoun@1/a-0"][0]
    opening, between = texts["wrong_connective@1/a-0"][0].split(". ", 1)[1].split(", he gave her his lamp, ")
    assert opening not in ADVERBIALS["contrast"] and between in ("so she left.", "because she left.")
    borrowed = texts["off_topic_sentence@1/a-1"][1].split(". ", 1)[1]
    assert borrowed in sentences(article(9, "test"))


def test_a_lower_severity_strikes_among_the_places_of_a_higher_one_and_every_strike_is_recorded(told):
    made, _ = damaged(told)
    edits = {d.id: {(e["section"], e["sentence"]) for e in d.edits} for d in made.documents}
    for name, places in edits.items():
        if "@0.5/" in name:
            assert places <= edits[name.replace("@0.5/", "@1/")]
    assert 0 < made.facts["edits"]["off_topic_sentence@0.5"] <= made.facts["edits"]["off_topic_sentence@1"] == 6
    assert made.facts["edits"]["sound@0"] == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("documents", 3),
        ("documents", 0),
        ("severities", [0]),
        ("severities", []),
        ("splitter", ""),
    ],
)
def test_corruptions_that_cannot_be_made_are_refused(told, name, value):
    refuses("fix|give", damaged, told, **{name: value})
