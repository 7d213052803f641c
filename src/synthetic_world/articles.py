"""The article writer: draws every latent of a document first, then realises its sentences by the grammar's frames."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

import numpy as np

from synthetic_world import grammar, lexicon
from synthetic_world.domains import domain
from synthetic_world.draws import Draws, stream
from synthetic_world.grammar import CLAUSES, RELATIONS, THIRD, Frame, Mention, Page, Sentence, Style
from synthetic_world.lexicon import Topic
from synthetic_world.mentions import GENDERS, MALE, PLURAL, POSSESSIVE, STOP, Symbol

LEAD_PROBABILITY = 0.3
HER_OWN = 0.3  # "her" of a person outside the sentence is possessive this often
OWN = set(POSSESSIVE.values()) - {"her"}
LONG_NAME = 0.4  # a later mention by name is in full this often, else by surname


@dataclass
class SentenceWriter:
    """Realises one sentence: mentions and topic are given, its frame and connective are drawn."""

    fact_share: float
    page: Page
    style: Style
    group: Sequence[Symbol]
    surfaces: list[str]
    protagonist: str
    opening: tuple[Frame, ...] | None
    pieces: list[str] = field(default_factory=list)  # of the text
    marks: list[int] = field(default_factory=list)  # the pieces that are mentions
    manners: dict[int, str] = field(default_factory=dict)
    subject: str = (
        "S"  # role of the first mention; an object where a first sentence is about something else
    )

    def write(self, topic: int, first: bool) -> Sentence:
        """The sentence; one that is first in its section never opens with a connective."""
        draws, pieces = self.page.draws, self.pieces
        sense = draws.index(grammar.CUMULATIVE_SENSES)
        name, connective = grammar.SENSES[sense], ""
        across = not (self.group or first or self.opening) and name in grammar.ACROSS
        across = across and draws.uniform() < grammar.ACROSS_PROBABILITY
        relations = () if across else self._main()
        if sense:
            connectives, cumulative = (grammar.ACROSS if across else grammar.INSIDE)[name]
            connective = connectives[draws.index(cumulative)]
            if across:
                pieces.append("yet " if connective == "yet" else f"{connective}, ")
            else:
                pieces.append(
                    f", {connective} " if name in grammar.COMMA_SENSES else f" {connective} "
                )
            self._fill(draws.pick(CLAUSES["result" if across and name == "causal" else name]))
        pieces.append(".")
        pieces[0] = pieces[0][0].upper() + pieces[0][1:]
        spans = [
            (end - len(piece), end)
            for end, piece in zip(accumulate(map(len, pieces)), pieces, strict=True)
        ]
        mentions = []
        for place, (piece, symbol) in enumerate(zip(self.marks, self.group, strict=True)):
            role = self.subject if place == 0 else "P" if self._manner(place) == "own" else "O"
            mentions.append(Mention(*spans[piece], *symbol, role))
        words = tuple(
            (slot, word, *spans[piece])
            for (slot, word), piece in zip(self.page.words, self.page.places, strict=True)
        )
        number = grammar.CONNECTIVES.index(connective)
        return Sentence(
            "".join(pieces), topic, tuple(mentions), sense, number, across, relations, words
        )

    def _fill(self, frame: Frame) -> None:
        page, pieces = self.page, self.pieces
        for part in frame.parts:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, int):
                self.marks.append(len(pieces))
                pieces.append(self.surfaces[part - 1])
            else:
                pieces.append(part(page))
                if len(page.words) > len(page.places):
                    page.places.append(len(pieces) - 1)

    def _main(self) -> tuple[str, ...]:
        """The main clause; returns the relations of the facts that it states."""
        group = self.group
        frame = self._fact_frame()
        if frame is not None:
            self._fill(frame)
        elif group:
            mark = "1" if len(group) == 1 else "2" if self._manner(1) == "other" else "3"
            person = self.page.fresh(self.style.predicates[mark, group[0][0] in (PLURAL, "They")])
            if group[0][0] in GENDERS:
                self._lead(person)
            self.marks.append(len(self.pieces))
            self.pieces.extend((self.surfaces[0], " "))
            self._fill(person)
        else:
            plain = self.page.fresh(self.style.plain)
            self._lead(plain)
            self._fill(plain)
        if len(group) == 3:
            self._fill(self.page.draws.pick(THIRD[self._manner(2)]))
        return frame.relations if frame else ()

    def _fact_frame(self) -> Frame | None:
        """The page's opening, a fact that it has not stated yet, or none."""
        group, draws = self.group, self.page.draws
        if self.opening:
            number = min(len(group), 2)
            opening = self.opening[number + (number == 2 and self._manner(1) == "own")]
            self.subject = "S" if opening.source.startswith("{1}") else "O"
            return opening
        own = len(group) == 1 and group[0][0] in GENDERS and group[0][1] == 0
        frames = self.style.own_facts if own else () if group else self.style.facts
        if not frames or draws.uniform() >= self.fact_share:
            return None
        frame = draws.pick(frames)
        if frame.source in self.page.stated:
            return None
        self.page.stated.add(frame.source)
        if own:
            self.surfaces[0] = self.protagonist
        return frame

    def _lead(self, frame: Frame) -> None:
        draws = self.page.draws
        if self.style.leads and draws.uniform() <= LEAD_PROBABILITY:
            lead = draws.pick(self.style.leads)
            if not (lead.dated and frame.dated):
                self._fill(lead)

    def _manner(self, place: int) -> str:
        """Whether a later mention stands for itself or owns something; ``her`` may do either."""
        if place not in self.manners:
            tag, person = self.group[place]
            inside = any(person == other for _, other in self.group[:place])
            her_own = tag == "her" and (inside or self.page.draws.uniform() < HER_OWN)
            self.manners[place] = "own" if tag in OWN or her_own else "other"
        return self.manners[place]


class Person(NamedTuple):
    """A member of a document's cast; ``short`` is a surname, and equals ``full`` for a family."""

    full: str
    short: str


@dataclass(frozen=True)
class Article:
    """One document with all its truth."""

    index: int
    kind: str
    title: str
    sections: tuple[tuple[str, tuple[Sentence, ...]], ...]  # title and sentences, in reading order
    chain: tuple[int, ...]  # section types as indices
    eta: np.ndarray  # main idea, (topics - 1,)
    path: np.ndarray  # logits, (sentences, topics - 1)
    symbols: tuple[Symbol, ...]  # the mention chain, persons numbered by first mention
    cast: tuple[Person, ...]
    facts: dict[str, str]  # every fact of the page, stated in its text or not

    @property
    def sentences(self) -> list[Sentence]:
        """All sentences, in reading order."""
        return [sentence for _, sentences in self.sections for sentence in sentences]


def write(seed: int, domain_name: str, index: int) -> Article:
    """Article ``index`` of a domain: a function of its three arguments and of nothing else."""
    world, rng = domain(domain_name), stream(domain_name, seed, index)
    draws = Draws(rng)
    chain = world.chain.sample(draws)
    # five to nine sentences a section; few sections are long enough together, many are short enough
    low = min(9, max(5, -(-21 // len(chain))), max(3, 50 // len(chain)))
    counts = [draws.integer(low, min(9, max(3, 66 // len(chain)))) for _ in chain]
    kind = (
        world.kind_of.get(world.chain.types[chain[1]], world.kind) if len(chain) > 1 else world.kind
    )
    symbols = world.kinds[kind].mentions.sample(sum(counts), draws)
    eta = world.prior.draw(rng)
    path = world.prior.path(eta, sum(counts), rng)
    topics = world.prior.assign(path, rng)
    facts = {
        name: relation.draw(draws, world.vocabulary) for name, relation in RELATIONS[kind].items()
    }
    cast = _cast(symbols, index, draws)
    page = _page(kind, facts, cast, world.vocabulary.topics[topics[0]], index, draws)
    stops = [
        place for place, symbol in enumerate(symbols) if symbol == STOP
    ]  # one opens each sentence
    groups = [
        symbols[a + 1 : b] for a, b in pairwise([*stops, len(symbols)])
    ]  # mentions by sentence
    met: set[int] = set()
    sections, rows = [], zip(topics, groups, strict=True)
    for place, (row, count) in enumerate(zip(chain, counts, strict=True)):
        section = world.chain.types[row]
        style = world.styles.get(section) or world.styles[f"{section}/{kind}"]
        sentences = []
        page.used = set()
        for position, (topic, group) in enumerate(islice(rows, count)):
            page.topic, page.words, page.places = world.vocabulary.topics[topic], [], []
            surfaces = []  # how each mention is spelt: a pronoun as it is, a person in full at first and sometimes later
            for tag, person in group:
                short = tag in GENDERS and person in met and draws.uniform() > LONG_NAME
                surfaces.append(
                    tag
                    if tag not in GENDERS
                    else cast[person].short
                    if short
                    else cast[person].full
                )
                met.add(person)
            opening = world.kinds[kind].openings if place == position == 0 else None
            protagonist = cast[0].full if cast else ""
            writer = SentenceWriter(
                world.fact_share, page, style, group, surfaces, protagonist, opening
            )
            sentences.append(writer.write(topic, first=position == 0))
        sections.append((section, tuple(sentences)))
    return Article(
        index,
        kind,
        page.title,
        tuple(sections),
        tuple(chain),
        eta,
        path,
        tuple(symbols),
        cast,
        facts,
    )


def _cast(symbols: Sequence[Symbol], index: int, draws: Draws) -> tuple[Person, ...]:
    """Persons of unused names.

    The first of a document is numbered, so that no two pages have the same person.
    """
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
        pool = lexicon.MALE_NAMES if gender == MALE else lexicon.FEMALE_NAMES
        if gender == PLURAL:
            family = f"the {unused(lexicon.FAMILIES)}s"
            cast.append(Person(family, family))
        elif cast:
            first, last = unused(pool), unused(lexicon.SURNAMES)
            cast.append(Person(f"{first} {last}", last))
        else:
            rank, number = divmod(
                index, len(lexicon.SURNAMES)
            )  # within a pool names repeat after 124,800 numbers
            first, last = pool[(rank + 7 * number) % len(pool)], lexicon.SURNAMES[number]
            used.update((first, last))
            cast.append(Person(f"{first} {last}", last))
    return tuple(cast)


def _page(
    kind: str, facts: dict[str, str], cast: Sequence[Person], topic: Topic, index: int, draws: Draws
) -> Page:
    """The page with its title and the years that its sentences may name."""
    if kind in ("film", "study"):
        noun = draws.pick(
            topic.tables[draws.pick(("thing", "place", "person", "event"))]
        ).capitalize()
    if kind == "person":
        return Page(
            kind,
            draws,
            (int(facts["birth_year"]) + 18, int(facts["death_year"]) - 1),
            facts,
            cast[0].full,
            topic,
        )
    if kind == "film":
        title, release = f"The {noun} of {lexicon.numbered_place(index)}", int(facts["release"])
        return Page(kind, draws, (release - 3, release + 1), facts, title, topic)
    if kind == "study":
        title = f"The {draws.pick(topic.tables['adjective']).capitalize()} {noun}"
    else:
        title = lexicon.numbered_place(index) if kind == "city" else lexicon.numbered_company(index)
    start = draws.integer(
        max(1830, int(facts.get("founded", "0"))) + 1, 1940
    )  # an era that one life can span
    return Page(kind, draws, (start, start + 45), facts, title, topic)
