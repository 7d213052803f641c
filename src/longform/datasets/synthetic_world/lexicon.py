"""The vocabularies: for each topic and slot, words with exact probabilities that are drawn by one look-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from longform.datasets.synthetic_world.draws import stream
from longform.datasets.synthetic_world.tables import lists, table

VOCABULARIES = ("everyday", "medical", "physical")
SLOTS = ("person", "thing", "being", "stuff", "event", "idea", "place", "adjective", "verb", "deed")
TABLE_SIZE = 1024  # probabilities are multiples of 1/1024, so a draw is one index into a table
GENERIC_SHARE = 0.2  # of a topic's adjective mass lies on adjectives that every topic uses
ZIPF_EXPONENT = 0.7  # ours: flat enough that a document shows many words of a topic
_WORDS = table("words")
GENERIC_ADJECTIVES, PERSON_ADJECTIVES = tuple(_WORDS["adjectives"].split()), tuple(_WORDS["moods"].split())
COMMON_DEEDS = tuple(_WORDS["deeds"].split())
SPARE = lists(_WORDS["spare"])  # words of a slot that a topic leaves out
_SLOT_OF_KIND = {kind: slot for slot, kinds in lists(_WORDS["slots"]).items() for kind in kinds}


def slot_of(kind: str) -> str:
    """The slot of a frame that words of a kind fill."""
    return _SLOT_OF_KIND.get(kind, "thing")


@dataclass(frozen=True)
class Topic:
    """Words of one topic by kind; ``tables[slot]`` repeats each word in proportion to its probability."""

    name: str
    kinds: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, tuple[str, ...]]

    def probabilities(self, slot: str) -> dict[str, float]:
        """P(word | topic, slot), exact."""
        words, counts = np.unique(np.array(self.tables[slot]), return_counts=True)
        return dict(zip(words.tolist(), (counts / TABLE_SIZE).tolist(), strict=True))


@dataclass(frozen=True)
class Vocabulary:
    """The topics of one domain, in a fixed order."""

    topics: tuple[Topic, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Every content word, sorted."""
        return tuple(sorted({w for topic in self.topics for words in topic.tables.values() for w in words}))

    @cached_property
    def word_probabilities(self) -> np.ndarray:
        """P(word | topic, slot): float64, (topics, slots, words); each (topic, slot) row sums to one."""
        index = {word: i for i, word in enumerate(self.words)}
        values = np.zeros((len(self.topics), len(SLOTS), len(self.words)))
        for k, topic in enumerate(self.topics):
            for s, slot in enumerate(SLOTS):
                for word, probability in topic.probabilities(slot).items():
                    values[k, s, index[word]] = probability
        return values


@cache
def vocabulary(name: str) -> Vocabulary:
    """One of ``VOCABULARIES``: its topics, each fixed by its name and its words."""
    return Vocabulary(tuple(_topic(topic, lists(kinds)) for topic, kinds in table(name).items()))


def _topic(name: str, kinds: Mapping[str, tuple[str, ...]]) -> Topic:
    slots: dict[str, tuple[str, ...]] = {}
    for kind, words in kinds.items():
        slots[slot_of(kind)] = slots.get(slot_of(kind), ()) + words
    slots = slots | {slot: words for slot, words in SPARE.items() if slot not in slots}
    slots["deed"] = slots.get("deed", ()) + COMMON_DEEDS
    tables = {}
    for slot, words in slots.items():
        weights = _weights(len(words))
        if slot == "adjective":
            shared = _weights(len(GENERIC_ADJECTIVES)) * GENERIC_SHARE
            words, weights = words + GENERIC_ADJECTIVES, np.concatenate([weights * (1 - GENERIC_SHARE), shared])
        shuffled = weights[stream("zipf", f"{name}/{slot}").permutation(len(weights))]
        tables[slot] = tuple(w for w, n in zip(words, _counts(shuffled), strict=True) for _ in range(n))
    return Topic(name, kinds, tables)


def _weights(count: int) -> np.ndarray:
    weights = np.arange(1, count + 1, dtype=float) ** -ZIPF_EXPONENT
    return weights / weights.sum()


def _counts(weights: np.ndarray) -> np.ndarray:
    """Integer shares of ``TABLE_SIZE``, largest remainders first."""
    exact = weights * TABLE_SIZE
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: TABLE_SIZE - counts.sum()]] += 1
    return counts


@cache
def plural(noun: str) -> str:
    """Regular English plural, or the listed irregular one."""
    if noun in _WORDS["plurals"]:
        return _WORDS["plurals"][noun]
    if noun.endswith("man"):
        return noun[:-2] + "en"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


@cache
def article(word: str) -> str:
    """The word with its indefinite article: ``an honest``, ``a useful``, ``an oar``."""
    silent, sounded = word.startswith(("honest", "hour", "heir")), word.startswith(("uni", "use", "eu", "one"))
    return f"an {word}" if silent or (word[0].lower() in "aeiou" and not sounded) else f"a {word}"
