"""Which sentences of an article each corruption may strike, sentence by sentence."""

from types import SimpleNamespace

import pytest

from synthetic_world.corruptions import OF_SECTIONS, OF_SENTENCES
from synthetic_world.grammar import Mention, Sentence

PLAIN = Sentence("It rained.", 1, (), 0, 0, False, (), (("verb", "rain", 3, 9),))
SHE = Mention(0, 3, "She", 0, "S")
ANNA = Mention(0, 4, "FEMALE", 0, "S")


def sentence(**changed):
    return Sentence(**{**vars(PLAIN), **changed})


# The article has sections of two and of three sentences.
PATH = SimpleNamespace(path=range(5), sections=[("A", [PLAIN] * 2), ("B", [PLAIN] * 3)])


@pytest.mark.parametrize(
    ("corruption", "section", "place", "changed", "is_eligible"),
    [
        ("wrong_connective", 0, 0, {"connective": 0}, False),
        ("wrong_connective", 0, 0, {"connective": 1}, True),
        ("contradiction", 0, 0, {}, True),
        ("contradiction", 0, 0, {"connective": 1}, False),
        ("contradiction", 0, 0, {"mentions": (ANNA,)}, False),
        ("repeated_sentence", 1, 0, {}, False),
        ("repeated_sentence", 1, 1, {}, True),
        ("false_fact", 0, 0, {}, False),
        ("false_fact", 0, 0, {"relations": ("born",)}, True),
        ("mixed_language", 0, 0, {}, True),
        ("off_topic_sentence", 0, 1, {}, True),
        ("off_topic_sentence", 0, 0, {}, False),
        ("off_topic_sentence", 0, 1, {"mentions": (ANNA,)}, False),
        ("off_topic_sentence", 0, 1, {"relations": ("born",)}, False),
        # The third of five sentences is number 2: 2 * 2 is less than 5, 2 * 3 is not.
        ("topic_drift", 1, 0, {}, False),
        ("topic_drift", 1, 1, {}, True),
        ("topic_drift", 1, 1, {"words": ()}, False),
        ("wrong_pronoun", 0, 0, {"mentions": (ANNA,)}, False),
        ("wrong_pronoun", 0, 0, {"mentions": (ANNA, SHE)}, True),
    ],
)
def test_a_sentence_is_struck_where_it_has_what_is_damaged(
    corruption, section, place, changed, is_eligible
):
    may_strike, _ = OF_SENTENCES[corruption]
    assert may_strike(PATH, section, place, sentence(**changed)) is is_eligible


def test_sections_change_places_in_pairs_and_repeat_the_one_before():
    assert list(OF_SECTIONS["section_order"](5)) == [0, 2]
    assert list(OF_SECTIONS["section_order"](4)) == [0, 2]
    assert list(OF_SECTIONS["section_order"](1)) == []
    assert list(OF_SECTIONS["repeated_section"](3)) == [1, 2]
