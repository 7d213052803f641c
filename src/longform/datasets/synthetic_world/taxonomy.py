"""The world's nouns as a lexicon: a hypernym tree with glosses, exact information content, and WN-LMF XML.

A noun of one topic and kind is one sense; a noun of two topics has two. Senses hang below a node of their topic and
kind, that below the kind, and the kinds below a small upper tree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from xml.sax.saxutils import escape, quoteattr

from longform.datasets.synthetic_world.everyday import GENERIC
from longform.datasets.synthetic_world.lexicon import PLACE_KINDS, SLOT_OF_KIND, Vocabulary, article, plural

UPPER = {  # node: parent and gloss
    "entity": (None, "all that the world speaks of"),
    "object": ("entity", "an entity that can be touched"),
    "abstraction": ("entity", "an entity that cannot be touched"),
    "organism": ("object", "an object that lives or has lived"),
    "artefact": ("object", "an object that somebody made"),
    "location": ("object", "an object where things are and happen"),
    "matter": ("object", "an object without a shape of its own"),
    "communication": ("abstraction", "an abstraction that is said or written"),
    "occurrence": ("abstraction", "an abstraction that happens"),
    "quantity": ("abstraction", "an abstraction that can be counted or reckoned"),
    "collection": ("abstraction", "an abstraction of many members"),
}
PARENT_OF_KIND = {
    "person": "organism", "animal": "organism", "plant": "organism", "body": "organism", "organ": "organism",
    "substance": "matter", "food": "matter", "event": "occurrence", "measure": "quantity", "group": "collection",
    "document": "communication", "message": "communication", "symbol": "communication", "notion": "abstraction",
} | dict.fromkeys(PLACE_KINDS, "location")  # fmt: skip
KIND_OF_SPARE = {
    "being": "animal",
    "event": "event",
    "idea": "notion",
    "stuff": "substance",
}  # slots a topic may leave out
NOT_NOUNS = ("adjective", "verb", "deed")
LEXICON = "planted"


@dataclass(frozen=True)
class Synset:
    """One concept: its number, the words for it, its hypernym's number, its gloss, and its own relative frequency."""

    number: int
    words: tuple[str, ...]
    hypernym: int | None
    gloss: str
    frequency: float

    @property
    def identifier(self) -> str:
        """``planted-00000012-n``, the form that offsets of an information-content file are mapped to."""
        return f"{LEXICON}-{self.number:08d}-n"


@dataclass(frozen=True)
class Taxonomy:
    """A tree of synsets; a synset's place in the tuple is its number less one."""

    synsets: tuple[Synset, ...]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Taxonomy:
        """The nouns of a vocabulary; frequencies are probabilities within topic and slot, topics equally weighted."""
        grown: list[Synset] = []
        numbers: dict[str, int] = {}

        def add(key: str, words: tuple[str, ...], parent: str | None, gloss: str, frequency: float = 0.0) -> None:
            numbers[key] = len(grown) + 1
            grown.append(Synset(len(grown) + 1, words, numbers[parent] if parent else None, gloss, frequency))

        for name, (parent, gloss) in UPPER.items():
            add(name, (name,), parent, gloss)

        def kind_node(kind: str) -> str:
            if f"kind/{kind}" not in numbers:
                parent = PARENT_OF_KIND.get(kind, "artefact")
                add(f"kind/{kind}", (f"{kind} kind",), parent, f"{article(parent)} of the sort called {kind}")
            return f"kind/{kind}"

        for topic in vocabulary.topics:
            for kind, nouns in topic.kinds.items():
                if kind in NOT_NOUNS:
                    continue
                node, above = f"{topic.name}/{kind}", kind_node(kind)
                add(node, (f"{topic.name} {kind}",), above, f"{article(kind)} that belongs to the {topic.name}")
                odds = topic.probabilities(SLOT_OF_KIND.get(kind, "thing"))
                for rank, noun in enumerate(nouns):
                    add(f"{node}/{noun}", (noun,), node, _gloss(topic.name, kind, topic.kinds, rank), odds[noun])
        for slot, odds in spare_words(vocabulary).items():
            kind = KIND_OF_SPARE[slot]
            node, above = f"common/{kind}", kind_node(kind)
            add(node, (f"common {kind}",), above, f"{article(kind)} that belongs to no topic")
            for noun, frequency in odds.items():
                add(f"{node}/{noun}", (noun,), node, f"{article(kind)} met anywhere, called {article(noun)}", frequency)
        return cls(tuple(grown))

    @cached_property
    def children(self) -> Mapping[int, tuple[int, ...]]:
        """Numbers of the hyponyms of each synset."""
        rows: dict[int, list[int]] = {synset.number: [] for synset in self.synsets}
        for synset in self.synsets:
            if synset.hypernym:
                rows[synset.hypernym].append(synset.number)
        return {number: tuple(row) for number, row in rows.items()}

    @cached_property
    def cumulative(self) -> Mapping[int, float]:
        """Frequency of each synset with all below it; hypernyms have smaller numbers than their hyponyms."""
        totals = {synset.number: synset.frequency for synset in self.synsets}
        for synset in reversed(self.synsets):
            if synset.hypernym:
                totals[synset.hypernym] += totals[synset.number]
        return totals

    def information_content(self, number: int) -> float:
        r"""$-\log p(c)$ in nats, counts propagated to all hypernyms, the root having probability one."""
        return -math.log(self.cumulative[number] / self.cumulative[1])

    def path(self, number: int) -> tuple[int, ...]:
        """The synset and its hypernyms up to the root."""
        found = [number]
        while parent := self.synsets[found[-1] - 1].hypernym:
            found.append(parent)
        return tuple(found)

    def common_hypernym(self, first: int, second: int) -> int:
        """The lowest synset above both."""
        above = set(self.path(first))
        return next(number for number in self.path(second) if number in above)

    def senses(self, word: str) -> tuple[int, ...]:
        """Numbers of the synsets of a word."""
        return tuple(synset.number for synset in self.synsets if word in synset.words)


def spare_words(vocabulary: Vocabulary) -> dict[str, dict[str, float]]:
    """By slot, the words that topics without words of their own for it use, with their summed probabilities."""
    found: dict[str, dict[str, float]] = {}
    for topic in vocabulary.topics:
        own = {SLOT_OF_KIND.get(kind, "thing") for kind in topic.kinds}
        for slot in GENERIC.keys() - own:
            odds = found.setdefault(slot, dict.fromkeys(GENERIC[slot], 0.0))
            for noun, probability in topic.probabilities(slot).items():
                odds[noun] += probability
    return {slot: found[slot] for slot in GENERIC if slot in found}


def _gloss(topic: str, kind: str, kinds: Mapping[str, tuple[str, ...]], rank: int) -> str:
    """``a vehicle of the harbour that sailors repaired, often near the dock``: words are shared within a topic."""
    persons, verbs = kinds["person"], kinds["verb"]
    places = next((kinds[name] for name in PLACE_KINDS if name in kinds), ("house",))
    person, verb = persons[rank % len(persons)], verbs[rank % len(verbs)]
    near = f"often near the {places[rank % len(places)]}"
    if kind == "person":
        return f"a person of the {topic} who {verb} {plural(_some_thing(kinds, rank))}, {near}"
    return f"{article(kind)} of the {topic} that {plural(person)} {verb}, {near}"


def _some_thing(kinds: Mapping[str, tuple[str, ...]], rank: int) -> str:
    things = [w for kind, words in kinds.items() if SLOT_OF_KIND.get(kind, "thing") == "thing" for w in words]
    return things[rank % len(things)]


def to_lmf(taxonomy: Taxonomy) -> str:
    """The taxonomy in the Global WordNet Association's WN-LMF 1.1."""
    senses: dict[str, list[Synset]] = {}
    for synset in taxonomy.synsets:
        for word in synset.words:
            senses.setdefault(word, []).append(synset)
    entries = "\n".join(_entry(word, senses[word]) for word in sorted(senses))
    synsets = "\n".join(_synset(taxonomy, synset) for synset in taxonomy.synsets)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">\n'
        '<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">\n'
        f'<Lexicon id="{LEXICON}" label="Nouns of the planted world" language="en" email="none@example.org" '
        f'license="https://creativecommons.org/publicdomain/zero/1.0/" version="1">\n{entries}\n{synsets}\n'
        "</Lexicon>\n</LexicalResource>\n"
    )


def _entry(word: str, synsets: list[Synset]) -> str:
    key = f"{LEXICON}-{word.replace(' ', '_')}-n"
    rows = "".join(f'<Sense id="{key}-{s.number:08d}" synset="{s.identifier}"/>' for s in synsets)
    return f'<LexicalEntry id="{key}"><Lemma writtenForm={quoteattr(word)} partOfSpeech="n"/>{rows}</LexicalEntry>'


def _synset(taxonomy: Taxonomy, synset: Synset) -> str:
    identifiers = {number: taxonomy.synsets[number - 1].identifier for number in taxonomy.children[synset.number]}
    down = "".join(f'<SynsetRelation relType="hyponym" target="{target}"/>' for target in identifiers.values())
    above = taxonomy.synsets[synset.hypernym - 1].identifier if synset.hypernym else ""
    up = f'<SynsetRelation relType="hypernym" target="{above}"/>' if above else ""
    return (
        f'<Synset id="{synset.identifier}" ili="" partOfSpeech="n">'
        f"<Definition>{escape(synset.gloss)}</Definition>{up}{down}</Synset>"
    )


def to_information_content(taxonomy: Taxonomy) -> str:
    """WordNet::Similarity's file: ``offset`` and part of speech, cumulative frequency, and ``ROOT`` at the root."""
    rows = [
        f"{s.number}n {taxonomy.cumulative[s.number]:.10f}{'' if s.hypernym else ' ROOT'}" for s in taxonomy.synsets
    ]
    return "\n".join(["wnver::planted", *rows]) + "\n"
