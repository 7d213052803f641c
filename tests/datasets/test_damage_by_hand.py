"""Shuffles and damage of a few short texts, place by place, and in whose name each is drawn."""

import numpy as np
import pytest

from longform.datasets import shuffled_texts as damage
from longform.documents import Corpus, Document, Section
from longform.files.artefacts import write_corpus
from longform.statistics.random_streams import generator
from tests.refusals import refuses

CUT = [("A", ["a1.", "a2."]), ("B", ["b1."]), (None, ["c1.", "c2.", "c3."])]


def test_sections_are_cut_into_sentences_and_empty_ones_left_out():
    document = Document(
        "d", "test", (Section("A", "One. Two."), Section("B", "  "), Section(None, "Three."))
    )
    assert damage.cut_sections(document, "rules") == [("A", ["One.", "Two."]), (None, ["Three."])]


@pytest.mark.parametrize(("task", "size"), [("block", 1), ("block", 2), ("section", 1)])
def test_a_shuffle_is_the_drawn_order_in_the_old_frame(task, size):
    made = damage.shuffled_cuts(CUT, task, size, 3, np.random.default_rng(5))
    assert made and all(copy != CUT for copy in made)
    for copy in made:
        if task == "section":
            assert sorted(map(str, copy)) == sorted(map(str, CUT))
            continue
        assert [(title, len(row)) for title, row in copy] == [("A", 2), ("B", 1), (None, 3)]
        moved = [text for _, row in copy for text in row]
        whole = [text for _, row in CUT for text in row]
        assert sorted(moved) == sorted(whole)
        for first in range(0, 6, size):
            at = moved.index(whole[first])
            assert moved[at : at + size] == whole[first : first + size]


@pytest.fixture
def folder(tmp_path):
    def text(name, split, *sections):
        return Document(
            name, split, tuple(Section(f"t{i}", words) for i, words in enumerate(sections))
        )

    documents = [
        text("a", "test", "One. Two. Three.", "Four. Five."), text("b", "train", "Six. Seven."),
        text("c", "test", "Eight. Nine.", "Ten."), text("d", "test", "Lone."),
    ]  # fmt: skip
    write_corpus(tmp_path / "corpus", Corpus(documents))
    return tmp_path / "corpus"


def test_shuffles_are_named_by_task_and_copy_and_drawn_by_all_names(folder, monkeypatch):
    opened = []
    monkeypatch.setattr(
        damage, "generator", lambda *names: opened.append(names) or generator(*names)
    )
    given = {
        "tasks": [("block", 1), ("section", 1)],
        "documents": {"test": 2, "train": 1},
        "shuffles": 2,
    }
    made = damage.build(name="n", seed=3, raw=folder, **given)
    ids = [document.id for document in made.documents]
    assert ids[0] == "a/original/0" and ids[-1] == "b" and "c/original/0" in ids
    assert [name for name in ids if name.startswith("a/block_1")] == ["a/block_1/0", "a/block_1/1"]
    assert opened == [
        (3, "n", task, 1, name) for name in ("a", "c") for task in ("block", "section")
    ]  # fmt: skip
    counts = {task: sum(f"/{task}/" in name for name in ids) for task in ("block_1", "section_1")}
    assert made.facts == {"corpus": "n", "documents": 3, "shuffles": counts}
    assert (
        damage.build(name="n", seed=3, raw=folder, tasks=[], documents={"test": 1}).facts[
            "documents"
        ]
        == 1
    )
    one = damage.build(name="n", seed=3, raw=folder, tasks=[("block", 1)], documents={"test": 1})
    assert [document.id for document in one.documents] == ["a/original/0", "a/block_1/0"]


@pytest.mark.parametrize("task", [("spiral", 1), ("block", 0), ("section", 2), ("section", 0)])
def test_a_task_has_a_kind_and_a_size(folder, task):
    refuses("allowed are", damage.build, name="n", seed=1, raw=folder, tasks=[task], documents={})


def test_more_documents_than_there_are_are_refused(folder):
    given = {"name": "n", "seed": 1, "raw": folder, "tasks": []}
    refuses(
        "has 3 documents of split 'test', the entry needs 4; fix it",
        damage.build,
        documents={"test": 4},
        **given,
    )
    assert len(damage.build(documents={"test": 3}, **given).documents) == 3
    refuses("splitter 'x'; allowed are", damage.build, documents={}, splitter="x", **given)


def test_rated_texts_are_whole_in_blocks_or_in_pieces(folder):
    made = damage.rated(name="n", seed=3, raw=folder)
    assert [document.id for document in made.documents] == list("abcd")
    for document, rating in zip(made.documents, made.truth["rating"], strict=True):
        name = document.id
        assert rating == 1 + int(generator(3, "n", "rating", name).integers(3))
        assert document.edits == (
            {"edit": "rated shuffle", "rating": rating, "block": {1: 1, 2: 5, 3: 0}[rating]},
        )
        assert len(document.sections) == 1 and document.sections[0].title is None
    counts = {str(k): int((made.truth["rating"] == k).sum()) for k in (1, 2, 3)}
    assert (
        made.facts == {"corpus": "n", "ratings": counts} and made.truth["rating"].dtype == np.int64
    )


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("He met her dog.", "She met his dog."),
        ("She met her.", "He met him."),
        ("I saw her and him.", "I saw him and her."),
        ("The dog was hers, not his dog.", "The dog was his, not her dog."),
        ("Herself she hid.", "Himself he hid."),
        ("The others theorise.", "The others theorise."),
        ("They gave her the prize.", "They gave him the prize."),
    ],
)
def test_pronouns_take_the_other_gender_in_their_case(text, changed):
    assert damage._rewritten("wrong_pronoun", text, generator(0)) == changed


@pytest.mark.parametrize(
    ("text", "sense"),
    [
        ("However, it rained.", "contrast"),
        ("Thus, it rained.", "cause"),
        ("Moreover, it is.", "addition"),
    ],
)
def test_an_opening_connective_gives_way_to_one_of_another_sense(text, sense):
    _, rest = text.split(",", 1)
    others = [w for name, words in damage.ADVERBIALS.items() if name != sense for w in words]
    found = {damage._rewritten("wrong_connective", text, generator(i)) for i in range(60)}
    assert {one.split(",", 1)[0] for one in found} == set(others)
    assert {one.split(",", 1)[1] for one in found} == {rest}
    drawn = others[int(generator(7).integers(len(others)))]
    assert damage._rewritten("wrong_connective", text, generator(7)) == f"{drawn},{rest}"


def test_a_conjunction_between_clauses_keeps_its_blanks():
    text = "It rained, but we went."
    found = {damage._rewritten("wrong_connective", text, generator(i)) for i in range(30)}
    assert found == {"It rained, so we went.", "It rained, because we went."}
    unchanged = "It rained but we went. However we stayed."
    assert damage._rewritten("wrong_connective", unchanged, generator(0)) == unchanged


@pytest.mark.parametrize(
    ("corruption", "places"),
    [
        ("section_order", [(0, -1)]), ("repeated_section", [(1, -1), (2, -1)]),
        ("repeated_sentence", [(0, 1), (2, 1), (2, 2)]), ("off_topic_sentence", [(0, 1), (2, 1), (2, 2)]),
        ("mixed_language", [(0, 1), (2, 1), (2, 2)]), ("wrong_pronoun", []),
    ],
)  # fmt: skip
def test_where_damage_can_strike(corruption, places):
    assert damage._places(corruption, CUT) == places
    assert damage._places("wrong_pronoun", [("A", ["No one.", "He ran."])]) == [(0, 1)]
    assert damage._places("section_order", [*CUT, *CUT[:2]]) == [(0, -1), (2, -1)]
    assert damage._places("section_order", CUT[:1]) == damage._places("section_order", []) == []


NAMES = (3, "n", "kind", "d")


def struck(corruption, severity=1.0, others=("x.", "y.")):
    return damage._struck(corruption, severity, CUT, others, NAMES)


def test_damage_of_each_kind_by_hand():
    swapped, edits = struck("section_order")
    assert swapped == [CUT[1], CUT[0], CUT[2]]
    assert edits == [{"corruption": "section_order", "section": 0, "sentence": -1}]
    repeated, edits = struck("repeated_section")
    assert repeated == [CUT[0], CUT[0], CUT[1]] and [e["section"] for e in edits] == [1, 2]
    repeated, edits = struck("repeated_sentence")
    assert repeated == [("A", ["a1.", "a1."]), ("B", ["b1."]), (None, ["c1.", "c1.", "c2."])]
    lent, edits = struck("off_topic_sentence")
    drawn = [
        ("x.", "y.")[int(generator(*NAMES, i, j).integers(2))] for i, j in ((0, 1), (2, 1), (2, 2))
    ]
    assert lent == [("A", ["a1.", drawn[0]]), ("B", ["b1."]), (None, ["c1.", drawn[1], drawn[2]])]
    assert CUT[0] == ("A", ["a1.", "a2."])  # the sound text stays


def test_a_place_is_struck_below_the_severity():
    chances = generator(*NAMES).random(3)
    for severity in (0.0, float(np.sort(chances)[1]), 1.0):
        _, edits = struck("repeated_sentence", severity)
        expected = [
            place
            for place, chance in zip([(0, 1), (2, 1), (2, 2)], chances, strict=True)
            if chance < severity
        ]
        assert [(edit["section"], edit["sentence"]) for edit in edits] == expected


def test_damaged_texts_stand_beside_sound_ones_and_borrow_from_the_next(folder):
    given = {"name": "n", "seed": 3, "raw": folder}
    made = damage.corrupted(documents=2, severities=[0.5, 1], **given)
    ids = [document.id for document in made.documents]
    kinds = [kind for kind in damage.CORRUPTIONS if kind != damage.MIXED]
    assert ids == ["sound@0/a", "sound@0/c"] + [
        f"{kind}@{severity}/{name}" for kind in kinds for severity in ("0.5", "1") for name in "ac"
    ]
    by_id = {document.id: document for document in made.documents}
    assert by_id["repeated_sentence@1/a"].text == "One. One. Two.\n\nFour. Four."
    foreign = by_id["off_topic_sentence@1/c"].text.split()
    assert foreign[0] == "Eight." and foreign[1] == "Lone."
    assert made.facts["edits"]["off_topic_sentence@1"] == 3 + 1 and made.facts["documents"] == 2
    assert made.facts["edits"]["sound@0"] == 0 and made.facts["corpus"] == "n"


@pytest.mark.parametrize(
    "over",
    [{"severities": []}, {"severities": [0.5, 0.5]}, {"severities": [0.0]}, {"severities": [1.1]},
     {"documents": 0}, {"documents": 3}],
)  # fmt: skip
def test_severities_and_counts_have_bounds(folder, over):
    given = {"name": "n", "seed": 3, "raw": folder, "documents": 1, "severities": [1.0], **over}
    refuses("(give distinct ones above 0|the entry may use 1 to 2 )", damage.corrupted, **given)
