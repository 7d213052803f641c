r"""Paragraphs of a section: a blank line stands between two, a single line break means nothing.

Sections of a document are structure (:class:`longform.documents.Section`) and each may hold several
paragraphs, so a blank line in a document's joined text is the end of a paragraph, and of a section
perhaps. Where a language model must tell the two apart, and in articles as their readers give them,
each paragraph is one line instead.
"""

import re

PARAGRAPH_BREAK = "\n\n"
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n\s*)+")
_WRAP = re.compile(r"[^\S\n]*\n\s*")  # a line break inside a paragraph


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, on one line each, without the empty ones.

    Args:
        text: prose whose lines may be wrapped, with ``\\n`` as line end.
    """
    pieces = []
    for piece in _BLANK_LINES.split(text):
        if piece := piece.strip():
            pieces.append(_WRAP.sub(" ", piece))
    return pieces


def one_blank_line(text: str) -> str:
    """The text with one blank line between paragraphs and its lines as they were."""
    return _BLANK_LINES.sub(PARAGRAPH_BREAK, text).strip()


def to_lines(text: str) -> str:
    """A section with one paragraph a line, for language models: there a blank line ends it."""
    return "\n".join(paragraphs(text))


def from_lines(text: str) -> str:
    """Inverse of :func:`to_lines`: every line is a paragraph."""
    lines = map(str.strip, text.split("\n"))
    return PARAGRAPH_BREAK.join(filter(None, lines))


def single_spaced(text: str) -> str:
    """The text with one blank between words and a blank line between paragraphs."""
    return PARAGRAPH_BREAK.join(" ".join(piece.split()) for piece in paragraphs(text))
