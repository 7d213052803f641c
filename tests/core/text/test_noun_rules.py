"""Roles and classes of nouns in sentences whose grammar is plain."""

import numpy as np
import pytest

from longform.text.lexicon import Lexicon
from longform.text.nouns import NOUN, VERB, NounRules, lemma

ROLES = {
    "The fox was chased by dogs and killed by wolves.": {"fox": "O", "dogs": "S", "wolves": "S"},
    "The fox was chased by dogs and wolves killed the sheep.": {
        "fox": "O", "dogs": "S", "wolves": "S", "sheep": "O",
    },
    "The fox was never killed by wolves near the river.": {
        "fox": "O", "wolves": "S", "river": "X",
    },
    "In winter, the sailor's boat had a leak.": {"winter": "X", "boat": "S", "leak": "O"},
    "The sailor stood by the boat.": {"sailor": "S", "boat": "X"},
    "The man, tall, repaired 12 ships.": {"man": "S", "ships": "O"},
}  # fmt: skip


@pytest.mark.parametrize("sentence", ROLES)
def test_roles_are_those_of_the_active_sentence(sentence):
    found = dict(NounRules().mentions(sentence))
    assert {noun: role for noun, role in found.items() if noun in ROLES[sentence]} == ROLES[
        sentence
    ]


def small_lexicon():
    """``go`` and ``try`` are verbs alone, ``man`` a noun alone, ``walk`` a noun first and seldom a verb."""
    words = ("go", "try", "man", "walk", "walk")
    kinds = ("v", "v", "n", "n", "v")
    places = np.arange(5)
    counts = np.array([5, 5, 5, 9, 1])
    glosses = ("",) * 5
    no_links = np.zeros((0, 3), dtype=np.int64)
    names = tuple(f"s{place}" for place in places)
    return Lexicon(names, kinds, glosses, no_links, words, places, counts, {"men": "man"})


@pytest.mark.parametrize(
    ("word", "kind"),
    [("going", VERB), ("goes", VERB), ("tried", VERB), ("tries", VERB), ("men", NOUN),
     ("walks", NOUN)],
)  # fmt: skip
def test_forms_of_a_word_have_the_classes_that_the_lexicon_gives_it(word, kind):
    rules = NounRules(small_lexicon())
    assert rules.classes([word])[0] == kind


def test_marks_numbers_and_other_scripts_are_no_nouns():
    words = ["3", ",", "город", "4th"]
    assert NounRules().classes(words) == ["number", "mark", "other script", "number"]


LEMMAS = {
    "women": "woman", "cities": "city", "ties": "tie", "boxes": "box", "churches": "church",
    "classes": "class", "buzzes": "buzz", "dishes": "dish", "houses": "house", "bus": "bus",
    "glass": "glass", "analysis": "analysis", "wolves": "wolf", "gas": "gas", "sister-cities":
    "sister-city", "mothers-in-law": "mothers-in-law", "series": "series", "dallas": "dallas",
    "barbados": "barbados", "leeds": "leeds", "azores": "azores", "hopkins": "hopkins",
    "rivers": "river", "hills": "hill", "logos": "logo", "tours": "tour",
}  # fmt: skip


@pytest.mark.parametrize("word", LEMMAS)
def test_the_singular_of_a_noun(word):
    assert lemma(word) == LEMMAS[word]
