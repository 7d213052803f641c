"""Stories whose fourth sentence decides which of two endings is right, and dialogues of two speakers with personas.

What a speaker says follows from a persona line or from none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthetic_world import lexicon
from synthetic_world.draws import Draws, stream, table
from synthetic_world.lexicon import TABLE_SIZE, article, plural, vocabulary

SCHEMAS: Sequence[Mapping[str, Sequence[str]]] = table(
    "stories"
)  # opening, turns and endings by outcome
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
    """Story ``index``: a function of its arguments alone."""
    draws = Draws(stream("stories", seed, index))
    number, outcome = draws.integer(0, len(SCHEMAS) - 1), draws.integer(0, 1)
    topic = draws.pick(vocabulary("everyday").topics)
    male = draws.pick((True, False))
    words = {
        name: topic.tables[slot][int(draws.uniform() * TABLE_SIZE)] for name, slot in SLOTS.items()
    }
    words |= {f"a_{slot}": article(word) for slot, word in words.items()}
    words |= {f"{slot}s": plural(words[slot]) for slot in ("agent", "thing", "being")}
    words["A_agent"] = words["a_agent"].capitalize()
    words["name"] = draws.pick(lexicon.MALE_NAMES if male else lexicon.FEMALE_NAMES)
    words |= {"Town": draws.pick(lexicon.PLACES), "small": str(draws.integer(3, 60))} | (
        HE if male else SHE
    )
    right = draws.integer(0, 1)
    schema = {
        part: [text.format_map(words) for text in texts] for part, texts in SCHEMAS[number].items()
    }
    context = (*schema["opening"], schema["turns"][outcome])
    first = outcome ^ right
    return Story(
        index,
        context,
        (schema["endings"][first], schema["endings"][1 - first]),
        right,
        number,
        outcome,
    )


ATTRIBUTES: Mapping[str, Mapping[str, Any]] = table("dialogues")["attributes"]
SMALL_TALK: Sequence[str] = table("dialogues")["small_talk"]
POSITIVE, NEUTRAL, NEGATIVE = "positive", "neutral", "negative"


VALUES: dict[str, tuple[str, ...]] = {}
for _name, _attribute in ATTRIBUTES.items():
    _places = [
        word.partition("/") for word in _attribute["values"].split()
    ]  # words, or kinds of word of a topic
    _known = [
        value
        for topic, _, kind in _places
        for value in (table("everyday")[topic][kind].split() if kind else [topic])
    ]
    VALUES[_name] = tuple(map(plural, _known)) if _name == "food" else tuple(_known)


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
        return tuple(
            a.format(x=self.value, ax=article(self.value))
            for a in ATTRIBUTES[self.attribute]["answers"]
        )


@dataclass(frozen=True)
class Dialogue:
    """Two personas and alternating turns.

    ``sources``: the speaker's persona line behind each turn, or -1.
    """

    index: int
    personas: tuple[tuple[Fact, ...], tuple[Fact, ...]]
    turns: tuple[str, ...]
    sources: tuple[int, ...]


def write_dialogue(seed: int, index: int) -> Dialogue:
    """Dialogue ``index``: a function of its arguments alone."""
    rng = stream("dialogues", seed, index)
    draws, names = Draws(rng), list(ATTRIBUTES)

    def persona() -> tuple[Fact, ...]:
        return tuple(
            Fact(names[i], draws.pick(VALUES[names[i]]))
            for i in rng.permutation(len(names))[:5].tolist()
        )

    personas = (persona(), persona())
    turns, sources = [SMALL_TALK[0]], [-1]

    def add(text: str, source: int = -1) -> None:
        turns.append(text)
        sources.append(source)

    asked = [(speaker, line) for speaker in (0, 1) for line in range(5)]
    for speaker, line in [asked[i] for i in rng.permutation(len(asked))[: draws.integer(4, 8)]]:
        while len(turns) % 2 == speaker:  # the question stands at the other speaker's turn
            add(draws.pick(SMALL_TALK[1:]))
        fact = personas[speaker][line]
        add(ATTRIBUTES[fact.attribute]["question"])
        add(draws.pick(fact.answers), line)
    if len(turns) % 2:
        add(draws.pick(SMALL_TALK[1:]))
    return Dialogue(index, personas, tuple(turns), tuple(sources))


def make_pairs(dialogue: Dialogue, seed: int) -> Iterator[tuple[str, Fact, Fact, str]]:
    """Utterance, its fact, a second one and their label: for every turn with a source the same, another value, another attribute."""
    draws = Draws(stream("pairs", seed, dialogue.index))
    for turn, (text, source) in enumerate(zip(dialogue.turns, dialogue.sources, strict=True)):
        if source < 0:
            continue
        fact = dialogue.personas[turn % 2][source]
        other = Fact(
            fact.attribute, draws.pick([v for v in VALUES[fact.attribute] if v != fact.value])
        )
        apart = draws.pick([name for name in ATTRIBUTES if name != fact.attribute])
        neutral = Fact(apart, draws.pick(VALUES[apart]))
        for label, second in ((POSITIVE, fact), (NEGATIVE, other), (NEUTRAL, neutral)):
            yield text, fact, second, label
