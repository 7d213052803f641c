"""The article writer.

It draws every latent of a document first, then realises its sentences by the grammar's frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from synthetic_world import grammar, lexicon
from synthetic_world.domains import Domain, domain
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
    """Writes one sentence with given mentions and topic; its frame and connective are drawn.

    Attributes:
        fact_share: probability that an eligible sentence states a fact.
        page: what it shares with the others of its document.
        style: frames of its section.
        group: its mentions of persons, (tag, person) each.
        surfaces: the text of each mention.
        protagonist: full name of the page's first person.
        opening: frames of a page's first sentence, by its mentions; None in other sentences.
        pieces: of the text so far.
        marks: indices of the pieces that are mentions.
        manners: results of :meth:`_manner`, by the index of the mention.
        subject: role of the first mention, "S" for subject; "O" (object) where a page's first
            sentence is about something else than a person.
    """

    fact_share: float
    page: Page
    style: Style
    group: Sequence[Symbol]
    surfaces: list[str]
    protagonist: str
    opening: tuple[Frame, ...] | None
    pieces: list[str] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    manners: dict[int, str] = field(default_factory=dict)
    subject: str = "S"

    def write(self, topic: int, first: bool) -> Sentence:
        """Write the sentence.

        Args:
            topic: its index.
            first: whether it is the first of its section; it then never opens with a connective.
        """
        # 1. Its sense, and its main clause. A sentence across (with a connective that refers to the
        #    sentence before it) has no main clause, only the connective's.
        draws = self.page.draws
        sense = draws.index(grammar.CUMULATIVE_SENSES)
        name = grammar.SENSES[sense]
        across = not (self.group or first or self.opening) and name in grammar.ACROSS
        across = across and draws.uniform() < grammar.ACROSS_PROBABILITY
        relations = () if across else self._main()
        # 2. A second clause behind a connective.
        connective = self._joined_clause(name, across) if sense else ""
        self.pieces.append(".")
        self.pieces[0] = self.pieces[0][0].upper() + self.pieces[0][1:]
        # 3. Character offsets of mentions and content words.
        spans = self._spans()
        number = grammar.CONNECTIVES.index(connective)
        mentions, words = self._mentions(spans), self._words(spans)
        text = "".join(self.pieces)
        return Sentence(text, topic, mentions, sense, number, across, relations, words)

    def _joined_clause(self, sense: str, across: bool) -> str:
        """Write a connective and its clause; returns the connective."""
        draws = self.page.draws
        connectives, cumulative = (grammar.ACROSS if across else grammar.INSIDE)[sense]
        connective = connectives[draws.index(cumulative)]
        if not across:
            comma = "," if sense in grammar.COMMA_SENSES else ""
            self.pieces.append(f"{comma} {connective} ")
        elif connective == "yet":
            self.pieces.append("yet ")
        else:
            self.pieces.append(f"{connective}, ")
        self._fill(draws.pick(CLAUSES["result" if across and sense == "causal" else sense]))
        return connective

    def _spans(self) -> list[tuple[int, int]]:
        """Half-open character offsets in the sentence of each piece."""
        spans = []
        start = 0
        for piece in self.pieces:
            spans.append((start, start + len(piece)))
            start += len(piece)
        return spans

    def _mentions(self, spans: Sequence[tuple[int, int]]) -> tuple[Mention, ...]:
        """The mentions with their offsets and roles: subject "S", object "O" or possessive "P".

        ``spans``: start and end of every piece, in characters of the sentence.
        """
        mentions = []
        for number, (piece, symbol) in enumerate(zip(self.marks, self.group, strict=True)):
            role = self.subject
            if number:
                role = "P" if self._manner(number) == "own" else "O"
            mentions.append(Mention(*spans[piece], *symbol, role))
        return tuple(mentions)

    def _words(self, spans: Sequence[tuple[int, int]]) -> tuple[tuple[str, str, int, int], ...]:
        """Slot, dictionary form and span of each content word."""
        words = []
        for (slot, word), piece in zip(self.page.words, self.page.word_pieces, strict=True):
            words.append((slot, word, *spans[piece]))
        return tuple(words)

    def _fill(self, frame: Frame) -> None:
        """Append the parts of a frame: words, mentions by number, and slots that the page fills."""
        page, pieces = self.page, self.pieces
        for part in frame.parts:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, int):
                self.marks.append(len(pieces))
                pieces.append(self.surfaces[part - 1])
            else:
                pieces.append(part(page))
                # The page has noted a content word: remember its piece.
                if len(page.words) > len(page.word_pieces):
                    page.word_pieces.append(len(pieces) - 1)

    def _main(self) -> tuple[str, ...]:
        """Write the main clause; return the relations of the facts that it states."""
        frame = self._fact_frame()
        if frame is not None:
            self._fill(frame)
        elif self.group:
            self._predicate()
        else:
            plain = self.page.fresh(self.style.plain)
            self._lead(plain)
            self._fill(plain)
        if len(self.group) == 3:
            self._fill(self.page.draws.pick(THIRD[self._manner(2)]))
        return frame.relations if frame else ()

    def _predicate(self) -> None:
        """Write a clause about the first person of the sentence, and the second if there is one."""
        subject, _ = self.group[0]
        mark = "1"
        if len(self.group) > 1:
            mark = "2" if self._manner(1) == "other" else "3"
        frame = self.page.fresh(self.style.predicates[mark, subject in (PLURAL, "They")])
        if subject in GENDERS:  # a pronoun opens its sentence
            self._lead(frame)
        self.marks.append(len(self.pieces))
        self.pieces.extend((self.surfaces[0], " "))
        self._fill(frame)

    def _fact_frame(self) -> Frame | None:
        """A frame for the page's opening or for a fact that it has not stated yet; None for none.

        A fact about the page's own person is stated with the full name.
        """
        group, draws = self.group, self.page.draws
        # 1. The opening with as many mentions; of two the second may own something.
        if self.opening:
            number = min(len(group), 2)
            opening = self.opening[number + (number == 2 and self._manner(1) == "own")]
            self.subject = "S" if opening.source.startswith("{1}") else "O"
            return opening
        # 2. A fact of the page's own person, or of the page where nobody is mentioned.
        protagonist_alone = len(group) == 1 and group[0][0] in GENDERS and group[0][1] == 0
        frames: Sequence[Frame] = ()
        if protagonist_alone:
            frames = self.style.own_facts
        elif not group:
            frames = self.style.facts
        if not frames or draws.uniform() >= self.fact_share:
            return None
        frame = draws.pick(frames)
        if frame.source in self.page.stated:
            return None
        self.page.stated.add(frame.source)
        if protagonist_alone:
            self.surfaces[0] = self.protagonist
        return frame

    def _lead(self, frame: Frame) -> None:
        """Open the sentence by a lead with ``LEAD_PROBABILITY``; never two dates in a sentence."""
        draws = self.page.draws
        if self.style.leads and draws.uniform() <= LEAD_PROBABILITY:
            lead = draws.pick(self.style.leads)
            if not (lead.dated and frame.dated):
                self._fill(lead)

    def _manner(self, number: int) -> str:
        """Whether a mention but the first is possessive ("own") or not ("other").

        "her" can be either: it is possessive if the sentence has mentioned the person, and
        otherwise with probability ``HER_OWN``.
        """
        if number not in self.manners:
            tag, person = self.group[number]
            inside = any(person == other for _, other in self.group[:number])
            her_own = tag == "her" and (inside or self.page.draws.uniform() < HER_OWN)
            self.manners[number] = "own" if tag in OWN or her_own else "other"
        return self.manners[number]


class Person(NamedTuple):
    """A member of a document's cast; ``short`` is a surname, and equals ``full`` for a family."""

    full: str
    short: str


@dataclass(frozen=True)
class Article:
    """One document with all its latent variables.

    Attributes:
        index: of the document.
        kind: of page.
        title: of the page.
        sections: title and sentences of each, in reading order.
        chain: indices of the section types.
        eta: topic logits of the whole document, float64 (topics - 1,).
        path: topic logits of each sentence, float64 (sentences, topics - 1).
        symbols: the mention chain, persons numbered by first mention.
        cast: the persons.
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
        every_sentence: list[Sentence] = []
        for _, sentences in self.sections:
            every_sentence += sentences
        return every_sentence


def write(seed: int, domain_name: str, index: int) -> Article:
    """Write article ``index`` of a domain, which depends on these three arguments alone."""
    world = domain(domain_name)
    rng = stream(domain_name, seed, index)
    draws = Draws(rng)
    # 1. Sections, the kind of page, and the mentions of persons.
    chain = world.chain.sample(draws)
    counts = _sentence_counts(len(chain), draws)
    kind = world.kind
    if len(chain) > 1:
        kind = world.kind_of.get(world.chain.types[chain[1]], world.kind)
    symbols = world.kinds[kind].mentions.sample(sum(counts), draws)
    # 2. Topics of the document and of its sentences.
    eta = world.prior.draw(rng)
    path = world.prior.path(eta, sum(counts), rng)
    topics = world.prior.assign(path, rng)
    # 3. Facts, persons, title.
    facts = {}
    for name, relation in RELATIONS[kind].items():
        facts[name] = relation.draw(draws, world.vocabulary)
    cast = _cast(symbols, index, draws)
    page = _page(kind, facts, cast, world.vocabulary.topics[topics[0]], index, draws)
    # 4. The sentences, section by section.
    types = [world.chain.types[number] for number in chain]
    rows = list(zip(topics, _mentions_by_sentence(symbols), strict=True))
    sections = _sections(world, page, cast, types, counts, rows)
    return Article(
        index,
        kind,
        page.title,
        sections,
        tuple(chain),
        eta,
        path,
        tuple(symbols),
        cast,
        facts,
    )


def _sentence_counts(num_sections: int, draws: Draws) -> list[int]:
    """Draw the number of sentences of each section.

    The bounds depend on the number of sections, so that articles of few sections are not too short
    and those of many not too long.
    """
    low = min(9, max(5, -(-21 // num_sections)), max(3, 50 // num_sections))
    high = min(9, max(3, 66 // num_sections))
    return [draws.integer(low, high) for _ in range(num_sections)]


def _mentions_by_sentence(symbols: Sequence[Symbol]) -> list[list[Symbol]]:
    """Split a chain of symbols into the mentions of each sentence; a stop opens each."""
    groups: list[list[Symbol]] = []
    for symbol in symbols:
        if symbol == STOP:
            groups.append([])
        else:
            groups[-1].append(symbol)
    return groups


def _sections(
    world: Domain,
    page: Page,
    cast: Sequence[Person],
    types: Sequence[str],
    counts: Sequence[int],
    rows: Sequence[tuple[int, Sequence[Symbol]]],
) -> tuple[tuple[str, tuple[Sentence, ...]], ...]:
    """Write all sections: title and sentences of each.

    Args:
        world: the domain.
        page: the state that all sentences share; it changes with each.
        cast: persons by number.
        types: of the sections.
        counts: sentences of each section.
        rows: topic and mentions of each sentence.
    """
    met: set[int] = set()  # persons who have been mentioned
    protagonist = cast[0].full if cast else ""
    remaining = iter(rows)
    # Sections share the page, whose topic and words are those of the sentence being written.
    sections = []
    for number, (section, count) in enumerate(zip(types, counts, strict=True)):
        style = world.styles.get(section) or world.styles[f"{section}/{page.kind}"]
        sentences = []
        page.used = set()
        for position, (topic, group) in enumerate(islice(remaining, count)):
            page.topic, page.words, page.word_pieces = world.vocabulary.topics[topic], [], []
            surfaces = _surfaces(group, cast, met, page.draws)
            opens = number == position == 0
            opening = world.kinds[page.kind].openings if opens else None
            writer = SentenceWriter(
                world.fact_share, page, style, group, surfaces, protagonist, opening
            )
            sentences.append(writer.write(topic, first=position == 0))
        sections.append((section, tuple(sentences)))
    return tuple(sections)


def _surfaces(
    group: Sequence[Symbol], cast: Sequence[Person], met: set[int], draws: Draws
) -> list[str]:
    """The text of each mention of a sentence.

    A pronoun is its tag. A person is named in full at the first mention and sometimes later.

    Args:
        group: the mentions.
        cast: persons by number.
        met: the persons mentioned so far, to which those of the sentence are added.
        draws: of the document.
    """
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


def _cast(symbols: Sequence[Symbol], index: int, draws: Draws) -> tuple[Person, ...]:
    """Name all persons of a document, no two with a name in common.

    The first person's name follows from the document's ``index``, so that no two pages are about
    the same one; other names are drawn.

    Args:
        symbols: the mention chain; a person is first mentioned by a gender (MALE, ...), not by a
            pronoun, and persons are numbered by first mention.
        index, draws: of the document.

    Returns:
        Persons by number.
    """
    cast: list[Person] = []
    used: set[str] = set()

    def unused(pool: Sequence[str]) -> str:
        """Draw names of a pool until one is not used yet."""
        while (name := draws.pick(pool)) in used:
            pass
        used.add(name)
        return name

    # A number that is not in the cast yet is a first mention.
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
            # Every surname, then again with other first names: 480 x 260 documents without repeat.
            rank, number = divmod(index, len(lexicon.SURNAMES))
            first, last = pool[(rank + 7 * number) % len(pool)], lexicon.SURNAMES[number]
            used.update((first, last))
            cast.append(Person(f"{first} {last}", last))
    return tuple(cast)


def _page(
    kind: str, facts: dict[str, str], cast: Sequence[Person], topic: Topic, index: int, draws: Draws
) -> Page:
    """The page with its title and the years that its sentences may name.

    Args:
        kind: of the page.
        facts: by relation.
        cast: its persons, its own one first.
        topic: the first of its topics.
        index: of the page; names of places and companies and films have it.
        draws: of the page.
    """
    # 1. Titles of films and studies have a noun of the first topic.
    if kind in ("film", "study"):
        noun = draws.pick(topic.tables[draws.pick(("thing", "place", "person", "event"))])
        noun = noun.capitalize()
    # 2. Lives and films have their own years, other pages an era that one life can span.
    if kind == "person":
        years = int(facts["birth_year"]) + 18, int(facts["death_year"]) - 1
        return Page(kind, draws, years, facts, cast[0].full, topic)
    if kind == "film":
        release = int(facts["release"])
        title = f"The {noun} of {lexicon.numbered_place(index)}"
        return Page(kind, draws, (release - 3, release + 1), facts, title, topic)
    if kind == "study":
        title = f"The {draws.pick(topic.tables['adjective']).capitalize()} {noun}"
    elif kind == "city":
        title = lexicon.numbered_place(index)
    else:
        title = lexicon.numbered_company(index)
    start = draws.integer(max(1830, int(facts.get("founded", "0"))) + 1, 1940)
    return Page(kind, draws, (start, start + 45), facts, title, topic)
