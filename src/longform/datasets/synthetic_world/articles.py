"""The article writer: draws every latent of a document first, then realises its text by the grammar's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from longform.datasets.synthetic_world import names
from longform.datasets.synthetic_world.domains import Domain, domain
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.facts import RELATIONS
from longform.datasets.synthetic_world.grammar import Page, Sentence
from longform.datasets.synthetic_world.lexicon import Topic
from longform.datasets.synthetic_world.mentions import GENDERS, MALE, PLURAL, STOP, Symbol
from longform.datasets.synthetic_world.sentences import SentenceWriter

LONG_NAME = 0.4  # a later mention by name is in full this often, else by surname


@dataclass(frozen=True)
class Person:
    """A member of a document's cast; ``short`` is a surname, and equals ``full`` for a family."""

    gender: str
    full: str
    short: str


@dataclass(frozen=True)
class Article:
    """One document with all its truth.

    Attributes:
        sections: title and sentences, in reading order.
        chain: section types as indices.
        eta, path: main idea (topics - 1,) and sentence logits (sentences, topics - 1).
        symbols: the mention chain, persons numbered by first mention.
        facts: every fact of the page, stated in its text or not.
    """

    index: int
    kind: str
    title: str
    sections: tuple[tuple[str, tuple[Sentence, ...]], ...]
    chain: tuple[int, ...]
    eta: np.ndarray
    path: np.ndarray
    symbols: tuple[Symbol, ...]
    cast: tuple[Person, ...]
    facts: dict[str, str]

    @property
    def sentences(self) -> list[Sentence]:
        """All sentences, in reading order."""
        return [sentence for _, sentences in self.sections for sentence in sentences]


def write(seed: int, domain_name: str, index: int) -> Article:
    """Article ``index`` of a domain: a function of its three arguments and of nothing else."""
    world = domain(domain_name)
    rng = stream(domain_name, seed, index)
    draws = Draws(rng)
    chain = world.chain.sample(draws)
    counts = _section_lengths(len(chain), draws)
    second = world.chain.types[chain[1]] if len(chain) > 1 else ""
    kind = world.kind_of.get(second, world.kind)
    symbols = world.kinds[kind].mentions.sample(sum(counts), draws)
    eta = world.prior.draw(rng)
    path = world.prior.path(eta, sum(counts), rng)
    topics = world.prior.assign(path, rng)
    facts = {name: relation.draw(draws, world.vocabulary) for name, relation in RELATIONS[kind].items()}
    cast, main = _cast(symbols, index, draws), world.vocabulary.topics[topics[0]]
    title = _title(kind, cast, main, index, draws)
    page = Page(kind, draws, _years(kind, facts, draws), facts, title, main)
    sections = _realise(world, page, list(zip(chain, counts, strict=True)), topics, symbols, cast)
    return Article(index, kind, page.title, sections, tuple(chain), eta, path, tuple(symbols), cast, facts)


def _section_lengths(sections: int, draws: Draws) -> list[int]:
    """Five to nine sentences a section; few sections are long enough together, many are short enough."""
    low = min(9, max(5, -(-21 // sections)), max(3, 50 // sections))
    high = min(9, max(3, 66 // sections))
    return [draws.integer(low, high) for _ in range(sections)]


def _cast(symbols: Sequence[Symbol], index: int, draws: Draws) -> tuple[Person, ...]:
    """Persons of unused names; the first of a document is numbered, so that no two pages have the same person."""
    cast: list[Person] = []
    used: set[str] = set()

    def unused(pool: Sequence[str]) -> str:
        while (name := draws.pick(pool)) in used:
            pass
        used.add(name)
        return name

    for gender, person in symbols:
        if person != len(cast):
            continue
        if gender == PLURAL:
            family = f"the {unused(names.FAMILIES)}s"
            cast.append(Person(gender, family, family))
            continue
        pool = names.MALE if gender == MALE else names.FEMALE
        if cast:
            first, last = unused(pool), unused(names.SURNAMES)
        else:
            first, last = names.numbered_person(pool, index)
            used.update((first, last))
        cast.append(Person(gender, f"{first} {last}", last))
    return tuple(cast)


def _years(kind: str, facts: dict[str, str], draws: Draws) -> tuple[int, int]:
    if kind == "person":
        return int(facts["birth_year"]) + 18, int(facts["death_year"]) - 1
    if kind == "film":
        return int(facts["release"]) - 3, int(facts["release"]) + 1
    start = draws.integer(max(1830, int(facts.get("founded", "0"))) + 1, 1940)  # an era that one life can span
    return start, start + 45


def _title(kind: str, cast: Sequence[Person], topic: Topic, index: int, draws: Draws) -> str:
    if kind == "person":
        return cast[0].full
    if kind == "city":
        return names.numbered_place(index)
    if kind == "company":
        return names.numbered_company(index)
    noun = draws.pick(topic.tables[draws.pick(("thing", "place", "person", "event"))]).capitalize()
    if kind == "film":
        return f"The {noun} of {names.numbered_place(index)}"
    return f"The {draws.pick(topic.tables['adjective']).capitalize()} {noun}"


def _realise(
    world: Domain,
    page: Page,
    plan: Sequence[tuple[int, int]],
    topics: Sequence[int],
    symbols: Sequence[Symbol],
    cast: Sequence[Person],
) -> tuple[tuple[str, tuple[Sentence, ...]], ...]:
    """Text of each section; ``plan`` has the type and number of sentences of each."""
    met: set[int] = set()
    groups: list[list[Symbol]] = []  # mentions by sentence
    for symbol in symbols:
        if symbol == STOP:
            groups.append([])
        else:
            groups[-1].append(symbol)
    sections, rows = [], zip(topics, groups, strict=True)
    for place, (row, count) in enumerate(plan):
        title = world.chain.types[row]
        style = world.styles.get(title) or world.styles[f"{title}/{page.kind}"]
        sentences = []
        page.used = set()
        for position, (topic, group) in enumerate(islice(rows, count)):
            page.topic = world.vocabulary.topics[topic]
            page.words, page.places = [], []
            surfaces = _surfaces(group, cast, met, page.draws)
            opening = world.kinds[page.kind].openings if place == position == 0 else None
            protagonist = cast[0].full if cast else ""
            writer = SentenceWriter(world.fact_share, page, style, group, surfaces, protagonist, opening)
            sentences.append(writer.write(topic, first=position == 0))
        sections.append((title, tuple(sentences)))
    return tuple(sections)


def _surfaces(group: Sequence[Symbol], cast: Sequence[Person], met: set[int], draws: Draws) -> list[str]:
    """How each mention is spelt: a pronoun as it is, a person in full at first and sometimes later."""
    surfaces = []
    for tag, person in group:
        short = tag in GENDERS and person in met and draws.uniform() > LONG_NAME
        surfaces.append(tag if tag not in GENDERS else cast[person].short if short else cast[person].full)
        met.add(person)
    return surfaces
