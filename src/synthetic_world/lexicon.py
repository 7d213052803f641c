"""The world's words: invented names, topics with exact word probabilities, and the nouns.

The latter are a lexicon (WN-LMF). Names are composed of syllables, the same for every seed. A noun
of one topic and kind is one sense, below a node of both, that below the kind, and kinds below a
small upper tree.
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
_FIRST: tuple[str, ...] = ()
for _onset in _SYLLABLES["first_onsets"]:
    _FIRST += tuple(_onset + core for core in (*_SYLLABLES["first_cores"], ""))


def _compose(kind: str, count: int, onsets: tuple[str, ...]) -> tuple[str, ...]:
    """The first ``count`` compounds of an onset and the kind's endings.

    Their order depends on the kind alone.
    """
    compounds = set()
    for onset in onsets:
        for ending in _SYLLABLES[f"{kind}_endings"]:
            compounds.add(onset + ending)
    names = sorted(compounds)
    order = stream("names", kind).permutation(len(names))
    return tuple(names[i] for i in order[:count])


MALE_NAMES = _compose("male", 260, _FIRST)
FEMALE_NAMES = _compose("female", 260, _FIRST)
_SURNAMES = _compose("surname", 600, _SYLLABLES["surname_onsets"])
SURNAMES, FAMILIES = _SURNAMES[:480], _SURNAMES[480:]  # a family is never confused with a person
PLACES = _compose("place", 420, _SYLLABLES["place_onsets"])
REGIONS = _compose("region", 60, _SYLLABLES["place_onsets"])
COMPANIES = _compose("company", 200, _SYLLABLES["surname_onsets"])
RIVERS = _compose("river", 80, _SYLLABLES["first_onsets"])
LANGUAGES, PREFIXES = _SYLLABLES["languages"], _SYLLABLES["place_prefixes"]


def numbered_place(number: int) -> str:
    """The town of that number; different numbers name different towns."""
    rank, index = divmod(number, len(PLACES))
    if rank == 0:
        return PLACES[index]
    if rank <= len(PREFIXES):
        return f"{PREFIXES[rank - 1]} {PLACES[index]}"
    return f"{PLACES[index]} of {numbered_place(rank - len(PREFIXES) - 1)}"


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
GENERIC_ADJECTIVES = tuple(_WORDS["adjectives"].split())
PERSON_ADJECTIVES = tuple(_WORDS["moods"].split())
SPARE = lists(_WORDS["spare"])  # words of a slot that a topic leaves out
# The slot that words of a kind fill; kinds that are not here fill "thing".
SLOT_OF_KIND: dict[str, str] = {}
for _slot, _kinds in lists(_WORDS["slots"]).items():
    SLOT_OF_KIND |= dict.fromkeys(_kinds, _slot)


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
        words: set[str] = set()
        for topic in self.topics:
            words.update(*topic.tables.values())
        return tuple(sorted(words))

    @cached_property
    def word_probabilities(self) -> np.ndarray:
        """P(word | topic, slot): float64, (topics, slots, words).

        Each (topic, slot) row sums to one.
        """
        index = {word: i for i, word in enumerate(self.words)}
        counts = np.zeros((len(self.topics), len(SLOTS), len(self.words)))
        for k, topic in enumerate(self.topics):
            for s, slot in enumerate(SLOTS):
                columns = [index[word] for word in topic.tables[slot]]
                np.add.at(counts[k, s], columns, 1)
        return counts / TABLE_SIZE


@cache
def vocabulary(name: str) -> Vocabulary:
    """One of ``VOCABULARIES``: its topics, each fixed by its name and its words."""
    return Vocabulary(tuple(_topic(topic, lists(kinds)) for topic, kinds in table(name).items()))


def _topic(name: str, kinds: Mapping[str, tuple[str, ...]]) -> Topic:
    """A topic with its tables, which its name and its words fix."""
    # 1. Words of each slot.
    slots: dict[str, tuple[str, ...]] = {}
    for kind, words in kinds.items():
        slot = SLOT_OF_KIND.get(kind, "thing")
        slots[slot] = slots.get(slot, ()) + words
    for slot, words in SPARE.items():
        slots.setdefault(slot, words)
    slots["deed"] = slots.get("deed", ()) + tuple(_WORDS["deeds"].split())
    # 2. Their probabilities, as counts in a table.
    tables = {}
    for slot, words in slots.items():
        weights = _zipf(len(words))
        if slot == "adjective":
            words = words + GENERIC_ADJECTIVES
            shared = _zipf(len(GENERIC_ADJECTIVES)) * GENERIC_SHARE
            weights = np.concatenate([weights * (1 - GENERIC_SHARE), shared])
        order = stream("zipf", f"{name}/{slot}").permutation(len(weights))
        counts = _whole_counts(weights[order] * TABLE_SIZE)
        tables[slot] = tuple(np.repeat(words, counts).tolist())
    return Topic(name, kinds, tables)


def _whole_counts(exact: np.ndarray) -> np.ndarray:
    """Whole numbers near ``exact`` ones (words,) whose sum is ``TABLE_SIZE``.

    All are rounded down, but those that lose most by it.
    """
    counts = np.floor(exact).astype(int)
    num_missing = TABLE_SIZE - counts.sum()
    counts[np.argsort(counts - exact, kind="stable")[:num_missing]] += 1
    return counts


def _zipf(count: int) -> np.ndarray:
    """Probabilities of so many words by rank r from 1, as r^-ZIPF_EXPONENT, float64 (count,)."""
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
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


@cache
def article(word: str) -> str:
    """The word with its indefinite article: ``an honest``, ``a useful``, ``an oar``."""
    has_silent_h = word.startswith(("honest", "hour", "heir"))
    sounds_like_consonant = word.startswith(("uni", "use", "eu", "one"))
    opens_with_vowel = word[0].lower() in "aeiou" and not sounds_like_consonant
    return f"an {word}" if has_silent_h or opens_with_vowel else f"a {word}"


PARENT_OF_KIND: dict[str, str] = {}
for _parent, _kinds in lists(table("taxonomy")["kinds"]).items():
    PARENT_OF_KIND |= dict.fromkeys(_kinds, _parent)
PLACE_KINDS = ("building", "land", "water")  # where a gloss says that a noun is met
NOT_NOUNS = ("adjective", "verb", "deed")
LEXICON = "synthetic"


Concept = tuple[str, str | None, str]  # word, key of the hypernym, gloss


def synsets(vocabulary: Vocabulary) -> dict[str, Concept]:
    """A tree of the vocabulary's nouns: each concept by its key, hypernyms first."""
    tree: dict[str, Concept] = {}
    for name, (parent, gloss) in table("taxonomy")["nodes"].items():
        tree[name] = (name, parent, gloss)
    # 1. Nouns of the topics.
    for topic in vocabulary.topics:
        for kind, nouns in topic.kinds.items():
            if kind in NOT_NOUNS:
                continue
            node = _add_group(tree, topic.name, kind, f"the {topic.name}")
            for rank, noun in enumerate(nouns):
                tree[f"{node}/{noun}"] = (noun, node, _gloss(topic, kind, rank))
    # 2. Nouns of the slots that some topic leaves out.
    for slot, kind in table("taxonomy")["spare"].items():
        if all(_fills(topic, slot) for topic in vocabulary.topics):
            continue
        node = _add_group(tree, "common", kind, "no topic")
        for noun in SPARE[slot]:
            gloss = f"{article(kind)} met anywhere, called {article(noun)}"
            tree[f"{node}/{noun}"] = (noun, node, gloss)
    return tree


def _fills(topic: Topic, slot: str) -> bool:
    """Whether a topic has words of its own for a slot."""
    return any(SLOT_OF_KIND.get(kind, "thing") == slot for kind in topic.kinds)


def _add_group(tree: dict[str, Concept], name: str, kind: str, owner: str) -> str:
    """Add a concept for nouns of a topic and kind, below the kind's own; returns its key.

    The kind's is added if it is new; ``name`` and ``owner`` call the topic by a key and in a gloss.
    """
    if f"kind/{kind}" not in tree:
        parent = PARENT_OF_KIND.get(kind, "artefact")
        gloss = f"{article(parent)} of the sort called {kind}"
        tree[f"kind/{kind}"] = (f"{kind} kind", parent, gloss)
    gloss = f"{article(kind)} that belongs to {owner}"
    tree[f"{name}/{kind}"] = (f"{name} {kind}", f"kind/{kind}", gloss)
    return f"{name}/{kind}"


def _gloss(topic: Topic, kind: str, rank: int) -> str:
    """Such as ``a vehicle of the harbour that sailors repaired, often near the dock``.

    Words are shared within a topic.
    """

    def pick(words: Sequence[str]) -> str:
        return words[rank % len(words)]

    # Where the noun is met, what was done with it, and by whom.
    kinds = topic.kinds
    locations: Sequence[str] = ("house",)
    for name in reversed(PLACE_KINDS):
        locations = kinds.get(name, locations)
    verb = pick(kinds["verb"])
    if kind == "person":
        things: list[str] = []
        for name, words in kinds.items():
            if SLOT_OF_KIND.get(name, "thing") == "thing":
                things.extend(words)
        what = f"a person of the {topic.name} who {verb} {plural(pick(things))}"
    else:
        person = pick(kinds["person"])
        what = f"{article(kind)} of the {topic.name} that {plural(person)} {verb}"
    return f"{what}, often near the {pick(locations)}"


def to_lmf(vocabulary: Vocabulary) -> str:
    """The vocabulary's nouns as a word net, XML in the Global WordNet Association's WN-LMF 1.1."""
    tree = synsets(vocabulary)  # key -> (word, key of the hypernym or None, gloss)
    # WordNet's tools read the numbers as offsets.
    numbers, identifiers = {}, {}
    for number, key in enumerate(tree, 1):
        numbers[key] = f"{number:08d}"
        identifiers[key] = f"{LEXICON}-{numbers[key]}-n"
    lines = [table("taxonomy")["lmf"].rstrip()]
    # 1. Words with their senses.
    for word, senses in sorted(grouped(tree, lambda key: tree[key][0]).items()):
        entry = f"{LEXICON}-{word.replace(' ', '_')}-n"
        content = f'<Lemma writtenForm={quoteattr(word)} partOfSpeech="n"/>'
        for key in senses:
            content += f'<Sense id="{entry}-{numbers[key]}" synset="{identifiers[key]}"/>'
        lines.append(f'<LexicalEntry id="{entry}">{content}</LexicalEntry>')
    # 2. Concepts with their relations.
    hyponyms = grouped(tree, lambda key: tree[key][1])
    for key, (_, hypernym, gloss) in tree.items():
        related = [("hypernym", hypernym)] if hypernym else []
        related += [("hyponym", below) for below in hyponyms.get(key, ())]
        content = f"<Definition>{escape(gloss)}</Definition>"
        for kind, other in related:
            content += f'<SynsetRelation relType="{kind}" target="{identifiers[other]}"/>'
        opening = f'<Synset id="{identifiers[key]}" ili="" partOfSpeech="n">'
        lines.append(f"{opening}{content}</Synset>")
    return "\n".join([*lines, "</Lexicon>", "</LexicalResource>"]) + "\n"


@dataclass(frozen=True)
class WordNet:
    """A word net that a reader of entity grids may look nouns up in, as a file.

    A folder with the ``lexicon.xml`` of a real net can stand in its place.

    Attributes:
        text: of the file, XML in WN-LMF.
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
