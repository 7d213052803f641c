"""What a report says of its two sides."""

from types import SimpleNamespace

from longform.criticize.report import _sides


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
