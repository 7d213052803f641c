"""An exact recogniser of the sentences of one domain of the synthetic world, compiled from the frames that write them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longform.documents import Document, Predictions, grouped, in_splits, ragged
from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.text.sentences import sentence_texts
from synthetic_world import grammar, lexicon
from synthetic_world.domains import DOMAINS, Domain, domain
from synthetic_world.grammar import CLAUSES, RELATIONS, THIRD, WORD_SLOTS, Style
from synthetic_world.lexicon import article, plural
from synthetic_world.world_grammar import slots
from synthetic_world.world_grammar.score import REFUSED
from synthetic_world.world_grammar.slots import Slot, State

NUMBERS = {"small": (3, 60, False), "height": (120, 990, False), "number": (1_000, 99_000, True)}
FIRST_ERA, LAST_ERA, ERA = (
    1831,
    1940,
    45,
)  # of pages on towns, companies and studies: first start, last start, length
FILM_NOUNS = ("thing", "place", "person", "event")
_PIECE = re.compile(r"(\{\w+\}|[^{},]+)(,?)")


class Node:
    """A place in the trie: what may come next, for which topics and pages, and where a sentence goes on after a whole frame."""

    __slots__ = ("exits", "mask", "slots", "words")

    def __init__(self, mask: int = 0) -> None:
        self.mask = mask
        self.words: dict[str, Node] = {}
        self.slots: dict[object, tuple[tuple[Slot, ...], Node]] = {}
        self.exits: list[
            tuple[int, Node, str]
        ] = []  # topics and pages, the next trie, the frame of a main clause


class Derivation(NamedTuple):
    """What the grammar makes of a sentence."""

    frame: str | None  # of its main or only clause; None where the world has no such sentence
    words: int  # and marks in it
    followed: int  # so many of these, from the first on, begin a sentence of the world; a name or phrase in a slot counts whole


class Recogniser:
    """The sentences of one domain of articles."""

    def __init__(self, name: str) -> None:
        self.world = domain(name)
        self.vocabulary = self.world.vocabulary.topics
        self.pages = _pages(self.world)
        self.styles = {  # of the sections of each kind of page
            (kind, title): self.world.styles.get(title) or self.world.styles[f"{title}/{kind}"]
            for kind, title in self.pages
        }
        self.topics = (1 << len(self.vocabulary)) - 1
        self.all = (1 << (len(self.vocabulary) + len(self.pages))) - 1
        self._shared = self._shared_slots()
        self._roles = {new: slots.mentions(self.all, new) for new in (False, True)}
        self._end, self._start = Node(self.all), Node()
        self._compile()

    def read(self, sentence: str) -> Derivation:
        """How the world could have written the sentence, or how far it could have."""
        tokens: list[
            str
        ] = []  # words and marks; an empty word where a blank or a mark has none before it
        for piece in sentence.split(" "):
            tokens += (piece[:-1], piece[-1]) if piece.endswith((",", ".")) else (piece,)
        first, furthest = tokens[0], [0]
        if first[:1] == first[:1].upper():
            lowered = first[:1].lower() + first[1:]  # the world capitalises whatever comes first
            for opening in dict.fromkeys((first, lowered)):
                frame = self._walk(
                    [opening, *tokens[1:]], 0, self._start, self.all, State(), furthest
                )
                if frame is not None:
                    return Derivation(frame, len(tokens), len(tokens))
        return Derivation(None, len(tokens), furthest[0])

    def _walk(
        self,
        tokens: Sequence[str],
        at: int,
        node: Node,
        mask: int,
        state: State,
        furthest: list[int],
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
        for fillers, after in node.slots.values():
            for fill in fillers:
                for width, allowed, known in fill(tokens, at, state):
                    if self._some(mask & allowed & after.mask):
                        found = self._walk(
                            tokens, at + width, after, mask & allowed, known, furthest
                        )
                        if found is not None:
                            return found
        return None

    def _some(self, mask: int) -> bool:
        return bool(mask & self.topics) and mask > self.topics

    def _pages_of(self, kind: str = "", style: Style | None = None) -> int:
        bits = self.topics
        for place, ((own, _), its) in enumerate(self.styles.items(), len(self.vocabulary)):
            if kind in ("", own) and (style is None or style is its):
                bits |= 1 << place
        return bits

    def _by_topic(self, words: Iterable[Iterable[str]]) -> dict[str, int]:
        masks: dict[str, int] = {}
        for topic, own in enumerate(words):
            for word in own:
                masks[word] = masks.get(word, self.all & ~self.topics) | 1 << topic
        return masks

    def _shared_slots(self) -> dict[str, tuple[Slot, ...]]:
        everywhere = {
            "look": lexicon.GENERIC_ADJECTIVES, "a_look": map(article, lexicon.GENERIC_ADJECTIVES),
            "mood": lexicon.PERSON_ADJECTIVES, "a_mood": map(article, lexicon.PERSON_ADJECTIVES),
            "Town": lexicon.PLACES, "River": lexicon.RIVERS, "dir": grammar.DIRECTIONS, "genre": grammar.GENRES,
            "settlement": grammar.SETTLEMENTS,
        }  # fmt: skip
        masks = {name: dict.fromkeys(words, self.all) for name, words in everywhere.items()}
        for name, slot in WORD_SLOTS.items():
            for shown, shape in ((name, str), (f"a_{name}", article), (f"{name}s", plural)):
                masks[shown] = self._by_topic(
                    map(shape, set(topic.tables[slot])) for topic in self.vocabulary
                )
                masks[f"{shown}2"] = masks[
                    shown
                ]  # the second word of a kind may be the first again
        years: dict[str, int] = {}
        for kind in {kind for kind, _ in self.pages}:
            for year in map(str, _years(kind)):
                years[year] = years.get(year, 0) | self._pages_of(kind)
        made = {name: _by_length(words) for name, words in masks.items()}
        made |= {
            name: (slots.number(low, high, self.all, comma),)
            for name, (low, high, comma) in NUMBERS.items()
        }
        return made | {
            "year": (slots.words(years, year=True),),
            "year2": (slots.later_year(self.all),),
        }

    def _fact(self, kind: str, name: str) -> tuple[Slot, ...]:
        relation = RELATIONS[kind][name]
        what, *limits = relation.value.split()
        if limits:
            low, high = map(int, limits)
            return (slots.number(low, high, self.all, thousands=what == "number"),)
        slot = {"trade": "person", "things": "thing"}.get(what)
        values = (
            {w for topic in self.vocabulary for w in topic.tables[slot]}
            if slot
            else grammar.NAMES[what]
        )
        return _by_length(
            dict.fromkeys(map(plural if what == "things" else relation.show, values), self.all)
        )

    def _title(self, kind: str, opening: bool) -> tuple[Slot, ...]:
        tables = [topic.tables for topic in self.vocabulary]
        nouns = self._by_topic(
            {word.capitalize() for slot in FILM_NOUNS for word in own[slot]} for own in tables
        )
        return (slots.title(kind, nouns if opening else dict.fromkeys(nouns, self.all), self.all),)

    def _add(
        self, root: Node, source: str, then: Node, mask: int, persons: Mapping[int, tuple[Slot, ...]], main: str = "",
        kind: str = "", opening: bool = False,
    ) -> None:  # fmt: skip
        node = root
        for piece in source.split():
            found = _PIECE.fullmatch(piece)
            if found is None:
                raise ValueError(
                    f"frame {source!r}: {piece!r} is neither a word nor a slot, with or without a comma"
                )
            name = found[1].strip("{}")
            if not found[1].startswith("{"):
                node = node.words.setdefault(name, Node())
            elif name.isdigit():
                key = persons[int(name)]
                node = node.slots.setdefault(key, (key, Node()))[1]
            elif name == "T" or name.startswith("F_"):
                edge = (name, kind, opening and name == "T")
                if edge not in node.slots:
                    fillers = (
                        self._title(kind, opening) if name == "T" else self._fact(kind, name[2:])
                    )
                    node.slots[edge] = fillers, Node()
                node = node.slots[edge][1]
            else:
                node = node.slots.setdefault(name, (self._shared[name], Node()))[1]
            node.mask |= mask
            if found[2]:
                node = node.words.setdefault(",", Node())
                node.mask |= mask
        node.exits.append((mask, then, main))

    def _compile(self) -> None:
        stop, tail, led, undated = Node(), Node(), Node(), Node()
        third = {new: Node() for new in (False, True)}
        for node in (stop, tail):
            node.words["."] = self._end
        for sense, (connectives, _) in grammar.INSIDE.items():
            root = (
                tail.words.setdefault(",", Node(self.all))
                if sense in grammar.COMMA_SENSES
                else tail
            )
            for connective, clause in product(connectives, CLAUSES[sense]):
                self._add(root, f"{connective} {clause.source}", stop, self.all, {})
        for sense, (connectives, _) in grammar.ACROSS.items():
            for connective, clause in product(
                connectives, CLAUSES["result" if sense == "causal" else sense]
            ):
                opening = connective if connective == "yet" else f"{connective},"
                self._add(
                    self._start,
                    f"{opening} {clause.source}",
                    stop,
                    self.all,
                    {},
                    main=clause.source,
                )
        for new, (manner, frames) in product(third, THIRD.items()):
            for frame in frames:
                self._add(
                    third[new], frame.source, tail, self.all, {3: (self._roles[new][manner],)}
                )

        roles = self._roles[False]
        for style in {id(style): style for style in self.styles.values()}.values():
            mask = self._pages_of(style=style)
            for lead in style.leads:
                self._add(self._start, lead.source, undated if lead.dated else led, mask, {})
            for frame in style.plain:
                for root in (self._start, led) if frame.dated else (self._start, led, undated):
                    self._add(root, frame.source, tail, mask, {}, main=frame.source)
            for (mark, many), frames in style.predicates.items():
                subject, other = (
                    roles["many" if many else "one"],
                    roles["own" if mark == "3" else "other"],
                )
                persons: dict[int, tuple[Slot, ...]] = {1: (subject,), 2: (other,)}
                for frame, then in product(
                    frames, (tail,) if mark == "1" else (tail, third[False])
                ):
                    source = f"{{1}} {frame.source}"
                    for root in (self._start, led) if frame.dated else (self._start, led, undated):
                        self._add(root, source, then, mask, persons, main=source)

        roles = self._roles[True]
        for kind in sorted({kind for kind, _ in self.pages}):
            mask, described = self._pages_of(kind), self.world.kinds[kind]
            named = described.mentions.opens_with_person
            first = (roles["one"],) if named else (roles["one"], roles["many"])
            for number, frame in enumerate(described.openings):
                persons = {1: first, 2: (roles["own" if number == 3 else "other"],)}
                for then in (tail, third[True])[: 1 + (number > 1)] if number or not named else ():
                    self._add(
                        self._start,
                        frame.source,
                        then,
                        mask,
                        persons,
                        frame.source,
                        kind,
                        opening=True,
                    )
            for style in (style for (own, _), style in self.styles.items() if own == kind):
                for frame in (*style.facts, *style.own_facts):
                    own_pages = mask & self._pages_of(kind, style)
                    self._add(
                        self._start,
                        frame.source,
                        tail,
                        own_pages,
                        {1: (roles["one"],)},
                        frame.source,
                        kind,
                    )


recogniser = cache(Recogniser)  # compiled once


def _by_length(masks: Mapping[str, int]) -> tuple[Slot, ...]:
    sized = grouped(masks.items(), lambda item: len(item[0].split()))
    return tuple(slots.words(dict(sized[length]), length) for length in sorted(sized))


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
        starts = [
            (world.kind_of.get(world.chain.types[second], world.kind), second)
            for second in after(first + 1)
        ]
        for kind, second in [*starts, *([(world.kind, None)] if moves[first + 1, ends] else [])]:
            reached, queue = {first}, [] if second is None else [second]
            for section in queue:
                reached.add(section)
                queue += [other for other in after(section + 1) if other not in queue]
            found |= {(kind, world.chain.types[section]) for section in reached}
    return sorted(found)


def read(*, documents: Sequence[Document], splits: Sequence[str], reader: Path) -> Predictions:
    """The frame of each sentence's main clause as a place in ``frame_names``, or ``REFUSED``; its words, and how many are followed.

    ``reader``: the folder of the corpus that the texts are, or are to look like; its facts name the domain.
    """
    name = read_json(reader / "facts.json").get("domain")
    if name not in DOMAINS:
        raise BadInput(
            f"{reader}: domain is {name!r}, allowed are {sorted(DOMAINS)}, whose grammar is known"
        )
    derive = recogniser(name).read
    chosen = in_splits(documents, splits)
    rows = [[derive(text) for text in sentence_texts(document.text)] for document in chosen]
    names = sorted({one.frame for row in rows for one in row if one.frame is not None})
    places: dict[str | None, int] = {None: REFUSED} | {
        name: place for place, name in enumerate(names)
    }
    arrays = {
        **ragged("frame", [[places[one.frame] for one in row] for row in rows], np.int32),
        **ragged("words", [[one.words for one in row] for row in rows], np.int32),
        **ragged("followed", [[one.followed for one in row] for row in rows], np.int32),
        "frame_names": np.array(names, dtype=np.str_),
    }
    return Predictions.of(chosen, arrays)
