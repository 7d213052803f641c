"""What fills the slots of the world's frames, read instead of written: words, numbers, titles of pages, mentions of persons.

A slot looks at the tokens from a place on and gives every way to fill it: how many tokens it takes, the topics and pages
that remain possible (a set of bits), and what later slots have to know.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, Protocol

from longform.datasets.synthetic_world import lexicon
from longform.datasets.synthetic_world.mentions import FEMALE, GENDERS, MALE, OBJECT, PLURAL, POSSESSIVE, SUBJECT

SINGULAR = (MALE, FEMALE)
FIRST_NAMES = dict.fromkeys(lexicon.MALE_NAMES, MALE) | dict.fromkeys(lexicon.FEMALE_NAMES, FEMALE)
SURNAMES, FAMILIES = frozenset(lexicon.SURNAMES), frozenset(f"{name}s" for name in lexicon.FAMILIES)
PLACES, PREFIXES, COMPANIES = frozenset(lexicon.PLACES), frozenset(lexicon.PREFIXES), frozenset(lexicon.COMPANIES)
LATER = 12  # {year2} is at most so many years after {year}
DIGITS = 6  # of the longest number of the world


class Person(NamedTuple):
    """A mention that was read: the genders that it may have, the names in it, whether it is a pronoun that is an object."""

    genders: tuple[str, ...]
    names: tuple[str, ...] = ()
    object: bool = False


class State(NamedTuple):
    """What a sentence has said so far that its later slots depend on."""

    year: int = 0
    persons: tuple[Person, ...] = ()

    def with_person(self, person: Person) -> "State | None":
        """The state after a mention; None where the process of mentions cannot go on so."""
        named = [name for one in self.persons for name in one.names]
        if not set(person.names).isdisjoint(named):
            return None
        persons = (*self.persons, person)
        for genders in product(*(one.genders for one in persons)):
            if not any(
                one.object and gender in genders[:i]
                for i, (one, gender) in enumerate(zip(persons, genders, strict=True))
            ):
                return self._replace(persons=persons)
        return None


Way = tuple[int, int, State]


class Slot(Protocol):
    """One slot of a frame."""

    def fill(self, tokens: Sequence[str], at: int, state: State) -> Iterator[Way]:
        """Every way to fill it with the tokens from ``at`` on."""


@dataclass(frozen=True)
class Words:
    """One of some words or phrases of one length; each with the topics and pages that it goes with."""

    masks: Mapping[str, int]
    width: int = 1
    year: bool = False

    def fill(self, tokens: Sequence[str], at: int, state: State) -> Iterator[Way]:
        """At most one way."""
        text = tokens[at] if self.width == 1 else " ".join(tokens[at : at + self.width])
        mask = self.masks.get(text)
        if mask is not None:
            yield self.width, mask, state._replace(year=int(text)) if self.year else state


@dataclass(frozen=True)
class Number:
    """A whole number from ``low`` to ``high``, spelt as the world spells it."""

    low: int
    high: int
    mask: int
    thousands: bool = False

    def fill(self, tokens: Sequence[str], at: int, state: State) -> Iterator[Way]:
        """At most one way."""
        text = tokens[at]
        digits = text.replace(",", "")
        if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS:
            value = int(digits)
            if self.low <= value <= self.high and text == (f"{value:,}" if self.thousands else str(value)):
                yield 1, self.mask, state


@dataclass(frozen=True)
class LaterYear:
    """A year from 1 to 12 after the sentence's first."""

    mask: int

    def fill(self, tokens: Sequence[str], at: int, state: State) -> Iterator[Way]:
        """At most one way."""
        return Number(state.year + 1, state.year + LATER, self.mask).fill(tokens, at, state)


@dataclass(frozen=True)
class Title:
    """The title of a page: ``The Storm of Upper Aldburg``, ``Balt of Aldburg``; towns and companies have any number.

    Attributes:
        kind: of page.
        nouns: of a film's title, with their topics.
        mask: of the others.
    """

    kind: str
    nouns: Mapping[str, int]
    mask: int

    def fill(self, tokens: Sequence[str], at: int, state: State) -> Iterator[Way]:
        """A way for each end that a name of a place may have."""
        if self.kind == "city":
            yield from ((end - at, self.mask, state) for end in _place_ends(tokens, at))
        elif self.kind == "company" and tokens[at] in COMPANIES:
            yield 1, self.mask, state
            if tokens[at + 1 : at + 2] == ["of"]:
                yield from ((end - at, self.mask, state) for end in _place_ends(tokens, at + 2))
        elif self.kind == "film" and tokens[at] == "The" and tokens[at + 2 : at + 3] == ["of"]:
            mask = self.nouns.get(tokens[at + 1], 0)
            yield from ((end - at, mask, state) for end in _place_ends(tokens, at + 3) if mask)


def _place_ends(tokens: Sequence[str], at: int) -> Iterator[int]:
    while at < len(tokens):
        if tokens[at] in PREFIXES and tokens[at + 1 : at + 2] and tokens[at + 1] in PLACES:
            yield at + 2
        if tokens[at] not in PLACES:
            return
        yield at + 1
        if tokens[at + 1 : at + 2] != ["of"]:
            return
        at += 2


@dataclass(frozen=True)
class Mentioned:
    """A mention of a person.

    Attributes:
        mask: of topics and pages; a person goes with all.
        genders: whom a name may name.
        pronouns: form -> gender.
        new: nobody has been met before the sentence, so that names are in full and pronouns mean persons of the sentence.
        first: the pronouns are subjects: they open the sentence.
        object: the pronouns are objects.
    """

    mask: int
    genders: tuple[str, ...] = ()
    pronouns: tuple[tuple[str, str], ...] = ()
    new: bool = False
    first: bool = False
    object: bool = False

    def fill(self, tokens: Sequence[str], at: int, state: State) -> Iterator[Way]:
        """A way for each reading as a pronoun, a full name, a surname, a family."""
        for width, person in self._read(tokens, at, state):
            after = state.with_person(person)
            if after is not None:
                yield width, self.mask, after

    def _read(self, tokens: Sequence[str], at: int, state: State) -> Iterator[tuple[int, Person]]:
        token, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
        for form, gender in self.pronouns:
            known = not self.new or any(gender in person.genders for person in state.persons)
            if token == form and known and not (self.first and at):
                yield 1, Person((gender,), object=self.object)
        gender = FIRST_NAMES.get(token, "")
        if gender in self.genders and following in SURNAMES:
            yield 2, Person((gender,), (token, following))
        if token in SURNAMES and MALE in self.genders and not self.new:
            yield 1, Person(SINGULAR, (token,))
        if token == "the" and PLURAL in self.genders and following in FAMILIES:
            yield 2, Person((PLURAL,), (following,))


def mentions(mask: int, new: bool) -> dict[str, Mentioned]:
    """The roles of persons: subjects by number, others, and owners.

    Args:
        mask: of all topics and pages.
        new: in the first sentence of a document.
    """
    subjects = {gender: form for gender, form in SUBJECT.items() if not new}
    others = () if new else tuple((form, gender) for gender, form in OBJECT.items())
    owners = tuple((form, gender) for gender, form in POSSESSIVE.items())

    def subject(*genders: str) -> Mentioned:
        pronouns = tuple((subjects[gender], gender) for gender in genders if gender in subjects)
        return Mentioned(mask, genders, pronouns, new, first=True)

    return {
        "one": subject(*SINGULAR),
        "many": subject(PLURAL),
        "other": Mentioned(mask, GENDERS, others, new, object=True),
        "own": Mentioned(mask, (), owners, new),
    }
