"""Dialogues of two speakers with personas: what they say follows from a persona line or from none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from longform.datasets.synthetic_world import everyday
from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.lexicon import article, parse_kinds, plural
from longform.documents import Corpus, Document, Section
from longform.resampling import generator

ATTRIBUTES = {  # name: (persona line, question, two answers that follow from the line)
    "pet": (
        "i have a pet {x} .",
        "do you have any pets ?",
        ("yes , my {x} sleeps on my bed .", "i walk my {x} every day ."),
    ),
    "job": (
        "i work as {ax} .",
        "what do you do for work ?",
        ("i am {ax} in a small town .", "i earn my money as {ax} ."),
    ),
    "food": (
        "my favorite food is {x} .",
        "what do you like to eat ?",
        ("i could eat {x} all day .", "i cook {x} every week ."),
    ),
    "play": (
        "i play the {x} .",
        "do you play any music ?",
        ("i practise the {x} at night .", "i am learning the {x} ."),
    ),
    "town": (
        "i live near {ax} .",
        "where do you live ?",
        ("there is {ax} behind my house .", "from my window i see {ax} ."),
    ),
    "ride": (
        "i drive {ax} .",
        "how do you get around ?",
        ("i take my {x} everywhere .", "my {x} is very old ."),
    ),
    "color": (
        "i love the color {x} .",
        "what is your favorite color ?",
        ("all my clothes are {x} .", "i painted my room {x} ."),
    ),
    "family": (
        "i have {x} brothers .",
        "do you have a big family ?",
        ("my {x} brothers are loud .", "i grew up with {x} brothers ."),
    ),
}
SMALL_TALK = (
    "hello , how are you today ?", "i am fine , thanks .", "that sounds nice .", "really ? tell me more .",
    "i have to go soon .", "it is raining here .", "what a funny story .", "i see , that is great .",
)  # fmt: skip
COLORS = ("red", "blue", "green", "yellow", "purple", "orange", "black", "white")
NUMBERS = ("two", "three", "four", "five", "six", "seven")
POSITIVE, NEUTRAL, NEGATIVE = "positive", "neutral", "negative"


def _values() -> dict[str, tuple[str, ...]]:
    def kind(topic: str, name: str) -> tuple[str, ...]:
        return parse_kinds(everyday.TOPICS[topic])[name]

    return {
        "pet": (*kind("farm", "animal"), "dog", "cat", "rabbit", "parrot"),
        "job": kind("kitchen", "person") + kind("school", "person"),
        "food": tuple(map(plural, kind("kitchen", "food"))),
        "play": kind("music", "instrument"),
        "town": kind("harbour", "water") + kind("mountain", "land"),
        "ride": kind("harbour", "vehicle") + kind("farm", "vehicle"),
        "color": COLORS,
        "family": NUMBERS,
    }


VALUES = _values()


@dataclass(frozen=True)
class Fact:
    """One line of a persona as attribute and value."""

    attribute: str
    value: str

    @property
    def line(self) -> str:
        """The persona line."""
        return _show(ATTRIBUTES[self.attribute][0], self.value)

    @property
    def answers(self) -> tuple[str, str]:
        """What a speaker of this persona may say."""
        first, second = ATTRIBUTES[self.attribute][2]
        return _show(first, self.value), _show(second, self.value)


def _show(text: str, value: str) -> str:
    return text.format(x=value, ax=article(value))


@dataclass(frozen=True)
class Dialogue:
    """Two personas and the turns; ``sources[t]`` is the persona line that turn t follows from, or -1."""

    index: int
    personas: tuple[tuple[Fact, ...], tuple[Fact, ...]]
    turns: tuple[str, ...]
    sources: tuple[int, ...]


def write_dialogue(seed: int, index: int) -> Dialogue:
    """Dialogue ``index``: a function of its arguments alone."""
    rng = generator("planted", "dialogues", seed, index)
    draws = Draws(rng)
    personas = tuple(_persona(rng.permutation(len(ATTRIBUTES))[:5].tolist(), draws) for _ in range(2))
    turns, sources = [SMALL_TALK[0]], [-1]
    asked: list[tuple[int, int]] = [(speaker, line) for speaker in (0, 1) for line in range(5)]
    order = [asked[i] for i in rng.permutation(len(asked))][: draws.integer(4, 8)]
    for speaker, line in order:
        while len(turns) % 2 == speaker:  # the question stands at the other speaker's turn
            turns.append(draws.pick(SMALL_TALK[1:]))
            sources.append(-1)
        fact = personas[speaker][line]
        turns += [ATTRIBUTES[fact.attribute][1], draws.pick(fact.answers)]
        sources += [-1, line]
    if len(turns) % 2:
        turns.append(draws.pick(SMALL_TALK[1:]))
        sources.append(-1)
    return Dialogue(index, (personas[0], personas[1]), tuple(turns), tuple(sources))


def _persona(attributes: Sequence[int], draws: Draws) -> tuple[Fact, ...]:
    names = [list(ATTRIBUTES)[i] for i in attributes]
    return tuple(Fact(name, draws.pick(VALUES[name])) for name in names)


def label(first: Fact, second: Fact) -> str:
    """How one persona fact bears on another: entailed, contradicted or neither."""
    if first.attribute != second.attribute:
        return NEUTRAL
    return POSITIVE if first.value == second.value else NEGATIVE


@dataclass(frozen=True)
class Pair:
    """An utterance, a persona line, their label, and the facts behind them."""

    utterance: str
    line: str
    label: str
    facts: tuple[Fact, Fact]


def make_pairs(dialogue: Dialogue, seed: int) -> Iterator[Pair]:
    """For every turn with a source: its own line, a line with another value, and a line on something else."""
    draws = Draws(generator("planted", "pairs", seed, dialogue.index))
    for turn, (text, source) in enumerate(zip(dialogue.turns, dialogue.sources, strict=True)):
        if source < 0:
            continue
        fact = dialogue.personas[turn % 2][source]
        other = Fact(fact.attribute, draws.pick([v for v in VALUES[fact.attribute] if v != fact.value]))
        apart = draws.pick([name for name in ATTRIBUTES if name != fact.attribute])
        for second in (fact, other, Fact(apart, draws.pick(VALUES[apart]))):
            yield Pair(text, second.line, label(fact, second), (fact, second))


def dialogue_corpus(dialogues: Sequence[Dialogue], splits: Sequence[str], facts: dict[str, object]) -> Corpus:
    """Dialogues as documents of one section, one turn a line; persona lines and sources are truth."""
    documents = [
        Document(f"dialogues-{d.index:06d}", split, (Section(None, "\n".join(d.turns)),))
        for d, split in zip(dialogues, splits, strict=True)
    ]
    truth = {
        "turn_source": np.array([s for d in dialogues for s in d.sources], dtype=np.int64),
        "turn_source_lengths": np.array([len(d.sources) for d in dialogues], dtype=np.int64),
        "persona_lines": np.array([[[f.line for f in p] for p in d.personas] for d in dialogues], dtype=np.str_),
    }
    return Corpus(documents, truth, facts)
