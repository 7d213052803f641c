"""Tokenizers of the run's own text (byte-level BPE of GPT-2's kind, words that blanks separate), and texts as rows of token ids."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from longform.core.documents import BadInput, Document
from longform.core.text.rendering import render
from longform.language_models.checkpoints import SavedModel, load_tokenizer, published


def encode(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Token ids of a text without added control tokens."""
    return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]


def article_ids(document: Document, tokenizer: PreTrainedTokenizerBase, titles: bool) -> list[int]:
    """``EOT body EOT newline``: what one article adds to the stream (the newline only where the tokenizer has one)."""
    end = [tokenizer.eos_token_id]
    return end + encode(render(document, titles), tokenizer) + end + encode("\n", tokenizer)


def stream_blocks(documents: Sequence[Document], tokenizer: Any, titles: bool, context: int) -> np.ndarray:
    """One stream cut into consecutive blocks of ``context`` tokens, int32 (block, context); the last, partial one is dropped."""
    pieces = [np.array(article_ids(document, tokenizer, titles), dtype=np.int32) for document in documents]
    stream = np.concatenate([np.zeros(0, dtype=np.int32), *pieces])
    return stream[: len(stream) // context * context].reshape(-1, context)


def document_rows(documents: Sequence[Document], tokenizer: Any, titles: bool, context: int) -> list[list[int]]:
    """``EOT body EOT`` of each document, cut at ``context`` tokens."""
    end = [tokenizer.eos_token_id]
    return [(end + encode(render(d, titles), tokenizer) + end)[:context] for d in documents]


# What stands before a new document, by the packing that the model was trained with: of any other start it has seen nothing.
STARTS: dict[str, Callable[[Any], list[int]]] = {
    "stream": lambda tokenizer: [tokenizer.eos_token_id, *encode("\n", tokenizer), tokenizer.eos_token_id],
    "documents": lambda tokenizer: [tokenizer.eos_token_id],
}


def section_ids(text: str, tokenizer: Any, max_length: int) -> list[int]:
    """Token ids with the tokenizer's control tokens, cut at ``max_length``; never empty, so that any text has a title."""
    ids = tokenizer(text, truncation=True, max_length=max_length, verbose=False)["input_ids"]
    return ids or [tokenizer.eos_token_id or 0]


GPT2_END = "<|endoftext|>"
END, PAD, UNKNOWN = "</s>", "<pad>", "<unk>"  # the control tokens of fairseq's dictionary, which deng2022 used


def fit(
    *,
    documents: Sequence[Document],
    kind: str | None = None,
    vocab_size: int | None = None,
    folder: Path | None = None,
    package: str | None = None,
    file: str | None = None,
) -> SavedModel:
    """Train on the training split, or take a published one.

    Args:
        kind: "byte_pair" of ``vocab_size``, or "whitespace", which takes every word.
        folder: of a published tokenizer, instead of a kind.
        package, file: an installed package and its GGUF file, whose tokenizer is taken, instead of a kind.

    Raises BadInput: an unknown kind, a size that the kind does not take or lacks, or a package that is not installed.
    """
    trained = kind is not None or vocab_size is not None
    if not trained and folder is not None and package is None and file is None:
        return SavedModel(None, load_tokenizer(folder))
    if not trained and folder is None and package is not None:
        with TemporaryDirectory() as place:
            published(package=package, file=file).save(Path(place))
            return SavedModel(None, load_tokenizer(Path(place)))
    if kind not in KINDS or folder is not None or package is not None or file is not None:
        raise BadInput(
            f"tokenizer kind is {kind!r}, allowed are {sorted(KINDS)}, or a folder alone, or a package with a file; fix the entry"
        )
    if (vocab_size is None) == (kind == "byte_pair"):
        raise BadInput(f"tokenizer of kind {kind!r} has vocab_size={vocab_size!r}; byte_pair alone takes one")
    return SavedModel(None, KINDS[kind]([d for d in documents if d.split == "train"], vocab_size))


def byte_pair(documents: Sequence[Document], vocab_size: Any) -> PreTrainedTokenizerFast:
    """Titles are included where there are any, so that models with and without titles share one vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[GPT2_END], initial_alphabet=alphabet, show_progress=False
    )
    titled = [all(section.title is not None for section in document.sections) for document in documents]
    tokenizer.train_from_iterator((render(*one) for one in zip(documents, titled, strict=True)), trainer)
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
