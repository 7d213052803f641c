"""Tokenizers of the run's own text (byte-level BPE of GPT-2's kind, words that blanks separate), and texts as rows of token ids."""

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
    """What stands before a text, one rule for every reader: the begin token, else the end token, else nothing.

    Where there is nothing, a text's first token is context only: no reader scores it.
    """
    for token in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return [token]
    return []


def end_ids(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """What stands behind a whole text: the end token, or nothing where the tokenizer has none (the end is not scored then)."""
    return [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]


def end_of_writing(tokenizer: PreTrainedTokenizerBase, name: str) -> int:
    """The token at which what is written ends. Raises BadInput: the tokenizer has none."""
    if tokenizer.eos_token_id is None:
        raise BadInput(
            f"{name}: the tokenizer has no end token, at which a text would end; set its eos_token"
        )
    return int(tokenizer.eos_token_id)


def article_ids(document: Document, tokenizer: PreTrainedTokenizerBase, titles: bool) -> list[int]:
    """``start body end newline``: what one article adds to the stream (the newline only where the tokenizer has one)."""
    body = encode(render(document, titles), tokenizer)
    return start_ids(tokenizer) + body + end_ids(tokenizer) + encode("\n", tokenizer)


def stream_blocks(
    documents: Sequence[Document], tokenizer: Any, titles: bool, context: int
) -> np.ndarray:
    """One stream cut into consecutive blocks of ``context`` tokens, int32 (block, context); the last, partial one is dropped."""
    pieces = (article_ids(document, tokenizer, titles) for document in documents)
    stream = np.fromiter(chain.from_iterable(pieces), np.int32)
    return stream[: len(stream) // context * context].reshape(-1, context)


def document_rows(
    documents: Sequence[Document], tokenizer: Any, titles: bool, context: int
) -> list[list[int]]:
    """``start body end`` of each document, cut at ``context`` tokens."""
    start, end = start_ids(tokenizer), end_ids(tokenizer)
    return [(start + encode(render(d, titles), tokenizer) + end)[:context] for d in documents]


def windows(length: int, size: int) -> list[tuple[int, int, int]]:
    """(start, stop, first scored position) so that positions 1..length-1 are scored exactly once."""
    if length <= size:
        return [(0, length, 1)]
    cuts, scored = [], 1
    while scored < length:
        start = 0 if scored == 1 else scored - size // 2
        stop = min(start + size, length)
        cuts.append((start, stop, scored))
        scored = stop
    return cuts


@dataclass(frozen=True)
class Window:
    """A row of token ids of which the first ``seen`` are context alone: an earlier window of the document taught them."""

    ids: list[int]
    seen: int


def document_windows(
    documents: Sequence[Document], tokenizer: Any, titles: bool, context: int
) -> list[list[int] | Window]:
    """``start body end`` of each document; one longer than ``context`` in windows that overlap by half.

    Every token of a document is taught once, its end too, after at least half a window of text: texts whose end was cut
    away would teach that long texts do not end. Windows are those in which texts are read and written.
    """
    rows: list[list[int] | Window] = []
    for ids in document_rows(documents, tokenizer, titles, 10**9):
        if len(ids) <= context:
            rows.append(ids)
            continue
        for start, stop, first in windows(len(ids), context):
            rows.append(Window(ids[start:stop], first - start))
    return rows


def in_titles(document: Document, tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """Whether each token of the body with titles lies in a section's title or its colon, bool (tokens,).

    A token that begins at the blank before a section's text is the text's.

    Raises BadInput: the tokenizer does not say where its tokens stand.
    """
    if not tokenizer.is_fast:
        told = "does not say where tokens stand, which tells titles from text"
        raise BadInput(
            f"tokenizer {type(tokenizer).__name__} {told}; use its fast kind (tokenizer.json)"
        )
    body = render(document, titles=True)
    given = tokenizer(body, add_special_tokens=False, verbose=False, return_offsets_mapping=True)
    starts = np.array([start for start, _ in given["offset_mapping"]], dtype=np.int64)
    inside = np.zeros(len(starts), dtype=bool)
    for first, end in title_spans(document):
        inside |= (starts >= first) & (starts < end)
    return inside


# What stands before a new document, by the packing that the model was trained with: of any other start it has seen nothing.
STARTS: dict[str, Callable[[Any], list[int]]] = {
    "stream": lambda tokenizer: [
        *end_ids(tokenizer),
        *encode("\n", tokenizer),
        *start_ids(tokenizer),
    ],
    "documents": start_ids,
}


def section_ids(text: str, tokenizer: Any, max_length: int) -> list[int]:
    """Token ids with the tokenizer's control tokens, cut at ``max_length``; never empty, so that any text has a title."""
    ids = tokenizer(text, truncation=True, max_length=max_length, verbose=False)["input_ids"]
    return ids or [tokenizer.eos_token_id or 0]


def padded(rows: Sequence[Any], fill: int = 0, side: str = "right") -> torch.Tensor:
    """Rows of token ids as one array, int64 (rows, longest)."""
    return pad_sequence([torch.as_tensor(row, dtype=torch.int64) for row in rows], True, fill, side)


def masked(rows: Sequence[Any], fill: int = 0, side: str = "right") -> dict[str, torch.Tensor]:
    """``input_ids`` and ``attention_mask``, as networks take rows of different length."""
    ones = [[1] * len(row) for row in rows]
    return {"input_ids": padded(rows, fill, side), "attention_mask": padded(ones, side=side)}


GPT2_END = "<|endoftext|>"
END, PAD, UNKNOWN = (
    "</s>",
    "<pad>",
    "<unk>",
)  # the control tokens of fairseq's dictionary, which deng2022 used


def fit(
    *,
    documents: Sequence[Document],
    kind: str | None = None,
    vocab_size: int | None = None,
    folder: Path | None = None,
    package: str | None = None,
    file: str | None = None,
) -> SavedModel:
    """Train a "byte_pair" tokenizer of ``vocab_size``, or a "whitespace" one of every word, on the training split; or take
    the published one of a ``folder``, or of an installed package's GGUF ``file``.

    Raises BadInput: an unknown kind, a size that the kind does not take or lacks, or a package that is not installed.
    """
    named = {
        "kind": kind,
        "vocab_size": vocab_size,
        "folder": folder,
        "package": package,
        "file": file,
    }
    given = {name for name, value in named.items() if value is not None}
    if folder is not None and given == {"folder"}:
        return SavedModel(None, load_tokenizer(folder))
    if "package" in given and given <= {"package", "file"}:
        with TemporaryDirectory() as place:
            published(package=package, file=file).save(Path(place))
            return SavedModel(None, load_tokenizer(Path(place)))
    if kind not in KINDS or not given <= {"kind", "vocab_size"}:
        allowed = f"{sorted(KINDS)}, or a folder alone, or a package with a file"
        raise BadInput(f"tokenizer kind is {kind!r}, allowed are {allowed}; fix the entry")
    if (vocab_size is None) == (kind == "byte_pair"):
        raise BadInput(
            f"tokenizer of kind {kind!r} has vocab_size={vocab_size!r}; byte_pair alone takes one"
        )
    return SavedModel(None, KINDS[kind]([d for d in documents if d.split == "train"], vocab_size))


def byte_pair(documents: Sequence[Document], vocab_size: Any) -> PreTrainedTokenizerFast:
    """Titles are included where there are any, so that models with and without titles share one vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    given: dict[str, Any] = {
        "vocab_size": vocab_size,
        "initial_alphabet": alphabet,
        "show_progress": False,
    }
    texts = (render(d, all(section.title is not None for section in d.sections)) for d in documents)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(special_tokens=[GPT2_END], **given))
    marks = dict.fromkeys(("eos_token", "bos_token", "pad_token"), GPT2_END)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks)


def whitespace(documents: Sequence[Document], _: int | None = None) -> PreTrainedTokenizerFast:
    """Every whitespace token in sorted order, after end, pad and unknown."""
    words = [
        END,
        PAD,
        UNKNOWN,
        *sorted({word for document in documents for word in document.text.split()}),
    ]
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = {"eos_token": END, "bos_token": END, "pad_token": PAD, "unk_token": UNKNOWN}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks)


KINDS: dict[str, Callable[..., PreTrainedTokenizerFast]] = {
    "byte_pair": byte_pair,
    "whitespace": whitespace,
}
