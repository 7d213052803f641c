"""The sentence writer: given mentions and a topic it draws a frame, a relation and a connective, and fills them in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from longform.datasets.synthetic_world import discourse
from longform.datasets.synthetic_world.grammar import CLAUSES, THIRD, Frame, Mention, Page, Sentence, Style
from longform.datasets.synthetic_world.mentions import GENDERS, PLURAL, POSSESSIVE, Symbol

LEAD_PROBABILITY = 0.3
HER_OWN = 0.3  # "her" of a person outside the sentence is possessive this often, as in mentions._pronouns
OWN = set(POSSESSIVE.values()) - {"her"}


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
    subject: str = "S"  # role of the first mention; an object where a first sentence is about something else

    def write(self, topic: int, first: bool) -> Sentence:
        """The sentence; one that is first in its section never opens with a connective."""
        draws = self.page.draws
        sense = draws.index(discourse.CUMULATIVE_SENSES)
        name = discourse.SENSES[sense]
        across = not (self.group or first or self.opening) and name in discourse.ACROSS
        across = across and draws.uniform() < discourse.ACROSS_PROBABILITY
        relations = () if across else self._main()
        connective = self._clause(name, across) if sense else ""
        self.pieces.append(".")
        self.pieces[0] = self.pieces[0][0].upper() + self.pieces[0][1:]
        ends = list(accumulate(map(len, self.pieces)))
        spans = [(end - len(piece), end) for end, piece in zip(ends, self.pieces, strict=True)]
        mentions = tuple(
            Mention(*spans[piece], *symbol, self._role(place))
            for place, (piece, symbol) in enumerate(zip(self.marks, self.group, strict=True))
        )
        words = tuple(
            (slot, word, *spans[piece]) for (slot, word), piece in zip(self.page.words, self.page.places, strict=True)
        )
        number = discourse.CONNECTIVES.index(connective)
        return Sentence("".join(self.pieces), topic, mentions, sense, number, across, relations, words)

    def _fill(self, frame: Frame) -> None:
        """Append a frame's pieces, its slots filled."""
        page, pieces = self.page, self.pieces
        for part in frame.parts:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, int):
                self.marks.append(len(pieces))
                pieces.append(self.surfaces[part - 1])
            else:
                known = len(page.words)
                text = part(page)
                if len(page.words) > known:
                    page.places.append(len(pieces))
                pieces.append(text)

    def _clause(self, sense: str, across: bool) -> str:
        """A connective and its clause, inside the sentence or as a sentence of its own."""
        connectives, cumulative = (discourse.ACROSS if across else discourse.INSIDE)[sense]
        connective = connectives[self.page.draws.index(cumulative)]
        if across:
            self.pieces.append("yet " if connective == "yet" else f"{connective}, ")
        else:
            self.pieces.append(f", {connective} " if sense in discourse.COMMA_SENSES else f" {connective} ")
        self._fill(self.page.draws.pick(CLAUSES["result" if across and sense == "causal" else sense]))
        return connective

    def _main(self) -> tuple[str, ...]:
        """The main clause; returns the relations of the facts that it states."""
        frame = self._fact_frame()
        if frame is not None:
            self._fill(frame)
        elif self.group:
            self._person()
        else:
            plain = self.page.fresh(self.style.plain)
            self._lead(plain)
            self._fill(plain)
        if len(self.group) == 3:
            self._fill(self.page.draws.pick(THIRD[self._manner(2)]))
        return frame.relations if frame else ()

    def _fact_frame(self) -> Frame | None:
        group, draws = self.group, self.page.draws
        if self.opening:
            number = min(len(group), 2)
            frame = self.opening[number + (number == 2 and self._manner(1) == "own")]
            self.subject = "S" if frame.source.startswith("{1}") else "O"
            return frame
        if not group and self.style.facts and draws.uniform() < self.fact_share:
            return self._unstated(self.style.facts)
        own = len(group) == 1 and group[0][0] in GENDERS and group[0][1] == 0
        if own and self.style.own_facts and draws.uniform() < self.fact_share:
            frame = self._unstated(self.style.own_facts)
            if frame:
                self.surfaces[0] = self.protagonist
            return frame
        return None

    def _unstated(self, frames: Sequence[Frame]) -> Frame | None:
        frame = self.page.draws.pick(frames)
        if frame.source in self.page.stated:
            return None
        self.page.stated.add(frame.source)
        return frame

    def _person(self) -> None:
        group = self.group
        mark = "1" if len(group) == 1 else "2" if self._manner(1) == "other" else "3"
        frame = self.page.fresh(self.style.predicates[mark, group[0][0] in (PLURAL, "They")])
        if group[0][0] in GENDERS:
            self._lead(frame)
        self.marks.append(len(self.pieces))
        self.pieces.extend((self.surfaces[0], " "))
        self._fill(frame)

    def _lead(self, frame: Frame) -> None:
        """Sometimes an adverbial first; never two years in one sentence."""
        draws = self.page.draws
        if not self.style.leads or draws.uniform() > LEAD_PROBABILITY:
            return
        lead = draws.pick(self.style.leads)
        if not (lead.dated and frame.dated):
            self._fill(lead)

    def _role(self, place: int) -> str:
        """Subject, object or possessor."""
        return self.subject if place == 0 else "P" if self._manner(place) == "own" else "O"

    def _manner(self, place: int) -> str:
        """Whether a later mention stands for itself or owns something; ``her`` may do either."""
        if place not in self.manners:
            tag, person = self.group[place]
            inside = any(person == other for _, other in self.group[:place])
            her_own = tag == "her" and (inside or self.page.draws.uniform() < HER_OWN)
            self.manners[place] = "own" if tag in OWN or her_own else "other"
        return self.manners[place]
