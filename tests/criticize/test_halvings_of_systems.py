"""In which split each text stands for one halving, and what of a system is left to the others."""

from longform.criticize import systems
from longform.criticize.lengths import Excerpt
from longform.criticize.splits import Halves
from longform.documents import Section


def excerpt(name, split):
    return Excerpt(name, split, (Section(None, name),), ends=False)


def test_real_texts_teach_or_are_compared_and_systems_stay_as_they_are():
    sides = {
        "one": [excerpt("one/a", "generated")],
        systems.REAL: [excerpt("x", "test"), excerpt("y", "test"), excerpt("z", "train")],
    }
    half = Halves(frozenset({"x"}), frozenset({"y", "z"}))
    found = systems._with_splits(sides, half)
    assert [(text.id, text.split) for text in found] == [
        ("one/a", "generated"), ("x", "train"), ("y", "test"), ("z", "test")
    ]  # fmt: skip
    assert all(isinstance(text, Excerpt) and not text.ends for text in found)
