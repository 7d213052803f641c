"""Sentences of English with a translation into one of three invented languages: one language a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.corpora.planted.draws import Draws
from longform.corpora.planted.languages import LANGUAGES, Clause
from longform.corpora.planted.lexicon import TABLE_SIZE, Topic, everyday
from longform.numerics import generator
from longform.units import Corpus, Document, Section

ADJECTIVE_PROBABILITY = 0.6


@dataclass(frozen=True)
class Translation:
    """An English clause and the language that it is translated into."""

    index: int
    clause: Clause
    language: str


def write_translation(seed: int, index: int) -> Translation:
    """Pair ``index``: a function of its arguments alone; the three languages are equally likely."""
    draws = Draws(generator("planted", "parallel", seed, index))
    language = draws.pick(LANGUAGES)
    topic = draws.pick(everyday().topics)
    return Translation(index, write_clause(topic, draws), language)


def write_clause(topic: Topic, draws: Draws) -> Clause:
    """A clause of one topic, its nouns with an adjective or without."""

    def word(slot: str) -> str:
        return topic.tables[slot][int(draws.uniform() * TABLE_SIZE)]

    def phrase(slot: str) -> tuple[str, ...]:
        return (word("adjective"), word(slot)) if draws.uniform() < ADJECTIVE_PROBABILITY else (word(slot),)

    return Clause(phrase("person"), word("verb"), phrase("thing"), phrase("place"))


def parallel_corpus(pairs: Sequence[Translation], splits: Sequence[str], facts: dict[str, object]) -> Corpus:
    """Two sections a document, ``english`` and the name of the target language; every word's language is truth."""
    documents, words = [], []
    for pair, split in zip(pairs, splits, strict=True):
        target = pair.clause.render(pair.language)
        sections = (Section("english", pair.clause.english()), Section(pair.language, target))
        documents.append(Document(f"parallel-{pair.index:06d}", split, sections))
        words.append(len(target.split()) - 1)
    languages = np.array([LANGUAGES.index(pair.language) for pair in pairs], dtype=np.int64)
    truth = {
        "language": languages,
        "language_names": np.array(LANGUAGES, dtype=np.str_),
        "word_language": np.repeat(languages, words),
        "word_language_lengths": np.array(words, dtype=np.int64),
    }
    return Corpus(documents, truth, facts)
