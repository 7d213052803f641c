"""Sentence frames: slots and how each is filled, relations between clauses, facts of pages, and what a sentence records.

Slots drawn from the sentence's topic: ``{agent}`` ``{agents}`` (persons of a trade), ``{thing}`` ``{things}``,
``{being}`` ``{beings}``, ``{stuff}`` (no plural), ``{event}``, ``{idea}``, ``{place}``, ``{adj}``, ``{verb}`` (past,
done to things), ``{deed}`` (past, done to persons); ``a_`` before a slot adds the article, ``2`` behind it draws
another word. Others: ``{look}`` and ``{mood}``, adjectives that go with any noun and with any person; ``{T}`` title,
``{Town}``, ``{River}``, ``{year}``, ``{year2}``, ``{small}``, ``{height}``, ``{number}``, ``{dir}``; ``{F_relation}``
a fact of the page; ``{1}`` ``{2}`` ``{3}`` the sentence's mentions of persons.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from synthetic_world import lexicon
from synthetic_world.draws import Draws, table
from synthetic_world.lexicon import TABLE_SIZE, Topic, Vocabulary, article, plural

_TABLE = table("discourse")
SENSES, SENSE_PROBABILITIES = tuple(_TABLE["senses"]), tuple(_TABLE["senses"].values())
CUMULATIVE_SENSES = list(accumulate(SENSE_PROBABILITIES))
CONNECTIVES = ("", *_TABLE["connectives"].split())
INSIDE, ACROSS = (
    {sense: (list(row), list(accumulate(row.values()))) for sense, row in _TABLE[place].items()}
    for place in ("inside", "across")
)  # by sense: connectives and their cumulative probabilities
ACROSS_PROBABILITY = 0.5  # of a clause without persons that may open with a connective
COMMA_SENSES = ("contrast", "concession")  # ", although" but " because"


def connective_probabilities() -> np.ndarray:
    """P(connective | place, sense): float64, (inside or across, senses, connectives).

    Undefined rows are zero.
    """
    values = np.zeros((2, len(SENSES), len(CONNECTIVES)))
    for place, name in enumerate(("inside", "across")):
        for sense, row in _TABLE[name].items():
            values[place, SENSES.index(sense), [CONNECTIVES.index(word) for word in row]] = list(
                row.values()
            )
    return values


NAMES = {
    "place": lexicon.PLACES, "company": lexicon.COMPANIES, "region": lexicon.REGIONS, "river": lexicon.RIVERS,
    "language": lexicon.LANGUAGES,
}  # fmt: skip


@dataclass(frozen=True)
class Relation:
    """A functional relation: each page has exactly one value."""

    value: str  # a kind of name; ``year`` or ``number`` with its least and most; a person's ``trade``; or ``things``
    claim: str  # the sentence that says it of the page's title, without its stop

    def draw(self, draws: Draws, vocabulary: Vocabulary) -> str:
        """A value."""
        kind, *limits = self.value.split()
        if limits:
            number = draws.integer(*map(int, limits))
            return str(number) if kind == "year" else f"{number:,}"
        if kind in NAMES:
            return draws.pick(NAMES[kind])
        tables = draws.pick(vocabulary.topics).tables
        return (
            draws.pick(tables["person"]) if kind == "trade" else plural(draws.pick(tables["thing"]))
        )

    def show(self, value: str) -> str:
        """How the value stands in a sentence."""
        return article(value) if self.value == "trade" else value


RELATIONS: Mapping[str, Mapping[str, Relation]] = {
    kind: {name: Relation(**row) for name, row in rows.items()}
    for kind, rows in table("facts").items()
}  # by kind of page


def claim(kind: str, title: str, relation: str, value: str) -> str:
    """The sentence that says a page's relation has a value."""
    stated = RELATIONS[kind][relation]
    return stated.claim.replace("{T}", title).replace(f"{{F_{relation}}}", stated.show(value)) + "."


def other_value(kind: str, relation: str, true: str, draws: Draws, vocabulary: Vocabulary) -> str:
    """A value of the relation that is not the true one."""
    while (value := RELATIONS[kind][relation].draw(draws, vocabulary)) == true:
        pass
    return value


SETTLEMENTS = table("words")["settlements"]
GENRES, DIRECTIONS = table("words")["genres"].split(), table("words")["directions"].split()
WORD_SLOTS = {"agent": "person", "adj": "adjective"}
WORD_SLOTS |= {name: name for name in lexicon.SLOTS if name not in WORD_SLOTS.values()}
Part = str | int | Callable[["Page"], str]


@dataclass(frozen=True)
class Frame:
    """A compiled frame: literal text, mention numbers, and functions that fill a slot.

    ``dated`` if it names a year.
    """

    source: str
    parts: tuple[Part, ...]
    relations: tuple[str, ...]
    dated: bool


@dataclass
class Page:
    """What the sentences of one document share while it is written."""

    kind: str
    draws: Draws
    years: tuple[int, int]
    facts: Mapping[str, str]
    title: str
    topic: Topic
    year: int = 0
    words: list[tuple[str, str]] = field(
        default_factory=list
    )  # (slot, word) of the sentence being written
    places: list[int] = field(
        default_factory=list
    )  # the pieces of the sentence that hold those words
    used: set[str] = field(
        default_factory=set
    )  # frames of the section, so that it seldom says a thing twice
    stated: set[str] = field(
        default_factory=set
    )  # fact frames of the document: a page states a fact once

    def fresh(self, frames: Sequence[Frame]) -> Frame:
        """A frame that the section has not used, if three draws find one."""
        for _ in range(3):
            frame = self.draws.pick(frames)
            if frame.source not in self.used:
                break
        self.used.add(frame.source)
        return frame


def _word(slot: str, shape: Callable[[str], str], suffix: str) -> Callable[[Page], str]:
    """Fill a slot from the topic's table.

    A slot with suffix ``2`` by a word that is new to the sentence, in four tries.
    """

    def fill(page: Page) -> str:
        words = page.topic.tables[slot]
        for _ in range(4 if suffix else 1):
            word = words[int(page.draws.uniform() * TABLE_SIZE)]
            if suffix and word not in [known for _, known in page.words]:
                break
        page.words.append((slot + suffix, word))
        return shape(word)

    return fill


def _year(page: Page) -> str:
    page.year = page.draws.integer(*page.years)
    return str(page.year)


def _any(words: Sequence[str], shape: Callable[[str], str] = str) -> Callable[[Page], str]:
    return lambda page: shape(page.draws.pick(words))


def _integer(low: int, high: int) -> Callable[[Page], str]:
    return lambda page: f"{page.draws.integer(low, high):,}"


SLOTS: dict[str, Callable[[Page], str]] = {
    "T": lambda page: page.title,
    "Town": _any(lexicon.PLACES),
    "River": _any(lexicon.RIVERS),
    "year": _year,
    "year2": lambda page: str(page.year + page.draws.integer(1, 12)),
    "small": _integer(3, 60),
    "number": _integer(1_000, 99_000),
    "dir": _any(DIRECTIONS),
    "height": _integer(120, 990),
    "look": _any(lexicon.GENERIC_ADJECTIVES),
    "a_look": _any(lexicon.GENERIC_ADJECTIVES, article),
    "mood": _any(lexicon.PERSON_ADJECTIVES),
    "a_mood": _any(lexicon.PERSON_ADJECTIVES, article),
    "settlement": _any(SETTLEMENTS),
    "genre": _any(GENRES),
}
for _name, _slot in WORD_SLOTS.items():
    for _suffix in ("", "2"):
        SLOTS[_name + _suffix] = _word(_slot, str, _suffix)
        SLOTS[f"a_{_name}{_suffix}"] = _word(_slot, article, _suffix)
        SLOTS[f"{_name}s{_suffix}"] = _word(_slot, plural, _suffix)


def compile_frame(source: str) -> Frame:
    """Split a frame at its slots. Raises KeyError: a slot that the grammar does not know."""

    def part(text: str) -> Part:
        slot = text[1:-1]
        if not text.startswith("{"):
            return text
        if slot.startswith("F_"):
            return lambda page: RELATIONS[page.kind][slot[2:]].show(page.facts[slot[2:]])
        return int(slot) if slot.isdigit() else SLOTS[slot]

    parts = tuple(part(text) for text in re.split(r"(\{\w+\})", source) if text)
    return Frame(source, parts, tuple(re.findall(r"\{F_(\w+)\}", source)), "{year" in source)


@dataclass(frozen=True)
class Style:
    """The frames of one section type."""

    leads: tuple[Frame, ...]
    plain: tuple[Frame, ...]
    facts: tuple[Frame, ...]
    own_facts: tuple[Frame, ...]
    predicates: Mapping[tuple[str, bool], tuple[Frame, ...]]  # (mark, plural subject)


def compile_style(block: str) -> Style:
    """Frames of one section type from their marked lines."""
    lines: dict[str, list[str]] = {mark: [] for mark in ">-f123"}
    for line in block.strip().splitlines():
        mark, rest = line.strip()[0], line.strip()[1:]
        lines[mark].extend(part.strip() for part in rest.split("|") if part.strip())

    def compiled(sources: Sequence[str], shape: Callable[[str], str] = str) -> tuple[Frame, ...]:
        return tuple(compile_frame(shape(source)) for source in sources)

    plain = compiled(lines["-"])
    shapes = ((False, str), (True, _pluralised))
    predicates = {
        (mark, many): compiled(lines[mark], shape) for mark in "123" for many, shape in shapes
    }
    return Style(
        compiled(lines[">"], lambda source: source + " "),
        tuple(frame for frame in plain if not frame.relations),
        tuple(frame for frame in plain if frame.relations),
        compiled(lines["f"]),
        predicates,
    )


def _pluralised(source: str) -> str:
    """The verb phrase after a plural subject: ``was`` becomes ``were``, a present ``-s`` goes."""
    words = source.split(" ")
    place = int(words[0].endswith("ly") or words[0] == "often")
    verb = words[place]
    irregular = {"was": "were", "has": "have", "is": "are", "tries": "try"}
    if verb in irregular or (verb.endswith("s") and not verb.endswith("ss")):
        words[place] = irregular.get(verb, verb[:-1])
    return " ".join(words)


THIRD = {
    manner: tuple(map(compile_frame, frames)) for manner, frames in _TABLE["third"].items()
}  # a third mention
CLAUSES = {
    sense: tuple(map(compile_frame, block.splitlines()))
    for sense, block in _TABLE["clauses"].items()
}


@dataclass(frozen=True)
class Mention:
    """One mention of a person: where it stands in its sentence, its tag as a reader prints it, who it is."""

    start: int
    end: int
    tag: str
    person: int
    role: str  # S (subject), O (any other) or P (possessor)


@dataclass(frozen=True)
class Sentence:
    """A written sentence with its truth."""

    text: str
    topic: int
    mentions: tuple[Mention, ...]
    sense: int
    connective: int
    across: bool
    relations: tuple[str, ...]
    words: tuple[
        tuple[str, str, int, int], ...
    ]  # slot, dictionary form, and span of each content word
