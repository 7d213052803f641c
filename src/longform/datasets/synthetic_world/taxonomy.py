"""The world's nouns as a lexicon: a hypernym tree with glosses, written as WN-LMF XML.

A noun of one topic and kind is one sense; a noun of two topics has two. Senses hang below a node of their topic and
kind, that below the kind, and the kinds below a small upper tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from longform.datasets.synthetic_world.lexicon import SPARE, Vocabulary, article, plural, slot_of
from longform.datasets.synthetic_world.tables import lists, table

PARENT_OF_KIND = {kind: parent for parent, kinds in lists(table("taxonomy")["kinds"]).items() for kind in kinds}
PLACE_KINDS = ("building", "land", "water")  # where a gloss says that a noun is met
NOT_NOUNS = ("adjective", "verb", "deed")
LEXICON = "synthetic"


@dataclass(frozen=True)
class Synset:
    """One concept: its number, its word, its hypernym's number, and its gloss."""

    number: int
    word: str
    hypernym: int | None
    gloss: str

    @property
    def identifier(self) -> str:
        """``synthetic-00000012-n``, of which WordNet's tools read the middle as an offset."""
        return f"{LEXICON}-{self.number:08d}-n"


def synsets(vocabulary: Vocabulary) -> tuple[Synset, ...]:
    """A tree of the vocabulary's nouns; a synset's place in the tuple is its number less one, hypernyms come first."""
    grown: list[Synset] = []
    numbers: dict[str, int] = {}

    def add(key: str, word: str, parent: str | None, gloss: str) -> None:
        numbers[key] = len(grown) + 1
        grown.append(Synset(len(grown) + 1, word, numbers[parent] if parent else None, gloss))

    def add_group(node: str, kind: str, word: str, gloss: str) -> None:
        if f"kind/{kind}" not in numbers:
            parent = PARENT_OF_KIND.get(kind, "artefact")
            add(f"kind/{kind}", f"{kind} kind", parent, f"{article(parent)} of the sort called {kind}")
        add(node, word, f"kind/{kind}", f"{article(kind)} that belongs to {gloss}")

    for name, (parent, gloss) in table("taxonomy")["nodes"].items():
        add(name, name, parent, gloss)
    for topic in vocabulary.topics:
        for kind, nouns in topic.kinds.items():
            if kind not in NOT_NOUNS:
                node = f"{topic.name}/{kind}"
                add_group(node, kind, f"{topic.name} {kind}", f"the {topic.name}")
                for rank, noun in enumerate(nouns):
                    add(f"{node}/{noun}", noun, node, _gloss(topic.name, kind, topic.kinds, rank))
    for slot, kind in table("taxonomy")["spare"].items():
        if any(slot not in map(slot_of, topic.kinds) for topic in vocabulary.topics):
            node = f"common/{kind}"
            add_group(node, kind, f"common {kind}", "no topic")
            for noun in SPARE[slot]:
                add(f"{node}/{noun}", noun, node, f"{article(kind)} met anywhere, called {article(noun)}")
    return tuple(grown)


def _gloss(topic: str, kind: str, kinds: Mapping[str, tuple[str, ...]], rank: int) -> str:
    """``a vehicle of the harbour that sailors repaired, often near the dock``: words are shared within a topic."""

    def pick(words: tuple[str, ...]) -> str:
        return words[rank % len(words)]

    places = next((kinds[name] for name in PLACE_KINDS if name in kinds), ("house",))
    near = f"often near the {pick(places)}"
    if kind == "person":
        things = tuple(w for name, words in kinds.items() if slot_of(name) == "thing" for w in words)
        return f"a person of the {topic} who {pick(kinds['verb'])} {plural(pick(things))}, {near}"
    return f"{article(kind)} of the {topic} that {plural(pick(kinds['person']))} {pick(kinds['verb'])}, {near}"


def to_lmf(vocabulary: Vocabulary) -> str:
    """The tree in the Global WordNet Association's WN-LMF 1.1."""
    tree = synsets(vocabulary)
    senses: dict[str, list[Synset]] = {}
    hyponyms: dict[int | None, list[Synset]] = {}
    for synset in tree:
        senses.setdefault(synset.word, []).append(synset)
        hyponyms.setdefault(synset.hypernym, []).append(synset)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">',
        '<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">',
        f'<Lexicon id="{LEXICON}" label="Nouns of the synthetic world" language="en" email="none@example.org" '
        'license="https://creativecommons.org/publicdomain/zero/1.0/" version="1">',
    ]
    for word in sorted(senses):
        key = f"{LEXICON}-{word.replace(' ', '_')}-n"
        rows = "".join(f'<Sense id="{key}-{s.number:08d}" synset="{s.identifier}"/>' for s in senses[word])
        lines.append(
            f'<LexicalEntry id="{key}"><Lemma writtenForm={quoteattr(word)} partOfSpeech="n"/>{rows}</LexicalEntry>'
        )
    for synset in tree:
        related = [("hypernym", tree[synset.hypernym - 1])] if synset.hypernym else []
        related += [("hyponym", below) for below in hyponyms.get(synset.number, ())]
        rows = "".join(f'<SynsetRelation relType="{kind}" target="{s.identifier}"/>' for kind, s in related)
        lines.append(
            f'<Synset id="{synset.identifier}" ili="" partOfSpeech="n">'
            f"<Definition>{escape(synset.gloss)}</Definition>{rows}</Synset>"
        )
    return "\n".join([*lines, "</Lexicon>", "</LexicalResource>"]) + "\n"
