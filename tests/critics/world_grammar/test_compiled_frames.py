"""Which frames the world's recogniser chains to which, by hand on a grammar of a few frames."""

from types import SimpleNamespace

import pytest

from synthetic_world.world_grammar import recogniser
from synthetic_world.world_grammar.recogniser import Node, Recogniser

ALL = 0b111111


def frame(source, dated=False):
    return SimpleNamespace(source=source, dated=dated)


@pytest.fixture
def added(monkeypatch):
    """What is added to a recogniser of two kinds of pages, with names for its places."""
    grammar = SimpleNamespace(
        INSIDE={"causal": (("since",), 0), "contrast": (("although", "but"), 0)},
        COMMA_SENSES=("contrast",),
        ACROSS={"causal": (("therefore",), 0), "contrast": (("yet", "still"), 0)},
    )
    clauses = {"causal": [frame("c")], "contrast": [frame("d")], "result": [frame("r")]}
    monkeypatch.setattr(recogniser, "grammar", grammar)
    monkeypatch.setattr(recogniser, "CLAUSES", clauses)
    monkeypatch.setattr(recogniser, "THIRD", {"with": [frame("w {3}")]})
    style = SimpleNamespace(
        leads=[frame("in {year}", True), frame("often")],
        plain=[frame("p"), frame("q {year}", True)],
        predicates={("1", True): [frame("came")], ("3", False): [frame("met {2} in {year}", True)]},
        facts=[frame("f")],
        own_facts=[frame("o")],
    )
    empty = SimpleNamespace(leads=[], plain=[], predicates={}, facts=[], own_facts=[])
    film = SimpleNamespace(
        mentions=SimpleNamespace(opens_with_person=False),
        openings=[frame("zero"), frame("one"), frame("two"), frame("three")],
    )
    person = SimpleNamespace(
        mentions=SimpleNamespace(opens_with_person=True), openings=[frame("nobody"), frame("first")]
    )
    calls = []

    def add(root, source, then, mask, persons, main="", kind="", opening=False):
        calls.append((root, source, then, mask, persons, main, kind, opening))

    def pages_of(kind="", style=None):
        """Bits 0 and 1 are topics; 2 and 4 pages of films, 3 one of persons, 5 of another kind."""
        of_kind = {"": 0b111111, "film": 0b010111, "person": 0b001011}[kind]
        return of_kind & (0b001011 if style is empty else 0b100111) if style else of_kind

    roles = {"one": "he", "many": "they", "own": "hers", "other": "else", "with": "third"}
    made = Recogniser.__new__(Recogniser)
    vars(made).update(
        all=ALL,
        pages=[("film", "plot"), ("person", "life")],
        styles={("film", "plot"): style, ("person", "life"): empty},
        world=SimpleNamespace(kinds={"film": film, "person": person}),
        _roles={False: roles, True: {name: f"new {role}" for name, role in roles.items()}},
        _pages_of=pages_of,
        _start=Node(),
        _end=Node(),
        _add=add,
    )
    made._compile()
    return made, calls


def named(made, calls):
    """The calls with names for the nodes: where a frame begins, and where a sentence goes on."""
    roots, thens = {}, {}
    for root, source, then, _, persons, *_ in calls:
        roots[source, str(persons)] = root
        thens[source, str(persons)] = then
    names = {
        "start": made._start,
        "tail": roots["since c", "{}"],
        "comma": roots["but d", "{}"],
        "stop": thens["since c", "{}"],
        "undated": thens["in {year}", "{}"],
        "led": thens["often", "{}"],
        "third": roots["w {3}", "{3: ('third',)}"],
        "new third": roots["w {3}", "{3: ('new third',)}"],
    }
    by_node = {id(node): name for name, node in names.items()}
    assert len(by_node) == len(names)
    return names, [
        (by_node[id(root)], source, by_node[id(then)], *rest) for root, source, then, *rest in calls
    ]


def test_a_sentence_ends_after_its_main_clause_or_after_a_second_one(added):
    names, _ = named(*added)
    end = added[0]._end
    assert names["stop"].words == {".": end}
    assert names["tail"].words == {".": end, ",": names["comma"]}
    assert (names["comma"].mask, names["tail"].mask) == (ALL, 0)


def test_connectives_join_clauses_of_their_sense(added):
    _, calls = named(*added)
    everywhere = [call for call in calls if call[4] == {}]
    assert everywhere[:7] == [
        ("tail", "since c", "stop", ALL, {}, "", "", False),
        ("comma", "although d", "stop", ALL, {}, "", "", False),
        ("comma", "but d", "stop", ALL, {}, "", "", False),
        ("start", "therefore, r", "stop", ALL, {}, "r", "", False),
        ("start", "yet d", "stop", ALL, {}, "d", "", False),
        ("start", "still, d", "stop", ALL, {}, "d", "", False),
        ("start", "in {year}", "undated", 0b100111, {}, "", "", False),
    ]


def test_a_third_person_is_one_that_the_sentence_may_name(added):
    _, calls = named(*added)
    assert [call for call in calls if call[1] == "w {3}"] == [
        ("third", "w {3}", "tail", ALL, {3: ("third",)}, "", "", False),
        ("new third", "w {3}", "tail", ALL, {3: ("new third",)}, "", "", False),
    ]


def test_a_frame_with_a_date_follows_no_lead_with_a_date(added):
    _, calls = named(*added)
    rest = ("tail", 0b100111, {})
    plain = [(root, source, then, mask, persons) for root, source, then, mask, persons, *_ in calls]
    expected = [
        ("start", "p"),
        ("led", "p"),
        ("undated", "p"),
        ("start", "q {year}"),
        ("led", "q {year}"),
    ]
    assert [call for call in plain if call[1] in ("p", "q {year}")] == [
        (root, source, *rest) for root, source in expected
    ]
    assert ("start", "often", "led", 0b100111, {}) in plain
    assert {call[5] for call in calls if call[1] == "p"} == {"p"}


def test_subjects_of_predicates_are_one_or_many_and_a_mark_bars_a_third(added):
    """Mark 1 has no third person behind it; with mark 3 the other is of the subject's own."""
    _, calls = named(*added)
    met = "{1} met {2} in {year}"
    they, he = {1: ("they",), 2: ("else",)}, {1: ("he",), 2: ("hers",)}
    came = [call for call in calls if call[1] == "{1} came"]
    assert came == [
        (root, "{1} came", "tail", 0b100111, they, "{1} came", "", False)
        for root in ("start", "led", "undated")
    ]
    assert [call for call in calls if call[1] == met] == [
        (root, met, then, 0b100111, he, met, "", False)
        for then in ("tail", "third")
        for root in ("start", "led")
    ]


def test_pages_open_with_their_own_frames_and_facts_have_one_subject(added):
    """A page that opens with a person has no opening of number zero, and one subject."""
    _, calls = named(*added)
    opening = [(call[1:5], call[5:]) for call in calls if call[0] == "start" and call[7]]
    both, single = ("new he", "new they"), ("new he",)
    film = [("zero", "tail", "else"), ("one", "tail", "else"), ("two", "tail", "else")]
    film += [
        ("two", "new third", "else"),
        ("three", "tail", "hers"),
        ("three", "new third", "hers"),
    ]
    expected = [
        ((source, then, 0b010111, {1: both, 2: (f"new {other}",)}), (source, "film", True))
        for source, then, other in film
    ]
    expected.append(
        (("first", "tail", 0b001011, {1: single, 2: ("new else",)}), ("first", "person", True))
    )
    assert opening == expected
    assert [call for call in calls if call[1] in ("f", "o")] == [
        ("start", source, "tail", 0b000111, {1: single}, source, "film", False)
        for source in ("f", "o")
    ]
