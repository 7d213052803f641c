"""The sentence writer: given mentions and a topic it draws a frame, a relation and a connective, and fills them in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from longform.datasets.synthetic_world import discourse
from longform.datasets.synthetic_world.grammar import (
    CLAUSES,
    THIRD,
    Frame,
    Mention,
    Page,
    Sentence,
    Style,
    fill,
    spans,
)
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
    manners: dict[int, str] = field(default_factory=dict)
    subject: str = "S"  # role of the first mention; an object where a first sentence is about something else

    def write(self, topic: int, first: bool) -> Sentence:
        """The sentence; one that is first in its section never opens with a connective."""
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
        text = "".join(pieces)
        places = enumerate(zip(spans(pieces, marks), self.group, strict=True)) if marks else ()
        mentions = tuple(Mention(*span, *symbol, self._role(place)) for place, (span, symbol) in places)
        words = zip(self.page.words, spans(pieces, self.page.places), strict=True)
        placed = tuple((slot, word, *span) for (slot, word), span in words)
        return Sentence(
            text, topic, mentions, sense, discourse.CONNECTIVES.index(connective), across, relations, placed
        )

    def _across(self, sense: str, pieces: list[str], marks: list[int]) -> str:
        options, cumulative = discourse.ACROSS[sense]
        connective = options[self.page.draws.index(cumulative)]
        pieces.append("yet " if connective == "yet" else f"{connective}, ")
        clauses = CLAUSES["result" if sense == "causal" else sense]
        fill(self.page.draws.pick(clauses), self.page, (), pieces, marks)
        return connective

    def _inside(self, sense: str, pieces: list[str], marks: list[int]) -> str:
        options, cumulative = discourse.INSIDE[sense]
        connective = options[self.page.draws.index(cumulative)]
        pieces.append(f", {connective} " if sense in discourse.COMMA_SENSES else f" {connective} ")
        fill(self.page.draws.pick(CLAUSES[sense]), self.page, (), pieces, marks)
        return connective

    def _main(self, pieces: list[str], marks: list[int]) -> tuple[str, ...]:
        draws, style, group = self.page.draws, self.style, self.group
        frame = self._fact_frame()
        if frame is not None:
            fill(frame, self.page, self.surfaces, pieces, marks)
        elif group:
            self._person(pieces, marks)
        else:
            plain = self.page.fresh(style.plain)
            self._lead(plain, pieces, marks)
            fill(plain, self.page, (), pieces, marks)
        if len(group) == 3:
            fill(draws.pick(THIRD[self._manner(2)]), self.page, self.surfaces, pieces, marks)
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

    def _person(self, pieces: list[str], marks: list[int]) -> None:
        group = self.group
        mark = "1" if len(group) == 1 else "2" if self._manner(1) == "other" else "3"
        frame = self.page.fresh(self.style.predicates[mark, group[0][0] in (PLURAL, "They")])
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
