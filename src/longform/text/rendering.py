r"""How a document becomes language-model text, and back.

(deng2022 appendix E; released formatting scripts.)

With titles a section is ``title: text``, without it is ``text``; sections are joined by one blank
line. An article is ``EOT body EOT``, articles are separated by a newline, so a model meets
``EOT \n EOT`` before each body.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.documents import SECTION_BREAK, Document, Predictions, Section, Unit, ragged
from longform.text.paragraphs import from_lines, to_lines

LONE = "surrogatepass"  # error handler: encodes a lone surrogate, which JSON may hold


def render(document: Document, titles: bool) -> str:
    """The body of one article; paragraphs are lines, since a blank line ends a section."""
    parts = []
    for section in document.sections:
        text = to_lines(section.text)
        parts.append(f"{section.title}: {text}" if titles else text)
    return SECTION_BREAK.join(parts)


def title_spans(document: Document) -> list[tuple[int, int]]:
    """Where each section's title stands in the body that :func:`render` gives with titles.

    Returns:
        Offsets of the first character and of that after the title's colon, one pair a section.
    """
    parts = render(document, titles=True).split(SECTION_BREAK)
    spans = []
    start = 0
    for section, part in zip(document.sections, parts, strict=True):
        spans.append((start, start + len(f"{section.title}:")))
        start += len(part) + len(SECTION_BREAK)
    return spans


def parse(body: str, titles: bool) -> tuple[Section, ...] | None:
    """Sections of a generated body, whose lines are paragraphs.

    Args:
        body: what :func:`render` gave, or a model wrote.
        titles: whether each section begins with its title and a colon.

    Returns:
        None where the body is malformed and must be drawn again: it is empty, or a section lacks
        its title's colon or a text behind it.
    """
    body = body.strip()
    if not body:
        return None
    sections = []
    for part in body.split(SECTION_BREAK):
        if not titles:
            sections.append(Section(None, from_lines(part)))
            continue
        title, colon, text = part.partition(":")
        if not colon or not text.strip():
            return None
        sections.append(Section(title.strip(), from_lines(text)))
    return tuple(sections)


def pack(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Pack texts as the ragged array ``text`` of UTF-8 bytes, a row per text."""
    rows = [np.frombuffer(text.encode(errors=LONE), dtype=np.uint8) for text in texts]
    return ragged("text", rows, np.uint8)


def unpack(predictions: Predictions) -> list[str]:
    """Inverse of :func:`pack`: each unit's text; empty where predictions have no texts."""
    if "text" not in predictions.arrays:
        return [""] * len(predictions.unit_ids)
    return [row.tobytes().decode(errors=LONE) for row in predictions.ragged("text")]


@dataclass(frozen=True)
class TokenText(Unit):
    """Tokens of one generation and of the human text that it is compared with.

    Attributes:
        tokens: of the generation, int (tokens,).
        reference: of the human text, int (its tokens,).
    """

    tokens: np.ndarray
    reference: np.ndarray


def texts_to_predictions(units: Sequence[TokenText]) -> Predictions:
    """Pack token texts for ``data/predictions``."""
    arrays = ragged("token", [unit.tokens for unit in units], np.int64)
    arrays |= ragged("reference", [unit.reference for unit in units], np.int64)
    return Predictions.of(units, arrays)
