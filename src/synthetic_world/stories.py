"""Stories with two endings, and dialogues of two speakers with personas.

A story's fourth sentence decides which of the endings is right. What a speaker says
follows from a persona line or from none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthetic_world import lexicon
from synthetic_world.draws import Draws, stream, table
from synthetic_world.lexicon import TABLE_SIZE, article, plural, vocabulary

# opening, turns and endings by outcome
SCHEMAS: Sequence[Mapping[str, Sequence[str]]] = table("stories")
SLOTS = {
    "thing": "thing",
    "being": "being",
    "place": "place",
    "event": "event",
    "agent": "person",
    "adj": "adjective",
}
HE, SHE = {"he": "he", "He": "He", "him": "him"}, {"he": "she", "He": "She", "him": "her"}


@dataclass(frozen=True)
class Story:
    """Four sentences of context, two endings, and which of them is right (0 or 1)."""

    index: int
    context: tuple[str, ...]
    endings: tuple[str, str]
    right: int
    schema: int
    outcome: int


def write_story(seed: int, index: int) -> Story:
    """Write story ``index``, which depends on its arguments alone.

    A schema has an opening, two turns of events, and an ending that fits each turn.
    """
    draws = Draws(stream("stories", seed, index))
    number, outcome = draws.integer(0, len(SCHEMAS) - 1), draws.integer(0, 1)
    words = _words_of_story(draws)
    right = draws.integer(0, 1)
    schema = {}
    for part, texts in SCHEMAS[number].items():
        schema[part] = [text.format_map(words) for text in texts]
    first = outcome ^ right  # so that the ending that fits the turn stands at place ``right``
    return Story(
        index=index,
        context=(*schema["opening"], schema["turns"][outcome]),
        endings=(schema["endings"][first], schema["endings"][1 - first]),
        right=right,
        schema=number,
        outcome=outcome,
    )


def _words_of_story(draws: Draws) -> dict[str, str]:
    """Slot -> its word in a story, as ``thing``, ``a_thing``, ``things``, and ``he`` or ``she``."""
    topic = draws.pick(vocabulary("everyday").topics)
    is_male = draws.pick((True, False))
    words = {}
    for name, slot in SLOTS.items():
        words[name] = topic.tables[slot][int(draws.uniform() * TABLE_SIZE)]
    for name in SLOTS:
        words[f"a_{name}"] = article(words[name])
    for name in ("agent", "thing", "being"):
        words[f"{name}s"] = plural(words[name])
    words["A_agent"] = words["a_agent"].capitalize()
    words["name"] = draws.pick(lexicon.MALE_NAMES if is_male else lexicon.FEMALE_NAMES)
    words["Town"] = draws.pick(lexicon.PLACES)
    words["small"] = str(draws.integer(3, 60))
    return words | (HE if is_male else SHE)


ATTRIBUTES: Mapping[str, Mapping[str, Any]] = table("dialogues")["attributes"]
SMALL_TALK: Sequence[str] = table("dialogues")["small_talk"]
POSITIVE, NEUTRAL, NEGATIVE = "positive", "neutral", "negative"


def _values(name: str, attribute: Mapping[str, Any]) -> tuple[str, ...]:
    """Values of an attribute; foods are in the plural.

    Each is given as a word, or as ``topic/kind`` for all words of a kind in the table "everyday".
    """
    values: list[str] = []
    for entry in attribute["values"].split():
        topic, _, kind = entry.partition("/")
        values += table("everyday")[topic][kind].split() if kind else [topic]
    return tuple(map(plural, values)) if name == "food" else tuple(values)


VALUES = {name: _values(name, attribute) for name, attribute in ATTRIBUTES.items()}


@dataclass(frozen=True)
class Fact:
    """One thing a speaker says of itself."""

    attribute: str
    value: str

    @property
    def line(self) -> str:
        """The persona line."""
        return ATTRIBUTES[self.attribute]["line"].format(x=self.value, ax=article(self.value))

    @property
    def answers(self) -> tuple[str, ...]:
        """Utterances that follow from the line."""
        frames = ATTRIBUTES[self.attribute]["answers"]
        return tuple(frame.format(x=self.value, ax=article(self.value)) for frame in frames)


@dataclass(frozen=True)
class Dialogue:
    """Two personas and alternating turns; the first persona speaks first.

    Attributes:
        sources: the line of the speaker's persona that each turn tells of, from 0; else -1.
    """

    index: int
    personas: tuple[tuple[Fact, ...], tuple[Fact, ...]]
    turns: tuple[str, ...]
    sources: tuple[int, ...]


def write_dialogue(seed: int, index: int) -> Dialogue:
    """Write dialogue ``index``, which depends on its arguments alone.

    Each persona has five facts; some come up as question and answer, with small talk between.
    """
    rng = stream("dialogues", seed, index)
    draws = Draws(rng)
    names = list(ATTRIBUTES)

    def persona() -> tuple[Fact, ...]:
        facts = []
        for i in rng.permutation(len(names))[:5].tolist():
            facts.append(Fact(names[i], draws.pick(VALUES[names[i]])))
        return tuple(facts)

    personas = (persona(), persona())
    turns, sources = [SMALL_TALK[0]], [-1]

    def add(text: str, source: int = -1) -> None:
        turns.append(text)
        sources.append(source)

    # Four to eight of the ten lines (speaker, line) come up, in random order.
    lines = [(0, line) for line in range(5)] + [(1, line) for line in range(5)]
    order = rng.permutation(len(lines))
    for i in order[: draws.integer(4, 8)]:
        speaker, line = lines[i]
        # Turn by turn speakers alternate from 0: the question must be the other speaker's turn.
        while len(turns) % 2 == speaker:
            add(draws.pick(SMALL_TALK[1:]))
        fact = personas[speaker][line]
        add(ATTRIBUTES[fact.attribute]["question"])
        add(draws.pick(fact.answers), line)
    if len(turns) % 2:
        add(draws.pick(SMALL_TALK[1:]))
    return Dialogue(index, personas, tuple(turns), tuple(sources))


def make_pairs(dialogue: Dialogue, seed: int) -> Iterator[tuple[str, Fact, Fact, str]]:
    """Yield (utterance, the fact that it states, a second fact, label) for inference between facts.

    Three for every turn that states a fact of its speaker's persona: the second fact is the same
    (``POSITIVE``), the same attribute with another value (``NEGATIVE``), or another attribute with
    any value, held by the speaker or not (``NEUTRAL``).
    """
    draws = Draws(stream("pairs", seed, dialogue.index))
    for turn, (text, source) in enumerate(zip(dialogue.turns, dialogue.sources, strict=True)):
        if source < 0:  # small talk or a question
            continue
        fact = dialogue.personas[turn % 2][source]
        other_values = [value for value in VALUES[fact.attribute] if value != fact.value]
        contradicting = Fact(fact.attribute, draws.pick(other_values))
        other_attributes = [name for name in ATTRIBUTES if name != fact.attribute]
        attribute = draws.pick(other_attributes)
        unrelated = Fact(attribute, draws.pick(VALUES[attribute]))
        yield text, fact, fact, POSITIVE
        yield text, fact, contradicting, NEGATIVE
        yield text, fact, unrelated, NEUTRAL
