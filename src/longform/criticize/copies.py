"""Near copies among texts: the same words in the same order, or the same sentences in any order.

Critics that learnt from a text find its copies better than texts that they never saw, and copies
of one text are no independent texts. So copies are found, by hashing, in time that grows with the
number of words and not with that of pairs of texts.
"""

import re
from collections.abc import Iterable, Sequence

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


def sources(documents: Sequence[Document]) -> list[int]:
    """Number the sources of texts: near copies, and copies of copies, get the same number.

    Two texts are near copies when sentences, or runs of ``GRAM`` words, that hold at least the
    share ``SHARED`` of the shorter one stand in the other too. In a set of human articles with much
    boilerplate (WikiSection's cities) the most that a text shares with another is 0.56 by runs of
    five words, 0.34 for 95 in 100; sentence shuffles share all sentences.

    Args:
        documents: texts, at least one.

    Returns:
        Source number, from 0, of each text.
    """
    # 1. Each text's runs of words, and its sentences with their words.
    numbers: dict[str, int] = {}  # word or sentence -> its number, which serves as a hash
    runs: list[Hashes] = []
    sentences: list[Hashes] = []
    sentence_words: list[Weights] = []
    for document in documents:
        text = document.text.casefold()
        runs.append(_runs(_numbered(_WORD.findall(text), numbers)))
        num_words = _words_of_sentences(text)
        sentences.append(_numbered(num_words, numbers))
        sentence_words.append(np.array(list(num_words.values()), dtype=np.int64))
    # 2. Pairs that share enough of either. A run counts as one, a sentence as its words.
    runs = _thinned(runs)
    run_weights = [np.ones_like(row, dtype=np.int64) for row in runs]
    by_runs = _alike(runs, run_weights)
    by_sentences = _alike(sentences, sentence_words)
    first, second = np.concatenate([by_runs, by_sentences], axis=1)  # rows of the texts of pairs
    # 3. Texts that a chain of pairs joins have one source.
    shape = (len(documents), len(documents))
    links = coo_array((np.ones(len(first)), (first, second)), shape=shape)
    return connected_components(links, directed=False)[1].tolist()


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
    owners = np.repeat(np.arange(num_texts), [len(row) for row in features])  # text of a feature
    flat = _joined(features, np.uint64)
    weight = _joined(weights, np.int64)
    order = np.argsort(flat, kind="stable")
    flat, owners, weight = flat[order], owners[order], weight[order]
    # 2. Texts ``lag`` apart that share a feature, and its weight; a pair (a, b) is the number
    # a * num_texts + b.
    codes, shared = [], []
    for lag in range(1, NEIGHBOURS + 1):
        same = np.flatnonzero(flat[lag:] == flat[:-lag])
        codes.append(owners[same] * num_texts + owners[same + lag])
        shared.append(weight[same])
    # 3. What each pair shares in all, against the shorter of the two.
    code, pair = np.unique(np.concatenate(codes), return_inverse=True)
    total = np.bincount(pair, np.concatenate(shared), len(code))
    first, second = code // num_texts, code % num_texts
    size = np.array([row.sum() for row in weights], dtype=np.float64)
    enough = total >= SHARED * np.minimum(size[first], size[second])
    return np.stack([first, second])[:, enough]


def _joined(rows: Iterable[np.ndarray], dtype: type) -> np.ndarray:
    """All rows as one array, empty where there is none."""
    return np.concatenate([np.zeros(0, dtype=dtype), *rows])
