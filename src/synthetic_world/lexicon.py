"""The world's words: invented names, topics with exact word probabilities, and the nouns as a lexicon (WN-LMF).

Names are composed of syllables, the same for every seed. A noun of one topic and kind is one sense, below a node of both, that
below the kind, and kinds below a small upper tree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from longform.documents import grouped
from longform.errors import BadInput
from synthetic_world.draws import lists, stream, table

_SYLLABLES = lists(table("names"))
_FIRST = tuple(
    onset + core
    for onset in _SYLLABLES["first_onsets"]
    for core in (*_SYLLABLES["first_cores"], "")
)


def _compose(kind: str, count: int, onsets: tuple[str, ...]) -> tuple[str, ...]:
    """The first ``count`` compounds of an onset and the kind's endings, in an order that depends on the kind alone."""
    names = sorted({onset + ending for onset in onsets for ending in _SYLLABLES[f"{kind}_endings"]})
    return tuple(names[i] for i in stream("names", kind).permutation(len(names))[:count])


MALE_NAMES, FEMALE_NAMES = _compose("male", 260, _FIRST), _compose("female", 260, _FIRST)
_SURNAMES = _compose("surname", 600, _SYLLABLES["surname_onsets"])
SURNAMES, FAMILIES = _SURNAMES[:480], _SURNAMES[480:]  # a family is never confused with a person
PLACES = _compose("place", 420, _SYLLABLES["place_onsets"])
REGIONS = _compose("region", 60, _SYLLABLES["place_onsets"])
COMPANIES = _compose("company", 200, _SYLLABLES["surname_onsets"])
RIVERS = _compose("river", 80, _SYLLABLES["first_onsets"])
LANGUAGES, PREFIXES = _SYLLABLES["languages"], _SYLLABLES["place_prefixes"]


def numbered_place(number: int) -> str:
    """The town of that number; different numbers name different towns."""
    rank, place = divmod(number, len(PLACES))
    if rank == 0:
        return PLACES[place]
    if rank <= len(PREFIXES):
        return f"{PREFIXES[rank - 1]} {PLACES[place]}"
    return f"{PLACES[place]} of {numbered_place(rank - len(PREFIXES) - 1)}"


def numbered_company(number: int) -> str:
    """The company of that number; different numbers name different companies."""
    rank, company = divmod(number, len(COMPANIES))
    return (
        COMPANIES[company] if rank == 0 else f"{COMPANIES[company]} of {numbered_place(rank - 1)}"
    )


VOCABULARIES = ("everyday", "medical", "physical")
SLOTS = ("person", "thing", "being", "stuff", "event", "idea", "place", "adjective", "verb", "deed")
TABLE_SIZE = 1024  # probabilities are multiples of 1/1024, so a draw is one index into a table
GENERIC_SHARE = 0.2  # of a topic's adjective mass lies on adjectives that every topic uses
ZIPF_EXPONENT = 0.7  # ours: flat enough that a document shows many words of a topic
_WORDS = table("words")
GENERIC_ADJECTIVES, PERSON_ADJECTIVES = (
    tuple(_WORDS["adjectives"].split()),
    tuple(_WORDS["moods"].split()),
)
SPARE = lists(_WORDS["spare"])  # words of a slot that a topic leaves out
SLOT_OF_KIND = {
    kind: slot for slot, kinds in lists(_WORDS["slots"]).items() for kind in kinds
}  # others fill "thing"


@dataclass(frozen=True)
class Topic:
    """Words of one topic by kind.

    ``tables[slot]`` repeats each word in proportion to its probability.
    """

    name: str
    kinds: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Vocabulary:
    """The topics of one domain, in a fixed order."""

    topics: tuple[Topic, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Every content word, sorted."""
        return tuple(
            sorted({w for topic in self.topics for words in topic.tables.values() for w in words})
        )

    @cached_property
    def word_probabilities(self) -> np.ndarray:
        """P(word | topic, slot): float64, (topics, slots, words).

        Each (topic, slot) row sums to one.
        """
        index = {word: i for i, word in enumerate(self.words)}
        counts = np.zeros((len(self.topics), len(SLOTS), len(self.words)))
        for k, topic in enumerate(self.topics):
            for s, slot in enumerate(SLOTS):
                np.add.at(counts[k, s], [index[word] for word in topic.tables[slot]], 1)
        return counts / TABLE_SIZE


@cache
def vocabulary(name: str) -> Vocabulary:
    """One of ``VOCABULARIES``: its topics, each fixed by its name and its words."""
    return Vocabulary(tuple(_topic(topic, lists(kinds)) for topic, kinds in table(name).items()))


def _topic(name: str, kinds: Mapping[str, tuple[str, ...]]) -> Topic:
    slots: dict[str, tuple[str, ...]] = {}
    for kind, words in kinds.items():
        slot = SLOT_OF_KIND.get(kind, "thing")
        slots[slot] = slots.get(slot, ()) + words
    slots |= {slot: words for slot, words in SPARE.items() if slot not in slots}
    slots["deed"] = slots.get("deed", ()) + tuple(_WORDS["deeds"].split())
    tables = {}
    for slot, words in slots.items():
        weights = _zipf(len(words))
        if slot == "adjective":
            shared = _zipf(len(GENERIC_ADJECTIVES)) * GENERIC_SHARE
            words, weights = (
                words + GENERIC_ADJECTIVES,
                np.concatenate([weights * (1 - GENERIC_SHARE), shared]),
            )
        exact = weights[stream("zipf", f"{name}/{slot}").permutation(len(weights))] * TABLE_SIZE
        counts = np.floor(exact).astype(int)
        counts[np.argsort(counts - exact, kind="stable")[: TABLE_SIZE - counts.sum()]] += 1
        tables[slot] = tuple(np.repeat(words, counts).tolist())
    return Topic(name, kinds, tables)


def _zipf(count: int) -> np.ndarray:
    weights = np.arange(1, count + 1, dtype=float) ** -ZIPF_EXPONENT
    return weights / weights.sum()


@cache
def plural(noun: str) -> str:
    """Regular English plural, or the listed irregular one."""
    if noun in _WORDS["plurals"]:
        return _WORDS["plurals"][noun]
    if noun.endswith("man"):
        return noun[:-2] + "en"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"


@cache
def article(word: str) -> str:
    """The word with its indefinite article: ``an honest``, ``a useful``, ``an oar``."""
    silent, sounded = (
        word.startswith(("honest", "hour", "heir")),
        word.startswith(("uni", "use", "eu", "one")),
    )
    return f"an {word}" if silent or (word[0].lower() in "aeiou" and not sounded) else f"a {word}"


PARENT_OF_KIND = {
    kind: parent for parent, kinds in lists(table("taxonomy")["kinds"]).items() for kind in kinds
}
PLACE_KINDS = ("building", "land", "water")  # where a gloss says that a noun is met
NOT_NOUNS = ("adjective", "verb", "deed")
LEXICON = "synthetic"


def synsets(vocabulary: Vocabulary) -> dict[str, tuple[str, str | None, str]]:
    """A tree of the vocabulary's nouns: word, key of the hypernym and gloss of each concept by its key, hypernyms first."""
    tree = {
        name: (name, parent, gloss) for name, (parent, gloss) in table("taxonomy")["nodes"].items()
    }

    def add_group(name: str, kind: str, owner: str) -> str:
        if f"kind/{kind}" not in tree:
            parent = PARENT_OF_KIND.get(kind, "artefact")
            tree[f"kind/{kind}"] = (
                f"{kind} kind",
                parent,
                f"{article(parent)} of the sort called {kind}",
            )
        tree[f"{name}/{kind}"] = (
            f"{name} {kind}",
            f"kind/{kind}",
            f"{article(kind)} that belongs to {owner}",
        )
        return f"{name}/{kind}"

    for topic in vocabulary.topics:
        for kind in [kind for kind in topic.kinds if kind not in NOT_NOUNS]:
            node = add_group(topic.name, kind, f"the {topic.name}")
            for rank, noun in enumerate(topic.kinds[kind]):
                tree[f"{node}/{noun}"] = (noun, node, _gloss(topic, kind, rank))
    for slot, kind in table("taxonomy")["spare"].items():
        if any(
            slot not in {SLOT_OF_KIND.get(k, "thing") for k in topic.kinds}
            for topic in vocabulary.topics
        ):
            node = add_group("common", kind, "no topic")
            for noun in SPARE[slot]:
                tree[f"{node}/{noun}"] = (
                    noun,
                    node,
                    f"{article(kind)} met anywhere, called {article(noun)}",
                )
    return tree


def _gloss(topic: Topic, kind: str, rank: int) -> str:
    """``a vehicle of the harbour that sailors repaired, often near the dock``: words are shared within a topic."""

    def pick(words: Sequence[str]) -> str:
        return words[rank % len(words)]

    kinds = topic.kinds
    place = pick(next((kinds[name] for name in PLACE_KINDS if name in kinds), ("house",)))
    if kind == "person":
        thing = pick(
            [
                w
                for name, words in kinds.items()
                if SLOT_OF_KIND.get(name, "thing") == "thing"
                for w in words
            ]
        )
        what = f"a person of the {topic.name} who {pick(kinds['verb'])} {plural(thing)}"
    else:
        what = f"{article(kind)} of the {topic.name} that {plural(pick(kinds['person']))} {pick(kinds['verb'])}"
    return f"{what}, often near the {place}"


def to_lmf(vocabulary: Vocabulary) -> str:
    """The tree in the Global WordNet Association's WN-LMF 1.1."""
    tree = synsets(vocabulary)
    numbers = {
        key: f"{number:08d}" for number, key in enumerate(tree, 1)
    }  # which WordNet's tools read as offsets
    identifiers = {key: f"{LEXICON}-{number}-n" for key, number in numbers.items()}
    lines = [table("taxonomy")["lmf"].rstrip()]
    for word, senses in sorted(grouped(tree, lambda key: tree[key][0]).items()):
        entry = f"{LEXICON}-{word.replace(' ', '_')}-n"
        rows = "".join(
            f'<Sense id="{entry}-{numbers[key]}" synset="{identifiers[key]}"/>' for key in senses
        )
        lemma = f'<Lemma writtenForm={quoteattr(word)} partOfSpeech="n"/>'
        lines.append(f'<LexicalEntry id="{entry}">{lemma}{rows}</LexicalEntry>')
    hyponyms = grouped(tree, lambda key: tree[key][1])
    for key, (_, hypernym, gloss) in tree.items():
        related = [("hypernym", hypernym)] if hypernym else []
        related += [("hyponym", below) for below in hyponyms.get(key, ())]
        rows = "".join(
            f'<SynsetRelation relType="{kind}" target="{identifiers[other]}"/>'
            for kind, other in related
        )
        told = f"<Definition>{escape(gloss)}</Definition>{rows}"
        lines.append(f'<Synset id="{identifiers[key]}" ili="" partOfSpeech="n">{told}</Synset>')
    return "\n".join([*lines, "</Lexicon>", "</LexicalResource>"]) + "\n"


@dataclass(frozen=True)
class WordNet:
    """What a reader of grids may have beside it.

    In place of this one, any folder with a real net's ``lexicon.xml``.
    """

    text: str

    def save(self, folder: Path) -> None:
        (folder / "lexicon.xml").write_text(self.text, encoding="utf-8")


def fit(*, world: str) -> WordNet:
    """The nouns of one vocabulary as a word net; nothing is learnt.

    Raises BadInput: no such vocabulary.
    """
    if world not in VOCABULARIES:
        raise BadInput(
            f"word net of world {world!r}; allowed are {sorted(VOCABULARIES)}; fix the entry"
        )
    return WordNet(to_lmf(vocabulary(world)))
