"""The correlated topic model's parameters and the settings of its fit; saved as arrays plus JSON, never as a pickle."""

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
from longform.files.artefacts import load_fitted, save_fitted

COMMON = 3  # ours: times that a word of a few texts must be said to be one of a topic

# English function words, written for this project: words that every document uses, whatever its topic.
STOP_WORDS = frozenset(
    Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split()
)
STOP_WORDS |= frozenset(string.ascii_lowercase)

# Where formulas went in Cohan et al.'s articles ("@xmath12"; authors' code), and LaTeX commands (ours).
FORMULAS = re.compile(r"xmath|\\[A-Za-z]", re.IGNORECASE)


@dataclass(frozen=True)
class TermCounts:
    """A document-term matrix by rows."""

    starts: np.ndarray  # (documents + 1,) int64, where each document's terms start
    terms: np.ndarray  # (nonzeros,) int64 term numbers, each once per document
    counts: np.ndarray  # (nonzeros,) float64 occurrences
    size: int  # number of terms in the vocabulary

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def tokens(self) -> np.ndarray:
        """(documents,) in-vocabulary tokens of each document."""
        return np.add.reduceat(np.append(self.counts, 0.0), self.starts[:-1]) * (
            np.diff(self.starts) > 0
        )

    def rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(terms, counts) of each document."""
        for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield self.terms[first:last], self.counts[first:last]

    def take(self, documents: np.ndarray) -> "TermCounts":
        """The numbered documents, in that order."""
        rows = list(self.rows())
        return from_rows([rows[d] for d in documents.tolist()], self.size)


def from_rows(rows: Sequence[tuple[np.ndarray, np.ndarray]], size: int) -> TermCounts:
    """Pack (terms, counts) pairs, one per document."""
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms, _ in rows])]).astype(np.int64)
    terms = np.concatenate([np.zeros(0, np.int64), *(terms for terms, _ in rows)]).astype(np.int64)
    counts = np.concatenate([np.zeros(0), *(counts for _, counts in rows)]).astype(np.float64)
    return TermCounts(starts, terms, counts, size)


def words_of(document: Document) -> list[str]:
    """White-space tokens over all sections, case kept, punctuation kept (deng2022, released preprocessing)."""
    return " ".join(section.text for section in document.sections).split()


def build_vocabulary(
    documents: Iterable[Document],
    *,
    min_count: int = 5,  # occurrences that a word needs in ``documents``
    max_share: float = 0.5,  # a word in this share of the documents or more is left out
    stop_words: Collection[str] = STOP_WORDS,  # left out where the lower-cased word is one of these
) -> tuple[str, ...]:
    """Terms of a topic model, most frequent first, ties by first occurrence (deng2022, released preprocessing)."""
    totals: Counter[str] = Counter()
    spread: Counter[str] = Counter()
    size = 0
    for document in documents:
        found = words_of(document)
        totals.update(found)
        spread.update(set(found))
        size += 1
    kept = [w for w, n in totals.items() if n >= min_count and spread[w] < max_share * size]
    kept = [w for w in kept if w.lower() not in stop_words and not FORMULAS.search(w)]
    if len(kept) < 2:
        raise InputError(
            f"vocabulary: {len(kept)} of {len(totals)} words of {size} documents pass (at least {min_count} times, in "
            f"less than {max_share:.0%} of documents, no stop word), 2 or more are needed; add documents or lower "
            "min_count"
        )
    return tuple(sorted(kept, key=lambda word: -totals[word]))


def count_terms(
    documents: Iterable[Document],
    vocabulary: Sequence[str],
    words: Callable[[Document], list[str]] = words_of,
) -> tuple[TermCounts, np.ndarray]:
    """Counts of vocabulary words, and per document the number of tokens outside the vocabulary."""
    index = {word: number for number, word in enumerate(vocabulary)}
    rows, unknown = [], []
    for document in documents:
        found = words(document)
        counted = Counter(index[word] for word in found if word in index)
        rows.append((np.fromiter(counted, np.int64), np.fromiter(counted.values(), np.float64)))
        unknown.append(len(found) - sum(counted.values()))
    return from_rows(rows, len(vocabulary)), np.array(unknown, np.int64)


@dataclass(frozen=True)
class TopicSettings:
    """How a topic model is fitted and read; by default as in the settings file that the original program ships for estimation.

    ``floats`` is the arithmetic of the E-step; sums and the M-step are always float64.
    """

    em_iterations: int = 1000  # EM iterations at most
    rounds: int = 20  # coordinate rounds per document and E-step at most; negative means no limit
    em_tolerance: float = 1e-3  # relative rise of the bound at which EM stops
    tolerance: float = 1e-6  # relative rise of a document's bound at which its rounds stop
    lag: int = 10  # iterations between checkpoints
    floats: Literal["float32", "float64"] = "float32"
    threads: int = 1  # the result does not depend on them

    def __post_init__(self) -> None:
        if self.floats not in ("float32", "float64"):
            raise ConfigError(
                f"topic settings: floats is {self.floats!r}, allowed is float32 or float64; fix the entry"
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
RELEASED_INFERENCE = TopicSettings(
    rounds=-1, em_tolerance=1e-5, lag=1
)  # the program's shipped inf-settings.txt


@dataclass(frozen=True)
class Progress:
    """One EM iteration."""

    iteration: int
    bound: float  # of the corpus in nats, under the parameters that entered the iteration
    change: float  # relative rise over the bound before; infinite at the first iteration
    rounds: float  # coordinate rounds per document, on average
    converged: float  # share of documents whose bound stood still within the allowed rounds


@dataclass(frozen=True)
class TopicModel:
    r"""Words from $\beta^\top \mathrm{softmax}([\eta, 0])$ with $\eta \sim N(\mu, \Sigma)$ (Blei and Lafferty 2007)."""

    vocabulary: tuple[str, ...]  # one word per term; empty where a model file names none
    beta: np.ndarray  # (topics, terms) word probabilities, float64
    mean: np.ndarray  # (topics - 1,) of the logits; the last topic's logit is fixed at zero
    covariance: np.ndarray  # (topics - 1, topics - 1)
    precision: np.ndarray  # its inverse
    history: tuple[Progress, ...] = ()  # one record per EM iteration so far
    facts: Mapping[str, Any] = field(default_factory=dict)  # what was left out of the fit; for JSON

    def __post_init__(self) -> None:
        topics, terms = self.beta.shape
        check_sizes(topics, terms)
        free = topics - 1
        shapes = (self.mean.shape, self.covariance.shape, self.precision.shape)
        if shapes != ((free,), (free, free), (free, free)):
            raise InputError(
                f"topic model: {topics} topics need a Gaussian of {free} dimensions, got shapes {shapes}"
            )
        if self.vocabulary and len(self.vocabulary) != terms:
            raise InputError(
                f"topic model: {len(self.vocabulary)} words for {terms} terms; give one word per term"
            )
        _check_positive_definite(self.precision, "precision")

    @property
    def topics(self) -> int:
        return self.beta.shape[0]

    @property
    def log_det_precision(self) -> float:
        return float(np.linalg.slogdet(self.precision)[1])

    def save(self, folder: Path | str) -> None:
        """Write ``topics.npz`` (arrays) and ``topics.json`` (words, history, facts)."""
        arrays = {name: getattr(self, name) for name in ("beta", "mean", "covariance", "precision")}
        history = [asdict(step) for step in self.history]
        record = {
            "vocabulary": list(self.vocabulary),
            "history": history,
            "facts": dict(self.facts),
        }
        save_fitted(folder, "topics", arrays, record)

    @classmethod
    def load(cls, folder: Path | str) -> "TopicModel":
        arrays, record = load_fitted(folder, "topics", "a topic model")
        history = tuple(Progress(**step) for step in record["history"])
        return cls(tuple(record["vocabulary"]), **arrays, history=history, facts=record["facts"])


def check_sizes(topics: int, terms: int) -> None:
    """Refuse what is no topic model: fewer than two topics, or fewer than two words."""
    if topics < 2:
        raise ConfigError(
            f"topic model: got {topics} topic(s), allowed is 2 or more: one has no proportions to model"
        )
    if terms < 2:
        raise InputError(
            f"topic model: vocabulary of {terms} word(s), 2 are needed; lower min_count or add documents"
        )


def _check_positive_definite(matrix: np.ndarray, name: str) -> None:
    try:
        if not np.all(np.isfinite(matrix)):
            raise np.linalg.LinAlgError
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        low = np.linalg.eigvalsh(matrix)[0] if np.all(np.isfinite(matrix)) else np.nan
        raise InputError(
            f"topic model: the {name} is singular or not positive definite (smallest eigenvalue {low:.3g}); "
            "use fewer topics or more documents, or start from a model with a proper covariance"
        ) from None


def gaussian(
    points: np.ndarray, variances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Mean, covariance and precision that maximise the bound: $\Sigma = \frac1D\sum_d \nu_d + \mathrm{cov}(\lambda)$."""
    mean = points.mean(axis=0)
    centred = points - mean
    total = np.zeros((len(mean), len(mean)))
    for start in range(
        0, len(centred), 256
    ):  # in order: a BLAS product's last bits depend on memory's alignment
        part = centred[start : start + 256]
        total += np.add.reduce(part[:, :, None] * part[:, None, :], axis=0)
    covariance = total / len(points)
    covariance[np.diag_indices_from(covariance)] += variances.mean(axis=0)
    return mean, covariance, inverse(covariance)


def inverse(covariance: np.ndarray) -> np.ndarray:
    """Symmetric inverse of a covariance in float64; a singular one is refused by name."""
    _check_positive_definite(covariance, "covariance")
    precision = np.linalg.inv(covariance)
    return (precision + precision.T) / 2
