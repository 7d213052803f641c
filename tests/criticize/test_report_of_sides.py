"""What a report says of its two sides."""

from types import SimpleNamespace

from longform.criticize.report import _languages, _sides


def judged(name, learns, halvings):
    panel = SimpleNamespace(name=name, learns=learns)
    return SimpleNamespace(panel=panel, p_values=(0.5,) * halvings)


def sentences(*critics):
    sides = [SimpleNamespace(documents=range(count), set_aside=()) for count in (60, 40)]
    found = SimpleNamespace(real=sides[0], generated=sides[1], judged=critics)
    return " ".join(_sides(found))


def test_halvings_are_those_of_critics_that_learn_and_one_halving_is_named():
    plain = judged("repetition", "nothing", 1)
    assert "halved" not in sentences(plain)
    said = sentences(plain, judged("grid", "from texts", 7))
    assert "halved at random 7 times: intervals" in said
    said = sentences(plain, judged("grid", "from texts", 7), judged("model", "weights", 1))
    assert "7 times (model: one halving" in said
    assert said.startswith("60 real and 40 generated texts")


ENGLISH = 9 * "The town lies on the river, and it is old; there was a church in the middle of it. "
GERMAN = 9 * "Die Stadt liegt an dem Fluss und sie ist sehr alt; in der Mitte steht eine Kirche. "


def languages(real, generated):
    sides = [SimpleNamespace(documents=[SimpleNamespace(text=one) for one in side])
             for side in (real, generated)]  # fmt: skip
    return _languages(SimpleNamespace(real=sides[0], generated=sides[1]))


def test_a_side_in_another_language_is_named_and_two_languages_are_not_compared():
    assert languages([ENGLISH] * 4, [ENGLISH] * 4) == []
    one, apart = languages([ENGLISH] * 4, [GERMAN] * 4)
    assert one.startswith("100% of the generated texts") and "different languages" in apart
    assert len(languages([GERMAN] * 4, [GERMAN] * 4)) == 2  # no English side: one language
    (half,) = languages([ENGLISH] * 4, [ENGLISH, ENGLISH, GERMAN, GERMAN])
    assert half.startswith("50% of the generated texts")
