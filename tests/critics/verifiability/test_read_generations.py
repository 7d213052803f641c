"""From generations to claims and verdicts, facts of damaged articles, and shares of what is supported."""

import math
import socket
import sys
import types

import numpy as np
import pytest

from longform.critics.verifiability import checks
from longform.critics.verifiability import read as reading
from longform.critics.verifiability import score as measures
from longform.critics.verifiability.checker import Checker, frozen, selector
from longform.critics.verifiability.text_measures import (
    conjunctions,
    entities,
    grams,
    link_parser,
    mean_nats,
)
from longform.critics.verifiability.train import (
    SHAPES,
    DecomposableAttention,
    TrainedEntailment,
    Vocabulary,
)
from longform.documents import Document, Section
from synthetic_world import corpora, facts
from synthetic_world.fever_corpus import build
from tests.refusals import refuses

PAGES = {
    "Inghaven": (
        "Inghaven is a town in Quenovia.",
        "Inghaven was founded in 1456.",
        "The harpists slept.",
    ),
    "Ulm": ("Ulm is a town in Quenovia.", "Ulm was founded in 1900."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checker that nobody trained: its labels mean nothing, all else about it is real."""
    place = tmp_path_factory.mktemp("checker")
    vocabulary = Vocabulary({"founded": len(SHAPES)})
    made = TrainedEntailment(DecomposableAttention(len(SHAPES) + 1, 8).eval(), vocabulary)
    pages, settings = (
        frozen(place / "pages", PAGES.items()),
        {"retrieval": {}, "selection": {}, "sure": 0.5},
    )
    Checker(pages, selector(pages, settings), made, settings).save(place)
    return place


def generated(*texts, setting="beam", title="Inghaven"):
    documents, truth = [], {}
    for number, text in enumerate(texts):
        sections = (Section(title, "Inghaven is a town in Quenovia."), Section("continuation", text),
                    Section("reference", ""))  # fmt: skip
        documents.append(Document(f"g{number}", "generated", sections))
    words = [text.split() for text in texts]
    each = {"token": [[0] * len(w) for w in words], "token_nats": [[-1.0 - i for i in range(len(w))] for w in words],
            "token_marks": [[len(one) for one in w] for w in words], "reference": [[1, 2] for _ in words]}  # fmt: skip
    for key, values in each.items():
        truth[key] = np.array([one for row in values for one in row])
        truth[f"{key}_lengths"] = np.array([len(row) for row in values])
    rows = {"setting": setting, "page": "p", "repeat": 0, "prefix_nats": -6.0, "prefix_tokens": 3}
    return documents, truth | {key: np.array([value] * len(texts)) for key, value in rows.items()}


def units(folder, *texts, domain="encyclopedia", **given):
    documents, truth = generated(*texts, **given)
    given = {"documents": documents, "truth": truth, "reader": folder, "name": "row"}
    found = facts.read_generations(**given, domain=domain) if domain else reading.read(**given)
    return checks.generations_from_predictions(found)


def test_the_planted_truth_stands_beside_the_verdicts(folder, monkeypatch):
    monkeypatch.setattr(
        socket, "socket", lambda *given, **named: pytest.fail("a socket was opened")
    )
    text = "Inghaven was founded in 1456. It was founded in 1457. The harpists slept. Nowhere was founded in 1."
    (unit,) = units(folder, text)
    assert unit.truth.labels == ("supported", "refuted", "not_enough_info", "not_enough_info")
    assert unit.truth.evidence[0] == unit.truth.evidence[1] == frozenset({("Inghaven", 1)})
    assert unit.column("pronouns").tolist() == [0, 1, 0, 0] and unit.column("named").tolist() == [
        0,
        0,
        1,
        0,
    ]
    assert unit.column("found")[:2].tolist() == [1, 1] and math.isnan(unit.column("found")[2])
    assert unit.about[0] == pytest.approx(math.exp(2.0))
    assert units(folder, "Inghaven lies.", domain=None)[0].truth is None


def test_claims_end_with_their_paragraphs(folder):
    text = " The Storm\n\nInghaven was founded in 1456. It\nslept"
    (unit,) = units(folder, text)
    assert unit.column("words").tolist() == [2, 5, 1, 1]
    (unit,) = units(folder, "\nThe Storm\n\nIt slept.", setting="human")
    assert unit.column("words").tolist() == [6, 2, 2]


def test_rules_cuts_repeats_and_prefixes_are_marked(folder):
    (unit,) = units(folder, "The town was founded in 1456. The town was")
    assert unit.column("named").tolist() == [1, 1] and unit.column("cut").tolist() == [0, 1]
    assert unit.truth.labels[0] == "supported"
    (unit,) = units(folder, "Inghaven was founded in 1456.", setting="human")
    assert unit.truth.labels == ("supported", "supported")
    assert math.isnan(unit.column("nats")[0]) and unit.column("nats")[1] == pytest.approx(-3.0)
    (unit,) = units(folder, "The harpists slept. Inghaven lies. The harpists slept.")
    assert unit.column("same_as").tolist() == [0, 1, 0]


def test_empty_endless_and_foreign_generations(folder):
    endless = "Inghaven was founded in 1456 and " * 40
    empty, one, foreign = units(folder, "", endless, "Atlantis was founded in 1456.")
    assert empty.checks.labels == () == empty.truth.labels and empty.sentences.shape[0] == 0
    assert one.checks.labels == ("not_enough_info",) == one.truth.labels and one.column(
        "cut"
    ).tolist() == [1]
    assert foreign.checks.labels == ("not_enough_info",)  # a page that does not exist
    assert units(folder, "It lies.", title="Atlantis")[0].column("tfidf").tolist() == [0]


def test_claims_with_known_labels_are_units_of_one_sentence(folder):
    corpus = build(name="c", seed=1, pages={"train": 10})
    claims = reading.read_claims(
        documents=corpus.documents, reader=folder, name="row", splits=["test"]
    )
    found = checks.generations_from_predictions(claims)
    assert found and all(len(unit.checks.labels) == 1 == len(unit.truth.labels) for unit in found)
    refuses(
        "no claims in splits",
        reading.read_claims,
        documents=corpus.documents[:3],
        reader=folder,
        name="row",
    )


def test_entities_conjunctions_and_tokens_of_sentences_by_hand():
    assert entities("The Harpists of Ulm met Ann Lee in 1456.") == 4  # Harpists, Ulm, Ann Lee, 1456
    assert entities("They slept.") == 0 == entities("") and entities("Ulm slept.") == 1
    assert conjunctions("Ann and Lee slept, but Ulm rose.") == 4 and conjunctions("") == 0
    found = mean_nats(["a b.", "cd.", "e."], [-1.0, -2.0, -3.0, -5.0], [2, 1, 3, 1])
    assert found[:3] == pytest.approx([-1.5, -3.0, -5.0])
    assert math.isnan(mean_nats(["a.", "b."], [-1.0], [2])[1])


def test_similarity_is_its_formula_and_counts_words_of_the_texts_alone(tmp_path):
    pages = {
        "a": ("red harps are old",),
        "b": ("red towns",),
        "c": ("blue towns",),
        "d": ("towns",),
    }
    texts = ["Red harps.", "blue and red harps are new"]
    some = {gram for text in texts for gram in grams(text)}
    made = reading.PageSimilarity(frozen(tmp_path, pages.items()), some)
    every = some | {gram for (text,) in pages.values() for gram in grams(text)}
    for text in texts:
        for title in (*pages, "nowhere"):
            assert made.score(text, title) == reading.PageSimilarity(pages, every).score(
                text, title
            )
    assert made.score(texts[0], "a") > 0 and "towns" not in made.frequency
    made = reading.PageSimilarity({**pages, "a": ("red harps",)}, every)
    idf = math.log(
        (4 - 1 + 0.5) / 1.5
    )  # of "harps" and of "red harps"; "red" is in two of four, so it weighs nothing
    assert made.score("red harps harps", "a") == pytest.approx(
        idf**2 * (math.log(2) * math.log(3) + math.log(2) ** 2)
    )
    assert made.score("red harps", "nowhere") == 0 == made.score("", "a")


def test_link_grammar_is_asked_where_it_is_installed(monkeypatch):
    assert math.isnan(link_parser()("Ulm slept.")) or sys.modules.get("linkgrammar")
    fake = types.SimpleNamespace(
        __spec__=types.SimpleNamespace(name="linkgrammar"),
        ParseOptions=dict,
        Dictionary=str,
        Sentence=lambda text, *given: types.SimpleNamespace(
            parse=lambda: ["one"] if "slept" in text else []
        ),
    )
    monkeypatch.setitem(sys.modules, "linkgrammar", fake)
    parse = link_parser()
    assert (parse("Ulm slept."), parse("Ulm the.")) == (1.0, 0.0)


def split(text):
    return [part + "." for part in text.split(".") if part.strip()]


def test_claims_are_the_first_five_sentences_with_titles_for_pronouns():
    def texts(text):
        return [claim.text for claim in reading.claims_of(text, "Ulm", split)]

    assert texts("A is. B is. C is. D is. E is. F is.") == [
        "A is.",
        "B is.",
        "C is.",
        "D is.",
        "E is.",
    ]
    assert len(texts("A is. B is.")) == 2
    assert texts("The town lies on a river. The war ended.") == [
        "Ulm lies on a river.",
        "Ulm ended.",
    ]
    assert reading.replace_pronoun("Her mayor saw him.", "Ada") == ("Ada's mayor saw him.", 1)
    assert reading.replace_pronoun("Her, he saw.", "Ada")[0] == "Ada, he saw."
    assert reading.replace_pronoun("Rain fell.", "Ada")[1] == 0
    made = reading.claims_of("It lies. Rain fell on it. Its town is old.", "Ulm", split)
    assert [claim.text for claim in made] == ["Ulm lies.", "Rain fell on it.", "Ulm's town is old."]
    assert [claim.pronouns for claim in made] == [1, 0, 1] and not any(
        claim.named for claim in made
    )
    untitled = reading.claims_of("It lies. The town is old.", "", split)
    told = [(claim.text, claim.pronouns, claim.named, claim.cut) for claim in untitled]
    assert told == [("It lies.", 0, False, False), ("The town is old.", 0, False, False)]
    fifty = " ".join(["word"] * 49) + "."
    made = reading.claims_of(f"{fifty} more {fifty}", "Ulm", split)
    assert [claim.verifiable for claim in made] == [True, False]


def test_the_determiner_rule_leaves_names_and_adjectives_alone():
    for sentence in ("The United States won.", "A town lies here.", "In the town he fell.", "The famous town lies.",
                     "The", "The Town x."):  # fmt: skip
        assert reading.replace_determiner(sentence, "Ulm") is None


def test_false_facts_are_refuted_and_sound_ones_supported():
    damage = {"severities": [1.0], "corruptions": ["false_fact"]}
    corpus = corpora.corrupted(name="m", seed=3, domain="wiki", documents={"test": 12}, **damage)
    found = checks.units_from_predictions(
        facts.read(documents=corpus.documents, name="x", domain="wiki")
    )
    labels = {
        kind: [label for u in found if u.unit_id.startswith(kind) for label in u.labels]
        for kind in ("sound", "false")
    }
    sound, false = labels.values()
    assert sound.count("refuted") == 0 < sound.count("supported")
    assert false.count("refuted") > 0.8 * sound.count("supported")
    damaged = [d for d in corpus.documents if d.id.startswith("false")]
    refuses("0 sound articles", facts.read, documents=damaged, name="x", domain="wiki")


def test_facts_read_back_as_written_and_the_first_of_a_conflict_counts():
    corpus = corpora.build(name="pages", seed=1, domain="encyclopedia", documents=40)
    found = facts.verifier_of(corpus.documents, "encyclopedia", "full_stops", "definition").stated
    truth = {page["title"]: page["facts"] for page in corpus.facts["pages"].values()}
    assert len(found) > 100
    assert all(truth[title][relation] == value for (title, relation), (value, _) in found.items())
    texts = [f"Ulm is a town in Quenovia. Ulm was founded in {year}." for year in (1456, 1900)]
    both = [Document(text, "test", (Section("place", text),)) for text in texts]
    found = facts.verifier_of(both, "encyclopedia", "full_stops", "definition")
    assert found.stated["Ulm", "founded"] == ("1456", ("Ulm", 1))
    stated = facts.verifier_of_lines(PAGES, "encyclopedia").stated
    assert stated["Inghaven", "founded"] == ("1456", ("Inghaven", 1))


A, B = frozenset({("Town", 0)}), frozenset({("Town", 0), ("River", 3)})
S, R, N = "supported", "refuted", "not_enough_info"


def unit(*pairs, name="g"):
    return checks.CheckedText.of(name, "generated", pairs)


def scores(*units):
    """Supported per generation and per verified sentence, of all classes and of unique ones."""
    kinds = measures.SupportedPerGeneration, measures.SupportedPerVerified
    critics = [kind(unique=unique) for unique in (False, True) for kind in kinds]
    return [critic.score_of(critic.sufficient_statistics(units)) for critic in critics]


def test_the_four_numbers_by_hand():
    for pairs, numbers in (
        ([(S, A), (S, A), (S, B), (R, A), (N, A)], [3 / 5, 3 / 4, 2 / 5, 2 / 3]),
        (
            [(S, A), (R, A), (R, A), (S, A)],
            [2 / 5, 2 / 4, 1 / 5, 1 / 2],
        ),  # another label is another class
        ([(N, A), (N, A), (S, A)], [1 / 5, 1, 1 / 5, 1]),  # not enough information is no class
        ([(S, A)] * 9, [1, 1, 1 / 5, 1]),
    ):
        assert scores(unit(*pairs)) == pytest.approx(numbers)


def test_missing_unverified_and_pooled_generations_count_as_in_the_paper():
    nothing, half = unit((N, A), name="n"), unit((S, A), (R, B), name="h")
    assert scores(nothing, half) == pytest.approx([1 / 10, 1 / 2, 1 / 10, 1 / 2])
    assert (
        measures.SupportedPerVerified().sufficient_statistics([nothing, half]).total("excluded")
        == 1
    )
    assert all(math.isnan(scores(nothing)[i]) for i in (1, 3))
    assert scores(unit(), unit((S, A)))[:2] == pytest.approx([1 / 10, 1])
    units = unit((S, A), name="a"), unit((R, A), (R, B), (S, B), name="b")
    pooled, averaged = measures.SupportedPerVerified(pooled=True), measures.SupportedPerVerified()
    assert pooled.score_of(pooled.sufficient_statistics(units)) == pytest.approx(2 / 4)
    assert averaged.score_of(averaged.sufficient_statistics(units)) == pytest.approx(
        (1 + 1 / 3) / 2
    )
    units = [
        unit((S, B), (N, frozenset()), name="a"),
        unit(name="b"),
        unit((R, frozenset({("A\tb", 2)})), name="c"),
    ]
    assert checks.units_from_predictions(checks.checks_to_predictions(units)) == units


def test_bad_input_is_named(folder):
    documents, truth = generated("Inghaven lies.")
    refuses(
        "come from continuations",
        reading.read,
        documents=documents,
        truth={},
        reader=folder,
        name="row",
    )
    refuses(
        "truth of 1", reading.read, documents=documents * 2, truth=truth, reader=folder, name="row"
    )
    plain = [Document("g", "generated", (Section(None, "Text."),))]
    refuses(
        "no continuation", reading.read, documents=plain, truth=truth, reader=folder, name="row"
    )
    refuses("SUPPORTS", checks.CheckedText, "g", "generated", ("SUPPORTS",), (A,))
    refuses("2 labels and 1", checks.CheckedText, "g", "generated", (S, S), (A,))


def test_verifiable_claims_of_all_texts_are_checked_in_one_batch(folder, monkeypatch):
    batches = []
    check = Checker.check

    def noted(self, claims):
        batches.append(list(claims))
        return check(self, claims)

    monkeypatch.setattr(Checker, "check", noted)
    too_long = " ".join(["harpists"] * 60)
    texts = (f"Inghaven was founded in 1456. {too_long}.", "Ulm was founded in 1900.")
    first, second = units(folder, *texts, domain=None)
    verifiable = [first.texts[0], second.texts[0]]
    assert [len(first.texts), len(second.texts)] == [2, 1]
    assert batches == [verifiable, [first.texts[0]], [second.texts[0]]]


def test_the_words_of_texts_and_of_their_claims_are_counted_on_pages(folder, monkeypatch):
    counted, similarity = [], reading.PageSimilarity

    def noted(pages, words):
        counted.append(words)
        return similarity(pages, words)

    monkeypatch.setattr(reading, "PageSimilarity", noted)
    documents, truth = generated("It closed.They left.", "Rain fell.")
    given = {"reader": folder, "name": "row", "splitter": "rules"}
    reading.read(documents=documents, truth=truth, **given)
    of_text = {"it", "closed.they", "left", "it closed.they", "closed.they left"}
    of_claims = {"closed", "it closed", "they", "they left"}
    assert counted == [of_text | of_claims | {"rain", "fell", "rain fell"}]
