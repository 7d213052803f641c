"""A tokenizer for languages whose tokens are already separated by blanks (the synthetic language)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from longform.documents import Document
from longform.language_models.checkpoints import SavedTokenizer

END, PAD, UNKNOWN = "</s>", "<pad>", "<unk>"  # the control tokens of fairseq's dictionary, which deng2022 used


def fit(*, documents: Sequence[Document], base: Path) -> SavedTokenizer:
    """Every whitespace token of the training split, in sorted order, after end, pad and unknown."""
    words = sorted({word for d in documents if d.split == "train" for word in d.text.split()})
    table = {word: index for index, word in enumerate([END, PAD, UNKNOWN, *words])}
    tokenizer = Tokenizer(models.WordLevel(table, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, bos_token=END, pad_token=PAD, unk_token=UNKNOWN
    )
    return SavedTokenizer(wrapped)
