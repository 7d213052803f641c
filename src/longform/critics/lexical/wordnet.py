r"""Cohesion by relatedness in a word net: Hirst-St-Onge, Lesk, Resnik, Lin, Jiang-Conrath (lapata2005 section 3.2).

$\mathrm{sim}(S_1, S_2)$ is the mean over pairs of words of $\max_{c_1, c_2} \mathrm{sim}(c_1, c_2)$ over noun senses. Jiang-Conrath is a distance:
nearest senses, lower is better. A noun without an entry adds 0 to a similarity; from a distance its pairs are left out.
"""

import re
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numba
import numpy as np

from longform.critics.lexical.score import AdjacentSimilarity, present
from longform.critics.lexical.score import units_from_predictions as units_from_predictions
from longform.documents import Predictions
from longform.errors import BadInput
from longform.statistics.signatures import FITTED
from longform.text.entity_grids import Grid
from longform.text.lexicon import (
    HORIZONTAL,
    HYPERNYM,
    HYPONYM,
    MERONYM,
    Lexicon,
    Taxonomy,
    lexicon_from_arrays,
)

FUNCTION_WORDS = list(
    dict.fromkeys(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())
)
FUNCTIONS = len(FUNCTION_WORDS)
GLOSS, HYPERNYMS, HYPONYMS = range(3)
RELATION_PAIRS = (
    (GLOSS, GLOSS),
    (HYPERNYMS, HYPERNYMS),
    (HYPONYMS, HYPONYMS),
    (HYPERNYMS, GLOSS),
    (GLOSS, HYPERNYMS),
)
GLOSS_LIMIT = (
    300  # words of a joined definition; ours: bounds the cost of concepts with hundreds of hyponyms
)
SIGNATURE = 512  # bits that tell most definitions without a common word apart; speed only
_WORD = re.compile(r"[a-z0-9']+")
CONSTANT, TURN = 8.0, 1.0  # C and k (Hirst and St-Onge 1998)
HSO_LONGEST = 5  # links of a medium-strong path (Hirst and St-Onge 1998)


def compounds(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a word of one synset is a compound or phrase that holds a word of the other."""
    pairs = (
        sorted((text.replace("-", " ").split() for text in pair), key=len)
        for pair in product(first, second)
    )
    return any(
        inner == whole[i : i + len(inner)]
        for inner, whole in pairs
        if len(inner) < len(whole)
        for i in range(len(whole) - len(inner) + 1)
    )


@dataclass(frozen=True)
class WordnetSimilarity(AdjacentSimilarity):
    """What the measures share: from synsets to words to sentences; ``taxonomy`` is the same for every measure of one run."""

    # distinct nouns whose relatedness table is made at once; time and memory only: a small table holds few
    # pairs that never meet in a text; where a call costs more than its pairs, a large one is faster
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
        return sum(not self.taxonomy.senses(entity) for entity in unit.entities)

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Relatedness of every two sentences; word tables are shared by runs of units, so neighbours cost once."""
        matrices: list[np.ndarray] = []
        for batch in batches(units, self.batch_words):
            words = sorted({entity for unit in batch for entity in unit.entities})
            index, table = {word: i for i, word in enumerate(words)}, self.word_matrix(words)
            for unit in batch:
                rows = [index[entity] for entity in unit.entities]
                mentions, related = present(unit).astype(np.float64), table[np.ix_(rows, rows)]
                known = ~np.isnan(related)
                total = mentions @ np.where(known, related, 0.0) @ mentions.T
                counted = known if self.better == "lower" else np.ones_like(related)
                pairs = mentions @ counted.astype(np.float64) @ mentions.T
                nothing = np.full_like(
                    total, np.nan if self.better == "lower" else 0.0
                )  # 0 would be the best distance
                matrices.append(np.divide(total, pairs, out=nothing, where=pairs > 0))
        return matrices


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
    """

    batch_words: ClassVar[int] = 1000

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        places = {synset: place for place, synset in enumerate(synsets)}
        strength = np.zeros((len(places), len(places)))

        def walk(synset: int, *kinds: int) -> dict[int, int]:
            return self.taxonomy.walk(synset, *kinds, limit=HSO_LONGEST)

        def strengthen(rows: Any, columns: Any, lengths: np.ndarray, turns: Any) -> None:
            allowed = (lengths > 0) & (lengths <= HSO_LONGEST)
            values = np.where(allowed, CONSTANT - lengths - TURN * turns, 0.0)
            strength[np.ix_(rows, columns)] = np.maximum(strength[np.ix_(rows, columns)], values)

        below = defaultdict(list)  # synset -> (place, links) of the synsets that climb to it
        for synset, place in places.items():
            for top, links in walk(synset, HYPERNYM, MERONYM).items():
                below[top].append((place, links))
        climbs = {top: np.array(rows, dtype=np.int64).T for top, rows in below.items()}
        for top, (rows, up) in climbs.items():
            for beside, across in walk(
                top, HORIZONTAL
            ).items():  # the synset itself, 0 links across, is among them
                if beside in climbs:
                    columns, down = climbs[beside]
                    both = (up > 0).astype(int)[:, None] + (down > 0)
                    strengthen(
                        rows, columns, up[:, None] + across + down, both if across else both > 1
                    )
        for synset, place in places.items():  # down, then sideways
            for beside, across in walk(synset, HORIZONTAL).items():
                for top, down in walk(beside, HYPERNYM, MERONYM).items():
                    if across and down and top in places:
                        strengthen([places[top]], [place], np.array([[down + across]]), 1)

        strength = np.maximum(strength, strength.T)
        np.fill_diagonal(strength, 2 * CONSTANT)
        words = self.taxonomy.lexicon.words
        for source, place in places.items():
            for kind, target in self.taxonomy.links.get(source, ()):
                if target in places and (
                    kind == HORIZONTAL or compounds(words[source], words[target])
                ):
                    strength[place, places[target]] = strength[places[target], place] = 2 * CONSTANT
        return strength


@dataclass(frozen=True)
class Lesk(WordnetSimilarity):
    """Distinct content words that two definitions share (Lesk 1986).

    ``extended``: summed squares of shared phrase lengths over ``RELATION_PAIRS`` (Banerjee and Pedersen 2003).
    """

    extended: bool = True

    @cached_property
    def numbers(self) -> list[np.ndarray]:
        """(synsets,) int64 word numbers of each definition; function words come first in the numbering."""
        index = {word: i for i, word in enumerate(FUNCTION_WORDS)}
        rows = [_WORD.findall(gloss.lower()) for gloss in self.taxonomy.lexicon.glosses]
        return [
            np.array([index.setdefault(word, len(index)) for word in row], dtype=np.int64)
            for row in rows
        ]

    @cached_property
    def relatives(self) -> tuple[list[list[int]], ...]:
        """(synsets,) the synset itself, its hypernyms, its hyponyms, by relation number."""
        lexicon = self.taxonomy.lexicon
        return (
            [[i] for i in range(len(lexicon.synsets))],
            lexicon.targets(HYPERNYM),
            lexicon.targets(HYPONYM),
        )

    def joined(self, synset: int, relation: int) -> np.ndarray:
        """Definitions of a synset's relatives, one after another, cut at the limit; a break no phrase crosses between them."""
        parts = [np.zeros(0, dtype=np.int64)]
        for place, relative in enumerate(self.relatives[relation][synset]):
            parts += ([np.array([-3], dtype=np.int64)] if place else []) + [self.numbers[relative]]
        return np.concatenate(parts)[:GLOSS_LIMIT]

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        if not self.extended:
            rows = [
                row[row >= FUNCTIONS]
                for row in (np.unique(self.numbers[synset]) for synset in synsets)
            ]
            kinds = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *rows]))
            table = np.zeros((len(rows), len(kinds)))
            for place, row in enumerate(rows):
                table[place, np.searchsorted(kinds, row)] = 1
            return table @ table.T
        fields = []  # of each relation: the definitions flat, where they end, their words as bits
        for relation in range(3):
            rows = [self.joined(synset, relation) for synset in synsets]
            ends = np.cumsum([0, *map(len, rows)]).astype(np.int64)
            bits = np.zeros((len(rows), SIGNATURE), dtype=bool)
            for place, row in enumerate(rows):
                bits[place, row[row >= FUNCTIONS] % SIGNATURE] = (
                    True  # rows without a common bit share no content word
                )
            flat = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
            fields.append((flat, ends, np.packbits(bits, axis=1).view(np.uint64)))
        total = np.zeros((len(synsets), len(synsets)))
        for first, second in RELATION_PAIRS:
            _add_overlaps(*fields[first], *fields[second], FUNCTIONS, total)
        return np.maximum(total, total.T)


@numba.njit(cache=True)
def _add_overlaps(
    first, first_ends, first_bits, second, second_ends, second_bits, functions, total
):
    size = len(first_ends) - 1
    for i in range(size):
        a = first[first_ends[i] : first_ends[i + 1]]
        for j in range(i, size):
            shared = np.uint64(0)
            for k in range(first_bits.shape[1]):
                shared |= first_bits[i, k] & second_bits[j, k]
            if shared:
                total[i, j] += phrase_overlap(
                    a, second[second_ends[j] : second_ends[j + 1]], functions
                )


@numba.njit(cache=True)
def phrase_overlap(first, second, functions):
    """Sum of squared lengths of shared phrases, longest first, earliest in ``first`` on a tie; each word is used once."""
    a, b = first, second
    total, found = 0, False
    while True:
        best, at, against = 0, 0, 0
        for i in range(len(a)):
            if a[i] < functions or len(a) - i <= best:
                continue
            for j in range(len(b)):
                if a[i] != b[j]:
                    continue
                step, length = 0, 0
                while (
                    i + step < len(a)
                    and j + step < len(b)
                    and a[i + step] == b[j + step]
                    and a[i + step] >= 0
                ):
                    step += 1
                    if a[i + step - 1] >= functions:
                        length = step
                if length > best:
                    best, at, against = length, i, j
        if best == 0:
            return total
        if not found:
            a, b, found = a.copy(), b.copy(), True
        total += best * best
        a[at : at + best] = -1
        b[against : against + best] = -2


@dataclass(frozen=True)
class InformationSimilarity(WordnetSimilarity):
    """Measures on information content, which ``fit`` counts in real texts: ``content``, nats, (synsets of the lexicon,)."""

    content: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Grid]) -> Any:
        counted: Counter[str] = Counter()
        for unit in real:
            counted.update(
                dict(zip(unit.entities, present(unit).sum(axis=0).tolist(), strict=True))
            )
        return replace(self, content=self.taxonomy.information_content(counted))

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        if not self.content.size:
            raise BadInput(
                f"{type(self).__name__} has no information content; call fit(real grids) and use the result"
            )
        own, shared = (
            self.content[list(synsets)],
            self.taxonomy.shared_content(self.content, synsets),
        )
        return self.measure(own[:, None] + own[None, :], shared)

    @abstractmethod
    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """From IC(c1) + IC(c2) and IC(lcs), (synsets, synsets) each."""


@dataclass(frozen=True)
class Resnik(InformationSimilarity):
    """IC(lcs), the information content of the most informative common subsumer (Resnik 1995)."""

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        return shared


@dataclass(frozen=True)
class Lin(InformationSimilarity):
    """2 IC(lcs) / (IC(c1) + IC(c2)) (Lin 1998); zero where neither concept carries information."""

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        return np.divide(2 * shared, summed, out=np.zeros_like(shared), where=summed > 0)


@dataclass(frozen=True)
class JiangConrath(InformationSimilarity, better="lower"):
    """IC(c1) + IC(c2) - 2 IC(lcs), a distance (Jiang and Conrath 1997)."""

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        return np.maximum(summed - 2 * shared, 0.0)


MEASURES = {
    "hirst_st_onge": HirstStOnge,
    "lesk": Lesk,
    "resnik": Resnik,
    "lin": Lin,
    "jiang_conrath": JiangConrath,
}


def wordnet(*, real: Predictions, measure: str, **settings: Any) -> WordnetSimilarity:
    """A measure over the lexicon that travels in the predictions."""
    if measure not in MEASURES:
        raise BadInput(f"word-net measure {measure!r}; allowed are {sorted(MEASURES)}")
    lexicon: Lexicon = lexicon_from_arrays(real.arrays)
    return MEASURES[measure](taxonomy=Taxonomy(lexicon), **settings)
