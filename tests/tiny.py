"""Tiny models and corpora in the real formats, made by the tests that use them."""

from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

from longform.documents import Document, Section
from longform.language_models import tokenizers
from longform.statistics.random_streams import generator

WORDS = [
    "the",
    "town",
    "lies",
    "on",
    "a",
    "river",
    "and",
    "has",
    "many",
    "old",
    "houses",
    "its",
    "people",
    "work",
    "in",
    "fields",
    "near",
    "hills",
]
TITLES = ("abstract", "history", "geography")


def documents(count=12, splits=("train", "train", "validation", "test")):
    made = []
    for i in range(count):
        rng = generator("tiny", i)
        texts = [" ".join(rng.choice(WORDS, rng.integers(4, 12))) + "." for _ in TITLES]
        sections = tuple(
            Section(title, f"{title} {text}") for title, text in zip(TITLES, texts, strict=True)
        )
        made.append(Document(f"d{i}", splits[i % len(splits)], sections))
    return made


def bpe_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    tokenizers.fit(documents=documents(), kind="byte_pair", vocab_size=300).save(path)
    return path


def lm_folder(path: Path, window=32, seed=0) -> Path:
    """A random two-layer GPT-2 with its tokenizer, saved as a user would have it."""
    bpe_folder(path)
    torch.manual_seed(seed)
    sizes = {"n_positions": window, "n_embd": 16, "n_layer": 2, "n_head": 2}
    GPT2LMHeadModel(
        GPT2Config(vocab_size=300, bos_token_id=0, eos_token_id=0, **sizes)
    ).save_pretrained(path)
    return path


def classifier_folder(path: Path) -> Path:
    bpe_folder(path)
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    labels = {"id2label": dict(enumerate(TITLES)), "label2id": {t: i for i, t in enumerate(TITLES)}}
    BertForSequenceClassification(BertConfig(vocab_size=300, **labels, **sizes)).save_pretrained(
        path
    )
    return path
