"""Near copies among texts: the same words in the same order, or the same sentences in any order.

Critics that learnt from a text find its copies better than texts that they never saw, and copies of one text are no independent
texts. So copies are found, by hashing, in time that grows with the number of words and not with that of pairs of texts.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from longform.documents import Document

GRAM = 5  # ours: words of a shingle
SHARED = 0.5  # ours: share of the shorter text, by words, from which two texts are near copies
NEIGHBOURS = 3  # ours: texts with one feature that are paired with the next so many that have it
MOST = 5_000_000  # ours: shingles that are compared; of more, an equal share of every text's
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[^.!?\n]+")
_PRIMES = (
    11400714819323198485,
    13787848793156543929,
    9650029242287828579,
)  # odd, for multiplicative hashing


def sources(documents: Sequence[Document]) -> list[int]:
    """A number per text, the same for near copies of each other (and for copies of copies).

    Two texts are near copies when sentences, or runs of ``GRAM`` words, that hold at least the share ``SHARED`` of the
    shorter one stand in the other too. In a set of human articles with much boilerplate (WikiSection's cities) the most
    that a text shares with another is 0.56 by runs of five words, 0.34 for 95 in 100; sentence shuffles share all sentences.
    """
    numbers: dict[str, int] = {}
    runs, pieces, sizes = [], [], []
    for document in documents:
        text = document.text.casefold()
        words = np.array(
            [numbers.setdefault(word, len(numbers)) for word in _WORD.findall(text)],
            dtype=np.uint64,
        )
        runs.append(_runs(words))
        own = [_WORD.findall(piece) for piece in _PIECE.findall(text)]
        spoken = {" ".join(piece): len(piece) for piece in own if piece}
        pieces.append(
            np.array([numbers.setdefault(piece, len(numbers)) for piece in spoken], dtype=np.uint64)
        )
        sizes.append(np.array(list(spoken.values()), dtype=np.int64))
    step = 1 + sum(map(len, runs)) // MOST
    runs = [row[row % np.uint64(step) == 0] if step > 1 else row for row in runs]
    pairs = [
        _alike(runs, [np.ones(len(row), dtype=np.int64) for row in runs]),
        _alike(pieces, sizes),
    ]
    first, second = np.concatenate(pairs, axis=1)
    links = coo_array(
        (np.ones(len(first)), (first, second)), shape=(len(documents), len(documents))
    )
    return connected_components(links, directed=False)[1].tolist()


def _runs(words: np.ndarray) -> np.ndarray:
    """Distinct hashes of the runs of ``GRAM`` words, of the whole where there are fewer words; uint64."""
    if not len(words):
        return words
    span = min(GRAM, len(words))
    hashes = np.zeros(len(words) - span + 1, dtype=np.uint64)
    for place in range(span):  # a mixed sum of the words' numbers; uint64 arithmetic wraps around
        hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(_PRIMES[0])
        hashes += (words[place : len(words) - span + 1 + place] + np.uint64(1)) * np.uint64(
            _PRIMES[1]
        )
    return np.unique((hashes ^ (hashes >> np.uint64(32))) * np.uint64(_PRIMES[2]))


def _alike(features: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> np.ndarray:
    """Pairs of texts that share enough of the shorter one's weight, int64 (2, pairs).

    Texts with a feature in common are paired with the ``NEIGHBOURS`` that follow them among those: a chain of copies stays
    a chain, and a phrase that a thousand texts share does not make a million pairs.
    """
    owners = np.repeat(np.arange(len(features)), [len(row) for row in features])
    flat, weight = _joined(features, np.uint64), _joined(weights, np.int64)
    order = np.argsort(flat, kind="stable")
    flat, owners, weight = flat[order], owners[order], weight[order]
    codes, shared = [], []
    for lag in range(1, NEIGHBOURS + 1):
        same = np.flatnonzero(flat[lag:] == flat[:-lag])
        codes.append(owners[same] * len(features) + owners[same + lag])
        shared.append(weight[same])
    code, place = np.unique(np.concatenate(codes), return_inverse=True)
    total = np.bincount(place, np.concatenate(shared), len(code))
    first, second = code // len(features), code % len(features)
    size = np.array([row.sum() for row in weights], dtype=np.float64)
    return np.stack([first, second])[:, total >= SHARED * np.minimum(size[first], size[second])]


def _joined(rows: Iterable[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=dtype), *rows])
