"""The correlated topic model's parameters and the settings of its fit.

A model is saved as arrays and JSON, never as a pickle.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from longform.documents import Document
from longform.errors import ConfigError, InputError
from longform.files.artefacts import load_fitted, save_fitted, trained_files

COMMON = 3  # ours: occurrences that a word needs where a topic model is fitted to few texts

# English function words, written for this project: words that every document uses, whatever its
# topic.
STOP_WORDS = frozenset(
    Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split()
)
STOP_WORDS |= frozenset(string.ascii_lowercase)

# Where formulas went in Cohan et al.'s articles ("@xmath12"; authors' code), and LaTeX commands
# (ours).
FORMULAS = re.compile(r"xmath|\\[A-Za-z]", re.IGNORECASE)
ROWS_AT_ONCE = 256  # documents whose outer products are in memory together


@dataclass(frozen=True)
class TermCounts:
    """A document-term matrix by rows.

    Attributes:
        starts: where each document's terms start, int64 (documents + 1,).
        terms: term numbers, each once per document, int64 (nonzeros,).
        counts: occurrences, float64 (nonzeros,).
        size: number of terms in the vocabulary.
    """

    starts: np.ndarray
    terms: np.ndarray
    counts: np.ndarray
    size: int

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.starts) - 1

    @property
    def tokens(self) -> np.ndarray:
        """In-vocabulary tokens of each document, float64 (documents,)."""
        sums = np.add.reduceat(np.append(self.counts, 0.0), self.starts[:-1])
        # of a document without terms, reduceat gives the first count of the next one
        has_terms = np.diff(self.starts) > 0
        return sums * has_terms

    def rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(terms, counts) of each document."""
        for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield self.terms[first:last], self.counts[first:last]

    def take(self, documents: np.ndarray) -> "TermCounts":
        """The numbered documents, in that order."""
        rows = list(self.rows())
        return from_rows([rows[document] for document in documents.tolist()], self.size)


def from_rows(rows: Sequence[tuple[np.ndarray, np.ndarray]], size: int) -> TermCounts:
    """Pack (terms, counts) pairs, one per document, over ``size`` terms."""
    lengths = [0]
    all_terms = [np.zeros(0, np.int64)]
    all_counts = [np.zeros(0)]
    for terms, counts in rows:
        lengths.append(len(terms))
        all_terms.append(terms)
        all_counts.append(counts)
    return TermCounts(
        np.cumsum(lengths).astype(np.int64),
        np.concatenate(all_terms).astype(np.int64),
        np.concatenate(all_counts).astype(np.float64),
        size,
    )


def words_of(document: Document) -> list[str]:
    """White-space tokens of all sections, as they are written, with case and punctuation.

    That is deng2022's released preprocessing.
    """
    return " ".join(section.text for section in document.sections).split()


def build_vocabulary(
    documents: Iterable[Document],
    *,
    min_count: int = 5,
    max_share: float = 0.5,
    stop_words: Collection[str] = STOP_WORDS,
) -> tuple[str, ...]:
    """Choose the words of a topic model, as in deng2022's released preprocessing.

    Args:
        documents: the training texts.
        min_count: occurrences that a word needs in them.
        max_share: a word in this share of the documents or more is left out.
        stop_words: left out, as is a word that is one of these in lower case.

    Returns:
        The terms, most frequent first, ties by first occurrence.

    Raises:
        InputError: fewer than two words pass.
    """
    # 1. How often each word occurs, and in how many documents.
    occurrences: Counter[str] = Counter()
    num_documents_with: Counter[str] = Counter()
    size = 0
    for document in documents:
        words = words_of(document)
        occurrences.update(words)
        num_documents_with.update(set(words))
        size += 1
    # 2. Those that are frequent, of few documents, and of content.
    terms = []
    for word, count in occurrences.items():
        if count < min_count or num_documents_with[word] >= max_share * size:
            continue
        if word.lower() not in stop_words and not FORMULAS.search(word):
            terms.append(word)
    if len(terms) < 2:
        raise InputError(
            f"vocabulary: {len(terms)} of {len(occurrences)} words of {size} documents pass "
            f"(at least {min_count} times, in less than {max_share:.0%} of documents, "
            "no stop word), 2 or more are needed; add documents or lower min_count"
        )
    return tuple(sorted(terms, key=lambda word: -occurrences[word]))


def count_terms(
    documents: Iterable[Document],
    vocabulary: Sequence[str],
    words: Callable[[Document], list[str]] = words_of,
) -> tuple[TermCounts, np.ndarray]:
    """Count how often each document has each word of a vocabulary.

    Args:
        documents: whose words are counted.
        vocabulary: term number i is its i-th word.
        words: takes the words of a document from its text.

    Returns:
        The counts, and how many tokens of each document are outside the vocabulary, int64
        (documents,).
    """
    number_of = {word: number for number, word in enumerate(vocabulary)}
    rows = []
    unknown = []
    for document in documents:
        tokens = words(document)
        occurrences = Counter(number_of[word] for word in tokens if word in number_of)
        terms = np.fromiter(occurrences, np.int64)
        rows.append((terms, np.fromiter(occurrences.values(), np.float64)))
        unknown.append(len(tokens) - occurrences.total())
    return from_rows(rows, len(vocabulary)), np.array(unknown, np.int64)


@dataclass(frozen=True)
class TopicSettings:
    """How a topic model is fitted and read.

    By default as in the settings file that the original program ships for estimation.

    Attributes:
        em_iterations: EM iterations at most.
        rounds: coordinate rounds per document and E-step at most; negative means no limit.
        em_tolerance: relative rise of the bound at which EM stops.
        tolerance: relative rise of a document's bound at which its rounds stop.
        lag: iterations between checkpoints.
        floats: the arithmetic of the E-step; sums and the M-step are always float64.
        threads: of the E-step; the result does not depend on them.
    """

    em_iterations: int = 1000
    rounds: int = 20
    em_tolerance: float = 1e-3
    tolerance: float = 1e-6
    lag: int = 10
    floats: Literal["float32", "float64"] = "float32"
    threads: int = 1

    def __post_init__(self) -> None:
        if self.floats not in ("float32", "float64"):
            raise ConfigError(
                f"topic settings: floats is {self.floats!r}, allowed is float32 or float64; "
                "fix the entry"
            )
        for name in ("em_iterations", "lag", "threads"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"topic settings: {name} is {getattr(self, name)}, allowed is 1 or more"
                )
        if self.rounds == 0:
            raise ConfigError(
                "topic settings: rounds is 0, allowed is 1 or more, or -1 for no limit"
            )


RELEASED = TopicSettings()
# the original program's inf-settings.txt
RELEASED_INFERENCE = TopicSettings(rounds=-1, em_tolerance=1e-5, lag=1)


@dataclass(frozen=True)
class Progress:
    """One EM iteration.

    Attributes:
        iteration: its number, from 0.
        bound: of the corpus in nats, under the parameters that entered the iteration.
        change: relative rise over the bound before; infinite at the first iteration.
        rounds: coordinate rounds per document, on average.
        converged: share of documents whose rounds ended by the tolerance, before their limit.
    """

    iteration: int
    bound: float
    change: float
    rounds: float
    converged: float


@dataclass(frozen=True)
class TopicModel:
    r"""A correlated topic model (Blei and Lafferty 2007).

    A document draws $\eta \sim N(\mu, \Sigma)$, and each of its words from
    $\beta^\top \mathrm{softmax}([\eta, 0])$.

    Attributes:
        vocabulary: one word per term; empty where a model file names none.
        beta: word probabilities, float64 (topics, terms).
        mean: of the logits, (topics - 1,); the last topic's logit is fixed at zero.
        covariance: of the logits, (topics - 1, topics - 1).
        precision: inverse of the covariance.
        history: one record per EM iteration so far.
        facts: what was left out of the fit; for JSON.
    """

    vocabulary: tuple[str, ...]
    beta: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    precision: np.ndarray
    history: tuple[Progress, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        topics, terms = self.beta.shape
        check_sizes(topics, terms)
        free = topics - 1
        shapes = (self.mean.shape, self.covariance.shape, self.precision.shape)
        if shapes != ((free,), (free, free), (free, free)):
            raise InputError(
                f"topic model: {topics} topics need a Gaussian of {free} dimensions, "
                f"got shapes {shapes}"
            )
        if self.vocabulary and len(self.vocabulary) != terms:
            raise InputError(
                f"topic model: {len(self.vocabulary)} words for {terms} terms; "
                "give one word per term"
            )
        _check_positive_definite(self.precision, "precision")

    @property
    def topics(self) -> int:
        """How many topics there are, the fixed one among them."""
        return self.beta.shape[0]

    @property
    def log_det_precision(self) -> float:
        """Logarithm of the determinant of the precision."""
        return float(np.linalg.slogdet(self.precision)[1])

    def save(self, folder: Path | str) -> None:
        """Write ``topics.npz`` (arrays) and ``topics.json`` (words, history, facts)."""
        arrays = {
            "beta": self.beta,
            "mean": self.mean,
            "covariance": self.covariance,
            "precision": self.precision,
        }
        record = {
            "vocabulary": list(self.vocabulary),
            "history": [asdict(step) for step in self.history],
            "facts": dict(self.facts),
        }
        save_fitted(folder, "topics", arrays, record)

    @classmethod
    def load(cls, folder: Path | str) -> "TopicModel":
        """The model that :meth:`save` wrote.

        Raises ArtefactError: no such folder, or damaged files.
        """
        arrays, record = load_fitted(folder, "topics", "a topic model")
        with trained_files(folder, "topic model"):
            vocabulary = tuple(record["vocabulary"])
            history = tuple(Progress(**step) for step in record["history"])
            return cls(vocabulary, **arrays, history=history, facts=record["facts"])


def check_sizes(topics: int, terms: int) -> None:
    """Refuse what is no topic model.

    Raises:
        ConfigError: fewer than two topics.
        InputError: fewer than two words.
    """
    if topics < 2:
        raise ConfigError(
            f"topic model: got {topics} topic(s), allowed is 2 or more: "
            "one has no proportions to model"
        )
    if terms < 2:
        raise InputError(
            f"topic model: vocabulary of {terms} word(s), 2 are needed; "
            "lower min_count or add documents"
        )


def _check_positive_definite(matrix: np.ndarray, name: str) -> None:
    """Raise InputError where a matrix is not finite and positive definite."""
    smallest = np.nan
    if np.all(np.isfinite(matrix)):
        try:
            np.linalg.cholesky(matrix)
            return
        except np.linalg.LinAlgError:
            smallest = np.linalg.eigvalsh(matrix)[0]
    raise InputError(
        f"topic model: the {name} is singular or not positive definite "
        f"(smallest eigenvalue {smallest:.3g}); use fewer topics or more documents, "
        "or start from a model with a proper covariance"
    )


def gaussian(
    points: np.ndarray, variances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""The Gaussian that maximises the bound: $\Sigma = \bar\nu + \mathrm{cov}(\lambda)$.

    Args:
        points: means of the documents' logits, (documents, topics - 1).
        variances: of these logits, of the same shape.

    Returns:
        Its mean, covariance and precision.
    """
    mean = points.mean(axis=0)
    centred = points - mean
    # the products are summed in order: a BLAS product's last bits depend on memory's alignment
    products = np.zeros((len(mean), len(mean)))
    for start in range(0, len(centred), ROWS_AT_ONCE):
        part = centred[start : start + ROWS_AT_ONCE]
        products += np.add.reduce(part[:, :, None] * part[:, None, :], axis=0)
    covariance = products / len(points)
    covariance[np.diag_indices_from(covariance)] += variances.mean(axis=0)
    return mean, covariance, inverse(covariance)


def inverse(covariance: np.ndarray) -> np.ndarray:
    """Symmetric inverse of a covariance in float64.

    Raises InputError: the covariance is singular.
    """
    _check_positive_definite(covariance, "covariance")
    precision = np.linalg.inv(covariance)
    return (precision + precision.T) / 2
