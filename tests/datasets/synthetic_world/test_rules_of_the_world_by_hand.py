"""Small rules of the synthetic world: chains, counts, mentions, places, and readers that know the planted truth."""

from types import SimpleNamespace

import numpy as np
import pytest

from longform.documents import Chain, Document, Section, chains_to_predictions
from synthetic_world import (
    articles,
    grammar,
    lexicon,
    native_corpus,
    planted_topics,
    simulated_annotators,
)
from synthetic_world.domains import DOMAINS, SectionChain, domain
from synthetic_world.hsmm_language import language
from synthetic_world.mentions import OPENING, STOP, MentionProcess
from synthetic_world.world_grammar import recogniser
from synthetic_world.world_grammar.slots import Person, State, mentions, title
from tests.refusals import refuses


@pytest.mark.parametrize("excess", [1e-9, -1e-9, 1e-5])
def test_rows_of_a_section_chain_sum_to_one_but_for_rounding(excess):
    rows = np.array([[0.25, 0.75], [0.5, 0.5]])
    SectionChain(("a",), rows + np.array([[0], [1e-13]]))
    refuses("allowed is 1; fix the table", SectionChain, ("a",), rows + np.array([[0], [excess]]))


def test_pages_of_a_kind_mention_persons_by_their_process():
    encyclopedic = {
        "person": MentionProcess(0.30, (0.5, 0.75), 2.5, 0.6, True),
        "film": MentionProcess(0.25, (0.5, 0.75), 2.5, 0.9, True),
        "city": MentionProcess(0.85, (0.5, 0.75), 2.5, 0.6, False),
        "company": MentionProcess(0.65, (0.5, 0.75), 2.5, 0.6, False),
    }
    studies = {"study": MentionProcess(1.0, (0.5, 0.75), 2.5, 0.6, False)}
    for name in DOMAINS:
        made = domain(name)
        expected = studies if name in ("pubmed", "arxiv") else encyclopedic
        assert {kind: made.kinds[kind].mentions for kind in made.kinds} == expected
        assert made.kind == ("study" if name in ("pubmed", "arxiv") else "city")


def test_a_page_that_mentions_nobody_has_stops_alone():
    for window in (OPENING, (STOP,) * 4, (STOP, STOP, STOP, ("MALE", 0))):
        assert MentionProcess(quiet=1.0).distribution(window) == {STOP: 1.0}


def test_a_language_of_one_state_has_all_its_subsequences_in_it():
    heat = {"transition": 1.0, "emission": 1.0}
    sizes = {"num_states": 1, "subsequences": 3, "min_length": 1, "max_length": 2, "steps": 2}
    made = language(seed=1, temperatures=heat, **sizes)
    assert made.owners.dtype == np.int64 and made.owners.tolist() == [0, 0, 0]
    assert made.transitions.tolist() == [[1.0]] and made.emissions.sum() == pytest.approx(1.0)


# (sections, low, high): 21 to 66 sentences where each section may have 3 to 9.
COUNTS = [
    (1, 9, 9), (2, 9, 9), (3, 7, 9), (4, 6, 9), (5, 5, 9), (7, 5, 9), (8, 5, 8), (9, 5, 7),
    (10, 5, 6), (11, 4, 6), (12, 4, 5), (13, 3, 5), (16, 3, 4), (17, 3, 3), (25, 3, 3), (40, 3, 3),
]  # fmt: skip


@pytest.mark.parametrize(("sections", "low", "high"), COUNTS)
def test_many_sections_are_short_and_few_are_long(sections, low, high):
    asked = []
    draws = SimpleNamespace(integer=lambda *bounds: asked.append(bounds) or len(asked))
    assert articles._sentence_counts(sections, draws) == list(range(1, sections + 1))
    assert asked == [(low, high)] * sections


CITY, FILM, COMPANY = 1, 2, 4  # masks of who may use what
PLACES = [
    ("city", "Upper Aldburg", [2]), ("city", "Aldburg", [1]), ("city", "Upper", []),
    ("city", "Upper Mill", []), ("city", "Aldburg Upper", [1]), ("city", "", []),
    ("company", "Aldburg of", []), ("city", "Aldburg of", [1]), ("city", "Aldburg of Upper Aldburg x", [1, 4]),
    ("city", "Aldburg of Aldburg of Mill", [1, 3]), ("city", "Mill of Aldburg", []),
    ("film", "The Storm of Aldburg", [4]), ("film", "The Storm of Upper Aldburg", [5]),
    ("film", "The Storm in Aldburg", []), ("film", "A Storm of Aldburg", []), ("film", "The Mill of Aldburg", []),
    ("company", "Balt of Upper Aldburg", [1, 4]), ("company", "Balt in Aldburg", [1]), ("company", "Balt", [1]),
    ("company", "Mill of Aldburg", []),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "ends"), PLACES)
def test_a_title_may_end_behind_each_place_in_it(kind, text, ends, monkeypatch):
    slots = "synthetic_world.world_grammar.slots"
    named = {"PLACES": {"Aldburg"}, "PREFIXES": {"Upper"}, "COMPANIES": {"Balt"}}
    for name, words in named.items():
        monkeypatch.setattr(f"{slots}.{name}", words)
    masks = {"city": CITY, "company": COMPANY, "film": FILM}
    fill = title(kind, {"Storm": FILM}, mask=CITY if kind == "film" else masks[kind])
    for before in (["in"], []):
        tokens, state = [*before, *text.split()], State(1900)
        if text:
            filled = list(fill(tokens, len(before), state))
            assert filled == [(end, masks[kind], state) for end in ends]


def test_a_pronoun_is_taken_in_its_role_and_marked_as_an_object(monkeypatch):
    """Each pronoun by role, as the sentence's first word and as its second."""
    slots = "synthetic_world.world_grammar.slots"
    monkeypatch.setattr(f"{slots}.FIRST_NAMES", {"Ada": "FEMALE", "Ben": "MALE"})
    monkeypatch.setattr(f"{slots}.SURNAMES", {"Moss"})
    monkeypatch.setattr(f"{slots}.FAMILIES", {"Reeds"})
    man, woman, people = ("MALE",), ("FEMALE",), ("PLURAL",)
    singular = {
        "Ada Moss": Person(woman, ("Ada", "Moss")), "Ben Moss": Person(man, ("Ben", "Moss")),
        "Moss": Person(("MALE", "FEMALE"), ("Moss",)),
    }  # fmt: skip
    plural = {"the Reeds": Person(people, ("Reeds",))}
    subjects = {"He": Person(man), "She": Person(woman)}
    roles = {
        "one": ({**singular, **subjects}, singular),
        "many": ({**plural, "They": Person(people)}, plural),
        "other": 2 * ({**singular, **plural, "him": Person(man, (), True),
                       "her": Person(woman, (), True), "them": Person(people, (), True)},),
        "own": 2 * ({"his": Person(man), "her": Person(woman), "their": Person(people)},),
    }  # fmt: skip
    texts = {text for by_place in roles.values() for taken in by_place for text in taken}
    fills = mentions(5, new=False)
    assert list(fills) == list(roles)
    for role, by_place in roles.items():
        for place, expected in enumerate(by_place):
            for text in (*texts, "Ada Mill", "Mill", "the Mill"):
                tokens = ["So"] * place + text.split()
                filled = list(fills[role](tokens, place, State()))
                person = expected.get(text)
                width = len(text.split())
                assert filled == ([] if person is None else [(width, 5, State(0, (person,)))])


def test_pronouns_of_a_documents_first_sentence_mean_persons_of_it(monkeypatch):
    monkeypatch.setattr("synthetic_world.world_grammar.slots.FIRST_NAMES", {"Ada": "FEMALE"})
    monkeypatch.setattr("synthetic_world.world_grammar.slots.SURNAMES", {"Moss"})
    fills, ada = mentions(3, new=True), Person(("FEMALE",), ("Ada", "Moss"))
    known = State(0, (ada,))
    assert list(fills["own"](["her"], 0, State())) == list(fills["own"](["his"], 0, known)) == []
    assert list(fills["own"](["her"], 0, known)) == [(1, 3, State(0, (ada, Person(("FEMALE",)))))]
    for role, word in (("one", "She"), ("other", "her"), ("one", "Moss"), ("many", "They")):
        assert list(fills[role]([word], 0, State())) == list(fills[role]([word], 0, known)) == []
    assert list(fills["one"](["Ada", "Moss"], 0, State())) == [(2, 3, known)]


def test_planted_topics_are_read_as_topics_are(monkeypatch):
    given = []
    monkeypatch.setattr(planted_topics, "planted_reader", lambda truth: ("reader", truth))
    monkeypatch.setattr(planted_topics.topics, "read", lambda *a, **named: given.append((a, named)))
    planted_topics.read("texts", reader_truth="truth")
    splits = ("train", "validation", "test", "generated")
    usual = {"splits": splits, "predictions": "proportions", "keep_text": False}
    other = {"splits": ("test",), "predictions": "completion", "keep_text": True}
    planted_topics.read("texts", reader_truth="truth", **other)
    reader = {"reader": ("reader", "truth")}
    assert given == [(("texts",), {**reader, **usual}), (("texts",), {**reader, **other})]


def test_the_planted_reader_has_the_used_words_and_the_true_gaussian():
    probabilities = np.array([[[0.5, 0, 0.5], [0.25, 0, 0]], [[0, 0, 1], [0, 0, 1]]])
    truth = {
        "word_probabilities": probabilities, "word_names": np.array(["ash", "birch", "cod"]),
        "topic_mean": np.array([2], np.int64), "topic_covariance": np.array([[4]], np.int64),
    }  # fmt: skip
    reader = planted_topics.planted_reader(truth)
    model = reader.model
    # Means over slots are (0.375, 0, 0.25) and (0, 0, 1).
    assert model.vocabulary == ("ash", "cod") and model.beta.tolist() == [[0.6, 0.4], [0.0, 1.0]]
    assert (model.mean.dtype, model.covariance.dtype) == (np.float64, np.float64)
    assert [model.mean.tolist(), model.covariance.tolist()] == [[2.0], [[4.0]]]
    found = reader.words(Document("d", "test", (Section(None, "(Ashes, COD! ash: birches)"),)))
    assert found == ["ash", "cod", "ash", "birches"]


def test_titles_of_generated_documents_are_the_classifiers(monkeypatch):
    given = []

    def read_titles(*, documents, **named):
        given.append(([document.id for document in documents], named))
        chains = [Chain(document.id, document.split, ("one", "two")) for document in documents]
        return chains_to_predictions(chains)

    chain = SectionChain(("one", "two"), np.array([[1, 0, 0], [0, 0.9, 0.1], [0.0, 0, 1]]))
    monkeypatch.setattr("longform.critics.section_order.read.read", read_titles)
    monkeypatch.setattr(
        simulated_annotators, "planted_domain", lambda name: SimpleNamespace(chain={"d": chain}[name])
    )  # fmt: skip
    documents = [
        Document("lm/a", "generated", (Section("one", "A."),)), Document("lm/b", "train", (Section("one", "B."),)),
        Document("data/c", "test", (Section("one", "C."), Section("two", "C."))),
        Document("data/d", "test", (Section("one", "D."), Section(None, "D."))),
        Document("data/e", "test", (Section("one", "E."),)), Document("data/f", "generated", (Section("two", "F."),)),
    ]  # fmt: skip
    truth = {"cut": np.array([False, False, False, False, True, False])}
    settings = {
        "documents": documents, "reader": "folder", "name": "n", "seed": 1, "splits": ("generated", "test"),
        "domain": "d", "systems": ["lm", "data"], "per_system": 9, "checks": 1, "least": 0.5, "max_length": 7,
        "annotators": [{"name": "sure", "confusion": 0.0, "flips": 0.0}],
    }  # fmt: skip
    made = simulated_annotators.read(**settings, truth=truth)
    read_as = {"reader": "folder", "name": "n", "splits": ("generated", "test"), "max_length": 7}
    assert given == [(["lm/a", "data/d", "data/f"], read_as)]
    items = ("lm/a", "check-lm-0", "data/c", "data/d", "data/e", "data/f", "check-data-0")
    assert made.unit_ids == items
    assert made.splits == ("generated", "test", "test", "test", "test", "generated", "test")
    assert made.arrays["source"].tolist() == ["lm", "check", *["data"] * 4, "check"]
    assert made.arrays["check"].tolist() == [False, True, *[False] * 4, True]
    gold = dict.fromkeys(("lm/a", "data/c", "data/d", "data/f"), ("one", "two", "coherent"))
    gold |= dict.fromkeys(("check-lm-0", "check-data-0"), ("one", "incoherent"))
    # A section alone is no whole article, but may be the start of one that was cut.
    for read, verdict in (
        (made, "coherent"),
        (simulated_annotators.read(**settings), "incoherent"),
    ):
        gold["data/e"] = ("one", verdict)
        assert read.arrays["gold"].tolist() == [word for item in items for word in gold[item]]
    del given[:]
    refuses(
        "n: no document of splits \\['generated'\\] by \\['c'\\]", simulated_annotators.read,
        **{**settings, "splits": ["generated"], "systems": ["lm", "c"]},
    )  # fmt: skip
    assert given == []


def test_kinds_of_pages_have_the_sections_that_the_chain_leads_to():
    """c ends; a is followed by c or is all of a page; b is followed by c."""
    rows = np.array([[0, 0.5, 0.5, 0], [0, 0, 0, 1], [0.5, 0, 0, 0.5], [1.0, 0, 0, 0]])
    chain = SectionChain(("c", "a", "b"), rows)
    world = SimpleNamespace(chain=chain, kind_of={"c": "film"}, kind="city")
    film = [("film", section) for section in "abc"]
    assert recogniser._pages(world) == [("city", "a"), *film]


def test_years_of_pages_are_those_of_their_facts(monkeypatch):
    values = {
        "birth_year": "year 1900 1950",
        "death_year": "year 1930 2000",
        "release": "year 1950 1990",
    }
    facts = {name: SimpleNamespace(value=value) for name, value in values.items()}
    monkeypatch.setattr(recogniser, "RELATIONS", {"person": facts, "film": facts})
    assert recogniser._years("person") == range(1918, 2000)
    assert recogniser._years("film") == range(1947, 1992)
    assert recogniser._years("city") == range(1831, 1986)


def test_a_gloss_says_where_by_whom_and_with_what(monkeypatch):
    slots = {
        "verb": "verb",
        "person": "person",
        "water": "place",
        "building": "place",
        "tool": "thing",
    }
    monkeypatch.setattr(lexicon, "SLOT_OF_KIND", slots)
    kinds = {
        "verb": ("repaired", "moored"), "person": ("sailor", "pilot"), "boat": ("ferry", "raft"), "tool": ("rope",),
    }  # fmt: skip
    cases = [
        ({}, "house"),
        ({"water": ("dock",)}, "dock"),
        ({"water": ("dock",), "building": ("shed", "barn")}, "barn"),
    ]
    for places, place in cases:
        topic = SimpleNamespace(name="harbour", kinds={**kinds, **places})
        near = f"often near the {place}"
        person = f"a person of the harbour who moored rafts, {near}"
        assert lexicon._gloss(topic, "person", 1) == person
        assert (
            lexicon._gloss(topic, "boat", 1) == f"a boat of the harbour that pilots moored, {near}"
        )
    assert lexicon._gloss(topic, "person", 2).startswith(
        "a person of the harbour who repaired ropes"
    )


def test_names_are_onsets_with_the_endings_of_their_kind():
    tables = (lexicon.PLACES, lexicon.REGIONS, lexicon.COMPANIES, lexicon.RIVERS)
    assert [len(names) for names in tables] == [420, 60, 200, 80]
    assert set(lexicon._compose("river", 9, ("Ab",))) == {"Aba", "Abine", "Aben", "Abis"}


def test_lines_of_a_style_open_with_their_mark():
    made = grammar.compile_style(
        ">the dam|a mill \n-it stood| it fell||\n f he sang\n1was old\n2often has x\n3runs"
    )
    columns = (made.leads, made.plain, made.facts, made.own_facts)
    assert [[frame.source for frame in frames] for frames in columns] == [
        ["the dam ", "a mill "], ["it stood", "it fell"], [], ["he sang"],
    ]  # fmt: skip
    predicates = {
        key: [frame.source for frame in frames] for key, frames in made.predicates.items()
    }
    singular = {("1", False): ["was old"], ("2", False): ["often has x"], ("3", False): ["runs"]}
    plural = {("1", True): ["were old"], ("2", True): ["often have x"], ("3", True): ["run"]}
    assert predicates == singular | plural


@pytest.mark.parametrize(
    ("suffix", "said", "word", "drawn"),
    [("", "ash", "ash", 1), ("2", "", "ash", 1), ("2", "ash", "elm", 2), ("2", "ash elm oak fir", "fir", 4)],
)  # fmt: skip
def test_a_second_word_is_new_to_the_sentence_if_four_draws_find_one(suffix, said, word, drawn):
    numbers = iter([0.0, 0.25, 0.5, 0.75, 0.999])
    words = [name for name in ("ash", "elm", "oak", "fir") for _ in range(256)]
    before = [("thing", one) for one in said.split()]
    page = SimpleNamespace(
        topic=SimpleNamespace(tables={"thing": words}), words=[*before],
        draws=SimpleNamespace(uniform=lambda: next(numbers)),
    )  # fmt: skip
    assert grammar._word("thing", str.upper, suffix)(page) == word.upper()
    assert page.words == [*before, (f"thing{suffix}", word)] and len(list(numbers)) == 5 - drawn


MARKUP = {
    "foreign": "F", "see_also": "S", "references": "R", "external_links": "E", "last": "%(kind)s of %(title)s",
    "infobox": "{%(kind)s %(title)s %(facts)s} ", "sections": ["0 %(title)s ", "1 ", "2 ", "3 "],
}  # fmt: skip


@pytest.mark.parametrize(
    ("uniform", "choice", "head", "foreign", "tail"),
    [
        ([0.3, 0.5, 0.5], 4, "", False, ["R"]), ([0.29, 0.49, 0.49], 0, "0 Ulm ", True, ["S", "R", "E"]),
        ([0.0, 0.6, 0.0], 3, "3 ", True, ["R", "E"]),
    ],
)  # fmt: skip
def test_a_page_hides_its_text_among_markup(uniform, choice, head, foreign, tail, monkeypatch):
    monkeypatch.setattr(native_corpus, "table", {"wiki_markup": MARKUP}.__getitem__)
    monkeypatch.setattr(native_corpus, "_marked", lambda text, draws: f"<{text}>")
    numbers, asked = iter(uniform), []
    draws = SimpleNamespace(
        uniform=lambda: next(numbers), integer=lambda *given: asked.append(given) or choice
    )
    texts = {"abstract": ["Ulm is Ulm.", "Ulm too."], "history": ["Ulm grew."]}
    sections = [(title, [SimpleNamespace(text=one) for one in texts[title]]) for title in texts]
    facts = {"founded": 1900, "size": 7}
    page = SimpleNamespace(title="Ulm", kind="city", facts=facts, sections=sections)
    wikitext, read = native_corpus._article(page, draws)
    assert wikitext.split("\n\n") == [
        "{city Ulm | founded = 1900\n| size = 7} <'''Ulm''' is Ulm.> <Ulm too.>",
        f"== History ==\n{head}<Ulm grew.>" + " <F>" * foreign, *tail, "City of Ulm",
    ]  # fmt: skip
    assert read == (("abstract", "Ulm is Ulm. Ulm too."), ("history", "Ulm grew." + " F" * foreign))
    assert asked == [(0, 5)] and list(numbers) == []
