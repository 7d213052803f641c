r"""Lexical cohesion of adjacent sentences (lapata2005 section 3.2).

The score is $\frac{1}{n-1} \sum_i \mathrm{sim}(S_i, S_{i+1})$, where a sentence is the set of its
nouns, taken from an entity grid. :class:`SharedNouns` counts nouns in common;
:class:`LatentSemanticAnalysis` compares mean word vectors by cosine. Measures over a word net are
in :mod:`longform.critics.lexical.wordnet`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.documents import Document
from longform.errors import ConfigError, InputError
from longform.statistics.random_streams import derived_seed
from longform.statistics.signatures import FITTED, READING
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.text.entity_grids import ABSENT, Grid, grids_from_predictions, grids_of_texts
from longform.text.sentences import sentences

if TYPE_CHECKING:
    from scipy.sparse import csr_array

units_from_predictions = grids_from_predictions  # as all critics have
PASSES = 10  # ours: power iterations of the randomised decomposition
DENSE = 1000  # ours: side of a table up to which all eigenvectors cost less than a second
COLUMNS = ("similarity", "pairs", "bare", "unknown", "excluded")


# Class keywords and metadata: see TextCritic.
class AdjacentSimilarity(
    TextCritic,
    better="higher",
    divided=("similarity", "pairs"),
    parts="pairs of sentences",
    blame=-1,
    needs="two sentences and a noun that the measure knows",
):
    """What all lexical critics share; each says how alike the sentences of a unit are."""

    def read_texts(self, documents: Sequence[Document]) -> list[Grid]:
        """The grid of each text; the critic's word net, if it has one, tells nouns."""
        return grids_of_texts(documents, getattr(self, "lexicon", None))

    def spans(self, document: Document, unit: Grid, values: np.ndarray) -> Spans:
        """The span of each pair of sentences: that of the second one."""
        return sentences(document.text)[1 : len(values) + 1]

    @abstractmethod
    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Similarity of every two sentences, one float64 (sentences, sentences) per unit."""

    def unknown(self, unit: Grid) -> int:
        """How many entities (nouns) of a unit the measure has no entry for."""
        return 0

    def compares(self, unit: Grid) -> bool:
        """Whether a unit has two sentences and a noun that the measure has an entry for.

        Any other unit is excluded: nothing says that it is incoherent.
        """
        if unit.empty or len(unit.cells) < 2:
            return False
        return self.unknown(unit) < len(unit.entities)

    def part_values(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Similarity of each sentence to the next, float64 (sentences - 1,).

        A value is nan where it is undefined; an excluded unit has none.
        """
        rows = [row for row, unit in enumerate(units) if self.compares(unit)]
        # all at once, as a measure may share work between units
        similarities = self.neighbours([units[row] for row in rows])
        values = [np.zeros(0)] * len(units)
        for row, unit_similarities in zip(rows, similarities, strict=True):
            values[row] = unit_similarities
        return values

    def neighbours(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Similarity of each sentence to the next, float64 (sentences - 1,).

        Args:
            units: with nouns and two sentences or more.
        """
        similarities = []
        for matrix in self.sentence_matrices(units):
            similarities.append(np.diag(matrix, 1))
        return similarities

    def sufficient_statistics(self, units: Sequence[Grid]) -> SufficientStatistics:
        """A row a text, its columns ``COLUMNS``.

        They are the summed similarity, the adjacent pairs, those of them with a sentence without
        nouns (``bare``), the unknown entities, and whether the text is excluded.
        """
        rows: list[tuple[float, ...]] = []
        for unit, similarities in zip(units, self.part_values(units), strict=True):
            pairs = int((~np.isnan(similarities)).sum())
            if not pairs:
                rows.append((0, 0, 0, 0, 1))
                continue
            has_noun = np.asarray(present(unit).any(axis=1))
            bare = int((~(has_noun[:-1] & has_noun[1:])).sum())
            rows.append((float(np.nansum(similarities)), pairs, bare, self.unknown(unit), 0))
        return SufficientStatistics.of(units, COLUMNS, rows)

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Coherence of a text under each order of its sentences.

        Args:
            unit: the text's grid.
            orders: a permutation of the sentences in each row, int (orders, sentences).

        Returns:
            float64 (orders,), nan for a text that is set aside.
        """
        if not self.compares(unit):
            return np.full(len(orders), np.nan)
        matrix = self.sentence_matrices([unit])[0]
        similarities = matrix[orders[:, :-1], orders[:, 1:]]
        defined = ~np.isnan(similarities)
        totals = np.where(defined, similarities, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore"):
            return totals / defined.sum(axis=1)


def present(unit: Grid) -> np.ndarray:
    """Which entities each sentence mentions: bool (sentences, entities)."""
    return unit.cells != ABSENT


def _divided(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotients of two arrays, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)


@dataclass(frozen=True)
class SharedNouns(AdjacentSimilarity, recorded_as="Overlap"):
    """Shared nouns over sentence lengths by Dice.

    The printed formula lost its operator and factor; Dice keeps both lengths apart.
    """

    lexicon: Path | None = field(default=None, kw_only=True, metadata=READING)

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Dice overlap of every two sentences, (sentences, sentences); 0 where both lack nouns."""
        matrices = []
        for unit in units:
            mentions = present(unit).astype(np.float64)
            nouns = mentions.sum(axis=1)
            shared = mentions @ mentions.T
            nouns_of_both = np.add.outer(nouns, nouns)
            matrices.append(_divided(2 * shared, nouns_of_both))
        return matrices

    def neighbours(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Dice overlap of each sentence with the next one, float64 (sentences - 1,).

        A book has 10^9 pairs of sentences.
        """
        overlaps = []
        for unit in units:
            mentions = present(unit)
            nouns = mentions.sum(axis=1).astype(np.float64)
            shared = (mentions[:-1] & mentions[1:]).sum(axis=1).astype(np.float64)
            overlaps.append(_divided(2 * shared, nouns[:-1] + nouns[1:]))
        return overlaps


@dataclass(frozen=True)
class LatentSemanticAnalysis(AdjacentSimilarity, recorded_as="LatentSemantics"):
    """Cosine of mean word vectors in a space of latent semantics (Foltz et al. 1998).

    Attributes:
        dims: of the truncated singular value decomposition, at most one less than the smaller side
            of the term-document table. The number is lost in the paper; its sibling papers use 100.
        words: the row of each noun of the real texts.
        vectors: of these nouns, float64 (words, dims).
    """

    dims: int = 100
    lexicon: Path | None = field(default=None, kw_only=True, metadata=READING)
    words: Mapping[str, int] = field(default_factory=dict, repr=False, metadata=FITTED)
    vectors: np.ndarray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, metadata=FITTED
    )

    def __post_init__(self) -> None:
        if self.dims < 1:
            raise ConfigError(
                f"latent semantics: dims is {self.dims}, allowed is from 1; 100 is usual"
            )

    def fit_units(self, real: Sequence[Grid]) -> "LatentSemanticAnalysis":
        """Decompose the table of nouns by real texts.

        Raises InputError: fewer than two of either.
        """
        nouns: set[str] = set()
        for unit in real:
            nouns.update(unit.entities)
        words = {word: row for row, word in enumerate(sorted(nouns))}
        table = term_documents([unit for unit in real if not unit.empty], words)
        dims = min(self.dims, min(table.shape) - 1)
        if dims < 1:
            raise InputError(
                f"latent semantics: {table.shape[0]} nouns in {table.shape[1]} texts; "
                "two of each needed"
            )
        return replace(self, words=words, vectors=word_vectors(table, dims))

    def sentence_matrices(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Cosine of the mean vectors of every two sentences; 0 where one has no known noun."""
        matrices = []
        for unit in units:
            sums = self._sums(unit)
            matrices.append(_cosines(sums, sums.T))
        return matrices

    def neighbours(self, units: Sequence[Grid]) -> list[np.ndarray]:
        """Cosine of each sentence's mean word vector with the next one's, (sentences - 1,)."""
        cosines = []
        for unit in units:
            sums = self._sums(unit)
            # a stack of products of one row and one column
            before = sums[:-1, None]
            after = sums[1:, :, None]
            cosines.append(_cosines(before, after)[:, 0, 0])
        return cosines

    def unknown(self, unit: Grid) -> int:
        """How many nouns of a unit the real texts lack. Raises InputError: not fitted."""
        if not self.words:
            raise InputError(
                "latent semantics has no space yet; call fit(real texts) and use what it returns"
            )
        unknown = [entity for entity in unit.entities if entity not in self.words]
        return len(unknown)

    def _sums(self, unit: Grid) -> np.ndarray:
        """Summed word vectors of each sentence, float64 (sentences, dims)."""
        columns = []
        rows = []
        for column, entity in enumerate(unit.entities):
            if entity in self.words:
                columns.append(column)
                rows.append(self.words[entity])
        return present(unit)[:, columns].astype(np.float64) @ self.vectors[rows]


def _cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosines of the rows of one matrix with the columns of another; 0 where either is zero.

    Args:
        first: float64 (..., rows, dims).
        second: float64 (..., dims, columns).
    """
    first_lengths = np.linalg.norm(first, axis=-1)[..., :, None]
    second_lengths = np.linalg.norm(second, axis=-2)[..., None, :]
    return _divided(first @ second, first_lengths * second_lengths)


def word_vectors(table: "csr_array", dims: int) -> np.ndarray:
    r"""Word vectors $U_k S_k$ of latent semantics, where $A \approx U_k S_k V_k^\top$.

    Where the smaller side has at most ``DENSE`` entries, by eigenvectors of its products; above, by
    a randomised decomposition of the sparse table (Halko, Martinsson and Tropp 2011), the same at
    every call.

    Args:
        table: $A$, float64 (words, texts).
        dims: $k$.

    Returns:
        float64 (words, dims).
    """
    from scipy.linalg import eigh

    words, texts = table.shape
    # 1. A large table.
    if min(words, texts) > DENSE:
        from sklearn.utils.extmath import randomized_svd

        seed = derived_seed("latent semantics", words, texts) % 2**32
        left, singular, _ = randomized_svd(table, dims, n_iter=PASSES, random_state=seed)
        return left * singular
    # 2. Few texts: U S = A V from the eigenvectors V of A'A.
    if texts <= words:
        products = (table.T @ table).toarray()
        _, right = eigh(products, subset_by_index=[texts - dims, texts - 1])
        return table @ right
    # 3. Few words: U from the eigenvectors of AA', and S from its eigenvalues.
    products = (table @ table.T).toarray()
    squared, left = eigh(products, subset_by_index=[words - dims, words - 1])
    singular = np.sqrt(np.maximum(squared, 0.0))
    return left * singular


def term_documents(units: Sequence[Grid], words: Mapping[str, int]) -> "csr_array":
    """How many sentences of each text mention each word: float64 (words, texts), sparse.

    Args:
        units: the texts' grids, none of them empty.
        words: the row of each word.
    """
    from scipy.sparse import csr_array

    if not units:
        return csr_array((len(words), 0))
    rows = []
    columns = []
    counts = []
    for text, unit in enumerate(units):
        rows.append(np.array([words[entity] for entity in unit.entities], dtype=np.int64))
        columns.append(np.full(len(unit.entities), text, dtype=np.int64))
        counts.append(present(unit).sum(axis=0).astype(np.float64))
    indices = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.concatenate(counts), indices), shape=(len(words), len(units)))
