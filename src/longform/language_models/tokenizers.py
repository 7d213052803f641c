"""Tokenizers of the run's own text: byte-level BPE of GPT-2's kind, and words that blanks already separate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from longform.core.documents import BadInput, Document
from longform.language_models.checkpoints import SavedModel
from longform.text.rendering import render

GPT2_END = "<|endoftext|>"
END, PAD, UNKNOWN = "</s>", "<pad>", "<unk>"  # the control tokens of fairseq's dictionary, which deng2022 used


def fit(*, documents: Sequence[Document], kind: str, vocab_size: int | None = None) -> SavedModel:
    """Train on the training split.

    Args:
        kind: "byte_pair" or "whitespace".
        vocab_size: of byte pairs; whitespace takes every word.

    Raises:
        BadInput: an unknown kind, or a size that the kind does not take or lacks.
    """
    if kind not in KINDS:
        raise BadInput(f"tokenizer kind is {kind!r}, allowed are {sorted(KINDS)}; fix the row")
    if (vocab_size is None) == (kind == "byte_pair"):
        raise BadInput(
            f"tokenizer of kind {kind!r} has vocab_size={vocab_size!r}; byte_pair needs it, whitespace has none"
        )
    return SavedModel(None, KINDS[kind]([d for d in documents if d.split == "train"], vocab_size))


def byte_pair(documents: Sequence[Document], vocab_size: Any) -> PreTrainedTokenizerFast:
    """Titles are included, so that models with and without titles share one vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[GPT2_END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator((render(document, titles=True) for document in documents), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=GPT2_END, bos_token=GPT2_END, pad_token=GPT2_END
    )


def whitespace(documents: Sequence[Document], _: int | None = None) -> PreTrainedTokenizerFast:
    """Every whitespace token in sorted order, after end, pad and unknown."""
    words = sorted({word for document in documents for word in document.text.split()})
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate([END, PAD, UNKNOWN, *words])}, unk_token=UNKNOWN)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, bos_token=END, pad_token=PAD, unk_token=UNKNOWN
    )


KINDS: dict[str, Callable[[Sequence[Document], int | None], PreTrainedTokenizerFast]] = {
    "byte_pair": byte_pair,
    "whitespace": whitespace,
}
