"""Tokens of continuations and of the human texts in their place, for the repetition metrics (massarelli2020)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longform.decoding.prefixes import CONTINUATION, REFERENCE
from longform.documents import BadInput, Document, Readout
from longform.language_models.checkpoints import load_tokenizer
from longform.language_models.token_rows import encode
from longform.text.token_texts import TokenText, texts_to_readout


def read(*, documents: Sequence[Document], reader: Path, name: str, human: bool = False) -> Readout:
    """Token ids under the tokenizer of ``reader``, one unit per continuation; see :func:`texts_to_readout`.

    Args:
        human: put the human text in the place of the continuation, for the paper's first row.

    Raises:
        BadInput: a document has no continuation or no human text.
    """
    tokenizer = load_tokenizer(reader)
    units = []
    for document in documents:
        texts = {section.title: section.text for section in document.sections[1:]}
        if not {CONTINUATION, REFERENCE} <= texts.keys():
            raise BadInput(f"infer {name}: document {document.id!r} has no continuation; texts come from decoding.py")
        rows = [np.array(encode(texts[key], tokenizer), dtype=np.int64) for key in (CONTINUATION, REFERENCE)]
        units.append(TokenText(document.id, document.split, rows[1 if human else 0], rows[1]))
    return texts_to_readout(units)
