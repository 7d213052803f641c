r"""Cohesion by relatedness in a word net: Hirst-St-Onge, Lesk, Resnik, Lin, Jiang-Conrath (lapata2005 section 3.2).

$\mathrm{sim}(S_1, S_2) = \frac{1}{|S_1||S_2|} \sum_{w_1 \in S_1} \sum_{w_2 \in S_2} \max_{c_1, c_2} \mathrm{sim}(c_1, c_2)$ over the noun
senses of the words. Jiang-Conrath is a distance, so it takes the nearest senses (minimum) and lower is better; the
paper enters it as a dissimilarity too. A noun without an entry adds 0 to a similarity and still counts in $|S|$; from
a distance such pairs are left out of sum and count, since 0 would be the best value; so are sentence pairs without any.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better
from longform.critics.lexical.gloss_overlap import Glosses, extended_lesk, plain_lesk
from longform.critics.lexical.score import AdjacentSimilarity, present
from longform.critics.lexical.taxonomy import HSO_CONSTANT, HSO_TURN, Taxonomy
from longform.documents import BadInput, Readout
from longform.text.entity_grids import Grid, grids_from_readout
from longform.text.lexicon import Lexicon, lexicon_from_arrays

units_from_readout = grids_from_readout
FITTED = {"fitted": True}


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
        senses = [self.taxonomy.lexicon.noun_senses(word) for word in words]
        covered = np.array([i for i, row in enumerate(senses) if row], dtype=np.int64)
        table = np.full((len(words), len(words)), np.nan)
        if len(covered):
            kinds = np.unique([synset for row in senses for synset in row])
            places = np.searchsorted(kinds, [synset for i in covered for synset in senses[i]])
            starts = np.cumsum([0] + [len(senses[i]) for i in covered])[:-1]
            matrix = self.synset_matrix(kinds.tolist())[np.ix_(places, places)]
            table[np.ix_(covered, covered)] = self._best(self._best(matrix, starts, 0), starts, 1)
        return table

    def unknown(self, unit: Grid) -> int:
        """Entities without a noun entry."""
        return sum(not self.taxonomy.lexicon.noun_senses(entity) for entity in unit.entities)

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

    def _best(self, matrix: np.ndarray, starts: np.ndarray, axis: int) -> np.ndarray:
        return (np.minimum if self.better == "lower" else np.maximum).reduceat(matrix, starts, axis=axis)

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

    Attributes:
        constant, turn: C and k, 8 and 1 in Hirst and St-Onge.
    """

    batch_words: ClassVar[int] = 1000
    constant: float = HSO_CONSTANT
    turn: float = HSO_TURN

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """The better direction of each pair."""
        return self.taxonomy.hirst_st_onge(synsets, self.constant, self.turn)


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
        counted: dict[str, float] = {}
        for unit in real:
            for entity, times in zip(unit.entities, present(unit).sum(axis=0), strict=True):
                counted[entity] = counted.get(entity, 0.0) + float(times)
        return self.with_counts(counted)

    def with_counts(self, counted: Mapping[str, float]) -> Any:
        """Information content from the noun counts of any corpus."""
        return replace(self, content=self.taxonomy.information_content(counted, self.smoothing))

    def _shared(self, synsets: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        if not self.content.size:
            raise BadInput(
                f"{type(self).__name__} has no information content yet; call fit(real grids) and use the result"
            )
        return self.content[list(synsets)], self.taxonomy.shared_content(self.content, synsets)


@dataclass(frozen=True)
class Resnik(InformationSimilarity):
    """Information content of the most informative common subsumer (Resnik 1995)."""

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """IC(lcs)."""
        return self._shared(synsets)[1]


@dataclass(frozen=True)
class Lin(InformationSimilarity):
    """2 IC(lcs) / (IC(c1) + IC(c2)) (Lin 1998)."""

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """Zero where neither concept carries information."""
        own, shared = self._shared(synsets)
        total = own[:, None] + own[None, :]
        return np.divide(2 * shared, total, out=np.zeros_like(shared), where=total > 0)


@dataclass(frozen=True)
class JiangConrath(InformationSimilarity):
    """IC(c1) + IC(c2) - 2 IC(lcs), a distance (Jiang and Conrath 1997)."""

    better: ClassVar[Better] = "lower"

    def synset_matrix(self, synsets: Sequence[int]) -> np.ndarray:
        """Zero between a concept and itself."""
        own, shared = self._shared(synsets)
        return np.maximum(own[:, None] + own[None, :] - 2 * shared, 0.0)


MEASURES = {
    "hirst_st_onge": HirstStOnge, "lesk": Lesk, "resnik": Resnik, "lin": Lin, "jiang_conrath": JiangConrath,
}  # fmt: skip


def wordnet(*, real: Readout, measure: str, **settings: Any) -> WordnetSimilarity:
    """A measure over the lexicon that travels in the readout.

    Raises:
        BadInput: no such measure, or no lexicon in the readout.
    """
    if measure not in MEASURES:
        raise BadInput(f"word-net measure {measure!r}; allowed are {sorted(MEASURES)}")
    lexicon: Lexicon = lexicon_from_arrays(real.arrays)
    return MEASURES[measure](taxonomy=Taxonomy(lexicon), **settings)
