"""Studies, sheets and answers without a server: what is asked, drawn, kept, counted as last and refused."""

import json
from datetime import datetime

import pytest
from scipy import stats

from longform.documents import Document, Section
from longform.files.artefacts import write_documents
from longform.statistics.random_streams import generator
from longform_lab.study import items, tables
from longform_lab.study.items import Item, Study
from longform_lab.study.store import Store
from tests.refusals import refuses


def article(name, *titles, words="text"):
    return Document(
        name, "test", tuple(Section(t, f"{words} {name} {i}") for i, t in enumerate(titles))
    )


TRAINING = [article("t", "b", "a"), article("u", None, "a")]
TESTING = {
    "data": [article(f"d{i}", "a") for i in range(6)] + [article("t", "a", "c")],
    "gpt": [article(f"g{i}", None, None) for i in range(5)],
}


def study(per_system=2, **over):
    given = {"name": "s", "per_system": per_system, "seed": 4, **over}
    return items.sections_study(TRAINING, TESTING, **given)


def test_a_study_of_sections_has_training_drawn_articles_and_a_check():
    made = study()
    names = [item.id for item in made.items]
    assert names[0] == "training/data/t" and names[-1] == "testing/check/0" and len(names) == 6
    first = made.items[0]
    assert (first.labels, first.gold, first.source) == (("a", "b"), ("b", "a"), "data")
    for system, count in (("data", 6), ("gpt", 5)):
        drawn = sorted(generator("study", "s", 4, system).permutation(count)[:2])
        expected = [f"testing/{system}/{TESTING[system][i].id}" for i in drawn]
        assert [
            item.id for item in made.items if item.source == system and item.phase == "testing"
        ] == expected
    tested = made.items[1]
    assert tested.gold == ()
    assert not tested.check
    assert tested.body["sections"] == [f"text {tested.id[-2:]} 0"]
    check = made.items[-1]
    assert check.check and check.gold == ("a", "incoherent") and "“a”" in check.body["sections"][0]


def test_every_twentieth_item_is_a_check_and_all_articles_may_be_asked_for():
    made = study(100)
    told = items.TEXTS["sections"]
    assert (made.title, made.consent, made.instructions) == (
        told["title"], items.TEXTS["consent"], told["instructions"]
    )  # fmt: skip
    assert len(made.items) == 1 + 6 + 5 + 1
    many = {"data": [article(f"m{i}", "a") for i in range(41)]}
    made = items.sections_study(TRAINING, many, name="s", per_system=41, seed=1)
    checks = [item.gold[0] for item in made.items if item.check]
    assert checks == ["a", "b"]  # 42 items, labels in turn


def test_what_no_study_can_be_made_of_is_refused():
    refuses("'s': 0 articles per system; ask for 1 or more", study, 0)
    given = {"name": "s", "per_system": 1, "seed": 1}
    refuses(
        "none of 1 training articles has all its titles",
        items.sections_study,
        TRAINING[1:],
        TESTING,
        **given,
    )
    seen = {"data": [article("t", "x", "y")]}
    refuses(
        "system 'data' has no article outside training",
        items.sections_study,
        TRAINING,
        seen,
        **given,
    )
    twice = {"data": [article("d", "a")] * 2}
    refuses(
        r"1 ids come twice, first 'testing/data/d'",
        items.sections_study,
        TRAINING,
        twice,
        **{**given, "per_system": 2},
    )


def test_training_comes_first_in_order_and_testing_in_a_persons_own():
    made = study()
    training, testing = made.items[:1], made.items[1:]
    order = generator("study", "s", "order", "ann").permutation(len(testing))
    assert made.order("ann") == [*training, *(testing[i] for i in order)]
    assert made.item("testing/check/0").check
    refuses("study 's' has no item 'x'", made.item, "x")


def test_questions_are_one_a_section_and_the_verdict_in_testing_alone():
    made = study()
    labels = ("a", "b")
    assert items.questions(made.items[0]) == [("section_0", labels), ("section_1", labels)]
    assert items.questions(made.items[1]) == [
        ("section_0", labels),
        ("coherent", ("coherent", "incoherent")),
    ]
    pair = Item("p", "pair", "testing", {"left": "l", "right": "r"}, ("left", "right"))
    assert items.questions(pair) == [("label", ("left", "right"))]


def test_a_study_comes_back_from_its_file(tmp_path):
    study().save(tmp_path / "in" / "study.json")
    assert items.load_study(tmp_path / "in" / "study.json") == study()


ITEM = {
    "id": "i",
    "kind": "claim",
    "phase": "testing",
    "body": {"claim": "c", "evidence": "e"},
    "labels": ["x"],
}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, None),
        ({"gold": ["x"], "check": True, "source": "s"}, None),
        ({"kind": "quiz"}, "kind 'quiz', phase 'testing'; allowed are"),
        ({"phase": "pause"}, "phase 'pause'; allowed are"),
        ({"labels": []}, "allowed are"),
        ({"labels": "x"}, "labels"),
        ({"body": {"claim": "c"}}, "evidence"),
        ({"kind": "sections", "body": {"sections": []}}, "no section to show"),
        ({"kind": "sections", "body": {"sections": ["a"]}}, None),
        ({"colour": 1}, r"got fields \['colour'\], allowed are"),
        ({"gold": [1]}, "gold"),
        ({"check": 1}, "check"),
        ({"source": None}, "source"),
    ],
)
def test_an_item_is_whole_or_refused_by_its_place(tmp_path, changes, sentence):
    held = {
        "name": "n",
        "title": "t",
        "consent": "c",
        "instructions": {"training": "do"},
        "items": [{**ITEM, **changes}],
    }
    path = tmp_path / "study.json"
    path.write_text(json.dumps(held))
    if sentence is None:
        (item,) = items.load_study(path).items
        assert item.id == "i" and item.check is bool(changes.get("check"))
        return
    refuses(f"study.json, item 0.*{sentence}", items.load_study, path)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [({"items": []}, "got 0, 0 ids"), ({"items": [ITEM, ITEM]}, "got 2, 1 ids"), ({"title": 3}, "title"),
     ({"instructions": {"training": 3}}, "instructions of 'training'"), ({"items": {}}, "items")],
)  # fmt: skip
def test_a_study_without_whole_items_is_refused(tmp_path, changes, sentence):
    held = {
        "name": "n",
        "title": "t",
        "consent": "c",
        "instructions": {},
        "items": [ITEM],
        **changes,
    }
    path = tmp_path / "study.json"
    path.write_text(json.dumps(held))
    refuses(sentence, items.load_study, path)
    for key in ("name", "items"):
        path.write_text(json.dumps({name: value for name, value in held.items() if name != key}))
        refuses("not a study, as", items.load_study, path)


def test_rows_of_a_sheet_become_claims_or_pairs():
    rows = [
        {"item_id": "i", "left": "l", "right": "r", "suite": "x"},
        {"item_id": "j", "left": "m", "right": "s"},
    ]
    made = items.rows_study(rows, "n", "pair")
    assert [(item.id, item.kind, item.phase, item.source) for item in made.items] == [
        ("i", "pair", "testing", "x"), ("j", "pair", "testing", "")
    ]  # fmt: skip
    assert made.items[0].body == {"left": "l", "right": "r"} and made.items[0].labels
    refuses(
        r"row 1: \['item_id', 'right'\] is no text; a pair needs",
        items.rows_study,
        [rows[0], {"left": "l", "right": 3}],
        "n",
        "pair",
    )
    refuses("no item; give at least one", items.rows_study, [], "n", "claim")


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("s.csv", "item_id,claim\ni,a;b\n", [{"item_id": "i", "claim": "a;b"}]),
        ("s.csv", "item_id;claim;more\ni;a,b;c\n", [{"item_id": "i", "claim": "a,b", "more": "c"}]),
        ("s.csv", "item_id\tclaim\ni\ta\n", [{"item_id": "i", "claim": "a"}]),
        ("s.csv", "", []),
        ("s.jsonl", '{"item_id": "i"}\n', [{"item_id": "i"}]),
    ],
)
def test_a_sheet_is_read_by_its_own_delimiter(tmp_path, name, content, rows):
    (tmp_path / name).write_text(content)
    assert items.sheet(tmp_path / name) == rows
    refuses("no such file; name a .jsonl or .csv sheet", items.sheet, tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("first", "second", "judgements"), [(0.5, 0.4, 388), (0.9, 0.5, 20), (0.1, 0.0, 74)]
)
def test_judgements_that_tell_two_shares_apart(first, second, judgements):
    """Fleiss, Levin and Paik (2003), section 4.2: without the correction for continuity."""
    z, power = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
    mean = (first + second) / 2
    root = (
        z * (2 * mean * (1 - mean)) ** 0.5
        + power * (first * (1 - first) + second * (1 - second)) ** 0.5
    )
    expected = (root / (first - second)) ** 2
    assert items.needed(first, second) == judgements == -int(-expected // 1)
    assert (
        items.needed(first, second, power=0.9)
        > judgements
        < items.needed(first, second, level=0.01)
    )


@pytest.mark.parametrize("shares", [(0.5, 0.5), (-0.1, 0.5), (0.5, 1.1)])
def test_power_is_of_two_different_shares(shares):
    refuses("allowed are two different shares from 0 to 1", items.needed, *shares)


def test_half_a_surrogate_pair_and_places_that_cannot_be_written_are_named(tmp_path):
    refuses("half a surrogate pair", items.write, tmp_path / "a", "\ud800")
    (tmp_path / "file").write_text("")
    refuses("cannot be written", items.write, tmp_path / "file" / "a", "text")


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "answers.db")
    yield made
    made.close()


def test_annotators_are_invited_all_or_none_and_agree_once(store):
    tokens = store.invite_all(["ann", "bob"])
    assert list(tokens) == ["ann", "bob"] and len(set(tokens.values())) == 2
    assert store.label(tokens["ann"]) == "ann" and store.label("x") is None
    refuses(r"annotators \['ann'\]: invited already", store.invite_all, ["cat", "ann"])
    refuses(
        r"annotators \['dan'\]: invited already, or named twice", store.invite_all, ["dan", "dan"]
    )
    assert store.invite_all(["cat"]).keys() == {"cat"}
    assert not store.consented(tokens["ann"])
    store.consent(tokens["ann"])
    assert store.consented(tokens["ann"]) and not store.consented(tokens["bob"])


def test_the_last_answer_counts_and_one_sent_twice_is_one(store):
    token = store.invite_all(["ann"])["ann"]
    for item, answer in (
        ("i", {"a": 1, "b": 2}),
        ("i", {"b": 2, "a": 1}),
        ("i", {"a": 3}),
        ("j", {"verified_only": True}),
    ):
        store.add(token, item, answer)
    rows = [(row["annotator"], row["item"], row["last"], row["answer"]) for row in store.answers()]
    assert rows == [
        ("ann", "i", False, {"a": 1, "b": 2}), ("ann", "i", True, {"a": 3}), ("ann", "j", False, {"verified_only": True})
    ]  # fmt: skip
    assert store.done(token) == {"i"}
    moment = datetime.fromisoformat(store.answers()[0]["at"])
    assert moment.utcoffset().total_seconds() == 0 and moment.microsecond % 1000 == 0


def test_a_draft_once_verified_stays_so_and_an_answer_ends_it(store):
    token = store.invite_all(["ann"])["ann"]
    assert store.drafted(token, "i") == {}
    store.draft(token, "i", {"a": "ä", "verified": True})
    store.draft(token, "i", {"a": "b"})
    assert store.drafted(token, "i") == {"a": "b", "verified": True}
    store.add(token, "i", {"verified_only": True})
    assert store.drafted(token, "i") != {}
    store.add(token, "i", {"a": "b"})
    assert store.drafted(token, "i") == {}


def test_who_withdraws_leaves_nothing_and_strangers_are_named(store):
    tokens = store.invite_all(["ann", "bob"])
    for name in ("ann", "bob"):
        store.add(tokens[name], "i", {"a": 1})
        store.add(tokens[name], "j", {"a": 1})
        store.draft(tokens[name], "k", {"a": 1})
    refuses(r"annotators \['cat'\]: not invited; nobody's", store.withdraw, ["ann", "cat"])
    assert len(store.answers()) == 4
    assert store.withdraw(["ann"]) == {"ann": 2}
    assert {row["annotator"] for row in store.answers()} == {"bob"} and store.label(
        tokens["ann"]
    ) is None
    assert store.drafted(tokens["ann"], "k") == {} != store.drafted(tokens["bob"], "k")


def test_another_database_or_file_is_refused(tmp_path):
    import sqlite3

    held = sqlite3.connect(tmp_path / "other.db")
    held.execute("CREATE TABLE things (a)")
    held.commit()
    held.close()
    refuses(r"its tables: \['things'\]; name another file", Store, tmp_path / "other.db")
    (tmp_path / "text.db").write_text("no database, but long enough to be read as one" * 99)
    refuses("not a study's database", Store, tmp_path / "text.db")


def test_flip_rates_are_those_of_annotators_whose_errors_are_known():
    details = {
        "annotators": ["a", "b", "c"],
        "known": {"rates": {"c": {"flips": 0.5}, "a": {"flips": 0.25}}},
    }
    assert tables.flip_rates(details) == [0.25, 0.5]
    assert (
        tables.flip_rates({"annotators": ["a"], "known": None})
        == tables.flip_rates({"annotators": ["a"]})
        == []
    )


def test_who_answered_is_said():
    class Known:
        def __init__(self, simulated):
            self.details = {"simulated": simulated}

    assert tables.annotators([Known(False), Known(True)]) == tables.SIMULATED
    assert tables.annotators([Known(False)]) == "annotators"


def test_a_study_by_name_orders_differently():
    first, other = (Study(name, "t", "c", {}, study().items) for name in ("s", "other"))
    assert [i.id for i in first.order("ann")] != [i.id for i in other.order("ann")]


def test_documents_are_those_of_a_folder_or_of_one_file(tmp_path):
    document = Document("a", "test", (Section("", "It is."),))
    write_documents(tmp_path / "documents.jsonl", [document])
    write_documents(tmp_path / "other.jsonl", [document, Document("b", "test", document.sections)])
    assert items.documents(tmp_path) == [document]
    assert [one.id for one in items.documents(tmp_path / "other.jsonl")] == ["a", "b"]


def test_shares_of_none_and_of_all_can_be_told_from_a_half():
    """(1.95996 sqrt(2 * 0.25 * 0.75) + 0.84162 * 0.5)^2 / 0.5^2 is 10.51, from either side."""
    assert items.needed(0.0, 0.5) == items.needed(0.5, 1.0) == 11
    assert items.needed(0.5, 0.0) == items.needed(1.0, 0.5) == 11
