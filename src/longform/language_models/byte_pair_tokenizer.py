"""A byte-level BPE tokenizer of GPT-2's kind, trained on the run's own text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from longform.documents import Document
from longform.language_models.checkpoints import SavedTokenizer
from longform.text.rendering import render

END = "<|endoftext|>"  # GPT-2's


def fit(*, documents: Sequence[Document], base: Path, vocab_size: int) -> SavedTokenizer:
    """Train on the training split, titles included, so that models with and without titles share one vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    texts = (render(document, titles=True) for document in documents if document.split == "train")
    tokenizer.train_from_iterator(texts, trainer)
    return SavedTokenizer(
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, bos_token=END, pad_token=END)
    )
