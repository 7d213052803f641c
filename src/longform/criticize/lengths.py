"""Texts of equal length: longer ones are cut, since every critic here is moved by length or by how far a text has come.

Measured on human texts (``python experiments/false_alarms.py --lengths``): the same texts, whole, halved and shorter still, differ
under each critic in one collection or another. So the text of rank r on one side is cut to the length of the text of that rank on
the other side. Both sides then have the same lengths, no text is left out, and texts of equal lengths stay whole.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from longform.documents import Document, Section
from longform.text.sentences import sentences

Measure = Literal["sections", "sentences", "words"]
MEASURES: tuple[Measure, ...] = ("sections", "sentences", "words")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Excerpt(Document):
    """The beginning of a text, maybe all of it."""

    ends: bool = True  # whether its end may be judged: neither it nor its counterpart on the other side was cut


@dataclass(frozen=True)
class EqualLengths:
    """Both sides at equal lengths."""

    measure: Measure
    real: tuple[Excerpt, ...]
    generated: tuple[Excerpt, ...]
    cut: tuple[int, int]  # how many real and generated texts are shorter than they were

    @cached_property
    def documents(self) -> tuple[Excerpt, ...]:
        """Those of both sides."""
        return self.real + self.generated


def length(document: Document, measure: Measure) -> int:
    """Sections, sentences, or words between blanks."""
    if measure == "sections":
        return len(document.sections)
    if measure == "words":
        return sum(len(section.text.split()) for section in document.sections)
    return sum(len(sentences(section.text)) for section in document.sections)


def equal_lengths(
    real: Sequence[Document], generated: Sequence[Document], measure: Measure
) -> EqualLengths:
    """Cut each text to the length of the text of equal rank on the other side, where that is shorter.

    Ranks of texts of one length follow a hash of their words, so that neither the order of a file nor its names matter.
    Where the sides have different numbers of texts, the rank is the share of a side that is shorter.
    """
    sides = list(real), list(generated)
    lengths = [
        np.array([length(document, measure) for document in side], dtype=np.int64) for side in sides
    ]
    counterparts = [
        _counterparts(lengths[0], sides[0], lengths[1]),
        _counterparts(lengths[1], sides[1], lengths[0]),
    ]
    excerpts = []
    for side, own, other in zip(sides, lengths, counterparts, strict=True):
        rows = zip(side, own.tolist(), other.tolist(), strict=True)
        excerpts.append(tuple(_excerpt(document, a, b, measure) for document, a, b in rows))
    cut = [int((own > other).sum()) for own, other in zip(lengths, counterparts, strict=True)]
    return EqualLengths(measure, excerpts[0], excerpts[1], (cut[0], cut[1]))


def _counterparts(own: np.ndarray, documents: Sequence[Document], other: np.ndarray) -> np.ndarray:
    """The length on the other side of each text's rank, int64 (texts,)."""
    digests = [
        hashlib.blake2b(document.text.encode(), digest_size=8).digest() for document in documents
    ]
    order = sorted(range(len(own)), key=lambda row: (own[row], digests[row]))
    shares = np.empty(len(own))
    shares[order] = (np.arange(len(own)) + 0.5) / len(own)
    return np.sort(other)[np.floor(shares * len(other)).astype(np.int64)]


def _excerpt(document: Document, own: int, counterpart: int, measure: Measure) -> Excerpt:
    sections = (
        document.sections
        if own <= counterpart
        else _beginning(document.sections, counterpart, measure)
    )
    return Excerpt(document.id, document.split, sections, document.edits, ends=own == counterpart)


def _beginning(sections: Sequence[Section], limit: int, measure: Measure) -> tuple[Section, ...]:
    """Sections up to so many sections, sentences or words; the last one may be cut."""
    if measure == "sections":
        return tuple(sections[:limit])
    kept = []
    for section in sections:
        if limit <= 0:
            break
        ends = _ends(section.text, measure)
        text = section.text if len(ends) <= limit else section.text[: ends[limit - 1]]
        kept.append(replace(section, text=text))
        limit -= len(ends)
    return tuple(kept)


def _ends(text: str, measure: Measure) -> list[int]:
    """Where each sentence or word ends."""
    if measure == "words":
        return [word.end() for word in _WORD.finditer(text)]
    return [end for _, end in sentences(text)]
