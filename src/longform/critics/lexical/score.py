r"""Lexical cohesion of adjacent sentences: $\frac{1}{n-1} \sum_i \mathrm{sim}(S_i, S_{i+1})$ (lapata2005 section 3.2).

A sentence is the set of its nouns, taken from an entity grid. Overlap counts shared nouns; latent semantics compares mean
word vectors by cosine. Measures over a word net are in :mod:`longform.critics.lexical.wordnet`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd

from longform.errors import BadInput
from longform.statistics.random_streams import derived_seed
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored
from longform.text.entity_grids import ABSENT, Grid, grids_from_predictions

units_from_predictions = grids_from_predictions
PASSES = 10  # ours: power iterations of the randomised decomposition
DENSE = 1000  # ours: side of a table up to which all eigenvectors cost less than a second
COLUMNS = ("similarity", "pairs", "bare", "unknown", "excluded")


class AdjacentSimilarity(
    SumScored,
    better="higher",
    divided=("similarity", "pairs"),
    parts="pairs of sentences",
    blame=-1,
):
    """What all lexical critics share; each says how alike the sentences of a unit are."""

    @abstractmethod
    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Similarity of every two sentences, one float64 (sentences, sentences) per unit."""

    def unknown(self, unit: Grid) -> int:
        """Entities of a unit that the measure knows nothing of."""
        return 0

    def compares(self, unit: Grid) -> bool:
        """Whether a unit has two sentences and a noun that the measure knows; another one is set aside, not incoherent."""
        return not unit.empty and len(unit.cells) > 1 and self.unknown(unit) < len(unit.entities)

    def part_values(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Similarity of each sentence to the next, float64 (sentences - 1,), nan where undefined; empty where there is none."""
        compared = [self.compares(unit) for unit in units]
        values = iter(self.neighbours(list(compress(units, compared))))
        return [next(values) if there else np.zeros(0) for there in compared]

    def neighbours(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Similarity of each sentence to the next, float64 (sentences - 1,), of units with nouns and two sentences or more."""
        return [np.diag(matrix, 1) for matrix in self.sentence_matrices(units)]

    def sufficient_statistics(self, units: Sequence[Grid]) -> SufficientStatistics:
        """Columns: summed similarity, adjacent pairs, pairs with a sentence without nouns, unknown entities."""
        rows: list[tuple[float, ...]] = []
        for unit, parts in zip(units, self.part_values(units), strict=True):
            mentioned = np.asarray(present(unit).any(axis=1))
            bare = int((~(mentioned[:-1] & mentioned[1:])).sum())
            pairs = int((~np.isnan(parts)).sum())
            rows.append(
                (float(np.nansum(parts)), pairs, bare, self.unknown(unit), 0)
                if pairs
                else (0, 0, 0, 0, 1)
            )
        return SufficientStatistics.of(units, COLUMNS, rows)

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Coherence of a text under each of ``orders`` (orders, sentences); nan for an excluded text."""
        if not self.compares(unit):
            return np.full(len(orders), np.nan)
        values = self.sentence_matrices([unit])[0][orders[:, :-1], orders[:, 1:]]
        there = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            return np.where(there, values, 0.0).sum(axis=1) / there.sum(axis=1)


def present(unit: Grid) -> np.ndarray:
    """Which entities each sentence mentions: bool (sentences, entities)."""
    return unit.cells != ABSENT


def _divided(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)


@dataclass(frozen=True)
class Overlap(AdjacentSimilarity):
    """Shared nouns over sentence lengths by Dice: the printed formula lost its operator and factor, and Dice keeps both lengths apart."""

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Overlap of every two sentences; 0 where both lack nouns."""
        tables = [present(unit).astype(np.float64) for unit in units]
        return [
            _divided(2 * (table @ table.T), np.add.outer(table.sum(axis=1), table.sum(axis=1)))
            for table in tables
        ]

    def neighbours(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """As the matrices' first diagonals, without the matrices: a book has 10^9 pairs of sentences."""
        found = []
        for mentions in map(present, units):
            sizes = mentions.sum(axis=1).astype(np.float64)
            shared = (mentions[:-1] & mentions[1:]).sum(axis=1).astype(np.float64)
            found.append(_divided(2 * shared, sizes[:-1] + sizes[1:]))
        return found


@dataclass(frozen=True)
class LatentSemantics(AdjacentSimilarity):
    """Cosine of mean word vectors in a space of latent semantics (Foltz et al. 1998; lapata2005 section 3.2).

    ``dims``: kept of the truncated singular value decomposition, at most one less than the smaller side of the
    term-document table. The number is lost in the paper; its sibling papers use 100.
    """

    dims: int = 100
    words: Mapping[str, int] = field(default_factory=dict, repr=False, metadata=FITTED)
    vectors: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )  # (words, dims)

    def __post_init__(self) -> None:
        if self.dims < 1:
            raise BadInput(
                f"latent semantics: dims is {self.dims}, allowed is from 1; 100 is usual"
            )

    def fit_units(self, real: Sequence[Grid]) -> "LatentSemantics":
        words = {
            word: i
            for i, word in enumerate(sorted({entity for unit in real for entity in unit.entities}))
        }
        table = term_documents([unit for unit in real if not unit.empty], words)
        size = min(self.dims, min(table.shape) - 1)
        if size < 1:
            raise BadInput(
                f"latent semantics: {table.shape[0]} nouns in {table.shape[1]} texts; two of each needed"
            )
        return replace(self, words=words, vectors=word_vectors(table, size))

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Cosine of the mean vectors of every two sentences; 0 where a sentence has no known noun."""
        return [_cosines(sums, sums.T) for sums in map(self._sums, units)]

    def neighbours(self, units: Sequence[Grid]) -> list[np.ndarray]:
        return [
            _cosines(sums[:-1, None], sums[1:, :, None])[:, 0, 0] for sums in map(self._sums, units)
        ]

    def unknown(self, unit: Grid) -> int:
        if not self.words:
            raise BadInput(
                "latent semantics has no space yet; call fit(real grids) and use what it returns"
            )
        return sum(entity not in self.words for entity in unit.entities)

    def _sums(self, unit: Grid) -> np.ndarray:
        """Summed word vectors of each sentence, float64 (sentences, dims)."""
        known = [j for j, entity in enumerate(unit.entities) if entity in self.words]
        rows = self.vectors[[self.words[unit.entities[j]] for j in known]]
        return present(unit)[:, known].astype(np.float64) @ rows


def _cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    lengths = (
        np.linalg.norm(first, axis=-1)[..., :, None] * np.linalg.norm(second, axis=-2)[..., None, :]
    )
    return _divided(first @ second, lengths)


def word_vectors(table: csr_array, dims: int) -> np.ndarray:
    r"""$U_k S_k$ of the truncated decomposition $A \approx U_k S_k V_k^\top$: float64 (words, dims).

    Where the smaller side has at most ``DENSE`` entries, by all eigenvectors of its products; above, by a randomised
    decomposition of the sparse table (Halko, Martinsson and Tropp 2011), the same at every call.
    """
    words, texts = table.shape
    if min(words, texts) > DENSE:
        seed = derived_seed("latent semantics", words, texts) % 2**32
        left, sizes, _ = randomized_svd(table, dims, n_iter=PASSES, random_state=seed)
        return left * sizes
    if texts <= words:
        return (
            table @ eigh((table.T @ table).toarray(), subset_by_index=[texts - dims, texts - 1])[1]
        )
    squared, left = eigh((table @ table.T).toarray(), subset_by_index=[words - dims, words - 1])
    return left * np.sqrt(np.maximum(squared, 0.0))


def term_documents(units: Sequence[Grid], words: Mapping[str, int]) -> csr_array:
    """Sentences of each text that mention each word: float64 (words, texts), sparse."""
    rows, columns, counts = [], [], []
    for d, unit in enumerate(units):
        rows.append(np.array([words[entity] for entity in unit.entities], dtype=np.int64))
        columns.append(np.full(len(unit.entities), d, dtype=np.int64))
        counts.append(present(unit).sum(axis=0).astype(np.float64))
    if not units:
        return csr_array((len(words), 0))
    places = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.concatenate(counts), places), shape=(len(words), len(units)))
