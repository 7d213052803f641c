"""The planted checker: facts read back from pages, verdicts on continuations, nothing fetched, evidence in conflict."""

import json
import socket

import pytest

from longform.critics.verifiability.read_planted import read, verifier_of
from longform.critics.verifiability.score import units_from_readout
from longform.datasets import synthetic_world as planted
from longform.documents import BadInput, Document, Section

CORPUS = planted.build(name="pages", seed=1, domain="encyclopedia", documents=40)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    lines = [json.dumps(document.to_record()) for document in CORPUS.documents]
    (folder / "documents.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def continuation(text, title="Inghaven", name="g"):
    return Document(name, "generated", (Section(title, "A first sentence."), Section("continuation", text)))


def verdicts(pages, *documents):
    return units_from_readout(read(documents=documents, reader=pages, name="row", domain="encyclopedia"))


def test_the_facts_read_back_are_those_that_the_world_wrote():
    found = verifier_of(CORPUS.documents, "encyclopedia", "full_stops", "definition").stated
    truth = {page["title"]: page["facts"] for page in CORPUS.facts["pages"].values()}
    assert len(found) > 100
    assert all(truth[title][relation] == value for (title, relation), (value, _) in found.items())


def test_claims_are_supported_refuted_or_unknown_with_their_evidence(pages, monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *given, **named: pytest.fail("a socket was opened"))
    text = "Inghaven was founded in 1456. It was founded in 1457. The harpists slept. Nowhere was founded in 1456."
    (unit,) = verdicts(pages, continuation(text))
    assert unit.labels == ("supported", "refuted", "not_enough_info", "not_enough_info")
    assert unit.evidence[0] == unit.evidence[1] != frozenset() and unit.evidence[2] == frozenset()
    ((page, line),) = unit.evidence[0]
    (document,) = [d for d in CORPUS.documents if CORPUS.facts["pages"][d.id]["title"] == page]
    assert "founded in 1456" in document.text.split(". ")[line]


def test_every_page_supports_what_it_says_itself(pages):
    """Of each page's own text nothing may be refuted."""
    titles = {d.id: CORPUS.facts["pages"][d.id]["title"] for d in CORPUS.documents}
    made = [continuation(" ".join(d.text.split()), titles[d.id], d.id) for d in CORPUS.documents]
    labels = [label for unit in verdicts(pages, *made) for label in unit.labels]
    assert labels.count("supported") > 40 and labels.count("refuted") == 0


def test_of_pages_in_conflict_the_first_one_counts(pages):
    town = [Section("place", "Ulm is a town in Quenovia. Ulm was founded in 1456.")]
    other = [Section("place", "Ulm is a town in Quenovia. Ulm was founded in 1900.")]
    both = [Document("a", "test", tuple(town)), Document("b", "test", tuple(other))]
    found = verifier_of(both, "encyclopedia", "full_stops", "definition")
    assert found.stated["Ulm", "founded"] == ("1456", ("Ulm", 1)) and found.dropped == 1


def test_empty_and_endless_generations_and_pages_that_do_not_exist(pages):
    endless = "Inghaven was founded in 1456 and " * 40
    made = verdicts(
        pages, continuation("", name="a"), continuation(endless, name="b"), continuation("It lies.", "X", "c")
    )
    assert [unit.labels for unit in made] == [(), ("not_enough_info",), ("not_enough_info",)]


def test_what_is_no_continuation_is_named(pages):
    with pytest.raises(BadInput, match="no continuation"):
        verdicts(pages, Document("g", "generated", (Section(None, "Text."),)))
    (pages.parent / "empty").mkdir(exist_ok=True)
    (pages.parent / "empty" / "documents.jsonl").write_text("")
    with pytest.raises(BadInput, match="state no fact"):
        read(documents=[], reader=pages.parent / "empty", name="row", domain="encyclopedia")
