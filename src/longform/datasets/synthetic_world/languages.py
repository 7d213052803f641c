"""Three invented languages, and English clauses translated into one of them: one language a document.

A word of English becomes one fixed word of each language, and word order differs between them.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from longform.core.documents import Corpus, Document, Section
from longform.core.resampling import derived_seed
from longform.datasets.synthetic_world.corpus import ragged
from longform.datasets.synthetic_world.draws import Draws, lists, stream, table
from longform.datasets.synthetic_world.lexicon import TABLE_SIZE, Topic, vocabulary

_SPELLING = {language: lists(rows) for language, rows in table("languages").items()}
LANGUAGES = tuple(_SPELLING)
ADJECTIVE_PROBABILITY = 0.6
_WORDS = {
    language: re.compile(f"(?:(?:{'|'.join(s['consonants'])})(?:{'|'.join(s['vowels'])}))*(?:{'|'.join(s['endings'])})")
    for language, s in _SPELLING.items()
}


@cache
def translate_word(language: str, word: str) -> str:
    """The word of an invented language for an English word; equal words have equal translations.

    The endings of the three languages are disjoint, so a translated word shows its language.
    """
    draws, spelling = Draws(stream("language", language, word)), _SPELLING[language]
    syllables = 1 + derived_seed(word) % 3
    parts = [draws.pick(spelling["consonants"]) + draws.pick(spelling["vowels"]) for _ in range(syllables)]
    return "".join(parts) + draws.pick(spelling["endings"])


def language_of(word: str) -> str | None:
    """The invented language whose endings and letters a word shows; None for a word of none of them."""
    shown = [language for language in LANGUAGES if _WORDS[language].fullmatch(word)]
    return shown[0] if len(shown) == 1 else None


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
            after = _SPELLING[language]["adjectives"] == ("after",)
            phrases[name] = ["the", noun, *adjectives] if after else ["the", *adjectives, noun]
        return [word for name in _SPELLING[language]["order"] for word in phrases[name]]


@dataclass(frozen=True)
class Translation:
    """An English clause, the language that it is translated into, and the target words."""

    index: int
    clause: Clause
    language: str
    target: tuple[str, ...]


def write_translation(seed: int, index: int) -> Translation:
    """Pair ``index``: a function of its arguments alone; the three languages are equally likely."""
    draws = Draws(stream("parallel", seed, index))
    language = draws.pick(LANGUAGES)
    clause = _clause(draws.pick(vocabulary("everyday").topics), draws)
    return Translation(
        index, clause, language, tuple(translate_word(language, word) for word in clause.ordered(language))
    )


def _clause(topic: Topic, draws: Draws) -> Clause:

    def word(slot: str) -> str:
        return topic.tables[slot][int(draws.uniform() * TABLE_SIZE)]

    def phrase(slot: str) -> tuple[str, ...]:
        return (word("adjective"), word(slot)) if draws.uniform() < ADJECTIVE_PROBABILITY else (word(slot),)

    return Clause(phrase("person"), word("verb"), phrase("thing"), phrase("place"))


def parallel_corpus(pairs: Sequence[Translation], splits: Sequence[str], facts: dict[str, object]) -> Corpus:
    """Two sections a document, titled ``source`` and ``target`` as translators read them; each word's language is truth."""
    documents = []
    for pair, split in zip(pairs, splits, strict=True):
        sections = (Section("source", pair.clause.english()), Section("target", f"{' '.join(pair.target)} ."))
        documents.append(Document(f"parallel-{pair.index:06d}", split, sections))
    languages = [LANGUAGES.index(pair.language) for pair in pairs]
    truth = {"language": np.array(languages, dtype=np.int64), "language_names": np.array(LANGUAGES, dtype=np.str_)}
    rows = [[language] * len(pair.target) for language, pair in zip(languages, pairs, strict=True)]
    truth |= ragged("word_language", rows)
    known = {"language_nll": math.log(len(LANGUAGES)), "language_convention": "nats per document, uniform"}
    return Corpus(documents, truth, facts | known)
