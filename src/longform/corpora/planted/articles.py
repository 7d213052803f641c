"""The article writer: draws every latent of a document first, then realises its text by the grammar's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.corpora.planted import discourse, names
from longform.corpora.planted.domains import Domain, domain
from longform.corpora.planted.draws import Draws
from longform.corpora.planted.facts import draw_facts
from longform.corpora.planted.grammar import (
    CLAUSES,
    THIRD,
    Frame,
    Mention,
    Page,
    Sentence,
    Style,
    fill,
    spans,
    subject_is_plural,
)
from longform.corpora.planted.mentions import FEMALE, GENDERS, MALE, PLURAL, POSSESSIVE, STOP, Symbol
from longform.numerics import generator

LEAD_PROBABILITY = 0.3
LONG_NAME = 0.4  # a later mention by name is in full this often, else by surname
OWN_AGAIN = 0.3 / 1.0  # "her" of a person outside the sentence: share of possessives, as in mentions._pronouns
OWN = set(POSSESSIVE.values()) - {"her"}


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
    rng = generator("planted", domain_name, seed, index)
    draws = Draws(rng)
    chain = world.chain.sample(draws)
    counts = _section_lengths(world, len(chain), draws)
    second = world.chain.types[chain[1]] if len(chain) > 1 else ""
    kind = world.kind_of.get(second, world.kind_of[""])
    symbols = world.kinds[kind].mentions.sample(sum(counts), draws)
    eta = world.prior.draw(rng)
    path = world.prior.path(eta, sum(counts), rng)
    topics = world.prior.assign(path, rng)
    facts = draw_facts(kind, draws, world.vocabulary)
    cast = _cast(symbols, draws)
    page = Page(kind, draws, _years(kind, facts, draws), facts, _title(kind, world, cast, topics, draws))
    sections = _realise(world, page, chain, counts, topics, symbols, cast)
    return Article(index, kind, page.title, sections, tuple(chain), eta, path, tuple(symbols), cast, facts)


def _section_lengths(world: Domain, sections: int, draws: Draws) -> list[int]:
    low, high = world.sentences
    high = max(low, min(high, 72 // sections))  # keeps a document of many sections below 1,200 tokens
    return [draws.integer(low, high) for _ in range(sections)]


def _cast(symbols: Sequence[Symbol], draws: Draws) -> tuple[Person, ...]:
    genders: list[str] = []
    for tag, person in symbols:
        if person == len(genders):
            genders.append(tag)
    pools = {MALE: names.MALE, FEMALE: names.FEMALE, PLURAL: names.FAMILIES}
    used: set[str] = set()
    return tuple(_person(gender, pools[gender], used, draws) for gender in genders)


def _person(gender: str, pool: Sequence[str], used: set[str], draws: Draws) -> Person:
    first = _unused(pool, used, draws)
    if gender == PLURAL:
        return Person(gender, f"the {first}s", f"the {first}s")
    last = _unused(names.SURNAMES, used, draws)
    return Person(gender, f"{first} {last}", last)


def _unused(pool: Sequence[str], used: set[str], draws: Draws) -> str:
    while (name := draws.pick(pool)) in used:
        pass
    used.add(name)
    return name


def _years(kind: str, facts: dict[str, str], draws: Draws) -> tuple[int, int]:
    if kind == "person":
        return int(facts["birth_year"]) + 18, int(facts["death_year"]) - 1
    if kind == "film":
        return int(facts["release"]) - 3, int(facts["release"]) + 1
    start = draws.integer(max(1830, int(facts.get("founded", "0"))) + 1, 1940)  # an era that one life can span
    return start, start + 45


def _title(kind: str, world: Domain, cast: Sequence[Person], topics: Sequence[int], draws: Draws) -> str:
    if kind == "person":
        return cast[0].full
    if kind == "city":
        return draws.pick(names.PLACES)
    if kind == "company":
        return draws.pick(names.COMPANIES)
    topic = world.vocabulary.topics[topics[0]]
    noun = draws.pick(topic.tables[draws.pick(("thing", "place", "person", "event"))])
    return f"The {draws.pick(topic.tables['adjective']).capitalize()} {noun.capitalize()}"


def _realise(world, page, chain, counts, topics, symbols, cast):
    groups = _by_sentence(symbols)
    met: set[int] = set()
    sections, number = [], 0
    for place, (row, count) in enumerate(zip(chain, counts, strict=True)):
        title = world.chain.types[row]
        style = world.styles.get(title) or world.styles[f"{title}/{page.kind}"]
        sentences = []
        page.used = set()
        for position in range(count):
            page.topic = world.vocabulary.topics[topics[number]]
            page.words = []
            surfaces = _surfaces(groups[number], cast, met, page.draws)
            opening = world.kinds[page.kind].openings if place == 0 and position == 0 else None
            writer = _SentenceWriter(world, page, style, groups[number], surfaces, cast, opening)
            sentences.append(writer.write(topics[number], first=position == 0))
            number += 1
        sections.append((title, tuple(sentences)))
    return tuple(sections)


def _by_sentence(symbols: Sequence[Symbol]) -> list[list[Symbol]]:
    groups: list[list[Symbol]] = []
    for symbol in symbols:
        if symbol == STOP:
            groups.append([])
        else:
            groups[-1].append(symbol)
    return groups


def _surfaces(group: Sequence[Symbol], cast: Sequence[Person], met: set[int], draws: Draws) -> list[str]:
    surfaces = []
    for tag, person in group:
        if tag not in GENDERS:
            surfaces.append(tag)
        elif person in met and draws.uniform() > LONG_NAME:
            surfaces.append(cast[person].short)
        else:
            surfaces.append(cast[person].full)
        met.add(person)
    return surfaces


@dataclass
class _SentenceWriter:
    """Realises one sentence: mentions and topic are given, its frame and connective are drawn."""

    world: Domain
    page: Page
    style: Style
    group: Sequence[Symbol]
    surfaces: list[str]
    cast: Sequence[Person]
    opening: tuple[Frame, ...] | None

    def write(self, topic: int, first: bool) -> Sentence:
        draws = self.page.draws
        sense = draws.index(discourse.CUMULATIVE_SENSES)
        name = discourse.SENSES[sense]
        pieces: list[str] = []
        marks: list[int] = []
        relations: tuple[str, ...] = ()
        across = not (self.group or first or self.opening) and name in discourse.ACROSS
        across = across and draws.uniform() < discourse.ACROSS_PROBABILITY
        if across:
            connective = self._across(name, pieces, marks)
        else:
            relations = self._main(pieces, marks)
            connective = self._inside(name, pieces, marks) if sense else ""
        pieces.append(".")
        pieces[0] = pieces[0][0].upper() + pieces[0][1:]
        places = zip(spans(pieces, marks), self.group, strict=True) if marks else ()
        mentions = tuple(Mention(start, end, tag, person) for (start, end), (tag, person) in places)
        number = discourse.CONNECTIVES.index(connective)
        return Sentence("".join(pieces), topic, mentions, sense, number, across, relations, tuple(self.page.words))

    def _across(self, sense: str, pieces: list[str], marks: list[int]) -> str:
        options, cumulative = discourse.ACROSS_TABLES[sense]
        connective = options[self.page.draws.index(cumulative)]
        pieces.append("yet " if connective == "yet" else f"{connective}, ")
        fill(self.page.draws.pick(CLAUSES[sense]), self.page, (), pieces, marks)
        return connective

    def _inside(self, sense: str, pieces: list[str], marks: list[int]) -> str:
        options, cumulative = discourse.INSIDE_TABLES[sense]
        connective = options[self.page.draws.index(cumulative)]
        pieces.append(f", {connective} " if sense in discourse.COMMA_SENSES else f" {connective} ")
        fill(self.page.draws.pick(CLAUSES[sense]), self.page, (), pieces, marks)
        return connective

    def _main(self, pieces: list[str], marks: list[int]) -> tuple[str, ...]:
        draws, style, group = self.page.draws, self.style, self.group
        frame = self._fact_frame()
        if frame is None and not group:
            frame = self.page.fresh(style.plain)
            self._lead(frame, pieces, marks)
        if frame is not None:
            fill(frame, self.page, self.surfaces, pieces, marks)
        else:
            self._person(pieces, marks)
        if len(group) == 3:
            fill(draws.pick(THIRD[self._manner(2)]), self.page, self.surfaces, pieces, marks)
        return frame.relations if frame else ()

    def _fact_frame(self) -> Frame | None:
        group, draws = self.group, self.page.draws
        if self.opening:
            return self.opening[0 if not group else 1 if len(group) == 1 else 2 if self._manner(1) == "other" else 3]
        if not group and self.style.facts and draws.uniform() < self.world.fact_share:
            return self._unstated(self.style.facts)
        own = len(group) == 1 and group[0][0] in GENDERS and group[0][1] == 0
        if own and self.style.own_facts and draws.uniform() < self.world.fact_share:
            frame = self._unstated(self.style.own_facts)
            if frame:
                self.surfaces[0] = self.cast[0].full
            return frame
        return None

    def _unstated(self, frames: Sequence[Frame]) -> Frame | None:
        frame = self.page.draws.pick(frames)
        if frame.source in self.page.stated:
            return None
        self.page.stated.add(frame.source)
        return frame

    def _person(self, pieces: list[str], marks: list[int]) -> None:
        group = self.group
        mark = "1" if len(group) == 1 else "2" if self._manner(1) == "other" else "3"
        frame = self.page.fresh(self.style.predicates[mark, subject_is_plural(group[0][0])])
        if group[0][0] in GENDERS:
            self._lead(frame, pieces, marks)
        marks.append(len(pieces))
        pieces.extend((self.surfaces[0], " "))
        fill(frame, self.page, self.surfaces, pieces, marks)

    def _lead(self, frame: Frame, pieces: list[str], marks: list[int]) -> None:
        """Sometimes an adverbial first; never two years in one sentence."""
        draws = self.page.draws
        if not self.style.leads or draws.uniform() > LEAD_PROBABILITY:
            return
        lead = draws.pick(self.style.leads)
        if not (lead.dated and frame.dated):
            fill(lead, self.page, (), pieces, marks)

    def _manner(self, place: int) -> str:
        """Whether a later mention stands for itself or owns something; ``her`` may do either."""
        tag, person = self.group[place]
        if tag != "her":
            return "own" if tag in OWN else "other"
        inside = any(person == other for _, other in self.group[:place])
        return "own" if inside or self.page.draws.uniform() < OWN_AGAIN else "other"
