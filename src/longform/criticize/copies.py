"""Near copies among texts: the same words in the same order, or the same sentences in any order.

Critics that learnt from a text find its copies better than texts that they never saw, and copies
of one text are no independent texts. So copies are found, by hashing, in time that grows with the
number of words and not with that of pairs of texts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from longform.documents import Document

GRAM = 5  # ours: words of a run (a shingle)
SHARED = 0.5  # ours: share of the shorter text, by words, from which two texts are near copies
NEIGHBOURS = 3  # ours: a text is paired with so many next texts that share a feature
MOST = 5_000_000  # ours: runs that are compared; of more, an equal share of every text's
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[^.!?\n]+")
_PRIMES = (  # odd, for multiplicative hashing
    11400714819323198485,
    13787848793156543929,
    9650029242287828579,
)

Hashes = NDArray[np.uint64]  # (features of a text,)
Weights = NDArray[np.int64]  # (features of a text,), in words


@dataclass(frozen=True)
class NearCopies:
    """Near copies within sides of texts, and across them.

    Attributes:
        sources: text id -> source number. Texts of one side share it if a chain of near copies
            among that side's texts joins them; texts of two sides, if one is a copy of the other.
        originals: text id -> source numbers of the first side's texts that it is a near copy of;
            only texts of later sides that have any.
    """

    sources: Mapping[str, int]
    originals: Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class _Features:
    """What texts are compared by: for each text hashes, and the words that each counts as.

    Attributes:
        runs, run_weights: of runs of ``GRAM`` words, each of which counts as one.
        sentences, sentence_words: of sentences, which count as their words.
    """

    runs: Sequence[Hashes]
    run_weights: Sequence[Weights]
    sentences: Sequence[Hashes]
    sentence_words: Sequence[Weights]


def near_copies(sides: Sequence[Sequence[Document]]) -> NearCopies:
    """Find near copies within each side, and texts that copy those of an earlier side.

    A text that quotes two texts of another side makes no copies of these two. A source takes the
    number of the first source of an earlier side that it is a copy of, if no other source of its
    own side has that number; else it gets a new one.

    Args:
        sides: texts of each side, real ones first; all ids differ.
    """
    features = _features(sides)
    source_of_id: dict[str, int] = {}
    originals: dict[str, frozenset[int]] = {}
    num_sources = 0
    for number, side in enumerate(sides):
        # 1. Sources of earlier sides that each text copies, the first side's first.
        copied: list[list[int]] = [[] for _ in side]
        for earlier in range(number):
            pairs = _alike_across(features[earlier], features[number])
            for row, earlier_row in sorted(pairs):
                copied[row].append(source_of_id[sides[earlier][earlier_row].id])
            if earlier == 0:
                for document, of_first_side in zip(side, copied, strict=True):
                    if of_first_side:
                        originals[document.id] = frozenset(of_first_side)
        # 2. A source has the number of one that any of its texts copies, or a new one.
        groups: dict[int, list[int]] = {}  # source within the side -> rows of its texts
        for row, source in enumerate(_linked(features[number])):
            groups.setdefault(source, []).append(row)
        taken: set[int] = set()
        for rows in groups.values():
            candidates = [source for row in rows for source in copied[row]]
            free = [source for source in candidates if source not in taken]
            if not free:
                free.append(num_sources)
                num_sources += 1
            taken.add(free[0])
            for row in rows:
                source_of_id[side[row].id] = free[0]
    return NearCopies(source_of_id, originals)


def sources(documents: Sequence[Document]) -> list[int]:
    """Number the sources of texts: near copies, and copies of copies, get the same number.

    Two texts are near copies when sentences, or runs of ``GRAM`` words, that hold at least the
    share ``SHARED`` of the shorter one stand in the other too. In a set of human articles with much
    boilerplate (WikiSection's cities) the most that a text shares with another is 0.56 by runs of
    five words, 0.34 for 95 in 100; sentence shuffles share all sentences.

    Args:
        documents: texts of one side, at least one.

    Returns:
        Source number, from 0, of each text.
    """
    return _linked(_features([documents])[0])


def _features(sides: Sequence[Sequence[Document]]) -> list[_Features]:
    """The features of each side's texts; equal ones have equal hashes on all sides."""
    # 1. Each text's runs of words, and its sentences with their words.
    numbers: dict[str, int] = {}  # word or sentence -> its number, which serves as a hash
    runs: list[Hashes] = []
    sentences: list[Hashes] = []
    sentence_words: list[Weights] = []
    for side in sides:
        for document in side:
            text = document.text.casefold()
            runs.append(_runs(_numbered(_WORD.findall(text), numbers)))
            num_words = _words_of_sentences(text)
            sentences.append(_numbered(num_words, numbers))
            sentence_words.append(np.array(list(num_words.values()), dtype=np.int64))
    runs = _thinned(runs)
    run_weights = [np.ones_like(row, dtype=np.int64) for row in runs]
    # 2. Side by side.
    features = []
    start = 0
    for side in sides:
        rows = slice(start, start + len(side))
        of_side = _Features(runs[rows], run_weights[rows], sentences[rows], sentence_words[rows])
        features.append(of_side)
        start = rows.stop
    return features


def _linked(features: _Features) -> list[int]:
    """Source number, from 0, of each text of a side."""
    # 1. Pairs that share enough of either kind of feature.
    by_runs = _alike(features.runs, features.run_weights)
    by_sentences = _alike(features.sentences, features.sentence_words)
    first, second = np.concatenate([by_runs, by_sentences], axis=1)  # rows of the texts of pairs
    # 2. Texts that a chain of pairs joins have one source.
    shape = (len(features.runs), len(features.runs))
    links = coo_array((np.ones(len(first)), (first, second)), shape=shape)
    return connected_components(links)[1].tolist()


def _alike_across(earlier: _Features, later: _Features) -> set[tuple[int, int]]:
    """Pairs (row of a later text, row of an earlier one) that share enough of either feature."""
    pairs: set[tuple[int, int]] = set()
    of_runs = (earlier.runs, earlier.run_weights, later.runs, later.run_weights)
    of_sentences = (
        earlier.sentences,
        earlier.sentence_words,
        later.sentences,
        later.sentence_words,
    )
    for features in (of_runs, of_sentences):
        earlier_rows, later_rows = _alike_of_sides(*features)
        pairs.update(zip(later_rows.tolist(), earlier_rows.tolist(), strict=True))
    return pairs


def _numbered(strings: Iterable[str], numbers: dict[str, int]) -> Hashes:
    """The number of each string; a new string gets the next one."""
    row = [numbers.setdefault(string, len(numbers)) for string in strings]
    return np.array(row, dtype=np.uint64)


def _words_of_sentences(text: str) -> dict[str, int]:
    """The number of words of each distinct sentence, in the order of their first occurrence."""
    num_words: dict[str, int] = {}
    for piece in _PIECE.findall(text):
        words = _WORD.findall(piece)
        if words:
            num_words[" ".join(words)] = len(words)
    return num_words


def _thinned(runs: list[Hashes]) -> list[Hashes]:
    """Keep runs whose hash is a multiple of a step, the same for all texts, if over ``MOST``."""
    step = 1 + sum(map(len, runs)) // MOST
    if step == 1:
        return runs
    return [row[row % np.uint64(step) == 0] for row in runs]


def _runs(words: Hashes) -> Hashes:
    """Distinct hashes of a text's runs of ``GRAM`` words; a shorter text is one run.

    Args:
        words: number of each word in order, uint64 (words,).
    """
    if not len(words):
        return words
    span = min(GRAM, len(words))
    num_runs = len(words) - span + 1
    hashes = np.zeros(num_runs, dtype=np.uint64)
    for offset in range(span):  # a mixed sum of the words' numbers; uint64 arithmetic wraps around
        hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(_PRIMES[0])
        following = words[offset : num_runs + offset]
        hashes += (following + np.uint64(1)) * np.uint64(_PRIMES[1])
    return np.unique((hashes ^ (hashes >> np.uint64(32))) * np.uint64(_PRIMES[2]))


def _alike(features: Sequence[Hashes], weights: Sequence[Weights]) -> NDArray[np.int64]:
    """Pairs of texts that share enough of the shorter one's weight.

    Texts with a feature in common are paired with the ``NEIGHBOURS`` that follow them among those:
    a chain of copies stays a chain, and a phrase that a thousand texts share does not make a
    million pairs.

    Args:
        features: distinct hashes of each text.
        weights: words that each feature counts as.

    Returns:
        Rows of the first and the second text of each pair, int64 (2, pairs).
    """
    num_texts = len(features)
    # 1. All features of all texts, equal ones side by side.
    flat, owners, weight = _sorted_features(features, weights)
    # 2. Texts ``lag`` apart that share a feature, and its weight; a pair (a, b) is the number
    # a * num_texts + b.
    codes, shared = [], []
    for lag in range(1, NEIGHBOURS + 1):
        same = np.flatnonzero(flat[lag:] == flat[:-lag])
        codes.append(owners[same] * num_texts + owners[same + lag])
        shared.append(weight[same])
    # 3. What each pair shares in all, against the shorter of the two.
    sizes = _sizes(weights)
    return _enough(np.concatenate(codes), np.concatenate(shared), sizes, sizes)


def _alike_of_sides(
    earlier: Sequence[Hashes],
    earlier_weights: Sequence[Weights],
    later: Sequence[Hashes],
    later_weights: Sequence[Weights],
) -> NDArray[np.int64]:
    """Pairs of an earlier and a later side's text that share enough of the shorter one's weight.

    A later text is paired with the last ``NEIGHBOURS`` earlier ones that have a feature of it.

    Args:
        earlier, later: distinct hashes of each text of the two sides.
        earlier_weights, later_weights: words that each feature counts as.

    Returns:
        Rows of the earlier and the later text of each pair, int64 (2, pairs).
    """
    # 1. All features of both sides, equal ones side by side.
    earlier_flat, earlier_owners, _ = _sorted_features(earlier, earlier_weights)
    later_flat, later_owners, weight = _sorted_features(later, later_weights)
    # 2. Pairs of texts that share a feature, as in ``_alike``.
    begins = np.searchsorted(earlier_flat, later_flat)
    ends = np.searchsorted(earlier_flat, later_flat, side="right")
    codes, shared = [], []
    for lag in range(1, NEIGHBOURS + 1):
        same = np.flatnonzero(ends - begins >= lag)
        owners = earlier_owners[ends[same] - lag]
        codes.append(owners * len(later) + later_owners[same])
        shared.append(weight[same])
    # 3. What each pair shares in all.
    sizes = _sizes(earlier_weights), _sizes(later_weights)
    return _enough(np.concatenate(codes), np.concatenate(shared), *sizes)


def _sorted_features(
    features: Sequence[Hashes], weights: Sequence[Weights]
) -> tuple[Hashes, NDArray[np.int64], Weights]:
    """All features of all texts in order of their hashes: hashes, rows of the texts, weights.

    A weight is the number of words that a feature counts as, not how often a text has it.
    """
    owners = np.repeat(np.arange(len(features)), [len(row) for row in features])
    flat = _joined(features, np.uint64)
    weight = _joined(weights, np.int64)
    order = np.argsort(flat, kind="stable")
    return flat[order], owners[order], weight[order]


def _sizes(weights: Sequence[Weights]) -> NDArray[np.float64]:
    """Words of each text by its features, float64 (texts,)."""
    return np.array([row.sum() for row in weights], dtype=np.float64)


def _enough(
    codes: NDArray[np.int64],
    shared: Weights,
    first_sizes: NDArray[np.float64],
    second_sizes: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Pairs that share at least ``SHARED`` of the shorter text, int64 (2, pairs).

    Args:
        codes: a pair (a, b) as the number a * (number of second texts) + b, once for each feature
            that both have.
        shared: words of that feature.
        first_sizes, second_sizes: words of each text.
    """
    code, pair = np.unique(codes, return_inverse=True)
    total = np.bincount(pair, shared, len(code))
    first, second = code // len(second_sizes), code % len(second_sizes)
    enough = total >= SHARED * np.minimum(first_sizes[first], second_sizes[second])
    return np.stack([first, second])[:, enough]


def _joined(rows: Iterable[np.ndarray], dtype: type) -> np.ndarray:
    """All rows as one array, empty where there is none."""
    return np.concatenate([np.zeros(0, dtype=dtype), *rows])
