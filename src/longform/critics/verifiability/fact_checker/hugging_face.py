"""Entailment by any sequence classifier of the Hugging Face layout, or by MiniCheck's sequence-to-sequence model.

The sentence is the premise, its page's title in front of it, and the claim is the hypothesis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from longform.critics.verifiability.fact_checker.entailment import LABELS, Pair
from longform.documents import BadInput
from longform.language_models.checkpoints import load_config, load_model, load_tokenizer

BATCH = 16
WORDINGS: Mapping[str, tuple[str, ...]] = {  # what published models call the three labels
    "supported": ("supported", "supports", "entailment", "support"),
    "refuted": ("refuted", "refutes", "contradiction", "refute"),
    "not_enough_info": ("not_enough_info", "not enough info", "neutral", "nei"),
}
MINICHECK_PROMPT = "predict: {premise}</s>{claim}"  # Tang, Laban and Durrett 2024, released code
MINICHECK_ANSWERS = (3, 209)  # T5's tokens of "0" (it begins with the word mark) and "1", the same code


@dataclass(frozen=True)
class ClassifierEntailment:
    """A sequence classifier with three labels, or with two: not supported (0) and supported (1), as MiniCheck's.

    Attributes:
        columns: for each of ``LABELS`` the model's label, or None where it has none.
    """

    network: Any
    tokenizer: Any
    columns: tuple[int | None, ...]
    max_length: int = 512

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See :class:`Entailment`."""
        made = np.zeros((len(pairs), len(LABELS)))
        for start in range(0, len(pairs), BATCH):
            part = pairs[start : start + BATCH]
            feed = self.tokenizer(
                [premise(pair) for pair in part],
                [pair.claim for pair in part],
                truncation="only_first",
                max_length=self.max_length,
                padding=True,
                return_tensors="pt",
            )
            with torch.inference_mode():
                found = self.network(**feed).logits.double().softmax(-1).cpu().numpy()
            for label, column in enumerate(self.columns):
                if column is not None:
                    made[start : start + len(part), label] = found[:, column]
        return made


@dataclass(frozen=True)
class MiniCheckEntailment:
    """MiniCheck's Flan-T5: whether the first token of its answer is 1 rather than 0; it never refutes."""

    network: Any
    tokenizer: Any
    max_length: int = 2048
    answers: tuple[int, int] = MINICHECK_ANSWERS

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See :class:`Entailment`; what is not supported is not enough information."""
        made = np.zeros((len(pairs), len(LABELS)))
        for start in range(0, len(pairs), BATCH):
            part = pairs[start : start + BATCH]
            texts = [MINICHECK_PROMPT.format(premise=premise(pair), claim=pair.claim) for pair in part]
            feed = self.tokenizer(texts, truncation=True, max_length=self.max_length, padding=True, return_tensors="pt")
            begin = torch.full((len(part), 1), self.network.config.decoder_start_token_id)
            inputs = {key: feed[key] for key in ("input_ids", "attention_mask")}
            with torch.inference_mode():
                logits = self.network(**inputs, decoder_input_ids=begin).logits[:, 0, list(self.answers)]
            yes = logits.double().softmax(-1)[:, 1].cpu().numpy()
            made[start : start + len(part), 0], made[start : start + len(part), 2] = yes, 1 - yes
        return made


def premise(pair: Pair) -> str:
    """The sentence behind its page's title."""
    return f"{pair.title}: {pair.sentence}" if pair.title else pair.sentence


def open_entailment(folder: Path) -> ClassifierEntailment | MiniCheckEntailment:
    """The model of a folder (or of a pinned hub id in its ``pointer.json``).

    Raises:
        BadInput: labels that are neither two nor named like the three.
    """
    config = load_config(folder)
    tokenizer = load_tokenizer(folder)
    if config.is_encoder_decoder:
        return MiniCheckEntailment(load_model(folder, AutoModelForSeq2SeqLM).eval(), tokenizer)
    network = load_model(folder, AutoModelForSequenceClassification).eval()
    room = getattr(config, "max_position_embeddings", 512)
    return ClassifierEntailment(network, tokenizer, columns_of(config, folder), min(room, 512))


def columns_of(config: Any, folder: Path) -> tuple[int | None, ...]:
    """Which column of the model's output is which label."""
    if config.num_labels == 2:
        return (1, None, 0)
    named = {str(name).lower().replace("-", " "): int(column) for column, name in config.id2label.items()}
    found = [next((named[word] for word in WORDINGS[label] if word in named), None) for label in LABELS]
    if None in found:
        raise BadInput(
            f"{folder}: the model's labels are {sorted(named)}; allowed are two, or three named like {dict(WORDINGS)}; "
            "mend id2label in its config.json"
        )
    return tuple(found)
