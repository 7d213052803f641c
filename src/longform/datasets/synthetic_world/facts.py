"""Facts of titled pages: what relations a kind of page has, how a value is drawn, and how it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from longform.datasets.synthetic_world import names
from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.lexicon import Vocabulary, article, plural
from longform.datasets.synthetic_world.tables import table

NAMES = {
    "place": names.PLACES, "company": names.COMPANIES, "region": names.REGIONS, "river": names.RIVERS,
    "language": names.LANGUAGES,
}  # fmt: skip
PATTERNS = {"trade": r"an? (\w+)", "things": r"(\w+)", "year": r"(\d{4})", "number": r"(\d{1,3}(?:,\d{3})*)"}


@dataclass(frozen=True)
class Relation:
    """A functional relation: each page has exactly one value.

    Attributes:
        value: a kind of name; ``year`` or ``number`` with its least and most; a person's ``trade``; or ``things``.
        claim: the sentence that says it of the page's title, without its stop.
    """

    value: str
    claim: str

    def draw(self, draws: Draws, vocabulary: Vocabulary) -> str:
        """A value."""
        kind, *limits = self.value.split()
        if limits:
            number = draws.integer(*map(int, limits))
            return str(number) if kind == "year" else f"{number:,}"
        if kind in NAMES:
            return draws.pick(NAMES[kind])
        tables = draws.pick(vocabulary.topics).tables
        return draws.pick(tables["person"]) if kind == "trade" else plural(draws.pick(tables["thing"]))

    def show(self, value: str) -> str:
        """How the value stands in a sentence."""
        return article(value) if self.value == "trade" else value

    @property
    def pattern(self) -> str:
        """Regular expression of a shown value; its one group is the value."""
        return PATTERNS.get(self.value.split()[0], r"([A-Z]\w+)")


RELATIONS: Mapping[str, Mapping[str, Relation]] = {
    kind: {name: Relation(**row) for name, row in rows.items()} for kind, rows in table("facts").items()
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
