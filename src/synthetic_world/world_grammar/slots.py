"""Matchers for the slots of the world's frames: words, numbers, titles of pages, mentions.

A slot is a function that looks at the tokens from an index on and yields every way to fill it: how
many tokens it takes, a mask of the topics and pages that may use what it read (a bit each), and the
state that later slots depend on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from synthetic_world import lexicon
from synthetic_world.mentions import FEMALE, GENDERS, MALE, OBJECT, PLURAL, POSSESSIVE, SUBJECT

SINGULAR = (MALE, FEMALE)
FIRST_NAMES = dict.fromkeys(lexicon.MALE_NAMES, MALE) | dict.fromkeys(lexicon.FEMALE_NAMES, FEMALE)
SURNAMES = frozenset(lexicon.SURNAMES)
FAMILIES = frozenset(f"{name}s" for name in lexicon.FAMILIES)
PLACES = frozenset(lexicon.PLACES)
PREFIXES = frozenset(lexicon.PREFIXES)
COMPANIES = frozenset(lexicon.COMPANIES)
LATER = 12  # {year2} is at most so many years after {year}
DIGITS = 6  # of the longest number of the world


class Person(NamedTuple):
    """A mention of a person in a sentence.

    Attributes:
        genders: the genders that the person may have.
        names: the first and last names in the mention.
        object: whether the mention is an object pronoun.
    """

    genders: tuple[str, ...]
    names: tuple[str, ...] = ()
    object: bool = False


class State(NamedTuple):
    """What a sentence has said so far that its later slots depend on."""

    year: int = 0
    persons: tuple[Person, ...] = ()

    def with_person(self, person: Person) -> "State | None":
        """The state after another mention; None where the world would not write that mention."""
        # 1. No name comes twice in a sentence.
        for other in self.persons:
            if not set(person.names).isdisjoint(other.names):
                return None
        # 2. Some choice of genders has no object pronoun of a gender that was named before it.
        persons = (*self.persons, person)
        for genders in product(*(mention.genders for mention in persons)):
            if not _object_of_a_known_gender(persons, genders):
                return self._replace(persons=persons)
        return None


def _object_of_a_known_gender(persons: Sequence[Person], genders: Sequence[str]) -> bool:
    """Whether an object pronoun has the gender of a person mentioned before it.

    Args:
        persons: the mentions of a sentence, in order.
        genders: one choice of a gender for each.
    """
    for number, person in enumerate(persons):
        if person.object and genders[number] in genders[:number]:
            return True
    return False


# Each way to fill a slot: how many tokens it takes, the topics and pages that may use what it read
# (a bit each), and the sentence's state after it.
Fillings = Iterator[tuple[int, int, State]]
# From a sentence's tokens, the index of the next one and the state; the ``fill`` of what follows.
Slot = Callable[[Sequence[str], int, State], Fillings]


def words(masks: Mapping[str, int], width: int = 1, year: bool = False) -> Slot:
    """A slot that takes one of several words, or one of several phrases of the same length.

    Args:
        masks: for each word or phrase the topics and pages that may use it, as bits.
        width: the number of words in each phrase.
        year: whether they are years; the state then has the year, which ``later_year`` looks at.
    """

    def fill(tokens: Sequence[str], at: int, state: State) -> Fillings:
        text = tokens[at] if width == 1 else " ".join(tokens[at : at + width])
        if text in masks:
            after = state._replace(year=int(text)) if year else state
            yield width, masks[text], after

    return fill


def number(low: int, high: int, mask: int, thousands: bool = False) -> Slot:
    """A slot that takes a whole number from ``low`` to ``high``, spelt as the world spells it.

    Args:
        low, high: the least and the greatest number.
        mask: topics and pages that may use it, as bits.
        thousands: whether it has commas between thousands.
    """

    def fill(tokens: Sequence[str], at: int, state: State) -> Fillings:
        digits = tokens[at].replace(",", "")
        if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS:
            value = int(digits)
            if low <= value <= high and tokens[at] == (f"{value:,}" if thousands else str(value)):
                yield 1, mask, state

    return fill


def later_year(mask: int) -> Slot:
    """A slot that takes a year 1 to ``LATER`` years after the sentence's first year."""
    return lambda tokens, at, state: number(state.year + 1, state.year + LATER, mask)(
        tokens, at, state
    )


def title(kind: str, nouns: Mapping[str, int], mask: int) -> Slot:
    """A slot that takes a page's title: ``The Storm of Upper Aldburg``, ``Balt of Aldburg``.

    Args:
        kind: of the page.
        nouns: for each noun of a film's title the topics and pages that may use it, as bits.
        mask: topics and pages that may use other titles.
    """

    def fill(tokens: Sequence[str], at: int, state: State) -> Fillings:
        # Each index behind which the title may end; a company's may be its first word alone.
        following = tokens[at + 1 : at + 3]
        allowed = mask
        ends: list[int] = []
        if kind == "city":
            ends = _place_ends(tokens, at)
        elif kind == "company" and tokens[at] in COMPANIES:
            ends = [at + 1]
            if following[:1] == ["of"]:
                ends += _place_ends(tokens, at + 2)
        elif kind == "film" and tokens[at] == "The" and following[1:] == ["of"]:
            allowed = nouns.get(following[0], 0)
            ends = _place_ends(tokens, at + 3) if allowed else []
        for end in ends:
            yield end - at, allowed, state

    return fill


def _place_ends(tokens: Sequence[str], at: int) -> list[int]:
    """The indices behind each possible end of a place name that begins at ``at``.

    ``Upper Aldburg`` or ``Aldburg``, and either after any number of ``Aldburg of``.
    """
    ends = []
    while at < len(tokens):
        if tokens[at] in PREFIXES and at + 1 < len(tokens) and tokens[at + 1] in PLACES:
            ends.append(at + 2)
        if tokens[at] not in PLACES:
            break
        ends.append(at + 1)
        if tokens[at + 1 : at + 2] != ["of"]:
            break
        at += 2
    return ends


def mentions(mask: int, new: bool) -> dict[str, Slot]:
    """The slots for mentions of persons, by the role of the person in the sentence.

    Args:
        mask: topics and pages that may mention a person: all of them.
        new: whether the sentence is the first of a document, where names are in full and pronouns
            mean persons of the sentence.

    Returns:
        ``one`` and ``many``: a singular and a plural subject; ``other``: another person, whose
        pronoun is an object; ``own``: an owner, by a possessive pronoun alone.
    """
    subjects = {} if new else SUBJECT
    singular = {gender: subjects[gender] for gender in SINGULAR if gender in subjects}
    plural = {gender: subjects[gender] for gender in (PLURAL,) if gender in subjects}
    objects = {} if new else OBJECT
    return {
        "one": _mention(mask, new, SINGULAR, singular, first=True),
        "many": _mention(mask, new, (PLURAL,), plural, first=True),
        "other": _mention(mask, new, GENDERS, objects, object=True),
        "own": _mention(mask, new, (), POSSESSIVE),
    }


def _mention(
    mask: int,
    new: bool,
    genders: Sequence[str],
    pronouns: Mapping[str, str],
    first: bool = False,
    object: bool = False,
) -> Slot:
    """The slot for mentions of persons in one role.

    Args:
        mask, new: as of :func:`mentions`.
        genders: those that a person mentioned by name may have; none: names are not allowed.
        pronouns: the role's pronoun for each gender.
        first: whether a pronoun may stand only at the start of the sentence, as a subject does.
        object: whether the role's pronoun is an object.
    """

    def persons_at(tokens: Sequence[str], at: int, state: State) -> Iterator[tuple[int, Person]]:
        """Each way to read a mention at a token: its number of tokens, and the person."""
        token = tokens[at]
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        # 1. A pronoun; in a new document somebody of its gender comes before it.
        for gender, form in pronouns.items():
            if token == form and not (first and at) and (not new or _names(state, gender)):
                yield 1, Person((gender,), object=object)
        # 2. A name in full, a surname, a family.
        gender = FIRST_NAMES.get(token, "")
        if gender in genders and following in SURNAMES:
            yield 2, Person((gender,), (token, following))
        if token in SURNAMES and MALE in genders and not new:
            yield 1, Person(SINGULAR, (token,))
        if token == "the" and PLURAL in genders and following in FAMILIES:
            yield 2, Person((PLURAL,), (following,))

    def fill(tokens: Sequence[str], at: int, state: State) -> Fillings:
        for width, person in persons_at(tokens, at, state):
            after = state.with_person(person)
            if after is not None:
                yield width, mask, after

    return fill


def _names(state: State, gender: str) -> bool:
    """Whether a sentence has mentioned somebody who may be of a gender."""
    return any(gender in person.genders for person in state.persons)
