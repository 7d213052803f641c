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
from longform.statistics.signatures import FITTED, READING  # not in signatures
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

_FUNCTION_WORDS_FILE = Path(__file__).with_name("function_words.txt")
FUNCTION_WORDS = list(dict.fromkeys(_FUNCTION_WORDS_FILE.read_text("utf-8").split()))
FUNCTIONS = len(FUNCTION_WORDS)  # words are numbered, these first: a content word is >= FUNCTIONS
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
# numbers that are no words and equal none
USED_IN_FIRST = -1
USED_IN_SECOND = -2
BREAK = -3  # between two joined definitions
SIGNATURE = 512  # bits that tell most definitions without a common word apart; speed only
_WORD = re.compile(r"[a-z0-9']+")
CONSTANT, TURN = 8.0, 1.0  # C and k (Hirst and St-Onge 1998)
HSO_LONGEST = 5  # links of a medium-strong path (Hirst and St-Onge 1998)
NO_WORDS = np.zeros(0, dtype=np.int64)


def compounds(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a word of one synset is a compound or phrase that contains a word of the other.

    Args:
        first, second: the words of each synset; parts of a compound are separated by blanks
            or hyphens.
    """
    for first_word, second_word in product(first, second):
        first_parts = first_word.replace("-", " ").split()
        second_parts = second_word.replace("-", " ").split()
        shorter, longer = sorted((first_parts, second_parts), key=len)
        if len(shorter) < len(longer) and _holds(longer, shorter):
            return True
    return False


def _holds(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    """Whether the words of one list stand side by side in another."""
    for start in range(len(longer) - len(shorter) + 1):
        if longer[start : start + len(shorter)] == shorter:
            return True
    return False


@dataclass(frozen=True)
class WordnetSimilarity(AdjacentSimilarity):
    """Base of the measures: a subclass compares synsets, from which words and sentences follow.

    Attributes:
        batch_words: distinct nouns whose relatedness table is made at once. It changes time and
            memory only: a small table has few pairs that never meet in a text; where a call costs
            more than its pairs, a large one is faster.
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
        lexicon = folder_lexicon(self.lexicon)
        if lexicon is None:
            raise ConfigError(
                f"{self.lexicon}: no word net (lexicon.xml, or WordNet's data.noun) in it"
            )
        return Taxonomy(lexicon)

    @abstractmethod
    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """The measure between every two synsets: float64 (synsets, synsets)."""

    def word_matrix(self, words: Sequence[str]) -> np.ndarray:
        """The best value over the senses of every two words.

        Returns:
            float64 (words, words), nan where a word has no entry.
        """
        table = np.full((len(words), len(words)), np.nan)
        # 1. The senses of all words with an entry, one after another, and where each word's begin.
        covered = []
        starts = []
        senses: list[int] = []
        for row, word in enumerate(words):
            senses_of_word = self.net.senses(word)
            if senses_of_word:
                covered.append(row)
                starts.append(len(senses))
                senses.extend(senses_of_word)
        if not covered:
            return table
        # 2. The measure between all synsets, and from it a row and a column for each sense.
        synsets = np.unique(senses)
        rows = np.searchsorted(synsets, senses)
        by_sense = self.synset_matrix(synsets.tolist())[np.ix_(rows, rows)]
        # 3. The best over the senses of each word.
        best = np.minimum if self.better == "lower" else np.maximum
        by_row_word = best.reduceat(by_sense, starts)
        table[np.ix_(covered, covered)] = best.reduceat(by_row_word, starts, axis=1)
        return table

    def unknown(self, unit: Grid) -> int:
        """How many nouns of a unit have no entry in the word net."""
        without_entry = [entity for entity in unit.entities if not self.net.senses(entity)]
        return len(without_entry)

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Relatedness of every two sentences, float64 (sentences, sentences) a unit.

        The table of words is made for a run of units at once, which saves time.
        """
        matrices: list[np.ndarray] = []
        for batch in batches(units, self.batch_words):
            nouns: set[str] = set()
            for unit in batch:
                nouns.update(unit.entities)
            words = sorted(nouns)
            table = self.word_matrix(words)
            row_of = {word: row for row, word in enumerate(words)}
            for unit in batch:
                rows = [row_of[entity] for entity in unit.entities]
                matrices.append(self._sentence_matrix(unit, table[np.ix_(rows, rows)]))
        return matrices

    def _sentence_matrix(self, unit: Grid, related: np.ndarray) -> np.ndarray:
        """Mean relatedness over pairs of nouns of every two sentences.

        Args:
            unit: whose sentences they are.
            related: of the unit's entities, (entities, entities), nan where one has no entry.

        Returns:
            float64 (sentences, sentences).
        """
        mentions = present(unit).astype(np.float64)
        covered = ~np.isnan(related)
        total = mentions @ np.where(covered, related, 0.0) @ mentions.T
        # A pair without an entry is as unlike as can be: it counts with a similarity of 0. A
        # distance of 0 would be the best one: such a pair is left out, and without a pair there is
        # no distance.
        if self.better == "lower":
            weights = covered.astype(np.float64)
            means = np.full_like(total, np.nan)
        else:
            weights = np.ones_like(related)
            means = np.zeros_like(total)
        pairs = mentions @ weights @ mentions.T
        return np.divide(total, pairs, out=means, where=pairs > 0)


def batches(units: Sequence[Grid], limit: int) -> Iterator[list[Grid]]:
    """Cut units into runs of at most ``limit`` distinct entities; a larger unit is its own run."""
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
    synset, a horizontal link, and any link where a compound of one synset holds a word of the
    other.
    """

    batch_words: ClassVar[int] = 1000

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """The strength of the best relation of every two synsets; 0 for none."""
        row_of = {synset: row for row, synset in enumerate(synsets)}
        strength = np.zeros((len(row_of), len(row_of)))
        self._climb_and_descend(row_of, strength)
        self._descend_then_sideways(row_of, strength)
        # a path may be walked from either end
        strength = np.maximum(strength, strength.T)
        self._strong_relations(row_of, strength)
        return strength

    def _walk(self, synset: int, *kinds: int) -> dict[int, int]:
        """Synsets that links of these kinds reach, with how many links; itself, by none, too."""
        return self.net.walk(synset, *kinds, limit=HSO_LONGEST)

    def _climb_and_descend(self, row_of: Mapping[int, int], strength: np.ndarray) -> None:
        """Add paths up, then sideways, then down, of which any part may have no link.

        Args:
            row_of: the row of each synset.
            strength: raised to the value of such paths, (synsets, synsets); changed in place.
        """
        # 1. For every synset in the net, the rows of those that climb to it, and by how many links.
        below: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for synset, row in row_of.items():
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
                # 3. A turn lies between any two parts that have links.
                up_and_down = (up > 0).astype(int)[:, None] + (down > 0)
                turns = up_and_down if across else up_and_down > 1
                _strengthen(strength, rows, columns, lengths, turns)

    def _descend_then_sideways(self, row_of: Mapping[int, int], strength: np.ndarray) -> None:
        """Add paths down and then sideways, walked backwards: sideways, then up.

        Arguments as for :meth:`_climb_and_descend`.
        """
        for synset, column in row_of.items():
            for beside, across in self._walk(synset, HORIZONTAL).items():
                if not across:
                    continue
                for top, down in self._walk(beside, HYPERNYM, MERONYM).items():
                    if down and top in row_of:
                        lengths = np.array([[down + across]])
                        _strengthen(strength, [row_of[top]], [column], lengths, 1)

    def _strong_relations(self, row_of: Mapping[int, int], strength: np.ndarray) -> None:
        """Set strong relations to ``2 * CONSTANT``.

        Arguments as for :meth:`_climb_and_descend`.
        """
        np.fill_diagonal(strength, 2 * CONSTANT)
        words = self.net.lexicon.words
        for source, row in row_of.items():
            for kind, target in self.net.links.get(source, ()):
                if target not in row_of:
                    continue
                if kind == HORIZONTAL or compounds(words[source], words[target]):
                    column = row_of[target]
                    strength[row, column] = 2 * CONSTANT
                    strength[column, row] = 2 * CONSTANT


def _strengthen(
    strength: np.ndarray, rows: Any, columns: Any, lengths: np.ndarray, turns: Any
) -> None:
    """Raise entries to the value of paths, where these are allowed.

    Args:
        strength: (synsets, synsets); is changed in place.
        rows, columns: whose entries are raised.
        lengths: links of the path of each, (rows, columns).
        turns: of the path of each, or of all.
    """
    allowed = (lengths > 0) & (lengths <= HSO_LONGEST)
    values = np.where(allowed, CONSTANT - lengths - TURN * turns, 0.0)
    entries = np.ix_(rows, columns)
    strength[entries] = np.maximum(strength[entries], values)


@dataclass(frozen=True)
class Lesk(WordnetSimilarity):
    """Distinct content words that two definitions share (Lesk 1986).

    Attributes:
        extended: summed squares of the lengths of shared phrases over ``RELATION_PAIRS`` instead
            (Banerjee and Pedersen 2003).
    """

    extended: bool = True

    @cached_property
    def numbers(self) -> list[np.ndarray]:
        """The words of each synset's definition as numbers, int64 (words,) per synset of the net.

        Function words have the numbers below ``FUNCTIONS``.
        """
        number_of = {word: number for number, word in enumerate(FUNCTION_WORDS)}
        definitions = []
        for gloss in self.net.lexicon.glosses:
            words = _WORD.findall(gloss.lower())
            numbers = [number_of.setdefault(word, len(number_of)) for word in words]
            definitions.append(np.array(numbers, dtype=np.int64))
        return definitions

    @cached_property
    def relatives(self) -> tuple[list[list[int]], ...]:
        """By relation, of every synset in the net: itself, its hypernyms, or its hyponyms."""
        lexicon = self.net.lexicon
        themselves = [[synset] for synset in range(len(lexicon.synsets))]
        return themselves, lexicon.targets(HYPERNYM), lexicon.targets(HYPONYM)

    def joined(self, synset: int, relation: int) -> np.ndarray:
        """The definitions of a synset's relatives, one after another, as numbers, int64 (words,).

        A break that no phrase crosses stands between them.
        """
        words = [NO_WORDS]
        for relative in self.relatives[relation][synset]:
            if len(words) > 1:
                words.append(np.array([BREAK], dtype=np.int64))
            words.append(self.numbers[relative])
        return np.concatenate(words)[:GLOSS_LIMIT]

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """Shared words, or summed squares of shared phrases, of every two synsets."""
        if not self.extended:
            return self._shared_words(synsets)
        definitions = [self._definitions(synsets, relation) for relation in RELATIONS]
        total = np.zeros((len(synsets), len(synsets)))
        for first, second in RELATION_PAIRS:
            _add_overlaps(*definitions[first], *definitions[second], FUNCTIONS, total)
        # only the upper triangle was summed
        return np.maximum(total, total.T)

    def _shared_words(self, synsets: Sequence[int]) -> np.ndarray:
        """Distinct content words that every two synsets' own definitions share."""
        content_words = []
        for synset in synsets:
            words = np.unique(self.numbers[synset])
            content_words.append(words[words >= FUNCTIONS])
        vocabulary = np.unique(np.concatenate([NO_WORDS, *content_words]))
        has_word = np.zeros((len(content_words), len(vocabulary)))
        for row, words in zip(has_word, content_words, strict=True):
            row[np.searchsorted(vocabulary, words)] = 1
        return has_word @ has_word.T

    def _definitions(
        self, synsets: Sequence[int], relation: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Joined definitions of one relation.

        Returns:
            Their words one after another, int64 (words,); where each begins and, last, where the
            last one ends, int64 (synsets + 1,); and their content words as bits, uint64 (synsets,
            SIGNATURE / 64): two definitions without a common bit share none.
        """
        definitions = [NO_WORDS]
        ends = [0]
        bits = np.zeros((len(synsets), SIGNATURE), dtype=bool)
        for row, synset in enumerate(synsets):
            words = self.joined(synset, relation)
            definitions.append(words)
            ends.append(ends[-1] + len(words))
            content_words = words[words >= FUNCTIONS]
            bits[row, content_words % SIGNATURE] = True
        packed = np.packbits(bits, axis=1).view(np.uint64)
        return np.concatenate(definitions), np.array(ends, dtype=np.int64), packed


@numba.njit(cache=True)
def _add_overlaps(
    first, first_ends, first_bits, second, second_ends, second_bits, functions, total
):
    """Add the overlaps of definitions of two relations to the upper triangle of ``total``.

    Args:
        first, first_ends, first_bits: the definitions of the first relation, as
            ``Lesk._definitions`` gives them.
        second, second_ends, second_bits: those of the second.
        functions: how many words are function words, as of :func:`phrase_overlap`.
        total: float64 (synsets, synsets); changed in place.
    """
    size = len(first_ends) - 1
    for i in range(size):
        first_words = first[first_ends[i] : first_ends[i + 1]]
        for j in range(i, size):
            # 1. Most pairs have no content word in common, which takes less time to see in bits.
            shared = np.uint64(0)
            for k in range(first_bits.shape[1]):
                shared |= first_bits[i, k] & second_bits[j, k]
            # 2. The others are compared.
            if shared:
                second_words = second[second_ends[j] : second_ends[j + 1]]
                total[i, j] += phrase_overlap(first_words, second_words, functions)


@numba.njit(cache=True)
def phrase_overlap(first, second, functions):
    """Sum of the squared lengths of the phrases that two definitions share.

    The longest phrase counts first, of equal ones the earliest in ``first``; each word is used once
    (Banerjee and Pedersen 2003, section 3).

    Args:
        first, second: words of the definitions as numbers, int64.
        functions: how many words are function words, which have the lowest numbers.
    """
    total = 0
    is_copy = False
    while True:
        # 1. The longest phrase that is left.
        length, start, second_start = _longest_phrase(first, second, functions)
        if length == 0:
            return total
        total += length * length
        # 2. Its words are used up, in copies: the definitions are compared with others as well.
        if not is_copy:
            first = first.copy()
            second = second.copy()
            is_copy = True
        first[start : start + length] = USED_IN_FIRST
        second[second_start : second_start + length] = USED_IN_SECOND


@numba.njit(cache=True, forceinline=True)
def _longest_phrase(first, second, functions):
    """The longest phrase that begins and ends with a content word, the earliest on a tie.

    Args:
        first, second: words of two definitions as numbers, int64 (words,); those that are used up
            are negative.
        functions: how many words are function words, which have the lowest numbers.

    Returns:
        Its length, 0 where none is shared, and where it begins in both.
    """
    longest = 0
    start = 0
    second_start = 0
    for i in range(len(first)):
        if first[i] < functions or len(first) - i <= longest:
            continue
        for j in range(len(second)):
            if first[i] == second[j]:
                length = _phrase_length(first, second, i, j, functions)
                if length > longest:
                    longest = length
                    start = i
                    second_start = j
    return longest, start, second_start


@numba.njit(cache=True, forceinline=True)
def _phrase_length(first, second, i, j, functions):
    """Words up to the last content word of the run that both share from ``i`` and ``j`` on.

    Args:
        first, second, functions: as of :func:`_longest_phrase`.
        i, j: where the run begins in ``first`` and in ``second``.

    Returns:
        The number of words, 0 where the run has no content word.
    """
    length = 0
    step = 0
    while i + step < len(first) and j + step < len(second):
        word = first[i + step]
        if word != second[j + step] or word < 0:
            break
        step += 1
        if word >= functions:
            length = step
    return length


@dataclass(frozen=True)
class InformationSimilarity(WordnetSimilarity):
    """Measures on information content, which ``fit`` counts in real texts.

    Attributes:
        content: of each synset of the net, nats, (synsets,).
    """

    content: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)

    def fit_units(self, real: Sequence[Grid]) -> Self:
        """Estimate each synset's information content from how many sentences mention each noun."""
        counts: Counter[str] = Counter()
        for unit in real:
            mentions = present(unit).sum(axis=0).tolist()
            counts.update(dict(zip(unit.entities, mentions, strict=True)))
        return replace(self, content=self.net.information_content(counts))

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """The measure between every two synsets. Raises InputError: not fitted."""
        if not self.content.size:
            raise InputError(
                f"{type(self).__name__} has no information content; "
                "call fit(real texts) and use the result"
            )
        content = self.content[list(synsets)]
        summed = content[:, None] + content[None, :]
        shared = self.net.shared_content(self.content, synsets)
        return self.measure(summed, shared)

    @abstractmethod
    def measure(self, summed: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """From the content of two synsets and what they share.

        Args:
            summed: IC(c1) + IC(c2), nats, (synsets, synsets).
            shared: IC(lcs), of their most informative common subsumer, of the same shape.
        """


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


# Class keywords: see SumScored.
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
    """The critic of a measure, not yet fitted, over the word net that predictions bring along.

    Args:
        real: predictions of grids, with the arrays of a word net.
        measure: one of ``MEASURES``.
        settings: of its class.

    Raises:
        ConfigError: there is no such measure.
    """
    if measure not in MEASURES:
        raise ConfigError(f"word-net measure {measure!r}; allowed are {sorted(MEASURES)}")
    lexicon: Lexicon = lexicon_from_arrays(real.arrays)
    return MEASURES[measure](taxonomy=Taxonomy(lexicon), **settings)
