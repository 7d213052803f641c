"""Planted sentence pairs: English clauses, each translated into one of three invented languages, never mixed.

Which language is a coin toss that the source does not show, as in a corpus with several target languages and no tag
(deng2022, appendix C, after Zhou et al. 2019). So the truth of the code-mixing critic is known: every target is pure.
"""

from __future__ import annotations

import numpy as np

from longform.corpora.planted.corpus import split_of
from longform.corpora.planted.draws import Draws
from longform.corpora.planted.everyday import TOPICS
from longform.corpora.planted.languages import LANGUAGES, Clause
from longform.corpora.planted.lexicon import Topic, vocabulary
from longform.numerics import generator
from longform.units import BadInput, Corpus, Document, Section

ADJECTIVES = (0, 0, 1)  # adjectives before a noun: one noun in three has one (ours)


def build(*, name: str, seed: int, sentences: int, topics: int = 4) -> Corpus:
    """Pairs with sections ``source`` and ``target``; sentence i is the same whatever else is made.

    Args:
        topics: the words come from the first so many topics of the planted world: fewer topics, fewer words.

    Returns:
        documents, and the truth ``language`` (documents) into ``language_names``.

    Raises:
        BadInput: no sentence, or a number of topics that the world does not have.
    """
    if sentences < 1:
        raise BadInput(f"corpus {name!r}: sentences is {sentences}, allowed is 1 or more")
    known = vocabulary(TOPICS).topics
    if not 1 <= topics <= len(known):
        raise BadInput(f"corpus {name!r}: topics is {topics}, allowed is 1 to {len(known)}")
    drawn = [_pair(seed, index, known[:topics]) for index in range(sentences)]
    documents = [
        Document(
            f"pair-{i:06d}", split_of(i), (Section("source", clause.english()), Section("target", clause.render(to)))
        )
        for i, (clause, to) in enumerate(drawn)
    ]
    truth = {
        "language": np.array([LANGUAGES.index(to) for _, to in drawn], np.int32),
        "language_names": np.array(LANGUAGES, dtype=np.str_),
    }
    return Corpus(documents, truth, {"name": name, "seed": seed, "planted": True, "documents": len(documents)})


def _pair(seed: int, index: int, topics: tuple[Topic, ...]) -> tuple[Clause, str]:
    draws = Draws(generator("planted", "pair", seed, index))
    topic = draws.pick(topics)
    subject, thing, place = (_phrase(draws, topic, slot) for slot in ("person", "thing", "place"))
    return Clause(subject, draws.pick(topic.tables["verb"]), thing, place), draws.pick(LANGUAGES)


def _phrase(draws: Draws, topic: Topic, slot: str) -> tuple[str, ...]:
    adjectives = [draws.pick(topic.tables["adjective"]) for _ in range(draws.pick(ADJECTIVES))]
    return (*adjectives, draws.pick(topic.tables[slot]))
