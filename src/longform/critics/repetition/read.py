"""Words of whole texts as numbers, for what asks only which words are the same (repetition)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longform.core.documents import Document, Readout
from longform.core.text.rendering import TokenText, texts_to_readout


def read(*, documents: Sequence[Document], splits: Sequence[str]) -> Readout:
    """One number per different word, in the order in which the texts bring them up; no reference text."""
    numbers: dict[str, int] = {}
    nothing = np.zeros(0, dtype=np.int64)
    units = []
    for document in documents:
        if document.split in splits:
            row = [numbers.setdefault(word, len(numbers)) for word in document.text.split()]
            units.append(TokenText(document.id, document.split, np.array(row, dtype=np.int64), nothing))
    return texts_to_readout(units)
