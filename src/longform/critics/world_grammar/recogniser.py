"""An exact recogniser of the sentences of one domain of the synthetic world, compiled from the frames that write them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longform.core.artefacts import read_json
from longform.core.documents import BadInput, Document, Readout, ragged
from longform.core.text.sentences import sentence_texts
from longform.critics.world_grammar.score import REFUSED
from longform.critics.world_grammar.slots import LaterYear, Mentioned, Number, Slot, State, Title, Words, mentions
from longform.datasets.synthetic_world import grammar, lexicon
from longform.datasets.synthetic_world.domains import DOMAINS, Domain, domain
from longform.datasets.synthetic_world.grammar import CLAUSES, RELATIONS, THIRD, WORD_SLOTS, Frame, Relation, Style
from longform.datasets.synthetic_world.lexicon import article, plural

NO_PERSONS: Mapping[int, tuple[Mentioned, ...]] = {}
NUMBERS = {"small": (3, 60, False), "height": (120, 990, False), "number": (1_000, 99_000, True)}
FIRST_ERA, LAST_ERA, ERA = 1831, 1940, 45  # of pages on towns, companies and studies: first start, last start, length
FILM_NOUNS = ("thing", "place", "person", "event")
_PIECE = re.compile(r"(\{\w+\}|[^{},]+)(,?)")


class Node:
    """A place in the trie: what may come next, for which topics and pages, and where a sentence goes on after a whole frame."""

    __slots__ = ("exits", "mask", "slots", "words")

    def __init__(self, mask: int = 0) -> None:
        self.mask = mask
        self.words: dict[str, Node] = {}
        self.slots: dict[object, tuple[tuple[Slot, ...], Node]] = {}
        self.exits: list[tuple[int, Node, str]] = []  # topics and pages, the next trie, the frame of a main clause


class Derivation(NamedTuple):
    """What the grammar makes of a sentence.

    Attributes:
        frame: of its main clause (of its only clause after a connective); None where the world has no such sentence.
        words: and marks in it.
        followed: how many of these, from the first on, begin a sentence of the world; a name or phrase in a slot counts whole.
    """

    frame: str | None
    words: int
    followed: int


class Recogniser:
    """The sentences of one domain.

    Args:
        name: one of the domains of articles.
    """

    def __init__(self, name: str) -> None:
        world = domain(name)
        self.world, self.pages = world, _pages(world)
        self.topics = (1 << len(world.vocabulary.topics)) - 1
        self.all = (1 << (len(world.vocabulary.topics) + len(self.pages))) - 1
        self._shared = self._shared_slots()
        self._end, self._start = Node(self.all), Node()
        self._compile()

    def read(self, sentence: str) -> Derivation:
        """How the world could have written the sentence, or how far it could have."""
        tokens = tokens_of(sentence)
        first, furthest = tokens[0], [0]
        if first[:1] == first[:1].upper():
            lowered = first[:1].lower() + first[1:]  # the world capitalises whatever comes first
            for opening in dict.fromkeys((first, lowered)):
                frame = self._walk([opening, *tokens[1:]], 0, self._start, self.all, State(), furthest)
                if frame is not None:
                    return Derivation(frame, len(tokens), len(tokens))
        return Derivation(None, len(tokens), furthest[0])

    def _walk(
        self, tokens: Sequence[str], at: int, node: Node, mask: int, state: State, furthest: list[int]
    ) -> str | None:
        furthest[0] = max(furthest[0], at)
        if node is self._end:
            return "" if at == len(tokens) else None
        for allowed, after, frame in node.exits:
            if self._some(mask & allowed):
                found = self._walk(tokens, at, after, mask & allowed, state, furthest)
                if found is not None:
                    return frame or found
        if at == len(tokens):
            return None
        after_word = node.words.get(tokens[at])
        if after_word is not None and self._some(mask & after_word.mask):
            found = self._walk(tokens, at + 1, after_word, mask, state, furthest)
            if found is not None:
                return found
        for slots, after in node.slots.values():
            for slot in slots:
                for width, allowed, known in slot.fill(tokens, at, state):
                    if self._some(mask & allowed & after.mask):
                        found = self._walk(tokens, at + width, after, mask & allowed, known, furthest)
                        if found is not None:
                            return found
        return None

    def _some(self, mask: int) -> bool:
        return bool(mask & self.topics) and mask > self.topics

    def _pages_of(self, kind: str = "", style: Style | None = None) -> int:
        bits = self.topics
        for place, (own, title) in enumerate(self.pages, len(self.world.vocabulary.topics)):
            if kind in ("", own) and (style is None or style is _style(self.world, own, title)):
                bits |= 1 << place
        return bits

    def _by_topic(self, words: Mapping[int, Iterable[str]]) -> dict[str, int]:
        masks: dict[str, int] = {}
        for topic, own in words.items():
            for word in own:
                masks[word] = masks.get(word, self.all & ~self.topics) | 1 << topic
        return masks

    def _anywhere(self, words: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(words, self.all)

    def _shared_slots(self) -> dict[str, tuple[Slot, ...]]:
        looks, moods = lexicon.GENERIC_ADJECTIVES, lexicon.PERSON_ADJECTIVES
        masks = {
            "look": self._anywhere(looks), "a_look": self._anywhere(map(article, looks)),
            "mood": self._anywhere(moods), "a_mood": self._anywhere(map(article, moods)),
            "Town": self._anywhere(lexicon.PLACES), "River": self._anywhere(lexicon.RIVERS),
            "dir": self._anywhere(grammar.DIRECTIONS), "genre": self._anywhere(grammar.GENRES),
            "settlement": self._anywhere(grammar.SETTLEMENTS),
        }  # fmt: skip
        for name, slot in WORD_SLOTS.items():
            tables = {number: set(topic.tables[slot]) for number, topic in enumerate(self.world.vocabulary.topics)}
            for shown, shape in ((name, str), (f"a_{name}", article), (f"{name}s", plural)):
                masks[shown] = self._by_topic({number: map(shape, words) for number, words in tables.items()})
                masks[f"{shown}2"] = masks[shown]  # the second word of a kind may be the first again
        years: dict[str, int] = {}
        for kind in {kind for kind, _ in self.pages}:
            for year in _years(kind):
                years[str(year)] = years.get(str(year), 0) | self._pages_of(kind)
        slots: dict[str, tuple[Slot, ...]] = {name: _by_length(words) for name, words in masks.items()}
        slots |= {name: (Number(low, high, self.all, comma),) for name, (low, high, comma) in NUMBERS.items()}
        return slots | {"year": (Words(years, year=True),), "year2": (LaterYear(self.all),)}

    def _fact(self, relation: Relation) -> tuple[Slot, ...]:
        kind, *limits = relation.value.split()
        if limits:
            low, high = map(int, limits)
            return (Number(low, high, self.all, thousands=kind == "number"),)
        slot = {"trade": "person", "things": "thing"}.get(kind, "")
        shape = plural if kind == "things" else relation.show
        values = (
            {w for topic in self.world.vocabulary.topics for w in topic.tables[slot]} if slot else grammar.NAMES[kind]
        )
        return _by_length(self._anywhere(map(shape, values)))

    def _title(self, kind: str, opening: bool) -> Title:
        nouns = self._by_topic(
            {
                number: {word.capitalize() for slot in FILM_NOUNS for word in topic.tables[slot]}
                for number, topic in enumerate(self.world.vocabulary.topics)
            }
        )
        return Title(kind, nouns if opening else self._anywhere(nouns), self.all)

    def _edge(
        self, name: str, kind: str, opening: bool, persons: Mapping[int, tuple[Mentioned, ...]]
    ) -> tuple[object, tuple[Slot, ...]]:
        if name.isdigit():
            return persons[int(name)], persons[int(name)]
        if name == "T":
            return (name, kind, opening), (self._title(kind, opening),)
        if name.startswith("F_"):
            return (name, kind), self._fact(RELATIONS[kind][name[2:]])
        return name, self._shared[name]

    def _add(
        self, root: Node, source: str, then: Node, mask: int, *, main: str = "", kind: str = "", opening: bool = False,
        persons: Mapping[int, tuple[Mentioned, ...]] = NO_PERSONS,
    ) -> None:  # fmt: skip
        node = root
        for piece in source.split():
            found = _PIECE.fullmatch(piece)
            if found is None:
                raise ValueError(
                    f"frame {source!r}: {piece!r} is neither a word nor a slot, with a comma behind it or not"
                )
            if found[1].startswith("{"):
                key, slots = self._edge(found[1][1:-1], kind, opening, persons)
                node = node.slots.setdefault(key, (slots, Node()))[1]
            else:
                node = node.words.setdefault(found[1], Node())
            node.mask |= mask
            if found[2]:
                node = node.words.setdefault(",", Node())
                node.mask |= mask
        node.exits.append((mask, then, main))

    def _compile(self) -> None:
        stop, tail, led, undated = Node(), Node(), Node(), Node()
        third: dict[bool, Node] = {new: Node() for new in (False, True)}
        roles = {new: mentions(self.all, new) for new in (False, True)}
        for node in (stop, tail):
            node.words["."] = self._end
        for sense, (connectives, _) in grammar.INSIDE.items():
            for connective, clause in product(connectives, CLAUSES[sense]):
                self._add(tail.words.setdefault(",", Node(self.all)) if sense in grammar.COMMA_SENSES else tail,
                          f"{connective} {clause.source}", stop, self.all)  # fmt: skip
        for sense, (connectives, _) in grammar.ACROSS.items():
            for connective, clause in product(connectives, CLAUSES["result" if sense == "causal" else sense]):
                opening = connective if connective == "yet" else f"{connective},"
                self._add(self._start, f"{opening} {clause.source}", stop, self.all, main=clause.source)
        for new, (manner, frames) in product(third, THIRD.items()):
            for frame in frames:
                self._add(third[new], frame.source, tail, self.all, persons={3: (roles[new][manner],)})
        for style in _styles(self.world, self.pages):
            self._compile_style(style, self._pages_of(style=style), tail, third[False], led, undated)
        for kind in sorted({kind for kind, _ in self.pages}):
            self._compile_kind(kind, tail, third[True], roles[True])

    def _compile_style(self, style: Style, mask: int, tail: Node, third: Node, led: Node, undated: Node) -> None:
        roles = mentions(self.all, new=False)
        for lead in style.leads:
            self._add(self._start, lead.source, undated if lead.dated else led, mask)
        for frame in style.plain:
            for root in _roots(frame, self._start, led, undated):
                self._add(root, frame.source, tail, mask, main=frame.source)
        for (mark, many), frames in style.predicates.items():
            persons = {1: (roles["many" if many else "one"],), 2: (roles["own" if mark == "3" else "other"],)}
            for frame, then in product(frames, (tail,) if mark == "1" else (tail, third)):
                source = f"{{1}} {frame.source}"
                for root in _roots(frame, self._start, led, undated):
                    self._add(root, source, then, mask, main=source, persons=persons)

    def _compile_kind(self, kind: str, tail: Node, third: Node, roles: Mapping[str, Mentioned]) -> None:
        mask, described = self._pages_of(kind), self.world.kinds[kind]
        named = described.mentions.opens_with_person
        first = (roles["one"],) if named else (roles["one"], roles["many"])
        for number, frame in enumerate(described.openings):
            persons = {1: first, 2: (roles["own" if number == 3 else "other"],)}
            if number or not named:
                for then in (tail, third)[: 1 + (number > 1)]:
                    self._add(self._start, frame.source, then, mask, main=frame.source, kind=kind, opening=True,
                              persons=persons)  # fmt: skip
        for own, title in self.pages:
            style = _style(self.world, own, title)
            if own == kind:
                for frame in (*style.facts, *style.own_facts):
                    persons = {1: (roles["one"],)}
                    self._add(self._start, frame.source, tail, mask & self._pages_of(kind, style), main=frame.source,
                              kind=kind, persons=persons)  # fmt: skip


@cache
def recogniser(name: str) -> Recogniser:
    """The recogniser of a domain, compiled once."""
    return Recogniser(name)


def tokens_of(sentence: str) -> list[str]:
    """Words and marks of a sentence whose words one blank parts; an empty word where a blank or a mark has none before it."""
    tokens: list[str] = []
    for piece in sentence.split(" "):
        word = piece[:-1] if piece.endswith((",", ".")) else piece
        tokens += (word,) if word == piece else (word, piece[-1])
    return tokens


def _by_length(masks: Mapping[str, int]) -> tuple[Words, ...]:
    lengths = sorted({len(text.split()) for text in masks})
    return tuple(Words({t: m for t, m in masks.items() if len(t.split()) == length}, length) for length in lengths)


def _roots(frame: Frame, start: Node, led: Node, undated: Node) -> Iterator[Node]:
    yield from (start, led) if frame.dated else (start, led, undated)


def _years(kind: str) -> range:
    if kind == "person":
        born, dead = (RELATIONS[kind][name].value.split() for name in ("birth_year", "death_year"))
        return range(int(born[1]) + 18, int(dead[2]))
    if kind == "film":
        _, low, high = RELATIONS[kind]["release"].value.split()
        return range(int(low) - 3, int(high) + 2)
    return range(FIRST_ERA, LAST_ERA + ERA + 1)


def _pages(world: Domain) -> list[tuple[str, str]]:
    ends, moves = len(world.chain.types), world.chain.transitions > 0

    def after(row: int) -> list[int]:
        return [column for column in range(ends) if moves[row, column]]

    found: set[tuple[str, str]] = set()
    for first in after(0):
        starts = [(world.kind_of.get(world.chain.types[second], world.kind), second) for second in after(first + 1)]
        for kind, second in [*starts, *([(world.kind, None)] if moves[first + 1, ends] else [])]:
            reached, queue = {first}, [] if second is None else [second]
            for section in queue:
                reached.add(section)
                queue += [other for other in after(section + 1) if other not in queue]
            found |= {(kind, world.chain.types[section]) for section in reached}
    return sorted(found)


def _style(world: Domain, kind: str, title: str) -> Style:
    return world.styles.get(title) or world.styles[f"{title}/{kind}"]


def _styles(world: Domain, pages: Iterable[tuple[str, str]]) -> list[Style]:
    return list({id(style): style for style in (_style(world, *page) for page in pages)}.values())


def read(*, documents: Sequence[Document], splits: Sequence[str], reader: Path) -> Readout:
    """The frame of each sentence's main clause as a place in ``frame_names``, or ``REFUSED``; its words, and how many are followed.

    ``reader``: the folder of the corpus that the texts are, or are to look like; its facts name the domain.
    """
    name = read_json(reader / "facts.json").get("domain")
    if name not in DOMAINS:
        raise BadInput(
            f"{reader}: domain is {name!r}, allowed are {sorted(DOMAINS)}, whose grammar is known; name another corpus"
        )
    derive = recogniser(name).read
    chosen = [document for document in documents if document.split in splits]
    rows = [[derive(text) for text in sentence_texts(document.text)] for document in chosen]
    names = sorted({one.frame for row in rows for one in row if one.frame is not None})
    places: dict[str | None, int] = {None: REFUSED} | {name: place for place, name in enumerate(names)}
    arrays = ragged("frame", [[places[one.frame] for one in row] for row in rows], np.int32)
    arrays |= ragged("words", [[one.words for one in row] for row in rows], np.int32)
    arrays |= ragged("followed", [[one.followed for one in row] for row in rows], np.int32)
    return Readout.of(chosen, arrays | {"frame_names": np.array(names, dtype=np.str_)})
