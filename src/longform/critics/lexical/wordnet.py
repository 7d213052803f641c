"""Cohesion by relatedness in a word net: Hirst-St-Onge, Lesk, Resnik, Lin, Jiang-Conrath (lapata2005 section 3.2)."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better
from longform.core.documents import BadInput, Readout
from longform.critics.lexical.gloss_overlap import Glosses, extended_lesk, plain_lesk
from longform.critics.lexical.score import FITTED, AdjacentSimilarity, present
from longform.critics.lexical.score import units_from_readout as units_from_readout
from longform.text.entity_grids import Grid
from longform.text.lexicon import HORIZONTAL, HYPERNYM, MERONYM, Lexicon, closed_links, lexicon_from_arrays

HSO_LONGEST = 5  # links of a medium-strong path (Hirst and St-Onge 1998)
NOTHING = Lexicon((), (), (), closed_links([]), (), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Taxonomy:
    """A lexicon whose words are looked up and whose links are walked; both are remembered."""

    lexicon: Lexicon = field(default=NOTHING, repr=False)
    _targets: dict = field(default_factory=dict, repr=False, compare=False)
    _walks: dict = field(default_factory=dict, repr=False, compare=False)
    _senses: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def senses(self, word: str) -> tuple[int, ...]:
        """Noun synsets of a word form; empty for a word that the lexicon lacks."""
        if word not in self._senses:
            self._senses[word] = self.lexicon.noun_senses(word)
        return self._senses[word]

    def walk(self, synset: int, *kinds: int, limit: int | None = None) -> dict[int, int]:
        """Synsets that links of these kinds lead to, with the least number of links; the synset itself at 0."""
        if kinds not in self._targets:
            self._targets[kinds] = self.lexicon.targets(*kinds)
        if (synset, kinds, limit) not in self._walks:
            targets, distance, frontier, step = self._targets[kinds], {synset: 0}, [synset], 0
            while frontier and step != limit:
                step += 1
                reached = dict.fromkeys(target for source in frontier for target in targets[source])
                frontier = [target for target in reached if target not in distance]
                distance |= dict.fromkeys(frontier, step)
            self._walks[synset, kinds, limit] = distance
        return self._walks[synset, kinds, limit]

    def subsumers(self, synset: int) -> dict[int, int]:
        """The synset and all that its hypernym links lead to."""
        return self.walk(synset, HYPERNYM)

    def information_content(self, counted: Mapping[str, float], smoothing: float = 1.0) -> np.ndarray:
        r"""$-\log p(c)$ of every synset, natural logarithm; a word's count goes to each of its noun senses and up.

        Each synset counts once for each of its subsumers however many paths lead there (Resnik 1995). $p$ divides by
        the summed direct counts. Synsets of other parts of speech have content infinity.
        """
        if not smoothing > 0:
            raise BadInput(f"smoothing is {smoothing}, allowed is above 0; the usual choice is 1")
        nouns = np.array([part == "n" for part in self.lexicon.parts_of_speech])
        direct = np.where(nouns, smoothing, 0.0)
        for word, count in counted.items():
            direct[list(self.senses(word))] += count
        below = np.zeros(len(direct))
        for synset in np.flatnonzero(nouns).tolist():
            below[list(self.subsumers(synset))] += direct[synset]
        with np.errstate(divide="ignore"):
            return -np.log(below / max(direct.sum(), 1e-300))

    def shared_content(self, content: np.ndarray, synsets: Sequence[int]) -> np.ndarray:
        """Content of the most informative common subsumer of every two synsets; 0 where they have none."""
        members = defaultdict(list)
        for place, synset in enumerate(synsets):
            for subsumer in self.subsumers(synset):
                members[subsumer].append(place)
        shared = np.zeros((len(synsets), len(synsets)))
        for subsumer in sorted(members, key=content.__getitem__):
            shared[np.ix_(members[subsumer], members[subsumer])] = content[subsumer]
        return shared

    @cached_property
    def links(self) -> dict[int, list[tuple[int, int]]]:
        """Kind and target of each link, by source."""
        table = defaultdict(list)
        for source, kind, target in self.lexicon.links.tolist():
            table[source].append((kind, target))
        return table


def compounds(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a word of one synset is a compound or phrase that holds a word of the other."""
    return any(_inside(a, b) or _inside(b, a) for a in first for b in second)


def _inside(part: str, whole: str) -> bool:
    inner, pieces = (text.replace("-", " ").split() for text in (part, whole))
    starts = range(len(pieces) - len(inner) + 1)
    return len(pieces) > len(inner) and any(pieces[i : i + len(inner)] == inner for i in starts)


@dataclass(frozen=True)
class WordnetSimilarity(AdjacentSimilarity):
    """What the measures share: from synsets to words to sentences.

    Attributes:
        taxonomy: the word net; the same for every measure of one run.
        batch_words: distinct nouns whose relatedness table is made at once; time and memory only. A small table holds few
            pairs that never meet in a text; where a call costs more than its pairs, a large one is faster.
    """

    batch_words: ClassVar[int] = 150
    taxonomy: Taxonomy = field(default_factory=Taxonomy, repr=False, metadata=FITTED)

    @abstractmethod
    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """The measure between every two synsets: float64 (synsets, synsets)."""

    def word_matrix(self, words: Sequence[str]) -> np.ndarray:
        """The best value over the senses of every two words: float64 (words, words), nan where a word has no entry."""
        senses = [self.taxonomy.senses(word) for word in words]
        covered = np.array([i for i, row in enumerate(senses) if row], dtype=np.int64)
        table = np.full((len(words), len(words)), np.nan)
        if len(covered):
            kinds = np.unique([synset for row in senses for synset in row])
            places = np.searchsorted(kinds, [synset for i in covered for synset in senses[i]])
            starts = np.cumsum([0] + [len(senses[i]) for i in covered])[:-1]
            matrix = self.synset_matrix(kinds.tolist())[np.ix_(places, places)]
            best = (np.minimum if self.better == "lower" else np.maximum).reduceat
            table[np.ix_(covered, covered)] = best(best(matrix, starts, axis=0), starts, axis=1)
        return table

    def unknown(self, unit: Grid) -> int:
        """Entities without a noun entry."""
        return sum(not self.taxonomy.senses(entity) for entity in unit.entities)

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Relatedness of every two sentences; word tables are shared by runs of units, so neighbours cost once."""
        matrices: list[np.ndarray] = []
        for batch in batches(units, self.batch_words):
            words = sorted({entity for unit in batch for entity in unit.entities})
            index, table = {word: i for i, word in enumerate(words)}, self.word_matrix(words)
            for unit in batch:
                rows = [index[entity] for entity in unit.entities]
                matrices.append(self._sentences(present(unit).astype(np.float64), table[np.ix_(rows, rows)]))
        return matrices

    def _sentences(self, mentions: np.ndarray, table: np.ndarray) -> np.ndarray:
        known = ~np.isnan(table)
        total = mentions @ np.where(known, table, 0.0) @ mentions.T
        counted = known if self.better == "lower" else np.ones_like(table)
        pairs = mentions @ counted.astype(np.float64) @ mentions.T
        nothing = np.full_like(total, np.nan if self.better == "lower" else 0.0)  # 0 would be the best distance
        return np.divide(total, pairs, out=nothing, where=pairs > 0)


def batches(units: Sequence[Grid], most: int) -> Iterator[list[Grid]]:
    """Runs of units with at most so many distinct entities, or one unit."""
    batch: list[Grid] = []
    words: set[str] = set()
    for unit in units:
        if batch and len(words | set(unit.entities)) > most:
            yield batch
            batch, words = [], set()
        batch.append(unit)
        words |= set(unit.entities)
    if batch:
        yield batch


@dataclass(frozen=True)
class HirstStOnge(WordnetSimilarity):
    """$C - length - k \\cdot turns$ of the best allowed path, $2C$ for strong relations (Hirst and St-Onge 1998).

    Upward links are hypernyms and meronyms, horizontal ones antonyms, similar, also-see, attributes and pertainyms.
    Allowed shapes of a path: up, down, sideways, up-down, up-sideways, sideways-down, down-sideways and
    up-sideways-down; the last is two turns, the others are none or one. A single link is a path too (7), though
    the definition speaks of two to five: by its letter a concept and its hypernym would be unrelated. Strong are the
    same synset, a horizontal link, and any link where a compound of one synset holds a word of the other.

    Attributes:
        constant, turn: C and k, 8 and 1 in Hirst and St-Onge.
    """

    batch_words: ClassVar[int] = 1000
    constant: float = 8.0
    turn: float = 1.0

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """Strength of every two synsets, the better of both directions."""
        places = {synset: place for place, synset in enumerate(synsets)}
        strength = np.zeros((len(places), len(places)))
        for rows, columns, values in self._paths(places):
            strength[np.ix_(rows, columns)] = np.maximum(strength[np.ix_(rows, columns)], values)
        strength = np.maximum(strength, strength.T)
        np.fill_diagonal(strength, 2 * self.constant)
        words = self.taxonomy.lexicon.words
        for source, place in places.items():
            for kind, target in self.taxonomy.links.get(source, ()):
                if target in places and (kind == HORIZONTAL or compounds(words[source], words[target])):
                    strength[place, places[target]] = strength[places[target], place] = 2 * self.constant
        return strength

    def _paths(self, places: Mapping[int, int]) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """(first places, last places, strengths) of all allowed paths, grouped by the highest synset on them."""
        below = defaultdict(list)  # synset -> (place, links) of the synsets that climb to it
        for synset, place in places.items():
            for top, links in self._upward(synset).items():
                below[top].append((place, links))
        climbs = {top: np.array(rows, dtype=np.int64).T for top, rows in below.items()}
        for top, (rows, up) in climbs.items():
            for beside, across in self._sideways(top).items():  # the synset itself, 0 links across, is among them
                if beside in climbs:
                    columns, down = climbs[beside]
                    both = (up > 0).astype(int)[:, None] + (down > 0)
                    turns = both if across else both > 1
                    yield rows, columns, self._strength(up[:, None] + across + down, turns)
        for synset, place in places.items():  # down, then sideways
            for beside, across in self._sideways(synset).items():
                for top, down in self._upward(beside).items():
                    if across and down and top in places:
                        yield [places[top]], [place], self._strength(np.array([[down + across]]), 1)

    def _strength(self, lengths: np.ndarray, turns: Any) -> np.ndarray:
        allowed = (lengths > 0) & (lengths <= HSO_LONGEST)
        return np.where(allowed, self.constant - lengths - self.turn * turns, 0.0)

    def _upward(self, synset: int) -> dict[int, int]:
        return self.taxonomy.walk(synset, HYPERNYM, MERONYM, limit=HSO_LONGEST)

    def _sideways(self, synset: int) -> dict[int, int]:
        return self.taxonomy.walk(synset, HORIZONTAL, limit=HSO_LONGEST)


@dataclass(frozen=True)
class Lesk(WordnetSimilarity):
    """Shared words of definitions; ``extended`` adds phrases and the definitions of hypernyms and hyponyms."""

    extended: bool = True

    @cached_property
    def glosses(self) -> Glosses:
        """The definitions as numbers."""
        return Glosses(self.taxonomy.lexicon)

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """Overlap of every two definitions."""
        return (extended_lesk if self.extended else plain_lesk)(self.glosses, synsets)


@dataclass(frozen=True)
class InformationSimilarity(WordnetSimilarity):
    """Measures on information content, which ``fit`` counts in real texts.

    Attributes:
        smoothing: added to the count of every noun synset, so that no content is infinite.
        content: fitted; float64 (synsets of the lexicon,), nats.
    """

    smoothing: float = 1.0
    content: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def fit(self, real: Sequence[Grid]) -> Any:
        """Count the nouns of real texts, once a sentence."""
        counted: Counter[str] = Counter()
        for unit in real:
            counted.update(dict(zip(unit.entities, present(unit).sum(axis=0).tolist(), strict=True)))
        return self.with_counts(counted)

    def with_counts(self, counted: Mapping[str, float]) -> Any:
        """Information content from the noun counts of any corpus."""
        return replace(self, content=self.taxonomy.information_content(counted, self.smoothing))

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """The measure from the content of both synsets and of their most informative common subsumer."""
        if not self.content.size:
            raise BadInput(f"{type(self).__name__} has no information content; call fit(real grids) and use the result")
        own, shared = self.content[list(synsets)], self.taxonomy.shared_content(self.content, synsets)
        return self.measure(own[:, None] + own[None, :], shared)

    @abstractmethod
    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """From IC(c1) + IC(c2) and IC(lcs), (synsets, synsets) each."""


@dataclass(frozen=True)
class Resnik(InformationSimilarity):
    """Information content of the most informative common subsumer (Resnik 1995)."""

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """IC(lcs)."""
        return shared


@dataclass(frozen=True)
class Lin(InformationSimilarity):
    """2 IC(lcs) / (IC(c1) + IC(c2)) (Lin 1998)."""

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """Zero where neither concept carries information."""
        return np.divide(2 * shared, summed, out=np.zeros_like(shared), where=summed > 0)


@dataclass(frozen=True)
class JiangConrath(InformationSimilarity):
    """IC(c1) + IC(c2) - 2 IC(lcs), a distance (Jiang and Conrath 1997)."""

    better: ClassVar[Better] = "lower"

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """Zero between a concept and itself."""
        return np.maximum(summed - 2 * shared, 0.0)


MEASURES = {
    "hirst_st_onge": HirstStOnge, "lesk": Lesk, "resnik": Resnik, "lin": Lin, "jiang_conrath": JiangConrath,
}  # fmt: skip


def wordnet(*, real: Readout, measure: str, **settings: Any) -> WordnetSimilarity:
    """A measure over the lexicon that travels in the readout."""
    if measure not in MEASURES:
        raise BadInput(f"word-net measure {measure!r}; allowed are {sorted(MEASURES)}")
    lexicon: Lexicon = lexicon_from_arrays(real.arrays)
    return MEASURES[measure](taxonomy=Taxonomy(lexicon), **settings)
