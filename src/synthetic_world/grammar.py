"""Frames of sentences, what fills their slots, relations of clauses, and facts of pages.

Slots drawn from the sentence's topic: ``{agent}`` ``{agents}`` (persons of a trade), ``{thing}``
``{things}``, ``{being}`` ``{beings}``, ``{stuff}`` (no plural), ``{event}``, ``{idea}``,
``{place}``, ``{adj}``, ``{verb}`` (past, done to things), ``{deed}`` (past, done to persons);
``a_`` before a slot adds the article, ``2`` behind it draws another word. Others: ``{look}`` and
``{mood}``, adjectives that go with any noun and with any person; ``{T}`` title, ``{Town}``,
``{River}``, ``{year}``, ``{year2}``, ``{small}``, ``{height}``, ``{number}``, ``{dir}``;
``{F_relation}`` a fact of the page; ``{1}`` ``{2}`` ``{3}`` the sentence's mentions of persons.
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


def _cumulative(
    rows: Mapping[str, Mapping[str, float]],
) -> dict[str, tuple[list[str], list[float]]]:
    """Sense -> its connectives, and their cumulative probabilities."""
    by_sense = {}
    for sense, row in rows.items():
        by_sense[sense] = list(row), list(accumulate(row.values()))
    return by_sense


INSIDE, ACROSS = _cumulative(_TABLE["inside"]), _cumulative(_TABLE["across"])
ACROSS_PROBABILITY = 0.5  # of a clause without persons that may open with a connective
COMMA_SENSES = ("contrast", "concession")  # ", although" but " because"


def connective_probabilities() -> np.ndarray:
    """P(connective | place, sense): float64, (inside or across, senses, connectives).

    Undefined rows are zero.
    """
    values = np.zeros((2, len(SENSES), len(CONNECTIVES)))
    for number, name in enumerate(("inside", "across")):
        for sense, row in _TABLE[name].items():
            for word, probability in row.items():
                values[number, SENSES.index(sense), CONNECTIVES.index(word)] = probability
    return values


NAMES = {
    "place": lexicon.PLACES,
    "company": lexicon.COMPANIES,
    "region": lexicon.REGIONS,
    "river": lexicon.RIVERS,
    "language": lexicon.LANGUAGES,
}


@dataclass(frozen=True)
class Relation:
    """A functional relation: each page has exactly one value.

    Attributes:
        value: a kind of name; ``year`` or ``number`` with its least and most; a person's ``trade``;
            or ``things``.
        claim: the sentence that says it of the page's title, without its stop.
    """

    value: str
    claim: str

    def draw(self, draws: Draws, vocabulary: Vocabulary) -> str:
        """Draw a value as a page's facts have it: ``1,234``, a year, a name, a plural."""
        kind, *limits = self.value.split()
        if limits:
            number = draws.integer(*map(int, limits))
            return str(number) if kind == "year" else f"{number:,}"
        if kind in NAMES:
            return draws.pick(NAMES[kind])
        tables = draws.pick(vocabulary.topics).tables
        if kind == "trade":
            return draws.pick(tables["person"])
        return plural(draws.pick(tables["thing"]))

    def show(self, value: str) -> str:
        """How the value stands in a sentence."""
        return article(value) if self.value == "trade" else value


def _relations(rows: Mapping[str, Mapping[str, str]]) -> dict[str, Relation]:
    return {name: Relation(**row) for name, row in rows.items()}


# By kind of page.
RELATIONS: Mapping[str, Mapping[str, Relation]] = {
    kind: _relations(rows) for kind, rows in table("facts").items()
}


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
    """What the sentences of one document share while it is written.

    Attributes:
        kind, title, facts: of the page.
        draws: of the document.
        years: the first and the last that it may name.
        topic: of the sentence being written.
        year: the first that the sentence names.
        words: (slot, word) of the sentence.
        word_pieces: the pieces of the sentence that hold those words.
        used: frames of the section, so that it seldom says a thing twice.
        stated: fact frames of the document: a page states a fact once.
    """

    kind: str
    draws: Draws
    years: tuple[int, int]
    facts: Mapping[str, str]
    title: str
    topic: Topic
    year: int = 0
    words: list[tuple[str, str]] = field(default_factory=list)
    word_pieces: list[int] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    stated: set[str] = field(default_factory=set)

    def fresh(self, frames: Sequence[Frame]) -> Frame:
        """A frame that the section has not used, if three draws find one."""
        for _ in range(3):
            frame = self.draws.pick(frames)
            if frame.source not in self.used:
                break
        self.used.add(frame.source)
        return frame


def _word(slot: str, shape: Callable[[str], str], suffix: str) -> Callable[[Page], str]:
    """Make the function that fills a slot with a word of the page's topic, and notes the word.

    Args:
        slot: names the topic's table, in which a word stands as often as it is probable.
        shape: makes its form, such as a plural, of the word.
        suffix: "2" tries four times for a word that is new to the sentence; else "".
    """

    def fill(page: Page) -> str:
        words = page.topic.tables[slot]
        for _ in range(4 if suffix else 1):
            word = words[int(page.draws.uniform() * TABLE_SIZE)]
            if suffix and not _is_said(page, word):
                break
        page.words.append((slot + suffix, word))
        return shape(word)

    return fill


def _is_said(page: Page, word: str) -> bool:
    """Whether the sentence has the word already."""
    return any(word == other for _, other in page.words)


def _year(page: Page) -> str:
    """Draw a year of the page's time, and note it for ``{year2}``, a later one."""
    page.year = page.draws.integer(*page.years)
    return str(page.year)


def _any(words: Sequence[str], shape: Callable[[str], str] = str) -> Callable[[Page], str]:
    """Make the function that fills a slot with any of some words, all alike probable."""
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
    parts = [_part(text) for text in re.split(r"(\{\w+\})", source) if text]
    relations = tuple(re.findall(r"\{F_(\w+)\}", source))
    return Frame(source, tuple(parts), relations, dated="{year" in source)


def _part(text: str) -> Part:
    """A piece of a frame: literal text, the number of a mention, or what fills its slot."""
    if not text.startswith("{"):
        return text
    slot = text[1:-1]
    if slot.isdigit():
        return int(slot)
    if not slot.startswith("F_"):
        return SLOTS[slot]
    relation = slot.removeprefix("F_")
    return lambda page: RELATIONS[page.kind][relation].show(page.facts[relation])


@dataclass(frozen=True)
class Style:
    """The frames of one section type."""

    leads: tuple[Frame, ...]
    plain: tuple[Frame, ...]
    facts: tuple[Frame, ...]
    own_facts: tuple[Frame, ...]
    predicates: Mapping[tuple[str, bool], tuple[Frame, ...]]  # (mark, plural subject)


def compile_style(block: str) -> Style:
    """Frames of one section type from their marked lines.

    A line has its mark, then frames with bars between them: ``>`` leads, ``-`` plain ones, ``f``
    facts of the page's own person, ``1`` to ``3`` predicates by the mentions that they have.
    """
    # 1. The frames of each mark.
    sources: dict[str, list[str]] = {mark: [] for mark in ">-f123"}
    for line in block.strip().splitlines():
        marked = line.strip()
        mark = marked[0]
        for part in marked[1:].split("|"):
            if part.strip():
                sources[mark].append(part.strip())
    # 2. Plain frames that state a fact stand apart; predicates have a singular and a plural.
    plain: list[Frame] = []
    facts: list[Frame] = []
    for source in sources["-"]:
        frame = compile_frame(source)
        (facts if frame.relations else plain).append(frame)
    predicates: dict[tuple[str, bool], tuple[Frame, ...]] = {}
    for mark in "123":
        predicates[mark, False] = tuple(map(compile_frame, sources[mark]))
        predicates[mark, True] = tuple(map(compile_frame, map(_pluralised, sources[mark])))
    leads = tuple(compile_frame(f"{source} ") for source in sources[">"])
    own_facts = tuple(map(compile_frame, sources["f"]))
    return Style(leads, tuple(plain), tuple(facts), own_facts, predicates)


def _pluralised(source: str) -> str:
    """The verb phrase after a plural subject: ``was`` becomes ``were``, a present ``-s`` goes."""
    words = source.split(" ")
    at = int(words[0].endswith("ly") or words[0] == "often")  # the verb, behind an adverb
    verb = words[at]
    irregular = {"was": "were", "has": "have", "is": "are", "tries": "try"}
    if verb in irregular or (verb.endswith("s") and not verb.endswith("ss")):
        words[at] = irregular.get(verb, verb[:-1])
    return " ".join(words)


# By the manner of a third mention: what is said of it.
THIRD = {manner: tuple(map(compile_frame, frames)) for manner, frames in _TABLE["third"].items()}
CLAUSES = {
    sense: tuple(map(compile_frame, block.splitlines()))
    for sense, block in _TABLE["clauses"].items()
}


@dataclass(frozen=True)
class Mention:
    """One mention of a person.

    Attributes:
        start, end: where it stands in its sentence, in characters.
        tag: as a reader prints it.
        person: who it is.
        role: S (subject), O (any other) or P (possessor).
    """

    start: int
    end: int
    tag: str
    person: int
    role: str


@dataclass(frozen=True)
class Sentence:
    """A written sentence with its truth.

    Attributes:
        text: as it stands in the document.
        topic: by number.
        mentions: of persons, in order.
        sense: of its second clause, by number; 0 where it has none.
        connective: by number.
        across: whether it is only that clause, joined to the sentence before.
        relations: facts that it states.
        words: slot, dictionary form, and span of each content word.
    """

    text: str
    topic: int
    mentions: tuple[Mention, ...]
    sense: int
    connective: int
    across: bool
    relations: tuple[str, ...]
    words: tuple[tuple[str, str, int, int], ...]
