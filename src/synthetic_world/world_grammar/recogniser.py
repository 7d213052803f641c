"""An exact recogniser of the sentences of one domain of the synthetic world.

It is compiled from the frames that write them.
"""

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
from synthetic_world.grammar import CLAUSES, RELATIONS, THIRD, WORD_SLOTS, Frame, Style
from synthetic_world.lexicon import article, plural
from synthetic_world.world_grammar import slots
from synthetic_world.world_grammar.score import REFUSED
from synthetic_world.world_grammar.slots import Slot, State

NUMBERS = {"small": (3, 60, False), "height": (120, 990, False), "number": (1_000, 99_000, True)}
# Years: an era of a town, company or study starts from FIRST_ERA to LAST_ERA and lasts ERA.
FIRST_ERA, LAST_ERA, ERA = 1831, 1940, 45
FILM_NOUNS = ("thing", "place", "person", "event")
_PIECE = re.compile(r"(\{\w+\}|[^{},]+)(,?)")
Persons = Mapping[int, tuple[Slot, ...]]  # what fills ``{1}``, ``{2}`` and ``{3}`` of a frame


class Node:
    """A point in the trie of all frames.

    A mask is a set of bits, one for each topic and, above these, one for each page.

    Attributes:
        mask: topics and pages for which a sentence may come here.
        words: the next node by the next word or mark.
        slots: for each slot that may come next, its possible fillers and the node behind it.
        exits: where a sentence goes on once a whole frame has been read: (topics and pages for
            which it does, next node, the frame if it is a main clause, else "").
    """

    __slots__ = ("exits", "mask", "slots", "words")

    def __init__(self, mask: int = 0) -> None:
        self.mask = mask
        self.words: dict[str, Node] = {}
        self.slots: dict[object, tuple[tuple[Slot, ...], Node]] = {}
        self.exits: list[tuple[int, Node, str]] = []


class Junctions:
    """Nodes between frames.

    Attributes:
        stop: only the sentence's full stop comes next.
        tail: after a main clause: a second clause, or the full stop.
        led: after a lead without a date, which any frame may follow.
        undated: after a lead with a date, which only frames without one follow.
        third: before a third person, by whether the sentence is the first of its document.
    """

    def __init__(self) -> None:
        self.stop, self.tail, self.led, self.undated = Node(), Node(), Node(), Node()
        self.third = {new: Node() for new in (False, True)}


class Derivation(NamedTuple):
    """The result of reading a sentence with the grammar.

    Attributes:
        frame: of its main or only clause; None where the world cannot have written the sentence.
        words: the number of words and marks.
        followed: how many of these, from the first on, begin some sentence of the world; a name or
            phrase in a slot counts as a whole or not at all.
    """

    frame: str | None
    words: int
    followed: int


class Recogniser:
    """The sentences of one domain of articles."""

    def __init__(self, name: str) -> None:
        self.world = domain(name)
        self.vocabulary = self.world.vocabulary.topics
        self.pages = _pages(self.world)
        self.styles: dict[tuple[str, str], Style] = {}  # of the sections of each kind of page
        for kind, section in self.pages:
            of_section = self.world.styles.get(section)
            self.styles[kind, section] = of_section or self.world.styles[f"{section}/{kind}"]
        # Masks have a bit for each topic, and above them one for each page (kind, section).
        self.topics = (1 << len(self.vocabulary)) - 1
        self.all = (1 << (len(self.vocabulary) + len(self.pages))) - 1
        self._shared = self._shared_slots()
        self._roles = {new: slots.mentions(self.all, new) for new in (False, True)}
        self._end, self._start = Node(self.all), Node()
        self._compile()

    def read(self, sentence: str) -> Derivation:
        """Derive a sentence: its main clause's frame, or how many of its words can be followed."""
        # 1. Words and marks; an empty word where a blank or a mark has none before it.
        tokens: list[str] = []
        for piece in sentence.split(" "):
            tokens += (piece[:-1], piece[-1]) if piece.endswith((",", ".")) else (piece,)
        # 2. The world capitalises the first word, so that it is read both as it stands and with a
        #    small letter. ``furthest`` is a list of one entry, so that the walk can raise it.
        first = tokens[0]
        furthest = [0]
        if first[:1] == first[:1].upper():
            lowered = first[:1].lower() + first[1:]
            for opening in dict.fromkeys((first, lowered)):
                cased = [opening, *tokens[1:]]
                frame = self._walk(cased, 0, self._start, self.all, State(), furthest)
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
        """Match the rest of a sentence from a node on, depth first; the first full match counts.

        Args:
            tokens: words and marks of the whole sentence.
            at: the index of the next token.
            node: where in the trie the tokens before it lead.
            mask: topics and pages that remain possible.
            state: what the sentence has said that later slots depend on.
            furthest: one entry, which is raised to the highest index that any attempt reaches.

        Returns:
            The main clause's frame, "" if it ended before this node; None where no path matches
            all tokens.
        """
        furthest[0] = max(furthest[0], at)
        if node is self._end:
            return "" if at == len(tokens) else None
        # 1. A frame ends here, and the next one begins.
        for allowed, after, frame in node.exits:
            if self._some(mask & allowed):
                rest = self._walk(tokens, at, after, mask & allowed, state, furthest)
                if rest is not None:
                    return frame or rest
        if at == len(tokens):
            return None
        # 2. The next word of a frame.
        after_word = node.words.get(tokens[at])
        if after_word is not None and self._some(mask & after_word.mask):
            rest = self._walk(tokens, at + 1, after_word, mask, state, furthest)
            if rest is not None:
                return rest
        # 3. A slot of a frame, in every way that it can be filled.
        for fillers, after in node.slots.values():
            for fill in fillers:
                for width, allowed, after_state in fill(tokens, at, state):
                    if self._some(mask & allowed & after.mask):
                        rest = self._walk(
                            tokens, at + width, after, mask & allowed, after_state, furthest
                        )
                        if rest is not None:
                            return rest
        return None

    def _some(self, mask: int) -> bool:
        """Whether a mask has at least one topic and at least one page."""
        # Bits of pages lie above those of topics, so a mask with a page exceeds all topics.
        return bool(mask & self.topics) and mask > self.topics

    def _pages_of(self, kind: str = "", style: Style | None = None) -> int:
        """A mask of all topics and of the pages of one kind whose sections have one style.

        Args:
            kind: of pages; "" for all kinds.
            style: of sections; None for all styles.
        """
        mask = self.topics
        for bit, ((page_kind, _), page_style) in enumerate(
            self.styles.items(), len(self.vocabulary)
        ):
            if kind in ("", page_kind) and (style is None or style is page_style):
                mask |= 1 << bit
        return mask

    def _by_topic(self, words: Iterable[Iterable[str]]) -> dict[str, int]:
        """A mask for each word: all pages, and the topics whose tables have the word.

        Args:
            words: the words of each topic, in the order of the topics.
        """
        masks: dict[str, int] = {}
        for topic, of_topic in enumerate(words):
            for word in of_topic:
                masks[word] = masks.get(word, self.all & ~self.topics) | 1 << topic
        return masks

    def _shared_slots(self) -> dict[str, tuple[Slot, ...]]:
        """The fillers of the slots that mean the same on every page, by the slot's name."""
        shared = self._word_slots()
        for name, (low, high, comma) in NUMBERS.items():
            shared[name] = (slots.number(low, high, self.all, comma),)
        shared["year"] = (slots.words(self._year_masks(), year=True),)
        shared["year2"] = (slots.later_year(self.all),)
        return shared

    def _word_slots(self) -> dict[str, tuple[Slot, ...]]:
        """The fillers of slots of words, by the slot's name.

        Some slots take the same words for all topics, others the words of the sentence's topic.
        """
        everywhere: dict[str, Iterable[str]] = {
            "look": lexicon.GENERIC_ADJECTIVES,
            "a_look": map(article, lexicon.GENERIC_ADJECTIVES),
            "mood": lexicon.PERSON_ADJECTIVES,
            "a_mood": map(article, lexicon.PERSON_ADJECTIVES),
            "Town": lexicon.PLACES,
            "River": lexicon.RIVERS,
            "dir": grammar.DIRECTIONS,
            "genre": grammar.GENRES,
            "settlement": grammar.SETTLEMENTS,
        }
        by_name: dict[str, tuple[Slot, ...]] = {}
        for name, words in everywhere.items():
            by_name[name] = _by_length(dict.fromkeys(words, self.all))
        for name, slot in WORD_SLOTS.items():
            for shown, shape in ((name, str), (f"a_{name}", article), (f"{name}s", plural)):
                words_of_topics = []
                for topic in self.vocabulary:
                    words_of_topics.append(map(shape, set(topic.tables[slot])))
                fillers = _by_length(self._by_topic(words_of_topics))
                by_name[shown] = fillers
                by_name[f"{shown}2"] = fillers  # a kind's second word may be the first again
        return by_name

    def _year_masks(self) -> dict[str, int]:
        """A mask for each year: all topics, and the pages that may name the year."""
        masks: dict[str, int] = {}
        for kind in self._kinds():
            for year in map(str, _years(kind)):
                masks[year] = masks.get(year, 0) | self._pages_of(kind)
        return masks

    def _kinds(self) -> list[str]:
        """The kinds of pages of the domain, sorted."""
        return sorted({kind for kind, _ in self.pages})

    def _fact(self, kind: str, name: str) -> tuple[Slot, ...]:
        """The fillers of the slot of a fact: every value that its relation may have on any page.

        Args:
            kind: of the page.
            name: of the fact.
        """
        relation = RELATIONS[kind][name]
        # "number LOW HIGH" and the like for a number, else the name of a list of words.
        what, *limits = relation.value.split()
        if limits:
            low, high = map(int, limits)
            return (slots.number(low, high, self.all, thousands=what == "number"),)
        if what == "trade":
            shown = map(relation.show, self._words_of_any_topic("person"))
        elif what == "things":
            shown = map(plural, self._words_of_any_topic("thing"))
        else:
            shown = map(relation.show, grammar.NAMES[what])
        return _by_length(dict.fromkeys(shown, self.all))

    def _words_of_any_topic(self, slot: str) -> set[str]:
        """The words that can fill a slot: the union over all topics of the vocabulary."""
        words: set[str] = set()
        for topic in self.vocabulary:
            words.update(topic.tables[slot])
        return words

    def _title(self, kind: str, opening: bool) -> tuple[Slot, ...]:
        """The fillers of the slot of a page's title.

        In the opening sentence the noun of a film's title is a word of the sentence's topic; in
        later sentences it may be of any topic.
        """
        nouns_of_topics = []
        for topic in self.vocabulary:
            nouns: set[str] = set()
            for slot in FILM_NOUNS:
                nouns.update(map(str.capitalize, topic.tables[slot]))
            nouns_of_topics.append(nouns)
        masks = self._by_topic(nouns_of_topics)
        if not opening:
            masks = dict.fromkeys(masks, self.all)
        return (slots.title(kind, masks, self.all),)

    def _add(
        self,
        root: Node,
        source: str,
        then: Node,
        mask: int,
        persons: Persons,
        main: str = "",
        kind: str = "",
        opening: bool = False,
    ) -> None:
        """Add a frame to the trie: a path of its words and slots from a node, with an exit.

        Args:
            root: the node where the frame begins.
            source: its words and slots, separated by blanks.
            then: the node where a sentence goes on after it.
            mask: topics and pages that may use it.
            persons: the fillers of its mentions, by the number of the person.
            main: the frame, if it is a main clause.
            kind: of its page, where it states a fact or the title.
            opening: whether it opens a page.

        Raises:
            ValueError: a piece of it is neither a word nor a slot.
        """
        node = root
        for piece in source.split():
            match = _PIECE.fullmatch(piece)
            if match is None:
                raise ValueError(
                    f"frame {source!r}: {piece!r} is neither a word nor a slot, "
                    "with or without a comma"
                )
            name = match[1].strip("{}")
            if match[1].startswith("{"):
                node = self._after_slot(node, name, persons, kind, opening)
            else:
                node = node.words.setdefault(name, Node())
            node.mask |= mask
            if match[2]:
                node = node.words.setdefault(",", Node())
                node.mask |= mask
        node.exits.append((mask, then, main))

    def _after_slot(
        self, node: Node, name: str, persons: Persons, kind: str, opening: bool
    ) -> Node:
        """The node behind a slot that follows a node, added unless the same slot is there.

        Args:
            node: the node before the slot.
            name: of the slot: a person's number, ``T`` for the page's title, ``F_`` and a fact's
                name, or a slot that is the same on all pages.
            persons: the fillers of mentions, by the number of the person.
            kind: of the page, for titles and facts.
            opening: whether the frame opens a page.
        """
        if name.isdigit():
            fillers = persons[int(name)]
            return node.slots.setdefault(fillers, (fillers, Node()))[1]
        if name != "T" and not name.startswith("F_"):
            return node.slots.setdefault(name, (self._shared[name], Node()))[1]
        edge = (name, kind, opening and name == "T")
        if edge not in node.slots:
            fillers = self._title(kind, opening) if name == "T" else self._fact(kind, name[2:])
            node.slots[edge] = fillers, Node()
        return node.slots[edge][1]

    def _compile(self) -> None:
        """Add every frame of the domain, with where it may begin and what may follow."""
        # 1. Sentences end, or go on by a second clause or a third person.
        between = Junctions()
        for node in (between.stop, between.tail):
            node.words["."] = self._end
        self._add_second_clauses(between)
        self._add_clauses_across(between)
        for new, (manner, frames) in product(between.third, THIRD.items()):
            persons = {3: (self._roles[new][manner],)}
            for frame in frames:
                self._add(between.third[new], frame.source, between.tail, self.all, persons)
        # 2. Main clauses of sections, then those of pages.
        distinct_styles = {id(style): style for style in self.styles.values()}
        for style in distinct_styles.values():
            self._add_leads_and_plain(style, between)
            self._add_predicates(style, between)
        for kind in self._kinds():
            self._add_openings(kind, between)
            self._add_facts(kind, between)

    def _add_second_clauses(self, between: Junctions) -> None:
        """Add each clause that a connective joins to a main clause, with its comma if it has one.

        It may stand on any page, mentions nobody and ends the sentence.
        """
        for sense, (connectives, _) in grammar.INSIDE.items():
            root = between.tail
            if sense in grammar.COMMA_SENSES:
                root = root.words.setdefault(",", Node(self.all))
            for connective, clause in product(connectives, CLAUSES[sense]):
                self._add(
                    root=root,
                    source=f"{connective} {clause.source}",
                    then=between.stop,
                    mask=self.all,
                    persons={},
                )

    def _add_clauses_across(self, between: Junctions) -> None:
        """Add each sentence of one clause whose connective refers to the sentence before it.

        "Moreover, ..." for each discourse sense, all its connectives with all its clauses. Such a
        clause may stand on any page, mentions nobody and ends the sentence.
        """
        for sense, (connectives, _) in grammar.ACROSS.items():
            # "Therefore" introduces a result, where "because" within a sentence gives a cause.
            clauses = CLAUSES["result" if sense == "causal" else sense]
            for connective, clause in product(connectives, clauses):
                opening = connective if connective == "yet" else f"{connective},"
                self._add(
                    root=self._start,
                    source=f"{opening} {clause.source}",
                    then=between.stop,
                    mask=self.all,
                    persons={},
                    main=clause.source,
                )

    def _add_leads_and_plain(self, style: Style, between: Junctions) -> None:
        """Add what may open a sentence of a section, and its main clauses without persons.

        Args:
            style: whose leads and plain frames are added, for all pages that have it.
            between: nodes at which a sentence goes on behind a lead or a clause.
        """
        mask = self._pages_of(style=style)
        for lead in style.leads:
            then = between.undated if lead.dated else between.led
            self._add(self._start, lead.source, then, mask, persons={})
        for frame in style.plain:
            for root in self._beginnings(frame, between):
                self._add(root, frame.source, between.tail, mask, persons={}, main=frame.source)

    def _beginnings(self, frame: Frame, between: Junctions) -> list[Node]:
        """The nodes at which a main clause may begin: a dated one never follows a dated lead."""
        beginnings = [self._start, between.led]
        if not frame.dated:
            beginnings.append(between.undated)
        return beginnings

    def _add_predicates(self, style: Style, between: Junctions) -> None:
        """Add the main clauses of a style that are about persons.

        Args:
            style: its ``predicates`` are frames without their subject, by a mark and whether the
                subject is plural. Mark "1" mentions the subject alone, "3" also what a second
                person owns, any other a second person; after a second person a third may follow.
            between: nodes at which a sentence goes on behind the clause.
        """
        roles = self._roles[False]
        mask = self._pages_of(style=style)
        for (mark, many), frames in style.predicates.items():
            subject = roles["many" if many else "one"]
            other = roles["own" if mark == "3" else "other"]
            persons: Persons = {1: (subject,), 2: (other,)}
            ends = [between.tail] if mark == "1" else [between.tail, between.third[False]]
            for frame, then in product(frames, ends):
                source = f"{{1}} {frame.source}"
                for root in self._beginnings(frame, between):
                    self._add(root, source, then, mask, persons, main=source)

    def _add_openings(self, kind: str, between: Junctions) -> None:
        """Add the first sentences of the pages of a kind.

        A kind's openings are told apart by their index: 0 mentions nobody, 1 one person, 2 and 3
        two (of 3 the second person owns something). Where pages are about a person, who is always
        named first, opening 0 is never written.
        """
        roles = self._roles[True]
        described = self.world.kinds[kind]
        mask = self._pages_of(kind)
        opens_with_person = described.mentions.opens_with_person
        first = (roles["one"],) if opens_with_person else (roles["one"], roles["many"])
        for number, frame in enumerate(described.openings):
            if number == 0 and opens_with_person:
                continue
            persons: Persons = {1: first, 2: (roles["own" if number == 3 else "other"],)}
            ends = [between.tail, between.third[True]] if number > 1 else [between.tail]
            source = frame.source
            for then in ends:
                self._add(
                    self._start, source, then, mask, persons, main=source, kind=kind, opening=True
                )

    def _add_facts(self, kind: str, between: Junctions) -> None:
        """Add the sentences that state a fact of a page of a kind."""
        persons: Persons = {1: (self._roles[True]["one"],)}
        for (page_kind, _), style in self.styles.items():
            if page_kind != kind:
                continue
            mask = self._pages_of(kind) & self._pages_of(kind, style)
            for frame in (*style.facts, *style.own_facts):
                source = frame.source
                self._add(self._start, source, between.tail, mask, persons, main=source, kind=kind)


recogniser = cache(Recogniser)  # one for each name of a domain, compiled once


def _by_length(masks: Mapping[str, int]) -> tuple[Slot, ...]:
    """Slots for phrases, one for each number of words that a phrase has, the shortest first.

    Args:
        masks: for each phrase the topics and pages that may use it, as bits.
    """
    by_length = grouped(masks.items(), lambda item: len(item[0].split()))
    fillers = []
    for length in sorted(by_length):
        fillers.append(slots.words(dict(by_length[length]), length))
    return tuple(fillers)


def _years(kind: str) -> range:
    """The years that pages of a kind may name, from the ranges of the facts that state years."""
    # A fact's ``value`` is "year LOW HIGH". A person's: from the age of 18 of the earliest born.
    if kind == "person":
        _, first_birth, _ = RELATIONS[kind]["birth_year"].value.split()
        _, _, last_death = RELATIONS[kind]["death_year"].value.split()
        return range(int(first_birth) + 18, int(last_death))
    if kind == "film":
        _, low, high = RELATIONS[kind]["release"].value.split()
        return range(int(low) - 3, int(high) + 2)
    return range(FIRST_ERA, LAST_ERA + ERA + 1)


def _pages(world: Domain) -> list[tuple[str, str]]:
    """(kind of page, section) of every section that pages of a kind may have, sorted.

    The second section says the kind; from there on the chain of sections is followed.
    """
    end = len(world.chain.types)
    moves = world.chain.transitions > 0  # bool (types + 1, types + 1), from begin or a type on

    def sections_after(row: int) -> list[int]:
        return [section for section in range(end) if moves[row, section]]

    pages: set[tuple[str, str]] = set()
    for first in sections_after(0):
        for second in sections_after(first + 1):
            # All sections that can be reached from the second.
            kind = world.kind_of.get(world.chain.types[second], world.kind)
            queue = [second]
            for section in queue:
                for following in sections_after(section + 1):
                    if following not in queue:
                        queue.append(following)
            for section in (first, *queue):
                pages.add((kind, world.chain.types[section]))
        if moves[first + 1, end]:  # a page of one section
            pages.add((world.kind, world.chain.types[first]))
    return sorted(pages)


def read(*, documents: Sequence[Document], splits: Sequence[str], reader: Path) -> Predictions:
    """Read texts with the grammar of their domain: how it derives each sentence.

    Args:
        documents: texts.
        splits: those that are read.
        reader: the folder of the corpus that the texts are, or are to look like; its facts name the
            domain.

    Returns:
        For each sentence of each text, int32: ``frame``, the index in ``frame_names`` of its main
        clause, or ``REFUSED``; ``words``, its number of words and marks; ``followed``, how many of
        these from the first on begin a sentence of the world.

    Raises:
        BadInput: the corpus is of no domain whose grammar is known.
    """
    name = read_json(reader / "facts.json").get("domain")
    if name not in DOMAINS:
        raise BadInput(
            f"{reader}: domain is {name!r}, allowed are {sorted(DOMAINS)}, whose grammar is known"
        )
    # 1. Every sentence by itself.
    derive = recogniser(name).read
    chosen = in_splits(documents, splits)
    derivations: list[list[Derivation]] = []
    frames: set[str] = set()
    for document in chosen:
        of_document = [derive(text) for text in sentence_texts(document.text)]
        derivations.append(of_document)
        for derivation in of_document:
            if derivation.frame is not None:
                frames.add(derivation.frame)
    # 2. Frames by their index among the sorted names, as arrays.
    names = sorted(frames)
    numbers: dict[str | None, int] = {None: REFUSED}
    for number, frame in enumerate(names):
        numbers[frame] = number
    columns: dict[str, list[list[int]]] = {"frame": [], "words": [], "followed": []}
    for of_document in derivations:
        columns["frame"].append([numbers[derivation.frame] for derivation in of_document])
        columns["words"].append([derivation.words for derivation in of_document])
        columns["followed"].append([derivation.followed for derivation in of_document])
    arrays: dict[str, np.ndarray] = {}
    for column, rows in columns.items():
        arrays |= ragged(column, rows, np.int32)
    arrays["frame_names"] = np.array(names, dtype=np.str_)
    return Predictions.of(chosen, arrays)
