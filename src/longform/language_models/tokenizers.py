"""Tokenizers of the run's own text, and texts as rows of token ids.

Two kinds are trained: byte-level BPE of GPT-2's kind, and words that blanks separate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from longform.documents import Document
from longform.errors import BadInput
from longform.language_models.checkpoints import SavedModel, load_tokenizer, published
from longform.text.rendering import render, title_spans


def encode(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Token ids of a text without added control tokens."""
    return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]


def start_ids(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The tokens before a text, one rule for every reader.

    The begin token, else the end token, else nothing. Where there is nothing, a text's first token
    is context only: no reader scores it.
    """
    for token in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return [token]
    return []


def end_ids(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The tokens after a whole text: the end token.

    None where the tokenizer has no end token; the end is not scored then.
    """
    return [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]


def end_of_writing(tokenizer: PreTrainedTokenizerBase, name: str) -> int:
    """The token that ends a generated text.

    Raises:
        BadInput: the tokenizer has none.
    """
    if tokenizer.eos_token_id is None:
        raise BadInput(
            f"{name}: the tokenizer has no end token, at which a text would end; set its eos_token"
        )
    return int(tokenizer.eos_token_id)


def article_ids(document: Document, tokenizer: PreTrainedTokenizerBase, titles: bool) -> list[int]:
    """The tokens of one article in the stream: ``start body end newline``.

    The newline stands only where the tokenizer has one.
    """
    body = encode(render(document, titles), tokenizer)
    return start_ids(tokenizer) + body + end_ids(tokenizer) + encode("\n", tokenizer)


def stream_blocks(
    documents: Sequence[Document], tokenizer: Any, titles: bool, context: int
) -> np.ndarray:
    """Concatenate all documents and cut them into blocks; the last, partial one is dropped.

    Returns:
        int32 (blocks, context).
    """
    pieces = (article_ids(document, tokenizer, titles) for document in documents)
    stream = np.fromiter(chain.from_iterable(pieces), np.int32)
    num_blocks = len(stream) // context
    return stream[: num_blocks * context].reshape(-1, context)


def document_rows(
    documents: Sequence[Document], tokenizer: Any, titles: bool, context: int
) -> list[list[int]]:
    """Token ids of each document, ``start body end``, cut at ``context`` tokens."""
    start = start_ids(tokenizer)
    end = end_ids(tokenizer)
    rows = []
    for document in documents:
        body = encode(render(document, titles), tokenizer)
        rows.append((start + body + end)[:context])
    return rows


def windows(length: int, size: int) -> list[tuple[int, int, int]]:
    """Overlapping windows in which a long row is read.

    Args:
        length: tokens of the row.
        size: tokens of a window, at least 2; two windows share half of them.

    Returns:
        (start, stop, first scored position) of each window: every position from 1 on is scored in
        exactly one.

    Raises:
        BadInput: a longer row, and windows of fewer than 2 tokens, in which nothing has context.
    """
    if length <= size:
        return [(0, length, 1)]
    if size < 2:
        raise BadInput(f"a window is {size!r} tokens; give it 2 or more")
    cuts = []
    scored = 1  # the next position to be scored; position 0 is context alone
    while scored < length:
        start = 0 if scored == 1 else scored - size // 2
        stop = min(start + size, length)
        cuts.append((start, stop, scored))
        scored = stop
    return cuts


@dataclass(frozen=True)
class Window:
    """A row of token ids of which the first ``seen`` are context without loss.

    They are targets in an earlier window of the document.
    """

    ids: list[int]
    seen: int


def document_windows(
    documents: Sequence[Document], tokenizer: Any, titles: bool, context: int
) -> list[list[int] | Window]:
    """``start body end`` of each document, in windows that overlap by half where it is longer.

    Every token of a document is a target once, its end too, after at least half a window of text:
    without their ends, texts would teach that long texts do not end. The windows are those of
    reading and sampling (:func:`windows`).

    Returns:
        Rows of token ids: a list for a document that fits ``context``, a :class:`Window` for each
        part of one that does not.
    """
    rows: list[list[int] | Window] = []
    # No document is as long as this limit, so that nothing is cut away.
    for ids in document_rows(documents, tokenizer, titles, 10**9):
        if len(ids) <= context:
            rows.append(ids)
            continue
        for start, stop, first in windows(len(ids), context):
            rows.append(Window(ids[start:stop], first - start))
    return rows


def in_titles(document: Document, tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """Whether each token of the body with titles lies in a section's title or its colon.

    A token that begins at the blank before a section's text is the text's.

    Returns:
        bool (tokens,).

    Raises:
        BadInput: the tokenizer does not say where its tokens stand.
    """
    if not tokenizer.is_fast:
        raise BadInput(
            f"tokenizer {type(tokenizer).__name__} does not say where tokens stand, which tells "
            "titles from text; use its fast kind (tokenizer.json)"
        )
    body = render(document, titles=True)
    encoding = tokenizer(body, add_special_tokens=False, verbose=False, return_offsets_mapping=True)
    starts = np.array([start for start, _ in encoding["offset_mapping"]], dtype=np.int64)
    inside = np.zeros(len(starts), dtype=bool)
    for first, end in title_spans(document):
        inside |= (starts >= first) & (starts < end)
    return inside


def _start_in_stream(tokenizer: Any) -> list[int]:
    """The end of an article, a newline, and the start of the next."""
    return end_ids(tokenizer) + encode("\n", tokenizer) + start_ids(tokenizer)


# Packing of the training -> the tokens before a new document, of which the model has seen no
# others.
STARTS: dict[str, Callable[[Any], list[int]]] = {
    "stream": _start_in_stream,
    "documents": start_ids,
}


def section_ids(text: str, tokenizer: Any, max_length: int) -> list[int]:
    """Token ids with the tokenizer's control tokens, cut at ``max_length``.

    For a text that gives none (an empty one, where the tokenizer adds no control tokens) the end
    token stands alone, else token 0: a classifier gives every section a title, and needs a token.
    """
    ids = tokenizer(text, truncation=True, max_length=max_length, verbose=False)["input_ids"]
    return ids or [tokenizer.eos_token_id or 0]


def padded(rows: Sequence[Any], fill: int = 0, side: str = "right") -> torch.Tensor:
    """Rows of token ids as one tensor, int64 (rows, longest), ``fill`` on one side."""
    tensors = [torch.as_tensor(row, dtype=torch.int64) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=fill, padding_side=side)


def masked(rows: Sequence[Any], fill: int = 0, side: str = "right") -> dict[str, torch.Tensor]:
    """``input_ids`` and ``attention_mask``, as networks take rows of different length."""
    masks = [[1] * len(row) for row in rows]
    return {"input_ids": padded(rows, fill, side), "attention_mask": padded(masks, side=side)}


GPT2_END = "<|endoftext|>"
# The control tokens of fairseq's dictionary, which deng2022 used.
END, PAD, UNKNOWN = "</s>", "<pad>", "<unk>"


def fit(
    *,
    documents: Sequence[Document],
    kind: str | None = None,
    vocab_size: int | None = None,
    folder: Path | None = None,
    package: str | None = None,
    file: str | None = None,
) -> SavedModel:
    """Train a tokenizer on the training split, or take a published one.

    Args:
        documents: the study's documents.
        kind: "byte_pair", or "whitespace", which knows every word.
        vocab_size: most tokens of a "byte_pair".
        folder: of a published tokenizer; then all others must be None.
        package: name of an installed package that contains a model, with its ``file``.
        file: its GGUF or safetensors file.

    Returns:
        The tokenizer, as a saved model without a network.

    Raises:
        BadInput: an unknown kind, arguments that do not go together, a size that the kind does not
            take or lacks, or a package that is not installed.
    """
    # 1. A published one. A package's is opened through a folder that points to it.
    arguments = {
        "kind": kind,
        "vocab_size": vocab_size,
        "folder": folder,
        "package": package,
        "file": file,
    }
    names = {name for name, value in arguments.items() if value is not None}
    if folder is not None and names == {"folder"}:
        return SavedModel(None, load_tokenizer(folder))
    if package is not None and names <= {"package", "file"}:
        with TemporaryDirectory() as pointer_folder:
            published(package=package, file=file).save(Path(pointer_folder))
            return SavedModel(None, load_tokenizer(Path(pointer_folder)))
    if kind is None and ("folder" in names or "package" in names):
        raise BadInput(
            "a published tokenizer is named by a folder alone, or by a package with a file; here "
            f"{sorted(names)} are given; fix the entry"
        )
    # 2. One to be trained. byte_pair needs a size, and whitespace takes none.
    if kind not in KINDS or not names <= {"kind", "vocab_size"}:
        allowed = f"{sorted(KINDS)}, or a folder alone, or a package with a file"
        raise BadInput(f"tokenizer kind is {kind!r}, allowed are {allowed}; fix the entry")
    if (vocab_size is None) == (kind == "byte_pair"):
        raise BadInput(
            f"tokenizer of kind {kind!r} has vocab_size={vocab_size!r}; byte_pair alone takes one"
        )
    training_documents = [document for document in documents if document.split == "train"]
    return SavedModel(None, KINDS[kind](training_documents, vocab_size))


def byte_pair(documents: Sequence[Document], vocab_size: Any) -> PreTrainedTokenizerFast:
    """Byte-level BPE of at most ``vocab_size`` tokens.

    Titles are included where there are any, so that models with and without titles share one
    vocabulary.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        special_tokens=[GPT2_END],
        vocab_size=vocab_size,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(map(_titled_text, documents), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=GPT2_END, bos_token=GPT2_END, pad_token=GPT2_END
    )


def _titled_text(document: Document) -> str:
    """The text with titles where every section has one, else without."""
    has_titles = all(section.title is not None for section in document.sections)
    return render(document, has_titles)


def whitespace(documents: Sequence[Document], _: int | None = None) -> PreTrainedTokenizerFast:
    """Every whitespace token in sorted order, after end, pad and unknown.

    A word of the texts that is spelled as one of these three is that control token: WikiText writes
    ``<unk>`` for its rare words.
    """
    controls = (END, PAD, UNKNOWN)
    words = set[str]()
    for document in documents:
        words.update(document.text.split())
    numbers: dict[str, int] = {}
    for number, word in enumerate([*controls, *sorted(words.difference(controls))]):
        numbers[word] = number
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        bos_token=END,
        pad_token=PAD,
        unk_token=UNKNOWN,
    )


KINDS: dict[str, Callable[..., PreTrainedTokenizerFast]] = {
    "byte_pair": byte_pair,
    "whitespace": whitespace,
}
