"""Cuts texts so that both sides have the same lengths.

Every critic here is moved by length or by how far a text has come. Measured on human texts
(``python experiments/false_alarms.py --lengths``): the same texts, whole, halved and shorter still,
differ under each critic in one collection or another. So the text of rank r on one side is cut to
the length of the text of that rank on the other side. Both sides then have the same lengths, no
text is left out, and texts of equal lengths stay whole.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from longform.documents import Document, Section
from longform.text.sentences import sentences

Measure = Literal["sections", "sentences", "words"]
MEASURES: tuple[Measure, ...] = ("sections", "sentences", "words")
SHORT = 0.5  # ours: share of real text's median length up to which a side's texts are short
_WORD = re.compile(r"\S+")
Lengths = NDArray[np.int64]  # (texts of a side,)


@dataclass(frozen=True)
class Excerpt(Document):
    """The beginning of a text, maybe all of it.

    Attributes:
        ends: whether its end may be judged: neither it nor its counterpart on the other side was
            cut.
    """

    ends: bool = True


@dataclass(frozen=True)
class EqualLengths:
    """Real and generated texts, cut to equal lengths.

    ``measure`` is the unit of length by which they were cut.
    """

    measure: Measure
    real: tuple[Excerpt, ...]
    generated: tuple[Excerpt, ...]
    cut: tuple[int, int]  # how many real and generated texts are shorter than they were

    @cached_property
    def documents(self) -> tuple[Excerpt, ...]:
        """The texts of both sides, real ones first."""
        return self.real + self.generated


def length(document: Document, measure: Measure) -> int:
    """The length of a document: its number of sections, of sentences, or of words by blanks."""
    if measure == "sections":
        return len(document.sections)
    num_units = 0
    for section in document.sections:
        units = section.text.split() if measure == "words" else sentences(section.text)
        num_units += len(units)
    return num_units


def equal_lengths(
    real: Sequence[Document], generated: Sequence[Document], measure: Measure
) -> EqualLengths:
    """Cut two sides, neither of them empty, as :func:`cut_to_equal_lengths` does."""
    sides, cut = cut_to_equal_lengths([real, generated], measure)
    return EqualLengths(measure, sides[0], sides[1], (cut[0], cut[1]))


def cut_to_equal_lengths(
    sides: Sequence[Sequence[Document]], measure: Measure
) -> tuple[list[tuple[Excerpt, ...]], list[int]]:
    """Cut each text to the length of the shortest text of equal rank on all sides.

    Ranks of texts of one length follow a hash of their words, so that neither the order of a file
    nor its names matter. Where the sides have different numbers of texts, the rank is the share of
    a side that is shorter.

    Args:
        sides: sets of texts, none of them empty.
        measure: what a length is.

    Returns:
        The sides with their texts cut, and how many texts of each are shorter than they were.
    """
    lengths: list[Lengths] = []
    for side in sides:
        lengths_of_side = [length(document, measure) for document in side]
        lengths.append(np.array(lengths_of_side, dtype=np.int64))
    excerpts: list[tuple[Excerpt, ...]] = []
    cut: list[int] = []
    for number, side in enumerate(sides):
        counterparts = []  # lengths at equal rank on each other side, (texts of this side,)
        for other in lengths[:number] + lengths[number + 1 :]:
            counterparts.append(_counterparts(lengths[number], side, other))
        shortest = np.min([lengths[number], *counterparts], axis=0)
        # A text's end may be judged where neither it nor any counterpart is longer than the others.
        longest = np.max([lengths[number], *counterparts], axis=0)
        excerpts_of_side = []
        for row, document in enumerate(side):
            excerpt = _excerpt(
                document,
                num_units=int(lengths[number][row]),
                shortest=int(shortest[row]),
                longest=int(longest[row]),
                measure=measure,
            )
            excerpts_of_side.append(excerpt)
        excerpts.append(tuple(excerpts_of_side))
        cut.append(int((lengths[number] > shortest).sum()))
    return excerpts, cut


def why_short(sides: Mapping[str, Sequence[Document]], measure: Measure, advice: str) -> str:
    """Say which side's texts the others are cut to, for a critic that cannot judge what is left.

    Args:
        sides: the texts of each side as they came, real ones first.
        measure: what a length is.
        advice: what to do about a side, whose name stands for ``{}``.

    Returns:
        Words in brackets that follow the critic's reason; none where no side's median is at most
        ``SHORT`` of that of real texts.
    """
    medians: dict[str, float] = {}
    for name, side in sides.items():
        medians[name] = median(length(document, measure) for document in side)
    shortest = min(medians, key=lambda name: medians[name])
    if medians[shortest] > SHORT * medians[next(iter(sides))]:
        return ""
    return (
        f" (all sides are cut to the lengths of {shortest}, whose texts have a median of "
        f"{medians[shortest]:g} {measure}: {advice.format(shortest)})"
    )


def _counterparts(lengths: Lengths, documents: Sequence[Document], other: Lengths) -> Lengths:
    """For each text the length that the other side has at the same quantile.

    Args:
        lengths: of ``documents``, int64 (texts,).
        documents: one side.
        other: lengths of the other side, in any order, int64 (other texts,).

    Returns:
        Lengths of the other side in the order of ``documents``, int64 (texts,).
    """
    # 1. Order by length; a hash of the text decides ties, so that the order of the file does not.
    digests = []
    for document in documents:
        digests.append(hashlib.blake2b(document.text.encode(), digest_size=8).digest())
    order = sorted(range(len(lengths)), key=lambda row: (lengths[row], digests[row]))
    # 2. The text at place k of n (from 0) gets the other side's length at quantile (k + 0.5) / n.
    quantiles = np.empty(len(lengths))
    quantiles[order] = (np.arange(len(lengths)) + 0.5) / len(lengths)
    ranks = np.floor(quantiles * len(other)).astype(np.int64)
    return np.sort(other)[ranks]


def _excerpt(
    document: Document, num_units: int, shortest: int, longest: int, measure: Measure
) -> Excerpt:
    """Cut a text to the shortest length of its rank.

    Args:
        document: the text.
        num_units: its length.
        shortest, longest: of its own length and those of its counterparts.
        measure: unit of all lengths.
    """
    sections = document.sections
    if num_units > shortest:
        sections = _beginning(sections, shortest, measure)
    ends = shortest == longest
    return Excerpt(document.id, document.split, sections, document.edits, ends=ends)


def _beginning(sections: Sequence[Section], limit: int, measure: Measure) -> tuple[Section, ...]:
    """The first ``limit`` sections, sentences or words, as sections; the last may be cut."""
    if measure == "sections":
        return tuple(sections[:limit])
    beginning: list[Section] = []
    for section in sections:
        if limit <= 0:
            break
        ends = _ends(section.text, measure)
        text = section.text if len(ends) <= limit else section.text[: ends[limit - 1]]
        beginning.append(replace(section, text=text))
        limit -= len(ends)
    return tuple(beginning)


def _ends(text: str, measure: Measure) -> list[int]:
    """Offset in characters of the end of each sentence or word."""
    if measure == "words":
        return [word.end() for word in _WORD.finditer(text)]
    return [end for _, end in sentences(text)]
