"""Sentences of English with a translation into one of three invented languages: one language a document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.languages import LANGUAGES, Clause, translate_word
from longform.datasets.synthetic_world.lexicon import TABLE_SIZE, Topic, everyday
from longform.documents import Corpus, Document, Section
from longform.resampling import generator

ADJECTIVE_PROBABILITY = 0.6


@dataclass(frozen=True)
class Translation:
    """An English clause, the language that it is translated into, and the language of each target word."""

    index: int
    clause: Clause
    language: str
    target: tuple[str, ...]
    word_languages: tuple[str, ...]


def write_translation(seed: int, index: int, mixing: float = 0.0) -> Translation:
    """Pair ``index``: a function of its arguments alone; the three languages are equally likely.

    ``mixing`` is the probability that a target word is of one of the other two languages, as in the output of a
    translator that decides each word alone; the clause and its language do not depend on it.
    """
    draws = Draws(generator("planted", "parallel", seed, index))
    language = draws.pick(LANGUAGES)
    clause = write_clause(draws.pick(everyday().topics), draws)
    english = clause.ordered(language)
    mixer = Draws(generator("planted", "mixing", seed, index))
    chosen = tuple(_word_language(language, mixing, mixer) for _ in english)
    words = tuple(translate_word(name, word) for name, word in zip(chosen, english, strict=True))
    return Translation(index, clause, language, words, chosen)


def _word_language(language: str, mixing: float, draws: Draws) -> str:
    others = [name for name in LANGUAGES if name != language]
    struck, other = draws.uniform() < mixing, draws.pick(others)
    return other if struck else language


def write_clause(topic: Topic, draws: Draws) -> Clause:
    """A clause of one topic, its nouns with an adjective or without."""

    def word(slot: str) -> str:
        return topic.tables[slot][int(draws.uniform() * TABLE_SIZE)]

    def phrase(slot: str) -> tuple[str, ...]:
        return (word("adjective"), word(slot)) if draws.uniform() < ADJECTIVE_PROBABILITY else (word(slot),)

    return Clause(phrase("person"), word("verb"), phrase("thing"), phrase("place"))


def _edits(pair: Translation) -> Iterator[dict[str, object]]:
    english = pair.clause.ordered(pair.language)
    for place, (word, shown, language) in enumerate(zip(english, pair.target, pair.word_languages, strict=True)):
        if language != pair.language:
            right = translate_word(pair.language, word)
            yield {"failure": "mixed_language", "section": 1, "word": place, "before": right, "after": shown}


def parallel_corpus(pairs: Sequence[Translation], splits: Sequence[str], facts: dict[str, object]) -> Corpus:
    """Two sections a document, titled ``source`` and ``target`` as translators read them; every word's language is truth."""
    documents, words = [], []
    for pair, split in zip(pairs, splits, strict=True):
        sections = (Section("source", pair.clause.english()), Section("target", f"{' '.join(pair.target)} ."))
        documents.append(Document(f"parallel-{pair.index:06d}", split, sections, tuple(_edits(pair))))
        words.append(len(pair.target))
    languages = np.array([LANGUAGES.index(pair.language) for pair in pairs], dtype=np.int64)
    truth = {
        "language": languages,
        "language_names": np.array(LANGUAGES, dtype=np.str_),
        "word_language": np.array([LANGUAGES.index(w) for pair in pairs for w in pair.word_languages], dtype=np.int64),
        "word_language_lengths": np.array(words, dtype=np.int64),
    }
    known = {"language_nll": math.log(len(LANGUAGES)), "language_convention": "nats per document, uniform"}
    return Corpus(documents, truth, facts | known)
