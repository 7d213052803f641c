"""Three invented languages, and English clauses translated into one of them: one language a document.

A word of English becomes one fixed word of each language, and word order differs between them.
"""

import math
import re
from collections.abc import Sequence
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
_WORDS = {
    language: re.compile(
        f"(?:(?:{'|'.join(s['consonants'])})(?:{'|'.join(s['vowels'])}))*(?:{'|'.join(s['endings'])})"
    )
    for language, s in _SPELLING.items()
}


@cache
def translate_word(language: str, word: str) -> str:
    """The word of an invented language for an English word; equal words have equal translations.

    The endings of the three languages are disjoint, so a translated word shows its language.
    """
    draws, spelling = Draws(stream("language", language, word)), _SPELLING[language]
    syllables = 1 + derived_seed(word) % 3
    parts = [
        draws.pick(spelling["consonants"]) + draws.pick(spelling["vowels"])
        for _ in range(syllables)
    ]
    return "".join(parts) + draws.pick(spelling["endings"])


def language_of(word: str) -> str | None:
    """The invented language whose endings and letters a word shows.

    None for a word of none of them.
    """
    shown = [language for language in LANGUAGES if _WORDS[language].fullmatch(word)]
    return shown[0] if len(shown) == 1 else None


def parallel_corpus(seed: int, numbers: Sequence[int], facts: dict[str, object]) -> Corpus:
    """English clauses and their translation, two sections titled as translators read them.

    Each word's language is truth.

    A clause is a subject, a verb, an object and a place; the three languages are equally likely.
    """
    documents, languages, lengths = [], [], []
    for index in numbers:
        draws = Draws(stream("parallel", seed, index))
        language = draws.pick(LANGUAGES)
        spelling, tables = _SPELLING[language], draws.pick(vocabulary("everyday").topics).tables
        phrases: dict[str, list[str]] = {}
        for part, slot in (
            ("subject", "person"),
            ("verb", "verb"),
            ("object", "thing"),
            ("place", "place"),
        ):
            described = part != "verb" and draws.uniform() < ADJECTIVE_PROBABILITY
            slots = ("adjective", slot) if described else (slot,)
            phrases[part] = [tables[name][int(draws.uniform() * TABLE_SIZE)] for name in slots]
        subject, verb, thing, place = (" ".join(words) for words in phrases.values())
        source = f"the {subject} {verb} the {thing} near the {place} ."
        for part in ("subject", "object", "place"):
            phrases[part] = [
                "the",
                *(phrases[part][::-1] if spelling["adjectives"] == ("after",) else phrases[part]),
            ]
        words = [
            translate_word(language, word) for part in spelling["order"] for word in phrases[part]
        ]
        sections = (Section("source", source), Section("target", f"{' '.join(words)} ."))
        documents.append(Document(f"parallel-{index:06d}", split_of(index), sections))
        languages.append(LANGUAGES.index(language))
        lengths.append(len(words))
    truth = {
        "language": np.array(languages, dtype=np.int64),
        "language_names": np.array(LANGUAGES, dtype=np.str_),
    }
    rows = ([language] * length for language, length in zip(languages, lengths, strict=True))
    truth |= ragged("word_language", rows, np.int64)
    known = {
        "language_nll": math.log(len(LANGUAGES)),
        "language_convention": "nats per document, uniform",
    }
    return Corpus(documents, truth, facts | known)
