"""Generations through the trained checker's reader: truth beside verdicts, counts, bad input, and no socket."""

import json
import math
import socket
import sys
import types

import numpy as np
import pytest

from longform.core.documents import BadInput, Document, Section
from longform.core.text.sentences import PageSimilarity, conjunctions, entities, link_parser, mean_nats
from longform.critics.verifiability.checker import SavedChecker
from longform.critics.verifiability.read import read, read_claims, verifier_of_lines
from longform.critics.verifiability.score import generations_from_readout
from longform.critics.verifiability.train import SHAPES, DecomposableAttention, TrainedEntailment, Vocabulary
from longform.datasets.synthetic_world.fever_corpus import build

PAGES = {
    "Inghaven": ("Inghaven is a town in Quenovia.", "Inghaven was founded in 1456.", "The harpists slept."),
    "Ulm": ("Ulm is a town in Quenovia.", "Ulm was founded in 1900."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checker that nobody trained: its labels mean nothing, all else about it is real."""
    place = tmp_path_factory.mktemp("checker")
    vocabulary = Vocabulary({"founded": len(SHAPES)})
    made = TrainedEntailment(DecomposableAttention(len(SHAPES) + 1, 8).eval(), vocabulary)
    SavedChecker(PAGES, {"retrieval": {}, "selection": {}, "sure": 0.5}, made).save(place)
    return place


def generated(*texts, setting="beam", title="Inghaven"):
    documents, truth = [], {}
    for number, text in enumerate(texts):
        sections = (
            Section(title, "Inghaven is a town in Quenovia."),
            Section("continuation", text),
            Section("reference", ""),
        )
        documents.append(Document(f"g{number}", "generated", sections))
    words = [text.split() for text in texts]
    for key, values in {
        "token": [[0] * len(w) for w in words],
        "token_nats": [[-1.0 * (i + 1) for i in range(len(w))] for w in words],
        "token_marks": [[len(one) for one in w] for w in words],
        "reference": [[1, 2] for _ in words],
    }.items():
        truth[key] = np.array([one for row in values for one in row])
        truth[f"{key}_lengths"] = np.array([len(row) for row in values])
    rows = {"setting": setting, "page": "p", "repeat": 0, "prefix_nats": -6.0, "prefix_tokens": 3}
    return documents, truth | {key: np.array([value] * len(texts)) for key, value in rows.items()}


def units(folder, *texts, domain="encyclopedia", **given):
    documents, truth = generated(*texts, **given)
    return generations_from_readout(read(documents=documents, truth=truth, reader=folder, name="row", domain=domain))


def test_the_planted_truth_stands_beside_the_verdicts(folder, monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *given, **named: pytest.fail("a socket was opened"))
    (unit,) = units(
        folder, "Inghaven was founded in 1456. It was founded in 1457. The harpists slept. Nowhere was founded in 1."
    )
    assert unit.truth.labels == ("supported", "refuted", "not_enough_info", "not_enough_info")
    assert unit.truth.evidence[0] == unit.truth.evidence[1] == frozenset({("Inghaven", 1)})
    assert unit.column("pronouns").tolist() == [0, 1, 0, 0] and unit.column("named").tolist() == [0, 0, 1, 0]
    assert unit.column("found")[:2].tolist() == [1, 1] and math.isnan(unit.column("found")[2])
    assert unit.about[0] == pytest.approx(math.exp(2.0))
    assert units(folder, "Inghaven lies.", domain=None)[0].truth is None


def test_the_determiner_rule_is_counted_and_a_cut_sentence_is_marked(folder):
    (unit,) = units(folder, "The town was founded in 1456. The town was")
    assert unit.column("named").tolist() == [1, 1] and unit.column("cut").tolist() == [0, 1]
    assert unit.truth.labels[0] == "supported"


def test_empty_endless_and_foreign_generations(folder):
    endless = "Inghaven was founded in 1456 and " * 40
    empty, one, foreign = units(folder, "", endless, "Atlantis was founded in 1456.")
    assert empty.checks.labels == () == empty.truth.labels and empty.sentences.shape[0] == 0
    assert one.checks.labels == ("not_enough_info",) == one.truth.labels and one.column("cut").tolist() == [1]
    assert foreign.checks.labels == ("not_enough_info",)  # a page that does not exist
    assert units(folder, "It lies.", title="Atlantis")[0].column("tfidf").tolist() == [0]


def test_of_human_texts_the_prefix_is_the_first_sentence(folder):
    (unit,) = units(folder, "Inghaven was founded in 1456.", setting="human")
    assert unit.truth.labels == ("supported", "supported")
    assert math.isnan(unit.column("nats")[0]) and unit.column("nats")[1] == pytest.approx(-3.0)


def test_repeats_point_at_the_first_of_them(folder):
    (unit,) = units(folder, "The harpists slept. Inghaven lies. The harpists slept.")
    assert unit.column("same_as").tolist() == [0, 1, 0]


def test_texts_of_another_kind_are_named(folder):
    documents, truth = generated("Inghaven lies.")
    with pytest.raises(BadInput, match="come from continuations"):
        read(documents=documents, truth={}, reader=folder, name="row")
    with pytest.raises(BadInput, match="truth of 1"):
        read(documents=documents * 2, truth=truth, reader=folder, name="row")
    plain = [Document("g", "generated", (Section(None, "Text."),))]
    with pytest.raises(BadInput, match="no continuation"):
        read(documents=plain, truth=truth, reader=folder, name="row")


def test_claims_with_known_labels_are_units_of_one_sentence(folder, tmp_path):
    corpus = build(name="c", seed=1, pages={"train": 10})
    found = generations_from_readout(
        read_claims(documents=corpus.documents, reader=folder, name="row", splits=["test"])
    )
    assert found and all(len(unit.checks.labels) == 1 == len(unit.truth.labels) for unit in found)
    with pytest.raises(BadInput, match="no claims in splits"):
        read_claims(documents=corpus.documents[:3], reader=folder, name="row")


def test_frozen_lines_state_what_pages_state():
    stated = verifier_of_lines(PAGES, "encyclopedia").stated
    assert stated["Inghaven", "founded"] == ("1456", ("Inghaven", 1))


def test_names_and_numbers_are_entities_and_conjunctions_count_twice():
    assert entities("The Harpists of Ulm met Ann Lee in 1456.") == 4  # Harpists, Ulm, Ann Lee, 1456
    assert entities("They slept.") == 0 == entities("") and entities("Ulm slept.") == 1
    assert conjunctions("Ann and Lee slept, but Ulm rose.") == 4 and conjunctions("") == 0


def test_similarity_is_its_formula():
    made = PageSimilarity({"a": ("red harps",), "b": ("red towns",), "c": ("blue towns",), "d": ("towns",)})
    idf = math.log((4 - 1 + 0.5) / 1.5)  # of "harps" and of "red harps"; "red" is in two of four, so it weighs nothing
    assert made.score("red harps harps", "a") == pytest.approx(idf**2 * (math.log(2) * math.log(3) + math.log(2) ** 2))
    assert made.score("red harps", "nowhere") == 0 == made.score("", "a")


def test_tokens_belong_to_the_sentence_in_which_they_end():
    found = mean_nats(["a b.", "cd.", "e."], [-1.0, -2.0, -3.0, -5.0], [2, 1, 3, 1])
    assert found[:3] == pytest.approx([-1.5, -3.0, -5.0])
    assert math.isnan(mean_nats(["a.", "b."], [-1.0], [2])[1])


def test_link_grammar_is_asked_where_it_is_installed(monkeypatch):
    assert math.isnan(link_parser()("Ulm slept.")) or sys.modules.get("linkgrammar")
    fake = types.ModuleType("linkgrammar")
    fake.__spec__ = types.SimpleNamespace(name="linkgrammar")
    fake.ParseOptions = lambda **given: given
    fake.Dictionary = lambda name: name
    fake.Sentence = lambda text, dictionary, options: types.SimpleNamespace(
        parse=lambda: ["one"] if "slept" in text else []
    )
    monkeypatch.setitem(sys.modules, "linkgrammar", fake)
    parse = link_parser()
    assert (parse("Ulm slept."), parse("Ulm the.")) == (1.0, 0.0)


def test_the_folder_is_json_and_safetensors(folder):
    assert json.loads((folder / "checker.json").read_text())["sure"] == 0.5
