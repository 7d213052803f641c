"""Lesk relatedness: how much the definitions of two concepts share.

Plain: shared content words (Lesk 1986, counted once each). Extended: shared phrases of the definitions of the concepts and of
their relatives, each phrase counting the square of its length (Banerjee and Pedersen 2003).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np

from longform.text.lexicon import HYPERNYM, HYPONYM, Lexicon

FUNCTION_TEXT = """
    a an the this that these those some any each every no all both such of in on at by for with from to into onto
    upon over under between among through during before after about against within without toward towards as than
    per via off out up down and or but nor so yet if because while when where which who whom whose that whether
    although though since until unless i you he she it we they me him her us them my your his its our their one
    something someone anything anyone itself himself herself themselves
"""  # pronouns, prepositions, articles, conjunctions
FUNCTION_WORDS = tuple(dict.fromkeys(FUNCTION_TEXT.split()))
GLOSS, HYPERNYMS, HYPONYMS = range(3)
RELATION_PAIRS = ((GLOSS, GLOSS), (HYPERNYMS, HYPERNYMS), (HYPONYMS, HYPONYMS), (HYPERNYMS, GLOSS), (GLOSS, HYPERNYMS))
GLOSS_LIMIT = 300  # words of a joined definition; ours: bounds the cost of concepts with hundreds of hyponyms
SIGNATURE = 512  # bits that tell most definitions without a common word apart; speed only
_WORD = re.compile(r"[a-z0-9']+")


@dataclass(frozen=True)
class Glosses:
    """Definitions as word numbers; function words come first in the numbering.

    Attributes:
        lexicon: whose definitions.
        limit: words kept of a joined definition.
    """

    lexicon: Lexicon
    limit: int = GLOSS_LIMIT

    @cached_property
    def numbers(self) -> list[np.ndarray]:
        """(synsets,) int64 word numbers of each definition."""
        index = {word: i for i, word in enumerate(FUNCTION_WORDS)}
        rows = [_WORD.findall(gloss.lower()) for gloss in self.lexicon.glosses]
        return [np.array([index.setdefault(word, len(index)) for word in row], dtype=np.int64) for row in rows]

    @cached_property
    def relatives(self) -> tuple[list[list[int]], ...]:
        """(synsets,) the synset itself, its hypernyms, its hyponyms, by relation number."""
        itself = [[i] for i in range(len(self.lexicon.synsets))]
        return itself, self.lexicon.targets(HYPERNYM), self.lexicon.targets(HYPONYM)

    def joined(self, synset: int, relation: int) -> np.ndarray:
        """Definitions of a synset's relatives, one after another, cut at the limit; a break no phrase crosses between them."""
        parts = []
        for place, relative in enumerate(self.relatives[relation][synset]):
            parts += ([np.array([-3], dtype=np.int64)] if place else []) + [self.numbers[relative]]
        return np.concatenate(parts)[: self.limit] if parts else np.zeros(0, dtype=np.int64)


FUNCTIONS = len(FUNCTION_WORDS)


def plain_lesk(glosses: Glosses, synsets: Sequence[int]) -> np.ndarray:
    """Distinct content words that two definitions share: float64 (synsets, synsets)."""
    rows = [np.unique(glosses.numbers[synset]) for synset in synsets]
    rows = [row[row >= FUNCTIONS] for row in rows]
    kinds = np.unique(np.concatenate(rows)) if rows else np.zeros(0, dtype=np.int64)
    table = np.zeros((len(rows), len(kinds)))
    for place, row in enumerate(rows):
        table[place, np.searchsorted(kinds, row)] = 1
    return table @ table.T


def extended_lesk(glosses: Glosses, synsets: Sequence[int]) -> np.ndarray:
    """Summed squares of shared phrase lengths over ``RELATION_PAIRS``: float64 (synsets, synsets), symmetric."""
    rows = [[glosses.joined(synset, relation) for synset in synsets] for relation in range(3)]
    fields = [(*_flat(field), signatures(field)) for field in rows]
    total = np.zeros((len(synsets), len(synsets)))
    for first, second in RELATION_PAIRS:
        _add_overlaps(*fields[first], *fields[second], FUNCTIONS, total)
    return np.maximum(total, total.T)


def _flat(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Ragged rows one after another, and where each ends."""
    flat = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    return flat, np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)


def signatures(rows: Sequence[np.ndarray]) -> np.ndarray:
    """uint64 (rows, 8): a bit for each content word, by its number modulo 512; rows without a common bit share no word."""
    bits = np.zeros((len(rows), SIGNATURE), dtype=bool)
    for place, row in enumerate(rows):
        bits[place, row[row >= FUNCTIONS] % SIGNATURE] = True
    return np.packbits(bits, axis=1).view(np.uint64)


@numba.njit(cache=True)
def _add_overlaps(  # type: ignore[no-untyped-def]
    first, first_ends, first_bits, second, second_ends, second_bits, functions, total
):
    """Add the overlap of field ``first`` of i and ``second`` of j to ``total[i, j]`` for i <= j."""
    size = len(first_ends) - 1
    for i in range(size):
        a = first[first_ends[i] : first_ends[i + 1]]
        for j in range(i, size):
            shared = np.uint64(0)
            for k in range(first_bits.shape[1]):
                shared |= first_bits[i, k] & second_bits[j, k]
            if shared:
                total[i, j] += phrase_overlap(a, second[second_ends[j] : second_ends[j + 1]], functions)


@numba.njit(cache=True)
def phrase_overlap(first, second, functions):  # type: ignore[no-untyped-def]
    """Sum of squared lengths of shared phrases, longest first, earliest in ``first`` on a tie; each word is used once."""
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
                while i + step < len(a) and j + step < len(b) and a[i + step] == b[j + step] and a[i + step] >= 0:
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
