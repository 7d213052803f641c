"""Three invented languages: a word of English becomes one fixed word of each, and word order differs between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from longform.datasets.synthetic_world.draws import Draws
from longform.resampling import derived_seed, generator

CONSONANTS = {"avari": "v r l n m s t", "kothic": "k g th rk d z b", "mishune": "m sh p h y w ch"}
VOWELS = {"avari": "a e ia i", "kothic": "o u au oe", "mishune": "u i ee ay"}
ENDINGS = {"avari": "ra li na sa", "kothic": "k rg zd th", "mishune": "shu pee wi may"}
LANGUAGES = tuple(CONSONANTS)
ORDERS = {  # positions of subject, verb, object and place in a clause; "after" puts adjectives behind their noun
    "avari": ("subject", "verb", "object", "place"),
    "kothic": ("subject", "object", "place", "verb"),
    "mishune": ("verb", "subject", "object", "place"),
}
ADJECTIVE_AFTER = {"avari": True, "kothic": False, "mishune": False}


@cache
def translate_word(language: str, word: str) -> str:
    """The word of an invented language for an English word; equal words have equal translations.

    The endings of the three languages are disjoint, so a translated word shows its language.
    """
    draws = Draws(generator("planted", "language", language, word))
    syllables = 1 + derived_seed(word) % 3
    parts = [draws.pick(CONSONANTS[language].split()) + draws.pick(VOWELS[language].split()) for _ in range(syllables)]
    return "".join(parts) + draws.pick(ENDINGS[language].split())


def language_of(word: str) -> str | None:
    """The invented language whose endings and letters a word shows; None for a word of none of them."""
    shown = [name for name in LANGUAGES if word.endswith(tuple(ENDINGS[name].split())) and _spelt(name, word)]
    return shown[0] if len(shown) == 1 else None


def _spelt(language: str, word: str) -> bool:
    ends = [word.removesuffix(e) for e in ENDINGS[language].split() if word.endswith(e)]
    return any(_syllables(language, stem) for stem in ends)


@cache
def _syllables(language: str, stem: str) -> bool:
    if not stem:
        return True
    pairs = [c + v for c in CONSONANTS[language].split() for v in VOWELS[language].split()]
    return any(stem.startswith(pair) and _syllables(language, stem[len(pair) :]) for pair in pairs)


@dataclass(frozen=True)
class Clause:
    """A clause as phrases of words, adjectives before their noun: the meaning that every language puts into order."""

    subject: tuple[str, ...]
    verb: str
    object: tuple[str, ...]
    place: tuple[str, ...]

    def english(self) -> str:
        """``the young sailors painted the wooden boats near the dock .``"""
        return f"the {' '.join(self.subject)} {self.verb} the {' '.join(self.object)} near the {' '.join(self.place)} ."

    def ordered(self, language: str) -> list[str]:
        """The English words in the order of a language, an article before each noun phrase."""
        phrases = {"verb": [self.verb]}
        for name in ("subject", "object", "place"):
            *adjectives, noun = getattr(self, name)
            phrases[name] = ["the", noun, *adjectives] if ADJECTIVE_AFTER[language] else ["the", *adjectives, noun]
        return [word for name in ORDERS[language] for word in phrases[name]]
