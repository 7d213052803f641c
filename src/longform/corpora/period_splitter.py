r"""The sentence splitter that the BBScore release used, kept so that its counts can be reproduced (its ``get_latents.py``).

It cuts at a period followed by a blank and knows nothing else: "U.S. Census" is two pieces, "!" and "?" end nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from longform.units import Document


def period_pieces(text: str) -> list[str]:
    """Pieces between ``". "``, each with its period again; blank pieces are left out.

    ``"A b. C.\\nD"`` gives ``["A b.", "C.", "D"]``; a period and a newline count as a period and a blank.
    """
    pieces = [piece.strip() for piece in text.strip().replace(".\n", ". ").split(". ")]
    kept = [piece for piece in pieces if piece.strip(".")]
    return [piece if piece.endswith(".") or index == len(kept) - 1 else f"{piece}." for index, piece in enumerate(kept)]


def flat_text(document: Document) -> str:
    """Sections joined by one blank, titles withheld: one line of the released WikiSection file."""
    return " ".join(section.text.strip() for section in document.sections)


def period_sentences(documents: Sequence[Document]) -> list[list[str]]:
    """Pieces of each document; a document without any is an empty list, for the critic to exclude and count."""
    return [period_pieces(flat_text(document)) for document in documents]
