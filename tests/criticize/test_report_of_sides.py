"""What a report says of its two sides."""

from types import SimpleNamespace

import pytest

from longform.criticize import report
from longform.criticize.report import _languages, _sides
from longform.datasets.own_texts import Texts
from longform.documents import Document, Section


def judged(name, learns, halvings):
    panel = SimpleNamespace(name=name, learns=learns, critic=None)
    return SimpleNamespace(panel=panel, p_values=(0.5,) * halvings)


def sentences(*critics, sizes=(60, 40)):
    sides = [SimpleNamespace(documents=range(count), set_aside=()) for count in sizes]
    found = SimpleNamespace(real=sides[0], generated=sides[1], results=critics)
    return " ".join(_sides(found))


def test_halvings_are_those_of_critics_that_learn_and_one_halving_is_named():
    plain = judged("repetition", "nothing", 1)
    assert "halved" not in sentences(plain)
    said = sentences(plain, judged("grid", "from texts", 7))
    assert "halved at random 7 times: intervals" in said
    said = sentences(plain, judged("grid", "from texts", 7), judged("model", "weights", 1))
    assert "7 times (model: one halving" in said
    assert said.startswith("60 real and 40 generated texts")


@pytest.mark.parametrize(
    ("sizes", "is_few"), [((40, 20), False), ((39, 20), True), ((40, 19), True)]
)
def test_fewer_than_twenty_texts_in_half_of_the_real_or_on_a_side_are_few(sizes, is_few):
    assert ("fewer than 20 texts on a side" in sentences(sizes=sizes)) is is_few


ENGLISH = 9 * "The town lies on the river, and it is old; there was a church in the middle of it. "
GERMAN = 9 * "Die Stadt liegt an dem Fluss und sie ist sehr alt; in der Mitte steht eine Kirche. "


def languages(real, generated):
    sides = []
    for side in (real, generated):
        documents = [Document(f"d{i}", "", (Section(None, text),)) for i, text in enumerate(side)]
        sides.append(Texts(tuple(documents)))
    return _languages(report.Criticism((), (), *sides))


def test_a_side_in_another_language_is_named_and_not_compared():
    assert languages([ENGLISH] * 4, [ENGLISH] * 4) == []
    one, apart = languages([ENGLISH] * 4, [GERMAN] * 4)
    assert one.startswith("100% of the generated texts") and "different languages" in apart
    assert len(languages([GERMAN] * 4, [GERMAN] * 4)) == 2  # no English side: one language
    (half,) = languages([ENGLISH] * 4, [ENGLISH, ENGLISH, GERMAN, GERMAN])
    assert half.startswith("50% of the generated texts")
    assert len(languages([ENGLISH] * 9 + [GERMAN], [GERMAN])) == 2


def one(name, needs="", excluded=(0, 0), unknown=(0, 0)):
    real, generated = (SimpleNamespace(excluded=count) for count in excluded)
    panel = SimpleNamespace(name=name, needs=needs, unknown="odd titles")
    return SimpleNamespace(panel=panel, real=real, generated=generated, unknown=unknown)


@pytest.fixture
def notes_of(monkeypatch):
    """Notes beside those of texts and directions, which have tests of their own."""
    for part in ("_sides", "_lengths", "_copies", "_languages", "_directions"):
        monkeypatch.setattr(report, part, lambda found: [])

    def told(judged, **more):
        given = {"failed": [], "left_out": [], "level": 0.025, **more}
        sides = {"real": SimpleNamespace(set_aside=()), "generated": SimpleNamespace(set_aside=())}
        return report.notes(SimpleNamespace(results=judged, **{**sides, **given}))

    return told


@pytest.mark.parametrize(
    ("judged", "told"),
    [
        ([one("a", "two sentences", (0, 0))], []),
        ([one("a", "two sentences", (1, 0))], ["a: left out are texts without two sentences"]),
        ([one("a", "two sentences", (0, 2))], ["a: left out are texts without two sentences"]),
        ([one("a", "", (1, 1))], []),
        ([one("a", unknown=(0, 3))], ["a: not scored are odd titles: 0 real, 3 generated"]),
        ([one("a", unknown=(2, 0))], ["a: not scored are odd titles: 2 real, 0 generated"]),
        ([], ["no critic could judge these texts: nothing is said of a difference; why stands below"]),
        ([one("a"), one("b")], ["2 tests: corrected for their number (Bonferroni), p below 0.0250 is a difference"]),
    ],
)  # fmt: skip
def test_what_was_left_out_is_said_of_each_critic(notes_of, judged, told):
    assert notes_of(judged) == told


def test_critics_that_failed_and_texts_set_aside_are_named_twenty_a_side(notes_of):
    aside = [(f"line {number}", "empty") for number in range(21)]
    said = notes_of(
        [one("a")],
        failed=[("b", "why")],
        left_out=[("c", "no model")],
        real=SimpleNamespace(set_aside=aside[:20]),
        generated=SimpleNamespace(set_aside=aside),
    )
    assert said[:3] == ["failed: b: why", "left out: c: no model", "set aside (real) line 0: empty"]
    assert sum(note.startswith("set aside (real) line") for note in said) == 20
    assert sum(note.startswith("set aside (generated) line") for note in said) == 20
    assert len(said) == 2 + 20 + 20 + 1 and "1" in said[-1]


def test_critics_are_named_by_the_scores_that_speak_for_a_text():
    results = []
    for name, better in (("a", "lower"), ("b", "reference_matched"), ("c", "lower")):
        panel = SimpleNamespace(name=name, critic=SimpleNamespace(better=better))
        results.append(SimpleNamespace(panel=panel))
    assert report._directions(results) == [
        "lower is better: a, c",
        "nearer to real text is better: b",
    ]
    assert report._directions([]) == []
