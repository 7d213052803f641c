"""Facts of titled pages: what relations a kind of page has, how a value is drawn, and how it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longform.corpora.planted import names
from longform.corpora.planted.draws import Draws
from longform.corpora.planted.lexicon import Vocabulary, article, plural

LANGUAGES = ("Tavic", "Orrish", "Senni", "Karvian", "Lostic", "Mirene")


def _word(slot: str) -> Callable[[Draws, Vocabulary], str]:
    return lambda draws, vocabulary: draws.pick(draws.pick(vocabulary.topics).tables[slot])


def _number(low: int, high: int) -> Callable[[Draws, Vocabulary], str]:
    return lambda draws, vocabulary: f"{draws.integer(low, high):,}"


def _year(low: int, high: int) -> Callable[[Draws, Vocabulary], str]:
    return lambda draws, vocabulary: str(draws.integer(low, high))


def _name(pool: tuple[str, ...]) -> Callable[[Draws, Vocabulary], str]:
    return lambda draws, vocabulary: draws.pick(pool)


@dataclass(frozen=True)
class Relation:
    """A functional relation: each page has exactly one value.

    Attributes:
        draw: a value from draws and the domain's vocabulary.
        show: how the value stands in a sentence.
        pattern: regular expression of a shown value; its one group is what ``read`` gets.
        read: the value from what was shown.
    """

    draw: Callable[[Draws, Vocabulary], str]
    pattern: str
    show: Callable[[str], str] = str
    read: Callable[[str], str] = str


YEAR, NUMBER, NAME = r"(\d{4})", r"(\d[\d,]*)", r"([A-Z]\w+)"
RELATIONS: Mapping[str, Mapping[str, Relation]] = {
    "person": {
        "birthplace": Relation(_name(names.PLACES), NAME),
        "job": Relation(_word("person"), r"an? (\w+)", article),
        "birth_year": Relation(_year(1850, 1880), YEAR),
        "employer": Relation(_name(names.COMPANIES), NAME),
        "death_year": Relation(_year(1905, 1945), YEAR),
        "burial_place": Relation(_name(names.PLACES), NAME),
    },
    "film": {
        "release": Relation(_year(1921, 1999), YEAR),
        "studio": Relation(_name(names.COMPANIES), NAME),
        "setting": Relation(_name(names.PLACES), NAME),
        "length": Relation(_number(70, 190), NUMBER),
        "language": Relation(_name(LANGUAGES), NAME),
    },
    "city": {
        "region": Relation(_name(names.REGIONS), NAME),
        "founded": Relation(_year(1100, 1880), YEAR),
        "population": Relation(_number(900, 99_000), NUMBER),
        "river": Relation(_name(names.RIVERS), NAME),
        "elevation": Relation(_number(3, 900), NUMBER),
        "twin": Relation(_name(names.PLACES), NAME),
    },
    "company": {
        "seat": Relation(_name(names.PLACES), NAME),
        "founded": Relation(_year(1830, 1930), YEAR),
        "employees": Relation(_number(20, 9_000), NUMBER),
        "owner": Relation(_name(names.COMPANIES), NAME),
        "product": Relation(lambda d, v: plural(_word("thing")(d, v)), r"(\w+)"),
    },
    "study": {},
}


def draw_facts(kind: str, draws: Draws, vocabulary: Vocabulary) -> dict[str, str]:
    """One value for every relation of a kind of page."""
    return {name: relation.draw(draws, vocabulary) for name, relation in RELATIONS[kind].items()}
