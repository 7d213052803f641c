r"""How a document becomes language-model text, and back (deng2022 appendix E; released formatting scripts).

With titles a section is ``title: text``, without it is ``text``; sections are joined by one blank line. An
article is ``EOT body EOT``, articles are separated by a newline, so a model meets ``EOT \n EOT`` before each body."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.documents import SECTION_BREAK, Document, Predictions, Section, Unit, ragged
from longform.text.paragraphs import from_lines, to_lines

LONE = "surrogatepass"  # half a surrogate pair, which JSON may hold, comes back as it was


def render(document: Document, titles: bool) -> str:
    """The body of one article; a section's paragraphs are lines, since a blank line would read as its end."""
    parts = []
    for section in document.sections:
        text = to_lines(section.text)
        parts.append(f"{section.title}: {text}" if titles else text)
    return SECTION_BREAK.join(parts)


def title_spans(document: Document) -> list[tuple[int, int]]:
    """Where each section's title stands in the body that :func:`render` gives with titles, its colon included."""
    spans, start = [], 0
    for section, part in zip(
        document.sections, render(document, titles=True).split(SECTION_BREAK), strict=True
    ):
        spans.append((start, start + len(f"{section.title}:")))
        start += len(part) + len(SECTION_BREAK)
    return spans


def parse(body: str, titles: bool) -> tuple[Section, ...] | None:
    """Sections of a generated body, whose lines are paragraphs; None where it is malformed and must be drawn again."""
    body = body.strip()
    if not body:
        return None
    parts = body.split(SECTION_BREAK)
    if not titles:
        return tuple(Section(None, from_lines(part)) for part in parts)
    pairs = [part.partition(":") for part in parts]
    if any(not colon or not text.strip() for _, colon, text in pairs):
        return None
    return tuple(Section(title.strip(), from_lines(text)) for title, _, text in pairs)


def pack(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """``text``: UTF-8 bytes, one ragged row per unit."""
    return ragged(
        "text",
        [np.frombuffer(text.encode(errors=LONE), dtype=np.uint8) for text in texts],
        np.uint8,
    )


def unpack(predictions: Predictions) -> list[str]:
    """Texts of the units; empty ones where the reader kept none."""
    if "text" not in predictions.arrays:
        return [""] * len(predictions.unit_ids)
    return [row.tobytes().decode(errors=LONE) for row in predictions.ragged("text")]


@dataclass(frozen=True)
class TokenText(Unit):
    """Tokens of one generation, and of the human text in its place, int (tokens,) each."""

    tokens: np.ndarray
    reference: np.ndarray


def texts_to_predictions(units: Sequence[TokenText]) -> Predictions:
    """Pack token texts for ``data/predictions``."""
    tokens = ragged("token", [unit.tokens for unit in units], np.int64)
    return Predictions.of(
        units, tokens | ragged("reference", [unit.reference for unit in units], np.int64)
    )
