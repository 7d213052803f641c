"""Three invented languages, and English clauses translated into one of them: one language a document.

A word of English becomes one fixed word of each language, and word order differs between them.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from longform.core.documents import Corpus, Document, Section, ragged
from longform.core.resampling import derived_seed
from longform.datasets.synthetic_world.corpus import split_of
from longform.datasets.synthetic_world.draws import Draws, lists, stream, table
from longform.datasets.synthetic_world.lexicon import TABLE_SIZE, vocabulary

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
class Translation:
    """English words, the language that they are translated into, and the target words."""

    index: int
    source: tuple[str, ...]
    language: str
    target: tuple[str, ...]


def write_translation(seed: int, index: int) -> Translation:
    """Pair ``index``, a function of its arguments alone: a clause of subject, verb, object and place; languages are equally likely."""
    draws = Draws(stream("parallel", seed, index))
    language = draws.pick(LANGUAGES)
    spelling, tables = _SPELLING[language], draws.pick(vocabulary("everyday").topics).tables

    def word(slot: str) -> str:
        return tables[slot][int(draws.uniform() * TABLE_SIZE)]

    def phrase(slot: str) -> list[str]:
        return [word("adjective"), word(slot)] if draws.uniform() < ADJECTIVE_PROBABILITY else [word(slot)]

    english = {"subject": phrase("person"), "verb": [word("verb")], "object": phrase("thing"), "place": phrase("place")}
    phrases = {name: words if name == "verb" else ["the", *words] for name, words in english.items()}
    source = (*phrases["subject"], *phrases["verb"], *phrases["object"], "near", *phrases["place"])
    if spelling["adjectives"] == ("after",):
        phrases |= {name: ["the", *reversed(words)] for name, words in english.items() if name != "verb"}
    ordered = [part for name in spelling["order"] for part in phrases[name]]
    return Translation(index, source, language, tuple(translate_word(language, word) for word in ordered))


def parallel_corpus(pairs: Sequence[Translation], facts: dict[str, object]) -> Corpus:
    """Two sections a document, titled ``source`` and ``target`` as translators read them; each word's language is truth."""
    documents = []
    for pair in pairs:
        sides = {"source": f"{' '.join(pair.source)} .", "target": f"{' '.join(pair.target)} ."}
        sections = tuple(Section(title, text) for title, text in sides.items())
        documents.append(Document(f"parallel-{pair.index:06d}", split_of(pair.index), sections))
    languages = [LANGUAGES.index(pair.language) for pair in pairs]
    truth = {"language": np.array(languages, dtype=np.int64), "language_names": np.array(LANGUAGES, dtype=np.str_)}
    rows = [[language] * len(pair.target) for language, pair in zip(languages, pairs, strict=True)]
    truth |= ragged("word_language", rows, np.int64)
    known = {"language_nll": math.log(len(LANGUAGES)), "language_convention": "nats per document, uniform"}
    return Corpus(documents, truth, facts | known)
