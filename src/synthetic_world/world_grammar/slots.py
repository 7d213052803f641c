"""What fills the slots of the world's frames, read instead of written: words, numbers, titles of pages, mentions of persons.

A slot is a function that looks at the tokens from a place on and gives every way to fill it: how many tokens it takes, the
topics and pages that remain possible (a set of bits), and what later slots have to know.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from synthetic_world import lexicon
from synthetic_world.mentions import FEMALE, GENDERS, MALE, OBJECT, PLURAL, POSSESSIVE, SUBJECT

SINGULAR = (MALE, FEMALE)
FIRST_NAMES = dict.fromkeys(lexicon.MALE_NAMES, MALE) | dict.fromkeys(lexicon.FEMALE_NAMES, FEMALE)
SURNAMES, FAMILIES = frozenset(lexicon.SURNAMES), frozenset(f"{name}s" for name in lexicon.FAMILIES)
PLACES, PREFIXES, COMPANIES = (
    frozenset(lexicon.PLACES),
    frozenset(lexicon.PREFIXES),
    frozenset(lexicon.COMPANIES),
)
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
        if not set(person.names).isdisjoint(name for one in self.persons for name in one.names):
            return None
        persons = (*self.persons, person)
        for genders in product(*(one.genders for one in persons)):
            if not any(one.object and genders[i] in genders[:i] for i, one in enumerate(persons)):
                return self._replace(persons=persons)
        return None


Slot = Callable[[Sequence[str], int, State], Iterator[tuple[int, int, State]]]


def words(masks: Mapping[str, int], width: int = 1, year: bool = False) -> Slot:
    """One of some words or phrases of one length; each with the topics and pages that it goes with."""

    def fill(tokens: Sequence[str], at: int, state: State) -> Iterator[tuple[int, int, State]]:
        text = tokens[at] if width == 1 else " ".join(tokens[at : at + width])
        if text in masks:
            yield width, masks[text], state._replace(year=int(text)) if year else state

    return fill


def number(low: int, high: int, mask: int, thousands: bool = False) -> Slot:
    """A whole number from ``low`` to ``high``, spelt as the world spells it."""

    def fill(tokens: Sequence[str], at: int, state: State) -> Iterator[tuple[int, int, State]]:
        digits = tokens[at].replace(",", "")
        if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS:
            value = int(digits)
            if low <= value <= high and tokens[at] == (f"{value:,}" if thousands else str(value)):
                yield 1, mask, state

    return fill


def later_year(mask: int) -> Slot:
    """A year from 1 to 12 after the sentence's first."""
    return lambda tokens, at, state: number(state.year + 1, state.year + LATER, mask)(
        tokens, at, state
    )


def title(kind: str, nouns: Mapping[str, int], mask: int) -> Slot:
    """The title of a page of a kind, a film's with ``nouns`` of its topics: ``The Storm of Upper Aldburg``, ``Balt of Aldburg``."""

    def fill(tokens: Sequence[str], at: int, state: State) -> Iterator[tuple[int, int, State]]:
        allowed, ends = mask, []
        if kind == "city":
            ends = _place_ends(tokens, at)
        elif kind == "company" and tokens[at] in COMPANIES:
            ends = [
                at + 1,
                *(_place_ends(tokens, at + 2) if tokens[at + 1 : at + 2] == ["of"] else []),
            ]
        elif kind == "film" and tokens[at] == "The" and tokens[at + 2 : at + 3] == ["of"]:
            allowed = nouns.get(tokens[at + 1], 0)
            ends = _place_ends(tokens, at + 3) if allowed else []
        yield from ((end - at, allowed, state) for end in ends)

    return fill


def _place_ends(tokens: Sequence[str], at: int) -> list[int]:
    """Each end that the name of a place may have."""
    ends = []
    while at < len(tokens):
        if tokens[at] in PREFIXES and tokens[at + 1 : at + 2] and tokens[at + 1] in PLACES:
            ends.append(at + 2)
        if tokens[at] not in PLACES:
            break
        ends.append(at + 1)
        if tokens[at + 1 : at + 2] != ["of"]:
            break
        at += 2
    return ends


def mentions(mask: int, new: bool) -> dict[str, Slot]:
    """The roles of persons: subjects by number, others, and owners; a person goes with all topics and pages, the ``mask``.

    ``new``: in the first sentence of a document, where names are in full and pronouns mean persons of the sentence.
    """

    def mention(
        genders: Sequence[str],
        pronouns: Mapping[str, str],
        first: bool = False,
        object: bool = False,
    ) -> Slot:
        """A name of one of some genders, or a pronoun of a gender; as subjects they come ``first``."""

        def read(tokens: Sequence[str], at: int, state: State) -> Iterator[tuple[int, Person]]:
            token, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
            for gender, form in pronouns.items():
                known = not new or any(gender in person.genders for person in state.persons)
                if token == form and known and not (first and at):
                    yield 1, Person((gender,), object=object)
            gender = FIRST_NAMES.get(token, "")
            if gender in genders and following in SURNAMES:
                yield 2, Person((gender,), (token, following))
            if token in SURNAMES and MALE in genders and not new:
                yield 1, Person(SINGULAR, (token,))
            if token == "the" and PLURAL in genders and following in FAMILIES:
                yield 2, Person((PLURAL,), (following,))

        def fill(tokens: Sequence[str], at: int, state: State) -> Iterator[tuple[int, int, State]]:
            for width, person in read(tokens, at, state):
                after = state.with_person(person)
                if after is not None:
                    yield width, mask, after

        return fill

    subjects = {} if new else SUBJECT
    return {
        "one": mention(
            SINGULAR,
            {gender: form for gender, form in subjects.items() if gender in SINGULAR},
            first=True,
        ),
        "many": mention(
            [PLURAL],
            {gender: form for gender, form in subjects.items() if gender == PLURAL},
            first=True,
        ),
        "other": mention(GENDERS, {} if new else OBJECT, object=True),
        "own": mention([], POSSESSIVE),
    }
