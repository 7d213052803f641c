"""Words about persons in English (``persons.yaml``): pronouns, forms of address, first names, nouns, words that begin no name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from longform.core.artefacts import read_yaml

MALE, FEMALE, PLURAL, NEITHER = "MALE", "FEMALE", "PLURAL", "NONE"  # entity types; "NONE": none of the above
GENDERS = {"male": MALE, "female": FEMALE, "plural": PLURAL, "neutral": NEITHER}
_LISTS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in read_yaml(Path(__file__).with_name("persons.yaml")).items()
}


def _gendered(kind: str) -> dict[str, str]:
    """Gender of each word of a kind."""
    return {word: gender for name, gender in GENDERS.items() for word in _LISTS.get(f"{name}_{kind}", ())}


MALE_PRONOUNS = _LISTS["male_pronouns"]
PERSON_PRONOUNS = _LISTS["person_pronouns"]
NO_PERSONS = _LISTS["no_persons"]
VOTES = _gendered("pronouns")
ADDRESS = _gendered("address")
FIRST_NAMES = _gendered("names")
NOUNS = _gendered("nouns")
REFLEXIVES = frozenset({"himself", "herself", "themselves"})
OBJECT_FORMS = frozenset({"him", "her", "them"})
POSSESSIVES = frozenset({"his", "her", "their", "hers", "theirs"})
THIRD_PERSON = {word: VOTES[word] for word in {"he", "she", "they"} | REFLEXIVES | OBJECT_FORMS | POSSESSIVES}

ROLES, SAYING, AUXILIARIES, PARTICLES = (_LISTS[name] for name in ("roles", "saying", "auxiliaries", "particles"))
PLACE_WORDS, NO_NAMES = _LISTS["place_words"], _LISTS["no_names"]
CLAUSE_WORDS, PREPOSITIONS = _LISTS["clause_words"], _LISTS["prepositions"]
FUNCTION_WORDS = _LISTS["function_words"] | CLAUSE_WORDS | PREPOSITIONS
