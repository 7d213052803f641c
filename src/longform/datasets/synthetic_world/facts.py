"""Facts of titled pages: what relations a kind of page has, how a value is drawn, and how it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longform.datasets.synthetic_world import names
from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.lexicon import Vocabulary, article, plural

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


YEAR, NUMBER, NAME = r"(\d{4})", r"(\d{1,3}(?:,\d{3})*)", r"([A-Z]\w+)"
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


CLAIMS: Mapping[str, Mapping[str, str]] = {  # one sentence per relation, as a claim about a page's title
    "person": {
        "birthplace": "{T} came from {F_birthplace}",
        "job": "{T} worked as {F_job}",
        "birth_year": "{T} was born in {F_birth_year}",
        "employer": "{T} worked for {F_employer}",
        "death_year": "{T} died in {F_death_year}",
        "burial_place": "{T} is buried in {F_burial_place}",
    },
    "film": {
        "release": "{T} was released in {F_release}",
        "studio": "{T} was produced by {F_studio}",
        "setting": "{T} is set in {F_setting}",
        "length": "{T} runs for {F_length} minutes",
        "language": "{T} was filmed in {F_language}",
    },
    "city": {
        "region": "{T} belongs to {F_region}",
        "founded": "{T} was founded in {F_founded}",
        "population": "{T} has a population of {F_population}",
        "river": "{T} lies on the river {F_river}",
        "elevation": "{T} stands {F_elevation} metres above the sea",
        "twin": "{T} is twinned with {F_twin}",
    },
    "company": {
        "seat": "{T} is based in {F_seat}",
        "founded": "{T} was founded in {F_founded}",
        "employees": "{T} has {F_employees} employees",
        "owner": "{T} is owned by {F_owner}",
        "product": "{T} is best known for its {F_product}",
    },
    "study": {},
}


def claim(kind: str, title: str, relation: str, value: str) -> str:
    """The sentence that says a page's relation has a value."""
    shown = RELATIONS[kind][relation].show(value)
    return CLAIMS[kind][relation].replace("{T}", title).replace(f"{{F_{relation}}}", shown) + "."


def other_value(kind: str, relation: str, true: str, draws: Draws, vocabulary: Vocabulary) -> str:
    """A value of the relation that is not the true one."""
    while (value := RELATIONS[kind][relation].draw(draws, vocabulary)) == true:
        pass
    return value
