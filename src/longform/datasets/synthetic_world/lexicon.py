"""The vocabulary as tables: for each topic and slot, words with exact probabilities that are drawn by one look-up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from longform.datasets.synthetic_world.everyday import GENERIC, GENERIC_ADJECTIVES, TOPICS
from longform.resampling import generator

PLACE_KINDS = ("building", "land", "water")
SLOT_OF_KIND = {
    "person": "person",
    "animal": "being",
    "plant": "being",
    "event": "event",
    "measure": "idea",
    "group": "idea",
    "organ": "idea",
    "structure": "place",
    "substance": "stuff",
    "adjective": "adjective",
    "verb": "verb",
    "deed": "deed",
} | dict.fromkeys(PLACE_KINDS, "place")
SLOTS = ("person", "thing", "being", "stuff", "event", "idea", "place", "adjective", "verb", "deed")
COMMON_DEEDS = ("helped", "thanked", "watched", "trusted", "welcomed", "warned", "visited", "paid", "met", "advised")
TABLE_SIZE = 1024  # probabilities are multiples of 1/1024, so a draw is one index into a table
GENERIC_SHARE = 0.2  # of a topic's adjective mass lies on adjectives that every topic uses
ZIPF_EXPONENT = 0.7  # ours: flat enough that a document shows many words of a topic


@dataclass(frozen=True)
class Topic:
    """Words of one topic by slot; ``tables[slot]`` repeats each word in proportion to its probability."""

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
        return tuple(sorted({w for topic in self.topics for table in topic.tables.values() for w in table}))

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


def parse_kinds(block: str) -> dict[str, tuple[str, ...]]:
    """``kind: words`` lines; a line that goes on without a kind belongs to the one before."""
    parts = re.split(r"(\w+):", block)[1:]
    return {kind: tuple(words.split()) for kind, words in zip(parts[::2], parts[1::2], strict=True)}


def _weights(count: int) -> np.ndarray:
    weights = np.arange(1, count + 1, dtype=float) ** -ZIPF_EXPONENT
    return weights / weights.sum()


def _counts(weights: np.ndarray) -> np.ndarray:
    """Integer shares of ``TABLE_SIZE``, largest remainders first."""
    exact = weights * TABLE_SIZE
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: TABLE_SIZE - counts.sum()]] += 1
    return counts


def _table(words: tuple[str, ...], weights: np.ndarray, name: str) -> tuple[str, ...]:
    order = generator("planted", "zipf", name).permutation(len(weights))
    return tuple(w for w, n in zip(words, _counts(weights[order]), strict=True) for _ in range(n))


def _slots(kinds: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    slots: dict[str, tuple[str, ...]] = {}
    for kind, words in kinds.items():
        slot = SLOT_OF_KIND.get(kind, "thing")
        slots[slot] = slots.get(slot, ()) + words
    for slot, spare in GENERIC.items():
        slots.setdefault(slot, tuple(spare))
    slots["deed"] = slots.get("deed", ()) + COMMON_DEEDS
    return slots


def make_topic(name: str, block: str) -> Topic:
    """Parse one topic and fix its word probabilities."""
    kinds = parse_kinds(block)
    tables = {}
    for slot, words in _slots(kinds).items():
        weights = _weights(len(words))
        if slot == "adjective":
            own, shared = weights * (1 - GENERIC_SHARE), _weights(len(GENERIC_ADJECTIVES)) * GENERIC_SHARE
            words, weights = (*words, *GENERIC_ADJECTIVES), np.concatenate([own, shared])
        tables[slot] = _table(words, weights, f"{name}/{slot}")
    return Topic(name, kinds, tables)


def vocabulary(topics: Mapping[str, str]) -> Vocabulary:
    """The topics of a domain, each fixed by its name and its block of words."""
    return Vocabulary(tuple(make_topic(name, block) for name, block in topics.items()))


@cache
def everyday() -> Vocabulary:
    """The twelve topics of everyday life."""
    return vocabulary(TOPICS)


IRREGULAR = {"mouse": "mice", "wolf": "wolves", "sheep": "sheep", "deer": "deer", "goose": "geese",
             "tooth": "teeth", "shelf": "shelves", "knife": "knives", "loaf": "loaves", "theory": "theories",
             "crew": "crew", "equipment": "equipment", "hypothesis": "hypotheses", "nucleus": "nuclei",
             "analysis": "analyses", "diagnosis": "diagnoses", "basis": "bases", "axis": "axes",
             "matrix": "matrices", "vertex": "vertices", "scarf": "scarves", "barracks": "barracks",
             "herring": "herring", "torch": "torches", "stomach": "stomachs"}  # fmt: skip


@cache
def plural(noun: str) -> str:
    """Regular English plural, or the listed irregular one."""
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith(("man", "wife")):
        return noun[:-2] + "en" if noun.endswith("man") else noun[:-2] + "ves"
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
