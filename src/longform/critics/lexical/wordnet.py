r"""Cohesion by relatedness in a word net (lapata2005 section 3.2).

Hirst-St-Onge, Lesk, Resnik, Lin, Jiang-Conrath: $\mathrm{sim}(S_1, S_2)$ is the mean over pairs of
words of $\max_{c_1, c_2} \mathrm{sim}(c_1, c_2)$ over noun senses. Jiang-Conrath is a distance:
nearest senses, lower is better. A noun without an entry adds 0 to a similarity; from a distance its
pairs are left out.
"""

import re
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self

import numba
import numpy as np

from longform.critics.lexical.score import AdjacentSimilarity, present
from longform.critics.lexical.score import units_from_predictions as units_from_predictions
from longform.documents import Predictions
from longform.errors import ConfigError, InputError
from longform.statistics.signatures import FITTED, READING
from longform.text.entity_grids import Grid, folder_lexicon
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
RELATIONS = (GLOSS, HYPERNYMS, HYPONYMS)
RELATION_PAIRS = (
    (GLOSS, GLOSS),
    (HYPERNYMS, HYPERNYMS),
    (HYPONYMS, HYPONYMS),
    (HYPERNYMS, GLOSS),
    (GLOSS, HYPERNYMS),
)
# words of a joined definition; ours: bounds the cost of concepts with hundreds of hyponyms
GLOSS_LIMIT = 300
BREAK = -3  # between two joined definitions
SIGNATURE = 512  # bits that tell most definitions without a common word apart; speed only
_WORD = re.compile(r"[a-z0-9']+")
CONSTANT, TURN = 8.0, 1.0  # C and k (Hirst and St-Onge 1998)
HSO_LONGEST = 5  # links of a medium-strong path (Hirst and St-Onge 1998)
NO_WORDS = np.zeros(0, dtype=np.int64)


def compounds(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a word of one synset is a compound or phrase that holds a word of the other."""
    for one, other in product(first, second):
        pair = (one.replace("-", " ").split(), other.replace("-", " ").split())
        shorter, longer = sorted(pair, key=len)
        for start in range(len(longer) - len(shorter) + 1):
            if len(shorter) < len(longer) and shorter == longer[start : start + len(shorter)]:
                return True
    return False


@dataclass(frozen=True)
class WordnetSimilarity(AdjacentSimilarity):
    """What the measures share: from synsets to words to sentences.

    Attributes:
        batch_words: distinct nouns whose relatedness table is made at once; time and memory only: a
            small table holds few pairs that never meet in a text; where a call costs more than its
            pairs, a large one is faster.
        taxonomy: a word net that was opened elsewhere, the same for every measure of one run.
        lexicon: the folder of a word net, where ``taxonomy`` is none.
    """

    batch_words: ClassVar[int] = 150
    taxonomy: Taxonomy = field(default_factory=Taxonomy, repr=False, metadata=FITTED)
    lexicon: Path | None = field(default=None, kw_only=True, metadata=READING)

    @cached_property
    def net(self) -> Taxonomy:
        """The word net. Raises ConfigError: none was named, or the folder holds none."""
        if self.taxonomy.lexicon.synsets:
            return self.taxonomy
        name = type(self).__name__
        if self.lexicon is None:
            raise ConfigError(f"{name}: no word net; give its folder, {name}(lexicon=Path(...))")
        words = folder_lexicon(self.lexicon)
        if words is None:
            raise ConfigError(
                f"{self.lexicon}: no word net (lexicon.xml, or WordNet's data.noun) in it"
            )
        return Taxonomy(words)

    @abstractmethod
    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """The measure between every two synsets: float64 (synsets, synsets)."""

    def word_matrix(self, words: Sequence[str]) -> np.ndarray:
        """The best value over the senses of every two words.

        Returns:
            float64 (words, words), nan where a word has no entry.
        """
        table = np.full((len(words), len(words)), np.nan)
        senses = [self.net.senses(word) for word in words]
        covered = np.array([i for i, synsets in enumerate(senses) if synsets], dtype=np.int64)
        if not len(covered):
            return table
        # 1. The measure between all synsets, and from it a row and a column for each sense.
        flat = np.concatenate([np.array(senses[i], dtype=np.int64) for i in covered])
        synsets = np.unique(flat)
        rows = np.searchsorted(synsets, flat)
        matrix = self.synset_matrix(synsets.tolist())[np.ix_(rows, rows)]
        # 2. The best over the senses of each word, which stand side by side.
        lengths = [len(senses[i]) for i in covered]
        starts = np.cumsum([0, *lengths])[:-1]
        best = np.minimum if self.better == "lower" else np.maximum
        by_word = best.reduceat(best.reduceat(matrix, starts, axis=0), starts, axis=1)
        table[np.ix_(covered, covered)] = by_word
        return table

    def unknown(self, unit: Grid) -> int:
        return sum(not self.net.senses(entity) for entity in unit.entities)

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Relatedness of every two sentences.

        Word tables are shared by runs of units, so neighbours cost once.
        """
        matrices: list[np.ndarray] = []
        for batch in batches(units, self.batch_words):
            nouns: set[str] = set()
            for unit in batch:
                nouns.update(unit.entities)
            index = {word: row for row, word in enumerate(sorted(nouns))}
            table = self.word_matrix(list(index))
            for unit in batch:
                rows = [index[entity] for entity in unit.entities]
                matrices.append(self._sentence_matrix(unit, table[np.ix_(rows, rows)]))
        return matrices

    def _sentence_matrix(self, unit: Grid, related: np.ndarray) -> np.ndarray:
        """Mean relatedness over pairs of nouns of every two sentences.

        Args:
            related: of the unit's entities, nan where one has no entry.
        """
        mentions = present(unit).astype(np.float64)
        covered = ~np.isnan(related)
        total = mentions @ np.where(covered, related, 0.0) @ mentions.T
        # a distance leaves pairs without an entry out, and without a pair there is none: 0 is best
        is_distance = self.better == "lower"
        weights = covered if is_distance else np.ones_like(related)
        pairs = mentions @ weights.astype(np.float64) @ mentions.T
        without_pairs = np.full_like(total, np.nan if is_distance else 0.0)
        return np.divide(total, pairs, out=without_pairs, where=pairs > 0)


def batches(units: Sequence[Grid], limit: int) -> Iterator[list[Grid]]:
    """Runs of units with at most ``limit`` distinct entities, or one unit."""
    batch: list[Grid] = []
    words: set[str] = set()
    for unit in units:
        if batch and len(words | set(unit.entities)) > limit:
            yield batch
            batch = []
            words = set()
        batch.append(unit)
        words |= set(unit.entities)
    if batch:
        yield batch


@dataclass(frozen=True)
class HirstStOnge(WordnetSimilarity):
    """$C - length - k \\cdot turns$ of the best allowed path, $2C$ for strong relations.

    Hirst and St-Onge 1998. Upward links are hypernyms and meronyms, horizontal ones antonyms,
    similar, also-see, attributes and pertainyms. Allowed shapes of a path: up, down, sideways,
    up-down, up-sideways, sideways-down, down-sideways and up-sideways-down; the last is two turns,
    the others are none or one. A single link is a path too (7), though the definition speaks of two
    to five: by its letter a concept and its hypernym would be unrelated. Strong are the same
    synset,
    a horizontal link, and any link where a compound of one synset holds a word of the other.
    """

    batch_words: ClassVar[int] = 1000

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        index = {synset: row for row, synset in enumerate(synsets)}
        strength = np.zeros((len(index), len(index)))
        self._climb_and_descend(index, strength)
        self._descend_then_sideways(index, strength)
        strength = np.maximum(strength, strength.T)
        self._strong_relations(index, strength)
        return strength

    def _walk(self, synset: int, *kinds: int) -> dict[int, int]:
        """Synsets that links of these kinds reach, with how many links: the synset itself, 0, too."""
        return self.net.walk(synset, *kinds, limit=HSO_LONGEST)

    def _climb_and_descend(self, index: Mapping[int, int], strength: np.ndarray) -> None:
        """Paths up, sideways and down, each part perhaps of no link."""
        # 1. Of every synset the rows and numbers of links of those that climb to it.
        below: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for synset, row in index.items():
            for top, links in self._walk(synset, HYPERNYM, MERONYM).items():
                below[top].append((row, links))
        climbs = {top: np.array(pairs, dtype=np.int64).T for top, pairs in below.items()}
        # 2. Up to a synset, across to one beside it (or to itself, by no link), and down from
        # there.
        for top, (rows, up) in climbs.items():
            for beside, across in self._walk(top, HORIZONTAL).items():
                if beside not in climbs:
                    continue
                columns, down = climbs[beside]
                lengths = up[:, None] + across + down
                up_and_down = (up > 0).astype(int)[:, None] + (down > 0)
                turns = up_and_down if across else up_and_down > 1
                _strengthen(strength, rows, columns, lengths, turns)

    def _descend_then_sideways(self, index: Mapping[int, int], strength: np.ndarray) -> None:
        """Paths down and then sideways, found from their end."""
        for synset, column in index.items():
            for beside, across in self._walk(synset, HORIZONTAL).items():
                if not across:
                    continue
                for top, down in self._walk(beside, HYPERNYM, MERONYM).items():
                    if down and top in index:
                        lengths = np.array([[down + across]])
                        _strengthen(strength, [index[top]], [column], lengths, 1)

    def _strong_relations(self, index: Mapping[int, int], strength: np.ndarray) -> None:
        """The same synset, a horizontal link, and a link between a compound and a word that it
        holds.
        """
        np.fill_diagonal(strength, 2 * CONSTANT)
        words = self.net.lexicon.words
        for source, row in index.items():
            for kind, target in self.net.links.get(source, ()):
                if target not in index:
                    continue
                if kind == HORIZONTAL or compounds(words[source], words[target]):
                    strength[row, index[target]] = 2 * CONSTANT
                    strength[index[target], row] = 2 * CONSTANT


def _strengthen(
    strength: np.ndarray, rows: Any, columns: Any, lengths: np.ndarray, turns: Any
) -> None:
    """Raise entries to the value of paths of so many links and turns, where these are allowed."""
    allowed = (lengths > 0) & (lengths <= HSO_LONGEST)
    values = np.where(allowed, CONSTANT - lengths - TURN * turns, 0.0)
    entries = np.ix_(rows, columns)
    strength[entries] = np.maximum(strength[entries], values)


@dataclass(frozen=True)
class Lesk(WordnetSimilarity):
    """Distinct content words that two definitions share (Lesk 1986).

    ``extended``: summed squares of shared phrase lengths over ``RELATION_PAIRS`` (Banerjee and
    Pedersen 2003).
    """

    extended: bool = True

    @cached_property
    def numbers(self) -> list[np.ndarray]:
        """(synsets,) int64 word numbers of each definition; function words come first."""
        index = {word: i for i, word in enumerate(FUNCTION_WORDS)}
        definitions = []
        for gloss in self.net.lexicon.glosses:
            numbers = [index.setdefault(word, len(index)) for word in _WORD.findall(gloss.lower())]
            definitions.append(np.array(numbers, dtype=np.int64))
        return definitions

    @cached_property
    def relatives(self) -> tuple[list[list[int]], ...]:
        """(synsets,) the synset itself, its hypernyms, its hyponyms, by relation number."""
        lexicon = self.net.lexicon
        themselves = [[synset] for synset in range(len(lexicon.synsets))]
        return themselves, lexicon.targets(HYPERNYM), lexicon.targets(HYPONYM)

    def joined(self, synset: int, relation: int) -> np.ndarray:
        """Definitions of a synset's relatives, one after another, cut at the limit.

        A break that no phrase crosses stands between them.
        """
        words = [NO_WORDS]
        for relative in self.relatives[relation][synset]:
            if len(words) > 1:
                words.append(np.array([BREAK], dtype=np.int64))
            words.append(self.numbers[relative])
        return np.concatenate(words)[:GLOSS_LIMIT]

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        if not self.extended:
            return self._shared_words(synsets)
        definitions = [self._definitions(synsets, relation) for relation in RELATIONS]
        total = np.zeros((len(synsets), len(synsets)))
        for first, second in RELATION_PAIRS:
            _add_overlaps(*definitions[first], *definitions[second], FUNCTIONS, total)
        return np.maximum(total, total.T)

    def _shared_words(self, synsets: Sequence[int]) -> np.ndarray:
        """Content words that every two synsets' own definitions share, (synsets, synsets)."""
        rows = []
        for synset in synsets:
            words = np.unique(self.numbers[synset])
            rows.append(words[words >= FUNCTIONS])
        vocabulary = np.unique(np.concatenate([NO_WORDS, *rows]))
        has_word = np.zeros((len(rows), len(vocabulary)))
        for row, words in zip(has_word, rows, strict=True):
            row[np.searchsorted(vocabulary, words)] = 1
        return has_word @ has_word.T

    def _definitions(
        self, synsets: Sequence[int], relation: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Joined definitions of one relation.

        Returns:
            Their words flat, where each begins and ends, (synsets + 1), and their content words as
            bits: two definitions without a common bit share none.
        """
        rows = [self.joined(synset, relation) for synset in synsets]
        ends = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        bits = np.zeros((len(rows), SIGNATURE), dtype=bool)
        for row, words in zip(bits, rows, strict=True):
            row[words[words >= FUNCTIONS] % SIGNATURE] = True
        return np.concatenate([NO_WORDS, *rows]), ends, np.packbits(bits, axis=1).view(np.uint64)


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
    """Sum of squared lengths of shared phrases, longest first, earliest in ``first`` on a tie; each
    word is used once.
    """
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
    """Measures on information content, which ``fit`` counts in real texts.

    ``content``: nats, (synsets of the lexicon,).
    """

    content: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Grid]) -> Self:
        counts: Counter[str] = Counter()
        for unit in real:
            mentions = present(unit).sum(axis=0).tolist()
            counts.update(dict(zip(unit.entities, mentions, strict=True)))
        return replace(self, content=self.net.information_content(counts))

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        if not self.content.size:
            raise InputError(
                f"{type(self).__name__} has no information content; "
                "call fit(real texts) and use the result"
            )
        content = self.content[list(synsets)]
        shared = self.net.shared_content(self.content, synsets)
        return self.measure(content[:, None] + content[None, :], shared)

    @abstractmethod
    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """From IC(c1) + IC(c2) and IC(lcs), (synsets, synsets) each."""


@dataclass(frozen=True)
class Resnik(InformationSimilarity):
    """IC(lcs), the content of the most informative common subsumer (Resnik 1995)."""

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        return shared


@dataclass(frozen=True)
class Lin(InformationSimilarity):
    """2 IC(lcs) / (IC(c1) + IC(c2)) (Lin 1998); zero where neither concept carries information."""

    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        return np.divide(2 * shared, summed, out=np.zeros_like(shared), where=summed > 0)


@dataclass(frozen=True)
class JiangConrath(InformationSimilarity, better="lower", blame=1):
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
        raise ConfigError(f"word-net measure {measure!r}; allowed are {sorted(MEASURES)}")
    lexicon: Lexicon = lexicon_from_arrays(real.arrays)
    return MEASURES[measure](taxonomy=Taxonomy(lexicon), **settings)
