"""The graph of a word net: subsumers, information content, and the allowed paths of Hirst and St-Onge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from longform.documents import BadInput
from longform.text.lexicon import HORIZONTAL, HYPERNYM, MERONYM, Lexicon, closed_links

HSO_CONSTANT, HSO_TURN = 8.0, 1.0  # C and k of Hirst and St-Onge 1998
HSO_LONGEST = 5  # links of a medium-strong path, the same
NOTHING = Lexicon((), (), (), closed_links([]), (), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Taxonomy:
    """A lexicon with its links laid out for walking; walks are remembered."""

    lexicon: Lexicon = field(default=NOTHING, repr=False)
    _memory: dict = field(default_factory=dict, repr=False, compare=False)

    def ancestors(self, synset: int) -> dict[int, int]:
        """All subsumers of a synset with their least distance in hypernym links, itself at 0."""
        return self._walk(synset, (HYPERNYM,), None)

    def upward(self, synset: int) -> dict[int, int]:
        """What Hirst and St-Onge reach by upward links (hypernyms and meronyms), with the number of links, at most five."""
        return self._walk(synset, (HYPERNYM, MERONYM), HSO_LONGEST)

    def sideways(self, synset: int) -> dict[int, int]:
        """The same by horizontal links (antonyms, similar, also-see, attributes, pertainyms)."""
        return self._walk(synset, (HORIZONTAL,), HSO_LONGEST)

    def _walk(self, synset: int, kinds: tuple[int, ...], limit: int | None) -> dict[int, int]:
        table = self._memory.setdefault(kinds, {})
        if synset not in table:
            table[synset] = self._breadth_first(synset, self._targets(kinds), limit)
        return table[synset]

    def _targets(self, kinds: tuple[int, ...]) -> list[list[int]]:
        if ("targets", kinds) not in self._memory:
            self._memory["targets", kinds] = self.lexicon.targets(*kinds)
        return self._memory["targets", kinds]

    @staticmethod
    def _breadth_first(synset: int, targets: list[list[int]], limit: int | None) -> dict[int, int]:
        distance, frontier, step = {synset: 0}, [synset], 0
        while frontier and step != limit:
            step += 1
            frontier = [target for source in frontier for target in targets[source]]
            frontier = [target for target in dict.fromkeys(frontier) if target not in distance]
            distance |= dict.fromkeys(frontier, step)
        return distance

    def information_content(self, counted: Mapping[str, float], smoothing: float = 1.0) -> np.ndarray:
        r"""$-\log p(c)$ of every synset, natural logarithm; a word's count goes to each of its noun senses and up.

        Each synset counts once for each of its subsumers however many paths lead there (Resnik 1995). $p$ divides by
        the summed direct counts. Synsets of other parts of speech have content infinity.

        Raises:
            BadInput: smoothing is not positive, so that an unseen synset would have no finite content.
        """
        if not smoothing > 0:
            raise BadInput(f"smoothing is {smoothing}, allowed is above 0; the usual choice is 1")
        nouns = np.array([part == "n" for part in self.lexicon.parts_of_speech])
        direct = np.where(nouns, smoothing, 0.0)
        for word, count in counted.items():
            direct[list(self.lexicon.noun_senses(word))] += count
        below = np.zeros(len(direct))
        for synset in np.flatnonzero(nouns).tolist():
            below[list(self.ancestors(synset))] += direct[synset]
        with np.errstate(divide="ignore"):
            return -np.log(below / max(direct.sum(), 1e-300))

    def shared_content(self, content: np.ndarray, synsets: Sequence[int]) -> np.ndarray:
        """Content of the most informative common subsumer of every two synsets; 0 where they have none."""
        members = defaultdict(list)
        for place, synset in enumerate(synsets):
            for ancestor in self.ancestors(synset):
                members[ancestor].append(place)
        shared = np.zeros((len(synsets), len(synsets)))
        for ancestor in sorted(members, key=content.__getitem__):
            shared[np.ix_(members[ancestor], members[ancestor])] = content[ancestor]
        return shared

    def hirst_st_onge(
        self, synsets: Sequence[int], constant: float = HSO_CONSTANT, turn: float = HSO_TURN
    ) -> np.ndarray:
        """Strength of every two synsets, the better of both directions: float64 (synsets, synsets).

        Allowed shapes of a path: up, down, sideways, up-down, up-sideways, sideways-down, down-sideways and
        up-sideways-down; the last is two turns, the others are none or one. A single link is a path too (7), though
        the definition speaks of two to five: by its letter a concept and its hypernym would be unrelated.
        """
        paths = _Paths(self, list(synsets), constant, turn)
        for top, members in paths.below.items():
            paths.join(members, members, 0)
            for beside, links in self.sideways(top).items():
                if links and beside in paths.below:
                    paths.join(members, paths.below[beside], links)
        for place, synset in enumerate(synsets):
            paths.down_then_sideways(place, synset)
        return self._with_strong(np.maximum(paths.strength, paths.strength.T), synsets, 2 * constant)

    def _with_strong(self, strength: np.ndarray, synsets: Sequence[int], strong: float) -> np.ndarray:
        """Strong relations: the same synset, a horizontal link, or any link where one's compound holds the other's word."""
        places = {synset: place for place, synset in enumerate(synsets)}
        np.fill_diagonal(strength, strong)
        for source, kind, target in self._links_among(places):
            if kind == HORIZONTAL or compounds(self.lexicon.words[source], self.lexicon.words[target]):
                strength[places[source], places[target]] = strength[places[target], places[source]] = strong
        return strength

    def _links_among(self, places: Mapping[int, int]) -> list[tuple[int, int, int]]:
        if "links" not in self._memory:
            table = defaultdict(list)
            for source, kind, target in self.lexicon.links.tolist():
                table[source].append((source, kind, target))
            self._memory["links"] = table
        return [link for synset in places for link in self._memory["links"].get(synset, ()) if link[2] in places]


class _Paths:
    """Medium-strong paths among the synsets of one call."""

    def __init__(self, taxonomy: Taxonomy, synsets: list[int], constant: float, turn: float) -> None:
        self.taxonomy, self.constant, self.turn = taxonomy, constant, turn
        self.places = {synset: place for place, synset in enumerate(synsets)}
        self.strength = np.zeros((len(synsets), len(synsets)))
        below = defaultdict(list)
        for place, synset in enumerate(synsets):
            for top, links in taxonomy.upward(synset).items():
                below[top].append((place, links))
        self.below = {top: np.array(rows, dtype=np.int64) for top, rows in below.items()}

    def join(self, first: np.ndarray, second: np.ndarray, across: int) -> None:
        """Paths that climb from ``first`` (place, links), cross ``across`` links, and descend to ``second``."""
        climbs, falls = first[:, 1][:, None], second[:, 1][None, :]
        turns = (climbs > 0).astype(int) + (falls > 0) if across else (climbs > 0) & (falls > 0)
        self._keep(np.ix_(first[:, 0], second[:, 0]), climbs + across + falls, turns)

    def down_then_sideways(self, place: int, synset: int) -> None:
        """Paths that descend to a synset beside ``synset`` and end with horizontal links."""
        for beside, across in self.taxonomy.sideways(synset).items():
            for top, links in self.taxonomy.upward(beside).items():
                if across and links and top in self.places:
                    cell = np.ix_([self.places[top]], [place])
                    self._keep(cell, np.array([[links + across]]), np.array([[1]]))

    def _keep(self, cells: tuple[np.ndarray, ...], lengths: np.ndarray, turns: np.ndarray) -> None:
        allowed = (lengths > 0) & (lengths <= HSO_LONGEST)
        strength = np.where(allowed, self.constant - lengths - self.turn * turns, 0.0)
        self.strength[cells] = np.maximum(self.strength[cells], strength)


def compounds(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a word of one synset is a compound or phrase that holds a word of the other."""
    return any(_inside(a, b) or _inside(b, a) for a in first for b in second)


def _inside(part: str, whole: str) -> bool:
    pieces = whole.replace("-", " ").split()
    size = len(part.replace("-", " ").split())
    inner = part.replace("-", " ").split()
    return len(pieces) > size and any(pieces[i : i + size] == inner for i in range(len(pieces) - size + 1))
