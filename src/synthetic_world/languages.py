"""Three invented languages, and English clauses translated into them: one language a document.

A word of English becomes one fixed word of each language, and word order differs between them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from longform.documents import Corpus, Document, Section, ragged
from longform.statistics.random_streams import derived_seed
from synthetic_world.corpus import split_of
from synthetic_world.draws import Draws, lists, stream, table
from synthetic_world.lexicon import TABLE_SIZE, vocabulary

_SPELLING = {language: lists(rows) for language, rows in table("languages").items()}
LANGUAGES = tuple(_SPELLING)
ADJECTIVE_PROBABILITY = 0.6
SLOT_OF_PART = {"subject": "person", "verb": "verb", "object": "thing", "place": "place"}
_WORDS = {}
for _language, _parts in _SPELLING.items():
    _consonants, _vowels = "|".join(_parts["consonants"]), "|".join(_parts["vowels"])
    _syllables = f"(?:(?:{_consonants})(?:{_vowels}))*"
    _WORDS[_language] = re.compile(f"{_syllables}(?:{'|'.join(_parts['endings'])})")


@cache
def translate_word(language: str, word: str) -> str:
    """The word of an invented language for an English word; equal words have equal translations.

    The endings of the three languages are disjoint, so a translated word shows its language.
    """
    draws = Draws(stream("language", language, word))
    spelling = _SPELLING[language]
    translation = ""
    for _ in range(1 + derived_seed(word) % 3):
        translation += draws.pick(spelling["consonants"]) + draws.pick(spelling["vowels"])
    return translation + draws.pick(spelling["endings"])


def language_of(word: str) -> str | None:
    """The invented language whose endings and letters a word shows.

    None for a word of none of them.
    """
    shown = [language for language in LANGUAGES if _WORDS[language].fullmatch(word)]
    return shown[0] if len(shown) == 1 else None


def parallel_corpus(seed: int, numbers: Sequence[int], facts: dict[str, object]) -> Corpus:
    """English clauses and their translation, two sections titled as translators read them.

    A clause is a subject, a verb, an object and a place; the three languages are equally likely.
    The language of each word is truth.

    Args:
        seed: of the world.
        numbers: of the documents.
        facts: of the corpus, to which the exact uncertainty of the language is added.
    """
    documents, languages, word_languages = [], [], []
    for index in numbers:
        # 1. An English clause in four phrases.
        draws = Draws(stream("parallel", seed, index))
        language = draws.pick(LANGUAGES)
        tables = draws.pick(vocabulary("everyday").topics).tables
        phrases = _phrases(tables, draws)
        subject, verb, thing, location = (" ".join(words) for words in phrases.values())
        source = f"the {subject} {verb} the {thing} near the {location} ."
        # 2. Its words in the order of the language, translated one by one.
        words = _in_order(phrases, _SPELLING[language])
        translation = " ".join(translate_word(language, word) for word in words)
        sections = (Section("source", source), Section("target", f"{translation} ."))
        documents.append(Document(f"parallel-{index:06d}", split_of(index), sections))
        number = LANGUAGES.index(language)
        languages.append(number)
        word_languages.append([number] * len(words))
    truth = {
        "language": np.array(languages, dtype=np.int64),
        "language_names": np.array(LANGUAGES),
        **ragged("word_language", word_languages, np.int64),
    }
    closed_forms = {
        "language_nll": math.log(len(LANGUAGES)),
        "language_convention": "nats per document, uniform",
    }
    return Corpus(documents, truth, facts | closed_forms)


def _phrases(tables: Mapping[str, Sequence[str]], draws: Draws) -> dict[str, list[str]]:
    """English words of each part of a clause, some nouns behind an adjective."""
    phrases: dict[str, list[str]] = {}
    for part, slot in SLOT_OF_PART.items():
        is_described = part != "verb" and draws.uniform() < ADJECTIVE_PROBABILITY
        words = []
        for name in ("adjective", slot) if is_described else (slot,):
            words.append(tables[name][int(draws.uniform() * TABLE_SIZE)])
        phrases[part] = words
    return phrases


def _in_order(
    phrases: Mapping[str, Sequence[str]], spelling: Mapping[str, Sequence[str]]
) -> list[str]:
    """English words of a clause in the word order of a language, to be translated one by one.

    "the" opens each phrase but the verb.

    Args:
        phrases: words of each part of the clause, adjectives before their noun.
        spelling: the language's table, of which ``order`` (of parts) and ``adjectives`` are used.
    """
    words: list[str] = []
    for part in spelling["order"]:
        phrase = list(phrases[part])
        if part != "verb":
            if spelling["adjectives"] == ("after",):
                phrase.reverse()
            words.append("the")
        words.extend(phrase)
    return words
