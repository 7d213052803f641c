"""Texts as rows of token ids, in the papers' exact formats; no training library is needed to read with a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from longform.core.documents import Document
from longform.text.rendering import render


def encode(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Token ids of a text without added control tokens."""
    return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]


def article_ids(document: Document, tokenizer: PreTrainedTokenizerBase, titles: bool) -> list[int]:
    """``EOT body EOT newline``: what one article adds to the stream (the newline only where the tokenizer has one)."""
    end = [tokenizer.eos_token_id]
    return end + encode(render(document, titles), tokenizer) + end + encode("\n", tokenizer)


def stream_blocks(documents: Sequence[Document], tokenizer: Any, titles: bool, context: int) -> np.ndarray:
    """One stream cut into consecutive blocks of ``context`` tokens; the last, partial block is dropped.

    Returns:
        int32 (block, context): the papers' corpora have 10^8 tokens, for which lists are too large.
    """
    pieces = [np.array(article_ids(document, tokenizer, titles), dtype=np.int32) for document in documents]
    stream = np.concatenate([np.zeros(0, dtype=np.int32), *pieces])
    return stream[: len(stream) // context * context].reshape(-1, context)


def document_rows(documents: Sequence[Document], tokenizer: Any, titles: bool, context: int) -> list[list[int]]:
    """``EOT body EOT`` of each document, cut at ``context`` tokens."""
    end = [tokenizer.eos_token_id]
    return [(end + encode(render(d, titles), tokenizer) + end)[:context] for d in documents]


def section_ids(text: str, tokenizer: Any, max_length: int) -> list[int]:
    """Token ids with the tokenizer's control tokens, cut at ``max_length``; never empty, so that any text has a title."""
    ids = tokenizer(text, truncation=True, max_length=max_length, verbose=False)["input_ids"]
    return ids or [tokenizer.eos_token_id or 0]
